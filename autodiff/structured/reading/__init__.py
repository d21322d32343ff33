"""From the source of a function to its structured form."""
