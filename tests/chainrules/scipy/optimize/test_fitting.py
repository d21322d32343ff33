"""Least squares: minima, costs, residuals, parameters of curves and their covariance."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient
from chainrules.scipy.optimize.implicit import ImplicitError

X = np.array([0.8, 0.3])
T = np.linspace(0, 2, 12)
D = 2.0 * np.exp(-0.7 * T) + 0.1 * np.sin(9 * T)
TIGHT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
CLOSE = {"ftol": 1e-15, "xtol": 1e-15}
ONE = [1.0, 1.0]


def model(t, a, b):
    return a * np.exp(-b * t)


def residuals(p, x):
    return model(T, p[0], p[1]) - D * x[0] - 0.1 * x[1] * T


def weighted(p):
    return p[0] + 2 * p[1]


def log_loss(z):
    return np.array([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])


def fit(x, **options):
    return optimize.least_squares(lambda p: residuals(p, x), ONE, **TIGHT, **options)


LEAST = {
    "args": lambda x: weighted(optimize.least_squares(residuals, ONE, args=(x,), **TIGHT).x),
    "kwargs": lambda x: optimize.least_squares(residuals, ONE, kwargs={"x": x}, **TIGHT).cost,
    "residuals": lambda x: np.sum(fit(x).fun ** 3),
    "lm": lambda x: weighted(fit(x, method="lm").x),
    "soft_l1": lambda x: weighted(fit(x, loss="soft_l1", f_scale=0.1).x),
    "huber": lambda x: weighted(fit(x, loss="huber", f_scale=0.1 * x[0]).x),
    "cauchy": lambda x: fit(x, loss="cauchy", f_scale=0.1).cost,
    "arctan": lambda x: weighted(fit(x, loss="arctan", f_scale=0.1).x),
    "own loss": lambda x: weighted(fit(x, loss=log_loss, f_scale=0.1).x),
    "bound": lambda x: weighted(fit(x, bounds=([0, 0], [9, 1.0 + x[1]])).x),
    "bound holds": lambda x: weighted(
        optimize.least_squares(
            residuals, [0.5, 0.2], bounds=([0, 0], [np.inf, x[1]]), args=(x,), **TIGHT
        ).x
    ),
    "Bounds, dogbox": lambda x: weighted(
        optimize.least_squares(
            residuals, [0.5, 0.2], bounds=optimize.Bounds(0, [9, 0.5]), method="dogbox", args=(x,)
        ).x
    ),
    "leastsq": lambda x: weighted(optimize.leastsq(residuals, ONE, (x,), **CLOSE)[0]),
    "leastsq covariance": lambda x: np.sum(
        optimize.leastsq(residuals, ONE, args=(x,), full_output=True, **CLOSE)[1]
    ),
}  # fmt: skip
CURVES = {
    "data": lambda x: weighted(optimize.curve_fit(model, T * x[1], D * x[0], **CLOSE)[0]),
    "covariance": lambda x: np.sum(optimize.curve_fit(model, T * x[1], D * x[0], **CLOSE)[1][0]),
    "sigma": lambda x: weighted(
        optimize.curve_fit(model, T, D + x[1], sigma=0.1 + x[0] * T, **CLOSE)[0]
    ),
    "absolute sigma": lambda x: np.sum(
        optimize.curve_fit(model, T, D, None, 0.1 + x[0] * T, True, **CLOSE)[1]
    ),
    "covariance matrix": lambda x: np.sum(
        optimize.curve_fit(model, T, D, sigma=np.eye(12) + x[0] * np.outer(T, T), **CLOSE)[1]
    ),
    "closure": lambda x: weighted(
        optimize.curve_fit(lambda t, a, b: a * np.exp(-b * x[0] * t) + x[1], T, D, **CLOSE)[0]
    ),
    "bounds": lambda x: weighted(
        optimize.curve_fit(model, T, D * x[0], bounds=(0, [10, 2 * x[1]]), **TIGHT)[0]
    ),
    "lists": lambda x: weighted(
        optimize.curve_fit(lambda t, a, b: a * t + b, [0.0, x[0], 2.0], [1.0, x[1], 4.0])[0]
    ),
    "full output": lambda x: weighted(
        optimize.curve_fit(model, T, D * x[0], full_output=True, **CLOSE)[0]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAST)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_least_squares(name, check_implicit):
    check_implicit(LEAST[name], X, rtol=2e-5, step=1e-3, second=name in ("args", "huber", "kwargs"))


@pytest.mark.parametrize("name", CURVES)
def test_curves(name, check_implicit):
    check_implicit(CURVES[name], X, rtol=2e-5, step=1e-3, second=name in ("data", "covariance"))


def test_a_line_has_a_known_fit():
    # The weights of the slope of a straight line are (t - mean) / Σ (t - mean)².
    found = gradient(lambda y: optimize.curve_fit(lambda t, a, b: a * t + b, T, y)[0][0], D)
    centred = T - np.mean(T)
    np.testing.assert_allclose(found, centred / np.sum(centred**2), rtol=1e-9, atol=1e-12)


def test_omitted_nan():
    with pytest.raises(ImplicitError, match="nan_policy='omit'"):
        gradient(lambda y: optimize.curve_fit(model, T, y, nan_policy="omit")[0][0], D)
