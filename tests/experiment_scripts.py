"""The scripts of experiments/ as modules, and networks for them that take a second to train."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
TINY = ("hidden=4", "epochs=1", "least_batches=0", "tokeniser.epochs=1", "tokeniser.least_batches=0")


def load_experiment(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "experiments" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
