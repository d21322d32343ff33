"""Integers and outer numbers that differ from call to call: programs do what tracing does."""

import _thread
import random
import sys
import threading
import warnings

import numpy as np
import pytest

from autodiff import automatic_compile, compile, gradient, hessian, hvp, value_and_gradient
from autodiff.autocompile import call_records
from autodiff.compiler import call_recording
from tests.helpers import define, module_of, one_in


@pytest.fixture(autouse=True)
def _threads_of_other_tests(request, monkeypatch):
    """Do not count the threads that earlier tests have left: they read none of these variables.

    In every third generated program, global variables alone are inputs, as with other threads.
    """
    if request.function is not test_other_threads_see_no_traced_values:
        call = getattr(request.node, "callspec", None)
        is_alone = call is None or call.params.get("seed", 1) % 3 != 0
        monkeypatch.setattr(call_recording, "_is_only_thread", lambda: is_alone)


INTEGERS = (
    "i", "j", "i + 1", "-i", "i * j", "i // 3", "i % 5", "i - j", "abs(i)", "i & 3", "i << 1",
    "max(i, j)", "min(i, 4)", "int(i)", "i ** 2", "+j", "~i", "(i | 1) ^ j", "j * 7 - 2",
    "2 ** (i % 9)", "len(xs) - i", "N", "N - i", "(i > j) + 1", "p['n'] + i", "divmod(i, 3)[1]",
    "round(i / 2)",
)  # fmt: skip
STATEMENTS = (
    "s = s + X[{k}] @ w",
    "s = s + X[{k} % 7] @ w",
    "s = s + np.sum(X[{k} % 7, {m} % 3:] * w[{m} % 3:])",
    "s = s + np.sum(X[{k} % 7:{m} % 7] * 0.1)",
    "s = s + np.sum(X[{k}:] @ w)",
    "s = s + np.sum(XS[{k} % 4:] * s)",
    "s = s + XS[{k} % 4] * s",
    "s = s * {k}",
    "s = s / {k}",
    "s = s - {k} / 7",
    "s = s + {k} * c",
    "s = s + v[0] * {k} + v * {m}\n    s = np.sum(s)",
    "if {k} > {m}: s = s * 2.0",
    "if {k} % 2 == 0: s = s + 1.5\n    else: s = s * 0.5",
    "if {k}: s = np.sin(s)",
    "if {k} == 3: v = v * 0.5",
    "for _ in range({k} % 4): s = np.tanh(s) + 0.1",
    "for t in range(2): s = s * 0.5 + t * {k}",
    "s = s + np.sum(v ** ({k} % 4 - 1))",
    "s = s + w[0] ** {k}",
    "s = s + c ** ({k} % 5) * s",
    "v = np.roll(v, {k} % 100)",
    "v = v.copy(); v[{k} % 6] = s",
    "v = v.copy(); v[{k} % 6] += s * w[1]",
    "v = v.copy(); v[{k} % 5:] = v[{k} % 5:] * 2.0",
    "s = s + xs[{k} % 3] * s",
    "s = s + {{0: 0.5, 1: 0.25, 2: 2.0}}[{k} % 3] * s",
    "s = s + (1.0 if type{k} is int else 2.0)",
    "s = s + isinstance({k}, int) * s",
    "s = s + np.sum(np.where(np.arange(6) < {k}, v, 0.0))",
    "s = s + float{k} * 0.1",
    "s = s + np.sin{k} * s",
    "s = s + math.sqrt(abs{k}) * s",
    "s = s + math.comb(abs{k} % 6, 2) * s",
    "s = s + np.full(3, {k} % 9).sum() * s",
    "s = s + len(f'{{{k}}}') * s",
    "s = s + np.take(v, {k} % 6)",
    "s = s + np.eye(6)[{k} % 6] @ v",
    "s = s + np.sum(v.reshape({k} % 2 + 1, -1)[0])",
    "s = s + v[-({k} % 6) - 1]",
    "s = s + np.sum(np.ones({k} % 4) * s)",
    "s = s + np.maximum(v, {k} % 3).sum()",
    "s = s + LR * s",
    "s = s + LR * np.sum(OUT * w)",
    "s = s + OUT[{k} % 3] * s",
    "n = n + {k} % 11",
    "n = n * 3 + {m} // 2",
    "s = s * (1.0 + 0.5 ** (n % 5))",
    "s = s + (n in (1, 2, 3)) * s",
    "p['n'] = p['n'] + 1; s = s * p['n']",
    "s = s + sum(a * {k} for a in w)",
    "s = s + np.sum(np.cumsum(v)[: {k} % 6 + 1])",
    "s = s + np.mean(v.reshape(2, 3), axis={k} % 2)[0]",
    "s = s if n is not None else 0.0",
)
PROGRAM = """
import math
import numpy as np
N, LR, OUT = 3, 0.25, np.array([0.5, -1.0, 2.0])

def f(w, X, v, c, xs, i, j, p):
    s, n = w @ w, 0
    {body}
    return s, (n, i, j)
"""
CALLS = (
    (2, 3), (4, 3), (5, 1), (0, 2), (-1, 4), (1, -2), (-5, 0), (2, 3), (7, 7), (True, 2),
    (np.int64(2), 1), (2**40, 3), (2**70, 5), (3, False), (6, np.int64(4)), (1, 2), (8, 9),
)  # fmt: skip
RNG = np.random.default_rng(7)


