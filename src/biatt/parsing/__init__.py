"""From a model folder to parsed files: scoring, windows of sentences, and what the verbs do with them."""
