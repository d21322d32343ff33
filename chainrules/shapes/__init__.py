"""Rules: shapes."""
