"""Calls whose adjoints are known, so that the sweep does not call a pullback.

These are copies, sums, means, joined arrays and arrays made of numbers. For norms, extrema,
inverses, determinants and linear systems, the pullback would only keep values that the sweep has
anyway. Each function here recognizes one kind of call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.functions import is_builtin_rule
from autodiff.structured.form.function_ir import Op, Value, known
from autodiff.structured.form.kinds import SCALARS
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.runtime_library import (
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
    """Whether a call makes an array from a display of numbers, such as ``np.array([x, y])``."""
    out: Any = op.out
    is_one = op.f in _DISPLAYS and len(op.args) == 1 and not op.options.keys() - {"dtype"}
    if not is_one or out.kind.dtype not in _DTYPES or _has_users_rule(op):
        return False
    return _are_numbers(op.args[0])


def _are_numbers(v: Value) -> bool:
    if v.kind.is_known and type(known(v)) is tuple:
        return _are_known_numbers(known(v))
    return v.op.code == "tuple" and all(p.kind.is_scalar or _are_numbers(p) for p in v.op.args)


def _are_known_numbers(x: tuple) -> bool:
    return all(type(p) in SCALARS or (type(p) is tuple and _are_known_numbers(p)) for p in x)


def is_copy(op: Op) -> bool:
    """Whether a call copies a number or array, perhaps to a complex one."""
    if op.f is np.ndarray.astype and len(op.args) == 2 and not op.options:
        given, made = (v.kind.dtype for v in (op.args[0], op.out))
        is_one = made == np.complex128 and given in _DTYPES
    elif op.f in _FLOATS:  # float(x) of a float
        is_one = len(op.args) == 1 and op.args[0].kind.classes <= _FLOATS and not op.options
    else:
        is_one = op.f in _COPIES and op.args[0].kind == op.out.kind
    return is_one and not _has_users_rule(op)


def _has_own_rule(op: Op) -> bool:
    """Whether the rule of a call is the library's, not one of the user's."""
    return is_builtin_rule(getattr(op.rule, "rule", None))


def _has_users_rule(op: Op) -> bool:
    """Whether a call has a rule that is the user's."""
    return op.rule is not None and not is_builtin_rule(getattr(op.rule, "rule", op.rule))


def is_reshape(op: Op) -> bool:
    """Whether a call reshapes an array."""
    is_one = function_of(op.f) is np.reshape and len(op.args) == 2 and not op.options
    return is_one and op.args[0].kind.is_array and _has_own_rule(op)


def assembles_array(op: Op) -> bool:
    """Whether a call assembles an array from numbers or arrays."""
    return is_display(op) or joined_axis(op) is not None


def joined_axis(op: Op) -> tuple[int, bool] | None:
    """Return the axis along which a call joins arrays, and whether it is new; None for others."""
    f = function_of(op.f)
    if f not in JOINS or not op.args or op.args[0].op.code != "tuple" or _has_users_rule(op):
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
    """Return the axis along which a function joins arrays, and whether it is new."""
    is_new = f is np.stack or (f is np.vstack and ndim == 1)
    if axis is None:
        axis = int(f is np.hstack and ndim > 1)
    is_there = -ndim - is_new <= axis < ndim + is_new
    return (axis % (ndim + is_new), is_new) if is_there else None


