"""Interpolation, histograms, roots, windows, writes: gradients that can be written down."""

import numpy as np
import pytest

import autodiff

INF, NAN = np.inf, np.nan
XP = np.array([0.0, 1.0, 3.0])
FP = np.array([5.0, 7.0, 1.0])  # the slopes are 2 and -3
windows = np.lib.stride_tricks.sliding_window_view


def at(x, **outside):
    return lambda fp: np.interp(x, XP, fp, **outside)


def nodes(x):
    return lambda xp: np.interp(x, xp, FP)


def place(x, **outside):
    return lambda t: np.interp(t, XP, FP, **outside)


def scattered(f, *args):
    """Apply ``f.at`` to a copy."""

    def result(x):
        y = np.copy(x)
        f.at(y, *args)
        return y

    return result


# fmt: off
TABLE = [
    # where on the line
    ("between", place(0), 0.5, 2.0),
    ("between the next", place(0), 2.0, -3.0),
    ("at a node: half of both slopes", place(0), 1.0, -0.5),
    ("at the first node", place(0), 0.0, 1.0),
    ("at the last node", place(0), 3.0, -1.5),
    ("below", place(0), -1.0, 0.0),
    ("above", place(0), 9.0, 0.0),
    ("at infinity", place(0), INF, 0.0),
    ("at minus infinity", place(0), -INF, 0.0),
    ("not a number", place(0), NAN, 0.0),
    ("below, with a value", place(0, left=2.0), -1.0, 0.0),
    # the values at the nodes
    ("fp between", at(0.25), FP, [0.75, 0.25, 0.0]),
    ("fp at a node", at(1.0), FP, [0.0, 1.0, 0.0]),
    ("fp at the first node", at(0.0), FP, [1.0, 0.0, 0.0]),
    ("fp at the last node", at(3.0), FP, [0.0, 0.0, 1.0]),
    ("fp below", at(-1.0), FP, [1.0, 0.0, 0.0]),
    ("fp above", at(9.0), FP, [0.0, 0.0, 1.0]),
    ("fp below, with a value", at(-1.0, left=2.0), FP, [0.0, 0.0, 0.0]),
    ("fp above, with a value", at(9.0, right=2.0), FP, [0.0, 0.0, 0.0]),
    ("fp, one node", lambda f: np.interp([-1.0, 0.0, 9.0], [0.0], f), [5.0], [3.0]),
    ("fp, with a period", lambda f: np.interp(3.5, XP, f, period=4.0), FP, [0.5, 0.0, 0.5]),
    # the nodes
    ("xp between", nodes(0.25), XP, [-1.5, -0.5, 0.0]),
    ("xp at a node", nodes(1.0), XP, [0.0, 0.5, 0.0]),
    ("xp below", nodes(-1.0), XP, [0.0, 0.0, 0.0]),
    ("xp, two that are one", nodes(0.5), [0.0, 1.0, 1.0], [-1.0, -1.0, 0.0]),
    ("the values outside", lambda v: np.interp([-1.0, 0.5, 4.0, 5.0], XP, FP, v[0], v[1]),
     [8.0, 9.0], [1.0, 2.0]),
    # counting
    ("bincount", lambda w: np.bincount([0, 2, 2], w) * [1.0, 10.0, 100.0],
     [5.0, 6.0, 7.0], [1.0, 100.0, 100.0]),
    ("histogram", lambda w: np.histogram([0.0, 1.0, 2.0], 2, weights=w)[0] * [1.0, 10.0],
     [5.0, 6.0, 7.0], [1.0, 10.0, 10.0]),
    ("edges of a histogram", lambda x: np.histogram(x, 2)[1] * [1.0, 10.0, 100.0],
     [0.0, 1.0, 4.0], [6.0, 0.0, 105.0]),
    # roots
    ("roots", lambda p: np.roots(p) * [1.0, 10.0], [1.0, -3.0, 2.0], [6.0, 8.0, 9.0]),
    ("a root at 0", lambda p: np.roots(p)[1], [1.0, -3.0, 0.0], [0.0, 0.0, 1 / 3]),
    ("one root", lambda p: np.roots(p), [2.0, -6.0], [-1.5, -0.5]),
    ("no root", lambda p: np.roots(p), [2.0], [0.0]),
    # windows
    ("windows", lambda x: windows(x, 2), [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 1.0]),
    ("wide windows", lambda x: windows(x, 3), [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 1.0]),
    ("one window", lambda x: windows(x, 4), [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]),
    ("windows of windows", lambda x: windows(x, (2, 2), (0, 0)), [1.0, 2.0, 3.0], [1.0, 2.0, 1.0]),
    ("one element many times", lambda x: np.lib.stride_tricks.as_strided(x, (3,), (0,)),
     [1.0, 2.0], [3.0, 0.0]),
    # what is left out contributes exactly 0
    ("sqrt where positive", lambda x: np.sqrt(x, where=x > 0, out=np.zeros(3)),
     [-1.0, 0.0, 4.0], [0.0, 0.0, 0.25]),
    ("log where positive", lambda x: np.log(x, where=x > 0, out=np.zeros(2)),
     [0.0, 4.0], [0.0, 0.25]),
    ("divide where not 0", lambda x: np.divide(1.0, x, where=x != 0, out=np.zeros(2)),
     [0.0, 2.0], [0.0, -0.25]),
    ("reciprocal over itself", lambda x: np.reciprocal(x, where=x != 0, out=np.copy(x)),
     [0.0, 2.0], [1.0, -0.25]),
    # an index that repeats counts each time
    ("multiply.at", scattered(np.multiply, [0, 0], [3.0, 4.0]), [2.0, 5.0], [12.0, 1.0]),
    ("multiply.at by", lambda v: scattered(np.multiply, [0, 0], v)(np.full(2, 2.0)),
     [3.0, 4.0], [8.0, 6.0]),
    ("square.at", scattered(np.square, [0, 0]), [3.0, 5.0], [108.0, 1.0]),
    ("maximum.at", scattered(np.maximum, [0, 1], [2.0, 2.0]), [2.0, 1.0], [0.5, 0.0]),
    ("add.at", scattered(np.add, [0, 0], [2.0, 2.0]), [2.0, 1.0], [1.0, 1.0]),
    ("power.at to 0", scattered(np.power, [0], [0.0]), [0.0], [0.0]),
    # methods
    ("clip at its bound", lambda x: x.clip(1.0), [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
    ("partition", lambda x: sorted_part(x), [3.0, 1.0, 2.0], [0.0, 1.0, 10.0]),
    ("resize to more", lambda x: resized(x), [1.0, 2.0], [1.0, 10.0]),
    ("tolist", lambda x: x.tolist()[1], [1.0, 2.0], [0.0, 1.0]),
    ("view as complex", lambda x: np.real(x.view(complex)), [1.0, 2.0], [1.0, 0.0]),
    ("flat, written twice", lambda x: flat_twice(x), [1.0, 2.0], [0.0, 2.0]),
    ("vectorize, 0 else", lambda x: np.vectorize(lambda t: t if t > 0 else 0.0)(x),
     [-1.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
    ("piecewise", lambda x: np.piecewise(x, [x < 0, x > 0], [np.square, np.sqrt]),
     [-1.0, 0.0, 4.0], [-2.0, 0.0, 0.25]),
    # constants
    ("diff of one", lambda x: np.diff(x), [1.0], [0.0]),
    ("trapezoid of one", lambda x: np.trapezoid(x), [1.0], [0.0]),
]
# fmt: on


def sorted_part(x):
    y = np.copy(x)
    y.partition(1)
    return y[:2] * [1.0, 10.0]


def resized(x):
    y = np.copy(x)
    y.resize(4, refcheck=False)
    return y * [1.0, 10.0, 100.0, 1000.0]


def flat_twice(x):
    y = np.copy(x)
    y.flat[[0, 0]] = [x[0], 2 * x[1]]
    y.flat[1] = 0.0
    return y


@pytest.mark.parametrize("f, x, expected", [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_gradient(f, x, expected):
    x = np.array(x)
    found = autodiff.gradient(lambda x: np.sum(f(x)), x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f, x, expected", [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_pushforward(f, x, expected):
    x = np.array(x)
    v = np.arange(1.0, 1.0 + x.size).reshape(x.shape)
    found = autodiff.pushforward(lambda x: np.sum(f(x)), x)[1](v)
    np.testing.assert_allclose(found, np.sum(expected * v), rtol=1e-12, atol=1e-14)
