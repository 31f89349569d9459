"""Dependency parsing by bi-directional attention with agreement.

    import biatt

    parser = biatt.load("model")
    biatt.write(parser.parse(biatt.read("text.conllu")), "parsed.conllu")

Names are imported when first used, so that reading or scoring files does not wait for the network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from biatt.comparison import Comparison, compare
    from biatt.config import Config, with_settings
    from biatt.conll import read, write
    from biatt.errors import BiattError
    from biatt.evaluation import Evaluation
    from biatt.metrics import evaluate
    from biatt.parser import Parser, load
    from biatt.presets import preset
    from biatt.scores import Scores
    from biatt.sentence import Sentence, Token
    from biatt.text import read_tokens
    from biatt.training import train

__version__ = "0.1.0"

_HOME = {
    "BiattError": "errors",
    "Comparison": "comparison",
    "Config": "config",
    "Evaluation": "evaluation",
    "Parser": "parser",
    "Scores": "scores",
    "Sentence": "sentence",
    "Token": "sentence",
    "compare": "comparison",
    "evaluate": "metrics",
    "load": "parser",
    "preset": "presets",
    "read": "conll",
    "read_tokens": "text",
    "train": "training",
    "with_settings": "config",
    "write": "conll",
}

__all__ = [
    "BiattError",
    "Comparison",
    "Config",
    "Evaluation",
    "Parser",
    "Scores",
    "Sentence",
    "Token",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "preset",
    "read",
    "read_tokens",
    "train",
    "with_settings",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'biatt' has no attribute {name!r}")
    return getattr(import_module(f"biatt.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