def summed_axes(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that a sum or mean reduces, and whether it keeps them; None for others."""
    if function_of(op.f) not in (np.sum, np.mean) or not op.args or _has_users_rule(op):
        return None
    return _axes_of(op) if op.args[0].kind.dtype in _SUMMED else None


def _options_of(op: Op, name: str, n: int) -> dict[str, Value] | None:
    """Return the options of a call with `n` arguments, of which `name` may be given by position.

    None if there are more.
    """
    last = op.args[n:]
    return dict(zip((name,), last, strict=False)) | op.options if len(last) < 2 else None


def _axes_of(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that a call reduces, and whether it keeps them; None if that is unknown."""
    a, given = op.args[0], _options_of(op, "axis", 1)
    if given is None or not given.keys() <= {"axis", "keepdims"}:
        return None
    if not (a.kind.is_array and a.kind.ndim and all(v.kind.is_known for v in given.values())):
        return None
    axis = known(given["axis"]) if "axis" in given else None
    keepdims = known(given["keepdims"]) if "keepdims" in given else False
    if axis is None:
        return tuple(range(a.kind.ndim)), bool(keepdims)
    axes = axis if type(axis) is tuple else (axis,)
    return tuple([k % a.kind.ndim for k in axes]), bool(keepdims)


def index_of_reduced_axes(axes: tuple[int, ...], keepdims: bool, ndim: int) -> str:
    """Return the index that inserts reduced axes again, as source; "" if none is needed."""
    if keepdims or len(axes) == ndim:
        return ""
    return f"[{', '.join('None' if k in axes else ':' for k in range(ndim))}]"


def reduced(op: Op) -> tuple[Callable, tuple[int, ...], bool] | None:
    """Return the adjoint of a norm or extremum, the axes reduced, and whether they are kept.

    The adjoint takes the cotangent, the result, the array, and the axes. None for other calls, or
    if the rule is the user's.
    """
    back = _REDUCED.get(function_of(op.f)) if op.code == "call" and op.args else None
    if back is None or not _is_plain(op) or (back is norm_back and len(op.args) > 1):
        return None
    axes = _axes_of(op)
    if axes is None or (back is norm_back and not _is_of_vectors(op, axes[0])):
        return None
    return back, *axes


def _is_of_vectors(op: Op, axes: tuple[int, ...]) -> bool:
    """Whether a norm is a vector norm: of all elements, or along one axis."""
    return not op.options or ("axis" in op.options and len(axes) == 1)


class Adjoint(NamedTuple):
    """The adjoint of one argument: a function of ȳ and of some primal values.

    Attributes
    ----------
    function : callable
        The adjoint.
    reads : tuple of int
        The primal values that it takes after ȳ: 0 is the result, 1 the first argument.
    options : tuple
        Its last arguments, which are constants.
    """

    function: Callable
    reads: tuple[int, ...]
    options: tuple = ()


_ADJOINTS: dict[Any, tuple[list[list[int]], dict[int, Adjoint]]] = {
    np.cumsum: ([[1]], {0: Adjoint(cumsum_back, ())}),
    np.cumprod: ([[1]], {0: Adjoint(cumprod_back, (0, 1))}),
    np.prod: ([[1]], {0: Adjoint(prod_back, (0, 1))}),
    np.linalg.cholesky: ([[2]], {0: Adjoint(cholesky_back, (0,))}),
    np.interp: (
        [[0, 1, 1], [1, 1, 1]],
        {
            0: Adjoint(interp_back_to_places, (1, 2, 3)),
            1: Adjoint(interp_back_to_nodes, (1, 2, 3)),
            2: Adjoint(interp_back_to_values, (1, 2)),
        },
    ),
}


_CONVOLUTIONS: dict[Any, dict[int, Adjoint]] = {
    mode: {
        0: Adjoint(convolve_back, (2, 1), (mode,)),
        1: Adjoint(convolve_back, (1, 2), (mode,)),
    }
    for mode in ("full", "same", "valid")
}


def adjoints_of(op: Op) -> dict[int, Adjoint] | None:
    """Return the adjoints of a call by argument; None if there are no functions for them."""
    if op.code != "call":
        return None
    f = function_of(op.f)
    if op.f is np.convolve:
        return _of_convolution(op)
    if op.args and f is np.cumsum and op.args[0].kind.ndim > 1:
        return _of_running_sums(op)
    found = _ADJOINTS.get(f) if not op.options else None
    if found is None or [a.kind.ndim for a in op.args] not in found[0]:
        return None
    return found[1] if _is_plain(op) else None


def _of_running_sums(op: Op) -> dict[int, Adjoint] | None:
    """Return the adjoint of running sums along an axis of an array."""
    given = _options_of(op, "axis", 1) or {}
    axis = known(given["axis"]) if given.keys() == {"axis"} else None
    if type(axis) is not int or not _is_plain(op):
        return None
    return {0: Adjoint(cumsum_back, (), (axis % op.args[0].kind.ndim,))}


def _of_convolution(op: Op) -> dict[int, Adjoint] | None:
    """Return the adjoints of a convolution of two vectors."""
    given = _options_of(op, "mode", 2)
    if given is None or not given.keys() <= {"mode"} or not _is_plain(op):
        return None
    mode = known(given["mode"]) if given else "full"
    are_vectors = all(a.kind.ndim == 1 for a in op.args[:2])
    return _CONVOLUTIONS.get(mode) if are_vectors and type(mode) is str else None


def adjoint_subscripts(op: Op, j: int) -> str | None:
    """Return the subscripts of the einsum that gives the cotangent of argument `j`, or None.

    Its operands are ȳ and the other operands.
    """
    if op.f is not np.einsum or op.options or not _is_plain(op):
        return None
    text = known(op.args[0])
    if type(text) is not str or "." in text:
        return None
    subscripts, output = subscripts_of(text)
    own, others = subscripts[j - 1], [x for i, x in enumerate(subscripts) if i != j - 1]
    is_plain = len(set(own)) == len(own) and set(own) <= {*output, *"".join(others)}
    return ",".join([output, *others]) + "->" + own if is_plain else None


def is_linear_in(op: Op, j: int) -> bool:
    """Whether a call is linear in an argument: the adjoint reads neither that nor the result."""
    back = (adjoints_of(op) or {}).get(j)
    if back is not None:
        return {0, j + 1}.isdisjoint(back.reads)
    return adjoint_subscripts(op, j) is not None


def subscripts_of(text: str) -> tuple[list[str], str]:
    """Split the subscripts of an einsum into those of its operands and of its result."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    if not arrow:
        output = "".join(c for c in sorted(set(inputs)) if inputs.count(c) == 1 and c != ",")
    return inputs.split(","), output


def is_choice(op: Op) -> bool:
    """Whether a call chooses elements by a condition: ``np.where(condition, a, b)``."""
    if op.f is not np.where or len(op.args) != 3 or op.options or not op.out.kind.is_array:
        return False
    return _has_own_rule(op)


def is_conjugate(op: Op) -> bool:
    """Whether a call conjugates a complex number or array."""
    is_one = function_of(op.f) is np.conjugate and len(op.args) == 1 and not op.options
    return is_one and op.args[0].is_complex and _has_own_rule(op)


def matrix_function(op: Op) -> Any:
    """Return the function of an inverse, determinant or linear system; None for other calls."""
    if op.code != "call" or op.f not in _OF_MATRICES or op.options or not _is_plain(op):
        return None
    ranks = [a.kind.ndim for a in op.args]
    return op.f if ranks in _OF_MATRICES[op.f] else None


def is_log_of_determinant(op: Op) -> bool:
    """Whether a call computes sign and logarithm of the determinant of one real matrix."""
    return op.f is np.linalg.slogdet and _is_of_one_matrix(op)


def is_symmetric_spectrum(op: Op) -> bool:
    """Whether a call computes eigenvalues and eigenvectors of one real symmetric matrix."""
    return op.f is np.linalg.eigh and _is_of_one_matrix(op)


def _is_of_one_matrix(op: Op) -> bool:
    return not op.options and [a.kind.ndim for a in op.args] == [2] and _is_plain(op)


def solves_triangular(f: Any) -> bool:
    """Whether a function is `scipy.linalg.solve_triangular`."""
    return f is not None and f is getattr(sys.modules.get("scipy.linalg"), "solve_triangular", None)


def triangular(op: Op) -> tuple[bool, bool] | None:
    """Return whether the matrix of a triangular system is lower, and whether it is transposed.

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
    is_known = type(lower) is bool and trans in (0, 1, 2, "N", "T", "C") and not given
    return (lower, trans not in (0, "N")) if is_known else None


def _is_plain(op: Op) -> bool:
    """Whether the arguments of a call have classes and dtypes that the known adjoints support.

    Its rule must be the library's.
    """
    dtypes = _DTYPES if function_of(op.f) in _OF_COMPLEX else _DTYPES[:1]
    given = [a.kind for a in op.args if not a.kind.is_known]
    return _has_own_rule(op) and all(
        kind.dtype in dtypes or (kind.is_scalar and kind.classes <= _FLOATS) for kind in given
    )
