"""What a training will do, how long it will take, and that saying so changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from biatt.config import with_settings
from biatt.training import plan
from biatt.training.plan import Part, Stage, described, duration, seconds_per_word, train_in_order
from biatt.training.run import Run
from trainings import LARGER, SMALL, Messages, contents, small_run

LINEAR = with_settings(SMALL, ["schedule=linear"])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "a few seconds"),
        (27, "30 seconds"),
        (94, "90 seconds"),
        (100, "2 minutes"),
        (5399, "90 minutes"),
        (5400, "1 hour 30 minutes"),
        (7190, "2 hours"),
        (12_000, "3 hours 20 minutes"),
    ],
)
def test_duration_is_as_exact_as_an_estimate(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plan_has_a_line_for_each_part_and_the_whole() -> None:
    tokeniser = Part("tokeniser", 8, 9_000, "characters", 130.0, can_stop=False)
    parser = Part("parser", 20, 5_000, "words", 3_000.0, can_stop=False)
    assert described([parser]) == ["Plan: parser: 20 epochs, 5,000 words in all, about 50 minutes."]
    draft = parser._replace(epochs=1)
    assert described([draft]) == ["Plan: parser: 1 epoch, 5,000 words in all, about 50 minutes."]
    assert described([tokeniser, parser]) == [
        "Plan:",
        "  1. tokeniser: 8 epochs, 9,000 characters in all, about 2 minutes",
        "  2. parser: 20 epochs, 5,000 words in all, about 50 minutes",
        "  In all about 52 minutes.",
    ]
    trained = tokeniser._replace(epochs=0, words=0, seconds=0.0)
    assert described([trained, parser._replace(can_stop=True)])[1:] == [
        "  1. tokeniser: already trained",
        "  2. parser: at most 20 epochs, 5,000 words in all, at most about 50 minutes",
        "  In all at most about 50 minutes.",
    ]


@pytest.mark.parametrize("config", [SMALL, LARGER], ids=["paper", "larger"])
def test_measuring_leaves_the_run_as_it_is(tmp_path: Path, config: object) -> None:
    folders = [tmp_path / "measured", tmp_path / "not"]
    for folder in folders:
        run = small_run(folder, config)  # type: ignore[arg-type]
        if folder.name == "measured":
            assert seconds_per_word(run) > 0
        run.finish()
    assert contents(folders[0]) == contents(folders[1])


class Parts(Messages):
    """Keeps what it hears of parts, among the messages."""

    def part(self, title: str, *, seconds_after: float) -> None:
        self.texts.append(f"part {title!r}, then {seconds_after:g}")


def test_networks_are_trained_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "seconds_per_word", lambda run: 1.0)
    monkeypatch.setattr(plan, "EVALUATION", 0.0)
    listener, words = Parts(), small_run(tmp_path / "any").words

    def opened(name: str) -> Run:
        listener.message(f"opened {name}")
        return small_run(tmp_path / name, LINEAR)

    stages = [
        Stage("a", tmp_path / "a", lambda: opened("a")),
        Stage("b", tmp_path / "b", lambda: opened("b")),
        Stage("c", tmp_path / "c", lambda: opened("c"), like_the_last=True),
    ]
    small_run(tmp_path / "a", LINEAR).finish()
    train_in_order(stages, listener)
    left = [f"{part}: 3 epochs, {3 * words} words in all, about {duration(3 * words)}" for part in "bc"]
    assert listener.texts == [
        *("opened a", "opened b", "Plan:", "  1. a: already trained", f"  2. {left[0]}", f"  3. {left[1]}"),
        *(f"  In all about {duration(6 * words)}.", f"part 'a', then {6 * words}"),
        *(f"part 'b', then {3 * words}", "part 'c', then 0", "opened c"),
    ]
    assert contents(tmp_path / "b") == contents(tmp_path / "c")
    listener.texts.clear()
    train_in_order(stages, listener)  # the estimate of a member that is trained already is not repeated
    assert [line for line in listener.texts if "3. c" in line] == ["  3. c: already trained"]
