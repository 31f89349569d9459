"""What a model folder may contain: damaged or hostile content is refused in one sentence, or harmless."""

from __future__ import annotations

import io
import json
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import biatt
from biatt.annotate import lemmas
from biatt.annotate.tags import KINDS
from biatt.annotate.tokeniser import LABELS
from biatt.data.curves import Curve
from biatt.encoding.labels import Labels
from biatt.errors import ModelError
from biatt.models.model_check import (
    _LEMMA_RULE,
    FIXED_SETTINGS,
    LABEL_KINDS,
    REMOVED_SETTINGS,
    TEMPERATURES,
    TOKENISER_LABELS,
)
from biatt.models.weights import EMBEDDINGS, SCALE, row_scale
from biatt.parser import Parser, load
from builders import TREEBANK, random_parser, random_pipeline
from examples import examples

TEXT = "The dog sees ab a bird. Dogs bark, ab!"


def small_pipeline() -> Parser:
    """A parser with all parts; the tokeniser's weights are packed, and its tokens often are multiword."""
    variant = {"layers": 2, "query_input": "memory", "pair_hidden": 3, "affixes": 2}
    parser = random_pipeline(variant, hidden=4)
    parser.add(random_pipeline(variant, hidden=4, seed=1))
    assert parser.tokeniser is not None
    parser.tokeniser.scale = row_scale(parser.tokeniser.weights[EMBEDDINGS])
    return parser


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original") / "model"
    small_pipeline().save(folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "model")
    return tmp_path / "model"


