"""Scores of parsed files: metrics, comparison of two parsers, calibration."""
