"""What test cases are made of: numbers from a domain, tangents of any value, values of one kind."""
