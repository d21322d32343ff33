"""LLVM: instructions, the memory of a run, and calls of BLAS."""
