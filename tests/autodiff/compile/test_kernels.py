"""Stretches on small arrays as loops: the same values, for each kind of step and of operand."""

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient

rng = np.random.default_rng(0)
A, B, C = (rng.standard_normal(s) / 3 for s in ((4, 4), (4, 3), (3,)))
V, W = rng.standard_normal(4), rng.random(12) + 0.5
ROWS = rng.standard_normal((12, 3))


def rnn(w, u, b):
    h = np.zeros(4)
    for x in ROWS:
        h = np.tanh(w @ h + u @ x + b)
    return np.sum(h * h)


def lstm(w, u, b):
    h, c = np.zeros(2), np.zeros(2)
    for x in ROWS:
        z = w[:, :2] @ h + u @ x + b
        gate = 1 / (1 + np.exp(-z[:2]))
        c = c * gate + np.tanh(z[2:])
        h = gate * np.tanh(c)
    return np.sum(h)


def second_order(w, u, b):
    before, h = b, w @ b
    for x in ROWS:
        before, h = h, np.sin(w @ before) + 0.5 * h + u @ x
    return np.sum(h)


def runge_kutta(k, _u, y):
    for _ in range(8):
        k1 = k @ y - y**3
        k2 = k @ (y + 0.1 * k1) - (y + 0.1 * k1) ** 3
        y = y + 0.2 * (k1 + k2)
    return np.sum(y * y)


def filtered(f, h, _b):
    x, p = np.zeros(4), np.eye(4)
    for y in ROWS:
        x, p = f @ x, f @ p @ f.T + 0.1 * np.eye(4)
        gain = np.linalg.solve(h.T @ p @ h + np.eye(3), h.T @ p).T
        x = x + gain @ (y - h.T @ x)
        p = p - gain @ h.T @ p
    return np.sum(x * x) + np.trace(p)


def bodies(p, v, _b):
    p = p[:, :3]
    for _ in range(5):
        d = p[:, None, :] - p[None, :, :]
        r = (np.sum(d * d, axis=2) + 0.1) ** -1.5
        v = v - 0.1 * np.sum(d * r[:, :, None], axis=1)
        p = p + 0.1 * v
    return np.sum(p * p)


def written_rows(a, u, b):
    out = np.zeros((12, 4))
    h = b
    for i in range(12):
        h = np.cos(a @ h)
        out[i] = h
        out[i, 1:] += u[1:, 0] * h[1:]
    return np.sum(out * out)


def heat(a, _u, b):
    x = np.concatenate([b, a[0], b])
    for _ in range(6):
        x[1:-1] = x[1:-1] + 0.2 * (x[2:] - 2 * x[1:-1] + x[:-2])
    return np.sum(x * x)


def stacked(a, u, b):
    rows = [np.tanh(a @ b)]
    for _ in range(10):
        rows.append(rows[-1] * 0.9 + u @ C)
    return np.sum(np.stack(rows) ** 2) + np.max(np.concatenate(rows)) + np.sum(np.array(rows)[::2])


def branches(a, _u, b):
    total = 0.0
    for i in range(4):
        row = np.where(a[i] > 0, a[i] * b, np.exp(a[i]))
        total = total + (np.sum(row) if row[0] > 0.1 else np.min(row) ** 2)
    return total


def scalars(a, _u, b):
    x, total = b[0], 0.0
    for i in range(12):
        x = x * a[1, 1] + np.sqrt(1 + x * x) / (i + 1.0)
        total += x * W[i]
    return total + np.log(x * x + 1)


def normalised(a, u, b):
    p = np.exp(b - np.max(b))
    total = 0.0
    for _ in range(8):
        scale = np.sum(p)
        total = total + np.log(scale)
        p = (p / scale) @ np.exp(a) * np.abs(u[:, 0])
    return total + np.mean(p)


def stencil(a, u, b):
    v = np.pad(a, ((1, 0), (2, 1))) + np.pad(np.roll(a, 1, axis=0), (1, 2))[:5, :7]
    for _ in range(3):
        inner = v[1:-1, 2:] + v[1:-1, :-2] - 0.5 * v[2:, 1:-1]
        v = 0.5 * np.pad(np.tanh(inner), 1) + np.roll(v, -2, 1) - np.roll(v, 5, axis=0)
    wide = np.concatenate([v, np.diff(v, axis=1), v[:, :2]], axis=1)
    return np.sum(wide * wide) + np.sum(np.diff(np.roll(b, 2)) ** 2) + np.vdot(v[0], v[1])


