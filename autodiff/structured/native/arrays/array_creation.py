"""Array creation: filled arrays, displays, ranges, joins, triangles and masked selections."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import INT, UnsupportedError
from autodiff.structured.form.known_functions import iteration_count
from autodiff.structured.native.arrays.array_loops import ArrayLoops
from autodiff.structured.native.arrays.indexing import Indexing
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import (
    I8,
    I64,
    TYPES,
    FunctionBuilder,
    constant,
)
from autodiff.structured.native.lowered_values import (
    Array,
    LazyArray,
    Number,
    RangeValue,
    StaticValue,
    TupleValue,
    dtype_of,
    is_one,
)
from autodiff.structured.native.numbers.scalars import Scalars
from autodiff.structured.runtime_library import zeros_like
from autodiff.structured.writing.rules.known_adjoints import place_of_join

_INDICES = np.dtype(np.int64)
CONSTRUCTORS = frozenset({np.array, np.asarray})
_DISPLAYED = {
    "z": (frozenset({complex, np.complex128}), np.dtype(complex)),
    "d": (frozenset({float, np.float64}), np.dtype(float)),
    "i": (frozenset({int, np.int64}), np.dtype(np.int64)),
}
"""The dtype of an array of displayed numbers, by the first representation in this order that one of
them has. At least one number must have one of the classes for certain."""
_IDENTITIES = frozenset({np.eye, np.identity})
CREATORS: dict[Any, tuple[float | None, bool]] = {
    np.zeros: (0.0, False), np.ones: (1.0, False), np.empty: (None, False),
    np.ndarray: (None, False), np.zeros_like: (0.0, True), zeros_like: (0.0, True),
    np.ones_like: (1.0, True), np.empty_like: (None, True),
    np.eye: (0.0, False), np.identity: (0.0, False),
}  # fmt: skip
"""The fill value of a creation function, and whether it copies the shape and dtype of an array."""
_LONGEST_RANGE = 2.0**40
_SAFE = frozenset({None, operator.add, operator.sub})
"""What may be computed of elements that are not written: it hardly ever overflows."""
_ALL_TRUE = 0x0101010101010101  # eight truth values
TRIANGLES = frozenset({np.triu, np.tril})
"""Functions that keep one side of a diagonal."""


class ArrayCreation:
    """Creation of arrays.

    Attributes
    ----------
    store : int
        The store of `memory` in which results are allocated.
    """

    store = memory.SCRATCH
    code: FunctionBuilder
    scalars: Scalars
    elementwise: ArrayLoops
    indexing: Indexing

    @property
    def b(self) -> Any:
        """The instruction builder."""
        return self.code.b

    def check_in_loop(self) -> None:
        """Leave an operation outside of loops to Python: NumPy is faster if arrays are large.

        Raises
        ------
        UnsupportedError
            If no loop is open.
        """
        if not self.code.behind:
            raise UnsupportedError("NumPy is faster for large arrays")

    def _copy(self, x: Any) -> Any:
        if isinstance(x, (Array, LazyArray)):
            return self.elementwise.materialize(x, self.store)
        return x

    def _filled(self, f: Any, args: list, options: dict[str, Any]) -> Array:
        """Return a filled array, or an uninitialized one."""
        fill, is_like = CREATORS[f]
        e = self.elementwise
        dtype = options.pop("dtype", None)
        if not is_like and f is not np.eye and len(args) == 2:
            dtype = args.pop()
        if options or len(args) != 1 or not (dtype is None or isinstance(dtype, StaticValue)):
            raise UnsupportedError(f"this call of {f.__name__}")
        if is_like:
            shape, own = args[0].shape, args[0].kind.dtype
        else:
            own = np.dtype(float)
            parts = args[0].parts if isinstance(args[0], TupleValue) else [args[0]]
            shape = [self.scalars.converted(self.scalars.number(p), "i") for p in parts]
            for n in shape:
                self.code.exit_if(self.code.less(n, self.code.whole(0)))
        if f in _IDENTITIES:
            shape = [*shape, *shape]
        result = e.allocate(own if dtype is None else np.dtype(dtype.x), shape, self.store)
        if fill is not None:
            e.write(result, self._of_dtype(result, fill))
        if f in _IDENTITIES:
            diagonal = self.b.add(result.strides[0], result.strides[1])
            with self.code.counted(shape[0]) as i:
                at = self.code.at(result.address, self.b.mul(i, diagonal))
                e.store_number(result.dtype, self._of_dtype(result, 1.0), at)
        return result

    def _of_dtype(self, array: Array, x: float) -> Number:
        return self.scalars.known(array.dtype.type(x).item())

    def reshaped(self, x: Any, shape: Any) -> Array:
        """Return a copy of an array in another shape; bail out if the sizes differ."""
        parts = shape.parts if isinstance(shape, TupleValue) else [shape]
        are_integers = all(isinstance(p, (StaticValue, Number)) for p in parts)
        if not isinstance(x, (Array, LazyArray)) or not are_integers:
            raise UnsupportedError("this shape of a reshaped array")
        code, b = self.code, self.b
        size: Any = functools.reduce(b.mul, x.shape)
        is_inferred = [isinstance(p, StaticValue) and p.x == -1 for p in parts]
        lengths = [self.scalars.converted(self.scalars.number(p), "i") for p in parts]
        given = [n for n, is_open in zip(lengths, is_inferred, strict=True) if not is_open]
        for n in given:
            code.exit_if(code.less(n, code.whole(0)))
        new_size = self.elementwise.size_of(given)
        if True in is_inferred:
            code.exit_if(code.equal(new_size, code.whole(0)))
            inferred = b.sdiv(size, new_size)
            lengths[is_inferred.index(True)], new_size = inferred, b.mul(inferred, new_size)
        code.exit_if(b.not_(code.equal(new_size, size)))
        result = self.elementwise.materialize(x, self.store)
        strides, _ = self.elementwise.strides_of(result.dtype, lengths)
        return result.view(result.address, lengths, strides)

    def base_of_view(self, x: Any) -> Array:
        """Return an array of which a view may be taken: it lives as long as a result."""
        return self.elementwise.materialize(x, self.store) if isinstance(x, LazyArray) else x

    def permuted(self, f: Any, x: Any, *axes: Any) -> Array:
        """Return a transposed view: ``np.transpose(x, axes)`` or ``np.swapaxes(x, i, j)``."""
        x = self.base_of_view(x)
        parts = [p for a in axes for p in (a.parts if isinstance(a, TupleValue) else [a])]
        if not all(isinstance(p, StaticValue) and type(p.x) is int for p in parts):
            raise UnsupportedError("axes that are not constant")
        n = len(x.shape)
        order = [p.x % n for p in parts] if parts else list(range(n))[::-1]
        if f is np.swapaxes:
            one, other = order
            order = list(range(n))
            order[one], order[other] = other, one
        return x.with_axes(order)

    def arange(self, *bounds: Any) -> Array:
        """``np.arange(start, stop, step)`` of integers or floats."""
        numbers = [self.scalars.number(x) for x in bounds]
        if not all(isinstance(x, Number) and x.letter in "id" and x.tag is None for x in numbers):
            raise UnsupportedError("a range of these numbers")
        if any(x.letter == "d" for x in numbers):
            return self._arange_of_floats([self.scalars.converted(x, "d") for x in numbers])
        e, b = self.elementwise, self.b
        over = self.range_of([x.value for x in numbers])
        result = e.allocate(np.dtype(np.int64), [self.trip_count(over)], self.store)
        with self.code.counted(result.shape[0]) as i:
            e.store_item(result, i, Number(INT, "i", b.add(over.start, b.mul(i, over.step))))
        return result

    def range_of(self, bounds: list) -> RangeValue:
        """``range(*bounds)``."""
        if len(bounds) == 1:
            bounds = [self.code.whole(0), *bounds]
        return RangeValue(*bounds, *([self.code.whole(1)] if len(bounds) == 2 else []))

    def trip_count(self, over: RangeValue) -> Any:
        """Return the length of a range; bail out if its step is 0."""
        bounds = [over.start, over.stop, *([] if is_one(over.step) else [over.step])]
        return self.scalars.of_integers(iteration_count, bounds)

    def _arange_of_floats(self, bounds: list) -> Array:
        """Return a range of floats, whose spacing is ``(start + step) - start`` as in NumPy."""
        e, code, b = self.elementwise, self.code, self.b
        zero, one = (constant(TYPES["d"], x) for x in (0.0, 1.0))
        start, stop = (bounds[0], bounds[1]) if bounds[1:] else (zero, bounds[0])
        step = bounds[2] if bounds[2:] else one
        count = code.call("ceil", TYPES["d"], [b.fdiv(b.fsub(stop, start), step)])
        is_valid = b.fcmp_ordered("<", count, constant(TYPES["d"], _LONGEST_RANGE))
        code.exit_if(b.not_(is_valid))
        n = b.fptosi(b.select(b.fcmp_ordered(">", count, zero), count, zero), I64)
        second = b.fadd(start, step)
        spacing = b.fsub(second, start)
        result = e.allocate(np.dtype(float), [n], self.store)
        with code.counted(n) as i:
            x = b.fadd(start, b.fmul(b.sitofp(i, TYPES["d"]), spacing))
            x = b.select(code.equal(i, code.whole(1)), second, x)
            e.store_item(result, i, self.scalars.plain("d", x))
        return result

    def new_array(self, f: Any, x: Any, dtype: StaticValue | None = None, **options: Any) -> Any:
        """``np.array(x, dtype)`` or ``np.asarray(x, dtype)`` of an array or display."""
        if options or not (dtype is None or isinstance(dtype, StaticValue)):
            raise UnsupportedError(f"this call of {f.__name__}")
        if isinstance(x, TupleValue):
            result = self._array_of_display(x)
        else:
            result = x if f is np.asarray and isinstance(x, Array) else self._copy(x)
        if dtype is None or np.dtype(dtype.x) == result.dtype:
            return result
        return self.elementwise.materialize(result, self.store, np.dtype(dtype.x))

    def _array_of_display(self, rows: TupleValue) -> Array:
        """Return an array of displayed numbers."""
        shape: list[int] = []
        numbers: list = [rows]
        while numbers and isinstance(numbers[0], TupleValue):
            lengths = {len(p.parts) if isinstance(p, TupleValue) else -1 for p in numbers}
            if len(lengths) > 1:
                raise UnsupportedError("rows of several lengths")
            shape += lengths
            numbers = [x for p in numbers for x in p.parts]
        numbers = [self.scalars.number(x) for x in numbers]
        letters = {x.letter if isinstance(x, Number) else "" for x in numbers}
        if not letters or not letters <= set(_DISPLAYED):
            raise UnsupportedError("an array of these numbers")
        classes, dtype = next(_DISPLAYED[c] for c in _DISPLAYED if c in letters)
        if not any(x.kind.classes <= classes for x in numbers):
            raise UnsupportedError("an array of these numbers")
        e = self.elementwise
        result = e.allocate(dtype, [self.code.whole(n) for n in shape], self.store)
        for k, x in enumerate(numbers):
            address = self.code.at(result.address, self.code.whole(dtype.itemsize * k))
            e.store_number(result.dtype, x, address)
        return result

    # -- joins -------------------------------------------------------------------------------------

    def join(self, f: Any, args: list, options: dict[str, Any]) -> Array:
        """Concatenate or stack arrays along an axis."""
        parts: list[Any] = getattr(args[0], "parts", [])
        if not parts or not all(isinstance(p, (Array, LazyArray)) for p in parts):
            raise UnsupportedError(f"{f.__name__} of things other than arrays")
        axes = [a.x for a in (*args[1:], *options.values()) if isinstance(a, StaticValue)]
        if len(axes) != len(args) - 1 + len(options) or options.keys() - {"axis"}:
            raise UnsupportedError(f"this call of {f.__name__}")
        ndim, dtype = len(parts[0].shape), dtype_of(parts[0])
        is_known = len(axes) < 2 and all(type(k) is int for k in axes)
        place = place_of_join(f, ndim, *axes) if is_known else None
        if place is None:
            raise UnsupportedError("this axis of joined arrays")
        axis, is_new = place
        if not all(len(p.shape) == ndim and dtype_of(p) == dtype for p in parts):
            raise UnsupportedError("joined arrays of several kinds")
        e, b = self.elementwise, self.b
        for p in parts[1:]:
            for k in range(ndim):
                if is_new or k != axis:
                    e.check_shape([p.shape[k]], [parts[0].shape[k]])
        lengths = [self.code.whole(1) if is_new else p.shape[axis] for p in parts]
        total: Any = self.code.whole(0)
        for n in lengths:
            total = b.add(total, n)
        own = list(parts[0].shape)
        shape = [*own[:axis], total, *own[axis if is_new else axis + 1 :]]
        result = e.allocate(dtype, shape, self.store)
        address = result.address
        for p, n in zip(parts, lengths, strict=True):
            sizes, strides = list(shape), list(result.strides)
            sizes[axis] = n
            if is_new:
                del sizes[axis], strides[axis]
            e.write(result.view(address, sizes, strides), p)
            address = self.code.at(address, b.mul(n, result.strides[axis]))
        return result

    def roll(self, x: Any, shift: Any, axis: Any = None) -> Array:
        """``np.roll(x, shift, axis)``."""
        e, code, b = self.elementwise, self.code, self.b
        k = axis.x if isinstance(axis, StaticValue) else axis
        if not isinstance(x, (Array, LazyArray)) or not (k is None or type(k) is int):
            raise UnsupportedError("this call of roll")
        if k is None and len(x.shape) > 1:
            raise UnsupportedError("a rolled matrix without an axis")
        x, k = e.as_array(x), (k or 0) % len(x.shape)
        n = x.shape[k]
        code.exit_if(code.equal(n, code.whole(0)))
        by = b.srem(self.scalars.converted(self.scalars.number(shift), "i"), n)
        by = b.select(code.less(by, code.whole(0)), b.add(by, n), by)
        left = b.sub(n, by)
        result = e.allocate(x.dtype, x.shape, self.store)
        for size, to, start in ((left, by, None), (by, None, left)):
            parts = []
            for a, first in ((result, to), (x, start)):
                at = a.address if first is None else code.at(a.address, b.mul(first, a.strides[k]))
                shape = [*a.shape[:k], size, *a.shape[k + 1 :]]
                parts.append(a.view(at, shape, a.strides))
            e.write(*parts)
        return result

    # -- triangles ---------------------------------------------------------------------------------

    def triangle(self, f: Any, x: Any, k: Any = None) -> Array:
        """``np.triu(x, k)`` or ``np.tril(x, k)``."""
        e, code, b = self.elementwise, self.code, self.b
        if len(x.shape) != 2:
            raise UnsupportedError("a triangle of stacked matrices")
        x = e.as_array(x)
        diagonal = code.whole(0)
        if k is not None:
            diagonal = self.scalars.converted(self.scalars.number(k), "i")
        result = e.allocate(x.dtype, x.shape, self.store)
        zero = self.scalars.known(0.0)
        with code.counted(x.shape[0]) as i, code.counted(x.shape[1]) as j:
            source, target = (e.address_of(a, i, j) for a in (x, result))
            distance = b.sub(b.sub(j, i), diagonal)
            is_kept = b.icmp_signed(">=" if f is np.triu else "<=", distance, code.whole(0))
            found = e.load_number(x.dtype, source)
            other = self.scalars.converted(zero, found.letter)
            found.value = b.select(is_kept, found.value, other)
            e.store_number(result.dtype, found, target)
        return result

    # -- masks -------------------------------------------------------------------------------------

    def _for_each_masked(
        self, mask: Array, arrays: list[Array], body: Callable[[list, Any, Any, Any], None],
        is_speculative: bool = True,
    ) -> None:  # fmt: skip
        """Emit a loop over the elements at which a mask is true.

        It reads eight truth values at a time: it skips them if none is true, and tests none if all
        are. The body is given the addresses of the elements of `arrays`, how many came before, the
        index along the last axis, and the truth value, or None if that is known to be true.
        If it `is_speculative`, it also runs for false ones beside a true one: there is no branch
        that the processor would often predict wrongly.
        """
        code, b, e = self.code, self.b, self.elementwise
        count = code.stored(code.whole(0))
        steps = [e.stride(a, mask.shape, len(mask.shape) - 1) for a in arrays]

        def row(at: list) -> None:
            def visit(i: Any, truth: Any = None) -> None:
                k = b.load(count, typ=I64)
                each = zip(at[1:], arrays, steps, strict=True)
                body([e.moved(p, a, step, i) for p, a, step in each], k, i, truth)
                b.store(b.add(k, code.whole(1) if truth is None else b.zext(truth, I64)), count)

            def truth_of(i: Any) -> Any:
                return b.trunc(b.load(code.at(at[0], i), typ=I8), TYPES["b"])

            def single(i: Any) -> None:
                with code.branch(truth_of(i)):
                    visit(i)

            def several(first: Any, truths: Any) -> None:
                is_any = b.not_(code.equal(truths, code.whole(0)))
                is_all = code.equal(truths, code.whole(_ALL_TRUE))
                with code.branch(is_any), code.branches(is_all) as (then, otherwise):
                    with then, code.counted(code.whole(8)) as j:
                        visit(b.add(first, j))
                    with otherwise, code.counted(code.whole(8)) as j:
                        i = b.add(first, j)
                        if is_speculative:
                            visit(i, truth_of(i))
                        else:
                            single(i)

            self._by_eights(at[0], mask.shape[-1], several, single)

        self._for_each_row(mask, arrays, row)

    def _number_of_true(self, mask: Array) -> Any:
        """Return at how many elements a mask is true."""
        code, b = self.code, self.b
        count = code.stored(code.whole(0))

        def add(truths: Any) -> None:
            b.store(b.add(b.load(count, typ=I64), b.ctpop(truths)), count)

        def row(at: list) -> None:
            def single(i: Any) -> None:
                truth = b.zext(b.load(code.at(at[0], i), typ=I8), I64)
                add(b.and_(truth, code.whole(1)))

            self._by_eights(at[0], mask.shape[-1], lambda _, truths: add(truths), single)

        self._for_each_row(mask, [], row)
        return b.load(count, typ=I64)

    def _for_each_row(self, mask: Array, arrays: list[Array], row: Callable[[list], None]) -> None:
        """Emit a loop over all axes but the last; `row` is given the first address of each row."""
        rows = [a.with_axes(range(len(a.shape) - 1)) for a in (mask, *arrays)]
        if len(mask.shape) == 1:
            row([a.address for a in rows])
        else:
            self.elementwise.for_each(mask.shape[:-1], rows, row, is_parallel=False)

    def _by_eights(
        self, row: Any, n: Any, several: Callable[[Any, Any], None], single: Callable[[Any], None]
    ) -> None:
        """Emit a loop over a row of truth values, eight at a time, and one over the rest.

        `several` is given the index of the first one, and all as the bytes of a word.
        """
        code, b, eight = self.code, self.b, self.code.whole(8)
        whole = b.ashr(n, code.whole(3))
        with code.counted(whole) as w:
            first = b.mul(w, eight)
            word = b.load(code.at(row, first), align=1, typ=I64)
            several(first, b.and_(word, code.whole(_ALL_TRUE)))
        first = b.mul(whole, eight)
        with code.counted(b.sub(n, first)) as j:
            single(b.add(first, j))

    def _contiguous(self, mask: Array) -> Array:
        """Return a mask whose rows are contiguous, copied if necessary."""
        is_contiguous = self.code.equal(mask.strides[-1], self.code.whole(1))
        copy = functools.partial(self.elementwise.materialize, mask, memory.SCRATCH)
        return self.elementwise.one_of(is_contiguous, lambda: mask, copy)

    def _vector_for(self, dtype: np.dtype, n: Any, store: int) -> Array:
        """Allocate a vector with room for one element more, which speculation may write."""
        made = self.elementwise.allocate(dtype, [self.b.add(n, self.code.whole(1))], store)
        return replace(made, shape=[n])

    def mask_positions(self, mask: Array) -> Array:
        """Return the indices at which a vector of truth values is true."""
        e, mask = self.elementwise, self._contiguous(mask)
        result = self._vector_for(_INDICES, self._number_of_true(mask), memory.SCRATCH)

        def body(at: list, k: Any, i: Any, truth: Any) -> None:
            e.store_item(result, k, Number(INT, "i", i))

        self._for_each_masked(mask, [], body)
        return result

    def select_masked(self, base: Array, mask: Array) -> Array:
        """``base[mask]``."""
        e, mask = self.elementwise, self._contiguous(mask)
        e.check_shape(mask.shape, base.shape)
        result = self._vector_for(base.dtype, self._number_of_true(mask), self.store)

        def body(at: list, k: Any, i: Any, truth: Any) -> None:
            e.store_item(result, k, e.load_number(base.dtype, at[0]))

        self._for_each_masked(mask, [base], body)
        return result

    def store_masked(self, base: Array, mask: Array, x: Any, f: Any = None) -> None:
        """``base[mask] = x`` or ``base[mask] = f(base[mask], x)``."""
        b, e = self.b, self.elementwise
        e.check_shape(mask.shape, base.shape)
        x, last = self.scalars.number(x), self.code.whole(0)
        mask = self._contiguous(mask)
        if isinstance(x, (Array, LazyArray)):
            if isinstance(x, LazyArray) or x.alias_set is base.alias_set:
                x = e.materialize(x, memory.SCRATCH)
            if len(x.shape) != 1:
                raise UnsupportedError("a matrix written at a mask")
            e.check_shape(x.shape, [self._number_of_true(mask)])
            last = b.sub(x.shape[0], self.code.whole(1))
        elif not isinstance(x, Number):
            raise UnsupportedError("a write of something other than a number or array")

        def body(at: list, k: Any, i: Any, truth: Any) -> None:
            place = k if truth is None else self.code.lesser(k, last)
            new = x if isinstance(x, Number) else e.load_item(x, place)
            if truth is None:
                e.update(base, at[0], new, f)
                return
            old = e.load_number(base.dtype, at[0])
            if f is not None:
                new = self.scalars.function(f, [old, new], base.kind)
            new = e.as_element(base.dtype, new)
            e.store_number(
                base.dtype, replace(old, value=b.select(truth, new.value, old.value)), at[0]
            )

        self._for_each_masked(mask, [base], body, is_speculative=f in _SAFE)
