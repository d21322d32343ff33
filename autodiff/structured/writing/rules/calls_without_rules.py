"""Calls whose adjoints need no rule: copies, sums, means, joined arrays, and those of numbers.

So are norms and extrema, inverses, determinants and linear systems, whose rules would keep what the
sweep has anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.structured.form.ir import Op, Value, known
from autodiff.structured.form.kinds import SCALARS
from autodiff.structured.form.known_functions import function_of, is_own_rule
from autodiff.structured.runtime_calls import (
    cholesky_back,
    convolve_back,
    cumprod_back,
    cumsum_back,
    extremum_back,
    interp_back_to_nodes,
    interp_back_to_places,
    interp_back_to_values,
    norm_back,
    prod_back,
)

_DISPLAYS = (np.array, np.asarray)
_COPIES = (np.copy, np.ndarray.copy, np.array)
JOINS = (np.concatenate, np.hstack, np.vstack, np.stack)
"""Functions that join arrays."""
_REDUCED: dict[Any, Callable] = {
    np.max: extremum_back, np.amax: extremum_back, np.min: extremum_back, np.amin: extremum_back,
    np.linalg.norm: norm_back,
}  # fmt: skip
_OF_MATRICES: dict[Any, list[list[int]]] = {
    np.linalg.inv: [[2]], np.linalg.det: [[2]],
    np.linalg.solve: [[2, 1], [2, 2]],
}  # fmt: skip
_OF_COMPLEX = frozenset({np.linalg.norm, np.linalg.inv, np.linalg.solve})
_DTYPES = (np.float64, np.complex128)
_FLOATS = frozenset({float, np.float64})
_SUMMED = (np.float64, np.float32, np.complex128, np.complex64)


def is_display(op: Op) -> bool:
    """Whether an operation makes an array of numbers that are written one by one."""
    out: Any = op.out
    is_one = op.f in _DISPLAYS and len(op.args) == 1 and not op.options.keys() - {"dtype"}
    if not is_one or out.kind.dtype not in _DTYPES:
        return False
    return _are_numbers(op.args[0])


def _are_numbers(v: Value) -> bool:
    if v.kind.is_known and type(known(v)) is tuple:
        return _are_known_numbers(known(v))
    return v.op.code == "tuple" and all(p.kind.is_scalar or _are_numbers(p) for p in v.op.args)


def _are_known_numbers(x: tuple) -> bool:
    return all(type(p) in SCALARS or (type(p) is tuple and _are_known_numbers(p)) for p in x)


def is_copy(op: Op) -> bool:
    """Whether an operation copies an array, or makes a complex one of it."""
    if op.f is np.ndarray.astype and len(op.args) == 2 and not op.options:
        given, made = (v.kind.dtype for v in (op.args[0], op.out))  # type: ignore[union-attr]
        return made == np.complex128 and given in _DTYPES
    if op.f in _FLOATS:  # float(x) of a float
        is_one = len(op.args) == 1 and op.args[0].kind.classes <= _FLOATS and not op.options
        return is_one and is_own_rule(getattr(op.rule, "rule", None))
    return op.f in _COPIES and op.args[0].kind == op.out.kind  # type: ignore[union-attr] # a call


def is_reshape(op: Op) -> bool:
    """Whether an operation gives an array another shape."""
    is_one = function_of(op.f) is np.reshape and len(op.args) == 2 and not op.options
    return is_one and op.args[0].kind.is_array and is_own_rule(getattr(op.rule, "rule", None))


def is_made_of_parts(op: Op) -> bool:
    """Whether an operation puts numbers or arrays together, each of which gets a part."""
    return is_display(op) or joined_axis(op) is not None


def joined_axis(op: Op) -> tuple[int, bool] | None:
    """Return along which axis arrays are joined, and whether it is a new one; None if none are."""
    f = function_of(op.f)
    if f not in JOINS or not op.args or op.args[0].op.code != "tuple":
        return None
    parts = op.args[0].op.args
    kinds = {(v.kind.dtype, v.kind.ndim) for v in parts}
    given = [*op.args[1:], *op.options.values()]
    if len(kinds) != 1 or len(given) > 1 or not op.options.keys() <= {"axis"}:
        return None
    ((dtype, ndim),) = kinds
    if dtype not in _SUMMED or not ndim or not all(v.kind.is_known for v in given):
        return None
    axes = [known(v) for v in given]
    return place_of_join(f, ndim, *axes) if all(type(k) is int for k in axes) else None


def place_of_join(f: Any, ndim: int, axis: int | None = None) -> tuple[int, bool] | None:
    """Return along which axis a function joins arrays, and whether it is a new one."""
    is_new = f is np.stack or (f is np.vstack and ndim == 1)
    if axis is None:
        axis = int(f is np.hstack and ndim > 1)
    is_there = -ndim - is_new <= axis < ndim + is_new
    return (axis % (ndim + is_new), is_new) if is_there else None


def summed_axes(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that are summed, and whether they are kept; None if it is no plain sum."""
    if function_of(op.f) not in (np.sum, np.mean) or not op.args:
        return None
    return _axes_of(op) if op.args[0].kind.dtype in _SUMMED else None


