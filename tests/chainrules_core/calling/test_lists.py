"""lists=True: rules for arrays that take nested lists."""

import numpy as np
import pytest

from chainrules_core import (
    NoTangent,
    PullbackArityError,
    Tangent,
    ZeroTangent,
    frule,
    linear_rule,
    rrule,
    thunk,
    unthunk,
)
from chainrules_core.calling.frame import part, parts


def product(a, b):
    return np.multiply(a, b)


@pytest.fixture
def registered():
    def register(pull, **traits):
        rule = rrule.register(product, np.ndarray, np.ndarray, lists=True, **traits)
        rule(lambda a, b: (a * b, lambda y_bar: pull(a, b, y_bar)))

    yield register
    rrule.unregister(product)


def test_the_rule_sees_arrays_and_the_cotangent_is_a_list(registered):
    seen = []

    def pull(a, b, y_bar):
        seen.append((type(a), type(b)))
        return b * y_bar, a * y_bar

    registered(pull)
    _, a_bar, b_bar = rrule(product, [1.0, (2.0,)[0]], np.array([3.0, 4.0]))[1](np.ones(2))
    assert seen == [(np.ndarray, np.ndarray)]
    assert a_bar == Tangent[list](3.0, 4.0)
    np.testing.assert_array_equal(b_bar, [1.0, 2.0])


def test_cotangents_of_lists_are_summed_back_where_the_rule_broadcasts(registered):
    registered(lambda a, b, y_bar: (b * y_bar, a * y_bar), broadcasts=True)
    _, a_bar, _ = rrule(product, [2.0], np.array([3.0, 4.0]))[1](np.ones(2))
    assert a_bar == Tangent[list](7.0)


def test_a_thunk_for_a_list_stays_one(registered):
    def unwanted():
        raise AssertionError("computed")

    registered(lambda a, b, y_bar: (thunk(unwanted), thunk(lambda: a * y_bar)))
    _, a_bar, b_bar = rrule(product, [1.0, 2.0], [3.0, 4.0])[1](np.ones(2))
    assert unthunk(b_bar) == Tangent[list](1.0, 2.0)
    with pytest.raises(AssertionError, match="computed"):
        unthunk(a_bar)


def test_zeros_and_the_raw_form(registered):
    registered(lambda a, b, y_bar: (NoTangent(), ZeroTangent(), a * y_bar))
    _, a_bar, b_bar = rrule(product, [1.0, 2.0], [3.0, 4.0])[1](np.ones(2))
    assert isinstance(a_bar, ZeroTangent)
    assert b_bar == Tangent[list](1.0, 2.0)


def test_a_wrong_number_of_cotangents_is_the_usual_error(registered):
    registered(lambda a, b, y_bar: (y_bar,) * 4)
    with pytest.raises(PullbackArityError):
        rrule(product, [1.0], [2.0])[1](np.ones(1))


def test_linear_rules_take_lists_in_each_place():
    linear_rule(
        product, lambda y_bar, a, b: b * y_bar, lambda y_bar, a, b: a * y_bar,
        types=(np.ndarray, np.ndarray), lists=True,
    )  # fmt: skip
    x = np.array([3.0, 4.0])
    for a, b in ((x, [1.0, 2.0]), ([1.0, 2.0], x), ([3.0, 4.0], (1.0, 2.0))):
        _, a_bar, b_bar = rrule(product, a, b)[1](np.ones(2))
        assert (type(a_bar), type(b_bar)) == tuple(
            [np.ndarray if type(v) is np.ndarray else Tangent[type(v)] for v in (a, b)]
        )
        np.testing.assert_array_equal(np.array([*a_bar]), np.array(b))
        np.testing.assert_array_equal(np.array([*b_bar]), np.array(a))
        _, y_dot = frule((NoTangent(), a_bar, ZeroTangent()), product, a, b)
        np.testing.assert_array_equal(y_dot, np.array(b) ** 2)
    rrule.unregister(product)
    frule.unregister(product)


def test_parts_of_outputs():
    y_bar = Tangent[tuple](thunk(lambda: 2.0), ZeroTangent(), NoTangent())
    assert part(y_bar, 0) == 2.0
    assert parts(y_bar, 3) == (2.0, None, None)


@pytest.mark.parametrize("name", ["authoring", "engine"])
def test_the_two_interfaces_state_all_that_they_offer(name):
    module = __import__(f"chainrules_core.{name}", fromlist=["__all__"])
    public = {n for n in vars(module) if not n.startswith("_")}
    assert sorted(set(module.__all__)) == sorted(public)
    assert len(module.__all__) == len(set(module.__all__))
