"""The functions that structured programs may call, and facts about their results."""

from __future__ import annotations

import collections
import operator
import sys
from typing import Any

import numpy as np

from autodiff.autocompile.pure_functions import is_pure_by_rule
from autodiff.caches import calls_python
from autodiff.functions import facts_of, is_builtin_rule, is_new_memory
from autodiff.structured.callables.recursive_calls import RuleLike
from autodiff.structured.form.function_ir import Op, Value, known, ops_of
from autodiff.structured.form.kinds import Kind
from chainrules_core import frule, rrule
from chainrules_core.registry.entries import key_of


def iteration_count(*bounds: int) -> int:
    """Return the trip count of a loop over a range."""
    return len(range(*bounds))


def start_of_slice(length: int, *bounds: int | None) -> int:
    """Return the first position of a slice of a sequence of this length."""
    return slice(*bounds).indices(length)[0]


def length_of_slice(length: int, *bounds: int | None) -> int:
    """Return the length of a slice of a sequence of this length."""
    return len(range(*slice(*bounds).indices(length)))


def grid_of(grid: Any, *bounds: int | None) -> Any:
    """Return ``grid[slices]``; the starts, stops and steps of the slices follow one another."""
    slices = [slice(*bounds[k : k + 3]) for k in range(0, len(bounds), 3)]
    return grid[tuple(slices) if slices[1:] else slices[0]]


def most_items(xs: collections.deque) -> int | None:
    """Return the maximum length of a deque."""
    return xs.maxlen


def has_keys(x: dict, keys: tuple) -> bool:
    """Whether a dict has these keys in this order."""
    return tuple(x) == keys


def has_item(xs: list, at: int) -> bool:
    """Return whether an item of a list is not None."""
    return xs[at] is not None


def item_or(xs: list, at: int, otherwise: Any) -> Any:
    """Return an item of a list, or something else if it is None."""
    found = xs[at]
    return otherwise if found is None else found


def sorted_keys(keys: list, is_reversed: bool) -> list:
    """Return keys of dicts in order."""
    return sorted(keys, reverse=is_reversed)


def order_of(keys: list, is_reversed: bool, n: int | None) -> list:
    """Return the positions of sort keys in their order.

    Of tuples, which are dicts here, the first `n` parts are compared: these must differ.
    """
    if n is not None:
        is_all = not keys or n == len(keys[0])
        keys = [tuple(key.values())[:n] for key in keys]
        if not is_all and len(set(keys)) < len(keys):
            raise ValueError  # the order depends on other parts
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=is_reversed)


def part_of_text(text: str, *bounds: int | None) -> str:
    """Return a slice of a string."""
    return text[slice(*bounds)]


def letter_of_text(text: str, i: int) -> str:
    """Return a letter of a string."""
    return text[i]


_TEXT_METHODS = frozenset(
    {str.format, str.zfill, str.rjust, str.ljust, str.center, str.strip, str.replace, str.count}
    | {str.find, str.lower, str.upper, str.startswith, str.endswith}
)
_INT_METHODS = frozenset({int.bit_length, int.bit_count})

PURE: frozenset[Any] = frozenset(
    {operator.not_, np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.arange}
    | {np.ndarray, np.float64, np.float32, np.int64, np.int32, np.bool_, int, bool, float, complex}
    | {np.bartlett, np.blackman, np.hamming, np.hanning}
    | {np.triu_indices, np.tril_indices, np.diag_indices}
    | {len, min, max, iteration_count, start_of_slice, length_of_slice, grid_of}
    | {str, format, bin, oct, hex, ord, chr, part_of_text, letter_of_text}
    | _TEXT_METHODS
    | _INT_METHODS
)

CALLED = "called"
"""In place of the index of a view that a function makes."""

# Functions that change the shape alone, with whether the shape is an argument.
RESHAPES: dict[Any, bool] = {np.ndarray.reshape: True, np.reshape: True, np.ndarray.ravel: False,
                             np.ravel: False, np.ndarray.flatten: False}  # fmt: skip

# Functions that always return a view of their first argument; its shadow gets the same view.
VIEWS = frozenset(
    {np.flip, np.fliplr, np.flipud, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims}
    | {np.rot90, np.squeeze}
)

DIAGONALS = frozenset({np.diag, np.diagonal, np.ndarray.diagonal})
"""Functions that return a read-only view of the diagonal of a matrix."""

_NEW_OF_SCIPY = frozenset({"cho_factor", "eigh", "lu_factor", "svd"})
"""Functions of ``scipy.linalg`` that return new arrays, by name to avoid the import."""

# Array methods that are equivalent to the NumPy function of the same name.
_METHODS = frozenset(
    {"sum", "mean", "dot", "copy", "max", "min", "prod", "std", "var", "cumsum", "cumprod"}
    | {"argmax", "argmin", "any", "all", "round", "clip", "trace", "diagonal", "repeat"}
)


# Array methods that are read as a call of that function.
_FUNCTIONS = frozenset(
    {"argsort", "compress", "nonzero", "searchsorted", "squeeze", "swapaxes", "take"}
)


