"""Linear algebra of small matrices in such loops."""
