"""Options of the command line have the defaults of the functions that they are for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import biatt
from biatt.corpus.run import parse_corpus
from biatt.parsing.parse_file import parse_files
from biatt.parsing.search_file import search_file
from biatt.parsing.suggest import suggest_from_files
from biatt.training.word_vectors import train_vectors
from biatt.verbs.corpus import corpus
from biatt.verbs.parse import parse
from biatt.verbs.score import compare, evaluate
from biatt.verbs.search import search
from biatt.verbs.suggest import suggest
from biatt.verbs.train import train
from biatt.verbs.vectors import vectors

OTHER_NAMES = {"decode": "decoder", "input_format": "input"}  # of options whose name is taken in Python


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The default of each parameter; None for all that turn it off."""
    parameters = inspect.signature(function).parameters.items()
    found = {name: item.default for name, item in parameters if item.default is not item.empty}
    return {name: None if value in (False, ()) else value for name, value in found.items()}


@pytest.mark.parametrize(
    ("verb", "function", "shared"),
    [
        (compare, biatt.compare, 2),
        (corpus, parse_corpus, 9),
        (evaluate, biatt.evaluate, 2),
        (parse, parse_files, 8),
        (search, search_file, 1),
        (suggest, suggest_from_files, 4),
        (train, biatt.train, 10),
        (vectors, train_vectors, 8),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_defaults_are_those_of_the_function(
    verb: Callable[..., Any], function: Callable[..., Any], shared: int
) -> None:
    of_verb = {OTHER_NAMES.get(name, name): value for name, value in defaults(verb).items()}
    both = of_verb.keys() & defaults(function).keys()
    assert len(both) >= shared
    assert {name: of_verb[name] for name in both} == {name: defaults(function)[name] for name in both}
