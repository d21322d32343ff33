"""Every planted mistake in how an rrule is called, or what it changes, is found and named."""

from collections import namedtuple

import numpy as np
import pytest

from chainrules_core import (
    InplaceableThunk,
    NoTangent,
    RuleDefinitionError,
    ZeroTangent,
    frule,
    linear_rule,
    opt_out,
    rrule,
    unthunk,
)
from chainrules_core.config import HasReverseMode
from chainrules_core.testing import RuleCheckError, check_rrule

X = np.array([0.5, -1.5, 2.0])
MATRIX = np.arange(1.0, 21.0).reshape(4, 5)
Z = np.array([1.0 + 2.0j, -0.5 + 0.25j])
Pair = namedtuple("Pair", "a b")


def square(x):
    return x * x


def multiply(a, b):
    return a * b


# --------------------------------------------------------------------------- rules and their calls


def test_no_rule(fails, raw, registered):
    fails("there is no rule.*has no rrule at all", square, X)
    registered(square, str, rrule_=lambda x: None)
    fails(r"there is no rule.*No rrule .* takes \(ndarray\).*<rrule for .*\(str\)", square, X)
    fails("returned None: no rule", square, X, rrule_f=raw(lambda x: None))


def test_opted_out(fails):
    opt_out(rrule, square, np.ndarray)
    try:
        fails("these types are opted out", square, X)
    finally:
        rrule.unregister(square)


def test_rule_that_needs_an_engine(fails, registered):
    registered(square, rrule_=lambda config, x: None, requires=HasReverseMode)
    fails(r"pass config=TestConfig\(\)", square, X)


@pytest.mark.parametrize(
    "rule, match",
    [
        (lambda x: x * x, "must return a pair .*returned float64 array"),
        (lambda x: (x * x, lambda v: v, 3), "must return a pair"),
        (lambda x: (x * x, 3.0), "its second result, float, is no pullback"),
        (lambda x: (x * x, lambda v: 2 * x * v), "must return a tuple of 2 cotangents"),
        (lambda x: (x * x, lambda v: [NoTangent(), 2 * x * v]), "must return a tuple .*list"),
        (lambda x: (x * x, lambda v: (2 * x * v,)), "returned 1 cotangents; it must be 2"),
        (
            lambda x: (x * x, lambda v: (NoTangent(), 2 * x * v, NoTangent())),
            "returned 3 cotangents",
        ),
        (lambda x: (x * x, lambda v: 1 / 0), "the pullback raised ZeroDivisionError"),
        (lambda x: 1 / 0, "the rule raised ZeroDivisionError"),
    ],
)
def test_wrong_call(fails, raw, rule, match):
    fails(match, square, X, rrule_f=raw(rule))


def test_mistakes_that_the_frame_finds_fail_the_check_too(fails, registered):
    def rule(x):
        def square_pullback(y_bar):
            return 2 * x * y_bar, y_bar, y_bar, y_bar

        return x * x, square_pullback

    registered(square, rrule_=rule)
    fails("the pullback raised PullbackArityError.*square_pullback", square, X)


@pytest.mark.parametrize(
    "primal, match",
    [
        (lambda x: x * x + 1, "its primal differs"),
        (lambda x: (x * x).astype(np.float32), "another type: it is a float32 array"),
        (lambda x: list(x * x), "another type: it is a list"),
    ],
)
def test_wrong_primal(fails, pulling, primal, match):
    fails(match, square, np.array([1.0, 2.0]), rrule_f=pulling(primal, lambda v, x: 2 * x * v))


def test_wrong_primal_0d(fails, pulling):
    rule = pulling(lambda x: np.array(np.sum(x)), lambda v, x: v + 0 * x)
    fails(r"it is a float64 array of shape \(\), where.*float64", np.sum, X, rrule_f=rule)


# --------------------------------------------------------------------------------- side effects


