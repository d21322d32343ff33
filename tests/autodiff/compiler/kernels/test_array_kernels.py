"""Fusion groups on small arrays as loops: the same values for each instruction and operand."""

import threading

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient
from autodiff.compiler import variants
from autodiff.compiler.kernels import lowering_table

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


def softmaxes(a, u, b):
    total = 0.0
    for i in range(6):
        z = a @ u * (1.0 + i) + b[1:]
        z = z - np.max(z, axis=1, keepdims=True)
        p = np.exp(z) / np.sum(np.exp(z), axis=-1, keepdims=True)
        row = np.minimum(np.maximum(p[0], p[1]), np.full(3, 0.4))
        total = total + np.sum(row * b[1:]) + np.max(z[:, 1:]) + np.min(np.round(a, 1), axis=0)[2]
    return total


def spreads(a, u, b):
    total = 0.0
    for i in range(5):
        z = (a - np.mean(a, axis=1, keepdims=True)) / np.sqrt(np.var(a, axis=1, keepdims=True) + 1)
        total = (
            total + np.std(z * b[0]) + np.var(u, axis=0, mean=None)[i % 3] + np.var(z[1], ddof=1)
        )
        a = np.cumsum(z, axis=i % 2) + np.cumsum(z)[::-1].reshape(4, 4) * 0.1
        a = np.roll(a, np.int64(i), axis=np.int64(0)) if i == 2 else np.roll(a, np.int64(1), axis=1)
    return total + np.sum(a * a)


def indexed(a, u, b):
    total = 0.0
    for i in range(5):
        rows = a[INDICES] * b[CLASSES][:, None]
        rows = rows + u[np.int64(i % 4), CLASSES[0]] + a[INDICES, CLASSES][:, None]
        total = total + np.sum(np.tanh(rows)) + np.sum(a[:, CLASSES] * u[:, CLASSES])
        total = total + np.sum(a[MASK] ** 2) + np.sum(u.T[CLASSES] ** 2) + np.sum(b[[0, -1, 0]])
        scale = np.sum(u * u) + b[0]
        total = total + scale * np.sum(a[::-1, ::-1][INDICES]) + scale * np.sum(u[1:3, :2])
        a = a * 0.9
    return total


def systems(a, u, b):
    total, m = 0.0, a + 2.0 * np.eye(4)[[1, 0, 3, 2]]
    for _ in range(5):
        x = np.linalg.solve(m, u @ b[1:])
        y = np.linalg.solve(m.T, u)
        sign, log = np.linalg.slogdet(m)
        total = total + x @ u @ b[1:] + np.sum(y * y) + sign * log + 0.1 * np.linalg.det(m)
        m = m + 0.1 * np.linalg.inv(m).T + 0.05 * np.outer(x, x)
    return total


INDICES, CLASSES = np.array([0, 3, 3, -1, 1, 0]), np.array([2, 0, 1, 1, 0, 2])
MASK = np.eye(4)[:, ::-1] > 0


PROGRAMS = [
    softmaxes, spreads, indexed, systems,
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
    compiled = compile(g, backend="native")
    compare(g, compiled, POINTS)
    assert interpreted or (transform == "jacobian" and f in (filtered, bodies))  # zeros
    assert compiled.eager_because is None


def test_machine_code():
    pytest.importorskip("llvmlite")
    compiled = compile(lambda *a: gradient(rnn, *a))
    for _ in range(70):
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
    from scipy.ndimage import correlate1d

    compiled = compile(lambda x: correlate1d(x, [1.0, 2.0, 1.0])[1])
    for x in (V, -V, V):
        assert compiled(x) == correlate1d(x, [1.0, 2.0, 1.0])[1]
    assert "writes into" in compiled.eager_because
    compiled = compile(lambda x: float(CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5)))
    for x in (V, -V, V):
        assert compiled(x) == float(CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5))
    assert "changes an object" in compiled.eager_because


def test_products_with_arrays_of_one_number_are_products():
    compiled = compile(lambda x: np.ones((4, 4)) @ x + x @ np.full((4, 4), 2.0), backend="python")
    compare(lambda x: np.ones((4, 4)) @ x + x @ np.full((4, 4), 2.0), compiled, [(V,), (-V,)])
    assert ".dot(" in compiled.source


