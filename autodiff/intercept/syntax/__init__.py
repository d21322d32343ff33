"""What rewritten code calls in place of operators, assignments, attributes, `with` and `await`."""
