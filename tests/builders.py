"""Objects that several test modules need: random parsers, tokenisers, networks, input,
trees and results.

No test module imports another. Only the functions that build torch networks import torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import strategies as st

from biatt.annotate.multiword import Multiword
from biatt.annotate.tags import labels_of
from biatt.annotate.tokeniser import LABELS, Characters, Tokeniser
from biatt.config import (
    Config,
    EncoderConfig,
    ParserConfig,
    TokeniserSettings,
)
from biatt.data.raw_text import Paragraph
from biatt.data.scores import Scores, split_scores
from biatt.data.sentence import Sentence
from biatt.data.toy_treebank import generate
from biatt.encoding.batches import Batch
from biatt.encoding.vocabulary import Encoded, Vocabulary
from biatt.evaluation.results import Attachment, Ratio, Score
from biatt.models.weights import FROZEN, NO_LABELS, labeller_shapes, packed_rows, parser_shapes
from biatt.parser import Parser
from biatt.recipes.records import Record, Scoring

if TYPE_CHECKING:
    from torch import Tensor

    from biatt.network.model import BiAtt, Dropout, ParserOutput

Array = np.ndarray[Any, np.dtype[np.float64]]

# Parsers and tokenisers with random weights

TREEBANK = generate(60)
CHARACTERS = Characters.build(
    [Paragraph.from_text("\n".join(" ".join(s.forms) for s in generate(40, seed=3)))], min_count=1
)


def frozen_vectors(config: ParserConfig, *, seed: int = 0) -> dict[str, Any]:
    """Random word vectors, packed."""
    draw = np.random.default_rng(seed)
    table = draw.normal(0, 1, (config.vector_rows, config.vector_width)).astype(np.float32)
    return dict(zip(FROZEN, packed_rows(table), strict=True))


def random_parser(
    variant: dict[str, Any] | None = None,
    *,
    hidden: int = 8,
    deviation: float = 0.5,
    seed: int = 0,
    **options: Any,
) -> Parser:
    """A parser with random weights; with the setting `tags`, it chooses those of a toy treebank.

    Its trees are of every kind: crossing, with several roots where they are allowed, with cycles in argmax.
    """
    model = ParserConfig(hidden=hidden, min_count=1, **(variant or {}))
    config = Config(model)
    vocabulary = Vocabulary.build(TREEBANK, columns=model.columns, min_count=1, affixes=model.affixes)
    if model.vector_width:
        vocabulary = vocabulary.with_vectors(vocabulary.symbols["form"][: model.vector_rows])
    sizes = {"rows": vocabulary.size, "relations": len(vocabulary.relations)}
    labels = labels_of(TREEBANK) if model.tags else None
    shapes = parser_shapes(model, **sizes, labels=labels.sizes if labels else NO_LABELS)
    draw = np.random.default_rng(seed)
    weights = {name: draw.normal(0, deviation, shape).astype(np.float32) for name, shape in shapes.items()}
    if model.vector_width:
        weights |= frozen_vectors(model, seed=seed)
    return Parser(config, vocabulary, weights, labels=labels, **options)


def random_tokeniser(seed: int = 0, *, spaces: bool = False) -> Tokeniser:
    """A tokeniser with random weights: tokens and sentences end anywhere."""
    config = TokeniserSettings(EncoderConfig(hidden=6))
    shapes = labeller_shapes(config.model, rows=CHARACTERS.size, labels=LABELS.size)
    draw = np.random.default_rng(seed)
    weights = {name: draw.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    return Tokeniser(config, CHARACTERS, Multiword.learned([("ab", ["a", "b"])]), weights, spaces=spaces)


def random_pipeline(variant: dict[str, Any] | None = None, *, seed: int = 0, **options: Any) -> Parser:
    """A parser of raw text that chooses tags and lemmas; its sentences, tags and trees are random."""
    parser = random_parser({"tags": True, "columns": ("form",), **(variant or {})}, seed=seed, **options)
    parser.tokeniser = random_tokeniser(seed)
    return parser


# Networks and their variants

# Rows of E and relations of every random network.
ROWS, RELATIONS = 9, 4

# A CoNLL-U file with everything that the format allows: multiword token, empty node, odd FEATS and MISC.
ODD_CONLLU = """\
# newdoc
# sent_id = 1
# text = Il va au  bar.
1	Il	il	PRON	PRP	Number=Sing|Person=3	2	nsubj	2:nsubj|2.1:nsubj	_
2	va	aller	VERB	_	odd	0	root	0:root	Note|A=1|A=2
2.1	va	aller	VERB	_	_	_	_	0:root	CopyOf=2
3-4	au	_	_	_	Typo=Yes	_	_	_	SpacesAfter=\\s\\s
3	à	à	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	bar	bar	NOUN	_	_	2	obl	_	SpaceAfter=No
6	.	.	PUNCT	_	_	_	_	_	_

