"""Choosing a model for a text among those that are installed, by their language profiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from biatt.data.text import check_text
from biatt.errors import ModelError
from biatt.models.language_profile import LONGEST, LanguageProfile, ngrams
from biatt.models.model_facts import model_facts
from biatt.models.model_folder import read_profile
from biatt.models.named_models import named_models
from biatt.parser import Parser

SAMPLE = 20_000  # characters by which a text is judged
SURE = 0.99  # the probability from which on a choice counts as sure


class ModelChoice(NamedTuple):
    """The model for a text."""

    name: str
    probability: float  # that the text is of this model's language, if it is of one of the models'
    second: str | None  # the model that would be the next choice

    @property
    def sure(self) -> bool:
        return self.probability >= SURE


def choose_model(text: str) -> ModelChoice:
    """The installed model whose language a text is in, by its first 20,000 characters.

    The choice is among the models of `biatt models` that have a language profile, as every pipeline has.
    """
    check_text(text, "A text")
    return best_choice(text, installed_profiles())


def installed_profiles() -> dict[str, LanguageProfile]:
    """The language profiles of the models that can be loaded by name, of those that have one."""
    by_name = {model.name: model.folder and read_profile(model.folder) for model in named_models()}
    if not (profiles := {name: profile for name, profile in by_name.items() if profile}):
        raise ModelError("No installed model has a language profile (language.json): name the model.")
    return profiles


def best_choice(text: str, profiles: Mapping[str, LanguageProfile]) -> ModelChoice:
    """The best of these profiles for a text; among equals, as for a text without letters, the first.

    A character is in about as many n-grams as there are lengths, which say much the same; so the
    log-probabilities of the text are divided by that number before they become probabilities.
    """
    counts = ngrams(text[:SAMPLE])
    size = sum(counts.values()) / LONGEST
    scores = {name: size * profile.score(counts) for name, profile in profiles.items()}
    ranked = sorted(scores, key=lambda name: -scores[name])
    best = ranked[0]
    probability = 1 / sum(math.exp(score - scores[best]) for score in scores.values())
    return ModelChoice(best, probability, ranked[1] if len(ranked) > 1 else None)


class ChosenParsers:
    """The parsers of texts, each loaded once; `tell` is called with a sentence about every choice."""

    def __init__(self, *, device: str = "cpu", tell: Callable[[str], None]) -> None:
        self._profiles = installed_profiles()
        self._models = {model.name: model for model in named_models()}
        self._device, self._tell = device, tell
        self._parsers: dict[str, Parser] = {}

    def parser_of(self, text: str, *, name: str) -> Parser:
        """The parser of a text; `name` is what the text is called."""
        choice = best_choice(text, self._profiles)
        self._tell(f"{name}: {self._described(choice)}.")
        if choice.name not in self._parsers:
            folder = self._models[choice.name].checked()
            self._parsers[choice.name] = Parser.load(folder, device=self._device)
        return self._parsers[choice.name]

    def _described(self, choice: ModelChoice) -> str:
        chosen = f"model {self._called(choice.name)}"
        if choice.second is None:
            return f"{chosen}, the only one with a language profile"
        if choice.sure:
            return chosen
        return f"{chosen}; this is not certain, the text could be for {self._called(choice.second)} too"

    def _called(self, name: str) -> str:
        language = model_facts(self._models[name])["language"]
        return f"{name} ({language})" if language else name
