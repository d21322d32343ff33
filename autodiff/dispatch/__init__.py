"""Dispatch of one call: a rule, looked up or cached, or else the function's body."""
