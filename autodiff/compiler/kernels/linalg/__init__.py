"""Linear algebra of small matrices in kernels."""
