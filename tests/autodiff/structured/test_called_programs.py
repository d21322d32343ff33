"""Functions of numbers that are called often have programs of their own: compared with traces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import autodiff
from autodiff.structured import calls
from autodiff.structured.callables import calling_programs
from autodiff.structured.reading import lowering
from tests.helpers import check_gradient

A = np.array([0.4, 0.9, 1.3, 0.2])
B = np.array([0.7, -0.3, 0.5, 1.1])
FACTOR = 0.5


@pytest.fixture(autouse=True)
def _at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "inlined", 0)


def names_called(*functions: Callable) -> list[str]:
    """Return the names of the functions that the programs of functions call."""
    names = {f.__name__ for f in functions}
    of_codes = [of_code.values() for _, of_code in calls._programs.values()]
    known = [p for of_code in of_codes for programs in of_code for p in programs.known.values()]
    found = [p for p in known if p is not None and p.name.rpartition(".")[2] in names]
    assert found
    return sorted({other.name for p in found for other in p.others})


def inner(x, y):
    a = math.sin(x) * y
    b = a / (1.0 + x * x)
    return math.exp(-b * b) + a


def outer(x, y, n):
    a = inner(x, y)
    if a > 0.8:
        return a * y
    for k in range(n):
        a = a * 0.5 + inner(a, x) * k
    return a


def many(a, b):
    total = 0.0
    for i in range(len(a)):
        total = total * 0.9 + outer(a[i], b[i], i) * inner(b[i], total) + outer(total, 0.3, 2)
        a[i] = inner(total, a[i]) * FACTOR
    return total + np.sum(a)


def in_tests(a, b):
    """Calls in tests have no sweep; those in branches have one if the branch was taken."""
    total, k = 0.0, 0
    while inner(total, 0.5) > 0.2 and k < 6:
        total = total + 0.3 * inner(a[k % 4], b[k % 4])
        if outer(total, a[0], 1) > 0.5:
            total = total * outer(b[1], total, 2)
        k += 1
    return total * a[3]


def pair(x, y):
    s = x * y
    t = math.cos(s)
    return s, t


def whole(x, y):
    k = 0
    while x > 0.3:
        x = x * 0.5
        k = k + 1
    return k


def is_large(x):
    y = x * x
    z = y + 1.0
    return z > 1.5


def others(a, b):
    """A tuple, an integer and a truth value as results: these functions are inlined."""
    total = 0.0
    for i in range(len(a)):
        s, t = pair(a[i], b[i])
        total = total + s * t + whole(a[i], 0.1) * b[i]
        if is_large(a[i]):
            total = total * a[i]
    return total


def scaled(x, flag, n, power=2.0, *, shift=0.1):
    y = x * n
    if flag:
        y = y**power
    return y + shift


def with_defaults(a, b):
    total = 0.0
    for i in range(len(a)):
        total = total + scaled(a[i], i % 2 == 0, 3) * scaled(b[i], a[i] > b[i], i, shift=a[0])
        total = total + scaled(a[i], True, i, 3.0)
    return total


def captured(a, b):
    rate = a[0] * b[1]

    def step(x, y):
        z = x * rate
        w = math.sin(z) + y
        return w * rate

    total = 0.0
    for i in range(len(a)):
        total = total + step(a[i], total)
        rate = rate * 0.9 + step(b[i], 0.1)
    return total


def of_elements(a, b):
    """Parts without axes are no numbers for NumPy."""
    total = 0.0
    for i in range(len(a)):
        total = total + inner(a[..., i], b[i]) + inner(np.where(a[i] > 0.5, a[i], b[i]), b[i])
    return total


def unused(x, y):
    z = x * x
    w = math.sin(z)
    return w + z


def with_unused(a, b):
    total = 0.0
    for i in range(len(a)):
        total = total + unused(a[i], b[i]) * unused(0.3, total)
    return total + b[0]


@pytest.mark.parametrize(
    "f", [many, in_tests, others, with_defaults, captured, of_elements, with_unused]
)
@pytest.mark.parametrize("native", [math.inf, -1.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_gradients(
    f: Callable, native: float, kind: type, monkeypatch: pytest.MonkeyPatch, traced: Callable,
    runs: list[str],
) -> None:  # fmt: skip
    a, b = A.astype(kind), B.astype(kind)
    monkeypatch.setattr(calls.Settings, "native", native)
    rtol = 1e-11 if kind is np.float64 else 1e-4

    def loss(a: Any, b: Any) -> Any:
        return f(a * 1.0, b * 1.0)

    expected = traced(loss, a, b)
    for _ in range(3):
        for x, y in zip(autodiff.gradient(loss, a, b), expected, strict=True):
            assert x.dtype == y.dtype == kind
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    assert f.__name__ in runs or (f, kind) == (of_elements, np.float32)
    compiled = autodiff.compile(lambda a, b: autodiff.gradient(loss, a, b))
    for _ in range(3):
        for x, y in zip(compiled(a, b), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def test_which_functions_have_programs() -> None:
    for f in (many, others, of_elements):
        autodiff.gradient(lambda a, b, f=f: f(a * 1.0, b), A, B)
    assert names_called(many, others, of_elements) == ["inner", "outer"]


def test_a_function_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    body = lowering.FunctionReader.read_body_of

    def noted(self: Any, node: Any) -> Any:
        read.append(node.name)
        return body(self, node)

    monkeypatch.setattr(lowering.FunctionReader, "read_body_of", noted)

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + inner(x[i], 0.5) + inner(total, x[i]) + inner(total, x[i])
            total = total + inner(total, x[i]) * inner(x[i], 0.7)
        return total

    autodiff.gradient(f, A)
    assert read.count("inner") <= 4  # for floats of Python's and of NumPy's as arguments


def test_few_calls_are_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "inlined", 16)

    def few_calls(x):
        total = 0.0
        for i in range(len(x)):
            total = total + inner(x[i], total)
        return total

    autodiff.gradient(few_calls, A)
    assert not names_called(few_calls)


def test_source_inlines_what_machine_code_cannot_call(
    monkeypatch: pytest.MonkeyPatch, traced: Callable
) -> None:
    """No recursion is short enough for machine code here, so the loop stays source."""
    monkeypatch.setattr(calls.Settings, "native", -1.0)
    monkeypatch.setattr("autodiff.structured.native.callees._LONGEST", 0)

    def power(x, n):
        if n == 0:
            return 1.0
        return x * power(x, n - 1)

    def calls_some(x):
        total = 0.0
        for i in range(len(x)):
            total = total + inner(x[i], total) * power(x[i], 3)
        return total

    for _ in range(4):
        np.testing.assert_allclose(autodiff.gradient(calls_some, A), traced(calls_some, A))
    assert names_called(calls_some) == ["power"]


def test_source_inlines_without_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling_programs, "has_llvm", lambda: False)

    def without_llvm(x):
        total = 0.0
        for i in range(len(x)):
            total = total + inner(x[i], total)
        return total

    autodiff.gradient(without_llvm, A)
    assert not names_called(without_llvm)


def hides(x, start):
    """The start decides, but there is no path from it to the result."""
    y = x * 2.0
    if x > start:
        y = y * x
    return y


def test_a_function_that_hides_a_decision(runs: list[str], traced: Callable) -> None:
    def f(a, b):
        total = 0.0
        for i in range(len(a)):
            total = total + hides(a[i], b[i])
        return total

    with pytest.warns(autodiff.NoPathWarning):
        found = autodiff.gradient(f, A, B)
    with pytest.warns(autodiff.NoPathWarning):
        expected = traced(f, A, B)
    np.testing.assert_allclose(found, expected)


def root(x, y):
    r = abs(x)
    q = math.sqrt(r)
    return q * y


@pytest.mark.parametrize("native", [math.inf, -1.0])
def test_an_infinite_slope(native: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slope at zero is infinite, and multiplied by zero."""
    monkeypatch.setattr(calls.Settings, "native", native)

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + root(x[i] * 0.0, x[i]) + root(x[i], x[i])
        return total

    for _ in range(3):
        np.testing.assert_allclose(autodiff.gradient(f, A), 1.5 * np.sqrt(A))


