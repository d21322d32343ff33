"""Literals, comparisons of numbers, and the tags of numbers whose class is found at run time."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autodiff.python_operators import COMPARISONS
from autodiff.structured.form.kinds import UnsupportedError, kind_of
from autodiff.structured.native.llvm.function_builder import (
    PARTS,
    TYPES,
    FunctionBuilder,
    constant,
)
from autodiff.structured.native.lowered_values import (
    COMPLEX_TAG,
    SYMBOLS,
    TAGS,
    Number,
    letter_of,
    may_be_float32,
)
from autodiff.structured.native.numbers.complex_numbers import ComplexNumbers

SIGNS = {o.function: o.sign for o in COMPARISONS.values()}
"""Function of a comparison → its sign in source."""

_FIT_SINGLE = frozenset({int, np.int8, np.int16, np.uint8, np.uint16})
"""Integers that are compared with a float32 in single precision."""


class Comparisons(ComplexNumbers):
    """Emitter of literals and comparisons."""

    def known(self, x: Any) -> Number:
        """Return a literal as a number or symbol."""
        kind = kind_of(x, known=True).general()
        letter = letter_of(kind)
        if letter == "t":
            return Number(kind, letter, self.code.whole(SYMBOLS.number(x)))
        if letter == "i" and not -(2**62) < int(x) < 2**62:
            raise UnsupportedError("a large integer")
        made = int(x) if letter in "ib" else complex(x) if letter in PARTS else float(x)
        return Number(kind, letter, constant(TYPES[letter], made))

    def compared(self, sign: str, a: Number, c: Number) -> Any:
        """Compare two numbers, in the precision that NumPy and Python use."""
        letters = {a.letter, c.letter}
        if "t" in letters:
            if a.kind.classes != c.kind.classes or sign not in ("==", "!="):
                raise UnsupportedError("an order of texts, or a text equal to something else")
            return self.b.icmp_signed(sign, a.value, c.value)
        if not letters.isdisjoint(PARTS):
            return self._complex_compared(sign, a, c)
        if letters <= {"i", "b"}:
            return self.b.icmp_signed(sign, self.converted(a, "i"), self.converted(c, "i"))
        # A Python float is weak: compared with a float32, it is rounded to single precision.
        weak = [x for x in (a, c) if x.letter == "d" and x.kind.classes <= {int, float, np.float32}]
        is_wide = any(x.letter == "i" and not x.kind.classes <= _FIT_SINGLE for x in (a, c))
        is_double = is_wide or "s" not in letters or ("d" in letters and not weak)
        letter = "d" if is_double else "s"
        found = self._by_sign(sign, a, c, letter)
        either = [x for x in weak if may_be_float32(x.kind)]
        if letter == "s" or not either or len(weak) < sum(x.letter == "d" for x in (a, c)):
            return found
        tags = [self.code.equal(x.tag, self.code.whole(TAGS[np.float32])) for x in either]
        is_single = functools.reduce(self.b.or_, tags)
        return self.b.select(is_single, self._by_sign(sign, a, c, "s"), found)

    def _complex_compared(self, sign: str, a: Number, c: Number) -> Any:
        weak = [x.letter in "cs" or x.kind.classes <= {int, float, complex} for x in (a, c)]
        letter = "c" if all(weak) and "c" in (a.letter, c.letter) else "z"
        x, y = self.converted(a, letter), self.converted(c, letter)
        if sign in ("==", "!="):
            are_equal = self.are_equal(x, y)
            return are_equal if sign == "==" else self.b.not_(are_equal)
        for number in (a, c):  # Python's complex numbers have no order
            if number.kind.classes == {complex}:
                raise UnsupportedError("an order of complex numbers in machine code")
            if number.tag is not None:
                is_pythons = self.code.equal(number.tag, self.code.whole(TAGS[complex]))
                self.code.exit_if(is_pythons)
        return self.compared_in_order(sign, x, y)

    def _by_sign(self, sign: str, a: Number, c: Number, letter: str) -> Any:
        x, y = self.converted(a, letter), self.converted(c, letter)
        if sign == "!=":
            return self.b.fcmp_unordered("!=", x, y)
        return self.b.fcmp_ordered(sign, x, y)


def tag_of(code: FunctionBuilder, x: Number) -> Any:
    """Return the tag of the class of a number: see `lowered_values.TAGS`."""
    if x.tag is not None:
        return x.tag
    (cls,) = x.kind.classes
    return code.whole(TAGS.get(cls, 2))


def common_tag(code: FunctionBuilder, a: Any, b: Any) -> Any:
    """Return the tag of a sum: complex if an operand is complex, NumPy's if an operand is."""
    parts, flag = code.whole(COMPLEX_TAG - 1), code.whole(COMPLEX_TAG)
    x, y = (code.b.and_(tag, parts) for tag in (a, b))
    return code.b.or_(code.greater(x, y), code.b.and_(code.b.or_(a, b), flag))
