"""A curve calibrated to observations: a cubic spline's values at its nodes, by Gauss-Newton.

The model is linear in the values, so that least squares with the spline's matrix, from the columns
of the identity, is an independent answer.
"""

import numpy as np
from scipy import interpolate

import autodiff

NODES = np.array([0.0, 0.8, 1.7, 2.9, 4.0])
PLACES = np.linspace(0.05, 3.95, 25)
OBSERVED = np.exp(-PLACES / 3) + 0.1 * np.sin(5 * PLACES)
AREA = 2.0


def loss(values):
    curve = interpolate.CubicSpline(NODES, values, bc_type="natural")
    misfit = curve(PLACES) - OBSERVED
    return np.sum(misfit**2) + (curve.integrate(0.0, 4.0) - AREA) ** 2


def test_calibration():
    start = np.zeros(5)
    step = np.linalg.solve(autodiff.hessian(loss, start), -autodiff.gradient(loss, start))
    found = start + step
    matrix = interpolate.CubicSpline(NODES, np.eye(5), bc_type="natural")
    A = np.vstack([matrix(PLACES), matrix.integrate(0.0, 4.0)])
    expected = np.linalg.lstsq(A, np.append(OBSERVED, AREA), rcond=None)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(autodiff.gradient(loss, found), 0.0, atol=1e-9)
