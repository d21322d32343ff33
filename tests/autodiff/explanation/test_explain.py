"""explain: the tree of calls, where derivatives become zero, and the files it writes."""

from __future__ import annotations

import math
import sys
import tracemalloc
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import checkpoint, cotangent_hook, custom_gradient, explain, ignore_derivatives
from autodiff.explanation.report import as_rich_text

X = np.array([4.0, 0.5, 1.0])


def helper(x: Any, k: Any) -> Any:
    return np.sin(x) * k


def kinds(f: Callable, *args: Any) -> list[tuple[str, str]]:
    calls = [*explain(f, *args, memory=False).calls()][1:]
    return [(c.name.replace(f"{helper.__module__}.", ""), c.kind) for c in calls]


@custom_gradient
def doubled(x: Any) -> Any:
    return 2 * x, lambda y_bar: 2 * y_bar


def writes(x: Any) -> Any:
    out = np.zeros(3)
    out[1:] = x[1:]
    return np.sum(out)


@pytest.mark.parametrize(
    "f, expected",
    [
        (np.sum, [("numpy.sum", "rule")]),
        (lambda x: np.sum(np.sin(x)), [("numpy.sin", "elementwise"), ("numpy.sum", "rule")]),
        (
            lambda x: np.sum(helper(x, 2.0)),
            [
                ("helper", "traced"), ("numpy.sin", "elementwise"), ("operator.mul", "elementwise"),
                ("numpy.sum", "rule"),
            ],
        ),
        (
            lambda x: x[np.argmax(x)],
            [("numpy.argmax", "constant"), ("operator.getitem", "rule")],
        ),
        (
            lambda x: np.sum(x * ignore_derivatives(x)),
            [
                ("ignore_derivatives", "constant"), ("operator.mul", "elementwise"),
                ("numpy.sum", "rule"),
            ],
        ),
        (
            lambda x: np.sum(checkpoint(helper)(x, 2.0)),
            [("checkpoint(helper)", "checkpoint"), ("numpy.sum", "rule")],
        ),
        (
            lambda x: np.sum(cotangent_hook(doubled(x), lambda g: None)),
            [("doubled", "rule"), ("cotangent_hook", "rule"), ("numpy.sum", "rule")],
        ),
        (
            writes,
            [("operator.getitem", "rule"), ("item assignment", "write"), ("numpy.sum", "rule")],
        ),
    ],
)  # fmt: skip
def test_the_tree(f: Callable, expected: list) -> None:
    assert kinds(f, X) == expected


def test_two_calls_of_a_function_are_two() -> None:
    result = explain(lambda x: np.sum(sum([helper(x, k) for k in (1.0, 2.0)])), X, memory=False)
    names = [c.name for c in result.root.children]
    assert names.count("helper") == 2
    assert [len(c.children) for c in result.root.children if c.name == "helper"] == [2, 2]


def test_floats_and_loops() -> None:
    def f(x: float) -> float:
        for _ in range(3):
            x = math.sin(x) * 2.0
        return x

    assert kinds(f, 0.3) == [("math.sin", "elementwise"), ("operator.mul", "elementwise")] * 3


def test_what_a_call_says_of_itself() -> None:
    call = explain(lambda x: np.sum(helper(x, 2.0)), X).root.children[0].children[1]
    assert call.inputs == ["float64[3]", "2.0"]
    assert call.output == "float64[3]"
    assert call.where.startswith("test_explain.py:")
    assert call.seconds > 0
    assert call.back_seconds > 0
    assert call.cotangent == "nonzero"


def test_memory_is_that_of_the_arrays() -> None:
    big = np.ones(100_000)
    result = explain(lambda x: np.sum(np.exp(x)), big)
    exp = result.root.children[0]
    assert 800_000 <= exp.bytes < 900_000
    assert not tracemalloc.is_tracing()
    assert "800 kB" in result.text()


@pytest.mark.parametrize(
    "f, args, says",
    [
        (lambda x: x[np.argmax(x)], (X,), "numpy.argmax .* is constant: whole numbers"),
        (lambda x: np.sum(np.round(x)) + x[0], (X,), "is constant: it is piecewise constant"),
        (lambda x: np.sum(x * ignore_derivatives(x)), (X,), "ignored on request"),
        (lambda x: x * int(x), (2.5,), r"int .* is constant: whole numbers"),
        (lambda x, y: np.sum(x), (X, X), "y has a zero gradient: no call that is differentiated"),
        (lambda x, y: np.sum(x) * np.argmax(y), (X, X), "y has a zero .*: only constant calls"),
        (lambda p: p["a"] * 2.0, ({"a": 1.0, "b": [2.0]},), r"p\['b'\]\[0\] has a zero gradient"),
        (lambda x: [np.exp(x), np.sum(x)][1], (X,), "numpy.exp .* gets no cotangent"),
        (lambda x: np.sum(np.sin(x) * 0.0), (X,), "operator.mul .* hands a a zero"),
        (lambda x: np.sum(np.maximum(x, 10.0)), (X,), "numpy.maximum .* hands x1 a zero"),
    ],
)
def test_why_a_derivative_is_zero(f: Callable, args: tuple, says: str) -> None:
    import re

    reasons = explain(f, *args, memory=False).zeros
    assert any(re.search(says, reason) for reason in reasons), reasons


def test_nothing_to_say_where_nothing_is_zero() -> None:
    assert explain(lambda x: np.sum(np.sin(x)), X, memory=False).zeros == []


