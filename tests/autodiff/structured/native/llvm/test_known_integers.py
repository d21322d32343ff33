"""Integers that are computed once: random functions give what Python gives."""

from __future__ import annotations

import ctypes
import itertools
import operator
import random
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from autodiff.structured.native.llvm.function_builder import (
    I64,
    PTR,
    FunctionBuilder,
)
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.modules import LLVMModule

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*"}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
CONSTANTS = (-8, -2, -1, 0, 1, 2, 8)


def wrapped(n: int) -> int:
    """Return an integer as 64 bits hold it."""
    return (n + 2**63) % 2**64 - 2**63


class RandomFunction:
    """A function of three integers, in LLVM and in Python."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.module = LLVMModule("random")
        self.code = FunctionBuilder(self.module, "f", [I64, I64, I64, PTR])
        *given, out = self.code.function.args
        self.total = self.code.stored(self.code.whole(0))
        self.names = itertools.count()
        self.lines = ["def f(a, b, c):", "    s = 0"]
        self.block([*zip(given, "abc", strict=True)], 1)
        self.code.set_word(out, 0, self.code.b.load(self.total, typ=I64))
        self.code.finish()
        self.lines.append("    return s")

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def operand(self, values: list) -> tuple[Any, str]:
        if self.r.random() < 0.3:
            n = self.r.choice(CONSTANTS)
            return self.code.whole(n), f"({n})"
        return self.r.choice(values)

    def test(self, values: list) -> tuple[Any, str]:
        (x, m), (y, n) = self.operand(values), self.operand(values)
        how = self.r.choice(COMPARISONS)
        test, text = self.code.b.icmp_signed(how, x, y), f"{m} {how} {n}"
        if self.r.random() < 0.2:
            other, more = self.test(values)
            return self.code.b.or_(test, other), f"({text} or {more})"
        if self.r.random() < 0.2:
            other, more = self.test(values)
            return self.code.b.and_(test, other), f"({text} and {more})"
        if self.r.random() < 0.2:
            return self.code.b.not_(test), f"(not {text})"
        return test, f"({text})"

    def block(self, values: list, depth: int) -> None:
        values = list(values)
        kinds = ["value"] * 6 + ["sum"] * 3 + ["choice"] * 2 + ["exit"]
        kinds += ["branch", "branches", "loop", "endless"] if depth < 4 else []
        for kind in self.r.choices(kinds, k=8):
            getattr(self, f"write_{kind}")(values, depth)
        self.write_sum(values, depth)

    def note(self, values: list, depth: int, value: Any, text: str) -> None:
        name = f"v{next(self.names)}"
        self.write(depth, f"{name} = wrapped({text})")
        values.append((value, name))

    def write_value(self, values: list, depth: int) -> None:
        (x, m), (y, n) = self.operand(values), self.operand(values)
        name, sign = self.r.choice([*ARITHMETIC.items()])
        self.note(values, depth, getattr(self.code.b, name)(x, y), f"{m} {sign} {n}")

    def write_choice(self, values: list, depth: int) -> None:
        test, text = self.test(values)
        (x, m), (y, n) = self.operand(values), self.operand(values)
        self.note(values, depth, self.code.b.select(test, x, y), f"{m} if {text} else {n}")

    def write_sum(self, values: list, depth: int) -> None:
        x, m = self.operand(values)
        b = self.code.b
        tripled = b.mul(b.load(self.total, typ=I64), self.code.whole(3))
        b.store(b.add(tripled, x), self.total)
        self.write(depth, f"s = wrapped(3 * s + {m})")

    def write_exit(self, values: list, depth: int) -> None:
        test, text = self.test(values)
        self.code.exit_if(test)
        self.write(depth, f"if {text}: return None")

    def write_branch(self, values: list, depth: int) -> None:
        test, text = self.test(values)
        self.write(depth, f"if {text}:")
        with self.code.branch(test):
            self.block(values, depth + 1)

    def write_branches(self, values: list, depth: int) -> None:
        test, text = self.test(values)
        with self.code.branches(test) as branches:
            for branch, line in zip(branches, (f"if {text}:", "else:"), strict=True):
                self.write(depth, line)
                with branch:
                    self.block(values, depth + 1)

    def write_loop(self, values: list, depth: int) -> None:
        n, name = self.r.randrange(3), f"v{next(self.names)}"
        self.write(depth, f"for {name} in range({n}):")
        with self.code.counted(self.code.whole(n)) as i:
            self.block([*values, (i, name)], depth + 1)

    def write_endless(self, values: list, depth: int) -> None:
        code, name = self.code, f"v{next(self.names)}"
        turn = code.stored(code.whole(0))
        self.write(depth, f"for {name} in range(3):")
        with code.endless():
            i = code.b.load(turn, typ=I64)
            code.leave_if(code.equal(i, code.whole(2)))
            self.write(depth + 1, f"if {name} == 2: break")
            code.b.store(code.b.add(i, code.whole(1)), turn)
            self.block([*values, (i, name)], depth + 1)
            test, text = self.test([*values, (i, name)])
            code.leave_if(test)
            self.write(depth + 1, f"if {text}: break")
            self.write_sum([*values, (i, name)], depth + 1)


@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed: int) -> None:
    made = RandomFunction(seed)
    scope: dict[str, Any] = {"wrapped": wrapped}
    exec("\n".join(made.lines), scope)
    expected: Callable = scope["f"]
    compiled = CompiledModule(made.module)
    found = compiled.function("f", [ctypes.c_int64] * 3 + [ctypes.POINTER(ctypes.c_int64)])
    for given in itertools.product((-2, -1, 0, 1, 3), repeat=3):
        total = ctypes.c_int64()
        status = found(*given, ctypes.byref(total))
        assert (None if status else total.value) == expected(*given), "\n".join(made.lines)


def test_equal_integers_are_one_instruction() -> None:
    code = FunctionBuilder(LLVMModule("test"), "f", [I64, I64])
    m, n = code.function.args
    b, whole = code.b, code.whole
    inner = b.sub(b.add(n, whole(-1)), whole(1))  # the length of [1:-1]
    assert inner is b.sub(n, whole(2)) is b.add(n, whole(-2))  # that of [2:] and [:-2]
    assert b.mul(m, n) is b.mul(n, m)
    assert b.icmp_signed("==", m, m).constant == 1
    code.exit_if(b.icmp_signed("!=", m, n))
    assert b.add(m, whole(5)) is b.add(n, whole(5))
    with code.branch(code.less(m, whole(3))):
        inside = b.mul(m, whole(7))
        assert b.mul(n, whole(7)) is inside
    assert b.mul(m, whole(7)) is not inside
    assert operator.is_(b.sub(m, n).constant, 0)
