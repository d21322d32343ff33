"""Functions of complex numbers, as operations on their parts.

Infinities and NaNs are those of NumPy: a real operand of a product or quotient has the imaginary
part 0, and other functions call those of the C library that NumPy calls. In loops over the elements
of arrays, some are replaced by code that LLVM can vectorize. It is right for finite numbers; the
loop records if one was not, and the function exits behind the loop.
"""

from __future__ import annotations

import cmath
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.native.llvm.function_builder import I64, PARTS, TYPES, constant
from autodiff.structured.native.lowered_values import Number
from autodiff.structured.native.numbers.math_library import MathLibrary

_IN_LIBRARY = {
    "arccos": "cacos", "arccosh": "cacosh", "arcsin": "casin", "arcsinh": "casinh",
    "arctan": "catan", "arctanh": "catanh",
    **{name: f"c{name}" for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
       "tanh", "acos", "acosh", "asin", "asinh", "atan", "atanh")},
}  # fmt: skip
_MOST_FACTORS = 100
"""Powers with integer exponents below this are products in NumPy; in Python also that of 100."""
_CONVERSIONS = frozenset({complex, np.complex128, np.complex64, operator.pos, np.positive})


def is_complex(x: Number) -> bool:
    """Whether a number is represented as a complex one."""
    return x.letter in PARTS


