"""Functions of numbers: arithmetic, and functions with an expression in `autodiff.functions`.

Machine code neither raises nor warns. Where Python or NumPy would, it exits, and the loop is run as
NumPy source instead.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff import python_operators
from autodiff.functions import facts_of
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.form.known_functions import function_of, is_of_special
from autodiff.structured.native.llvm.bit_operations import BIT_OPERATIONS
from autodiff.structured.native.llvm.function_builder import (
    I64,
    PARTS,
    TYPES,
    FunctionBuilder,
    constant,
    element_of,
)
from autodiff.structured.native.lowered_values import (
    COMPLEX_TAG,
    TAGS,
    Number,
    StaticValue,
    dtype_of_integers,
    letter_of,
    may_be_float32,
)
from autodiff.structured.native.numbers.comparisons import (
    SIGNS,
    Comparisons,
    common_tag,
    tag_of,
)
from autodiff.structured.native.numbers.complex_numbers import integer_exponent, is_complex
from autodiff.structured.native.numbers.floor_division import DIVISIONS
from autodiff.structured.native.numbers.inlining import MOST_DEPTH, dtype_of_number
from autodiff.structured.native.numbers.integers import Integers
from autodiff.structured.native.numbers.math_library import INTEGER_BIT_OPERATORS
from chainrules_core.authoring import is_foreign
from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import constant_product, strong_product
from chainrules_core.interpreter.parsing import tree_of

EXACT = 2**53
"""All integers up to this one are floats."""
_FLOAT_ARITHMETIC: dict[Any, str] = {
    operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv",
}  # fmt: skip
_OF_TRUTHS: dict[Any, str] = {
    **dict.fromkeys([operator.and_, np.bitwise_and, np.logical_and, operator.mul], "and_"),
    **dict.fromkeys([operator.or_, np.bitwise_or, np.logical_or, operator.add], "or_"),
    **dict.fromkeys([operator.xor, np.bitwise_xor, np.logical_xor], "xor"),
}
_OF_REAL = {np.sign, np.fabs, math.fabs}
"""Functions whose code here is for real numbers only."""
_OF_PARTS = {abs, np.real, np.imag, np.conj}
OF_ARRAYS = {np.real, np.imag, np.angle}
"""Functions of complex numbers that are elementwise, but not ufuncs."""
_MAY_BE_REAL = {np.real, np.imag, np.conj, complex}
"""Functions of complex numbers that also take real ones."""
# They return integers for integers.
_OF_INTEGERS = {operator.add, operator.sub, operator.mul, operator.neg, operator.pos, *_OF_PARTS}
EXPRESSIONS: dict[Any, str] = {
    np.logaddexp2: "({0} if {0} > {1} else {1}) + "
                   "(1.0 if {0} == {1} else 1.4426950408889634 * log1p(2.0 ** -abs({0} - {1})))",
    np.logaddexp: "({0} if {0} > {1} else {1}) + "
                  "(0.6931471805599453 if {0} == {1} else log1p(exp(-abs({0} - {1}))))",
    **dict.fromkeys([math.isnan, np.isnan], "{0} != {0}"),
    **dict.fromkeys([math.isfinite, np.isfinite], "abs({0}) < inf"),
    **dict.fromkeys([math.isinf, np.isinf], "abs({0}) == inf"),
    math.radians: "{0} * 0.017453292519943295", math.degrees: "{0} * 57.29577951308232",
    math.exp2: "2.0 ** {0}",
    np.fmax: "{1} if {0} != {0} or {0} < {1} else {0}",
    np.fmin: "{1} if {0} != {0} or {0} > {1} else {0}",
    np.fmod: "fmod({0}, {1})",
    np.heaviside: "0.0 if {0} < 0.0 else (1.0 if {0} > 0.0 else ({1} if {0} == 0.0 else {0}))",
}  # fmt: skip
_SPECIAL = {
    "expit": "1.0 / (1.0 + exp(-{0}))", "logit": "log({0} / (1.0 - {0}))",
    "ndtr": "0.5 * erfc(-0.7071067811865476 * {0})", "entr": "-{0} * log({0})",
    "xlogy": "0.0 if {0} == 0.0 and {1} == {1} else {0} * log({1})",
    "xlog1py": "0.0 if {0} == 0.0 and {1} == {1} else {0} * log1p({1})",
}  # fmt: skip
"""Expressions of functions of `scipy.special` by name: the module need not be imported."""
_CHOICES: dict[type, Any] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda x, xs: x in xs,
}  # fmt: skip
_CLASSES: dict[str, type] = {"d": np.float64, "s": np.float32, "i": int, "b": bool,
                             "z": np.complex128, "c": np.complex64, "t": str}  # fmt: skip
BINARY: dict[Any, Any] = {
    node: o.function
    for node, o in {**python_operators.BINARY, **python_operators.COMPARISONS}.items()
}
"""Type of an operator's node → its function."""
STRONG = frozenset({strong_product, constant_product})
"""Products that are zero if a factor is, whether or not the other one is Inf or NaN."""
UNARY = {node: o.function for node, o in python_operators.UNARY.items()}


