"""Callables of the engine in programs, which record their own pullbacks as rules do."""
