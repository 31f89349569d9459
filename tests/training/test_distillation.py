"""Learning from a teacher's probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from biatt import evaluate, load, read, write
from biatt.cli import app
from biatt.config import Config, with_settings
from biatt.data.scores import Floats
from biatt.data.sentence import DEPREL, HEAD
from biatt.data.toy_treebank import generate
from biatt.errors import BiattError, ConfigError
from biatt.parser import Parser
from biatt.training.distillation import Lesson, lessons, load_teacher, together
from biatt.training.run import Silent
from biatt.training.train import train

SMALL = with_settings(Config(), ["hidden=8", "rate=0.01", "epochs=2", "clip=1"])
LARGE = with_settings(
    Config(), ["hidden=32", "rate=0.005", "batch_words=40", "clip=1", "epochs=15", "pair_hidden=8"]
)


class Data:
    def __init__(self, folder: Path) -> None:
        self.train, self.dev = folder / "train.conllu", folder / "dev.conllu"
        write(generate(150, seed=3), self.train)
        write(generate(20, seed=4), self.dev)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def teachers(data: Data, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two models that have learnt the language."""
    folders = [tmp_path_factory.mktemp("teacher") / f"seed{seed}" for seed in (1, 2)]
    for seed, out in enumerate(folders, 1):
        train(data.train, dev=data.dev, out=out, config=LARGE, seed=seed)
    return folders


def softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max())
    result: Floats = powers / powers.sum()
    return result


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_student_that_only_hears_its_teacher_learns_what_the_teacher_knows(
    data: Data, teachers: list[Path], tmp_path: Path
) -> None:
    sentences = list(read(data.train))
    for sentence in sentences:
        for i, row in enumerate(sentence.rows):
            row[HEAD] = str(i)  # the gold trees teach nothing: the head of every word is the one before it
    write(sentences, tmp_path / "misled.conllu")
    found = []
    for share in (0, 1):
        config = with_settings(LARGE, [f"distillation={share}", "schedule=linear", "epochs=8"])
        out = tmp_path / str(share)
        student = train(tmp_path / "misled.conllu", dev=data.dev, out=out, config=config, teachers=teachers)
        found.append(evaluate(data.dev, student.parse(read(data.dev))).uas)
    assert found[0] < 0.5
    assert found[1] > 0.85


def test_lesson_is_what_the_teacher_says_at_its_temperature(data: Data, teachers: list[Path]) -> None:
    teacher = load(teachers[0])
    sentences = list(read(data.dev))[:5]
    for sentence, lesson in zip(sentences, lessons(teacher, sentences, teacher.vocabulary), strict=True):
        (scores,) = teacher.scores([sentence])
        for t, row in enumerate(sentence.rows):
            arcs = (scores.left[t] + scores.right[t]) / teacher.temperature.arcs
            arcs[t + 1] = -np.inf
            labels = scores.relation_scores([int(row[HEAD])] * len(sentence))[t]
            np.testing.assert_allclose(lesson.heads[t], softmax(arcs), atol=1e-5)
            np.testing.assert_allclose(
                lesson.relations[t], softmax(labels / teacher.temperature.relations), atol=1e-5
            )


def test_several_teachers_speak_as_one(data: Data, teachers: list[Path]) -> None:
    sentences = list(read(data.dev))[:5]
    both = load_teacher(teachers)
    assert len(both.members) == 1
    expected = load(teachers[0])
    expected.add(load(teachers[1]))
    for lesson, same in zip(
        lessons(both, sentences, both.vocabulary),
        lessons(expected, sentences, both.vocabulary),
        strict=True,
    ):
        np.testing.assert_array_equal(lesson.heads, same.heads)
        np.testing.assert_array_equal(lesson.relations, same.relations)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 99))
def test_lessons_of_a_batch_are_those_of_its_sentences(lengths: list[int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    parts = [Lesson(draw.random((n, n + 1)), draw.random((n, 3))) for n in lengths]
    whole = together(parts)
    assert whole.heads.shape == (sum(lengths), max(lengths) + 1)
    start = 0
    for n, part in zip(lengths, parts, strict=True):
        np.testing.assert_array_equal(whole.heads[start : start + n, : n + 1], part.heads)
        assert not whole.heads[start : start + n, n + 1 :].any()
        np.testing.assert_array_equal(whole.relations[start : start + n], part.relations)
        start += n


def test_share_of_0_is_training_without_a_teacher(data: Data, teachers: list[Path], tmp_path: Path) -> None:
    def student(name: str, **options: Any) -> bytes:
        config = with_settings(SMALL, options.pop("settings", []))
        train(data.train, dev=data.dev, out=tmp_path / name, config=config, **options)
        return weights(tmp_path / name)

    alone = student("alone")
    assert student("deaf", teachers=teachers, settings=["distillation=0"]) == alone
    taught = student("taught", teachers=teachers)
    assert taught != alone
    assert student("taught by one", teachers=teachers[:1]) not in (alone, taught)


class Interrupted(Silent):
    def epoch(self, record: dict[str, Any]) -> None:
        raise KeyboardInterrupt


def test_interrupted_lesson_goes_on_with_the_same_teachers_only(
    data: Data, teachers: list[Path], tmp_path: Path
) -> None:
    def student(name: str, **options: Any) -> Parser:
        return train(data.train, dev=data.dev, out=tmp_path / name, config=SMALL, **options)

    student("whole", teachers=teachers)
    with pytest.raises(KeyboardInterrupt):
        student("m", teachers=teachers, listener=Interrupted())
    for others in ([], teachers[:1], teachers[::-1]):
        with pytest.raises(ConfigError, match="begun with other data"):
            student("m", teachers=others, resume=True)
    student("m", teachers=teachers, resume=True)
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


def test_teacher_of_other_relations_is_refused(data: Data, teachers: list[Path], tmp_path: Path) -> None:
    sentences = list(read(data.train))
    sentences[0].rows[0][DEPREL] = "unheard-of"
    write(sentences, tmp_path / "other.conllu")
    with pytest.raises(ConfigError, match="has other relations"):
        train(tmp_path / "other.conllu", dev=data.dev, out=tmp_path / "m", config=SMALL, teachers=teachers)


def test_teachers_of_other_words_cannot_speak_as_one(
    data: Data, teachers: list[Path], tmp_path: Path
) -> None:
    train(data.dev, dev=data.dev, out=tmp_path / "other", config=SMALL)
    with pytest.raises(ConfigError, match=r"other cannot teach beside .*same vocabulary"):
        load_teacher([teachers[0], tmp_path / "other"])


def test_missing_teacher_is_named(data: Data, tmp_path: Path) -> None:
    with pytest.raises(BiattError, match="nobody"):
        train(data.train, dev=data.dev, out=tmp_path / "m", config=SMALL, teachers=[tmp_path / "nobody"])
    assert not (tmp_path / "m").exists()


def test_command_takes_teachers(data: Data, teachers: list[Path], tmp_path: Path) -> None:
    command = ["train", "--train", str(data.train), "--dev", str(data.dev), "--out", str(tmp_path / "m")]
    command += ["--teacher", str(teachers[0]), "--teacher", str(teachers[1])]
    for change in ("hidden=8", "rate=0.01", "epochs=2", "clip=1"):
        command += ["--set", change]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    train(data.train, dev=data.dev, out=tmp_path / "same", config=SMALL, teachers=teachers)
    assert weights(tmp_path / "m") == weights(tmp_path / "same")
