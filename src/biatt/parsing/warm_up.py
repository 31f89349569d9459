"""Compile all that parsing needs, and note on disk that it is there: what `biatt warmup` does.

`python -m biatt.parsing.warm_up` is the process in the background (`kernel_choice`). Kernels are compiled for
the types of their arguments, not for a model, so networks of a few random numbers call for all of them.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from biatt.annotate.labeller import FusedLabeller
from biatt.config import EncoderConfig, ParserConfig, TokeniserSettings
from biatt.data.locks import locked
from biatt.decode.decoders import mst, projective
from biatt.decode.distribution import PANEL, TreeDistribution
from biatt.encoding.batches import collate
from biatt.encoding.labels import Labels
from biatt.encoding.vocabulary import Encoded
from biatt.errors import BiattError, ConfigError
from biatt.kernels.forward import FusedNetwork
from biatt.machine.kernel_choice import choice, note_failure, note_success, require_compiled
from biatt.machine.kernel_files import is_complete, list_path, write
from biatt.models.weights import labeller_shapes, parser_shapes

NICENESS = 10  # of the process in the background
ROWS, RELATIONS = 5, 3

log = logging.getLogger(__name__)  # INFO: what is waited for; the command line shows it


def warm_up() -> None:
    """Compile what parsing needs, unless it is on disk. Waits while another process does the same."""
    require_compiled()
    if not choice().compiled:
        raise ConfigError("BIATT_KERNELS=plain turns compiled kernels off.")
    path = list_path()
    if path is None:
        raise ConfigError("There is no folder for compiled code: name one in BIATT_CACHE_DIR.")
    try:
        with _locked(path.with_suffix(".lock"), wait=True):
            if not is_complete():
                _compile(path)
    except (OSError, BiattError) as error:  # one of ours is that of the lock, by an OSError
        reason = getattr(error.__cause__ or error, "strerror", error)
        raise ConfigError(
            f"Compiled code cannot be kept in {path.parent} ({reason}): name another folder in "
            "BIATT_CACHE_DIR."
        ) from error


def _compile(path: Path) -> None:
    from biatt.machine.compiled import KernelCache, used_files

    call_kernels()
    if not KernelCache.writable:
        raise OSError(None, "it cannot be written")
    write(path, "\n".join(sorted(used_files)).encode())
    note_success()


@contextmanager
def _locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock of all processes that compile for one cache folder."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    busy, told = "Another process is compiling; waiting for it.", False
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(path, busy=busy))
                break
            except ConfigError:
                if not wait:
                    raise
                if not told:
                    log.info(busy)
                told = True
                time.sleep(0.2)
        yield


def call_kernels() -> None:
    """Call every kernel that parsing can need, what every parser needs first."""
    sentences = [_sentence(words) for words in (3, 1)]
    batch = collate(sentences)
    parser = ParserConfig(hidden=3)
    for config in (parser, ParserConfig(hidden=3, feedback=False, attention="single")):
        shapes = parser_shapes(config, rows=ROWS, relations=RELATIONS)
        FusedNetwork(config, _random(shapes), rows=ROWS, relations=RELATIONS).score(batch)
        if config is parser:
            _decode()
    labels, settings = Labels({"end": ["X", "Y"]}), TokeniserSettings(EncoderConfig(hidden=3))
    shapes = labeller_shapes(settings.model, rows=ROWS, labels=labels.size)
    labeller = FusedLabeller(settings, labels, _random(shapes), rows=ROWS)
    labeller.best(batch)
    summand = np.zeros((len(batch.offsets) - 1, settings.model.hidden), np.float32)
    # As in networks with word vectors.
    labeller.pack().first_layer(batch, summand, batch.words + 1, with_x=True)


def _random(
    shapes: dict[str, tuple[int, ...]],
) -> dict[str, NDArray[np.float32]]:
    generator = np.random.default_rng(0)
    return {name: generator.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def _sentence(words: int) -> Encoded:
    """A sentence of unknown words."""
    none = np.full(words, -1, np.int32)
    offsets = np.arange(words + 2, dtype=np.int32)
    return Encoded(np.minimum(offsets[:-1], 1), offsets, none, none)


def _decode() -> None:
    projective(np.eye(3, 4))  # the best heads are a tree already
    for words, preference in ((3, 1.0), (2 * PANEL, 1.0), (3, 1000.0)):  # short, in panels, in logarithms
        scores = np.zeros((words, words + 1))
        scores[0, 2] = scores[1, 1] = preference  # words 1 and 2 prefer each other: a cycle
        scores[:, 0] = -1.0
        mst(scores)
        projective(scores)
        _ = TreeDistribution(scores).marginals


def main() -> None:
    """The process in the background: compile, unless another process does it, and say nothing."""
    with suppress(OSError, AttributeError):  # Windows has no nice
        os.nice(NICENESS)
    path = list_path()
    require_compiled()
    if path is not None:
        try:
            with _locked(path.with_suffix(".lock"), wait=False):
                if not is_complete():
                    _compile(path)
        except ConfigError:
            pass  # another process compiles
        except (OSError, BiattError):
            note_failure()


if __name__ == "__main__":
    main()
