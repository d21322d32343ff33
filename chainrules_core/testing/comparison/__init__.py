"""Whether two tangents are the same and of the right form, with hints at the mistake if not."""
