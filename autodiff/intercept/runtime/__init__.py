"""What rewritten code calls in the place of calls and syntax."""
