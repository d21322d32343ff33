"""The intermediate representation: blocks of operations, loops, branches, and kinds of values."""