def test_outputs_of_any_nesting() -> None:
    result = explain(lambda x: {"a": np.sin(x), "b": (x[0], "text", 3)}, X, memory=False)
    assert {c.cotangent for c in result.calls() if c.is_recorded} == {"nonzero"}


def test_complex_and_several_parts() -> None:
    result = explain(lambda a: np.linalg.eigh(a)[0][0], np.diag(X) + 0j, memory=False)
    assert any("eigh" in c.name for c in result.calls())


def test_a_gradient_inside_is_one_level() -> None:
    result = explain(
        lambda x: np.sum(autodiff.gradient(lambda z: np.sum(z**3), x)), X, memory=False
    )
    names = [c.name for c in result.calls() if c.cotangent == "nonzero"]
    assert names[-1] == "numpy.sum"
    assert "operator.mul" in names


# -- what it looks like ---------------------------------------------------------------------------


@pytest.fixture
def example() -> autodiff.Explanation:
    def loss(x: Any, y: Any) -> Any:
        best = np.argmax(x)
        return np.sum(helper(x, 2.0)) * best

    return explain(loss, X, X)


def test_plain_text(example: autodiff.Explanation) -> None:
    lines = str(example).splitlines()
    assert lines[0].startswith(
        "test_explain.example.<locals>.loss(float64[3], float64[3]) → float64"
    ) or ("loss(float64[3], float64[3]) → float64" in lines[0])
    assert lines[1].startswith("├─ numpy.argmax  [constant]  (float64[3]) → int64")
    assert lines[2].startswith("├─ helper  [traced]")
    assert lines[3].startswith("│  ├─ numpy.sin  [elementwise]")
    assert "Where derivatives become zero:" in lines
    assert repr(example).endswith("4 recorded calls>")


def test_long_trees_are_cut() -> None:
    def f(x: Any, n: int) -> Any:
        return x if n == 0 else f(x * 1.01, n - 1)

    text = explain(f, 1.0, 60, argnums=0, memory=False).text(most=50)
    assert len(text.split("\n\n")[0].splitlines()) == 52
    assert "more calls" in text


def test_deep_recursion() -> None:
    def f(x: Any, n: int) -> Any:
        return x if n == 0 else f(x * 1.01, n - 1)

    result = explain(f, 1.0, 100, argnums=0, memory=False)
    assert sum(c.is_recorded for c in result.calls()) == 100
    assert result._repr_html_().count("<details") == 50 + 3  # the tables and the flame graph
    assert len(result.text(most=None).splitlines()) >= 200
    pytest.importorskip("rich")
    assert as_rich_text(result)


def test_equal_calls_in_a_row_are_one_line() -> None:
    def f(x: Any) -> Any:
        for _ in range(300):
            x = x * 1.01
        return x

    assert "operator.mul ×300" in explain(f, 1.0, memory=False).text()


def test_rich_tree(example: autodiff.Explanation) -> None:
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(example)
    text = console.export_text()
    assert "numpy.argmax" in text
    assert "Where derivatives become zero" in text


def test_in_a_terminal_it_is_coloured(
    example: autodiff.Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "\x1b[" in str(example)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert "\x1b[" not in str(example)


@pytest.mark.parametrize("name", ["tape.svg", "page.html", "tree.txt"])
def test_files(name: str, example: autodiff.Explanation, tmp_path: Path) -> None:
    path = example.save(tmp_path / name)
    text = path.read_text("utf-8")
    assert "argmax" in text
    assert "helper" in text or name == "tape.svg"
    assert ("<svg" in text) == (name != "tree.txt")


def test_the_svg_is_well_formed(example: autodiff.Explanation) -> None:
    root = ElementTree.fromstring(example.svg())
    space = "{http://www.w3.org/2000/svg}"
    titles = [g.find(f"{space}title").text.splitlines()[0] for g in root.findall(f"{space}g")]
    assert titles == [
        "x", "y", "numpy.argmax", "numpy.sin", "operator.mul", "numpy.sum", "operator.mul",
    ]  # fmt: skip
    assert len(root.findall(f"{space}path")) == 5
    assert "1 more calls are not drawn" in example.svg(most=6)
    assert " µs" in example.svg()
    assert " µs" not in example.svg(times=False)


def test_the_flame_graph_is_well_formed(example: autodiff.Explanation) -> None:
    space = "{http://www.w3.org/2000/svg}"
    boxes = ElementTree.fromstring(example.flame()).findall(f"{space}g/{space}rect")
    assert len(boxes) >= 2
    whole, *others = [(float(b.get("x")), float(b.get("width"))) for b in boxes]
    assert all(x >= 0 and x + width <= whole[0] + whole[1] + 1 for x, width in others)


def test_in_a_notebook(example: autodiff.Explanation) -> None:
    html = example._repr_html_()
    assert html.count("<details") == 1 + 3  # the tables and the flame graph
    assert "<script" not in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "&lt;locals&gt;" in html


def test_other_endings_are_refused(example: autodiff.Explanation, tmp_path: Path) -> None:
    with pytest.raises(autodiff.ArgumentError, match=r"not '.png': tape.svg"):
        example.save(tmp_path / "tape.png")


def test_nothing_to_differentiate() -> None:
    with pytest.raises(autodiff.ArgumentError, match="nothing to differentiate"):
        explain(lambda s: s, "text")
    assert not tracemalloc.is_tracing()


def test_an_error_of_the_function_is_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        explain(lambda x: x / 0, 1.0)
    assert autodiff.gradient(lambda x: x * x, 3.0) == 6.0
