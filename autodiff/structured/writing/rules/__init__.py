"""The derivative of each call, as source."""
