"""The space between tokens, as MISC of CoNLL-U has it by UDPipe's convention.

| in MISC | meaning |
|---|---|
| nothing | one blank follows |
| `SpaceAfter=No` | nothing follows |
| `SpacesAfter=\\s\\n` | this space follows |
| `SpacesBefore=\\s` | this space stands before the first token of a text |
| `SpacesInToken=10\\s\\s000` | the token as the text has it, where FORM has other space |

A blank is written \\s, a tab \\t, a line end \\n, a carriage return \\r, "|" \\p and a backslash \\\\.
Treebanks also write other characters by their number, as in `SpacesAfter=\\u00A0`.
"""

from __future__ import annotations

import re

NO_SPACE = "SpaceAfter=No"
SPACES_AFTER, SPACES_BEFORE, SPACES_IN_TOKEN = "SpacesAfter=", "SpacesBefore=", "SpacesInToken="
LINE_BREAK = f"{SPACES_AFTER}\\n"

_ESCAPES = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r", "|": r"\p", "\\": r"\\"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"[ \t\n\r|\\]")
_ESCAPE = re.compile(r"\\(?:[stnrp\\]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})")  # no half of a character


def escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)


def unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _UNESCAPES.get(match[0]) or chr(int(match[0][2:], 16)), text)


def item_for(after: str) -> str:
    """The item of MISC for the space after a token; none for a blank."""
    return NO_SPACE if not after else "" if after == " " else SPACES_AFTER + escaped(after)


def space_after(misc: str) -> str | None:
    """The space after a token with this MISC; None if nothing is said about it, which means one blank."""
    if "Space" not in misc:
        return None
    items = misc.split("|")
    return "" if NO_SPACE in items else _space(_value(items, SPACES_AFTER))


def space_before(misc: str) -> str:
    return (_space(_value(misc.split("|"), SPACES_BEFORE)) or "") if SPACES_BEFORE in misc else ""


def text_in(form: str, misc: str) -> str:
    """A token with this FORM and MISC as the text has it."""
    return (_value(misc.split("|"), SPACES_IN_TOKEN) or form) if SPACES_IN_TOKEN in misc else form


def _space(value: str | None) -> str | None:
    """The value; some treebanks write `No` here, too."""
    return "" if value == "No" else value


def _value(items: list[str], name: str) -> str | None:
    return next((unescaped(item[len(name) :]) for item in items if item.startswith(name)), None)
