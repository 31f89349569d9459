"""Curves of confidence: isotonic regression against its slow twin, and what a curve leaves as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biatt.data import curves
from biatt.data.curves import Curve, calibrated, calibrated_choices, fitted_curve

CURVE = Curve((0.2, 0.5, 0.9), (0.1, 0.3, 0.95))


@st.composite
def rising(draw: st.DrawFn) -> Curve:
    """Any curve."""
    numbers = st.sets(st.integers(1, 999), min_size=1, max_size=5)
    a, b = sorted(draw(numbers)), sorted(draw(numbers))
    points = min(len(a), len(b))
    return Curve(tuple(x / 1000 for x in a[:points]), tuple(x / 1000 for x in b[:points]))


def slow_isotonic(correct: list[bool]) -> list[float]:
    """The rising sequence nearest to 0s and 1s: at i, the largest of the smallest means around i."""
    y, n = np.array(correct, float), len(correct)
    return [max(min(y[a : b + 1].mean() for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@given(st.lists(st.booleans(), min_size=1, max_size=25))
def test_curve_is_the_isotonic_regression_of_what_is_correct(correct: list[bool]) -> None:
    probabilities = (np.arange(len(correct)) + 1) / (len(correct) + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "GROUP", 1)
        curve = fitted_curve(probabilities, correct)
    expected = np.array(slow_isotonic(correct))
    shares = np.unique(expected.round(9))
    doubt = 0.5 / len(correct)
    np.testing.assert_allclose(curve.shares, np.clip(shares, doubt, 1 - doubt), atol=1e-8)
    centres = [probabilities[np.isclose(expected, share)].mean() for share in shares]
    np.testing.assert_allclose(curve.probabilities, centres)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=300))
def test_fitted_curve_rises_strictly_between_0_and_1(words: list[tuple[float, bool]]) -> None:
    curve = fitted_curve([p for p, _ in words], [correct for _, correct in words])
    for points in (curve.probabilities, curve.shares):
        assert (np.diff([0, *points, 1]) > 0).all()


def test_curve_has_the_shares_that_words_were_drawn_with() -> None:
    draw = np.random.default_rng(1)
    probabilities = draw.random(40_000)
    curve = fitted_curve(probabilities, draw.random(40_000) < probabilities**2)
    places = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(curve.at(places), places**2, atol=0.06)  # a standard error is about 0.01


@given(rising(), st.lists(st.floats(0, 1), min_size=2, max_size=20, unique=True))
def test_curve_keeps_the_order_of_words_and_0_and_1(curve: Curve, probabilities: list[float]) -> None:
    assert curve.at([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert (np.diff(curve.at(sorted(probabilities))) >= 0).all()


@given(rising(), st.integers(1, 6), st.integers(1, 5), st.integers(0, 999))
def test_rows_still_add_up_to_1_in_the_same_order(curve: Curve, n: int, choices: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.dirichlet(np.full(choices, draw.choice([0.05, 1.0])), size=n)
    result = curve.on_rows(rows)
    np.testing.assert_allclose(result.sum(-1), 1)
    assert (result >= 0).all()
    order = np.argsort(rows, axis=-1, kind="stable")
    assert (np.diff(np.take_along_axis(result, order, -1)) >= -1e-12).all()


@given(rising(), st.integers(1, 6), st.integers(1, 5), st.integers(0, 999))
def test_single_choices_have_the_values_of_their_rows(curve: Curve, n: int, choices: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.dirichlet(np.full(choices, draw.choice([0.05, 1.0])), size=n)
    chosen = np.where(draw.random(n) < 0.5, rows.argmax(-1), draw.integers(choices, size=n))
    expected = curve.on_rows(rows)[np.arange(n), chosen]
    np.testing.assert_allclose(calibrated_choices(rows, chosen, curve), expected, atol=1e-9)
    assert calibrated_choices(rows, chosen, None).tolist() == rows[np.arange(n), chosen].tolist()


def test_best_choice_is_read_off_the_curve_and_the_others_share_the_rest() -> None:
    (row,) = CURVE.on_rows(np.array([[0.9, 0.06, 0.04]]))
    np.testing.assert_allclose(row, [0.95, 0.03, 0.02])


def test_no_choice_passes_the_best() -> None:
    (row,) = CURVE.on_rows(np.array([[0.5, 0.5 - 1e-9, 1e-9]]))  # the curve says 0.3
    np.testing.assert_allclose(row, [0.5, 0.5, 0], atol=1e-6)


def test_what_has_no_other_choice_is_certain() -> None:
    rows = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert CURVE.on_rows(rows).tolist() == rows.tolist()
    assert CURVE.on_rows(np.ones((2, 1))).tolist() == [[1.0], [1.0]]
    assert CURVE.on_rows(np.ones((0, 3))).shape == (0, 3)


def test_without_a_curve_nothing_changes() -> None:
    rows = np.array([[0.5, 0.5]])
    assert calibrated(rows, None) is rows


def test_missing_probabilities_stay_missing() -> None:
    assert np.isnan(CURVE.at([np.nan])).all()
