"""A model folder as a package that pip installs: what `biatt package` does.

The package biatt-NAME holds the folder biatt_NAME, which is a model folder, and no program. Its entry point
in the group `biatt.models` is how `named_models.py` finds it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from biatt import __version__
from biatt.data.conll import read
from biatt.data.detokeniser import lacks_spaces, with_spaces
from biatt.data.files import name_of, reading
from biatt.data.folders import replacing_folder
from biatt.data.raw_text import raw_text
from biatt.data.text import is_conll, read_text
from biatt.errors import BiattError, ConfigError, ModelError
from biatt.models.card_table import table_lines, table_rows, without_paths, without_rows
from biatt.models.language_profile import LanguageProfile
from biatt.models.languages import LANGUAGES
from biatt.models.named_models import AUTO, GROUP, MODELS
from biatt.models.wheel import write_wheel
from biatt.parser import Parser

LICENCE_FILE = "LICENSE.txt"
UNSTATED = "not stated"  # as the card of a training has it

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?")  # PEP 440, normalised
_CREATIVE_COMMONS = re.compile(r"CC[ -](BY(?:-NC)?(?:-SA|-ND)?)[ -](\d\.\d)", re.IGNORECASE)
# Names of licences in the SPDX list, which package indexes understand, by the name that treebanks give.
SPDX = {"MIT": "MIT", "Apache-2.0": "Apache-2.0", "CC0": "CC0-1.0", "LGPL-LR": "LGPLLR"}
SPDX |= {"GPL 3.0": "GPL-3.0-only", "GPL 2.0": "GPL-2.0-only"}


@dataclass(frozen=True)
class Package:
    """What a package says about its model. Facts that are not given are those of the model's card."""

    name: str  # of the model
    version: str
    language: str | None = None
    treebank: str | None = None
    licence: str | None = None
    licence_text: str | None = None
    introduction: str = ""  # before the card of the training: source, authors, citation
    scores: Mapping[str, float] = field(default_factory=dict)  # in percent, from raw text

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"The name {self.name} is not one of small letters, digits and single hyphens, like pt-br."
            )
        if self.name == AUTO or (MODELS / self.name).is_dir():
            raise ConfigError(f"The name {self.name} is taken by biatt itself: choose another.")
        if not _VERSION.fullmatch(self.version):
            raise ConfigError(f"A version is a number like 1.0 or 2.1.3, not {self.version}.")

    @property
    def distribution(self) -> str:
        return f"biatt-{self.name}"

    @property
    def module(self) -> str:
        return self.distribution.replace("-", "_")

    def facts(self, card: str) -> dict[str, str]:
        """The rows of the package's own table."""
        known = table_rows(card)
        language = self.language or known.get("language") or LANGUAGES.get(self.name.partition("-")[0])
        treebank = self.treebank or known.get("treebank")
        licence = self.licence or known.get("licence", UNSTATED)
        scores = ", ".join(f"{name} {score:.2f}" for name, score in self.scores.items())
        return {
            "model": f"{self.name} {self.version}",
            **({"language": language} if language else {}),
            **({"treebank": treebank} if treebank else {}),
            "licence": licence,
            **({"scores": f"test, from raw text: {scores}"} if scores else {}),
        }


def write_package(parser: Parser, package: Package, folder: str | Path) -> Path:
    """Write the wheel of a model into a folder; the same model and facts give the same bytes."""
    facts, card, files = _content(parser, package)
    try:
        return write_wheel(
            Path(folder),
            name=package.distribution,
            version=package.version,
            files={f"{package.module}/{path}": data for path, data in files.items()},
            metadata=_metadata(package, facts, card),
            entry_points=f"[{GROUP}]\n{package.name} = {package.module}\n",
            licences={LICENCE_FILE: _licence_text(package, facts, card)},
        )
    except OSError as error:
        raise BiattError(f"{folder} cannot be written: {error.strerror or error}.") from error


