"""Activity analysis: which values and which memory depend on the differentiated variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff.structured.callables.recursive_calls import RecursiveCallee, RuleLike
from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WITHOUT_VALUES,
    WRITES,
    Block,
    For,
    FunctionIR,
    Memory,
    Op,
    Slot,
    Value,
    blocks_of,
    changes_list,
    flat,
    lists_of,
    nodes_of,
    ops_of,
    tests_of,
    without_tuples,
)
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.writing.rules.bound_rules import is_elementwise
from autodiff.trace.checks.conversions import OF_SHAPE
from autodiff.trace.checks.decisions import MaySearch
from chainrules_core import AbstractZero
from chainrules_core.rule import Rule

WITHOUT_SWEEP = frozenset({"read", "view", "form", "tuple", "const", "item", "length", "draw"})
"""Operations without a sweep of their own.

Their results have no derivative, or share the cotangent or shadow of their argument.
"""


def remove_dead_bindings(program: FunctionIR) -> None:
    """Remove bindings of variables that are never read, such as parameters of inlined functions."""
    blocks = list(blocks_of(program.body))
    returned = set(flat(program.returned))
    live: set[Slot] = set()
    while True:
        before = len(live)
        for block in blocks:
            escaping = {v for slot, v in block.writes.items() if slot in live}
            for op in block.ops:
                v = op.out
                if op.code == "read" and (v.uses or v in escaping or v in returned):
                    live.add(op.data)
        if len(live) == before:
            break
    for block in blocks:
        block.writes = {slot: v for slot, v in block.writes.items() if slot in live}
    for slot in set(program.slots) - live:
        slot.reads = 0
    # An array that only dead variables hold in turn is bound once, so its shadow is made once.
    loops = {node.slot for node in nodes_of(program.body) if isinstance(node, For)}
    kept = live | loops | set(program.parameters)
    program.slots = [slot for slot in program.slots if slot in kept]


def written_parameters(program: FunctionIR) -> list[Slot]:
    """Return the parameters that the function may write into."""
    held = parameters_held(program)
    written: set[Slot] = set()
    for op in ops_of(program.body):
        if op.code in WRITES:
            written |= parameters_of(op.args[0], held)
    return [slot for slot in program.parameters if slot in written]


def parameters_held(program: FunctionIR) -> dict[Slot, set[Slot]]:
    """Return for each variable the parameters whose array, or a view of it, it may hold.

    This is more precise than `Memory`: after ``u = new`` both variables have one memory, whichever
    parameter they hold.
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
    """Return the parameters that an array may alias."""
    op = v.op
    if op.code == "read":
        return held.get(op.data, set())
    if op.code == "item":  # any array that was put into the list
        return {s for s in held if s.memory is not None and s.root is v.root}
    if op.code in ("load", "join") or (op.code == "call" and makes_new(op)):
        return set()
    given = [a for a in op.operands if a.kind.is_array or a.kind.parts]
    return set[Slot]().union(*[parameters_of(a, held) for a in given])


def is_active(value: Value) -> bool:
    """Whether a value depends on the differentiated variables."""
    if value.kind.has_memory:
        return value.memory is not None and value.root.is_active
    if value.op.code == "tuple":
        return any(map(is_active, value.op.args))
    return value.is_active


def depends(op: Op) -> bool:
    """Whether the result of a call depends on the differentiated variables."""
    if isinstance(op.rule, Rule) and op.rule.kind == "non_differentiable":
        return False
    if type(op.f) is RecursiveCallee and op.f.returned is not None and not is_active(op.f.returned):
        return False  # as far as the fixed point iteration knows
    return any(map(is_active, _differentiable_arguments(op)))


def _differentiable_arguments(op: Op) -> list[Value]:
    """Return the arguments of a call whose partial derivative is not identically zero."""
    if not is_elementwise(op):
        return op.operands
    pairs = zip(op.rule.args, op.rule.rule.partials[0], strict=False)
    return [
        a
        for a, partial in pairs
        if isinstance(a, Value) and not isinstance(partial.constant, AbstractZero)
    ]


def mark_active(program: FunctionIR, variables: set[int]) -> None:
    """Mark values and memory that depend on the parameters at these positions.

    Memory is active as a whole: one active value written into an array activates all its views.
    """
    for i in variables:
        slot = program.parameters[i]
        if slot.memory is not None:
            slot.root.is_active = True
        else:
            slot.is_active = True
    blocks = list(blocks_of(program.body))
    # To a fixed point. `sum`, unlike `any`, visits all blocks in each round.
    while sum(map(_mark_block, blocks)) + _mark_list_parameters(program):
        pass


