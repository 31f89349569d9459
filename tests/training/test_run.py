"""Runs: schedules beside slow twins, the search for the rate, and numbers that are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from biatt.config import with_settings
from biatt.data.conll import read, write
from biatt.data.toy_treebank import generate
from biatt.errors import TrainingError
from biatt.evaluation.metrics import evaluate
from biatt.models.model_folder import CHECKPOINT, WEIGHTS
from biatt.network.model import DEVIATION
from biatt.parser import load
from biatt.training import run as run_module
from biatt.training.listener import Silent
from biatt.training.optimiser import BETA1, EPSILON, Adam
from biatt.training.parser_run import ParserRun
from biatt.training.records import best_record, read_records
from biatt.training.train import train
from examples import examples
from trainings import SMALL, InterruptedAfter, InterruptedAt, small_run, untimed, weights


def test_constants_are_those_of_the_paper_and_its_authors() -> None:
    constants = run_module.RATE_STEP, DEVIATION**2, BETA1, EPSILON
    assert constants == (0.0002, pytest.approx(0.01), 0.9, 1e-8)


# The paper's schedule


def slow_schedule(values: Sequence[float], rate: float, most: int) -> list[dict[str, Any]]:
    """The rule of the paper and its authors, by looking at all earlier epochs after every epoch.

    `from_epoch` is the epoch whose weights the next one starts from.
    """
    result = []
    for epoch in range(1, most + 1):
        past = values[:epoch]
        better = [i for i in range(epoch) if all(past[i] > earlier for earlier in past[:i])]
        drops = epoch - len(better)
        first_drop = next((i + 1 for i in range(epoch) if i not in better), None)
        result.append(
            {
                "rate": rate / 2 ** (0 if first_drop is None else epoch - first_drop + 1),
                "best_epoch": better[-1] + 1,
                "from_epoch": better[-1] + 1 if first_drop == epoch else epoch,
                "finished": drops == 2 or epoch == most,
            }
        )
        if result[-1]["finished"]:
            break
    return result


@given(st.lists(st.integers(-6, 0), min_size=8, max_size=8), st.integers(1, 8))
@examples(40)
def test_schedule_halves_restores_and_stops_like_its_slow_twin(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], most: int
) -> None:
    config = with_settings(SMALL, [f"epochs={most}", "hidden=2"])
    run = small_run(tmp_path_factory.mktemp("schedule"), config)
    for epoch, expected in enumerate(slow_schedule(values, 0.01, most), 1):
        for tensors in (run.network.state_dict(), run.adam.moments):
            for tensor in tensors.values():
                tensor.fill_(epoch)
        run._halve_or_stop(epoch, float(values[epoch - 1]))
        outcome = {
            "rate": run.state.rate,
            "best_epoch": run.state.best_epoch,
            "from_epoch": int(run.network.P[0, 0]),
            "finished": run.state.finished,
        }
        assert outcome == expected
        tensors = [*run.network.state_dict().values(), *run.adam.moments.values()]
        assert all((value == expected["from_epoch"]).all() for value in tensors)
        assert all((value == expected["best_epoch"]).all() for value in run.best.values())


def test_epoch_as_good_as_the_best_does_not_beat_it(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    run._halve_or_stop(1, -5.0)
    run._halve_or_stop(2, -5.0)
    assert (run.state.best_epoch, run.state.drops, run.state.rate) == (1, 1, 0.005)


@pytest.mark.slow
def test_real_run_follows_the_schedule_and_keeps_its_best_epoch(tmp_path: Path) -> None:
    write(generate(30, seed=4), tmp_path / "train.conllu")
    write(generate(8, seed=6), tmp_path / "dev.conllu")
    config = with_settings(SMALL, ["rate=0.1", "epochs=12"])
    dev = tmp_path / "dev.conllu"
    parser = train(tmp_path / "train.conllu", dev=dev, out=tmp_path / "model", config=config)
    records = read_records(tmp_path / "model")
    expected = slow_schedule([record["dev_log_likelihood"] for record in records], 0.1, 12)
    assert [record["epoch"] for record in records] == list(range(1, len(expected) + 1))
    assert [record["rate"] for record in records] == [0.1] + [step["rate"] for step in expected[:-1]]
    assert [i for i, record in enumerate(records, 1) if record["best"]] == sorted(
        {step["best_epoch"] for step in expected}
    )
    best = records[expected[-1]["best_epoch"] - 1]
    assert best_record(tmp_path / "model") == best
    result = evaluate(read(dev), parser.parse(read(dev)))
    assert (result.uas, result.las) == (best["dev_uas"], best["dev_las"])


# The linear schedule


@pytest.mark.slow
def test_linear_schedule_lowers_the_rate_by_the_word_down_to_nothing(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates, step, batches = [], Adam.step, []

    def remembering(self: Adam, rate: float, encoder_rate: float) -> None:
        assert encoder_rate == 0
        rates.append(rate)
        step(self, rate)

    class Batches(Silent):
        def batch(self, words: int, loss: float | None = None) -> None:
            batches.append(words)

    monkeypatch.setattr(Adam, "step", remembering)
    config = with_settings(SMALL, ["schedule=linear"])
    train(treebank, out=tmp_path / "m", config=config, listener=Batches())
    words = sum(batches)  # of three epochs
    left = [words - sum(batches[:i]) for i in range(len(batches))]
    assert rates == pytest.approx([0.01 * part / words for part in left])
    assert rates[0] == 0.01
    assert rates[-1] < 0.01 * 100 / words + 1e-12  # a batch of at most 100 words


def test_model_has_the_mean_weights_of_the_last_epochs_and_training_goes_on_without_them(
    tmp_path: Path,
) -> None:
    config = with_settings(SMALL, ["schedule=linear", "epochs=5", "average=3", "hidden=2"])
    run = small_run(tmp_path / "m", config)
    seen = []

    def train_epoch(epoch: int, rate: float, **_: Any) -> float:
        assert epoch == 1 or int(run.network.P[0, 0]) == 2 ** (epoch - 1)  # left by the epoch before
        for tensor in run.network.state_dict().values():
            tensor.fill_(2**epoch)
        return 0.0

    def figures() -> dict[str, float]:
        seen.append(run.network.P[0, 0].item())
        return {"dev_log_likelihood": 0.0, "dev_uas": 1.0, "dev_las": len(seen) / 10}

    run.train_epoch, run.evaluate = train_epoch, figures  # type: ignore[method-assign]
    run.finish()
    assert seen == pytest.approx([2, (2 + 4) / 2, (2 + 4 + 8) / 3, (4 + 8 + 16) / 3, (8 + 16 + 32) / 3])
    assert all(np.allclose(value, (8 + 16 + 32) / 3) for value in load(run.folder).weights.values())


@pytest.mark.slow
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6))
@examples(15)
def test_linear_schedule_runs_to_the_end_and_keeps_the_first_epoch_of_the_best_dev_las(
    tmp_path_factory: pytest.TempPathFactory, values: list[int]
) -> None:
    config = with_settings(SMALL, ["schedule=linear", f"epochs={len(values)}", "hidden=2"])
    run = small_run(tmp_path_factory.mktemp("linear"), config)

    def train_epoch(epoch: int, rate: float, **_: Any) -> float:
        assert rate == 0.01  # the decay is within
        for tensors in (run.network.state_dict(), run.adam.moments):
            for tensor in tensors.values():
                tensor.fill_(epoch)
        return 0.0

    def figures() -> dict[str, float]:
        las = values[int(run.network.P[0, 0]) - 1] / 4
        return {"dev_log_likelihood": -las, "dev_uas": 1.0, "dev_las": las}  # the opposite of the LAS

    run.train_epoch, run.evaluate = train_epoch, figures  # type: ignore[method-assign]
    run.finish()
    best = values.index(max(values)) + 1
    assert run.state.epoch == len(values)
    assert run.state.best_epoch == best
    assert all((value == best).all() for value in load(run.folder).weights.values())
    assert [record["best"] for record in read_records(run.folder)] == [
        all(value > earlier for earlier in values[:i]) for i, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("schedule=linear", [("epoch 1/3", 2), ("epoch 2/3", 1), ("epoch 3/3", 0)]),
        ("schedule=paper", [("epoch 1", None), ("epoch 2", None), ("epoch 3", None)]),
    ],
)
def test_listener_hears_how_much_is_left_where_that_is_known(
    tmp_path: Path, setting: str, expected: list[tuple[str, int | None]]
) -> None:
    starts = []

    class Starts(Silent):
        def start(self, title: str, words: int, *, words_after: int | None = None) -> None:
            starts.append((title, words_after and words_after / words))
            assert words == run.words

    run = small_run(tmp_path, with_settings(SMALL, [setting]))
    run.listener = Starts()
    run._keep_if_best = lambda *_: True  # type: ignore[method-assign] # so that the paper's does not stop
    run.state.best_epoch = 1
    run.finish()
    assert starts == expected


# The search for the rate


@given(st.lists(st.integers(0, 5), min_size=12, max_size=12), st.integers(1, 8))
@examples(25)
def test_search_climbs_to_where_no_step_is_better(
    tmp_path_factory: pytest.TempPathFactory, heights: list[int], start: int
) -> None:
    """Each candidate is tried at most once, and the choice is the best of those tried."""
    config = with_settings(SMALL, [f"rate={start * 0.0002:.4f}", "hidden=2"])
    run = small_run(tmp_path_factory.mktemp("search"), config)
    tried: list[int] = []

    def train_epoch(epoch: int, rate: float, **_: Any) -> float:
        tried.append(round(rate / 0.0002))
        assert (epoch, rate) == (1, pytest.approx(tried[-1] * 0.0002))
        return 0.0

    def height(step: int) -> float:
        return float(heights[step]) if step < len(heights) else -1.0

    run.train_epoch = train_epoch  # type: ignore[method-assign]
    run.evaluate = lambda: {"dev_log_likelihood": height(tried[-1])}  # type: ignore[method-assign]
    run.search_rate()
    chosen = round(run.state.rate / 0.0002)
    assert len(tried) == len(set(tried))
    assert sorted(tried) == list(range(min(tried), max(tried) + 1))
    assert min(tried) >= 1
    assert height(chosen) == max(map(height, tried))
    assert {step for step in (chosen - 1, chosen + 1) if step > 0} <= set(tried)


SEARCHED = with_settings(SMALL, ["rate=0.02", "epochs=2"])


LARGE_STEP = 0.01  # between rates, so that few are tried


@pytest.fixture(scope="module")
def searched(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that searched its rate."""
    out = tmp_path_factory.mktemp("searched") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "RATE_STEP", LARGE_STEP)
        train(treebank, out=out, config=SEARCHED, search_rate=True)
    return out


