"""Code generated for frequent calls and for the nodes that they record."""
