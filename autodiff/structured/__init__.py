"""Structured programs: functions with loops, read from their source and differentiated as loops.

`lowering` reads the verified source into the representation of `ir`; `activity` finds what depends
on the variables; `emission` writes the forward function and the reverse sweep; `runtime` runs them;
`calls` decides when a call is made so.
"""
