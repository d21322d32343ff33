"""Optimal transport between points on a line, by linprog's value.

The independent value: for convex costs of the distance the plan is the monotone one, by quantiles,
so the cost is an integral over the quantile functions, without a program.
"""

import numpy as np
from scipy import optimize

from autodiff import gradient, pushforward

X = np.array([0.1, 0.9, 2.0])
Y = np.array([-0.3, 0.7, 1.6, 2.4])
P = np.array([0.2, 0.45, 0.35])
Q = np.array([0.15, 0.3, 0.35, 0.2])
SUMS = np.vstack([np.kron(np.eye(3), np.ones(4)), np.kron(np.ones(3), np.eye(4))])


def transport(x, y, p, q):
    costs = (x[:, None] - y[None, :]) ** 2
    return optimize.linprog(np.ravel(costs), A_eq=SUMS, b_eq=np.concatenate([p, q])).fun


def plan_by_quantiles(p, q):
    ends = np.unique(np.round(np.concatenate([[0.0], np.cumsum(p), np.cumsum(q)]), 12))
    middle = (ends[1:] + ends[:-1]) / 2
    plan = np.zeros((len(p), len(q)))
    rows, columns = np.searchsorted(np.cumsum(p), middle), np.searchsorted(np.cumsum(q), middle)
    np.add.at(plan, (rows, columns), np.diff(ends))
    return plan


def by_quantiles(x, y, p, q):
    return np.sum(plan_by_quantiles(p, q) * (x[:, None] - y[None, :]) ** 2)


def test_the_gradient_by_the_points():
    plan = plan_by_quantiles(P, Q)
    assert np.isclose(transport(X, Y, P, Q), by_quantiles(X, Y, P, Q))
    gap = plan * 2 * (X[:, None] - Y[None, :])
    x_bar, y_bar = gradient(lambda x, y: transport(x, y, P, Q), X, Y)
    np.testing.assert_allclose(x_bar, gap.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(y_bar, -gap.sum(axis=0), atol=1e-10)
    push = pushforward(lambda x: transport(x, Y, P, Q), X)[1]
    np.testing.assert_allclose(push(np.ones(3)), np.sum(x_bar), atol=1e-10)


def test_the_gradient_by_the_masses():
    def softmax(z):
        return np.exp(z) / np.sum(np.exp(z))

    z = np.log(P)
    g = gradient(lambda z: transport(X, Y, softmax(z), Q), z)
    steps = 1e-6 * np.eye(3)
    differences = [
        (by_quantiles(X, Y, softmax(z + h), Q) - by_quantiles(X, Y, softmax(z - h), Q)) / 2e-6
        for h in steps
    ]
    np.testing.assert_allclose(g, differences, atol=1e-7)
