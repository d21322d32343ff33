"""Which values depend on the variables, and which memory they are in."""

from __future__ import annotations

import math
from typing import Any

from autodiff.structured.form.ir import (
    LIST_WRITES,
    WITHOUT_VALUES,
    WRITES,
    Block,
    Memory,
    Op,
    Program,
    Slot,
    Value,
    blocks_of,
    changes_list,
    flat,
    lists_of,
    ops_of,
    tests_of,
    without_tuples,
)
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.itself import Itself
from autodiff.structured.writing.rules.bound_rules import is_elementwise
from autodiff.trace.checks.conversions import OF_SHAPE
from chainrules_core import AbstractZero
from chainrules_core.rule import Rule

WITHOUT_SWEEP = frozenset({"read", "view", "form", "tuple", "const", "item", "length"})
"""Operations that make values to whose cotangents or shadows those of others belong."""


def remove_unread(program: Program) -> None:
    """Do not bind variables that nobody reads: parameters of functions read in place, say."""
    blocks = list(blocks_of(program.body))
    returned = set(flat(program.returned))
    live: set[Slot] = set()
    while True:
        before = len(live)
        for block in blocks:
            lasting = {v for slot, v in block.writes.items() if slot in live}
            for op in block.ops:
                v = op.out
                if op.code == "read" and (v.uses or v in lasting or v in returned):  # type: ignore[union-attr]
                    live.add(op.data)
        if len(live) == before:
            break
    for block in blocks:
        block.writes = {slot: v for slot, v in block.writes.items() if slot in live}
    for slot in set(program.slots) - live:
        slot.reads = 0


def written_parameters(program: Program) -> list[Slot]:
    """Return the parameters that may be written into: those that a write may reach."""
    held = parameters_held(program)
    written: set[Slot] = set()
    for op in ops_of(program.body):
        if op.code in WRITES:
            written |= parameters_of(op.args[0], held)
    return [slot for slot in program.parameters if slot in written]


def parameters_held(program: Program) -> dict[Slot, set[Slot]]:
    """Return of which parameters each variable may hold the array, or a view.

    Where two variables may hold one array (``u = new``), memory is shared as a whole. But each
    array comes from somewhere.
    """
    blocks = list(blocks_of(program.body))
    held: dict[Slot, set[Slot]] = {slot: {slot} for slot in program.parameters}
    while True:
        before = sum(map(len, held.values()))
        for block in blocks:
            for slot, v in block.writes.items():
                if v.kind.is_array:
                    held.setdefault(slot, set()).update(parameters_of(v, held))
        if sum(map(len, held.values())) == before:
            return held


def parameters_of(v: Value, held: dict[Slot, set[Slot]]) -> set[Slot]:
    """Return the parameters whose memory an array may be in."""
    op = v.op
    if op.code == "read":
        return held.get(op.data, set())
    if op.code == "item":  # whatever was put into the list
        return {s for s in held if s.memory is not None and s.memory.root() is v.memory.root()}  # type: ignore[union-attr]
    if op.code in ("load", "join") or (op.code == "call" and makes_new(op)):
        return set()
    given = [a for a in (*op.args, *op.options.values()) if a.kind.is_array or a.kind.parts]
    return set[Slot]().union(*[parameters_of(a, held) for a in given])


def is_active(value: Value) -> bool:
    """Whether a value depends on the variables."""
    if value.kind.has_memory:
        return value.memory is not None and value.memory.root().is_active
    if value.op.code == "tuple":
        return any(map(is_active, value.op.args))
    return value.is_active


def depends(op: Op) -> bool:
    """Whether what a call makes depends on the variables."""
    if isinstance(op.rule, Rule) and op.rule.kind == "non_differentiable":
        return False
    if type(op.f) is Itself and op.f.returned is not None and not is_active(op.f.returned):
        return False  # as far as it is known
    return any(map(is_active, _with_slopes(op)))


def _with_slopes(op: Op) -> list[Value]:
    """Return the arguments of a call but those whose partial derivative is zero everywhere."""
    if not is_elementwise(op):
        return [*op.args, *op.options.values()]
    pairs = zip(op.rule.args, op.rule.rule.partials[0], strict=False)
    return [
        a
        for a, partial in pairs
        if isinstance(a, Value) and not isinstance(partial.constant, AbstractZero)
    ]


