"""Checks of rules against finite differences."""

from typing import NamedTuple

import numpy as np

from chainrules_core import (
    NoTangent,
    Tangent,
    ZeroTangent,
    not_implemented,
    rrule,
    scalar_rule,
)
from chainrules_core.testing import (
    MissingDerivativeWarning,
    RuleCheckError,
    TangentMismatchError,
    assert_tangents_close,
    check_rrule,
    check_rule,
)
from tools.errors.entries import entry

# -- a rule that fails -----------------------------------------------------------------------------


@entry("A rule computes another derivative", RuleCheckError, has_line=False)
def wrong_sign() -> None:
    def reciprocal(x):
        return 1 / x

    scalar_rule(reciprocal, lambda y, x: y * y)
    check_rule(reciprocal, 2.0)


@wrong_sign.instead("Correct the rule")
def right_sign() -> None:
    def reciprocal(x):
        return 1 / x

    scalar_rule(reciprocal, lambda y, x: -y * y)
    check_rule(reciprocal, 2.0)


@entry("There is no rule to check", RuleCheckError, has_line=False)
def nothing_to_check() -> None:
    def reciprocal(x):
        return 1 / x

    check_rrule(reciprocal, 2.0)


@nothing_to_check.instead("Register one first")
def something_to_check() -> None:
    def reciprocal(x):
        return 1 / x

    @rrule.register(reciprocal)
    def reciprocal_rrule(x):
        return 1 / x, lambda y_bar: -y_bar / x**2

    check_rrule(reciprocal, 2.0)


@entry("A rule gives a constant a cotangent", RuleCheckError, has_line=False)
def constant_with_a_cotangent() -> None:
    def scaled(x, unit):
        return x * {"m": 1.0, "km": 1000.0}[unit]

    @rrule.register(scaled)
    def scaled_rrule(x, unit):
        return scaled(x, unit), lambda y_bar: (scaled(y_bar, unit), ZeroTangent())

    check_rrule(scaled, 2.0, "km")


@constant_with_a_cotangent.instead("Return NoTangent() for what cannot be perturbed")
def constant_without_a_cotangent() -> None:
    def scaled(x, unit):
        return x * {"m": 1.0, "km": 1000.0}[unit]

    @rrule.register(scaled)
    def scaled_rrule(x, unit):
        return scaled(x, unit), lambda y_bar: (scaled(y_bar, unit), NoTangent())

    check_rrule(scaled, 2.0, "km")


@entry("A pullback writes into its cotangent", RuleCheckError, has_line=False)
def cotangent_overwritten() -> None:
    def doubled(x):
        return 2 * x

    @rrule.register(doubled)
    def doubled_rrule(x):
        def doubled_pullback(y_bar):
            y_bar *= 2
            return y_bar

        return doubled(x), doubled_pullback

    check_rrule(doubled, np.ones(3))


@cotangent_overwritten.instead("Make a new array")
def cotangent_not_overwritten() -> None:
    def doubled(x):
        return 2 * x

    @rrule.register(doubled)
    def doubled_rrule(x):
        return doubled(x), lambda y_bar: 2 * y_bar

    check_rrule(doubled, np.ones(3))


@entry("A rule writes into its argument", RuleCheckError, has_line=False)
def argument_overwritten() -> None:
    def centred(x):
        return x - np.mean(x)

    @rrule.register(centred)
    def centred_rrule(x):
        x -= np.mean(x)
        return x, lambda y_bar: y_bar - np.mean(y_bar)

    check_rrule(centred, np.array([1.0, 2.0, 6.0]))


@argument_overwritten.instead("Work on a copy")
def argument_not_overwritten() -> None:
    def centred(x):
        return x - np.mean(x)

    @rrule.register(centred)
    def centred_rrule(x):
        return x - np.mean(x), lambda y_bar: y_bar - np.mean(y_bar)

    check_rrule(centred, np.array([1.0, 2.0, 6.0]))


@entry("A pullback leaves its cotangent out", RuleCheckError, has_line=False)
def pullback_not_linear() -> None:
    def doubled(x):
        return 2 * x

    @rrule.register(doubled)
    def doubled_rrule(x):
        return doubled(x), lambda y_bar: 2.0

    check_rrule(doubled, 3.0, output_tangent=1.0)


@pullback_not_linear.instead("Multiply by the cotangent")
def pullback_linear() -> None:
    def doubled(x):
        return 2 * x

    @rrule.register(doubled)
    def doubled_rrule(x):
        return doubled(x), lambda y_bar: 2.0 * y_bar

    check_rrule(doubled, 3.0, output_tangent=1.0)


@entry("A rule computes another value than the function", RuleCheckError, has_line=False)
def other_value() -> None:
    def variance(x):
        return np.mean((x - np.mean(x)) ** 2)

    @rrule.register(variance)
    def variance_rrule(x):
        return np.mean(x**2), lambda y_bar: 2 * (x - np.mean(x)) / x.size * y_bar

    check_rrule(variance, np.array([1.0, 2.0, 6.0]))


@other_value.instead("Call the function for the value")
def same_value() -> None:
    def variance(x):
        return np.mean((x - np.mean(x)) ** 2)

    @rrule.register(variance)
    def variance_rrule(x):
        return variance(x), lambda y_bar: 2 * (x - np.mean(x)) / x.size * y_bar

    check_rrule(variance, np.array([1.0, 2.0, 6.0]))


