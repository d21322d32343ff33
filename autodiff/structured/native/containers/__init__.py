"""Lists, deques, and dicts with known keys in machine code."""
