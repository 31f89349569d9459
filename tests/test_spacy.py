"""CoNLL-U sentences as Docs of spaCy, and back."""

from __future__ import annotations

from typing import Any

import pytest

spacy = pytest.importorskip("spacy", reason="needs spaCy: pip install 'biatt[spacy]'")

from spacy.tokens import Doc, DocBin  # noqa: E402

from biatt.data.columns import MISC  # noqa: E402
from biatt.data.conll import reads  # noqa: E402
from biatt.data.sentence import Sentence  # noqa: E402
from biatt.data.toy_treebank import generate  # noqa: E402
from biatt.errors import FormatError  # noqa: E402
from biatt.spacy import from_doc, to_doc  # noqa: E402

pytestmark = pytest.mark.slow  # spaCy alone takes seconds to start

# Features in another order than spaCy's, a lemma "_", a tag that spaCy does not know, a multiword token,
# an empty node, DEPS and MISC, a root with another relation.
CONLLU = """\
# newdoc id = d1
# sent_id = a
# text = They can't swim; fish do.
1\tThey\tthey\tPRON\tPRP\tPerson=3|Case=Nom\t4\tnsubj\t4:nsubj\tGloss=x
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\tVerbForm=Fin\t4\taux\t4:aux\t_
3\tn't\t_\tNOT\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tswim\tswim\tVERB\tVB\tnonsense\t0\tparataxis\t0:parataxis\tSpaceAfter=No
5\t;\t;\tPUNCT\t:\t_\t7\tpunct\t7:punct\tSpacesAfter=\\s\\s
6\tfish\tfish\tNOUN\tNNS\tNumber=Plur\t7\tnsubj\t7:nsubj|7.1:nsubj\t_
7\tdo\tdo\tVERB\tVBP\t_\t4\tparataxis\t4:parataxis\tSpaceAfter=No
7.1\tswim\tswim\tVERB\tVB\t_\t_\t_\t4:conj\t_
8\t.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_

# sent_id = b
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t0:root\t_

"""
SENTENCES = reads(CONLLU)


def test_doc_has_the_columns_of_the_sentences() -> None:
    doc = to_doc(SENTENCES)
    assert doc.text == "They can't swim; fish do. Yes "
    assert [sent.text for sent in doc.sents] == ["They can't swim; fish do.", "Yes"]
    assert [token.head.i for token in doc] == [3, 3, 3, 3, 6, 6, 3, 3, 8]
    assert [token.dep_ for token in doc][3:7] == ["ROOT", "punct", "nsubj", "parataxis"]
    assert [token.pos_ for token in doc][:4] == ["PRON", "AUX", "", "VERB"]
    assert (doc[0].tag_, doc[0].lemma_, doc[2].lemma_) == ("PRP", "they", "")
    assert doc[0].morph.get("Person") == ["3"]
    assert not doc[3].morph


@pytest.mark.parametrize("save", [False, True])
def test_sentences_come_back_as_they_were(save: bool) -> None:
    for sentences in (SENTENCES, generate(20, seed=1)):
        doc = to_doc(sentences)
        if save:
            stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
            (doc,) = DocBin().from_bytes(stored).get_docs(spacy.blank("en").vocab)
        assert from_doc(doc) == sentences
    assert from_doc(to_doc(SENTENCES[1])) == [SENTENCES[1]]


def test_changes_of_a_doc_come_back() -> None:
    doc = to_doc(SENTENCES)
    doc[2].lemma_, doc[2].pos_, doc[8].tag_ = "not", "PART", "RB"
    doc[0].set_morph("Case=Nom")
    doc[6].dep_, doc[5].head = "conj", doc[3]
    first, second = from_doc(doc)
    assert (first[2].lemma, first[2].upos, second[0].xpos) == ("not", "PART", "RB")
    assert str(first[0].feats) == "Case=Nom"
    assert (first[6].deprel, first[5].head) == ("conj", 4)
    assert (first[3].deprel, str(first[3].feats)) == ("parataxis", "nonsense")
    assert first.verbatim == SENTENCES[0].verbatim
    assert [row[MISC] for row in first.rows] == [row[MISC] for row in SENTENCES[0].rows]


def test_sentences_without_trees_have_starts() -> None:
    bare = [Sentence.from_words(["a", "b"]), Sentence.from_words(["c"])]
    doc = to_doc(bare)
    assert [token.is_sent_start for token in doc] == [True, False, True]
    assert not doc.has_annotation("DEP")
    assert from_doc(doc) == bare
    assert from_doc(to_doc([])) == []


@pytest.mark.parametrize(("heads", "fault"), [([0, 0], "one root, not 2"), ([2, -1], "heads are missing")])
def test_what_is_no_tree_with_one_root_is_refused(heads: list[int], fault: str) -> None:
    with pytest.raises(FormatError, match=fault):
        to_doc(Sentence.from_words(["a", "b"], heads=heads, deprels=["x", "x"]))


def blank_doc(text: str) -> Any:
    return spacy.blank("en")(text)


def test_doc_from_elsewhere_becomes_sentences_with_its_space() -> None:
    doc = blank_doc(" Two  words,\n one | more")
    (sentence,) = from_doc(doc)
    assert sentence.forms == ["Two", "words", ",", "one", "|", "more"]
    assert [row[MISC] for row in sentence.rows] == [
        *(r"SpacesBefore=\s|SpacesAfter=\s\s", "SpaceAfter=No", r"SpacesAfter=\n\s", "_", "_"),
        "SpaceAfter=No",
    ]
    assert sentence.heads == [-1] * 6
    assert sentence.text == "Two  words,  one | more"


def test_tree_from_elsewhere_has_a_root() -> None:
    doc = Doc(
        spacy.blank("en").vocab, ["I", "ran"], heads=[1, 1], deps=["nsubj", "ROOT"], lemmas=["I", "run"]
    )
    (sentence,) = from_doc(doc)
    assert (sentence.heads, sentence.deprels) == ([2, 0], ["nsubj", "root"])
    assert (sentence.lemmas, sentence.upos) == (["I", "run"], ["_", "_"])
