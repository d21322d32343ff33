"""Basic indexing: elements, slices and other views of arrays."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.native.llvm.function_builder import FunctionBuilder
from autodiff.structured.native.lowered_values import Array, is_one


class Indexing:
    """Basic indexing. An index that is out of bounds bails out."""

    def __init__(self, code: FunctionBuilder) -> None:
        self.code = code

    def part(self, a: Array, index: list, text: str) -> Any:
        """Return ``a[index]``: a view, or the address of an element.

        Parameters
        ----------
        a : Array
            The array.
        index : list
            Integers, slices of integers, None for a new axis, and Ellipsis.
        text : str
            The source text of the view.
        """
        code = self.code
        index = self.expand_ellipsis(index, a)
        shape: list[Any] = []
        strides: list[Any] = []
        address, axis = a.address, 0
        starts: list[Any] = []
        for part in index:
            if part is None:
                shape.append(code.whole(1))
                strides.append(code.whole(0))
                continue
            n, stride = a.shape[axis], a.strides[axis]
            axis += 1
            if not isinstance(part, slice):
                address = code.at(address, code.b.mul(self.checked_index(part, n), stride))
                continue
            if part == slice(None):
                shape.append(n)
                strides.append(stride)
                starts.append(code.whole(0))
                continue
            start, length, step = self.bounds(part, n)
            # NumPy does not advance the address for an empty slice, but nothing reads that address.
            address = code.at(address, code.b.mul(start, stride))
            shape.append(length)
            strides.append(stride if is_one(step) else code.b.mul(stride, step))
            starts += [start] if is_one(step) else []
        if not shape:
            return address
        view = a.view(address, shape, strides, text)
        if len(starts) == len(index) == len(a.shape) and a.window is None:
            view.window = a, starts
        return view

    def expand_ellipsis(self, index: list, a: Array) -> list:
        """Replace Ellipsis, and what is missing at the end, by full slices."""
        at = [k for k, part in enumerate(index) if part is Ellipsis]
        rest = len(a.shape) - sum(part is not None for part in index) + len(at)
        if rest < 0 or len(at) > 1:
            raise UnsupportedError("an index with too many axes")
        (k,) = at or [len(index)]
        return [*index[:k], *[slice(None)] * rest, *index[k + 1 :]]

    def checked_index(self, i: Any, n: Any) -> Any:
        """Return a nonnegative index into an axis of length `n`; bail out if out of bounds."""
        code, b = self.code, self.code.b
        if isinstance(i, ir.Constant):
            i = code.whole(i.constant) if i.constant >= 0 else b.add(n, i)
        else:
            i = b.select(code.less(i, code.whole(0)), b.add(i, n), i)
        code.exit_if(b.icmp_unsigned(">=", i, n))
        return i

    def bounds(self, part: slice, n: Any) -> tuple[Any, Any, Any]:
        """Return start, length and step of a slice of an axis of length `n`."""
        code, b = self.code, self.code.b
        zero, one = code.whole(0), code.whole(1)
        step = one if part.step is None else part.step
        only = _only_index(part) if part.step is None else None
        if only is not None:
            return self.checked_index(code.whole(only), n), one, one
        if not isinstance(step, ir.Constant) or step.constant == 0:
            raise UnsupportedError("a slice whose step is not constant")
        start, stop = self._ends(part, n, step.constant < 0)
        length = b.sub(start, stop) if step.constant < 0 else b.sub(stop, start)
        if abs(step.constant) != 1:
            size = code.whole(abs(step.constant))
            length = b.sdiv(b.add(length, b.sub(size, one)), size)
        return start, code.greater(length, zero), step

    def _ends(self, part: slice, n: Any, down: bool) -> tuple[Any, Any]:
        """Return the start and stop of a slice, clamped to the axis where that matters.

        An unclamped start after the axis or stop before it gives a negative length: empty, too.
        """
        code, b = self.code, self.code.b
        zero, last = code.whole(0), b.sub(n, code.whole(1)) if down else n

        def wrapped(x: Any) -> Any:
            if isinstance(x, ir.Constant):
                return x if x.constant >= 0 else b.add(n, x)
            return b.select(code.less(x, zero), b.add(x, n), x)

        def at_most_last(x: Any, given: Any) -> Any:
            is_from_end = isinstance(given, ir.Constant) and given.constant < 0
            return x if is_from_end else code.lesser(last, x)

        def at_least(x: Any, low: int) -> Any:
            if isinstance(x, ir.Constant) and x.constant >= low:
                return x
            return code.greater(x, code.whole(low))

        if down:
            start = last
            if part.start is not None:
                start = at_most_last(wrapped(part.start), part.start)
            stop = code.whole(-1) if part.stop is None else at_least(wrapped(part.stop), -1)
        else:
            start = zero if part.start is None else at_least(wrapped(part.start), 0)
            stop = n if part.stop is None else at_most_last(wrapped(part.stop), part.stop)
        return start, stop

    def diagonal(self, a: Array) -> Array:
        """Return a view of the diagonal of a matrix."""
        if len(a.shape) != 2:
            raise UnsupportedError("the diagonal of an array that is not a matrix")
        code, (m, n) = self.code, a.shape
        text = a.text and f"diagonal of {a.text}"
        return a.view(a.address, [code.lesser(m, n)], [code.b.add(*a.strides)], text)

    def flipped(self, a: Array, axes: range, text: str) -> Array:
        """Return a view with some axes reversed."""
        code, b = self.code, self.code.b
        address, strides = a.address, list(a.strides)
        for k in axes:
            last = code.greater(b.sub(a.shape[k], code.whole(1)), code.whole(0))
            address = code.at(address, b.mul(last, strides[k]))
            strides[k] = b.neg(strides[k])
        return a.view(address, a.shape, strides, text)


def parts_of(node: ast.expr) -> list[ast.expr]:
    """Return the parts of an index expression, one for each axis."""
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _only_index(part: slice) -> int | None:
    """Return the index of a slice that has one element at most: ``[-1:]`` or ``[k:k + 1]``."""
    ends = [getattr(x, "constant", x) for x in (part.start, part.stop)]
    if ends == [-1, None]:
        return -1
    start, stop = ends[0] or 0, ends[1]
    is_single = type(start) is type(stop) is int and 0 <= start == stop - 1
    return start if is_single else None