# newpar
1	Non	_	_	_	_	_	_	_	_

# only comments

"""

# Settings beyond the paper.
LARGER: dict[str, Any] = {"layers": 2, "query_input": "memory", "pair_hidden": 5, "state_limit": 0.5}
# Every network of the paper that the configuration can describe, hidden and embedding sizes aside; then the
# settings beyond the paper, each alone, and all together with each ablation.
VARIANTS: list[dict[str, Any]] = [
    {"directions": directions, "feedback": feedback}
    for directions, feedback in product(("both", "left-to-right", "right-to-left"), (True, False))
]
VARIANTS += [{"attention": "single", "feedback": False}]
VARIANTS += [{"layers": 3}, {"query_input": "memory"}, {"pair_hidden": 5}, {"state_limit": 0.2}]
VARIANTS += [
    {**LARGER, **ablation}
    for ablation in (
        {},
        {"directions": "left-to-right"},
        {"directions": "right-to-left"},
        {"feedback": False},
        {"directions": "left-to-right", "feedback": False},
        {"attention": "single", "feedback": False},
    )
]
# Each ablation on its own.
ABLATIONS: list[dict[str, Any]] = [
    {},
    {"directions": "left-to-right"},
    {"directions": "right-to-left"},
    {"feedback": False},
    {"attention": "single", "feedback": False},
    {"layers": 2},
    {"query_input": "memory"},
    {"pair_hidden": 5},
    LARGER,
]


def named(variant: dict[str, Any]) -> str:
    """The name of a variant in a test's id."""
    return " ".join(f"{key}={value}" for key, value in variant.items()) or "paper"


every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=named)
every_ablation = pytest.mark.parametrize("variant", ABLATIONS, ids=named)


def network(variant: dict[str, Any], *, hidden: int = 3, embedding: int = 2, seed: int = 0) -> BiAtt:
    """A network in which biases and first states are random as well, so that each of them matters."""
    import torch

    from biatt.network.model import BiAtt

    config = ParserConfig(hidden=hidden, embedding=embedding, **variant)
    result = BiAtt(config, rows=ROWS, relations=RELATIONS).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in result.parameters():
            parameter.normal_(0.0, 0.7, generator=generator)
    return result


def dropout(rate: float, *, seed: int = 0) -> Dropout:
    """Dropout at this rate."""
    import torch

    from biatt.network.model import Dropout

    return Dropout(rate, torch.Generator().manual_seed(seed))


# Sentences as rows of E


def encoded(bags: list[list[int]], heads: list[int], relations: list[int]) -> Encoded:
    """A sentence from the rows of E of each word; ROOT, row 0, is put before."""
    bags = [[0], *bags]
    return Encoded(
        rows=np.array([row for bag in bags for row in bag], np.int32),
        offsets=np.cumsum([0] + [len(bag) for bag in bags]).astype(np.int32),
        heads=np.array(heads, np.int32),
        relations=np.array(relations, np.int32),
    )


def random_sentences(lengths: list[int], *, seed: int = 0) -> list[Encoded]:
    """Sentences of these numbers of words, with random rows, heads and relations."""
    draw = np.random.default_rng(seed)
    return [
        encoded(
            [draw.integers(1, ROWS, draw.integers(0, 4)).tolist() for _ in range(n)],  # may have no rows
            draw.integers(0, n + 1, n).tolist(),
            draw.integers(0, RELATIONS, n).tolist(),
        )
        for n in lengths
    ]


