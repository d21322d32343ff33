"""Functions that are differentiated many times, and what may change between two calls."""

import functools
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

from autodiff import (
    autocompile,
    derivative,
    diag_hessian,
    gradient,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_gradient,
    vhp,
)
from autodiff.autocompile import call_records

pytestmark = pytest.mark.usefixtures("soon")
X = np.array([0.5, -1.25, 2.0])


def record_of(f):
    parts = tuple(map(id, call_records.parts_of(f, is_shared=False)))
    found = [r for key, r in call_records.records.items() if key[1 : len(parts) + 1] == parts]
    return max(found, key=lambda r: len(r.variants))


def is_compiled(f):
    record = record_of(f)
    return bool(record.variants) and not record.why


def again(f, *args, n=8, **kwargs):
    """The gradients of n calls."""
    return [gradient(f, *args, **kwargs) for _ in range(n)]


def square(x):
    return np.sum(np.tanh(x) ** 2 * x)


@pytest.mark.parametrize(
    "take, args",
    [
        (gradient, (X,)),
        (value_and_gradient, (X,)),
        (hessian, (X,)),
        (diag_hessian, (X,)),
        (hvp, (X, X + 1)),
        (vhp, (X, X + 1)),
    ],
)
def test_derivatives(take, args):
    found = [take(square, *args) for _ in range(12)]
    assert is_compiled(square)
    assert record_of(square).hits >= 8
    autocompile.automatic_compile(False)
    try:
        expected = take(square, *args)
    finally:
        autocompile.automatic_compile(True)
    for y in found:
        np.testing.assert_allclose(y[-1], expected[-1], rtol=1e-12)
        assert type(y) is type(expected)


def test_matrices_and_tangents():
    def f(x):
        return np.tanh(x) * x[0]

    expected = jacobian(f, X)
    for mode in ("auto", "forward", "reverse") * 4:
        np.testing.assert_allclose(jacobian(f, X, mode=mode), expected, rtol=1e-12)
    pairs = [jvp(f, (X,), (np.ones(3),)) for _ in range(6)]
    np.testing.assert_allclose(pairs[-1][1], expected @ np.ones(3), rtol=1e-12)
    np.testing.assert_array_equal(pairs[-1][0], f(X))
    assert [derivative(lambda t: t**3, 2.0) for _ in range(6)] == [12.0] * 6
    assert all(not r.why for r in call_records.records.values())


def test_other_values_branches_and_shapes():
    def f(x):
        total = 0.0
        for v in x:
            if v > 0:
                total += v**2
            else:
                total -= 3 * v
        return total

    rng = np.random.default_rng(0)
    for k in range(200):
        x = rng.standard_normal(1 + k % 3)
        np.testing.assert_allclose(gradient(f, x), np.where(x > 0, 2 * x, -3), rtol=1e-12)
    x = rng.standard_normal(2).astype(np.float32)
    for _ in range(5):
        assert gradient(f, x).dtype == np.float32
    assert again(f, [1.0, -2.0])[-1] == [2.0, -3.0]


def test_a_function_that_takes_another_way_each_time_is_left_alone():
    def f(x, n):
        return x * np.ones((n, 1)).sum()

    for n in range(1, 40):
        assert gradient(f, 1.0, n, argnums=0) == n
    assert "another path" in record_of(f).why


RATE = 2.0
TABLE = np.ones(3)
LARGE = np.ones(2000)


def helper(x):
    return x * RATE


def other_helper(x):
    return x * 10.0


def test_variables_outside(monkeypatch):
    def f(x):
        return np.sum(helper(x) * TABLE)

    def expect(value):
        for y in again(f, X):
            assert y.tolist() == value

    expect([2.0] * 3)
    assert is_compiled(f)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    expect([3.0] * 3)
    TABLE[1] = 5.0
    expect([3.0, 15.0, 3.0])
    monkeypatch.setitem(globals(), "TABLE", np.zeros(3))
    expect([0.0] * 3)
    monkeypatch.setitem(globals(), "TABLE", np.ones(3))
    monkeypatch.setitem(globals(), "helper", other_helper)
    expect([10.0] * 3)
    monkeypatch.setattr(other_helper, "__code__", (lambda x: x * 11.0).__code__)
    expect([11.0] * 3)


def test_large_arrays_outside_are_compared():
    def f(x):
        return x * np.sum(LARGE)

    assert again(f, 1.0)[-1] == 2000.0
    assert is_compiled(f)
    LARGE[:] = 2.0
    assert again(f, 1.0) == [4000.0] * 8
    LARGE[0], LARGE[1] = 0.0, 4.0
    assert again(f, 1.0) == [4000.0] * 8


