"""Arrays that are made while machine code is written: filled, displayed, joined, chosen."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.elementwise import Elementwise
from autodiff.structured.native.indexing import Indexing
from autodiff.structured.native.llvm import blas, memory
from autodiff.structured.native.llvm.code import I32, I64, TYPES, Code, constant
from autodiff.structured.native.numbers.scalars import Scalars
from autodiff.structured.native.values import Array, Known, Number, Several, Tree, dtype_of
from autodiff.structured.runtime_calls import zeros_like
from autodiff.structured.writing.rules.calls_without_rules import place_of_join

_INT, _PLACES = Kind(frozenset([int])), np.dtype(np.int64)
DISPLAYS = frozenset({np.array, np.asarray})
_DISPLAYED = {
    "z": (frozenset({complex, np.complex128}), np.dtype(complex)),
    "d": (frozenset({float, np.float64}), np.dtype(float)),
    "i": (frozenset({int, np.int64}), np.dtype(np.int64)),
}
"""Which classes, of one number at least, make a displayed array one of which dtype; the first
kind of numbers that there is decides."""
_UNIT = frozenset({np.eye, np.identity})
MAKERS: dict[Any, tuple[float | None, bool]] = {
    np.zeros: (0.0, False), np.ones: (1.0, False), np.empty: (None, False),
    np.ndarray: (None, False), np.zeros_like: (0.0, True), zeros_like: (0.0, True),
    np.ones_like: (1.0, True), np.empty_like: (None, True),
    np.eye: (0.0, False), np.identity: (0.0, False),
}  # fmt: skip
"""What a function fills an array with, and whether it takes shape and dtype of another one."""
_SOLVED = {np.dtype(float): "d", np.dtype(complex): "z"}
_MOST_OF_RANGE = 2.0**40
TRIANGLES = frozenset({np.triu, np.tril})
"""Functions that keep one side of a diagonal."""


class Makers:
    """Writes what makes an array."""

    code: Code
    scalars: Scalars
    elementwise: Elementwise
    indexing: Indexing

    @property
    def b(self) -> Any:
        """The builder."""
        return self.code.b

    def store_of_new(self) -> int:
        """Where the memory of a new array is."""
        return memory.SCRATCH

    def _new(self, x: Any) -> Any:
        if isinstance(x, (Array, Tree)):
            return self.elementwise.computed(x, self.store_of_new())
        return x

    def _maker(self, f: Any, args: list, options: dict[str, Any]) -> Array:
        """Make a new array."""
        fill, is_like = MAKERS[f]
        e = self.elementwise
        dtype = options.pop("dtype", None)
        if not is_like and f is not np.eye and len(args) == 2:
            dtype = args.pop()
        if options or len(args) != 1 or not (dtype is None or isinstance(dtype, Known)):
            raise UnsupportedError(f"this call of {f.__name__} in machine code")
        if is_like:
            shape, own = args[0].shape, args[0].kind.dtype
        else:
            own = np.dtype(float)
            parts = args[0].parts if isinstance(args[0], Several) else [args[0]]
            shape = [self.scalars.converted(self.scalars.number(p), "i") for p in parts]
            for n in shape:
                self.code.exit_if(self.code.less(n, self.code.whole(0)))
        if f in _UNIT:
            shape = [*shape, *shape]
        made = e.made(own if dtype is None else np.dtype(dtype.x), shape, self.store_of_new())
        if fill is not None:
            e.write(made, self._of_dtype(made, fill))
        if f in _UNIT:
            diagonal = self.b.add(made.strides[0], made.strides[1])
            with self.code.counted(shape[0]) as i:
                at = self.code.at(made.address, self.b.mul(i, diagonal))
                e.put(made.dtype, self._of_dtype(made, 1.0), at)
        return made

    def _of_dtype(self, array: Array, x: float) -> Number:
        """Return a constant as a number of the dtype of an array."""
        return self.scalars.known(array.dtype.type(x).item())

    def reshaped(self, x: Any, shape: Any) -> Array:
        """Return a copy of an array in another shape; leave if it does not fit."""
        parts = shape.parts if isinstance(shape, Several) else [shape]
        if not isinstance(x, (Array, Tree)) or not all(
            isinstance(p, (Known, Number)) for p in parts
        ):
            raise UnsupportedError("this change of a shape in machine code")
        code, b = self.code, self.b
        own: Any = functools.reduce(b.mul, x.shape)
        is_rest = [isinstance(p, Known) and p.x == -1 for p in parts]
        numbers = [self.scalars.converted(self.scalars.number(p), "i") for p in parts]
        others = [n for n, is_it in zip(numbers, is_rest, strict=True) if not is_it]
        for n in others:
            code.exit_if(code.less(n, code.whole(0)))
        size: Any = functools.reduce(b.mul, others, code.whole(1))
        if True in is_rest:
            code.exit_if(code.equal(size, code.whole(0)))
            rest = b.sdiv(own, size)
            numbers[is_rest.index(True)], size = rest, b.mul(rest, size)
        code.exit_if(b.not_(code.equal(size, own)))
        made = self.elementwise.computed(x, self.store_of_new())
        made.shape, made.strides = numbers, self.elementwise.strides_of(made.dtype, numbers)[0]
        return made

    def base_of_view(self, x: Any) -> Array:
        """Return an array in memory that lasts as long as what is made: a view may be all of it."""
        return self.elementwise.computed(x, self.store_of_new()) if isinstance(x, Tree) else x

    def permuted(self, f: Any, x: Any, *axes: Any) -> Array:
        """Return a view of an array with its axes in another order."""
        x = self.base_of_view(x)
        parts = [p for a in axes for p in (a.parts if isinstance(a, Several) else [a])]
        if not all(isinstance(p, Known) and type(p.x) is int for p in parts):
            raise UnsupportedError("axes that are not known")
        n = len(x.shape)
        order = [p.x % n for p in parts] if parts else list(range(n))[::-1]
        if f is np.swapaxes:
            one, other = order
            order = list(range(n))
            order[one], order[other] = other, one
        shape, strides = ([kept[k] for k in order] for kept in (x.shape, x.strides))
        return Array(x.dtype, x.address, shape, strides, x.group)

    def counted_up(self, *bounds: Any) -> Array:
        """Return the integers, or floats, of a range."""
        numbers = [self.scalars.number(x) for x in bounds]
        if not all(isinstance(x, Number) and x.letter in "id" and x.tag is None for x in numbers):
            raise UnsupportedError("a range of what is no number")
        if any(x.letter == "d" for x in numbers):
            return self._floats_of_range([self.scalars.converted(x, "d") for x in numbers])
        e, code, b = self.elementwise, self.code, self.b
        zero, one = code.whole(0), code.whole(1)
        values = [x.value for x in numbers]
        start, stop = (values[0], values[1]) if values[1:] else (zero, values[0])
        step = values[2] if values[2:] else one
        code.exit_if(code.equal(step, zero))
        is_up = code.less(zero, step)
        way = b.select(is_up, b.sub(stop, start), b.sub(start, stop))
        pace = b.select(is_up, step, b.sub(zero, step))
        n = b.sdiv(b.add(way, b.sub(pace, one)), pace)
        n = b.select(code.less(way, one), zero, n)
        made = e.made(np.dtype(np.int64), [n], self.store_of_new())
        with code.counted(n) as i:
            x = Number(Kind(frozenset([int])), "i", b.add(start, b.mul(i, step)))
            e.put(made.dtype, x, code.at(made.address, b.mul(i, made.strides[0])))
        return made

    def _floats_of_range(self, bounds: list) -> Array:
        """Return the floats of a range: the second one says how far apart they are."""
        e, code, b = self.elementwise, self.code, self.b
        zero, one = (constant(TYPES["d"], x) for x in (0.0, 1.0))
        start, stop = (bounds[0], bounds[1]) if bounds[1:] else (zero, bounds[0])
        step = bounds[2] if bounds[2:] else one
        count = code.call("ceil", TYPES["d"], [b.fdiv(b.fsub(stop, start), step)])
        is_known = b.fcmp_ordered("<", count, constant(TYPES["d"], _MOST_OF_RANGE))
        code.exit_if(b.not_(is_known))
        n = b.fptosi(b.select(b.fcmp_ordered(">", count, zero), count, zero), I64)
        second = b.fadd(start, step)
        apart = b.fsub(second, start)
        made = e.made(np.dtype(float), [n], self.store_of_new())
        with code.counted(n) as i:
            x = b.fadd(start, b.fmul(b.sitofp(i, TYPES["d"]), apart))
            x = b.select(code.equal(i, code.whole(1)), second, x)
            e.put(made.dtype, self.scalars.plain("d", x),
                  code.at(made.address, b.mul(i, made.strides[0])))  # fmt: skip
        return made

    def made_array(self, f: Any, x: Any, dtype: Known | None = None, **options: Any) -> Any:
        """Make an array of an array, or of the numbers that a tuple displays."""
        if options or not (dtype is None or isinstance(dtype, Known)):
            raise UnsupportedError(f"this call of {f.__name__} in machine code")
        if isinstance(x, Several):
            made = self._display(x)
        else:
            made = x if f is np.asarray and isinstance(x, Array) else self._new(x)
        wanted = made.dtype if dtype is None else np.dtype(dtype.x)
        if wanted == made.dtype:
            return made
        return self.elementwise.computed(made, self.store_of_new(), wanted)

    def _display(self, rows: Several) -> Array:
        """Make an array of numbers that are written one by one."""
        shape: list[int] = []
        numbers: list = [rows]
        while numbers and isinstance(numbers[0], Several):
            lengths = {len(p.parts) if isinstance(p, Several) else -1 for p in numbers}
            if len(lengths) > 1:
                raise UnsupportedError("rows of several lengths in machine code")
            shape += lengths
            numbers = [x for p in numbers for x in p.parts]
        numbers = [self.scalars.number(x) for x in numbers]
        letters = {x.letter if isinstance(x, Number) else "" for x in numbers}
        if not letters or not letters <= set(_DISPLAYED):
            raise UnsupportedError("an array of these numbers in machine code")
        classes, dtype = next(_DISPLAYED[c] for c in _DISPLAYED if c in letters)
        if not any(x.kind.classes <= classes for x in numbers):
            raise UnsupportedError("an array of these numbers in machine code")
        e = self.elementwise
        made = e.made(dtype, [self.code.whole(n) for n in shape], self.store_of_new())
        for k, x in enumerate(numbers):
            place = self.code.at(made.address, self.code.whole(dtype.itemsize * k))
            e.put(made.dtype, x, place)
        return made

    # -- joined, and triangles ---------------------------------------------------------------------

    def joined(self, f: Any, args: list, options: dict[str, Any]) -> Array:
        """Join arrays along an axis, or along a new one."""
        parts: list[Any] = getattr(args[0], "parts", [])
        if not parts or not all(isinstance(p, (Array, Tree)) for p in parts):
            raise UnsupportedError(f"{f.__name__} of what is no array in machine code")
        axes = [a.x for a in (*args[1:], *options.values()) if isinstance(a, Known)]
        if len(axes) != len(args) - 1 + len(options) or options.keys() - {"axis"}:
            raise UnsupportedError(f"this call of {f.__name__} in machine code")
        ndim, dtype = len(parts[0].shape), dtype_of(parts[0])
        is_known = len(axes) < 2 and all(type(k) is int for k in axes)
        place = place_of_join(f, ndim, *axes) if is_known else None
        if place is None:
            raise UnsupportedError("an axis of arrays that are joined")
        axis, is_new = place
        if not all(len(p.shape) == ndim and dtype_of(p) == dtype for p in parts):
            raise UnsupportedError("arrays of several kinds that are joined in machine code")
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
        made = e.made(dtype, shape, self.store_of_new())
        address = made.address
        for p, n in zip(parts, lengths, strict=True):
            sizes, strides = list(shape), list(made.strides)
            sizes[axis] = n
            if is_new:
                del sizes[axis], strides[axis]
            e.write(Array(dtype, address, sizes, strides, made.group), p)
            address = self.code.at(address, b.mul(n, made.strides[axis]))
        return made

    def rolled(self, x: Any, shift: Any, axis: Any = None) -> Array:
        """Return an array whose elements are moved along an axis, and come in again."""
        e, code, b = self.elementwise, self.code, self.b
        k = axis.x if isinstance(axis, Known) else axis
        if not isinstance(x, (Array, Tree)) or not (k is None or type(k) is int):
            raise UnsupportedError("this call of roll in machine code")
        if k is None and len(x.shape) > 1:
            raise UnsupportedError("a matrix rolled as a vector")
        x, k = e.at_hand(x), (k or 0) % len(x.shape)
        n = x.shape[k]
        code.exit_if(code.equal(n, code.whole(0)))
        by = b.srem(self.scalars.converted(self.scalars.number(shift), "i"), n)
        by = b.select(code.less(by, code.whole(0)), b.add(by, n), by)
        left = b.sub(n, by)
        made = e.made(x.dtype, x.shape, self.store_of_new())
        for size, to, start in ((left, by, None), (by, None, left)):
            parts = []
            for a, first in ((made, to), (x, start)):
                at = a.address if first is None else code.at(a.address, b.mul(first, a.strides[k]))
                shape = [*a.shape[:k], size, *a.shape[k + 1 :]]
                parts.append(Array(a.dtype, at, shape, a.strides, a.group))
            e.write(*parts)
        return made

    # -- linear systems ----------------------------------------------------------------------------

    def _of_matrix(self, x: Any, dtype: np.dtype) -> tuple[Array, Any, Any]:
        """Return a copy of a square matrix, column by column, its size, and room for pivots."""
        e = self.elementwise
        if len(x.shape) != 2:
            raise UnsupportedError("a system of another kind in machine code")
        e.check_shape(x.shape[:1], x.shape[1:])
        copy = e.computed(e.transposed(x), memory.SCRATCH, dtype)
        n = x.shape[0]
        return copy, n, e.made(np.dtype(np.int32), [n], memory.SCRATCH).address

    def solved(self, a: Any, y: Any) -> Array:
        """Return the solution of a linear system."""
        e = self.elementwise
        dtype = np.result_type(dtype_of(a), dtype_of(y))
        if dtype not in _SOLVED or len(y.shape) > 2:
            raise UnsupportedError("a system of another kind in machine code")
        letter = _SOLVED[dtype]
        a, n, pivots = self._of_matrix(a, dtype)
        e.check_shape([n], y.shape[:1])
        if len(y.shape) == 1:
            made = e.computed(y, self.store_of_new(), dtype)
            blas.solve(self.code, letter, a.address, made.address, n, self.code.whole(1), pivots)
            return made
        columns = e.computed(e.transposed(y), memory.SCRATCH, dtype)
        blas.solve(self.code, letter, a.address, columns.address, n, y.shape[1], pivots)
        return e.computed(e.transposed(columns), self.store_of_new())

    def cholesky(self, a: Any) -> Array:
        """Return the Cholesky factor of a matrix, of which the lower triangle is read."""
        e = self.elementwise
        if len(a.shape) != 2 or dtype_of(a) != np.float64:
            raise UnsupportedError("a system of another kind in machine code")
        e.check_shape(a.shape[:1], a.shape[1:])
        made = self.triangle(np.tril, a)
        blas.factor_positive(self.code, made.address, a.shape[0])
        return made

    def triangular(self, a: Any, y: Any, **options: Any) -> Array:
        """Return the solution of a triangular system; leave if something is not finite."""
        e, code = self.elementwise, self.code
        given = {name: x.x if isinstance(x, Known) else None for name, x in options.items()}
        lower, trans = given.pop("lower", False), given.pop("trans", 0)
        if given or type(lower) is not bool or trans not in (0, 1, "N", "T"):
            raise UnsupportedError("this triangular system in machine code")
        kinds = {dtype_of(x) for x in (a, y)}
        if kinds != {np.dtype(float)} or len(a.shape) != 2 or len(y.shape) > 2:
            raise UnsupportedError("a system of another kind in machine code")
        e.check_shape(a.shape[:1], a.shape[1:])
        e.check_shape(a.shape[:1], y.shape[:1])
        copy = e.computed(a, memory.SCRATCH)
        is_matrix = len(y.shape) == 2
        store = memory.SCRATCH if is_matrix else self.store_of_new()
        made = e.computed(e.transposed(y) if is_matrix else y, store)
        for x in (copy, made):
            total = self.scalars.library("fabs", [e.total(x).value], "d")
            is_finite = code.b.fcmp_ordered("<", total, constant(TYPES["d"], math.inf))
            code.exit_if(code.b.not_(is_finite))
        m = y.shape[1] if is_matrix else code.whole(1)
        blas.solve_triangle(
            code, copy.address, made.address, a.shape[0], m, lower, trans in (1, "T")
        )
        return e.computed(e.transposed(made), self.store_of_new()) if is_matrix else made

    def spectrum(self, a: Any) -> Several:
        """Return the eigenvalues and eigenvectors of a symmetric matrix."""
        e, dtype = self.elementwise, np.dtype(float)
        if dtype_of(a) != dtype:
            raise UnsupportedError("eigenvalues of another kind in machine code")
        a, n, _ = self._of_matrix(a, dtype)
        w = e.made(dtype, [n], self.store_of_new())
        blas.spectrum(
            self.code, a.address, w.address, n, lambda k: e.made(dtype, [k], memory.SCRATCH).address
        )
        return Several([w, e.computed(e.transposed(a), self.store_of_new())])

    def inverse(self, a: Any) -> Array:
        """Return the inverse of a matrix."""
        size = Number(Kind(frozenset([int])), "i", a.shape[0])
        return self.solved(a, self._maker(np.eye, [size], {}))

    def determinant(self, a: Any) -> Number:
        """Return the determinant of a matrix, by way of its logarithm, as NumPy does."""
        sign, size = self.log_of_determinant(a).parts
        value = self.b.fmul(sign.value, self.scalars.library("exp", [size.value], "d"))
        return self.scalars.plain("d", value)

    def log_of_determinant(self, a: Any) -> Several:
        """Return the sign of the determinant of a matrix, and the logarithm of its size."""
        code, b, s = self.code, self.b, self.scalars
        if dtype_of(a) != np.float64:
            raise UnsupportedError("a determinant of another kind in machine code")
        a, n, pivots = self._of_matrix(a, dtype_of(a))
        blas.factor(code, a.address, n, pivots)
        kind = TYPES["d"]
        sign, size = code.variable(kind), code.variable(kind)
        b.store(ir.Constant(kind, 1.0), sign)
        b.store(ir.Constant(kind, 0.0), size)
        with code.counted(n) as i:
            place = code.at(a.address, b.mul(i, b.add(*a.strides)))
            x = b.load(place, typ=kind)
            pivot = b.sext(b.load(code.at(pivots, b.mul(i, code.whole(4))), typ=I32), I64)
            is_swapped = b.not_(code.equal(pivot, b.add(i, code.whole(1))))
            turns = b.xor(is_swapped, b.fcmp_ordered("<", x, ir.Constant(kind, 0.0)))
            old = b.load(sign, typ=kind)
            b.store(b.select(turns, b.fneg(old), old), sign)
            log = s.library("log", [s.library("fabs", [x], "d")], "d")
            b.store(b.fadd(b.load(size, typ=kind), log), size)
        return Several([s.plain("d", b.load(place, typ=kind)) for place in (sign, size)])

    # -- triangles ---------------------------------------------------------------------------------

    def triangle(self, f: Any, x: Any, k: Any = None) -> Array:
        """Return the part of a matrix above or below a diagonal."""
        e, code, b = self.elementwise, self.code, self.b
        if len(x.shape) != 2:
            raise UnsupportedError("a triangle of a stack")
        x = e.at_hand(x)
        first = code.whole(0) if k is None else self.scalars.converted(self.scalars.number(k), "i")
        made = e.made(x.dtype, x.shape, self.store_of_new())
        zero = self.scalars.known(0.0)
        for_part = {np.triu: 1, np.tril: -1}[f]
        with code.counted(x.shape[0]) as i, code.counted(x.shape[1]) as j:
            at = [code.at(a.address, b.add(b.mul(i, a.strides[0]), b.mul(j, a.strides[1])))
                  for a in (x, made)]  # fmt: skip
            distance = b.sub(b.sub(j, i), first)
            inside = b.icmp_signed(">=" if for_part > 0 else "<=", distance, code.whole(0))
            found = e.read(x.dtype, at[0])
            other = self.scalars.converted(zero, found.letter)
            found.value = b.select(inside, found.value, other)
            e.put(made.dtype, found, at[1])
        return made

    # -- chosen elements ---------------------------------------------------------------------------

    def _where(self, mask: Array, arrays: list[Array], body: Any = None) -> Any:
        """Run a body for the elements where a mask holds; return how many there are.

        The body is given their addresses, and the number of the element among them.
        """
        code, b, e = self.code, self.b, self.elementwise
        count = code.variable(I64)
        b.store(code.whole(0), count)

        def at_each(at: list) -> None:
            with code.branch(e.read(mask.dtype, at[0]).value):
                k = b.load(count, typ=I64)
                if body is not None:
                    body(at[1:], k)
                b.store(b.add(k, code.whole(1)), count)

        e.each(mask.shape, [mask, *arrays], at_each, alone=False)
        return b.load(count, typ=I64)

    def places_where(self, mask: Array) -> Array:
        """Return the places at which a mask, a vector, holds."""
        e, b = self.elementwise, self.b
        made = e.made(_PLACES, [self._where(mask, [])], memory.SCRATCH)
        step = mask.strides[0]
        self.code.exit_if(self.code.equal(step, self.code.whole(0)))  # a mask that was broadcast

        def body(at: list, k: Any) -> None:
            passed = b.sub(b.ptrtoint(at[0], I64), b.ptrtoint(mask.address, I64))
            place = Number(_INT, "i", b.sdiv(passed, step))
            e.put(_PLACES, place, self.code.at(made.address, b.mul(k, made.strides[0])))

        self._where(mask, [mask], body)
        return made

    def chosen(self, base: Array, mask: Array) -> Array:
        """Return the elements where a mask holds."""
        e, code, b = self.elementwise, self.code, self.b
        e.check_shape(mask.shape, base.shape)
        made = e.made(base.dtype, [self._where(mask, [])], self.store_of_new())

        def body(at: list, k: Any) -> None:
            e.put(made.dtype, e.read(base.dtype, at[0]),
                  code.at(made.address, b.mul(k, made.strides[0])))  # fmt: skip

        self._where(mask, [base], body)
        return made

    def put_chosen(self, base: Array, mask: Array, x: Any, f: Any = None) -> None:
        """Write where a mask holds: what is given, or what a function makes of it."""
        e, code, b = self.elementwise, self.code, self.b
        e.check_shape(mask.shape, base.shape)
        x = self.scalars.number(x)
        if isinstance(x, (Array, Tree)):
            x = x if isinstance(x, Array) and x.group is not base.group else e.computed(
                x, memory.SCRATCH)  # fmt: skip
            if len(x.shape) != 1:
                raise UnsupportedError("a matrix written where a mask holds")
            e.check_shape(x.shape, [self._where(mask, [])])
        elif not isinstance(x, Number):
            raise UnsupportedError("a write of what is no number or array")

        def body(at: list, k: Any) -> None:
            if isinstance(x, Number):
                found = x
            else:
                found = e.read(x.dtype, code.at(x.address, b.mul(k, x.strides[0])))
            if f is not None:
                old = e.read(base.dtype, at[0])
                found = self.scalars.function(f, [old, found], base.kind)
            e.put(base.dtype, found, at[0])

        self._where(mask, [base], body)
