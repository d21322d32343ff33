import operator

import numpy as np
import pytest

from chainrules_core import frule, rrule
from chainrules_core.testing import COMPLEX, NONZERO, REAL, check_rule, check_scalar

SHAPES = [(), (3,), (2, 2), (0,)]
FUNCTIONS = [
    np.absolute, operator.abs, np.angle, np.conjugate, np.imag, np.nan_to_num, np.real,
    np.real_if_close, np.sign,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("domain", [NONZERO, COMPLEX], ids=str)
def test_rule(f, domain):
    for shape in SHAPES:
        check_rule(f, domain.draw(shape))
    check_rule(f, domain.draw(3, np.complex64 if domain is COMPLEX else np.float32))
    check_rule(f, np.array(domain.draw()))
    check_rule(f, domain.draw((4, 6))[::2, ::-2])


@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f is not np.real_if_close])
@pytest.mark.parametrize("z", [0.3 + 0.4j, -2 + 0.3j, -2 - 0.3j, 1 - 3j], ids=str)
def test_both_directions(f, z):
    check_scalar(f, z)


def test_fabs():
    for shape in SHAPES:
        check_rule(np.fabs, NONZERO.draw(shape))
    check_rule(np.fabs, NONZERO.draw(3, np.float32))


def test_angle_in_degrees():
    check_rule(np.angle, COMPLEX.draw(3), fkwargs={"deg": True})
    check_rule(np.angle, COMPLEX.draw((2, 2)), True)
    check_rule(np.angle, REAL.draw(3), True)


def test_dtype():
    check_rule(np.absolute, NONZERO.draw(3), fkwargs={"dtype": float})
    check_rule(np.conjugate, COMPLEX.draw(3), fkwargs={"dtype": complex})


def test_real_if_close():
    near = np.array([1 + 1e-15j, 2 - 1e-16j])
    assert rrule(np.real_if_close, near)[0].dtype == float
    assert frule((None, near), np.real_if_close, near)[1].dtype == float
    check_rule(np.real_if_close, COMPLEX.draw(3), fkwargs={"tol": 10})


def test_the_gradient_of_the_modulus_is_the_direction():
    """x̄ = ∂s/∂re + i ∂s/∂im: the conjugate of what JAX and HIPS autograd return."""
    assert rrule(np.absolute, 3 + 4j)[1](1.0)[1] == 0.6 + 0.8j


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_the_modulus_at_zero(dtype):
    x = np.array([3 + 4j, 0, -2j, 1e-30], dtype)
    x_bar = rrule(np.absolute, x)[1](np.full(4, 2, x.real.dtype))[1]
    np.testing.assert_allclose(x_bar, 2 * np.array([0.6 + 0.8j, 0, -1j, 1]), rtol=1e-6)


ENGINE = [
    abs,
    np.abs,
    np.fabs,
    lambda x: np.abs(x + 1j * x[0]),
    lambda x: np.sign(x + 1j * x[0]),
    lambda x: np.angle(x + 1j * x[0]),
    lambda x: np.angle(x * 1j + x[0], deg=True),
    lambda x: np.conj(x * (1 + 2j)) * x[0],
    lambda x: (x * (1 + 2j) * x[0]).imag,
    lambda x: np.real(x * (1 + 2j) * x[0]) * x.real,
    lambda x: np.imag(x) + x,
    lambda x: np.sign(x) * x,
    lambda x: np.real_if_close(x + 0j) * x,
    lambda x: np.nan_to_num(np.where(x > 0, x, np.nan)) * x,
]


@pytest.mark.parametrize("f", ENGINE)
def test_engine(f, check_engine):
    check_engine(f, np.array([0.7, -1.9, 2.4]))
