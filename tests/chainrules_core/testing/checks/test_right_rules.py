"""Right rules of every kind pass, and the result tells what happened."""

from collections import namedtuple
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from chainrules_core import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    ZeroTangent,
    frule,
    instance_of,
    linear_rule,
    non_differentiable,
    rrule,
    scalar_rule,
    thunk,
)
from chainrules_core.testing import (
    OpaqueIterable,
    RuleCheckError,
    check_rrule,
    check_rule,
    const,
    with_tangent,
)

X = np.array([0.5, -1.5, 2.0])
Z = np.array([[1.0 + 2.0j, -0.5 + 0.25j]])
Pair = namedtuple("Pair", "a b")


@dataclass
class Foo:
    a: np.ndarray
    c: float
    name: str = "foo"


def foo_mul(foo, b):
    return foo.a @ b


def foo_mul_rrule(foo, b):
    def foo_mul_pullback(y_bar):
        foo_bar = Tangent[Foo](a=np.outer(y_bar, b), c=ZeroTangent())
        return NoTangent(), foo_bar, thunk(lambda: foo.a.T @ y_bar)

    return foo_mul(foo, b), foo_mul_pullback


def test_struct(registered):
    registered(foo_mul, Foo, rrule_=foo_mul_rrule)
    result = check_rrule(foo_mul, Foo(np.arange(6.0).reshape(2, 3), 3.0), X)
    assert result.y.shape == (2,)
    assert [rule.f for rule in result.rules] == [foo_mul]
    assert result.missing == []


@pytest.mark.parametrize(
    "args",
    [
        (2.0,),
        (np.float32(2),),
        (2.0 - 1.0j,),
        (np.complex64(1 + 2j),),
        (X,),
        (X.astype(np.float16),),
        (X.astype(np.float32),),
        (Z,),
        (Z.astype(np.complex64),),
        (np.asfortranarray(np.arange(1.0, 41.0).reshape(5, 8)),),
        (np.array(2.0),),
        (np.zeros((0, 3)),),
        (3,),
        (np.arange(3),),
    ],
    ids=str,
)
def test_scalar_rule(defined, args):
    def square(x):
        return x * x

    defined(square)
    scalar_rule(square, lambda y, x: 2 * x)
    check_rule(square, *args)


def test_broadcasting(defined):
    def divide(a, b):
        return a / b

    defined(divide)
    scalar_rule(divide, lambda y, a, b: 1 / b, lambda y, a, b: -y / b)
    check_rule(divide, X, 2.0)
    check_rule(divide, X[:, None], np.array([[1.0, 2.0, 3.0, 4.0]]))
    check_rule(divide, X, 3)
    check_rule(divide, X.astype(np.float32), Z[0, :1].astype(np.complex64))


def test_several_outputs(defined):
    def both(x):
        return np.sin(x), np.cos(x)

    defined(both)
    scalar_rule(both, (lambda y, x: y[1],), (lambda y, x: -y[0],))
    check_rule(both, 0.5)
    check_rule(both, X)


def test_linear_rule(defined):
    def cumulate(x, axis=0):
        return np.cumsum(x, axis)

    defined(cumulate)
    linear_rule(
        cumulate, lambda y_bar, x, axis=0: np.flip(np.cumsum(np.flip(y_bar, axis), axis), axis)
    )
    check_rule(cumulate, X)
    check_rule(cumulate, np.ones((4, 5)), fkwargs={"axis": 1})
    check_rule(cumulate, np.ones((4, 5)), 1)
    check_rule(cumulate, Z)


def test_inplaceable(registered):
    def first(x):
        return x[0]

    def first_rrule(x):
        def first_pullback(y_bar):
            def add_into(x_bar):
                x_bar[0] += y_bar
                return x_bar

            return InplaceableThunk(add_into, lambda: add_into(np.zeros(x.shape, x.dtype)))

        return first(x), first_pullback

    registered(first, rrule_=first_rrule)
    check_rrule(first, X)
    check_rrule(first, Z)


def test_not_differentiable(defined):
    def steps(x):
        return np.floor(x)

    def where_largest(x):
        return np.argmax(x)

    for f in (steps, where_largest):
        defined(f)
        non_differentiable(f)
        check_rule(f, X + 0.25)
    check_rule(steps, 2.5)


