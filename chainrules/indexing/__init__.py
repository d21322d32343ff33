"""Rules: indexing."""
