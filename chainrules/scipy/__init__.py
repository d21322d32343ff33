"""Rules for SciPy, a package for each of its subpackages, loaded once that is imported."""
