"""From `biatt parse --text` to its tree, as a process: writes start.json.

    python benchmarks/start.py [--before SOURCE] [--repeats 5] [--note TEXT] [--out FOLDER]

`warm`: compiled kernels are on disk. `cold`: nothing is compiled, and the cache folder is empty; ours
computes in numpy, without the process in the background that compiles. `--before` is the `src` folder of
another version, whose processes take turns with ours; its cold start compiles, and is measured once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from long_sentences import SOURCE, processor
from timing import rounded

from biatt.data.files import replacing
from biatt.parsing.warm_up import warm_up

TEXT = "My sister bought a new bike because the old one was stolen."
PROGRAM = "import sys; sys.argv[0] = 'biatt'; from biatt.cli import main; main()"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    sources = {"now": SOURCE, **({"before": options.before} if options.before else {})}
    rounds: dict[str, dict[str, list[tuple[float, float]]]] = {
        name: {"warm": [], "cold": []} for name in sources
    }
    warm_up()
    for source in sources.values():
        parsed(source)  # another version compiles here; and Python writes the modules' bytecode
    for number in range(options.repeats):
        for name, source in sources.items():
            rounds[name]["warm"].append(parsed(source))
            if name == "now" or number == 0:
                with tempfile.TemporaryDirectory() as folder:
                    cold = parsed(source, BIATT_CACHE_DIR=folder, BIATT_KERNELS="plain")
                rounds[name]["cold"].append(cold)
    results: dict[str, Any] = {"cpu": processor(), "repeats": options.repeats, "note": options.note}
    for name, kinds in rounds.items():
        for kind, times in kinds.items():
            cpu, wall = zip(*times, strict=True)
            results.setdefault(name, {})[kind] = {"cpu_seconds": median(cpu), "seconds": median(wall)}
    with replacing(options.out / "start.json") as file:
        file.write((json.dumps(rounded(results), indent=1) + "\n").encode())
    return 0


def parsed(source: Path, **environment: str) -> tuple[float, float]:
    """Seconds of processor time and of wall time of one process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", PROGRAM, "parse", "--text", TEXT],
        env={**os.environ, "PYTHONPATH": str(source.absolute()), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, metavar="SOURCE", help="src folder of another version")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--note", default="", help="what else the machine did")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
