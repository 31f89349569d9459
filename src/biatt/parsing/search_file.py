"""Search a CoNLL file for a dependency pattern: what `biatt search` does."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from biatt.data.conll import read, write
from biatt.data.files import check_not_input, writing
from biatt.data.patterns import ATTRIBUTES, MAPS
from biatt.data.search import Match, Search
from biatt.data.sentence import Sentence
from biatt.data.visible import visible
from biatt.display.output import known_suffix, write_json
from biatt.errors import ConfigError
from biatt.options import PictureFormat, SearchFormat

SUFFIXES: dict[str, SearchFormat] = {
    ".conllu": "conllu",
    ".json": "json",
    ".jsonl": "json",
    ".svg": "svg",
    ".png": "png",
    ".html": "html",
    ".txt": "text",
}
MATCH_COMMENT = "# match = "
MISSING = "_"
_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")  # of a word in JSON, with its id and head
_HIGHLIGHT, _PLAIN = "\x1b[1;31m", "\x1b[0m"  # bold red on a terminal, and its end


class MatchedSentence(NamedTuple):
    """A sentence with all matches of the pattern in it, at least one."""

    sentence: Sentence
    matches: list[Match]


def search_file(
    source: str | Path | BinaryIO,
    pattern: str,
    target: str | Path | BinaryIO = "-",
    *,
    format: SearchFormat | None = None,
) -> None:
    """Write the matches of a pattern in a CoNLL file, "-" (standard input) or a binary stream.

    Without `format`, the suffix of the target decides; "-" and a stream get text, a line for each match. A
    sentence that matches is written as soon as it has been read.
    """
    check_not_input(target, [source])
    format = format or SUFFIXES.get(known_suffix(target, SUFFIXES), "text")
    matched = _matched_sentences(source, Search(pattern))
    if format == "conllu":
        write(map(_commented, matched), target)
    elif format in ("svg", "png", "html"):
        _write_pictures(matched, target, format, title=pattern)
    elif format == "json":
        write_json((_as_dict(match) for item in matched for match in item.matches), target)
    else:
        lines = _text(_colour_wanted(target)) if format == "text" else _tree
        with writing(target) as stream:
            for item in matched:
                stream.write(lines(item).encode(errors="backslashreplace"))


def count_file(
    source: str | Path | BinaryIO, pattern: str, attributes: Sequence[str]
) -> Counter[tuple[str, ...]]:
    """How often each combination of values of these attributes occurs among the matches.

    An attribute such as `lemma` or `feats.Tense` is that of the pattern's first node; `verb.lemma` is that of
    the node named verb. A value is _ where the word has none, and where an optional node has no word.
    """
    search = Search(pattern)
    values = [_value_of(attribute, search) for attribute in attributes]
    return Counter(
        tuple(value(match) for value in values)
        for _, matches in _matched_sentences(source, search)
        for match in matches
    )


def _matched_sentences(source: str | Path | BinaryIO, search: Search) -> Iterator[MatchedSentence]:
    for sentence in read(source):
        if matches := list(search.find(sentence)):
            yield MatchedSentence(sentence, matches)


def _value_of(attribute: str, search: Search) -> Callable[[Match], str]:
    """A function that reads this attribute from a match."""
    names = search.pattern.names
    parts = attribute.split(".")
    node = parts.pop(0) if parts[0] in names else None
    column = ATTRIBUTES.get(parts[0]) if parts else None
    if column is None or len(parts) > (2 if column in MAPS else 1):
        known = f"the attributes are {', '.join(ATTRIBUTES)}, and feats.KEY and misc.KEY"
        named = f"nodes with a name: {', '.join(names) or 'none'}"
        raise ConfigError(f"{attribute} cannot be counted: {known}; {named}.")
    key = parts[1] if len(parts) == 2 else None

    def value(match: Match) -> str:
        number = match.number if node is None else match.names.get(node)
        if number is None:
            return MISSING
        text = match.sentence.rows[number - 1][column]
        if key is None:
            return text
        return dict(item.partition("=")[::2] for item in text.split("|")).get(key, MISSING)

    return value


# The formats


def _names_by_word(matches: Iterable[Match]) -> dict[int, list[str]]:
    """Each word that a match describes, with its names in the pattern."""
    words: dict[int, list[str]] = {}
    for match in matches:
        for number in match.numbers:
            words.setdefault(number, [])
        for name, number in match.names.items():
            if name not in words[number]:
                words[number].append(name)
    return words


def _text(colour: bool) -> Callable[[MatchedSentence], str]:
    """Lines for a reader: where the match is, and the sentence with the words marked as [word]=name."""
    before, after = (_HIGHLIGHT, _PLAIN) if colour else ("", "")

    def lines(matched: MatchedSentence) -> str:
        sentence, matches = matched
        place = visible(sentence.sent_id or f"line {sentence.line}")
        forms = visible("\t".join(sentence.forms), keep="\t").split("\t")
        result = []
        for match in matches:
            words = forms[:]
            for number, names in _names_by_word([match]).items():
                name = "".join(f"={name}" for name in names)
                words[number - 1] = f"{before}[{words[number - 1]}]{name}{after}"
            result.append(f"{place}: {' '.join(words)}\n")
        return "".join(result)

    return lines


def _colour_wanted(target: str | Path | BinaryIO) -> bool:
    terminal = str(target) == "-" and sys.stdout is not None and sys.stdout.isatty()
    return terminal and not os.environ.get("NO_COLOR")


def _as_dict(match: Match) -> dict[str, Any]:
    sentence = match.sentence
    return {
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "line": sentence.line,
        "word": _word(sentence, match.number),
        "names": {name: _word(sentence, number) for name, number in match.names.items()},
        "numbers": match.numbers,
    }


def _word(sentence: Sentence, number: int) -> dict[str, Any]:
    row = sentence.rows[number - 1]
    head = row[ATTRIBUTES["head"]]
    columns = {name: row[ATTRIBUTES[name]] for name in _COLUMNS}
    return {"id": number, "head": None if head == MISSING else int(head), **columns}


def _tree(matched: MatchedSentence) -> str:
    """A drawing of the tree, with an arrow and the names behind the words of all matches."""
    from rich.cells import cell_len

    lines = matched.sentence.tree().split("\n")
    width = max(map(cell_len, lines))
    for number, names in _names_by_word(matched.matches).items():
        line = lines[number - 1]
        lines[number - 1] = f"{line}{' ' * (width - cell_len(line))}  ← {' '.join(names)}".rstrip()
    head = [f"# {visible(matched.sentence.sent_id)}"] if matched.sentence.sent_id else []
    return "\n".join([*head, *lines, "", ""])


def _commented(matched: MatchedSentence) -> Sentence:
    """The sentence with a comment for each match: the number of its first word, then name=number."""
    sentence = matched.sentence.as_format("conllu")
    for match in matched.matches:
        named = (f"{name}={number}" for name, number in match.names.items())
        sentence = sentence.with_comment(f"{MATCH_COMMENT}{' '.join([str(match.number), *named])}")
    return sentence


def _write_pictures(
    matched: Iterable[MatchedSentence], target: str | Path | BinaryIO, format: PictureFormat, *, title: str
) -> None:
    from biatt.display.pages import write_pictures
    from biatt.display.svg import tree_picture

    pictures = (tree_picture(sentence, marked=_names_by_word(matches)) for sentence, matches in matched)
    write_pictures(pictures, target, format, title=title)
