"""Methods of objects made anew, and partial functions of other data: one program serves them."""

import copy
import functools

import numpy as np
import pytest

from autodiff import automatic_compile, gradient, value_and_gradient
from autodiff.autocompile import call_records

pytestmark = pytest.mark.usefixtures("soon")
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(20, 3)), RNG.normal(size=20)
W = np.array([0.3, -0.2, 0.5])


class Ridge:
    power = 2

    def __init__(self, lam, activation=np.tanh, n=2):
        self.lam, self.activation, self.n = lam, activation, n
        self.history = []

    def penalty(self, w):
        return self.lam * np.sum(w**self.power)

    def loss(self, w):
        r = self.activation(self.X @ w) - self.y
        return np.sum(r * r) / self.n + self.penalty(w)

    def fit(self, X, y, steps=3):
        self.X, self.y, w = X, y, np.zeros(X.shape[1])
        for _ in range(steps):
            value, g = value_and_gradient(self.loss, w)
            self.history.append(value)
            w = w - 0.01 * g
        self.w = w
        return w


def both(run):
    """Return what a run gives as called, and without automatic compilation."""
    before = automatic_compile(False)
    try:
        expected = run()
    finally:
        automatic_compile(before)
    return run(), expected


def hits():
    return sum(record.hits for record in call_records.records.values())


def programs():
    return sum(len(record.variants) for record in call_records.records.values())


def test_new_objects_share_a_program():
    for k in range(20):
        np.testing.assert_allclose(*both(lambda k=k: Ridge(0.1 * k).fit(X, Y)), rtol=1e-9)
    assert programs() <= 2
    assert hits() > 40


def test_integers_that_differ_are_inputs():
    for k in range(20):
        np.testing.assert_allclose(*both(lambda k=k: Ridge(0.5, n=k + 1).fit(X, Y)), rtol=1e-9)
    assert programs() <= 3
    assert hits() > 30


def changed(k):
    """Return an object that is not like the others in one way."""
    model = Ridge(0.5 + k)
    model.X, model.y = X, Y
    way = k % 11
    if way == 1:
        model.power = 3
    elif way == 2:
        model.activation = np.sin
    elif way == 3:
        model.lam = k
    elif way == 4:
        model.penalty = lambda w: np.sum(w) * 7.0
    elif way == 5:
        model.X, model.y = X[:5], Y[:5]
    elif way == 6:
        model.X = X.astype(np.float32)
    elif way == 7:
        model.lam = np.float64(0.25)
    elif way == 8:
        model.lam = np.arange(3.0)[k % 3]
        model.unread = object()
    elif way == 9:
        model.X = X * k
    elif way == 10:
        model.y = Y[::-1]
    return model


def test_objects_that_differ():
    for k in list(range(44)) * 2:
        np.testing.assert_allclose(*both(lambda k=k: gradient(changed(k).loss, W)), rtol=1e-9)


def test_a_class_that_changes():
    for k in range(12):
        if k == 6:
            Ridge.power = 4
        model = changed(0)
        np.testing.assert_allclose(*both(lambda m=model: gradient(m.loss, W)), rtol=1e-9)
    Ridge.power = 2


class Counting:
    def __init__(self, k):
        self.k, self.calls = k, 0

    def loss(self, w):
        self.calls += 1
        return np.sum(w * self.k) * self.calls


def test_a_method_that_writes():
    for k in range(12):
        one, two = Counting(0.5 * k), Counting(0.5 * k)
        before = automatic_compile(False)
        expected = [gradient(two.loss, W) for _ in range(3)]
        automatic_compile(before)
        found = [gradient(one.loss, W) for _ in range(3)]
        np.testing.assert_allclose(found, expected)
        assert one.calls == two.calls == 3


def test_large_arrays_are_inputs():
    """They are not compared, so they may be of any size."""

    class Large:
        def __init__(self, k):
            self.X = np.full((1200, 500), 0.001 * k)

        def loss(self, w):
            return np.sum(self.X @ w)

    w = np.ones(500)
    for k in range(8):
        model = Large(k)
        np.testing.assert_allclose(*both(lambda m=model: gradient(m.loss, w)), rtol=1e-9)
        model.X[0, 0] = k
        np.testing.assert_allclose(*both(lambda m=model: gradient(m.loss, w)), rtol=1e-9)
    assert hits() > 8


