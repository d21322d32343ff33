"""Code without available source."""
