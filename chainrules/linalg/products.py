"""Products of vectors and matrices: bilinear, so each factor has an adjoint.

For Y = A B the cotangents are Ā = Ȳ Bᴴ and B̄ = Aᴴ Ȳ. With indices: the cotangent of a factor is
the product of ȳ with the conjugate of the other factor, summed over the indices that the factor
does not have; :func:`numpy.tensordot` says just that, and makes no stack of products where one
factor served a whole stack. Products that conjugate their first factor (``vdot``, ``vecdot``,
``vecmat``) are antilinear in it: there the cotangent is conj(ȳ) times the other factor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrules.indexing.diagonals import on_diagonal
from chainrules.linalg.matrices import adjoint, column, conj, row
from chainrules_core import Array, Numeric, linear_rule, unbroadcast
from chainrules_core.authoring import in_steps, is_foreign

# ------------------------------------------------------------------ products of the last axes


def first_of_matmul(y_bar: Any, a: Any, b: Any) -> Any:
    """Ȳ Bᴴ, where `a` or `b` may be vectors or stacks of matrices."""
    if a.ndim == b.ndim == 2:
        return np.matmul(y_bar, adjoint(b))
    if b.ndim == 1:
        return y_bar * conj(b) if a.ndim == 1 else column_times_row(y_bar, conj(b))
    if a.ndim == 1 and b.ndim == 2:  # tensordot would copy a matrix that is a part of another
        return np.matmul(conj(b), y_bar)
    if a.ndim <= 2:
        shared = (*range(b.ndim - 2), -1)
        return np.tensordot(y_bar, conj(b), (shared, shared))
    return np.matmul(y_bar, adjoint(b))


def second_of_matmul(y_bar: Any, a: Any, b: Any) -> Any:
    """Aᴴ Ȳ, where `a` or `b` may be vectors or stacks of matrices."""
    if a.ndim == b.ndim == 2:
        return np.matmul(adjoint(a), y_bar)
    if a.ndim == 1:
        return conj(a) * y_bar if b.ndim == 1 else column_times_row(conj(a), y_bar)
    if a.ndim == 2 and b.ndim == 1:
        return np.matmul(y_bar, conj(a))
    if b.ndim <= 2:
        shared = tuple(range(a.ndim - 1))
        return np.tensordot(conj(a), y_bar, (shared, shared))
    return np.matmul(adjoint(a), y_bar)


def factors_of_first(y_bar: Any, a: Any, b: Any) -> tuple[Any, Any] | None:
    """Ȳ Bᴴ as an outer product, where a matrix was multiplied with a vector."""
    is_outer = type(b) is np.ndarray and b.ndim == 1 and getattr(a, "ndim", 0) == 2
    return (y_bar, conj(b)) if is_outer else None


def factors_of_second(y_bar: Any, a: Any, b: Any) -> tuple[Any, Any] | None:
    """Aᴴ Ȳ as an outer product, where a vector was multiplied with a matrix."""
    is_outer = type(a) is np.ndarray and a.ndim == 1 and getattr(b, "ndim", 0) == 2
    return (conj(a), y_bar) if is_outer else None


def rows_of_first(y_bars: Any, a: Any, b: Any) -> Any:
    """Ȳ Bᴴ for many Ȳ at once, of products of vectors and single matrices."""
    if not 1 <= a.ndim <= 2 or not 1 <= np.ndim(b) <= 2:
        return None
    return np.matmul(y_bars, adjoint(b)) if b.ndim == 2 else column(y_bars) * conj(b)


def rows_of_second(y_bars: Any, a: Any, b: Any) -> Any:
    """Aᴴ Ȳ for many Ȳ at once, of products of vectors and single matrices."""
    if not 1 <= np.ndim(a) <= 2 or not 1 <= b.ndim <= 2:
        return None
    if a.ndim == 2:
        return np.matmul(y_bars, conj(a)) if b.ndim == 1 else np.matmul(adjoint(a), y_bars)
    return column(y_bars) * conj(a) if b.ndim == 1 else column(conj(a)) * row(y_bars)


def rows_without_options(rows: Callable) -> Callable:
    """As `rows`, but None for calls with options, which may put vectors on other axes."""

    def rows_of(y_bars: Any, a: Any, b: Any, **options: Any) -> Any:
        return None if options else rows(y_bars, a, b)

    return rows_of


def first_of_vecdot(y_bar: Any, a: Any, b: Any) -> Any:
    return numbers_times_rows(conj(y_bar), b)


def second_of_vecdot(y_bar: Any, a: Any, b: Any) -> Any:
    return numbers_times_rows(y_bar, a)


def numbers_times_rows(y: Any, x: Any) -> Any:
    """Each number of y times a vector of x; einsum takes less than a product that broadcasts."""
    if np.ndim(y) == 1 and np.ndim(x) == 2 and len(y) == len(x):
        return np.einsum("i,ij->ij", y, x)
    return column(y) * x


def first_of_matvec(y_bar: Any, a: Any, b: Any) -> Any:
    return outer_products(y_bar, conj(b), a.ndim)


def second_of_matvec(y_bar: Any, a: Any, b: Any) -> Any:
    return times_matrix(y_bar, conj(a))


def first_of_vecmat(y_bar: Any, a: Any, b: Any) -> Any:
    return times_matrix(conj(y_bar), b.mT)


def second_of_vecmat(y_bar: Any, a: Any, b: Any) -> Any:
    return outer_products(a, y_bar, b.ndim)


def column_times_row(x: Any, y: Any) -> Any:
    """Each vector of x times each of y."""
    if x.ndim == y.ndim == 1:  # half the time of a product that broadcasts, or by BLAS
        return np.einsum("i,j->ij", x, y)
    return column(x) * row(y)


def outer_products(x: Any, y: Any, ndim: int) -> Any:
    """Vectors times vectors; their sum, where it is for one matrix."""
    if ndim == 2 and np.ndim(x) == np.ndim(y) == 1:
        return column_times_row(x, y)
    if ndim == 2 and np.ndim(x) == np.ndim(y):
        stack = tuple(range(np.ndim(x) - 1))
        return np.tensordot(x, y, (stack, stack))
    return column(x) * row(y)


def times_matrix(x: Any, a: Any) -> Any:
    """Vectors times matrices."""
    return np.matmul(x, a) if a.ndim == 2 else np.squeeze(np.matmul(row(x), a), -2)


def placed(adjoint_of: Callable, position: int, has_core: bool) -> Callable:
    """The adjoint for wherever ``axes=`` or ``axis=`` say that the vectors and matrices lie.

    `position` is that of the argument, `has_core` whether the result is made of vectors or
    matrices. The remaining keywords of generalised ufuncs do not matter.
    """

    def back(
        y_bar: Any, a: Any, b: Any, *, axes: Any = None, axis: Any = None, keepdims: Any = False,
        **others: Any,
    ) -> Any:  # fmt: skip
        if axes is None and axis is None:
            return adjoint_of(np.squeeze(y_bar, -1) if keepdims else y_bar, a, b)
        places = [(p,) if np.ndim(p) == 0 else tuple(p) for p in axes or (axis, axis, axis)]
        if keepdims:
            y_bar = np.squeeze(y_bar, places[2] if len(places) > 2 else -1)
        elif has_core:
            y_bar = to_end(y_bar, places[2])
        mine, other = (a, b)[position], to_end((a, b)[1 - position], places[1 - position])
        x_bar = adjoint_of(y_bar, *((mine, other) if position == 0 else (other, mine)))
        return from_end(x_bar, mine.shape, places[position])

    return back


def to_end(x: Any, axes: Sequence[int]) -> Any:
    """Move axes to the end."""
    return np.moveaxis(x, axes, range(-len(axes), 0))


def from_end(x_bar: Any, shape: tuple[int, ...], axes: Sequence[int]) -> Any:
    """Undo broadcasting and :func:`to_end`, for an array of `shape`."""
    inner = [axis % len(shape) for axis in axes]
    outer = [axis for axis in range(len(shape)) if axis not in inner]
    x_bar = unbroadcast(x_bar, tuple([shape[axis] for axis in (*outer, *inner)]))
    return np.moveaxis(x_bar, range(-len(inner), 0), inner)


# Of vectors and matrices, by their numbers of axes: the sums as einsum writes them.
OF_MATMUL = {(1, 1): "i,i->", (2, 1): "ij,j->i", (1, 2): "i,ij->j", (2, 2): "ij,jk->ik"}
OF_INNER = {(1, 1): "i,i->", (2, 1): "ij,j->i", (1, 2): "j,ij->i", (2, 2): "ij,kj->ik"}


def product_rule(f: Any, first: Callable, second: Callable, has_core: bool = True) -> None:
    """Register a product of the last axes."""
    linear_rule(
        f,
        placed(first, 0, has_core),
        placed(second, 1, has_core),
        types=(Array, Array),
        broadcasts=True,
        lists=True,
        factors=(factors_of_first, factors_of_second) if first is first_of_matmul else None,
        rows=rows_of_matmul if first is first_of_matmul else None,
        subscripts=OF_MATMUL if first is first_of_matmul else None,
    )


rows_of_matmul = (rows_without_options(rows_of_first), rows_without_options(rows_of_second))
for product in (np.matmul, operator.matmul, np.linalg.matmul):
    product_rule(product, first_of_matmul, second_of_matmul)
for product in (np.vecdot, np.linalg.vecdot):
    product_rule(product, first_of_vecdot, second_of_vecdot, has_core=False)
product_rule(np.matvec, first_of_matvec, second_of_matvec)
product_rule(np.vecmat, first_of_vecmat, second_of_vecmat)


# ------------------------------------------------------------------------------ dot, inner, outer


def first_of_dot(y_bar: Any, a: Any, b: Any) -> Any:
    nb = b.ndim if type(b) is np.ndarray else np.ndim(b)
    if a.ndim == 0 or nb == 0:
        return y_bar * conj(b)
    if a.ndim <= 2 and nb <= 2:
        return first_of_matmul(y_bar, a, b)
    of_b = tuple(range(a.ndim - 1, a.ndim + nb - 2))
    return np.tensordot(y_bar, conj(b), (of_b, (*range(nb - 2), nb - 1) if nb > 1 else ()))


def second_of_dot(y_bar: Any, a: Any, b: Any) -> Any:
    na = a.ndim if type(a) is np.ndarray else np.ndim(a)
    if na == 2 and b.ndim == 1:  # np.matmul takes longer to begin
        return np.dot(y_bar, conj(a))
    if na == 0 or b.ndim == 0:
        return conj(a) * y_bar
    if na <= 2 and b.ndim <= 2:
        return second_of_matmul(y_bar, a, b)
    of_a = tuple(range(na - 1))
    b_bar = np.tensordot(conj(a), y_bar, (of_a, of_a))
    return b_bar if b.ndim == 1 else np.moveaxis(b_bar, 0, -2)


def first_of_inner(y_bar: Any, a: Any, b: Any) -> Any:
    if a.ndim == 0 or np.ndim(b) == 0 or a.ndim == np.ndim(b) == 1:
        return y_bar * conj(b)
    return np.tensordot(y_bar, conj(b), np.ndim(b) - 1)


def second_of_inner(y_bar: Any, a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or b.ndim == 0 or np.ndim(a) == b.ndim == 1:
        return y_bar * conj(a)
    of_a = tuple(range(np.ndim(a) - 1))
    return np.tensordot(y_bar, conj(a), (of_a, of_a))


# Where one factor is a number, the frame sums over what it was spread to.
linear_rule(
    np.dot,
    first_of_dot,
    second_of_dot,
    types=(Numeric, Numeric),
    broadcasts=True,
    lists=True,
    factors=(factors_of_first, factors_of_second),
    rows=(rows_of_first, rows_of_second),
    subscripts=OF_MATMUL,
)
linear_rule(
    np.inner,
    first_of_inner,
    second_of_inner,
    types=(Numeric, Numeric),
    broadcasts=True,
    lists=True,
    subscripts=OF_INNER,
)

# These flatten their arguments.
linear_rule(
    np.vdot,
    lambda y_bar, a, b: np.reshape(conj(y_bar) * b, a.shape),
    lambda y_bar, a, b: np.reshape(y_bar * a, b.shape),
    types=(Numeric, Numeric),
    lists=True,
)
linear_rule(
    (np.outer, np.linalg.outer),
    lambda y_bar, a, b: np.reshape(np.matmul(y_bar, conj(np.ravel(b))), a.shape),
    lambda y_bar, a, b: np.reshape(np.matmul(conj(np.ravel(a)), y_bar), b.shape),
    types=(Numeric, Numeric),
    lists=True,
    subscripts={(1, 1): "i,j->ij"},
)


# --------------------------------------------------------------------------------- tensordot, kron


def contracted(axes: Any, na: int, nb: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """The axes that ``tensordot`` sums over, of either factor, and the rest of each."""
    if not isinstance(axes, (tuple, list)) and np.ndim(axes) == 0:
        axes = (range(na - axes, na), range(axes))
    of_a, of_b = [
        [p % n for p in (ps if isinstance(ps, (tuple, list, range)) or np.ndim(ps) else [ps])]
        for ps, n in zip(axes, (na, nb), strict=True)
    ]
    rest_a = [p for p in range(na) if p not in of_a]
    rest_b = [p for p in range(nb) if p not in of_b]
    return of_a, of_b, rest_a, rest_b


def first_of_tensordot(y_bar: Any, a: Any, b: Any, *, axes: Any = 2) -> Any:
    of_a, of_b, rest_a, rest_b = contracted(axes, a.ndim, np.ndim(b))
    found = rest_a + [p for _, p in sorted(zip(of_b, of_a, strict=True))]
    behind = tuple(range(len(rest_a), len(rest_a) + len(rest_b)))
    return np.transpose(np.tensordot(y_bar, conj(b), (behind, rest_b)), np.argsort(found))


def second_of_tensordot(y_bar: Any, a: Any, b: Any, *, axes: Any = 2) -> Any:
    of_a, of_b, rest_a, rest_b = contracted(axes, np.ndim(a), b.ndim)
    found = [p for _, p in sorted(zip(of_a, of_b, strict=True))] + rest_b
    before = tuple(range(len(rest_a)))
    return np.transpose(np.tensordot(conj(a), y_bar, (rest_a, before)), np.argsort(found))


linear_rule(
    (np.tensordot, np.linalg.tensordot),
    first_of_tensordot,
    second_of_tensordot,
    types=(Numeric, Numeric),
    lists=True,
)


def kron_back(y_bar: Any, a: Any, b: Any, position: int) -> Any:
    """Ȳ with an axis for each factor in turn, contracted with the other factor."""
    n = max(np.ndim(a), np.ndim(b))
    shapes = [[1] * (n - np.ndim(x)) + list(np.shape(x)) for x in (a, b)]
    blocks = np.reshape(y_bar, [size for pair in zip(*shapes, strict=True) for size in pair])
    other = np.reshape((a, b)[1 - position], shapes[1 - position])
    theirs = (tuple(range(1 - position, 2 * n, 2)), tuple(range(n)))
    return np.reshape(np.tensordot(blocks, conj(other), theirs), (a, b)[position].shape)


linear_rule(
    np.kron,
    lambda y_bar, a, b: kron_back(y_bar, a, b, 0),
    lambda y_bar, a, b: kron_back(y_bar, a, b, 1),
    types=(Numeric, Numeric),
    lists=True,
)


# ------------------------------------------------------------------------------------------- cross


def in_space(x: Any) -> Any:
    """Vectors of the plane as vectors of space."""
    if np.shape(x)[-1] == 3:
        return x
    return np.concatenate([x, np.zeros((*np.shape(x)[:-1], 1), x.dtype)], -1)


def is_vector_of_space(x: Any) -> bool:
    """Whether it is one plain vector of three numbers."""
    return type(x) is np.ndarray and x.shape == (3,) and x.dtype.char == "d" and not is_foreign(x)


def cross_of_vectors(a: Any, b: Any) -> Any:
    """A × b of two such vectors, in a tenth of the time of NumPy's function."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0))


