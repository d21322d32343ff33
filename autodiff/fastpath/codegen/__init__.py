"""Code generation for frequent calls and for the nodes that they record."""
