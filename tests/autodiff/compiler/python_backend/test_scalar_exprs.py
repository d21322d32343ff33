"""Single numbers of all classes, and arrays without axes: values, classes and derivatives."""

import math

import numpy as np
import pytest

from autodiff import compile, gradient, hvp
from autodiff.compiler.tiering import promotion

NUMBERS = [
    0.5, np.float64(0.5), np.float32(0.5), np.array(0.5), np.array(0.5, np.float32), np.int64(2),
    np.int8(2), 2, True,
]  # fmt: skip
FUNCTIONS = {
    "conj": np.conj,
    "conj of complex": lambda s: np.conj(s + 1j),
    "method conjugate": lambda s: s.conjugate(),
    "math.sin": lambda s: math.sin(s),
    "math.fabs": lambda s: math.fabs(s),
    "math.pow": lambda s: math.pow(s, 2),
    "math.sqrt": lambda s: math.sqrt(s) * s,
    "cbrt": lambda s: np.cbrt(s) + math.cbrt(s),
    "isnan": np.isnan,
    "less": lambda s: s < 1,
    "not less": lambda s: np.logical_not(s < 1),
    "equal": lambda s: (np.equal(s, s), s == s, s * 2.0),
    "where": lambda s: np.where(s > 0, s, 1.0),
    "sign": np.sign,
    "power": lambda s: (np.power(s, 2), s**2, 2.0**s),
    "list": lambda s: np.array([s])[0],
    "item": lambda s: s[()] * 2.0 if isinstance(s, np.ndarray) else s * 2.0,
    "minimum": lambda s: (min(s, 1), max(s, 1), np.maximum(s, 0.1)),
    "itself": lambda s: (s, np.asarray(s)),
}


def described(x):
    if isinstance(x, tuple):
        return [described(part) for part in x]
    return type(x).__name__, str(getattr(x, "dtype", "")), np.shape(x)


def check(compiled, f, s):
    for _ in range(2):
        found, expected = compiled(s), f(s)
        assert described(found) == described(expected)
        np.testing.assert_allclose(
            np.array(found, complex), np.array(expected, complex), rtol=1e-15
        )


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_is_eager(name, backend):
    f = FUNCTIONS[name]
    for s in NUMBERS:
        try:
            f(s)
        except (TypeError, AttributeError):
            continue
        compiled = compile(f, backend=backend)
        check(compiled, f, s)
        assert compiled.eager_because is None


@pytest.mark.parametrize("name", ["conj", "cbrt", "list", "where", "power"])
def test_derivatives_are_of_the_class_of_the_argument(name):
    def measured(s):
        return np.sum(np.real(np.array(FUNCTIONS[name](s)) * 1.5))

    for s in NUMBERS[:5]:
        for f in (lambda s: gradient(measured, s), lambda s: hvp(measured, s, s)):
            found, expected = compile(f)(s), f(s)
            assert described(found) == described(expected)
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_machine_code_that_fails_when_it_is_called_is_no_error(monkeypatch):
    def failing(*args):
        raise TypeError("there is no such thing")

    class Variant:
        with_loops = written = None

        def run(self, x):
            return 2.0 * x

        def forget(self):
            pass

    variant = Variant()
    candidate = promotion.Candidate(0.1, True, lambda: (failing, "", ""))
    monkeypatch.setattr(promotion, "_FIRST_LOOK", 0.0)
    promotion.watch(variant, 1000, lambda: candidate, lambda: None)
    for _ in range(6):
        assert variant.run(3.0) == 6.0


DIVISIONS = {
    "a quotient taken elsewhere": lambda s, x: np.sum(np.sin(x) * (1 / s)),
    "a power": lambda s, x: (s**-1, (s + 1) ** -1, pow(s + 3, -1)),
    "a quotient": lambda s, x: np.tanh(x) * 2.0 + 1.0 / s,
    "a logarithm": lambda s, x: np.tanh(x) + math.log(s),
}


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_errors_of_floats_are_raised(name, backend):
    f = DIVISIONS[name]
    x = np.linspace(0.1, 1.0, 8)
    compiled = compile(f, backend=backend)
    for s in (0.5, 0.5, np.float64(0.5)):
        compiled(s, x)
    with pytest.raises((ZeroDivisionError, ValueError)):
        compiled(0.0, x)
    if name != "a logarithm":
        with np.errstate(divide="ignore"):
            found, expected = compiled(np.float64(0.0), x), f(np.float64(0.0), x)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("lower", [-0.5, 0.7, np.nan])
@pytest.mark.parametrize("upper", [-1.0, 0.3, np.nan])
def test_machine_code_clips_by_the_upper_bound_last(lower, upper):
    def f(x, lower, upper):
        y = np.clip(x, lower, upper)
        return np.sum(np.tanh(y) * np.exp(x)) + y * np.cos(x), y * 2.0

    x = np.array([-2.0, -0.7, -0.5, 0.0, 0.3, 0.7, 1.0, 2.0])
    compiled = compile(f, backend="native")
    for args in ((x, -1.0, 1.0), (x, lower, upper), (x, lower, upper)):
        for a, b in zip(compiled(*args), f(*args), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert "kernel" in compiled.source