def cross_back(y_bar: Any, a: Any, b: Any, position: int, axes: tuple[int, int, int]) -> Any:
    """b̄ = ȳ × conj(a) and ā = conj(b) × ȳ."""
    mine, other = (a, b)[position], (a, b)[1 - position]
    if mine.shape == (3,) and is_vector_of_space(other) and is_vector_of_space(y_bar):
        return cross_of_vectors(y_bar, other) if position else cross_of_vectors(other, y_bar)
    other = np.moveaxis(other, axes[1 - position], -1)
    size = mine.shape[axes[position]]
    if size == np.shape(other)[-1] == 2:  # the product of vectors of a plane is a number
        shape = np.shape(y_bar)  # it may be a Python float
        y_bar = np.concatenate(
            [np.zeros((*shape, 2), mine.dtype), np.reshape(y_bar, (*shape, 1))], -1
        )
    else:
        y_bar = np.moveaxis(y_bar, axes[2], -1)
    other = conj(in_space(other))
    x_bar = np.cross(y_bar, other) if position else np.cross(other, y_bar)
    return from_end(x_bar if size == 3 else x_bar[..., :2], mine.shape, (axes[position],))


@in_steps(np.linalg.cross, of_arrays=True)
@in_steps(np.cross, of_arrays=True)
def cross_in_steps(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    is_plain = cross_axes(axisa, axisb, axisc, axis) == (-1, -1, -1)
    if not is_plain or np.shape(a)[-1:] != (3,) or np.shape(b)[-1:] != (3,):
        return NotImplemented
    (a0, a1, a2), (b0, b1, b2) = [[x[..., k] for k in range(3)] for x in (a, b)]
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def cross_axes(axisa: int, axisb: int, axisc: int, axis: int | None) -> tuple[int, int, int]:
    return (axisa, axisb, axisc) if axis is None else (axis, axis, axis)


linear_rule(
    np.cross,
    lambda y_bar, a, b, *, axisa=-1, axisb=-1, axisc=-1, axis=None: cross_back(
        y_bar, a, b, 0, cross_axes(axisa, axisb, axisc, axis)
    ),
    lambda y_bar, a, b, *, axisa=-1, axisb=-1, axisc=-1, axis=None: cross_back(
        y_bar, a, b, 1, cross_axes(axisa, axisb, axisc, axis)
    ),
    types=(Array, Array),
    lists=True,
)
linear_rule(
    np.linalg.cross,
    lambda y_bar, a, b, *, axis=-1: cross_back(y_bar, a, b, 0, (axis, axis, axis)),
    lambda y_bar, a, b, *, axis=-1: cross_back(y_bar, a, b, 1, (axis, axis, axis)),
    types=(Array, Array),
    lists=True,
)


# ------------------------------------------------------------------------------------------- trace


def trace_back(
    y_bar: Any, a: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
) -> Any:
    """Each trace's cotangent all along the diagonal."""
    rows, columns = a.shape[axis1], a.shape[axis2]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if np.ndim(y_bar) == 0:
        along = y_bar * np.ones(length)
    else:
        along = np.broadcast_to(column(y_bar), (*np.shape(y_bar), length))
    return on_diagonal(along, offset, axis1, axis2, a.shape, a.dtype)


linear_rule(np.trace, trace_back, types=(Array,), lists=True)
linear_rule(
    np.linalg.trace,
    lambda y_bar, x, *, offset=0, dtype=None: trace_back(
        y_bar, x, offset=offset, axis1=-2, axis2=-1
    ),
    types=(Array,),
    lists=True,
)
