"""Where 0 · Inf makes a NaN in the gradient of a float, the sweep is done again: compiled too."""

import math

import pytest

from autodiff import compile, gradient


@pytest.mark.parametrize(
    "f, values",
    [
        (lambda a: (a * a + 1.0) ** 0.5, (2.0, math.inf, -math.inf)),
        (lambda b: -2.0 / (b * b), (2.0, math.inf)),
    ],
)
def test_a_float_gradient_is_looked_at_for_nan(f, values):
    compiled = compile(lambda x: gradient(f, x), backend="python")
    for x in (*values, *reversed(values)):
        assert compiled(x) == pytest.approx(gradient(f, x), rel=1e-12)
