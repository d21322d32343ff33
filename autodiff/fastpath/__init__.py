"""Fast paths for elementwise functions and plain numbers."""