def test_callable_object(defined):
    class Scale:
        def __init__(self, a):
            self.a = a

        def __call__(self, x):
            return self.a * x

        def back(self, x):
            return x / self.a

    @rrule.register(instance_of(Scale))
    def scale_rrule(self, x):
        def scale_pullback(y_bar):
            return Tangent[Scale](a=np.sum(y_bar * x)), self.a * y_bar

        return self.a * x, scale_pullback

    @frule.register(instance_of(Scale))
    def scale_frule(dots, self, x):
        return self.a * x, dots[0].a * x + self.a * dots[1]

    @rrule.register(Scale.back)
    def back_rrule(self, x):
        def back_pullback(y_bar):
            return Tangent[Scale](a=-np.sum(y_bar * x) / self.a**2), y_bar / self.a

        return x / self.a, back_pullback

    defined(instance_of(Scale))
    defined(Scale.back)
    check_rule(Scale(2.0), X)
    check_rrule(Scale(2.0).back, X)
    check_rrule(const(Scale(2.0)), X, rrule_f=lambda f, x: (f(x), partial(_pull_const, f)))
    with pytest.raises(RuleCheckError, match=r"the object itself \(Scale\)"):
        check_rrule(Scale(2.0), X, rrule_f=lambda f, x: (f(x), partial(_pull_const, f)))


def _pull_const(f, y_bar):
    return NoTangent(), y_bar * f.a


def test_constructor(registered):
    def foo_rrule(a, c, name="foo"):
        def foo_pullback(foo_bar):
            return foo_bar.a, foo_bar.c, NoTangent()

        return Foo(a, c, name), foo_pullback

    registered(Foo, rrule_=foo_rrule)
    check_rrule(Foo, X, 3.0, "name")


def test_containers(registered):
    def total(values):
        return sum(values["x"]) + values["y"].a

    def total_rrule(values):
        def total_pullback(y_bar):
            return Tangent[dict](
                x=Tangent[list](*[y_bar] * len(values["x"])), y=Tangent[Pair](a=y_bar)
            )

        return total(values), total_pullback

    registered(total, rrule_=total_rrule)
    check_rrule(total, {"x": [1.0, 2.0], "y": Pair(3.0, "text"), "n": 7})


def test_opaque_iterable(registered):
    def total(values):
        return sum(values)

    def total_rrule(values):
        def total_pullback(y_bar):
            return OpaqueIterable([y_bar for _ in values])

        return total(values), total_pullback

    registered(total, rrule_=total_rrule)
    check_rrule(total, OpaqueIterable([1.0, 2.0, 4.0]))
    check_rrule(total, OpaqueIterable([1.0, 2.0], sized=True))


def test_mutating_function(registered):
    def fill(out, x):
        out[...] = 3 * x
        return out

    def fill_rrule(out, x):
        def fill_pullback(y_bar):
            return ZeroTangent(), 3 * y_bar

        return fill(out, x), fill_pullback

    def fill_frule(dots, out, x):
        return fill(out, x), 3 * dots[1]

    registered(fill, rrule_=fill_rrule, frule_=fill_frule)
    out, x = np.zeros(3), X.copy()
    check_rule(fill, out, x)
    assert (out == 0).all()
    assert (x == X).all()


def test_keyword_arguments_that_are_differentiated(registered):
    def affine(x, scale=1.0, shift=0.0):
        return x * scale + shift

    def affine_rrule(x, scale, shift):
        def affine_pullback(y_bar):
            return y_bar * scale, np.sum(y_bar * x), np.sum(y_bar)

        return affine(x, scale, shift), affine_pullback

    def wrong_rrule(x, scale, shift):
        def affine_pullback(y_bar):
            return y_bar * scale, np.sum(y_bar * x), 2 * np.sum(y_bar)

        return affine(x, scale, shift), affine_pullback

    registered(affine, np.ndarray, rrule_=affine_rrule)
    check_rrule(affine, X, fkwargs={"scale": 2.0, "shift": 1.0})
    check_rrule(affine, X, fkwargs={"shift": 1.0})
    check_rrule(affine, X, fkwargs={"shift": 1.0, "scale": with_tangent(2, 1.0)})
    registered(affine, float, rrule_=wrong_rrule)
    with pytest.raises(RuleCheckError, match="keyword argument shift"):
        check_rrule(affine, 2.0, fkwargs={"shift": 1.0})


def test_rule_with_names_of_its_own(registered):
    def affine(x, scale=1.0, shift=0.0):
        return x * scale + shift

    def affine_rrule(a, b, c):
        def affine_pullback(y_bar):
            return y_bar * b, np.sum(y_bar * a), np.sum(y_bar)

        return affine(a, b, c), affine_pullback

    registered(affine, rrule_=affine_rrule)
    check_rrule(affine, X, fkwargs={"shift": 1.0})


def test_sparse(registered):
    sparse = pytest.importorskip("scipy.sparse")

    def product(a, x):
        return a @ x

    def product_rrule(a, x):
        def product_pullback(y_bar):
            return np.outer(y_bar, x), a.T @ y_bar

        return a @ x, product_pullback

    registered(product, rrule_=product_rrule)
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array):
        check_rrule(product, make(dense), X)


def test_plain_function_has_no_tangent():
    with pytest.raises(ValueError, match="no fields to perturb"):
        check_rrule(with_tangent(np.sin, 1.0), X)
