"""What the packages need of Python and NumPy: lines of users, swallowed errors, warnings, texts."""
