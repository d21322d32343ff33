"""The listing of rules, forms of outputs, and many cotangents at once, for rules made here."""

import numpy as np
import pytest

from chainrules_core import (
    HasReverseMode,
    NoTangent,
    NotImplementedTangent,
    RuleConfig,
    ZeroTangent,
    decompose,
    frule,
    linear_rule,
    non_differentiable,
    not_implemented,
    rrule,
    scalar_rule,
)
from chainrules_core.registry.facts import abstract_value, rules
from chainrules_core.values.abstract_array import AbstractArray
from chainrules_core.values.names import Array, Real


def take_away(*functions):
    for f in functions:
        for table in (rrule, frule):
            if table.methods(f):
                table.unregister(f)


@pytest.fixture
def blend():
    def blend(x, y, weight=0.5):
        return x * y + weight

    scalar_rule(blend, lambda z, x, y, w: y, lambda z, x, y, w: x, not_implemented("by weight"))
    yield blend
    take_away(blend)


@pytest.fixture
def every_other():
    def every_other(x, start=0):
        return x[start::2]

    def adjoint(y_bar, x, start=0):
        x_bar = np.zeros(x.shape, x.dtype)
        x_bar[start::2] = y_bar
        return x_bar

    def rows(y_bars, x, start=0):
        if start:
            return None
        x_bars = np.zeros((len(y_bars), *x.shape), x.dtype)
        x_bars[:, ::2] = y_bars
        return x_bars

    linear_rule(every_other, adjoint, types=(Array,), rows=(rows,))
    yield every_other
    take_away(every_other)


def test_a_row_of_the_listing(blend):
    (row,) = rules(blend)
    assert row.name.endswith("blend")
    assert row.signature == "(x, y, weight)"
    assert (row.kind, row.positions, row.requires) == ("scalar", (0, 1, 2), frozenset())
    assert row.modes == {"reverse", "forward"}
    assert row.defined_at.rpartition(":")[0].endswith("test_facts.py")
    args, options = row.example()
    assert np.isfinite(blend(*args, **options))


def test_modes_that_are_registered_apart_share_a_row():
    def f(x):
        return 2 * x

    @rrule.register(f, Real)
    def f_rrule(x):
        return f(x), lambda y_bar: 2 * y_bar

    (row,) = rules(f)
    assert row.modes == {"reverse"}

    @frule.register(f, Real)
    def f_frule(dots, x):
        return f(x), 2 * dots[0]

    non_differentiable(f, str)
    first, second = rules(f)
    assert first.modes == {"reverse", "forward"}
    assert (first.reverse.kind, first.forward.kind) == ("rrule", "frule")
    assert (second.types, second.positions) == ((str,), ())
    take_away(f)


def test_bodies_require_what_both_modes_require():
    def f(x):
        return 2 * x

    decompose(f)(lambda x: x + x)
    (row,) = rules(f)
    assert {c.__name__ for c in row.requires} == {"HasReverseMode", "HasForwardMode"}
    assert row.modes == {"reverse", "forward"}
    take_away(f)


def test_the_form_of_an_elementwise_output_needs_no_call_on_the_values(blend):
    seen = []

    def watched(x, y, weight=0.5):
        seen.append(np.size(x))
        return x * y + weight

    scalar_rule(watched, 1.0, 1.0, ZeroTangent())
    x = AbstractArray((1000, 1), np.dtype("float32"))
    assert abstract_value(watched, x, np.ones((1, 4), np.float32), 0.5) == AbstractArray(
        (1000, 4), np.dtype("float32")
    )
    assert seen == [0]
    take_away(watched)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_forms(blend, every_other, dtype):
    x = AbstractArray((5, 2), np.dtype(dtype))
    assert abstract_value(every_other, x, start=1) == AbstractArray((2, 2), np.dtype(dtype))
    expected = AbstractArray.of(blend(x.zeros(), np.ones(2, dtype), 0.5))
    assert abstract_value(blend, x, np.ones(2, dtype), 0.5) == expected


def test_forms_that_no_rule_can_tell(every_other):
    start = AbstractArray((), np.dtype(int))
    assert abstract_value(every_other, np.ones(5), start) is None
    assert abstract_value(len, AbstractArray((3,), np.dtype(float))) is None
    assert AbstractArray.of("text") is None
    assert AbstractArray.of((1.0, [2, np.ones(3)])) == (
        AbstractArray((), np.dtype(float)),
        [AbstractArray((), np.dtype(int)), AbstractArray((3,), np.dtype(float))],
    )


def test_forms_of_ufuncs_that_have_no_derivative():
    x = AbstractArray((5, 1), np.dtype("float32"))
    assert abstract_value(np.greater, x, np.ones(3)) == AbstractArray((5, 3), np.dtype(bool))
    assert abstract_value(np.floor, x) == x
    with pytest.raises(ValueError, match="broadcast"):
        abstract_value(np.greater, x, np.ones((4, 1)))


