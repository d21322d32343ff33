"""Plans for functions of a list of arrays, such as ``np.concatenate`` and ``np.stack``.

The general path inspects every element of a list, at many times the cost of the call. A plan relies
on the list holding arrays and numbers, and propagates each part of the cotangent to its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import CONFIG, NO_RULE
from autodiff.dispatch.plan_types import KEYED, SIMPLE, HandNode, OfHand, bound_call
from autodiff.trace.tape import Cotangents, Tape
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import AbstractZero, ProjectTo, Tangent, rrule, unthunk
from chainrules_core.calling.frame import checked_pair, sorted_bars
from chainrules_core.errors import CotangentError
from chainrules_core.registry.entries import key_of
from chainrules_core.rule import HandRule

_ndarray = np.ndarray
_VALUES = frozenset({float, int, np.float64, np.float32, _ndarray})
_OF_ARRAYS = {_ndarray}


class ListNode(HandNode):
    """An array made from the parts of a list, some of them traced.

    Attributes
    ----------
    parents : tuple of int
        The places of those that are traced.
    elements : list of int
        Where each of them stands in the list.
    kind, size : type, int
        The list's class, list or tuple, and how many parts it has.
    """

    __slots__ = ("elements", "kind", "size")

    def __init__(
        self, plan: OfHand, parents: tuple, elements: list, pullback: Callable, parts: Any
    ) -> None:
        super().__init__(plan, parents, pullback)
        self.elements = elements
        self.kind, self.size = type(parts), len(parts)

    @property
    def positions(self) -> tuple[int, ...]:
        """The list's position among the bound arguments, once for each parent."""
        return self.plan.wanted * len(self.parents)

    def pull(self, y_bar: Any) -> list:
        """Return a cotangent for each parent."""
        (position,) = self.plan.wanted
        bar = self.pullback(unthunk(y_bar))
        if type(bar) is not Tangent[self.kind] or len(self.plan.places) > 1:
            bar = unthunk(
                sorted_bars(self.rule, self.pullback, len(self.plan.places), bar)[1:][position]
            )
            if isinstance(bar, AbstractZero):
                return [bar] * len(self.parents)
        known = type(bar) is Tangent[self.kind] or (type(bar) is _ndarray and bar.ndim > 0)
        if not known or len(bar) != self.size:
            kind = self.kind.__name__
            reason = (
                f"it has not one part for each of the {self.size} in the {kind}. Return "
                f"Tangent[{kind}](...) with a part for each"
            )
            raise CotangentError(self.rule, position, bar, reason)
        parts = list(bar)
        return [unthunk(parts[i]) for i in self.elements]

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate the parts of the list's cotangent to its values."""
        for position, (j, x_bar) in enumerate(zip(self.parents, self.pull(y_bar), strict=True)):
            bars.add(j, x_bar, self, position, 0)


class OfList(OfHand):
    """A plan for a function whose first argument is a list."""

    __slots__ = ()

    def run_list(self, values: list, tape: Tape, parents: list, elements: list) -> Any:
        """Make the call and record it; `NO_RULE` where the plan does not apply."""
        options = self.given(values) if self.options else self.fixed
        result = self.function(*self.bound(values), **options)
        if result is None:
            return NO_RULE
        y, pullback = checked_pair(self.rule, result)
        is_array = type(y) is _ndarray
        if is_array:
            if y.dtype.kind not in "fc" or y.base is not None:
                return NO_RULE
        elif type(y) is not float and type(y) is not np.float64:
            return NO_RULE
        node = ListNode(self, tuple(parents), elements, pullback, values[0])
        node.space = ProjectTo(y)
        return (Tracer if is_array else FloatTracer)(y, tape, tape.add(node))


_plans: dict[tuple, OfList | None] = caches.register("sequence plans", {}, of_rules=True)


def _made(f: Callable, plain: list, n: int, names: tuple[str, ...]) -> OfList | None:
    """Make the plan of a call with a list; None where plans do not apply."""
    entry = rrule.entry(f) if type(f) in KEYED and key_of(f)[0] is f else None
    if entry is None or entry.takes_functions:
        return None
    resolved = entry.resolve(tuple(plain[:n]), dict(zip(names, plain[n:], strict=True)), CONFIG)
    if resolved is None or not isinstance(resolved[0], HandRule) or resolved[0].takes_config:
        return None
    rule = resolved[0]
    call = bound_call(rule, n, names, {0})
    if call is None:
        return None
    call.has_tuples = True
    if len(call.wanted) != 1 or not all(type(v) in SIMPLE for v in call.fixed.values()):
        return None
    return OfList(rule, call)


def planned_with_list(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` on a list or tuple of arrays and numbers, some traced; else `NO_RULE`."""
    rest = [*args[1:], *kwargs.values()]
    found = _taken_apart(args[0])
    if found is None:
        return NO_RULE
    tape, parents, elements, plain, kinds = found
    for a in rest:
        if type(a) not in SIMPLE or type(a) is _ndarray:
            return NO_RULE
    if len(parents) < len(plain) and _ndarray in kinds:
        plain = _kept(plain, elements, tape)
    parts = plain if type(args[0]) is list else tuple(plain)
    key = (f, type(args[0]), frozenset(kinds), *map(type, rest), *kwargs)
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plans[key] = _made(f, [parts, *rest], len(args), tuple(kwargs))
    except TypeError:  # a function that cannot be hashed
        return NO_RULE
    if plan is None:
        return NO_RULE
    if kinds == _OF_ARRAYS:
        dispatch_cache.add(f, args, kwargs, _way(plan))
    return plan.run_list([parts, *rest], tape, parents, elements)


def _taken_apart(parts: Any) -> tuple[Tape, list[int], list[int], list[Any], set] | None:
    """Return the tape, places and numbers of the traced parts, all plain parts, and their types.

    None where they are of several levels, nothing is traced, or other things are among them.
    """
    tape: Any = None
    parents: list[int] = []
    elements: list[int] = []
    plain: list[Any] = []
    kinds: set[Any] = set()
    for i, a in enumerate(parts):
        kind = type(a)
        if kind is Tracer or kind is FloatTracer:
            if a._tape is not tape:
                if tape is not None or not a._tape.records:
                    return None
                tape = a._tape
            parents.append(a._index)
            elements.append(i)
            a = a._value
            kind = type(a)
        if kind not in _VALUES or (kind is _ndarray and a.dtype.kind not in "fc"):
            return None
        kinds.add(kind)
        plain.append(a)
    return None if tape is None else (tape, parents, elements, plain, kinds)


def _way(plan: OfList) -> Callable:
    """Return the code for a list of arrays only, by the types of the arguments."""

    def way(parts: Any, *args: Any, **kwargs: Any) -> Any:
        for a in kwargs.values():
            if type(a) not in SIMPLE or type(a) is _ndarray:
                return NO_RULE
        found = _taken_apart(parts)
        if found is None or found[4] != _OF_ARRAYS:
            return NO_RULE
        tape, parents, elements, plain, _ = found
        if len(parents) < len(plain):
            plain = _kept(plain, elements, tape)
        values = [plain if type(parts) is list else tuple(plain), *args, *kwargs.values()]
        return plan.run_list(values, tape, parents, elements)

    return way


def _kept(plain: list, traced: list[int], tape: Tape) -> list:
    """Return the parts, with plain arrays replaced by what a pullback may keep of them."""
    return [
        tape.kept(a) if type(a) is _ndarray and i not in traced else a for i, a in enumerate(plain)
    ]
