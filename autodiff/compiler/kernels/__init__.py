"""Programs as nests of loops, which become machine code."""
