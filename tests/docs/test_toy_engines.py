"""The toy engines of docs/engine_author: the rules alone, against differences.

Nothing here needs the engine of this project; the first test makes sure of that.
"""

import copy
import functools
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import fftpack, linalg, special
from scipy.spatial import distance

from chainrules_core import HasReverseMode, MissingCapabilityError, RuleConfig, frule, rrule

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "engine_author"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reverse, forward = loaded("toy_reverse"), loaded("toy_forward")


def plainly(f, *args, **options):
    return f(*args, **options)


X = np.random.default_rng(3).normal(size=(6, 3))
T = np.random.default_rng(4).normal(size=(6, 2))


def network(call, w1, b1, w2, b2):
    """A loss of a neural network, written with operators and NumPy's functions."""
    hidden = np.tanh(X @ w1 + b1)
    misfit = np.maximum(hidden @ w2 + b2, 0.1) - T
    return np.mean(misfit * misfit) + 0.1 * np.sum(w1[:, 1:] ** 2)


def special_functions(call, a, z):
    terms = special.gammainc(a, z) * special.jv(0.5, z) + special.erf(a)
    return np.sum(terms) + call(special.logsumexp, z)


def cholesky_solve(call, a, b):
    """A Gaussian log-likelihood, whose system of equations is solved by a Cholesky factor."""
    m = a @ np.transpose(a) + 3.0 * np.eye(4)
    factor = np.linalg.cholesky(m)
    whitened = call(linalg.solve_triangular, factor, b, lower=True)
    return np.sum(whitened**2) / 2 + np.sum(np.log(np.diagonal(factor)))


def several_outputs(call, a, b):
    q, r = call(linalg.qr, a, mode="economic")
    sign, logdet = np.linalg.slogdet(a @ np.transpose(a) + np.eye(4))
    return np.sum(q[0] * b) + np.sum(r[0]) + sign * logdet


def decomposed(call, u, v):
    """A function that has no rule but a body, which is run on the values of the engine."""
    return call(distance.cosine, u, v) * call(distance.euclidean, v, u)


def by_keyword(call, x):
    return call(np.sum, call(np.multiply, x, call(np.prod, a=x, axis=0)), axis=0)


def draw(*shapes):
    rng = np.random.default_rng(7)
    return [rng.normal(size=shape) for shape in shapes]


CASES = [
    (network, draw((3, 4), 4, (4, 2), 2)),
    (special_functions, [np.array([0.5, 1.5, 2.5]), np.array([1.0, 2.0, 0.3])]),
    (cholesky_solve, draw((4, 4), 4)),
    (several_outputs, draw((4, 4), 4)),
    (by_keyword, draw(3)),
    (decomposed, draw(5, 5)),
]


def difference(f, args, dots, h=1e-4):
    def at(k):
        return f(plainly, *[a + k * h * dot for a, dot in zip(args, dots, strict=True)])

    return (45 * (at(1) - at(-1)) - 9 * (at(2) - at(-2)) + at(3) - at(-3)) / (60 * h)