def made(seed):
    """Return the text of a function, and the function in two modules."""
    rng = random.Random(seed)
    body = []
    for _ in range(rng.randint(1, 6)):
        k, m = f"({rng.choice(INTEGERS)})", f"({rng.choice(INTEGERS)})"
        body.append(rng.choice(STATEMENTS).format(k=k, m=m))
    outer = rng.choice(["XS = X", "XS = np.arange(5.0)"])
    text = PROGRAM.format(body="\n    ".join([outer, *body]))
    return text, define(text, f"<varying {seed}>"), define(text, f"<varying {seed}>")


def result_of(run, *args):
    """Return what a call returns, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(*args)
        except Exception as error:
            return type(error), str(error)


def outcome(run, space, i, j, k, dtype):
    """Return what a call gives where the outer numbers are those of k."""
    space["N"], space["LR"] = 2 + k // 4, 0.125 * (k // 3)
    if k % 5 == 4:
        space["OUT"] = space["OUT"] * 1.5
    rng = np.random.default_rng(k)
    w, X = rng.normal(size=3).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)
    v = rng.normal(size=6).astype(dtype)
    return result_of(run, w, X, v, 0.5 + k, [0.5, 1.5, float(k)], i, j, {"n": k, "x": 1.0})


def same(found, expected, where):
    """Compare two outcomes: classes, dtypes, integers exactly, numbers up to rounding."""
    assert type(found) is type(expected), (where, found, expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected), (where, found, expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b, where)
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        a, b = np.asarray(found), np.asarray(expected)
        assert a.dtype == b.dtype, (where, found, expected)
        assert a.shape == b.shape, (where, found, expected)
        tolerance = 2e-3 if a.dtype == np.float32 else 1e-7
        size = np.max(np.abs(b), initial=1.0, where=np.isfinite(b))
        with np.errstate(all="ignore"):
            close = np.abs(a - b) <= tolerance * size
        assert np.all(close | (a == b) | (np.isnan(a) & np.isnan(b))), (where, found, expected)
    else:
        assert found == expected, (where, found, expected)


def check(seed, calls, backend, way=0):
    text, mine, other = made(seed)
    dtype = np.float32 if seed % 4 == 3 else np.float64

    def through(f):
        def captured(w, X, v, c, xs, i, j, p):
            return value_and_gradient(lambda w: f(w, X, v, c, xs, i, j, p), w, has_aux=True)

        def by_default(w, X, v, c, xs, i, j, p):
            def g(w, i=i, v=v, *, j=j):
                return f(w, X, v, c, xs, i, j, p)

            return value_and_gradient(g, w, argnums=0, has_aux=True)

        if way:
            return captured if way == 1 else by_default
        return lambda *args: value_and_gradient(f, *args, argnums=0, has_aux=True)

    compiled = through(mine["f"])
    if backend is not None:
        compiled = compile(compiled, backend=backend)
    for k, (i, j) in enumerate(calls):
        before = automatic_compile(False)
        try:
            expected = outcome(through(other["f"]), other, i, j, k, dtype)
        finally:
            automatic_compile(before)
        found = outcome(compiled, mine, i, j, k, dtype)
        same(found, expected, f"seed {seed}, call {k}: {i!r}, {j!r}, {backend} of\n{text}")
    return compiled


@pytest.mark.parametrize("seed", range(0, 160, one_in(11)))
def test_generated_compiled(seed):
    check(seed, CALLS, "python" if seed % 3 else "auto")


@pytest.fixture
def soon(monkeypatch):
    """Make programs after the second call."""
    monkeypatch.setattr(call_records.Settings, "enabled", True)
    for name, value in {"calls": 2, "seconds": 0.0, "loading": 0.0}.items():
        monkeypatch.setattr(call_records.Settings, name, value)
    monkeypatch.setattr(call_records, "STALL", 60.0)
    monkeypatch.setattr(call_records, "RECORDING_RATIO", 0.0)
    call_records.records.clear()
    yield
    call_records.records.clear()


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("seed", range(0, 160, one_in(11)))
def test_generated_automatic(seed):
    check(seed, CALLS * 2, None, seed // 4 % 3)


def on_row(w, rows, i):
    r = np.tanh(rows[i] @ w) - 0.3
    return r * r


ROWS = RNG.normal(size=(40, 3))


def test_one_program_for_all_rows():
    """An index is a constant of the first program, and an input of the second."""
    compiled = compile(lambda w, i: gradient(on_row, w, ROWS, i, argnums=0), backend="python")
    w = np.ones(3)
    for i in range(-40, 40):
        expected = gradient(on_row, w, ROWS, i, argnums=0)
        np.testing.assert_allclose(compiled(w, i), expected, rtol=1e-12)
    assert compiled.variants == 2
    with pytest.raises(IndexError, match="index 40 is out of bounds"):
        compiled(w, 40)


def made_in(text):
    return vars(module_of(text))


OUTSIDE = """
import numpy as np
CONFIG, RATE, STEP = {"rate": 0.5, "step": 0, "name": "a"}, 0.25, 0

