"""Functions of numbers as instructions."""
