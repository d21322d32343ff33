"""Machine code: growing lists of numbers, arrays and lists."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured.runtime import Structured


def rows_of_a_table(a, b):
    previous = [j * b[0] for j in range(len(b) + 1)]
    for x in a:
        row = [x * 0.5]
        for j in range(len(b)):
            row.append(math.tanh(previous[j] + row[-1]) + previous[j + 1] * b[j])
        previous = row
    return previous[-1] + previous[2]


def states(a, b):
    h = np.zeros(3)
    kept = [h]
    for t in range(len(a)):
        h = np.tanh(kept[-1] * a[t] + b[:3])
        kept.append(h)
    return np.sum(np.stack(kept) ** 2) + np.sum(np.array(kept)[1] * b[:3])


def written_items(a, b):
    m, v = [0.0] * len(a), [a[0], b[0]]
    for t in range(20):
        for i in range(len(a)):
            m[i] = 0.9 * m[i] + 0.1 * a[i] * v[t % 2]
            m[-1] += b[i]
        v[1] = v[1] * 0.5 + m[2]
    return sum(m) + v[0] * v[1]


def log_of_sum(*xs):
    most = max(xs)
    return most + math.log(sum(math.exp(x - most) for x in xs)) if most > -1e29 else most


def compared_behind_the_loop(a, b):
    best, other = [-1e30] * 10, [-1e30] * 10
    best[0] = 0.0
    for i in range(4):
        for j in range(1, 10):
            best[j] = a[j] + log_of_sum(best[j - 1], other[j - 1] * b[i])
            other[j] = log_of_sum(best[j] + b[i], other[j])
    return log_of_sum(best[9], other[9], best[8])


def lists_of_lists(a, b):
    table = []
    for i in range(len(a)):
        row = []
        for j in range(i + 1):
            row.append(a[i] * b[j])
        table.append(row)
    s = 0.0
    for i in range(len(table)):
        for j in range(len(table[i])):
            s = s + table[i][j] * table[-1][j] * len(table[i])
        table[i][0] = s
    return s * table[2][0]


def integers_and_floats(a, b):
    xs = [1, 2.0, 3]
    for i in range(len(a)):
        xs.append(xs[i] * 2.0 if i < 2 else a[i] * xs[0])
        xs[1] = i
    total = 0.0
    for x in xs:
        total = total + x * b[1]
    return total * sum(xs)


def grows_while(a, b):
    xs, k = [a[0]], 0
    while xs[-1] < 40.0:
        xs.append(xs[-1] * (1.0 + abs(b[k % 5])) + 0.1)
        k += 1
    y = np.array(xs)
    return np.sum(y * y) / len(xs)


def arrays_of_vectors(a, b):
    p, path = np.zeros(2), []
    for i in range(len(a)):
        p = p + np.array([math.cos(a[i]), math.sin(a[i])]) * b[i]
        path.append(p)
        if i > 2:
            p = p * 0.5 + path[i - 2] * 0.1
    return np.sum(np.array(path) * np.asarray(path)[::-1])


def tables_and_counts(a, b):
    """A list of integers that count, and one of floats."""
    counts, chosen = [0, 0, 0], []
    for i in range(len(a)):
        k = 0 if a[i] < 0.0 else 1
        counts[k] += 1
        chosen.append(a[i] * counts[k] + b[counts[0]])
    s = 0.0
    for i in range(len(chosen)):
        s += chosen[i] * chosen[counts[1]]
    return s


def rows_replaced(a, b):
    n = 4
    rows = [[a[i] * b[j] + (5.0 if i == j else 0.0) for j in range(n)] for i in range(n)]
    vectors = [a[k : k + 3] * b[k] for k in range(4)]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(rows[i][k]) > abs(rows[p][k]):
                p = i
        if p != k:
            rows[k], rows[p] = rows[p], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
        vectors[k] = vectors[k] * rows[0][3] + vectors[k - 1]
    return sum(sum(row) for row in rows) + np.sum(vectors[0] * vectors[3])


def sums_of_few(a, b):
    total = 0
    z = [0.0] * len(a)
    for i in range(len(a)):
        z[i] = b[i] - sum(a[k] * z[k] for k in range(min(i, 3)))
        total = total + (i - 2) * sum(z[:i]) + (a[i] if i > 4 else 2) * z[i]
    return total + sum(z[2:]) * sum(z[-2:])


def arrays_of_rows(a, b):
    total = 0.0
    for t in range(3):
        m = np.array([[a[i] * b[j] * (t + 1) for j in range(3)] for i in range(4)])
        total += np.sum(m @ m.T)
    return total


def displayed_numbers(a, b):
    total = 0.0
    for t in range(len(a)):
        total += a[t] * [0, 0.5, 2][t % 3] + b[t] * (1, 3)[t % 2]
    return total


STEPS = [[], [0.5], [0.25, 2], [1, -0.5, 0.125]]
NODES = [0, 0.5, 0.75, 1]


def stages(a, b):
    y = a[:3]
    for t in range(5):
        ks = []
        for i in range(4):
            z = y * 1.0
            for j, w in enumerate(STEPS[i]):
                z = z + 0.1 * w * ks[j]
            ks.append(np.sin(z * b[:3]) + NODES[i] * a[t])
        y = y + 0.1 * (ks[0] + 2.0 * ks[1] + 2.0 * ks[2] + ks[3])
        y = y + 0.01 * sum(c * k for c, k in zip(NODES, ks, strict=True)) - sum(ks) * 0.1
    return np.sum(y * y)


def powers_of_integers(a, b):
    total = 0.0
    for t in range(6):
        total += a[t] * 2**t + b[t] * t**2 + a[2**t % 5] * (-3) ** t
    return total


def joined_pieces(a, b):
    rows, pieces, columns, places = [], [], [], []
    for t in range(5):
        rows.append(np.outer(a[: t + 1], b[:3]))
        pieces.append(a[t : 2 * t + 1] * b[t])
        columns.append(np.outer(a[:4], b[: t + 1]))
        places.append((t * 3) % 4)
    total = np.sum(np.concatenate(rows) * np.vstack(rows) ** 2)
    total += np.sum(np.concatenate(pieces) * np.hstack(pieces)[::-1])
    u, v, w = np.hstack(columns), np.concatenate(columns, axis=1), np.concatenate(columns, axis=-1)
    total += np.sum(u * v + w**2)
    return total + np.sum(
        a[np.array(places)] * b[:5] * np.array(places, dtype=float) * np.array(places)
    )


def repeated_and_counted(a, b):
    order = [0, 2, 1] * 4
    best, counts, seen = np.zeros(5, dtype=int), np.ones(3, int), np.full(3, False)
    total = 0.0
    for turn in order + [1] * len(order):
        best[turn] = counts[turn] + turn
        counts[turn] += 1
        seen[turn] = a[turn] > 0.0
        total += a[best[turn] % len(a)] * b[turn] * counts[turn - 1]
        if seen[turn - 1]:
            total *= 0.9
    return total


PROGRAMS = [
    compared_behind_the_loop,
    repeated_and_counted,
    rows_replaced,
    joined_pieces,
    sums_of_few,
    arrays_of_rows,
    displayed_numbers,
    powers_of_integers,
    stages,

    rows_of_a_table, states, written_items, lists_of_lists, integers_and_floats, grows_while,
    arrays_of_vectors, tables_and_counts,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, check_machine_code: Callable) -> None:
    a, b = np.cos(np.arange(1.0, 40.0)), np.sin(np.arange(1.0, 40.0))
    if f is lists_of_lists:
        a, b = a[:9], b[:9]

    def loss(a, b):
        return f(a, b) * 1.0

    program = check_machine_code(loss, lambda: (a, b), rtol=1e-10, atol=1e-12, kernel=f)
    value, _ = value_and_gradient(f, a, b)
    assert type(value) is type(f(a, b))
    np.testing.assert_allclose(value, f(a, b), rtol=1e-12)
    assert len(program.native.parts) == 1
    assert not program.bailouts


def empty(a, b):
    xs = []
    for i in range(len(a)):
        if a[i] > 5.0:
            xs.append(a[i] * b[i])
    return np.sum(np.array(xs)) + a[0]


def of_too_few(a, b):
    xs = [a[0]]
    for i in range(3):
        xs.append(xs[i] * b[i])
    s = 0.0
    for i in range(6):
        s += xs[i]
    return s


def of_several_lengths(a, b):
    xs = []
    for i in range(1, 4):
        xs.append(a[:i] * b[i])
    return np.sum(np.stack(xs))


def joined_of_other_widths(a, b):
    rows = []
    for t in range(3):
        rows.append(np.outer(a[:2], b[: t + 1]))
    return np.sum(np.concatenate(rows))


def joined_of_none(a, b):
    rows = []
    for t in range(3):
        if a[t] > 5.0:
            rows.append(a[:2] * b[t])
    return np.sum(np.concatenate(rows))


def no_integers(a, b):
    places = []
    for t in range(3):
        if a[t] > 5.0:
            places.append(t)
    return a[0] * b[0] * len(np.array(places))


@pytest.mark.parametrize(
    "f",
    [empty, of_too_few, of_several_lengths, joined_of_other_widths, joined_of_none, no_integers],
)
def test_what_raises_and_what_is_empty(f: Callable, traced: Callable) -> None:
    a, b = np.cos(np.arange(1.0, 8.0)), np.sin(np.arange(1.0, 8.0))
    try:
        expected = traced(f, a, b)
    except (IndexError, ValueError) as error:
        for _ in range(3):
            with pytest.raises(type(error)):
                gradient(f, a, b)
        return
    for _ in range(3):
        for x, y in zip(gradient(f, a, b), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_list_has_the_same_items_under_two_names(traced: Callable) -> None:
    def f(a, b):
        xs = [a[0], a[1]]
        ys = xs
        for i in range(4):
            ys.append(xs[-1] * b[i])
            xs[0] = ys[-1] + xs[0]
        s = 0.0
        for x in ys:
            s = s + x * x
        return s

    a, b = np.cos(np.arange(1.0, 8.0)), np.sin(np.arange(1.0, 8.0))
    for x, y in zip(gradient(f, a, b), traced(f, a, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_list_is_made_beside_a_product_of_an_argument_with_itself(
    made: list[Structured], traced: Callable
) -> None:
    def f(a, b):
        m, found = a @ a.T, []
        for i in range(3):
            m = m * b[i]
            found.append(m[i] @ b)
        return sum(found)

    a, b = np.cos(np.arange(12.0)).reshape(4, 3), np.sin(np.arange(1.0, 5.0))
    for _ in range(3):
        for x, y in zip(gradient(f, a, b), traced(f, a, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    assert made[0].native is not None, made[0].why
    assert not made[0].native.why


def test_sums_of_single_precision(made: list[Structured], traced: Callable) -> None:
    def f(a, b):
        xs = []
        for i in range(len(a)):
            xs.append(a[i] * b[0] + b[1])
        return sum(xs) * b[2] + np.sum(np.array(xs) * a)

    a, b = (g(np.arange(1.0, 8.0)).astype(np.float32) for g in (np.cos, np.sin))
    for _ in range(3):
        for x, y in zip(gradient(f, a, b), traced(f, a, b), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-5)
    assert made[0].native is not None, made[0].why
    assert not made[0].native.why
    value, _ = value_and_gradient(f, a, b)
    assert type(value) is np.float32
    np.testing.assert_allclose(value, f(a, b), rtol=1e-6)
