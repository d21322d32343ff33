"""Calls bound to the signature of a rule, in all the forms that they may be written in."""

import pytest

from chainrules_core.calling.signatures import Binder, Signature


def target(a, axis=None, out=None, *, keepdims=False, weights=None):
    raise NotImplementedError


def reduction(a, weights=None, *, axis=None, keepdims=False):
    raise NotImplementedError


def anything(a, **options):
    raise NotImplementedError


def variadic(*args, scale=1):
    raise NotImplementedError


def some(*args, scale=1):
    raise NotImplementedError


OPTIONS = {"axis": 0, "keepdims": 1}
CALLS = [
    (target, reduction, (1,), {}, ((1, None), {})),
    (target, reduction, (1, 0), {}, ((1, None), {"axis": 0})),
    (target, reduction, (), {"a": 1}, ((1, None), {})),
    (target, reduction, (), {"axis": 0, "a": 1}, ((1, None), {"axis": 0})),
    (target, reduction, (1,), {"weights": 2}, ((1, 2), {})),
    (target, reduction, (1, 0), {"keepdims": 1, "weights": 2}, ((1, 2), OPTIONS)),
    (target, reduction, (1, 0, None), {}, ((1, None), {"axis": 0})),
    (target, reduction, (1,), {"out": None}, ((1, None), {})),
    (target, reduction, (1,), {"out": 3}, None),
    (target, reduction, (1, 0, 3), {}, None),
    (target, reduction, (1,), {"unknown": 3}, None),
    (target, reduction, (), {"axis": 0}, None),
    (target, reduction, (1, 2, 3, 4), {}, None),
    (target, anything, (1, 0), {"out": 3}, ((1,), {"axis": 0, "out": 3})),
    (variadic, some, (), {}, ((), {})),
    (variadic, some, (1, 2, 3), {}, ((1, 2, 3), {})),
    (variadic, some, (1, 2), {"scale": 3}, ((1, 2), {"scale": 3})),
]  # fmt: skip


@pytest.mark.parametrize("target, rule, args, kwargs, expected", CALLS)
def test_bind(target, rule, args, kwargs, expected):
    binder = Binder(Signature.of_rule(rule), target)
    for _ in range(2):  # the second time as remembered
        assert binder.bind(args, kwargs) == expected


def test_what_is_remembered_is_the_form_of_a_call_and_not_its_values():
    binder = Binder(Signature.of_rule(reduction), target)
    assert binder.bind((1,), {"out": 3}) is None
    assert binder.bind((1,), {"out": None}) == ((1, None), {})
    assert binder.bind((5,), {"axis": 7}) == ((5, None), {"axis": 7})
    assert binder.bind((6,), {"axis": 8}) == ((6, None), {"axis": 8})


def test_the_options_of_a_call_are_its_own():
    binder = Binder(Signature.of_rule(reduction), target)
    options = binder.bind((1,), {"axis": 0})[1]
    options["axis"] = 5
    assert binder.bind((1,), {"axis": 0})[1] == {"axis": 0}


def test_forms_without_end_do_not_fill_the_memory():
    binder = Binder(Signature.of_rule(some), variadic)
    for n in range(1000):
        assert binder.bind(tuple(range(n)), {"scale": 2}) == (tuple(range(n)), {"scale": 2})
        assert binder.places(n, ["scale"]) == list(range(n))
    assert len(binder._plans) <= 256
    assert len(binder._places) <= 256


@pytest.mark.parametrize(
    "given, keywords, expected",
    [(1, [], [0]), (2, [], [0, None]), (1, ["weights"], [0, 1]), (0, ["axis", "a"], [0])],
)
def test_places(given, keywords, expected):
    binder = Binder(Signature.of_rule(reduction), target)
    for _ in range(2):
        found = binder.places(given, keywords)
        assert found == expected
        found.append("changed by the caller")
