"""Full-width forms of ASCII characters, such as ！ and Ａ, which East Asian text has beside the usual ones.

Treebanks often have only one of the two. What a model does not know is looked up as the other: the text
itself keeps its characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_FULL_WIDTH = re.compile("[\uff01-\uff5e]")
_DISTANCE = 0xFF01 - ord("!")


def half_width(text: str, *, but: Callable[[str], bool] = lambda character: False) -> str:
    """The text with half-width forms of its full-width characters, except for those that `but` holds for."""
    if text.isascii():
        return text
    return _FULL_WIDTH.sub(lambda match: match[0] if but(match[0]) else chr(ord(match[0]) - _DISTANCE), text)
