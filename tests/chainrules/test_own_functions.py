"""Functions of our own that rules compute with: they give a number where they are given numbers."""

import itertools

import numpy as np
import pytest
import scipy.special  # noqa: F401 - the rules of a library are loaded with it
import scipy.stats  # noqa: F401

import chainrules  # noqa: F401
from chainrules_core import rrule
from chainrules_core.define.scalar import ScalarRule

SAMPLES = (-1.7, -2.0, 0.0, 0.3, 2.5, np.float64(-1.7), np.float64(0.3))


@pytest.mark.filterwarnings("ignore")
def test_numbers_give_numbers():
    """Else a recording of the call holds for arrays alone, and is not used."""
    rules = [rule for rule in rrule.methods() if isinstance(rule, ScalarRule)]
    own = [
        rule for rule in rules if str(getattr(rule.f, "__module__", "")).startswith("chainrules.")
    ]
    assert len(own) > 3
    for rule in own:
        for args in itertools.product(SAMPLES, repeat=rule.n):
            assert type(rule.f(*args)) is not np.ndarray, (rule.f, args)
