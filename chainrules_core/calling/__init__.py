"""What happens around a rule when it is called: arguments in their places, thunks, projection."""
