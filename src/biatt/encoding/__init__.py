"""From sentences to numbers: vocabularies, word vectors, batches."""
