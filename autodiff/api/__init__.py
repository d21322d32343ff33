"""What users call: derivatives, and what changes or shows how they are taken."""
