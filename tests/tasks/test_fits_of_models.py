"""Five more problems fitted by autodiff.optimize, and by SciPy with differences.

Each reaches the same optimum, and asks the function less often.
"""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import linalg, optimize, signal

from autodiff import ravel
from autodiff.optimize import minimize


def by_differences(f, start, **options):
    """The same minimum by SciPy alone, with the number of calls."""
    vector, nest = ravel(start)
    return optimize.minimize(lambda v: f(nest(v)), vector, **options)


# -------------------------------------------------------------------------- a mixed-effects model


def test_a_mixed_effects_model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 8))  # twelve groups, each with a level and a slope of its own
    levels, slopes = rng.normal(0, 0.8, 12), rng.normal(0, 0.4, 12)
    y = 1.0 + levels[:, None] + (2.0 + slopes[:, None]) * x + rng.normal(0, 0.3, (12, 8))

    def misfit(p):  # -2 log likelihood, with the effects of the groups integrated out
        total = 0.0
        for xs, ys in zip(x, y, strict=True):
            effects = np.stack([np.ones(8), xs], axis=1) * np.exp(p["log_sd"])
            cov = effects @ effects.T + np.exp(2 * p["log_noise"]) * np.eye(8)
            factor = linalg.cholesky(cov, lower=True)
            apart = linalg.solve_triangular(
                factor, ys - p["mean"][0] - p["mean"][1] * xs, lower=True
            )
            total += np.sum(apart**2) + 2 * np.sum(np.log(np.diag(factor)))
        return total

    start = {"mean": np.zeros(2), "log_sd": np.zeros(2), "log_noise": 0.0, "groups": 12}
    ours = minimize(misfit, start)
    theirs = by_differences(misfit, start)
    assert ours.fun <= theirs.fun + 1e-6
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-3)
    assert ours.nfev < theirs.nfev / 4
    assert np.exp(ours.params["log_noise"]) == pytest.approx(0.3, rel=0.2)


# -------------------------------------------------------------------------------- a Kalman filter


def test_the_noise_of_a_kalman_filter():
    rng = np.random.default_rng(4)
    level = np.cumsum(rng.normal(0, 0.5, 150))
    seen = level + rng.normal(0, 1.2, 150)

    def misfit(p):  # the negative log likelihood of a random walk seen through noise
        moved, noise = np.exp(2 * p["log_moved"]), np.exp(2 * p["log_noise"])
        mean, variance, total = 0.0, 10.0, 0.0
        for value in seen:
            variance = variance + moved
            spread = variance + noise
            gain, error = variance / spread, value - mean
            total += 0.5 * (np.log(spread) + error**2 / spread)
            mean, variance = mean + gain * error, (1 - gain) * variance
        return total

    start = {"log_moved": 0.5, "log_noise": -0.5}
    ours = minimize(misfit, start)
    theirs = by_differences(misfit, start)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)
    assert ours.fun == pytest.approx(theirs.fun, rel=1e-9)
    assert ours.nfev <= theirs.nfev / 3
    assert np.exp(ours.params["log_noise"]) == pytest.approx(1.2, rel=0.15)


# ------------------------------------------------------------------------------ a Gaussian process


def test_the_scales_of_a_gaussian_process():
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, (60, 4))  # of four directions two matter
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + rng.normal(0, 0.1, 60)
    y = y - np.mean(y)

    def misfit(p):
        scaled = x * np.exp(p["log_rates"])
        apart = scaled[:, None, :] - scaled[None, :, :]
        cov = np.exp(p["log_size"] - 0.5 * np.sum(apart**2, axis=2))
        factor = np.linalg.cholesky(cov + np.exp(2 * p["log_noise"]) * np.eye(60))
        half = linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * np.sum(half**2) + np.sum(np.log(np.diag(factor)))

    start = {"log_rates": np.zeros(4), "log_size": 0.0, "log_noise": -1.0, "kernel": "rbf"}
    bounds = {"log_rates": (-4, 3), "log_size": (-4, 4), "log_noise": (-4, 1)}
    sides = [(-4, 3)] * 4 + [(-4, 4), (-4, 1)]
    ours = minimize(misfit, start, bounds=bounds)
    theirs = by_differences(misfit, start, bounds=sides)
    assert ours.fun == pytest.approx(theirs.fun, abs=0.02)
    assert ours.nfev < theirs.nfev / 4
    assert np.max(ours.params["log_rates"][2:]) < np.min(ours.params["log_rates"][:2]) - 1


# ------------------------------------------------------------------------------ a blurred image


def test_an_image_is_sharpened():
    rng = np.random.default_rng(6)
    sharp = np.zeros((12, 12))
    sharp[3:9, 4:8] = 1.0
    sharp[5:7, 2:10] = 0.5
    kernel = np.outer([0.25, 0.5, 0.25], [0.25, 0.5, 0.25])
    blurred = signal.convolve2d(sharp, kernel, mode="same") + rng.normal(0, 0.01, (12, 12))

    def misfit(p):  # with a penalty of edges, rounded off at zero
        image = p["image"]
        error = signal.convolve2d(image, kernel, mode="same") - blurred
        edges = [np.diff(image, axis=0), np.diff(image, axis=1)]
        return 50 * np.sum(error**2) + 0.05 * sum(np.sum(np.sqrt(e**2 + 1e-3)) for e in edges)

    options = {"maxiter": 200, "maxfun": 10**6}
    start = {"image": blurred, "pixels": 144}
    ours = minimize(misfit, start, bounds={"image": (0, 1)}, options=options)
    theirs = by_differences(
        misfit, start, bounds=[(0, 1)] * 144, method="L-BFGS-B", options=options
    )
    assert ours.fun <= theirs.fun * (1 + 1e-3)
    assert ours.nfev < theirs.nfev / 50
    assert np.mean((ours.params["image"] - sharp) ** 2) < 0.3 * np.mean((blurred - sharp) ** 2)


# ---------------------------------------------------------------- a logistic regression on shards


def rows(seed):
    rng = np.random.default_rng([8, seed])
    x = rng.normal(size=(500, 6))
    return x, x @ np.linspace(-1, 1, 6) + rng.logistic(size=500) > 0


def shard_loss(p, x, is_one):
    scores = x @ p["weights"] + p["offset"]
    return np.sum(np.logaddexp(0.0, np.where(is_one, -scores, scores)))


def test_a_logistic_regression_on_shards():
    shards = [functools.partial(rows, seed) for seed in range(20)]
    start = {"weights": np.zeros(6), "offset": 0.0, "penalty": None}
    ours = minimize(
        shard_loss, start, shards=shards, executor=functools.partial(ThreadPoolExecutor, 2)
    )
    data = [shard() for shard in shards]
    theirs = by_differences(lambda p: sum(shard_loss(p, *shard) for shard in data), start)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)
    assert ours.fun == pytest.approx(theirs.fun, rel=1e-8)
    assert ours.nfev <= theirs.nfev / 4
    np.testing.assert_allclose(ours.params["weights"], np.linspace(-1, 1, 6), atol=0.1)