def test_functions_of_numbers_alone():
    def number(x):
        return float(x) ** 2

    scalar_rule(number, lambda y, x: 2 * x)
    form = AbstractArray((), np.dtype(float))
    assert abstract_value(number, form) == form
    take_away(number)


def test_shapes_that_do_not_broadcast_are_numpys_error(blend):
    x, y = (AbstractArray((n,), np.dtype(float)) for n in (2, 3))
    with pytest.raises(ValueError, match="broadcast"):
        abstract_value(blend, x, y, 0.5)


def test_rows(blend, every_other):
    x, y = np.array([[0.5], [1.5]]), np.array([2.0, 3.0, 4.0])
    rule, bound, options = rrule.resolve(blend, (x, y, 0.5), {})
    z_bars = np.random.default_rng(0).normal(size=(4, 2, 3))
    x_bars, y_bars, missing = rule.pull_rows(z_bars, None, bound, options, (0, 1, 2))
    np.testing.assert_allclose(x_bars, (z_bars * y).sum(axis=2, keepdims=True))
    np.testing.assert_allclose(y_bars, (z_bars * x).sum(axis=1))
    assert isinstance(missing, NotImplementedTangent)

    rule, bound, options = rrule.resolve(every_other, (np.ones(5),), {})
    (x_bars,) = rule.pull_rows(np.eye(3), None, bound, options, (0,))
    np.testing.assert_array_equal(x_bars, np.eye(5)[::2])
    rule, bound, options = rrule.resolve(every_other, (np.ones(5), 1), {})
    assert rule.pull_rows(np.eye(2), None, bound, options, (0,)) is None


def test_what_a_linear_rule_is_not_linear_in_is_missing_and_not_zero():
    def scaled(x, factor):
        return x * factor

    linear_rule(scaled, lambda y_bar, x, factor: y_bar * factor)
    rule, bound, options = rrule.resolve(scaled, (np.ones(2), 3.0), {})
    _, pull = rule.record(bound, options, (1,))
    assert isinstance(pull(np.ones(2))[0], NotImplementedTangent)
    assert isinstance(
        rule.pull_rows(np.eye(2), None, bound, options, (1,))[0], NotImplementedTangent
    )
    moved = rule.push((ZeroTangent(), 1.0), bound, options)[1]
    assert isinstance(moved, NotImplementedTangent)
    for still in (0.0, NoTangent(), ZeroTangent()):
        _, y_dot = rule.push((np.ones(2), still), bound, options)
        np.testing.assert_array_equal(y_dot, [3.0, 3.0])
    rule, bound, options = rrule.resolve(scaled, (np.ones(2), 3), {})
    assert isinstance(rule.record(bound, options, (1,))[1](np.ones(2))[0], NoTangent)
    take_away(scaled)


# ---------------------------------------------------------------------- arrays of other libraries


class Converted:
    """An array that NumPy can only convert."""

    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


class TakesPart(Converted):
    """An array that takes part in NumPy's protocols."""

    def __array_ufunc__(self, ufunc, method, *args, **options):
        return NotImplemented


def test_rules_without_types_are_not_for_arrays_that_numpy_converts():
    def f(x, y=1.0):
        return x * y

    scalar_rule(f, lambda z, x, y: y, lambda z, x, y: x)
    foreign = Converted([1.0, 2.0])
    assert rrule.resolve(f, (foreign, 2.0), {}) is None
    assert rrule.resolve(f, (2.0, foreign), {}) is None
    assert frule.resolve(f, (foreign, 2.0), {}) is None
    assert rrule.resolve(f, (TakesPart([1.0]), 2.0), {}) is not None
    assert rrule.resolve(f, (np.float64(1.0), np.ma.array([1.0])), {}) is not None

    @rrule.register(f, Converted)
    def f_rrule(x, y=1.0):
        return x.values * y, lambda z_bar: (z_bar * y, np.sum(z_bar * x.values))

    assert rrule(f, foreign, 2.0)[1](np.ones(2))[2] == 3.0
    assert rrule.resolve(f, (2.0, foreign), {}) is None
    take_away(f)


def test_constants_and_bodies_are_for_all_arrays():
    class Tracing(RuleConfig):
        capabilities = frozenset({HasReverseMode})

    def f(x):
        return 2 * x

    non_differentiable(f)
    assert rrule.resolve(f, (Converted([1.0]),), {}) is not None
    take_away(f)
    decompose(f)(lambda x: x + x)
    assert rrule.resolve(f, (Converted([1.0]),), {}, Tracing())[0].kind == "decompose"
    take_away(f)
