"""The intermediate representation of kernels: operations on arrays, and views as operands."""

from __future__ import annotations

import math
from typing import Any


class NotLowerableError(Exception):
    """A section of a program cannot be lowered to loop nests."""


class StridedView:
    """A strided view: an operand of an operation.

    Attributes
    ----------
    kind : str
        "v" for the result of an operation, "x" for an array parameter, "n" for a number that is a
        parameter, "c" for a constant number.
    base : Any
        The position of the operation, the index of the parameter, or the constant.
    offset : int
        The offset of the first element.
    shape, strides : tuple of int
        The shape, and the strides in elements.
    is_bool : bool
        Whether the elements are booleans, which are 1.0 and 0.0 in the memory.
    bounds : tuple, optional
        For each axis the range of indices with elements; there are zeros outside. Only elementwise
        functions read such a padded view.
    """

    __slots__ = ("base", "bounds", "is_bool", "kind", "offset", "shape", "strides")

    def __init__(
        self,
        kind: str,
        base: Any,
        offset: int = 0,
        shape: tuple = (),
        strides: tuple = (),
        is_bool: bool = False,
        bounds: tuple[tuple[int, int], ...] | None = None,
    ) -> None:
        self.bounds = bounds
        self.kind = kind
        self.base = base
        self.offset = offset
        self.shape = shape
        self.strides = strides
        self.is_bool = is_bool

    def broadcast(self, shape: tuple) -> StridedView:
        """Broadcast the view to a shape, with stride 0 along repeated axes."""
        if self.shape == shape:
            return self
        missing = len(shape) - len(self.shape)
        if missing < 0:
            raise NotLowerableError
        strides = [0] * missing
        for n, mine, stride in zip(shape[missing:], self.shape, self.strides, strict=True):
            strides.append(0 if mine == 1 and n != 1 else stride)
        bounds = self.bounds
        if bounds is not None:
            own = zip(shape[missing:], self.shape, bounds, strict=True)
            around = [(0, n) for n in shape[:missing]]
            bounds = (*around, *[b if n == mine else (0, n) for n, mine, b in own])
        made = tuple(strides)
        return StridedView(self.kind, self.base, self.offset, shape, made, self.is_bool, bounds)

    def is_whole(self) -> bool:
        """Whether the view begins at the first element, is C-contiguous and not padded."""
        is_unpadded = self.offset == 0 and self.bounds is None
        return is_unpadded and self.strides == strides_of(self.shape)


FOLDS = frozenset({"sum", "max", "min"})
"""Reductions of an array. A sum may have several operands; with the function `np.multiply`, it adds
up the products of pairs."""


def strides_of(shape: tuple) -> tuple[int, ...]:
    """Return the strides of a C-contiguous array, in elements."""
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


class LoopOp:
    """One operation.

    Attributes
    ----------
    kind : str
        "map" for elementwise functions, "guard", one of `FOLDS`, or a key of the table in
        `op_codegen`.
    f : Any
        The function, if the kind does not say it.
    args : list of StridedView
        The operands.
    shape : tuple of int
        The shape of the result.
    offset : int
        The offset in the result at which an update begins.
    extra : tuple
        Options, which depend on the kind. Of a fold, they are where it starts, and the strides of
        the result along the axes of the operands: 0 along those that are reduced.
    is_bool : bool
        Whether the result consists of booleans.
    is_float32 : bool
        Whether the result is rounded to single precision.
    is_number : bool
        Whether the result is a Python number, so that arithmetic raises errors as in Python.
    """

    __slots__ = (
        "args", "extra", "f", "is_bool", "is_float32", "is_number", "kind", "offset", "shape",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        f: Any,
        args: list[StridedView],
        shape: tuple,
        extra: tuple = (),
        offset: int = 0,
    ) -> None:
        self.offset = offset
        self.kind = kind
        self.f = f
        self.args = args
        self.shape = shape
        self.extra = extra
        self.is_bool = False
        self.is_float32 = False
        self.is_number = False

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        return math.prod(self.shape)

    def rounded(self, text: str) -> str:
        """Return the expression of an element of the result, given its value in float64."""
        return f"float32({text})" if self.is_float32 else text


def updated(
    x: StridedView, place: StridedView, shape: tuple, before: StridedView | None = None,
    sign: str = "=",
) -> LoopOp:  # fmt: skip
    """Return an array, by default of zeros, with elements at a place replaced or changed."""
    before = before or StridedView("c", 0.0).broadcast(shape)
    extra = (sign, place.shape, place.strides)
    return LoopOp("change", None, [before, x], shape, extra, place.offset)


def in_terms(views: list[StridedView], axis: int) -> list[StridedView]:
    """Split the views of a sum along an axis, so that an iteration adds up several terms.

    A result in memory is then read and written less often.
    """
    n = next(n for n in (4, 5, 3, 2, 1) if views[0].shape[axis] % n == 0)
    found = []
    for u in range(n):
        for x in views:
            shape, strides, step = list(x.shape), list(x.strides), x.strides[axis]
            shape[axis] //= n
            strides[axis] *= n
            offset = x.offset + u * step
            found.append(StridedView(x.kind, x.base, offset, tuple(shape), tuple(strides)))
    return found


def at(place: str, terms: list[str]) -> str:
    """Return the expression of an index, given its first term and the others."""
    return " + ".join([place, *terms])


def term_of(stride: int, variable: str) -> list[str]:
    """Return the term of an index for a loop variable: none if the stride is 0."""
    if stride == 0:
        return []
    return [variable if stride == 1 else f"({stride}) * {variable}"]


def constant(x: Any) -> str:
    """Return the source of a number."""
    if type(x) is bool:
        return repr(x)
    if x != x:
        return "math.nan"
    if x in (float("inf"), float("-inf")):
        return "math.inf" if x > 0 else "(-math.inf)"
    return f"({x!r})" if x < 0 else repr(x)
