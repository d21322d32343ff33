"""Arguments that are written into, and that the function knows by another name too.

Ways to know an argument are crossed with ways to write into it: the value is the plain function's,
or there is an error.
"""

import copy
import functools
import types

import numpy as np
import pytest

from autodiff import MutationError, compile, gradient, pushforward, value_and_gradient
from autodiff.mutation import written_arguments


class Holder:
    def __init__(self, state):
        self.state = state

    def reads(self, a, write):
        write(a)
        return total(self.state) * total(a)


SHARED = types.SimpleNamespace()
REGISTRY = {}


def total(a):
    """Add up what a nest holds, each element with a weight of its own."""
    parts = a.values() if isinstance(a, dict) else vars(a).values() if is_plain(a) else a
    return sum((i + 1) * np.sum(part) for i, part in enumerate(parts))


def is_plain(a):
    return isinstance(a, types.SimpleNamespace)


def by_global(state, write):
    SHARED.state = state

    def f(a):
        write(a)
        return total(SHARED.state) * total(a)

    return f, (state,)


def by_global_dict(state, write):
    REGISTRY["state"] = state

    def f(a):
        write(a)
        return total(REGISTRY["state"]) * total(a)

    return f, (state,)


def by_closure(state, write):
    def f(a):
        write(a)
        return total(state) * total(a)

    return f, (state,)


def by_closure_of_a_helper(state, write):
    def helper():
        return total(state)

    def f(a):
        write(a)
        return helper() * total(a)

    return f, (state,)


def by_default(state, write):
    def f(a, b=state):
        write(a)
        return total(b) * total(a)

    return f, (state,)


def by_partial(state, write):
    def f(b, a):
        write(a)
        return total(b) * total(a)

    return functools.partial(f, state), (state,)


def by_method(state, write):
    holder = Holder(state)
    return lambda a: holder.reads(a, write), (state,)


def as_another_argument(state, write):
    def f(a, b):
        write(a)
        return total(b) * total(a)

    return f, (state, state)


def inside_another_argument(state, write):
    def f(a, b):
        write(a)
        return total(b["in"][0]) * total(a)

    return f, (state, {"in": [state]})


def written_by_its_other_name(state, write):
    def f(a):
        write(state)
        return total(a)

    return f, (state,)


def alone(state, write):
    def f(a):
        write(a)
        return total(a) ** 2

    return f, (state,)


WAYS = [
    by_global, by_global_dict, by_closure, by_closure_of_a_helper, by_default, by_partial,
    by_method, as_another_argument, inside_another_argument, written_by_its_other_name, alone,
]  # fmt: skip


def change_first(a):
    key = next(iter(a)) if isinstance(a, dict) else 0
    a[key] = a[key] * 2.0


def scale_in_place(a):
    a *= 3.0


def set_attribute(a):
    a.first = a.first * 2.0


def add_attribute(a):
    a.third = a.first + 1.0


def write_into_inner_array(a):
    a[1][0] = 7.0 * a[1][1]


CASES = {
    "list-item": (lambda: [3.0, 4.0], change_first),
    "list-append": (lambda: [3.0, 4.0], lambda a: a.append(a[0] * 2.0)),
    "list-pop": (lambda: [3.0, 4.0, 5.0], lambda a: a.pop(0)),
    "list-reverse": (lambda: [3.0, 4.0], lambda a: a.reverse()),
    "list-slice": (lambda: [3.0, 4.0, 5.0], lambda a: a.__setitem__(slice(1, 3), [a[0]])),
    "list-of-arrays": (lambda: [np.ones(2), np.array([2.0, 3.0])], write_into_inner_array),
    "dict-item": (lambda: {"u": 3.0, "v": np.ones(2)}, change_first),
    "dict-update": (lambda: {"u": 3.0, "v": 4.0}, lambda a: a.update(v=a["u"] * 5.0, w=1.0)),
    "dict-pop": (lambda: {"u": 3.0, "v": 4.0}, lambda a: a.pop("u")),
    "dict-setdefault": (lambda: {"u": 3.0, "v": 4.0}, lambda a: a.setdefault("w", a["u"])),
    "object": (lambda: types.SimpleNamespace(first=3.0, second=4.0), set_attribute),
    "object-added": (lambda: types.SimpleNamespace(first=3.0, second=4.0), add_attribute),
    "array-item": (lambda: np.array([3.0, 4.0]), change_first),
    "array-scaled": (lambda: np.array([3.0, 4.0]), scale_in_place),
    "array-out": (lambda: np.array([3.0, 4.0]), lambda a: np.sin(a, out=a)),
    "list-untouched": (lambda: [3.0, 4.0], lambda a: None),
    "array-untouched": (lambda: np.array([3.0, 4.0]), lambda a: None),
}


