"""Functions along an axis: cumulative sums, sorting, searches, interpolation and convolution."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.linear_algebra import LinearAlgebra
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I64, TYPES, constant
from autodiff.structured.native.lowered_values import Array, LazyArray, Number, StaticValue
from autodiff.structured.runtime_library import TINY

_INDEX = Kind(frozenset([np.int64]))
_INDICES = np.dtype(np.int64)
_STABLE = ("stable", "mergesort")


class AxisFunctions(LinearAlgebra):
    """Scans, sorts, searches and convolutions along an axis."""

    # Methods that subclasses define.
    call: Callable[[Any, list], Any]

    # -- cumulative sums and products --------------------------------------------------------------

    def cumsum(self, x: Any, axis: Any = None) -> Array:
        """``np.cumsum(x, axis)``."""
        return self._scan(operator.add, x, axis)

    def cumprod(self, x: Any, axis: Any = None) -> Array:
        """``np.cumprod(x, axis)``."""
        return self._scan(operator.mul, x, axis)

    def _scan(self, f: Callable, x: Any, axis: Any) -> Array:
        e, code, b = self.elementwise, self.code, self.b
        x, k = e.as_array(x), getattr(axis, "x", axis)
        ndim = len(x.shape)
        k = 0 if k is None and ndim == 1 else k
        if type(k) is not int or not -ndim <= k < ndim or x.dtype not in (np.float64, np.float32):
            raise UnsupportedError("these cumulative sums or products")
        k %= ndim
        result = e.allocate(x.dtype, x.shape, self.store)
        kind = Kind(frozenset([x.dtype.type]))
        held = TYPES["d" if x.dtype == np.float64 else "s"]
        accumulator = code.stored(constant(held, 0.0))

        def body(at: list) -> None:
            with code.counted(x.shape[k]) as i:
                value = e.load_number(x.dtype, code.at(at[1], b.mul(i, x.strides[k])))
                before = Number(kind, value.letter, b.load(accumulator, typ=held))
                total = self.scalars.function(f, [before, value], kind).value
                # The first element starts the scan: 0.0 + -0.0 would lose the sign.
                value.value = b.select(code.equal(i, code.whole(0)), value.value, total)
                b.store(value.value, accumulator)
                e.store_number(result.dtype, value, code.at(at[0], b.mul(i, result.strides[k])))

        if ndim == 1:
            body([result.address, x.address])
        else:
            rest = [j for j in range(ndim) if j != k]
            others = [a.with_axes(rest) for a in (result, x)]
            e.for_each(others[0].shape, others, body, is_parallel=False)
        return result

    def on_cumsum_back(self, g: Any, axis: Any = None) -> Array:
        """``cumsum_back(g, axis)``: the reversed cumulative sums of the reversed cotangent."""
        k = getattr(axis, "x", 0)
        reversed_g = self.indexing.flipped(self.elementwise.as_array(g), range(k, k + 1), "")
        return self.indexing.flipped(self.cumsum(reversed_g, k), range(k, k + 1), "")

    def on_cumprod_back(self, g: Any, y: Any, x: Any) -> Any:
        """``cumprod_back(g, y, x)``; bail out if a product is almost 0."""
        e = self.elementwise
        y = e.as_array(y)

        def body(at: list) -> None:
            size = self.scalars.function(abs, [e.load_number(y.dtype, at[0])], y.kind)
            is_large = self.scalars.compared(">", size, self.scalars.known(TINY))
            self.code.exit_if(self.b.not_(is_large))

        e.for_each(y.shape, [y], body)
        sums = self.on_cumsum_back(self.call(operator.mul, [g, y]))
        return self.call(operator.truediv, [sums, x])

    # -- sorting -----------------------------------------------------------------------------------

    def argsort(self, x: Any, axis: Any = None, kind: Any = None) -> Array:
        """``np.argsort(x, axis, kind)``, by a merge sort.

        Bail out at a NaN, and at equal elements unless `kind` is stable: their order is NumPy's.
        """
        self.check_in_loop()
        e, code = self.elementwise, self.code
        x = e.as_array(x)
        ndim, k = len(x.shape), getattr(axis, "x", axis)
        k = -1 if k is None and (ndim == 1 or axis is None) else k
        if ndim > 2 or type(k) is not int or not -ndim <= k < ndim or x.dtype.kind == "c":
            raise UnsupportedError("this sort")
        k %= ndim
        is_stable = getattr(kind, "x", None) in _STABLE
        result = e.allocate(_INDICES, x.shape, self.store)
        other = e.allocate(_INDICES, [x.shape[k]], memory.SCRATCH)
        if ndim == 1:
            self._sort(x, result, other, is_stable)
            return result
        with code.counted(x.shape[1 - k]) as i:
            row, order = (e.row(a if k else e.transposed(a), i) for a in (x, result))
            self._sort(row, order, other, is_stable)
        return result

    def _sort(self, x: Array, order: Array, other: Array, is_stable: bool) -> None:
        """Write into `order` the indices that sort a vector; `other` is a buffer."""
        e, code, b = self.elementwise, self.code, self.b
        n, one, zero, slot = x.shape[0], code.whole(1), code.whole(0), e.address_of

        def value(k: Any) -> Number:
            return e.load_item(x, k)

        with code.counted(n) as k:
            code.exit_if(self.scalars.compared("!=", value(k), value(k)))
            b.store(k, slot(order, k))
        width, left, right = code.stored(one), code.variable(I64), code.variable(I64)
        with code.endless():
            w = b.load(width, typ=I64)
            code.leave_if(b.icmp_signed(">=", w, n))
            pair = b.add(w, w)
            with code.counted(b.sdiv(b.add(n, b.sub(pair, one)), pair)) as j:
                low = b.mul(j, pair)
                middle, high = (code.lesser(b.add(low, k), n) for k in (w, pair))
                b.store(low, left)
                b.store(middle, right)
                with code.counted(b.sub(high, low)) as t:
                    p, q = (b.load(v, typ=I64) for v in (left, right))
                    # A position beyond the end is read, too, but its comparison does not count.
                    first, second = (b.load(slot(order, code.lesser(v, b.sub(n, one))), typ=I64)
                                     for v in (p, q))  # fmt: skip
                    is_less = self.scalars.compared("<", value(second), value(first))
                    is_second = b.and_(
                        code.less(q, high), b.or_(is_less, b.not_(code.less(p, middle)))
                    )
                    b.store(b.select(is_second, second, first), slot(other, b.add(low, t)))
                    b.store(b.select(is_second, p, b.add(p, one)), left)
                    b.store(b.select(is_second, b.add(q, one), q), right)
            with code.counted(n) as k:
                b.store(b.load(slot(other, k), typ=I64), slot(order, k))
            b.store(pair, width)
        if not is_stable:
            with code.counted(code.greater(b.sub(n, one), zero)) as k:
                both = [value(b.load(slot(order, at), typ=I64)) for at in (k, b.add(k, one))]
                code.exit_if(self.scalars.compared("==", *both))

    # -- searches and interpolation ----------------------------------------------------------------

    def searchsorted(self, xp: Any, x: Any, side: Any = None) -> Any:
        """``np.searchsorted(xp, x, side)``."""
        xp = self.elementwise.as_array(xp)
        self._check_order(xp, x)
        where = side.x if isinstance(side, StaticValue) else "left" if side is None else None
        if where not in ("left", "right") or len(xp.shape) != 1:
            raise UnsupportedError("this search")

        def body(point: Number, _: Any) -> Number:
            return Number(_INDEX, "i", self._search(xp, point, where))

        return self._map_points(x, [], body, _INDICES)

    def interp(self, x: Any, xp: Any, fp: Any) -> Any:
        """``np.interp(x, xp, fp)``."""
        xp, fp = self._table(x, xp, fp)

        def body(point: Number, _: Any) -> Number:
            b, code, n = self.b, self.code, xp.shape[0]
            right, j, start, _ = self._locate(point, xp)
            low, first, last = (
                self._float_at(fp, k) for k in (j, code.whole(0), b.sub(n, code.whole(1)))
            )
            slope = self._slope_after(j, xp, fp)
            inside = b.fadd(b.fmul(slope, b.fsub(point.value, start)), low)
            inside = b.select(b.fcmp_ordered("==", start, point.value), low, inside)
            result = b.select(code.equal(right, n), last, inside)
            result = b.select(code.equal(right, code.whole(0)), first, result)
            return self.scalars.plain("d", result)

        return self._map_points(x, [], body)

    def on_interp_back_to_places(self, g: Any, x: Any, xp: Any, fp: Any) -> Any:
        """``interp_back_to_places(g, x, xp, fp)``."""
        xp, fp = self._table(x, xp, fp)

        def body(point: Number, bars: list) -> Number:
            return self.scalars.plain("d", self._interp_pullback(point, bars[0], xp, fp))

        return self._map_points(x, [g], body)

    def on_interp_back_to_values(self, g: Any, x: Any, xp: Any) -> Any:
        """``interp_back_to_values(g, x, xp)``."""
        xp, _ = self._table(x, xp, xp)
        return self._to_ends(g, x, xp, lambda point, bar: bar.value)

    def on_interp_back_to_nodes(self, g: Any, x: Any, xp: Any, fp: Any) -> Any:
        """``interp_back_to_nodes(g, x, xp, fp)``."""
        xp, fp = self._table(x, xp, fp)

        def share(point: Number, bar: Number) -> Any:
            return self.b.fneg(self._interp_pullback(point, bar, xp, fp))

        return self._to_ends(g, x, xp, share)

    def _table(self, x: Any, xp: Any, fp: Any) -> tuple[Array, Array]:
        e, code = self.elementwise, self.code
        xp, fp = e.as_array(xp), e.as_array(fp)
        if not (len(xp.shape) == len(fp.shape) == 1 and xp.dtype == fp.dtype == np.float64):
            raise UnsupportedError("an interpolation table of another kind")
        e.check_shape(xp.shape, fp.shape)
        self._check_order(xp, x)
        code.exit_if(code.less(xp.shape[0], code.whole(2)))
        return xp, fp

    def _check_order(self, xp: Array, x: Any) -> None:
        """Bail out if a vector is not sorted: NumPy's result then depends on the previous point."""
        if len(xp.shape) != 1 or not isinstance(x, (Array, LazyArray)):
            return
        code, b, one = self.code, self.b, self.code.whole(1)
        with code.counted(code.greater(b.sub(xp.shape[0], one), code.whole(0))) as k:
            both = self._float_at(xp, k), self._float_at(xp, b.add(k, one))
            code.exit_if(b.not_(b.fcmp_ordered("<=", *both)))

    def _map_points(
        self, x: Any, others: list, body: Callable[[Number, list], Number], dtype: Any = None
    ) -> Any:
        """Map a function over points and the elements of other arrays, all as doubles."""
        e, dtype = self.elementwise, np.dtype(float) if dtype is None else dtype

        def as_double(found: Number) -> Number:
            return self.scalars.plain("d", self.scalars.converted(found, "d"))

        if not isinstance(x, (Array, LazyArray)):
            numbers = [self.scalars.number(v) for v in (x, *others)]
            if not all(isinstance(v, Number) for v in numbers):
                raise UnsupportedError("this search")
            point, *rest = map(as_double, numbers)
            return body(point, rest)
        arrays = [e.as_array(v) for v in (x, *others)]
        for a in arrays[1:]:
            e.check_shape(a.shape, arrays[0].shape)
        result = e.allocate(dtype, arrays[0].shape, self.store)

        def put(at: list) -> None:
            point, *rest = [
                as_double(e.load_number(a.dtype, p)) for a, p in zip(arrays, at[1:], strict=True)
            ]
            e.store_number(result.dtype, body(point, rest), at[0])

        e.for_each(result.shape, [result, *arrays], put, is_parallel=False)
        return result

    def _float_at(self, a: Array, k: Any) -> Any:
        return self.scalars.converted(self.elementwise.load_item(a, k), "d")

    def _search(self, xp: Array, point: Number, side: str) -> Any:
        """Return how many elements of a sorted vector precede a point; bail out if it is NaN."""
        code, b = self.code, self.b
        code.exit_if(self.scalars.compared("!=", point, point))
        low, high = code.stored(code.whole(0)), code.stored(xp.shape[0])
        with code.endless():
            start, stop = (b.load(v, typ=I64) for v in (low, high))
            code.leave_if(b.icmp_signed(">=", start, stop))
            middle = b.sdiv(b.add(start, stop), code.whole(2))
            is_before = b.fcmp_ordered(
                "<=" if side == "right" else "<", self._float_at(xp, middle), point.value
            )
            b.store(b.select(is_before, b.add(middle, code.whole(1)), start), low)
            b.store(b.select(is_before, stop, middle), high)
        return b.load(low, typ=I64)

    def _locate(self, point: Number, xp: Array) -> tuple[Any, Any, Any, Any]:
        """Find the interval of a point.

        Returns
        -------
        tuple
            The number of nodes up to the point, the index of the interval, and both its ends.
        """
        code, b, one, n = self.code, self.b, self.code.whole(1), xp.shape[0]
        right = self._search(xp, point, "right")
        j = code.lesser(code.greater(b.sub(right, one), code.whole(0)), b.sub(n, code.whole(2)))
        start, end = self._float_at(xp, j), self._float_at(xp, b.add(j, one))
        code.exit_if(b.not_(b.fcmp_ordered("<", start, end)))
        return right, j, start, end

    def _slope_after(self, j: Any, xp: Array, fp: Array) -> Any:
        """Return the slope between node j and the next one."""
        b, after = self.b, self.b.add(j, self.code.whole(1))
        rise, run = (b.fsub(self._float_at(a, after), self._float_at(a, j)) for a in (fp, xp))
        return b.fdiv(rise, run)

    def _interp_pullback(self, point: Number, bar: Number, xp: Array, fp: Array) -> Any:
        """Return a cotangent times the slope: at a node the mean of both sides, 0 outside."""
        code, b, one, n = self.code, self.b, self.code.whole(1), xp.shape[0]
        right, _, _, _ = self._locate(point, xp)
        node = self._float_at(xp, code.greater(b.sub(right, one), code.whole(0)))
        is_node = b.and_(code.less(code.whole(0), right), b.fcmp_ordered("==", node, point.value))
        slopes = []
        for k in (b.select(is_node, b.sub(right, one), right), right):
            j = code.lesser(code.greater(b.sub(k, one), code.whole(0)), b.sub(n, code.whole(2)))
            is_inside = b.and_(code.less(code.whole(0), k), code.less(k, n))
            zero = ir.Constant(TYPES["d"], 0.0)
            slopes.append(b.select(is_inside, self._slope_after(j, xp, fp), zero))
        half = ir.Constant(TYPES["d"], 0.5)
        return b.fmul(bar.value, b.fmul(half, b.fadd(*slopes)))

    def _to_ends(self, g: Any, x: Any, xp: Array, share: Callable[[Number, Number], Any]) -> Array:
        """Distribute `share` of each point to both ends of its interval, by linear weights."""
        code, b, result = self.code, self.b, self._zeros(xp.shape[0])

        def body(point: Number, bars: list) -> Number:
            value = share(point, bars[0])
            _, j, start, end = self._locate(point, xp)
            zero, one = (ir.Constant(TYPES["d"], v) for v in (0.0, 1.0))
            t = b.fdiv(b.fsub(point.value, start), b.fsub(end, start))
            t = b.select(b.fcmp_ordered("<", t, zero), zero, t)
            t = b.select(b.fcmp_ordered("<", one, t), one, t)
            for k, part in ((j, b.fsub(one, t)), (b.add(j, code.whole(1)), t)):
                at = self.elementwise.address_of(result, k)
                b.store(b.fadd(b.load(at, typ=TYPES["d"]), b.fmul(value, part)), at)
            return bars[0]

        self._map_points(x, [g], body)
        return result

    # -- convolutions ------------------------------------------------------------------------------

    def convolve(self, a: Any, v: Any, mode: Any = None) -> Array:
        """``np.convolve(a, v, mode)``: add the longer vector, shifted, times each element."""
        e, code, b = self.elementwise, self.code, self.b
        a, v = self._vectors_of(a, v)
        m, n = a.shape[0], v.shape[0]
        is_shorter = code.less(m, n)
        (x, y), (more, less) = (
            [b.select(is_shorter, p, q) for p, q in (pair, pair[::-1])]
            for pair in ((v.address, a.address), (n, m))
        )
        size, start = self._part_of_full(m, n, mode)
        result = self._zeros(size)
        strides = [code.whole(8)]

        def add(k: Any, first: Any, count: Any) -> None:
            row = Array(a.dtype, code.at(x, b.mul(first, *strides)), [count], strides, None)
            factor = e.load_number(a.dtype, code.at(y, b.mul(k, *strides)))
            target = self._from(result, b.sub(b.add(first, k), start), count)
            e.write(target, e.tree(operator.mul, a.kind, [row, factor]), operator.add)

        self._shifted_sums(less, more, size, start, add)
        return result

    def on_convolve_back(self, g: Any, other: Any, own: Any, mode: Any) -> Array:
        """``convolve_back(g, other, own, mode)``."""
        e, b = self.elementwise, self.b
        g, other = self._vectors_of(g, other)
        own = e.as_array(own)
        _, start = self._part_of_full(own.shape[0], other.shape[0], mode)
        result = self._zeros(own.shape[0])

        def add(k: Any, first: Any, count: Any) -> None:
            factor = e.load_item(other, k)
            row = self._from(g, b.sub(b.add(first, k), start), count)
            target = self._from(result, first, count)
            e.write(target, e.tree(operator.mul, g.kind, [row, factor]), operator.add)

        self._shifted_sums(other.shape[0], own.shape[0], g.shape[0], start, add)
        return result

    def _vectors_of(self, *arrays: Any) -> list[Array]:
        """Return contiguous copies of vectors of doubles."""
        if not all(isinstance(a, (Array, LazyArray)) and a.kind.ndim == 1 for a in arrays):
            raise UnsupportedError("a convolution of things other than vectors")
        result = [self.elementwise.materialize(a, memory.SCRATCH) for a in arrays]
        if not all(a.dtype == np.float64 for a in result):
            raise UnsupportedError("a convolution in another precision")
        return result

    def _part_of_full(self, m: Any, n: Any, mode: Any) -> tuple[Any, Any]:
        """Return the length of a convolution, and its start in the full one."""
        code, b, one = self.code, self.b, self.code.whole(1)
        name = mode.x if isinstance(mode, StaticValue) else "full" if mode is None else None
        short, long = code.lesser(m, n), code.greater(m, n)
        code.exit_if(code.less(short, one))
        if name == "full":
            return b.sub(b.add(m, n), one), code.whole(0)
        if name == "same":
            return long, b.sdiv(b.sub(short, one), code.whole(2))
        if name == "valid":
            return b.add(b.sub(long, short), one), b.sub(short, one)
        raise UnsupportedError("a convolution in another mode")

    def _zeros(self, n: Any) -> Array:
        result = self.elementwise.allocate(np.dtype(float), [n], self.store)
        self.elementwise.write(result, self.scalars.known(0.0))
        return result

    def _from(self, a: Array, start: Any, count: Any) -> Array:
        return a.view(self.elementwise.address_of(a, start), [count], a.strides)

    def _shifted_sums(self, count: Any, n: Any, size: Any, start: Any, add: Callable) -> None:
        """Emit ``for k in range(count): add(k, first, length)``.

        These are the i in ``range(n)`` for which ``0 <= i + k - start < size``: `length` of them,
        from `first` on.
        """
        code, b = self.code, self.b
        with code.counted(count) as k:
            shift = b.sub(start, k)
            first = code.greater(shift, code.whole(0))
            length = b.sub(code.lesser(n, b.add(size, shift)), first)
            add(k, first, code.greater(length, code.whole(0)))
