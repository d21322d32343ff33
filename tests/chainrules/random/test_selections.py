"""What is shuffled, permuted and chosen: the same elements as without a gradient, traced."""

import numpy as np
import pytest

import autodiff
from chainrules.refused import RefusedError

X = np.array([0.3, -0.7, 1.4, 0.9, 2.2])
A = X[:4].reshape(2, 2) * np.array([[1.0], [3.0]])
T = np.arange(12.0).reshape(2, 3, 2)
NEW, OLD = np.random.default_rng, np.random.RandomState


def shuffled(rng, x, **options):
    y = np.copy(x)
    rng.shuffle(y, **options)
    return y


def shuffled_list(rng, x):
    y = list(x)
    rng.shuffle(y)
    return np.array(y)


@pytest.mark.parametrize(
    "select, make, x",
    [
        (shuffled, NEW, X),
        (shuffled, OLD, X),
        (shuffled, NEW, T),
        (shuffled, OLD, T),
        (lambda rng, x: shuffled(rng, x, axis=1), NEW, T),
        (shuffled_list, NEW, X),
        (shuffled_list, OLD, X),
        (lambda rng, x: rng.permutation(x), NEW, X),
        (lambda rng, x: rng.permutation(x), OLD, X),
        (lambda rng, x: rng.permutation(x), OLD, A),
        (lambda rng, x: rng.permutation(x, axis=1), NEW, T),
        (lambda rng, x: rng.permutation(x, -1), NEW, T),
        (lambda rng, x: rng.permutation(list(x)), NEW, X),
        (lambda rng, x: rng.permuted(x), NEW, X),
        (lambda rng, x: rng.permuted(x), NEW, T),
        (lambda rng, x: rng.permuted(x, axis=1), NEW, T),
        (lambda rng, x: rng.choice(x), NEW, X),
        (lambda rng, x: rng.choice(x), OLD, X),
        (lambda rng, x: rng.choice(x, 4), NEW, X),
        (lambda rng, x: rng.choice(x, (2, 2)), OLD, X),
        (lambda rng, x: rng.choice(x, 3, replace=False), NEW, X),
        (lambda rng, x: rng.choice(x, 3, False, [0.1, 0.2, 0.3, 0.2, 0.2]), NEW, X),
        (lambda rng, x: rng.choice(x, 3, False, [0.1, 0.2, 0.3, 0.2, 0.2]), OLD, X),
        (lambda rng, x: rng.choice(x, 3, p=[0.1, 0.2, 0.3, 0.2, 0.2]), NEW, X),
        (lambda rng, x: rng.choice(x, 2, replace=False, shuffle=False), NEW, X),
        (lambda rng, x: rng.choice(x, 2), NEW, A),
        (lambda rng, x: rng.choice(x, 2, axis=1), NEW, T),
        (lambda rng, x: rng.choice(list(x), size=2), NEW, X),
    ],
)
def test_selection(select, make, x):
    plain = select(make(5), x)
    weights = np.cos(np.arange(plain.size)).reshape(plain.shape)
    y, back = autodiff.pullback(lambda x: select(make(5), x), x)
    np.testing.assert_array_equal(y, plain)
    # The selection is linear: each unit of the input selected gives a column of the adjoint.
    units = [select(make(5), unit.reshape(x.shape)) for unit in np.eye(x.size)]
    expected = np.reshape([np.sum(weights * u) for u in units], x.shape)
    np.testing.assert_allclose(back(weights), expected)
    push = autodiff.pushforward(lambda x: select(make(5), x), x)[1]
    np.testing.assert_array_equal(push(np.sin(x)), select(make(5), np.sin(x)))


def test_a_permutation_written_elsewhere():
    def loss(x):
        out = np.zeros(5)
        NEW(5).permuted(x, out=out)
        return np.sum(out * np.arange(5))

    order = NEW(5).permuted(np.arange(5))
    np.testing.assert_array_equal(autodiff.gradient(loss, X)[order], np.arange(5))


@pytest.mark.parametrize("make", [NEW, OLD])
def test_second_derivatives(make):
    def loss(x):
        return np.sum(make(5).choice(x, 4) ** 3 * make(6).permutation(x)[:4])

    w = np.arange(5.0)
    slope = lambda x: np.sum(w * autodiff.gradient(loss, x))  # noqa: E731
    found = autodiff.gradient(slope, X)
    steps = np.eye(5) * 1e-5
    expected = [(slope(X + s) - slope(X - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [NEW, OLD])
def test_probabilities_are_refused(make):
    p = np.array([0.2, 0.8])
    with pytest.raises(RefusedError, match="no continuous function of the probabilities"):
        autodiff.gradient(lambda p: make(1).choice(2, p=p) * 1.0, p)
    with pytest.raises(RefusedError, match="no continuous function of the probabilities"):
        autodiff.gradient(lambda p: make(1).choice(X[:2], 3, p=p).sum(), p)


@pytest.mark.parametrize("make", [NEW, OLD])
def test_selections_of_constants_are_constants(make):
    def loss(x):
        rng = make(2)
        return np.sum(x * rng.permutation(5)) + np.sum(x[:2] * rng.choice(4, 2))

    rng = make(2)
    expected = rng.permutation(5) + np.append(rng.choice(4, 2), [0, 0, 0])
    np.testing.assert_array_equal(autodiff.gradient(loss, X), expected)
