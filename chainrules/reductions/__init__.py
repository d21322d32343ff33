"""Rules: reductions."""
