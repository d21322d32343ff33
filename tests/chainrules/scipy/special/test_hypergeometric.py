import pytest
from scipy import special

CASES = [
    (special.hyp0f1, 1.2, 0.7),
    (special.hyp0f1, 1.2, -3.7),
    (special.hyp0f1, 1.2, 0.7 + 0.2j),
    (special.hyp1f1, 1.2, 0.7, 0.3),
    (special.hyp1f1, 1.2, 2.7, -3.3),
    (special.hyp1f1, -2, 0.7, 1.3),
    (special.hyp1f1, 1.2, 0.7, 0.3 + 0.5j),
    (special.hyp2f1, 1.2, 0.7, 1.9, 0.3),
    (special.hyp2f1, 1.2, 0.7, 1.9, -3.3),
    (special.hyp2f1, -3, 0.7, 1.9, 0.3),
    (special.hyp2f1, 1.2, 0.7, 1.9, 0.3 + 0.5j),
    (special.hyperu, 1.2, 0.7, 1.3),
    (special.hyperu, 0.4, 2.7, 3.3),
    (special.wright_bessel, 0.5, 1.2, 0.7),
    (special.wright_bessel, 1.5, 0.4, 2.7),
    (special.log_wright_bessel, 0.5, 1.2, 0.7),
    (special.log_wright_bessel, 0.8, 2.2, 30.0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)
