"""Fast paths for elementwise functions and plain numbers, and generated code for them."""
