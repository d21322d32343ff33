"""Derivatives from values alone: values as vectors of numbers, and finite differences of these."""
