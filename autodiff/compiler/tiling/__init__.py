"""Loop fusion and tiling of steps on large arrays."""
