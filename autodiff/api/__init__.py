"""What users call: derivatives, and functions that change or show how they are computed."""
