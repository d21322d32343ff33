"""Programs compare what is held in any way: in keys, sets, errors and large arrays."""

import functools
import types

import numpy as np
import pytest

from autodiff import compile, gradient
from tests.autodiff.compiler.recording.changes import X, check_change


class Held:
    def __init__(self, k):
        self.k = k


class Bag(set):
    pass


class Pair(tuple):
    k = 1.0


class HeldError(Exception):
    pass


HELD = Held(2.0)
NAME = ["k"]
PAIR, FAILURE = Pair((1, 2)), HeldError()
PAIR.k = FAILURE.k = 2.0
ERROR = ValueError(2.0)
ROW = np.zeros(1, [("k", float)])[0]
NUMBERS = [1.0]
SIZE = NUMBERS.__len__
READERS = {"get": getattr, "all": vars}
MODULE = types.ModuleType("readers")
MODULE.fetch = functools.partial(getattr, HELD)


class Readers:
    get = staticmethod(getattr)


def by_default(x, get=getattr):
    return np.sum(x**2) * get(HELD, NAME[0])


def scaled(scale):
    return lambda x: np.sum(x**2) * scale()


def of_keys(keys):
    return scaled(lambda: sum(held.k for held in keys))


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: {x}, lambda x: frozenset([x]), lambda x: Bag([x]), lambda x: {x: 1},
        lambda x: {x: [1]}, lambda x: [x],
    ],
)  # fmt: skip
@pytest.mark.parametrize("backend", ["python", "auto"])
def test_objects_in_containers(hold, backend):
    held = Held(2.0)
    check_change(of_keys(hold(held)), lambda: setattr(held, "k", 3.0), backend=backend)


def test_objects_in_keys_that_are_tuples_and_in_nested_sets():
    held = Held([2.0])
    table, nest = {(held, 1): 2.0}, ({frozenset([held])},)
    check_change(
        scaled(lambda: sum(key[0].k[0] for key in table)), lambda: held.k.__setitem__(0, 3.0)
    )
    check_change(
        scaled(lambda: sum(h.k[0] for s in nest[0] for h in s)),
        lambda: held.k.append(held.k.pop() + 1),
    )


@pytest.mark.parametrize(
    "f, change",
    [
        (scaled(lambda: PAIR.k), lambda: setattr(PAIR, "k", 3.0)),
        (scaled(lambda: FAILURE.k), lambda: setattr(FAILURE, "k", 3.0)),
        (scaled(lambda: ERROR.args[0]), lambda: setattr(ERROR, "args", (3.0,))),
        (scaled(lambda: ROW["k"]), lambda: ROW.__setitem__("k", 3.0)),
        (scaled(lambda: SIZE()), lambda: NUMBERS.append(1.0)),
    ],
)
def test_what_else_holds_values(f, change):
    check_change(f, change)


@pytest.mark.parametrize(
    "f",
    [
        by_default,
        scaled(lambda: READERS["get"](HELD, NAME[0])),
        scaled(lambda: READERS["all"](HELD)["k"]),
        scaled(lambda: MODULE.fetch(NAME[0])),
        scaled(lambda: Readers.get(HELD, NAME[0])),
        scaled(lambda: float("{0.k!r}".format(HELD))),  # noqa: UP030, UP032
    ],
)
def test_attributes_that_are_read_by_text_where_no_name_says_so(f):
    check_change(f, lambda: setattr(HELD, "k", HELD.k + 1.0))


LARGE = np.linspace(0.1, 1.0, 3000).reshape(1000, 3)
COUNTS = np.arange(3000) % 3


@pytest.mark.parametrize(
    "f, change",
    [
        (lambda x: np.sum((LARGE - LARGE.mean(0)) @ x), lambda: LARGE.__imul__(2.0)),
        (lambda x: np.sum(x) if LARGE[5, 0] < 1.0 else np.sum(x**2), lambda: LARGE.__iadd__(1.0)),
        (lambda x: x[COUNTS[7]], lambda: COUNTS.__setitem__(7, 2)),
        (lambda x: np.sum(x * LARGE.T[:, ::2].max(axis=1)), lambda: LARGE.__imul__(0.5)),
        (scaled(lambda: [LARGE][0].max()), lambda: LARGE.__imul__(2.0)),
        (lambda x: np.interp(x[2], LARGE[:, 0], LARGE[:, 1]), lambda: LARGE[:, 1].__imul__(2.0)),
    ],
)
def test_what_is_computed_from_large_arrays_alone(f, change):
    check_change(f, change)


def test_programs_tell_read_only_arguments_from_others():
    def f(a):
        try:
            a[0] = 3.0
        except ValueError:
            return np.sum(a**2)
        return np.sum(a**3)

    compiled = compile(lambda a: gradient(f, a))
    fixed = X.copy()
    fixed.flags.writeable = False
    for a in (fixed, X, fixed, X):
        np.testing.assert_allclose(compiled(a), gradient(f, a), rtol=1e-12)