def test_a_division_by_zero(traced: Callable) -> None:
    def ratio(x, y):
        r = x / y
        q = r + 1.0
        return 1.0 / q

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + ratio(x[i], x[i] - x[0])
        return total

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(autodiff.gradient(f, A), traced(f, A))
    with pytest.raises(ZeroDivisionError):
        autodiff.gradient(lambda a: f(list(a)), [1.0, 2.0])


def test_what_a_function_reads_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(x, y):
        z = x * FACTOR
        w = z * y
        return w * FACTOR

    def f(x):
        total = 1.0
        for i in range(len(x)):
            total = total + step(x[i], total)
        return total

    for factor in (0.5, 2.0, 2.0, 0.3):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        check_gradient(f, A)


def test_other_modes(traced: Callable) -> None:
    def f(x):
        return many(x * 1.0, x * x)

    def gradient(x):
        return traced(f, x)

    steps = np.eye(len(A)) * 1e-6
    expected = np.array([(gradient(A + h) - gradient(A - h)) / 2e-6 for h in steps])
    np.testing.assert_allclose(autodiff.hessian(f, A), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(autodiff.jvp(f, (A,), (B,))[1], gradient(A) @ B, rtol=1e-11)


def test_checkpointed_loops_inline_all(traced: Callable) -> None:
    def f(x):
        return many(x * 1.0, x * x)

    found = autodiff.gradient(autodiff.checkpoint_loops(f), A)
    np.testing.assert_allclose(found, traced(f, A), rtol=1e-11)
