"""Which rules there are: by function and types, what is known of them, and when modules load."""
