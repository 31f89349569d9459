"""Raw text to sentences: nothing of the text is lost, whatever the network says."""

from __future__ import annotations

from pathlib import Path
from unicodedata import category

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.annotate import sentence_builder
from biatt.annotate import tokeniser as module
from biatt.annotate.tokeniser import Characters, Tokeniser, character_labels, cut
from biatt.data.conll import read
from biatt.data.raw_text import Paragraph, TokenEnd
from biatt.data.toy_treebank import generate
from builders import CHARACTERS, random_tokeniser
from examples import examples

TREEBANK = generate(40, seed=3)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" .\n\t'\"abc"), max_size=120)


@examples(20)
@given(st.lists(TEXTS, max_size=4))
def test_texts_do_not_disturb_each_other(texts: list[str]) -> None:
    tokeniser = random_tokeniser()
    assert tokeniser.split(texts) == [tokeniser.split([text])[0] for text in texts]


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    (sentences,) = random_tokeniser().split(["ab cab. Abba, ab!\n\nbab " * 9])
    path = tmp_path / "t.conllu"
    path.write_text("".join(sentence.to_text() for sentence in sentences))
    assert list(read(path)) == sentences


def test_blank_line_ends_a_sentence_and_a_line_end_does_not() -> None:
    tokeniser = random_tokeniser()
    tokeniser.network.weights["out_bias"][:] = [1e4, 0, 0, 1e4, 0]  # nothing ends anywhere
    (found,) = tokeniser.split(["one\ntwo\n \t\nthree"])
    assert [sentence.forms for sentence in found] == [["one", "two"], ["three"]]


def test_token_may_hold_a_space_where_the_treebank_had_one() -> None:
    tokeniser = random_tokeniser(spaces=True)
    tokeniser.network.weights["out_bias"][:] = [1e4, 0, 0, 1e4, 0]
    (found,) = tokeniser.split(["10 000\nmen"])
    assert [sentence.forms for sentence in found] == [["10 000 men"]]


def test_text_without_any_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_builder, "LONGEST_SENTENCE", 7)
    tokeniser = random_tokeniser()
    tokeniser.network.weights["out_bias"][:] = [1e4, 0, 0, 1e4, 0]
    (found,) = tokeniser.split(["a " * 16])
    assert [len(sentence) for sentence in found] == [7, 7, 2]


def test_windows_decide_about_every_character_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 5)
    monkeypatch.setattr(module, "MARGIN", 2)
    tokens = [TokenEnd(character, character == 6) for character in (1, 6, 7, 12)]
    paragraph = Paragraph(["abc", "defgh", "i", "jklm"], tokens, [])
    labels = character_labels(paragraph)
    windows = cut(paragraph, CHARACTERS)
    assert [window.encoded.words for window in windows] == [7, 9, 5]
    assert np.array_equal(np.concatenate([w.labels[w.core] for w in windows]), labels)
    assert sum((w.labels != -1).sum() for w in windows) == (labels != -1).sum()  # the margins teach nothing


def bags(characters: Characters, paragraph: Paragraph) -> list[list[int]]:
    """The rows of each character."""
    rows, offsets = characters.encode(paragraph)
    return [part.tolist() for part in np.split(rows, offsets[1:-1])]


@examples(60)
@given(st.lists(st.text("ab!\u00e9\uff01", min_size=1, max_size=25), min_size=1, max_size=5))
def test_a_character_has_rows_for_itself_its_neighbours_and_its_chunk(chunks: list[str]) -> None:
    characters = Characters.build([Paragraph(chunks[:2], [], [])], min_count=1)
    row_of = {symbol: row for row, symbol in enumerate(characters.symbols, 1)}
    expected = []
    for chunk in chunks:
        readable = "".join("!" if c == "\uff01" and f"c{c}" not in row_of else c for c in chunk)
        for i, c in enumerate(readable):
            before, after = f" {readable}"[i], f"{readable} "[i + 1]
            symbols = [f"c{c}", f"k{category(c)}", f"l{before}{c}", f"r{c}{after}", f"t{before}{c}{after}"]
            symbols += [f"w{readable}"] if len(chunk) <= 20 else []
            expected.append([row_of[symbol] for symbol in symbols if symbol in row_of])
    for _ in range(2):  # from symbols, then from what is remembered
        assert bags(characters, Paragraph(chunks, [], [])) == expected


