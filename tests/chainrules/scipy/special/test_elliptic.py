import pytest
from scipy import special

CASES = [
    (special.ellipk, 0.3),
    (special.ellipk, -2.3),
    (special.ellipk, 0.0),
    (special.ellipkm1, 0.3),
    (special.ellipkm1, 1.7),
    (special.ellipe, 0.3),
    (special.ellipe, -2.3),
    (special.ellipkinc, 0.7, 0.3),
    (special.ellipkinc, 4.2, 0.6),
    (special.ellipkinc, -2.1, -0.6),
    (special.ellipeinc, 0.7, 0.3),
    (special.ellipeinc, 4.2, 0.6),
    (special.ellipeinc, -2.1, -0.6),
    (special.ellipj, 0.7, 0.3),
    (special.ellipj, 6.1, 0.9),
    (special.ellipj, -2.5, 0.5),
    (special.elliprc, 1.2, 0.7),
    (special.elliprc, 1.2, 1.2),
    (special.elliprc, 1.2, -0.7),
    (special.elliprc, 1.2 + 0.3j, 0.7),
    (special.elliprf, 1.2, 0.7, 0.3),
    (special.elliprf, 1.2 + 0.3j, 0.7, 0.3),
    (special.elliprd, 1.2, 0.7, 0.3),
    (special.elliprd, 1.2, 0.7 - 0.2j, 0.3),
    (special.elliprg, 1.2, 0.7, 0.3),
    (special.elliprg, 0.2, 0.7, 1.3),
    (special.elliprg, 0.7, 0.7, 0.7),
    (special.elliprg, 1.2 + 0.4j, 0.7, 0.3),
    (special.elliprg, 0.4 + 0.3j, -0.7 + 0.2j, 0.3 + 0.2j),
    (special.elliprj, 1.2, 0.7, 0.3, 0.9),
    (special.elliprj, 1.2, 0.7, 0.3, -0.5),
    (special.elliprj, 1.2, 0.7 + 0.1j, 0.3, 0.9),
    (special.agm, 1.2, 0.7),
    (special.agm, 0.7, 0.7),
    (special.agm, -1.2, -0.7),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)
