import numpy as np
import pytest

import autodiff
from chainrules_core.testing.checks.check import check_rule

X = np.array([0.7, -1.3, 2.1, 0.4])
FAR = np.array([-3.7, 0.5, 4.2])
XP = np.array([-2.0, -0.9, 0.1, 1.1, 2.9])
FP = np.array([1.0, -0.5, 0.3, 2.0, 1.4])
NODES = np.array([0.25, 2.95, 1.15, 0.75, 1.9])  # in any order: there is a period
FC = FP * (1 + 0.3j)


def case(*args, **kwargs):
    return pytest.param(args, kwargs)


CASES = [
    case(X, XP, FP),
    case(x=X, xp=XP, fp=FP),
    case(X.reshape(2, 2), XP, FP),
    case(0.5, XP, FP),
    case(np.array(0.5), XP, FP),
    case(np.zeros(0), XP, FP),
    case(FAR, XP, FP),
    case(FAR, XP, FP, 0.5, 1.5),
    case(FAR, XP, FP, left=0.5),
    case(FAR, XP, FP, right=1.5),
    case(FAR, XP, FC, 0.5j, 1.5),
    case(X, XP, FC),
    case(X[::-2], XP[::2], FP[::2]),
    case(X.astype(np.float32), XP, FP),
    case(X, XP.astype(np.float32), FP.astype(np.float32)),
    case(list(X), XP, FP),
    case(X, list(XP), tuple(FP)),
    case(X, np.array([0.3]), np.array([1.5])),
    case(X, np.array([0.3]), np.array([1.5]), left=2.0),
    case(X * 2, NODES, FP, period=3.3),
    case(X * 2, NODES, FP, None, None, -3.3),
    case(X * 2, NODES, FC, period=3.3),
]


@pytest.mark.parametrize("args, kwargs", CASES)
def test_rule(args, kwargs):
    check_rule(np.interp, *args, fkwargs=kwargs)


# fmt: off
TRACED = [
    (np.interp, (X, XP, FP)),
    (lambda x: np.interp(x, XP, FP), (X,)),
    (lambda fp: np.interp(XP, XP, fp), (FP,)),
    (lambda x, left, right: np.interp(x, XP, FP, left, right), (FAR, 0.5, 1.5)),
    (lambda right: np.interp(FAR, XP, FP, right=right), (1.5,)),
    (lambda x, xp, fp, p: np.interp(x, xp, fp, period=p), (X * 2, NODES, FP, 3.3)),
    (lambda x, fp: np.interp([x[0], 1.0], list(XP), [fp[i] for i in range(5)]), (X, FP)),
    (lambda x, fp: np.interp(x, XP, fp), (X, FC)),
]
# fmt: on


@pytest.mark.parametrize("f, xs", TRACED)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)


def test_a_jump_has_the_slopes_of_both_sides():
    xp, fp = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0, 8.0])
    found = autodiff.gradient(lambda x: np.sum(np.interp(x, xp, fp)), np.array([0.5, 1.0, 1.5]))
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])
