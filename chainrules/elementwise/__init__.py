"""Rules: elementwise."""