def write_sources(parser: Parser, package: Package, folder: str | Path) -> Path:
    """Write the folder biatt-NAME into a folder: `pip install` makes the package of it."""
    target = Path(folder) / package.distribution
    if target.exists() and not (target / "pyproject.toml").is_file():
        raise ConfigError(f"{target} is there, and no package: name another folder.")
    facts, card, files = _content(parser, package)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with replacing_folder(target) as new:
            (new / "pyproject.toml").write_text(_project(package, facts), encoding="utf-8")
            (new / LICENCE_FILE).write_bytes(_licence_text(package, facts, card))
            for path, data in files.items():
                place = new / package.module / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
    except OSError as error:
        raise BiattError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def profile_of(file: str | Path) -> LanguageProfile:
    """The language profile of a text, or of the text of a treebank."""
    with reading(file) as stream:
        conll, whole = is_conll(stream, name=name_of(file))
        if not conll:
            return LanguageProfile.of_text("".join(read_text(whole, name=name_of(file))))
        sentences = [sentence for sentence in read(whole, name=name_of(file)) if len(sentence)]
    spaced = map(with_spaces, sentences) if lacks_spaces(sentences) else sentences
    return LanguageProfile.of_text(raw_text(spaced))


def _content(parser: Parser, package: Package) -> tuple[dict[str, str], str, dict[str, bytes]]:
    """The facts about a model, its card, and the files of its folder by their path, packed."""
    if parser.encoder and not parser.encoder.reference.bundled:
        raise ModelError("The model's encoder is outside of it: train it with --bundle-encoder.")
    trained = without_paths(parser.card or "")
    facts = package.facts(trained)
    trained = without_rows(trained, facts)
    parser.card = "\n".join(
        [
            f"# {facts.get('language', package.name)}: a model of biatt",
            "",
            *table_lines(facts),
            "",
            *([package.introduction.strip(), ""] if package.introduction.strip() else []),
            trained,
        ]
    )
    parser.quantise()
    with tempfile.TemporaryDirectory() as name:
        parser.save(Path(name) / "model")
        files = dict(_files(Path(name) / "model"))
    return facts, parser.card, files


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _summary(facts: Mapping[str, str]) -> str:
    language = facts.get("language")
    return f"{language} model of the dependency parser biatt" if language else "Model of the parser biatt"


def spdx(licence: str) -> str | None:
    """The name of a licence in the SPDX list, if it is known."""
    match = _CREATIVE_COMMONS.fullmatch(licence)
    return f"CC-{match[1].upper()}-{match[2]}" if match else SPDX.get(licence)


def licence_address(licence: str) -> str | None:
    """Where the text of a Creative Commons licence is."""
    match = _CREATIVE_COMMONS.fullmatch(licence)
    return f"https://creativecommons.org/licenses/{match[1].lower()}/{match[2]}/" if match else None


def _metadata(package: Package, facts: Mapping[str, str], card: str) -> str:
    expression = spdx(facts["licence"])
    licence = f"License-Expression: {expression}" if expression else f"License: {_line(facts['licence'])}"
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {package.distribution}",
        f"Version: {package.version}",
        f"Summary: {_line(_summary(facts))}",
        licence,
        f"License-File: {LICENCE_FILE}",
        f"Requires-Dist: {_requirement()}",
        "Description-Content-Type: text/markdown; charset=UTF-8",
        "",
        card,
    ]
    return "\n".join(lines)


def _requirement() -> str:
    """Folders that this version writes are read by it and by all later ones."""
    return f"biatt>={__version__}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _project(package: Package, facts: Mapping[str, str]) -> str:
    """The pyproject.toml of a package. A JSON string is a TOML string too."""
    expression = spdx(facts["licence"])
    licence = json.dumps(expression) if expression else f"{{ text = {json.dumps(_line(facts['licence']))} }}"
    return f"""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{package.distribution}"
version = "{package.version}"
description = {json.dumps(_line(_summary(facts)))}
readme = "{package.module}/README.md"
license = {licence}
license-files = ["{LICENCE_FILE}"]
dependencies = ["{_requirement()}"]

[project.entry-points."{GROUP}"]
{package.name} = "{package.module}"

[tool.hatch.build.targets.wheel]
packages = ["{package.module}"]
"""


def _licence_text(package: Package, facts: Mapping[str, str], card: str) -> bytes:
    """The licence as it was given; else a statement of it, with all that the card says about the data."""
    if package.licence_text is not None:
        return package.licence_text.encode()
    address = licence_address(facts["licence"])
    place = f" ({address})" if address else ""
    return f"Licence of this model: {facts['licence']}{place}\n\nIts card:\n\n{card}".encode()
