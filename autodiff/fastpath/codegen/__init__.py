"""Code generation for frequent calls."""
