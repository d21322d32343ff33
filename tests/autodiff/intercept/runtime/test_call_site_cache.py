"""A cached call site never calls what was called there before."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from autodiff import gradient, jvp
from autodiff.intercept.runtime import call_site_cache
from chainrules_core import rrule
from tests.helpers import module_of

CALLING = """
import math
def helper(v):
    return 2.0 * v
def f(x):
    total = 0.0
    for _ in range(3):
        total = total + helper(x)
    return total
"""


def test_a_global_function_that_is_bound_anew():
    module = module_of(CALLING)
    assert gradient(module.f, 1.0) == 6.0
    module.helper = lambda v: 5.0 * v
    assert gradient(module.f, 1.0) == 15.0
    module.helper = math.sin
    assert gradient(module.f, 0.0) == 3.0
    module.helper = np.exp
    assert gradient(module.f, 0.0) == 3.0


def test_a_name_that_is_bound_anew_between_two_calls_of_one_run():
    module = module_of(
        "def one(v):\n    return v\n"
        "def two(v):\n    return 2.0 * v\n"
        "current = one\n"
        "def f(x):\n"
        "    global current\n"
        "    total = 0.0\n"
        "    for step in (one, two, one):\n"
        "        current = step\n"
        "        total = total + current(x)\n"
        "    return total\n"
    )
    assert gradient(module.f, 1.0) == 4.0
    assert jvp(module.f, (1.0,), (1.0,))[1] == 4.0


class Unhashable:
    """A callable that cannot be a key."""

    __hash__ = None

    def __call__(self, v):
        return 3.0 * v


class EqualToAll:
    """A callable that says that it is whatever it is compared with."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(math.sin)

    def __call__(self, v):
        return 4.0 * v


@pytest.mark.parametrize("made, expected", [(Unhashable, 9.0), (EqualToAll, 12.0)])
def test_a_function_that_becomes_an_object(made, expected):
    module = module_of(CALLING)
    assert gradient(module.f, 1.0) == 6.0
    module.helper = made()
    assert gradient(module.f, 1.0) == expected


def test_a_rule_that_is_registered_and_removed_later():
    module = module_of(CALLING)
    assert gradient(module.f, 1.0) == 6.0

    def helper_rrule(v):
        return 2.0 * v, lambda y_bar: (100.0 * y_bar,)

    rule = rrule.register(module.helper, float)(helper_rrule)
    assert gradient(module.f, 1.0) == 300.0
    rrule.unregister(module.helper, float)
    assert gradient(module.f, 1.0) == 6.0
    assert rule is helper_rrule


def test_the_attribute_of_a_module_that_is_replaced(monkeypatch):
    def f(x):
        return math.sinh(x) + math.sinh(2.0 * x)

    assert gradient(f, 0.0) == 3.0
    monkeypatch.setattr(math, "sinh", math.tanh)
    assert gradient(f, 1.0) == pytest.approx(
        1 / math.cosh(1.0) ** 2 + 2 / math.cosh(2.0) ** 2, rel=1e-14
    )


def test_a_function_that_is_defined_anew_without_source():
    module = module_of(CALLING)
    assert gradient(module.f, 1.0) == 6.0
    exec("def helper(v):\n    return 7.0 * v", module.__dict__)
    assert module.f(1.0) == 21.0
    # One for which there is no source is differentiated by its operators.
    assert gradient(module.f, 1.0) == 21.0


def test_the_name_of_a_parameter_is_not_looked_up_outside():
    def f(x, sum, math):
        return sum(x) + math.sqrt(x)

    class Own:
        sqrt = staticmethod(lambda v: 5.0 * v)

    assert gradient(f, 1.0, lambda v: 10.0 * v, Own(), argnums=0) == 15.0


class Stack:
    """A class of the user's whose methods are named like those of containers and arrays."""

    def __init__(self):
        self.items = []
        self.asked = 0

    def append(self, v):
        self.items.append(math.sin(v))

    def sum(self):
        return sum(self.items)

    @property
    def get(self):
        self.asked += 1
        return lambda v: math.exp(v)


def test_methods_named_like_those_of_containers():
    def f(x):
        stack = Stack()
        plain = []
        for owner in (stack, plain, stack):
            owner.append(x)
        y = stack.sum() + plain[0] + stack.get(x)
        assert stack.asked == 1
        return y

    assert gradient(f, 0.0) == 4.0


class Tagged(list):
    """A list that notes what it is given."""

    def append(self, v):
        super().append(v * 3.0)


def test_a_subclass_of_a_container_has_methods_of_its_own():
    def f(x):
        kept = []
        for made in (list, Tagged, list):
            items = made()
            items.append(x)
            kept.extend(items)
        return kept[0] + kept[1] + kept[2]

    assert gradient(f, 1.0) == 5.0


def test_methods_of_plain_and_traced_arrays_at_one_place():
    c = np.array([1.0, 2.0])

    def f(x):
        total = 0.0
        for a in (c, x, c * 2.0, x * c):
            total = total + a.sum() * a.copy().max()
        return total

    x = np.array([3.0, 1.0])
    h = 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2)]
    assert np.allclose(gradient(f, x), expected, rtol=1e-8)


def test_a_method_that_an_array_does_not_have():
    def f(x):
        return x.append(1.0)

    with pytest.raises(AttributeError, match="append"):
        gradient(f, np.ones(2))


def test_one_name_in_several_threads():
    module = module_of(CALLING)
    wrong = []

    def work(k: int) -> None:
        own = module_of(CALLING + f"\n# {k}\ndef helper(v):\n    return {k}.0 * v\n")
        for _ in range(50):
            if gradient(own.f, 1.0) != 3.0 * k or gradient(module.f, 1.0) != 6.0:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.usefixtures("switching")
def test_functions_that_are_rewritten_by_several_threads_at_once():
    """No two places share a slot, whoever changes the rules meanwhile."""
    found: dict[str, list[int]] = {"names": [], "attributes": []}

    def work(k: int) -> None:
        for n in range(200):
            found["names"].append(call_site_cache.slot_for("math.sin", globals()))
            found["attributes"].append(call_site_cache.slot_of_attribute(f"a{k}_{n}"))
            if n % 20 == 0:
                call_site_cache.forget()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [len(places) for places in found.values()] == [1200] * 2
    assert [len(set(places)) for places in found.values()] == [1200] * 2
    assert (
        len(call_site_cache.known)
        == len(call_site_cache.replaced)
        == len(call_site_cache.made_of["__code__"])
    )