def outcome(call, expected):
    """Check the value of a call; return whether it was refused."""
    try:
        value = call()
    except MutationError:
        return True
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    return False


def tangents(x):
    if isinstance(x, dict):
        return {key: tangents(part) for key, part in x.items()}
    if isinstance(x, list):
        return [tangents(part) for part in x]
    if is_plain(x):
        return types.SimpleNamespace(**tangents(vars(x)))
    return np.ones_like(x)[()]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_value_is_that_of_the_function(way, case):
    make, write = CASES[case]

    def begun():
        f, args = way(make(), write)
        return f, args

    f, args = begun()
    expected = f(*args)

    def reverse(argnums=None):
        f, args = begun()
        return value_and_gradient(f, *args, argnums=argnums)[0]

    def forward(argnums=None):
        f, args = begun()
        return pushforward(f, *args, argnums=argnums)[0]

    def tangent():
        f, args = begun()
        return pushforward(f, *args)[1](*map(tangents, args))

    refused = outcome(reverse, expected)
    assert outcome(forward, expected) is refused
    if way is alone or case.endswith("untouched"):
        assert not refused
        return
    assert refused
    assert outcome(lambda: reverse(argnums=0), expected)
    assert outcome(lambda: forward(argnums=0), expected)
    with pytest.raises(MutationError):
        tangent()


@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith("object")])
@pytest.mark.parametrize("way", WAYS[:7], ids=lambda way: way.__name__)
def test_compiled_functions_look_at_each_call(way, case):
    make, write = CASES[case]
    f, args = way(make(), write)
    compiled = compile(f)
    for _ in range(3):  # with an argument of its own
        found = compiled(*copy.deepcopy(args))
        np.testing.assert_allclose(found, f(*copy.deepcopy(args)), rtol=1e-14)
    expected_f, expected_args = way(make(), write)
    expected = expected_f(*expected_args)
    f, args = way(args[0], write)  # the globals have the first state again
    np.testing.assert_allclose(compiled(*args), expected, rtol=1e-14)


def test_what_is_not_reached_may_be_written_into():
    log = []

    def f(state):
        log.append(1)
        state["count"] = state["count"] + 1
        state["x"] = state["x"] * 2.0
        return state["x"] ** 2 * state["count"]

    state = {"x": 3.0, "count": 1}
    for _ in range(60):
        value, slope = value_and_gradient(f, state)
        assert (value, slope["x"]) == (72.0, 48.0)
    assert state == {"x": 3.0, "count": 1}


def put_back(a, key, first):
    if isinstance(a, types.SimpleNamespace):
        a.u = first
    else:
        a[key] = first


def put_back_after_another(a, key, first):
    if isinstance(a, types.SimpleNamespace):
        a.u = 9.0
        a.u = first
    else:
        a[key], *_ = [9.0]
        a[key] = first


@pytest.mark.parametrize("put", [put_back, put_back_after_another])
@pytest.mark.parametrize(
    "state", [[5.0, 1.0], {"u": 5.0, "v": 1.0}, types.SimpleNamespace(u=5.0, v=1.0)]
)
def test_the_very_same_object_put_back_into_an_argument_from_outside(state, put):
    key = 0 if isinstance(state, list) else "u"
    first = vars(state)["u"] if is_plain(state) else state[key]

    def f(a):
        put(state, key, first)  # a constant: the first element of `a` has no derivative any more
        return total(a) * 3.0

    for run in (lambda: value_and_gradient(f, state), lambda: pushforward(f, state)):
        with pytest.raises(MutationError, match="reaches in another way"):
            run()

    def other(a):
        mine = copy.copy(state)
        put(mine, key, first)
        return total(a) * total(mine)

    assert value_and_gradient(other, state)[0] == other(state)


def test_what_the_engine_itself_refers_to_is_not_looked_at():
    """A function that names `gradient` would lead to all of the engine at each call."""

    def loss(x):
        return gradient(lambda y: y @ y, x) @ x

    assert len(list(written_arguments._reached(loss))) < 100


def test_a_function_of_the_user_that_says_it_is_numpys_is_looked_at():
    state = np.ones(3)
    space = {"np": np, "functools": functools, "state": state}
    code = "@functools.wraps(np.sum)\ndef total(x):\n    x[0] = 5.0\n    return x @ state\n"
    exec(code, space)
    assert space["total"].__module__ == "numpy"
    assert written_arguments.known_twice(space["total"], (state,), [state]) is state
