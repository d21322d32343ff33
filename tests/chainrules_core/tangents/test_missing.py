"""not_implemented: a missing derivative as a value."""

import copy
import operator
import pickle

import numpy as np
import pytest

from chainrules_core.errors import NotImplementedTangentError
from chainrules_core.tangents import (
    NoTangent,
    NotImplementedTangent,
    Tangent,
    ZeroTangent,
    not_implemented,
    thunk,
)

ZERO, NO = ZeroTangent(), NoTangent()


def some_rule():
    return not_implemented("the partial with respect to the order", issue="issue 7")


M = some_rule()


def test_remembers_its_origin():
    assert isinstance(M, NotImplementedTangent)
    assert M.reason == "the partial with respect to the order"
    assert M.file == __file__
    assert M.line == some_rule.__code__.co_firstlineno + 1
    assert M.function == "some_rule"
    assert repr(M) == "NotImplementedTangent('the partial with respect to the order')"


def test_the_error_says_all_of_it():
    message = str(M.error())
    for part in (M.reason, f"{__file__}:{M.line}", "some_rule", "issue 7"):
        assert part in message
    assert "See" not in str(not_implemented("x").error())


OTHERS = [1.0, 1j, np.float64(2), np.ones(3), Tangent[tuple](1.0), thunk(lambda: 2.0), ZERO, NO]


@pytest.mark.parametrize("other", OTHERS, ids=lambda o: type(o).__name__)
def test_wins_every_sum(other):
    assert M + other is M
    assert other + M is M


def test_of_two_the_left_wins():
    other = not_implemented("another")
    assert M + other is M
    assert other + M is other


@pytest.mark.parametrize("factor", [2, 2.0, 1j, np.float32(2), np.ones(3), thunk(lambda: 2.0)])
def test_passes_through_scaling(factor):
    assert M * factor is M
    assert factor * M is M


@pytest.mark.parametrize("zero", [ZERO, NO], ids=repr)
def test_gives_way_to_a_zero_factor(zero):
    assert M * zero is zero
    assert zero * M is zero
    assert M @ zero is zero


def test_passes_through_negation_and_conjugation():
    assert -M is +M is M.conj() is M.conjugate() is M


@pytest.mark.parametrize(
    "use",
    [
        lambda: M - 1.0,
        lambda: 1.0 - M,
        lambda: np.ones(2) - M,
        lambda: M / 2,
        lambda: 2 / M,
        lambda: M**2,
        lambda: M[0],
        lambda: list(M),
        lambda: len(M),
        lambda: float(M),
        lambda: complex(M),
        lambda: int(M),
        lambda: bool(M),
        lambda: abs(M),
        lambda: M < 1,
        lambda: operator.index(M),
        lambda: np.asarray(M),
        lambda: M.T,
        lambda: M.shape,
        lambda: M.sum(),
    ],
)
def test_every_other_use_raises(use):
    with pytest.raises(NotImplementedTangentError, match=r"order.*test_missing.py:\d+"):
        use()


def test_fits_into_an_array_of_objects():
    assert np.array([M, 1.0], dtype=object)[0] is M


def test_can_be_asked_for_attributes():
    assert not hasattr(M, "shape")
    assert getattr(M, "dtype", None) is None
    assert not hasattr(M, "__array_interface__")


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies(clone):
    assert str(clone(M).error()) == str(M.error())
    assert str(clone(M.error())) == str(M.error())
