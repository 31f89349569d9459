"""Run `scripts/test` again and again on a busy machine, in every way in which it must pass.

    python benchmarks/test_runs.py [WAY ...] [--busy 2] [--note TEXT] [--out benchmarks]

Ways: `plain`; `random`, in random order and with random examples; `one`, with one process; and the processors
`haswell` (AVX2), `skylake-avx512` and `generic` (any x86-64). The default is ten runs in a row. It writes
test_runs.json, after every run. The exit code is 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from run import commit, cores, cpu_name, save
from same_weights import busy

ROOT = Path(__file__).parent.parent


class Way(NamedTuple):
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed


AVX2 = "+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe"
AVX512 = f"{AVX2},+avx512f,+avx512cd,+avx512bw,+avx512dq,+avx512vl"
WAYS = {
    "plain": Way(),
    "random": Way(("--random",)),
    "one": Way(("--numprocesses", "1")),
    "haswell": Way(environment={"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": AVX2}),
    "skylake-avx512": Way(environment={"NUMBA_CPU_NAME": "skylake-avx512", "NUMBA_CPU_FEATURES": AVX512}),
    "generic": Way(environment={"NUMBA_CPU_NAME": "generic"}),
}
TEN = ("plain", "random", "haswell", "skylake-avx512", "generic", "one", "random", "plain", "random", "plain")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    runs: list[dict[str, Any]] = []
    with busy(options.busy):
        for name in options.ways or TEN:
            runs.append({"way": name, **test_run(WAYS[name])})
            print(runs[-1], file=sys.stderr, flush=True)
            conditions = {"cpu": cpu_name(), "cores": cores(), "commit": commit()}
            conditions |= {"busy_processes": options.busy, "note": options.note}
            save({"conditions": conditions, "runs": runs}, options.out / "test_runs.json")
    return 0 if all(run["exit_code"] == 0 for run in runs) else 1


def test_run(way: Way) -> dict[str, Any]:
    """One run of the tests: what pytest counted, and the processor time of all its processes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(
        [ROOT / "scripts" / "test", *way.arguments],
        env={**os.environ, **way.environment},
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = done.stdout.splitlines()
    return {
        "exit_code": done.returncode,
        **{
            word: int(number)
            for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", lines[-1])
        },
        "failures": [line for line in lines if line.startswith(("FAILED", "ERROR"))],
        "minutes": round((time.time() - started) / 60, 2),
        "user_minutes": round((after.ru_utime - before.ru_utime) / 60, 2),
        "system_minutes": round((after.ru_stime - before.ru_stime) / 60, 2),
        "load": os.getloadavg()[0],
        "command": next((line for line in lines if line.startswith("pytest ")), ""),
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"of {', '.join(WAYS)}; default: ten runs")
    parser.add_argument("--busy", type=int, default=2, help="processes that use a core each beside the tests")
    parser.add_argument("--note", default="", help="what else ran on the machine")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks", help="folder of the result file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
