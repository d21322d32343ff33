"""Tiling of steps on large arrays."""
