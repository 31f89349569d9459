"""Time other parsers on the same sentences, in an environment of their own; adds "peers" to results.json."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from run import commit, cpu_name, save
from timing import interleaved, throughput
from versions import PROCESSOR
from workload import FULL, prepare, untrained

from biatt.data.conll import write
from biatt.errors import BiattError
from biatt.presets import PRESETS

HERE = Path(__file__).parent
# The package of each, and what pip must install with it; cheap ones first, as time may run out.
PEERS = ("ufal.udpipe", "spacy", "supar", "stanza")
NEED_TORCH = ("supar", "stanza")


def main() -> int:
    options = _options()
    torch.set_num_threads(1)
    path = options.out / "results.json"
    if not path.is_file():
        print(f"{path} does not exist: run run.py first.", file=sys.stderr)
        return 2
    deadline = time.perf_counter() + options.seconds
    python = options.environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(options.environment)], check=True)
    try:
        with tempfile.TemporaryDirectory() as name:
            work = prepare(
                options.treebank, options.model, Path(name), sizes=FULL, repeats=options.repeats, seed=1
            )
            train = work.folder / "train.conllu"
            write(work.train, train)
            # In memory to in memory, like the peers; interleaving is not possible across environments.
            fast = untrained(PRESETS["fast"], work.train, seed=work.seed)
            own = interleaved(
                {
                    name: lambda parser=parser: deque(parser.parse(work.sentences), maxlen=0)  # type: ignore[misc]
                    for name, parser in (("biatt", work.fused), ("biatt_fast", fast))
                },
                repeats=options.repeats,
            )
            about = {"version": version("biatt"), "repeats": work.repeats}
            results: dict[str, Any] = {
                name: {**about, **throughput(rounds, work.words)} for name, rounds in own.items()
            }
            conditions = {"commit": commit(), "cpu": cpu_name(), "load": os.getloadavg()[0]}
            results["conditions"] = conditions | {
                name: os.environ[name] for name in PROCESSOR if name in os.environ
            }
            for peer in options.peers:
                print(peer, file=sys.stderr, flush=True)
                left = deadline - time.perf_counter()
                results.update(measured(peer, python, train, work.dev, repeats=options.repeats, seconds=left))
    except BiattError as error:
        print(error, file=sys.stderr)
        return 2
    save({**json.loads(path.read_text(encoding="utf-8")), "peers": results}, path)
    return 0


def measured(
    peer: str, python: Path, train: Path, dev: Path, *, repeats: int, seconds: float
) -> dict[str, Any]:
    """The peer's results by name, or why there are none."""
    requirements = [peer]
    if peer in NEED_TORCH:
        # Ours: another would be a download of gigabytes, and another speed.
        requirements.append(f"torch=={version('torch').partition('+')[0]}")
    command = [str(HERE / "peer_parsers.py"), peer, str(train), str(dev), str(repeats), str(seconds / 4)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    finish = time.perf_counter() + seconds
    try:
        for step in (["-m", "pip", "install", "--quiet", *requirements], command):
            done = subprocess.run(
                [str(python), *step],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, **one},
                timeout=max(0.0, finish - time.perf_counter()),
            )
    except subprocess.TimeoutExpired:
        return {peer: {"failed": "out of time"}}
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        return {peer: {"failed": lines[-1]}}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treebank", type=Path, required=True, help="as in run.py")
    parser.add_argument("--environment", type=Path, required=True, help="folder for the peers' environment")
    parser.add_argument("--model", type=Path, help="as in run.py")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="default: all")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=600, help="for all peers, installation included")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of results.json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
