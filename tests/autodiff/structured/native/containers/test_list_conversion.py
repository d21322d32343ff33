"""Lists that machine code takes, changes and returns."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient
from autodiff.structured.calls import ProgramRun
from autodiff.structured.runtime import Structured
from autodiff.structured.settings import Settings
from tests.autodiff.structured.test_list_arguments import CASES, changed, matrix, numbers

rng = np.random.default_rng(8)


def compared(f: Callable, args: tuple, argnums: tuple[int, ...], by: dict | None = None) -> None:
    """Compare with tracing: the value, gradients, and contents and identity of lists."""
    loss, found = changed(f), []
    for enabled in (False, True, True, True):
        given = copy.deepcopy(args)
        Settings.enabled = enabled
        try:
            value, slopes = value_and_gradient(loss, *given, argnums=argnums)
        finally:
            Settings.enabled = True
        found.append((value, flat_of_all(slopes), flat_of_all(list(given)), which(given)))
    for one in found[1:]:
        for x, y in zip(one[:3], found[0][:3], strict=True):
            np.testing.assert_allclose(x, y, **(by or {"rtol": 1e-11, "atol": 1e-13}))
        assert one[3] == found[0][3]


def flat_of_all(x: Any) -> list:
    if isinstance(x, (list, tuple)):
        return [y for part in x for y in flat_of_all(part)]
    return [0.0 if x is None else x * 1.0]  # an integer has no derivative


def which(x: Any, seen: dict[int, int] | None = None) -> Any:
    """Return which lists are identical, their lengths, and the classes of the numbers."""
    seen = {} if seen is None else seen
    if not isinstance(x, (list, tuple)):
        return type(x)
    if id(x) in seen:
        return seen[id(x)]
    seen[id(x)] = len(seen)
    return type(x), [which(part, seen) for part in x]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[Structured]:
    """The programs that have run."""
    found: list[Structured] = []
    begin = ProgramRun.__init__

    def noted(self: ProgramRun, program: Structured, *args: Any) -> None:
        begin(self, program, *args)
        found.append(program)

    monkeypatch.setattr(ProgramRun, "__init__", noted)
    return found


@pytest.fixture
def machine(programs: list[Structured], monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Compare with tracing. The loops must be machine code, and the sweep must not bail out."""

    def check(f: Callable, args: tuple, argnums: tuple[int, ...], by: dict | None = None) -> None:
        with monkeypatch.context() as m:
            m.delattr(ProgramRun, "traced")
            compared(f, args, argnums, by)
        program = [p for p in programs if p.name == f.__qualname__][-1]
        assert program.native is not None, program.why
        assert not program.native.why
        assert not program.bailouts

    return check


@pytest.mark.parametrize("name", CASES)
def test_lists_as_arguments_and_results(name: str, machine: Callable) -> None:
    f, args = CASES[name]
    machine(f, args, tuple(i for i, x in enumerate(args) if not isinstance(x, int)))


