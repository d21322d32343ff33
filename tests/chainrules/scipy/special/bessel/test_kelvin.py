import pytest
from scipy import special

CASES = [
    (special.ber, 1.3),
    (special.ber, -1.3),
    (special.bei, 1.3),
    (special.berp, 1.3),
    (special.berp, 12.5),
    (special.beip, 1.3),
    (special.beip, -0.4),
    (special.ker, 1.3),
    (special.kei, 1.3),
    (special.kerp, 1.3),
    (special.keip, 1.3),
    (special.kelvin, 1.3),
    (special.struve, 1.3, 0.7),
    (special.struve, 2, 0.7),
    (special.struve, 0.5, 12.0),
    (special.modstruve, 1.3, 0.7),
    (special.modstruve, 0, 1.7),
    (special.itstruve0, 0.7),
    (special.it2struve0, 0.7),
    (special.itmodstruve0, 0.7),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)
