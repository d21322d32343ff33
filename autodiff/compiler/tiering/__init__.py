"""Policies: when to record again, what that may cost, and when to compile to machine code."""
