"""A function recorded as a program, with what it depends on."""
