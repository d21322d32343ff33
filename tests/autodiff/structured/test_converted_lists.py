"""Lists as arguments are converted once; what has changed in them is converted again."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import autodiff
from autodiff.structured import argument_forms
from autodiff.structured.list_arguments import ListArgument
from tests.helpers import forget_decisions

N = 60


def read(t: Any, xs: Any) -> Any:
    s = 0.0
    for k, x in enumerate(xs):
        s = s * 0.9 + t * k
        if x is not None:
            s = s + t * t * x
    return s


def read_rows(t: Any, rows: Any) -> Any:
    s = 0.0
    for x, y in rows:
        s = s * 0.9 + (t if y is None else t * y) * x
    return s


def read_nested(t: Any, rows: Any) -> Any:
    s = 0.0
    for row in rows:
        s = s * 0.9
        for x in row:
            s = s * 0.5 + t * x
    return s


def read_dicts(t: Any, rows: Any) -> Any:
    s = 0.0
    for row in rows:
        s = s * 0.9 + (t if row["kind"] == "a" else t * t) * row["x"]
    return s


def put(*place: Any) -> Callable:
    *outer, last, value = place

    def change(xs: Any) -> None:
        for k in outer:
            xs = xs[k]
        xs[last] = value

    return change


def moves_an_item(rows: Any) -> None:
    rows[3].insert(0, rows[2].pop())  # all items in a row are the same as before


def other_order(rows: Any) -> None:
    rows[5] = dict(reversed(rows[5].items()))
    rows[5]["x"] = -2.0


NUMBERS = [0.1 * k for k in range(N)]
CASES: dict[str, tuple[Callable, Any, list[Callable]]] = {
    "numbers": (
        read,
        NUMBERS,
        [put(3, 9.0), put(0, -0.0), put(7, None), put(7, 2), put(7, True), list.reverse, list.pop,
         lambda xs: xs.append(4.5), list.clear],
    ),
    "integers": (read, list(range(N)), [put(3, 9), put(1, True), put(1, 1.0), put(4, 10**30)]),
    "rows": (
        read_rows,
        [(0.1 * k, None if k % 3 else k) for k in range(N)],
        [put(3, (9.0, 2)), put(3, (9.0, None)), list.reverse, lambda xs: xs.insert(2, (1.5, 3))],
    ),
    "nested": (
        read_nested,
        [[0.1 * k, 0.2 * k, float(k)] for k in range(N)],
        [put(3, 1, 9.0), moves_an_item, put(4, [1.0]), lambda xs: xs[8].clear(),
         lambda xs: xs.__setitem__(9, xs[10]), put(10, 0, -7.0)],
    ),
    "dicts": (
        read_dicts,
        [{"kind": "ab"[k % 2], "x": 0.3 * k} for k in range(N)],
        [put(3, "x", 9.0), put(4, "kind", "b"), other_order, put(6, {"kind": "a", "x": 1.0}),
         put(7, "y", 2.0)],
    ),
}  # fmt: skip
TIERS: dict[str, Callable] = {
    "as called": lambda f: f,
    "compiled": autodiff.compile,
    "compiled to source": lambda f: autodiff.compile(f, backend="python"),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", CASES)
def test_changes_between_calls(name: str, tier: str) -> None:
    f, xs, changes = CASES[name]
    xs = copy.deepcopy(xs)
    called = TIERS[tier](lambda t, xs: autodiff.value_and_gradient(f, t, xs, argnums=0))
    h = 1e-6
    for change in [None, *changes]:
        if change is not None:
            change(xs)
        for _ in range(3):
            y, slope = called(0.7, xs)
            assert repr(y) == repr(f(0.7, xs))
            expected = (f(0.7 + h, xs) - f(0.7 - h, xs)) / (2 * h)
            assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_the_same_list_is_converted_once(
    name: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, xs, _ = CASES[name]
    made: list[Any] = []
    original = argument_forms.ListArgument.__init__

    def noted(self: Any, *given: Any) -> None:
        made.append(self)
        original(self, *given)

    monkeypatch.setattr(argument_forms.ListArgument, "__init__", noted)
    autodiff.gradient(f, 0.7, xs, argnums=0)
    n = len(made)
    for t in (0.3, 0.4):
        autodiff.gradient(f, t, xs, argnums=0)
    assert len(made) == n <= 4
    assert f.__name__ in runs


def test_a_list_that_the_function_changes(runs: list[str]) -> None:
    def doubled(t: Any, xs: list) -> Any:
        s = 0.0
        for k in range(len(xs)):
            xs[k] = xs[k] * 2.0
            s = s + t * xs[k]
        return s

    xs = [1.0] * N
    for k in range(1, 5):
        assert autodiff.gradient(doubled, 0.5, xs, argnums=0) == pytest.approx(N * 2.0**k)
        assert xs == [2.0**k] * N
    assert "doubled" in runs


def test_traced_items_are_not_kept() -> None:
    def loss(t: Any) -> Any:
        return read(t, [t * k for k in range(N)])

    forget_decisions()
    for _ in range(2):
        autodiff.gradient(loss, 0.7)
    found = [known.made for known in argument_forms._converted.values()]
    assert not any(x.tapes for x in found if isinstance(x, ListArgument))


def test_the_last_lists_are_kept() -> None:
    for k in range(2 * argument_forms._MOST_CONVERTED):
        autodiff.gradient(read, 0.7, [float(k)] * N, argnums=0)
    assert len(argument_forms._converted) <= argument_forms._MOST_CONVERTED
