"""Lowering of programs to loop nests, and their compilation to machine code."""
