"""LLVM code generation: instructions, memory at run time, and calls of BLAS and Python."""
