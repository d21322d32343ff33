"""A differential fuzzer: random programs, their derivatives against central differences.

    make fuzz ARGS='--seed 0 --count 20000'
    make fuzz ARGS='--programs all --modes all --count 200'

A program is source text: a function of arrays and numbers, written out of the phrases of this
package (functions of NumPy and math, views, writes, containers) and its blocks (branches, loops,
functions, classes). It is written a statement at a time, and each statement is tried at once: what
follows is chosen by the shapes and types that the values really have. So nearly all programs run.

Further generators, in `generators/`, write programs of one class of holes each.

Each program is run plainly, and then differentiated in one or more modes: in reverse, forward and
to second order, always traced; by the automatic tier and compiled, called with changing data and
compared with the traced function; and unverified, from text whose source nobody finds. The
outcome is *right*, a *clean error* (one of ours, in a sentence), *wrong*, or a *crash* (any other
exception). Wrong ones and crashes are made as short as they still fail and printed with their seed.

    phrases.py      the tables: expressions, views, writes, containers
    holes.py        what stands in the holes of a phrase: axes, indices, shapes, other operands
    writer.py       writes a program, trying each statement
    blocks.py       what has statements inside: branches, loops, functions, classes
    generators/     programs of one class each, by name
    observed.py     values, errors, warnings, arguments and state in every tier
    repeated.py     calls with changing data: the automatic tier and compiled functions
    judge.py        runs a program and says how its derivatives compare
    shrink.py       makes a failing program short
    report.py       counts outcomes, and prints them
    __main__.py     the command: processes and options
"""
