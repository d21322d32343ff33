"""Adjoints of linear functions, and the functions of `runtime_library` that the sweep calls."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.functions import PRODUCT, facts_of
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.native.arrays.array_creation import TRIANGLES
from autodiff.structured.native.arrays.reduction_calls import ReductionCalls
from autodiff.structured.native.llvm import blas, memory
from autodiff.structured.native.lowered_values import (
    Array,
    LazyArray,
    Number,
    StaticValue,
    dtype_of,
    is_one,
)
from autodiff.structured.runtime_library import TINY, nearest

COPIES = frozenset({np.copy, np.ndarray.copy})
"""Functions that copy an array."""


class AdjointCalls(ReductionCalls):
    """The calls of the sweep."""

    # Methods that subclasses define.
    write: Callable[..., None]

    def adjoint(self, f: Any, j: int, args: list, options: dict[str, Any]) -> Any:
        """Apply the adjoint of a linear function with respect to argument `j`.

        `args` are the cotangent and the arguments of the function.
        """
        g, *rest = args
        if f in COPIES:
            return g
        if function_of(f) in (np.real, np.imag, np.conjugate):
            return self._adjoint_of_part(f, g, rest[0])
        if f in TRIANGLES and not options:
            return self.triangle(f, g, *rest[1:])
        if f is np.where and len(rest) == 3 and not options:
            zero = self.scalars.known(0.0)
            return self.call(np.where, [rest[0], g, zero] if j == 1 else [rest[0], zero, g])
        if f is np.roll:
            shift, *axis = rest[1:]
            return self.roll(g, self.call(operator.neg, [shift]), *axis, **options)
        if facts_of(function_of(f)).kind != PRODUCT or len(rest) != 2 or options:
            raise UnsupportedError(f"the adjoint of {f.__name__}")
        if not all(isinstance(a, (Array, LazyArray)) for a in rest):
            raise UnsupportedError("this product")
        return self._adjoint_of_product(f, j, g, *rest)

    def _adjoint_of_product(self, f: Any, j: int, g: Any, x: Any, y: Any) -> Any:
        """Apply the adjoint of a product of vectors or matrices."""
        own, other = (x, y) if j == 0 else (y, x)
        e, store, kind = self.elementwise, self.store, own.kind
        ranks = (len(x.shape), len(y.shape))
        if f is np.vdot and ranks == (1, 1):
            return self.call(operator.mul, [self.conjugate(g) if j == 0 else g, other])
        if f is np.vdot or any(a.kind.is_complex for a in (g, x, y)):
            raise UnsupportedError("the adjoint of this product")
        if ranks == (1, 1):
            return e.tree(operator.mul, kind, [g, other])
        if f is np.inner and ranks[1] == 2:  # x @ y.T
            if ranks[0] == 2:
                return e.product(g if j == 0 else e.transposed(g), other, kind, store)
            return e.product(g, y, kind, store) if j == 0 else e.outer(g, x, kind)
        if ranks == (2, 1):
            return e.outer(g, y, kind) if j == 0 else e.product(g, x, kind, store)
        if ranks == (1, 2):
            return e.product(y, g, kind, store) if j == 0 else e.outer(x, g, kind)
        if ranks == (2, 2):
            transposed = e.transposed(other)
            left, right = (g, transposed) if j == 0 else (transposed, g)
            return e.product(left, right, kind, store)
        raise UnsupportedError("a product of stacked matrices")

    def _adjoint_of_part(self, f: Any, g: Any, x: Any) -> Any:
        """Apply the adjoint of a real or imaginary part, or of a conjugate."""
        if f not in (np.real, np.imag):
            return self.conjugate(g)
        g = self.on_real_part(g)
        if f is np.real:
            return g
        factor = self.scalars.known(1j if x.kind.is_complex else 0.0)
        return self.call(operator.mul, [factor, g])

    def on_total(self, x: Any) -> Any:
        """``total(x)``, ``number(x)``: the sum of all elements."""
        return x if isinstance(x, Number) else self.elementwise.sum_all(x)

    def on_inner(self, d: Any, g: Any) -> Any:
        """``inner(d, g)``: the sum of ``conj(d) * g``."""
        return self.on_total(self.call(operator.mul, [self.conjugate(d), g]))

    def on_real_part(self, x: Any) -> Any:
        """``real_part(x)``: the cotangent of a real value."""
        return self.call(np.real, [x])

    def on_extremum_back(self, g: Any, y: Any, x: Any, axes: Any = None) -> Any:
        """``extremum_back(g, y, x, axes)``: divide a cotangent among the elements that tie.

        There is at least one: the forward function bails out if the extremum is NaN.
        """
        hit, zero = self.call(operator.eq, [x, y]), self.scalars.known(0.0)
        count = self.call(np.where, [hit, self.scalars.known(1.0), zero])
        if axes is None:
            n: Any = self.on_total(count)
        else:
            n = self.elementwise.sum_along(count, {p.x for p in axes.parts}, True, self.store)
        return self.call(np.where, [hit, self.call(operator.truediv, [g, n]), zero])

    def on_cholesky_back(self, g: Any, y: Any) -> Any:
        """``cholesky_back(g, y)``: L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, folded onto the lower triangle."""
        e, store = self.elementwise, self.store
        y, kind = e.materialize(y, memory.SCRATCH), Kind(frozenset([np.ndarray]), dtype_of(y), 2)
        x = self._half_lower(e.product(e.transposed(y), g, kind, store))
        for _ in range(2):
            x = e.materialize(e.transposed(x), memory.SCRATCH)  # column-major
            n = y.shape[0]
            blas.solve_triangle(self.code, y.address, x.address, n, n, True, True)
        return self._half_lower(e.tree(operator.add, kind, [x, e.transposed(x)]))

    def on_eigh_back(self, w_bar: Any, v_bar: Any, found: Any) -> Array:
        """``eigh_back(w_bar, v_bar, (w, v))``. One of the cotangents may be None."""
        e, store, (w, v) = self.elementwise, memory.SCRATCH, found.parts
        kind = v.kind
        transposed = e.transposed(v)
        if isinstance(v_bar, StaticValue):
            x = e.product(e.tree(operator.mul, kind, [v, w_bar]), transposed, kind, store)
        else:
            inner = self._over_gaps(e.product(transposed, v_bar, kind, store), w)
            if not isinstance(w_bar, StaticValue):
                e.write(self.indexing.diagonal(inner), w_bar, operator.add)
            x = e.product(e.product(v, inner, kind, store), transposed, kind, store)
        x = e.as_array(x)
        return self._half_lower(e.tree(operator.add, kind, [x, e.transposed(x)]))

    def _over_gaps(self, m: Any, w: Array) -> Array:
        """Return ``(M - Mᵀ)_ij / (w_j - w_i) / 2``; bail out if two eigenvalues almost tie."""
        code, b, e = self.code, self.b, self.elementwise
        m, n = e.as_array(m), w.shape[0]
        result = e.materialize(m, memory.SCRATCH)
        e.write(result, self.scalars.known(0.0))
        first, last = (e.load_item(w, k) for k in (code.whole(0), b.sub(n, code.whole(1))))
        ends = [self.call(abs, [x]).value for x in (first, last)]  # eigenvalues are sorted
        largest = b.select(b.fcmp_ordered("<", *ends), ends[1], ends[0])
        size = b.sitofp(n, largest.type)
        least = b.fmul(b.fmul(largest, size), ir.Constant(largest.type, nearest(1)))
        with code.counted(n) as i, code.counted(i) as j:
            larger, smaller = (e.load_item(w, k).value for k in (i, j))
            gap = b.fsub(larger, smaller)
            code.exit_if(b.not_(b.fcmp_ordered(">", gap, least)))
            sources, targets = ([e.address_of(a, *index) for index in ((j, i), (i, j))]
                                for a in (m, result))  # fmt: skip
            above, below = (e.load_number(m.dtype, at).value for at in sources)
            half = b.fdiv(b.fmul(ir.Constant(gap.type, 0.5), b.fsub(above, below)), gap)
            for at in targets:
                e.store_number(result.dtype, self.scalars.plain("d", half), at)
        return result

    def _half_lower(self, x: Any) -> Array:
        """Return the lower triangle of a matrix with the diagonal halved."""
        result, half = self.triangle(np.tril, x), self.scalars.known(0.5)
        self.elementwise.write(self.indexing.diagonal(result), half, operator.mul)
        return result

    def on_norm_back(self, g: Any, y: Any, x: Any, axes: Any = None) -> Any:
        """``norm_back(g, y, x, axes)``: ``g / y * x``, and 0 where the norm is 0."""
        zero, one = self.scalars.known(0.0), self.scalars.known(1.0)
        is_zero = self.call(operator.eq, [y, zero])
        share = self.call(operator.truediv, [g, self.call(np.where, [is_zero, one, y])])
        return self.call(operator.mul, [self.call(np.where, [is_zero, zero, share]), x])

    def on_prod_back(self, g: Any, y: Any, x: Any) -> Any:
        """``prod_back(g, y, x)``: ȳ y / x; bail out if the product is almost 0 or very large."""
        size, known = self.call(abs, [y]), self.scalars.known
        for pair in ([known(TINY), size], [size, known(1 / TINY)]):
            self.code.exit_if(self.b.not_(self.call(operator.lt, pair).value))
        return self.call(operator.truediv, [self.call(operator.mul, [g, y]), x])

    def on_fitted(self, x: Any, shape: Any) -> Any:
        """``fitted(x, shape)``, ``settled(x, shape)``: sum over the axes that were broadcast."""
        return self._unbroadcast(x, [p.value for p in shape.parts])

    def _unbroadcast(self, x: Array | LazyArray, shape: list) -> Array | LazyArray:
        is_narrow = any(is_one(m) and not is_one(n) for m, n in zip(shape, x.shape, strict=False))
        if len(shape) != len(x.shape) or is_narrow:
            return self.elementwise.sum_to_shape(x, shape, self.store)
        self.elementwise.check_shape(x.shape, shape)
        return x

    def on_spread(self, g: Any, shape: Any, dtype: Any) -> LazyArray:
        """``spread(g, shape, dtype)``: an array filled with a cotangent."""
        kind = Kind(frozenset([np.ndarray]), dtype.x, len(shape.parts))
        one = self.scalars.known(1.0)
        sizes, g = [p.value for p in shape.parts], self.scalars.number(g)
        if not isinstance(g, Number):
            self.elementwise.check_fits(g.shape, sizes)
        return LazyArray(kind, operator.mul, [g, one], sizes)

    def on_or_zeros(self, x: Array, shape: Any) -> Array:
        """``or_zeros(x, shape)``: a cotangent, or zeros if it has no elements."""
        e = self.elementwise
        sizes = [p.value for p in shape.parts]

        def zeros() -> Array:
            result = e.allocate(x.dtype, sizes, memory.KEPT)
            e.write(result, self.scalars.known(0.0))
            return result

        def own() -> Array:
            e.check_shape(x.shape, sizes)
            return x.view(x.address, sizes, x.strides)

        found = e.one_of(self.code.equal(x.shape[0], self.code.whole(0)), zeros, own)
        return replace(found, alias_set=x.alias_set)

    def on_own(self, g: Any, shape: Any, dtype: Any) -> Array:
        """``own(g, shape, dtype)``: a cotangent in a new array."""
        e = self.elementwise
        result = e.allocate(dtype.x, [p.value for p in shape.parts], self.store)
        e.write(result, self.scalars.number(g))
        return result

    def on_shadow_with(self, x: Any, g: Any) -> Array:
        """``shadow_with(x, g)``: a new shadow of an array that begins with a cotangent."""
        result = self.elementwise.allocate(x.kind.dtype, x.shape, self.store)
        self.elementwise.write(result, g)
        return result

    def on_zeros_along(self, x: Any, axes: Any) -> Array:
        """``zeros_along(x, axes)``: zeros like `x`, with the axes in this order in memory."""
        result = self._in_order(x, axes)
        self.elementwise.write(result, self.scalars.known(0.0))
        return result

    def on_laid_out(self, x: Any, axes: Any) -> Array:
        """``laid_out(x, axes)``: a copy of `x`, with the axes in this order in memory."""
        result = self._in_order(x, axes)
        self.elementwise.write(result, x)
        return result

    def _in_order(self, x: Any, axes: Any) -> Array:
        """Return an uninitialized array like `x`, with the axes in this order in memory."""
        order = [int(p.x) for p in axes.parts]
        result = self.elementwise.allocate(dtype_of(x), [x.shape[k] for k in order], self.store)
        return result.with_axes([order.index(k) for k in range(len(order))])

    def on_gather(self, shadow: Any, x: Any) -> None:
        """``gather(shadow, x)``: add a cotangent to a shadow."""
        self.write(shadow, self._unbroadcast(x, shadow.shape), operator.add)
