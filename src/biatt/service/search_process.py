"""The process of one search: a request as JSON comes in, and its matches go out.

It imports what reads and searches sentences only, so that it starts at once.
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import Any

from biatt.data.conll import reads
from biatt.data.search import search
from biatt.data.visible import json_text

MOST_MATCHES = 10_000


def matches(request: dict[str, str]) -> dict[str, Any]:
    """What is found: the number of the sentence, the numbers of the words, and those that have a name."""
    pattern = search(request["pattern"])
    all_matches = (
        {"sentence": number, "words": match.numbers, "names": match.names}
        for number, sentence in enumerate(reads(request["conllu"], format="conllu"), 1)
        for match in pattern.find(sentence)
    )
    first = list(islice(all_matches, MOST_MATCHES + 1))
    return {"matches": first[:MOST_MATCHES], "complete": len(first) <= MOST_MATCHES}


def _limit_memory(size: int) -> None:
    """Limit the address space of the process to this number of bytes."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


if __name__ == "__main__":
    _limit_memory(int(sys.argv[1]))
    sys.stdout.buffer.write(json_text(matches(json.loads(sys.stdin.buffer.read()))).encode())
