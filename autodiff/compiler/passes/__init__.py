"""Passes: functions from program to program that make it simpler and shorter."""
