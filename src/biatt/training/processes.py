"""Training on several processes, which torchrun starts: each takes a part of the sentences of every batch.

All processes read the same files and draw the same random numbers, so each knows the whole batch: its order,
its noise, its dropout. They add up their gradients, and all take the same step. Only the first one
evaluates, writes and reports; after every epoch the others take over its weights and its state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn

from biatt.encoding.batches import Batch, selected
from biatt.encoding.vocabulary import Indices
from biatt.errors import BiattError, ConfigError, TrainingError
from biatt.network.model import Dropout

T = TypeVar("T")

PATIENCE = timedelta(hours=2)  # for another process, e.g. the first one while it evaluates
FAILED = "biatt failed"  # the key by which processes agree on the one that reports an error


class Processes:
    """The processes of a training: this one alone."""

    count = 1
    first = True  # evaluates, writes and reports

    @property
    def described(self) -> list[int]:
        """What a fingerprint says about several processes; of one, nothing."""
        return [self.count] if self.count > 1 else []

    def part(self, batch: Batch) -> Batch:
        """This process's sentences of a batch."""
        return batch

    def dropout(self, dropout: Dropout | None, batch: Batch) -> Dropout | None:
        """The dropout of this process's sentences of a batch."""
        return dropout

    def add_up(self, parameters: Mapping[str, nn.Parameter], loss: Tensor) -> Tensor:
        """The sum of the losses of all processes; the gradients become the sums of theirs."""
        return loss.detach()

    def from_first(self, compute: Callable[[], T]) -> T:
        """What `compute` returns in the first process; the others do not call it."""
        return compute()

    def wait(self) -> None:
        """Wait until the first process is here."""
        self.from_first(lambda: None)

    def share(self, tensors: Mapping[str, Tensor]) -> None:
        """Overwrite tensors of the other processes by those of the first."""


class SeveralProcesses(Processes):
    """This process is number `rank`, from 0, of `count`, which are connected."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count, self.first = rank, count, rank == 0
        self.rows: Indices = np.zeros(0, np.int32)  # of E that the whole batch has
        self.buffer = torch.empty(0)  # for gradients; the optimiser's step is over before the next ones come
        self.idle = False  # whether this process has no sentence of the batch

    def part(self, batch: Batch) -> Batch:
        self.rows = np.unique(batch.rows)
        self.idle = self.rank >= len(batch.words)
        return selected(batch, self._sentences(batch))

    def dropout(self, dropout: Dropout | None, batch: Batch) -> Dropout | None:
        return dropout and OwnDropout(dropout, self._sentences(batch), len(batch.words))

    def _sentences(self, batch: Batch) -> Indices:
        """The sentences of a batch are sorted by length, so that all parts have about the same work.

        A process that is left without any takes the last one, whose gradients it does not add: so it draws
        the same random numbers as the others.
        """
        count = len(batch.words)
        return np.arange(self.rank if self.rank < count else count - 1, count, self.count, dtype=np.int32)

    def add_up(self, parameters: Mapping[str, nn.Parameter], loss: Tensor) -> Tensor:
        """One sum of everything: all processes know the rows of E, so only their gradients are sent."""
        table = parameters["E.weight"]
        rows = torch.from_numpy(self.rows[self.rows < len(table)]).long()  # others are frozen vectors
        dense = [parameter for parameter in parameters.values() if parameter is not table]
        sizes = [len(rows) * table.shape[1], *(parameter.numel() for parameter in dense), len(dense), 1]
        if len(self.buffer) < sum(sizes):
            self.buffer = torch.empty(sum(sizes))
        everything = self.buffer[: sum(sizes)]
        of_table, *of_dense, present, total = everything.split(sizes)
        of_table = of_table.zero_().view(len(rows), -1)
        present.copy_(torch.tensor([parameter.grad is not None for parameter in dense]))
        if table.grad is not None and not self.idle:
            indices = torch.searchsorted(rows, table.grad._indices()[0])
            of_table.index_add_(0, indices, table.grad._values())
        for parameter, part in zip(dense, of_dense, strict=True):
            if parameter.grad is None or self.idle:
                part.zero_()
            else:
                part.copy_(parameter.grad.reshape(-1))
        total.fill_(0.0 if self.idle else loss.detach())
        with _connected():
            distributed.all_reduce(everything)
        table.grad = torch.sparse_coo_tensor(
            rows[None], of_table, table.shape, is_coalesced=True, check_invariants=False
        )
        for parameter, part, count in zip(dense, of_dense, present.tolist(), strict=True):
            parameter.grad = part.view_as(parameter) if count else None
        whole: Tensor = total[0]
        return whole

    def from_first(self, compute: Callable[[], T]) -> T:
        result = [compute() if self.first else None]
        with _connected():
            distributed.broadcast_object_list(result, 0)
        return result[0]  # type: ignore[return-value]

    def share(self, tensors: Mapping[str, Tensor]) -> None:
        with _connected():
            for tensor in tensors.values():
                distributed.broadcast(tensor, 0)


class OwnDropout(Dropout):
    """The dropout of some sentences of a batch; masks are drawn for all, as one process does."""

    def __init__(self, whole: Dropout, sentences: Indices, count: int) -> None:
        super().__init__(whole.rate, whole.generator)
        self.sentences, self.count = torch.from_numpy(sentences), count

    def draw(self, *shape: int) -> Tensor:
        *before, _, width = shape
        return super().draw(*before, self.count, width)[..., self.sentences, :]


ALONE = Processes()


def is_first() -> bool:
    """Whether this process is alone or the first one that torchrun has started."""
    return not _launched() or os.environ.get("RANK") == "0"


def _launched() -> bool:
    return distributed.is_available() and distributed.is_torchelastic_launched()


@contextmanager
def joined(*, device: str, encoder: bool) -> Iterator[Processes]:
    """The processes that torchrun has started, connected with each other; or this one alone.

    An error of several processes is raised in the one that met it first; the others end with exit code 2.
    """
    if not _launched() or os.environ.get("WORLD_SIZE") == "1":
        yield ALONE
        return
    distributed.init_process_group("gloo", timeout=PATIENCE)
    try:
        if device != "cpu":
            raise ConfigError("Training on several processes needs the device cpu.")
        if encoder:
            raise ConfigError("Training on several processes takes no contextual encoder.")
        yield SeveralProcesses(distributed.get_rank(), distributed.get_world_size())
    except (BiattError, KeyboardInterrupt):
        if not _reports():
            raise SystemExit(2) from None
        raise
    finally:
        distributed.destroy_process_group()


def _reports() -> bool:
    """Whether this process is the first one that failed."""
    store: Any = distributed.distributed_c10d._get_default_store()
    try:
        return int(store.add(FAILED, 1)) == 1
    except RuntimeError:  # the store has gone
        return True


@contextmanager
def _connected() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise TrainingError(
            "Another process of this training has ended, so this one cannot go on: start it again with "
            "--resume."
        ) from error
