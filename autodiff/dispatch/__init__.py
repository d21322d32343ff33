"""What a call comes to: a rule, remembered or looked up, or the function's body."""
