"""Measure `biatt serve` under load on loopback, with wrk: writes serving.json.

The service runs as a process of its own. Each request is one sentence of words; the same sentences are parsed
by what `biatt parse` does, before and after the load, so that both meet the same neighbours.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from timing import rounded

import biatt
from biatt.data.files import replacing
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.machine.kernel_choice import require_compiled
from biatt.parsing.parse_file import parse_files

HERE = Path(__file__).parent
MAIN = "import sys; sys.argv[0] = 'biatt'; from biatt.cli import main; main()"
LATENCY_WORDS = 25
LATENCY_CALLS = 200
LATENCY_ROUNDS, LATENCY_SECONDS = 3, 3
WARM_SECONDS = 5
PARSED_WORDS = 10_000  # at least, in each measurement of `biatt parse`

# wrk sends the bodies of a file in turn,
SEND = """
local bodies, at = {}, 0
for line in io.lines(%(bodies)s) do bodies[#bodies + 1] = line end
local headers = {["Content-Type"] = "application/json"}
request = function()
  at = at %% #bodies + 1
  return wrk.format("POST", "/parse", headers, bodies[at])
end
"""
# and prints what it has counted as JSON.
COUNT = """
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "seconds": %f, "errors": %d, "median_ms": %f, "p99_ms": %f}\\n',
    summary.requests, summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    require_compiled()  # the service uses compiled kernels, too
    if shutil.which("wrk") is None:
        print("wrk is not installed (Debian: apt install wrk).", file=sys.stderr)
        return 2
    if options.treebank:
        sentences = [sentence.forms for sentence in biatt.read(options.treebank) if 0 < len(sentence) <= 100]
    else:
        sentences = [sentence.forms for sentence in generate(1000, seed=1)]
    with tempfile.TemporaryDirectory() as folder:
        results = measure(options, sentences, Path(folder))
    with replacing(options.out) as file:
        file.write(f"{json.dumps(rounded(results), indent=1)}\n".encode())
    print(json.dumps(rounded(results), indent=1))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="en")
    parser.add_argument("--treebank", type=Path, help="CoNLL-U file of the sentences; default: made-up ones")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1, help="of the service and of biatt parse")
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=HERE / "serving.json")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace, sentences: list[list[str]], folder: Path) -> dict[str, Any]:
    parser = biatt.load(options.model)
    load_before = os.getloadavg()[0]
    words_a_request = sum(map(len, sentences)) / len(sentences)
    long = [word for sentence in sentences for word in sentence][:LATENCY_WORDS]
    with serving(options) as (process, address):
        wrk(address, sentences, folder, clients=options.clients, seconds=WARM_SECONDS)
        speeds = [parsing_speed(parser, sentences, folder)]
        before = resident_mib(process)
        load = wrk(address, sentences, folder, clients=options.clients, seconds=options.seconds)
        after = resident_mib(process)
        speeds.append(parsing_speed(parser, sentences, folder))
        latency = [one_client(parser, process, address, long, folder) for _ in range(LATENCY_ROUNDS)]
    served = load["requests"] * words_a_request / load["seconds"]
    return {
        "conditions": conditions(options, load_before, words_a_request),
        "load": {
            **load,
            "requests_per_second": load["requests"] / load["seconds"],
            "words_per_second": served,
            "biatt_parse_words_per_second": speeds,
            "share_of_biatt_parse": served / (sum(speeds) / len(speeds)),
            "resident_mib_before": before,
            "resident_mib_after": after,
        },
        "one_client": {
            "words": len(long),
            **{name: [measured[name] for measured in latency] for name in latency[0]},
        },
    }


def conditions(options: argparse.Namespace, load_before: float, words_a_request: float) -> dict[str, Any]:
    packages = ("biatt", "fastapi", "uvicorn", "numba", "numpy")
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": load_before,
        "load_after": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "tool": subprocess.run(["wrk", "-v"], capture_output=True, text=True).stdout.split(" [")[0],
        "model": options.model,
        "clients": options.clients,
        "seconds": options.seconds,
        "threads": options.threads,
        "sentences": options.treebank.name if options.treebank else "made up",
        "words_a_request": words_a_request,
        "note": options.note,
    }


def _cpu() -> str:
    match = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return match[1] if match else platform.machine()


@contextmanager
def serving(options: argparse.Namespace) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The service, and its address."""
    words = ["serve", "--port", "0", "--model", options.model, "--threads", str(options.threads)]
    command = [sys.executable, "-c", MAIN, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        match = re.search(r"http://\S+/", process.stdout.readline())
        try:
            assert match, "the service did not start"
            yield process, match[0]
        finally:
            process.terminate()


def wrk(
    address: str, sentences: list[list[str]], folder: Path, *, clients: int, seconds: int
) -> dict[str, Any]:
    """What wrk counts: requests, errors, seconds, latency. Without sentences, it gets the address itself."""
    bodies, script = folder / "bodies.jsonl", folder / "script.lua"
    bodies.write_text("".join(json.dumps({"tokens": [words]}) + "\n" for words in sentences))
    script.write_text((SEND % {"bodies": json.dumps(str(bodies))} if sentences else "") + COUNT)
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script), address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.partition("RESULT ")[2])
    return result


def parsing_speed(parser: biatt.Parser, sentences: list[list[str]], folder: Path) -> float:
    """Words a second of what `biatt parse` does on one core with the same sentences, from a file to JSON."""
    source = folder / "sentences.txt"
    copies = 1 + PARSED_WORDS // sum(map(len, sentences))
    source.write_text("".join(" ".join(words) + "\n" for words in sentences * copies))
    begin = time.perf_counter()
    parse_files(parser, [([source], folder / "parsed.jsonl")], input="tokens")
    return copies * sum(map(len, sentences)) / (time.perf_counter() - begin)


def one_client(
    parser: biatt.Parser, process: subprocess.Popen[str], address: str, words: list[str], folder: Path
) -> dict[str, float]:
    """The median time of one sentence: by the parser itself, and by the service with one client.

    The processor time, of all threads of the process, is what a busy neighbour does not change.
    """
    times, cpu = [], time.process_time()
    for _ in range(LATENCY_CALLS):
        begin = time.perf_counter()
        parser.parse(Sentence.from_words(words))
        times.append(time.perf_counter() - begin)
    cpu = time.process_time() - cpu
    service_cpu = cpu_seconds(process)
    served = wrk(address, [words], folder, clients=1, seconds=LATENCY_SECONDS)
    service_cpu = cpu_seconds(process) - service_cpu
    health = wrk(f"{address}health", [], folder, clients=1, seconds=LATENCY_SECONDS)
    return {
        "parser_ms": 1000 * median(times),
        "service_ms": served["median_ms"],
        "health_ms": health["median_ms"],
        "allowed_ms": 1.5 * 1000 * median(times) + 5,
        "parser_cpu_ms": 1000 * cpu / LATENCY_CALLS,
        "service_cpu_ms": 1000 * service_cpu / served["requests"],
    }


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Processor time of a process so far, of the user and of the system."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process: subprocess.Popen[str]) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    match = re.search(r"VmRSS:\s*(\d+) kB", status)
    assert match
    return int(match[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
