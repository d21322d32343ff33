"""Structured programs: functions with loops, read from their source and differentiated as loops.

`reading` lowers the verified source to the intermediate representation in `form`. `writing` runs
activity analysis and generates the forward function and the reverse sweep. `native` compiles their
loops to machine code. `runtime` runs them, and `calls` decides which calls use them.
"""
