"""The models that are served, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from biatt.errors import ConfigError
from biatt.machine.kernel_choice import require_compiled
from biatt.models.named_models import AUTO
from biatt.parser import Parser, load
from biatt.parsing.choose_model import best_choice
from biatt.parsing.warm_up import warm_up
from biatt.service.problems import Problem

SAMPLE = 4000  # characters by which the language of a request is told: other requests wait meanwhile


class Models(Mapping[str, Parser]):
    """Parsers by name; the first is the one that requests without a model get."""

    def __init__(self, parsers: Mapping[str, Parser]) -> None:
        if not parsers:
            raise ConfigError("A service needs at least one model.")
        self._parsers = dict(parsers)
        self.default = next(iter(self._parsers))

    @classmethod
    def load(cls, models: Sequence[str]) -> Models:
        """Load bundled models and model folders; a folder's own name is the name of its model."""
        parsers: dict[str, Parser] = {}
        for model in models:
            name = Path(model).resolve().name
            if name in parsers:
                raise ConfigError(f"Two models have the name {name}: rename the folder of one.")
            parsers[name] = load(model)
        return cls(parsers)

    def find(self, name: str | None, text: str = "") -> str:
        """The name of a model, of the default one, or with "auto" of the one whose language the text is in.

        It is a problem if there is no such model.
        """
        if name is None:
            return self.default
        if name == AUTO and name not in self._parsers:
            return self._chosen(text)
        if name not in self._parsers:
            known = ", ".join(self._parsers)
            raise Problem.in_field("model", f"There is no such model; these are served: {known}.")
        return name

    def _chosen(self, text: str) -> str:
        by_name = {name: parser.profile for name, parser in self._parsers.items()}
        if not (profiles := {name: profile for name, profile in by_name.items() if profile}):
            raise Problem.in_field("model", "No model that is served has a language profile: name one.")
        return best_choice(text[:SAMPLE], profiles).name

    def components(self) -> dict[str, list[str]]:
        """What each model does, by UDPipe's names."""
        return {
            name: [
                *(["tokenizer"] if parser.tokeniser else []),
                *(["tagger"] if parser.chooses_tags else []),
                "parser",
            ]
            for name, parser in self._parsers.items()
        }

    def relations(self) -> dict[str, list[str]]:
        """The relations that each model knows."""
        return {name: sorted(parser.vocabulary.relations) for name, parser in self._parsers.items()}

    def warm_up(self) -> None:
        """Compile, and parse a sentence with each model, so that no request waits for the compiler."""
        try:
            warm_up()
        except ConfigError:  # nothing can be kept on disk: compile what these models need, in this process
            require_compiled()
        for parser in self._parsers.values():
            if parser.tokeniser:
                parser("It works.")
            parser.parse_tokens([["It", "works", "."]])

    def __getitem__(self, name: str) -> Parser:
        return self._parsers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsers)

    def __len__(self) -> int:
        return len(self._parsers)
