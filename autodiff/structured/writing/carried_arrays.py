"""Arrays that are written into, if at all, only where they are made.

Loops carry them from one iteration to the next (``u = u + dt * (u[1:] - u[:-1])``), or make and
fill them in each (``lap = np.zeros(n); lap[1:-1] = ...``). The sweep makes the arrays for their
cotangents: a shadow would cost an array of zeros, and a place on the tape, in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

from autodiff.structured.form.function_ir import (
    WRITES,
    Block,
    FunctionIR,
    If,
    Memory,
    Op,
    Slot,
    Value,
    bodies_of,
    without_tuples,
)
from autodiff.structured.form.known_functions import makes_new

_Path = tuple[tuple[object, int], ...]  # the enclosing loops and branches, the outermost first
_INDEXING = frozenset({"view", "load"})
_ALLOWED = frozenset({"read", "call", "part", "form", "tuple", "const", *WRITES, *_INDEXING})


def carried_arrays(program: FunctionIR, rebound: set[Memory]) -> set[Memory]:
    """Return the memory of these arrays.

    They are indexed no more often than they are made: else the sweep would make an array for each
    element that an inner loop reads. `rebound` has the memory of variables that are bound
    repeatedly.
    """
    blocks = list(_blocks_in(program.body, ()))
    made: dict[Slot, list[_Path]] = {slot: [()] for slot in program.parameters}
    for block, path in blocks:
        for slot in block.writes:
            made.setdefault(slot, []).append(path)
    seen = {m for block, _ in blocks for op in block.ops for m in _memory_of(op)}
    found = {m for m in seen if m in rebound or not m.leaves_block}
    found = {m for m in found if m.items is None and not m.fields}
    for block, path in blocks:
        for op in block.ops:
            if not (op.code in _ALLOWED and _keeps_pace(op, path, made) and _writes_new(op)):
                found -= _memory_of(op)
    return found


def origin_of(x: Value) -> Value:
    """Return the array that an array is, or is a view of."""
    while x.op.code == "view":
        x = x.op.args[0]
    return x


def _blocks_in(nodes: list, path: _Path) -> Iterator[tuple[Block, _Path]]:
    for node in nodes:
        if isinstance(node, Block):
            yield node, path
        for k, body in enumerate(bodies_of(node)):
            yield from _blocks_in(body, (*path, (node, k)))


def _keeps_pace(op: Op, path: _Path, made: dict[Slot, list[_Path]]) -> bool:
    """Whether an array is made anew, in the same loop, before each time that it is indexed."""
    if op.code not in _INDEXING:
        return True
    x = origin_of(op.args[0])
    if x.op.code != "read":
        return True  # the block makes it
    return any(
        p == path[: len(p)] and all(isinstance(node, If) for node, _ in path[len(p) :])
        for p in made.get(x.op.data, ())
    )


def _writes_new(op: Op) -> bool:
    """Whether an operation writes, if at all, into an array that its block makes."""
    if op.code not in WRITES:
        return True
    made = origin_of(op.args[0]).op
    return made.code == "load" or (made.code == "call" and makes_new(made))


def _memory_of(op: Op) -> set[Memory]:
    """Return the memory of the operands and the result of an operation."""
    given = [*op.operands, *([] if op.out is None else [op.out])]
    return {v.root for v in without_tuples(given) if v.memory is not None}
