"""Logistic regression with an L2 penalty, in ordinary NumPy.

Nothing here knows that anybody will differentiate it: this is the module that you would have
written anyway. ``demo.py`` hands `loss` to ``autodiff.value_and_gradient`` as it stands.
"""

import numpy as np

PENALTY = 0.01


def score(theta, features):
    """Log-odds of class 1 for each row of `features`.

    Parameters
    ----------
    theta : ndarray, shape (m + 1,)
        One weight for each feature, then the bias.
    features : ndarray, shape (n, m)
        Standardised features.

    Returns
    -------
    ndarray, shape (n,)
    """
    weights, bias = theta[:-1], theta[-1]
    return features @ weights + bias


def loss(theta, features, target, penalty=PENALTY):
    """Mean negative log-likelihood of the labels, plus the penalty on the weights.

    Parameters
    ----------
    theta : ndarray, shape (m + 1,)
        One weight for each feature, then the bias.
    features : ndarray, shape (n, m)
        Standardised features.
    target : ndarray, shape (n,)
        Labels, 0 or 1.
    penalty : float
        Strength of the penalty; the bias goes free.

    Returns
    -------
    float
    """
    log_odds = score(theta, features)
    log_likelihood = target * log_odds - np.logaddexp(0.0, log_odds)
    return -np.mean(log_likelihood) + 0.5 * penalty * np.sum(theta[:-1] ** 2)


def probability(theta, features):
    """Probability of class 1 for each row of `features`."""
    return np.exp(-np.logaddexp(0.0, -score(theta, features)))


def accuracy(theta, features, target):
    """Fraction of the rows whose likelier class is the true one."""
    return float(np.mean((score(theta, features) > 0) == (target == 1)))


def standardiser(features):
    """Centre and scale that give each column mean 0 and deviation 1.

    A constant column has no scale of its own: it gets 1, and so becomes a column of zeros.

    Parameters
    ----------
    features : ndarray, shape (n, m)

    Returns
    -------
    centre, scale : ndarray, shape (m,)
    """
    centre, scale = features.mean(axis=0), features.std(axis=0)
    constant = scale <= 1e-12 * np.max(np.abs(features), axis=0)
    return centre, np.where(constant, 1.0, scale)


def split(target, test_fraction, rng):
    """Row numbers for training and for testing, each class in the same proportion in both.

    Parameters
    ----------
    target : ndarray, shape (n,)
        Labels, 0 or 1, at least two of each.
    test_fraction : float
        The part of each class that is held out; at least one row of each class, never all.
    rng : numpy.random.Generator

    Returns
    -------
    train, test : ndarray of int, sorted
    """
    train, test = [], []
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(target == label))
        held_out = min(max(1, round(test_fraction * len(rows))), len(rows) - 1)
        test.append(rows[:held_out])
        train.append(rows[held_out:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
