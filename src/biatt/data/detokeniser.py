"""Spaces between the tokens of a treebank that does not say where they are, by rules of spelling.

Treebanks in CoNLL-X, and the oldest ones in CoNLL-U, have tokens and no `SpaceAfter=No`. The rules hold for
many languages: closing punctuation follows its word, opening punctuation precedes it, a straight quotation
mark is opening or closing by turns, clitics with an apostrophe are joined, and scripts without spaces have
none. `benchmarks/detokeniser.py` measures them on treebanks that have the spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from biatt.data.columns import FORM, ID, MISC, UPOS
from biatt.data.sentence import TEXT, Sentence
from biatt.data.spaces import NO_SPACE, space_after

OPENING, CLOSING = "([{⟨（［｛〔【「『〈《¿¡", ")]}⟩）］｝〕】」』〉》"
# What closes a quotation that begins with the mark. Danish writes »so«, Swedish ”so”, German „so“.
QUOTES = {
    **{mark: mark for mark in "\"'`´¨”’"},
    "„": "“”„",
    "“": "”“",
    "‘": "’‘",
    "‚": "‘’",
    "«": "»",
    "»": "«",
    "‹": "›",
    "›": "‹",
    "``": "''",
    "''": "''",
    ",,": "''\"",
    "´´": "´´",
}
ENDING = re.compile(r"[.,;:!?…،؛؟。、，：；！？।%‰°]+|\.\.+")  # punctuation that follows its word
JOINING = re.compile(r"[/\\_~]|://")  # joined to both of its neighbours
CURRENCY = "$£€¥#"
CLITIC = re.compile(r"n['’]t|['’](?:s|m|d|re|ve|ll|em)|-(?:t|n)'?[a-z]{1,4}", re.IGNORECASE)
POSSESSIVE = re.compile(r"['’]s?", re.IGNORECASE)
ELIDED = re.compile(r"[^\W\d_]{1,7}['’]")  # l', qu', aujourd'
VOWEL = re.compile("[aeiouyhœæ]|fh", re.IGNORECASE)  # what a word after an elided one begins with
UNSPACED = ("CJK ", "HIRAGANA", "KATAKANA", "THAI", "LAO ", "KHMER", "MYANMAR", "IDEOGRAPHIC", "FULLWIDTH")
CLITIC_TAGS = frozenset({"PART", "AUX"})
JOINED_WORDS = re.compile(r"[^\W_]+[.]?(?:_[^\W\d_]+[.]?)+")  # i_dag, t_ex; no address and no name of a file
DASHES = "-–—‐"


def lacks_spaces(sentences: Iterable[Sentence]) -> bool:
    """Whether no token of a treebank says what space follows it."""
    return not any(
        sentence.format == "conllu"
        and any(space_after(token.row[MISC]) is not None for token in sentence.tokens)
        for sentence in sentences
    )


def with_spaces(sentence: Sentence) -> Sentence:
    """A CoNLL-U copy with `SpaceAfter=No` where the rules see no space, and with its text as a comment.

    A token like i_dag, which joins words by underscores, gets its spaces back.
    """
    copy = sentence.as_format("conllu").copy()
    for row in copy.rows:
        if JOINED_WORDS.fullmatch(row[FORM]):
            row[FORM] = row[FORM].replace("_", " ")
    if not copy.rows:
        return copy
    tokens = copy.tokens
    spaces = spaces_between([token.form for token in tokens], [token.row[UPOS] for token in tokens])
    for token, space in zip(tokens, [*spaces, True], strict=True):
        if space:
            continue
        row = token.row
        row[MISC] = NO_SPACE if row[MISC] == "_" else f"{row[MISC]}|{NO_SPACE}"
        if token.is_multiword:
            place = next(i for i, (_, line) in enumerate(copy.verbatim) if line.split("\t")[ID] == row[ID])
            copy.verbatim[place] = token.start, "\t".join(row)
    copy.verbatim = [(k, line) for k, line in copy.verbatim if not line.startswith(TEXT)]
    text = "".join(
        token.form + (" " if space else "") for token, space in zip(tokens, [*spaces, False], strict=True)
    )
    return copy.with_comment(TEXT + text)


def spaces_between(forms: Sequence[str], upos: Sequence[str] = ()) -> list[bool]:
    """Whether there is a space between each token and the next; tags, if they are known, tell clitics."""
    sides = _sides(forms)
    unspaced = _is_unspaced(forms)
    tags = upos if len(upos) == len(forms) else ["_"] * len(forms)
    return [
        _has_space(forms[i], forms[i + 1], sides[i], sides[i + 1], tags[i + 1], unspaced)
        for i in range(len(forms) - 1)
    ]


LEFT, RIGHT, BOTH, FREE = "left", "right", "both", "free"  # the neighbour that a token is joined to


def _sides(forms: Sequence[str]) -> list[str]:
    """The neighbour that each token is joined to, by its own spelling and by the quotations around it."""
    sides: list[str] = []
    open_quotes: list[str] = []
    for i, form in enumerate(forms):
        following = forms[i + 1] if i + 1 < len(forms) else ""
        if form in QUOTES:
            opened = next((k for k, mark in enumerate(open_quotes) if form in QUOTES[mark]), None)
            if opened is not None:
                del open_quotes[opened:]
                sides.append(LEFT)
            elif i and (not following or ENDING.fullmatch(following)):
                sides.append(LEFT)  # of a quotation that began in another sentence
            else:
                open_quotes.append(form)
                sides.append(RIGHT)
        elif form in OPENING:
            sides.append(RIGHT)
        elif form in CLOSING or ENDING.fullmatch(form):
            sides.append(LEFT)
        elif JOINING.fullmatch(form):
            sides.append(BOTH)
        elif form in CURRENCY and following[:1].isdigit():
            sides.append(RIGHT)
        elif form in DASHES and i and forms[i - 1][-1:].isdigit() and following[:1].isdigit():
            sides.append(BOTH)
        else:
            sides.append(FREE)
    return sides


def _has_space(left: str, right: str, left_side: str, right_side: str, tag: str, unspaced: bool) -> bool:
    if unspaced and not (_is_spaced_letter(left[-1:]) and _is_spaced_letter(right[:1])):
        return False
    if left_side in (RIGHT, BOTH) or right_side in (LEFT, BOTH):
        return False
    if left[-1:].isalnum() and CLITIC.fullmatch(right):
        return not (right[0] in "n-" or tag in CLITIC_TAGS)
    return not (ELIDED.fullmatch(left) and VOWEL.match(unicodedata.normalize("NFD", right)))


def _is_unspaced(forms: Sequence[str]) -> bool:
    """Whether most words of a sentence are of a script without spaces."""
    words = [form for form in forms if any(map(str.isalpha, form))]
    return 2 * sum(any(map(_of_unspaced_script, word)) for word in words) > len(words)


def _of_unspaced_script(character: str) -> bool:
    return unicodedata.name(character, "").startswith(UNSPACED)


def _is_spaced_letter(character: str) -> bool:
    return character.isalpha() and not _of_unspaced_script(character)
