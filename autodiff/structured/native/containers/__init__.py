"""What machine code does with lists, queues, and dicts with known keys."""
