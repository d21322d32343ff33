import numpy as np
import pytest
from scipy import linalg

from chainrules.scipy.linalg.bands.solving import factor_solution
from tests.chainrules.scipy.linalg.cases import case, single
from tests.helpers import normal_draws

_, real, compl = normal_draws(4)


AB = real(4, 5) + np.array([[0], [6], [0], [0]])
LOW = real(3, 4) + np.array([[8], [0], [0]])
UP = real(3, 4) + np.array([[0], [0], [8]])
LOWZ, UPZ = LOW + 1j * real(3, 4), UP + 1j * real(3, 4)
LOWZ[0], UPZ[-1] = LOW[0], UP[-1]
CASES = [
    case(linalg.solve_banded, (2, 1), AB[::-1].copy(), real(5)),
    case(linalg.solve_banded, (1, 2), AB, real(5, 2)),
    case(linalg.solve_banded, (1, 1), AB[:3], real(5, 2)),
    case(linalg.solve_banded, (0, 1), AB[:2], real(5)),
    case(linalg.solve_banded, (1, 2), AB + 1j * real(4, 5), compl(5, 2)),
    case(linalg.solve_banded, (1, 2), *single(AB, real(5))),
    case(linalg.solveh_banded, UP, real(4, 2)),
    case(linalg.solveh_banded, LOW, real(4), lower=True),
    case(linalg.solveh_banded, LOW[:2], real(4), lower=True),
    case(linalg.solveh_banded, UPZ, compl(4, 2)),
    case(linalg.solveh_banded, LOWZ, compl(4), lower=True),
    case(linalg.solveh_banded, *single(UP, real(4))),
    case(factor_solution, LOW, real(4, 2), lower=True),
    case(factor_solution, UP, real(4, 2), lower=False),
    case(factor_solution, LOWZ + 0.2j, compl(4, 2), lower=True),
    case(factor_solution, UPZ + 0.2j, compl(4, 2), lower=False),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs, check_case):
    check_case(f, args, kwargs, f is not linalg.solve_banded or args[0] == (1, 2))


def solved(a, b, lower):
    return linalg.cho_solve_banded((linalg.cholesky_banded(a, lower=lower), lower), b)


@pytest.mark.parametrize(
    "f, xs",
    [
        (lambda a: linalg.cholesky_banded(a), (UP,)),
        (lambda a: linalg.cholesky_banded(a, lower=True), (LOW,)),
        (lambda a: linalg.cholesky_banded(a, False, True), (LOW + 0.1j,)),
        (lambda a, b: solved(a, b, True), (LOW, real(4, 2))),
        (lambda a, b: solved(a, b, False), (UP, real(4))),
        (lambda a, b: linalg.solve_banded(l_and_u=(1, 2), ab=a, b=b), (AB, real(5))),
    ],
)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)


@pytest.mark.parametrize("widths", [(1, 1), [1, 1]])
def test_second_derivatives_with_three_diagonals(widths, check_modes):
    check_modes(lambda ab, b: linalg.solve_banded(widths, ab, b), AB[:3], real(5))
