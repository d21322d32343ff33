"""Checks of one rule: the steps that they take, in reverse, in forward mode and of second order."""
