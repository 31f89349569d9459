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
    from biatt import decode
    from biatt.config import Config
    from biatt.data.conll import dumps, read, reads, write
    from biatt.data.dataframe import to_dataframe
    from biatt.data.document import Document
    from biatt.data.scores import Scores
    from biatt.data.sentence import Sentence
    from biatt.data.words import Span, Token, Word
    from biatt.errors import BiattError, FormatError, ModelError
    from biatt.evaluation.calibration import calibrate
    from biatt.evaluation.comparison import Comparison, compare
    from biatt.evaluation.metrics import evaluate
    from biatt.evaluation.results import Evaluation
    from biatt.parser import Parser, load
    from biatt.parsing.choose_model import ModelChoice, choose_model
    from biatt.presets import PipelineConfig, preset
    from biatt.training.train import train

__version__ = "0.1.0"

# Where each public name is defined.
_HOME = {
    "BiattError": "errors",
    "Comparison": "evaluation.comparison",
    "Config": "config",
    "Document": "data.document",
    "Evaluation": "evaluation.results",
    "FormatError": "errors",
    "ModelChoice": "parsing.choose_model",
    "ModelError": "errors",
    "Parser": "parser",
    "PipelineConfig": "presets",
    "Scores": "data.scores",
    "Sentence": "data.sentence",
    "Span": "data.words",
    "Token": "data.words",
    "Word": "data.words",
    "calibrate": "evaluation.calibration",
    "choose_model": "parsing.choose_model",
    "compare": "evaluation.comparison",
    "dumps": "data.conll",
    "evaluate": "evaluation.metrics",
    "load": "parser",
    "preset": "presets",
    "read": "data.conll",
    "reads": "data.conll",
    "to_dataframe": "data.dataframe",
    "train": "training.train",
    "write": "data.conll",
}

__all__ = [
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


def __getattr__(name: str) -> Any:
    if name == "decode":
        return import_module("biatt.decode")
    if name not in _HOME:
        raise AttributeError(f"module 'biatt' has no attribute {name!r}")
    return getattr(import_module(f"biatt.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
