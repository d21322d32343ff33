"""NumPy's interfaces for traced values: operators, methods, protocols."""