@st.composite
def encoded_sentences(draw: st.DrawFn) -> Encoded:
    """Short sentences with any rows, heads and relations; some heads are missing, some relations unknown."""
    n = draw(st.integers(1, 4))
    bag = st.lists(st.integers(1, ROWS - 1), max_size=3)
    return encoded(
        draw(st.lists(bag, min_size=n, max_size=n)),
        draw(st.lists(st.integers(-1, n), min_size=n, max_size=n)),
        draw(st.lists(st.integers(-1, RELATIONS - 1), min_size=n, max_size=n)),
    )


# Results of networks


def parts(found: Scores) -> list[Array]:
    """All arrays of a sentence's scores."""
    return [*found[:3], *(found.relation_layer or ())]


def sentence_scores(model: BiAtt, batch: Batch) -> list[Scores]:
    """The scores of each sentence of a batch."""
    from biatt.network.scoring import scores

    return split_scores(scores(model(batch)), batch.words)


def log_y_by_head(output: ParserOutput) -> Array:
    """The log-probabilities of the relations of the only sentence, with each head for all words."""
    import torch

    n = len(output.logits)
    logits = [output.relation_logits(torch.full((n,), head)) for head in range(n + 1)]
    return torch.log_softmax(torch.stack(logits, 1), -1).detach().numpy()


def log_likelihood_of(model: BiAtt, batch: Batch) -> Tensor:
    """The log-likelihood of a batch, the objective of training."""
    from biatt.network.losses import log_likelihood

    return log_likelihood(model(batch), batch)


def gradients(
    model: BiAtt, batch: Batch, objective: Callable[[BiAtt, Batch], Tensor] = log_likelihood_of
) -> dict[str, Tensor]:
    """The gradient of every parameter, by name."""
    model.zero_grad()
    objective(model, batch).backward()  # type: ignore[no-untyped-call]
    result = {}
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        result[name] = parameter.grad.to_dense()
    return result


# Sentences with given or random trees


def sentence_of(heads: list[int], forms: list[str] | None = None) -> Sentence:
    """A sentence with these heads; words are w1, w2, … unless given, and relations r1, r2, …"""
    numbers = range(1, len(heads) + 1)
    return Sentence.from_words(
        forms or [f"w{i}" for i in numbers],
        upos=["X"] * len(heads),
        heads=heads,
        deprels=[f"r{i}" for i in numbers],
    )


@st.composite
def random_trees(draw: st.DrawFn, longest: int = 12) -> list[int]:
    """Heads of any tree, projective or not, with one root or several: words join in a random order."""
    order = draw(st.permutations(range(1, draw(st.integers(1, longest)) + 1)))
    heads = [0] * len(order)
    for i, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:i]]))
    return heads


# Results of experiments


def experiment_record(preset: str, seed: int, *, las: int | None = None, **values: Any) -> Record:
    """A record of two epochs on English EWT; with `las`, as many of 100 test words are correct."""
    score = Score(las or 0, 100, 100)
    test = Scoring(
        "ud",
        "include",
        {"mst": {"UAS": score, "LAS": score}, "argmax": {"UAS": score, "LAS": score}},
        Attachment(Ratio(3, 5), Ratio(2, 5)),
        Ratio(0, 0),
        Ratio(90, 100),
        {"nsubj": Score(8, 10, 9)},
        {"root": Score(9, 10, 10), "1": Score(80, 90, 90)},
    )
    record = Record(
        run="english",
        seed=seed,
        preset=preset,
        settings=["hidden=8"],
        data={"english-ewt/train": "0123", "english-ewt/test": "4567"},
        commit="unknown",
        versions={"biatt": "0.1.0"},
        machine="x86_64, 1 thread(s)",
        seconds=7,
        best_epoch=2,
        history={"dev_log_likelihood": [-5.0, -4.0], "dev_uas": [0.6, 0.8], "dev_las": [0.5, 0.6]},
        test=None if las is None else test,
    )
    return replace(record, **values)
