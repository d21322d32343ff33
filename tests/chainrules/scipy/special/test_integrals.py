import pytest
from scipy import special

CASES = [
    (special.exp1, 0.7),
    (special.exp1, 0.7 + 0.2j),
    (special.expi, 0.7),
    (special.expi, -0.7),
    (special.expi, 0.7 + 0.2j),
    (special.expn, 3, 0.7),
    (special.expn, 1, 0.7),
    (special.expn, 0, 0.7),
    (special.sici, 0.7),
    (special.sici, -0.7 + 0.2j),
    (special.shichi, 0.7),
    (special.shichi, 0.7 + 0.2j),
    (special.spence, 0.7),
    (special.spence, 1.0),
    (special.spence, 0.7 + 0.2j),
    (special.modfresnelp, 0.7),
    (special.modfresnelm, 1.7),
    (special.voigt_profile, 0.7, 1.2, 0.4),
    (special.voigt_profile, -70.0, 0.9, 0.4),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)
