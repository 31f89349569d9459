"""Compile the kernels that the tests use, so that test processes load them from disk.

Each kernel is compiled at its first call for the types of its arguments. Without this step every test process
would compile the same kernels at the same time.
"""

from __future__ import annotations

from biatt.encoding.batches import collate
from biatt.network.autograd import FUSED
from biatt.network.model import BiAtt
from builders import LARGER, RELATIONS, ROWS, TREEBANK, gradients, network, random_parser, random_sentences


def compile_parsing() -> None:
    for variant in ({}, LARGER, {"attention": "single", "feedback": False}):
        parser = random_parser(variant)
        for decoder in ("mst", "projective", "argmax"):
            for roots in ("single", "any"):
                list(parser.parse(TREEBANK[:3], decoder=decoder, roots=roots, confidence=True))
        parser.k_best(TREEBANK[0], 2)


def compile_training() -> None:
    batch = collate(random_sentences([3, 1]))
    for variant in ({}, LARGER, {"attention": "single", "feedback": False}):
        reference = network(variant)
        fused = BiAtt(reference.config, rows=ROWS, relations=RELATIONS, operations=FUSED)
        fused.load_state_dict(reference.state_dict())
        gradients(fused, batch)


if __name__ == "__main__":
    compile_parsing()
    compile_training()
