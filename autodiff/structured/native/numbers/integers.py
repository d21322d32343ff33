"""Functions of integers: the code exits if a result does not fit into 64 bits."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import iteration_count
from autodiff.structured.native.llvm.function_builder import I64, TYPES, element_of
from autodiff.structured.native.lowered_values import Number
from autodiff.structured.native.numbers.inlining import Inlining

_OF_FLOATS: dict[Any, str] = {
    int: "", math.trunc: "", math.floor: "floor", math.ceil: "ceil", round: "rint",
}  # fmt: skip
"""Conversion of a float to an integer → intrinsic that rounds it, before it is truncated."""
_OF_BITS = {operator.and_: "and_", operator.or_: "or_", operator.xor: "xor"}
_MOST_FACTORS = 64
"""More factors of a product overflow, or one of them is zero."""
_METHODS: dict[Any, str] = {
    iteration_count: "_length_of_range", operator.pow: "_whole_power", math.comb: "_combinations",
    np.clip: "_clipped",
}  # fmt: skip
_EXTREMA = {min: min, max: max, np.minimum: min, np.maximum: max}


class Integers(Inlining):
    """Emitter of functions of integers."""

    raises: bool
    converted: Callable[[Number, str], Any]  # a method that subclasses define

    def of_integers(self, f: Any, args: list[Any]) -> Any:
        """Emit a function of integers with an integer result."""
        b, code = self.b, self.code
        if f in (operator.add, operator.sub, operator.mul):
            a, c = args
            if isinstance(a, ir.Constant) and isinstance(c, ir.Constant):
                return code.whole(f(a.constant, c.constant))
            if not self.raises:
                return {operator.add: b.add, operator.sub: b.sub, operator.mul: b.mul}[f](a, c)
            method = {operator.add: b.sadd_with_overflow, operator.sub: b.ssub_with_overflow,
                      operator.mul: b.smul_with_overflow}[f]  # fmt: skip
            both = method(a, c)
            code.exit_if(b.extract_value(both, 1))
            return b.extract_value(both, 0)
        if f is operator.pos:
            return args[0]
        if f is operator.neg:
            return b.sub(code.whole(0), args[0])
        if f in (operator.floordiv, operator.mod):
            return self._divided(f, *args)
        if f in (abs, np.absolute):
            return b.select(
                code.less(args[0], code.whole(0)), b.sub(code.whole(0), args[0]), args[0]
            )
        if f in _EXTREMA:
            return functools.reduce(code.lesser if _EXTREMA[f] is min else code.greater, args)
        if f in _METHODS:
            return getattr(self, _METHODS[f])(*args)
        if f in _OF_BITS:
            return getattr(b, _OF_BITS[f])(*args)
        if f in (operator.lshift, operator.rshift):
            return self._shifted(f, *args)
        if f in (math.factorial, math.perm):
            return self._arrangements(args[0], args[-1])
        raise UnsupportedError(f"{f} of integers")

    def float_to_integer(self, f: Any, x: Any) -> Any:
        """Convert a float to an integer; exit if it does not fit into 64 bits."""
        if f not in _OF_FLOATS:
            raise UnsupportedError("a float in the place of an integer")
        double = TYPES["d"]
        if _OF_FLOATS[f]:
            x = self.code.call(f"llvm.{_OF_FLOATS[f]}.f64", double, [x])
        size = self.code.call("llvm.fabs.f64", double, [x])
        self.code.exit_if(self.b.fcmp_unordered(">=", size, ir.Constant(double, 2.0**62)))
        return self.b.fptosi(x, I64)

    def as_integers(self, dtype: np.dtype, args: list[Number]) -> list[Any]:
        """Convert arguments; exit if one of Python's integers does not fit: NumPy raises then."""
        values = [self.converted(a, "i") for a in args]
        for a, x in zip(args, values, strict=True):
            if int in a.kind.classes:
                self.check_fits(dtype, x)
        return values

    def check_fits(self, dtype: np.dtype, value: Any) -> None:
        """Exit unless an integer fits into a dtype, where NumPy would raise or wrap it around."""
        kind = element_of(dtype)[0]
        if kind is not I64:
            if not self.raises:
                raise UnsupportedError("integers of less than 64 bits in a sweep")
            held = self.widened(dtype, self.b.trunc(value, kind))
            self.code.exit_if(self.b.not_(self.code.equal(held, value)))

    def widened(self, dtype: np.dtype, value: Any) -> Any:
        """Return an integer of less than 64 bits as one of 64 bits."""
        return (self.b.sext if dtype.kind == "i" else self.b.zext)(value, I64)

    def _clipped(self, x: Any, *bounds: Any) -> Any:
        """Return the integer between two bounds that is nearest; the upper bound wins."""
        if len(bounds) != 2:
            raise UnsupportedError("np.clip with one bound")
        return self.code.lesser(self.code.greater(x, bounds[0]), bounds[1])

    def _shifted(self, f: Any, x: Any, n: Any) -> Any:
        """Shift the bits of an integer; exit on an error or an overflow."""
        b, code = self.b, self.code
        code.exit_if(b.icmp_unsigned("<=", code.whole(62), n))
        if f is operator.rshift:
            return b.ashr(x, n)
        made = b.shl(x, n)
        code.exit_if(b.not_(code.equal(b.ashr(made, n), x)))
        return made

    def _length_of_range(self, *bounds: Any) -> Any:
        """Return the length of a range; exit if its step is zero."""
        b, code = self.b, self.code
        zero, one = code.whole(0), code.whole(1)
        start, stop, *steps = (zero, *bounds) if len(bounds) == 1 else bounds
        span = b.sub(stop, start)
        if not steps:
            return code.greater(span, zero)
        (step,) = steps
        code.exit_if(code.equal(step, zero))
        is_down = code.less(step, zero)
        span, size = (b.select(is_down, b.sub(zero, x), x) for x in (span, step))
        count = b.sdiv(b.sub(b.add(span, size), one), size)
        return b.select(code.less(span, one), zero, count)

    def _divided(self, f: Any, a: Any, c: Any) -> Any:
        """Return a quotient, rounded down, or a remainder; exit for divisors 0 and -1.

        -2**63 // -1 does not fit into 64 bits.
        """
        b, code = self.b, self.code
        code.exit_if(b.icmp_unsigned("<", b.add(c, code.whole(1)), code.whole(2)))
        q, r = b.sdiv(a, c), b.srem(a, c)
        down = b.and_(code.less(b.xor(r, c), code.whole(0)), b.not_(code.equal(r, code.whole(0))))
        if f is operator.mod:
            return b.select(down, b.add(r, c), r)
        return b.select(down, b.sub(q, code.whole(1)), q)

    def _arrangements(self, n: Any, k: Any) -> Any:
        """Return the product of the `k` integers up to `n`; exit on an error or an overflow."""
        return self._falling(n, k, lambda product, i: product)

    def _combinations(self, n: Any, k: Any) -> Any:
        """Return the binomial coefficient; exit on an error, or if a product overflows."""
        b, code = self.b, self.code
        others = b.sub(n, k)
        is_fewer = b.and_(code.less(others, k), b.not_(code.less(others, code.whole(0))))
        return self._falling(
            n, b.select(is_fewer, others, k), lambda x, i: b.sdiv(x, b.add(i, code.whole(1)))
        )

    def _falling(self, n: Any, k: Any, after: Callable[[Any, Any], Any]) -> Any:
        """Multiply 1 by n, n - 1, …, `k` integers; `after` each product it may be divided."""
        b, code = self.b, self.code
        for x in (n, k):
            code.exit_if(code.less(x, code.whole(0)))
        place = code.stored(code.whole(1))
        code.exit_if(code.less(code.whole(_MOST_FACTORS), k))
        with code.counted(k) as i:
            both = b.smul_with_overflow(b.load(place, typ=I64), b.sub(n, i))
            code.exit_if(b.extract_value(both, 1))
            b.store(after(b.extract_value(both, 0), i), place)
        return b.load(place, typ=I64)

    def _whole_power(self, x: Any, n: Any) -> Any:
        """Return a power of an integer; exit on overflow, or if it is a float: n is negative."""
        b, code = self.b, self.code
        place = code.stored(code.whole(1))
        code.exit_if(b.icmp_unsigned("<=", code.whole(64), n))
        with code.counted(n):
            both = b.smul_with_overflow(b.load(place, typ=I64), x)
            code.exit_if(b.extract_value(both, 1))
            b.store(b.extract_value(both, 0), place)
        return b.load(place, typ=I64)
