"""Elementwise operations as code, for arrays of float64 on one tape.

What :mod:`autodiff.elementwise` does with a function and arguments of given types, written out
after a few calls: guards, the operation itself and its node. `NO_RULE` leaves a call to the others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import elementwise, node_source, ways
from autodiff.call import NO_RULE
from autodiff.tape import place_of
from autodiff.tracer import FloatTracer, Tracer, wrap
from chainrules_core import ProjectTo, frule, rrule
from chainrules_core.projection import KNOWN_SPACES
from chainrules_core.rule import Rule
from chainrules_core.rules import name_of

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
_TRACED = (Tracer, FloatTracer)
SYMBOLS = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.pow: "**",
}
"""Operators and what stands for them in written code."""
_calls: dict[tuple, int] = {}


def _forget(rule: Rule) -> None:
    _calls.clear()


rrule.watch(_forget)
frule.watch(_forget)

_TEMPLATE = (
    """
def way({parameters}):
    tape = {first}._tape
    if not tape.records{same_tape}:
        return NO_RULE
{values}
    y = {expression}
    if type(y) is ndarray and y.dtype is FLOAT64:
        try:
            space = FLOAT64_SPACES[y.shape]
        except KeyError:
            space = ProjectTo(y)
    elif is_recorded(y):
        space = ProjectTo(y)
    else:
        return NO_RULE
{kept}
    node = new(Node)
{parents}
    node.values = ({seen},)
    node.space = space
    nodes = tape.nodes
    place = len(nodes)
    nodes.append(node)
    if nodes[place] is not node:
        place = place_of(node, nodes)
    if type(y) is not ndarray:
        return wrap(y, tape, place)
"""
    + ways.NEW_TRACER
    + """\
    return made
"""
)
_VALUE = """\
    x{i} = _{i}._value
    if type(x{i}) is not kind{i}{is_float64}:
        return NO_RULE"""
_KEPT = """\
    known = tape.held.get(id(_{i}))
    x{i} = _{i} if known is not None and known() is _{i} else tape.kept(_{i})"""


def _is_recorded(y: Any) -> bool:
    """Whether a value of another kind is recorded; to make it twice would warn twice."""
    return type(y) is float or getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")


def note(f: Callable, args: tuple, result: Any) -> None:
    """Note a call that was recorded; after a few the code for such calls is written."""
    if type(result) is not Tracer or not result._tape.records:
        return
    y = result._value
    if type(y) is not _ndarray or y.dtype is not _FLOAT64:
        return
    key = (f, *map(type, args))
    _calls[key] = n = _calls.get(key, 0) + 1
    if n == ways.OFTEN:
        _write(f, args)


def _write(f: Callable, args: tuple) -> None:
    traced = [type(a) in _TRACED for a in args]
    kinds = [type(a._value) if t else type(a) for a, t in zip(args, traced, strict=True)]
    plan = elementwise.plan_of(f, *kinds)
    if plan is None:
        return
    wanted = sum(1 << i for i, t in enumerate(traced) if t)
    keep_y, *keeps = plan.keeps[wanted]
    names = [f"_{i}" for i in range(len(args))]
    first, *others = [name for name, t in zip(names, traced, strict=True) if t]
    inputs = [f"x{i}" if t else f"_{i}" for i, t in enumerate(traced)]
    values = [
        _VALUE.format(
            i=i, is_float64=f" or x{i}.dtype is not FLOAT64" if kinds[i] is _ndarray else ""
        )
        for i, t in enumerate(traced)
        if t
    ]
    is_held = [
        not t and keep and kind is _ndarray
        for t, keep, kind in zip(traced, keeps, kinds, strict=True)
    ]
    read = [f"x{i}" if is_held[i] else given for i, given in enumerate(inputs)]
    seen = ["y" if keep_y else "None"]
    seen += [name if keep else "None" for name, keep in zip(read, keeps, strict=True)]
    node_class = node_source.node_class(plan.rule, kinds, [i for i, t in enumerate(traced) if t])
    places = [f"_{i}._index" for i, t in enumerate(traced) if t]
    parents = zip(node_source.PARENTS[len(places)], places, strict=True)
    symbol = SYMBOLS.get(f) if len(args) == 2 else None
    expression = f"{inputs[0]} {symbol} {inputs[1]}" if symbol else f"f({', '.join(inputs)})"
    source = _TEMPLATE.format(
        parameters=", ".join(names),
        first=first,
        same_tape="".join(f" or {other}._tape is not tape" for other in others),
        values="\n".join(values),
        expression=expression,
        kept="\n".join(_KEPT.format(i=i) for i, held in enumerate(is_held) if held),
        parents="\n".join(f"    node.{parent} = {place}" for parent, place in parents),
        seen=", ".join(seen),
    )
    scope = {
        **{f"kind{i}": kind for i, kind in enumerate(kinds)},
        "FLOAT64": _FLOAT64,
        "FLOAT64_SPACES": KNOWN_SPACES[_FLOAT64],
        "NO_RULE": NO_RULE,
        "Node": node_class,
        "ProjectTo": ProjectTo,
        "Tracer": Tracer,
        "__name__": __name__,  # for filters of warnings
        "f": f,
        "is_recorded": _is_recorded,
        "ndarray": _ndarray,
        "new": object.__new__,
        "place_of": place_of,
        "wrap": wrap,
    }
    exec(compile(source, f"<call of {name_of(f)}>", "exec"), scope)
    ways.add(f, args, {}, scope["way"])
