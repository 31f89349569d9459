"""The columns of CoNLL-U and CoNLL-X."""

from __future__ import annotations

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
PHEAD, PDEPREL = DEPS, MISC  # CoNLL-X names for the same places
WIDTH = 10  # number of columns