def _mark_list_parameters(program: FunctionIR) -> bool:
    """Mark list parameters as a whole, with the lists in them, if one level is active."""
    changed = False
    for slot in program.parameters:
        held = [part.root() for part in lists_of(slot.memory)]
        if any(part.is_active for part in held) and not all(part.is_active for part in held):
            changed = True
            for part in held:
                part.is_active = True
    return changed


def unpacked_parts(op: Op, block: Block) -> list[Value]:
    """Return the values that the block unpacks from the tuple that a call returns."""
    return [part.out for part in block.ops if part.code == "part" and part.args[0] is op.out]


def _mark_block(block: Block) -> bool:
    changed = False
    for op in block.ops:
        changed |= _mark_op(op)
        v = op.out
        if v is None or op.code != "call" or not (v.kind.parts and v.is_active):
            continue
        places = {part.op.data for part in unpacked_parts(op, block)}
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
        if is_active(op.args[1]) and not op.args[0].kind.is_inexact:
            raise UnsupportedError("a value with a derivative in an array of integers")
        return is_active(op.args[1]) and _activate(op.args[0])
    if op.code in ("list", "dict") or op.code in LIST_WRITES:
        return _mark_list(op)
    value: Any = op.out
    if op.code == "call" and value.kind.parts:  # operations `part` follow it
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
    """Mark a list or dict if one of its items is active."""
    xs, items = (op.args[0], op.args[1:2]) if op.code in LIST_WRITES else (op.out, op.args)
    found = any(map(is_active, items)) or any(x.is_active for x in xs.root.within())
    return found and _activate(xs)


def _activate(value: Value) -> bool:
    """Mark a value or its memory as active; False if it is already."""
    if value.kind.has_memory:
        assert value.memory is not None
        memory = value.root
        if memory.is_active:
            return False
        memory.is_active = True
        return True
    value.is_active = True
    return True


_ROUNDINGS = frozenset({int, round, math.floor, math.ceil, math.trunc})
_CONVERSIONS = frozenset({bool, math.frexp})


def is_rounded(op: Op) -> bool:
    """Whether an active number is rounded to an integer, which has no derivative."""
    if op.code != "call" or op.f not in _ROUNDINGS or not is_active(op.args[0]):
        return False
    return op.out.kind.classes == {int}


def check_conversions(program: FunctionIR) -> None:
    """Raise if the function converts an active value to text, a bool, …: tracing decides then."""
    for op in ops_of(program.body):
        if op.code != "call" or not any(map(is_active, op.args)):
            continue
        is_text = op.out.kind.is_text
        is_other = op.f in _ROUNDINGS and not is_rounded(op)
        if is_text or is_other or op.f in _CONVERSIONS:
            raise UnsupportedError(f"{op.f} of a value that depends on the variables")


def check_recursion(program: FunctionIR, has_checkpoints: bool) -> None:
    """Raise if the sweep of a recursive function could not serve its recursive calls."""
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
    """Whether a variable of the program holds a value that is active."""
    return slot.is_active if slot.memory is None else slot.root.is_active


def is_unchanged_by(memory: Memory, nodes: list) -> bool:
    """Whether nodes neither write into arrays in this memory nor make such arrays.

    Their sweep then only adds to the shadows of these arrays.
    """
    for op in ops_of(nodes):
        x = op.args[0] if op.code in WRITES else op.out
        if x is None or x.memory is None or x.root is not memory:
            continue
        if op.code in WRITES or op.code not in ("read", "view", "item"):
            return False
    return True


def keeps_shadow(write: Op, made: Op, ops: list[Op]) -> bool:
    """Whether the shadow of a written array survives until the sweep of the written value is done.

    `made` computes the value that `write` stores. The sweep of the operations between them must not
    touch the shadow, and neither must the additions to the arguments of `made`.
    """
    memory = write.args[0].root
    return keeps_shadow_between(write, made, ops) and not _has_active(
        memory, [write.args[1], *made.args]
    )


def keeps_shadow_between(write: Op, made: Op, ops: list[Op]) -> bool:
    """Whether the sweep of the operations between two does not touch the written array's shadow."""
    memory = write.args[0].root
    between = ops[ops.index(made) + 1 : ops.index(write)]
    between = [op for op in between if op.code not in WITHOUT_SWEEP]
    return not _has_active(memory, [v for op in between for v in (op.out, *op.operands)])


