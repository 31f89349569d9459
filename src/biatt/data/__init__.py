"""Sentences, documents, scores and arcs; reading and writing text and CoNLL files."""
