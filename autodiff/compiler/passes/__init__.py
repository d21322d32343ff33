"""Passes over recorded programs: simplification, batching, alias analysis and others."""
