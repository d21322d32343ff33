import numpy as np
import pytest
from scipy import signal

from chainrules.scipy.signal.filters.cascades import cascade
from tests.helpers import compl, real

SOS = signal.butter(4, 0.3, output="sos")


def by_free(f):
    """A filter by the coefficients of its sections without those that must be 1."""

    def filtered(free, *args):
        return f(np.concatenate([free[:, :3], np.ones((2, 1)), free[:, 3:]], axis=1), *args)

    return filtered


@pytest.mark.parametrize(
    "f",
    [
        lambda sos, x: signal.sosfilt(sos, x),
        lambda sos, x: signal.sosfilt(sos, np.outer(x, x[:2]), axis=0),
        lambda sos, x: signal.sosfilt(sos, x, zi=np.outer(x[:2], x[2:4])),
        lambda sos, x: signal.sosfilt(sos, x, zi=signal.sosfilt_zi(sos) * x[0]),
        lambda sos, x: signal.sosfilt(sos, x * 1j),
        lambda sos, x: signal.sosfiltfilt(sos, x, padlen=4),
        lambda sos, x: signal.sosfiltfilt(sos, x, padtype="constant", padlen=2),
        lambda sos, x: signal.sosfiltfilt(sos, x, padtype=None),
    ],
)
def test_sections(f, check_engine):
    check_engine(by_free(f), np.delete(SOS, 3, 1), real(6))


@pytest.mark.parametrize("x", [real(9), compl(2, 7)])
def test_a_cascade_from_rest(x, check_structured):
    sos_dot = real(*np.shape(SOS))
    sos_dot[:, 3] = 0  # SciPy wants ones there
    check_structured(cascade, SOS, sos_dot, x)
