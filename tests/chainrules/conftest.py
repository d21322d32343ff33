"""What the tests of rules share."""

import numpy as np
import pytest

import autodiff
from chainrules_core import NoTangent
from chainrules_core.testing import check_rule
from chainrules_core.testing.checks.check import check_rrule


def by_engine(f, *args, **kwargs):
    """The engine's pullback in the form that an rrule has."""
    y, back = autodiff.pullback(f, *args, **kwargs)

    def pullback(y_bar):
        bars = back(y_bar)
        return (NoTangent(), *(bars if len(args) > 1 else (bars,)))

    return y, pullback


def squares(y, start=1.0):
    """A number that depends on every element of an output, on each in another way."""
    if isinstance(y, (tuple, list)):
        return sum(squares(part, start + i) for i, part in enumerate(y))
    weights = start + np.arange(np.size(y)).reshape(np.shape(y)) / 10
    return np.sum(weights * np.real(y * np.conj(y)))


@pytest.fixture
def check_engine():
    """Check the engine's gradient through a function, and the gradient of that gradient."""

    def check(f, *xs):
        def loss(*xs):
            return squares(f(*xs))

        check_rrule(
            loss,
            *xs,
            rrule_f=by_engine,
            second_order=True,
            gradient=autodiff.gradient,
            check_thunked=False,
        )

    return check


@pytest.fixture
def check_unary():
    """Check the rule of a function of one array: shapes, single precision, layouts in memory."""

    def check(f, domain):
        for shape in [(), (3,), (2, 2), (0,)]:
            check_rule(f, domain.draw(shape))
        check_rule(f, domain.draw(3, np.float32))
        check_rule(f, np.array(domain.draw()))
        check_rule(f, domain.draw((4, 6))[::2, ::-2])

    return check


@pytest.fixture
def check_binary():
    """Check the rule of a function of two arrays: broadcasting, single precision, an integer."""

    def check(f, domain):
        for first, second in [
            ((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0,), ()),
        ]:  # fmt: skip
            check_rule(f, domain.draw(first), domain.draw(second))
        check_rule(f, domain.draw(3, np.float32), domain.draw(3, np.float32))
        check_rule(f, domain.draw(3), 2)

    return check