def test_seed_mutated(fails, pulling):
    def wrong(v, x):
        v = unthunk(v)
        v *= 2 * x
        return v

    fails("changes its cotangent y_bar in place", square, X, rrule_f=pulling(square, wrong))


def test_input_mutated_by_rule(fails, raw):
    def rule(x):
        y, deriv = x * x, 2 * x
        x *= 0
        return y, lambda v: (NoTangent(), deriv * unthunk(v))

    fails(r"changes argument 1 \(x\) in place", square, X, rrule_f=raw(rule))
    check_rrule(square, X, rrule_f=raw(rule), check_inputs_unchanged=False)


def test_input_mutated_by_pullback(fails, raw):
    def rule(x):
        def pullback(v):
            x_bar = 2 * x * v
            x[0] += 1e-12
            return NoTangent(), x_bar

        return x * x, pullback

    fails(r"changes argument 1 \(x\) in place", square, X, rrule_f=raw(rule))


def test_output_mutated_by_pullback(fails, raw):
    def rule(x):
        y = np.exp(x)

        def pullback(v):
            return NoTangent(), np.multiply(y, unthunk(v), out=y)

        return y, pullback

    fails("the pullback changes the output y", np.exp, X, rrule_f=raw(rule))


def test_pullback_that_works_once(fails, raw):
    def rule(x):
        values = [2 * x]
        return x * x, lambda v: (NoTangent(), values.pop() * v)

    fails("the pullback raised IndexError", square, X, rrule_f=raw(rule))
    check_rrule(square, 2.0, rrule_f=raw(lambda x: (x * x, lambda v: (NoTangent(), 2 * x * v))))


def test_pullback_that_differs_at_the_second_call(fails, raw):
    def rule(x):
        calls = []

        def pullback(v):
            calls.append(1)
            return NoTangent(), len(calls) * 2 * x * v

        return x * x, pullback

    fails("called a second time, the cotangent of argument 1", square, X, rrule_f=raw(rule))


def test_pullback_that_reuses_its_buffer(fails, raw):
    def rule(x):
        buffer = np.empty_like(x)
        return x * x, lambda v: (NoTangent(), np.multiply(2 * x, v, out=buffer))

    fails("a later call of the pullback changes", square, X, rrule_f=raw(rule))


def test_pullback_that_is_not_linear(fails, pulling):
    rule = pulling(square, lambda v, x: 2 * x * v if v == 1.0 else 2 * x * v + 1)
    fails("not linear", square, 2.0, output_tangent=1.0, rrule_f=rule)


# ------------------------------------------------------------------------------ forms of the seed


def test_thunk_forced_twice(fails, raw):
    def rule(x):
        return x * x, lambda v: (NoTangent(), v * x + x * v)

    fails("forces a thunk 2 times", square, X, rrule_f=raw(rule))


@pytest.mark.parametrize(
    "f, x, bar, match",
    [
        (square, 2.0, lambda v, x: 2 * x * v if isinstance(v, float) else 1 / 0, "ZeroDivision"),
        (square, 2.0, lambda v, x: 2 * x * v if isinstance(v, float) else 0.0, "is a 0-d array"),
        (square, X, lambda v, x: 2 * x * v.view(np.int64).view(float), None),
        (
            lambda x: x * 1.0,
            MATRIX,
            lambda v, x: v.reshape(-1, copy=False).reshape(4, 5),
            "the pullback raised ValueError",
        ),
        (
            square,
            X,
            lambda v, x: 2 * x * v if np.asarray(v).flags.writeable else 3 * x * v,
            "when y_bar is a read-only array, the cotangent of argument 1",
        ),
    ],
)
def test_seed_forms(fails, pulling, f, x, bar, match):
    if match is None:
        check_rrule(f, x, rrule_f=pulling(f, bar))
        return
    fails(match, f, x, rrule_f=pulling(f, bar))
    check_rrule(f, x, rrule_f=pulling(f, bar), check_thunked=False)


