"""Messages name the cause that applies, and a way out that works there."""

import copy
import pickle

import numpy as np
import pytest

from chainrules_core import (
    CotangentError,
    HasReverseMode,
    MissingCapabilityError,
    NoTangent,
    PrimalAdditionError,
    ProjectionError,
    ProjectTo,
    PullbackArityError,
    RuleConfig,
    RuleDefinitionError,
    RuleResultError,
    Tangent,
    TangentTypeError,
    add_tangent,
    errors,
    inner,
    linear_rule,
    norm,
    not_implemented,
    rrule,
    rrule_via_ad,
    scalar_rule,
)


def product(x, y):
    return x * y


def total(x):
    return np.sum(x)


class Line:
    def __call__(self, x):
        return x


@pytest.fixture
def registered():
    added = []

    def register(f, rule, **options):
        rrule.register(f, **options)(rule)
        added.append(f)

    yield register
    for f in added:
        rrule.unregister(f)


# -- pullbacks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bars, cause",
    [
        (None, "returned None for 2 arguments. Is a return statement missing"),
        ([1.0, 2.0], "1 cotangent for 2 arguments. It returned a single list"),
        (2.0, "1 cotangent for 2 arguments. It returned a single float"),
        ((1.0,), "1 cotangent for 2 arguments. Return one for each"),
        ((1.0, 2.0, 3.0, 4.0), "4 cotangents for 2 arguments. Return one for each"),
    ],
)
def test_a_pullback_of_two_arguments(registered, bars, cause):
    registered(product, lambda x, y: (x * y, lambda z_bar: bars))
    with pytest.raises(PullbackArityError, match=cause) as caught:
        rrule(product, 2.0, 3.0)[1](1.0)
    assert str(copy.copy(caught.value)) == str(caught.value)


def test_a_tuple_for_a_tuple(registered):
    registered(total, lambda x: (total(x), lambda y_bar: (y_bar, y_bar, y_bar)))
    with pytest.raises(PullbackArityError, match=r"a tuple argument is Tangent\[tuple\]"):
        rrule(total, (1.0, 2.0, 3.0))[1](1.0)


def test_what_cannot_be_summed_back_names_the_rule_and_the_argument(registered):
    registered(product, lambda x, y: (x * y, lambda z_bar: (z_bar, z_bar)), broadcasts=True)
    with pytest.raises(CotangentError, match=r"product .*argument 'x': .*\(4, 3\)"):
        rrule(product, np.ones((4, 3)), 2.0)[1](np.ones(3))


def test_no_pair_and_no_address(registered):
    registered(product, lambda x, y: lambda z_bar: (z_bar * y, z_bar * x))
    with pytest.raises(RuleResultError, match=r"it returned a function\. End it") as caught:
        rrule(product, 2.0, 3.0)
    assert " at 0x" not in str(caught.value)


# -- engines ---------------------------------------------------------------------------------------


def test_a_capability_without_its_method():
    class Engine(RuleConfig):
        capabilities = frozenset({HasReverseMode})

    with pytest.raises(MissingCapabilityError, match=r"Engine lists HasReverseMode.*no method"):
        rrule_via_ad(Engine(), np.sin, 1.0)


# -- tangents --------------------------------------------------------------------------------------


@pytest.mark.parametrize("moved", ["text", None, True])
def test_what_cannot_be_moved_is_not_built_from_fields(moved):
    with pytest.raises(PrimalAdditionError, match=r"Give NoTangent\(\)") as caught:
        add_tangent(moved, 1.0)
    assert "construct" not in str(caught.value)
    assert add_tangent(moved, NoTangent()) is moved


@pytest.mark.parametrize(
    "primal, tangent, kind, fits",
    [
        (1.0, "a", PrimalAdditionError, "a number or an array"),
        (np.ones(2), "a", PrimalAdditionError, "a number or an array"),
        (1.0, (1.0,), TangentTypeError, "a number or an array"),
        (1.0, Tangent[tuple](1.0), TangentTypeError, "a number or an array"),
        (Line(), {"a": 1.0}, TangentTypeError, r"a Tangent\[Line\]"),
        (Line(), 1.0, PrimalAdditionError, r"a Tangent\[Line\].*or define Line.__add__"),
        ([1.0], Tangent[tuple](1.0), TangentTypeError, r"a Tangent\[list\]"),
        ((1.0,), (1.0,), TangentTypeError, r"a Tangent\[tuple\]"),
    ],
)
def test_the_tangent_that_fits_is_named(primal, tangent, kind, fits):
    with pytest.raises(kind, match=f"(?i)give {fits}"):
        add_tangent(primal, tangent)


@pytest.mark.parametrize("bare", [{1.0, 2.0}, frozenset({1.0})])
def test_sets_have_no_tangent_to_make(bare):
    with pytest.raises(TangentTypeError, match="no places for tangents") as caught:
        norm(bare)
    assert "Tangent[" not in str(caught.value)


def test_inner_is_not_about_an_argument():
    with pytest.raises(ProjectionError, match=r"inner\(a, b\) was given") as caught:
        inner(np.ones(2), np.ones(3))
    assert "cotangent" not in str(caught.value)
    assert str(copy.copy(caught.value)) == str(caught.value)


def test_an_attribute_of_a_missing_derivative():
    marker = not_implemented("in the order")
    assert not hasattr(marker, "shape")
    with pytest.raises(errors.MissingTangentAttributeError) as caught:
        marker.shape  # noqa: B018
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_number_takes_no_structure():
    with pytest.raises(TangentTypeError, match="return a number or an array"):
        ProjectTo(np.ones(2))(Tangent[tuple](1.0))
    with pytest.raises(TangentTypeError, match=r"return a Tangent\[list\]"):
        ProjectTo([1.0])(Tangent[tuple](1.0))


# -- definitions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "define, message",
    [
        (lambda: scalar_rule(product), "scalar_rule for .*product takes one partial"),
        (
            lambda: scalar_rule(total, lambda x: 1.0),
            r"this one takes 1\. Write it as lambda y, x: ",
        ),
        (lambda: scalar_rule(total, lambda z, x, y: 1.0), "takes 3. Give one partial for each"),
        (lambda: scalar_rule((total, np.sin)), r"scalar_rule for .*total, numpy\.sin takes"),
        (lambda: linear_rule(product, argnums=(0, 1)), r"product was given 0 adjoints"),
        (
            lambda: scalar_rule(product, lambda y, a, b: b, 1.0, setup=abs),
            r"setup, 4 values; this one takes 3\. Write it as lambda y, x1, x2, shared: ",
        ),
        (lambda: rrule.register([1].index)(total), r"Register list\.index: the object is then"),
        (lambda: rrule.register(Line())(total), r"Register instance_of\(Line\): the object"),
        (lambda: rrule.register(2.0)(total), r"2\.0 is a float, which cannot be called"),
    ],
)
def test_a_definition_names_its_function(define, message):
    with pytest.raises(RuleDefinitionError, match=message) as caught:
        define()
    assert " at 0x" not in str(caught.value)
