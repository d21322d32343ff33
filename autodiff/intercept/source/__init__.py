"""The source of functions: found, verified and rewritten so that calls are intercepted."""
