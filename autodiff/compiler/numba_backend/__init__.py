"""Programs as loops that numba compiles."""