@pytest.mark.slow
def test_run_uses_the_rate_that_was_best_after_one_epoch(searched: Path) -> None:
    records = untimed(searched)
    trials, epochs = [r for r in records if "search" in r], [r for r in records if "epoch" in r]
    best = max(trials, key=lambda record: record["dev_log_likelihood"])
    steps = sorted(round(record["rate"] / LARGE_STEP, 3) for record in trials)
    assert steps == list(range(int(steps[0]), int(steps[-1]) + 1))
    assert 2 in steps
    assert epochs[0]["rate"] == best["rate"]
    assert epochs[0]["dev_log_likelihood"] == best["dev_log_likelihood"]  # the trial's weights are not used


@pytest.mark.slow
@pytest.mark.parametrize("stop", [2, 3])
def test_interrupted_search_ends_like_a_whole_one(
    treebank: Path, searched: Path, tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "RATE_STEP", LARGE_STEP)
    options: dict[str, Any] = {"out": tmp_path / "cut", "config": SEARCHED, "search_rate": True}
    with pytest.raises(KeyboardInterrupt):
        train(treebank, **options, listener=InterruptedAt(stop))
    train(treebank, **options, resume=True)
    assert weights(tmp_path / "cut") == weights(searched)
    assert untimed(tmp_path / "cut") == untimed(searched)


