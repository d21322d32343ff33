import pytest
from scipy import special

CASES = [
    (special.bdtr, 2, 5, 0.4),
    (special.bdtr, 5, 5, 0.4),
    (special.bdtrc, 2, 5, 0.4),
    (special.bdtri, 2, 5, 0.4),
    (special.nbdtr, 2, 5, 0.4),
    (special.nbdtrc, 2, 5, 0.4),
    (special.nbdtri, 2, 5, 0.4),
    (special.pdtr, 2, 1.3),
    (special.pdtr, 2.6, 1.3),
    (special.pdtrc, 2, 1.3),
    (special.pdtri, 2, 0.3),
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
    (special.ncfdtridfd, 2.3, 0.6, 0.7, 1.2),
    (special.ncfdtridfn, 3.1, 0.5, 0.7, 1.2),
    (special.ncfdtrinc, 2.3, 3.1, 0.3, 1.2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", SEARCHED, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_searched(case, check_elementwise):
    check_elementwise(*case, single_precision=False, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)