def with_kernel(f, backend="native"):
    return compile(lambda *a: gradient(f, *a), backend=backend)


@pytest.mark.filterwarnings("ignore")
def test_ties_share_in_kernels(interpreted):
    compiled = with_kernel(softmaxes)
    tied = np.round(A)
    compare(lambda *a: gradient(softmaxes, *a), compiled, [(A, B, V), (tied, np.ones((4, 3)), V)])
    compare(
        lambda *a: gradient(softmaxes, *a), compiled, [(tied, 0 * B, 0 * V), (A * np.nan, B, V)]
    )
    assert interpreted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf, 1e-320, 1e200])
@pytest.mark.parametrize("where", [(slice(None), 2), (1, 1), (3, 0), slice(None)])
def test_what_is_not_regular_is_solved_eagerly(interpreted, bad, where):
    def f(a, b):
        total = 0.0
        for _ in range(4):
            b = np.linalg.solve(a, b)
            total = total + np.linalg.slogdet(a)[1]
        return total + np.sum(b) + np.linalg.det(a)

    compiled = compile(f, backend="native")
    regular, b = A + 2.0 * np.eye(4), np.arange(4.0)
    compare(f, compiled, [(regular, b)])
    irregular = regular.copy()
    irregular[where] = bad
    try:
        expected = f(irregular, b)
    except np.linalg.LinAlgError as error:
        with pytest.raises(np.linalg.LinAlgError, match=str(error)):
            compiled(irregular, b)
    else:
        np.testing.assert_allclose(compiled(irregular, b), expected, rtol=1e-9)
    compare(f, compiled, [(regular, b)])
    assert interpreted
    assert compiled.variants == 1


def test_machine_code_of_systems_and_places():
    pytest.importorskip("llvmlite")

    def f(a, u, b):
        m, y = a + 2.0 * np.eye(4), u
        for _ in range(4):
            y = np.linalg.solve(m, y + np.linalg.slogdet(m)[1]) + np.linalg.solve(m.T, u)
        return np.sum(y[INDICES] ** 2) + np.max(y, axis=1)[0] + np.cumsum(b)[1] * np.linalg.det(m)

    compiled = compile(f, backend="native")
    compare(f, compiled, POINTS)
    assert "factored(" in compiled.source
    with pytest.raises(np.linalg.LinAlgError):
        compiled(-2.0 * np.eye(4), B, V)


