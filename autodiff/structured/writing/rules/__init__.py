"""How the derivative of each call is found: by its rule, or without one."""
