"""Loops of structured programs as machine code, if llvmlite is installed.

`regions` finds the loops in the generated source that can be lowered, and replaces them by calls.
`statements` and `expressions` lower them to LLVM instructions. `numbers` has the functions of
numbers, `llvm` the instruction builder, memory and BLAS. `region_calls` converts arguments and
results.

Where NumPy's behaviour is unknown, machine code bails out (*steps aside*): it returns a nonzero
status, and the call runs again from the beginning, by the generated source.
"""
