"""What a person sees during training: a bar with the time left, on a terminal of 80 columns too."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from biatt.training import progress
from biatt.training.progress import Display, Pace

PARSER_RECORD = {
    "epoch": 3,
    "rate": 0.002,
    "train_loss": 1.23456,
    "dev_log_likelihood": -1234.56,
    "dev_uas": 0.9123,
    "dev_las": 0.8901,
    "best": True,
    "words_per_second": 3456.7,
    "seconds": 61.5,
}


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(progress.time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def shown(display: Display, columns: int) -> str:
    """The bar as it would be drawn on a terminal of this width."""
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None)
    console.print(display.bar.get_renderable())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("\n") == 1
    return str(text)


# The widest figures that are likely: a run of days, and a vector training at a million words a second.
@pytest.mark.parametrize(
    ("title", "words_after", "speed", "left"),
    [
        ("epoch 123/200", 400_000_000, 12_500, "8:54:37 left"),
        ("epoch 60", None, 12_500, "1:17 left in epoch"),
        ("rate 0.0020", None, 800, "20:00 left in epoch"),
        ("epoch 1/5", 4_000_000, 1_250_000, "0:04 left"),
    ],
)
@pytest.mark.parametrize("columns", [80, 100, 200])
def test_bar_speed_loss_and_time_left_are_on_the_screen(
    clock: Clock, columns: int, title: str, words_after: int | None, speed: int, left: str
) -> None:
    display = Display()
    display.start(title, 1_000_000, words_after=words_after)
    clock.now += 40_000 / speed
    display.batch(40_000, 1.23456)
    text = shown(display, columns)
    figures = f"  4 % {speed:,} words/s  loss 1.235  {left}"
    bar = re.fullmatch(f"{title} ([━╸ ]+){figures}\n", text)
    assert bar is not None, text
    assert len(bar[1]) >= 10
    assert len(text.rstrip("\n")) == columns


def test_bar_goes_from_nothing_to_all(clock: Clock) -> None:
    display = Display()
    display.start("epoch 1", 100)
    assert "  0 %" in shown(display, 80)
    for done in (50, 100):
        clock.now += 1
        display.batch(50)
        assert f"{done:3} %" in shown(display, 80)
    assert "loss" not in shown(display, 80)
    display.start("epoch 2", 100)
    assert shown(display, 80).startswith("epoch 2")


def test_time_left_is_that_of_the_run_with_the_time_between_epochs(clock: Clock) -> None:
    pace = Pace()
    pace.start(1000, 2000)  # the first of three epochs
    clock.now += 10
    pace.advance(500)
    assert (pace.words_per_second, pace.left) == (50, "0:50 left")  # 2500 words at 50 a second
    clock.now += 10
    pace.advance(500)
    clock.now += 20  # evaluation
    pace.start(1000, 1000)
    clock.now += 10
    pace.advance(500)
    # 1500 words in 50 seconds so far, and 1500 more to come; the speed is the epoch's.
    assert (pace.words_per_second, pace.left) == (50, "0:50 left")


def test_time_left_is_that_of_the_whole_training(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    for seconds_after, left in ((3600.0, "1:00:10 left"), (0.0, "0:10 left")):
        display.part("tokeniser", seconds_after=seconds_after)
        display.start("epoch 1/2", 1000, words_after=1000)
        clock.now += 10
        display.batch(1000)
        assert display.pace.left == left
    assert capsys.readouterr().err == "== tokeniser\n" * 2


def test_another_run_has_a_pace_of_its_own(clock: Clock) -> None:
    pace = Pace()
    pace.start(1000, 0)
    clock.now += 100
    pace.advance(1000)
    pace.start(5000, 5000)  # of another network
    clock.now += 1
    pace.advance(1000)
    assert pace.left == "0:09 left"


def test_time_left_is_the_epochs_if_the_end_of_the_run_is_not_known(clock: Clock) -> None:
    pace = Pace()
    for _ in range(2):
        pace.start(1000, None)
        clock.now += 3600
        pace.advance(250)
        assert pace.left == "3:00:00 left in epoch"


def test_loss_is_the_mean_of_the_last_batches(clock: Clock) -> None:
    display = Display()
    display.start("epoch 1", 100_000)
    for loss in (3.0, 1.0):
        clock.now += 1
        display.batch(100, loss)
    assert display.loss == pytest.approx(2.0)
    for _ in range(1000):
        display.batch(100, 7.0)
    assert display.loss == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (
            PARSER_RECORD,
            "epoch  3  loss 1.2346  dev log-likelihood -1234.6  UAS 91.23  LAS 89.01  3,457 words/s  62 s"
            "  best so far\n",
        ),
        (
            {"search": True, "rate": 0.0022, "dev_log_likelihood": -5.0, "dev_uas": 0.5, "dev_las": 0.25},
            "rate 0.0022  dev log-likelihood -5.0  UAS 50.00  LAS 25.00\n",
        ),
        (
            {
                "epoch": 12,
                "dev_log_likelihood": -5.0,
                "dev_upos": 0.9,
                "dev_lemma": 1.0,
                "dev_accuracy": 0.95,
                "best": False,
            },
            "epoch 12  dev log-likelihood -5.0  UPOS 90.00  lemma 100.00\n",
        ),
    ],
)
def test_line_of_an_epoch(record: dict[str, Any], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Display() as display:
        display.epoch(record)
    assert capsys.readouterr() == ("", line)


def test_message_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """File names can be of any characters."""
    with Display() as display:
        display.message("\x1b[2J[/red].conllu does not say where spaces are.")
    assert capsys.readouterr().err == "\\x1b[2J[/red].conllu does not say where spaces are.\n"


def test_log_has_lines_and_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with Display() as display:
        display.message("a [message] of no markup")
        display.start("epoch 1", 10)
        display.batch(10, 1.0)
    assert capsys.readouterr() == ("", "a [message] of no markup\n")
