"""What a program asks of the class of a value: as without traces."""

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
def test_what_a_value_is_does_not_hang_on_tracing(ask, x):
    answers = []

    def f(x):
        answers.append(ask(x))
        return np.sum(x * x)

    autodiff.gradient(f, x)
    assert answers[0] == ask(x)
    assert autodiff.compile(ask)(x) == ask(x)
