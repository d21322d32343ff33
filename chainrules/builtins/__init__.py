"""Rules for Python itself and its standard library."""
