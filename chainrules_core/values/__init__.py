"""Kinds of values that rules are for: type groups, shapes, functions with what they captured."""
