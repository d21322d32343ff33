"""Functions that rules of linear algebra are made of."""

import numpy as np
import pytest
from scipy import linalg

from chainrules.scipy.linalg.bands.narrow import factor_change, factor_change_adjoint
from chainrules.scipy.linalg.bands.solving import turned
from chainrules.scipy.linalg.factors import pencils
from chainrules.scipy.linalg.factors.schur import below_blocks, below_blocks_adjoint, inside_blocks
from chainrules.scipy.linalg.singular import symmetric_solution
from chainrules_core.testing import check_rule

rng = np.random.default_rng(1)
REAL = rng.standard_normal((5, 5))
COMPLEX = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))


def band(first):
    """The lower half of a band: the corners are outside of the matrix."""
    ab = rng.standard_normal((3, 6))
    ab[0] += first
    ab[1, -1:] = ab[2, -2:] = 0
    return ab


@pytest.mark.parametrize("f", [factor_change, factor_change_adjoint])
def test_changes_of_a_factor(f):
    check_rule(f, band(3.0), band(0.0))


@pytest.mark.parametrize("way", [1, -1])
def test_halves_of_a_band(way):
    check_rule(turned, rng.standard_normal((3, 6)), way)


@pytest.mark.parametrize("a, output", [(REAL, "real"), (COMPLEX, "complex")])
@pytest.mark.parametrize("f", [below_blocks, below_blocks_adjoint])
def test_what_is_below_the_blocks(f, a, output, check_structured):
    t = linalg.schur(a, output=output)[0]
    check_structured(f, t, np.where(inside_blocks(t), a[::-1], 0), a.T)


@pytest.mark.parametrize("a, output", [(REAL, "real"), (COMPLEX, "complex")])
@pytest.mark.parametrize("f", [pencils.solve_below, pencils.solve_below_adjoint])
def test_what_is_below_the_blocks_of_a_pair(f, a, output, check_structured):
    st = np.stack(linalg.qz(a, a[::-1] + 2 * np.eye(len(a)), output=output)[:2])
    assert (output == "real") == bool(np.any(np.diagonal(st[0], -1)))
    st_dot = pencils.onto_form(st, np.stack([a.T, a[::-1]]))
    check_structured(f, st, st_dot, np.stack([a, a.T @ a]))


@pytest.mark.parametrize("a", [REAL, COMPLEX])
def test_an_equation_with_a_hermitian_matrix(a):
    check_rule(symmetric_solution, a @ a.conj().T + np.eye(len(a)), a[::-1].copy())
