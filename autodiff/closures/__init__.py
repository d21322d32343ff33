"""Functions with what they have captured."""
