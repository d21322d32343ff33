"""Factors that follow a change of the matrix, as functions of the matrix and of the change."""

import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules.refused import RefusedError
from chainrules.scipy.linalg.factors.updates import with_phases
from chainrules_core import NotImplementedTangentError
from chainrules_core.testing import check_rule

RNG = np.random.default_rng(2)
A, WIDE, U, V = RNG.normal(size=(4, 4)), RNG.normal(size=(3, 5)), *RNG.normal(size=(2, 4))
CASES = [
    (lambda a, u, v: linalg.qr_update(*linalg.qr(a), u, v), A, U, V),
    (lambda a, u: linalg.qr_update(*linalg.qr(a), u, a[:, :2]), A, RNG.normal(size=(4, 2))),
    (lambda a, u: linalg.qr_update(*linalg.qr(a), a[:, 0], u), WIDE, RNG.normal(size=5)),
    (lambda a, u: linalg.qr_insert(*linalg.qr(a), u, 1), A, U),
    (lambda a, u: linalg.qr_insert(*linalg.qr(a), u, -1), A, U),
    (lambda a, u: linalg.qr_insert(*linalg.qr(a), u, 2, which="col"), A, U),
    (lambda a, u: linalg.qr_insert(*linalg.qr(a), u, 0, "col"), WIDE, RNG.normal(size=(3, 2))),
    (lambda a, u: linalg.qr_insert(*linalg.qr(a[:, :3]), u, 3, "col"), A, U),
    (lambda a: linalg.qr_delete(*linalg.qr(a), 1), A),
    (lambda a: linalg.qr_delete(*linalg.qr(a), 0, 2, "row"), A),
    (lambda a: linalg.qr_delete(*linalg.qr(a), 1, which="col"), A),
    (lambda a: linalg.qr_delete(*linalg.qr(a), 1, 2, "col"), WIDE),
]


@pytest.mark.parametrize("f, xs", [(case[0], case[1:]) for case in CASES])
def test_updates(f, xs, check_modes):
    check_modes(f, *xs, twice=False)
    value, _ = autodiff.pullback(f, *xs)
    for found, expected in zip(value, f(*xs), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_what_is_not_determined_is_refused():
    with pytest.raises(RefusedError, match="any basis"):
        autodiff.gradient(
            lambda a: np.sum(linalg.qr_update(*linalg.qr(a), a[:, 0], U[:2])[0]), A[:, :2]
        )
    q, r = linalg.qr(A[:, :2], mode="economic")
    with pytest.raises(RefusedError, match="economic"):
        autodiff.gradient(lambda r: np.sum(linalg.qr_delete(q, r, 0, which="col")[1]), r)


ZA, ZU = A + 1j * A.T, U + 1j * V


def test_complex_factors_have_phases_of_their_own(check_modes):
    def updated(a, u):
        return linalg.qr_update(*linalg.qr(a), u, U + 0j)

    check_modes(lambda a, u: [np.abs(x) ** 2 for x in updated(a, u)], ZA, ZU, twice=False)
    check_modes(lambda a, u: np.matmul(*updated(a, u)), ZA, ZU, twice=False)
    with pytest.raises(NotImplementedTangentError, match="phases"):
        autodiff.gradient(lambda a, u: np.sum(np.real(updated(a, u)[1])), ZA, ZU)


def test_without_phases_the_factors_keep_their_gradients():
    check_rule(with_phases, *linalg.qr(A))


def test_columns_that_need_no_reflection():
    """LAPACK leaves them as they are, and turns their signs round where they are changed."""
    tall = np.triu(A)[:, [0, 2, 3]]
    with pytest.raises(NotImplementedTangentError, match="leaves it as it is"):
        autodiff.gradient(lambda a: np.sum(np.linalg.qr(a, "complete")[0] * A), tall)
    with pytest.raises(NotImplementedTangentError, match="leaves it as it is"):
        autodiff.pushforward(lambda a: np.linalg.qr(a, "complete")[0] * A, tall)[1](tall)
