"""Short ways for elementwise functions and plain numbers."""
