"""From raw text to tagged words: tokeniser, multiword tokens, tags, lemmas."""
