"""Loops in forward mode and at several levels: by tangent functions of programs, and traced."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, hessian, hvp, jvp, vhp
from autodiff.structured import calls, levels, runtime
from chainrules_core import frule, rrule
from chainrules_core.define import scalar_rule
from tests.autodiff.structured.kernels import arguments, recurrence, reductions, stencil
from tools.fuzz import generators, judge

X = 0.4 * np.sin(np.arange(6.0) + 0.3)
V = np.cos(np.arange(6.0) * 1.7)


def diffused(u):
    u = u.copy()
    for _ in range(5):
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:]) * np.cos(u[1:-1])
    return np.sum(u * u)


def recurrent(x):
    w = x.reshape(2, 3)[:, :2]
    h = np.zeros(2)
    for t in range(4):
        h = np.tanh(w @ h + x[t])
    return np.sum(h**2)


def decay(x):
    y = x[0]
    for i in range(20):
        y = y + 0.1 * (math.sin(y) - x[i % 6] * y * y)
    return y


def searched(x):
    n, s = 0, x[1]
    while abs(s) < 2.0:
        s = s + x[n % 6] * s + 0.5
        n += 1
        if n > 15:
            break
    return s * s


def branches(x):
    s = 1.0
    for i in range(len(x)):
        if x[i] > 0.1:
            s = s * (1.0 + x[i]) + max(x[i], x[i - 1])
        elif i % 2:
            s = s / (1.5 + x[i] ** 2)
    return s


def extrema(x):
    m = np.outer(x, x + 2.0)
    s = 0.0
    for i in range(3):
        row = m[i] - np.max(m[i])
        s = (
            s
            + np.log(np.sum(np.exp(row)))
            + np.linalg.norm(m[:, i])
            + np.sum(np.maximum(row, -0.3))
        )
    return s


def matrices(x):
    a = np.eye(3) * 2.0 + 0.1 * np.outer(x[:3], x[3:])
    b = x[3:]
    for _ in range(3):
        b = np.linalg.solve(a, b) + x[:3]
        a = a + 0.1 * np.linalg.inv(a) * np.linalg.det(a)
    return np.sum(b * b)


def joined(x):
    s = x
    for i in range(3):
        s = np.concatenate((s[1:], np.array([s[0] * x[i]])))
        s = s + np.where(s > 0.0, s, 0.1 * x).reshape(2, 3).sum(axis=0).mean()
    return np.sum(s**3)


def listed(x):
    rows, last = [[0.0] * 3, [x[0], 1.0, x[1]]], deque([x[2]], maxlen=2)
    for i in range(4):
        row = [rows[-1][0] * x[i]]
        for j in range(1, 3):
            row.append(rows[-1][j] * np.sin(row[j - 1]) + last[0])
        rows.insert(1, row)
        last.append(row[-1] * x[i])
        if i == 2:
            del rows[0]
    parts = [x * row[1] for row in rows]
    parts[1][2] = parts[0][1] * rows[0].pop()
    return sum(last) + np.sum(np.array(rows[1]) ** 2) + np.sum(np.stack(parts) ** 3)


def keyed(x):
    totals, made = {}, {"w": x * x[1], "b": 0.5}
    for i in range(len(x)):
        key = (i % 3, i % 2)
        if key not in totals:
            totals[key] = made["b"]
        totals[key] = totals[key] * x[i] + made["w"][i]
        made["b"] = made["b"] * x[i]
    s = 0.0
    for key in list(totals):
        s = s + totals[key] ** 2 * (key[0] + 1)
    return s


def by_rules(x):
    a = np.outer(x[:3], x[3:]) + np.diag([1.0, 2.0, 4.0])
    s = 0.0
    for i in range(2):
        w, v = np.linalg.eigh(a @ a.T)
        q, r = np.linalg.qr(a)
        a = q @ np.diag(w) * 0.1 + r
        s = s + np.prod(1.0 + x) * v[0, 0] ** 2 + np.sinc(x[i]) + np.std(a, axis=0)[i]
        s = s + np.interp(x[0], np.array([-1.0, 0.0, 1.0]), x[3:]) + math.dist(x[:2], x[2:4])
    m = np.einsum("ij,jk->ki", a, a) @ np.convolve(x[:3], x[3:], mode="same")
    return s + np.cumprod(x + 1.0)[3] + m @ np.cumsum(a, axis=1)[1]


def powers(x):
    s, y = 0.0, x + 2.0
    for i in range(4):
        s = s + y[i] ** i + y[i] ** y[i + 1]
        y = y ** (1.0 + 0.1 * i) + np.array([[1.0, x[i]], [0.0, 2.0]])[i % 2, 1]
    return s + np.sum(y)


def shifted(x):
    y = x + 1.0
    for i in range(3):
        z, before = y - 2.0, y + 3.0
        z[i] = z[i + 1] * x[i] + 0.5
        y[1:3] += z[:2]
        y[4] = before[2]
    return np.sum(y * y * x)


KERNELS = [
    diffused, recurrent, decay, searched, branches, extrema, matrices, joined, listed, keyed,
    by_rules, powers, shifted,
]  # fmt: skip


def _untraced(f: Callable, *args: Any) -> Any:
    calls.Settings.enabled = False
    try:
        return f(*args)
    finally:
        calls.Settings.enabled = True


@pytest.fixture
def by_levels(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether calls at several levels were made by programs."""
    made: list[bool] = []
    call = levels.call_at_levels

    def noted(*args: Any) -> Any:
        result = call(*args)
        made.append(result is not NotImplemented)
        return result

    monkeypatch.setattr(calls, "call_at_levels", noted)
    return made


