"""The choice of a decomposition for a call of NumPy or SciPy.

Each function that can be decomposed has a selector: it is given the arguments of a call, and
returns a decomposition and the arguments for that, or None if the call has another form.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items, Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError, samples
from autodiff.structured.form.known_functions import (
    function_of,
    is_builtin_rule,
    is_of_special,
    is_of_ufunc,
)
from autodiff.structured.reading.libraries import (
    array_assembly,
    numpy_decompositions as new,
    scipy_decompositions,
    sorting_decompositions,
)
from autodiff.structured.reading.libraries.argument_checks import (
    Choice,
    by_name,
    by_rank,
    first_or_last,
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
    """Return a selector for a reduction with the options ``axis`` and ``keepdims``."""

    def select(args: list, given: dict[str, Any]) -> Choice:
        if len(args) != 1 or not is_floats(args[0]) or not given.keys() <= {"axis", "keepdims"}:
            return None
        options = known_option(given, "axis"), known_option(given, "keepdims", False)
        return None if UNKNOWN in options else (function, [*args, *options])

    return select


@by_name("a", "n", "axis", "prepend", "append")
def _select_diff(named: dict[str, Any]) -> Choice:
    a, order = named["a"], known_option(named, "n", 1)
    if not is_floats(a) or order not in (1, 2):
        return None
    at_first = is_first(a, known_option(named, "axis", -1))
    if at_first is None:
        return None
    ends = [named[name] for name in ("prepend", "append") if name in named]
    if order == 2:
        twice = new.diff_first_twice if at_first else new.diff_twice
        return None if ends else (twice, [a])
    if not ends:
        return new.diff_first if at_first else new.diff, [a]
    prepends = "prepend" in named
    if a.kind.ndim == 1:
        ends = list(map(_vector, ends))
    elif a.kind.ndim == 2 and len(ends) == 1 and is_float(ends[0]):
        row = new.row_diff_prepend_number if prepends else new.row_diff_append_number
        column = new.column_diff_prepend_number if prepends else new.column_diff_append_number
        return column if at_first else row, [a, *ends]
    elif a.kind.ndim > 2 or not all(is_floats(v) and v.kind.ndim == 2 for v in ends):
        return None
    if None in ends:
        return None
    parts = (*ends[:prepends], a, *ends[prepends:])
    return new.joined_diff if at_first else new.joined_row_diff, [parts]


def _vector(v: Any) -> Any:
    """Return a vector, or a list of the given numbers; None for anything else."""
    parts = v if isinstance(v, tuple) else (v,)
    if all(type(p) is Value and p.kind.is_scalar and not p.kind.is_complex for p in parts):
        return Items(parts)
    return v if is_floats(v) and v.kind.ndim == 1 else None


def _select_cumsum(args: list, given: dict[str, Any]) -> Choice:
    is_matrix = len(args) == 1 and not given and is_floats(args[0]) and args[0].kind.ndim > 1
    return (new.cumsum_flat, args) if is_matrix else None


@by_name("a", "v", "mode")
def _select_correlate(named: dict[str, Any]) -> Choice:
    both, mode = [named["a"], named.get("v")], known_option(named, "mode", "valid")
    are_vectors = all(is_floats(v) and v.kind.ndim == 1 for v in both)
    return (new.correlate, [*both, mode]) if are_vectors and mode in _MODES else None


def _select_gradient(args: list, given: dict[str, Any]) -> Choice:
    if not args or not is_floats(args[0]) or not all(map(is_float, args[1:])) or len(args) > 2:
        return None
    if not given:
        if args[0].kind.ndim == 2:
            return (new.gradient_both, args) if _GRADIENT_IS_TUPLE else None
        return (new.gradient_first, args) if args[0].kind.ndim == 1 else None
    axis = known_option(given, "axis") if given.keys() == {"axis"} else None
    function = first_or_last(args[0], axis, new.gradient_first, new.gradient_last)
    return None if function is None else (function, args)


@by_name("a", "shift", "axis")
def _select_roll(named: dict[str, Any]) -> Choice:
    a, shift, axis = named["a"], named.get("shift"), known_option(named, "axis")
    if not is_floats(a):
        return None
    if type(shift) is tuple and a.kind.ndim == 2:
        axes = known_parts(named.get("axis"))
        if len(shift) != 2 or not all(map(is_integer, shift)) or axes not in ([0, 1], [1, 0]):
            return None
        return new.roll_both, [a, *(shift if axes == [0, 1] else shift[::-1])]
    if not is_integer(shift) or a.kind.ndim > 2:
        return None
    if axis is None:
        return (new.roll_first if a.kind.ndim == 1 else new.roll_flat), [a, shift]
    function = first_or_last(a, axis, new.roll_first, new.roll_last)
    return None if function is None else (function, [a, shift])


def _select_clip(args: list, given: dict[str, Any]) -> Choice:
    named = [given[name] for names in _CLIP_OPTIONS for name in names if name in given]
    if len(args) + len(named) != 3 or len(named) < len(given):
        return None
    a, low, high = *args, *named
    if not (is_floats(a) or is_float(a)) or not all(type(v) is Value for v in (low, high)):
        return None
    if (known(low) is None) == (known(high) is None):
        return None
    function, limit = (new.clip_below, low) if known(high) is None else (new.clip_above, high)
    if not is_floats(a) and is_narrow(limit):  # np.clip converts a number to float64
        return None
    return function, [a, limit]


@by_name("y", "x", "dx", "axis")
def _select_trapezoid(named: dict[str, Any]) -> Choice:
    y = named["y"]
    at_first = is_first(y, known_option(named, "axis", -1)) if is_floats(y) else None
    if at_first is None or {"x", "dx"} <= named.keys():
        return None
    if (at_first or "axis" in named) and y.kind.ndim > 2:
        return None
    is_matrix = at_first and y.kind.ndim == 2
    if "x" in named:
        x = named["x"]
        are_points = is_floats(x) and x.kind.ndim == 1
        return (new.trapezoid_first if is_matrix else new.trapezoid, [y, x]) if are_points else None
    step = named.get("dx", 1.0)
    function = new.trapezoid_first_uniform if is_matrix else new.trapezoid_uniform
    return (function, [y, step]) if step == 1.0 or is_float(step) else None


def _select_polyval(args: list, given: dict[str, Any]) -> Choice:
    if given or len(args) != 2 or not is_floats(args[0]) or args[0].kind.ndim != 1:
        return None
    if is_float(args[1]):
        return new.polyval_at_number, args
    return (new.polyval, args) if is_floats(args[1]) else None


@by_name("array", "pad_width", "mode")
def _select_pad(named: dict[str, Any]) -> Choice:
    a, mode = named["array"], known_option(named, "mode", "constant")
    if not is_floats(a) or a.kind.ndim > 2 or mode not in (*_PADDINGS, *_PADDINGS_OF_AXES):
        return None
    widths = _pad_widths(named.get("pad_width"), a.kind.ndim)
    if widths is None:
        return None
    if mode in _PADDINGS:
        return _PADDINGS[mode][a.kind.ndim - 1], [a, *widths]
    pad = _PADDINGS_OF_AXES[mode]
    return (pad, [a, *widths]) if a.kind.ndim == 1 else (new.pad_matrix, [pad, a, *widths])


def _pad_widths(v: Any, ndim: int) -> list[int] | None:
    """Return the widths before and after, axis by axis; None if they are not known."""
    x = known_parts(v)
    try:
        pairs = np.broadcast_to(np.array(x), (ndim, 2)).ravel()
    except ValueError:
        return None
    return pairs.tolist() if pairs.dtype.kind == "i" and (pairs >= 0).all() else None


def _select_round(args: list, given: dict[str, Any]) -> Choice:
    decimals = [*args[1:], *given.values()] if given.keys() <= {"decimals"} else [None]
    is_zero = all(type(v) is Value and known(v) == 0 for v in decimals) and len(decimals) < 2
    return (new.round_to_integers, args[:1]) if is_zero and args and is_floats(args[0]) else None


def _select_fill_diagonal(args: list, given: dict[str, Any]) -> Choice:
    if given or len(args) != 2 or not is_floats(args[0]) or args[0].kind.ndim != 2:
        return None
    return (new.fill_diagonal, args) if is_float(args[1]) or is_integer(args[1]) else None


@by_name("ary", "indices_or_sections", "axis")
def _select_split(named: dict[str, Any]) -> Choice:
    a, n = named["ary"], known_option(named, "indices_or_sections")
    if not is_floats(a):
        return None
    function = first_or_last(a, known_option(named, "axis", 0), new.split_first, new.split_last)
    if function is None or type(n) is not int or not 0 < n <= _MOST_PARTS:
        return None
    return function, [a, n, Items(range(n))]


@by_name("arr", "obj", "axis")
def _select_delete(named: dict[str, Any]) -> Choice:
    a, i = named["arr"], named.get("obj")
    if not is_floats(a) or not is_integer(i):
        return None
    # Without an axis, NumPy flattens a matrix.
    axis = known_option(named, "axis", 0 if a.kind.ndim == 1 else None)
    return (new.delete, [a, i]) if is_first(a, axis) else None


@by_name("shape", "fill_value", "dtype")
def _select_full(named: dict[str, Any]) -> Choice:
    value = named.get("fill_value")
    if type(value) is not Value or not value.kind.is_scalar:
        return None
    classes = [cls for cls in _NUMPY_CLASS if value.kind.classes <= {cls, _NUMPY_CLASS[cls]}]
    dtype = known_option(named, "dtype") or (classes and classes[0])
    is_one = classes and dtype in (float, np.float64, classes[0], _NUMPY_CLASS[classes[0]])
    if not is_one:
        return None
    if dtype in (float, np.float64):  # nothing is written: the array need not have a shadow
        return new.full_of_floats, [named["shape"], value]
    return new.full, [named["shape"], value, dtype]


def _select_tolist(args: list, given: dict[str, Any]) -> Choice:
    (a,) = args
    functions = {1: new.tolist, 2: new.tolist_rows}
    is_one = is_floats(a) and a.kind.ndim in functions
    return (functions[a.kind.ndim], args) if is_one else None


def _select_append(args: list, given: dict[str, Any]) -> Choice:
    both = list(map(_vector, args))
    return None if given or len(both) != 2 or None in both else (new.append, both)


@by_name("start", "stop", "num")
def _select_linspace(named: dict[str, Any]) -> Choice:
    ends, n = [named["start"], named.get("stop")], named.get("num", 50)
    are_ends = all(is_float(x) or is_integer(x) for x in ends)
    return (new.linspace, [*ends, n]) if are_ends and (n == 50 or is_integer(n)) else None


def _select_average(args: list, given: dict[str, Any]) -> Choice:
    weights: Any = given.get("weights")
    if len(args) != 1 or len(given) != 1 or not is_floats(args[0]) or not is_floats(weights):
        return None
    are_vectors = args[0].kind.ndim == weights.kind.ndim == 1
    return (new.average, [args[0], weights]) if are_vectors else None


def _repeating(function: Callable) -> Callable:
    """Return a selector for a function of a vector and a number of repetitions."""

    def select(args: list, given: dict[str, Any]) -> Choice:
        is_one = len(args) == 2 and not given and is_floats(args[0]) and args[0].kind.ndim == 1
        return (function, args) if is_one and is_integer(args[1]) else None

    return select


def _select_kron(args: list, given: dict[str, Any]) -> Choice:
    functions = {1: new.kron_vectors, 2: new.kron}
    ranks = {v.kind.ndim for v in args if is_floats(v)}
    if given or len(args) != 2 or len(ranks) > 1 or not all(map(is_floats, args)):
        return None
    return (functions[ndim], args) if (ndim := ranks.pop()) in functions else None


def _select_vander(args: list, given: dict[str, Any]) -> Choice:
    is_up = known_option(given, "increasing", False)
    is_one = given.keys() <= {"increasing"} and len(args) == 2 and type(is_up) is bool
    if not is_one or not is_floats(args[0]) or not is_integer(args[1]):
        return None
    return new.vander_increasing if is_up else new.vander_decreasing, args


@by_name("a", "indices", "axis")
def _select_take(named: dict[str, Any]) -> Choice:
    a, indices = named["a"], named.get("indices")
    if not is_floats(a):
        return None
    are_listed = type(indices) is Items and indices and all(map(is_integer, indices))
    is_array = type(indices) is Value and indices.kind.is_array and indices.kind.letter in "iu"
    is_element = is_integer(indices) and a.kind.ndim == 1  # a row would be a view
    if not (are_listed or is_array or is_element):
        return None
    axis = known_option(named, "axis", 0 if a.kind.ndim == 1 else None)
    function = first_or_last(a, axis, new.take_first, new.take_last)
    return None if function is None else (function, [a, indices])


def _select_column_stack(args: list, given: dict[str, Any]) -> Choice:
    parts = args[0] if len(args) == 1 and isinstance(args[0], tuple) and not given else ()
    are_columns = all(is_floats(p) and p.kind.ndim < 3 for p in parts)
    return (new.column_stack, args) if parts and are_columns else None


def _select_matrix_power(args: list, given: dict[str, Any]) -> Choice:
    function = _MATRIX_POWERS.get(known(args[1])) if len(args) == 2 and not given else None
    if function is None or not is_floats(args[0]) or args[0].kind.ndim != 2:
        return None
    return function, args[:1]


_MATRIX_POWERS = {2: new.matrix_square, 3: new.matrix_cube}
_GRADIENT_IS_TUPLE = type(np.gradient(np.eye(2))) is tuple  # older versions return a list
_MODES = ("valid", "same", "full")  # of a correlation
_MOST_PARTS = 16  # of a split array: each has a variable
_CLIP_OPTIONS = (("a_min", "min"), ("a_max", "max"))
_NUMPY_CLASS: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64}
_PADDINGS = {  # for vectors and for matrices
    "constant": (new.pad_zeros, new.pad_matrix_zeros),
    "edge": (new.pad_edge, new.pad_matrix_edge),
}
_PADDINGS_OF_AXES = {
    "wrap": new.pad_wrap,
    "reflect": new.pad_reflect,
    "symmetric": new.pad_symmetric,
}
_SELECTORS: dict[Any, Callable] = {
    np.full: _select_full, np.split: _select_split, np.delete: _select_delete,
    np.diff: _select_diff, np.gradient: _select_gradient, np.roll: _select_roll,
    np.clip: _select_clip, np.ndarray.clip: _select_clip, np.trapezoid: _select_trapezoid,
    np.pad: _select_pad, np.polyval: _select_polyval, np.fill_diagonal: _select_fill_diagonal,
    np.round: _select_round, np.around: _select_round, np.ndarray.round: _select_round,
    np.cross: by_rank(new.cross, 1, 1), np.trace: by_rank(new.trace, 2),
    np.ndarray.trace: by_rank(new.trace, 2), np.meshgrid: by_rank(new.meshgrid, 1, 1),
    np.ndarray.tolist: _select_tolist, np.ptp: _by_axes(new.ptp),
    np.std: _by_axes(new.std), np.ndarray.std: _by_axes(new.std),
    np.var: _by_axes(new.var), np.ndarray.var: _by_axes(new.var),
    np.append: _select_append, np.linspace: _select_linspace, np.average: _select_average,
    np.tile: _repeating(new.tile), np.repeat: _repeating(new.repeat),
    np.ndarray.repeat: _repeating(new.repeat), np.kron: _select_kron, np.vander: _select_vander,
    np.take: _select_take, np.ndarray.take: _select_take, np.column_stack: _select_column_stack,
    np.linalg.matrix_power: _select_matrix_power, np.cumsum: _select_cumsum,
    np.unwrap: by_rank(new.unwrap, 1), np.linalg.eigvalsh: by_rank(new.eigvalsh, 2),
    np.correlate: _select_correlate, np.vdot: by_rank(new.vdot, 2, 2),
    **sorting_decompositions.SELECTORS, **array_assembly.SELECTORS,
}  # fmt: skip

JOINS_VECTORS = frozenset({np.concatenate, np.hstack})
"""Functions that join vectors, and lists of numbers with them."""

REDUCTIONS: dict[Any, Callable] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}
"""Ufunc → the function that does what its method ``reduce`` does."""

_WITHOUT_RULES = frozenset(
    {np.polyval, np.fill_diagonal, np.ndarray.tolist, np.ndarray.sort, np.ix_}
)  # the tracer runs these as Python code, too

DECOMPOSABLE = frozenset(_SELECTORS)
"""Functions that may be decomposed."""

TAKES_VECTORS = frozenset(_SELECTORS) - {
    np.full, np.ix_, np.block, np.clip, np.ndarray.clip, np.fill_diagonal, np.quantile,
    np.percentile, np.array, np.asarray,
} | {
    np.dot, np.matmul, operator.matmul, np.vdot, np.inner, np.outer, np.einsum
}  # fmt: skip
"""Functions that convert a list of numbers to a vector."""

FUNCTIONS = frozenset(
    f
    for m in (new, sorting_decompositions, array_assembly, scipy_decompositions)
    for name, f in vars(m).items()
    if type(f) is types.FunctionType and f.__module__ == m.__name__ and not name.startswith("_")
)
"""All decompositions of functions of NumPy and SciPy."""


def decomposed(f: Any, args: list, options: dict[str, Any]) -> Choice:
    """Return the decomposition of a call and its arguments; None if the call stays as it is."""
    select = (
        scipy_decompositions.SELECTORS.get(f.__name__) if is_of_special(f) else _SELECTORS.get(f)
    )
    found = None if select is None else select(args, options)
    if found is None or f is np.full:
        return found
    return found if _has_own_rule(f, args, options) else None


def _has_own_rule(f: Any, args: list, options: dict[str, Any]) -> bool:
    """Whether the tracer would use the library's rule, not one of the user's, for a call."""
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
    is_step = _SELECTORS.get(f) is _select_round and resolved[0].kind == "non_differentiable"
    return is_step or is_builtin_rule(resolved[0])


def has_library_rule(f: Any) -> bool:
    """Whether the tracer uses the library's rule of a function for all arguments."""
    entry = rrule.entry(key_of(function_of(f))[0])
    sample = (np.ones(1),) if is_of_ufunc(f) else (np.array([True]), np.ones(1), np.ones(1))
    resolved = None if entry is None else entry.resolve(sample, {}, None)
    return resolved is not None and is_builtin_rule(resolved[0])


def _sample(v: Any) -> Any:
    """Return a sample value of an argument."""
    if type(v) is Items and any(type(part) is Items for part in v):
        return list(map(_sample, v))
    return tuple(map(_sample, v)) if isinstance(v, tuple) else samples(v.kind)[0]
