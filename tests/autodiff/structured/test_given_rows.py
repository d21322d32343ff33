"""Lists of tuples of integers and floats as arguments: a list for each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import differences

ROWS = [(k % 5, (3 * k + 1) % 5, 0.1 * k + 0.3) for k in range(20)]
NESTED = [[(k % 5, 0.2 * k + 0.1 * j) for j in range(k % 4)] for k in range(25)]
X = np.array([0.4, 1.2, -0.7, 0.9, 0.3])


def edges(x: Any, rows: Any) -> Any:
    total = 0.0
    for i, j, w in rows:
        total = total + w * np.sin(x[i] - x[j])
    for k, row in enumerate(rows):
        total = total + row[2] * x[rows[k - 1][0]] * k
    for (i, _, w), y in zip(rows, x, strict=False):
        total = total * 0.9 + w * x[i] * y
    return total + len(rows) if rows else total


def seen(x: Any, nested: Any) -> Any:
    places, total = {}, 0.0
    for k, row in enumerate(nested):
        if not row:
            continue
        for i, w in row:
            if i in places:
                total = total + (places[i] - w * x[i]) ** 2
            places[i] = x[i] * x[(i + k) % 5]
        total = total + len(row) * nested[k][0][1]
    return total


def chosen(x: Any, rows: Any) -> Any:
    first = rows[0] if x[0] > 0.0 else rows[1]
    total = first[2] * x[first[1]]
    for row in rows:
        first = row if row[0] > first[0] else first
        total = total + first[2] * x[first[1]]
    return total


@pytest.mark.parametrize(
    "f, rows",
    [(edges, ROWS), (edges, tuple(ROWS)), (seen, NESTED), (chosen, ROWS)],
    ids=["edges", "a tuple", "nested", "chosen"],
)
def test_rows(f: Callable, rows: Any, runs: list[str], check_with_machine_code: Callable) -> None:
    check_with_machine_code(lambda x: f(x, rows), X)
    assert f.__name__ in runs
    np.testing.assert_allclose(
        gradient(lambda x: f(x, rows), X), differences(lambda x: f(x, rows), X), rtol=1e-6
    )


def test_rows_that_are_differentiated(runs: list[str], traced: Callable) -> None:
    found = gradient(lambda rows: edges(X, rows), ROWS)
    assert "edges" in runs
    expected = traced(lambda rows: edges(X, rows), ROWS)
    assert type(found) is list
    assert {type(row) for row in found} == {tuple}
    for row, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(row[2], other[2], rtol=1e-12)


def changed(x: Any, rows: Any) -> Any:
    rows.append((0, 1, 2.0))
    return edges(x, rows)


def sliced(x: Any, rows: Any) -> Any:
    total = edges(x, rows[1:] + rows[:1])
    for row in sorted(rows, key=lambda row: row[2]):
        total = total * 0.5 + row[2] * x[row[0]]
    return total


def as_array(x: Any, rows: Any) -> Any:
    total = np.sum(np.array(rows)[:, 2] * x[0])
    for row in rows:
        total = total + (row in rows) * x[row[0]]
    return total


@pytest.mark.parametrize("f", [changed, sliced, as_array], ids=lambda f: f.__name__)
def test_what_is_done_with_rows_besides(f: Callable) -> None:
    rows = list(ROWS)
    found = gradient(lambda x: f(x, rows), X)
    np.testing.assert_allclose(
        found, differences(lambda x: f(x, list(ROWS)), X), rtol=1e-6, atol=1e-8
    )
    assert rows == (ROWS if f is not changed else [*ROWS, (0, 1, 2.0)])
