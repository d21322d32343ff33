"""Functions of Python, NumPy and SciPy that are read as made of others."""