@entry("A rule raises while it is checked", RuleCheckError, has_line=False)
def rule_raises() -> None:
    def total(x):
        return np.sum(x)

    @rrule.register(total)
    def total_rrule(x):
        return total(x), lambda y_bar: np.full(x.shape, y_bar, dtype=x.dtpe)

    check_rrule(total, np.ones(3))


@rule_raises.instead("Correct the rule")
def rule_does_not_raise() -> None:
    def total(x):
        return np.sum(x)

    @rrule.register(total)
    def total_rrule(x):
        return total(x), lambda y_bar: np.full(x.shape, y_bar, dtype=x.dtype)

    check_rrule(total, np.ones(3))


@entry(
    "A check meets a derivative that is not implemented", MissingDerivativeWarning, has_line=False
)
def missing_in_a_check() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    check_rrule(power, 2.0, 3.0)


@missing_in_a_check.instead("Write it")
def written_for_a_check() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    assert check_rrule(power, 2.0, 3.0).missing == []


@missing_in_a_check.instead("Or say that the test knows of it")
def allowed_in_a_check() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    assert check_rrule(power, 2.0, 3.0, on_missing="allow").missing


# -- tangents that differ --------------------------------------------------------------------------


@entry("Numbers differ", TangentMismatchError, has_line=False)
def numbers_differ() -> None:
    x = np.array([0.0, 1.0, 2.0])
    assert_tangents_close(-np.sin(x), np.sin(x), "x_bar")


@numbers_differ.instead("Correct the sign that the message asks for")
def numbers_agree() -> None:
    x = np.array([0.0, 1.0, 2.0])
    assert_tangents_close(np.sin(x), np.sin(x), "x_bar")


@entry("Shapes differ", TangentMismatchError, has_line=False)
def shapes_differ() -> None:
    assert_tangents_close(np.ones((4, 3)), np.full(3, 4.0), "b_bar")


@shapes_differ.instead("Sum what was broadcast")
def shapes_agree() -> None:
    assert_tangents_close(np.ones((4, 3)).sum(axis=0), np.full(3, 4.0), "b_bar")


@entry("A derivative is not implemented", TangentMismatchError, has_line=False)
def missing_differs() -> None:
    assert_tangents_close(not_implemented("the derivative of jv in its order"), 0.5, "order_bar")


@missing_differs.instead("Compare what is implemented")
def known_agrees() -> None:
    assert_tangents_close(0.5, 0.5, "x_bar")


@entry("Something else than NoTangent()", TangentMismatchError, has_line=False)
def number_for_no_tangent() -> None:
    assert_tangents_close(0.0, NoTangent(), "axis_bar")


@number_for_no_tangent.instead("Return NoTangent() where there is nothing to perturb")
def no_tangent_agrees() -> None:
    assert_tangents_close(NoTangent(), NoTangent(), "axis_bar")


@entry("A zero is expected", TangentMismatchError, has_line=False)
def number_for_a_zero() -> None:
    assert_tangents_close(np.array([0.0, 1.0]), ZeroTangent(), "x_bar")


@number_for_a_zero.instead("Zeros of any kind agree")
def zeros_agree() -> None:
    assert_tangents_close(np.zeros(2), ZeroTangent(), "x_bar")


@entry("A bare tuple is compared with a Tangent", TangentMismatchError, has_line=False)
def bare_differs() -> None:
    assert_tangents_close((1.0, 2.0), Tangent[tuple](1.0, 2.0))


@bare_differs.instead("Make it a Tangent")
def structures_agree() -> None:
    assert_tangents_close(Tangent[tuple](1.0, 2.0), Tangent[tuple](1.0, 2.0))


@entry("Tangents are of different classes", TangentMismatchError, has_line=False)
def classes_differ() -> None:
    assert_tangents_close(Tangent[list](1.0, 2.0), Tangent[tuple](1.0, 2.0))


@classes_differ.instead("Use the class of the primal for both")
def classes_agree() -> None:
    assert_tangents_close(Tangent[tuple](1.0, 2.0), Tangent[tuple](1.0, 2.0))


@entry("Tangents have different numbers of parts", TangentMismatchError, has_line=False)
def lengths_differ() -> None:
    assert_tangents_close(Tangent[tuple](1.0), Tangent[tuple](1.0, 0.0))


@lengths_differ.instead("Give a zero for each element that does not change")
def lengths_agree() -> None:
    assert_tangents_close(Tangent[tuple](1.0, ZeroTangent()), Tangent[tuple](1.0, 0.0))


@entry("Dictionaries have different keys", TangentMismatchError, has_line=False)
def keys_differ() -> None:
    assert_tangents_close({"slope": 1.0}, {"offset": 1.0})


@keys_differ.instead("Use the same keys")
def keys_agree() -> None:
    assert_tangents_close({"offset": 1.0}, {"offset": 1.0})


@entry("Values that are not numbers differ", TangentMismatchError, has_line=False)
def texts_differ() -> None:
    class Fit(NamedTuple):
        slope: float
        method: str

    assert_tangents_close(Fit(1.0, "lm"), Fit(1.0, "trf"))


@texts_differ.instead("Compare equal ones")
def texts_agree() -> None:
    class Fit(NamedTuple):
        slope: float
        method: str

    assert_tangents_close(Fit(1.0, "lm"), Fit(1.0, "lm"))
