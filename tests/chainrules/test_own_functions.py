"""Functions of our own that rules compute with: they give a number where they are given numbers."""

import itertools

import numpy as np
import pytest
import scipy.stats  # noqa: F401 - rules of SciPy are loaded with it

import chainrules  # noqa: F401
from chainrules_core import rrule
from chainrules_core.define.scalar import ScalarRule

SAMPLES = (-1.7, -2.0, 0.0, 0.3, 2.5, np.float64(-1.7), np.float64(0.3))


def is_own(f):
    return str(getattr(f, "__module__", "")).startswith("chainrules.")


def values(f, n):
    for args in itertools.product(SAMPLES, repeat=n):
        try:
            yield f(*args)
        except (ArithmeticError, ValueError):
            continue


@pytest.mark.filterwarnings("ignore")
def test_numbers_give_numbers():
    """Else a recording of the call holds for arrays alone, and is not used."""
    rules = [rule for rule in rrule.methods() if isinstance(rule, ScalarRule) and is_own(rule.f)]
    assert len(rules) > 3
    for rule in rules:
        made = list(values(rule.f, rule.n))
        assert made
        assert not any(type(y) is np.ndarray for y in made), rule.f
