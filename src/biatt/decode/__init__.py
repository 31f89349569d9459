"""From scores to trees: decoders, distributions over trees, confidence.

biatt.decode.mst(scores.agreement)           # maximum spanning tree
biatt.decode.projective(scores.agreement)    # the best tree without crossing arcs
biatt.decode.argmax(scores.agreement)        # the best head of each word, which may not form a tree
"""

from biatt.data.arcs import crossing_arcs, is_projective, is_tree
from biatt.decode.arc_scores import Heads
from biatt.decode.decoders import argmax, heads, mst, projective
from biatt.decode.k_best import Difference, differences
from biatt.options import Decoder, Roots

__all__ = [
    "Decoder",
    "Difference",
    "Heads",
    "Roots",
    "argmax",
    "crossing_arcs",
    "differences",
    "heads",
    "is_projective",
    "is_tree",
    "mst",
    "projective",
]
