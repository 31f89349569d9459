"""Search for dependency patterns in the sentences of a request.

A pattern can take any time and memory: a regular expression that backtracks, or words in any order. So a
search runs in a process of its own (`search_process`), which has a limit of memory and is stopped when its
time is over.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from threading import BoundedSemaphore

from pydantic import BaseModel, ConfigDict, Field

from biatt.data.patterns import read_pattern
from biatt.errors import PatternError
from biatt.service.problems import Problem, overloaded
from biatt.service.requests import Text, read_conllu

SECONDS = 5.0
MEMORY = 1 << 30  # bytes of the process
MOST_SEARCHES = 2  # at once

_places = BoundedSemaphore(MOST_SEARCHES)


class SearchRequest(BaseModel):
    """Sentences in CoNLL-U, and the pattern to find in them."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [{"conllu": "1\tStop\tstop\tVERB\t_\t_\t0\troot\t_\t_\n\n", "pattern": "{upos:VERB}"}]
        },
    )

    conllu: Text = Field(description="Parsed sentences in CoNLL-U.")
    pattern: Text = Field(description="A pattern in the notation of Semgrex, as `biatt search` takes it.")


async def find(request: SearchRequest, *, seconds: float = SECONDS, memory: int = MEMORY) -> bytes:
    """The matches as JSON; a problem if the request is wrong or costs too much."""
    try:
        read_pattern(request.pattern)
    except PatternError as error:
        raise Problem.in_field("pattern", f"Character {error.place + 1}: {error.message}.") from error
    read_conllu(request.conllu, "conllu")
    if not _places.acquire(blocking=False):
        raise overloaded("Other searches are running: try again.")
    return await asyncio.to_thread(_run, request.model_dump_json().encode(), seconds, memory)


def _run(content: bytes, seconds: float, memory: int) -> bytes:
    command = [sys.executable, "-m", "biatt.service.search_process", str(memory)]
    try:
        process = subprocess.run(command, input=content, capture_output=True, timeout=seconds, check=True)
    except subprocess.TimeoutExpired:
        fault = f"The search took longer than {seconds:g} seconds."
        raise Problem.in_field("pattern", fault, status=413) from None
    except subprocess.CalledProcessError:
        raise Problem.in_field("pattern", "The search needs too much memory.", status=413) from None
    finally:
        _places.release()
    return process.stdout
