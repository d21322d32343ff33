"""Code for elementwise operations: several of them as one value, or one by itself."""
