"""pair_rule: both rules of a function from one, which returns value, pushforward and pullback."""

import numpy as np
import pytest

from chainrules_core import NoTangent, RuleResultError, frule, pair_rule, rrule, thunk, unthunk
from chainrules_core.testing import check_rule


def scaled(a, x, *, power=1):
    return np.asarray(a) ** power @ np.asarray(x)


def scaled_rule(a, x, *, power=1):
    b = a**power

    def scaled_pushforward(a_dot, x_dot):
        return (power * a ** (power - 1) * a_dot) @ x + b @ x_dot

    def scaled_pullback(y_bar):
        a_bar = thunk(lambda: np.outer(y_bar, x) * power * a ** (power - 1))
        return a_bar, np.transpose(b) @ y_bar

    return b @ x, scaled_pushforward, scaled_pullback


@pytest.fixture
def both_forms():
    def other(a, x, *, power=1):
        return scaled(a, x, power=power)

    pair_rule((scaled, other), np.ndarray, np.ndarray, lists=True)(scaled_rule)
    yield scaled, other
    for f in (scaled, other):
        rrule.unregister(f)
        frule.unregister(f)


def test_both_modes_follow_from_one_function(both_forms):
    rng = np.random.default_rng(0)
    for f in both_forms:
        check_rule(f, rng.random((3, 3)), rng.random(3), fkwargs={"power": 2})


def test_its_functions_show_in_tracebacks(both_forms):
    _, pullback = rrule(scaled, np.eye(2), np.ones(2))
    assert pullback.__name__ == "scaled_pullback"


def test_lists_stand_for_arrays(both_forms):
    y, pullback = rrule(scaled, [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    own, a_bar, x_bar = pullback(np.array([1.0, 0.0]))
    assert isinstance(own, NoTangent)
    np.testing.assert_array_equal(y, [3.0, 7.0])
    np.testing.assert_array_equal(list(x_bar), [1.0, 2.0])
    np.testing.assert_array_equal([[*row] for row in unthunk(a_bar)], [[1.0, 1.0], [0.0, 0.0]])
    y, y_dot = frule((NoTangent(), unthunk(a_bar), x_bar), scaled, np.eye(2).tolist(), [1.0, 1.0])
    np.testing.assert_array_equal(y_dot, [3.0, 2.0])


def test_a_rule_that_declines():
    pair_rule(scaled, np.ndarray)(lambda a, x: None)
    assert rrule(scaled, np.eye(2), np.ones(2)) is None
    assert frule((0.0, np.eye(2), np.ones(2)), scaled, np.eye(2), np.ones(2)) is None
    rrule.unregister(scaled)
    frule.unregister(scaled)


@pytest.mark.parametrize("result", [(1.0, abs), 1.0, (1.0, abs, abs, abs)])
def test_what_is_no_triple_is_an_error(result):
    pair_rule(scaled, np.ndarray)(lambda a, x: result)
    expected = r"must return a triple \(y, pushforward, pullback\)"
    with pytest.raises(RuleResultError, match=expected):
        rrule(scaled, np.eye(2), np.ones(2))
    with pytest.raises(RuleResultError, match=expected):
        frule((0.0, np.eye(2), np.ones(2)), scaled, np.eye(2), np.ones(2))
    rrule.unregister(scaled)
    frule.unregister(scaled)
