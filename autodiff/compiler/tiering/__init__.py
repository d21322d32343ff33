"""When machine code is made."""
