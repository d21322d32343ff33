"""Code generation of the reverse sweep of blocks and calls, with few temporary arrays."""
