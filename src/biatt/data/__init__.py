"""Sentences and what files say about them: reading and writing text and CoNLL, scores, arcs."""
