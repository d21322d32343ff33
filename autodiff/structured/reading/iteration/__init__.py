"""Reading loops, comprehensions and generators, and what they iterate over."""