# A run is whole when it is constructed


@pytest.mark.slow
def test_run_continues_from_its_checkpoint_and_does_nothing_when_it_is_finished(tmp_path: Path) -> None:
    run = small_run(tmp_path / "cut")
    run.listener = InterruptedAfter(2)
    with pytest.raises(KeyboardInterrupt):
        run.finish()
    resumed = small_run(tmp_path / "cut")
    assert (resumed.state.epoch, resumed.state.finished) == (2, False)
    assert all(torch.equal(resumed.best[name], value) for name, value in run.best.items())
    assert torch.equal(resumed.network.P, run.network.P)
    resumed.finish()
    assert not (tmp_path / "cut" / CHECKPOINT).exists()

    small_run(tmp_path / "whole").finish()
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
    finished = small_run(tmp_path / "cut")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cut").iterdir()}
    finished.finish(search_rate=True)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cut").iterdir()} == before


@pytest.mark.slow
def test_run_that_died_between_its_last_checkpoint_and_its_model_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run(tmp_path / "whole").finish()
    save, calls = ParserRun._save_best, []

    def dying(self: ParserRun, **options: bool) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        save(self, **options)

    with monkeypatch.context() as patch:
        patch.setattr(ParserRun, "_save_best", dying)
        with pytest.raises(KeyboardInterrupt):
            small_run(tmp_path / "m").finish()
    run = small_run(tmp_path / "m")
    run.listener = InterruptedAt(1)
    run.finish()
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")
    assert not (tmp_path / "m" / CHECKPOINT).exists()


