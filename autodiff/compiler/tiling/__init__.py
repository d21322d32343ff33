"""Large arrays worked through in blocks, on all cores."""
