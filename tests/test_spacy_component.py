"""The component inside the real spaCy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

spacy = pytest.importorskip("spacy", reason="needs spaCy: pip install 'biatt[spacy]'")

from biatt.data.toy_treebank import generate  # noqa: E402
from biatt.errors import ModelError  # noqa: E402
from biatt.parser import Parser  # noqa: E402
from biatt.spacy_component import BiattComponent  # noqa: E402
from builders import random_parser, random_tagger, random_tokeniser  # noqa: E402

pytestmark = pytest.mark.slow  # spaCy alone takes seconds to start

TEXTS = [
    "The baker saw a bird. Clara laughs, doesn't she?",
    "",
    "  Two  spaces \n\n and lines. ",
    "cab",
    *(" ".join(sentence.forms) for sentence in generate(12, seed=8)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights: heads and relations of every kind."""
    parser: Parser = random_parser()
    parser.tagger, parser.tokeniser = random_tagger(), random_tokeniser()
    parser.save(out := tmp_path_factory.mktemp("model"))
    return out


def pipeline(folder: Path, **config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("biatt", config={"model": str(folder), **config})
    return nlp


def facts(doc: Any) -> list[tuple[Any, ...]]:
    return [(t.text, t.head.i, t.dep_, t.is_sent_start, t.pos_, t.tag_, t.lemma_, str(t.morph)) for t in doc]


def test_doc_has_the_trees_of_the_parser(folder: Path) -> None:
    nlp = pipeline(folder)
    component: BiattComponent = nlp.get_pipe("biatt")
    for text in TEXTS:
        doc = nlp(text)
        assert doc.text == text
        for sent in doc.sents:
            words = [token for token in sent if not token.is_space]
            if not words:
                continue
            (expected,) = component.parser.parse_tokens([[token.text for token in words]])
            found = [0 if t.head is t or t.head.i == t.i else words.index(t.head) + 1 for t in words]
            assert found == expected.heads
            assert [t.dep_ for t in words] == [
                relation if head else "ROOT"
                for relation, head in zip(expected.deprels, expected.heads, strict=True)
            ]
            assert [t.pos_ for t in words] == expected.upos
            assert [t.lemma_ for t in words] == expected.lemmas


def test_sentences_end_where_the_tokeniser_says(folder: Path) -> None:
    nlp = pipeline(folder)
    parser = nlp.get_pipe("biatt").parser
    for text in TEXTS:
        ends, seen = set(), 0
        for sentence in parser.split([text])[0]:
            seen += sum(len(token.form) for token in sentence.tokens)
            ends.add(seen)
        doc, seen = nlp(text), 0
        for token in doc:
            seen += len("".join(token.text.split()))
            following = doc[token.i + 1] if token.i + 1 < len(doc) else None
            if following is not None and not token.is_space and not following.is_space:
                inside = range(seen - len(token.text) + 1, seen + 1)
                assert following.is_sent_start == any(end in ends for end in inside)


def test_sentences_that_are_there_are_kept(folder: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    starts = [token.is_sent_start for token in nlp(TEXTS[0])]
    nlp.add_pipe("biatt", config={"model": str(folder)})
    assert [token.is_sent_start for token in nlp(TEXTS[0])] == starts


def test_tags_that_are_there_are_kept(folder: Path) -> None:
    component = pipeline(folder).get_pipe("biatt")
    doc = spacy.tokens.Doc(spacy.blank("en").vocab, ["Go", "home"], pos=["X", "X"], tags=["a", "b"])
    component(doc)
    assert [token.pos_ for token in doc] == ["X", "X"]
    untagged = pipeline(folder, tags=False)("Go home")
    assert not untagged.has_annotation("POS")


def test_confidence_is_an_extension(folder: Path) -> None:
    doc = pipeline(folder, confidence=True)("The baker saw a bird.")
    assert all(0 <= token._.biatt_confidence <= 1 for token in doc)


def test_pipeline_is_serialised_with_its_model(folder: Path, tmp_path: Path) -> None:
    nlp = pipeline(folder)
    expected = [facts(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(tmp_path / "saved")
    assert [facts(doc) for doc in spacy.load(tmp_path / "saved").pipe(TEXTS)] == expected
    other = pipeline(folder).from_bytes(nlp.to_bytes())
    assert [facts(doc) for doc in other.pipe(TEXTS)] == expected


def test_saved_pipeline_does_not_need_the_folder_that_it_came_from(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "gone")
    nlp = pipeline(tmp_path / "gone")
    nlp.to_disk(tmp_path / "saved")
    shutil.rmtree(tmp_path / "gone")
    assert facts(spacy.load(tmp_path / "saved")(TEXTS[0])) == facts(nlp(TEXTS[0]))
    with pytest.raises(ModelError, match="no model folder"):
        pipeline(tmp_path / "gone")("text")


def test_two_processes_give_what_one_gives(folder: Path) -> None:
    nlp = pipeline(folder)
    expected = [facts(doc) for doc in nlp.pipe(TEXTS)]
    assert [facts(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=4)] == expected
    assert [facts(nlp(text)) for text in TEXTS] == expected


def test_displacy_draws_it(folder: Path) -> None:
    doc = pipeline(folder)(TEXTS[0])
    drawn = spacy.displacy.render(doc, style="dep", jupyter=False)
    assert drawn.startswith("<svg")
    assert all(token.dep_ in drawn for token in doc if token.dep_ != "ROOT")
