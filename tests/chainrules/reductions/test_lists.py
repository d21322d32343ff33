import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, frule, rrule
from chainrules_core.calling.lists import array_of
from chainrules_core.testing import check_rule

FLAT = [1.5, -2.0, 3.25, 0.5]
NESTED = [[1.5, -2.0, 3.25], (0.5, 2.5, -1.0)]
MIXED = [np.array([1.5, -2.0]), [0.5, 2.5]]
FUNCTIONS = [
    np.sum, np.mean, np.nansum, np.nanmean, np.average, np.prod, np.nanprod, np.cumprod,
    np.nancumprod, np.var, np.std, np.nanvar, np.nanstd, np.max, np.min, np.amax, np.amin,
    np.nanmax, np.nanmin, np.ptp, np.sort, np.sort_complex, np.unique, np.unique_all,
    np.unique_counts, np.unique_inverse, np.median, np.nanmedian, np.cumsum, np.nancumsum,
    np.diff, np.ediff1d, np.trapezoid, np.add.reduce, np.multiply.reduce, np.maximum.reduce,
    np.logaddexp.reduce, np.hypot.accumulate, np.cov,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize(
    "x", [FLAT, NESTED, MIXED, tuple(FLAT)], ids=["flat", "nested", "mixed", "tuple"]
)
def test_rule(f, x):
    check_rule(f, x)


@pytest.mark.parametrize("f", [np.cumulative_sum, np.cumulative_prod])
def test_along_the_only_axis(f):
    check_rule(f, FLAT)


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_quantiles(f):
    check_rule(f, FLAT, [0.37, 0.62])
    check_rule(f, NESTED, 0.37, 1)


def test_partition():
    check_rule(np.partition, FLAT, 2)
    check_rule(np.add.reduceat, FLAT, [0, 2])
    check_rule(np.gradient, FLAT, [0.0, 1.0, 3.0, 4.0])


def test_a_list_has_the_tangent_of_a_list():
    _, pullback = rrule(np.sum, [1.0, [2.0, 3.0]][1])
    assert pullback(2.0)[1] == Tangent[list](2.0, 2.0)
    y, y_dot = frule((NoTangent(), Tangent[list](1.0, 10.0)), np.sum, [1.0, 2.0])
    assert (y, y_dot) == (3.0, 11.0)


def test_array_of():
    x = np.ones(2)
    assert array_of(x) is x
    assert array_of(2.0) == 2.0
    assert array_of([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert array_of([x, 2 * x]).tolist() == [[1, 1], [2, 2]]
