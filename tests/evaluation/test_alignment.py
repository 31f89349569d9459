from __future__ import annotations

import io
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data.conll import read
from biatt.data.sentence import Sentence
from biatt.errors import FormatError
from biatt.evaluation.alignment import align, common_subsequence, lay_out, without_spaces
from biatt.evaluation.trees import line_of


def sentences(*texts: str, name: str = "file.conllu") -> list[Sentence]:
    """A sentence of each text; "du=de+le" is a multiword token, "_" stands for a space inside a form."""
    lines = []
    for text in texts:
        word = 0
        for token in text.split():
            surface, _, parts = token.replace("_", " ").partition("=")
            forms = parts.split("+") if parts else [surface]
            if parts:
                lines.append(f"{word + 1}-{word + len(forms)}\t{surface}" + "\t_" * 8)
            for form in forms:
                word += 1
                lines.append(f"{word}\t{form}\t_\tX\t_\t_\t{word - 1}\tdep\t_\t_")
        lines.append("")
    content = "".join(f"{line}\n" for line in lines)
    return list(read(io.BytesIO(content.encode()), format="conllu", name=name))


def aligned(gold: list[str], system: list[str]) -> list[tuple[int, int]]:
    return align(lay_out(sentences(*gold)), lay_out(sentences(*system)))


def test_equal_files_align_word_by_word() -> None:
    assert aligned(["we saw", "du=de+le pain"], ["we saw", "du=de+le pain"]) == [(i, i) for i in range(5)]


def test_tokens_align_where_their_ranges_are_equal() -> None:
    assert aligned(["ice cream melts"], ["icecream melts"]) == [(2, 1)]
    assert aligned(["a bc d"], ["ab c d"]) == [(2, 2)]


def test_sentence_boundaries_do_not_matter_to_words() -> None:
    assert aligned(["we saw it ."], ["we saw", "it ."]) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_words_of_multiword_tokens_align_by_form_whatever_the_case() -> None:
    assert aligned(["Du=De+le pain"], ["Du=de+le pain"]) == [(0, 0), (1, 1), (2, 2)]
    assert aligned(["dámelo=da+me+lo ya"], ["dámelo=dame+lo ya"]) == [(2, 1), (3, 2)]
    assert aligned(["can't=can+not go"], ["ca n't go"]) == [(2, 2)]


def test_overlapping_multiword_tokens_are_matched_as_one_range() -> None:
    assert aligned(["abc=a+BX+c def=d+EX+f"], ["ab=a+b cd=c+d ef=e+f"]) == [(0, 0), (2, 2), (3, 3), (5, 5)]


def test_spaces_inside_forms_are_no_characters_of_the_text() -> None:
    assert aligned(["10_000 people"], ["10 000 people"]) == [(1, 2)]
    assert aligned(["10_000 people"], ["10000 people"]) == [(0, 0), (1, 1)]
    assert without_spaces("10\u00a0000\u2009000") == "10000000"


def test_layout_gives_words_of_a_multiword_token_its_range() -> None:
    layout = lay_out(sentences("du=de+le Pain", "oui"))
    assert layout.text == "duPainoui"
    assert layout.tokens == [(0, 2), (2, 6), (6, 9)]
    assert layout.words == [(0, 2), (0, 2), (2, 6), (6, 9)]
    assert layout.multiword == [True, True, False, False]
    assert layout.sentences == [(0, 6), (6, 9)]
    assert layout.forms == ["de", "le", "pain", "oui"]


def test_empty_nodes_and_comments_have_no_characters() -> None:
    content = "# text = a b\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n1.1\tz\t_\tX\t_\t_\t_\t_\t0:root\t_\n"
    content += "2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
    (sentence,) = read(io.BytesIO(content.encode()), format="conllu", name="x")
    assert lay_out([sentence]).text == "ab"
    assert (line_of(sentence, 0), line_of(sentence, 1)) == (2, 4)


def test_other_characters_are_an_error_that_names_both_places() -> None:
    gold = lay_out(sentences("we saw", "an owl", name="gold.conllu"))
    system = lay_out(sentences("we saw", "an elk", name="system.conllu"))
    with pytest.raises(
        FormatError,
        match=r"^system.conllu, line 5: the text continues 'elk' where .*gold.conllu, line 5, continues 'o",
    ):
        align(gold, system)


def test_a_text_that_ends_early_is_an_error() -> None:
    gold = lay_out(sentences("we saw", "an owl", name="gold.conllu"))
    with pytest.raises(
        FormatError,
        match=r"^system.conllu, line 2: the text ends where that of gold.conllu, line 4, continues",
    ):
        align(gold, lay_out(sentences("we saw", name="system.conllu")))
    with pytest.raises(FormatError, match="an empty file"):
        align(gold, lay_out([]))


def test_a_form_of_spaces_is_an_error() -> None:
    sentence = Sentence.from_words(["we", "\u3000"], heads=[0, 1], deprels=["root", "dep"])
    with pytest.raises(FormatError, match=r"the form '\\u3000' is made of spaces only"):
        lay_out([sentence])


chunks = st.lists(st.integers(1, 3), max_size=8)


def cut(text: str, lengths: list[int]) -> list[str]:
    pieces, start = [], 0
    for length in lengths:
        pieces.append(text[start : start + length])
        start += length
    return [piece for piece in (*pieces, text[start:]) if piece]


@given(st.text("abc", min_size=1, max_size=20), chunks, chunks)
def test_without_multiword_tokens_words_align_as_equal_ranges(
    text: str, gold_lengths: list[int], system_lengths: list[int]
) -> None:
    gold = lay_out(sentences(" ".join(cut(text, gold_lengths))))
    system = lay_out(sentences(" ".join(cut(text, system_lengths))))
    expected = [(g, s) for g, a in enumerate(gold.words) for s, b in enumerate(system.words) if a == b]
    assert align(gold, system) == expected


def slow_common_length(left: str, right: str) -> int:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(left) or j == len(right):
            return 0
        skipped = max(longest(i + 1, j), longest(i, j + 1))
        return max(skipped, 1 + longest(i + 1, j + 1)) if left[i] == right[j] else skipped

    return longest(0, 0)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_common_subsequence_is_common_rising_and_longest(left: str, right: str) -> None:
    pairs = common_subsequence(left, right)
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == slow_common_length(left, right)
