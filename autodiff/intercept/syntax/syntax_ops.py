"""Operators, loops, conditions and other syntax inside a traced function.

A class may define in Python what ``a + b``, ``x[i]``, ``for``, ``with`` or ``if`` do for its
objects. Python calls these methods from C, where no rewritten call sees it. So in a traced function
the syntax itself is a call of one of the functions here. They do what Python does, and trace such
methods. Where no operand has one, they just apply the operator.
"""

from __future__ import annotations

import collections
import functools
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from autodiff import caches, python_operators
from autodiff.dispatch.arguments import PLAIN, innermost
from autodiff.dispatch.call import NO_RULE, as_array
from autodiff.dispatch.dispatch_cache import ways_of
from autodiff.errors import missing_rule, not_connected
from autodiff.intercept.source import rewritten_code
from autodiff.intercept.source.library_code import is_library as is_library
from autodiff.mutation.assignment import disown
from autodiff.mutation.escape_check import is_only_held_by_caller, is_only_held_by_owner, receiver
from autodiff.mutation.identity import as_key, holds, is_by_identity, same, settled
from autodiff.mutation.written_arguments import watching
from autodiff.trace.checks.conversions import holds_traced_text, marked
from autodiff.trace.checks.decisions import asked
from autodiff.trace.checks.number_classes import check_class
from autodiff.trace.pytree import map_leaves
from autodiff.trace.trace_stack import check_free, watch_held
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, untraced
from chainrules_core import ChainRulesError
from chainrules_core.interpreter.places import MADE_HERE
from chainrules_core.tangents.fields import in_class

intercept: Callable[[Any], Any] = not_connected


def connect(intercept: Callable[[Any], Any]) -> None:
    """Put in what returns a function with its calls seen; see :mod:`autodiff.wiring`."""
    globals().update(intercept=intercept)


_BINARY = [o.name for o in python_operators.BINARY.values()]
_SPECIALS = tuple(
    f"__{name}__"
    for name in (
        *_BINARY, *(f"r{n}" for n in _BINARY), *(f"i{n}" for n in _BINARY),
        "neg", "pos", "invert", "abs", "lt", "le", "eq", "ne", "gt", "ge", "bool", "len",
        "contains", "getitem", "setitem", "iter", "next", "reversed", "enter", "exit",
        "array", "float", "int", "complex", "round", "divmod", "rdivmod", "trunc", "floor", "ceil",
    )
)  # fmt: skip
_OURS = ("autodiff", "chainrules_core")


