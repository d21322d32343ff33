"""Tracers, tapes and sweeps: values that are followed, and what is recorded of them."""
