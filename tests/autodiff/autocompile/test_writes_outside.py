"""Objects of the user's classes that write into what is not theirs: once at each call."""

import numpy as np
import pytest

from autodiff import automatic_compile, gradient
from autodiff.autocompile import call_records

W = np.array([0.3, -0.7, 1.1])
GLOBAL = np.ones(3)
LOG = []

pytestmark = pytest.mark.usefixtures("soon")


class Writer:
    shared = []  # noqa: RUF012 - that is the matter
    count = 0.0

    def __init__(self, w):
        self.w = w
        self.held = GLOBAL

    def into_an_argument(self):
        self.w[0] = 5.0
        return np.sum(self.w)

    def into_a_global(self):
        self.held += 1.0
        return np.sum(self.held * self.w)

    def into_an_element(self):
        self.held[0] += 1.0
        return np.sum(self.held * self.w)

    def into_the_class(self):
        self.shared.append(1.0)
        return np.sum(self.w) * len(self.shared)

    def a_counter(self):
        Writer.count += 1.0
        return np.sum(self.w) * self.count

    def by_its_class(self):
        type(self).count = self.count + 1.0
        return np.sum(self.w) * self.count

    def into_a_log(self):
        LOG.append(1.0)
        return np.sum(self.w) * len(LOG)


HELD = Writer(np.ones(3))


class Cached:
    def __init__(self):
        self.calls = 0.0

    def loss(self, w):
        self.calls += 1.0
        return np.sum(w) * self.calls


CACHED = Cached()


def by_another_name(w, kind=Writer):
    return kind.into_the_class(HELD) * np.sum(w)


def of_a_class(w):
    return Writer.into_the_class(HELD) * np.sum(w)


def of_an_object(w):
    return CACHED.loss(w)


DIRECT = [
    lambda w: Writer(w).into_an_argument(),
    lambda w: Writer(w).into_a_global(),
    lambda w: Writer(w).into_an_element(),
    lambda w: Writer(w).into_the_class(),
    lambda w: Writer(w).a_counter(),
    lambda w: Writer(w).by_its_class(),
    lambda w: Writer(w).into_a_log(),
    lambda w: by_another_name(w),
    of_a_class,
    of_an_object,
    CACHED.loss,
]


@pytest.mark.parametrize("f", DIRECT)
def test_writes_outside_happen_once_at_each_call(f):
    def outcomes():
        GLOBAL[:] = 1.0
        LOG.clear()
        Writer.shared.clear()
        Writer.count = CACHED.calls = 0.0
        found = []
        for k in range(8):
            w = W + k
            found.append([gradient(f, w), w, GLOBAL.copy(), [*LOG], [*Writer.shared]])
            found[-1] += [Writer.count, CACHED.calls]
        return found

    found, before = outcomes(), automatic_compile(False)
    made = any(record.variants for record in call_records.records.values())
    assert made == (f is DIRECT[0])  # an argument is differentiated, and so a copy
    try:
        np.testing.assert_equal(found, outcomes())
    finally:
        automatic_compile(before)


class Returns:
    def __init__(self):
        self.copy = lambda: GLOBAL


def writes_into_what_is_returned(w):
    r = Returns()
    a = r.copy()
    a[0] = 2.0
    return np.sum(a * w)


@pytest.mark.parametrize("is_automatic", [True, False])
def test_a_write_that_changes_nothing(is_automatic):
    """The program may leave it out as long as it would change nothing."""
    automatic = automatic_compile(is_automatic)
    try:
        for first in (1.0, 2.0, 3.0):
            GLOBAL[:] = first, 1.0, 1.0
            for k in range(8):
                found = gradient(writes_into_what_is_returned, W + k)
                np.testing.assert_equal(found, [2.0, 1.0, 1.0])
                assert GLOBAL[0] == 2.0
    finally:
        automatic_compile(automatic)
    assert any(r.hits for r in call_records.records.values()) == is_automatic