def accumulated(a, u, b):
    out, total = np.zeros(12), 0.0
    for i in range(5):
        row = np.tanh(a[i % 4] * b)
        out[2 * i : 2 * i + 4] += row
        out[1:] = out[1:] + 0.1 * out[:-1]
        out[::3] -= np.exp(-row)
        total = total + np.sum(row * row) + np.dot(row, b)
        out[:4] = row * out[:4]
        row = row + out[4:8]
        out[4:8] = row
        total = total * np.mean(out)
    return total + np.sum(np.concatenate([out[:3], out[5:] * out[:-5], [1.0, 2.0]]))


def shifted(a, _u, b):
    y, x = np.zeros(4), a[0]
    for h in (0.3, 0.2, 0.1):
        k = np.concatenate([x[:1], x[1:] * y[:-1]])
        m = np.concatenate([x[:1], x[1:] * (y + h * k)[:-1]])
        y = y + h * (k + 2.0 * m)
    return y[-1] + np.sum(y * b)


PROGRAMS = [
    rnn, lstm, second_order, runge_kutta, filtered, bodies, written_rows, heat, stacked, branches,
    scalars, normalised, stencil, accumulated, shifted,
]  # fmt: skip
POINTS = [(A, B, V), (0.5 * A, B, -V), (-A, 2.0 * B, V), (A.T, B[::-1], V[::-1]), (A, B, V)]


def compare(f, compiled, points):
    for args in points:
        args = tuple([a.copy() if a.flags.c_contiguous else a for a in args])
        expected = f(*args)
        found = compiled(*args)
        pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for a, b in pairs:
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


TRANSFORMS = {
    "value": lambda f: f,
    "gradient": lambda f: lambda *a: gradient(f, *a),
    "hvp": lambda f: lambda *a: autodiff.hvp(lambda w: f(w, *a[1:]), a[0], np.ones((4, 4))),
    "jacobian": lambda f: (
        lambda *a: autodiff.jacobian(
            lambda b: np.array([f(a[0], a[1], b), f(a[0], a[1], 2.0 * b)]), a[2]
        )
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_kernels_do_what_the_steps_do(f, transform, interpreted):
    g = TRANSFORMS[transform](f)
    compiled = compile(g, backend="numba")
    compare(g, compiled, POINTS)
    assert interpreted or (transform == "jacobian" and f in (filtered, bodies))  # zeros
    assert compiled.eager_because is None


@pytest.mark.parametrize("f", [rnn, written_rows, normalised])
def test_loops_are_found(f, interpreted):
    compiled = compile(lambda *a: gradient(f, *a), backend="numba")
    compiled(A, B, V)
    assert "for t in range(" in compiled.source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", PROGRAMS)
def test_long_programs_are_several_functions(f, monkeypatch):
    from autodiff.compile import chunks, emit

    monkeypatch.setattr(chunks, "LONGEST", 7)
    monkeypatch.setattr(emit, "LONGEST", 7)
    compiled = compile(lambda *a: gradient(f, *a), backend="python")
    compare(lambda *a: gradient(f, *a), compiled, POINTS)
    assert compiled.eager_because is None
    assert "def f_2(" in compiled.source


def test_machine_code():
    pytest.importorskip("numba")
    compiled = compile(lambda *a: gradient(rnn, *a))
    for _ in range(7):
        compare(lambda *a: gradient(rnn, *a), compiled, POINTS)
    assert "def kernel" in compiled.source
    assert compiled.variants == 1
    for a in (A, B, V):
        a.setflags(write=False)
    first = compiled(A, B, V)
    again = compiled(A, B, V)
    assert all(x is not y for x, y in zip(first, again, strict=True))


def test_what_writes_into_its_arguments_is_not_compiled():
    from scipy.interpolate import CubicSpline

    compiled = compile(lambda x: float(CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5)))
    for x in (V, -V, V):
        assert compiled(x) == float(CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5))
    assert "writes into" in compiled.eager_because


def test_products_with_arrays_of_one_number_are_products():
    compiled = compile(lambda x: np.ones((4, 4)) @ x + x @ np.full((4, 4), 2.0), backend="python")
    compare(lambda x: np.ones((4, 4)) @ x + x @ np.full((4, 4), 2.0), compiled, [(V,), (-V,)])
    assert ".dot(" in compiled.source