@pytest.mark.parametrize("f, args", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_reverse_mode(f, args):
    dots = draw(*map(np.shape, args))
    y, back = reverse.pullback(lambda *boxes: f(reverse.call, *boxes), *args)
    assert y == f(plainly, *args)
    bars = back(1.0)
    assert [np.shape(bar) for bar in bars] == [np.shape(a) for a in args]
    slope = sum(np.sum(bar * dot) for bar, dot in zip(bars, dots, strict=True))
    np.testing.assert_allclose(slope, difference(f, args, dots), rtol=1e-7)


@pytest.mark.parametrize("f, args", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_forward_mode(f, args):
    dots = draw(*map(np.shape, args))
    y, dot = forward.pushforward(lambda *duals: f(forward.call, *duals), args, dots)
    assert y == f(plainly, *args)
    np.testing.assert_allclose(dot, difference(f, args, dots), rtol=1e-7)


def test_a_rule_that_calls_back_into_the_engine():
    def fold(u, v):
        return np.sin(u) * v + v

    x, dots = [0.4, -0.7, 1.2], [0.3, 1.0, -0.5]
    y, back = reverse.pullback(lambda x: reverse.call(functools.reduce, fold, x), x)
    assert y == functools.reduce(fold, x)
    bars = back(1.0)[0]
    expected = difference(
        lambda call, x: functools.reduce(fold, x), [np.array(x)], [np.array(dots)]
    )
    np.testing.assert_allclose(sum(bars[i] * dots[i] for i in range(3)), expected, rtol=1e-7)


def test_single_precision_stays():
    x = np.float32([0.5, 1.5])
    y, back = reverse.pullback(lambda x: np.sum(np.tanh(x) * special.erf(x)), x)
    assert y.dtype == np.float32
    assert back(np.float32(1.0))[0].dtype == np.float32


def test_complex_arguments():
    z = np.array([0.5 + 0.2j, -0.3 + 0.7j])
    z_bar = reverse.pullback(lambda z: np.sum(np.real(np.exp(z * z))), z)[1](1.0)[0]
    np.testing.assert_allclose(z_bar, np.conj(2 * z * np.exp(z * z)))


def test_what_the_engine_cannot_do_is_an_error():
    x = np.ones(3)
    with pytest.raises(TypeError, match="has no rule"):
        reverse.pullback(lambda x: reverse.call(print, x), x)
    with pytest.raises(TypeError, match="lists"):
        reverse.pullback(lambda x: np.concatenate([x, x]), x)
    with pytest.raises(TypeError, match="options"):
        reverse.pullback(lambda x: reverse.call(fftpack.shift, x, x[0]), x)
    for escape in (np.asarray, copy.copy, copy.deepcopy, float):
        with pytest.raises((TypeError, copy.Error)):
            reverse.pullback(escape, x)
        with pytest.raises((TypeError, copy.Error)):
            forward.pushforward(escape, (x,), (x,))
    with pytest.raises(TypeError, match="two tapes"):
        reverse.pullback(
            lambda a: reverse.pullback(lambda x: np.sum(a * x), x)[1](1.0)[0], np.float64(2.0)
        )


# ------------------------------------------------------- rules that say: differentiate this instead


class WithoutTracing(RuleConfig):
    """An engine that differentiates by rules alone, and by no function's body."""


class Promising(RuleConfig):
    """An engine that says that it can, and cannot."""

    capabilities = frozenset({HasReverseMode})


def test_an_engine_that_cannot_trace_has_no_rule_for_what_is_decomposed():
    call = np.array([-0.5, 0.5]), [np.array([True, False])], [np.square, np.sin]
    assert rrule.resolve(np.piecewise, call, {}, WithoutTracing()) is None
    assert rrule(WithoutTracing(), np.piecewise, *call) is None
    assert frule.resolve(np.piecewise, call, {}, WithoutTracing()) is None
    found = rrule.resolve(np.piecewise, call, {}, reverse.ENGINE)
    assert found is not None
    assert found[0].kind == "decompose"


def test_a_promise_that_is_not_kept_is_an_error():
    call = np.array([-0.5, 0.5]), [np.array([True, False])], [np.square, np.sin]
    with pytest.raises(MissingCapabilityError, match="rrule_via_ad"):
        rrule(Promising(), np.piecewise, *call)


# -------------------------------------------------------------------------------- as they are shown


@pytest.mark.parametrize("name", ["toy_reverse", "toy_forward"])
def test_a_toy_is_short_and_stands_on_its_page(name):
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) < 100
    assert f"```python\n{text}```" in (FOLDER / "toy-engines.md").read_text("utf-8")


def test_a_toy_needs_no_other_engine():
    code = f"import sys; sys.path.append({str(FOLDER)!r}); import toy_reverse, toy_forward\n"
    code += "assert 'autodiff' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
