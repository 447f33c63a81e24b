"""From V, embeddings or costs to labels."""