def _runs_no_python(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _OURS or not any(
        special(kind, name) is not None for name in _SPECIALS
    )


_plain_types: set[Any] = {Tracer, FloatTracer, *PLAIN}
is_plain = caches.fact_of_classes("plain classes", _runs_no_python, _plain_types)
"""Whether no operator on instances of a class runs code written in Python, the engine's aside."""


def special(kind: type, name: str) -> Callable | None:
    """Return the method that syntax stands for, if it is written in Python.

    It may be what a property returns.
    """
    found = in_class(kind, name)
    if type(found) is property and found.fget is not None:
        return functools.partial(_by_property, found.fget)
    return found if type(found) is types.FunctionType else None


def _by_property(read: Callable, x: Any, *args: Any) -> Any:
    """Call the method that a property returns."""
    return intercept(intercept(read)(x))(*args)


def users_method(x: Any, name: str) -> types.FunctionType | None:
    """Return a method of `x` that is written in Python, and not by a library."""
    method = in_class(type(x), name)
    return method if type(method) is types.FunctionType and not is_library(method) else None


# -- operators ----------------------------------------------------------------------------------

# What a sequence does with + and * comes after the other side's reflected method.
_SEQUENCES = (list, tuple, str, bytes, bytearray, collections.deque)


def _attempt(kind: type, name: str, a: Any, b: Any) -> Any:
    method = special(kind, name)
    if method is not None:
        return intercept(method)(a, b)
    method = in_class(kind, name)
    if method is None or (issubclass(kind, _SEQUENCES) and name in ("__add__", "__mul__")):
        return NotImplemented
    if type(method) in (types.WrapperDescriptorType, types.MethodDescriptorType):
        return method(a, b)
    return getattr(a, name)(b)


def _by_methods(name: str, reflected: str, a: Any, b: Any, among_equals: bool) -> Any:
    """Do what Python does for a binary operator; NotImplemented where neither side can.

    The reflected method of a subclass that overrides it goes first; between objects of one class
    only comparisons ask for it (`among_equals`).
    """
    kind, other = type(a), type(b)
    sides = [(kind, name, a, b)]
    if kind is not other or among_equals:
        sides.append((other, reflected, b, a))
    if (
        kind is not other
        and issubclass(other, kind)
        and in_class(other, reflected) not in (None, in_class(kind, reflected))
    ):
        sides.reverse()
    for side in sides:
        made = _attempt(*side)
        if made is not NotImplemented:
            return made
    return NotImplemented


def _applied(apply: Callable, a: Any, b: Any) -> Any:
    """Apply an operator that neither side defines; an error names values, not tracers."""
    try:
        return apply(a, b)
    except TypeError as error:
        return _failed(apply, error, a, b)


def _failed(apply: Callable, error: TypeError, a: Any, b: Any) -> NoReturn:
    """Raise what an operator has raised, but no error that speaks of tracers."""
    if isinstance(error, ChainRulesError) or not (is_tracer(a) or is_tracer(b)):
        raise error
    apply(bare(a), bare(b))
    raise missing_rule(apply, (a, b)) from None


_OF_TRACERS = [o.name for o in python_operators.ARITHMETIC.values()]
# By itself Python would reach the methods of traced floats through a slot of their class, which
# takes as long as the rest of this function.
_OPERATE = """
def {name}_(a, b):
    kind, other = type(a), type(b)
    if kind is FloatTracer:
        made = FloatTracer.__{name}__(a, b)
        if made is not NotImplemented:
            return made
    elif other is FloatTracer and (kind is float or kind is int):
        return FloatTracer.__r{name}__(b, a)
    elif kind is Tracer or other is Tracer:
        way = known.get((kind, other))
        if way is not None:
            made = way(a, b)
            if made is not NO_RULE:
                return made
    if kind in operands and other in operands:
        try:
            return a {symbol} b
        except TypeError as error:
            return failed(error, a, b)
    return slowly(a, b)
"""


_operands: set[Any] = set(_plain_types)
is_operand = caches.fact_of_classes(
    "operands", lambda kind: kind is not list and kind is not tuple and is_plain(kind), _operands
)
"""Whether an operator takes instances of a plain class as they are, beside any array."""


def _operands_of(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two operands: beside an array, a list or tuple of traced values as an array."""
    if isinstance(a, np.ndarray):
        return a, _row_as_array(b)
    return (_row_as_array(a), b) if isinstance(b, np.ndarray) else (a, b)


def _row_as_array(x: Any) -> Any:
    is_traced_row = type(x) in (list, tuple) and innermost((x,), {}) is not None
    return as_array(x) if is_traced_row else x


def _binary(apply: Callable, name: str, symbol: str = "") -> Callable:
    method, reflected = f"__{name}__", f"__r{name}__"

    def slowly(a: Any, b: Any) -> Any:
        if is_operand(type(a)) and is_operand(type(b)):
            return _applied(apply, a, b)
        if is_plain(type(a)) and is_plain(type(b)):
            return _applied(apply, *_operands_of(a, b))
        made = _by_methods(method, reflected, a, b, False)
        return _applied(apply, a, b) if made is NotImplemented else made

    if name not in _OF_TRACERS:
        return slowly
    scope: dict[str, Any] = {
        "FloatTracer": FloatTracer,
        "NO_RULE": NO_RULE,
        "failed": functools.partial(_failed, apply),
        "Tracer": Tracer,
        "known": ways_of(apply),
        "operands": _operands,
        "slowly": slowly,
    }
    source = _OPERATE.format(name=name, symbol=symbol)
    exec(compile(source, f"{MADE_HERE}operator.{name} in traced code>", "exec"), scope)
    return scope[f"{name}_"]


def _comparison(apply: Callable, name: str, mirrored: str) -> Callable:
    method, reflected = f"__{name}__", f"__{mirrored}__"
    is_equality = name in ("eq", "ne")

    def compare(a: Any, b: Any) -> Any:
        if is_equality and watching and is_by_identity(a) and is_by_identity(b):
            return same(a, b) is (name == "eq")
        if type(a) in _operands and type(b) in _operands:
            return apply(a, b)
        if is_plain(type(a)) and is_plain(type(b)):
            return apply(*_operands_of(a, b))
        if name == "ne" and in_class(type(a), method) is object.__ne__:
            return not equal(a, b)
        made = _by_methods(method, reflected, a, b, True)
        return apply(a, b) if made is NotImplemented else made

    compare.__name__ = compare.__qualname__ = name
    return compare


_NOT_CONVERTED = (np.ndarray, np.generic, np.poly1d, str, bytes, dict)


def converts(kind: type) -> bool:
    """Whether NumPy makes an array of an instance by what its class defines in Python."""
    if kind is collections.deque:
        return True
    if is_plain(kind) or issubclass(kind, _NOT_CONVERTED):
        return False
    return (
        special(kind, "__array__") is not None
        or (special(kind, "__len__") is not None and special(kind, "__getitem__") is not None)
    ) and not (hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"))


def converted(x: Any) -> Any:
    """Return the array that NumPy would make of an object, or a list; anything else as it is."""
    if not converts(type(x)):
        return x
    check_class(type(x))
    method = special(type(x), "__array__")
    if method is not None:
        return intercept(method)(x)
    try:
        len(x)
    except TypeError:  # a sparse array has elements and rows, but is no sequence
        return x
    return list(iterate(x))


def _in_place(apply: Callable, name: str, operate: Callable, is_local: bool) -> Callable:
    method = f"__i{name}__"

    def augment(a: Any, b: Any) -> Any:
        kind = type(a)
        if kind is np.ndarray:
            if is_local and is_only_held_by_caller(sys.getrefcount(a)):
                a = receiver(a, b)
            check_free(a)
        if type(b) is Tracer and issubclass(kind, _SEQUENCES):
            b = settled(b)  # a bool repeats a list in place, a NumPy scalar makes a new one
        if kind in _plain_types and type(b) in _plain_types:
            return apply(a, b)
        if is_plain(kind) and is_plain(type(b)):
            return apply(a, b)
        if in_class(kind, method) is not None:
            made = _attempt(kind, method, a, b)
            if made is not NotImplemented:
                return made
        return operate(a, b)

    augment.__name__ = augment.__qualname__ = f"i{name}"
    return augment


def _unary(apply: Callable, name: str) -> Callable:
    method = f"__{name}__"

    def operate(a: Any) -> Any:
        if type(a) not in _plain_types:
            defined = special(type(a), method)
            if defined is not None:
                return intercept(defined)(a)
        elif name == "pos" and is_tracer(a) and type(bare(a)) is float:
            return a  # +v is v
        return apply(a)

    operate.__name__ = operate.__qualname__ = name
    return operate


BINARY: dict[str, Callable] = {
    o.name: _binary(o.function, o.name, o.sign) for o in python_operators.BINARY.values()
}
IN_PLACE: dict[str, Callable] = {
    name: _in_place(getattr(operator, f"i{name}"), name, BINARY[name], False) for name in _BINARY
}
# For local variables, which can be bound to another object.
IN_PLACE_LOCAL: dict[str, Callable] = {
    name: _in_place(getattr(operator, f"i{name}"), name, BINARY[name], True) for name in _BINARY
}
_OPERATIONS = {
    augment[name]: BINARY[name] for augment in (IN_PLACE, IN_PLACE_LOCAL) for name in _BINARY
}
"""Operations in place → the same operations, which make a new array."""
COMPARISON: dict[str, Callable] = {
    name: _comparison(getattr(operator, name), name, mirrored)
    for name, mirrored in (
        ("lt", "gt"), ("le", "ge"), ("eq", "eq"), ("ne", "ne"), ("gt", "lt"), ("ge", "le")
    )
}  # fmt: skip
UNARY: dict[str, Callable] = {
    o.name: _unary(o.function, o.name) for o in python_operators.UNARY.values() if o.name != "not"
}
equal = COMPARISON["eq"]

division = _binary(divmod, "divmod")
# -- items --------------------------------------------------------------------------------------


_tracer: Any = Tracer


def item(owner: Any, index: Any) -> Any:
    """Return ``owner[index]``."""
    kind = type(owner)
    if kind is Tracer:
        return _tracer.__getitem__(owner, index)
    if kind not in _plain_types:
        method = special(kind, "__getitem__")
        if method is not None:
            return intercept(method)(owner, index)
    if kind is np.ndarray and type(index) in (Tracer, tuple, slice):
        parts = index if type(index) is tuple else (index,)
        bounds = [b for p in parts if type(p) is slice for b in (p.start, p.stop, p.step)]
        if any(type(p) is Tracer for p in (*parts, *bounds)):
            tape = innermost((*parts, *bounds), {})
            if tape is not None and tape.program:
                return tape.call(operator.getitem, (owner, index), {})
    if kind is re.Match and holds_traced_text(owner.string):
        return marked(owner[index])
    if watching:
        index = as_key(index, owner)
    return owner[index]


def contains(value: Any, container: Any) -> bool:
    """Return ``value in container``."""
    if type(container) not in _plain_types:
        method = special(type(container), "__contains__")
        if method is not None:
            return bool(truth(intercept(method)(container, value)))
        if special(type(container), "__iter__") is not None:
            return any(v is value or truth(equal(v, value)) for v in iterate(container))
    if watching and is_by_identity(value):
        return holds(container, value)
    return value in container


def augment_item(owner: Any, index: Any, store: Callable) -> Callable:
    """Read an item that is to be changed; what is returned changes it."""
    check_free(owner)
    before = item(owner, index)

    def change(augment: Callable, value: Any) -> Any:
        nonlocal before
        if type(before) is Tracer is type(owner):
            made = _OPERATIONS[augment](before, value)
            if _is_like(made, before):  # so the operation in place would give the same
                disown(before)
                before = None  # it would hold the owner's memory
                return store(made, owner, index)
        if type(before) is np.ndarray:
            if type(owner) is np.ndarray and before.base is not None:
                before = receiver(before.copy(), value)  # the result is written into the owner
            elif is_only_held_by_owner(sys.getrefcount(before)):
                before = receiver(before, value)  # what comes of it takes its place
        return store(augment(before, value), owner, index)

    return change


def _is_like(made: Any, before: Tracer) -> bool:
    """Whether a result is an array of the shape and dtype of a traced array."""
    x, y = bare(before), bare(made)
    return type(x) is type(y) is np.ndarray and x.dtype is y.dtype and x.shape == y.shape


def augment_attribute(owner: Any, before: Any, name: str, store: Callable) -> Callable:
    """Change an attribute that was read."""

    def change(augment: Callable, value: Any) -> None:
        nonlocal before
        if type(before) is np.ndarray and is_only_held_by_owner(sys.getrefcount(before)):
            before = receiver(before, value)
        store(augment(before, value), owner, name)

    return change


def mapping(x: Any) -> Any:
    """Return what ``**x`` is to spread out."""
    kind = type(x)
    if kind in _plain_types or (isinstance(x, dict) and kind.__iter__ is dict.__iter__):
        return x  # Python copies the entries of such a dict, and runs no code of its class
    if special(kind, "__getitem__") is None or not hasattr(x, "keys"):
        return x
    return {key: item(x, key) for key in iterate(intercept(x.keys)())}


# -- iteration ----------------------------------------------------------------------------------


def iterate(x: Any) -> Any:
    """Return what a loop over `x` is to iterate over."""
    if type(x) in _plain_types or is_plain(type(x)):
        return Unseen(x) if is_unseen(x) else x
    iterator = iterator_of(x)
    step = special(type(iterator), "__next__")
    return iterator if step is None else Steps(iterator, step)


def iterator_of(x: Any) -> Any:
    """Return ``iter(x)``."""
    kind = type(x)
    if kind not in _plain_types:
        method = special(kind, "__iter__")
        if method is not None:
            return intercept(method)(x)
        if in_class(kind, "__iter__") is None and special(kind, "__getitem__") is not None:
            return _by_position(x)
    return iter(x)


def is_unseen(x: Any) -> bool:
    """Whether this is a generator whose code is not traced, such as one begun outside."""
    return type(x) is types.GeneratorType and not rewritten_code.is_made(x.gi_code)


class Unseen:
    """A generator whose code is not traced: each step may write into what pullbacks hold."""

    __slots__ = ("steps",)

    def __init__(self, steps: types.GeneratorType) -> None:
        self.steps = steps

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        watch_held()
        return next(self.steps)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.steps, name)


class Steps:
    """An iterator of a user-defined class, whose methods are traced."""

    __slots__ = ("is_begun", "iterator", "step")

    def __init__(self, iterator: Any, step: Callable) -> None:
        self.iterator = iterator
        self.step = intercept(step)
        self.is_begun = False

    def __iter__(self) -> Any:
        # Python asks an iterator for itself: the first time that has been done already.
        if not self.is_begun:
            self.is_begun = True
            return self
        again = iterator_of(self.iterator)
        return self if again is self.iterator else iterate(again)

    def __next__(self) -> Any:
        return self.step(self.iterator)


def _by_position(x: Any) -> Iterator:
    i = 0
    while True:
        try:
            value = item(x, i)
        except IndexError:
            return
        yield value
        i += 1


_NOTHING: Any = object()


def next_of(iterator: Any, default: Any = _NOTHING) -> Any:
    """Return ``next(iterator)``, or ``next(iterator, default)``."""
    if is_unseen(iterator):
        watch_held()
    step = None if type(iterator) in _plain_types else special(type(iterator), "__next__")
    if step is None:
        return next(iterator) if default is _NOTHING else next(iterator, default)
    try:
        return intercept(step)(iterator)
    except StopIteration:
        if default is _NOTHING:
            raise
        return default


# -- truth, texts ---------------------------------------------------------------------


class _Answer:
    """What a user's `__bool__` has returned, for Python to accept or to refuse."""

    def __init__(self, y: Any) -> None:
        self._y = y

    def __bool__(self) -> Any:
        return self._y


def truth(x: Any) -> Any:
    """Return what decides about a condition: `x`, or what its class says."""
    if type(x) is np.bool_:
        asked()
        return x
    if type(x) in _plain_types or is_plain(type(x)):
        return x
    method = special(type(x), "__bool__")
    if method is not None:
        y = intercept(method)(x)
        return y if type(y) is bool or is_tracer(y) else bool(_Answer(y))
    method = special(type(x), "__len__") if in_class(type(x), "__bool__") is None else None
    return x if method is None else intercept(method)(x)


def as_text(x: Any) -> Any:
    """Return what is to be written into a text in place of `x`: plain values."""
    return x if type(x) in PLAIN or is_tracer(x) else map_leaves(x, untraced)
