"""Training on several processes: the parts of a batch add up, and so do whole trainings.

`tests/test_docs.py` starts torchrun, which `two_processes.py` replaces here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed

from biatt.config import with_settings
from biatt.errors import ConfigError
from biatt.models.model_folder import TOKENISER
from biatt.network.model import Dropout
from biatt.training import processes
from biatt.training.processes import Processes, SeveralProcesses
from biatt.training.records import read_records
from commands import ENVIRONMENT, invoke
from trainings import LARGER, contents, small_run
from two_processes import ForkedPairs

SETTINGS = [
    *("hidden=4", "epochs=2", "least_batches=0", "affixes=1", "layers=1", "pair_hidden=2", "dropout=0.3"),
    *("tokeniser.hidden=4", "tokeniser.epochs=1", "tokeniser.least_batches=0", "tokeniser.noise=0.5"),
]


@pytest.mark.parametrize("sentences", [1, 2, 7])
def test_gradients_of_the_parts_add_up_to_those_of_the_batch(tmp_path: Path, sentences: int) -> None:
    run = small_run(tmp_path, with_settings(LARGER, ["noise=0"]), sentences=7)

    def gradients(part: Processes) -> tuple[float, dict[str, torch.Tensor]]:
        run.processes = part
        dropout = Dropout(0.3, torch.Generator().manual_seed(3))
        loss, words = run.loss(list(range(sentences)), dropout, np.random.default_rng(5))
        assert words == sum(run.lengths[:sentences])
        loss.backward()
        found = {name: parameter.grad for name, parameter in run.network.named_parameters()}
        for parameter in run.network.parameters():
            parameter.grad = None
        dense = {name: value.to_dense() for name, value in found.items() if value is not None}
        following.append(float(torch.rand(1, generator=dropout.generator)))
        return float(loss.detach()), dense

    following: list[float] = []  # all processes have drawn the same random numbers
    whole_loss, whole = gradients(Processes())
    parts = [SeveralProcesses(rank, 3) for rank in range(3)]
    results = [gradients(part) for part in parts]
    assert len(set(following)) == 1
    assert [part.idle for part in parts] == [rank >= sentences for rank in range(3)]
    working = [result for part, result in zip(parts, results, strict=True) if not part.idle]
    assert sum(loss for loss, _ in working) == pytest.approx(whole_loss, rel=1e-5)
    for name, gradient in whole.items():
        total = sum(own[name] for _, own in working)
        torch.testing.assert_close(total, gradient, rtol=1e-3, atol=1e-5)


def test_a_sum_over_one_process_changes_no_gradient(tmp_path: Path) -> None:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        run, alone = small_run(tmp_path), SeveralProcesses(0, 1)
        run.processes = alone
        parameters = dict(run.network.named_parameters())
        for sentences in (6, 2):  # the second sum uses a part of the first one's memory
            loss, _ = run.loss(list(range(sentences)), None, np.random.default_rng(1))
            loss.backward()
            parameters["v"].grad = None
            expected = {name: grad_of(parameter) for name, parameter in parameters.items()}
            assert alone.add_up(parameters, loss) == loss
            for name, parameter in parameters.items():
                found = grad_of(parameter)
                assert (found is None) == (name == "v")
                assert found is None or torch.equal(found, expected[name])
                parameter.grad = None
    finally:
        distributed.destroy_process_group()


def grad_of(parameter: torch.nn.Parameter) -> torch.Tensor | None:
    return None if parameter.grad is None else parameter.grad.to_dense().clone()


@pytest.fixture(scope="module")
def forked() -> Iterator[ForkedPairs]:
    pairs = ForkedPairs({**ENVIRONMENT, "OMP_NUM_THREADS": "1"})  # as torchrun has it
    yield pairs
    pairs.close()


def options(treebank: Path, out: Path) -> list[object]:
    settings = [text for setting in SETTINGS for text in ("--set", setting)]
    return ["train", "--pipeline", "--train", treebank, "--dev", treebank, "--output", out, *settings]


def sentences_in(errors: str) -> list[str]:
    return [line for line in errors.splitlines() if line.startswith("biatt: ") and "Compiling" not in line]


@pytest.fixture(scope="module")
def by_two(treebank: Path, forked: ForkedPairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that two processes have trained."""
    out = tmp_path_factory.mktemp("processes") / "two"
    done = forked.run(*options(treebank, out))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("The model is in") == 1
    return out


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(treebank: Path, by_two: Path, tmp_path: Path) -> None:
    one = tmp_path / "one"
    invoke(*options(treebank, one))
    assert {path.name for path in by_two.iterdir()} == {path.name for path in one.iterdir()}
    for part in (Path(), Path(TOKENISER)):
        curves = [[record["train_loss"] for record in read_records(out / part)] for out in (one, by_two)]
        assert curves[1] == pytest.approx(curves[0], rel=1e-3)


@pytest.mark.slow
def test_a_training_whose_processes_are_killed_resumes_to_the_same_bytes(
    treebank: Path, by_two: Path, forked: ForkedPairs, tmp_path: Path
) -> None:
    out = tmp_path / "cut"
    for dying, steps, resume in ((1, 3, []), (0, 4, ["--resume"])):
        killed = forked.run(*options(treebank, out), *resume, dying=dying, steps=steps)
        assert killed.returncode
        assert len(sentences_in(killed.stderr)) <= 1  # of the other process
    done = forked.run(*options(treebank, out), "--resume")
    assert done.returncode == 0, done.stderr
    assert contents(out) == contents(by_two)


@pytest.mark.slow
def test_an_error_of_all_processes_is_one_sentence(treebank: Path, by_two: Path, forked: ForkedPairs) -> None:
    failed = forked.run(*options(treebank, by_two), "--resume", "--seed", "7")
    assert failed.returncode
    (sentence,) = sentences_in(failed.stderr)
    assert "other data, settings, seed or threads" in sentence


@pytest.mark.parametrize(
    ("device", "encoder", "reason"),
    [("cuda", False, "needs the device cpu"), ("cpu", True, "takes no contextual encoder")],
)
def test_what_several_processes_cannot_do_is_refused(
    monkeypatch: pytest.MonkeyPatch, device: str, encoder: bool, reason: str
) -> None:
    monkeypatch.setattr(processes, "_launched", lambda: True)
    monkeypatch.setattr(processes, "_reports", lambda: True)
    monkeypatch.setattr(distributed, "init_process_group", lambda *_, **__: None)
    monkeypatch.setattr(distributed, "destroy_process_group", lambda: None)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match=reason), processes.joined(device=device, encoder=encoder):
        pass
