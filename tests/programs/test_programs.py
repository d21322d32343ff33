"""Ordinary programs, unmodified: their derivatives in every mode against finite differences.

Each module beside this one is a table of small functions of one array. ``PROGRAMS`` holds pairs
``(function, x)``. ``NOT_TWICE`` holds the functions that have no second derivative to compare with:
kinks near the point, or constants that move with it. ``NOT_YET`` holds what the engine cannot do so
far, ``(function, x, {mode: name of the error})``, or one name for all modes: there a clear error is
demanded, never a number, and the modes that are not named must work. An error of Python's own is
not clear, and a value with other bits is wrong: these are expected failures, to be got rid of.
"""

import ast
import builtins
import struct
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff.dispatch import dispatch_cache
from chainrules_core import ChainRulesError
from tests.helpers import load_programs

CATEGORIES = (
    "calls", "flow", "classes", "objects", "values", "mutation", "containers", "numerics", "models",
    "library", "construction", "protocols", "styles", "languages", "algorithms", "arrays",
)  # fmt: skip
OURS = {"autodiff", "chainrules", "chainrules_core"}
STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
STEP = 2e-3
MODES = ("reverse", "forward", "twice", "value")


@pytest.fixture(autouse=True, scope="module")
def plans_are_written_at_once():
    """From the second time on, a call is made by code that was written for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch_cache, "OFTEN", 1)
        yield


def table(mode):
    """The parameters of a test: every program, with the error that is expected in this mode."""
    cases = []
    for category in CATEGORIES:
        module = load_programs(category)
        rows = [(f, x, {}) for f, x in module.PROGRAMS]
        for f, x, errors in [*rows, *module.NOT_YET]:
            if mode == "twice" and f in module.NOT_TWICE:
                continue
            by_mode = dict.fromkeys(MODES, errors) if isinstance(errors, str) else errors
            error = by_mode.get(mode)
            defect = getattr(builtins, error, None) if error else None
            marks = [pytest.mark.xfail(raises=defect, strict=True)] if defect else []
            case = (f, np.array(x, float), None if defect else error)
            cases.append(pytest.param(*case, id=f"{category}-{f.__name__}", marks=marks))
    return cases


def direction(x):
    return np.cos(1.0 + 2.0 * np.arange(x.size))


def slope(f, x, v):
    """The derivative of f at x along v, by differences of sixth order."""
    terms = [c * (f(x + k * STEP * v) - f(x - k * STEP * v)) for k, c in STENCIL.items()]
    return sum(terms) / STEP


def check(f, x, error, compute, expected):
    """Compare, or demand the error by which the engine says that it cannot do this."""
    if error is None:
        np.testing.assert_allclose(compute(), expected(), rtol=2e-6, atol=1e-8)
        return
    with pytest.raises(ChainRulesError) as caught:
        compute()
    assert type(caught.value).__name__ == error


@pytest.mark.parametrize("f, x, error", table("reverse"))
def test_gradient(f, x, error):
    def differences():
        return [slope(f, x, e) for e in np.eye(x.size)]

    check(f, x, error, lambda: autodiff.gradient(f, x.copy()), differences)


@pytest.mark.parametrize("f, x, error", table("forward"))
def test_pushforward(f, x, error):
    v = direction(x)
    pushed = lambda: autodiff.pushforward(f, x.copy())[1](v)  # noqa: E731
    check(f, x, error, pushed, lambda: slope(f, x, v))


@pytest.mark.parametrize("f, x, error", table("twice"))
def test_hvp(f, x, error):
    v = direction(x)

    def differences():
        return slope(lambda at: autodiff.gradient(f, at.copy()), x, v)

    check(f, x, error, lambda: autodiff.hvp(f, x.copy(), v), differences)


def bits(value):
    return struct.pack("d", value)


@pytest.mark.parametrize("f, x, error", table("value"))
def test_value_is_the_same_bit_for_bit(f, x, error):
    plain = f(x.copy())
    assert isinstance(plain, float)
    if error is not None:
        return
    assert bits(autodiff.value_and_gradient(f, x.copy())[0]) == bits(plain)
    assert bits(f(x.copy())) == bits(plain)


@pytest.mark.parametrize("category", CATEGORIES)
def test_programs_import_none_of_our_packages(category):
    source = Path(__file__).with_name(f"{category}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert not OURS & {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in OURS


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_program_is_in_one_table(category):
    module = load_programs(category)
    listed = [row[0] for row in [*module.PROGRAMS, *module.NOT_YET]]
    names = [f.__name__ for f in listed]
    assert len(set(names)) == len(names)
    assert set(module.NOT_TWICE) <= set(listed)


def test_there_are_at_least_two_hundred():
    assert sum(len(load_programs(c).PROGRAMS) for c in CATEGORIES) >= 200