def weighed(xs, t):
    s = 0.0
    for i in range(len(xs)):
        s += xs[i] * xs[i // 2] * t + (i + 1) * xs[-i]
    return s


def squares(xs, t):
    out = []
    for x in xs:
        out.append(x * x * t)
    return out


def mirrored(xs, t):
    n = len(xs)
    for i in range(n // 2):
        xs[i], xs[n - 1 - i] = xs[n - 1 - i] * t, xs[i] * t
    return xs


def grows(xs, t):
    for i in range(20):
        xs.append(xs[i] * t)
    xs.insert(0, xs[5])
    del xs[3]
    for _ in range(4):
        t = t * xs.pop(0)
    return t


def sums_of_some(xs, t):
    s = 0.0
    for i in range(1, len(xs)):
        s += sum(xs[:i]) * t
    return s


def numbers_of(cls: Callable[[float], Any]) -> list:
    return [cls(x) for x in rng.normal(size=60)]


KINDS: dict[str, list] = {
    "floats": numbers(60),
    "integers": [int(x) for x in rng.integers(-9, 9, 60)],
    "both": [float(x) if x > 0 else int(x) for x in rng.integers(-9, 9, 60)],
    "NumPy's floats": numbers_of(np.float64),
    "both kinds of floats": [x if x > 0 else np.float64(x) for x in numbers(60)],
    "single precision": numbers_of(np.float32),
    "complex": [complex(x, y) for x, y in matrix(60, 2)],
    "complex and real": [complex(x, y) if x > 0 else y for x, y in matrix(60, 2)],
    "zeros": [0.0, -0.0] * 30,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", [weighed, squares, mirrored, grows, sums_of_some])
def test_lists_of_all_kinds_of_numbers(f: Callable, kind: str, machine: Callable) -> None:
    argnums = (1,) if kind == "integers" else (0, 1)
    xs, by = KINDS[kind], None
    if kind == "single precision":
        by = {"rtol": 2e-4, "atol": 1e-5}
    if "complex" in kind:
        f = of_moduli(f)
    if f in (weighed, squares, sums_of_some):
        machine(f, (xs, 1.3), argnums, by)
    else:  # some of these are not read; what is left in the user's list may be traced
        compared(lambda xs, t: f(list(xs), t), (xs, 1.3), argnums, by)


def of_moduli(f: Callable) -> Callable:
    def real(xs, t):
        y = f(xs, t)
        s = 0.0
        for x in y if isinstance(y, list) else [y]:
            s = s + abs(x) ** 2
        for k in range(len(xs)):
            s, xs[k] = s + abs(xs[k]) ** 2 * k, 0.0
        return s

    return real


def of_rows(rows, t):
    s = 0.0
    for r in rows:
        s += len(r) * t
        for x in r:
            s += x * x * t
    return s


def rows_change(rows, t):
    first = rows[0]
    for k in range(len(rows) - 1):
        rows[k], rows[k + 1] = rows[k + 1], rows[k]
        rows[k][0] = rows[k][0] * t
        first[1] += rows[k][0]
    rows[2] = [x * t for x in rows[3]]
    rows.append([t, first[0]])
    for r in rows:
        r.append(t)
    return rows[4]


def rows_are_returned(rows, t):
    out = []
    for r in rows:
        out.append(r)
    out.append([t, t])
    return out, rows, rows[1]


ROW = numbers(3)
ROWS: dict[str, Any] = {
    "matrix": matrix(30, 3),
    "of several lengths": [numbers(2 + i % 3) for i in range(30)],
    "one row in two places": [ROW, numbers(3), ROW, *matrix(20, 3)],
    "one row": [ROW] * 30,
}


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize("f", [of_rows, rows_change, rows_are_returned])
def test_rows(f: Callable, form: str, machine: Callable) -> None:
    machine(f, (ROWS[form], 1.3), (0, 1))


def test_empty_rows_and_tuples(machine: Callable) -> None:
    machine(of_rows, ([[1.0, 2.0], [], *matrix(40, 2)], 1.3), (0, 1))
    machine(of_rows, ([tuple(numbers(2)) for _ in range(40)], 1.3), (0, 1))


@pytest.mark.parametrize("xs", [[*range(59), 2**70], [*range(59), 2**61 + 1], [0.5] * 59 + [2**60]])
def test_integers_that_machine_code_does_not_hold(xs: list, programs: list) -> None:
    def total(xs, t):
        s = 0
        for x in xs:
            s += x * t
        return s

    compared(total, (xs, 1.5), (1,))
    assert [p.bailouts for p in programs if p.name == total.__qualname__][-1]


def test_what_is_not_finite(made: list[Structured]) -> None:
    for odd in (math.nan, math.inf):
        compared(weighed, ([odd, *numbers(59)], 1.3), (0, 1))
    assert made


def test_a_list_given_twice(machine: Callable, runs: list[str]) -> None:
    def product_of(a, b, t):
        s = 0.0
        for i in range(len(a)):
            s += a[i] * b[-i] * t
        return s

    def moved(a, b, t):
        for i in range(len(a)):
            a[i] = b[-i] * t

    def twice(f):
        return lambda xs, t: f(xs, xs, t)

    xs = numbers(60)
    compared(twice(product_of), (xs, 1.3), (0, 1))
    assert "product_of" in runs
    compared(twice(moved), (xs, 1.3), (0, 1))
    assert "moved" not in runs  # one of two names is written to


def states(x, n):
    out = []
    for i in range(n):
        x = np.sin(x) + 0.1 * i
        out.append(x)
    return out


def changed_in_place(x, n):
    out = []
    for _ in range(n):
        y = x * 1.0
        y[0] = y[0] * y[1]
        y[1:] += y[0] * 0.1
        x = y * 0.9
        out.append(y)
    return out


def written_later(x, n):
    out, v = [], np.zeros(3)
    for i in range(n):
        v[i % 3] += x[i % 3] ** 2 * v[(i + 1) % 3] + x[0]
        out.append(v.copy())
    for i in range(n):
        out[i][0] *= out[i][1]
    return out


def lists_of_vectors(x, n):
    out = []
    for i in range(n):
        row = []
        for k in range(i):
            row.append(x * k * i)
        out.append(row)
    return out, [x[0]], x * 2


def complex_states(x, n):
    out, z = [], x * (1.0 + 2.0j)
    for _ in range(n):
        z = z * z * 0.3
        out.append(z)
    return out


def no_states(x, n):
    out = []
    for i in range(n):
        if x[0] > 5:
            out.append(x * i)
    return out


def vectors_in_two_places(x, n):
    out = []
    for i in range(n):
        y = x * i
        out.append(y)
        out.append(y)
    return out


ARRAYS = [states, changed_in_place, written_later, lists_of_vectors, complex_states, no_states]


@pytest.mark.parametrize("f", [*ARRAYS, vectors_in_two_places])
def test_lists_of_arrays_as_results(
    f: Callable, programs: list[Structured], monkeypatch: pytest.MonkeyPatch
) -> None:
    def total(r):
        if isinstance(r, (list, tuple)):
            return sum(total(y) * (1.0 + 0.1 * j) for j, y in enumerate(r))
        return np.sum(np.abs(r) ** 2)

    def loss(x):
        r = f(x, 8)
        if f in (states, changed_in_place, vectors_in_two_places):
            r[2][0] *= 2.0  # they are the user's
            r[3] *= 1.5
        return total(r) + total(x)

    for x in (np.array([0.3, 0.7, -0.2]), np.array([0.3, 0.7, -0.2], np.float32)):
        monkeypatch.setattr(Settings, "enabled", False)
        expected = value_and_gradient(loss, x)
        monkeypatch.setattr(Settings, "enabled", True)
        for _ in range(3):
            found = value_and_gradient(loss, x)
            rtol = 1e-11 if x.dtype == np.float64 else 1e-4
            np.testing.assert_allclose(found[0], expected[0], rtol=rtol)
            np.testing.assert_allclose(found[1], expected[1], rtol=rtol)
            assert found[1].dtype == x.dtype
    if f in (states, changed_in_place, written_later):
        program = next(p for p in programs if p.name == f.__name__)
        assert program.native is not None
        assert not program.native.why


def test_sums_of_integers(machine: Callable) -> None:
    def counted(rows, t):
        s = 0
        for r in rows:
            s += sum(r) * t + sum([x > 3 for x in r])
        return s

    machine(counted, ([[int(x) for x in rng.integers(0, 9, 3)] for _ in range(30)], 1.3), (1,))
