"""Builtins that call methods of their arguments, or iterate over them, from C.

``len(x)``, ``iter(x)``, ``sum(xs)`` call user-defined methods where no rewritten call sees it. In a
traced function such methods are looked for here first; with all other arguments the builtin is
called.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff.errors import missing_attribute
from autodiff.intercept.runtime import sorted_containers, text_calls
from autodiff.intercept.syntax import attributes, syntax_ops
from autodiff.numpy_api.array_subclasses import ArrayInstance
from autodiff.trace.checks.conversions import TracedBytes, TracedText
from autodiff.trace.checks.decisions import asked
from autodiff.trace.trace_stack import begun_here, watch_held
from autodiff.trace.tracer import Tracer, bare, is_tracer, wrap

_NUMBERS = frozenset({float, int, bool})
_TEXTS = (str, bytes, bytearray)
_WITH_LENGTH = frozenset({list, tuple, dict, set, str, np.ndarray})


_SHOWING_ANOTHER = (Tracer, TracedText, TracedBytes)


def type_of_value(*args: Any, **kwargs: Any) -> Any:
    """``type(x)`` is the type of the value."""
    kind = type(*args, **kwargs)
    if kind is ArrayInstance:
        return type(args[0]._shell)
    return args[0].__class__ if issubclass(kind, _SHOWING_ANOTHER) and len(args) == 1 else kind


def _is_read_by_numpy(kind: type[np.ndarray]) -> bool:
    """Whether ``float`` of an array of a class is that of the element."""
    return kind.__float__ is np.ndarray.__float__


def by_method(builtin: Any, as_before: Callable) -> Callable:
    """Return a builtin of one value that asks the value's class first."""
    method = f"__{builtin.__name__}__"
    is_float = builtin is float

    def ask(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            if type(args[0]) in plain:
                return builtin(args[0])
            if is_tracer(args[0]) and type(bare(args[0])) is builtin:
                return args[0]  # float(v) is v, and so is int(v)
        kind = type(args[0]) if args else type(None)
        if kind is np.bool_:  # a number or an index that a mask decides about
            asked()
        if is_float and kind is ArrayInstance and _is_read_by_numpy(type(args[0]._shell)):
            return ask(args[0].item())
        if kind is ArrayInstance or (args and not syntax_ops.is_plain(kind)):
            defined = syntax_ops.special(kind, method)
            if defined is not None:
                return syntax_ops.intercept(defined)(*args, **kwargs)
        made = as_before(*args, **kwargs)
        return text_calls.check_read(made, "float(text)") if is_float and kind in _TEXTS else made

    # The numbers of a container may be traced; its length is not.
    plain = _WITH_LENGTH if builtin is len else _NUMBERS
    return functools.wraps(as_before)(ask)


def truth_of(as_before: Callable) -> Callable:
    """Return a ``bool`` that also notes decisions by NumPy's truth values."""
    ask = by_method(bool, as_before)
    return lambda *args: ask(*map(syntax_ops.truth, args))


def through(
    as_before: Callable, function_at: int = -1, name: str = "", most: int = 1000
) -> Callable:
    """Return a builtin that iterates over its first arguments, `most` of them.

    It calls the argument at `function_at`, which may be given by its `name` as well.
    """

    def consume(*args: Any, **kwargs: Any) -> Any:
        given = [
            syntax_ops.iterate(a) if i < most and i != function_at else a
            for i, a in enumerate(args)
        ]
        if len(args) > function_at >= 0 and args[function_at] is not None:
            given[function_at] = syntax_ops.intercept(args[function_at])
        if kwargs.get(name) is not None:
            kwargs[name] = syntax_ops.intercept(kwargs[name])
        return as_before(*given, **kwargs)

    return functools.wraps(as_before, updated=())(consume)


def listing(as_before: Callable) -> Callable:
    """Return a function that gets lists for iterators: traced values are found in lists."""

    def listed(*args: Any, **kwargs: Any) -> Any:
        args = tuple([syntax_ops.iterate(a) for a in args])
        args = tuple([a if _is_seen_into(a) else as_they_come(a) for a in args])
        named = {k: v if _is_seen_into(v) else list(v) for k, v in kwargs.items()}
        return as_before(*args, **named)

    return functools.wraps(as_before)(listed)


def _is_seen_into(x: Any) -> bool:
    """Whether traced values in `x` are found without iterating: not in an iterator."""
    kind = type(x)
    return kind in _WITH_LENGTH or is_tracer(x) or not hasattr(kind, "__iter__")


def as_they_come(items: Iterable) -> list:
    """Return the items of an iterator, arrays as copies.

    A generator may yield the same array each time, and write into it in between.
    """
    return [as_it_is(v) for v in items]


def as_it_is(x: Any) -> Any:
    """Return a copy of an array that later writes do not change; anything else itself."""
    if type(x) is np.ndarray:
        return x.copy("K")
    return wrap(x._value, x._tape, x._index) if type(x) is Tracer else x


def _are_plain(items: Iterable) -> bool:
    return all(syntax_ops.is_plain(type(v)) for v in items)


def summing(as_before: Callable) -> Callable:
    """Return ``sum``: objects with operators of their own are added by them."""

    def total(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return as_before(*args, **kwargs)
        items = args[0]
        if type(items) is not list or not _are_plain(items):
            items = syntax_ops.iterate(items)
            if hasattr(type(items), "__next__"):
                items = as_they_come(items)
            if isinstance(items, (list, tuple)) and not _are_plain(items):
                start = args[1] if len(args) > 1 else kwargs.get("start", 0)
                return functools.reduce(syntax_ops.BINARY["add"], items, start)
        y = as_before(items, *args[1:], **kwargs)
        return _as_floats(y, items, args[1:], kwargs) if is_tracer(y) else y

    return functools.wraps(as_before)(total)


# From Python 3.12 on, `sum` of floats takes the rounding errors along, and adds them at the end.
SUM_TAKES_ERRORS_ALONG = sum([1e16, 1.0, -1e16]) == 1.0
_REAL = (float, np.float64, np.float32)


def _as_floats(y: Tracer, items: Any, start: tuple, named: dict) -> Any:
    """Return a traced sum with the value that ``sum`` of the plain numbers has.

    The derivative is that of the plain additions: the rounding errors have none.
    """
    tape = y._tape
    is_real = y.__class__ in _REAL and isinstance(items, (list, tuple))
    if not SUM_TAKES_ERRORS_ALONG or not is_real:
        return y
    if y.__class__ is not float and all(x.__class__ is not float for x in items):
        return y
    if tape.program:
        return _with_errors(items, start[0] if start else named.get("start", 0))

    def on_level_below(x: Any) -> Any:
        return x._value if is_tracer(x) and x._tape is tape else x

    start = tuple(map(on_level_below, start))
    named = {name: on_level_below(x) for name, x in named.items()}
    plain = list(map(on_level_below, items))
    value = sum(plain, *start, **named)
    if is_tracer(value):
        value = _as_floats(value, plain, start, named)
    return wrap(value, tape, y._index)


def _with_errors(items: Iterable, start: Any) -> Any:
    """Return a sum of recorded floats as ``sum`` computes it: each step is written down.

    The error of an addition is computed exactly, by D. E. Knuth's two-sum, in which no branch
    depends on the sizes. Integers are added without it, as Python does. The first number of NumPy
    ends this: the errors so far are added before it.
    """
    total, error = start, 0.0
    for x in items:
        if total.__class__ is not float or issubclass(x.__class__, int):
            total = total + x
        elif x.__class__ is float:
            before, total = total, total + x
            added = total - before
            error = error + ((before - (total - added)) + (x - added))
        else:
            total, error = _with_error(total, error) + x, 0.0
    return _with_error(total, error)


def _with_error(total: Any, error: Any) -> Any:
    """Return the sum of both; the total alone if it has overflowed or is NaN."""
    # A guard. The differences keep the sign of a zero.
    return total - (0.0 - error) if abs(error) < math.inf else total


def ordering(builtin: Any, as_before: Callable) -> Callable:
    """Return ``sorted``, ``min`` or ``max``: objects are compared by their own methods."""

    def ordered(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and not kwargs:
            a, b = args
            if type(a) in _NUMBERS and type(b) in _NUMBERS:
                return builtin(a, b)
        args = tuple([syntax_ops.iterate(a) for a in args]) if len(args) == 1 else args
        key = kwargs.get("key")
        if key is not None:
            key = kwargs["key"] = syntax_ops.intercept(key)
        keys: Any = None
        if len(args) == 1 and hasattr(type(args[0]), "__next__"):
            if builtin is not sorted and key is not None:  # each key is computed when it is due
                keyed = [(v, as_it_is(key(v))) for v in args[0]]
                keys = [k for _, k in keyed]
                args = ([v for v, _ in keyed],)
            else:
                args = (list(args[0]),)
        items = args[0] if len(args) == 1 else args
        if not isinstance(items, (list, tuple)) or not items:
            return as_before(*args, **kwargs)
        if keys is None:
            if _are_plain(items):
                return as_before(*args, **kwargs)
            keys = items if key is None else [key(v) for v in items]
            if _are_plain(keys):
                return as_before(*args, **kwargs)
        by_key = range(len(keys))
        if builtin is not sorted:
            return items[builtin(by_key, key=lambda i: sorted_containers.Compared(keys[i]))]
        options = {"reverse": kwargs.get("reverse", False)}
        order = sorted(by_key, key=lambda i: sorted_containers.Compared(keys[i]), **options)
        return [items[i] for i in order]

    return functools.wraps(as_before)(ordered)


def spreading(as_before: Callable) -> Callable:
    """Return ``dict``: of pairs that an iterator gives, or of a mapping of the user's."""

    def spread(*args: Any, **kwargs: Any) -> Any:
        given = map(syntax_ops.mapping, args)
        entries = [a if isinstance(a, dict) else syntax_ops.iterate(a) for a in given]
        return as_before(*entries, **kwargs)

    return functools.wraps(as_before, updated=())(spread)


def sort_list(items: list, **options: Any) -> None:
    """Do ``items.sort()``."""
    items[:] = syntax_ops.intercept(sorted)(items, **options)


def is_instance(x: Any, kinds: Any, /) -> bool:
    """Do ``isinstance(x, kinds)``: a traced float has no length, whatever its tracer has."""
    return isinstance(bare(x) if is_tracer(x) else x, kinds)


def has_attribute(owner: Any, name: str, /) -> bool:
    """Do ``hasattr(owner, name)``: a traced value has the attributes of the value."""
    return hasattr(bare(owner) if is_tracer(owner) else owner, name)


def get_attribute(owner: Any, name: str, *default: Any) -> Any:
    """Do ``getattr(owner, name)``, with a default or without."""
    if is_tracer(owner):
        plain = bare(owner)
        is_none = name.startswith("__") and getattr(plain, name, 0) is None  # as in an array's hash
        if is_none or not hasattr(plain, name):
            return getattr(plain, name, *default)
        try:  # the value has one, though it may not be had of the tracer
            return attributes.read(owner, name)
        except AttributeError as error:
            raise missing_attribute(owner, name) from error
    if name == "__class__" and type(owner) is ArrayInstance:
        return type(owner._shell)
    if not default:
        return attributes.read(owner, name)
    try:
        return attributes.read(owner, name)
    except AttributeError:
        return default[0]


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Do ``setattr(owner, name, value)``."""
    attributes.write(value, owner, name)


def combining(operate: Callable, as_before: Callable) -> Callable:
    """Return ``pow``, ``operator.add`` and the like: objects with operators of their own."""

    def combine(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) > 2 or _are_plain(args):
            return as_before(*args, **kwargs)
        return operate(*args)

    return functools.wraps(as_before)(combine)


def instead(first: Callable, as_before: Callable) -> Callable:
    """Return ``iter`` or ``next`` of an object whose class defines what they do."""

    def ask(*args: Any) -> Any:
        plain = len(args) != 1 or syntax_ops.is_plain(type(args[0]))
        if args and syntax_ops.is_unseen(args[0]):
            watch_held()
        return as_before(*args) if plain else first(*args)

    return functools.wraps(as_before)(ask)


def first_argument(g: Callable) -> Callable:
    """A C function that calls its first argument."""

    def with_first(f: Any, *args: Any, **kwargs: Any) -> Any:
        return g(syntax_ops.intercept(f), *args, **kwargs)

    return with_first


# How each builtin is wrapped, in the order of the wrapping.
WRAPPERS: dict[Any, Callable[[Callable], Callable]] = {
    **{
        g: functools.partial(by_method, g)
        for g in (len, abs, operator.abs, float, int, round, reversed)
    },
    **dict.fromkeys((list, tuple, set, frozenset, zip, enumerate, any, all), through),
    **dict.fromkeys(
        (
            map, filter, itertools.starmap, itertools.takewhile, itertools.dropwhile,
            itertools.filterfalse,
        ),
        functools.partial(through, function_at=0),
    ),
    functools.reduce: functools.partial(through, function_at=0, most=2),  # the third begins
    itertools.accumulate: functools.partial(through, function_at=1, name="func"),
    itertools.groupby: functools.partial(through, function_at=1, name="key"),
    **dict.fromkeys(
        (
            itertools.chain, itertools.islice, itertools.product, itertools.zip_longest,
            itertools.combinations, itertools.cycle, itertools.permutations,
            itertools.chain.from_iterable, itertools.pairwise, itertools.tee, itertools.compress,
        ),
        through,
    ),
    **dict.fromkeys((math.dist, math.fsum, math.prod), listing),
    **text_calls.WRAPPERS,
    dict: spreading,
    sum: summing,
    **{g: functools.partial(ordering, g) for g in (sorted, min, max)},
    pow: functools.partial(combining, syntax_ops.BINARY["pow"]),
    divmod: functools.partial(combining, syntax_ops.division),
    bool: truth_of,
    complex: lambda as_before: text_calls.reading(by_method(complex, as_before)),
    **{
        getattr(operator, f"__{name}__"): functools.partial(combining, operate)
        for table in (syntax_ops.BINARY, syntax_ops.COMPARISON, syntax_ops.UNARY)
        for name, operate in table.items()
    },
    operator.getitem: functools.partial(combining, syntax_ops.item),
    operator.contains: functools.partial(combining, lambda x, value: syntax_ops.contains(value, x)),
    **sorted_containers.WRAPPERS,
    iter: functools.partial(instead, syntax_ops.iterator_of),
    next: functools.partial(instead, syntax_ops.next_of),
}  # fmt: skip


# Functions of the library that call a function in another thread, where it would not be traced.
CALLED_ELSEWHERE = frozenset(
    {
        ("concurrent.futures.thread", "ThreadPoolExecutor.submit"),
        ("threading", "Thread.__init__"),
        ("threading", "Timer.__init__"),
    }
)
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def handing_on(g: types.FunctionType, body: Callable) -> Callable:
    """Return what calls `body` for `g`; functions among the arguments are traced."""

    def seen(a: Any) -> Any:
        return begun_here(syntax_ops.intercept(a)) if type(a) in _FUNCTIONS else a

    @functools.wraps(g)
    def called(*args: Any, **kwargs: Any) -> Any:
        return body(*map(seen, args), **{name: seen(a) for name, a in kwargs.items()})

    return called
