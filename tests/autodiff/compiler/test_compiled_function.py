"""compile: the same results as eagerly, what is guarded, and whose memory is whose."""

import collections
import dataclasses
import re
import threading
import types

import numpy as np
import pytest

import autodiff
from autodiff import checkpoint, compile, gradient
from autodiff.errors import ArgumentError

X = np.array([0.3, -0.2, 0.9])
SCALE = 2.0


def square_sum(x):
    return np.sum(x * x)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


# -------------------------------------------------------------------------------------- transforms

TRANSFORMS = {
    "value": lambda x: np.sum(np.tanh(x) ** 3),
    "gradient": lambda x: gradient(lambda z: np.sum(np.tanh(z) ** 3), x),
    "value_and_gradient": lambda x: autodiff.value_and_gradient(lambda z: np.prod(z + 2.0), x),
    "jacobian": lambda x: autodiff.jacobian(lambda z: np.sin(z) * z[0], x),
    "jacobian by columns": lambda x: autodiff.jacobian(lambda z: np.exp(z), x, mode="forward"),
    "hessian": lambda x: autodiff.hessian(lambda z: np.sum(z**3) * z[0], x),
    "hvp": lambda x: autodiff.hvp(lambda z: np.sum(z**3) * z[0], x, np.ones(3)),
    "jvp": lambda x: autodiff.jvp(lambda z: np.cumsum(z * z), (x,), (np.ones(3),)),
    "pullback": lambda x: autodiff.pullback(np.exp, x)[1](np.ones(3)),
    "third derivative": lambda x: gradient(
        lambda z: np.sum(gradient(lambda w: np.sum(gradient(lambda u: np.sum(u**4), w)), z)), x
    ),
    "sort": lambda x: gradient(lambda z: np.sum(np.sort(z) * np.arange(3.0)), x),
    "max": lambda x: gradient(lambda z: np.max(z) * z[1], x),
    "where": lambda x: gradient(lambda z: np.sum(np.where(z > 0, np.sqrt(abs(z)), 0.0)), x),
    "solve": lambda x: gradient(
        lambda z: np.sum(np.linalg.solve(np.eye(3) + np.outer(z, z), z)), x
    ),
    "svd": lambda x: np.linalg.svd(np.outer(x, x) + np.eye(3))[1],
    "mask": lambda x: gradient(lambda z: np.sum(z[z > 0] ** 2), x),
    "float32": lambda x: gradient(lambda z: np.sum(z * z), x.astype(np.float32)),
    "complex": lambda x: gradient(lambda z: np.sum(abs(z * (1 + 2j)) ** 2), x + 1j * x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    f = TRANSFORMS[name]
    compiled = compile(f)
    for x in (X, X * 1.1, X[::-1].copy(), -X, X):
        expected, found = f(x), compiled(x)
        assert type(found) is type(expected)
        parts = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for a, b in parts:
            close(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
    assert compiled.eager_because is None


@pytest.mark.parametrize("backend", ["python", "native"])
def test_long_loops_of_floats(backend):
    if backend == "native":
        pytest.importorskip("llvmlite")

    def euler(y, rate):
        for _ in range(100):
            y = y + 0.01 * (rate * y * (1.0 - y))
        return np.log(y) if y > 0.2 else y

    f = lambda y, rate: autodiff.value_and_gradient(euler, y, rate)  # noqa: E731
    compiled = compile(f, backend=backend)
    for args in ((0.1, 1.5), (0.2, 1.1), (0.01, 0.1), (0.1, 1.5)):
        (a, g), (b, h) = f(*args), compiled(*args)
        assert type(a) is type(b)
        close(b, a)
        close(h, g)
    assert compiled.variants == 2
    assert ("def kernel" in compiled.source) == (backend == "native")


def test_machine_code_takes_over_where_llvmlite_is_installed():
    pytest.importorskip("llvmlite")

    def filled(x):
        out = np.zeros(40)
        previous = 0.0
        for i in range(40):
            previous = 0.5 * previous + x[i] * x[i]
            out[i] = previous
        return np.sum(out * out)

    compiled = compile(lambda x: gradient(filled, x))
    x = np.linspace(0.1, 1.0, 40)
    expected = gradient(filled, x)
    for _ in range(35):
        close(compiled(x), expected)
    assert "def kernel" in compiled.source
    shared = compiled(x)
    assert compiled(x) is not shared


def test_machine_code_gives_way_where_python_raises():
    pytest.importorskip("llvmlite")
    compiled = compile(lambda a, b: a / b, backend="native")
    assert compiled(1.0, 4.0) == 0.25
    with pytest.raises(ZeroDivisionError):
        compiled(1.0, 0.0)


def test_backend_native_needs_llvmlite(monkeypatch):
    from autodiff.compiler.kernels import array_kernels

    monkeypatch.setattr(array_kernels, "is_installed", lambda: False)
    with pytest.raises(ArgumentError, match="pip install llvmlite"):
        compile(square_sum, backend="native")


# ------------------------------------------------------------------------------------------ guards


def branching(x):
    if x[0] > 0:
        return np.sum(x)
    return np.sum(x * x)


GUARDED = {
    "branch": (branching, [X, -X]),
    "int()": (lambda x: x * int(x[0] * 10), [X, X * 2]),
    "index": (lambda x: x[int(abs(x[1]) * 10)], [X, X * np.array([1, 0, 1])]),
    "round": (lambda x: x * round(x[2]), [X, X * 2]),
    "while": (lambda x: _halved(x), [X, X * 8]),
    "dtype": (square_sum, [X, X.astype(np.float32), np.arange(3), X + 0j]),
    "shape": (square_sum, [X, np.ones(4), np.ones((2, 2)), np.ones(0), np.array(2.0)]),
    "type": (lambda x: x * 2, [1.0, np.float64(1.0), 1, np.float32(1), 1j, True]),
    "int by value": (lambda n: np.arange(4.0) * n, [1, 2, 3]),
    "string": (lambda s: len(s) * 2.0, ["a", "bb"]),
    "none": (lambda x: 1.0 if x is None else 2.0, [None, 0.5]),
    "structure": (lambda p: p[0] * 2, [(1.0, 2.0), [1.0, 2.0], (1.0,), (X, 1.0)]),
    "keys": (lambda d: sum(d.values()), [{"a": 1.0}, {"a": 1.0, "b": 2.0}, {"b": 1.0}]),
    "mask": (lambda x: x[x > 0], [X, -X]),
    "unique": (lambda x: np.unique(np.round(x)), [X, X * 4]),
    "contains": (lambda x: 1.0 if 0.3 in x else 0.0, [X, X + 1]),
}


def _halved(x):
    while np.sum(x * x) > 0.1:
        x = x / 2
    return x


@pytest.mark.parametrize("name", GUARDED)
def test_what_differs_is_recorded_again(name):
    f, values = GUARDED[name]
    compiled = compile(f)
    for value in [*values, *values]:
        expected, found = f(value), compiled(value)
        assert type(found) is type(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        close(found, expected)
    assert compiled.eager_because is None
    assert 1 <= compiled.variants <= len(values)


def test_variables_outside_are_guarded():
    global SCALE
    factor = 3.0
    compiled = compile(lambda x: x * SCALE * factor)
    assert compiled(1.0) == 6.0
    factor = 4.0
    assert compiled(1.0) == 8.0
    SCALE = 3.0
    try:
        assert compiled(1.0) == 12.0
    finally:
        SCALE = 2.0
    assert compiled(1.0) == 8.0
    assert compiled.variants == 3


def test_changes_inside_small_variables_outside_are_guarded():
    c, options = np.ones(3), {"k": [1.0]}
    scales = [2.0]
    compiled = compile(lambda x: x * c * scales[0] + options["k"][0])
    close(compiled(1.0), [3.0, 3.0, 3.0])
    c[1] = 5.0
    close(compiled(1.0), [3.0, 11.0, 3.0])
    scales[0] = 1.0
    close(compiled(1.0), [2.0, 6.0, 2.0])


def test_variants_are_bounded_and_the_least_recently_used_is_dropped():
    compiled = compile(lambda text: len(text) * 2.0, maxsize=2)
    kept = []
    for n in (1, 2, 1, 3, 1, 2):
        assert compiled("a" * n) == n * 2.0
        kept.append([float(result) for result in re.findall(r"return (\d.*)", compiled.source)])
    assert kept == [[2.0], [4.0, 2.0], [2.0, 4.0], [6.0, 2.0], [2.0, 6.0], [4.0, 2.0]]
    compiled.clear()
    assert compiled.variants == 0
    assert compiled("a") == 2.0


def test_keyword_arguments_and_defaults():
    def f(x, scale=2.0, *, shift=0.0):
        return x * scale + shift

    compiled = compile(f)
    assert compiled(1.0) == 2.0
    assert compiled(1.0, scale=3.0) == compiled(x=1.0, scale=3.0) == 3.0
    assert compiled(1.0, 3.0, shift=1.0) == 4.0
    with pytest.raises(TypeError):
        compiled()


# ----------------------------------------------------------------------------------------- nesting

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: float
    name: str = "layer"


class Model:
    def __init__(self, layers):
        self.layers = layers


NESTS = {
    "tuple": (lambda p: (p[1], p[0] * 2.0), (X, 1.5)),
    "list": (lambda p: [p[0] + p[1]], [1.0, 2.0]),
    "dict": (lambda p: {"out": p["a"] * p["b"]}, {"a": X, "b": 2.0}),
    "namedtuple": (lambda p: Point(p.y, p.x * 2), Point(1.0, 2.0)),
    "dataclass": (lambda p: gradient(lambda q: np.sum(q.w) * q.b, p), Layer(X, 2.0)),
    "object": (
        lambda p: gradient(lambda q: sum(np.sum(k.w) * k.b for k in q.layers), p),
        Model([Layer(X, 2.0), Layer(X * 2, 3.0)]),
    ),
    "other names": (
        lambda p: [2.0 * v for v in vars(p).values()],
        types.SimpleNamespace(**{"class": 2.0, "\ufb01": 3.0, "fi": 4.0}),
    ),
    "other keys": (lambda p: p[1] * p["a'b"] + p["\n", 2], {1: 2.0, "a'b": 3.0, ("\n", 2): 4.0}),
    "params": (
        lambda p: gradient(lambda q: np.sum(np.tanh(X @ q[0][0] + q[0][1])), p),
        [(np.eye(3), X), (np.eye(3), X)],
    ),
}


def plain(x):
    if dataclasses.is_dataclass(x) or type(x) is Model:
        return {k: plain(v) for k, v in vars(x).items()}
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x), [plain(v) for v in x]
    return x.tolist() if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("name", NESTS)
def test_nests_come_back_as_nests(name):
    f, nest = NESTS[name]
    compiled = compile(f)
    expected = f(nest)
    for _ in range(3):
        found = compiled(nest)
        assert type(found) is type(expected)
        assert plain(found) == plain(expected)
    assert compiled.variants == 1


# ---------------------------------------------------------------------------------------- memory


def writes(x):
    x[0] = 5.0
    x[1:] *= 2.0
    return np.sum(x * x)


def test_arguments_are_not_written_into():
    compiled = compile(lambda x: gradient(writes, x))
    for _ in range(3):
        x = X.copy()
        close(compiled(x), gradient(writes, x))
        close(x, X)


@pytest.mark.parametrize("n", [3, 1000, 200_000])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: gradient(lambda z: np.sum(np.tanh(z) * z), x),
        lambda x: x * 1.0,
        lambda x: x + 0.0,
        lambda x: np.exp(x) * 2.0 - x,
        lambda x: (np.exp(x), np.exp(x)),
        lambda x: np.ones(3) * 1.0,
    ],
)
def test_results_are_independent(f, n):
    compiled = compile(f)
    x = np.linspace(-1.0, 1.0, n)
    before = x.copy()
    leaves = lambda y: y if isinstance(y, tuple) else (y,)  # noqa: E731
    expected = [leaf.copy() for leaf in leaves(f(x))]
    results = [leaves(compiled(x)) for _ in range(3)]
    for y in results:
        for leaf, other in zip(y, expected, strict=True):
            close(leaf, other)
            leaf[...] = 7.0
    close(x, before)
    for leaf, other in zip(leaves(compiled(x)), expected, strict=True):
        close(leaf, other)


def test_captured_arrays_are_not_written_into():
    c = np.ones(3)

    def f(x):
        d = c.copy()
        d[0] = x
        return d

    compiled = compile(f)
    for x in (2.0, 3.0):
        close(compiled(x), [x, 1.0, 1.0])
    close(c, np.ones(3))


def test_large_chains_in_blocks():
    x = np.random.default_rng(0).standard_normal(100_001)

    def loss(x, a):
        t = np.tanh(a * x)
        return np.sum(t * t * np.exp(-x * x))

    f = lambda x, a: autodiff.value_and_gradient(loss, x, a)  # noqa: E731
    compiled = compile(f)
    fixed = x.copy()
    fixed.setflags(write=False)
    for a in (1.3, 0.7, 1.1, 0.9):
        for given in (x, fixed, x[::2], x.reshape(3, -1)[:, ::-1] if x.size % 3 == 0 else x[::-1]):
            (y, g), (z, h) = f(given, a), compiled(given, a)
            np.testing.assert_allclose(z, y, rtol=1e-12)
            for mine, theirs in zip(h, g, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-13)


def test_several_threads_may_call_at_once():
    compiled = compile(lambda x: gradient(lambda z: np.sum(np.exp(z) * z), x))
    xs = [np.linspace(0.0, 1.0 + k, 500) for k in range(8)]
    expected = [gradient(lambda z: np.sum(np.exp(z) * z), x) for x in xs]
    wrong = []

    def work(k):
        for _ in range(50):
            if not np.allclose(compiled(xs[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ----------------------------------------------------------------------- inside other derivatives


def test_a_compiled_function_is_differentiated_like_any_other():
    f = compile(square_sum)
    f(X)
    close(gradient(f, X), 2 * X)
    close(autodiff.hvp(f, X, X), 2 * X)
    g = compile(lambda x: gradient(f, x))
    close(g(X), 2 * X)
    close(g(X), 2 * X)


def test_a_traced_value_in_a_closure_is_not_frozen():
    def outer(w):
        inner = compile(lambda t: t * w)
        return inner(2.0) + inner(3.0)

    assert gradient(outer, 1.5) == 5.0


def test_methods():
    class Square:
        def __init__(self, k):
            self.k = k

        @compile
        def at(self, x):
            return self.k * x * x

    assert Square(2.0).at(3.0) == 18.0
    assert Square(3.0).at(3.0) == 27.0
    assert Square.at.variants == 1


def test_factors_of_cholesky_are_solved_as_triangles():
    import scipy.linalg  # noqa: F401 - the solver is used where it is loaded

    def f(x):
        factor = np.linalg.cholesky(np.eye(3) + np.outer(x, x))
        return np.sum(np.linalg.solve(factor, x) ** 2) + np.sum(np.linalg.solve(factor.T, x))

    compiled = compile(lambda x: gradient(f, x))
    for x in (X, X * 2.0):
        np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-10)
    assert "solve_triangle" in compiled.source


@pytest.mark.parametrize("form", ["plain", "bias", "gated", "residual"])
def test_loops_over_rows_become_products(form):
    def rnn(w, u, b, inputs):
        h = np.zeros(3)
        for x in inputs:
            if form == "plain":
                h = np.tanh(w @ h + u @ x)
            elif form == "bias":
                h = np.tanh(w @ h + u @ x + b)
            elif form == "gated":
                z = np.exp(u @ x) * b
                h = z * h + np.tanh(w @ h) * (1.0 - z)
            else:
                h = h + 0.1 * np.sin(b + (u @ x + w @ h))
        return np.sum(h * h)

    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s) / 3 for s in ((3, 3), (3, 2), (3,), (20, 2))]
    for f in (
        lambda *a: gradient(rnn, *a),
        lambda *a: autodiff.hvp(lambda w: rnn(w, *a[1:]), a[0], np.ones((3, 3))),
    ):
        compiled = compile(f, backend="python")
        for scale in (1.0, 0.5):
            given = [scale * a for a in args]
            for found, expected in zip(compiled(*given), f(*given), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)
        assert compiled.eager_because is None
        assert compiled.source.count("[:, None]") < 8  # those with the first state, a constant


def test_checkpointed_functions_are_followed():
    f = checkpoint(lambda z: np.tanh(z) * z)
    g = lambda x: gradient(lambda z: np.sum(f(f(z))), x)  # noqa: E731
    compiled = compile(g)
    for x in (np.arange(3.0), np.arange(3.0), np.arange(4.0)):
        np.testing.assert_allclose(compiled(x), g(x), rtol=1e-14)
    assert compiled.eager_because is None
