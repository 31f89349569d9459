"""One parser used by many at once, and memory over a long time."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import biatt
from biatt.data.toy_treebank import generate

THREADS = 8
TEXTS = 40  # that are parsed by each
CLIENTS = 4
_parser_before_fork: biatt.Parser | None = None
WARM_SHARE = 0.1  # of the words or the time, after which memory must not grow


def sharing(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The same texts in 8 threads at once, in a forked child and in a spawned one: trees as alone."""
    global _parser_before_fork
    nlp = _parser_before_fork = biatt.load(options.model)
    texts = [" ".join(" ".join(s.forms) for s in generate(6, seed=seed)) for seed in range(TEXTS)]
    expected = _parsed(nlp, texts)
    with ThreadPoolExecutor(THREADS) as threads:
        of_threads = list(threads.map(lambda _: _parsed(nlp, texts), range(THREADS)))
    correct = sum(found == expected for found in of_threads)
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            found = pool.apply(_parsed_by_child, (None if way == "fork" else options.model, texts))
            correct += found == expected
    return {"tried": THREADS + 2, "correct": correct, "figures": {"threads": THREADS, "children": 2}}


def _parsed_by_child(model: str | None, texts: list[str]) -> list[str]:
    """What a child gives: a forked one by the parser of its parent, a spawned one by one of its own."""
    nlp = biatt.load(model) if model else _parser_before_fork
    assert nlp is not None
    return _parsed(nlp, texts)


def _parsed(nlp: biatt.Parser, texts: list[str]) -> list[str]:
    return [biatt.dumps(nlp(text)) for text in texts]


def soak_pipe(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """So many words through pipe; memory is measured after the first tenth, and to the end."""
    nlp, words, memory = biatt.load(options.model), 0, list[float]()
    for document in nlp.pipe(_endless(options.seed)):
        words += len(document.words)
        if words >= options.words * WARM_SHARE:
            memory.append(_resident_mib(os.getpid()))
        if words >= options.words:
            break
    return _flat(memory, {"words": f"{words:,}"})


def _endless(seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    while True:
        yield " ".join(" ".join(s.forms) for s in generate(draw.randint(1, 40), seed=draw.randrange(10**6)))


def soak_service(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Requests of all kinds, good and bad, by several clients; the memory of the service."""
    command = [sys.executable, "-c", "from biatt.cli import main; main()", "serve", "--port", "0"]
    command += ["--model", options.model]
    answers, memory, end = Counter[int](), list[float](), time.monotonic() + options.minutes * 60
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        match = re.search(r"http://\S+/", process.stdout.readline())
        assert match
        clients = [Thread(target=_requests, args=(match[0], seed, end, answers)) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            time.sleep(min(5.0, options.minutes * 3))
            if time.monotonic() > start + options.minutes * 60 * WARM_SHARE:
                memory.append(_resident_mib(process.pid))
        process.terminate()
    figures: dict[str, Any] = {"minutes": options.minutes}
    figures |= {f"answers_{code}": f"{count:,}" for code, count in sorted(answers.items())}
    return _flat([size for size in memory if size], figures)


def _requests(address: str, seed: int, end: float, answers: Counter[int]) -> None:
    draw = random.Random(seed)
    while time.monotonic() < end:
        text = " ".join(" ".join(s.forms) for s in generate(draw.randint(1, 60), seed=draw.randrange(10**6)))
        body = draw.choice(
            [
                {"text": text},
                {"tokens": [text.split()[:200]]},
                {"text": text[:500], "k_best": 3},
                {"text": ""},
                {"no": 1},
                text,
            ]
        )
        data = json.dumps(body).encode()[: draw.choice((10**6, 10**6, 10**6, 20))]
        request = urllib.request.Request(f"{address}parse", data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                answer.read()
                answers[answer.status] += 1
        except urllib.error.HTTPError as error:
            error.read()
            answers[error.code] += 1


def _flat(memory: list[float], figures: dict[str, Any]) -> dict[str, Any]:
    """Memory is flat if its largest value in the second half is at most 5 % above that of the first."""
    half = len(memory) // 2
    first, second = max(memory[:half]), max(memory[half:])
    figures |= {"MiB_first_half": round(first), "MiB_second_half": round(second)}
    return {"tried": 1, "correct": int(second <= 1.05 * first), "figures": figures}


def _resident_mib(number: int) -> float:
    try:
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{number}/status").read_text())
    except OSError:  # it has ended
        return 0
    return int(match[1]) / 1024 if match else 0
