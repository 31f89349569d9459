"""The component inside the real spaCy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

spacy = pytest.importorskip("spacy", reason="needs spaCy: pip install 'biatt[spacy]'")

import biatt.spacy  # noqa: E402
from biatt.data.toy_treebank import generate  # noqa: E402
from biatt.errors import ModelError  # noqa: E402
from biatt.spacy_component import BiattComponent, score  # noqa: E402
from builders import random_parser, random_pipeline  # noqa: E402

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
    random_pipeline().save(out := tmp_path_factory.mktemp("model"))
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


def test_parts_of_tags_that_are_missing_are_set(folder: Path) -> None:
    component = pipeline(folder).get_pipe("biatt")
    doc = component(spacy.tokens.Doc(spacy.blank("en").vocab, ["Go", "home"], pos=["X", "X"]))
    assert [token.pos_ for token in doc] == ["X", "X"]
    (expected,) = component.parser.parse_tokens([["Go", "home"]])
    assert [token.tag_ for token in doc] == expected.xpos
    assert [token.lemma_ for token in doc] == expected.lemmas


def test_upstream_tags_are_used_only_if_asked_for(tmp_path: Path) -> None:
    parser = random_parser({"tags": True, "columns": ("form",)}, deviation=1.0)
    parser.save(tmp_path)
    words = ["The", "baker", "saw", "a", "bird"]
    tags = {"upos": ["X", "PROPN", "NOUN", "VERB", "ADV"], "xpos": ["DT", "NN", "VBD", "DT", "NN"]}
    given = biatt.Sentence.from_words(words, **tags)
    with_tags, without = parser.parse(given), parser.parse(biatt.Sentence.from_words(words))
    assert (with_tags.heads, with_tags.deprels) != (without.heads, without.deprels)
    for asked, expected in ((True, with_tags), (False, without)):
        component = pipeline(tmp_path, upstream_tags=asked).get_pipe("biatt")
        doc = spacy.tokens.Doc(spacy.blank("en").vocab, words, pos=tags["upos"], tags=tags["xpos"])
        (parsed,) = biatt.spacy.from_doc(component(doc))
        assert parsed.heads == expected.heads
        assert parsed.lemmas == expected.lemmas
        assert [parsed.upos, parsed.xpos] == list(tags.values())


def test_tokens_that_are_only_space_are_tagged_as_such(folder: Path) -> None:
    doc = pipeline(folder)("  Two  spaces \n\n and lines. ")
    assert [token for token in doc if token.is_space]
    for token in doc:
        assert (token.pos_ == "SPACE") == (token.tag_ == "_SP") == token.is_space
        if token.is_space:
            assert (token.lemma_, token.dep_, str(token.morph)) == (token.text, "dep", "")
    assert all(doc.has_annotation(name) for name in ("DEP", "POS", "TAG", "MORPH", "LEMMA", "SENT_START"))
    assert {token.is_sent_start for token in doc} <= {True, False}


def test_confidence_is_extensions(folder: Path, tmp_path: Path) -> None:
    doc = pipeline(folder, confidence=True)("The baker saw a bird.")
    for token in doc:
        assert 0 <= token._.biatt_confidence <= token._.biatt_arc_confidence <= 1
        assert all(0 < value <= 1 for value in token._.biatt_tag_confidence.values())
    random_parser().save(tmp_path)
    for token in pipeline(tmp_path, confidence=True)("The baker saw a bird."):
        assert token._.biatt_tag_confidence == {}  # the model does not choose tags
    nlp = pipeline(folder, confidence=True)
    for doc in nlp.pipe(["The baker saw a bird.", "Clara laughs."], n_process=2):
        assert all(0 < token._.biatt_tag_confidence["lemma"] <= 1 for token in doc)
    assert nlp("  ")[0]._.biatt_confidence is None


def test_noun_chunks_follow_the_relations_of_universal_dependencies(folder: Path) -> None:
    doc = pipeline(folder)("The old baker  saw the two dogs of Clara.")
    sentences = biatt.spacy.from_doc(doc)
    expected = [[word.form for word in chunk] for sentence in sentences for chunk in sentence.noun_chunks]
    assert [[t.text for t in chunk if not t.is_space] for chunk in doc.noun_chunks] == expected
    assert [chunk.text for sent in doc.sents for chunk in sent.noun_chunks] == [
        chunk.text for chunk in doc.noun_chunks
    ]
    earlier = spacy.tokens.Doc(spacy.blank("en").vocab, ["Clara", "laughs"])
    with pytest.raises(ValueError, match="E029"):
        list(earlier.noun_chunks)
    list(pipeline(folder).get_pipe("biatt")(earlier).noun_chunks)


def test_evaluate_scores_trees_and_tags(folder: Path) -> None:
    nlp = pipeline(folder)
    gold = [sentence for sentence in generate(12, seed=8) if len(sentence) > 3]
    examples = []
    for sentence in gold:
        reference = biatt.spacy.to_doc(sentence, nlp.vocab)
        words = [token.text for token in reference]
        examples.append(spacy.training.Example(spacy.tokens.Doc(nlp.vocab, words), reference))
    component = nlp.get_pipe("biatt")
    component.parser.tokeniser = None  # all tokens of a Doc are one sentence
    scores = nlp.evaluate(examples)
    parsed = component.parser.parse_tokens([sentence.forms for sentence in gold])
    counted = [
        (a.upos == b.upos, a.head == b.head, a.head == b.head and a.deprel == b.deprel, a.deprel == "punct")
        for x, y in zip(gold, parsed, strict=True)
        for a, b in zip(x, y, strict=True)
    ]
    assert scores["pos_acc"] == pytest.approx(sum(c[0] for c in counted) / len(counted))
    assert 0 < scores["dep_las"] < scores["dep_uas"] < 1
    assert scores["sents_f"] == 1
    assert {"tag_acc", "morph_acc", "lemma_acc", "dep_las_per_type"} <= scores.keys()
    perfect = [spacy.training.Example(example.reference, example.reference) for example in examples]
    assert component.score(perfect)["dep_las"] == component.score(perfect)["lemma_acc"] == 1
    component.scorer = None
    assert component.score(perfect) == {}


def test_component_can_be_left_out_for_a_while(folder: Path) -> None:
    nlp = pipeline(folder)
    with nlp.select_pipes(disable=["biatt"]):
        assert not nlp(TEXTS[0]).has_annotation("DEP")
    assert nlp(TEXTS[0]).has_annotation("DEP")


def test_settings_are_saved(folder: Path, tmp_path: Path) -> None:
    pipeline(folder, upstream_tags=True, confidence=True, tags=False).to_disk(tmp_path)
    component = spacy.load(tmp_path).get_pipe("biatt")
    assert (component.upstream_tags, component.confidence, component.tags) == (True, True, False)
    assert component.scorer is score


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