def test_each_program_is_for_what_it_has_read():
    data = np.ones(2000)

    def f(x):
        return np.sum(x) * np.sum(data)

    def expect(value):
        for _ in range(4):
            for n in (1, 2, 3):
                assert gradient(f, np.ones(n)).tolist() == [value] * n

    expect(2000.0)
    assert len(record_of(f).variants) > 1
    data[:] = 2.0
    for _ in range(8):
        assert gradient(f, np.ones(1)).tolist() == [4000.0]
    expect(4000.0)
    data[:] = 1.0
    expect(2000.0)


def test_what_closures_hold_may_change():
    rate = 2.0

    def f(x):
        return x * rate

    assert again(f, 1.0) == [2.0] * 8
    rate = 3.0
    assert again(f, 1.0) == [3.0] * 8


def test_a_module_by_another_name(monkeypatch):
    import math

    monkeypatch.setitem(globals(), "functions", np)

    def f(x):
        return functions.exp(x) * 1.0  # noqa: F821 - put there above

    assert again(f, 1.0)[-1] == np.exp(1.0)
    other = type(sys)("other")
    other.__file__ = "other.py"
    other.exp = math.sin
    monkeypatch.setitem(globals(), "functions", other)
    assert again(f, 1.0) == [math.cos(1.0)] * 8
    other.exp = math.atan
    assert again(f, 1.0) == [0.5] * 8


def test_a_function_of_a_library_that_is_replaced(monkeypatch):
    def f(x):
        return np.exp(x) * 1.0

    assert again(f, 1.0)[-1] == np.exp(1.0)
    assert is_compiled(f)
    monkeypatch.setattr(np, "exp", np.sin)
    assert again(f, 1.0) == [np.cos(1.0)] * 8
    monkeypatch.undo()
    assert again(f, 1.0) == [np.exp(1.0)] * 8


CALLS = []


def test_what_a_function_does_is_done_each_time(capsys):
    def f(x):
        CALLS.append(1)
        return x * len(CALLS)

    found = again(f, 1.0, n=30)
    assert found == [float(k) for k in range(1, 31)]

    def shows(x):
        print("called")
        return x * 2

    again(shows, 1.0, n=30)
    assert capsys.readouterr().out.count("called") == 30


def test_errors_are_those_of_the_function():
    def f(x):
        if x[0] > 5:
            raise ValueError(f"{x.size} too many")
        return np.sum(x[:2] / x[2])

    again(f, X)
    assert is_compiled(f)
    with pytest.raises(ValueError, match="3 too many"):
        gradient(f, X + 6)
    with pytest.raises(IndexError):
        gradient(f, X[:2])
    again(f, X)


