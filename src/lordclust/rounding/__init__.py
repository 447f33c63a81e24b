"""From V, embeddings or costs to labels and probabilities."""
