import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules_core import NotImplementedTangentError
from tests.chainrules.scipy.linalg.cases import case, single
from tests.helpers import normal_draws

_, real, compl = normal_draws(11)
EYE = np.eye(4)
# A pair of complex eigenvalues in A, none in H.
A = np.array([[0.1, 3.0, 0.2, 1], [-2, 0.4, 1, 0.3], [0.2, 0.1, 4, 1], [0.5, 0, 0.2, -3]])
B, Z = real(4, 4) / 3 + 2 * EYE, compl(4, 4) + EYE
H = real(4, 4)
H = H + H.T
CASES = [
    case(linalg.qz, A, B),
    case(linalg.qz, A[:1, :1], B[:1, :1]),
    case(linalg.qz, *single(A, B)),
    case(linalg.ordqz, H, B @ B.T, sort="lhp"),
    case(linalg.ordqz, H, B @ B.T, sort="ouc"),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs, check_case):
    assert np.any(np.diagonal(linalg.qz(A, B)[0], -1))  # a block of two
    check_case(f, args, kwargs, f is linalg.qz and args[0].dtype == float)


def without_phases(forms):
    s, t, *ratio, q, z = forms
    a = q[:, :2] @ s[:2, :2] @ z[:, :2].conj().T
    values = [np.real(t), *([ratio[0] / ratio[1]] if ratio else [])]
    return (np.abs(s), np.abs(q), np.abs(z), a, *values)


@pytest.mark.parametrize("a", [A, Z], ids=["real", "complex"])
@pytest.mark.parametrize("f", [linalg.qz, linalg.ordqz])
def test_complex_form(f, a, check_modes):
    def absolute(a, b):
        s, t, *_, q, z = f(a, b, output="complex")
        turned = np.abs(q), np.abs(z), np.abs(np.conj(q).T @ a @ z), q[:, :2] @ s[:2] @ np.conj(z).T
        return (np.abs(s), np.real(np.diagonal(t)), *turned)

    check_modes(absolute, a, B)


def test_the_ratio_of_alpha_and_beta_is_an_eigenvalue(check_modes):
    def eigenvalues(a):
        _, _, alpha, beta, _, _ = linalg.ordqz(a, B, output="complex", sort="rhp")
        return alpha / beta

    check_modes(eigenvalues, Z)


def test_errors():
    with pytest.raises(NotImplementedTangentError, match="phases that LAPACK gave"):
        autodiff.gradient(lambda a: np.real(linalg.qz(a, B, output="complex")[2][0, 0]), Z)
    with pytest.raises(NotImplementedTangentError, match="scales alpha and beta"):
        autodiff.gradient(lambda a: np.sum(linalg.ordqz(a, B)[3]), A)
    with pytest.raises(np.linalg.LinAlgError, match="equal generalised eigenvalues"):
        autodiff.gradient(lambda a: linalg.qz(a, EYE)[2][0, 1], EYE)


@pytest.mark.parametrize("a", [A, Z, A.astype(np.float32)], ids=["real", "complex", "float32"])
def test_values_of_a_singular_pencil(a, check_modes):
    singular = np.diag([0.0, 1.0, 2.0, 1.5]).astype(a.real.dtype)
    singular[2, 3] = 0.4

    def finite(f):
        def values(a, b):
            w = f(a, b)
            w = w[np.isfinite(w)]
            return np.real(w), np.abs(np.imag(w))

        return values

    assert not np.all(np.isfinite(linalg.eigvals(a, singular)))
    if a.dtype == np.float32:
        a_bar, b_bar = autodiff.gradient(
            lambda a, b: np.sum(finite(linalg.eigvals)(a, b)[0] ** 2), a, singular
        )
        assert a_bar.dtype == b_bar.dtype == np.float32
        return

    def rows(b):  # the first row and column stay zero
        return np.pad(b, ((1, 0), (1, 0)))

    for f in (linalg.eigvals, lambda a, b: linalg.eig(a, b, right=False)):
        check_modes(lambda a, b, f=f: finite(f)(a, rows(b)), a, singular[1:, 1:], twice=False)


def test_poles_of_a_rational_approximation(check_modes):
    interpolate = pytest.importorskip("scipy.interpolate")
    if not hasattr(interpolate, "AAA"):
        pytest.skip("AAA is new in SciPy 1.15")
    places = np.linspace(-1.0, 1.0, 7)

    def poles(y):
        found = interpolate.AAA(places, y, rtol=0.05, clean_up=False).poles()
        return np.sum(np.real(found)), np.sum(np.abs(found))

    check_modes(poles, np.exp(places) + 0.3 * np.cos(4 * places), twice=False)