class Model:
    def __init__(self):
        self.t, self.scale = 0, 0.5

    def loss(self, w):
        return np.sum(np.tanh(w) * self.scale) / (1 + self.t)

MODEL = Model()

def of_dict(w):
    return np.sum(w * w) * CONFIG["rate"] ** CONFIG["step"]

def of_object(w):
    return MODEL.loss(w) * RATE + np.sum(w) / (STEP + 2)

def next(k):
    global RATE, STEP
    CONFIG["step"], MODEL.t, RATE, STEP = k, k, 0.5 * k, -k - 3
"""


@pytest.mark.parametrize("name", ["of_dict", "of_object"])
def test_numbers_in_objects_and_dicts(name):
    """One program serves all values; another key, class or name is compared as before."""
    space = made_in(OUTSIDE)
    f, w = space[name], np.array([0.3, -0.2, 0.5])
    compiled = compile(lambda w: gradient(f, w), backend="python")
    for k in range(12):
        space["next"](k)
        np.testing.assert_allclose(compiled(w), gradient(f, w), rtol=1e-12)
    assert compiled.variants == 2
    space["CONFIG"]["step"], space["MODEL"].t = 2.5, 2.5
    np.testing.assert_allclose(compiled(w), gradient(f, w), rtol=1e-12)
    space["CONFIG"]["rate"], space["MODEL"].scale = 2.0, 3.0
    np.testing.assert_allclose(compiled(w), gradient(f, w), rtol=1e-12)
    space["MODEL"].loss = lambda w: np.sum(w**3)
    np.testing.assert_allclose(compiled(w), gradient(f, w), rtol=1e-12)


RAISING = """
import numpy as np
N = 0

