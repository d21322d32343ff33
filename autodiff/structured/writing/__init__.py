"""From the structured form to the source of two functions: forward, and the reverse sweep."""
