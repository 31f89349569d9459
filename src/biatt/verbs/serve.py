"""serve: parse over HTTP."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from biatt.errors import ConfigError
from biatt.verbs.options import MODEL_HELP, Threads, input_option, running_option
from biatt.verbs.printing import print_text

limit_option = partial(typer.Option, rich_help_panel="Limits")

Models = Annotated[
    list[str] | None,
    input_option(
        "--model", "-m", metavar="MODEL", help=f"{MODEL_HELP} Repeatable; the first is the default. [en]"
    ),
]
Host = Annotated[str, running_option(metavar="HOST", help="Address to listen at; 0.0.0.0: all of IPv4.")]
Port = Annotated[int, running_option(min=0, max=65535, metavar="PORT", help="0: any free port.")]
RootPath = Annotated[
    str, running_option(metavar="PATH", help="Prefix, such as /biatt, that a proxy strips from the path.")
]
Open = Annotated[bool, running_option("--open", help="Open the page in the browser.")]
MaxBody = Annotated[int, limit_option(min=1, metavar="BYTES", help="Largest body of a request.")]
MaxWords = Annotated[int, limit_option(min=1, metavar="N", help="Most words of a request.")]
MaxSentenceWords = Annotated[int, limit_option(min=1, metavar="N", help="Most words of a sentence.")]
MaxSentences = Annotated[int, limit_option(min=1, metavar="N", help="Most sentences of a request.")]
Timeout = Annotated[
    float, limit_option(min=1, metavar="SECONDS", help="Longest time to receive a request, and to answer it.")
]
Queue = Annotated[
    int, limit_option(min=1, metavar="N", help="Most requests at once; further ones get status 503.")
]
BatchDelay = Annotated[
    float,
    limit_option(min=0, metavar="MS", help="Longest time that a busy service waits for requests to join."),
]


def serve(
    model: Models = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    root_path: RootPath = "",
    open: Open = False,
    threads: Threads = 1,
    max_body: MaxBody = 1 << 20,
    max_words: MaxWords = 50_000,
    max_sentence_words: MaxSentenceWords = 500,
    max_sentences: MaxSentences = 1000,
    timeout: Timeout = 30,
    queue: Queue = 256,
    batch_delay: BatchDelay = 2,
) -> None:
    """Parse over HTTP, until Ctrl-C.

    POST /parse takes text, tokens or CoNLL-U and gives JSON, CoNLL-U or SVG; /process and /models have the
    shape of UDPipe's REST service; /docs describes all of it. Sentences of several clients are parsed
    together. Only this machine can reach it, unless --host says otherwise.
    """
    try:
        from biatt.service.server import serve as serve_models
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "biatt":
            raise
        raise ConfigError("biatt serve needs more packages: pip install 'biatt[serve]'.") from None
    from biatt.service.limits import Limits

    limits = Limits(
        body_bytes=max_body,
        words=max_words,
        sentence_words=max_sentence_words,
        sentences=max_sentences,
        seconds=timeout,
        queue=queue,
        delay=batch_delay / 1000,
    )
    serve_models(
        model or ["en"],
        host=host,
        port=port,
        root_path=root_path,
        limits=limits,
        threads=threads,
        open_browser=open,
        announce=print_text,
    )