def _has_active(memory: Memory, values: list[Value | None]) -> bool:
    """Whether one of the values is an active array in this memory."""
    arrays = without_tuples([v for v in values if v is not None])
    return any(v.memory and is_active(v) and v.root is memory for v in arrays)


def _loses_derivatives(program: FunctionIR) -> bool:
    """Whether a result without derivative is computed from active values.

    It may decide a branch: a truth value, an integer, or a float such as a sign that is compared
    later.
    """
    return any(map(is_active, tests_of(program.body))) or bool(_without_derivatives(program))


def _without_derivatives(program: FunctionIR) -> list[Value]:
    """Return the results without derivative that are computed from active values."""
    return [
        op.out
        for op in ops_of(program.body)
        if op.code == "call"
        and op.f not in OF_SHAPE
        and not is_active(op.out)
        and any(map(is_active, op.args))
    ]


def _search(program: FunctionIR) -> MaySearch:
    """Return where what is computed without derivative may decide a branch: numbers may inside.

    Arrays such as masks may, if a test, a trip count, a single truth value, what another function
    does, or a result that is no float depends on them.
    """
    if any(map(is_active, tests_of(program.body))):  # whether a float is zero
        return MaySearch.INSIDE
    found = _without_derivatives(program)
    return _decided(found, program) if all(v.kind.is_array for v in found) else MaySearch.INSIDE


def _decided(values: list[Value], program: FunctionIR) -> MaySearch:
    """Return where inactive values may decide what happens."""
    known: set[Value | Slot | Memory] = {v.root if v.memory is not None else v for v in values}

    def follows(v: Value) -> bool:
        return (v.root if v.memory is not None else v) in known

    blocks, before = list(blocks_of(program.body)), 0
    while len(known) > before:
        before = len(known)
        for block in blocks:
            for op in block.ops:
                if op.code == "form" or op.f in OF_SHAPE:
                    continue  # tracing takes lengths for constants, too
                is_bound = op.code == "read" and op.data in known
                if is_bound or any(map(follows, op.operands)):
                    if isinstance(op.f, RuleLike) or _is_truth_value(op.out):
                        return MaySearch.INSIDE
                    v = op.args[0] if op.code in WRITES | LIST_WRITES else op.out
                    if v is not None and not is_active(v):
                        known.add(v.root if v.memory is not None else v)
            known.update(slot for slot, v in block.writes.items() if follows(v))
    counts = [v for node in nodes_of(program.body) if isinstance(node, For) for v in node.bounds]
    results = [v for v in flat(program.returned) if not v.kind.is_inexact and follows(v)]
    if any(map(follows, [*tests_of(program.body), *counts])):
        return MaySearch.INSIDE
    written = [s for s in program.parameters if s.memory is not None and s.root in known]
    kinds = [x.kind for x in [*results, *written] if not (x.kind and x.kind.is_inexact)]
    if any(kind is None or not kind.is_array for kind in kinds):
        return MaySearch.INSIDE
    return MaySearch.BY_RESULTS if kinds else MaySearch.NOWHERE


def _is_truth_value(v: Value | None) -> bool:
    return v is not None and not v.kind.is_array and v.kind.classes <= {bool, np.bool_}


def reached_results(
    program: FunctionIR, variables: set[int], outputs: list[Value]
) -> tuple[dict[int, list[int]], MaySearch]:
    """Return the results that each variable reaches, and where one that lacks some may decide.

    Results are the outputs, then the arrays and lists that are written into. The dict is empty if
    no active value loses its derivative. The activity of all variables is marked afterwards.
    """
    written = written_parameters(program)
    written += [s for s in program.parameters if changes_list(s.memory)]
    found: dict[int, list[int]] = {}
    search = MaySearch.NOWHERE
    try:
        for i in variables if _loses_derivatives(program) else ():
            _unmark(program)
            mark_active(program, {i})
            reached = [*map(is_active, outputs), *[s.root.is_active for s in written]]
            found[i] = [k for k, is_reached in enumerate(reached) if is_reached]
            if not all(reached):
                search = max(search, _search(program))
    finally:
        _unmark(program)
        mark_active(program, variables)
    return found, search


def _unmark(program: FunctionIR) -> None:
    for slot in program.slots:
        slot.is_active = False
        for part in lists_of(slot.memory):
            part.root().is_active = False
    for op in ops_of(program.body):
        if op.out is not None:
            op.out.is_active = False
            if op.out.memory is not None:
                op.out.root.is_active = False
