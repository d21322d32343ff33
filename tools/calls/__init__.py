"""Calls of NumPy's and SciPy's functions with random arguments, differentiated and compared.

The fuzzer of programs writes few keywords. Here each function has a line or a few that draw its
arguments: shapes, layouts in memory, axes in any order, and every keyword that changes the
derivative. ``make fuzz-calls`` draws many of each; a test draws one.
"""
