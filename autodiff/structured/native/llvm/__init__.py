"""Code generation with LLVM: instructions, runtime memory, and calls of BLAS and Python."""
