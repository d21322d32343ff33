"""Elementwise operations as code, for arrays of float64 on one tape.

What :mod:`autodiff.elementwise` does with a function and arguments of given types, written out
after a number of calls: guards, the operation itself and its node. `NO_RULE` leaves a call to the
others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import elementwise, level_source, ways
from autodiff.operation import Operation
from autodiff.tape import Forward
from autodiff.tracer import Tracer, wrap
from chainrules_core import frule, rrule
from chainrules_core.rule import Rule

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
_calls: dict[tuple, int] = {}


def _forget(rule: Rule) -> None:
    _calls.clear()


rrule.watch(_forget)
frule.watch(_forget)

_TEMPLATE = (
    """
def way({parameters}):
    tape = {first}._tape
    if not tape.records:
        return pushed_way({parameters}){same_tape}
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
        return way_over({parameters})"""


def _is_recorded(y: Any) -> bool:
    """Whether a value of another kind is recorded; to make it twice would warn twice."""
    return type(y) is float or getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")


def note(f: Callable, args: tuple, result: Any) -> None:
    """Note a call that was recorded; after a few the code for such calls is written."""
    if type(result) is not Tracer or not (result._tape.records or type(result._tape) is Forward):
        return
    y = result._value
    if type(y) is not _ndarray or y.dtype is not _FLOAT64:
        return
    key = (f, *map(type, args))
    _calls[key] = n = _calls.get(key, 0) + 1
    if n == ways.OFTEN:
        _write(f, args)


def _write(f: Callable, args: tuple) -> None:
    operation = Operation(f, args)
    plan = elementwise.plan_of(f, *operation.kinds)
    if plan is None:
        return
    operation.make_node(plan)
    values = [
        _VALUE.format(
            i=i,
            is_float64=f" or x{i}.dtype is not FLOAT64" if operation.kinds[i] is _ndarray else "",
            parameters=operation.text["parameters"],
        )
        for i in operation.wanted
    ]
    scope = {**operation.scope, "is_recorded": _is_recorded, "wrap": wrap}
    # Few functions are used on all kinds of levels.
    ways.define_later("pushed_way", scope, lambda: level_source.pushed_way(operation))
    ways.define_later("way_over", scope, lambda: level_source.way_over(operation))
    source = _TEMPLATE.format(**operation.text, values="\n".join(values))
    ways.add(f, args, {}, ways.define("way", source, scope))
