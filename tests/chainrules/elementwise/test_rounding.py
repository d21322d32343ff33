import operator

import numpy as np
import pytest

import chainrules  # noqa: F401  # registers the rules
from chainrules_core import NoTangent, frule, rrule
from chainrules_core.testing import check_rule

UFUNCS = sorted({f for f in vars(np).values() if isinstance(f, np.ufunc)}, key=lambda f: f.__name__)


@pytest.mark.parametrize("f", UFUNCS, ids=lambda f: f.__name__)
def test_every_ufunc_is_in_a_class(f):
    """A new ufunc of a new NumPy has to be given a rule, or declared non-differentiable."""
    assert rrule.methods(f), f"{f.__name__} has no rrule and is not declared non-differentiable"
    assert frule.methods(f), f"{f.__name__} has no frule and is not declared non-differentiable"


BITS = [
    (np.bitwise_and, 5, 3),
    (np.bitwise_or, 5, 3),
    (np.bitwise_xor, 5, 3),
    (np.invert, 5),
    (np.left_shift, 5, 2),
    (np.right_shift, 5, 2),
    (np.bitwise_count, 5),
    (np.gcd, 12, 18),
    (np.lcm, 12, 18),
    (operator.and_, 5, 3),
    (operator.or_, 5, 3),
    (operator.xor, 5, 3),
    (operator.invert, 5),
    (operator.lshift, 5, 2),
    (operator.rshift, 5, 2),
]


@pytest.mark.parametrize("f, args", [(f, args) for f, *args in BITS])
def test_bits_and_whole_numbers(f, args):
    y, pullback = rrule(f, *args)
    assert y == f(*args)
    assert pullback(1.0) == (NoTangent(),) * (len(args) + 1)
    assert frule((NoTangent(),) * (len(args) + 1), f, *args) == (y, NoTangent())


@pytest.mark.parametrize("f", [np.floor, np.ceil, np.rint, np.trunc, np.fix, np.round, np.signbit])
def test_steps(f):
    check_rule(f, np.array([-1.7, 0.3, 2.6]))
