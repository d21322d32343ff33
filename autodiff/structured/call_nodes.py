"""Calls of structured programs: which arguments they accept, and the call as a tape node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.dispatch.arguments import constant_array, of_level
from autodiff.dispatch.call import outputs
from autodiff.intercept.syntax import attributes
from autodiff.intercept.syntax.stores import store
from autodiff.mutation.assignment import is_writeable
from autodiff.mutation.memory_layout import overlaps
from autodiff.structured.argument_forms import KNOWN, PLAIN, rebuilt_from
from autodiff.structured.form.kinds import is_member
from autodiff.structured.form.plain_classes import is_plain_class
from autodiff.structured.list_arguments import ListArgument
from autodiff.structured.message_queue import warnings_may_raise
from autodiff.trace.nodes import CallRule
from autodiff.trace.tape import CONSTANT, Tape
from autodiff.trace.trace_stack import is_held, program_tape
from autodiff.trace.tracer import TRACERS, bare
from chainrules_core import AbstractZero, ZeroTangent, unthunk
from chainrules_core.rule import name_of

if TYPE_CHECKING:
    from autodiff.structured.runtime import Structured

_SINGLE = (np.float32, np.complex64, np.int32)


def plain_and_active(leaves: tuple) -> tuple[tuple, tuple[int, ...]]:
    """Return the untraced values of arguments, and the positions of the active ones."""
    active = [
        i for i, a in enumerate(leaves)
        if (type(a) in TRACERS and a._tape is not CONSTANT and not a._tape.program)
        or (type(a) is ListArgument and a.variables)
    ]  # fmt: skip
    return tuple(map(bare, leaves)), tuple(active)


def key_of(values: tuple, active: tuple[int, ...]) -> tuple | None:
    """Return a specialization key for arguments; None if no program accepts them."""
    key: list = []
    are_plain: dict[type, bool] = {}
    for i, value in enumerate(values):
        cls = type(value)
        is_active = i in active
        if cls is np.ndarray:
            if value.dtype.kind not in ("fc" if is_active else "fciub"):
                return None
            key.append((value.dtype, value.ndim, is_active))
        elif cls in KNOWN:
            key.append(value)
        elif cls in PLAIN or (cls in _SINGLE and not is_active):
            key.append((cls, is_active))
        elif cls is ListArgument:
            key.append(value.key)
        else:
            if cls not in are_plain:
                are_plain[cls] = is_plain_class(cls)
            if are_plain[cls] and TRACERS.isdisjoint(map(type, vars(value).values())):
                key.append((cls, id(value)))  # each call compares its attributes
            elif is_member(value):
                key.append(value)
            else:
                return None
    return tuple(key)


def can_run(program: Structured, args: tuple, outside: list) -> bool:
    """Whether a program can do what the function does.

    The arguments that it writes into must take what it stores and not be aliased, and its warnings
    be no errors.
    """
    if program.program.has_warnings and warnings_may_raise():
        return False
    if not (program.written or program.changed_lists):
        return True
    active = program.is_active_output[program.n_outputs :]
    if not all(map(_can_store, [args[i] for i in program.written], active)):
        return False
    if program.changed_lists:
        held = [x for x in (*args, *outside) if type(x) is ListArgument]
        own = [id(xs) for x in held for xs in x.own]
        if len(set(own)) < len(own) or program.reads_outside(own):
            return False
    return not shares_what_it_writes(program, (*map(bare, args), *outside))


def _can_store(x: Any, is_active: bool) -> bool:
    """Whether a call may store new contents into an argument when its program has ended.

    A plain array takes only plain values, and none while a pullback holds it.
    """
    if not is_writeable(bare(x)):
        return False
    is_plain = type(x) not in TRACERS
    return not (is_plain and (is_active or program_tape() or is_held(x) or overlaps(x)))


def kept_of(program: Structured, i: int, x: np.ndarray, level: Tape) -> np.ndarray:
    """Return what a run may keep of a plain argument: a copy if the call will store into it."""
    return x.copy("K") if i in program.written else level.kept(x)


def shares_what_it_writes(program: Structured, values: tuple) -> bool:
    """Whether an argument that the program writes into may alias another array."""
    if not program.written:
        return False
    arrays = [(i, x) for i, x in enumerate(values) if type(x) is np.ndarray]
    return any(
        np.may_share_memory(values[i], x) for i in program.written for j, x in arrays if i != j
    )


def with_attributes(program: Structured, result: Any, objects: list) -> Any:
    """Bind the attributes that a call has assigned to `objects`; return the function's result."""
    if not program.bound:
        return result
    result, *held = result
    for (k, name), x in zip(program.bound, held, strict=True):
        attributes.write(x, objects[k], name)
    return result


def variables_of(program: Structured, args: tuple) -> list[tuple]:
    """Return the active numbers and arrays, each with the position of its argument."""
    found: list[tuple] = []
    for i in program.active:
        a = args[i]
        found += [(x, i) for x in a.variables] if type(a) is ListArgument else [(a, i)]
    return found


def recorded(run: Any, args: tuple, tape: Tape) -> Any:
    """Record a call on the tape, apply its writes to the arguments, and return its result."""
    program = run.program
    outs = as_node(
        run.outs, run.is_active_output, program.rule, variables_of(program, args), tape,
        run.cotangents,
    )  # fmt: skip
    return finished(program, run.with_lists(outs), args)


def rule_of(g: Callable) -> CallRule:
    """Return what the nodes of calls of a function have as their rule."""
    return CallRule(as_node, "structured", name_of(g))


def as_node(
    outs: list, is_active: list[bool], rule: CallRule, variables: list[tuple], tape: Tape,
    cotangents: Callable[[list], list],
) -> list:  # fmt: skip
    """Record a call as a node of the tape; return its outputs, traced where active.

    `variables` are the tracers that the call depends on, each with the position of its argument.
    ``cotangents(bars)`` pulls the cotangents of all outputs back to them.
    """
    outs = list(outs)
    active = [k for k, is_one in enumerate(is_active) if is_one]

    def structured_pullback(y_bar: Any) -> list:
        y_bar = unthunk(y_bar)
        bars: list[Any] = [None] * len(outs)
        for n, k in enumerate(active):
            bar = of_level(unthunk(y_bar[n] if len(active) > 1 else y_bar), CONSTANT)
            bars[k] = None if isinstance(bar, AbstractZero) else bar
        return [_of_parent(x) for x in cotangents(bars)]

    if active:
        values = tuple([outs[k] for k in active])
        traced = outputs(
            values if len(active) > 1 else values[0],
            tape,
            rule,
            tuple([a._index for a, _ in variables]),
            tuple([i for _, i in variables]),
            structured_pullback,
        )
        for k, x in zip(active, traced if len(active) > 1 else (traced,), strict=True):
            outs[k] = x
    return outs


def _of_parent(x: Any) -> Any:
    """Return a cotangent as pullbacks do; the sweep projects none that are Python's own floats."""
    if x is None:
        return ZeroTangent()
    return float(x) if type(x) is np.float64 else x


def finished(program: Structured, outs: list, args: tuple) -> Any:
    """Apply the writes of a call to its arguments, and return its result."""
    for i, x in zip(program.written, outs[program.n_outputs :], strict=False):
        store(x, args[i], ...)
    for x in args:
        if type(x) is ListArgument:
            x.forget()
    parts = [
        constant_array(y) if same is None else args[same]  # a returned argument keeps its identity
        for same, y in zip(program.same, outs[: program.n_outputs], strict=True)
    ]
    return rebuilt_from(program.returned, iter(parts), [])