def mark_active(program: Program, variables: set[int]) -> None:
    """Mark what depends on the parameters at these positions.

    Memory is active as a whole: an array into which one active value is written, and all its views.
    """
    for i in variables:
        slot = program.parameters[i]
        if slot.memory is not None:
            slot.memory.root().is_active = True
        else:
            slot.is_active = True
    blocks = list(blocks_of(program.body))
    while sum(map(_mark_block, blocks)) + _mark_given(program):  # all are looked at in every round
        pass


def _mark_given(program: Program) -> bool:
    """Mark the lists that are given, and those in them, if one of these depends on variables."""
    changed = False
    for slot in program.parameters:
        held = [part.root() for part in lists_of(slot.memory)]
        if any(part.is_active for part in held) and not all(part.is_active for part in held):
            changed = True
            for part in held:
                part.is_active = True
    return changed


def parts_made(op: Op, block: Block) -> list[Value]:
    """Return the parts of the tuple that a call makes, as its block reads them."""
    return [part.out for part in block.ops if part.code == "part" and part.args[0] is op.out]  # type: ignore[misc] # a part is a value


def _mark_block(block: Block) -> bool:
    changed = False
    for op in block.ops:
        changed |= _mark_op(op)
        v = op.out
        if v is None or op.code != "call" or not (v.kind.parts and v.is_active):
            continue
        places = {part.op.data for part in parts_made(op, block)}
        if v.uses != len(places) or v in block.writes.values():
            raise UnsupportedError(f"{op.f} returns several numbers that depend on the variables")
    for slot, value in block.writes.items():
        if not value.kind.has_memory and is_active(value) and not slot.is_active:
            slot.is_active = changed = True
    return changed


def _mark_op(op: Op) -> bool:
    if op.code in WITHOUT_VALUES:
        return False
    if op.code in WRITES:
        return is_active(op.args[1]) and _activate(op.args[0])
    if op.code in ("list", "dict") or op.code in LIST_WRITES:
        return _mark_list(op)
    value: Any = op.out
    if op.code == "call" and value.kind.parts:  # its parts are read behind it
        is_new = value.kind.has_floats and depends(op) and not value.is_active
        return is_new and _activate(value)
    if not value.kind.is_inexact or is_active(value):
        return False
    if op.code == "read":
        return bool(op.data.is_active) and _activate(value)
    if op.code in ("load", "join"):
        return is_active(op.args[0]) and _activate(value)
    if op.code == "part":
        return op.args[0].is_active and _activate(value)
    if op.code == "call":
        return depends(op) and _activate(value)
    return False


def _mark_list(op: Op) -> bool:
    """Mark a list or dict if one of its items depends on the variables."""
    xs, items = (op.args[0], op.args[1:2]) if op.code in LIST_WRITES else (op.out, op.args)
    found = any(map(is_active, items)) or any(x.is_active for x in xs.memory.root().within())  # type: ignore[union-attr] # it has one
    return found and _activate(xs)  # type: ignore[arg-type] # it is a value


def _activate(value: Value) -> bool:
    if value.kind.has_memory:
        assert value.memory is not None
        memory = value.memory.root()
        if memory.is_active:
            return False
        memory.is_active = True
        return True
    value.is_active = True
    return True


_ROUNDINGS = frozenset({int, round, math.floor, math.ceil, math.trunc})
_CONVERSIONS = frozenset({bool, math.frexp})


def is_rounded(op: Op) -> bool:
    """Whether a number that depends on the variables becomes an integer, which does not."""
    if op.code != "call" or op.f not in _ROUNDINGS or not is_active(op.args[0]):
        return False
    return op.out.kind.classes == {int}  # type: ignore[union-attr] # a call makes a value


def check_conversions(program: Program) -> None:
    """Raise where a value that depends on the variables becomes another: tracing decides."""
    for block in blocks_of(program.body):
        for op in block.ops:
            if op.code != "call" or not any(map(is_active, op.args)):
                continue
            is_text = op.out.kind.is_text  # type: ignore[union-attr] # a call makes a value
            is_other = op.f in _ROUNDINGS and not is_rounded(op)
            if is_text or is_other or op.f in _CONVERSIONS:
                raise UnsupportedError(f"{op.f} of a value that depends on the variables")


