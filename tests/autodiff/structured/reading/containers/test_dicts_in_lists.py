"""Dicts in lists, as programs: compared with traces, and refused where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient

X = np.array([0.3, -0.7, 0.5, 1.2])


def springs(x: Any) -> Any:
    bodies = [{"x": x[i], "v": 0.1 * i, "mass": 1.0 + x[i] ** 2} for i in range(len(x))]
    for _ in range(5):
        for i in range(len(bodies) - 1):
            a, b = bodies[i], bodies[i + 1]
            pull = 0.1 * (b["x"] - a["x"] - 0.2)
            a["v"] += pull / a["mass"]
            b["v"] -= pull / b["mass"]
        for body in bodies:
            body["x"] += 0.3 * body["v"]
    return sum(b["x"] ** 2 for b in bodies)


def lists_and_arrays_in_dicts(x: Any) -> Any:
    layers = [{"w": x * (i + 1), "b": [x[0], x[i]], "used": 0} for i in range(3)]
    h = np.ones(4)
    for turn in range(6):
        layer = layers[turn % 3]
        layer["used"] += 1
        h = np.tanh(layer["w"] * h + layer["b"][0] * layer["b"][1])
        layer["b"][1] = layer["b"][1] * 0.5 + h[0]
        layer["w"] *= 0.9
        layer["w"] = layer["w"] + h * layer["used"]
    return np.sum(h) + layers[1]["b"][1] + np.sum(layers[2]["w"])


def rows_that_are_appended(x: Any) -> Any:
    history = []
    level = x[0]
    for t in range(7):
        level = level + 0.1 * np.sin(level) * x[t % 4]
        history.append({"t": t, "level": level, "state": x * level})
    best = max(history, key=lambda row: row["level"])
    return best["level"] + history[-1]["level"] * np.sum(history[3]["state"])


def displayed(x: Any) -> Any:
    pair = [{"p": x[0], "q": [x[1], 1.0]}, {"p": x[2], "q": [x[3], 2.0]}]
    for k in range(4):
        for part in pair:
            part["p"] = part["p"] * 0.5 + part["q"][k % 2]
            part["q"][0] -= 0.1 * part["p"]
    return pair[0]["p"] * pair[1]["p"] + pair[1]["q"][0]


def dicts_in_dicts(x: Any) -> Any:
    nodes = []
    for i in range(4):
        nodes.append({"left": {"w": x[i], "n": i}, "sum": 0.0})
    for node in nodes:
        node["left"]["w"] *= 2.0
        node["sum"] = node["sum"] + node["left"]["w"] * node["left"]["n"]
    return sum(node["sum"] ** 2 for node in nodes)


KERNELS = (springs, lists_and_arrays_in_dicts, rows_that_are_appended, displayed, dicts_in_dicts)


@pytest.mark.parametrize("kernel", KERNELS)
def test_dicts(kernel: Callable, runs: list[str], traced: Callable) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-12)
    assert kernel.__name__ in runs


def with_a_name(x: Any) -> Any:
    first = {"x": x[0]}
    rows = [{"x": x[1]}]
    rows.append(first)
    for row in rows:
        row["x"] *= 2.0
    return first["x"] + rows[0]["x"]


def an_own_list_in_it(x: Any) -> Any:
    own = [x[0], x[1]]
    rows = []
    for _ in range(2):
        rows.append({"own": own})
    rows[0]["own"][1] *= 3.0
    return rows[1]["own"][1] + own[1]


def a_new_key(x: Any) -> Any:
    rows = [{"x": v} for v in x]
    for row in rows:
        row["y"] = row["x"] ** 2
    return rows[2]["y"]


@pytest.mark.parametrize("kernel", [with_a_name, an_own_list_in_it, a_new_key])
def test_refused(kernel: Callable, runs: list[str], traced: Callable) -> None:
    np.testing.assert_array_equal(gradient(kernel, X), traced(kernel, X))


def of_other_keys(x: Any) -> Any:
    rows = []
    for i in range(3):
        if i == 1:
            rows.append({"x": x[i], "y": x[0]})
        else:
            rows.append({"x": x[i]})
    total = 0.0
    for row in rows:
        if len(row) == 2:
            total += row["y"] * row["x"]
    return total


def test_other_keys(traced: Callable) -> None:
    np.testing.assert_array_equal(gradient(of_other_keys, X), traced(of_other_keys, X))
