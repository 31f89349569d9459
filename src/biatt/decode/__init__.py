"""From scores to trees: decoders, distributions over trees, confidence.

biatt.decode.mst(scores.agreement)           # maximum spanning tree
biatt.decode.projective(scores.agreement)    # the best tree without crossing arcs
biatt.decode.argmax(scores.agreement)        # the best head of each word by itself
"""

from biatt.data.arcs import crossing_arcs, is_projective, is_tree
from biatt.decode.decoders import Decoder, Heads, Roots, argmax, heads, mst, projective

__all__ = [
    "Decoder",
    "Heads",
    "Roots",
    "argmax",
    "crossing_arcs",
    "heads",
    "is_projective",
    "is_tree",
    "mst",
    "projective",
]
