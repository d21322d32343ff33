"""Python's operators on traced values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff import python_operators
from autodiff.dispatch.call import NO_RULE, by_rule, operate_by_rule, require_rule
from autodiff.dispatch.dispatch_cache import ways_of
from autodiff.fastpath.codegen.frequent_operations import note
from autodiff.fastpath.elementwise import NOT_HERE, apply
from autodiff.mutation.assignment import adopt, assign, assign_item, frozen
from autodiff.trace.checks.decisions import asked, note as note_decision
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, untraced

_UNARY: dict[str, Callable] = {"neg": operator.neg, "pos": operator.pos, "abs": operator.abs}


def _unary(op: Callable) -> Callable:
    known = ways_of(op)

    def method(self: Tracer) -> Any:
        way = known.get(type(self))
        result = NO_RULE if way is None else way(self)
        if result is not NO_RULE:
            return result
        result = apply(op, (self,))
        if result is NOT_HERE:
            return require_rule(op, (self,), {})
        note(op, (self,), result)
        return result

    return method


def _binary(op: Callable, is_reflected: bool = False) -> Callable:
    known = ways_of(op)

    def method(self: Tracer, other: Any) -> Any:
        a, b = (other, self) if is_reflected else (self, other)
        way = known.get((type(a), type(b)))
        result = NO_RULE if way is None else way(a, b)
        if result is not NO_RULE:
            return result
        result = apply(op, (a, b))
        if result is NOT_HERE:
            return operate_by_rule(op, a, b)
        note(op, (a, b), result)
        return result

    return method


def _in_place(op: Callable) -> Callable:
    operate = _binary(op)

    def method(self: Tracer, other: Any) -> Any:
        result = operate(self, other)
        if result is NotImplemented or not isinstance(self, np.ndarray):
            return result
        if result is other or not adopt(self, result):
            assign(self, result)
        return self

    return method


def _comparison(op: Callable) -> Callable:
    def method(self: Tracer, compared: Any) -> Any:
        kind = type(compared)
        if type(self) is FloatTracer and (kind is float or kind is int or kind is FloatTracer):
            is_traced = kind is FloatTracer
            found = op(self._value, compared._value if is_traced else compared)
            note_decision(self, found, compared if is_traced else None)
            return found
        other = untraced(compared)
        if type(other) in (list, tuple):
            other = [untraced(x) for x in other]
        seen = untraced(self)
        if is_tracer(seen) or is_tracer(other):
            found = by_rule(op, (seen, other), {})  # this records the comparison
        else:
            found = op(seen, other)
        for x in (self, compared):
            if is_tracer(x) and x._tape is not CONSTANT and not x._tape.program:
                note_decision(x, bare(found))
        return found

    return method


def _truth(self: Tracer) -> bool:
    found = self._read(bool)
    if self._tape.program:
        asked()  # recorded like a mask
    elif self._tape is not CONSTANT:
        note_decision(self, found)
    return found


def _getitem(self: Tracer, index: Any) -> Any:
    if type(index) is not int:
        index = frozen(index)
    result = by_rule(operator.getitem, (self, index), {})
    if result is NO_RULE:
        if isinstance(self, np.ndarray):
            return require_rule(operator.getitem, (self, index), {})
        if isinstance(self, np.generic):  # indexed like a 0-d array
            places = np.zeros((), np.intp)[index]
            if isinstance(places, np.ndarray) and places.ndim == 0:  # x[...] is an array
                return require_rule(np.array, (self,), {})
            element = require_rule(np.reshape, (self, (1,)), {})
            return element[places]
        return untraced(self)[index]  # raises the value's own error
    return result


def _iter(self: Tracer) -> Iterator[Any]:
    if not isinstance(self, np.ndarray):
        raise TypeError(f"'{self.__class__.__name__}' object is not iterable")
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(len(self)))


def install() -> None:
    """Give `Tracer` its operators."""
    for name, op in _UNARY.items():
        setattr(Tracer, f"__{name}__", _unary(op))
    for name, op, _ in python_operators.ARITHMETIC.values():
        setattr(Tracer, f"__{name}__", _binary(op))
        setattr(Tracer, f"__r{name}__", _binary(op, is_reflected=True))
        setattr(Tracer, f"__i{name}__", _in_place(op))
    for name, op, _ in python_operators.COMPARISONS.values():
        setattr(Tracer, f"__{name}__", _comparison(op))
    for name, method in {
        "__bool__": _truth,
        "__divmod__": lambda self, other: (self // other, self % other),
        "__rdivmod__": lambda self, other: (other // self, other % self),
        "__getitem__": _getitem,
        "__setitem__": assign_item,
        "__iter__": _iter,
    }.items():
        setattr(Tracer, name, method)


install()
