"""A Gaussian process for a series with a trend and a season, in ordinary NumPy.

The kernel is the one of Rasmussen & Williams, *Gaussian Processes for Machine Learning* (2006),
section 5.4.3: a smooth trend, a season that may slowly change its shape, irregularities of many
lengths, and noise, part of it correlated. The twelve hyperparameters are learnt by maximising the
marginal likelihood (equation 5.8), as logarithms, for all of them are positive.

Nothing here knows that anybody will differentiate it. ``demo.py`` hands `loss` to
``autodiff.value_and_gradient`` as it stands.
"""

import numpy as np

NAMES = (
    "trend size",
    "trend length",
    "season size",
    "season decay",
    "season smoothness",
    "period",
    "irregularity size",
    "irregularity length",
    "irregularity mixture",
    "correlated noise",
    "correlation length",
    "noise",
)


def kernel(theta, a, b):
    """Covariance of the noiseless function between the points `a` and the points `b`.

    Parameters
    ----------
    theta : ndarray, shape (12,)
        Logarithms of the hyperparameters, in the order of `NAMES`.
    a, b : ndarray, shapes (n,) and (m,)

    Returns
    -------
    ndarray, shape (n, m)
    """
    (
        trend_size,
        trend_length,
        season_size,
        season_decay,
        season_smoothness,
        period,
        rough_size,
        rough_length,
        rough_mixture,
        correlated_size,
        correlated_length,
        _,
    ) = np.exp(theta)
    distance = a[:, None] - b[None, :]
    squared = distance**2

    trend = trend_size**2 * np.exp(-0.5 * squared / trend_length**2)
    wave = np.sin(np.pi * distance / period) / season_smoothness
    season = season_size**2 * np.exp(-0.5 * squared / season_decay**2 - 2.0 * wave**2)
    shape = 1.0 + 0.5 * squared / (rough_mixture * rough_length**2)
    rough = rough_size**2 * shape**-rough_mixture
    correlated = correlated_size**2 * np.exp(-0.5 * squared / correlated_length**2)
    return trend + season + rough + correlated


def noisy_kernel(theta, x):
    """Covariance of the observations at `x`: the kernel, and the noise on its diagonal."""
    return kernel(theta, x, x) + np.exp(2.0 * theta[-1]) * np.eye(len(x))


def loss(theta, x, y):
    """Negative log marginal likelihood of the observations, per observation.

    Parameters
    ----------
    theta : ndarray, shape (12,)
        Logarithms of the hyperparameters, in the order of `NAMES`.
    x, y : ndarray, shape (n,)
        Where the series was observed, and the observations less their straight line.

    Returns
    -------
    float
    """
    factor = np.linalg.cholesky(noisy_kernel(theta, x))
    white = np.linalg.solve(factor, y)
    fit = 0.5 * white @ white
    complexity = np.sum(np.log(np.diag(factor)))
    return (fit + complexity) / len(y) + 0.5 * np.log(2.0 * np.pi)


def predict(theta, x, y, new):
    """Mean and standard deviation of a new observation at each of the points `new`.

    Parameters
    ----------
    theta : ndarray, shape (12,)
        Logarithms of the hyperparameters.
    x, y : ndarray, shape (n,)
        The observations, less their straight line.
    new : ndarray, shape (m,)

    Returns
    -------
    mean, deviation : ndarray, shape (m,)
    """
    factor = np.linalg.cholesky(noisy_kernel(theta, x))
    cross = np.linalg.solve(factor, kernel(theta, x, new))
    mean = cross.T @ np.linalg.solve(factor, y)
    prior = kernel(theta, new[:1], new[:1])[0, 0] + np.exp(2.0 * theta[-1])
    variance = prior - np.sum(cross**2, axis=0)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def strongest_period(x, y):
    """Period of the sine wave that fits `y` best once a smooth trend has been taken away.

    Parameters
    ----------
    x, y : ndarray, shape (n,)

    Returns
    -------
    period : float
        Between four mean spacings of the points and half the length of the series.
    remainder : ndarray, shape (n,)
        What the trend left.
    """
    span = x.max() - x.min()
    trend = np.polynomial.Chebyshev.fit(x, y, 3)
    remainder = y - trend(x)
    waves = np.arange(2.0, max(3.0, len(x) / 4), 0.25)
    phase = 2.0 * np.pi * np.outer(waves, x - x.min()) / span
    power = np.abs(np.exp(-1j * phase) @ remainder)
    return float(span / waves[np.argmax(power)]), remainder


def start(x, y):
    """Hyperparameters to begin with, read off the data, and how far each may go from there.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Sorted points, and observations less their straight line.

    Returns
    -------
    theta : ndarray, shape (12,)
        Logarithms of the hyperparameters.
    bounds : list of (float, float)
    """
    span = x.max() - x.min()
    period, remainder = strongest_period(x, y)
    deviation = np.std(y)
    wiggle = max(np.std(remainder), 1e-3 * deviation)
    values_and_ranges = (
        (deviation, 1e3),  # trend size
        (span / 2, 1e2),  # trend length
        (wiggle, 1e2),  # season size
        (2 * span, 1e2),  # season decay
        (1.0, 1e2),  # season smoothness
        (period, 1.2),  # period
        (wiggle / 2, 1e3),  # irregularity size
        (period, 1e3),  # irregularity length
        (1.0, 1e2),  # irregularity mixture
        (wiggle / 4, 1e2),  # correlated noise
        (period / 10, 1e1),  # correlation length
        (wiggle / 4, 1e2),  # noise
    )
    theta = np.log([value for value, _ in values_and_ranges])
    room = np.log([factor for _, factor in values_and_ranges])
    return theta, list(zip(theta - room, theta + room, strict=True))
