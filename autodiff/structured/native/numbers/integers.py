"""Functions of integers: the code exits if a result does not fit into 64 bits."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import iteration_count
from autodiff.structured.native.llvm.function_builder import I64, TYPES
from autodiff.structured.native.numbers.inlining import Inlining

_OF_FLOATS: dict[Any, str] = {
    int: "", math.trunc: "", math.floor: "floor", math.ceil: "ceil", round: "rint",
}  # fmt: skip
"""Conversion of a float to an integer → intrinsic that rounds it, before it is truncated."""
_EXTREMA = {min: min, max: max, np.minimum: min, np.maximum: max}


class Integers(Inlining):
    """Emitter of functions of integers."""

    raises: bool

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
        if f in (operator.neg, operator.pos):
            return args[0] if f is operator.pos else b.sub(code.whole(0), args[0])
        if f in (operator.floordiv, operator.mod):
            a, c = args
            # Exit for divisors 0 and -1: -2**63 // -1 does not fit into 64 bits.
            code.exit_if(b.icmp_unsigned("<", b.add(c, code.whole(1)), code.whole(2)))
            q, r = b.sdiv(a, c), b.srem(a, c)
            down = b.and_(
                code.less(b.xor(r, c), code.whole(0)), b.not_(code.equal(r, code.whole(0)))
            )
            if f is operator.mod:
                return b.select(down, b.add(r, c), r)
            return b.select(down, b.sub(q, code.whole(1)), q)
        if f is abs:
            return b.select(
                code.less(args[0], code.whole(0)), b.sub(code.whole(0), args[0]), args[0]
            )
        if f in _EXTREMA:
            return functools.reduce(code.lesser if _EXTREMA[f] is min else code.greater, args)
        if f is iteration_count:
            start, stop, step = [*([code.whole(0)] * (len(args) < 2)), *args, code.whole(1)][:3]
            sign = b.select(code.less(step, code.whole(0)), code.whole(-1), code.whole(1))
            last = b.sub(b.add(b.sub(stop, start), step), sign)
            count = last if len(args) < 3 else self.of_integers(operator.floordiv, [last, step])
            return self.of_integers(max, [count, code.whole(0)])
        if f is operator.pow:
            return self._whole_power(*args)
        if f in (operator.and_, operator.or_, operator.xor):
            return {operator.and_: b.and_, operator.or_: b.or_, operator.xor: b.xor}[f](*args)
        if f in (operator.lshift, operator.rshift):
            return self._shifted(f, *args)
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

    def _shifted(self, f: Any, x: Any, n: Any) -> Any:
        """Shift the bits of an integer; exit on an error or an overflow."""
        b, code = self.b, self.code
        code.exit_if(b.icmp_unsigned("<=", code.whole(62), n))
        if f is operator.rshift:
            return b.ashr(x, n)
        made = b.shl(x, n)
        code.exit_if(b.not_(code.equal(b.ashr(made, n), x)))
        return made

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
