"""Functions of the C library and the processor, and vectorizable replacements for loops."""

from __future__ import annotations

import functools
import operator
from typing import Any

from llvmlite import ir

from autodiff import vector_functions
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import special
from autodiff.structured.native.llvm.bit_operations import BIT_OPERATIONS
from autodiff.structured.native.llvm.function_builder import TYPES, has_fma
from autodiff.structured.native.lowered_values import Number
from autodiff.structured.native.numbers.inlining import Inlining
from chainrules_core.interpreter.parsing import tree_of

_LIBRARY = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "pow": "pow",
}  # fmt: skip
_INTRINSICS = {"sqrt", "floor", "ceil", "trunc", "rint", "fabs", "copysign"}
_IN_LIBRARY = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "exp", "expm1", "log", "log1p", "log2", "log10", "cbrt", "pow", "erf", "erfc",
    "fmod",
}  # fmt: skip
_IN_SCIPY = {"gamma": "gamma", "lgamma": "gammaln"}
"""Functions of ``math`` → those of `scipy.special` that compute the same."""
_WAVES = {"sin", "cos"}
# Function that `vector_functions` replaces in loops → condition under which it does not hold.
_IN_VECTORS = {"exp": "", "expm1": "", "tanh": "", "log": "x <= 0.0", "log1p": "x <= -1.0",
               **dict.fromkeys(_WAVES, f"abs(x) > {vector_functions.FAR}")}  # fmt: skip
INTEGER_BIT_OPERATORS = {operator.and_: "and_", operator.or_: "or_", operator.rshift: "ashr"}
"""Operators on the bits of integers, which `vector_functions` uses."""


class MathLibrary(Inlining):
    """Emitter of functions of the C library and their replacements.

    Attributes
    ----------
    is_vectorized : bool
        Whether the code is in a loop over the elements of arrays, which LLVM vectorizes.
    outside : llvmlite value, optional
        The variable that records whether an argument in this loop was outside the domain of a
        replacement. The emitter of the loop exits behind it if so.
    flags : tuple of str
        Fast-math flags of arithmetic.
    """

    is_vectorized = False
    outside: Any = None
    flags: tuple[str, ...] = ()

    @staticmethod
    def has(name: str) -> bool:
        """Whether there is a function of this name."""
        return _LIBRARY.get(name, name) in _INTRINSICS | _IN_LIBRARY

    def power(self, values: list[Any], letter: str) -> Any:
        """Return a power of real numbers, as products if the exponent is a small constant."""
        constant = values[1].constant if isinstance(values[1], ir.Constant) else None
        if constant == 2.0:
            return self.b.fmul(values[0], values[0])
        if constant == 1.0:
            return values[0]
        if self.is_vectorized and constant is not None and 2.0 * abs(constant) in range(1, 9):
            return self._power_of_halves(values[0], int(2.0 * constant), letter)
        return self.library("pow", values, letter)

    def _power_of_halves(self, x: Any, n: int, letter: str) -> Any:
        """Return x to the power of n / 2 as a product of x and its square root."""
        factors = [x] * (abs(n) // 2)
        if n == 1:
            return self.library("sqrt", [x], letter)
        if n % 2:  # adding 0.0 makes a negative zero positive
            x = self.b.fadd(x, ir.Constant(TYPES[letter], 0.0))
            factors = [x] * (abs(n) // 2) + [self.library("sqrt", [x], letter)]
        made = functools.reduce(self.b.fmul, factors)
        return made if n > 0 else self.b.fdiv(ir.Constant(TYPES[letter], 1.0), made)

    def library(self, name: str, values: list[Any], letter: str) -> Any:
        """Call a function of the C library, its vectorizable replacement, or an intrinsic."""
        code, kind = self.code, TYPES[letter]
        if name in _INTRINSICS:
            full = f"llvm.{name}.{'f64' if letter == 'd' else 'f32'}"
            return code.call(full, kind, values)
        name = _LIBRARY.get(name, name)
        if letter == "d" and name in _IN_SCIPY and special.has(_IN_SCIPY[name], 1):
            return special.called(code, _IN_SCIPY[name], values)
        if name not in _IN_LIBRARY:
            raise UnsupportedError(f"{name} in machine code")
        doubles = [self.b.fpext(v, TYPES["d"]) for v in values] if letter == "s" else values
        if self.is_vectorized and name in _IN_VECTORS and (name not in _WAVES or has_fma()):
            found = self.vectorizable(name, doubles[0])
        else:
            found = code.call(name, TYPES["d"], doubles)
        return self.b.fptrunc(found, kind) if letter == "s" else found

    def special(self, f: Any, args: list[Number], letter: str) -> Any:
        """Call a ufunc of `scipy.special` for float64."""
        name = f.__name__
        takes_integers = any(set("bhilqpBHILQP") & set(t.partition("->")[0]) for t in f.types)
        held = "d" if takes_integers else "di"
        if (
            letter != "d"
            or any(a.letter not in held for a in args)
            or not special.has(name, len(args))
        ):
            raise UnsupportedError(f"{name} in machine code")
        return special.called(self.code, name, [self.converted(a, "d") for a in args])

    def vectorizable(self, name: str, x: Any, notices_errors: bool = True) -> Any:
        """Inline the replacement in `vector_functions`, which LLVM can vectorize.

        Record whether the argument is outside of its domain, or `notices_errors` is false and the
        replacement gives the right Inf or NaN there.
        """
        condition = _IN_VECTORS[name]
        if condition and (notices_errors or name in _WAVES):
            test = tree_of(condition, mode="eval").body
            self.record_outside(self.evaluated(test, {"x": self.plain("d", x)}, {}, "b", 0).value)
        # log1p compensates the rounding error of 1 + x: no fused multiply-add there.
        before, self.flags = self.flags, ("contract",) if name != "log1p" else ()
        made = self.inlined(getattr(vector_functions, name), [self.plain("d", x)], "d", 0)
        self.flags = before
        return made.value

    def record_outside(self, test: Any) -> None:
        """Record that an argument is outside the domain of a replacement if a test holds."""
        if self.outside is None:
            self.outside = self.code.variable(TYPES["b"])
            self.code.head.store(ir.Constant(TYPES["b"], 0), self.outside)
        found = self.b.or_(self.b.load(self.outside, typ=TYPES["b"]), test)
        self.b.store(found, self.outside)

    def of_bits(self, f: Any, args: list[Any]) -> Number:
        """Emit a bit operation of `vector_functions`."""
        made = BIT_OPERATIONS[f](self.b, *[self.converted(a, a.letter) for a in args])
        if f is vector_functions.bits_of:
            return Number(Kind(frozenset([int])), "i", made)
        return self.plain("d", made)
