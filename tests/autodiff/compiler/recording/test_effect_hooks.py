"""What compiling does about impure functions changes nothing where nothing is compiled."""

import numpy as np
import pytest

from autodiff import MissingRuleError, compile, gradient


def test_draws_are_differentiated_after_something_was_compiled():
    assert compile(lambda x: x * x)(2.0) == 4.0
    assert gradient(lambda m: np.sum(np.random.default_rng(0).normal(m, 1.0, 3)), 2.0) == 3.0
    assert gradient(lambda m: np.sum(np.random.normal(m, 1.0, size=3)), 2.0) == 3.0  # noqa: NPY002


def test_impure_functions_are_replaced_as_pure_ones_are():
    """What is called in place of them outside of a recording is what all functions get."""
    for state in (np.random.default_rng(0), np.random.RandomState(0)):
        assert gradient(lambda m, state=state: state.normal(m, 1.0), 2.0) == 1.0
    with pytest.raises(MissingRuleError, match="default_rng has no rule for"):
        gradient(lambda m: m * np.random.default_rng(m).normal(), 2.0)