# Numbers that are none


def poisoned_from(number: int, train_epoch: Callable[..., float]) -> Callable[..., float]:
    def poisoned(self: ParserRun, epoch: int, rate: float, **options: Any) -> float:
        if epoch == number:
            with torch.no_grad():
                self.network.P[0, 0] = math.nan
        return train_epoch(self, epoch, rate, **options)

    return poisoned


@pytest.mark.slow
def test_loss_that_is_no_number_stops_training_and_spares_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run(tmp_path / "two", with_settings(SMALL, ["epochs=2"])).finish()
    with monkeypatch.context() as patch:
        patch.setattr(ParserRun, "train_epoch", poisoned_from(3, ParserRun.train_epoch))
        with pytest.raises(
            TrainingError, match=r"loss became nan in epoch 3.*m keeps the model of epoch 2\.$"
        ):
            small_run(tmp_path / "m").finish()
    assert weights(tmp_path / "m") == weights(tmp_path / "two")
    small_run(tmp_path / "m").finish()
    assert len(read_records(tmp_path / "m")) == 3


def test_weights_ruined_by_an_epochs_last_step_stop_training_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ruin(self: ParserRun, epoch: int, rate: float, **_: Any) -> float:
        with torch.no_grad():
            self.network.P.fill_(math.nan)
        return 1.0

    monkeypatch.setattr(ParserRun, "train_epoch", ruin)
    with pytest.raises(TrainingError, match=r"dev log-likelihood became nan in epoch 1.*has no model yet\.$"):
        small_run(tmp_path).finish()
    assert not (tmp_path / WEIGHTS).exists()


def test_absurd_rate_ends_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="a lower rate may help"):
        small_run(tmp_path, with_settings(SMALL, ["rate=1e38"])).finish()