def change(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def refused(folder: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        load(folder)
    assert str(folder) in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


# Files


FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "no config.json"),
    "no vocabulary": (lambda f: (f / "vocabulary.json").unlink(), "no vocabulary.json"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    "empty config": (lambda f: cut(f / "config.json", 0), r"config.json is damaged"),
    "cut config": (lambda f: cut(f / "config.json", 40), r"config.json is damaged"),
    "cut vocabulary": (lambda f: cut(f / "vocabulary.json", 70), r"vocabulary.json is damaged"),
    "config is no text": (lambda f: (f / "config.json").write_bytes(b"\xff\xfe{}"), "config.json is damaged"),
    "bottomless config": (lambda f: (f / "config.json").write_text("[" * 200_000), "config.json is damaged"),
    "long number": (lambda f: (f / "config.json").write_text("9" * 9999), "config.json is damaged"),
    "bare NaN": (lambda f: (f / "config.json").write_text('{"x": NaN}'), "NaN is no JSON number"),
    "empty weights": (lambda f: cut(f / "model.safetensors", 0), "model.safetensors is damaged"),
    "header cut short": (lambda f: cut(f / "model.safetensors", 30), "model.safetensors is damaged"),
    "weights cut short": (lambda f: cut(f / "model.safetensors", -1), "model.safetensors is damaged"),
    "tokeniser is damaged": (lambda f: cut(f / "tokeniser/config.json", 9), "tokeniser/config.json is dam"),
    "member is damaged": (lambda f: cut(f / "ensemble/2/config.json", 9), "ensemble/2/config.json is damag"),
    "parser as tokeniser": (
        lambda f: shutil.copy(f / "config.json", f / "tokeniser" / "config.json"),
        "tokeniser/config.json: it does not describe a biatt-tokeniser model",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_damaged_file_is_refused(folder: Path, name: str) -> None:
    damage, message = FILES[name]
    damage(folder)
    refused(folder, message)


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["config.json", "vocabulary.json", "model.safetensors"]), st.floats(0, 1))
def test_file_cut_anywhere_is_refused(original: Path, tmp_path: Path, name: str, share: float) -> None:
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    size = (tmp_path / name).stat().st_size
    cut(tmp_path / name, round(share * (size - 3)))  # the last bytes of JSON are "}\n"
    with pytest.raises(ModelError):
        load(tmp_path)


# Settings


SETTINGS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "newer": (lambda c: c.update(version=4), "version 4, but this biatt reads up to 3: upgrade"),
    "version is text": (lambda c: c.update(version="1"), "must be a whole number from 1 to 3, not '1'"),
    "version below 1": (lambda c: c.update(version=-5), "must be a whole number from 1 to 3, not -5"),
    "version is true": (lambda c: c.update(version=True), "version must be a whole number"),
    "no version": (lambda c: c.pop("version"), "version must be a whole number"),
    "another program's": (lambda c: c.update(format="gpt"), "does not describe a biatt model"),
    "unknown setting": (lambda c: c["model"].update(heads=8), "no setting 'heads'"),
    "removed setting": (lambda c: c["training"].update(beta1=0.9), "no setting 'beta1'"),
    "unknown part": (lambda c: c.update(more={}), "no setting 'more'"),
    "unknown value": (lambda c: c["model"].update(directions="upwards"), "directions must be one of"),
    "hidden is text": (lambda c: c["model"].update(hidden="big"), "hidden must be a whole number, not 'big'"),
    "hidden is 16.0": (lambda c: c["model"].update(hidden=16.0), "hidden must be a whole number, not 16.0"),
    "feedback is no": (lambda c: c["model"].update(feedback="no"), "feedback must be true or false"),
    "rate is infinite": (lambda c: c["training"].update(rate=1e999), "damaged"),
    "no settings": (lambda c: c.pop("model"), "no settings 'model'"),
    "settings are a list": (lambda c: c.update(model=[1]), "no settings 'model'"),
    "another hidden size": (lambda c: c["model"].update(hidden=9), "weights do not fit"),
    "temperature is a list": (lambda c: c.update(temperature=[1]), "temperature must be an object"),
    "temperature is zero": (lambda c: c["temperature"].update(arcs=0), "temperature of arcs must be"),
    "temperature is text": (lambda c: c["temperature"].update(arcs="1"), "temperature of arcs must be"),
    "temperature is huge": (lambda c: c["temperature"].update(arcs=1e300), "temperature of arcs must be"),
    "unknown temperature": (lambda c: c["temperature"].update(roots=1), "no temperature 'roots'"),
    "curves of version 2": (lambda c: c.update(version=2, curves={}), "no setting 'curves'"),
    "curves are a list": (lambda c: c.update(curves=[]), "curves must be an object"),
    "unknown curve": (lambda c: c.update(curves={"tree": [[], []]}), "no curve 'tree'"),
    "curve is a number": (lambda c: c.update(curves={"arc": 0.5}), "curve of arc must be two rising lists"),
    "curve falls": (lambda c: c.update(curves={"arc": [[0.5], [0.5, 0.4]]}), "must be two rising lists"),
    "curve reaches 1": (lambda c: c.update(curves={"arc": [[0.5], [1]]}), "must be two rising lists"),
    "curve of texts": (lambda c: c.update(curves={"arc": [["a"], ["b"]]}), "must be two rising lists"),
    "half a curve": (lambda c: c.update(curves={"arc": [[0.5], []]}), "curve of arc differ in length"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_bad_settings_are_refused(folder: Path, name: str) -> None:
    damage, message = SETTINGS[name]
    change(folder / "config.json", damage)
    refused(folder, message)


def test_temperature_may_be_missing(folder: Path) -> None:
    change(folder / "config.json", lambda c: c.pop("temperature"))
    assert load(folder).temperature == (1.0, 1.0)


def test_curves_may_be_missing_and_are_read_and_saved(folder: Path, tmp_path: Path) -> None:
    assert load(folder).curves == {}
    curves = {"arc": [[0.25, 0.5], [0.1, 0.9]], "upos": [[], []]}
    change(folder / "config.json", lambda c: c.update(curves=curves))
    expected = {"arc": Curve((0.25, 0.5), (0.1, 0.9)), "upos": Curve((), ())}
    parser = load(folder)
    assert parser.curves == expected
    parser.save(tmp_path / "again")
    assert load(tmp_path / "again").curves == expected


# Symbols


def replaced(*path: str | int, by: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = by

    return change


UNREADABLE = ["", "a\tb", "a\nb", 3, None, ["a"], "\ud800"]  # in a column of CoNLL
NO_RULES = ["=", "x", "l\t0\t\t0", "q\t0\t\t0\t", "l\t-1\t\t0\t", "l\t0\t\t1.5\t", "l\t\u0661\t\t0\t"]
NO_RULES += [f"l\t{'9' * 5000}\t\t0\t"]


def multiword_rule(*, words: Any = (), letters: Any = "") -> Callable[[Any], None]:
    return replaced("multiword", "rules", by=[[list(words), "", letters, "", "", []]])


def same_relation_twice(data: Any) -> None:
    data["relations"][0] = data["relations"][1]


SYMBOLS: list[tuple[str, Callable[[Any], None], str]] = [
    *((".", replaced("relations", 0, by=value), "the relations") for value in UNREADABLE),
    *((".", replaced("labels", "upos", 0, by=value), "labels of upos") for value in UNREADABLE),
    *((".", replaced("labels", "feats", 0, by=value), "labels of feats") for value in UNREADABLE),
    *((".", replaced("labels", "lemma", 0, by=value), "labels of lemma") for value in UNREADABLE),
    *((".", replaced("labels", "lemma", 0, by=rule), "labels of lemma") for rule in NO_RULES),
    *(("tokeniser", replaced("multiword", "known", "ab", 0, by=value), "'ab'") for value in UNREADABLE),
    *(("tokeniser", multiword_rule(words=[value]), "rule") for value in UNREADABLE),
    *(("tokeniser", multiword_rule(letters=value), "rule") for value in ("\t", "\n", 1)),
    (".", same_relation_twice, "relations contain a value twice"),
    (".", replaced("relations", by=[]), "relations must not be an empty list"),
    (".", replaced("relations", by="nsubj"), "relations must be a list"),
    (".", replaced("symbols", by=["form"]), "symbols must be an object"),
    (".", replaced("symbols", "shape", by=["x"]), "the settings have no column 'shape'"),
    (".", replaced("symbols", "form", by="abc"), "symbols of form must be a list"),
    (".", replaced("symbols", "form", 0, by=3), "symbols of form must be a list of strings"),
    (".", replaced("symbols", "form", 0, by="\udfff"), "symbols of form contain half of a surrogate pair"),
    (".", replaced("symbols", "affix", 0, by=""), "symbols of affix must not be empty"),
    (".", replaced("more", by=1), "the vocabulary must have symbols, relations"),
    (".", replaced("labels", by={}), "labels must be an object"),
    (".", replaced("labels", "upos", by=[]), "labels of upos must not be an empty list"),
    (".", replaced("labels", "upos", by={"NOUN": 1}), "labels of upos must be a list"),
    (".", replaced("labels", "deps", by=["x"]), "not of 'deps'"),
    ("tokeniser", replaced("symbols", 0, by=3), "symbols must be a list of strings"),
    ("tokeniser", replaced("spaces", by=1), "spaces must be true or false, not 1"),
    ("tokeniser", replaced("multiword", by=[]), "multiword must have known, rules"),
    ("tokeniser", replaced("multiword", "known", by=[]), "multiword must have an object and a list"),
    ("tokeniser", replaced("multiword", "known", "ab", by=[]), "'ab' must not be an empty list"),
    ("tokeniser", replaced("multiword", "rules", by=[[]]), "rule must have six parts"),
    ("tokeniser", replaced("multiword", "rules", by=[[1, "", "", "", "", []]]), "rule must be a list"),
]


@pytest.mark.parametrize(("part", "damage", "message"), SYMBOLS)
def test_bad_symbols_are_refused(folder: Path, part: str, damage: Any, message: str) -> None:
    change(folder / part / "vocabulary.json", damage)
    refused(folder, f"vocabulary.json: .*({message})")


LEMMAS: list[tuple[Any, str]] = [
    ([], "the lemmas must be an object"),
    ({"NOUN": ["mice"]}, "the lemmas of 'NOUN' must be an object"),
    ({"NOUN": {}}, "the lemmas of 'NOUN' must be an object"),
    ({"NOUN": {"mice": "mouse"}}, "the lemmas of 'mice' must be a list"),
    ({"NOUN": {"mice": []}}, "the lemmas of 'mice' must not be an empty list"),
    ({"NOUN": {"mice": ["mouse", "mouse"]}}, "the lemmas of 'mice' contain a value twice"),
    ({"\ud800": {"mice": ["mouse"]}}, "the tags of the lemmas contain half"),
    ({"NOUN": {"\ud800": ["mouse"]}}, "the forms with lemmas of 'NOUN' contain half"),
    *(({"NOUN": {"mice": [value]}}, "the lemmas of 'mice'") for value in UNREADABLE),
    *(({"NOUN": {"a": ["a"], "mice": [value], "b": ["b"]}}, "the lemmas of 'mice'") for value in UNREADABLE),
]


@pytest.mark.parametrize(("table", "message"), LEMMAS)
def test_bad_known_lemmas_are_refused(tmp_path: Path, table: Any, message: str) -> None:
    random_parser({"tags": True, "columns": ("form",)}, hidden=4).save(tmp_path / "model")
    change(tmp_path / "model" / "vocabulary.json", replaced("lemmas", by=table))
    refused(tmp_path / "model", f"vocabulary.json: {message}")


@pytest.mark.parametrize("combinations", [3, {}, [0], [[0]], [[0, 0, -1]], [[0, 0, 10**6]], [[0, 0, True]]])
def test_bad_combinations_of_tags_are_refused(tmp_path: Path, combinations: Any) -> None:
    random_parser({"tags": True, "columns": ("form",)}, hidden=4).save(tmp_path / "model")
    change(tmp_path / "model" / "vocabulary.json", replaced("combinations", by=combinations))
    refused(tmp_path / "model", "vocabulary.json: .*combination")


def test_parser_that_chooses_no_lemmas_has_no_known_ones(tmp_path: Path) -> None:
    random_parser().save(tmp_path)
    change(tmp_path / "vocabulary.json", replaced("lemmas", by={"NOUN": {"mice": ["mouse"]}}))
    refused(tmp_path, "the vocabulary must have symbols, relations")


@pytest.mark.parametrize(
    "text", ["3", "null", "[]", "{}", '{"symbols": {}}', '{"symbols": {"form": ["a"]}, "labels": 3}']
)
@pytest.mark.parametrize("part", [".", "tokeniser", "ensemble/2"])
def test_vocabulary_of_another_form_is_refused(folder: Path, part: str, text: str) -> None:
    (folder / part / "vocabulary.json").write_text(text)
    refused(folder, "vocabulary.json: the vocabulary must have symbols, ")


def test_another_vocabulary_does_not_fit(folder: Path) -> None:
    text = '{"symbols": {"form": ["a"]}, "relations": ["x"], "labels": {"upos": ["X"]}}'
    (folder / "vocabulary.json").write_text(text)
    refused(folder, r"weights do not fit .*\(E.weight, U, W, .*relation_bias, .*\)")


WORDS = st.text(
    st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(WORDS, WORDS)
def test_rules_that_are_learned_are_accepted(form: str, lemma: str) -> None:
    assert _LEMMA_RULE.fullmatch(lemmas.rule(form, lemma))


def test_names_are_those_of_the_modules_that_use_them() -> None:
    assert LABELS.size == TOKENISER_LABELS
    assert set(LABEL_KINDS) == set(KINDS)
    assert random_parser().temperature._fields == TEMPERATURES
    assert isinstance(LABELS, Labels)


# Weights


def change_weights(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    weights = dict(load_file(folder / "model.safetensors"))
    change(weights)
    save_file(weights, folder / "model.safetensors")


def with_number(name: str, value: float) -> Callable[[dict[str, Any]], None]:
    def change(weights: dict[str, Any]) -> None:
        weights[name].reshape(-1)[-1] = value

    return change


def with_type(name: str, kind: Any) -> Callable[[dict[str, Any]], None]:
    def change(weights: dict[str, Any]) -> None:
        weights[name] = weights[name].astype(kind)

    return change


NO_NUMBERS = (np.nan, np.inf, -np.inf)
TYPES = (np.int32, np.int8, np.float64, np.float16, bool)
WEIGHTS: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    *((".", with_number("P", value), "P contain a number that is not") for value in (*NO_NUMBERS, 1e7)),
    *((".", with_number(EMBEDDINGS, value), "E.weight contain a number") for value in (*NO_NUMBERS, -1e7)),
    *(("tokeniser", with_number("P", value), "P contain a number that is not") for value in NO_NUMBERS),
    *(
        ("tokeniser", with_number(SCALE, value), "E.scale contain a n")
        for value in (*NO_NUMBERS, 0, -1, 1e30)
    ),
    *((".", with_type("P", kind), "P have the type") for kind in TYPES),
    (".", with_type(EMBEDDINGS, np.int8), "E.weight have the type I8 instead of F32"),
    ("tokeniser", with_type(EMBEDDINGS, np.float32), "E.weight have the type F32 instead of I8"),
    ("tokeniser", with_type(SCALE, np.float16), "E.scale have the type F16 instead of F32"),
    ("tokeniser", with_type("P", np.float32), "P have the type F32 instead of F16"),
    ("tokeniser", lambda weights: weights.pop(EMBEDDINGS), r"do not fit .*\(E.weight\)"),
    ("tokeniser", lambda weights: weights.pop(SCALE), "E.weight have the type I8 instead of F32"),
    ("tokeniser", lambda weights: weights.update({SCALE: weights[SCALE][:-1]}), r"do not fit .*\(E.scale\)"),
    (".", lambda weights: weights.pop("v"), r"do not fit .*\(v\)"),
    (".", lambda weights: weights.update(x=weights["v"]), r"do not fit .*\(x\)"),
]


@pytest.mark.parametrize(("part", "damage", "message"), WEIGHTS)
def test_bad_weights_are_refused(folder: Path, part: str, damage: Any, message: str) -> None:
    change_weights(folder / part, damage)
    refused(folder, f"model.safetensors: .*{message}")


def test_unknown_number_format_is_refused(folder: Path) -> None:
    header = json.dumps({"P": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    header += b" " * (-len(header) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    refused(folder, "weights do not fit")


def test_weights_that_do_not_fit_are_refused_for_torch_too(folder: Path) -> None:
    change(folder / "config.json", lambda c: c["model"].update(hidden=9))
    with pytest.raises(ModelError, match="weights do not fit"):
        load(folder, fused=False)


# Version 1


def as_version_1(folder: Path) -> None:
    """Write settings and symbols as version 1 did: indented, and with all settings in every part."""
    parser = json.loads((folder / "config.json").read_text())
    for path in [folder, folder / "ensemble" / "2", folder / "tokeniser"]:
        config = json.loads((path / "config.json").read_text())
        config["version"] = 1
        config["model"] = {**parser["model"], "columns": ["form"], **config["model"], **FIXED_SETTINGS}
        config["training"] = {
            **parser["training"],
            **config["training"],
            **dict.fromkeys(REMOVED_SETTINGS, 0.5),
        }
        (path / "config.json").write_text(json.dumps(config, indent=1))
        symbols = json.loads((path / "vocabulary.json").read_text())
        (path / "vocabulary.json").write_text(json.dumps(symbols, indent=1, ensure_ascii=False), "utf-8")


def test_version_1_is_read_and_saved_as_version_3(original: Path, folder: Path, tmp_path: Path) -> None:
    as_version_1(folder)
    load(folder).save(tmp_path / "again")
    for path in original.rglob("*"):
        if path.is_file():
            assert (tmp_path / "again" / path.relative_to(original)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("part", [".", "tokeniser"])
def test_version_1_has_no_unknown_settings_either(folder: Path, part: str) -> None:
    as_version_1(folder)
    change(folder / part / "config.json", lambda c: c["model"].update(heads=8))
    refused(folder, "no setting 'heads'")


@pytest.mark.parametrize(("name", "value"), [("reset", "after"), ("shared_memory_projection", False)])
def test_version_1_of_a_network_that_is_gone_is_refused(folder: Path, name: str, value: Any) -> None:
    as_version_1(folder)
    change(folder / "config.json", lambda c: c["model"].update({name: value}))
    refused(folder, f"config.json: {name} other than {FIXED_SETTINGS[name]} is no longer supported")


def test_version_1_has_types_too(folder: Path) -> None:
    as_version_1(folder)
    change(folder / "tokeniser" / "config.json", lambda c: c["model"].update(hidden="6"))
    refused(folder, "tokeniser/config.json: hidden must be a whole number")


def test_separate_tagger_is_refused(folder: Path) -> None:
    """As pipelines of version 1 and 2 had; without it, the parser would parse words without tags."""
    as_version_1(folder)
    shutil.copytree(folder / "tokeniser", folder / "tagger")
    refused(folder, "has a separate tagger, .*: train it again")


# Any damage


VALUES = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        2,
        16.0,
        1e308,
        10**30,
        "",
        "x",
        "\t",
        "a\nb",
        "\ud800",
        [],
        [1],
        [[]],
        {},
        {"form": [1]},
    ]
)


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for key in list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []:
        yield (*path, key)
        yield from places(data[key], (*path, key))


def damaged_json(draw: st.DrawFn, data: Any) -> Any:
    """The data with one value replaced, removed or added."""
    every = list(places(data))
    shallow = [place for place in every if len(place) < 3]
    *path, last = draw(st.sampled_from(shallow) | st.sampled_from(every))
    inner = data
    for key in path:
        inner = inner[key]
    action = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
    if action == "replace":
        inner[last] = draw(VALUES)
    elif action == "remove":
        del inner[last]
    elif isinstance(inner, dict):
        inner[draw(st.sampled_from(["form", "hidden", "rate", "x"]))] = draw(VALUES)
    else:
        inner.insert(last, draw(VALUES))
    return data


def damaged_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some flipped, cut out or put in."""
    start = draw(st.integers(0, len(data) - 1) | st.integers(0, min(len(data) - 1, 2000)))
    action = draw(st.sampled_from(["flip", "cut", "insert"]))
    if action == "flip":
        return data[:start] + bytes([data[start] ^ (1 << draw(st.integers(0, 7)))]) + data[start + 1 :]
    if action == "cut":
        return data[:start] + data[start + draw(st.integers(1, 20)) :]
    return data[:start] + draw(st.binary(min_size=1, max_size=5)) + data[start:]


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, Callable[[bytes], bytes]]:
    part = draw(st.sampled_from([".", "tokeniser", "ensemble/2"]))
    name = draw(st.sampled_from(["config.json", "vocabulary.json", "model.safetensors"]))
    as_json = name.endswith(".json") and draw(st.booleans())

    def damage(data: bytes) -> bytes:
        if as_json:
            return json.dumps(damaged_json(draw, json.loads(data))).encode()
        return damaged_bytes(draw, data)

    return f"{part}/{name}", damage


def loaded_or_refused(folder: Path) -> Parser | None:
    try:
        return load(folder)
    except ModelError as error:
        message = str(error)
    assert str(folder) in message
    assert message.endswith(".")
    return None


@pytest.mark.slow
@examples(150, suppress_health_check=list(HealthCheck))
@given(damages())
def test_damaged_folder_is_refused_or_works(
    original: Path, tmp_path_factory: pytest.TempPathFactory, damage: tuple[str, Callable[[bytes], bytes]]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.copytree(original, folder, dirs_exist_ok=True)
    name, apply = damage
    (folder / name).write_bytes(apply((folder / name).read_bytes()))
    parser = loaded_or_refused(folder)
    if parser is None:
        return
    words = [sentence.forms for sentence in TREEBANK[:2]]
    parsed = [*parser(TEXT), *parser.parse(TREEBANK[:2]), *parser.parse_tokens(words)]
    written = io.BytesIO()
    biatt.write(parsed, written)
    written.seek(0)
    assert [sentence.rows for sentence in biatt.read(written, trees=True)] == [s.rows for s in parsed]
