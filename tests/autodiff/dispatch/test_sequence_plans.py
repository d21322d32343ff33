"""Cached plans of functions of lists of arrays: each part gets its cotangent."""

import numpy as np
import pytest

from autodiff import MutationError, gradient, hvp, jacobian
from autodiff.dispatch import dispatch_cache, sequence_plans
from chainrules_core import NoTangent, Tangent, rrule

A, B = np.array([[0.3, 1.2], [0.7, -0.4]]), np.array([[2.0, 0.1]])
W = np.random.default_rng(5).standard_normal((8, 8))


def weighted(y):
    return np.sum(np.sin(y) * W[: y.shape[0], : y.shape[1]] if np.ndim(y) == 2 else np.sin(y))


FUNCTIONS = {
    "concatenate": lambda a, b: np.concatenate([a, b * a[0, 0], a]),
    "by a tuple": lambda a, b: np.concatenate((a, b)),
    "with a constant": lambda a, b: np.concatenate([a, W[:3, :2], b]),
    "along the second axis": lambda a, b: np.concatenate([a.T, a], axis=1),
    "axis by place": lambda a, b: np.concatenate([a, a * b], 1),
    "flat": lambda a, b: np.concatenate([a, b], axis=None),
    "stack": lambda a, b: np.stack([a[0], b[0], a[1] * b[0]]),
    "stack last": lambda a, b: np.stack([a[0], b[0]], axis=-1),
    "vstack": lambda a, b: np.vstack([a, b, a[0]]),
    "hstack": lambda a, b: np.hstack([a[0], b[0], 2.0]),
    "column_stack": lambda a, b: np.column_stack([a[:, 0], a]),
    "array": lambda a, b: np.array([a[0], b[0], [1.0, 2.0]]),
    "array of arrays": lambda a, b: np.array([a[0], b[0]]),
    "array of numbers": lambda a, b: np.array([a[0, 0], b[0, 1], 3.0]),
    "asarray": lambda a, b: np.asarray([a[0], b[0]]),
    "float32": lambda a, b: np.concatenate([a, np.ones((1, 2), np.float32), b]),
    "twice the same": lambda a, b: np.stack([a[0], a[0], a[0]]),
    "sum of a list": lambda a, b: np.sum([a[0], b[0], a[1]]),
    "max of a list": lambda a, b: np.max([a[0, 0], b[0, 1], a[1, 1]]),
    "multi_dot": lambda a, b: np.linalg.multi_dot([b, a, W[:2, :3]]),
    "block": lambda a, b: np.block([[a, a], [b, b]]),
    "in a loop": lambda a, b: np.stack([a[i % 2] * b[0] for i in range(7)]),
}


def difference(f, a, h=1e-6):
    found = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        e = np.zeros_like(a)
        e[i] = h
        found[i] = (f(a + e) - f(a - e)) / (2 * h)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_differences(name):
    def f(a, b):
        return weighted(FUNCTIONS[name](a, b))

    for _ in range(2):  # when it is decided on, and when it has been
        of_a, of_b = gradient(f, A, B)
        np.testing.assert_allclose(of_a, difference(lambda a: f(a, B), A), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(of_b, difference(lambda b: f(A, b), B), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_and_second_derivatives(name):
    def f(a):
        return FUNCTIONS[name](a, B)

    rows = jacobian(f, A)
    for i in np.ndindex(np.shape(f(A))):
        expected = difference(lambda a, i=i: f(a)[i], A)
        np.testing.assert_allclose(rows[i], expected, rtol=1e-5, atol=1e-7)
    v = np.array([[1.0, -2.0], [0.5, 3.0]])
    h = 1e-5
    expected = gradient(lambda a: weighted(f(a)), A + h * v)
    expected = (expected - gradient(lambda a: weighted(f(a)), A - h * v)) / (2 * h)
    found = hvp(lambda a: weighted(f(a)), A, v)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_the_plan_is_taken():
    sequence_plans._plans.clear()
    dispatch_cache.ways_of(np.stack).clear()
    for _ in range(2):
        gradient(lambda x: np.sum(np.stack([x, 2.0 * x])), np.ones(3))
    assert [key[0] for key, plan in sequence_plans._plans.items() if plan] == [np.stack]
    assert list in dispatch_cache.ways_of(np.stack)


def test_a_list_that_is_changed_afterwards():
    def f(x):
        parts = [x, x * x]
        y = np.concatenate(parts)
        parts[0] = parts[0] * 100.0
        parts.append(x)
        return np.sum(y)

    np.testing.assert_allclose(gradient(f, np.array([1.0, 3.0])), [3.0, 7.0])


def test_a_constant_that_the_pullback_reads_is_held():
    def f(a):
        y = np.linalg.multi_dot([a, c, a])
        c[0, 0] = 5.0
        return np.sum(y)

    c = np.ones((2, 2))
    np.testing.assert_allclose(gradient(f, np.eye(2)), 4.0)
    c = np.ones((200, 200))
    with pytest.raises(MutationError):
        gradient(f, np.eye(200))


def test_precision_is_kept():
    x = np.array([1.0, 2.0], np.float32)
    found = gradient(lambda x: np.sum(np.concatenate([x, np.ones(2)]) ** 2), x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [2.0, 4.0])


def test_complex_parts():
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j])

    def f(x, z):
        y = np.concatenate([x, z])
        return np.sum(np.real(y * np.conj(y)))

    of_x, of_z = gradient(f, np.array([3.0]), z)
    np.testing.assert_allclose(of_x, [6.0])
    np.testing.assert_allclose(of_z, 2 * z)


def test_rules_of_the_users_that_take_lists():
    def joined(parts):
        return np.concatenate(parts)

    @rrule.register(joined, list)
    def joined_rrule(parts):
        return joined(parts), lambda y_bar: Tangent[list](y_bar[:1], y_bar[1:])

    try:
        found = gradient(lambda x: np.sum(joined([x[:1], x[1:] * 2.0])), np.ones(3))
        np.testing.assert_allclose(found, [1.0, 2.0, 2.0])
    finally:
        rrule.unregister(joined)


def test_a_rule_whose_cotangent_has_too_few_parts_is_named():
    def short(parts):
        return np.concatenate(parts)

    @rrule.register(short, list)
    def short_rrule(parts):
        return short(parts), lambda y_bar: Tangent[list](y_bar[:1])

    try:
        with pytest.raises(Exception, match="short"):
            gradient(lambda x: np.sum(short([x[:1], x[1:]])), np.ones(3))
    finally:
        rrule.unregister(short)


def test_a_rule_without_cotangent_gives_zeros():
    def steps(parts):
        return np.floor(np.concatenate(parts))

    @rrule.register(steps, list)
    def steps_rrule(parts):
        return steps(parts), lambda y_bar: NoTangent()

    try:
        found = gradient(lambda x: np.sum(steps([x, x])) + np.sum(x), np.ones(2))
        np.testing.assert_allclose(found, [1.0, 1.0])
    finally:
        rrule.unregister(steps)
