"""SciPy's functions that are told to overwrite an array made in the traced function do so."""

import numpy as np
import pytest
import scipy.signal

import autodiff

X = np.array([2.0, 3.0])


def overwritten(writes):
    def f(x):
        y = np.zeros(4)
        y[:] = [1.0, 2.0, 3.0, 5.0]
        made = scipy.signal.detrend(y, overwrite_data=True)
        if writes:
            made[1] = 7.0
        return y[0] * x[0] + made[1] * x[1] + y[1] * x[1]

    return f


def test_a_function_without_rule_overwrites_an_array_of_the_function():
    f = overwritten(writes=False)
    value, bar = autodiff.value_and_gradient(f, X)
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(bar, [f(np.array([1.0, 0.0])), f(np.array([0.0, 1.0]))])


def test_a_write_into_what_it_returned_is_refused():
    with pytest.raises(autodiff.MutationError):
        autodiff.gradient(overwritten(writes=True), X)
