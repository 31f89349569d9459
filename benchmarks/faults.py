"""What becomes of a run when something dies, fails or makes no sense: each fault many times, as figures.

    scripts/faults [SECTION ...] [--kills 100] [--inputs 1000000] [--strings 10000] [--minutes 60]
                   [--words 10000000] [--seed 1] [--model en] [--resume]

| section | what is tried |
|---|---|
| `kill_training`, `kill_pipeline` | kill -9 of a training at random moments; resumed, the same weights |
| `kill_corpus` | kill -9 of a corpus run with two workers, or of one worker; resumed, the same bytes |
| `kill_ray` | the same by Ray, or of one of its actors, after which the run must go on by itself |
| `disk` | a limit on file size at many sizes: parse, save, package, corpus, train |
| `inputs` | generated inputs of seven kinds: one sentence of error, or what is accepted round-trips |
| `unicode` | every script, random strings, lines of 100,000 words: rebuilt from the places of tokens |
| `sharing` | one parser in 8 threads, in a forked and in a spawned process: the trees that it gives alone |
| `soak_pipe`, `soak_service` | memory over many words, and over many requests |

Without sections, all are tried. The figures go into faults.json, where those of other
sections stay, and into the table of docs/faults.md. Kills and full disks are noted one by
one: with --resume, a section that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fault_disk import disk
from fault_inputs import inputs, unicode
from fault_kills import kill_corpus, kill_pipeline, kill_ray, kill_training
from fault_memory import sharing, soak_pipe, soak_service
from run import commit, cpu_name, save

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "faults.json", HERE.parent / "docs" / "faults.md"
BEGIN, END = "<!-- faults -->\n", "\n<!-- end -->"  # of the table in the page

Found = dict[str, Any]
SECTIONS: dict[str, Callable[[argparse.Namespace, Path], Found | Iterator[Found]]] = {
    "kill_training": kill_training,
    "kill_pipeline": kill_pipeline,
    "kill_corpus": kill_corpus,
    "kill_ray": kill_ray,
    "disk": disk,
    "inputs": inputs,
    "unicode": unicode,
    "sharing": sharing,
    "soak_pipe": soak_pipe,
    "soak_service": soak_service,
}


ASKED = {  # what a whole trial is: the defaults of the options
    **dict.fromkeys(("kill_training", "kill_pipeline", "kill_corpus", "kill_ray"), "100"),
    "disk": "every write",
    "inputs": "1,000,000",
    "unicode": "10,000 random strings",
    "sharing": "10",
    "soak_pipe": "10,000,000 words",
    "soak_service": "60 minutes",
}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    results = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    for name in options.sections or SECTIONS:
        options.before = results.get(name, {}) if options.resume else {}
        spent = options.before.get("seconds", 0)
        start = time.monotonic()
        with TemporaryDirectory() as folder:
            for found in steps(SECTIONS[name](options, Path(folder))):
                results[name] = {**found, "seconds": spent + time.monotonic() - start}
                results[name]["conditions"] = conditions(options)
                save(results, options.out)
        print(json.dumps({name: results.get(name)}, ensure_ascii=False), flush=True)
    print(table(results))
    if options.out == RESULTS:
        write_page(results)


def steps(found: Found | Iterator[Found]) -> Iterator[Found]:
    """The figures of a section, again and again while it goes on, or once."""
    if isinstance(found, dict):
        yield found
    else:
        yield from found


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    return {"seed": options.seed, "model": options.model, "cpu": cpu_name(), "commit": commit()}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="scripts/faults"
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="default: all")
    parser.add_argument("--kills", type=int, default=100, help="of each kind of run")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="generated inputs")
    parser.add_argument("--strings", type=int, default=10_000, help="random strings")
    parser.add_argument("--minutes", type=float, default=60, help="of requests to the service")
    parser.add_argument("--words", type=int, default=10_000_000, help="through pipe")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="en")
    parser.add_argument("--resume", action="store_true", help="go on with the kills of the file of results")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"there is no section {min(unknown)}")
    return options


def table(results: dict[str, Any]) -> str:
    """The figures as the table of docs/faults.md."""
    lines = ["| fault | asked | tried | as it must be | figures |", "|---|---|---|---|---|"]
    for name in SECTIONS:
        if name in results:
            found = results[name]
            figures = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in found["figures"].items())
            lines.append(
                f"| `{name}` | {ASKED[name]} | {found['tried']:,} | {found['correct']:,} | {figures} |"
            )
    return "\n".join(lines)


def write_page(results: dict[str, Any]) -> None:
    """Put the table into the documentation."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}{table(results)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
