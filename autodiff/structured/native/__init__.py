"""Loops of structured programs as machine code, by llvmlite where it is installed.

`regions` finds the loops that can be written so in the source that `emission` has made, and puts
calls in their place; `statements` reads these loops, `expressions`, `indexing` and `elementwise`
what stands in them; `scalars` knows functions of numbers; `code` writes instructions; `machine`
compiles them, and `calling` hands arguments and results over.
"""
