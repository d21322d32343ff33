"""Each expression beside a rule says the same as the rule, and as finite differences."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chainrules_core import rrule, unthunk
from chainrules_core.define.partial import Partial
from chainrules_core.rules import name_of
from chainrules_core.tangents import AbstractZero

REAL = (0.7, -1.9, 3e-5)
COMPLEX = (0.7 - 0.4j, -1.9 + 0.2j, -0.3 - 2.1j)
PAIRS = ((0.7, -1.9), (-0.4, -0.2), (1.3, 0.5))
ARRAYS = (np.array(REAL),)
SIZES: tuple = (abs, operator.abs, np.absolute)
OF_CMATH = ("exp", "cos", "sin", "cosh", "sinh", "tan", "tanh", "sqrt")

# Function, arguments that it is for → where it has a slope, and where only its rule says of one.
POINTS: dict[tuple[Any, str, int], tuple[tuple, tuple]] = {
    (np.clip, "real", 3): (
        ((0.3, -1.0, 2.0), (-3.0, -1.0, 2.0), (4.0, -1.0, 2.0), (0.3, 2.0, -1.0),
         (np.array([0.3, -3.0, 4.0]), np.array([-1.0, 0.0, 0.5]), 2.0)),
        ((-1.0, -1.0, 2.0), (2.0, -1.0, 2.0), (0.3, 1.0, 1.0), (1.0, 1.0, 1.0), (-1.0, 2.0, -1.0),
         (2.0, 2.0, -1.0), (math.nan, -1.0, 2.0)),
    ),
    (np.sign, "real", 1): ((*REAL, *ARRAYS), (0.0,)),
    (np.arctan2, "real", 2): (PAIRS, ((0.0, 0.0), (1e200, -1e200), (1e-200, 1e-200))),
    (math.atan2, "real number", 2): (PAIRS, ((0.0, 0.0), (1e200, -1e200), (1e-200, 1e-200))),
    (math.hypot, "real number", 2): (PAIRS, ((0.0, 0.0), (0.0, 1.0), (1e200, -1e200))),
    (math.fabs, "real number", 1): (REAL, (0.0,)),
    **{(f, "real", 1): ((*REAL, *ARRAYS), (0.0,)) for f in SIZES},
    **{(f, "real number", 1): (REAL, (0.0,)) for f in SIZES},
    **{(f, "complex", 1): ((*COMPLEX, np.array(COMPLEX)), (0j,)) for f in SIZES},
    (np.angle, "complex", 1): ((*COMPLEX, np.array(COMPLEX)), (0j,)),
    (cmath.phase, "complex", 1): (COMPLEX, (0j,)),
    (np.real, "complex number", 1): (COMPLEX, (0j,)),
    (np.imag, "complex number", 1): (COMPLEX, (0j,)),
    **{(getattr(cmath, name), "complex", 1): (COMPLEX, (-2.0 + 0j, -2.0 - 0j, 3.0 + 0j))
       for name in OF_CMATH},
}  # fmt: skip

CASES = [(*case, point) for case, (points, _) in POINTS.items() for point in points]
EDGES = [(*case, point) for case, (_, points) in POINTS.items() for point in points]


def _name(x: Any) -> str:
    return name_of(x) if callable(x) else str(x)


def test_every_expression_is_tested() -> None:
    found = {(rule.f, *key) for rule in rrule.methods() for key in rule.expressions}
    assert found == set(POINTS)


def slopes_of(f: Callable, of: str, args: tuple) -> list[Any]:
    """The values of the expressions; zeros as numbers."""
    found = rrule.resolve(f, args, {})
    assert found is not None
    partials: tuple[Partial, ...] = found[0].expressions[of, len(args)].partials[0]
    made = [p(f(*args), *args) for p in partials]
    return [0.0 if isinstance(d, AbstractZero) else d for d in made]


def difference(f: Callable, args: tuple, j: int, step: Any) -> Any:
    """The central difference of a function along `step`, divided by the size of the step."""
    moved = [(*args[:j], args[j] + k * step, *args[j + 1 :]) for k in (1, -1)]
    return (np.asarray(f(*moved[0])) - f(*moved[1])) / (2 * abs(step))


@pytest.mark.parametrize("f, of, n, args", CASES, ids=_name)
def test_expressions_by_finite_differences(f: Callable, of: str, n: int, args: Any) -> None:
    args = args if n > 1 else (args,)
    for j, slope in enumerate(slopes_of(f, of, args)):
        expected = difference(f, args, j, 1e-6)
        if of.startswith("complex"):
            by_imag = difference(f, args, j, 1e-6j)
            if np.isrealobj(f(*args)):
                expected = expected + 1j * by_imag
            else:
                np.testing.assert_allclose(by_imag, 1j * expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f, of, n, args", CASES + EDGES, ids=_name)
def test_expressions_say_what_the_rule_says(f: Callable, of: str, n: int, args: Any) -> None:
    args = args if n > 1 else (args,)
    found = rrule(f, *args)
    assert found is not None
    y, pullback = found
    y_bar = np.ones(np.shape(y)) if np.ndim(y) else 1.0
    for slope, given, a in zip(slopes_of(f, of, args), pullback(y_bar)[1:], args, strict=True):
        bar = unthunk(given)
        bar = 0.0 if isinstance(bar, AbstractZero) else bar
        if np.iscomplexobj(y):
            slope = np.conj(slope)
        if np.ndim(y) and not np.ndim(a):
            slope = np.sum(slope)
        np.testing.assert_allclose(slope, bar, rtol=1e-14)
