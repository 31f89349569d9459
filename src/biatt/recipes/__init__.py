"""Experiments from a recipe file: run, record, summarise, draw."""
