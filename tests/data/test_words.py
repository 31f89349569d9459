"""Words, tokens and spans: going through a tree, and changing it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from biatt.data.conll import dumps, reads
from biatt.data.sentence import Sentence
from biatt.data.words import Span
from biatt.errors import FormatError
from builders import random_trees, sentence_of

DOG = """\
# sent_id = d1
# text = The old dog can't see  Ada's cat.
1	The	the	DET	DT	Definite=Def|PronType=Art	3	det	_	_
2	old	old	ADJ	JJ	Degree=Pos	3	amod	_	_
3	dog	dog	NOUN	NN	Number=Sing	6	nsubj	_	_
4-5	can't	_	_	_	_	_	_	_	_
4	ca	can	AUX	MD	VerbForm=Fin	6	aux	_	_
5	n't	not	PART	RB	_	6	advmod	_	_
6	see	see	VERB	VB	VerbForm=Inf	0	root	_	SpacesAfter=\\s\\s|Note
7-8	Ada's	_	_	_	_	_	_	_	_
7	Ada	Ada	PROPN	NNP	Number=Sing	9	nmod:poss	_	_
8	's	's	PART	POS	_	7	case	_	_
9	cat	cat	NOUN	NN	Number=Sing	6	obj	_	SpaceAfter=No
10	.	.	PUNCT	.	_	6	punct	_	_

"""
FRENCH = """\
1-2	du	_	_	_	_	_	_	_	_
1	de	de	ADP	_	_	3	case	_	_
2	le	le	DET	_	_	3	det	_	_
3	pain	pain	NOUN	_	_	0	root	_	SpaceAfter=No
4	!	!	PUNCT	_	_	3	punct	_	_

