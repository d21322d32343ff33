"""Which outer variables a function assigns to, by bytecode and by source."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from autodiff import compile as compile_function, gradient
from autodiff.closures import outer_assignments
from autodiff.closures.outer_assignments import Assignments
from autodiff.errors import MutationError

COUNT = 0


def outer() -> list[tuple[Callable, set, set]]:
    count = total = 0

    def reads() -> Any:
        return count + total + COUNT

    def writes() -> None:
        nonlocal count
        count = 1

    def adds() -> None:
        nonlocal count, total
        count += total
        total, count = count, total

    def deletes() -> None:
        nonlocal total
        del total

    def walks() -> None:
        nonlocal count
        for count in range(3):  # noqa: B007
            pass
        with open("x") as count:
            pass

    def matches(x: Any) -> Any:
        nonlocal total
        return (total := x)

    def writes_global() -> None:
        global COUNT
        COUNT = 1

    def deletes_global() -> None:
        global COUNT
        del COUNT

    def inside() -> None:
        def inner() -> None:
            nonlocal count
            global COUNT
            COUNT = count = 2

        inner()

    return [
        (reads, set(), set()),
        (writes, set(), {"count"}),
        (adds, set(), {"count", "total"}),
        (deletes, set(), {"total"}),
        (walks, set(), {"count"}),
        (matches, set(), {"total"}),
        (writes_global, {"COUNT"}, set()),
        (deletes_global, {"COUNT"}, set()),
        (inside, {"COUNT"}, {"count"}),
    ]


def test_the_tests_pin_the_versions_whose_bytecode_is_read() -> None:
    # A version belongs into the list when this file passes in it.
    assert outer_assignments.READABLE == ((3, 11), (3, 12), (3, 13))


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("i", range(9))
def test_what_is_assigned(i: int, readable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if readable and sys.version_info[:2] not in outer_assignments.READABLE:
        pytest.skip("the bytecode of this version is not read")
    monkeypatch.setattr(outer_assignments, "_known", {})
    monkeypatch.setattr(outer_assignments, "READABLE", (sys.version_info[:2],) if readable else ())
    f, to_globals, to_captured = outer()[i]
    assert isinstance(f, types.FunctionType)
    found = outer_assignments.of(f)
    assert found is not None
    # Parts of the context of an inner function may have names that it assigns to as well.
    assert found == Assignments(frozenset(to_globals), frozenset(to_captured))


@pytest.fixture
def unknown_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer_assignments, "_known", {})
    monkeypatch.setattr(outer_assignments, "READABLE", ())


WITHOUT_SOURCE = """
def line(slope):
    return lambda t: slope * t

def counting(x):
    global calls
    calls = calls + 1
    return 2.0 * x
"""


def without_source() -> dict[str, Any]:
    scope: dict[str, Any] = {"calls": 0}
    exec(WITHOUT_SOURCE, scope)
    return scope


def total(x: Any, n: int) -> Any:
    s = 0.0
    for k in range(1, n):
        s = s + integrate.quad(lambda t: k * x * t, 0.0, 1.0)[0]  # noqa: B023
    return s


def test_an_unknown_python_asks_the_source(unknown_python: None) -> None:
    np.testing.assert_allclose(gradient(lambda x: total(x, 4), 2.0), 3.0)


def test_an_unknown_python_without_source_says_so(unknown_python: None) -> None:
    line = without_source()["line"]
    with pytest.raises(MutationError, match=r"lambda.* has captured slope.*into a file, or give"):
        gradient(lambda x: integrate.quad(line(x), 0.0, 1.0)[0], 2.0)


def test_an_unknown_python_does_not_compile_what_may_write_globals(unknown_python: None) -> None:
    scope = without_source()
    f = compile_function(scope["counting"])
    for _ in range(4):
        assert f(1.5) == 3.0
    assert scope["calls"] == 4
