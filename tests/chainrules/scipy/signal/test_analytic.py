"""Analytic signals, in one and two dimensions."""

import inspect

import numpy as np
import pytest
from scipy import signal

import autodiff
from chainrules_core.testing import check_rule

RNG = np.random.default_rng(3)
HAS_AXES = "axes" in inspect.signature(signal.hilbert2).parameters


@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("options", [{}, {"N": 5}, {"N": 6}, {"N": 11}, {"axis": 0}, {"axis": -2}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hilbert(n, options, dtype):
    x = RNG.standard_normal((3, n)).astype(dtype)
    check_rule(signal.hilbert, x, fkwargs=options)
    y = signal.hilbert(x, **options)
    pulled = autodiff.pullback(lambda x: signal.hilbert(x, **options), x)[1](y)
    assert pulled.dtype == dtype


@pytest.mark.parametrize("shape", [(4, 5), (6, 8), (5, 5)])
@pytest.mark.parametrize("options", [{}, {"N": (7, 4)}, {"N": 5}])
def test_hilbert2(shape, options):
    check_rule(signal.hilbert2, RNG.standard_normal(shape), fkwargs=options)


@pytest.mark.skipif(not HAS_AXES, reason="SciPy before 1.17")
@pytest.mark.parametrize("options", [{"axes": (0, 2)}, {"axes": (2, 0), "N": (3, 6)}, {}])
def test_hilbert2_along_axes(options):
    check_rule(signal.hilbert2, RNG.standard_normal((4, 3, 5)), fkwargs=options)


def test_second_derivatives(check_modes):
    check_modes(lambda x: np.abs(signal.hilbert(x, 6)) ** 2, np.array([0.3, -0.7, 1.5, 0.2]))
    x = RNG.standard_normal((3, 4))
    check_modes(lambda x: signal.hilbert2(x)[:2] * x[0], x)


def test_complex_signals_are_scipys_error():
    with pytest.raises(ValueError, match="real"):
        autodiff.gradient(lambda x: np.abs(signal.hilbert(x)).sum(), np.ones(4) * 1j)
