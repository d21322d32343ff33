"""Writing the reverse sweep: of blocks, of calls, and what spares arrays in it."""
