"""Code generation for linear functions in forward mode, and on a tape inside another trace level.

:mod:`autodiff.fastpath.codegen.plan_code` uses it for calls that are linear in their only traced
argument. In forward mode, the tangent of the result is the function applied to the tangent. On a
tape inside another level, the primal is the same call on that outer level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls, dispatch_cache
from autodiff.dispatch.plan_types import LinearNode, OfLinear
from autodiff.trace.tracer import bare
from chainrules_core import frule

_ndarray = np.ndarray

_ON = (
    """
def on({parameters}):
    tape = {first}._tape
    if type(tape) is not Forward:
        return NO_RULE
    x, dot = {first}._value, {first}._index
    if type(x) is not kind or (type(dot) is not ndarray and type(dot) not in NUMBERS):
        return NO_RULE
{constants}
    tape.check_open()
    y = {value}
    y_dot = {tangent}
    if type(y) is ndarray:
        if type(y_dot) is not ndarray or y_dot.dtype is not y.dtype or y_dot.shape != y.shape:
            return NO_RULE
        if y.dtype is not FLOAT64 or (y.ndim > 1 and y_dot.strides != y.strides):
            return NO_RULE
    elif type(y) not in NUMBERS or type(y_dot) is not type(y):
        return NO_RULE
    place = y_dot
"""
    + dispatch_cache.NEW_TRACER
    + """\
    if type(y) is ndarray:
        base = y.base
        if base is not None or y is x:{view}
            return plan.note_memory(made, ({given}), {options})
    return made
"""
)
_OVER = (
    """
def over({parameters}):
    tape = {first}._tape
    x = {first}._value
    if type(x) is not Tracer or type(x._value) is not kind or x._tape is CONSTANT:
        return NO_RULE
{constants}
    y = {again}
    if y is NO_RULE:
        y = call(f, ({positional}), {by_name})
    if type(y) is not Tracer or y._tape is CONSTANT:
        return NO_RULE
    beneath = y._value
    if type(beneath) is ndarray:
        if beneath.dtype is not FLOAT64:
            return NO_RULE
    elif type(beneath) not in NUMBERS:
        return NO_RULE
    node = LinearNode(plan, ({first}._index,), [{seen}], {options}, True)
    node.space = ProjectTo(beneath)
    tape.nested = True
"""
    + dispatch_cache.ADD_NODE
    + dispatch_cache.NEW_TRACER
    + """\
    if type(beneath) is ndarray:
        base, x = beneath.base, x._value
        if base is not None or beneath is x:{view}
            return plan.note_memory(made, ({given}), {options})
    return made
"""
)
_VIEW = """
            if y is not {first}._value and base is not None and (base is x or base is x.base):
                note_origin(made, Remade({first}, f, {options}, ({bound}), {i}))
                return made"""


def for_levels(generator: Any) -> Callable[[str], Callable] | None:
    """Return a function that generates the code for other levels; None if that is impossible.

    Call it with ``"on"`` for code in forward mode, or with ``"over"`` for code on a tape whose
    values one outer level traces. It does not refer to the generator, which holds the arguments of
    a call.
    """
    plan = generator.plan
    traced = [i for i, is_traced in enumerate(generator.traced) if is_traced]
    if not isinstance(plan, OfLinear) or len(traced) != 1 or not generator.is_array(traced[0]):
        return None
    rule = plan.rule
    if (rule.joint and len(rule.argnums) != 1) or plan.sources != tuple(traced):
        return None
    entry = frule.entry(rule.f)  # in forward mode, another rule may match
    plain = [bare(v) for v in generator.values]
    named = dict(zip(generator.names, plain[generator.n :], strict=True))
    resolved = (
        None if entry is None else entry.resolve(tuple(plain[: generator.n]), named, calls.CONFIG)
    )
    if resolved is None or resolved[0] is not rule:
        return None
    text, scope, kind = _text(generator, traced[0]), generator.scope, type(plain[traced[0]])

    def write(name: str) -> Callable:
        known = {**scope, "LinearNode": LinearNode, "call": calls.call, "kind": kind}
        template = _ON if name == "on" else _OVER
        return dispatch_cache.define(name, template.format(**text), known)

    return write


def _text(generator: Any, i: int) -> dict[str, Any]:
    """Return the fields of the templates, for a call whose value `i` is traced."""
    plan = generator.plan
    generator.constants()
    constants = "".join(f"    {line}\n" for line in generator.lines)
    generator.lines = []
    plain, first = [*generator.plain], generator.given[i]
    bound = [
        plain[place] if place >= 0 else generator.constant(default)
        for place, default in plan.places
    ]
    options = [f"{name!r}: {plain[k]}" for name, k in plan.options]
    options += [f"{name!r}: {generator.constant(value)}" for name, value in plan.fixed.items()]
    (wanted,) = plan.wanted
    seen = [f"ProjectTo({b})" if k in plan.as_spaces else b for k, b in enumerate(bound)]
    seen[wanted] = f"tape.nodes[{first}._index].space"
    bound[wanted] = first
    plain[i] = "x"
    by_name = zip(generator.names, plain[generator.n :], strict=True)
    text = {
        "again": generator.call("way", plain),
        "bound": "".join(f"{b}, " for b in bound),
        "by_name": "{" + ", ".join(f"{name!r}: {x}" for name, x in by_name) + "}",
        "constants": constants,
        "first": first,
        "given": "".join(f"{x}, " for x in generator.given),
        "options": "{" + ", ".join(options) + "}",
        "parameters": generator.parameters,
        "positional": "".join(f"{x}, " for x in plain[: generator.n]),
        "seen": ", ".join(seen),
        "value": generator.call("f", plain),
    }
    plain[i] = "dot"
    text["tangent"] = generator.call("f", plain)
    text["view"] = _VIEW.format(**text, i=wanted)
    return text
