"""Every differentiable function differentiated by the engine, in both modes and twice, on a sample.

The modules in the folder `samples` are tables: a row is ``(names, *args)`` or
``(names, body, *args)`` for each of the names, separated by blanks, of the module under which the
row stands. Without a body the function itself is called; a body is a lambda or function that gets
the function first. All floats among the arguments vary, alone, in arrays and in lists.
"""

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import autodiff
from chainrules.coverage import coverage
from chainrules.coverage.known import NUMPY, PYTHON
from chainrules.coverage.rows import ERROR
from tests.chainrules.coverage.directions import direction, flat, rebuilt, slope, total, varies
from tests.helpers import module_from

FOLDER = Path(__file__).with_name("samples")


def tables():
    """All tables: module → rows."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        found.update(module_from(path, f"samples_{path.stem}").SAMPLES)
    return found


def function_of(module, name):
    """The function of a row; a method of a generator is one that starts from a seed."""
    if module == "numpy.ndarray":
        return method_of_array(name)
    if module == "numpy.random.Generator":
        return seeded(lambda: np.random.default_rng(7), name)
    if module == "numpy.random":
        return seeded(lambda: np.random.RandomState(7), name)
    return getattr(importlib.import_module(module), name, None)


def method_of_array(name):
    if not callable(getattr(np.ndarray, name)):
        return lambda x: getattr(x, name)
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def seeded(make, name):
    def method(*args, **kwargs):
        return getattr(make(), name)(*args, **kwargs)

    method.__name__ = name
    return method


def is_body(x):
    return type(x) is type(is_body)


def cases():
    for module, rows in tables().items():
        for number, (names, *args) in enumerate(rows):
            for name in names.split():
                f = function_of(module, name)
                if f is None:
                    continue  # this version of NumPy or Python, or this machine, does not have it
                body, rest = (args[0], args[1:]) if is_body(args[0]) else (None, args)
                called = f if body is None else bound(body, f)
                yield pytest.param(called, tuple(rest), id=f"{module}.{name}-{number}")


def bound(body, f):
    return lambda *args: body(f, *args)


CASES = list(cases())
# Of single and half precision, whose differences say nothing.
CASTS = "float32 single float16 half complex64 csingle"


def check(f, args, compute):
    def loss(*args):
        return total(f(*args))

    with np.errstate(all="ignore"):
        expected, v = slope(loss, args)
    value, found = compute(loss, v)
    plain = loss(*args)
    assert np.isfinite(expected)
    np.testing.assert_allclose(value, plain, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


# np.row_stack is deprecated, and still public.
deprecated = pytest.mark.filterwarnings("ignore:`row_stack` alias:DeprecationWarning")


@deprecated
@pytest.mark.parametrize("f, args", CASES)
def test_reverse(f, args):
    places = tuple(i for i, a in enumerate(args) if varies(a))

    def compute(loss, v):
        value, gradients = autodiff.value_and_gradient(loss, *args, argnums=places)
        return value, flat([np.asarray(g) for g in gradients]) @ v

    check(f, args, compute)


@deprecated
@pytest.mark.parametrize("f, args", CASES)
def test_forward(f, args):
    places = tuple(i for i, a in enumerate(args) if varies(a))

    def compute(loss, v):
        value, push = autodiff.pushforward(loss, *args, argnums=places)
        dots = rebuilt(args, v)
        return value, push(*[dots[i] for i in places])

    check(f, args, compute)


@deprecated
@pytest.mark.parametrize("f, args", CASES)
def test_twice(f, args):
    """The gradient of a slope against differences of the slope."""
    places = tuple(i for i, a in enumerate(args) if varies(a))
    x, v = flat(args), direction(args)
    weights = rebuilt(args, np.sin(2.0 + np.arange(x.size)))
    h = 1e-5 / np.abs(v).max()

    def loss(*args):
        return total(f(*args)) ** 2 / 2

    def inner(g, w):
        if isinstance(g, list):
            return sum(a * b for a, b in zip(g, w, strict=True))
        return np.sum(np.real(np.conj(w) * g))

    def slope(*args):
        gradients = autodiff.gradient(loss, *args, argnums=places)
        return sum(inner(g, weights[i]) for g, i in zip(gradients, places, strict=True))

    with np.errstate(all="ignore"):
        expected = (slope(*rebuilt(args, x + h * v)) - slope(*rebuilt(args, x - h * v))) / (2 * h)
    gradients = autodiff.gradient(slope, *args, argnums=places)
    found = flat([np.asarray(g) for g in gradients]) @ v
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASTS.split())
def test_casts(name):
    cast = getattr(np, name)
    assert autodiff.gradient(lambda x: np.real(cast(x)) * 3, 0.7) == 3
    assert autodiff.pushforward(lambda x: np.real(cast(x)) * 3, 0.7)[1](2.0) == 6


def test_every_differentiable_function_has_a_sample():
    sampled = {case.id.rpartition("-")[0] for case in CASES}
    sampled |= {f"numpy.{name}" for name in CASTS.split()}
    asked = [
        f"{row.module}.{row.name}"
        for row in coverage((*PYTHON, *NUMPY))
        if row.kind in ("differentiable", "higher-order") and row.state != ERROR
    ]
    assert len(asked) > 500
    assert [name for name in asked if name not in sampled] == []