_NEW = frozenset({np.ndarray, abs, divmod, pow})
"""Other functions that return new arrays: Python's, which are operators of arrays."""


_CONJUGATES = frozenset({float.conjugate, complex.conjugate, np.generic.conjugate, np.generic.conj})


def method_of_array(kind: Kind, name: str) -> Any:
    """Return the method `name` of arrays of this kind; None if there is none."""
    if kind.letter == "c" and name in ("conj", "conjugate"):
        return np.conjugate  # always a new array, while the method returns real arrays themselves
    return getattr(np if name in _FUNCTIONS else np.ndarray, name, None)


def method_of_number(classes: frozenset[type], name: str) -> Any:
    """Return the method `name` of numbers or strings if a program may call it; else None."""
    found = {getattr(cls, name, None) for cls in classes}
    is_known = found <= _CONJUGATES | _INT_METHODS | _TEXT_METHODS
    return found.pop() if len(found) == 1 and is_known else None


def makes_new(op: Op) -> bool:
    """Whether a call returns new arrays, which alias nothing."""
    f: Any = op.f
    module = getattr(f, "__module__", None) or ""
    if isinstance(f, np.ufunc) or is_of_ufunc(f) or f in _NEW or module == "_operator":
        return True
    if isinstance(f, RuleLike):
        return f.returns_new
    if module.startswith("scipy.linalg.") and f.__name__ in _NEW_OF_SCIPY:
        return True
    options = {name: known(v) for name, v in op.options.items()}
    return is_new_memory(function_of(f), tuple(map(known, op.args)), options)


def is_pure(f: Any) -> bool:
    """Whether a function has no side effects."""
    if isinstance(f, np.ufunc):
        return not calls_python(f)
    if isinstance(f, RuleLike) or f in PURE or f in _CONJUGATES or facts_of(f).is_pure:
        return True
    if is_of_ufunc(f):
        return rrule.entry(f) is not None
    if getattr(f, "__objclass__", None) is np.ndarray:
        return f.__name__ in _METHODS
    return is_pure_by_rule(f)


def needs_rule(f: Any, values: list[Value]) -> bool:
    """Whether a call needs a rule: a pure function of integers alone has no derivative."""
    if f in PURE or isinstance(f, RuleLike):
        return False
    has_floats = any(v.kind.has_floats for v in values)
    is_of_numpy = (getattr(f, "__module__", None) or "").partition(".")[0] == "numpy"
    return has_floats or not is_of_numpy or not facts_of(f).is_pure


def is_of_ufunc(f: Any) -> bool:
    """Whether a function is ``reduce`` or ``accumulate`` of a ufunc."""
    is_method = isinstance(getattr(f, "__self__", None), np.ufunc)
    return is_method and f.__name__ in ("reduce", "accumulate")


def ruled_entry(f: Any) -> Any:
    """Return the rules of a function; for an array method, those of the NumPy function."""
    return rrule.entry(key_of(function_of(f))[0])


def function_of(f: Any) -> Any:
    """Return the NumPy function that is equivalent to a method of arrays or numbers, or `f`."""
    if getattr(f, "__objclass__", None) is np.ndarray and f.__name__ in _METHODS:
        return getattr(np, f.__name__)
    return np.conjugate if f in _CONJUGATES else f


def has_users_rule(f: Any) -> bool:
    """Whether a user-defined rule exists for a function, for some arguments."""
    entry = ruled_entry(f)
    rules = () if entry is None else entry.rules
    return not all(rule.kind == "lists" or is_builtin_rule(rule) for rule in rules)


def has_own_frule(f: Any) -> bool:
    """Whether a user-defined rule exists for forward mode alone, which programs would ignore."""
    forward, reverse = frule.entry(f), rrule.entry(f)
    known_rules = () if reverse is None else reverse.rules
    return forward is not None and not all(
        rule in known_rules or rule.kind == "lists" or is_builtin_rule(rule)
        for rule in forward.rules
    )


def is_of_special(f: Any) -> bool:
    """Whether a function belongs to `scipy.special`."""
    own = getattr(sys.modules.get("scipy.special"), getattr(f, "__name__", ""), None)
    return own is not None and own is f


def is_joiner(x: Any) -> bool:
    """Whether `x` is an object of NumPy's that makes an index, or arrays, of an index."""
    return is_grid(x) or x is np.r_ or x is np.c_ or x is np.s_


def is_grid(x: Any) -> bool:
    """Whether `x` is an object of NumPy's that makes arrays of coordinates of slices."""
    return x is np.mgrid or x is np.ogrid


def functions_called(nodes: list, others: set[Any]) -> set[Any]:
    """Return the functions that are called, under every identity that rules may use for them."""
    found: set[Any] = {np.square}  # powers and products may use its rule
    called = {op.f for op in ops_of(nodes) if op.code == "call"}
    for f in called | others:
        own = function_of(f)
        found |= {f, own, key_of(own)[0], facts_of(own).ufunc}
    return found
