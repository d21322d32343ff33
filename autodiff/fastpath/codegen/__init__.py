"""Code written for operations, nodes and calls that are made again and again."""
