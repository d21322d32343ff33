"""Arrays that are written into, and memory that they share."""
