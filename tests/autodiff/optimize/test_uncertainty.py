"""Covariances, bands and profile likelihoods, by closed forms and by differences."""

import types

import numpy as np
import pytest
from scipy import stats

from autodiff import ArgumentError, gradient
from autodiff.optimize import (
    confidence_band,
    covariance,
    curve_fit,
    minimize,
    profile,
    profile_interval,
    standard_errors,
)
from tests.helpers import differences

X = np.linspace(0, 3, 15)
Y = 2 * np.exp(-0.8 * X) + 0.3 + 0.05 * np.cos(29 * X)
START = {"size": 1.0, "rate": 1.0, "offset": 0.0, "name": "decay"}


def model(p, x=X):
    return p["size"] * np.exp(-p["rate"] * x) + p["offset"]


def misfit(p, y=Y):
    return np.sum((model(p) - y) ** 2) / (2 * 0.05**2)


BEST = minimize(misfit, START, method="trust-exact", options={"gtol": 1e-9}).params


def test_covariance_by_the_hessian():
    def by_hand(v):
        return misfit(dict(zip(("size", "rate", "offset"), v, strict=True)))

    at = np.array([BEST["size"], BEST["rate"], BEST["offset"]])
    curvature = differences(lambda v: differences(by_hand, v, 1e-3, 4), at, 1e-3, 4)
    np.testing.assert_allclose(covariance(misfit, BEST), np.linalg.inv(curvature), rtol=1e-5)


def test_standard_errors_are_in_the_nest():
    matrix = covariance(misfit, BEST)
    errors = standard_errors(BEST, matrix)
    assert list(errors) == list(BEST)
    assert errors["name"] == "decay"
    assert errors["rate"] == pytest.approx(np.sqrt(matrix[1, 1]))
    assert standard_errors({"z": 1j}, np.diag([1.0, 4.0]))["z"] == 1 + 2j


def test_a_linear_model_has_the_covariance_of_the_textbook():
    design = np.stack([X, np.ones(15)], axis=1)
    fit = curve_fit(lambda x, p: p["a"] * x + p["b"], X, Y, {"a": 0.0, "b": 0.0}, sigma=0.05,
                    absolute_sigma=True)  # fmt: skip
    expected = np.linalg.inv(design.T @ design) * 0.05**2
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-6)
    by_hessian = covariance(
        lambda p: np.sum((p["a"] * X + p["b"] - Y) ** 2) / (2 * 0.05**2), fit.params
    )
    np.testing.assert_allclose(by_hessian, expected, rtol=1e-6)


def test_bands_by_the_delta_method():
    matrix = covariance(misfit, BEST)

    def predict(p, at):
        return {"curve": model(p, at), "half": np.log(2) / p["rate"]}

    at = np.array([0.5, 1.5, 5.0])
    low, high = confidence_band(predict, BEST, matrix, args=(at,), level=0.9)
    draws = np.random.default_rng(1).multivariate_normal(
        [BEST["size"], BEST["rate"], BEST["offset"]], matrix * 1e-4, 20000
    )
    curves = draws[:, :1] * np.exp(-draws[:, 1:2] * at) + draws[:, 2:]
    halves = np.log(2) / draws[:, 1]
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose(high["curve"] - low["curve"], 2 * z * curves.std(0) * 100, rtol=0.03)
    np.testing.assert_allclose(high["half"] - low["half"], 2 * z * halves.std() * 100, rtol=0.03)
    np.testing.assert_allclose((high["curve"] + low["curve"]) / 2, model(BEST, at))


def test_gradients_of_covariances_and_bands():
    def width(y):
        fit = minimize(misfit, START, args=(y,), method="trust-exact", options={"gtol": 1e-9})
        matrix = covariance(misfit, fit.params, args=(y,))
        low, high = confidence_band(lambda p: model(p, 1.5), fit.params, matrix)
        return high - low

    slope = gradient(width, Y)
    for i in (0, 7, 14):
        step = np.eye(15)[i] * 1e-3
        expected = (width(Y + step) - width(Y - step)) / 2e-3
        assert slope[i] == pytest.approx(expected, rel=1e-4, abs=1e-7)


