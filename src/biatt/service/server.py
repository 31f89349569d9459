"""Run the service: what `biatt serve` does."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable, Sequence
from math import ceil

import uvicorn

from biatt.errors import ConfigError
from biatt.service.app import make_app
from biatt.service.limits import Limits
from biatt.service.models import Models

BACKLOG = 2048  # connections that the system keeps until they are accepted


def serve(
    models: Sequence[str] = ("en",),
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    root_path: str = "",
    limits: Limits | None = None,
    threads: int = 1,
    open_browser: bool = False,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve models until the process gets SIGINT or SIGTERM; then finish what has been accepted, and return.

    Port 0 is any free port. `announce` gets one line with the address. `root_path` is the prefix under which
    a proxy shows the service; the proxy must strip it.
    """
    if root_path and (not root_path.startswith("/") or root_path.endswith("/")):
        raise ConfigError(f"A path prefix begins with / and does not end with it, unlike {root_path!r}.")
    listening = _listen(host, port)
    with listening:
        served = Models.load(models)
        served.warm_up()
        limits = limits or Limits()
        app = make_app(served, limits, threads=threads)
        # h11 bounds the headers of a request, which httptools does not. The access log would have the text
        # of requests by GET; the service writes its own.
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            access_log=False,
            log_config=None,
            root_path=root_path,
            backlog=BACKLOG,
            timeout_graceful_shutdown=ceil(2 * limits.seconds),  # to receive a request and to answer it
        )
        server = uvicorn.Server(config)
        address = _address(listening)
        announce(f"Serving {', '.join(served)} at {address} (Ctrl-C stops).")
        if open_browser:
            webbrowser.open(address)
        try:
            server.run(sockets=[listening])
        except (KeyboardInterrupt, SystemExit):  # uvicorn passes the signal on when all is answered
            if not server.should_exit:
                raise


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"The address {host}, port {port} cannot be used: {reason}.") from error
    # asyncio sets this only for sockets that it opens itself. Without it, the system keeps the body of an
    # answer back until the client has acknowledged the head, which takes 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
