"""Arithmetic and functions of numbers as LLVM instructions."""
