"""Lists in which some numbers are None: arguments, from outside, and those that grow."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient
from tests.helpers import differences

X = np.array([0.4, 1.2, -0.7, 0.9, 0.3])
SEEN = [None if k % 4 == 1 else math.sin(k) for k in range(90)]
COUNTS = [None if k % 7 == 2 else k % 5 for k in range(90)]
FEW = [0.5, None, 0.25, 1.5]
ROWS = [(0.1 * k, None if k % 3 == 0 else math.cos(k), "ab"[k % 2]) for k in range(80)]


def likelihood(y: Any, mean: Any, scale: Any = None) -> Any:
    if y is None:
        return 0.0
    return (y - mean) ** 2 * (1.0 if scale is None else scale)


def smoothed(x: Any) -> Any:
    level, total = x[0], 0.0
    for k, y in enumerate(SEEN):
        total += likelihood(y, level, x[3])
        if y is None:
            level = level * x[1]
            continue
        level = level + 0.1 * x[4] * (y - level)
        n = COUNTS[k]
        total += 0.0 if n is None else x[n] * y
    return total


def indexed(x: Any) -> Any:
    total, last = 0.0, None
    for k in range(len(SEEN)):
        if SEEN[k] is not None and SEEN[k] > 0.1:
            last = SEEN[k]
        if last is not None:
            total = total * 0.9 + last * x[k % 5]
        for y in FEW:
            if y:
                total += y * x[0] * 0.01
    return total


def grown(x: Any) -> Any:
    kept = []
    for k in range(30):
        kept.append(x[k % 5] * k if k % 3 else None)
        kept.append(SEEN[k])
        if kept[-1] is None:
            kept[-1] = x[2]
    return sum(y * y for y in kept if y is not None) + len(kept)


def in_rows(x: Any) -> Any:
    total = x[0]
    for t, y, kind in ROWS:
        m = x[1] if kind == "a" else x[2]
        if y is not None:
            total += (y - m * math.sin(t)) ** 2
        else:
            total *= 0.99
    return total


@pytest.mark.parametrize("f", [smoothed, indexed, grown, in_rows], ids=lambda f: f.__name__)
def test_from_outside(
    f: Callable, runs: list[str], check_sweep: Callable, check_with_machine_code: Callable
) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)
    assert f.__name__ in runs
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-5, atol=1e-8)


def given(x: Any, ys: Any, rows: Any) -> Any:
    total = 0.0
    for k, (y, (t, z)) in enumerate(zip(ys, rows, strict=True)):
        if y is not None:
            total += y * x[k % 5] * t
        if z is not None and z > 0.2:
            total += z * x[0]
    return total


def test_arguments(runs: list[str], traced: Callable) -> None:
    rows = [(0.1 * k, None if k % 5 == 0 else math.cos(k)) for k in range(90)]
    found = gradient(given, X, SEEN, rows, argnums=(0, 1, 2))
    assert "given" in runs
    expected = traced(lambda x, ys, rows: given(x, ys, rows), X, SEEN, rows)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for y, own, other in zip(SEEN, found[1], expected[1], strict=True):
        assert (own is None) is (other is None) is (y is None)
        assert y is None or own == pytest.approx(other, rel=1e-12)
    for row, own, other in zip(rows, found[2], expected[2], strict=True):
        assert own[0] == pytest.approx(other[0], rel=1e-12)
        assert row[1] is None or own[1] == pytest.approx(other[1], rel=1e-12)


def test_other_places_are_missing(runs: list[str]) -> None:
    def kernel(x: Any, ys: Any) -> Any:
        total = 0.0
        for y in ys:
            total = total * x if y is None else total + y * x
        return total

    for none in (set(), {3, 50}, {0}, set(range(60))):
        ys = [None if k in none else 0.01 * k for k in range(60)]
        expected = differences(lambda x, ys=ys: kernel(x[0], ys), np.array([0.7]))
        np.testing.assert_allclose(gradient(kernel, 0.7, ys)[0], expected[0], rtol=1e-6)
    assert len(runs) == 4


def test_an_item_that_is_missing_raises(runs: list[str]) -> None:
    def kernel(x: Any, ys: Any) -> Any:
        total = 0.0
        for y in ys:
            total += y * x
        return total

    gradient(kernel, 0.7, [0.5] * 60)
    with pytest.raises(TypeError):
        gradient(kernel, 0.7, [0.5] * 60 + [None])
    assert runs


Visit = namedtuple("Visit", ["dose", "seen", "arm"])


@dataclass
class Reading:
    dose: float
    seen: Any
    arm: str

    def weight(self, x: Any) -> Any:
        return x[1] if self.arm == "a" else x[2] * self.dose


def of_dicts(x: Any, rows: Any) -> Any:
    total = 0.0
    for row in rows:
        if row["seen"] is not None and "dose" in row:
            w = x[1] if row["arm"] == "a" else x[2] * row.get("dose")
            total += (row["seen"] - w * x[0]) ** 2
    return total + rows[3]["dose"] * x[3]


def of_objects(x: Any, rows: Any) -> Any:
    total = 0.0
    for row in rows:
        if row.seen is not None:
            w = x[1] if row.arm == "a" else x[2] * row.dose
            total += (row.seen - w * x[0]) ** 2
    return total + rows[3].dose * x[3]


def of_methods(x: Any, rows: Any) -> Any:
    total = 0.0
    for k, row in enumerate(rows):
        if rows[k].seen is not None:
            total += (row.seen - row.weight(x) * x[0]) ** 2
    return total


FIELDS = [(0.1 * k, None if k % 3 == 0 else math.cos(k), "ab"[k % 2]) for k in range(80)]


@pytest.mark.parametrize(
    "f, rows",
    [
        (of_dicts, [dict(zip(("dose", "seen", "arm"), row, strict=True)) for row in FIELDS]),
        (of_objects, [Visit(*row) for row in FIELDS]),
        (of_objects, [Reading(*row) for row in FIELDS]),
        (of_methods, [Reading(*row) for row in FIELDS]),
    ],
    ids=["dicts", "named tuples", "objects", "methods"],
)
def test_records(
    f: Callable, rows: Any, runs: list[str], check_with_machine_code: Callable
) -> None:
    check_with_machine_code(lambda x: f(x, rows), X)
    assert f.__name__ in runs
    np.testing.assert_allclose(
        compile(lambda x: gradient(lambda x: f(x, rows), x))(X),
        differences(lambda x: f(x, rows), X),
        rtol=1e-5,
    )


def test_records_that_change() -> None:
    def kernel(x: Any, rows: Any) -> Any:
        total = 0.0
        for row in rows:
            row["dose"] = row["dose"] * 2.0
            total += row["dose"] * x
        return total

    rows = [{"dose": 0.1 * k} for k in range(60)]
    for factor in (0.2, 0.4):
        found = gradient(lambda x: kernel(x, rows), 0.5)
        assert found == pytest.approx(sum(factor * k for k in range(60)))
        assert rows[3]["dose"] == pytest.approx(3 * factor)


def test_derivatives_of_records() -> None:
    rows = [{"dose": 0.1 * k, "seen": None, "arm": "a"} for k in range(60)]
    rows[7]["seen"] = 0.5
    found = gradient(lambda rows: of_dicts(X, rows), rows)
    assert list(found[7]) == ["dose", "seen", "arm"]
    assert found[7]["seen"] == pytest.approx(2.0 * (0.5 - X[1] * X[0]))
    assert found[3]["dose"] == pytest.approx(X[3])


def test_a_list_from_outside_that_changes(check_with_machine_code: Callable) -> None:
    ys = [0.5 * k for k in range(60)]

    def kernel(x: Any) -> Any:
        total = 0.0
        for k, y in enumerate(ys):
            total = total * 0.9 + (x[0] if y is None else x[k % 5] * y)
        return total

    check_with_machine_code(kernel, X)
    for k, y in ((3, 7.5), (3, 2), (7, True), (9, None), (9, 0.25)):
        ys[k] = y
        check_with_machine_code(kernel, X)
    ys.append(4.0)
    check_with_machine_code(kernel, X)
    ys[:] = [1.5] * 70
    check_with_machine_code(kernel, X)


def bound_again(x: Any) -> Any:
    y, total = SEEN[0], 0.0
    z = y
    if y is not None:
        y = SEEN[1]
        total += z * x[0]
        total += x[1] if y is None else y
    for k in range(9):
        if y is not None:
            total += y * x[2]
            y = SEEN[2 * k]
            total += y * y * x[3]
        else:
            y = SEEN[0]
    return total * x[4] + (0.0 if y is None else y)


def test_what_a_test_has_shown_ends_with_the_next_binding(
    runs: list[str], check_with_machine_code: Callable
) -> None:
    check_with_machine_code(bound_again, X)
    np.testing.assert_allclose(
        gradient(bound_again, X), differences(bound_again, X), rtol=1e-6, atol=1e-9
    )
    assert runs