def test_failure_says_which_form_it_was(raw):
    def rule(x):
        return x * x, lambda v: (NoTangent(), 2 * x * v if isinstance(v, float) else 1 / 0)

    with pytest.raises(RuleCheckError) as caught:
        check_rrule(square, 2.0, rrule_f=raw(rule))
    assert caught.value.__notes__ == ["The cotangent y_bar was a thunk."]


def test_real_seed_for_complex_output(fails, pulling):
    rule = pulling(square, lambda v, x: 2 * np.conj(x) * v if np.iscomplexobj(v) else 2 * x * v)
    fails("when y_bar is real", square, Z, rrule_f=rule)


def test_parts_of_the_seed(fails, pulling):
    def polar(x):
        return np.sum(x * x), 3 * x

    def whole(v, x):
        return 2 * x * v[0] + 3 * v[1]

    def needs_both(v, x):
        return whole(v, x) + 0 * v[1].shape[0]

    def wrong_alone(v, x):
        return whole(v, x) + isinstance(v[0], ZeroTangent)

    check_rrule(polar, X, rrule_f=pulling(polar, whole))
    fails("the pullback raised AttributeError", polar, X, rrule_f=pulling(polar, needs_both))
    fails("pulled back one by one", polar, X, rrule_f=pulling(polar, wrong_alone))


# ---------------------------------------------------------------------------------- accumulation


@pytest.mark.parametrize(
    "add_into, match",
    [
        (lambda b, v: np.add(b, 2 * v, out=b), "adds something else|is not acc"),
        (lambda b, v: b + v, "must return the buffer|is not acc"),
    ],
)
def test_inplaceable(fails, registered, add_into, match):
    def twice(x):
        return x + x

    def rule(x):
        def twice_pullback(v):
            return InplaceableThunk(lambda b: add_into(b, 2 * v), lambda: 2 * v)

        return x + x, twice_pullback

    registered(twice, rrule_=rule)
    fails(match, twice, X)


def test_engines_form(fails, registered):
    """A rule that mixes up its arguments when only one is wanted."""

    def rule(a, b):
        def multiply_pullback(v):
            return v * b, v * a

        return a * b, multiply_pullback

    registered(multiply, rrule_=rule)
    check_rrule(multiply, X, X + 1)
    (method,) = rrule.methods(multiply)
    record = method.record

    def mixed(args, options, wanted=None, config=None):
        y, pull = record(args, options, None, config)
        return y, pull if wanted is None else lambda v: (pull(v)[2 - wanted[0]],)

    method.record = mixed
    fails("when only the cotangent of argument 1 .* is asked for", multiply, X, X + 1)


# ------------------------------------------------------------------------------ many at one time


def doubled(x):
    return 2 * x


@pytest.fixture
def doubled_with_rows():
    yield lambda rows: linear_rule(doubled, lambda y_bar, x: 2 * y_bar, rows=(rows,))
    rrule.unregister(doubled)
    frule.unregister(doubled)


def test_rows_of_a_linear_rule(doubled_with_rows):
    doubled_with_rows(lambda y_bars, x: 2 * y_bars)
    check_rrule(doubled, MATRIX)


def test_rows_that_cannot_be_made_at_once(doubled_with_rows):
    doubled_with_rows(lambda y_bars, x: None)
    check_rrule(doubled, MATRIX)


def test_wrong_rows_of_a_linear_rule(doubled_with_rows):
    doubled_with_rows(lambda y_bars, x: 2 * y_bars[::-1])
    with pytest.raises(RuleCheckError, match=r"of many cotangents at once, the cotangent of .*x"):
        check_rrule(doubled, MATRIX)


def test_too_many_rows():
    with pytest.raises(RuleDefinitionError, match="rows has 2 functions for 1 adjoint"):
        linear_rule(doubled, lambda y_bar, x: 2 * y_bar, rows=(None, None))