class Scalars(Integers, Comparisons):
    """Emitter of functions of numbers.

    Attributes
    ----------
    raises : bool
        Whether to exit where Python would raise: in the forward function. The sweep checks at its
        end whether results are finite.
    """

    def __init__(self, code: FunctionBuilder, raises: bool) -> None:
        self.code = code
        self.raises = raises

    def converted(self, x: Number, letter: str) -> Any:
        """Convert a number to the representation of a letter."""
        value, b = x.value, self.b
        if x.letter == letter:
            return value
        if "t" in (letter, x.letter):
            raise UnsupportedError("a text as a number")
        if is_complex(x):
            return self._of_parts(x, letter)
        if letter in PARTS:
            part = self.converted(x, PARTS[letter])
            return b.pair(part, ir.Constant(part.type, 0.0))
        if letter in "ds" and x.letter == "i":
            if isinstance(value, ir.Constant):
                return ir.Constant(TYPES[letter], float(value.constant))
            if self.raises:
                near = b.icmp_unsigned(
                    "<", b.add(value, self.code.whole(EXACT)), self.code.whole(2 * EXACT)
                )
                self.code.exit_if(b.not_(near))
            return b.sitofp(value, TYPES[letter])
        if letter in "ds" and x.letter == "b":
            return b.uitofp(value, TYPES[letter])
        if letter == "d" and x.letter == "s":
            return b.fpext(value, TYPES["d"])
        if letter == "s" and x.letter == "d":
            return b.fptrunc(value, TYPES["s"])
        if letter == "i" and x.letter == "b":
            return b.zext(value, I64)
        if letter == "b":
            if x.letter == "i":
                return b.icmp_signed("!=", value, self.code.whole(0))
            return b.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
        raise UnsupportedError("a float in the place of an integer")

    def _of_parts(self, x: Number, letter: str) -> Any:
        """Convert a complex number to the representation of a letter."""
        b = self.b
        if letter == "b":
            return b.not_(self.are_equal(x.value, constant(x.value.type, 0.0)))
        if letter not in PARTS:
            raise UnsupportedError("a complex number in the place of a real one")
        parts = [self.plain(PARTS[x.letter], p) for p in b.parts(x.value)]
        return b.pair(*[self.converted(p, PARTS[letter]) for p in parts])

    def function(self, f: Any, args: list[Any], kind: Kind, depth: int = 0) -> Number:
        """Emit a function of numbers, whose result is of a kind.

        For elements of arrays `kind` has the dtype of the result.
        """
        letter = element_of(kind.dtype)[1] if kind.is_array else letter_of(kind)
        if letter == "t":
            raise UnsupportedError("a text that is computed")
        if f in SIGNS:
            return Number(kind, "b", self.compared(SIGNS[f], *args))
        if f is operator.not_:
            return Number(kind, "b", self.b.not_(self.converted(args[0], "b")))
        if f is bool:
            return Number(kind, "b", self.converted(args[0], "b"))
        if f in (float, np.float64):
            return Number(kind, letter, self.converted(args[0], letter))
        if f is int and args[0].letter in "ib":
            return Number(kind, "i", self.converted(args[0], "i"))
        if letter == "i":
            dtype = dtype_of_integers(kind)
            if len(args) == 1 and args[0].letter in "ds":
                value = self.float_to_integer(f, self.converted(args[0], "d"))
            else:
                value = self.of_integers(f, self.as_integers(dtype, args))
            self.check_fits(dtype, value)
            return Number(kind, "i", value)
        made = Number(kind, letter, None, self._tag(f, args, kind))
        if may_be_float32(kind):
            made.value = self._of_either(f, args, made.tag, depth)
        else:
            made.value = self._emitted(f, args, letter, depth)
        if made.tag is not None and letter in PARTS:  # a real number has the imaginary part 0
            re, im = self.b.parts(made.value)
            is_real = self.code.less(made.tag, self.code.whole(COMPLEX_TAG))
            zero = ir.Constant(im.type, 0.0)
            made.value = self.b.pair(re, self.b.select(is_real, zero, im))
        self._check_integer(made)
        self._check(f, args, made)
        return made

    def _of_either(self, f: Any, args: list[Number], tag: Any, depth: int) -> Any:
        """Emit a function in both precisions; select the one that the tag says."""
        single, double = (self._emitted(f, args, letter, depth) for letter in "sd")
        is_single = self.code.equal(tag, self.code.whole(TAGS[np.float32]))
        return self.b.select(is_single, self.b.fpext(single, TYPES["d"]), double)

    def _tag(self, f: Any, args: list[Number], kind: Kind) -> Any:
        """Return the tag of the result if it may be of several classes, given the arguments."""
        if kind.is_array or len(kind.classes) < 2:
            return None
        is_operator = getattr(f, "__module__", "") == "_operator"
        is_tagged = is_operator or function_of(f) in _OF_PARTS
        gives_integers = f in _OF_INTEGERS or (
            f is operator.pow and integer_exponent(args[1]) is not None
        )
        if not is_tagged or (int in kind.classes and not gives_integers):
            raise UnsupportedError("a number of several classes")
        tag: Any = self.code.whole(TAGS[int if int in kind.classes else float])
        for a in args:
            tag = common_tag(self.code, tag, tag_of(self.code, a))
        return tag if kind.is_complex else self.b.and_(tag, self.code.whole(COMPLEX_TAG - 1))

    def _check_integer(self, x: Number) -> None:
        """Exit if a number may be an integer that a double does not represent exactly."""
        if x.tag is None or int not in x.kind.classes or not self.raises:
            return
        size = self.library("fabs", [self.part_of(x, "real").value], "d")
        is_large = self.b.not_(
            self.b.fcmp_ordered("<", size, ir.Constant(TYPES["d"], float(EXACT)))
        )
        is_whole = self.code.equal(x.tag, self.code.whole(TAGS[int]))
        self.code.exit_if(self.b.and_(is_whole, is_large))

    # -- floats ------------------------------------------------------------------------------------

    def _emitted(self, f: Any, args: list[Number], letter: str, depth: int) -> Any:
        b = self.b
        if letter == "b" and f in _OF_TRUTHS:
            return getattr(b, _OF_TRUTHS[f])(*[self.converted(a, "b") for a in args])
        if f in STRONG:
            return self._strong(f, args[0], args[1], letter)
        if letter in PARTS or function_of(f) in _MAY_BE_REAL or any(map(is_complex, args)):
            found = self.of_complex(f, args, letter)
            if found is not None:
                return self.converted(found, letter)
            if f in _OF_REAL and any(map(is_complex, args)):
                raise UnsupportedError(f"{f.__name__} of complex numbers in machine code")
        if f in _FLOAT_ARITHMETIC and letter != "b":
            x, y = [self.converted(a, letter) for a in args]
            return getattr(b, _FLOAT_ARITHMETIC[f])(x, y)
        ufunc = facts_of(f).ufunc
        text = (
            EXPRESSIONS.get(f)
            or (_SPECIAL.get(f.__name__) if is_of_special(f) else "")
            or facts_of(f).loops
            or (facts_of(ufunc).loops if ufunc is not None else "")
        )
        if text:
            names = [f"_{k}" for k in range(len(args))]
            tree = tree_of(text.format(*names), mode="eval").body
            scope = dict(zip(names, args, strict=True))
            return self.converted(self.evaluated(tree, scope, {}, letter, depth + 1), letter)
        if getattr(f, "__module__", "") == "math" or (is_of_special(f) and self.has(f.__name__)):
            if letter in PARTS or any(map(is_complex, args)):
                raise UnsupportedError(f"{f.__name__} of complex numbers in machine code")
            return self.library(f.__name__, [self.converted(a, letter) for a in args], letter)
        if is_of_special(f) and isinstance(f, np.ufunc):
            return self.special(f, args, letter)
        f = f.function if isinstance(f, Partial) else DIVISIONS.get(f, f)
        if inspect.isfunction(f):
            return self.converted(self.inlined(f, args, letter, depth + 1), letter)
        raise UnsupportedError(f"{getattr(f, '__name__', f)} in machine code")

    def _strong(self, f: Any, d: Number, t: Number, letter: str) -> Any:
        """Return one of the products `STRONG`: see `chainrules_core.define.scalar`.

        It is 0 instead of NaN if `t` is 0, or if `d` is a constant 0 and `t` is infinite.
        """
        b = self.b
        zero, nothing = constant(TYPES[letter], 0.0), self.known(0.0)
        if d.letter == "b":
            return b.select(d.value, self.converted(t, letter), zero)
        held = t.letter if is_complex(t) else PARTS.get(letter, letter)
        t = self.plain(held, self.converted(t, held))
        made = self.operation(operator.mul, [d, t], letter)
        wins = self.compared("==", t, nothing)
        if f is constant_product or d.kind.classes == {int}:
            is_infinite = self._in_any_part(t, lambda p: b.fcmp_ordered(
                "==", self.library("fabs", [p], PARTS.get(held, held)),
                ir.Constant(p.type, math.inf)))  # fmt: skip
            wins = b.or_(wins, b.and_(self.compared("==", d, nothing), is_infinite))
        is_nan = self._in_any_part(made, lambda p: b.fcmp_unordered("uno", p, p))
        return b.select(b.and_(is_nan, wins), zero, self.converted(made, letter))

    def _in_any_part(self, x: Number, test: Callable) -> Any:
        """Whether a test holds for a float, or for a part of a complex number."""
        parts = self.b.parts(x.value) if is_complex(x) else [x.value]
        return functools.reduce(self.b.or_, map(test, parts))

    def _check(self, f: Any, args: list[Number], made: Number) -> None:
        """Exit where Python would raise: the NumPy source then raises."""
        if not self.raises or made.letter not in "dz" or made.kind.is_array:
            return
        code = self.code
        module = getattr(f, "__module__", "")
        is_of_module = module in ("math", "cmath")
        if not is_of_module and made.kind.classes.isdisjoint({float, complex}):
            return
        if f is operator.truediv:
            code.exit_if(self.compared("==", args[1], self.known(0.0)))
        elif f is operator.pow or is_of_module:
            # Exit on every Inf and NaN: those that are not errors are rare.
            given = args if module == "cmath" else []
            for x in (*[self.plain("z", self.converted(a, "z")) for a in given], made):
                code.exit_if(self._in_any_part(x, self._is_not_finite))

    def _is_not_finite(self, x: Any) -> Any:
        return self.b.fcmp_unordered("!=", self.b.fsub(x, x), ir.Constant(x.type, 0.0))

    def evaluated(
        self, node: ast.expr, scope: dict[str, Any], outer: dict, letter: str, depth: int
    ) -> Any:
        """Emit an expression of numbers that all have the representation of a letter."""

        def of(part: ast.expr) -> Any:
            return self.evaluated(part, scope, outer, letter, depth)

        if isinstance(node, ast.Constant):
            return StaticValue(node.value)
        if isinstance(node, ast.Name):
            return scope[node.id] if node.id in scope else StaticValue(_named(node.id, outer))
        if isinstance(node, ast.Attribute):
            if not isinstance(node.value, ast.Name) or node.value.id in scope:
                if node.attr not in ("real", "imag"):
                    raise UnsupportedError("an attribute of a number")
                return self.part_of(self.number(of(node.value)), node.attr)
            return StaticValue(getattr(_named(node.value.id, outer), node.attr))
        if isinstance(node, ast.BinOp):
            return self.operation(BINARY[type(node.op)], [of(node.left), of(node.right)], letter)
        if isinstance(node, ast.UnaryOp):
            return self.operation(UNARY[type(node.op)], [of(node.operand)], letter)
        if isinstance(node, ast.Compare):
            held = "d" if letter == "b" else letter
            parts = (node.left, *node.comparators)
            args = [self.evaluated(part, scope, outer, held, depth) for part in parts]
            tests = map(self._comparison, map(type, node.ops), args[:-1], args[1:])
            return functools.reduce(lambda x, y: self.operation(operator.and_, [x, y], "b"), tests)
        if isinstance(node, ast.BoolOp):
            return self._all_or_any(isinstance(node.op, ast.And), node.values, of)
        if isinstance(node, ast.IfExp):
            return self._chosen(of(node.test), (node.body, node.orelse), of, letter)
        return self.of_rule(node, scope, outer, letter, depth)

    def _comparison(self, how: type, a: Any, b: Any) -> Any:
        if isinstance(b, tuple) and all(isinstance(x, StaticValue) for x in b):
            b = StaticValue([x.x for x in b])
        if how in (ast.Is, ast.IsNot) and isinstance(b, StaticValue) and isinstance(a, Number):
            return StaticValue(how is ast.IsNot)  # a number is never a known object such as None
        if how in _CHOICES and isinstance(a, StaticValue) and isinstance(b, StaticValue):
            return StaticValue(_CHOICES[how](a.x, b.x))
        return self.operation(BINARY.get(how), [a, b], "b")

    def _all_or_any(self, is_all: bool, nodes: list[ast.expr], of: Callable) -> Any:
        """Emit ``and`` or ``or``; a known operand that decides ends the evaluation."""
        tests: list = []
        for node in nodes:
            x = of(node)
            if not isinstance(x, StaticValue):
                tests.append(x)
            elif bool(x.x) is not is_all:
                return StaticValue(not is_all)
        f = operator.and_ if is_all else operator.or_
        if not tests:
            return StaticValue(is_all)
        return functools.reduce(lambda x, y: self.operation(f, [x, y], "b"), tests)

    def _chosen(self, test: Any, both: tuple, of: Callable, letter: str) -> Any:
        if isinstance(test, StaticValue):
            return of(both[0] if test.x else both[1])
        values = [self.converted(self.number(of(p)), letter) for p in both]
        return self.plain(letter, self.b.select(self.converted(test, "b"), *values))

    def number(self, x: Any) -> Number:
        """Return a number, or a known value, as a number."""
        return self.known(x.x) if isinstance(x, StaticValue) else x

    def plain(self, letter: str, value: Any) -> Number:
        """Return a value as a number of the class that a letter stands for."""
        return Number(Kind(frozenset([_CLASSES[letter]])), letter, value)

    def operation(self, f: Any, args: list[Any], letter: str) -> Any:
        """Emit an operator, with the result in the representation of a letter."""
        if f is None:
            raise UnsupportedError(f"operator {f} in machine code")
        if all(isinstance(a, StaticValue) for a in args):
            return StaticValue(f(*[a.x for a in args]))
        if f in INTEGER_BIT_OPERATORS and isinstance(args[0], Number) and args[0].letter == "i":
            bits = [self.code.whole(a.x) if isinstance(a, StaticValue) else a.value for a in args]
            return Number(args[0].kind, "i", getattr(self.b, INTEGER_BIT_OPERATORS[f])(*bits))
        numbers = [self.number(a) for a in args]
        if f in SIGNS:
            return self.plain("b", self.compared(SIGNS[f], *numbers))
        if f is operator.not_:
            return self.plain("b", self.b.not_(self.converted(numbers[0], "b")))
        if f in (operator.and_, operator.or_):
            method = self.b.and_ if f is operator.and_ else self.b.or_
            return self.plain("b", method(*[self.converted(a, "b") for a in numbers]))
        if letter == "b":
            raise UnsupportedError("an operator of truth values")
        if any(map(is_complex, numbers)):
            return self._of_complex(f, numbers, letter)
        letter = PARTS.get(letter, letter)
        values = [self.converted(a, letter) for a in numbers]
        if f is operator.neg:
            return self.plain(letter, self.b.fneg(values[0]))
        if f is operator.pos:
            return self.plain(letter, values[0])
        if f is operator.pow:
            return self.plain(letter, self.power(values, letter))
        if f not in _FLOAT_ARITHMETIC:
            return self.plain(letter, self._emitted(f, numbers, letter, depth=0))
        return self.plain(letter, getattr(self.b, _FLOAT_ARITHMETIC[f])(*values, flags=self.flags))

    def called(self, f: Any, args: list[Any], letter: str, depth: int) -> Any:
        """Emit a call of a known function, with the result in the representation of a letter."""
        if not isinstance(f, StaticValue) or depth > MOST_DEPTH:
            raise UnsupportedError("a call in machine code")
        f = f.x
        if f is type and len(args) == 1:
            if isinstance(args[0], Number):  # all that matters is whether it is an integer
                return StaticValue(int if args[0].kind.classes == {int} else None)
            return StaticValue(type(args[0].x))
        if f in (np.ndim, np.iscomplexobj, is_foreign) and len(args) == 1:
            is_complex_number = f is np.iscomplexobj and is_complex(self.number(args[0]))
            return StaticValue(0 if f is np.ndim else is_complex_number)
        if f is getattr and [a.x for a in args[1:] if isinstance(a, StaticValue)] == [
            "dtype",
            None,
        ]:
            return dtype_of_number(args[0])
        if f in (np.any, np.all, np.count_nonzero) and len(args) == 1:
            return self.plain("b", self.converted(self.number(args[0]), "b"))
        if all(isinstance(a, StaticValue) for a in args) and facts_of(f).is_pure:
            return StaticValue(f(*[a.x for a in args]))
        numbers = [self.number(a) for a in args]
        if f in BIT_OPERATIONS:
            return self.of_bits(f, numbers)
        if f in _MAY_BE_REAL or any(map(is_complex, numbers)):
            return self._of_complex(f, numbers, letter, depth)
        letter = PARTS.get(letter, letter)
        if f in (min, max) and len(numbers) == 2:
            x, y = [self.converted(a, letter) for a in numbers]
            is_second = self.b.fcmp_ordered("<" if f is min else ">", y, x)
            return self.plain(letter, self.b.select(is_second, y, x))
        if f in (abs, np.absolute, np.fabs):
            return self.plain(
                letter, self.library("fabs", [self.converted(numbers[0], letter)], letter)
            )
        name = getattr(f, "__name__", "")
        if self.has(name):
            return self.plain(
                letter, self.library(name, [self.converted(a, letter) for a in numbers], letter)
            )
        return self.plain(letter, self._emitted(f, numbers, letter, depth))

    def has_implementation(self, f: Any) -> bool:
        """Whether a function has an implementation of its own, so that it is not inlined."""
        is_own = f in BIT_OPERATIONS or f in (np.ndim, np.iscomplexobj, is_foreign)
        return is_own or f in STRONG or f in EXPRESSIONS or bool(facts_of(f).loops)

    def _of_complex(self, f: Any, args: list[Number], letter: str, depth: int = 0) -> Number:
        """Emit a function or operator of complex numbers."""
        found = self.of_complex(f, args, letter)
        if found is None:
            return self.plain(letter, self._emitted(f, args, letter, depth))
        return found


def _named(name: str, outer: dict) -> Any:
    """Return the value of a global name in a rule, or in an expression of `autodiff.functions`."""
    for scope in (outer, {"math": math, "np": np}, vars(math), vars(builtins)):
        if name in scope:
            return scope[name]
    raise UnsupportedError(f"{name} in machine code")