# ----------------------------------------------------------------------------- profile likelihoods


def test_profiles_by_a_search_over_the_others():
    found = profile(misfit, BEST, "rate")
    assert found.at.shape == found.values.shape == (13,)
    assert found.at[6] == pytest.approx(BEST["rate"])
    for at, value, params in list(zip(*found, strict=True))[::4]:
        # For a fixed rate the model is linear in the others.
        design = np.stack([np.exp(-at * X), np.ones(15)], axis=1)
        best = np.linalg.lstsq(design, Y, rcond=None)[0]
        expected = np.sum((design @ best - Y) ** 2) / (2 * 0.05**2)
        assert value == pytest.approx(expected, rel=1e-6)
        assert params["rate"] == pytest.approx(at)
        np.testing.assert_allclose([params["size"], params["offset"]], best, rtol=1e-3)


def test_an_interval_is_where_the_profile_crosses():
    low, high = profile_interval(misfit, BEST, "rate", level=0.9)
    ends = profile(misfit, BEST, "rate", at=[low, high])
    rise = stats.chi2.ppf(0.9, 1) / 2
    np.testing.assert_allclose(ends.values - misfit(BEST), rise, rtol=1e-5)
    assert low < BEST["rate"] < high
    assert high - BEST["rate"] > BEST["rate"] - low  # it is not symmetric


def test_the_interval_of_a_normal_mean_is_that_of_its_error():
    data = np.array([1.0, 2.0, 4.0])

    def f(p):
        return np.sum((data - p[0][0]) ** 2) / 2 + (p[1].a - 1) ** 2

    best = [np.array([np.mean(data)]), types.SimpleNamespace(a=1.0)]
    low, high = profile_interval(f, best, (0, 0))
    z = stats.norm.ppf(0.975) / np.sqrt(3)
    np.testing.assert_allclose([low, high], [np.mean(data) - z, np.mean(data) + z], rtol=1e-7)
    low, high = profile_interval(f, best, (1, "a"))
    np.testing.assert_allclose([low, high], 1 + np.array([-1, 1]) * z * np.sqrt(1.5), rtol=1e-6)


def test_intervals_end_at_bounds_and_may_be_infinite():
    def f(p):
        return 1 / (1 + np.exp(p["a"])) + np.exp(-p["a"]) * 0 + 0.1 * p["a"]

    best = minimize(f, {"a": 1.0}).params
    low, high = profile_interval(f, best, "a", bounds={"a": (0, 40)})
    assert low == 0
    assert f({"a": high}) - f(best) == pytest.approx(stats.chi2.ppf(0.95, 1) / 2)
    low, _ = profile_interval(lambda p: np.tanh(p["a"]) ** 2, {"a": 0.0}, "a")
    assert low == -np.inf


def test_errors():
    with pytest.raises(ArgumentError, match="not positive definite"):
        covariance(misfit, BEST | {"rate": -3.0})
    with pytest.raises(ArgumentError, match="not positive definite"):
        covariance(lambda p: (p["a"] + p["b"]) ** 2, {"a": 1.0, "b": -1.0})
    for name in ("speed", ("rate", 0), "name", (), ("size", "x")):
        with pytest.raises(ArgumentError, match="not one real number"):
            profile(misfit, BEST, name)
    with pytest.raises(ArgumentError, match="level is a probability"):
        profile_interval(misfit, BEST, "rate", level=95)


def test_profiles_keep_to_bounds():
    found = profile(misfit, BEST, "rate", bounds={"offset": (BEST["offset"], None)})
    assert min(p["offset"] for p in found.params) >= BEST["offset"] - 1e-12
    free = profile(misfit, BEST, "rate")
    assert np.all(found.values >= free.values - 1e-9)