def check_itself(program: Program, has_checkpoints: bool) -> None:
    """Raise if the sweep of the function could not be that of a call of it in itself."""
    if program.itself is None:
        return
    if has_checkpoints or written_parameters(program):
        raise UnsupportedError("a function that calls itself and writes into its arguments")
    for op in ops_of(program.body):
        if op.f is program.itself:
            for v, slot in zip(op.args, program.parameters, strict=True):
                if is_active(v) and not holds_active(slot):
                    raise UnsupportedError("a function that calls itself with other variables")


def holds_active(slot: Slot) -> bool:
    """Whether what a variable holds depends on the variables of the derivative."""
    return slot.is_active if slot.memory is None else slot.memory.root().is_active


def leaves_alone(memory: Memory, nodes: list) -> bool:
    """Whether a loop or a body neither writes into arrays in this memory nor makes such arrays.

    Its sweep then does not change them, and only adds to their shadows.
    """
    for block in blocks_of(nodes):
        for op in block.ops:
            x = op.args[0] if op.code in WRITES else op.out
            if x is None or x.memory is None or x.memory.root() is not memory:
                continue
            if op.code in WRITES or op.code not in ("read", "view", "item"):
                return False
    return True


def is_left_alone(write: Op, made: Op, ops: list[Op]) -> bool:
    """Whether the sweep of a block leaves a shadow alone between two of its operations.

    It is the shadow of what is written into, and the other operation makes what is written. It is
    left alone by the operations between them, and by what the second adds to its arguments.
    """
    memory = write.args[0].memory.root()  # type: ignore[union-attr] # an array has one
    return are_apart(write, made, ops) and not _reach(memory, [write.args[1], *made.args])


def are_apart(write: Op, made: Op, ops: list[Op]) -> bool:
    """Whether the sweep of the operations between two others leaves a shadow alone."""
    memory = write.args[0].memory.root()  # type: ignore[union-attr] # an array has one
    passed = ops[ops.index(made) + 1 : ops.index(write)]
    passed = [op for op in passed if op.code not in WITHOUT_SWEEP]
    return not _reach(
        memory, [v for op in passed for v in (op.out, *op.args, *op.options.values())]
    )


def _reach(memory: Memory, values: list[Value | None]) -> bool:
    """Whether arrays that depend on the variables are in some memory."""
    arrays = without_tuples([v for v in values if v is not None])
    return any(v.memory and is_active(v) and v.memory.root() is memory for v in arrays)


def compares(program: Program) -> bool:
    """Whether what has no derivative is made of values that depend on the variables.

    It may decide: a truth value, an integer, or a float such as a sign, which is compared later.
    """
    if any(map(is_active, tests_of(program.body))):  # of whether a float is zero
        return True
    return any(
        op.code == "call"
        and op.f not in OF_SHAPE
        and not is_active(op.out)  # type: ignore[arg-type] # a call makes a value
        and any(map(is_active, op.args))
        for block in blocks_of(program.body)
        for op in block.ops
    )


def ways_of(
    program: Program, variables: set[int], outputs: list[Value]
) -> tuple[dict[int, list[int]], bool]:
    """Return where the ways of variables lead, and whether some that are compared lack one.

    They lead to outputs, and to arrays and lists that are written into, which are counted behind
    them. If nothing is compared, there are none. The marks are left as they are with all variables.
    """
    written = written_parameters(program)
    written += [s for s in program.parameters if changes_list(s.memory)]
    found: dict[int, list[int]] = {}
    lacks_one = False
    try:
        for i in variables if compares(program) else ():
            _unmark(program)
            mark_active(program, {i})
            ways = [*map(is_active, outputs), *[s.memory.root().is_active for s in written]]  # type: ignore[union-attr]
            found[i] = [k for k, is_one in enumerate(ways) if is_one]
            lacks_one = lacks_one or (not all(ways) and compares(program))
    finally:
        _unmark(program)
        mark_active(program, variables)
    return found, lacks_one


def _unmark(program: Program) -> None:
    for slot in program.slots:
        slot.is_active = False
        for part in lists_of(slot.memory):
            part.root().is_active = False
    for block in blocks_of(program.body):
        for op in block.ops:
            if op.out is not None:
                op.out.is_active = False
                if op.out.memory is not None:
                    op.out.memory.root().is_active = False
