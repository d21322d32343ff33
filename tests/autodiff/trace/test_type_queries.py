"""Questions about the class of a traced value are answered as for the plain value."""

import collections.abc
import numbers

import numpy as np
import pytest

import autodiff

QUESTIONS = [
    lambda x: hasattr(x, "__len__"),
    lambda x: hasattr(x, "__iter__"),
    lambda x: hasattr(x, "shape"),
    lambda x: getattr(x, "__getitem__", None) is None,
    lambda x: getattr(x, "ndim", -1),
    lambda x: isinstance(x, collections.abc.Iterable),
    lambda x: isinstance(x, collections.abc.Sized),
    lambda x: isinstance(x, (list, float, np.ndarray)),
    lambda x: isinstance(x, numbers.Real),
]


@pytest.mark.parametrize("x", [0.5, np.float64(0.5), np.float32(0.5), np.ones(2), np.array(0.5)])
@pytest.mark.parametrize("ask", QUESTIONS)
def test_tracing_does_not_change_the_type_of_a_value(ask, x):
    answers = []

    def f(x):
        answers.append(ask(x))
        return np.sum(x * x)

    autodiff.gradient(f, x)
    assert answers[0] == ask(x)
    assert autodiff.compile(ask)(x) == ask(x)