"""


def dog() -> Sentence:
    (sentence,) = reads(DOG)
    return sentence


def forms(words: object) -> str:
    return " ".join(word.form for word in words)  # type: ignore[attr-defined]


# Going through a sentence


def test_words_are_taken_by_place_and_spans_by_slice() -> None:
    sentence = dog()
    assert (sentence[0].form, sentence[-1].form, sentence[0].id) == ("The", ".", 1)
    assert forms(sentence[1:3]) == "old dog"
    assert [word.form for word in sentence.words] == sentence.forms
    assert len(sentence[4:2]) == 0
    assert sentence[2:9][1:4] == sentence[3:6]
    assert sentence[2:9][-1] == sentence[8]
    assert sentence[2] in sentence[1:3]
    assert sentence[5] not in sentence[1:3]


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        (10, IndexError, "There is no word 10 among 10"),
        (-11, IndexError, "There is no word -11 among 10"),
        ("dog", TypeError, "by their place or by a slice, not by str"),
        (slice(0, 9, 2), ValueError, "step is 1, not 2"),
    ],
)
def test_wrong_places_are_refused(place: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dog()[place]  # type: ignore[call-overload]


def test_tree_can_be_walked() -> None:
    sentence = dog()
    the, _, noun, _, _, see, ada, genitive, cat, _ = sentence
    assert sentence.root == see
    assert (see.head, see.head_word, noun.head_word) == (0, None, see)
    assert forms(see.children) == "dog ca n't cat ."
    assert (forms(see.left_children), forms(see.right_children)) == ("dog ca n't", "cat .")
    assert forms(cat.subtree) == "Ada 's cat"
    assert see.subtree == sentence.words
    assert genitive.ancestors == [ada, cat, see]
    assert (genitive.depth, see.depth) == (3, 0)
    assert see.is_ancestor_of(the)
    assert not see.is_ancestor_of(see)
    assert not the.is_ancestor_of(noun)
    assert forms(the.path_to(genitive)) == "The dog see cat Ada 's"
    assert the.path_to(the) == [the]
    assert forms(genitive.path_to(cat)) == "'s Ada cat"


def test_missing_heads_and_cycles_have_ends() -> None:
    sentence = sentence_of([2, 1, -1])
    first, second, third = sentence
    assert (third.head, third.head_word, third.children, sentence.root) == (None, None, [], None)
    assert first.ancestors == [second]
    assert first.subtree == [first, second]
    assert first.path_to(third) == []


@given(random_trees(longest=7))
def test_tree_agrees_with_its_definition(heads: list[int]) -> None:
    sentence = sentence_of(heads)
    for word in sentence:
        assert [child.id for child in word.children] == [i for i, h in enumerate(heads, 1) if h == word.id]
        below = [other for other in sentence if other == word or word in other.ancestors]
        assert word.subtree == below
        assert word.depth == (word.head_word.depth + 1 if word.head_word else 0)
        for other in sentence:
            path = word.path_to(other)
            same_tree = [word, *word.ancestors][-1] == [other, *other.ancestors][-1]
            assert [path[0], path[-1]] == [word, other] if same_tree else not path
            assert all(a.head_word == b or b.head_word == a for a, b in pairwise(path))
            assert len(set(path)) == len(path)


def test_spans_have_text_and_a_root() -> None:
    sentence = dog()
    assert sentence[3:7].text == "can't see  Ada"
    assert str(sentence[7:9]) == "'s cat"
    assert sentence[6:9].root == sentence[8]
    assert sentence[0:2].root == sentence[0]
    empty = sentence[3:3]
    assert (empty.text, empty.root, empty.start_char == empty.end_char) == ("", None, True)
    assert sentence[10:].start_char == sentence.end_char


def test_words_and_spans_are_equal_by_place_in_the_same_sentence() -> None:
    sentence = dog()
    assert {sentence[0], sentence[0], sentence[1]} == {sentence[0], sentence[1]}
    assert sentence[0] != dog()[0]
    assert {sentence[0:2]} == {Span(sentence, 0, 2)}
    assert sentence.tokens[0] == sentence.tokens[0] != sentence.tokens[1]
    assert sentence[0] != 0
    assert sentence[0:1] != sentence.tokens[0] != sentence[0]
    assert len({*sentence.tokens, *sentence.tokens}) == 8


def test_objects_print_short() -> None:
    sentence = dog()
    assert repr(sentence[2]) == "<Word 3 dog NOUN nsubj of 6>"
    assert repr(Sentence.from_words(["so"])[0]) == "<Word 1 so>"
    assert repr(sentence[1:3]) == "<Span 1:3 old dog>"
    assert repr(sentence.tokens[3]) == "<Token 4-5 can't>"
    assert (str(sentence[2]), str(sentence.tokens[3]), str(sentence)) == ("dog", "can't", sentence.text)
    assert repr(Sentence.from_words(["so", "what"])) == "<Sentence of 2 words: so what>"


def test_sentence_knows_whether_arcs_cross() -> None:
    assert dog().is_projective
    assert not sentence_of([3, 4, 0, 3]).is_projective


# Text and places


def test_tokens_have_multiword_tokens() -> None:
    sentence = dog()
    assert [str(token) for token in sentence.tokens] == [
        "The",
        "old",
        "dog",
        "can't",
        "see",
        "Ada's",
        "cat",
        ".",
    ]
    token = sentence.tokens[3]
    assert (token.start, token.end, token.is_multiword, forms(token.words)) == (3, 5, True, "ca n't")
    assert sentence[4].token == token
    assert not sentence[0].token.is_multiword


def test_places_are_those_in_the_text() -> None:
    sentence = dog()
    text = sentence.text
    assert text == "The old dog can't see  Ada's cat."
    for token in sentence.tokens:
        assert text[token.start_char : token.end_char] == token.text == token.form
    for word in sentence:
        assert text[word.start_char : word.end_char] == word.form
    assert (sentence.start_char, sentence.end_char) == (0, len(text))


def test_words_that_are_no_parts_have_the_place_of_their_token() -> None:
    (sentence,) = reads(FRENCH)
    assert sentence.text == "du pain!"
    assert [(w.start_char, w.end_char) for w in sentence] == [(0, 2), (0, 2), (3, 7), (7, 8)]
    assert sentence[1:3].text == "du pain"


def test_comment_that_does_not_hold_the_tokens_is_not_their_text() -> None:
    (sentence,) = reads(FRENCH.replace("1-2\t", "# text = de la farine!\n1-2\t", 1))
    assert sentence.text == "du pain!"
    (sentence,) = reads(FRENCH.replace("1-2\t", "# text = du  pain !\n1-2\t", 1))
    assert (sentence.text, sentence[2].start_char) == ("du  pain !", 4)


def test_sentence_without_words_has_no_text() -> None:
    (sentence,) = reads("# newdoc\n\n")
    assert (sentence.text, sentence.start_char, sentence.end_char, sentence.root) == ("", 0, 0, None)
    assert sentence.tokens == sentence.words == sentence.noun_chunks == []


# Features and MISC


def test_features_are_a_mapping_that_prints_as_the_column() -> None:
    word = dog()[0]
    assert word.feats["PronType"] == "Art"
    assert dict(word.feats) == {"Definite": "Def", "PronType": "Art"}
    assert str(word.feats) == "Definite=Def|PronType=Art"
    assert word.feats.get("Case") is None
    assert dog()[5].misc == {"SpacesAfter": "\\s\\s", "Note": ""}
    assert not dog()[4].feats


def test_changed_features_are_written() -> None:
    sentence = dog()
    sentence[2].feats["Number"] = "Plur"
    sentence[2].feats["Case"] = "Nom"
    sentence[0].feats = {"PronType": "Art"}
    del sentence[1].feats["Degree"]
    sentence[5].misc["Note"] = "checked"
    sentence[5].misc["Gloss"] = "look"
    sentence.tokens[3].misc["Lang"] = "en"
    sentence.tokens[3].misc["SpaceAfter"] = "No"
    sentence.tokens[4].misc["Seen"] = "1"
    (again,) = reads(dumps(sentence))
    assert again.feats[:3] == ["PronType=Art", "_", "Case=Nom|Number=Plur"]
    assert str(again[5].misc) == "SpacesAfter=\\s\\s|Note=checked|Gloss=look|Seen=1"
    assert str(again.tokens[3].misc) == "Lang=en|SpaceAfter=No"
    assert again == sentence


# Editing


def test_words_can_be_changed() -> None:
    sentence = dog()
    copy = sentence.copy()
    sentence[5].lemma, sentence[5].upos, sentence[5].xpos, sentence[5].deps = "look", "X", "Y", "0:root"
    sentence[6].head, sentence[6].deprel, sentence[9].head = 6, "iobj", None
    sentence[0].form = "Thé"
    assert copy == dog()
    (again,) = reads(dumps(sentence))
    assert again == sentence != copy
    assert (again[6].head, again[6].deprel, again[9].head, again[5].lemma) == (6, "iobj", None, "look")
    assert again.text == "Thé old dog can't see  Ada's cat."


def test_sentence_that_has_not_been_changed_is_written_as_it_was_read() -> None:
    cyclic = "1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n"
    assert dumps(reads(cyclic)) == cyclic
    assert dumps(reads(DOG.replace("\n", "\r\n"))) == DOG.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("head", 11, "<string>, line 3: HEAD is '11' where a number from 0 to 10 or _ was expected"),
        ("head", 1, "line 3: word 1 is its own head"),
        ("lemma", "", "line 3: column 3 is empty"),
        ("upos", "A\tB", "line 3: the line has 11 columns"),
        ("xpos", "A\nB", "line 3: the line has 5 columns"),
        ("misc", "A\r", "a column or comment holds a line end"),
        ("misc", "A\n# more", "a column or comment holds a line end"),
    ],
)
def test_values_are_checked_when_written(column: str, value: object, message: str) -> None:
    sentence = dog()
    setattr(sentence[0], column, value)
    with pytest.raises(FormatError, match=message):
        dumps([sentence])


def test_cycle_is_refused_when_written() -> None:
    sentence = dog()
    sentence[5].head = 3
    with pytest.raises(FormatError, match=r"line 5: the heads form a cycle through words 3, 6\."):
        dumps(sentence)
    sentence[2].head = 0
    assert reads(dumps(sentence))[0][2].head == 0


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("form", None, "The form of a word is a string, not NoneType"),
        ("lemma", 3, "The lemma of a word is a string, not int"),
        ("head", "3", "The head of a word is the number of a word, 0 or None, not str"),
        ("head", 2.0, "not float"),
        ("feats", None, "The feats of a word are a mapping or a string, not NoneType"),
        ("feats", {"Number": 1}, "Names and values of FEATS and MISC are strings, not int"),
    ],
)
def test_wrong_types_are_refused_at_once(column: str, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        setattr(dog()[0], column, value)


def test_sent_id_can_be_set_and_removed() -> None:
    for text in (DOG, DOG.replace("\n", "\r\n"), DOG[DOG.index("# text") :].replace("\n", "\r\n")):
        (sentence,) = reads(text)
        sentence.sent_id = "new"
        (again,) = reads(dumps(sentence))
        assert (again.sent_id, again.forms) == ("new", sentence.forms)
        again.sent_id = None
        end = "\r\n" if "\r" in text else "\n"
        assert dumps(again) == DOG[DOG.index("# text") :].replace("\n", end)
    with pytest.raises(TypeError, match="a string without line ends or None, not 3"):
        sentence.sent_id = 3  # type: ignore[assignment]


def test_copy_has_confidence_and_places() -> None:
    sentence = dog()
    sentence.place_in(sentence.token_places._replace(base=100, given=True))
    copy = sentence.copy()
    assert (copy.start_char, copy[0].end_char) == (100, 103)
    copy[0].form = "A"
    assert (copy.text, copy.tokens[0].text) == (sentence.text, "The")
