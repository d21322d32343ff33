"""The profile of explain: rows, totals by line and by function, and long loops folded."""

from __future__ import annotations

import sys
import warnings
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

from autodiff.explanation import Explanation, explain

X = np.linspace(0.1, 1.0, 5)


def scaled(x: Any, k: float) -> Any:
    return np.sin(x) * k


def loss(x: Any) -> Any:
    total = np.zeros(5)
    for i in range(4):
        total = total + scaled(x, float(i))
    return np.sum(total)


def line_of(f: Any, offset: int) -> str:
    return f"test_totals.py:{f.__code__.co_firstlineno + offset}"


@pytest.fixture(scope="module")
def report() -> Explanation:
    return explain(loss, X)


@pytest.fixture(scope="module")
def long_loop() -> Explanation:
    def turns(x: Any) -> Any:
        for _ in range(1500):
            x = x * 0.999
        return np.sum(x)

    return explain(turns, X, memory=False)


def test_calls_repeated_from_a_line_are_one_row(report: Explanation) -> None:
    rows = report.tree.children
    assert [(row.name, row.count) for row in rows] == [
        ("scaled", 4), ("operator.add", 4), ("numpy.sum", 1),
    ]  # fmt: skip
    inner = rows[0].children
    assert [(row.name, row.count) for row in inner] == [("numpy.sin", 4), ("operator.mul", 4)]
    assert inner[0].inputs == ["float64[5]"]
    assert inner[1].inputs == ["float64[5]", "…"]
    assert inner[1].where == line_of(scaled, 1)
    for row in (*rows, *inner):
        assert 0 <= row.least <= row.total / row.count <= row.most + row.own_seconds + 1e-9


def test_rows_add_up(report: Explanation) -> None:
    for row in (report.tree, report.tree.children[0]):
        parts = sum(child.seconds for child in row.children)
        assert row.seconds == pytest.approx(row.own_seconds + parts)
        parts = sum(child.back_seconds for child in row.children)
        assert row.back_seconds == pytest.approx(row.own_back_seconds + parts)


@pytest.mark.parametrize("name", ["lines", "functions"])
def test_totals_add_up_to_the_whole(report: Explanation, name: str) -> None:
    totals = getattr(report, name)
    forward, backward = report.seconds
    assert sum(t.seconds for t in totals) == pytest.approx(forward)
    assert sum(t.back_seconds for t in totals) == pytest.approx(backward)
    assert [t.total for t in totals] == sorted((t.total for t in totals), reverse=True)


def test_totals_by_line(report: Explanation) -> None:
    found = {total.name: total for total in report.lines}
    assert found[line_of(scaled, 1)].count == 4
    assert found[line_of(scaled, 1)].kind == "scaled"
    assert found[line_of(loss, 3)].count == 4
    assert found[line_of(loss, 4)].count == 1
    assert found[line_of(scaled, 1)].back_seconds > 0
    assert found[line_of(loss, 1)].back_seconds == 0  # nothing on it is recorded
    assert found[line_of(scaled, 1)].bytes > 0
    ours = {line_of(loss, i) for i in range(1, 5)} | {line_of(scaled, 1), "(the engine)"}
    assert found.keys() == ours


def test_totals_by_function(report: Explanation) -> None:
    found = {(total.name, total.kind): total.count for total in report.functions}
    assert found[("numpy.sin", "elementwise")] == 4
    assert found[("scaled", "traced")] == 4
    assert found[("numpy.sum", "rule")] == 1


def test_calls_without_derivative_are_their_lines_own() -> None:
    def f(x: Any) -> Any:
        k = np.linalg.svd(np.ones((60, 60)))[1][0]
        return np.sum(x) * k

    result = explain(f, X, memory=False)
    assert [row.name for row in result.tree.children] == ["numpy.sum", "operator.mul"]
    first = next(total for total in result.lines if total.name == line_of(f, 1))
    own = next(total for total in result.functions if total.kind == "traced")
    assert own.seconds >= first.seconds > 0


def test_the_calls_of_a_line_take_no_longer_than_the_line(report: Explanation) -> None:
    lines = {total.name: total for total in report.lines}
    for where in {call.where for call in report.root.measured()}:
        calls = [call for call in report.root.measured() if call.where == where]
        assert sum(c.seconds for c in calls) <= lines[where].seconds + 1e-9
        assert sum(c.back_seconds for c in calls) <= lines[where].back_seconds + 1e-9


def test_a_long_loop_is_short(long_loop: Explanation) -> None:
    assert [(r.name, r.count) for r in long_loop.tree.children] == [
        ("operator.mul", 1500), ("numpy.sum", 1),
    ]  # fmt: skip
    assert len(long_loop.text(most=None)) < 4_000
    assert len(long_loop._repr_html_()) < 10_000
    assert len(long_loop.flame()) < 4_000


def test_the_drawing_of_a_long_loop_is_folded(long_loop: Explanation) -> None:
    drawing = long_loop.svg()
    ElementTree.fromstring(drawing)
    assert "mul ×1500" in drawing
    assert "Repeated calls from one line are drawn as one." in drawing
    assert len(drawing) < 5_000


def test_blocks_of_elementwise_nodes_share_their_time() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        return np.sum(np.sin(y))

    result = explain(f, np.ones(200_000), memory=False)
    assert all(row.back_seconds > 0 for row in result.tree.children)


def test_plain_numbers_share_the_sweep() -> None:
    def f(x: float) -> float:
        for _ in range(4):
            x = x * x
        return x

    found = {total.name: total for total in explain(f, 1.1, memory=False).lines}
    assert found[line_of(f, 2)].back_seconds > 0


def test_a_function_of_several_outputs_and_keywords() -> None:
    def f(x: Any, power: int = 1) -> Any:
        return x**power, np.sum(x)

    result = explain(f, X, power=3)
    assert result.ordinary == sum(result.seconds)
    assert {row.name for row in result.tree.children} == {"operator.pow", "numpy.sum"}


def test_a_debugger_is_put_back() -> None:
    before = sys.gettrace()

    def nothing(frame: Any, event: str, value: Any) -> None:
        return None

    sys.settrace(nothing)
    try:
        explain(loss, X, memory=False)
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert after is nothing


def test_a_warning_is_given_once() -> None:
    def f(x: float) -> float:
        warnings.warn("of the function", stacklevel=1)
        return x * x

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        explain(f, 0.7, memory=False)
    assert len(given) == 1


def test_an_output_that_depends_on_nothing() -> None:
    result = explain(lambda x: 2.0, 0.7, memory=False)
    assert result.tree.children == []
    assert result.zeros == ["x has a zero gradient: no call that is differentiated uses it"]
