"""Functions with a rule and without: what the page about them shows, measures and tests.

Each function `f` has a twin `f_with_rule`, which calls it and has a rule. `POINTS` says where they
are differentiated.
"""

import numpy as np

from chainrules_core import Array, Real, rrule
from chainrules_core.testing import check_rrule


def add_one(a):
    b = np.empty_like(a)
    b[:] = a + 1
    return np.sum(b)


def add_one_with_rule(a):
    return add_one(a)


@rrule.register(add_one_with_rule, Array)
def add_one_rrule(a):
    def add_one_pullback(y_bar):
        return np.full(a.shape, y_bar)

    return add_one(a), add_one_pullback


def square_or_complain(x):
    try:
        return x**2
    except OverflowError:
        print("could not square the input")
        raise


def square_or_complain_with_rule(x):
    return square_or_complain(x)


@rrule.register(square_or_complain_with_rule, Real)
def square_or_complain_rrule(x):
    def square_or_complain_pullback(y_bar):
        return 2 * x * y_bar

    return square_or_complain(x), square_or_complain_pullback


def mse(y, target):
    n = len(y)
    s = 0.0
    for i in range(n):
        s += (y[i] - target[i]) ** 2
    return s / n


def mse_with_rule(y, target):
    return mse(y, target)


@rrule.register(mse_with_rule, Array, Array)
def mse_rrule(y, target):
    def mse_pullback(s_bar):
        y_bar = 2 / len(y) * s_bar * (y - target)
        return y_bar, -y_bar

    return mse(y, target), mse_pullback


def sum_of_three(a):
    return a[0] + a[1] + a[2]


def sum_of_three_with_rule(a):
    return sum_of_three(a)


@rrule.register(sum_of_three_with_rule, Array)
def sum_of_three_rrule(a):
    def sum_of_three_pullback(y_bar):
        a_bar = np.zeros_like(a)
        a_bar[:3] = y_bar
        return a_bar

    return sum_of_three(a), sum_of_three_pullback


def area_below(b):
    """The integral of exp(-t²) from 0 to b, by the trapezoidal rule."""
    t = np.linspace(0.0, 1.0, 20_001) * b
    return np.trapezoid(np.exp(-t * t), t)


def area_below_with_rule(b):
    return area_below(b)


@rrule.register(area_below_with_rule, Real)
def area_below_rrule(b):
    def area_below_pullback(y_bar):
        return np.exp(-b * b) * y_bar

    return area_below(b), area_below_pullback


X = np.linspace(-1.0, 2.0, 30)
POINTS = {
    add_one: (add_one_with_rule, (X,)),
    square_or_complain: (square_or_complain_with_rule, (3.0,)),
    mse: (mse_with_rule, (X, np.cos(X))),
    sum_of_three: (sum_of_three_with_rule, (X,)),
    area_below: (area_below_with_rule, (1.5,)),
}

if __name__ == "__main__":
    for with_rule, arguments in POINTS.values():
        check_rrule(with_rule, *arguments, rtol=1e-5)
