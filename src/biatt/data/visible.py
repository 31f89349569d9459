"""Text from files, file names and models, made safe to show.

Control characters can recolour or rewrite a terminal, and bidirectional overrides can show text in another
order than it has. Whatever a person reads (tables, trees, pictures, messages) passes through `visible`; CoNLL
output does not, since it must keep every byte.
"""

from __future__ import annotations

import json
import re
from typing import Any

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, C0 and C1
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides and isolates
    "\ud800-\udfff"  # unpaired surrogates: bytes of a file name that are not UTF-8
    "\ufffe\uffff"  # no characters, forbidden in XML
    "]"
)


def visible(text: object, *, keep: str = "") -> str:
    """The text with every unsafe character as a visible escape such as \\x1b, but for those in `keep`."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), str(text))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The value as JSON that can be shown: unsafe characters are escaped, which JSON reads as the same text.

    NaN and infinities, which JSON does not have, are a ValueError.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return _UNSAFE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
