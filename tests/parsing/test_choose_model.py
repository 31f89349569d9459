"""Choosing a model by the language of a text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import biatt
from biatt.errors import ModelError
from biatt.models import named_models
from biatt.models.language_profile import LanguageProfile
from biatt.parsing.choose_model import ChosenParsers, best_choice, choose_model
from biatt.parsing.parse_file import parse_files
from builders import random_parser, random_tokeniser

TEXTS = {
    "da": "Katten sover på gulvet, og hunden går ud i haven. De har ikke set os endnu.",
    "en": "The cat sleeps on the floor, and the dog walks out into the garden. They have not seen us yet.",
    "uk": "Кіт спить на підлозі, а собака йде в сад. Вони нас ще не бачили, але це не має значення.",
}
DANISH, ENGLISH = "Hunden sover ikke på gulvet.", "The dog has not seen the garden."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of three languages, with random weights."""
    path = tmp_path_factory.mktemp("models")
    for seed, (name, text) in enumerate(TEXTS.items()):
        parser = random_parser({"tags": True, "columns": ("form",)})
        parser.tokeniser = random_tokeniser(seed)
        parser.profile = LanguageProfile.of_text(text)
        parser.save(path / name)
    return path


@pytest.fixture
def models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """These models instead of those inside biatt."""
    monkeypatch.setattr(named_models, "MODELS", folder)
    return folder


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(("text", "name"), [(DANISH, "da"), (ENGLISH, "en"), ("Собака спить у саду.", "uk")])
def test_model_of_the_texts_language_is_chosen(text: str, name: str) -> None:
    assert choose_model(text).name == name
    assert choose_model(" ".join([text] * 10)).sure


@pytest.mark.usefixtures("models")
def test_text_without_letters_is_for_the_first_model_and_not_sure() -> None:
    choice = choose_model("12 + 30 = 42")
    assert choice.name == "da"
    assert choice.probability == pytest.approx(1 / 3)
    assert not choice.sure


def test_order_of_equal_profiles_decides() -> None:
    same = LanguageProfile.of_text("abc")
    assert best_choice("abc", {"b": same, "a": same}) == ("b", 0.5, "a")
    assert best_choice("abc", {"a": same}) == ("a", 1.0, None)


def test_without_any_profile_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random_parser().save(tmp_path / "xx")
    monkeypatch.setattr(named_models, "MODELS", tmp_path)
    with pytest.raises(ModelError, match=r"^No installed model has a language profile .*: name the model\.$"):
        choose_model("a")


def test_each_file_is_parsed_by_its_own_model(models: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.conllu"]
    files[0].write_text(f"{DANISH}\n\n{DANISH}\n", encoding="utf-8")
    files[1].write_text(ENGLISH, encoding="utf-8")
    biatt.write([biatt.Sentence.from_words(DANISH.split())], files[2])
    said: list[str] = []
    parsers = ChosenParsers(tell=said.append)
    parse_files(parsers, [([str(file) for file in files], tmp_path / "all.conllu")])
    assert [line.partition(";")[0].removesuffix(".") for line in said] == [
        f"{files[0]}: model da (Danish)",
        f"{files[1]}: model en (English)",
        f"{files[2]}: model da (Danish)",
    ]
    alone = []
    for file, name in zip(files, ("da", "en", "da"), strict=True):
        target = tmp_path / f"{file.stem}-alone.conllu"
        parse_files(biatt.load(models / name), [([file], target)])
        alone += list(biatt.read(target))
    together = list(biatt.read(tmp_path / "all.conllu"))
    assert [s.rows for s in together] == [s.rows for s in alone]
    numbers = [s.sent_id for s in together if s.sent_id]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]


@pytest.mark.usefixtures("models")
def test_streams_are_parsed_from_their_beginning(tmp_path: Path) -> None:
    text = f"{ENGLISH} {ENGLISH}\n\n" * 3
    source = io.BytesIO(text.encode())
    parse_files(ChosenParsers(tell=lambda _: None), [([source], tmp_path / "out.conllu")], input="text")
    parsed = list(biatt.read(tmp_path / "out.conllu"))
    assert "".join(token.form for sentence in parsed for token in sentence.tokens) == "".join(text.split())


def test_bundled_english_model_has_a_profile() -> None:
    assert choose_model("The dog has not seen the garden.").name == "en"
