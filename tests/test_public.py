"""The public surface: what `import biatt` promises."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import biatt

SOURCE = Path(__file__).parents[1] / "src"


def test_public_names_are_these() -> None:
    assert biatt.__all__ == [
        "BiattError",
        "Comparison",
        "Config",
        "Document",
        "Evaluation",
        "FormatError",
        "ModelChoice",
        "ModelError",
        "Parser",
        "PipelineConfig",
        "Scores",
        "Sentence",
        "Span",
        "Token",
        "Word",
        "__version__",
        "calibrate",
        "choose_model",
        "compare",
        "decode",
        "dumps",
        "evaluate",
        "load",
        "preset",
        "read",
        "reads",
        "to_dataframe",
        "train",
        "write",
    ]


@pytest.mark.parametrize("name", biatt.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(biatt, name) is not None
    assert name in dir(biatt)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'biatt' has no attribute 'prase'"):
        _ = biatt.prase


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import biatt", ["numba", "numpy", "rich", "safetensors", "torch", "typer"]),
        ("import biatt; biatt.read, biatt.write, biatt.Word, biatt.Config", ["numba", "numpy", "torch"]),
        ("import biatt; biatt.evaluate, biatt.compare", ["torch"]),
        ("import biatt; biatt.load, biatt.Parser, biatt.Scores", ["torch"]),
        ("import biatt.cli", ["numba", "numpy", "torch"]),
        ("import biatt; biatt.load('en')('It works.')", ["llvmlite", "numba", "rich", "torch"]),
    ],
)
def test_import_waits_for_nothing_it_does_not_need(code: str, unwanted: list[str]) -> None:
    code += f"; import sys; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "BIATT_KERNELS": "plain"},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_types_are_promised() -> None:
    assert (Path(biatt.__file__).parent / "py.typed").is_file()


def test_version_is_that_of_the_package() -> None:
    try:
        installed = version("biatt")
    except PackageNotFoundError:
        pytest.skip("biatt is run from its sources and not installed")
    assert biatt.__version__ == installed
