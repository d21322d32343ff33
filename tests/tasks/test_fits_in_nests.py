"""Five problems fitted by autodiff.optimize, and by SciPy with differences.

Each reaches the same optimum, and asks the function less often.
"""

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize

from autodiff import ravel
from autodiff.optimize import least_squares, minimize

# ------------------------------------------------------------------------- SciPy's test functions


def valley(p):
    return optimize.rosen(np.concatenate([np.stack([p["first"]]), p["rest"]])) + p["power"] - 2


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_rosenbrocks_valley(method):
    start = {"first": 1.3, "rest": np.array([1.0, 0.8, 1.2, 0.7]), "power": 2, "name": "rosen"}
    ours = minimize(valley, start, method=method)
    vector, nest = ravel(start)
    theirs = optimize.minimize(lambda v: valley(nest(v)), vector, method=method)
    assert ours.success
    np.testing.assert_allclose(ravel(ours.params)[0], np.ones(5), atol=2e-3)
    assert abs(ours.fun) <= abs(theirs.fun) + 1e-6
    assert ours.nfev < theirs.nfev / 2
    assert ours.params["name"] == "rosen"


# ----------------------------------------------------------------- rates of a differential equation

TIMES = np.linspace(0, 8, 25)


def populations(p):
    def change(t, z):
        prey, hunters = z
        return [p["born"] * prey - p["eaten"] * prey * hunters,
                p["fed"] * prey * hunters - p["starved"] * hunters]  # fmt: skip

    return integrate.solve_ivp(change, (0, 8), p["start"], t_eval=TIMES, rtol=1e-8, atol=1e-8).y


TRUE = {"born": 1.1, "eaten": 0.4, "fed": 0.1, "starved": 0.4, "start": np.array([8.0, 4.0])}


def test_rates_of_a_differential_equation():
    observed = populations(TRUE) + 0.1 * np.sin(np.arange(50.0) ** 2).reshape(2, 25)
    guess = {"born": 1.0, "eaten": 0.3, "fed": 0.12, "starved": 0.5, "start": np.array([7.0, 5.0])}
    ours = least_squares(lambda p: populations(p) - observed, guess)
    vector, nest = ravel(guess)
    calls = []

    def residuals(v):
        calls.append(v)
        return np.ravel(populations(nest(v)) - observed)

    theirs = optimize.least_squares(residuals, vector)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-4)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-8)
    assert ours.nfev < len(calls) / 3
    assert ours.params["born"] == pytest.approx(1.1, abs=0.05)


# --------------------------------------------------------------------------------- a neural network


def drawn_digits(count):
    """Bars, columns and diagonals on 4 × 4 pixels, shifted and noisy, with their classes."""
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 3, count)
    images = rng.normal(0, 0.25, (count, 4, 4))
    for image, kind, at in zip(images, kinds, rng.integers(0, 4, count), strict=True):
        if kind < 2:
            image[(at, slice(None)) if kind == 0 else (slice(None), at)] += 1
        else:
            image[np.arange(4), (np.arange(4) + at) % 4] += 1
    return images.reshape(count, 16), kinds


def network_loss(layers, x, kinds):
    for layer in layers[:-1]:
        x = np.tanh(x @ layer["weights"] + layer["offsets"])
    scores = x @ layers[-1]["weights"] + layers[-1]["offsets"]
    highest = np.max(scores, axis=1)
    total = highest + np.log(np.sum(np.exp(scores - highest[:, None]), axis=1))
    penalty = sum(np.sum(layer["weights"] ** 2) for layer in layers)
    return np.mean(total - scores[np.arange(len(kinds)), kinds]) + 0.01 * penalty


def test_a_neural_network():
    rng = np.random.default_rng(1)
    x, kinds = drawn_digits(120)
    layers = [
        {"weights": rng.normal(0, 0.5, (i, o)), "offsets": np.zeros(o), "activation": "tanh"}
        for i, o in ((16, 4), (4, 3))
    ]
    options = {"maxiter": 60, "maxfun": 10**6}
    ours = minimize(network_loss, layers, args=(x, kinds), method="L-BFGS-B", options=options)
    vector, nest = ravel(layers)
    theirs = optimize.minimize(
        lambda v: network_loss(nest(v), x, kinds), vector, method="L-BFGS-B", options=options
    )
    assert ours.fun == pytest.approx(theirs.fun, rel=0.02)
    assert ours.nfev < theirs.nfev / 20
    assert ours.fun < 0.6 * network_loss(layers, x, kinds)
    assert ours.params[1]["activation"] == "tanh"


# ----------------------------------------------------------------------- a portfolio and its limits


def test_a_portfolio_with_limits():
    rng = np.random.default_rng(2)
    returns = rng.normal(0.001, 0.02, (200, 7)) + rng.normal(0, 0.01, (200, 1))
    returns += np.linspace(0, 0.003, 7)
    mean, risk = returns.mean(0), np.cov(returns.T)

    def whole(p):
        return np.concatenate([p["shares"], p["bonds"]])

    constraints = [
        {"type": "eq", "fun": lambda p: np.sum(whole(p)) - 1},
        {"type": "ineq", "fun": lambda p: whole(p) @ mean * 100 - 0.25},
        {"type": "ineq", "fun": lambda p: 0.5 - np.sum(p["shares"])},
    ]
    start = {"shares": np.full(4, 1 / 7), "bonds": np.full(3, 1 / 7), "currency": "EUR"}
    ours = minimize(
        lambda p: whole(p) @ risk @ whole(p) * 1e4, start,
        bounds={"shares": (0, 0.4), "bonds": (0, 0.4)}, constraints=constraints, tol=1e-10,
    )  # fmt: skip
    vector, nest = ravel(start)
    theirs = optimize.minimize(
        lambda v: v @ risk @ v * 1e4, vector, bounds=[(0, 0.4)] * 7, tol=1e-10,
        constraints=[{**c, "fun": lambda v, c=c: c["fun"](nest(v))} for c in constraints],
    )  # fmt: skip
    assert ours.success
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)
    assert ours.fun == pytest.approx(theirs.fun, rel=1e-6)
    assert ours.nfev < theirs.nfev / 4
    assert np.sum(whole(ours.params)) == pytest.approx(1)


# ---------------------------------------------------------------------- a spline with free knots


def test_a_spline_with_free_knots():
    x = np.linspace(0, 1, 80)
    y = np.tanh(12 * (x - 0.4)) + 0.5 * x + 0.02 * np.cos(170 * x)

    def residuals(curve):
        knots = np.concatenate([np.zeros(1), curve["knots"], np.ones(1)])
        return interpolate.CubicSpline(knots, curve["values"])(x) - y

    guess = {"knots": np.linspace(0, 1, 8)[1:-1], "values": np.zeros(8), "kind": "cubic"}
    apart = np.linspace(0, 1, 8)[1:-1]
    bounds = {"knots": (apart - 0.065, apart + 0.065)}
    ours = least_squares(residuals, guess, bounds=bounds)
    vector, nest = ravel(guess)
    sides = np.full(8, np.inf)
    calls = []

    def by_vector(v):
        calls.append(v)
        return residuals(nest(v))

    limits = np.append(apart - 0.065, -sides), np.append(apart + 0.065, sides)
    theirs = optimize.least_squares(by_vector, vector, bounds=limits)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-4)
    assert ours.nfev < len(calls) / 5
    assert ours.cost < 0.3 * np.sum(residuals({**guess, "values": np.interp(
        np.linspace(0, 1, 8), x, y)}) ** 2) / 2  # fmt: skip
