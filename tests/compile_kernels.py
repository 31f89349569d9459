"""Compile the kernels that the tests use, so that test processes load them from disk.

Each kernel is compiled at its first call for the types of its arguments. Without this step every test process
would compile the same kernels at the same time.
"""

from __future__ import annotations

import numpy as np

from biatt.decode.distribution import TreeDistribution
from biatt.encoding.batches import collate
from biatt.network.autograd import FUSED
from biatt.network.model import BiAtt
from biatt.parsing import warm_up
from builders import LARGER, RELATIONS, ROWS, TREEBANK, gradients, network, random_parser, random_sentences


def compile_parsing() -> None:
    for variant in ({}, LARGER, {"attention": "single", "feedback": False}):
        parser = random_parser(variant)
        for decoder in ("mst", "projective", "argmax"):
            for roots in ("single", "any"):
                list(parser.parse(TREEBANK[:3], decoder=decoder, roots=roots, confidence=True))
        parser.k_best(TREEBANK[0], 2)


def compile_distributions() -> None:
    for words, preference in ((3, 0.0), (200, 0.0), (3, 1000.0)):  # short, in panels, in logarithms
        scores = np.zeros((words, words + 1))
        scores[0, 2] = scores[1, 1] = preference  # words 1 and 2 prefer each other: no tree is probable
        assert np.isfinite(TreeDistribution(scores).marginals).all()


def compile_training() -> None:
    batch = collate(random_sentences([3, 1]))
    for variant in ({}, LARGER, {"attention": "single", "feedback": False}):
        reference = network(variant)
        fused = BiAtt(reference.config, rows=ROWS, relations=RELATIONS, operations=FUSED)
        fused.load_state_dict(reference.state_dict())
        gradients(fused, batch)


if __name__ == "__main__":
    warm_up.warm_up()
    compile_parsing()
    compile_distributions()
    compile_training()