def power(w, i, x, f=np.sum):
    return f(np.tanh(w * x)) ** 2 / (i + 1)


PARTIALS = {
    "numbers": lambda k: functools.partial(power, i=k, x=0.5 * k),
    "arrays": lambda k: functools.partial(power, i=2, x=np.arange(3.0) * k),
    "position": lambda k: functools.partial(_turned, k, 0.5 * k),
    "functions": lambda k: functools.partial(power, i=2, x=0.5, f=[np.sum, np.max][k % 2]),
    "kinds": lambda k: functools.partial(power, i=[1, 2.0, True][k % 3], x=0.5),
    "of a method": lambda k: functools.partial(changed(11 * k).loss),
    "of what is made anew": lambda k: functools.partial(lambda w, i: np.sum(w * w) * k + i, i=2.0),
}


def _turned(i, x, w):
    return power(w, i, x)


@pytest.mark.parametrize("name", PARTIALS)
def test_partial_functions(name):
    for k in range(24):
        f = PARTIALS[name](k)
        np.testing.assert_allclose(*both(lambda f=f: gradient(f, W)), rtol=1e-9, atol=1e-12)
    if name not in ("of what is made anew", "kinds"):
        assert hits() > 10


class Loose:
    """Its objects hold a function each, so each has programs of its own."""

    def __init__(self, k):
        self.scale = lambda w: w * k

    def loss(self, w):
        return np.sum(self.scale(w) ** 2)


def test_objects_with_functions_of_their_own():
    models = [Loose(0.5 * k) for k in range(3)]
    for _ in range(12):
        for model in models:
            np.testing.assert_allclose(*both(lambda m=model: gradient(m.loss, W)), rtol=1e-9)


def test_many_shapes_make_programs_for_each_object():
    models = [changed(0) for _ in range(call_records.MOST_VARIANTS + 2)]
    for k, model in enumerate(models):
        model.X, model.y = X[: k + 3], Y[: k + 3]
    for _ in range(8):
        for model in models:
            np.testing.assert_allclose(*both(lambda m=model: gradient(m.loss, W)), rtol=1e-9)
    records = call_records.records.values()
    assert sum(bool(record.variants) for record in records if not record.is_shared) == len(models)
    assert hits() > 20


class Node:
    """Objects that refer to each other, and return themselves."""

    def __init__(self, k):
        self.k, self.other, self.note = k, self, "unread"

    def cyclic(self, w):
        return np.sum(w * self.k) * self.other.k

    def with_self(self, w):
        return np.sum(w * self.k), self

    def with_copy(self, w):
        made = copy.copy(self)
        made.k = 2.0
        return np.sum(w * self.k), made

    def of_argument(self, w, node):
        return np.sum(w * self.k * node.k)


@pytest.mark.parametrize("name", ["cyclic", "with_self", "with_copy"])
def test_objects_in_results(name):
    for k in range(16):
        node = Node(0.5 * k)
        node.note = f"note {k}"
        if name == "cyclic":
            np.testing.assert_allclose(*both(lambda n=node: gradient(n.cyclic, W)))
            continue
        (_, found), gradient_found = value_and_gradient(getattr(node, name), W, has_aux=True)
        np.testing.assert_allclose(gradient_found, np.full(3, node.k))
        assert found.note == f"note {k}"
        assert (found is node) == (name == "with_self")


def test_the_object_of_a_method_is_an_argument_too():
    for k in range(16):
        node, other = Node(0.5 * k), Node(2.0)
        node.array, other.array = np.zeros(k), np.zeros(2 * k)
        for given in (node, other):
            found, wanted = both(lambda n=node, g=given: gradient(n.of_argument, W, g))
            np.testing.assert_allclose(found[0], wanted[0])
            assert np.shape(found[1].array) == np.shape(wanted[1].array)
