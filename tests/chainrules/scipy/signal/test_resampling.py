"""The filter's cotangent of ``upfirdn``: dot products of parts of two signals."""

import numpy as np
import pytest
from scipy import signal

from chainrules.scipy.signal.resampling import SHORT, dots_of_phases, filtered
from chainrules_core.testing import check_rule

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("up", [1, 2, 3, 6])
@pytest.mark.parametrize("down", [1, 2, 4, 6])
@pytest.mark.parametrize("taps, n", [(1, 1), (2, 7), (9, 2), (5, 20), (9, 1)])
def test_dots_of_phases(up, down, taps, n):
    x = RNG.normal(size=n) + 1j * RNG.normal(size=n)
    units = [signal.upfirdn(e, x, up, down) for e in np.eye(taps)]
    y_bar = RNG.normal(size=len(units[0])) + 1j * RNG.normal(size=len(units[0]))
    found = dots_of_phases(y_bar, x, taps, up, down)
    np.testing.assert_allclose(found, [np.vdot(u, y_bar) for u in units], atol=1e-12)


@pytest.mark.parametrize("dtype", [float, complex, np.float32])
@pytest.mark.parametrize("up, down", [(1, 1), (3, 2), (4, 6)])
def test_rule(dtype, up, down):
    h, x = RNG.normal(size=5).astype(dtype), RNG.normal(size=12).astype(dtype)
    check_rule(filtered, h, x, up, down)


def test_long_filters():
    check_rule(filtered, RNG.normal(size=SHORT + 1), RNG.normal(size=6), 3, 2)
