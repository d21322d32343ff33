"""Calls of NumPy's reductions and products: axes, dtypes, ``einsum``."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import INT, Kind, UnsupportedError, kind_of_result
from autodiff.structured.native.containers.growing_dicts import TableOperations
from autodiff.structured.native.llvm.function_builder import I64
from autodiff.structured.native.llvm.products_ahead import ProductsAhead
from autodiff.structured.native.lowered_values import (
    Array,
    FreshMemory,
    LazyArray,
    Number,
    StaticValue,
    TupleValue,
    dtype_of,
)
from autodiff.structured.writing.rules.known_adjoints import subscripts_of
from chainrules_core.rules import name_of

_EXTREMA = {np.max: ">", np.amax: ">", np.min: "<", np.amin: "<"}
_POSITIONS = {np.argmax: ">", np.argmin: "<"}
_COUNTS = frozenset({np.any, np.all, np.count_nonzero})
REDUCTIONS = frozenset({np.sum, np.mean, np.prod, np.linalg.norm, *_EXTREMA, *_POSITIONS, *_COUNTS})
"""Functions that reduce an array, or some of its axes."""


class ReductionCalls(TableOperations):
    """Reductions and products of arrays."""

    def conjugate(self, x: Any) -> Any:
        """Return the conjugate of a number or array."""
        x = self.scalars.number(x)
        if isinstance(x, Number):  # its class stays
            return self.scalars.conjugate(x)
        return self.call(np.conjugate, [x]) if dtype_of(x).kind == "c" else x

    def product(self, f: Any, args: list, kind: Kind) -> Any:
        """Return a product of vectors and matrices."""
        if len(args) != 2 or not all(isinstance(a, (Array, LazyArray)) for a in args):
            raise UnsupportedError("this product")
        x, y = args
        if f is np.vdot:
            if (x.kind.ndim, y.kind.ndim) != (1, 1):
                raise UnsupportedError("vdot of matrices")
            x = self.conjugate(x)
        if f is np.inner and y.kind.ndim == 2:
            y = self.elementwise.transposed(y)
        return self.elementwise.product(x, y, kind, self.store)

    def product_ahead(self, x: Any, y: Any, axis: Any, base: Any, of: Any, i: Any) -> Any:
        """``product_ahead(x, y, axis, base, of, i)``: computed now, or found if it has been."""
        e, b, code, c = self.elementwise, self.b, self.code, axis.x
        kind = Kind(frozenset([np.ndarray]), np.dtype(float), 1)

        def product() -> Array:
            left, right = (y, x) if c else (x, y)
            return e.product(left, right, kind, self.store)

        if not all(isinstance(a, Array) for a in (x, y, base)):
            return product()
        e.check_shape(x.shape, [y.shape[c]])
        free, n, before, after = 1 - c, base.shape[of.x], code.whole(0), code.whole(0)
        if y.window is not None:
            whole, starts = y.window
            before = starts[free]
            after = b.sub(whole.shape[free], b.add(before, y.shape[free]))
        k = self.scalars.number(i).value
        count = b.sub(n, b.select(code.less(k, code.whole(0)), b.add(k, n), k))
        found = ProductsAhead(code, self.state).find([
            x.address, x.shape[0], x.strides[0], base.strides[of.x], count, y.address,
            y.shape[free], y.strides[free], y.strides[c], before, after])  # fmt: skip
        shape, strides = [y.shape[free]], [code.whole(8)]
        made = Array(np.dtype(float), found, shape, strides, FreshMemory())
        is_there = b.icmp_unsigned("!=", b.ptrtoint(found, I64), code.whole(0))
        return e.one_of(is_there, lambda: e.materialize(made, self.store), product)

    def einsum(self, subscripts: Any, *operands: Any) -> Any:
        """``np.einsum``: a product of two matrices by BLAS, others by loops over all labels."""
        text = subscripts.x if isinstance(subscripts, StaticValue) else "."
        are_numbers = [isinstance(x, Number) for x in operands]
        is_other = not all(isinstance(x, (Array, LazyArray, Number)) for x in operands)
        if "." in text or is_other or all(are_numbers):
            raise UnsupportedError("this call of einsum")
        inputs, output = subscripts_of(text)
        sizes: dict[str, Any] = {}
        parts = [self._by_labels(x, s, sizes) for x, s in zip(operands, inputs, strict=True)]
        summed = [c for c in sizes if c not in output]
        if len(parts) == 2 and len(summed) == 1:
            labels = [own for own, _ in parts]
            kept = "".join(labels).replace(summed[0], "")
            is_in_both = all(len(own) < 3 and summed[0] in own for own in labels)
            if is_in_both and len(set(kept)) == len(kept):
                return self._product_by_labels(parts, summed[0], output)
        if summed and any(c not in own for own, _ in parts for c in sizes):
            self.check_in_loop()
        order = [*output, *summed]
        views = [self._along_labels(*p, order) for p in parts]
        result = functools.reduce(lambda x, y: self.call(operator.mul, [x, y]), views)
        if not summed:  # the axes are in the order of the result
            is_view = isinstance(result, Array)
            return self.elementwise.materialize(result, self.store) if is_view else result
        axes = set(range(len(output), len(order)))
        return self.along(np.sum, [result, TupleValue([StaticValue(k) for k in axes])], {})

    def _by_labels(self, x: Any, subscript: str, sizes: dict[str, Any]) -> tuple[str, Any]:
        """Return the labels of an operand, and a view with one axis for each.

        A repeated label becomes a diagonal. The sizes of the labels are added to `sizes`.
        """
        if isinstance(x, Number):
            return "", x
        e = self.elementwise
        x = self.base_of_view(x)
        shape: dict[str, Any] = {}
        strides: dict[str, Any] = {}
        for c, n, step in zip(subscript, x.shape, x.strides, strict=True):
            e.check_shape([n], [sizes.setdefault(c, n)])
            shape[c] = n
            strides[c] = self.b.add(strides[c], step) if c in strides else step
        return "".join(shape), x.view(x.address, [*shape.values()], [*strides.values()])

    def _along_labels(self, own: str, x: Any, order: list[str]) -> Any:
        """Return a view with one axis for each label in `order`, of length 1 if it is missing."""
        if isinstance(x, Number):
            return x
        at = [own.find(c) for c in order]
        shape = [self.code.whole(1) if k < 0 else x.shape[k] for k in at]
        strides = [self.code.whole(0) if k < 0 else x.strides[k] for k in at]
        return x.view(x.address, shape, strides)

    def _product_by_labels(self, parts: list[tuple[str, Array]], summed: str, output: str) -> Any:
        """Contract two vectors or matrices over one label."""
        (left, x), (right, y) = parts
        rows, columns = left.replace(summed, ""), right.replace(summed, "")
        x = self._along_labels(left, x, [*rows, summed])
        y = self._along_labels(right, y, [summed, *columns])
        kind = kind_of_result(operator.matmul, [x.kind, y.kind])
        result = self.product(operator.matmul, [x, y], kind)
        if rows + columns == output:
            return result
        transposed = self._along_labels(rows + columns, result, [*output])
        return self.elementwise.materialize(transposed, self.store)

    def along(self, f: Any, args: list, options: dict[str, Any]) -> Any:
        """Call a function in `REDUCTIONS`."""
        given = dict(zip(("a", "axis"), args, strict=False)) | options
        keeps, axis = (
            given.pop("keepdims", StaticValue(False)),
            given.pop("axis", StaticValue(None)),
        )
        x = given.pop("a", None)
        if given or len(args) > 2 or not isinstance(x, (Array, LazyArray)):
            raise UnsupportedError(f"this call of {name_of(f)}")
        parts = axis.parts if isinstance(axis, TupleValue) else [axis]
        if not all(isinstance(p, StaticValue) for p in (*parts, keeps)):
            raise UnsupportedError("an axis that is not constant")
        e, n = self.elementwise, len(x.shape)
        known = [p.x for p in parts if p.x is not None]
        axes = {k % n for k in known} if known or isinstance(axis, TupleValue) else set(range(n))
        letter, is_whole = dtype_of(x).kind, len(axes) == n and not keeps.x
        reduce = None
        if f in _POSITIONS and letter != "c":
            kind = kind_of_result(f, [x.kind])
            reduce = functools.partial(e.position_of_extremum, sign=_POSITIONS[f], kind=kind)
        elif letter == "b" or (letter == "i" and f is np.sum):
            reduce = functools.partial(self._reduced_integers, f)
        if reduce is not None and is_whole:
            return reduce(x)
        if reduce is not None and f is not np.mean:
            dtype = bool if f in (np.any, np.all) else np.int64
            return e.reduce_parts(x, axes, keeps.x, dtype, self.store, reduce)
        if f in _COUNTS or f in _POSITIONS or (f is np.prod and not is_whole):
            raise UnsupportedError(f"this call of {name_of(f)}")
        if f is np.linalg.norm:
            if len(args) > 1 or isinstance(axis, TupleValue):
                raise UnsupportedError("a matrix norm")
            square = self.call(np.real, [self.call(operator.mul, [x, self.conjugate(x)])])
            return self.call(np.sqrt, [self._reduced(f, square, axes, keeps.x)])
        return self._reduced(f, x, axes, keeps.x)

    def _reduced_integers(self, f: Any, x: Array | LazyArray) -> Any:
        """Reduce integers by their sum, or truth values by the number of true ones."""
        code, total = self.code, Number(INT, "i", self.elementwise.sum_integers(x))
        size = Number(INT, "i", functools.reduce(self.b.mul, x.shape))
        kind = kind_of_result(f, [x.kind])
        if f is np.mean:
            code.exit_if(code.equal(size.value, code.whole(0)))
            return Number(kind, "d", self.call(operator.truediv, [total, size]).value)
        if f in (np.any, np.all):
            is_equal = code.equal(total.value, size.value if f is np.all else code.whole(0))
            return Number(kind, "b", is_equal if f is np.all else self.b.not_(is_equal))
        if f not in (np.sum, np.count_nonzero):
            raise UnsupportedError(f"{name_of(f)} of truth values")
        return Number(kind, "i", total.value)

    def _reduced(self, f: Any, x: Array | LazyArray, axes: set[int], keeps: bool) -> Any:
        """Reduce floats along some axes."""
        e, sign, is_part = self.elementwise, _EXTREMA.get(f), len(axes) < len(x.shape) or keeps
        if sign is not None:
            if x.kind.is_complex:
                raise UnsupportedError("an extremum of complex numbers")
            if is_part:
                return e.extremum_along(x, axes, keeps, self.store, sign)
            return e.extremum(x, sign)
        if f is np.prod:
            return e.multiply_all(x)
        result: Any = e.sum_along(x, axes, keeps, self.store) if is_part else e.sum_all(x)
        if f is not np.mean:
            return result
        count = e.size_of(x.shape[k] for k in axes)
        self.code.exit_if(self.code.equal(count, self.code.whole(0)))
        return self.call(operator.truediv, [result, Number(INT, "i", count)])
