"""Sentences become scores."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from builders import TREEBANK, parts, random_parser
from examples import examples

PARSER = random_parser()


@examples(10)
@given(st.integers(1, 2000))
def test_batch_size_does_not_change_the_scores(batch_words: int) -> None:
    expected = PARSER.scores(TREEBANK)
    found = PARSER.scores(TREEBANK, batch_words=batch_words)
    for one, other in zip(found, expected, strict=True):
        for part, wanted in zip(parts(one), parts(other), strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-5, atol=1e-5)
