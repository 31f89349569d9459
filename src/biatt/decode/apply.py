"""Apply a network's scores to a sentence: a copy with its tree, and its confidence if asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from biatt.data.curves import NO_CURVES, Curves, calibrated
from biatt.data.doubts import Choices, write_doubts
from biatt.data.scores import Floats, Scores, Temperature
from biatt.data.sentence import Sentence
from biatt.decode.arc_scores import head_distribution
from biatt.decode.confidence import SentenceConfidence, relation_probabilities
from biatt.decode.constraints import FREE, Constraints
from biatt.decode.decoders import heads as decoded_heads
from biatt.decode.k_best import differences, k_best
from biatt.errors import FormatError
from biatt.options import Decoder, Roots

DIFFERS = "# differs = "  # the comment that says how a tree differs from the best
NO_CHOICES: Mapping[str, Choices] = MappingProxyType({})
NO_TAGS: Mapping[str, Floats] = MappingProxyType({})


def default_roots(sentence: Sentence) -> Roots:
    """Trees in CoNLL-U have one root; in CoNLL-X they may have several."""
    return "single" if sentence.format == "conllu" else "any"


def with_best_tree(
    sentence: Sentence,
    scores: Scores,
    relations: Sequence[str],
    *,
    decoder: Decoder = "mst",
    roots: Roots | None = None,
    fill_deps: bool = False,
    confidence: bool = False,
    probabilities: bool = False,
    tags: Mapping[str, Choices] = NO_CHOICES,
    tag_confidence: Mapping[str, Floats] = NO_TAGS,
    temperature: Temperature = Temperature(),  # noqa: B008 (it cannot change)
    curves: Curves = NO_CURVES,
    constraints: Constraints = FREE,
) -> Sentence:
    """A copy of the sentence with the best tree that meets the constraints.

    `relations` are the names of the relations that are scored. With `confidence`, the copy carries its
    confidence, also that in its tags, and scores. With `probabilities`, MISC has other choices where the best
    is not certain, also those of `tags`. All of these are probabilities given the constraints.
    """
    roots = roots or default_roots(sentence)
    _refuse(sentence, constraints.fault(len(sentence), decoder=decoder, roots=roots))
    arc_scores = constraints.on_trees(constraints.on_arcs(scores.agreement))
    heads = decoded_heads(arc_scores, decoder=decoder, roots=roots)
    _refuse(sentence, constraints.unmet(heads, decoder=decoder, roots=roots))
    relation_scores, relations = constraints.on_relations(scores.relation_scores(heads), relations)
    in_tree = (
        SentenceConfidence(
            scores, roots=roots, temperature=temperature, curves=curves, constraints=constraints
        )
        if confidence
        else None
    )
    names = [relations[i] for i in relation_scores.argmax(-1).tolist()]
    parsed = sentence.with_tree(heads.tolist(), names, fill_deps=fill_deps)
    if in_tree is not None:
        parsed.scores, parsed.confidence = scores, in_tree.of(heads, relation_scores, tag_confidence)
    if probabilities:
        numbers = [str(head) for head in range(len(heads) + 1)]
        of_relations = relation_probabilities(relation_scores, temperature)
        of_heads = np.exp(constraints.on_heads(head_distribution(scores, temperature.arcs)))
        choices = {
            "head": Choices(calibrated(of_heads, curves.get("head")), heads, numbers),
            "deprel": Choices(
                calibrated(of_relations, curves.get("relation")), np.argmax(relation_scores, -1), relations
            ),
            **tags,
        }
        write_doubts(parsed, choices)
    return parsed


def with_k_best_trees(
    sentence: Sentence,
    scores: Scores,
    relations: Sequence[str],
    k: int,
    *,
    roots: Roots | None = None,
    fill_deps: bool = False,
    tag_confidence: Mapping[str, Floats] = NO_TAGS,
    temperature: Temperature,
    curves: Curves = NO_CURVES,
    constraints: Constraints = FREE,
) -> list[Sentence]:
    """Copies of the sentence with the k most probable trees that meet the constraints, best first.

    There are fewer if there are fewer such trees.

    They carry their confidence. In CoNLL-U, every copy has a sent_id of its own: the first keeps that of the
    sentence, the second has -k2 after it, or is k2 if there is none, and so on. A comment says which heads
    and relations are not those of the first.
    """
    roots = roots or default_roots(sentence)
    _refuse(sentence, constraints.fault(len(sentence), decoder="mst", roots=roots))
    confidence = SentenceConfidence(
        scores, roots=roots, temperature=temperature, curves=curves, constraints=constraints
    )
    trees = [heads for heads, _ in k_best(confidence.tree_scores, k, roots=roots)]
    _refuse(sentence, constraints.unmet(trees[0], decoder="mst", roots=roots))
    copies = []
    for heads in trees:
        if not constraints.unmet(heads, decoder="mst", roots=roots):
            relation_scores, names = constraints.on_relations(scores.relation_scores(heads), relations)
            best = [names[i] for i in np.argmax(relation_scores, -1)]
            copy = sentence.with_tree(heads.tolist(), best, fill_deps=fill_deps)
            copy.scores, copy.confidence = scores, confidence.of(heads, relation_scores, tag_confidence)
            copies.append(copy)
    if sentence.format == "conllu":
        copies[1:] = [_named(copy, rank, copies[0]) for rank, copy in enumerate(copies[1:], 2)]
    return copies


def _named(tree: Sentence, rank: int, best: Sentence) -> Sentence:
    """A copy of a tree other than the best, with a sent_id of its own, that says what differs."""
    copy = tree.with_comment(f"{DIFFERS}{'; '.join(map(str, differences(tree, best)))}")
    copy.sent_id = f"k{rank}" if best.sent_id is None else f"{best.sent_id}-k{rank}"
    return copy


def _refuse(sentence: Sentence, fault: str) -> None:
    """Raise an error if the constraints on a sentence have a fault."""
    if fault:
        raise FormatError(fault, source=sentence.source, line=sentence.line)
