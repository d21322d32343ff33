import pytest
from scipy import special

import autodiff
from chainrules_core import NoTangent, frule, rrule, unthunk
from chainrules_core.testing import check_rule, const
from chainrules_core.testing.inputs.seeds import unpaired


def name(case):
    return f"{case[0].__name__}-{case[1:]}"


CASES = [
    (special.bdtr, const(2), const(5), 0.4),
    (special.bdtr, const(5), const(5), 0.4),
    (special.bdtrc, const(2), const(5), 0.4),
    (special.bdtri, const(2), const(5), 0.4),
    (special.nbdtr, const(2), const(5), 0.4),
    (special.nbdtrc, const(2), const(5), 0.4),
    (special.nbdtri, const(2), const(5), 0.4),
    (special.pdtr, const(2), 1.3),
    (special.pdtr, const(2.6), 1.3),
    (special.pdtrc, const(2), 1.3),
    (special.pdtri, const(2), 0.3),
    (special.chdtr, 2.3, 1.7),
    (special.chdtrc, 2.3, 1.7),
    (special.chdtri, 2.3, 0.7),
    (special.gdtr, 1.2, 2.3, 0.7),
    (special.gdtrc, 1.2, 2.3, 0.7),
    (special.gdtrix, 1.2, 2.3, 0.4),
    (special.fdtr, 2.3, 3.1, 0.7),
    (special.fdtrc, 2.3, 3.1, 0.7),
    (special.fdtri, 2.3, 3.1, 0.7),
    (special.stdtr, 2.3, 0.7),
    (special.stdtr, 2.3, -1.7),
    (special.stdtrit, 2.3, 0.7),
    (special.chndtr, 2.3, 1.7, 0.8),
    (special.chndtr, 0.1, 1.7, 0.8),
    (special.chndtr, 12.3, 7.7, 5.8),
    (special.nctdtr, 2.3, 0.7, 1.2),
    (special.nctdtr, 2.3, -0.7, -1.2),
    (special.ncfdtr, 2.3, 3.1, 0.7, 1.2),
    (special.nrdtrimn, 0.4, 1.2, 0.7),
    (special.nrdtrisd, 0.3, 0.9, 0.4),
    (special.owens_t, 0.7, 1.2),
    (special.owens_t, -0.7, -0.2),
]
# In single precision they warn that their integers are not integers.
BY_INTEGERS = (special.bdtr, special.bdtrc, special.bdtri)
# Found by a search that stops early.
SEARCHED = [
    (special.bdtrik, 0.4, 5.0, 0.3),
    (special.bdtrin, 2.0, 0.4, 0.3),
    (special.nbdtrik, 0.4, 5.0, 0.3),
    (special.nbdtrin, 2.0, 0.4, 0.3),
    (special.pdtrik, 0.3, 4.3),
    (special.chdtriv, 0.3, 1.7),
    (special.gdtria, 0.4, 2.3, 0.7),
    (special.gdtrib, 1.2, 0.4, 0.7),
    (special.fdtridfd, 2.3, 0.4, 0.7),
    (special.stdtridf, 0.7, 0.9),
    (special.chndtrix, 0.3, 1.7, 0.8),
    (special.chndtridf, 2.3, 0.3, 0.8),
    (special.chndtrinc, 2.3, 1.7, 0.3),
    (special.nctdtrit, 2.3, 0.7, 0.4),
    (special.nctdtridf, 0.6, 0.7, 1.2),
    (special.nctdtrinc, 2.3, 0.4, 1.2),
    (special.ncfdtri, 2.3, 3.1, 0.7, 0.4),
    (special.ncfdtridfd, 2.3, 0.4, 0.7, 1.2),
    (special.ncfdtrinc, 2.3, 3.1, 0.3, 1.2),
]


@pytest.mark.parametrize("case", CASES, ids=name)
def test_rule(case, check_elementwise):
    check_elementwise(*case, single_precision=case[0] not in BY_INTEGERS)


@pytest.mark.parametrize("case", SEARCHED, ids=name)
def test_searched(case, check_elementwise):
    check_elementwise(*case, slow=True, rtol=1e-3, atol=1e-4)


def test_few_solutions():
    check_rule(special.ncfdtridfn, 0.5, 3.1, 0.7, 1.2, rtol=1e-3)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_engine(case, check_curvature):
    f, *args = case
    check_curvature(f, *[unpaired(a).primal for a in args])


@pytest.mark.parametrize(
    "case",
    [
        (special.stdtr, 3.0, 0.0),  # here the derivative by the degrees of freedom is 0
        (special.stdtr, 3.0, 0.4),
        (special.stdtrit, 3.0, 0.5),
        (special.gdtria, 0.4, 2.3, 0.7),
        (special.fdtr, 2.3, 3.1, 0.7),
        (special.fdtri, 2.3, 3.1, 0.7),
    ],
    ids=name,
)
def test_mixed_derivatives(case, check_mixed):
    check_mixed(*case)


@pytest.mark.parametrize(
    "case",
    [
        (special.gdtria, 0.9, 0.9, 1e-10),
        (special.gdtrix, 1e-11, 2.3, 0.4),
        (special.fdtri, 0.25, 0.01, 0.25),
        (special.fdtr, 0.25, 0.01, 1e20),
    ],
    ids=name,
)
def test_solutions_far_out(case):
    """A large solution is one, if it solves; near its ends a distribution function has digits."""
    f, *args = case
    found = autodiff.gradient(f, *args)
    for i, (slope, a) in enumerate(zip(found, args, strict=True)):
        ends = [f(*args[:i], a * (1 + k * 1e-6), *args[i + 1 :]) for k in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2e-6 * a), rel=1e-5)


# (function, arguments) for which there is no solution: SciPy returns the end of its search.
NO_SOLUTION = [
    (special.bdtrik, 0.01, 5.0, 0.3),
    (special.nbdtrik, 0.001, 5.0, 0.3),
    (special.pdtrik, 0.01, 1.3),
    (special.stdtridf, 0.99, 0.9),
    (special.chndtrinc, 2.3, 1.7, 0.9),
    (special.chndtridf, 2.3, 0.999, 0.8),
    (special.ncfdtridfn, 0.4, 3.1, 0.7, 1.2),
    (special.ncfdtrinc, 0.75, 1.0, 0.0, 10.0),
    (special.nctdtrinc, 2.0, 0.0, 3.0),
]


@pytest.mark.parametrize("case", NO_SOLUTION, ids=name)
def test_no_solution(case):
    f, *args = case
    _, pullback = rrule(f, *args)
    assert all(unthunk(bar) == 0 for bar in pullback(1.0)[1:])
    _, slope = frule((NoTangent(), *[1.0] * len(args)), f, *args)
    assert slope == 0


def test_numbers_of_events_are_constants():
    def f(k, n):
        return special.bdtr(k, 7, 0.3) + special.pdtr(k, 0.4) + 0 * n

    assert autodiff.gradient(f, 2.3, 1.0) == (0, 0)
