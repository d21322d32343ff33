"""Programs read lists, shapes and statements as people write them: compared with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5, 1.2])


def lists_put_together(x: Any) -> Any:
    rows = [[x[i] * j + (2.0 if i == j else 0.0) for j in range(3)] + [x[i]] for i in range(3)]
    grown = []
    for v in x:
        grown.append(v * v)
    grown = [x[0], 1.0] + grown + [x[3]]  # noqa: RUF005 - it is what is tested
    for i in range(3):
        for j in range(4):
            rows[i][j] -= rows[0][j] * grown[i]
    both = (x[1], x[2]) + (0.5,)  # noqa: RUF005
    return sum(map_sum(row) for row in rows) + both[-1] * sum(grown) + both[0]


def map_sum(row: Any) -> Any:
    total = 0.0
    for v in row:
        total += v * v
    return total


def weights_in_a_list(x: Any) -> Any:
    w = [0.5, 2.0, 1.5]
    ends = (x[0], x[3])
    total = 0.0
    for i in range(3):
        total += w[i] * x[i] * ends[i % 2] + w[-1 - i] * w[1:][1] + w[:2][0]
    return total


def slices_of_lists(x: Any) -> Any:
    xs = []
    total = 0.0
    for k, v in enumerate(x):
        xs.append(v * v)
        xs = xs[::-1]
        total += sum(xs[1:]) + sum(xs[-2:]) * k + sum(xs[k:-1:2]) + len(xs[:k])
    copied = list(xs)
    copied[0] = 5.0 * x[1]
    for a, b in zip(xs[1:], xs[:-1], strict=True):
        total += a * b
    return total + xs[0] * copied[0]


def extrema(x: Any) -> Any:
    total = 0.0
    m = np.outer(x, x) + np.eye(len(x))
    for i in range(3):
        p = max(range(i, len(x)), key=lambda r: abs(m[r, i]))
        total += m[p, i] * max(x) + min(v * v for v in x[i:])
        total += max([abs(v) for v in m[i]]) + min(x[i], 0.2) * max((x[0], x[i]))
        best = min(x, key=lambda v: (v - 0.44) ** 2)
        total += best * max([x[1], x[i]], key=abs) * max(m[i], key=np.sin)
    return total


def walrus(x: Any) -> Any:
    total = 0.0
    for v in x:
        if (w := v * v) > 0.2:
            total += w
        total += w * 0.5
    return total + (y := x[0]) * y


def walrus_in_a_comprehension(x: Any) -> Any:
    last = 0.0
    total = 0.0
    for _ in range(2):
        total += sum([(last := v * v) for v in x])
    return total * last


def loops_with_else(x: Any) -> Any:
    total = 0.0
    for v in x:
        if v > 1.0:
            total += v
            break
        total += v * v
    else:
        total = 0.0
    for v in x:
        if v > 2.0:
            break
    else:
        total *= 2.0
    n = 0
    while n < 3:
        n += 1
        if n > 5:
            break
    else:
        total += x[n]
    for v in x:
        total += 0.1 * v
    else:
        total += x[1]
    return total


def jumps_out_of_else(x: Any) -> Any:
    def searched(row: Any, limit: Any) -> Any:
        total = 0.0
        for v in row:
            for w in x:
                if v * w > limit:
                    total += v
                    break
                total += 0.1 * w
            else:
                if v > 0:
                    total += v * v
                    continue
                total -= v
                break
            total *= 1.5
        else:
            for w in row:
                if w > 5.0:
                    break
            else:
                return total * 2.0
        for v in row:
            if v < -2.0:
                return v
        else:
            total += row[0]
        return total

    return sum(searched(x[k:], 0.1 + 0.2 * k) + searched(x, 3.0) * k for k in range(3))


def powers_of_integers(x: Any) -> Any:
    total = 0.0
    for k in range(4):
        total += x[k] / 2**k + x[k] * k**2
    return total


def dict_of_integers(x: Any) -> Any:
    steps = {1: x[0], 2: x[1] * 2.0, -1: 0.5}
    total = 0.0
    for k in range(3):
        total += steps[1] * k + steps[2] * steps[-1]
    for k, v in steps.items():
        total += k * v
    return total


def other_shapes(x: Any) -> Any:
    total = 0.0
    n = len(x)
    for k in range(1, 3):
        m = np.outer(x, x * k).reshape(2, -1)
        m = m.reshape((n, n)) @ np.reshape(x, (n, 1))
        total += np.sum(m.ravel() * x) + m.flatten()[k]
        total += np.sum(np.eye(n).ravel().reshape(n, n) @ x)
    return total


def methods_of_arrays(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        m = np.outer(x, x + k)
        total += m[x.argmax(), (x * k).argmin()] + m.trace() + (x.clip(-0.5, 0.8) * x).sum()
        total += m.diagonal()[k] * x.repeat(2)[k] + x.cumprod()[k]
        if (x > -1).all() and (x > 1).any():
            total += x[0] * k
    return total


def lists_beside_arrays(x: Any) -> Any:
    rows, grown, total = np.outer(x, x), [x[0]], 0.0
    gray = np.dot(rows[:, :3], [0.3, 0.6, 0.1])
    for i in range(3):
        y = rows[i] * [1, 2, 3, 4] - (x[i], 2.0, x[1], 0.5)
        grown.append(y[i])
        z = [x[1], 1.0] + y[:2] ** [2, 1]
        total += np.sum(y * z[0]) + np.matmul(y, [1.0, x[2], 0.0, 2.0]) * gray[i] * z[1]
        total += np.vdot(y, [0.5, 1.5, x[i], -1.0])
    return total + np.sum(x * grown)


MORE = (extrema, lists_beside_arrays, lists_put_together, slices_of_lists, weights_in_a_list,
        walrus, walrus_in_a_comprehension, loops_with_else, jumps_out_of_else,
        powers_of_integers, dict_of_integers, other_shapes, methods_of_arrays)  # fmt: skip


@pytest.mark.parametrize("f", MORE, ids=lambda f: f.__name__)
def test_lists_shapes_and_statements(
    f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    check_gradient(f, X)
    assert f.__name__ in runs


def negative_power(x: Any) -> Any:
    total = 0.0
    for k in range(-1, 2):
        total += x[k] * 2**k
    return total


def test_a_power_of_integers_that_is_a_float_is_traced(runs: list[str]) -> None:
    check_gradient(negative_power, X)
    assert "negative_power" not in runs


def written_in_another_shape(x: Any) -> Any:
    m = np.outer(x, x)
    for i in range(len(x)):
        r = m.reshape(-1)
        r[i] = x[i] * 2.0
    return np.sum(m * m)


def test_what_is_not_read_is_traced(runs: list[str]) -> None:
    check_gradient(written_in_another_shape, X)
    assert "written_in_another_shape" not in runs


# -- tuples in lists -------------------------------------------------------------------------------


def epidemic(x: Any) -> Any:
    s, i, r = x[0], x[1], 0.0
    history = [(s, i, r)]
    for _ in range(5):
        new = s * i * 0.3
        s, i, r = s - new, i + new - 0.1 * i, r + 0.1 * i
        history.append((s, i, r))
    s, i, _ = history[-2]
    total = s * i + history[-1][1] + max(h[1] for h in history)
    for k, (a, _, c) in enumerate(history):
        total += a * c * k
    return total + np.sum(np.array(history) ** 2)


def states_in_tuples(x: Any) -> Any:
    states = []
    y = x * 1.0
    for k in range(3):
        y = np.sin(y) * x[k]
        states.append((y, y * 2.0))
    last, twice = states[1]
    last[0] = 0.5 * x[2]
    return np.sum(states[1][0] * twice) + np.sum(states[0][1])


def replaced(x: Any) -> Any:
    pairs = []
    for v in x:
        pairs.append((v, v * v))
    for i in range(3):
        pairs[i] = (pairs[i + 1][1], pairs[i][0] * x[i])
    return sum(p[0] * p[1] for p in pairs)


@pytest.mark.parametrize("f", [epidemic, states_in_tuples, replaced], ids=lambda f: f.__name__)
def test_tuples_in_lists(f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    check_gradient(f, X)
    assert f.__name__ in runs


def asked_for_its_class(x: Any) -> Any:
    found = []
    for v in x:
        found.append((v, v * v))
    last = found[-1]
    return last[1] * (2.0 if isinstance(last, tuple) else 3.0)


def unpacked_as_two(x: Any) -> Any:
    found = []
    for v in x:
        found.append((v, v, v))
    a, b = found[0]
    return a * b


def written_into_a_tuple(x: Any) -> Any:
    found = []
    for v in x:
        found.append((v, v * v))
    found[0][1] = 5.0
    return found[0][1] * x[0]


def test_a_tuple_in_a_list_stays_one(runs: list[str]) -> None:
    check_gradient(asked_for_its_class, X)
    with pytest.raises(ValueError, match="too many values"):
        gradient(unpacked_as_two, X)
    with pytest.raises(TypeError, match="item assignment"):
        gradient(written_into_a_tuple, X)
    assert set(runs) <= {"asked_for_its_class"}  # where each part of the tuples has a list


class Pair(NamedTuple):
    mass: Any
    speed: Any


def energy(mass: Any, speed: Any, scale: Any) -> Any:
    return mass * speed**2 * scale


def given_after_a_star(x: Any) -> Any:
    rows = x.reshape(2, 2) * 1.0
    grown = []
    total = 0.0
    for row in rows:
        pair = Pair(*row)
        grown.append(pair.mass * pair.speed)
        total += energy(*row, x[3]) + energy(x[0], *row) + (lambda a, b: a - b**2)(*row)
        row[0] = total
    return total * energy(*grown, 0.5) + np.sum(rows)


def given_too_many(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += energy(*x[: 3 + (k > 1)])
    return total


def test_arrays_after_a_star(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They have as many items as the function takes, or the call raises what it raises."""
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        gradient(given_too_many, X)

    def sweeps(self: calls.ProgramRun, bars: list) -> tuple:
        return self.swept(bars)

    monkeypatch.setattr(calls.ProgramRun, "cotangents", sweeps)
    check_gradient(given_after_a_star, X)
    assert "given_after_a_star" in runs