def test_warnings_are_those_of_the_function():
    def f(x):
        return np.sum(np.sqrt(x))  # its slope is infinite at zero: the sweep does not warn of that

    again(f, np.ones(3))
    assert is_compiled(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again(f, np.array([1.0, 0.0, 4.0]))[-1].tolist() == [0.5, np.inf, 0.25]

    def g(x):
        return np.sum(np.log(x))

    again(g, np.ones(3))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert gradient(g, -np.ones(3)).tolist() == [-1.0] * 3  # the value is NaN
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        gradient(g, np.zeros(3))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        gradient(g, np.zeros(3))


def test_a_gradient_that_nears_zero():
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((50, 5)), rng.standard_normal(50)

    def loss(w):
        return np.mean((x @ w - noise) ** 2)

    w = np.zeros(5)
    for _ in range(600):
        w = w - 0.3 * gradient(loss, w)
    assert np.max(np.abs(gradient(loss, w))) < 1e-14
    assert is_compiled(loss)
    assert record_of(loss).hits > 512


def test_a_program_that_is_wrong_is_not_used_again(monkeypatch):
    def f(x):
        return np.sum(x**2)

    again(f, X)
    variant = record_of(f).variants[0]
    right = variant.run
    monkeypatch.setattr(variant, "run", lambda *args: (right(*args)[0], right(*args)[1] * 1.001))
    again(f, X, n=20)
    assert "order of operations" in record_of(f).why
    assert again(f, X)[-1].tolist() == (2 * X).tolist()


def test_a_chaotic_function_keeps_its_own_values():
    def f(x):
        for _ in range(300):
            x = 3.99 * x * (1.0 - x)
        return x

    def slope(x):
        return gradient(f, x)

    found = again(slope, 0.3)
    expected = slope(0.3)
    np.testing.assert_allclose(found, found[0], rtol=1e-7)
    assert np.isfinite(expected)


def test_inside_another_derivative_it_is_traced():
    def inner(y):
        return y**3

    def f(x):
        return gradient(inner, x) * x

    again(inner, 2.0)
    assert again(f, 2.0) == [36.0] * 8


def test_a_debugger_sees_each_call():
    def f(x):
        return x * x

    again(f, 1.0)
    seen = []
    before = sys.gettrace()

    def trace(frame, event, arg):
        seen.append(frame.f_code.co_name)

    sys.settrace(trace)
    try:
        gradient(f, 1.0)
    finally:
        sys.settrace(before)
    assert "f" in seen


def test_results_are_of_ones_own():
    scale = np.ones(3)

    def f(x):
        return np.sum(x * scale)

    for _ in range(10):
        y = gradient(f, X)
        assert y.tolist() == [1.0] * 3
        y[:] = 7.0
    assert scale.tolist() == [1.0] * 3


def test_threads():
    def f(x):
        h = x
        for _ in range(5):
            h = np.tanh(h * 0.5 + x)
        return np.sum(h * h)

    inputs = [np.full(40, k / 7) for k in range(8)]
    expected = [gradient(f, x) for x in inputs]
    wrong = []

    def work(k):
        for _ in range(100):
            if not np.allclose(gradient(f, inputs[k]), expected[k], rtol=1e-12):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert is_compiled(f)
    assert not wrong


def test_functions_that_are_called_once_are_not_kept():
    def make():
        def f(x):
            return x * x

        gradient(f, 1.0)
        return weakref.ref(f)

    assert make()() is None


def test_a_function_that_a_loop_makes_anew_is_the_same():
    rate = np.ones(3)

    def step(x):
        return x - 0.1 * gradient(lambda z, k=2.0: np.sum(rate * z**k), x, argnums=0)

    x = X
    for _ in range(30):
        x = step(x)
    np.testing.assert_allclose(x, X * 0.8**30, rtol=1e-12)
    assert [r.hits > 24 for r in call_records.records.values()] == [True]
    rate[:] = 2.0
    np.testing.assert_allclose(step(X), X * 0.6)
    others = [(lambda z: z * k)(1.0) for k in (2.0, 3.0)]
    assert others == [2.0, 3.0]


def test_partials():
    def loss(w, x, y, *, scale=1.0):
        return scale * np.sum((x @ w - y) ** 2)

    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((300, 3)), rng.standard_normal(300), rng.standard_normal(3)
    for factor in (1.0, 3.0):
        for _ in range(8):
            found = gradient(functools.partial(loss, x=x, y=y, scale=factor), w)
            np.testing.assert_allclose(found, factor * 2 * x.T @ (x @ w - y), rtol=1e-12)
    assert sum(bool(r.variants) for r in call_records.records.values()) >= 1
    x[0] += 1.0
    for _ in range(8):
        found = gradient(functools.partial(loss, x=x, y=y), w)
        np.testing.assert_allclose(found, 2 * x.T @ (x @ w - y), rtol=1e-12)


def test_closures_of_the_same_code_are_apart():
    def of(k):
        return lambda x: x * k

    for _ in range(10):
        assert [gradient(of(float(k)), 1.0) for k in range(5)] == [0.0, 1.0, 2.0, 3.0, 4.0]
    kept = [of(float(k)) for k in range(5)]
    for _ in range(10):
        assert [gradient(f, 1.0) for f in kept] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_what_cannot_be_looked_at_stays_as_it_is(monkeypatch):
    def fails(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr("autodiff.autocompile.program_builder.Proof.__init__", fails)
    assert again(lambda x: x * 2.0, 1.0) == [2.0] * 8
    assert all("too deep" in r.why for r in call_records.records.values())


def test_options_that_cannot_be_hashed():
    assert gradient(lambda x, y: x * y, 2.0, 3.0, argnums=[0]) == (3.0,)


def test_it_can_be_turned_off():
    before = autocompile.automatic_compile(False)
    assert before is True
    try:
        again(square, X)
        assert not call_records.records
    finally:
        autocompile.automatic_compile(True)


def test_why_not():
    def f(x):
        print(x)
        return x

    assert "'print'" in autocompile.why_not(f)
    assert autocompile.why_not(square) == ""
    assert "function" in autocompile.why_not(np.sum)


def test_programs_that_are_dropped_while_a_call_is_compared(monkeypatch):
    """Another thread may register a rule, which drops all programs."""

    def f(x):
        return np.sum(np.exp(-x * x) * x)

    traced = call_records.DerivativeCall.traced

    def dropping(call):
        y = traced(call)
        call_records._forget()
        return y

    monkeypatch.setattr(call_records.DerivativeCall, "traced", dropping)
    for _ in range(12):
        np.testing.assert_allclose(gradient(f, X), np.exp(-X * X) * (1 - 2 * X * X))