def test_counts_that_are_seen_stay_integers(interpreted):
    def f(a):
        n = np.count_nonzero(a > 0.1, axis=0)
        m = np.maximum(n, 1) + n
        total = np.zeros(4)
        for _ in range(6):
            total = total + a[0] / m
        return total, m, n * 2, np.maximum(np.count_nonzero(a > 0, axis=1), 2) / 3

    compiled = compile(f, backend="native")
    for a in (A, -A, A.T.copy()):
        for x, y in zip(compiled(a), f(a), strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype
    assert interpreted


@pytest.mark.parametrize("backend", ["python", "native"])
def test_arrays_of_lists_of_numbers(backend, interpreted):
    def f(x):
        y = np.array([x[0], 2, np.sin(x[1]), 0.5])
        m = np.array([[x[0], -1], [1, y[2]]], dtype=float) @ np.stack([x[1], y[1] ** -2.0])
        return y[1] / y[3], np.sum(m), y * m[0], y[1]

    def g(x):
        return autodiff.jacobian(lambda z: f(z)[2], x)

    for h in (f, g):
        compiled = compile(h, backend=backend)
        for x in (V, -V, 3.0 * V):
            compare(h, compiled, [(x,)])
        assert compiled.eager_because is None


def written_in_passing(x):
    y = np.concatenate([x, np.array([-0.85, -1.29, -0.93, 0.18])])[...]
    np.put(y, [0, 1], [0.88, -0.53])
    np.clip(y, -1.48, 1.29, out=y)
    single = y.astype(np.float32)
    return np.sum(y * np.linspace(-1.0, 1.5, 8)) + np.vdot(np.cos(np.arange(8.0)), single)


@pytest.mark.parametrize("backend", ["native", "python"])
def test_what_nobody_reads_from_the_memory_has_a_place_in_it(backend, interpreted):
    compiled = with_kernel(written_in_passing, backend)
    compare(lambda x: gradient(written_in_passing, x), compiled, [(V,), (2 * V,), (-V,)])
    assert bool(interpreted) == (backend == "native")


def test_kernels_are_made_in_several_threads_at_once():
    pytest.importorskip("llvmlite")
    compiled = [
        compile(lambda x, k=k: np.sin(x) * k + np.tanh(x), backend="native") for k in (2, 3)
    ]
    start = threading.Barrier(len(compiled))

    def run(f):
        start.wait()
        f(V)

    threads = [threading.Thread(target=run, args=(f,)) for f in compiled]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [f.eager_because for f in compiled] == [None, None]


def test_elements_of_arrays_that_are_not_small_are_read_in_the_kernel(interpreted, monkeypatch):
    monkeypatch.setattr(lowering_table, "LARGEST", 1 << 10)

    def recurrence(x, c):
        for i in range(30):
            x = np.sin(x) + c[7 * i] * x
        return x

    c = rng.random(lowering_table.LARGEST + 1)
    compiled = compile(lambda x, c: gradient(recurrence, x, c, argnums=0), backend="native")
    for x in (0.3, 0.3, 1.2):
        expected = gradient(recurrence, x, c, argnums=0)
        np.testing.assert_allclose(compiled(x, c), expected, rtol=1e-13)
    (kernel,) = interpreted
    read = [g for g in kernel.given if g is None or not g.is_written]
    assert len(read) == 2  # and not each element by itself


def test_constants_of_equal_elements_are_read_in_the_kernel(interpreted):
    def huber(x):
        r = np.abs(x)
        return np.mean(np.where(r < 0.5, 0.5 * r * r, r - 0.5))

    compiled = compile(lambda x: gradient(huber, x), backend="native")
    compare(lambda x: gradient(huber, x), compiled, [(V,), (2 * V,), (0.1 * V,)])
    assert len(interpreted) == 1
    assert "where(" not in compiled.source.partition("def f(")[2]


@pytest.mark.parametrize("backend", ["native", "auto"])
def test_only_who_asks_for_machine_code_waits_for_it(interpreted, monkeypatch, backend):
    monkeypatch.setattr(variants, "_MOST_SECONDS", 0.0)
    compiled = compile(lambda *a: gradient(rnn, *a), backend=backend)
    for _ in range(70):
        compiled(*POINTS[0])
    assert bool(interpreted) == (backend == "native")


def test_equal_kernels_are_compiled_once(monkeypatch):
    pytest.importorskip("llvmlite")
    from autodiff.compiler.kernels.machine_code import KernelModule

    def turned(a):
        total = 0.0
        for _ in range(6):
            q, _ = np.linalg.qr(a)  # no kernel
            a = np.sin(q) * 2.0 + q * q - a / 3.0
            total = total + np.sum(a * a)
        return total

    made = []
    original = KernelModule.kernel
    monkeypatch.setattr(KernelModule, "kernel", lambda *a: made.append(a[1]) or original(*a))
    compiled = compile(turned, backend="native")
    compare(turned, compiled, [(A,), (0.5 * A,), (A.T,)])
    assert 0 < len(made) < 5
    assert len(set(made)) == len(made)


def test_a_section_that_is_too_long_is_split_and_its_steps_are_read_few_times(monkeypatch):
    pytest.importorskip("llvmlite")
    from autodiff.compiler.kernels import array_kernels, step_lowering

    monkeypatch.setattr(array_kernels, "_MOST_NESTS", 12)
    read: dict[int, int] = {}
    original = step_lowering.Lowerer.read

    def counted(reader, step):
        read[id(step)] = read.get(id(step), 0) + 1
        return original(reader, step)

    monkeypatch.setattr(step_lowering.Lowerer, "read", counted)
    compiled = compile(lambda *a: gradient(runge_kutta, *a), backend="native")
    for args in POINTS[:2]:
        for expected, found in zip(gradient(runge_kutta, *args), compiled(*args), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert compiled.source.count("def kernel") > 3
    assert max(read.values()) <= 4