def f(w):
    if w[0] > 9:
        raise KeyError(N)
    return np.sum(w) / (N + 1)
"""


def test_variables_are_restored_after_an_error():
    space = made_in(RAISING)
    compiled = compile(lambda w: gradient(space_f, w), backend="python")
    space_f = space["f"]
    for n in (0, 1, 2):
        space["N"] = n
        np.testing.assert_allclose(compiled(np.ones(2)), np.ones(2) / (n + 1))
    with pytest.raises(KeyError):
        compiled(np.full(2, 10.0))
    assert space["N"] == 2


def steps(kind):
    """Return a function that takes a step: what it differentiates is made anew each time."""

    def by_cell(w, k, x):
        return gradient(lambda w: np.sum(np.tanh(w * x)) / (1 + k), w)

    def by_default(w, k, x):
        return gradient(lambda w, x=x, *, k=k: np.sum(np.tanh(w * x)) / (1 + k), w, argnums=0)

    def by_helper(w, k, x):
        def helper(v):
            return v * x / (1 + k)

        return gradient(lambda w: np.sum(np.tanh(helper(w))) * k, w)

    def recursive(w, k, x):
        def f(w, n=2, k=k):
            return np.sum(w * x) * k if n == 0 else f(w * w, n - 1) / (1 + k)

        return gradient(f, w, argnums=0)

    def with_attribute(w, k, x):
        def f(w):
            return np.sum(w * x) * f.k

        f.k = k
        return gradient(f, w)

    return locals()[kind]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "kind, has_program",
    [("by_cell", True), ("by_default", True), ("by_helper", False), ("recursive", False),
     ("with_attribute", False)],
)  # fmt: skip
def test_functions_made_anew(kind, has_program):
    step, w = steps(kind), np.array([0.3, -0.2, 0.5])
    for k in range(20):
        x = np.arange(3.0) * k
        before = automatic_compile(False)
        expected = step(w, k, x)
        automatic_compile(before)
        np.testing.assert_allclose(step(w, k, x), expected, rtol=1e-10, atol=1e-12)
    assert any(record.hits > 10 for record in call_records.records.values()) == has_program


def while_positive(w, n):
    s = np.sum(w)
    while n > 0:
        s, n = np.tanh(s) + 0.1 * n, n - 1
    return s


def written(w, i):
    a = np.zeros(3)
    a[i] = w[i] * 2.0
    a[:i] += 1.0 * w[:i]
    v = a[i:]
    v *= 2.0
    return np.sum(a * a)


def with_options(w, i):
    return np.sum(w) if i is None else np.sum(w * i)


W = np.array([0.3, -0.2, 0.5])
SMALL, LARGE = (1, 2, 3, -1, 0, -3), (1, 2, 3, 0, -4, 2**62, 2**63, 2**70, 5)
EDGES = {
    "hessian": (lambda w, i: hessian(lambda w: (ROWS[i] @ w) ** 3 * i, w), (*SMALL, 25, 2**70)),
    "hvp": (lambda w, i: hvp(lambda w: (ROWS[i] @ w) ** 3 / (i + 2), w, w), SMALL),
    "slice": (lambda w, i: gradient(lambda w: np.sum(ROWS[i : i + 4] @ w), w), (*SMALL, 39, 50)),
    "step": (lambda w, i: gradient(lambda w: np.sum(ROWS[i::-1] @ w), w), SMALL),
    "power": (lambda w, i: gradient(lambda w: np.sum(w**i) + w[0] ** i, w), (*SMALL, 2**70)),
    "at zero": (lambda w, i: gradient(lambda w: np.sum((w - w) ** i), w), SMALL),
    "infinite slope": (lambda w, i: gradient(lambda w: np.sum(i * np.sqrt(w - w)), w), SMALL),
    "as a float": (lambda w, i: gradient(lambda w, i: np.sum(w) * i**2, w, i), SMALL),
    "in an array": (lambda w, i: gradient(lambda w: np.sum(w * np.array([i, 2, 3])), w), LARGE),
    "of integers": (lambda w, i: gradient(lambda w: np.sum(w * (np.arange(3) + i)), w), LARGE),
    "results": (lambda w, i: (i, -i, i / 2, i // 2, i**2, [i], i > 2, i == 3, not i), LARGE),
    "key": (lambda w, i: gradient(lambda w: np.sum(w * {0: 1.0, 1: 2.0}[i % 2]), w), SMALL),
    "made key": (lambda w, i: {i: gradient(lambda w: np.sum(w * i), w)}[i], SMALL),
    "text": (lambda w, i: gradient(lambda w: np.sum(w * float(f"{i}.5")), w), SMALL),
    "while": (lambda w, i: gradient(lambda w: while_positive(w, i), w), SMALL),
    "written": (lambda w, i: gradient(lambda w: written(w, i), w), SMALL),
    "kinds": (
        lambda w, i: gradient(with_options, w, i, argnums=0),
        (1, None, 2, 3.0, True, "a", 4),
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    f, calls = EDGES[name]
    compiled = compile(f, backend="python")
    for i in calls:
        same(result_of(compiled, W, i), result_of(f, W, i), f"{name}, {i!r}")


STATES = """
import functools
import numpy as np
RATE, TABLE = 1.0, [0.5, 2.0]
W = np.array([0.3, -0.2, 0.5])