def _axes_of(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that a call reduces, and whether they are kept; None if that is not known."""
    a: Value = op.args[0]
    given = dict(zip(("axis",), op.args[1:], strict=False)) | op.options
    if len(op.args) > 2 or not given.keys() <= {"axis", "keepdims"}:
        return None
    if not (a.kind.is_array and a.kind.ndim and all(v.kind.is_known for v in given.values())):
        return None
    axis = known(given["axis"]) if "axis" in given else None
    keepdims = known(given["keepdims"]) if "keepdims" in given else False
    if axis is None:
        return tuple(range(a.kind.ndim)), bool(keepdims)
    axes = axis if type(axis) is tuple else (axis,)
    return tuple([k % a.kind.ndim for k in axes]), bool(keepdims)


def reduced(op: Op) -> tuple[Callable, tuple[int, ...], bool] | None:
    """Return the adjoint of a norm or extremum, the axes reduced, and whether they are kept.

    It is given cotangent, value and array, and the axes. None for other calls, or if the rule is
    the user's.
    """
    back = _REDUCED.get(function_of(op.f)) if op.code == "call" and op.args else None
    if back is None or not _is_plain(op) or (back is norm_back and len(op.args) > 1):
        return None
    axes = _axes_of(op)
    if axes is None or (back is norm_back and not _is_of_vectors(op, *axes)):
        return None
    return back, *axes


def _is_of_vectors(op: Op, axes: tuple[int, ...], keepdims: bool) -> bool:
    """Whether a norm is that of vectors: of all elements, or along one axis."""
    return len(op.args) == 1 and (not op.options or ("axis" in op.options and len(axes) == 1))


class Back(NamedTuple):
    """How an argument gets its cotangent: by a function of ȳ and of what it reads.

    Attributes
    ----------
    function : callable
        The adjoint.
    reads : tuple of int
        What it is given besides: 0 is the result, 1 the first argument.
    options : tuple
        What it is given behind.
    """

    function: Callable
    reads: tuple[int, ...]
    options: tuple = ()


_BACKS: dict[Any, tuple[list[list[int]], dict[int, Back]]] = {
    np.cumsum: ([[1]], {0: Back(cumsum_back, ())}),
    np.cumprod: ([[1]], {0: Back(cumprod_back, (0, 1))}),
    np.prod: ([[1]], {0: Back(prod_back, (0, 1))}),
    np.linalg.cholesky: ([[2]], {0: Back(cholesky_back, (0,))}),
    np.interp: (
        [[0, 1, 1], [1, 1, 1]],
        {
            0: Back(interp_back_to_places, (1, 2, 3)),
            1: Back(interp_back_to_nodes, (1, 2, 3)),
            2: Back(interp_back_to_values, (1, 2)),
        },
    ),
}


_CONVOLVED: dict[Any, dict[int, Back]] = {
    mode: {
        0: Back(convolve_back, (2, 1), (mode,)),
        1: Back(convolve_back, (1, 2), (mode,)),
    }
    for mode in ("full", "same", "valid")
}


def backs_of(op: Op) -> dict[int, Back] | None:
    """Return the adjoints of a call, by argument, where the sweep has functions for them."""
    if op.code == "call" and op.f is np.convolve:
        return _of_convolution(op)
    if (
        op.code == "call"
        and op.args
        and function_of(op.f) is np.cumsum
        and op.args[0].kind.ndim > 1
    ):
        return _of_running_sums(op)
    found = _BACKS.get(function_of(op.f)) if op.code == "call" and not op.options else None
    if found is None or [a.kind.ndim for a in op.args] not in found[0]:
        return None
    return found[1] if _is_plain(op) else None


def _of_running_sums(op: Op) -> dict[int, Back] | None:
    """Return the adjoint of running sums along an axis of an array."""
    a, *others = op.args
    given = dict(zip(("axis",), others, strict=False)) | op.options
    axis = known(given["axis"]) if given.keys() == {"axis"} else None
    if type(axis) is not int or len(others) + len(op.options) > 1 or not _is_plain(op):
        return None
    return {0: Back(cumsum_back, (), (axis % a.kind.ndim,))}


def _of_convolution(op: Op) -> dict[int, Back] | None:
    a, v, *others = op.args
    given = dict(zip(("mode",), others, strict=False)) | op.options
    mode = known(given["mode"]) if given.keys() == {"mode"} else "full" if not given else None
    is_plain = a.kind.ndim == v.kind.ndim == 1 and len(others) + len(op.options) < 2
    return _CONVOLVED.get(mode) if is_plain and type(mode) is str and _is_plain(op) else None


def einsum_of_operand(op: Op, j: int) -> str | None:
    """Return the subscripts of the einsum of ȳ and the other operands that one gets, or None."""
    if op.f is not np.einsum or op.options or not _is_plain(op):
        return None
    text = known(op.args[0])
    if type(text) is not str or "." in text:
        return None
    subscripts, output = subscripts_of(text)
    mine, others = subscripts[j - 1], [x for i, x in enumerate(subscripts) if i != j - 1]
    is_plain = len(set(mine)) == len(mine) and set(mine) <= {*output, *"".join(others)}
    return ",".join([output, *others]) + "->" + mine if is_plain else None


def is_linear_in(op: Op, j: int) -> bool:
    """Whether a call is linear in an argument: its adjoint reads neither that nor the result."""
    back = (backs_of(op) or {}).get(j)
    if back is not None:
        return {0, j + 1}.isdisjoint(back.reads)
    return einsum_of_operand(op, j) is not None


def subscripts_of(text: str) -> tuple[list[str], str]:
    """Return the subscripts of an einsum's operands and of its result."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    if not arrow:
        output = "".join(c for c in sorted(set(inputs)) if inputs.count(c) == 1 and c != ",")
    return inputs.split(","), output


def is_choice(op: Op) -> bool:
    """Whether it chooses elements by a condition: ``np.where(condition, a, b)``."""
    if op.f is not np.where or len(op.args) != 3 or op.options or not op.out.kind.is_array:  # type: ignore[union-attr] # a call
        return False
    return is_own_rule(getattr(op.rule, "rule", None))


def is_conjugate(op: Op) -> bool:
    """Whether it conjugates a complex number or array."""
    is_one = function_of(op.f) is np.conjugate and len(op.args) == 1 and not op.options
    return is_one and op.args[0].is_complex and is_own_rule(getattr(op.rule, "rule", None))


def of_matrices(op: Op) -> Any:
    """Return which function of linear algebra it is, of matrices or a matrix and a vector."""
    if op.code != "call" or op.f not in _OF_MATRICES or op.options or not _is_plain(op):
        return None
    ranks = [a.kind.ndim for a in op.args]
    return op.f if ranks in _OF_MATRICES[op.f] else None


def is_log_of_determinant(op: Op) -> bool:
    """Whether it is the sign and logarithm of the determinant of one real matrix."""
    is_one = op.code == "call" and op.f is np.linalg.slogdet and not op.options
    return is_one and [a.kind.ndim for a in op.args] == [2] and _is_plain(op)


def is_symmetric_spectrum(op: Op) -> bool:
    """Whether it is the eigenvalues and eigenvectors of one real symmetric matrix."""
    is_one = op.code == "call" and op.f is np.linalg.eigh and not op.options
    return is_one and [a.kind.ndim for a in op.args] == [2] and _is_plain(op)


def solves_triangular(f: Any) -> bool:
    """Whether a function is that of `scipy.linalg` that solves triangular systems."""
    return f is not None and f is getattr(sys.modules.get("scipy.linalg"), "solve_triangular", None)


def triangular(op: Op) -> tuple[bool, bool] | None:
    """Return whether a triangular system is a lower one, and whether it is transposed.

    None for other calls.
    """
    if op.code != "call" or not solves_triangular(op.f) or op.args[2:]:
        return None
    if not _is_plain(op) or op.args[0].kind.ndim != 2 or op.args[1].kind.ndim not in (1, 2):
        return None
    given: dict[str, Any] = {
        name: known(v) if v.kind.is_known else None for name, v in op.options.items()
    }
    lower, trans = given.pop("lower", False), given.pop("trans", 0)
    is_known = type(lower) is bool and trans in (0, 1, "N", "T") and not given
    return (lower, trans in (1, "T")) if is_known else None


def _is_plain(op: Op) -> bool:
    """Whether a call has floats and arrays alone of which the adjoint is written.

    The rule must be the library's.
    """
    dtypes = _DTYPES if function_of(op.f) in _OF_COMPLEX else _DTYPES[:1]
    given = [a.kind for a in op.args if not a.kind.is_known]
    if op.rule is None or not all(
        kind.dtype in dtypes or (kind.is_scalar and kind.classes <= _FLOATS) for kind in given
    ):
        return False
    return is_own_rule(getattr(op.rule, "rule", None))
