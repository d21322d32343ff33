"""Structured programs: functions with loops, read from their source and differentiated as loops.

`reading` takes the verified source to the representation of `form`; `writing` finds what depends on
the variables, and writes the forward function and the reverse sweep; `native` makes machine code of
their loops; `runtime` runs them; `calls` decides when a call is made so.
"""