def arrays_in_displays(x: Any) -> Any:
    y, total, first = x * 1.0, 0.0, [x[0], x[1]]
    for k in range(3):
        y = np.array([*y[2:], 0.0, *y[:1], y[0] * x[k]])
        held = [y[0], *y]
        y[0] = x[k]
        held.append(total)
        both = [*first, 1.0]
        first.append(x[k])
        total += held[1] * held[-2] * len(held) + both[-2] * sum(both)
        total += max([x[0] * 0.1, *x[k:]]) + len([*x[3:3]])
    return total + np.sum(y**2)


def rows_in_displays(x: Any) -> Any:
    m, total = np.outer(x, x), 0.0
    for k in range(3):
        rows = [m[0], *m]
        m[k] = total + x
        total += np.sum(np.array(rows) ** 2) * 0.01
    return total


@pytest.mark.parametrize("f", [arrays_in_displays, rows_in_displays])
def test_arrays_after_a_star_in_a_list(
    f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sweeps(self: calls.ProgramRun, bars: list) -> tuple:
        return self.swept(bars)

    monkeypatch.setattr(calls.ProgramRun, "cotangents", sweeps)
    for x in (X, np.append(X, [0.4, -0.2])):  # of another length at a later call
        check_gradient(f, x)
        assert value_and_gradient(f, x)[0] == f(x)
    assert f.__name__ in runs
