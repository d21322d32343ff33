"""Decompositions of library functions: the reader inlines them in place of the calls."""
