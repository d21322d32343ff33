"""Vectors as a whole: running sums and products, sorted places, tables, and convolutions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import I64, TYPES, constant
from autodiff.structured.native.makers import Makers
from autodiff.structured.native.values import Array, Known, Number, Tree
from autodiff.structured.runtime_calls import TINY

_PLACE = Kind(frozenset([np.int64]))
_PLACES = np.dtype(np.int64)
_STABLE = ("stable", "mergesort")


class Vectors(Makers):
    """Writes what goes along an axis in order, or searches along one."""

    def call(self, f: Any, args: list) -> Any:
        """Return what a function makes of numbers and arrays."""
        raise NotImplementedError

    # -- running sums and products -----------------------------------------------------------------

    def running_sums(self, x: Any, axis: Any = None) -> Array:
        """Return the sums of the elements up to each, along an axis."""
        return self._running(operator.add, x, axis)

    def running_products(self, x: Any, axis: Any = None) -> Array:
        """Return the products of the elements up to each, along an axis."""
        return self._running(operator.mul, x, axis)

    def _running(self, f: Callable, x: Any, axis: Any) -> Array:
        e, code, b = self.elementwise, self.code, self.b
        x, k = e.at_hand(x), getattr(axis, "x", axis)
        ndim = len(x.shape)
        k = 0 if k is None and ndim == 1 else k
        if type(k) is not int or not -ndim <= k < ndim or x.dtype not in (np.float64, np.float32):
            raise UnsupportedError("running sums like these in machine code")
        k %= ndim
        made = e.made(x.dtype, x.shape, self.store_of_new())
        kind = Kind(frozenset([x.dtype.type]))
        held = TYPES["d" if x.dtype == np.float64 else "s"]
        place = code.variable(held)
        b.store(constant(held, 0.0), place)

        def body(at: list) -> None:
            with code.counted(x.shape[k]) as i:
                value = e.read(x.dtype, code.at(at[1], b.mul(i, x.strides[k])))
                before = Number(kind, value.letter, b.load(place, typ=held))
                total = self.scalars.function(f, [before, value], kind).value
                # A zero at the beginning keeps its sign.
                value.value = b.select(code.equal(i, code.whole(0)), value.value, total)
                b.store(value.value, place)
                e.put(made.dtype, value, code.at(at[0], b.mul(i, made.strides[k])))

        if ndim == 1:
            body([made.address, x.address])
        else:
            rest = [j for j in range(ndim) if j != k]
            others = [self._along(a, rest) for a in (made, x)]
            e.each(others[0].shape, others, body, alone=False)
        return made

    def _along(self, a: Array, axes: list[int]) -> Array:
        """Return a view of the first part of an array along some axes."""
        shape, strides = ([kept[k] for k in axes] for kept in (a.shape, a.strides))
        return Array(a.dtype, a.address, shape, strides, a.group)

    def on_cumsum_back(self, g: Any, axis: Any = None) -> Array:
        """``cumsum_back(g, axis)``: the cotangent of an array by that of its running sums."""
        k = getattr(axis, "x", 0)
        turned = self.indexing.flipped(self.elementwise.at_hand(g), range(k, k + 1), "")
        return self.indexing.flipped(self.running_sums(turned, k), range(k, k + 1), "")

    def on_cumprod_back(self, g: Any, y: Any, x: Any) -> Any:
        """``cumprod_back(g, y, x)``: leave where a product is almost 0."""
        e = self.elementwise
        y = e.at_hand(y)

        def body(at: list) -> None:
            size = self.scalars.function(abs, [e.read(y.dtype, at[0])], y.kind)
            self.code.exit_if(
                self.b.not_(self.scalars.compared(">", size, self.scalars.known(TINY)))
            )

        e.each(y.shape, [y], body)
        sums = self.on_cumsum_back(self.call(operator.mul, [g, y]))
        return self.call(operator.truediv, [sums, x])

    # -- sorted places -----------------------------------------------------------------------------

    def sorted_places(self, x: Any, axis: Any = None, kind: Any = None) -> Array:
        """Return the places of the elements along an axis in their order, by merging.

        NumPy's own order of equal elements is not known unless a stable one is asked for: then
        leave; and where there is a NaN.
        """
        e, code = self.elementwise, self.code
        x = e.at_hand(x)
        ndim, k = len(x.shape), getattr(axis, "x", axis)
        k = -1 if k is None and (ndim == 1 or axis is None) else k
        if ndim > 2 or type(k) is not int or not -ndim <= k < ndim or x.dtype.kind == "c":
            raise UnsupportedError("a sort like this in machine code")
        k %= ndim
        is_stable = getattr(kind, "x", None) in _STABLE
        made = e.made(_PLACES, x.shape, self.store_of_new())
        other = e.made(_PLACES, [x.shape[k]], memory.SCRATCH)
        if ndim == 1:
            self._sort(x, made, other, is_stable)
            return made
        with code.counted(x.shape[1 - k]) as i:
            row, places = (e.row(a if k else e.transposed(a), i) for a in (x, made))
            self._sort(row, places, other, is_stable)
        return made

    def _sort(self, x: Array, made: Array, other: Array, is_stable: bool) -> None:
        """Write the places of the elements of a vector in their order; `other` is as long."""
        e, code, b = self.elementwise, self.code, self.b
        n, one, zero = x.shape[0], code.whole(1), code.whole(0)

        def value(k: Any) -> Number:
            return e.read(x.dtype, slot(x, k))

        def slot(a: Array, k: Any) -> Any:
            return code.at(a.address, b.mul(k, a.strides[0]))

        with code.counted(n) as k:
            code.exit_if(self.scalars.compared("!=", value(k), value(k)))
            b.store(k, slot(made, k))
        width, left, right = (code.variable(I64) for _ in range(3))
        b.store(one, width)

        def merge(after: Any) -> None:
            w = b.load(width, typ=I64)
            following = code.function.append_basic_block()
            b.cbranch(code.less(w, n), following, after)
            b.position_at_end(following)
            pair = b.add(w, w)
            with code.counted(b.sdiv(b.add(n, b.sub(pair, one)), pair)) as j:
                low = b.mul(j, pair)
                middle, high = (self._least(b.add(low, k), n) for k in (w, pair))
                b.store(low, left)
                b.store(middle, right)
                with code.counted(b.sub(high, low)) as t:
                    p, q = (b.load(v, typ=I64) for v in (left, right))
                    # What is beyond an end is not compared, but read.
                    places = [b.load(slot(made, self._least(v, b.sub(n, one))), typ=I64)
                              for v in (p, q)]  # fmt: skip
                    is_less = self.scalars.compared("<", value(places[1]), value(places[0]))
                    is_second = b.and_(
                        code.less(q, high), b.or_(is_less, b.not_(code.less(p, middle)))
                    )
                    b.store(b.select(is_second, places[1], places[0]), slot(other, b.add(low, t)))
                    b.store(b.select(is_second, p, b.add(p, one)), left)
                    b.store(b.select(is_second, b.add(q, one), q), right)
            with code.counted(n) as k:
                b.store(b.load(slot(other, k), typ=I64), slot(made, k))
            b.store(pair, width)

        code.endless(merge)
        if not is_stable:
            with code.counted(self._most(b.sub(n, one), zero)) as k:
                both = [value(b.load(slot(made, at), typ=I64)) for at in (k, b.add(k, one))]
                code.exit_if(self.scalars.compared("==", *both))

    def _least(self, x: Any, y: Any) -> Any:
        return self.b.select(self.code.less(x, y), x, y)

    def _most(self, x: Any, y: Any) -> Any:
        return self.b.select(self.code.less(x, y), y, x)

    # -- tables ------------------------------------------------------------------------------------

    def found_places(self, xp: Any, x: Any, side: Any = None) -> Any:
        """``np.searchsorted(xp, x, side)``: before which element each place is."""
        xp = self.elementwise.at_hand(xp)
        self._check_order(xp, x)
        way = side.x if isinstance(side, Known) else "left" if side is None else None
        if way not in ("left", "right") or len(xp.shape) != 1:
            raise UnsupportedError("a search like this in machine code")
        return self._each_place(
            x, [], lambda place, _: Number(_PLACE, "i", self._search(xp, place, way)), _PLACES
        )

    def interpolated(self, x: Any, xp: Any, fp: Any) -> Any:
        """``np.interp(x, xp, fp)``."""
        xp, fp = self._table(x, xp, fp)

        def body(place: Number, _: Any) -> Number:
            b, code, n = self.b, self.code, xp.shape[0]
            right, j, start, _ = self._between(place, xp)
            low, first, last = (
                self._of(fp, k) for k in (j, code.whole(0), b.sub(n, code.whole(1)))
            )
            slope = self._slope_behind(j, xp, fp)
            inside = b.fadd(b.fmul(slope, b.fsub(place.value, start)), low)
            inside = b.select(b.fcmp_ordered("==", start, place.value), low, inside)
            made = b.select(code.equal(right, n), last, inside)
            return self.scalars.plain("d", b.select(code.equal(right, code.whole(0)), first, made))

        return self._each_place(x, [], body)

    def on_interp_back_to_places(self, g: Any, x: Any, xp: Any, fp: Any) -> Any:
        """``interp_back_to_places(g, x, xp, fp)``."""
        xp, fp = self._table(x, xp, fp)
        return self._each_place(
            x, [g], lambda place, bars: self.scalars.plain("d", self._bar(place, bars[0], xp, fp))
        )

    def on_interp_back_to_values(self, g: Any, x: Any, xp: Any) -> Any:
        """``interp_back_to_values(g, x, xp)``."""
        xp, _ = self._table(x, xp, xp)
        return self._to_ends(g, x, xp, lambda place, bar: bar.value)

    def on_interp_back_to_nodes(self, g: Any, x: Any, xp: Any, fp: Any) -> Any:
        """``interp_back_to_nodes(g, x, xp, fp)``."""
        xp, fp = self._table(x, xp, fp)
        return self._to_ends(
            g, x, xp, lambda place, bar: self.b.fneg(self._bar(place, bar, xp, fp))
        )

    def _table(self, x: Any, xp: Any, fp: Any) -> tuple[Array, Array]:
        e, code = self.elementwise, self.code
        xp, fp = e.at_hand(xp), e.at_hand(fp)
        if not (len(xp.shape) == len(fp.shape) == 1 and xp.dtype == fp.dtype == np.float64):
            raise UnsupportedError("a table of another kind in machine code")
        e.check_shape(xp.shape, fp.shape)
        self._check_order(xp, x)
        code.exit_if(code.less(xp.shape[0], code.whole(2)))
        return xp, fp

    def _check_order(self, xp: Array, x: Any) -> None:
        """Leave where a vector is not in order: what NumPy finds depends on the place before."""
        if len(xp.shape) != 1 or not isinstance(x, (Array, Tree)):
            return
        code, b, one = self.code, self.b, self.code.whole(1)
        with code.counted(self._most(b.sub(xp.shape[0], one), code.whole(0))) as k:
            both = self._of(xp, k), self._of(xp, b.add(k, one))
            code.exit_if(b.not_(b.fcmp_ordered("<=", *both)))

    def _each_place(
        self, x: Any, others: list, body: Callable[[Number, list], Number], dtype: Any = None
    ) -> Any:
        """Return what a body makes of each place, a double, and of what belongs to it."""
        e, dtype = self.elementwise, np.dtype(float) if dtype is None else dtype

        def as_double(found: Number) -> Number:
            return self.scalars.plain("d", self.scalars.converted(found, "d"))

        if not isinstance(x, (Array, Tree)):
            numbers = [self.scalars.number(v) for v in (x, *others)]
            if not all(isinstance(v, Number) for v in numbers):
                raise UnsupportedError("a search like this in machine code")
            place, *rest = map(as_double, numbers)
            return body(place, rest)
        arrays = [e.at_hand(v) for v in (x, *others)]
        for a in arrays[1:]:
            e.check_shape(a.shape, arrays[0].shape)
        made = e.made(dtype, arrays[0].shape, self.store_of_new())

        def put(at: list) -> None:
            place, *rest = [
                as_double(e.read(a.dtype, p)) for a, p in zip(arrays, at[1:], strict=True)
            ]
            e.put(made.dtype, body(place, rest), at[0])

        e.each(made.shape, [made, *arrays], put, alone=False)
        return made

    def _of(self, a: Array, k: Any) -> Any:
        at = self.code.at(a.address, self.b.mul(k, a.strides[0]))
        return self.scalars.converted(self.elementwise.read(a.dtype, at), "d")

    def _search(self, xp: Array, place: Number, side: str) -> Any:
        """Return how many elements of a sorted vector are before a place; leave at NaN."""
        code, b = self.code, self.b
        code.exit_if(self.scalars.compared("!=", place, place))
        low, high = code.variable(I64), code.variable(I64)
        b.store(code.whole(0), low)
        b.store(xp.shape[0], high)

        def halve(after: Any) -> None:
            start, stop = (b.load(v, typ=I64) for v in (low, high))
            following = code.function.append_basic_block()
            b.cbranch(code.less(start, stop), following, after)
            b.position_at_end(following)
            middle = b.sdiv(b.add(start, stop), code.whole(2))
            is_before = b.fcmp_ordered(
                "<=" if side == "right" else "<", self._of(xp, middle), place.value
            )
            b.store(b.select(is_before, b.add(middle, code.whole(1)), start), low)
            b.store(b.select(is_before, stop, middle), high)

        code.endless(halve)
        return b.load(low, typ=I64)

    def _between(self, place: Number, xp: Array) -> tuple[Any, Any, Any, Any]:
        """Return how many nodes are not behind a place, the one before it, and both around it."""
        code, b, one, n = self.code, self.b, self.code.whole(1), xp.shape[0]
        right = self._search(xp, place, "right")
        j = self._least(self._most(b.sub(right, one), code.whole(0)), b.sub(n, code.whole(2)))
        start, end = self._of(xp, j), self._of(xp, b.add(j, one))
        code.exit_if(b.not_(b.fcmp_ordered("<", start, end)))
        return right, j, start, end

    def _slope_behind(self, j: Any, xp: Array, fp: Array) -> Any:
        b, after = self.b, self.b.add(j, self.code.whole(1))
        rise, run = (b.fsub(self._of(a, after), self._of(a, j)) for a in (fp, xp))
        return b.fdiv(rise, run)

    def _bar(self, place: Number, bar: Number, xp: Array, fp: Array) -> Any:
        """Return a cotangent times the slope: at a node the mean of both sides, outside 0."""
        code, b, one, n = self.code, self.b, self.code.whole(1), xp.shape[0]
        right, _, _, _ = self._between(place, xp)
        node = self._of(xp, self._most(b.sub(right, one), code.whole(0)))
        is_node = b.and_(code.less(code.whole(0), right), b.fcmp_ordered("==", node, place.value))
        slopes = []
        for k in (b.select(is_node, b.sub(right, one), right), right):
            j = self._least(self._most(b.sub(k, one), code.whole(0)), b.sub(n, code.whole(2)))
            is_inside = b.and_(code.less(code.whole(0), k), code.less(k, n))
            zero = ir.Constant(TYPES["d"], 0.0)
            slopes.append(b.select(is_inside, self._slope_behind(j, xp, fp), zero))
        half = ir.Constant(TYPES["d"], 0.5)
        return b.fmul(bar.value, b.fmul(half, b.fadd(*slopes)))

    def _to_ends(self, g: Any, x: Any, xp: Array, share: Callable[[Number, Number], Any]) -> Array:
        """Return what the nodes get of what belongs to each place."""
        code, b, made = self.code, self.b, self._zeros(xp.shape[0])

        def body(place: Number, bars: list) -> Number:
            value = share(place, bars[0])
            _, j, start, end = self._between(place, xp)
            zero, one = (ir.Constant(TYPES["d"], v) for v in (0.0, 1.0))
            t = b.fdiv(b.fsub(place.value, start), b.fsub(end, start))
            t = b.select(b.fcmp_ordered("<", t, zero), zero, t)
            t = b.select(b.fcmp_ordered("<", one, t), one, t)
            for k, part in ((j, b.fsub(one, t)), (b.add(j, code.whole(1)), t)):
                at = code.at(made.address, b.mul(k, made.strides[0]))
                b.store(b.fadd(b.load(at, typ=TYPES["d"]), b.fmul(value, part)), at)
            return bars[0]

        self._each_place(x, [g], body)
        return made

    # -- convolutions ------------------------------------------------------------------------------

    def convolved(self, a: Any, v: Any, mode: Any = None) -> Array:
        """``np.convolve(a, v, mode)``: the longer one, times each element of the other."""
        e, code, b = self.elementwise, self.code, self.b
        a, v = self._vectors_of(a, v)
        m, n = a.shape[0], v.shape[0]
        is_longer = code.less(m, n)
        (x, y), (more, less) = (
            [b.select(is_longer, p, q) for p, q in (pair, pair[::-1])]
            for pair in ((v.address, a.address), (n, m))
        )
        size, start = self._part_of_full(m, n, mode)
        made = self._zeros(size)
        steps = [code.whole(8)]

        def add(k: Any, first: Any, count: Any) -> None:
            row = Array(a.dtype, code.at(x, b.mul(first, *steps)), [count], steps, None)
            factor = e.read(a.dtype, code.at(y, b.mul(k, *steps)))
            to = self._from(made, b.sub(b.add(first, k), start), count)
            e.write(to, e.tree(operator.mul, a.kind, [row, factor]), operator.add)

        self._shifted_sums(less, more, size, start, add)
        return made

    def on_convolve_back(self, g: Any, other: Any, own: Any, mode: Any) -> Array:
        """``convolve_back(g, other, own, mode)``."""
        e, code, b = self.elementwise, self.code, self.b
        g, other = self._vectors_of(g, other)
        own = e.at_hand(own)
        _, start = self._part_of_full(own.shape[0], other.shape[0], mode)
        made = self._zeros(own.shape[0])

        def add(k: Any, first: Any, count: Any) -> None:
            factor = e.read(other.dtype, code.at(other.address, b.mul(k, other.strides[0])))
            row = self._from(g, b.sub(b.add(first, k), start), count)
            to = self._from(made, first, count)
            e.write(to, e.tree(operator.mul, g.kind, [row, factor]), operator.add)

        self._shifted_sums(other.shape[0], own.shape[0], g.shape[0], start, add)
        return made

    def _vectors_of(self, *arrays: Any) -> list[Array]:
        """Return vectors of doubles that lie side by side."""
        if not all(isinstance(a, (Array, Tree)) and a.kind.ndim == 1 for a in arrays):
            raise UnsupportedError("a convolution of what is no vector")
        made = [self.elementwise.computed(a, memory.SCRATCH) for a in arrays]
        if not all(a.dtype == np.float64 for a in made):
            raise UnsupportedError("a convolution in another precision")
        return made

    def _part_of_full(self, m: Any, n: Any, mode: Any) -> tuple[Any, Any]:
        """Return how much of a full convolution there is, and where it starts."""
        code, b, one = self.code, self.b, self.code.whole(1)
        way = mode.x if isinstance(mode, Known) else "full" if mode is None else None
        short, long = self._least(m, n), self._most(m, n)
        code.exit_if(code.less(short, one))
        if way == "full":
            return b.sub(b.add(m, n), one), code.whole(0)
        if way == "same":
            return long, b.sdiv(b.sub(short, one), code.whole(2))
        if way == "valid":
            return b.add(b.sub(long, short), one), b.sub(short, one)
        raise UnsupportedError("a convolution of another mode")

    def _zeros(self, n: Any) -> Array:
        made = self.elementwise.made(np.dtype(float), [n], self.store_of_new())
        self.elementwise.write(made, self.scalars.known(0.0))
        return made

    def _from(self, a: Array, start: Any, count: Any) -> Array:
        address = self.code.at(a.address, self.b.mul(start, a.strides[0]))
        return Array(a.dtype, address, [count], a.strides, a.group)

    def _shifted_sums(self, turns: Any, n: Any, size: Any, start: Any, add: Callable) -> None:
        """Call `add` in each turn k with the first i, and how many, for which i + k - start fits.

        There are n of them, and what they are added to or taken from has a size.
        """
        code, b = self.code, self.b
        with code.counted(turns) as k:
            shift = b.sub(start, k)
            first = self._most(shift, code.whole(0))
            count = b.sub(self._least(n, b.add(size, shift)), first)
            add(k, first, self._most(count, code.whole(0)))