def test_line_breaks_are_symbols_of_the_characters_beside_them() -> None:
    """Except where the lines may be wrapped: the next word would make a line longer than the longest."""

    def line_symbols(text: str) -> dict[int, set[str]]:
        paragraph = Paragraph.from_text(text)
        characters = Characters.build([paragraph], min_count=1)
        plain = bags(characters, paragraph._replace(line_ends=[]))
        return {
            i: {characters.symbols[row - 1] for row in set(rows) - set(plain[i])}
            for i, rows in enumerate(bags(characters, paragraph))
            if rows != plain[i]
        }

    assert line_symbols("ab a\n\nbabab abc ab\n b") == {2: {"n0"}, 3: {"n"}, 12: {"n1"}, 13: {"n"}}
    wrapped = "abba " * 12 + "\n" + "abba " * 11 + "a\n" + "abba " * 3
    assert line_symbols(wrapped) == {}
    headline = len("abbaab") - 1
    assert line_symbols(f"abba ab\n{wrapped}") == {headline: {"n0"}, headline + 1: {"n"}}
    assert line_symbols(f"{wrapped}\nab") == {(12 + 11 + 3) * 4: {"n1"}, (12 + 11 + 3) * 4 + 1: {"n"}}
    long_line = "abba " * 40
    assert line_symbols(f"{long_line}\n{long_line}") == {159: {"n12"}, 160: {"n"}}


def test_line_break_can_end_a_sentence() -> None:
    tokeniser = random_tokeniser()
    weights = tokeniser.network.weights
    weights["out_bias"][:] = [0, 0, 0, 50, 0]

    def forms(text: str) -> list[list[str]]:
        return [sentence.forms for sentence in tokeniser.split([text])[0]]

    as_it_is = forms("cab abba cab")
    assert forms("cab  abba\tcab") == as_it_is
    assert forms("cab\nabba\ncab") != as_it_is


def test_margin_makes_a_window_see_what_the_whole_text_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(" ".join(s.forms) for s in TREEBANK[:6])
    whole = random_tokeniser().split([text])
    monkeypatch.setattr(module, "WINDOW", 40)
    monkeypatch.setattr(module, "MARGIN", len(text))
    assert random_tokeniser().split([text]) == whole


def test_unknown_full_width_characters_are_read_as_half_width_ones() -> None:
    characters = Characters.build([Paragraph.from_text("ab! a＋b a+b")], min_count=1)
    plain, full = (bags(characters, Paragraph.from_text(text)) for text in ("ab!", "ab！"))
    assert full == plain
    plain, full = (bags(characters, Paragraph.from_text(text)) for text in ("a+b", "a＋b"))
    assert full[1] != plain[1]  # both are known


def test_labels_say_what_ends_at_each_character() -> None:
    tokens = [TokenEnd(0, False), TokenEnd(5, True), TokenEnd(6, False, ends_sentence=True)]
    ends, words = character_labels(Paragraph(["I", "don't."], tokens, [])).T.tolist()
    assert ends == [1, 0, 0, 0, 0, 1, 2]
    assert words == [0, -1, -1, -1, -1, 1, 0]


def test_model_comes_back_from_its_folder(tmp_path: Path) -> None:
    tokeniser = random_tokeniser()
    tokeniser.save(tmp_path / "m")
    text = "abba cab. a bab"
    assert Tokeniser.load(tmp_path / "m").split([text]) == tokeniser.split([text])
