"""Leading coefficients that are 0 are dropped by SciPy: right derivatives, or an error."""

import numpy as np
import pytest
from scipy import signal

import autodiff
from chainrules_core import NotImplementedTangentError

B = np.array([0.0, 1.0])
LONG = np.array([0.0, 0.0, 1.0])


@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
@pytest.mark.parametrize(
    "f, x",
    [
        (lambda b: signal.bilinear(b, [1.0, 0.3], fs=2.0), B),
        (lambda a: signal.bilinear([1.0, 0.3], a), np.array([2.0, 1.0])),
        (lambda b: signal.bilinear(b, [1.0, 0.3]), np.array([1.0, 2.0, 3.0])),
        (lambda b: signal.normalize(b, [2.0, 1.0, 3.0]), np.array([2.0, 1.0])),
        (lambda k: signal.normalize([0.0, k], [2.0, k, 3.0]), np.array(1.3)),
        (lambda k: signal.normalize([[1.0, 2.0], [k, 3.0]], [2.0, k, 3.0]), np.array(1.3)),
        (lambda k: signal.tf2ss([0.0, k], [1.0, 0.2, 0.3])[2], np.array(1.3)),
        (lambda k: np.trim_zeros([0.0, k, 2.0, 0.0])[0], np.array(1.3)),
    ],
)
def test_right(f, x, check_modes):
    check_modes(f, x, twice=False)


# SciPy before 1.16 keeps these zeros.
KEEPS = len(signal.bilinear(LONG, [1.0, 0.3])[0]) == len(LONG)
DROPPED = [] if KEEPS else [(lambda b: signal.bilinear(b, [1.0, 0.3])[0], LONG)]


@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
@pytest.mark.parametrize(
    "f, x",
    [
        *DROPPED,
        (lambda b: signal.tf2ss(b, [1.0, 0.2, 0.3])[2], B),
        (lambda b: signal.normalize(b, [2.0, 1.0])[0], B),
        (lambda a: signal.normalize([1.0, 2.0], a)[1], np.array([0.0, 2.0, 1.0])),
        (lambda b: signal.residue(b, [1.0, 0.5, 0.06])[0], B),
        (lambda b: signal.impulse((b, [1.0, 2.0, 1.0]), T=[0.0, 0.5])[1], B),
        (np.trim_zeros, LONG),
    ],
)
def test_an_error(f, x):
    def loss(x):
        return np.sum(np.real(f(x)))

    with pytest.raises(NotImplementedTangentError, match="drops"):
        autodiff.gradient(loss, x)
    with pytest.raises(NotImplementedTangentError, match="drops"):
        autodiff.pushforward(loss, x)[1](np.ones(x.shape))
