"""Measure the confidence of a model on gold trees, and fit it: what `biatt calibrate` does."""

from __future__ import annotations

from pathlib import Path

from biatt.data.conll import read
from biatt.decode.apply import default_roots
from biatt.decode.confidence import unfitted_confidence
from biatt.evaluation.calibration import Calibration, calibrate
from biatt.models.named_models import find_model
from biatt.parser import load
from biatt.parsing.fit_confidence import ConfidenceFit


def calibrate_model(model: str | Path, gold: str | Path, *, fit: bool = False) -> Calibration:
    """The accuracy of a model at each level of its confidence, on a file with gold trees.

    A model that chooses tags parses with its tags, not with those of the file. With `fit`, the confidence is
    fitted to the file first and stored in the model folder; the figures are then cross-validated.
    """
    parser, sentences = load(model), list(read(gold, trees=True))
    if fit:
        fitted = ConfidenceFit(parser, sentences)
        parsed = fitted.cross_validated()
        fitted.apply(parser)
        parser.write_confidence(find_model(model))
    else:
        parsed = list(parser.parse(sentences, confidence=True, retag=parser.chooses_tags))
    unfitted = [unfitted_confidence(s, roots=default_roots(s)) for s in parsed if len(s)]
    return calibrate(sentences, parsed, unfitted=unfitted)
