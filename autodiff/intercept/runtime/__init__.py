"""What rewritten code calls in place of functions."""
