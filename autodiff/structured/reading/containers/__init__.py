"""Reading objects, tuples, lists, queues and dicts."""
