"""experiments/knowledge.py: word vectors of a table of word pieces, and lemmas of a dictionary."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import biatt
from biatt.data.toy_treebank import generate
from biatt.encoding.word_vectors import read_vectors
from experiment_scripts import load_experiment


@pytest.fixture
def knowledge(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [*sys.path])
    module = load_experiment("knowledge")
    facts = {"commit": "1234567890", "cpu": "processor"}
    monkeypatch.setattr(module, "conditions", lambda settings: {"settings": settings, **facts})
    monkeypatch.setattr(module, "version", lambda name: "1.2.3")
    return module


def sentence(*words: tuple[str, str, str]) -> biatt.Sentence:
    forms, lemmas, upos = zip(*words, strict=True)
    return biatt.Sentence.from_words(forms, lemmas=lemmas, upos=upos)


def test_pieces_are_read_from_their_chunks(knowledge: ModuleType) -> None:
    generator = np.random.default_rng(1)
    pieces = generator.integers(0, 256, (6, 4)).astype(np.uint8)
    scale, low = np.array([0.5, 2.0]), np.array([-1.0, 3.0])
    table = knowledge.PieceTable([pieces[0::2], pieces[1::2]], scale, low)
    expected = [pieces[i] * scale[i % 2] + low[i % 2] for i in (5, 0, 3)]
    np.testing.assert_allclose(table([5, 0, 3]), expected)


def test_vectors_are_principal_components_of_the_means_of_pieces(
    knowledge: ModuleType, tmp_path: Path
) -> None:
    """Words differ in a plane only, so that two numbers keep all distances."""
    plane = np.random.default_rng(2).normal(size=(2, 5))
    table = np.random.default_rng(3).normal(size=(26, 2)) @ plane + 7
    words = ["ab", "cad", "été", "b", "dada", "a c"]

    def pieces(word: str) -> list[int]:
        return [ord(letter) - ord("a") for letter in word if "a" <= letter <= "z"]

    path = tmp_path / "vectors.txt"
    knowledge.write_vectors([*words, "7"], pieces, lambda found: table[found], path, width=2)
    vectors = read_vectors(path)
    assert vectors.words == words  # none of "7", which has no pieces
    means = np.stack([table[pieces(word)].mean(0) for word in words])
    np.testing.assert_allclose(vectors.vectors.mean(0), 0, atol=1e-3)
    for i in range(len(words)):
        distances = np.linalg.norm(means - means[i], axis=1)
        found = np.linalg.norm(vectors.vectors - vectors.vectors[i], axis=1)
        np.testing.assert_allclose(found, distances, atol=1e-3)
    assert np.var(vectors.vectors[:, 0]) >= np.var(vectors.vectors[:, 1])


def test_words_of_the_treebank_or_frequent_ones_are_first(
    knowledge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sys.modules, "wordfreq", SimpleNamespace(top_n_list=lambda code, n: ["of", code, "owl"])
    )
    biatt.write(
        [biatt.Sentence.from_words(["owl", "Mouse", "owl"]), biatt.Sentence.from_words(["cat"])],
        tmp_path / "train.conllu",
    )
    train = tmp_path / "train.conllu"
    assert knowledge.words_of("fr", train, "treebank") == ["owl", "Mouse", "cat", "of", "fr"]
    assert knowledge.words_of("fr", train, "frequent") == ["of", "fr", "owl", "Mouse", "cat"]


def test_share_of_new_words_with_a_vector(knowledge: ModuleType, tmp_path: Path) -> None:
    files = {split: tmp_path / f"{split}.conllu" for split in ("train", "dev")}
    biatt.write([biatt.Sentence.from_words(["The", "owl"])], files["train"])
    biatt.write([biatt.Sentence.from_words(["the", "Cat", "saw", "mice", "MICE"])], files["dev"])
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 1\ncat 2\nsaw 3\n", encoding="utf-8")
    assert knowledge.share_of_new(files, vectors, 3) == 50
    assert knowledge.share_of_new(files, vectors, 2) == 25


def test_lemmas_of_the_dictionary_are_for_new_words(knowledge: ModuleType) -> None:
    gold = sentence(
        ("Mice", "mouse", "NOUN"), ("saw", "see", "VERB"), ("Ann", "Ann", "PROPN"), (".", "_", "_")
    )
    parsed = sentence(
        ("Mice", "mice", "NOUN"), ("saw", "see", "VERB"), ("Ann", "Ann", "PROPN"), (".", ".", "_")
    )
    dictionary = {"Mice": "mouse", "Ann": "ann", "saw": "saw"}
    counts = knowledge.compared(
        [gold], [parsed], {"saw"}, dictionary.__getitem__, {"Mice", "Ann"}.__contains__
    )
    assert counts == {
        "words": {"all": 3, "new": 2},
        "correct": {
            "model": {"all": 2, "new": 1},
            "dictionary": {"all": 1, "new": 1},
            "new": {"all": 2, "new": 1},
            "new and known": {"all": 2, "new": 1},
            "new and known, no names": {"all": 3, "new": 2},
        },
    }


def test_lemmas_of_a_language_are_compared_once(
    knowledge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "treebanks" / knowledge.TREEBANKS["ga"].folder
    folder.mkdir(parents=True)
    for seed, split in enumerate(("train", "dev", "test")):
        biatt.write(generate(6, seed=seed), folder / f"{split}.conllu")
    dictionary = SimpleNamespace(lemmatize=lambda form, code: form, is_known=lambda form, code: True)
    monkeypatch.setitem(sys.modules, "simplemma", dictionary)
    model = SimpleNamespace(parse=lambda sentences, retag: sentences)  # always right
    monkeypatch.setattr(biatt, "load", lambda path: model)
    options = ["lemmas", "ga", "--treebanks", str(folder.parent), "--knowledge", str(tmp_path)]
    options += ["--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    (tmp_path / "runs").mkdir()
    knowledge.main(options)
    (result,) = map(json.loads, (tmp_path / "results" / "results.jsonl").read_text().splitlines())
    assert result["correct"]["model"] == result["words"]
    assert result["correct"]["dictionary"]["all"] < result["words"]["all"]
    table = (tmp_path / "results" / "RESULTS.md").read_text()
    assert "Commit 1234567; processor, one thread; simplemma 1.2.3." in table
    assert table.splitlines()[-1].startswith(f"| Irish | {result['words']['all']} | ")
    monkeypatch.setattr(biatt, "load", None)  # a further comparison would fail
    knowledge.main(options)
    assert (tmp_path / "results" / "RESULTS.md").read_text() == table


def test_models_without_and_with_vectors_are_trained_once(
    knowledge: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both with the same seed and settings, apart from the vectors."""
    trainings = []

    def trained(
        files: dict[str, Path], model: Path, treebank: object, settings: object, *more: object
    ) -> int:
        model.mkdir()
        (model / "weights").write_bytes(bytes(1_000_000))
        trainings.append((settings, more))
        return 90

    files = {split: tmp_path / f"{split}.conllu" for split in ("train", "dev")}
    for seed, path in enumerate(files.values()):
        biatt.write(generate(6, seed=seed), path)
    (tmp_path / "runs" / "fr").mkdir(parents=True)
    scores = {"UPOS": 97.0, "Lemmas": 96.0, "UAS": 90.0, "LAS": 87.125}
    for name, value in {
        "trained": trained,
        "files_of": lambda code, options: files,
        "measured": lambda model, files, split: {split: scores, "words/s": 1234.5},
        "words_of": lambda code, train, first: ["the", "who", "zebra"],
        "piece_table": lambda folder: (lambda word: [len(word)], lambda found: np.eye(9)[found]),
        "_package_bytes": lambda code, model: 500_000,
    }.items():
        monkeypatch.setattr(knowledge, name, value)
    options = ["vectors", "fr", "--treebanks", str(tmp_path), "--knowledge", str(tmp_path), "--seeds", "3"]
    options += ["--rows", "0", "2", "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    knowledge.main(options)
    settings = knowledge.settings_of("fr")
    assert trainings == [
        (settings, ("--seed", 3)),
        *(
            ([*settings, "vector_rows=2"], ("--seed", 3, "--embeddings", tmp_path / "runs" / "fr" / name))
            for name in ("treebank.txt", "frequent.txt")
        ),
    ]
    table = (tmp_path / "results" / "RESULTS.md").read_text().splitlines()
    assert table[-3] == "| French | 3 | 0 |  | 97.00 | 96.00 | 90.00 | 87.12 |  | 1.0 | 0.5 | 1,234 | 2 |"
    assert table[-1].startswith("| French | 3 | 2 | treebank | 97.00 | 96.00 | 90.00 | 87.12 | ")
    knowledge.main(options)
    assert len(trainings) == 3


def test_table_is_that_of_the_results(knowledge: ModuleType) -> None:
    results = knowledge.read_results(knowledge.RESULTS)
    assert (knowledge.RESULTS / "RESULTS.md").read_text("utf-8") == knowledge.document(results)