class ComplexNumbers(MathLibrary):
    """Emitter of functions of complex numbers.

    Attributes
    ----------
    raises : bool
        Whether this is the forward function. In the sweep, a real factor or divisor has no
        imaginary part, so that it never gives 0 times Inf.
    """

    raises: bool

    # Methods that subclasses define.
    known: Callable[[Any], Number]

    def of_complex(self, f: Any, args: list[Number], letter: str) -> Number | None:
        """Apply a function with a complex argument or a complex result.

        Parameters
        ----------
        f : callable
            The function.
        args : list of Number
            The arguments.
        letter : str
            The representation of the result, or of its parts; "b" if any will do.

        Returns
        -------
        Number or None
            The result; None if the function is not known here.
        """
        b, x = self.b, args[0]
        name = getattr(f, "__name__", "")
        if name in ("real", "imag"):
            return self.part_of(x, name)
        if name in ("abs", "absolute") and is_complex(x):
            return self.plain(PARTS[x.letter], self._size(x))
        if name in ("angle", "phase") and is_complex(x):
            return self.plain(PARTS[x.letter], self._angle(x, name == "phase"))
        held = letter if letter in PARTS else next((a.letter for a in args if is_complex(a)), "z")
        if name in ("conj", "conjugate"):
            return self.conjugate(x)
        if f in _CONVERSIONS and len(args) == 1:
            return self.plain(held, self.converted(x, held))
        if f is cmath.rect:
            size, phase = (self.converted(a, "d") for a in args)
            waves = (self.library(name, [phase], "d") for name in ("cos", "sin"))
            return self.plain(held, b.pair(*[b.fmul(size, wave) for wave in waves]))
        if f is complex:
            return self.plain(held, self._made_of(*args))
        if f is operator.neg:
            return self.plain(held, b.fneg(self.converted(x, held)))
        arithmetic: Callable[[Number, Number, str], Any] | None = {
            operator.add: self._sum, operator.sub: self._difference, operator.mul: self._times,
            operator.truediv: self._quotient, operator.pow: self._power,
        }.get(f)  # fmt: skip
        if arithmetic is not None:
            return self.plain(held, arithmetic(x, args[1], held))
        if name not in _IN_LIBRARY:
            return None
        return self.plain(held, self._by_library(name, self.converted(x, held), held))

    # -- parts -------------------------------------------------------------------------------------

    def part_of(self, x: Number, name: str) -> Number:
        """Return the real or imaginary part of a number."""
        if is_complex(x):
            return self.plain(PARTS[x.letter], self.b.parts(x.value)[name == "imag"])
        if name == "real":
            return x
        return Number(x.kind, x.letter, self.converted(self.known(0), x.letter), x.tag)

    def _made_of(self, x: Number, y: Number) -> Any:
        """Return ``complex(x, y)``, which is ``x + 1j * y`` for complex arguments."""
        b = self.b
        (p, q), (r, s) = ([self.part_of(a, name) for name in ("real", "imag")] for a in (x, y))
        re, im = (self.converted(a, "d") for a in (p, r))
        if is_complex(y):
            re = b.fsub(re, s.value)
        return b.pair(re, b.fadd(im, q.value) if is_complex(x) else im)

    def conjugate(self, x: Number) -> Number:
        """Return the conjugate of a number."""
        if not is_complex(x):
            return x
        re, im = self.b.parts(x.value)
        return Number(x.kind, x.letter, self.b.pair(re, self.b.fneg(im)), x.tag)

    def _size(self, x: Number) -> Any:
        """Return the absolute value of a complex number, without overflow of the squares.

        In vectorized loops, it is m √(1 + (n/m)²), where m is the larger and n the smaller part.
        """
        b, letter = self.b, PARTS[x.letter]
        parts = [self.library("fabs", [p], letter) for p in b.parts(x.value)]
        if not self.is_vectorized:
            return self.library("hypot", parts, letter)
        re, im = parts
        kind, is_less = TYPES[letter], b.fcmp_ordered("<", re, im)
        least, most = b.select(is_less, re, im), b.select(is_less, im, re)
        one = ir.Constant(kind, 1.0)
        is_zero = b.fcmp_ordered("==", most, ir.Constant(kind, 0.0))
        # Not 1: LLVM would divide by `most` first, which raises a flag at 0, and then choose.
        divisor = b.select(is_zero, ir.Constant(kind, 2.0), most)
        ratio = b.fdiv(least, divisor)
        root = self.library("sqrt", [b.fadd(one, b.fmul(ratio, ratio))], letter)
        made = b.fmul(most, root)
        infinity = ir.Constant(kind, float("inf"))
        for part in parts:
            made = b.select(b.fcmp_ordered("==", part, infinity), infinity, made)
        return made

    def _angle(self, x: Number, may_raise: bool) -> Any:
        """Return the angle of a complex number; exit where `cmath.phase` raises on underflow."""
        b, letter = self.b, PARTS[x.letter]
        re, im = b.parts(x.value)
        made = self.library("atan2", [im, re], letter)
        if may_raise and self.raises:
            tiny = ir.Constant(made.type, sys.float_info.min)
            is_tiny = b.fcmp_ordered("<", self.library("fabs", [made], letter), tiny)
            is_real = b.fcmp_ordered("==", im, ir.Constant(im.type, 0.0))
            self.code.exit_if(b.and_(is_tiny, b.not_(is_real)))
        return made

    # -- arithmetic --------------------------------------------------------------------------------

    def _are_mixed(self, x: Number, y: Number) -> bool:
        """Whether one operand is real and has no imaginary part, not even 0.

        That holds in the sweep, and for Python's numbers since Python 3.14.
        """
        are_pythons = _is_pythons(x) and _is_pythons(y)
        is_mixed_mode = not self.raises or (are_pythons and sys.version_info >= (3, 14))
        return is_complex(x) != is_complex(y) and is_mixed_mode

    def _sum(self, x: Number, y: Number, letter: str) -> Any:
        b = self.b
        if not self._are_mixed(x, y):
            return b.fadd(self.converted(x, letter), self.converted(y, letter))
        z, number = (x, y) if is_complex(x) else (y, x)
        re, im = b.parts(self.converted(z, letter))
        return b.pair(b.fadd(re, self.converted(number, PARTS[letter])), im)

    def _difference(self, x: Number, y: Number, letter: str) -> Any:
        b = self.b
        if not self._are_mixed(x, y):
            return b.fsub(self.converted(x, letter), self.converted(y, letter))
        held = letter if is_complex(y) else PARTS[letter]
        return self._sum(x, self.plain(held, b.fneg(self.converted(y, held))), letter)

    def _times(self, x: Number, y: Number, letter: str) -> Any:
        b = self.b
        if self._are_mixed(x, y):
            number, other = (y, x) if is_complex(x) else (x, y)
            factor = self.converted(number, PARTS[letter])
            return b.pair(*[b.fmul(factor, p) for p in b.parts(self.converted(other, letter))])
        (p, q), (r, s) = (b.parts(self.converted(a, letter)) for a in (x, y))
        return self._product(p, q, r, s)

    def _product(self, p: Any, q: Any, r: Any, s: Any) -> Any:
        """Return (p + iq)(r + is)."""
        b = self.b
        return b.pair(b.fsub(b.fmul(p, r), b.fmul(q, s)), b.fadd(b.fmul(p, s), b.fmul(q, r)))

    def _quotient(self, x: Number, y: Number, letter: str) -> Any:
        """Divide by Smith's method, as NumPy does: it overflows only if the quotient is large."""
        b, half = self.b, PARTS[letter]
        p, q = b.parts(self.converted(x, letter))
        if not is_complex(y) and self._are_mixed(x, y):
            divisor = self.converted(y, half)
            return b.pair(b.fdiv(p, divisor), b.fdiv(q, divisor))
        r, s = b.parts(self.converted(y, letter))
        sizes = [self.library("fabs", [a], half) for a in (r, s)]
        is_steep = b.fcmp_ordered("<", *sizes)  # the imaginary part is the larger one
        most, least = b.select(is_steep, s, r), b.select(is_steep, r, s)
        first, second = b.select(is_steep, q, p), b.select(is_steep, p, q)
        zero, one = ir.Constant(TYPES[half], 0.0), ir.Constant(TYPES[half], 1.0)
        is_zero = b.fcmp_ordered("==", most, zero)
        ratio = b.select(is_zero, zero, b.fdiv(least, b.select(is_zero, one, most)))
        scale = b.fdiv(one, b.fadd(most, b.fmul(least, ratio)))
        re = b.fmul(b.fadd(first, b.fmul(second, ratio)), scale)
        scaled = b.fmul(first, ratio)
        both = b.select(is_steep, scaled, second), b.select(is_steep, second, scaled)
        return b.pair(re, b.fmul(b.fsub(*both), scale))

    # -- powers and functions ----------------------------------------------------------------------

    def _power(self, x: Number, y: Number, letter: str) -> Any:
        """Return a power: a product if the exponent is a small integer."""
        b, code = self.b, self.code
        n, most = integer_exponent(y), _MOST_FACTORS + _is_pythons(x)
        if n is not None and abs(n) < most:
            return self._known_power(x, n, letter)
        z, power = (self.converted(a, letter) for a in (x, y))
        if is_complex(y):
            return self._general_power(x, z, power, letter)
        place = code.variable(z.type)
        kind = TYPES[PARTS[letter]]
        exponent = b.parts(power)[0]
        size = self.library("fabs", [exponent], PARTS[letter])
        is_few = b.fcmp_ordered("<", size, ir.Constant(kind, float(most)))
        whole = b.fcmp_ordered("==", self.library("floor", [size], PARTS[letter]), size)
        with code.branches(b.and_(is_few, whole)) as (then, otherwise):
            with then:
                made = self._product_of(x, z, b.fptosi(size, I64))
                b.store(made, place)
                with code.branch(b.fcmp_ordered("<", exponent, ir.Constant(kind, 0.0))):
                    one, made = self.known(1.0), self.plain(letter, made)
                    b.store(self._quotient(one, made, letter), place)
            with otherwise:
                b.store(self._general_power(x, z, power, letter), place)
        return b.load(place, typ=z.type)

    def _general_power(self, x: Number, z: Any, power: Any, letter: str) -> Any:
        """Return a power of z, the value of x: by the C library as NumPy, in polar form as Python.

        Both have special cases for powers of zero: exit there.
        """
        b = self.b
        if self.raises:
            self.code.exit_if(self.are_equal(z, constant(z.type, 0.0)))
        if not _is_pythons(x):
            return self._call("cpow", [*b.parts(z), *b.parts(power)], letter)
        (re, im), (p, q) = b.parts(z), b.parts(power)
        size, angle = self.library("hypot", [re, im], "d"), self.library("atan2", [im, re], "d")
        decay = self.library("exp", [b.fmul(angle, q)], "d")
        length = b.fdiv(self.library("pow", [size, p], "d"), decay)
        phase = b.fmul(angle, p)
        is_real = b.fcmp_ordered("==", q, ir.Constant(q.type, 0.0))
        more = b.fadd(phase, b.fmul(q, self.library("log", [size], "d")))
        phase = b.select(is_real, phase, more)
        return b.pair(*[b.fmul(length, self.library(f, [phase], "d")) for f in ("cos", "sin")])

    def _is_alone(self, x: Number, n: int) -> bool:
        """Whether a power is a product of its n factors alone, not of 1 and these factors.

        That changes the signs of zeros. Python always starts with 1, NumPy from four factors on.
        """
        return n in (1, 2, 3) and not _is_pythons(x)

    def _product_of(self, x: Number, z: Any, n: Any) -> Any:
        """Return the product of n factors z, the value of x, by repeated squaring."""
        b, code, held = self.b, self.code, z.type
        most = max([k for k in range(5) if self._is_alone(x, k)], default=0)
        made, square, left = map(code.stored, (constant(held, 1.0), z, n))
        is_begun = code.stored(code.less(code.whole(most), n))
        with code.endless():
            n, factor = b.load(left, typ=I64), b.load(square, typ=held)
            with code.branch(b.icmp_signed("!=", b.and_(n, code.whole(1)), code.whole(0))):
                product = self._product(*b.parts(b.load(made, typ=held)), *b.parts(factor))
                b.store(b.select(b.load(is_begun, typ=TYPES["b"]), product, factor), made)
                b.store(ir.Constant(TYPES["b"], 1), is_begun)
            rest = b.ashr(n, code.whole(1))
            b.store(rest, left)
            code.leave_if(code.equal(rest, code.whole(0)))
            b.store(self._product(*b.parts(factor), *b.parts(factor)), square)
        return b.load(made, typ=held)

    def _known_power(self, x: Number, n: int, letter: str) -> Any:
        """Return a power with an exponent that is known: the squarings are unrolled."""
        b, one = self.b, self.known(1.0)
        is_alone = self._is_alone(x, n) or (n and not self.raises)
        made = None if is_alone else self.converted(one, letter)
        square, left = self.converted(x, letter), abs(n)
        while left:
            if left & 1:
                both = None if made is None else (*b.parts(made), *b.parts(square))
                made = square if both is None else self._product(*both)
            left >>= 1
            square = self._product(*b.parts(square), *b.parts(square)) if left else square
        assert made is not None
        return made if n >= 0 else self._quotient(one, self.plain(letter, made), letter)

    def are_equal(self, x: Any, y: Any) -> Any:
        """Whether two complex numbers are equal."""
        b = self.b
        both = [b.fcmp_ordered("==", p, q) for p, q in zip(b.parts(x), b.parts(y), strict=True)]
        return b.and_(*both)

    def compared_in_order(self, sign: str, x: Any, y: Any) -> Any:
        """Compare two complex numbers lexicographically; exit if a part is NaN."""
        b = self.b
        (p, q), (r, s) = b.parts(x), b.parts(y)
        for u, v in ((p, q), (r, s)):
            self.code.exit_if(b.fcmp_unordered("uno", u, v))
        is_first = b.fcmp_ordered(sign[0], p, r)
        return b.or_(is_first, b.and_(b.fcmp_ordered("==", p, r), b.fcmp_ordered(sign, q, s)))

    def _by_library(self, name: str, z: Any, letter: str) -> Any:
        b, half = self.b, PARTS[letter]
        if name != "exp" or not self.is_vectorized:
            return self._call(_IN_LIBRARY[name], list(b.parts(z)), letter)
        re, im = b.parts(z)
        zero = ir.Constant(TYPES[half], 0.0)
        for part in (re, im):
            self.record_outside(b.fcmp_unordered("!=", b.fsub(part, part), zero))
        size = self.library("exp", [re], half)
        return b.pair(*[b.fmul(size, self.library(f, [im], half)) for f in ("cos", "sin")])

    def _call(self, name: str, parts: list[Any], letter: str) -> Any:
        """Call a function of complex numbers of the C library."""
        if sys.platform == "win32":
            raise UnsupportedError("functions of complex numbers: Windows passes these otherwise")
        b = self.b
        doubles = [b.fpext(p, TYPES["d"]) for p in parts] if letter == "c" else parts
        found = self.code.call(name, TYPES["z"], doubles)
        if letter == "z":
            return found
        return b.pair(*[b.fptrunc(p, TYPES["s"]) for p in b.parts(found)])


def _is_pythons(x: Number) -> bool:
    """Whether a number is one of Python's own, not of NumPy's."""
    return x.kind.classes <= {int, float, complex}


def integer_exponent(x: Number) -> int | None:
    """Return the value of an exponent if it is an integer constant."""
    if not isinstance(x.value, ir.Constant) or x.letter not in "id":
        return None
    return int(x.value.constant) if float(x.value.constant).is_integer() else None
