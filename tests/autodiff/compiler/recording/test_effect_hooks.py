"""What compiling does about impure functions changes nothing where nothing is compiled."""

import numpy as np

from autodiff import compile, gradient


def test_draws_are_differentiated_after_something_was_compiled():
    assert compile(lambda x: x * x)(2.0) == 4.0
    assert gradient(lambda m: np.sum(np.random.default_rng(0).normal(m, 1.0, 3)), 2.0) == 3.0
    assert gradient(lambda m: np.sum(np.random.normal(m, 1.0, size=3)), 2.0) == 3.0  # noqa: NPY002
