import pytest
from scipy import special

CASES = [
    (special.airy, 0.7),
    (special.airy, -2.3),
    (special.airy, 0.0),
    (special.airy, 0.5 + 0.3j),
    (special.airy, -1.5 - 0.4j),
    (special.airye, 0.7),
    (special.airye, 0.5 + 0.3j),
    (special.airye, -1.5 + 0.4j),
    (special.airye, 1.2 + 2.9j),
    (special.itairy, 0.7),
]


@pytest.mark.parametrize("f, z", CASES)
def test_rule(f, z, check_elementwise):
    check_elementwise(f, z)


@pytest.mark.parametrize("f, z", CASES)
def test_engine(f, z, check_curvature):
    check_curvature(f, z)
