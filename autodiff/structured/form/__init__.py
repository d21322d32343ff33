"""The structured form: blocks of operations, loops and branches, and what is known of values."""
