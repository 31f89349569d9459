"""The process of the command line: its exit codes, signals and standard streams.

| exit code | reason |
|---|---|
| 0 | success; also a service that Ctrl-C or SIGTERM has stopped |
| 1 | a fault of biatt, with a traceback |
| 2 | bad input, bad options or too little memory: one sentence on standard error |
| 129, 143 | the signal SIGHUP or SIGTERM; temporary files are removed |
| 130 | Ctrl-C |
| 141 | the reader of the output has left, as in `biatt parse notes.txt | head` |
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any, NoReturn

from typer.core import TyperCommand, TyperGroup

from biatt.data.visible import visible
from biatt.errors import BiattError

BAD_INPUT, INTERRUPTED, READER_LEFT = 2, 130, 141
TERMINATING = ("SIGHUP", "SIGTERM")  # Windows does not have the first
NO_MEMORY = "the memory is not enough for this."
TORCH_NO_MEMORY = ("can't allocate memory", "out of memory", "Storage size calculation overflowed")
REPEAT_SECONDS = 0.01  # until a signal comes again whose exception was swallowed


class Signalled:
    """What a signal raises. Where it is swallowed, the signal comes again.

    Python ignores what is raised while an object is removed or while C calls Python, as when a compiled
    kernel is loaded; and some libraries in C clear every exception that they meet. Such an exception is
    removed while the command goes on, and one that ends the command is not.
    """

    number: int
    repeats = False  # whether a command is running that a signal should end

    def __del__(self) -> None:
        if Signalled.repeats:
            timer = Timer(REPEAT_SECONDS, _signal_again, [self.number])  # here it would be swallowed, too
            timer.daemon = True
            timer.start()


class Interrupted(Signalled, KeyboardInterrupt):
    """Ctrl-C."""

    number = signal.SIGINT


class Terminated(Signalled, SystemExit):
    """A signal of TERMINATING."""

    on_its_way = False

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number, Terminated.on_its_way = number, True

    def __del__(self) -> None:
        Terminated.on_its_way = False
        super().__del__()


class Verbs(TyperGroup):
    """Ends every verb with the exit codes above."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def make_context(self, *args: Any, **options: Any) -> Any:  # prints the help
        with _exit_codes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _exit_codes():
            return super().invoke(ctx)


class Verb(TyperCommand):
    """Its help shows placeholders and choices, and no types of Python such as <list[Path]>."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if parameter.param_type_name == "argument" or parameter.is_flag:
            parameter.display_type_rich = lambda ctx: None  # typer shows the type beside the name
    return parameters


class SeveralValues(Verb):
    """A verb whose repeatable options take several values: --train A B means --train A --train B."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        repeatable = {
            name
            for parameter in self.params
            if getattr(parameter, "multiple", False)
            for name in parameter.opts
        }
        return super().parse_args(ctx, list(_repeated(args, repeatable)))


class Service(Verb):
    """A verb that answers signals itself: none comes again after it."""

    def invoke(self, ctx: Any) -> Any:
        repeats, Signalled.repeats = Signalled.repeats, False
        try:
            return super().invoke(ctx)
        finally:
            Signalled.repeats = repeats


def _repeated(arguments: list[str], options: set[str]) -> Iterator[str]:
    """The arguments with the name of an option before each of its values."""
    option, values = "", 0
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            option, equals, _ = argument.partition("=")
            values = 1 if equals else 0
        elif option in options:
            if values:
                yield option
            values += 1
        yield argument


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except BiattError as error:
        _exit(str(error), code=BAD_INPUT)
    except MemoryError:
        _exit(NO_MEMORY, code=BAD_INPUT)
    except RuntimeError as error:
        if not any(reason in str(error) for reason in TORCH_NO_MEMORY):
            raise
        _exit(NO_MEMORY, code=BAD_INPUT)
    except KeyboardInterrupt:
        _exit("interrupted.", code=INTERRUPTED)
    except BrokenPipeError:
        _exit_without_reader()
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # which rich turns into exit code 1
            _exit_without_reader()
        raise


def _exit(text: str, *, code: int) -> NoReturn:
    with suppress(OSError):  # standard error can be full, or open for reading only
        print(f"biatt: {visible(text)}", file=sys.stderr, flush=True)
    raise SystemExit(code) from None


def _exit_without_reader() -> NoReturn:
    with suppress(OSError, ValueError, AttributeError):  # so that Python's last flush does not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(READER_LEFT) from None


def run(app: Callable[[], object]) -> None:
    """Run the command line as a process of its own."""
    log, handler = logging.getLogger("biatt"), StandardError()
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        with _open_streams(), _signals():
            app()
    finally:
        log.removeHandler(handler)


@contextmanager
def _signals() -> Iterator[None]:
    """Let signals end the block by an exception, so that `finally` and `with` remove temporary files."""
    handlers: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
    handlers |= {getattr(signal, name): signal.SIG_DFL for name in TERMINATING if hasattr(signal, name)}
    # Others stay: nohup, for one, ignores SIGHUP.
    handlers = {number: old for number, old in handlers.items() if signal.getsignal(number) == old}
    for number in handlers:
        signal.signal(number, _raise_signal)
    report, sys.unraisablehook = sys.unraisablehook, _report_ignored
    Signalled.repeats = True
    try:
        yield
    finally:
        Signalled.repeats = False
        sys.unraisablehook = report
        for number, old in handlers.items():
            signal.signal(number, old)


def _raise_signal(number: int, _: object) -> None:
    if number == signal.SIGINT:
        raise Interrupted
    if not Terminated.on_its_way:  # a second signal must not stop the end
        raise Terminated(number)


def _signal_again(number: int) -> None:
    if Signalled.repeats:
        interrupt_main(signal.Signals(number))


def _report_ignored(ignored: Any) -> None:
    if not isinstance(ignored.exc_value, Signalled):
        sys.__unraisablehook__(ignored)


@contextmanager
def _open_streams() -> Iterator[None]:
    """Open /dev/null in the place of standard streams that are closed.

    Else the next file that is opened would get their number, and print() without standard error would write
    to standard output. sys.stdin and sys.stdout stay None, so that using them is an error.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is not None:
        yield
        return
    try:
        with open(os.devnull, "w") as sys.stderr:
            yield
    finally:
        sys.stderr = None


class StandardError(logging.Handler):
    """Prints the package's log messages, such as that it compiles, to what standard error is at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # standard error may be closed
            if sys.stderr is not None:
                print(f"biatt: {visible(record.getMessage())}", file=sys.stderr, flush=True)