TRANSFORMS: dict[str, Callable] = {
    "jvp": lambda f: jvp(f, (X,), (V,))[1],
    "hvp": lambda f: hvp(f, X, V),
    "vhp": lambda f: vhp(f, X, V),
    "third": lambda f: jvp(lambda x: hvp(f, x, V), (X,), (V[::-1].copy(),))[1],
    "reverse of reverse": lambda f: gradient(lambda x: np.sum(np.sin(gradient(f, x)) * V), X),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", KERNELS)
def test_as_traced(f: Callable, transform: str, by_levels: list[bool]) -> None:
    take = TRANSFORMS[transform]
    # The function is called by another one: the outermost one is traced in any case.
    expected = _untraced(take, lambda x: f(x) * 1.0)
    found = take(lambda x: f(x) * 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    assert by_levels
    assert all(by_levels)


def test_tangents_have_memory_of_their_own() -> None:
    def written(y, z, n):
        for i in range(n):
            y[i] = y[i] * z[i] + 1.0
            z = y - 2.0
            z[0] = y[1] ** 2
        return np.sum(y * z)

    def loss(x):
        y = x + 0.5
        total = written(y, x, 3)
        y[0] = 3.0 * total
        return np.sum(y * x)

    v = V.copy()
    for take in (lambda: jvp(loss, (X,), (v,))[1], lambda: hvp(loss, X, v)):
        np.testing.assert_allclose(take(), _untraced(take), rtol=1e-10)
        np.testing.assert_array_equal(v, V)


def test_the_slope_of_a_sign_is_zero() -> None:
    def loss(x):
        s = 0.0
        for i in range(5):
            s = s + abs(x[i]) * x[i + 1]
        return s

    x, signs = X.copy(), np.zeros((6, 6))
    x[2] = 0.0
    signs[np.arange(5), np.arange(1, 6)] = np.sign(x[:5])
    np.testing.assert_allclose(hvp(lambda x: loss(x) * 1.0, x, V), (signs + signs.T) @ V)


def test_a_rule_for_forward_mode_alone() -> None:
    def cube(x):
        return x**3

    def loss(x):
        s = 0.0
        for i in range(4):
            s = s + cube(x[i]) * x[i + 1]
        return s

    frule.register(cube)(lambda dots, x: (x**3, 7.0 * np.cos(x) * dots[0]))
    try:
        found = jvp(lambda x: loss(x) * 1.0, (X,), (V,))[1]
    finally:
        frule.unregister(cube)
    slopes = 7.0 * np.cos(X) * V
    np.testing.assert_allclose(found, np.sum(slopes[:4] * X[1:5] + X[:4] ** 3 * V[1:5]))
    np.testing.assert_allclose(
        jvp(lambda x: loss(x) * 1.0, (X,), (V,))[1],
        np.sum(3.0 * X[:4] ** 2 * V[:4] * X[1:5] + X[:4] ** 3 * V[1:5]),
    )


def test_of_floats(by_levels: list[bool]) -> None:
    def grown(x, n):
        for i in range(n):
            x = x + 0.1 * math.sin(x * i)
        return x

    for take in (lambda f: jvp(f, (0.3,), (1.0,))[1], lambda f: hvp(f, 0.3, 2.0)):
        found = take(lambda x: grown(x, 20) * 1.0)
        assert found == pytest.approx(_untraced(take, lambda x: grown(x, 20) * 1.0), rel=1e-12)
    assert len(by_levels) > 1
    assert all(by_levels)


@pytest.mark.parametrize("transform", ["jvp", "hvp"])
@pytest.mark.parametrize("f", [diffused, branches, decay])
def test_in_machine_code(f: Callable, transform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    take = TRANSFORMS[transform]
    expected = _untraced(take, lambda x: f(x) * 1.0)
    monkeypatch.setattr(calls.Settings, "native", -1.0)
    for _ in range(2):
        np.testing.assert_allclose(take(lambda x: f(x) * 1.0), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", KERNELS)
def test_second_derivatives_are_differences_of_gradients(f: Callable) -> None:
    h = 1e-6
    slopes = [gradient(lambda x: f(x) * 1.0, X + s * h * V) for s in (1, -1)]
    found = hvp(lambda x: f(x) * 1.0, X, V)
    np.testing.assert_allclose(found, (slopes[0] - slopes[1]) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_hessian(mode: str) -> None:
    found = hessian(lambda x: diffused(x) * 1.0, X, mode=mode)
    expected = _untraced(lambda f: hessian(f, X, mode=mode), lambda x: diffused(x) * 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", [stencil, recurrence, reductions])
def test_arguments_that_are_written_into(f: Callable) -> None:
    args, v = arguments(6), arguments(6)[::-1]
    v = [np.cos(x) for x in (v[1], v[2], v[0])]

    def pushed() -> Any:
        return jvp(lambda a, b, m: f(a.copy(), b * 1.0, m) * 1.0, tuple(args), tuple(v))[1]

    def twice() -> Any:
        return hvp(lambda p: f(p[0].copy(), p[1] * 1.0, p[2]), tuple(args), tuple(v))

    for take in (pushed, twice):
        found, expected = take(), _untraced(take)
        for x, y in zip(found, expected, strict=True) if take is twice else [(found, expected)]:
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def advance(y, turns):
    for _ in range(turns):
        for i in range(1, len(y) - 1):
            y[i] += 0.1 * (y[i - 1] - 2.0 * y[i] * y[i + 1] + y[i + 1])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_is_written_into_is_not_traced(
    transform: str, by_levels: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(x):
        y = x * 1.0
        advance(y, 3)
        return y @ y

    take = TRANSFORMS[transform]
    expected = _untraced(take, f)
    monkeypatch.delattr(calls.ProgramRun, "traced")
    monkeypatch.delattr(levels, "_traced_cotangents")
    np.testing.assert_allclose(take(f), expected, rtol=1e-9, atol=1e-11)
    assert by_levels
    assert all(by_levels)


def kinks(x):
    s = 0.0
    for i in range(3):
        s = s + max(x[i], x[i + 1]) * min(x[i], 0.0) + np.max(x) * x[i] + np.sum(np.abs(x) ** i)
        s = s + np.sum(np.maximum(x, x[i])) + abs(x[i]) * x[0] + math.fabs(x[i]) + np.abs(x[i])
        s = s + np.sum(np.sqrt(np.abs(x))) * x[3] + np.sum(np.sign(x) * x) + np.prod(x)
        s = s + np.sum(np.where(x > 0.0, np.log(np.where(x > 0.0, x, 1.0)), x))
    return s


@pytest.mark.parametrize(
    "x", [[0.0] * 4, [1.0, 1.0, 0.0, 1.0], [0.0, -1.0, 2.0, 2.0], [np.nan, 1.0, 1.0, 0.0],
          [1.0, np.inf, 2.0, -1.0]],
)  # fmt: skip
def test_kinks_infinite_slopes_and_nan(x: list[float]) -> None:
    at = np.array(x)
    for v in (np.zeros(4), np.array([0.0, 1.0, 0.0, -1.0])):
        for take in (lambda f, v=v: jvp(f, (at,), (v,))[1], lambda f, v=v: hvp(f, at, v)):
            with np.errstate(all="ignore"):
                found, expected = take(lambda x: kinks(x) * 1.0), _untraced(take, kinks)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_errors_of_tangents_alone_are_no_warnings(recwarn: pytest.WarningsRecorder) -> None:
    def steep(x):
        s = 0.0
        for i in range(3):
            s = s + np.sqrt(x[i]) * 0.0 + x[i] ** 2
        return s

    at, v = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])
    for take in (lambda: jvp(steep, (at,), (v,))[1], lambda: hvp(steep, at, v)):
        expected = _untraced(take)
        warned = {str(w.message) for w in recwarn}
        recwarn.clear()
        np.testing.assert_allclose(take(), expected)
        assert {str(w.message) for w in recwarn} <= warned


def scaled_sine(x):
    return np.sin(x)


@pytest.mark.parametrize("take", [TRANSFORMS["jvp"], TRANSFORMS["hvp"]])
def test_rules_that_change(take: Callable) -> None:
    def f(x):
        s = 0.0
        for i in range(3):
            s = s + scaled_sine(x[i]) * np.cos(x[i])
        return s

    def loss(x):
        return f(x) * 1.0

    def check() -> Any:
        np.testing.assert_allclose(found := take(loss), _untraced(take, loss), rtol=1e-12)
        return found

    plain = check()
    try:
        scalar_rule(scaled_sine, lambda y, x: 2.0 * np.cos(x))
        assert np.any(check() != plain)
        frule.register(scaled_sine)(lambda dots, x: (np.sin(x), 5.0 * np.cos(x) * dots[0]))
        check()
    finally:
        frule.unregister(scaled_sine)
        rrule.unregister(scaled_sine)
    np.testing.assert_allclose(check(), plain)
    library = frule.methods(np.cos)
    try:
        frule.register(np.cos)(lambda dots, x: (np.cos(x), -3.0 * np.sin(x) * dots[0]))
        check()
    finally:
        frule.unregister(np.cos)
        for rule in library:
            frule.add(rule)
    np.testing.assert_allclose(check(), plain)


def test_a_gradient_in_forward_mode_runs_the_tangent_function_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[str] = []
    run = runtime.Structured.run

    def noted(self: Any, args: tuple) -> Any:
        runs.append(self.name)
        return run(self, args)

    monkeypatch.setattr(runtime.Structured, "run", noted)
    for _ in range(2):
        runs.clear()
        hvp(lambda x: diffused(x) * 1.0, X, V)
    assert runs == ["tangent_of_diffused"]


def applied(f, q, n):
    for _ in range(n):
        q = f(q) + 0.1
    return q


@pytest.mark.parametrize("is_forward", [True, False])
def test_what_a_call_is_given_may_be_written_into_later(is_forward: bool) -> None:
    def loss(x, p, limit):
        f, v = x[0] * 0.5, x[:4] * 1.0
        if limit > 0.02:
            np.outer(np.array([0.5, 0.1]), v)
        for i in range(3):
            f = f * np.tanh(applied(lambda z: np.sin(z * (v[2] * p)), x[(i + 1) % 4], 2))
            np.tanh(v, out=v)
        return (f + np.sum(v)) * p

    def slope(x):
        return gradient(lambda p: loss(x, p, x[3]), x[0]) * 1.0

    at = np.abs(X) + 0.3
    v = V if is_forward else np.eye(6)[1]
    found = jvp(slope, (at,), (v,))[1] if is_forward else gradient(slope, at) @ v
    h = 1e-5
    expected = (slope(at + h * v) - slope(at - h * v)) / (2 * h)
    assert found == pytest.approx(expected, rel=1e-7)


def test_results_that_are_not_finite_are_traced() -> None:
    def roots(x):
        s = 0.0
        for i in range(3):
            s = s + np.sqrt(x[i]) * x[i + 1]
        return s

    x, v = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.0, 1.0])
    found = jvp(lambda x: roots(x) * 1.0, (x,), (v,))[1]
    np.testing.assert_allclose(found, _untraced(jvp, lambda x: roots(x) * 1.0, (x,), (v,))[1])
    assert np.isfinite(found)


def test_a_function_that_has_captured_a_variable_and_has_defaults() -> None:
    def loss(x):
        def inside(y, c=0.5):
            for i in range(4):
                y = y + c * np.sin(x[i] * y)
            return y

        return np.sum(inside(x * 1.0))

    np.testing.assert_allclose(hvp(loss, X, V), _untraced(hvp, loss, X, V), rtol=1e-10)


def test_captured_arrays_that_change_between_calls() -> None:
    table = np.ones(6)

    def weighed(x):
        s = 0.0
        for i in range(6):
            s = s + table[i] * x[i] ** 3
        return s

    def twice(x):
        return jvp(lambda x: gradient(lambda x: weighed(x) * 1.0, x), (x,), (V,))[1]

    first = twice(X)
    table[:] = 2.0
    np.testing.assert_allclose(twice(X), 2.0 * first)


def test_tangents_are_linear() -> None:
    def f(x):
        s = 0.0
        for i in range(4):
            s = s + np.tanh(x[i])
        return s

    before = jvp(lambda x: f(x) * 1.0, (X,), (V,))[1]
    np.testing.assert_allclose(before, np.sum((V / np.cosh(X) ** 2)[:4]))
    assert jvp(lambda x: f(x) * 1.0, (X,), (2 * V,))[1] == pytest.approx(2 * before)


@pytest.mark.parametrize("generator", ["loops", "given_functions"])
@pytest.mark.parametrize("seeds", [range(n, n + 3) for n in range(0, 6, 3)])
def test_random_programs(generator: str, seeds: range) -> None:
    for seed in seeds:
        f, given = judge.load(generators.write(generator, seed))
        chosen = [i for i, x in enumerate(given) if isinstance(x, (float, np.ndarray))]
        xs = tuple([given[i] for i in chosen])
        vs = tuple([np.cos(x + 1.0) * 1.0 for x in xs])

        def at(xs: tuple, f: Callable = f, given: tuple = given, chosen: list = chosen) -> Any:
            args = list(given)
            for i, x in zip(chosen, xs, strict=True):
                args[i] = x
            return f(*args)

        def twice(at: Callable = at, xs: tuple = xs, vs: tuple = vs) -> Any:
            try:
                with np.errstate(all="ignore"):
                    return hvp(at, xs, tuple([float(v) if np.ndim(v) == 0 else v for v in vs]))
            except (autodiff.DifferentiationError, ArithmeticError, ValueError) as error:
                return type(error)

        found, expected = twice(), _untraced(twice)
        if isinstance(expected, type):
            assert found is expected, seed
            continue
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9, err_msg=f"seed {seed}")


def test_a_result_that_is_a_view_of_an_argument() -> None:
    def tail(x, n):
        for i in range(n):
            x[i] = np.sin(x[i])
        return x[1:]

    def loss(x):
        y = x * 1.0
        z = tail(y, 3)
        z[0] = 2.0 * z[0] * z[1]
        return np.sum(y**2)

    np.testing.assert_allclose(hvp(loss, X, V), _untraced(hvp, loss, X, V), rtol=1e-10)
