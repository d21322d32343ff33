"""Arrays made of lists of traced floats."""

import math

import numpy as np
import pytest

from autodiff import explain, gradient, hessian, jacobian, value_and_gradient
from autodiff.fastpath.gather_scalars import GatheredNode, gathered
from autodiff.trace.tape import Tape
from autodiff.trace.tracer import FloatTracer
from chainrules_core import ProjectTo, Tangent, rrule

X = np.array([0.3, -1.2, 2.0, 0.7])


def differences(f, x, h=1e-6):
    """The gradient by central differences."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def assert_differentiated(f, x=X):
    y, x_bar = value_and_gradient(f, x)
    assert y == f(x)
    assert isinstance(x_bar, np.ndarray)
    np.testing.assert_allclose(x_bar, differences(f, x), rtol=1e-6, atol=1e-8)


WEIGHTS = np.array([1.5, -2.0, 0.5, 3.0, 1.0, 0.25])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.array([math.sin(a) for a in x]) * WEIGHTS[:4]),
        lambda x: np.sum(np.array([x[0] * x[1], 2.0, x[2], 7, True, x[0]]) * WEIGHTS),
        lambda x: np.sum(np.array([[x[0], 1.0, x[1]], (x[2], x[0], 3)]) @ WEIGHTS[:3] ** 2),
        lambda x: np.sum(np.asarray([[[x[3]], [x[0]]]]) * WEIGHTS[1]),
        lambda x: np.array((x[0], x[0] * x[0], x[0]))[1] * x[2],
        lambda x: np.sum(np.array([x[0], x[1]], dtype=float) ** 3),
        lambda x: np.dot([x[0], x[1] * x[2], 4.0], [1.0, x[3], x[0]]),
        lambda x: np.sum(x * [x[0] * x[1], x[1], x[2], 2.0]),
    ],
)
def test_the_elements_are_differentiated(f):
    assert_differentiated(f)


def test_the_gradients_of_numbers_are_numbers():
    value, (by_a, by_b) = value_and_gradient(
        lambda a, b: np.sum(np.array([a, b, a * b, 1.0]) ** 2), 1.5, np.float64(2.0), argnums=(0, 1)
    )
    assert value == 1.5**2 + 4 + 9 + 1
    assert type(by_a) is float
    assert type(by_b) is np.float64
    assert (by_a, by_b) == (2 * 1.5 + 2 * 3 * 2, 2 * 2 + 2 * 3 * 1.5)


def test_other_precisions_keep_their_rules():
    def in_single(x):
        return np.sum(np.array([x[0], x[1]], dtype=np.float32) * np.float32(0.5))

    np.testing.assert_allclose(gradient(in_single, X), [0.5, 0.5, 0, 0])
    in_integers = gradient(lambda x: x[0] * np.array([x[0], 2.7], dtype=int)[1], X)
    assert in_integers.tolist() == [2, 0, 0, 0]


def test_lists_of_unequal_lengths_are_an_error():
    with pytest.raises(ValueError, match="inhomogeneous"):
        gradient(lambda x: np.sum(np.array([[x[0], x[1]], [x[2]]])), X)


def test_the_array_may_be_written_into():
    def f(x):
        made = np.array([[x[0], x[1]], [x[2], 1.0]])
        made[0] *= x[3]
        made[1, 1] = x[0]
        return np.sum(made**2)

    assert_differentiated(f)


def test_second_derivatives():
    def f(x):
        return np.prod(np.array([math.sin(x[0]), x[1] * x[2], x[3], 1.5]))

    found = hessian(f, X)
    expected = np.stack([differences(lambda z, i=i: gradient(f, z)[i], X) for i in range(4)])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_an_outer_level_may_differentiate_the_cotangent():
    def inner(s):
        return gradient(lambda a: np.sum(np.array([a, a * a, 1.0]) * np.array([s, s * s, s])), 2.0)

    assert gradient(inner, 3.0) == pytest.approx(1 + 4 * 6)


def test_rows_of_a_jacobian():
    def f(x):
        return np.array([[x[0] * x[1], 1.0], [math.exp(x[2]), x[0]]])

    expected = np.zeros((2, 2, 4))
    expected[0, 0] = [X[1], X[0], 0, 0]
    expected[1, 0, 2] = math.exp(X[2])
    expected[1, 1, 0] = 1
    np.testing.assert_allclose(jacobian(f, X), expected)


def test_a_cotangent_of_zero_stays_zero():
    def f(x):
        return np.array([x[0], math.sqrt(x[1])])[0] * 2.0

    assert gradient(f, np.array([1.0, 0.0])).tolist() == [2.0, 0.0]


def test_one_node_is_recorded():
    tape = Tape()
    a, b = (FloatTracer(v, tape, tape.add(None)) for v in (1.0, 2.0))
    made = gathered(np.array, [[a, 5.0], [b, a]], {})
    assert np.array_equal(made._value, [[1, 5], [2, 1]])
    (node,) = tape.nodes[2:]
    assert type(node) is GatheredNode
    assert node.parents == [0, 1, 0]
    assert node.space is ProjectTo(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum([x[0] * x[1], 2.0, x[2]]),
        lambda x: np.mean([[x[0], x[1]], [x[2], x[0]]], axis=0)[0] * x[1],
        lambda x: np.max([x[0], x[1] ** 2, 1.0]),
        lambda x: np.prod((x[0], x[1], 3)),
        lambda x: np.std([x[0], x[1], x[2]], ddof=1),
        lambda x: np.average([x[0], x[1]], weights=[2.0, x[2]]),
        lambda x: np.cumsum([x[0], x[1], x[2]])[1] * x[0],
        lambda x: np.percentile([x[0], x[1], x[2]], 30),
        lambda x: np.linalg.norm([x[0], x[1], 2.0]),
    ],
)
def test_functions_of_lists(f):
    assert_differentiated(f)
    second = hessian(f, X)
    expected = np.stack([differences(lambda z, i=i: gradient(f, z)[i], X) for i in range(4)])
    np.testing.assert_allclose(second, expected, rtol=1e-5, atol=1e-6)


def test_explain_sees_the_call():
    report = explain(lambda x: np.sum(np.array([x[0], x[1]]) ** 2), X)
    assert "numpy.array" in str(report)


def test_another_rule_is_asked():
    @rrule.register(np.array, list)
    def doubled_rrule(a):
        def doubled_pullback(y_bar):
            return Tangent[list](*(2 * y_bar).tolist())

        return np.array(a), doubled_pullback

    try:
        assert gradient(lambda x: np.sum(np.array([x[0], x[1]])), X).tolist() == [2, 2, 0, 0]
    finally:
        rrule.unregister(np.array, list)
    assert gradient(lambda x: np.sum(np.array([x[0], x[1]])), X).tolist() == [1, 1, 0, 0]
