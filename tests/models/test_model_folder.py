"""Model folders: what is saved comes back, and nothing that a user has is lost."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from biatt.data.sentence import Sentence
from biatt.errors import BiattError, ModelError
from biatt.models.model_folder import CHECKPOINT, METRICS, WEIGHTS, read_model
from biatt.models.named_models import MODELS, find_model
from biatt.models.weights import EMBEDDINGS, FROZEN, StoredWeights, row_scale
from biatt.parser import Parser, load
from builders import TREEBANK, random_parser, random_pipeline
from failing_disk import FailingDisk, Killed

OWN = ["config.json", "model.safetensors", "vocabulary.json"]
VECTOR_VARIANT = {"vector_rows": 5, "vector_width": 3}
TEXT = "The dog sees a bird. Dogs bark, ab!"


def pipeline(*, seed: int = 0, members: int = 1, packed: bool = False) -> Parser:
    """A parser with all parts that a folder can have."""
    parser = random_pipeline(hidden=4, seed=seed)
    for number in range(1, members):
        parser.add(random_pipeline(hidden=4, seed=seed + number))
    parser.card = f"# Model {seed}\n"
    if packed:
        parser.quantise()
    return parser


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def trees(parser: Parser) -> list[tuple[list[int], list[str]]]:
    return [(sentence.heads, sentence.deprels) for sentence in parser(TEXT)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pipeline().save(tmp_path / "here" / "model")
    return tmp_path / "here" / "model"


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FailingDisk]:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # slow, and no change
    with FailingDisk(tmp_path) as disk:
        yield disk


# Saving


def test_folder_of_a_model_with_all_parts(tmp_path: Path) -> None:
    parser = pipeline(members=3)
    parser.save(tmp_path)
    parts = ["ensemble/2", "ensemble/3", "tokeniser"]
    assert files(tmp_path) == sorted(
        ["README.md", *OWN, *(f"{part}/{name}" for part in parts for name in OWN)]
    )
    loaded = load(tmp_path)
    assert trees(loaded) == trees(parser)
    assert (loaded.card, loaded.temperature, len(loaded.members)) == (parser.card, parser.temperature, 2)


def test_settings_are_readable_and_vocabularies_short(folder: Path) -> None:
    assert len((folder / "config.json").read_text().splitlines()) > 10
    assert len((folder / "vocabulary.json").read_text().splitlines()) == 1
    assert json.loads((folder / "config.json").read_text())["version"] == 3


def test_packed_model_is_saved_packed_bit_for_bit_with_its_card(tmp_path: Path) -> None:
    parser = pipeline(members=2, packed=True)
    parser.save(tmp_path / "once")
    load(tmp_path / "once").save(tmp_path / "twice")
    assert files(tmp_path / "once") == files(tmp_path / "twice")
    for name in files(tmp_path / "once"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()
    pipeline(members=2).save(tmp_path / "whole")
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("once", "whole")]
    assert sizes[0] < 0.6 * sizes[1]


def test_bundled_model_is_saved_as_it_is(tmp_path: Path) -> None:
    load("en").save(tmp_path / "copy")
    assert files(tmp_path / "copy") == files(MODELS / "en")
    assert load(tmp_path / "copy").config == load("en").config
    for name in files(MODELS / "en"):
        if not name.endswith("config.json"):  # which may lack settings that are younger than the model
            assert (tmp_path / "copy" / name).read_bytes() == (MODELS / "en" / name).read_bytes(), name


def test_weights_in_any_memory_layout_are_saved_as_they_are(tmp_path: Path) -> None:
    parser = random_parser()
    weights = {name: np.asfortranarray(value, np.float64) for name, value in parser.weights.items()}
    Parser(parser.config, parser.vocabulary, weights).save(tmp_path)
    for name, value in load(tmp_path).weights.items():
        np.testing.assert_array_equal(value, parser.weights[name])


def test_saving_over_a_model_replaces_all_of_it(folder: Path) -> None:
    (folder / METRICS).write_text("{}\n")  # of the training of the model that was there
    other = random_parser(hidden=5, seed=1)
    other.save(folder)
    assert files(folder) == OWN
    assert load(folder).config == other.config


FOREIGN = [
    "config.json",
    "README.md",
    "tokeniser/notes.txt",
    "encoder/data.bin",
    "ensemble/2/thesis.tex",
    ".git/HEAD",
]


@pytest.mark.parametrize("name", FOREIGN)
def test_folder_that_is_no_model_is_left_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"format": "something else"}')
    with pytest.raises(ModelError, match="not a model, and not empty"):
        pipeline().save(tmp_path / "mine")
    assert files(tmp_path) == [f"mine/{name}"]
    assert path.read_text() == '{"format": "something else"}'


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "tagger/notes.txt",
        "tokeniser/notes.txt",
        "ensemble/thesis.tex",
        "ensemble/2/README.md",
        "ensemble/2/x",
    ],
)
def test_model_folder_with_files_of_the_user_is_left_alone(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    before = files(folder)
    with pytest.raises(ModelError, match="which is no part of a model") as caught:
        random_parser().save(folder)
    assert name.split("/")[0] in str(caught.value)
    assert files(folder) == before


@pytest.mark.parametrize("name", ["tagger", "tokeniser", "ensemble/2"])
def test_folder_in_the_place_of_a_part_is_left_alone(tmp_path: Path, name: str) -> None:
    random_parser().save(tmp_path)
    (tmp_path / name).mkdir(parents=True)
    (tmp_path / name / "README.md").write_text("mine")
    with pytest.raises(ModelError, match=f"contains {name}, which is no part"):
        random_parser().save(tmp_path)
    assert (tmp_path / name / "README.md").read_text() == "mine"


def test_folder_in_training_is_left_alone(folder: Path) -> None:
    (folder / CHECKPOINT).write_bytes(b"")
    with pytest.raises(ModelError, match="is in training"):
        random_parser().save(folder)
    assert (folder / CHECKPOINT).exists()


def test_file_in_the_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("mine")
    with pytest.raises(ModelError, match="not a model, and not empty"):
        random_parser().save(tmp_path / "model")
    assert (tmp_path / "model").read_text() == "mine"
    with pytest.raises(BiattError, match="cannot be written"):
        random_parser().save(tmp_path / "model" / "inside")


@pytest.mark.slow
def test_failed_save_leaves_the_model_that_was_there(folder: Path, disk: FailingDisk) -> None:
    old, new, failures = read_model(folder).card, pipeline(seed=7), 0
    for step in count():
        disk.fail_at(step, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        failed = False
        try:
            new.save(folder)
        except BiattError:
            failed = True
        if not disk.repair():
            break
        if failed:
            failures += 1
            assert read_model(folder).card == old
            assert [path.name for path in folder.parent.iterdir()] == ["model"]
        else:
            assert read_model(folder).card == new.card
            pipeline().save(folder)
    assert failures > 20
    assert trees(load(folder)) == trees(new)


@pytest.mark.slow
def test_killed_save_leaves_the_old_or_the_new_model(folder: Path, disk: FailingDisk) -> None:
    copy = folder.parent.parent / "copy"
    shutil.copytree(folder, copy)
    old, new, seen = read_model(folder).card, pipeline(seed=7, members=2), []
    for step in count():
        disk.kill_at(step)
        with suppress(Killed):
            new.save(folder)
        if not disk.repair():
            break
        found = read_model(find_model(folder))
        assert found.tokeniser is not None
        assert len(found.members) == (found.card == new.card)
        if found.card not in seen:
            pipeline(seed=9).save(folder)  # as well as ever
            assert read_model(folder).card == "# Model 9\n"
        seen.append(found.card)
        shutil.rmtree(folder.parent)
        shutil.copytree(copy, folder)
    assert set(seen) == {old, new.card}


def test_parser_that_could_not_be_loaded_is_not_saved(folder: Path) -> None:
    parser = load(folder)
    parser.temperature = parser.temperature._replace(arcs=float("nan"))
    parser.card = "new"
    with pytest.raises(ModelError, match="temperature of arcs"):
        parser.save(folder)
    parser = load(folder)
    parser.weights = StoredWeights({**parser.weights, "P": np.full_like(parser.weights["P"], np.inf)})
    with pytest.raises(ModelError, match="P contain a number that is not finite"):
        parser.save(folder)
    assert load(folder).card != "new"


# Finding


def test_folder_with_the_name_of_a_bundled_model_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model("en") == MODELS / "en"
    random_parser().save("en")
    assert find_model("en") == Path("en")


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("{}")])
def test_missing_folder_or_file_in_its_place_is_a_model_error(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "model")
    with pytest.raises(ModelError, match=r"no model folder .*model, nor a model of that name"):
        load(tmp_path / "model")


def test_name_that_no_file_can_have_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="cannot be read: file name too long"):
        load("x" * 300)


# Reading


def test_member_that_links_to_the_whole_folder_is_read_once(tmp_path: Path) -> None:
    random_parser().save(tmp_path)
    (tmp_path / "ensemble").mkdir()
    (tmp_path / "ensemble" / "2").symlink_to(tmp_path)
    assert len(load(tmp_path).members) == 1


def test_members_with_other_vocabularies_are_refused(tmp_path: Path) -> None:
    random_parser().save(tmp_path)
    random_parser({"affixes": 2}).save(tmp_path / "ensemble" / "2")
    with pytest.raises(ModelError, match="different vocabularies"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "folder"])
def test_file_without_an_end_is_not_read(folder: Path, name: str, target: str) -> None:
    path = folder / name
    path.unlink()
    if target == "folder":
        path.mkdir()
    elif target == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target)
    with pytest.raises(ModelError, match=f"{name}: it is not a regular file"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors", "README.md"])
def test_file_that_is_too_large_is_not_read(folder: Path, name: str) -> None:
    os.truncate(folder / name, 1 << 40)  # a file with a hole, which takes no space
    with pytest.raises(ModelError, match=r"it has 1,099,511,627,776 bytes; it can have up to"):
        load(folder)


def test_card_that_is_no_text_does_not_stop_loading(folder: Path) -> None:
    (folder / "README.md").write_bytes(b"caf\xe9")
    assert load(folder).card == "caf\ufffd"


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("fused", [True, False])
def test_pickle_in_the_place_of_the_weights_is_never_executed(folder: Path, fused: bool) -> None:
    sprung = folder / "sprung"
    trap = pickle.dumps(Trap(sprung))
    (folder / "model.safetensors").write_bytes(trap)
    with pytest.raises(ModelError, match="damaged"):
        load(folder, fused=fused)
    assert not sprung.exists()
    pickle.loads(trap)  # the trap does work
    assert sprung.exists()


def test_words_without_tokeniser(tmp_path: Path) -> None:
    random_parser().save(tmp_path)
    parser = load(tmp_path)
    assert (parser.tokeniser, parser.card) == (None, None)
    assert len(list(parser.parse([Sentence.from_words(TREEBANK[0].forms)]))) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_frozen_vectors_are_saved_in_eight_bits(tmp_path: Path, packed: bool) -> None:
    options = {"scale": row_scale(random_parser(VECTOR_VARIANT).weights[EMBEDDINGS])} if packed else {}
    parser = random_parser(VECTOR_VARIANT, **options)
    parser.save(tmp_path / "a")
    again = load(tmp_path / "a")
    for name in FROZEN:
        assert again.weights[name].dtype == parser.weights[name].dtype
        assert (again.weights[name] == parser.weights[name]).all()
    again.save(tmp_path / "b")
    assert (tmp_path / "a" / WEIGHTS).read_bytes() == (tmp_path / "b" / WEIGHTS).read_bytes()


def test_words_must_be_as_many_as_vectors(tmp_path: Path) -> None:
    random_parser(VECTOR_VARIANT).save(tmp_path / "m")
    path = tmp_path / "m" / "vocabulary.json"
    data = json.loads(path.read_text())
    data["symbols"]["vector"].pop()
    path.write_text(json.dumps(data))
    with pytest.raises(ModelError, match="4 words have a vector, but there are 5 vectors"):
        load(tmp_path / "m")
