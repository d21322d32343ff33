"""Calls of NumPy in whose place functions of `numpy_functions` are read."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Items, Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError, samples
from autodiff.structured.form.known_functions import (
    function_of,
    is_of_special,
    is_of_ufunc,
    is_own_rule,
)
from autodiff.structured.reading.libraries import (
    arrays_of_parts,
    by_order,
    grid_functions,
    numpy_functions as made,
    order_functions,
    scipy_functions as of_scipy,
)
from autodiff.structured.reading.libraries.given_arguments import (
    Found,
    by_rank,
    is_first,
    is_float,
    is_floats,
    is_integer,
    is_narrow,
    known_option,
    known_parts,
)
from chainrules_core import rrule
from chainrules_core.registry.entries import key_of


def _by_axes(function: Callable) -> Callable:
    """Return what chooses a function that is given the axes."""

    def chosen(args: list, given: dict[str, Any]) -> Found:
        if len(args) != 1 or not is_floats(args[0]) or not given.keys() <= {"axis", "keepdims"}:
            return None
        options = known_option(given, "axis"), known_option(given, "keepdims", False)
        return None if UNKNOWN in options else (function, [*args, *options])

    return chosen


def _differences(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("a", "n", "axis"), args, strict=False)) | given
    if len(named) < len(args) + len(given) or not named.keys() <= {"a", "n"} | _OF_DIFF:
        return None
    a: Any = named.get("a")
    order = known_option(named, "n", 1)
    if not is_floats(a) or order not in (1, 2):
        return None
    at_first = is_first(a, known_option(named, "axis", -1))
    if at_first is None:
        return None
    ends = [given[name] for name in ("prepend", "append") if name in given]
    if order == 2:
        twice = made.diff_first_twice if at_first else made.diff_twice
        return None if ends else (twice, [a])
    if not ends:
        return made.diff_first if at_first else made.diff, [a]
    is_behind = "prepend" in given
    if a.kind.ndim == 1:
        ends = list(map(_vector, ends))
    elif a.kind.ndim == 2 and len(ends) == 1 and is_float(ends[0]):
        of_rows = made.rows_behind_number if is_behind else made.rows_before_number
        of_columns = made.columns_behind_number if is_behind else made.columns_before_number
        return of_columns if at_first else of_rows, [a, *ends]
    elif a.kind.ndim > 2 or not all(is_floats(v) and v.kind.ndim == 2 for v in ends):
        return None
    if None in ends:
        return None
    joined, behind, before = (
        (made.diff_joined, made.diff_behind, made.diff_before)
        if at_first
        else (made.rows_joined, made.rows_behind, made.rows_before)
    )
    return joined if len(ends) == 2 else behind if is_behind else before, [a, *ends]


def _vector(v: Any) -> Any:
    """Return numbers as a list, and a vector as it is; None for others."""
    parts = v if isinstance(v, tuple) else (v,)
    if all(type(p) is Value and p.kind.is_scalar and not p.kind.is_complex for p in parts):
        return Items(parts)
    return v if is_floats(v) and v.kind.ndim == 1 else None


def _running(args: list, given: dict[str, Any]) -> Found:
    is_matrix = len(args) == 1 and not given and is_floats(args[0]) and args[0].kind.ndim > 1
    return (made.running_sums, args) if is_matrix else None


def _correlated(args: list, given: dict[str, Any]) -> Found:
    are_vectors = len(args) >= 2 and all(is_floats(v) and v.kind.ndim == 1 for v in args[:2])
    mode = dict(zip(("mode",), args[2:], strict=False)) | given
    if not are_vectors or len(args) > 3 or not mode.keys() <= {"mode"}:
        return None
    name = known_option(mode, "mode", "valid")
    return (made.correlated, [*args[:2], name]) if name in _MODES else None


def _slopes(args: list, given: dict[str, Any]) -> Found:
    if not args or not is_floats(args[0]) or not all(map(is_float, args[1:])) or len(args) > 2:
        return None
    if not given:
        if args[0].kind.ndim == 2:
            return (made.gradients, args) if _GIVE_TUPLES else None
        return (made.gradient_first, args) if args[0].kind.ndim == 1 else None
    at_first = is_first(args[0], known_option(given, "axis")) if given.keys() == {"axis"} else None
    return (
        None
        if at_first is None
        else (made.gradient_first if at_first else made.gradient_last, args)
    )


def _turned(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("a", "shift", "axis"), args, strict=False)) | given
    if not named.keys() <= {"a", "shift", "axis"} or len(named) < len(args) + len(given):
        return None
    a: Any = named.get("a")
    shift, axis = named.get("shift"), known_option(named, "axis")
    if type(shift) is tuple and is_floats(a) and a.kind.ndim == 2:
        axes = known_parts(named.get("axis"))
        if len(shift) != 2 or not all(map(is_integer, shift)) or axes not in ([0, 1], [1, 0]):
            return None
        return made.rolled_both, [a, *(shift if axes == [0, 1] else shift[::-1])]
    if not is_floats(a) or not is_integer(shift) or a.kind.ndim > 2:
        return None
    if axis is None:
        return (made.rolled_first if a.kind.ndim == 1 else made.rolled_flat), [a, shift]
    at_first = is_first(a, axis)
    return (
        None
        if at_first is None
        else (made.rolled_first if at_first else made.rolled_last, [a, shift])
    )


def _bounded(args: list, given: dict[str, Any]) -> Found:
    named = [given[name] for names in _BOUNDS for name in names if name in given]
    if len(args) + len(named) != 3 or len(named) < len(given):
        return None
    a, low, high = *args, *named
    if not (is_floats(a) or is_float(a)) or not all(type(v) is Value for v in (low, high)):
        return None
    if (known(low) is None) == (known(high) is None):
        return None
    function, bound = (made.at_least, low) if known(high) is None else (made.at_most, high)
    if not is_floats(a) and is_narrow(bound):  # `np.clip` takes a number as one of float64
        return None
    return function, [a, bound]


def _integral(args: list, given: dict[str, Any]) -> Found:
    if not args or not is_floats(args[0]) or len(args) > 2:
        return None
    y, at_first = args[0], is_first(args[0], known_option(given, "axis", -1))
    steps = {name: v for name, v in given.items() if name != "axis"}
    if at_first is None or len(args) + len(steps) > 2:
        return None
    is_matrix = at_first and y.kind.ndim == 2
    if (at_first or "axis" in given) and y.kind.ndim > 2:
        return None
    (by,) = (*args[1:], *steps.values()) or (1.0,)
    if by == 1.0 or (steps.keys() == {"dx"} and is_float(by)):
        return made.trapezoid_first_by if is_matrix else made.trapezoid_by, [y, by]
    is_place = is_floats(by) and by.kind.ndim == 1 and steps.keys() <= {"x"}
    return (made.trapezoid_first if is_matrix else made.trapezoid, [y, by]) if is_place else None


def _of_coefficients(args: list, given: dict[str, Any]) -> Found:
    if given or len(args) != 2 or not is_floats(args[0]) or args[0].kind.ndim != 1:
        return None
    if is_float(args[1]):
        return made.polynomial_at, args
    return (made.polynomial, args) if is_floats(args[1]) else None


def _padded(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("array", "pad_width", "mode"), args, strict=False)) | given
    if not named.keys() <= {"array", "pad_width", "mode"} or len(named) < len(args) + len(given):
        return None
    a: Any = named.get("array")
    mode = known_option(named, "mode", "constant")
    if not is_floats(a) or a.kind.ndim > 2 or mode not in _PADDINGS:
        return None
    widths = _widths(named.get("pad_width"), a.kind.ndim)
    return None if widths is None else (_PADDINGS[mode][a.kind.ndim - 1], [a, *widths])


def _widths(v: Any, ndim: int) -> list[int] | None:
    """Return the widths on both sides along each axis, if they are known."""
    x = known_parts(v)
    try:
        pairs = np.broadcast_to(np.array(x), (ndim, 2)).ravel()
    except ValueError:
        return None
    return pairs.tolist() if pairs.dtype.kind == "i" and (pairs >= 0).all() else None


def _rounded(args: list, given: dict[str, Any]) -> Found:
    decimals = [*args[1:], *given.values()] if given.keys() <= {"decimals"} else [None]
    is_whole = all(type(v) is Value and known(v) == 0 for v in decimals) and len(decimals) < 2
    return (made.nearest, args[:1]) if is_whole and args and is_floats(args[0]) else None


def _with_diagonal(args: list, given: dict[str, Any]) -> Found:
    if given or len(args) != 2 or not is_floats(args[0]) or args[0].kind.ndim != 2:
        return None
    return (made.fill_diagonal, args) if is_float(args[1]) or is_integer(args[1]) else None


def _split(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("ary", "indices_or_sections", "axis"), args, strict=False)) | given
    a: Any = named.get("ary")
    sections = known_option(named, "indices_or_sections")
    at_first = is_first(a, known_option(named, "axis", 0)) if is_floats(a) else None
    if at_first is None or type(sections) is not int or not 0 < sections <= _MOST_PARTS:
        return None
    return made.split_first if at_first else made.split_last, [a, sections, Items(range(sections))]


def _without(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("arr", "obj", "axis"), args, strict=False)) | given
    a: Any = named.get("arr")
    i = named.get("obj")
    if not is_floats(a) or not is_integer(i):
        return None
    # Without an axis, a matrix would become a vector.
    axis = known_option(named, "axis", 0 if a.kind.ndim == 1 else None)
    return (made.without, [a, i]) if is_first(a, axis) else None


def _filled(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("shape", "fill_value", "dtype"), args, strict=False)) | given
    value = named.get("fill_value")
    if len(named) < len(args) + len(given) or not named.keys() <= _OF_FULL:
        return None
    if "shape" not in named or type(value) is not Value or not value.kind.is_scalar:
        return None
    classes = [cls for cls in (bool, int, float) if value.kind.classes <= {cls, _OF_NUMPY[cls]}]
    dtype = known_option(named, "dtype") or (classes and classes[0])
    is_one = classes and dtype in (float, np.float64, classes[0], _OF_NUMPY[classes[0]])
    return (made.full, [named["shape"], value, dtype]) if is_one else None


_OF_FULL = {"shape", "fill_value", "dtype"}
_OF_NUMPY = {bool: np.bool_, int: np.int64, float: np.float64}


def _in_lists(args: list, given: dict[str, Any]) -> Found:
    (a,) = args
    functions = {1: made.listed, 2: made.listed_rows}
    is_one = is_floats(a) and a.kind.ndim in functions
    return (functions[a.kind.ndim], args) if is_one else None


def _appended(args: list, given: dict[str, Any]) -> Found:
    both = list(map(_vector, args))
    return None if given or len(both) != 2 or None in both else (made.append_to, both)


def _spaced(args: list, given: dict[str, Any]) -> Found:
    named = dict(zip(("start", "stop", "num"), args, strict=False)) | given
    if not named.keys() <= {"start", "stop", "num"} or len(named) < len(args) + len(given):
        return None
    ends, n = [named.get("start"), named.get("stop")], named.get("num", 50)
    are_ends = all(is_float(x) or is_integer(x) for x in ends)
    return (made.spaced, [*ends, n]) if are_ends and (n == 50 or is_integer(n)) else None


def _weighted(args: list, given: dict[str, Any]) -> Found:
    weights: Any = given.get("weights")
    if len(args) != 1 or len(given) != 1 or not is_floats(args[0]) or not is_floats(weights):
        return None
    are_vectors = args[0].kind.ndim == weights.kind.ndim == 1
    return (made.average, [args[0], weights]) if are_vectors else None


def _again(function: Callable) -> Callable:
    def chosen(args: list, given: dict[str, Any]) -> Found:
        is_one = len(args) == 2 and not given and is_floats(args[0]) and args[0].kind.ndim == 1
        return (function, args) if is_one and is_integer(args[1]) else None

    return chosen


def _products(args: list, given: dict[str, Any]) -> Found:
    functions = {1: made.kron_of_vectors, 2: made.kron}
    ranks = {v.kind.ndim for v in args if is_floats(v)}
    if given or len(args) != 2 or len(ranks) > 1 or not all(map(is_floats, args)):
        return None
    return (functions[ndim], args) if (ndim := ranks.pop()) in functions else None


def _powers(args: list, given: dict[str, Any]) -> Found:
    is_up = known_option(given, "increasing", False)
    is_one = given.keys() <= {"increasing"} and len(args) == 2 and type(is_up) is bool
    if not is_one or not is_floats(args[0]) or not is_integer(args[1]):
        return None
    return made.powers_up if is_up else made.powers_down, args


def _taken(args: list, given: dict[str, Any]) -> Found:
    if len(args) != 2 or not given.keys() <= {"axis"} or not is_floats(args[0]):
        return None
    a, indices = args
    are_listed = type(indices) is Items and indices and all(map(is_integer, indices))
    is_array = type(indices) is Value and indices.kind.is_array and indices.kind.letter in "iu"
    is_element = is_integer(indices) and a.kind.ndim == 1  # a row would be a view
    if not (are_listed or is_array or is_element):
        return None
    at_first = is_first(a, known_option(given, "axis", 0 if a.kind.ndim == 1 else None))
    return None if at_first is None else (made.taken_first if at_first else made.taken_last, args)


def _columns(args: list, given: dict[str, Any]) -> Found:
    parts = args[0] if len(args) == 1 and isinstance(args[0], tuple) and not given else ()
    are_columns = all(is_floats(p) and p.kind.ndim < 3 for p in parts)
    return (made.columns, args) if parts and are_columns else None


def _powered(args: list, given: dict[str, Any]) -> Found:
    function = _MATRIX_POWERS.get(known(args[1])) if len(args) == 2 and not given else None
    if function is None or not is_floats(args[0]) or args[0].kind.ndim != 2:
        return None
    return function, args[:1]


def _normalized(function: Callable) -> Callable:
    def chosen(args: list, given: dict[str, Any]) -> Found:
        is_one = len(args) == 1 and is_floats(args[0]) and given.keys() <= {"axis"}
        axis = known_option(given, "axis")
        return (function, [args[0], axis]) if is_one and axis is not UNKNOWN else None

    return chosen


def _log_of_sum(args: list, given: dict[str, Any]) -> Found:
    if len(args) != 1 or not is_floats(args[0]) or not given.keys() <= {"axis", "keepdims"}:
        return None
    a, axis, keeps = args[0], known_option(given, "axis"), known_option(given, "keepdims", False)
    if not keeps and (axis is None or (a.kind.ndim == 1 and axis in (0, -1))):
        return of_scipy.logsumexp, args
    if type(axis) is not int or type(keeps) is not bool or not -a.kind.ndim <= axis < a.kind.ndim:
        return None
    if keeps:
        return of_scipy.logsumexp_along, [a, axis]
    at_first = is_first(a, axis)
    if at_first is None:
        return None
    return of_scipy.logsumexp_first if at_first else of_scipy.logsumexp_last, [a, axis]


def _grid(args: list, given: dict[str, Any]) -> Found:
    is_one = not given and all(map(_are_places, args)) and len(args) in grid_functions.GRIDS
    return (grid_functions.GRIDS[len(args)], args) if is_one else None


def _are_places(v: Any) -> bool:
    """Whether it is a vector, or a list that is not empty, of integers."""
    if isinstance(v, tuple):
        return bool(v) and all(is_integer(part) for part in v)
    return type(v) is Value and v.kind.letter in ("i", "u") and v.kind.ndim == 1


def _blocks(args: list, given: dict[str, Any]) -> Found:
    rows = args[0] if len(args) == 1 and not given and type(args[0]) is Items else ()
    are_rows = rows and all(type(row) is Items and row for row in rows)
    if not are_rows or not all(is_floats(v) and v.kind.ndim == 2 for row in rows for v in row):
        return None
    return grid_functions.of_blocks, args


_MATRIX_POWERS = {2: made.squared, 3: made.cubed}
_GIVE_TUPLES = type(np.gradient(np.eye(2))) is tuple  # older ones give lists
_OF_DIFF = frozenset({"axis", "prepend", "append"})
_MODES = ("valid", "same", "full")
_MOST_PARTS = 16  # of an array: each has a variable
_BOUNDS = (("a_min", "min"), ("a_max", "max"))
_PADDINGS = {
    "constant": (made.between_zeros, made.framed_by_zeros),
    "edge": (made.between_ends, made.framed_by_ends),
    "wrap": (made.wrapped, made.wrapped_frame), "reflect": (made.reflected, made.reflected_frame),
    "symmetric": (made.mirrored, made.mirrored_frame),
}  # fmt: skip
_OTHERS: dict[Any, Callable] = {
    np.full: _filled, np.split: _split, np.delete: _without,
    np.diff: _differences, np.gradient: _slopes, np.roll: _turned,
    np.clip: _bounded, np.ndarray.clip: _bounded, np.trapezoid: _integral, np.pad: _padded,
    np.polyval: _of_coefficients, np.fill_diagonal: _with_diagonal,
    np.round: _rounded, np.around: _rounded, np.ndarray.round: _rounded,
    np.cross: by_rank(made.cross, 1, 1), np.trace: by_rank(made.trace, 2),
    np.ndarray.trace: by_rank(made.trace, 2),
    np.meshgrid: by_rank(made.meshgrid, 1, 1),
    np.ndarray.tolist: _in_lists,
    np.std: _by_axes(made.std), np.ndarray.std: _by_axes(made.std),
    np.var: _by_axes(made.var), np.ndarray.var: _by_axes(made.var),
    np.append: _appended, np.linspace: _spaced, np.ptp: _by_axes(made.spread),
    np.average: _weighted, np.tile: _again(made.tiled), np.repeat: _again(made.repeated),
    np.ndarray.repeat: _again(made.repeated), np.kron: _products, np.vander: _powers,
    np.take: _taken, np.ndarray.take: _taken, np.column_stack: _columns,
    np.linalg.matrix_power: _powered, np.cumsum: _running, np.unwrap: by_rank(made.unwrapped, 1),
    np.linalg.eigvalsh: by_rank(made.eigenvalues, 2),
    np.correlate: _correlated, np.ix_: _grid, np.block: _blocks,
    **by_order.OTHERS, **arrays_of_parts.OTHERS,
}  # fmt: skip

_OF_SPECIAL: dict[str, Callable] = {
    "softmax": _normalized(of_scipy.softmax), "log_softmax": _normalized(of_scipy.log_softmax),
    "logsumexp": _log_of_sum,
}  # fmt: skip
"""The same for functions of `scipy.special`, which need not be loaded."""

JOINED = frozenset({np.concatenate, np.hstack})
"""Functions that join vectors, and lists of numbers with them."""

REDUCED: dict[Any, Callable] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}
"""Ufunc → the function that does what its method ``reduce`` does."""

_WITHOUT_RULES = frozenset(
    {np.polyval, np.fill_diagonal, np.ndarray.tolist, np.ndarray.sort, np.ix_}
)  # tracing has these in Python, too

READ = frozenset(_OTHERS)
"""Functions that may be read as made of others."""

OF_VECTORS = frozenset(_OTHERS) - {
    np.full, np.ix_, np.block, np.clip, np.ndarray.clip, np.fill_diagonal, np.quantile,
    np.percentile, np.array, np.asarray,
} | {
    np.dot, np.matmul, operator.matmul, np.vdot, np.inner, np.outer, np.einsum
}  # fmt: skip
"""Functions that make vectors of lists of numbers."""

FUNCTIONS = frozenset(
    f
    for m in (made, grid_functions, order_functions, arrays_of_parts, of_scipy)
    for f in vars(m).values()
    if callable(f)
) - {Any}
"""Functions that are read in the place of others."""


def made_of_others(f: Any, args: list, options: dict[str, Any]) -> Found:
    """Return the function that is read in the place of a call, and what it is given.

    None where the call is read as it is.
    """
    choose = _OF_SPECIAL.get(f.__name__) if is_of_special(f) else _OTHERS.get(f)
    found = None if choose is None else choose(args, options)
    if found is None or f is np.full:
        return found
    return found if _is_ruled_by_library(f, args, options) else None


def _is_ruled_by_library(f: Any, args: list, options: dict[str, Any]) -> bool:
    entry = rrule.entry(key_of(function_of(f))[0])
    if f in _WITHOUT_RULES:
        return entry is None
    try:
        given = tuple(map(_sample, args))
        named = {name: _sample(v) for name, v in options.items()}
        resolved = None if entry is None else entry.resolve(given, named, None)
    except UnsupportedError:
        return False
    if resolved is None:
        return False
    is_step = _OTHERS.get(f) is _rounded and resolved[0].kind == "non_differentiable"
    return is_step or is_own_rule(resolved[0])


def is_ruled_by_library(f: Any) -> bool:
    """Whether the rule of a function, for all arguments, is the library's."""
    entry = rrule.entry(key_of(function_of(f))[0])
    sample = (np.ones(1),) if is_of_ufunc(f) else (np.array([True]), np.ones(1), np.ones(1))
    resolved = None if entry is None else entry.resolve(sample, {}, None)
    return resolved is not None and is_own_rule(resolved[0])


def _sample(v: Any) -> Any:
    if type(v) is Items and any(type(part) is Items for part in v):
        return list(map(_sample, v))
    return tuple(map(_sample, v)) if isinstance(v, tuple) else samples(v.kind)[0]