@functools.lru_cache
def scaled(n):
    return n * RATE

def cached(w, n):
    return np.sum(w) * scaled(n)

def helper(w, table=TABLE):
    return np.sum(w) * table[0]

def change(k):
    global RATE
    RATE, TABLE[0] = 1.0 + k, 0.5 + k // 4
"""


def test_a_cache_keeps_no_traced_values():
    """It has the values of the calls that filled it: a program asks it, with plain integers."""
    space, other = made_in(STATES), made_in(STATES)
    compiled = compile(lambda w, n: gradient(space["cached"], w, n, argnums=0), backend="python")
    for k in range(12):
        space["change"](k)
        other["change"](k)
        expected = np.full(3, other["scaled"](k // 2))
        np.testing.assert_allclose(compiled(W, k // 2), expected)
        assert type(space["scaled"](k // 2)) is float


@pytest.mark.usefixtures("soon")
def test_a_default_that_a_helper_has_too():
    space = made_in(STATES)

    def step(w):
        def loss(w, table=space["TABLE"]):
            return space["helper"](w) * table[1]

        return gradient(loss, w, argnums=0)

    for k in range(16):
        space["change"](k)
        np.testing.assert_allclose(step(W), np.full(3, 2.0 * (0.5 + k // 4)))


BUSY = """
import numpy as np
RATE = 1.0

def f(w):
    return np.sum(w) * RATE
"""


def test_other_threads_see_no_traced_values():
    """Threads that `threading` does not know count, too."""
    interval = sys.getswitchinterval()
    space, seen, done, ended = made_in(BUSY), set(), [], threading.Event()

    def look():
        while not done:
            seen.add(type(space["RATE"]))
        ended.set()

    f = space["f"]
    compiled = compile(lambda w: gradient(f, w), backend="python")
    sys.setswitchinterval(1e-5)
    try:
        _thread.start_new_thread(look, ())
        for k in range(8):
            space["RATE"] = float(k)
            np.testing.assert_array_equal(compiled(W), np.full(3, float(k)))
    finally:
        sys.setswitchinterval(interval)
        done.append(True)
    assert ended.wait(10)
    assert seen == {float}
    assert compiled.variants == 2  # the rate is an input all the same
