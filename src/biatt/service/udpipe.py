"""`/process`: requests and answers in the shape of UDPipe's REST service, for its clients.

UDPipe's components are `tokenizer`, `tagger` and `parser`; a field of that name, even an empty one, asks for
the component. See https://lindat.mff.cuni.cz/services/udpipe/api-reference.php.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from biatt import __version__
from biatt.data.columns import DEPREL, FEATS, HEAD, LEMMA
from biatt.data.conll import dumps
from biatt.data.sentence import Sentence
from biatt.data.visible import json_text
from biatt.display.output import with_token_ranges
from biatt.service.jobs import Job, Manner, Trees
from biatt.service.limits import Limits
from biatt.service.models import Models
from biatt.service.problems import Problem
from biatt.service.requests import read_conllu, sentence_of_words

INPUTS = ("conllu", "horizontal", "vertical")
OUTPUTS = ("conllu", "horizontal", "vertical")
TAGS, TREE = range(LEMMA, FEATS + 1), range(HEAD, DEPREL + 1)  # columns of the tagger and of the parser


def process_job(fields: Mapping[str, str], models: Models, limits: Limits) -> Job:
    """The job of a request to `/process`."""
    model = models.find(fields.get("model") or None, fields.get("data", ""))
    components = [name for name in ("tokenizer", "tagger", "parser") if name in fields]
    data = fields.get("data")
    if data is None:
        raise Problem.in_field("data", "The text is missing.")
    for name in components:
        if name not in models.components()[model]:
            raise Problem.in_field(name, "The model does not have this component.")
    ranges = "tokenizer" in fields and _wants_ranges(fields["tokenizer"])
    input = _choice(fields, "input", INPUTS)
    output = _choice(fields, "output", OUTPUTS)

    def answer(sentences: Sequence[Sentence], trees: list[Trees]) -> bytes:
        kept = [
            _with_components(ranked[0], given, components)
            for ranked, given in zip(trees, sentences, strict=True)
        ]
        result = _written(list(with_token_ranges(kept)) if ranges else kept, output)
        acknowledgements = [f"biatt {__version__}, model {model}"]
        return json_text({"model": model, "acknowledgements": acknowledgements, "result": result}).encode()

    tokenise = "tokenizer" in fields
    return Job(
        model=model,
        parser=models[model],
        manner=Manner(retag="tagger" in fields, score="tagger" in fields or "parser" in fields),
        text=data if tokenise else None,
        read=None if tokenise else lambda: _read(data, input),
        size=len(data),
        answer=answer,
        limits=limits,
    )


def _wants_ranges(options: str) -> bool:
    """The tokeniser's options are separated by semicolons; TokenRange in MISC is the one that is known."""
    given = {option.strip() for option in options.split(";")} - {""}
    if unknown := given - {"ranges"}:
        raise Problem.in_field("tokenizer", f"The option {min(unknown)!r} is not known here; ranges is.")
    return bool(given)


def _choice(fields: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = fields.get(name) or choices[0]
    if value not in choices:
        raise Problem.in_field(name, f"Choose one of {', '.join(choices)}.")
    return value


def _read(data: str, input: str) -> list[Sentence]:
    if input == "conllu":
        return read_conllu(data, "data")
    if input == "horizontal":
        sentences = [line.split() for line in data.split("\n")]
    else:
        blocks = data.replace("\r\n", "\n").split("\n\n")
        sentences = [
            [line.partition("\t")[0] for line in block.split("\n") if line.strip()] for block in blocks
        ]
    return [sentence_of_words(words, "data") for words in sentences if words]


def _with_components(parsed: Sentence, given: Sentence, components: list[str]) -> Sentence:
    """The columns of the components that were asked for; the others as they were given."""
    columns = [
        *(TAGS if "tagger" not in components else ()),
        *(TREE if "parser" not in components else ()),
    ]
    rows = [row[:] for row in parsed.rows]
    for row, before in zip(rows, given.rows, strict=True):
        for column in columns:
            row[column] = before[column]
    return parsed.with_rows(rows)


def _written(sentences: list[Sentence], output: str) -> str:
    if output == "conllu":
        return dumps(sentences)
    if output == "horizontal":
        return "".join(" ".join(sentence.forms) + "\n" for sentence in sentences)
    return "".join("".join(f"{form}\n" for form in sentence.forms) + "\n" for sentence in sentences)
