"""What rules and pullbacks return, and what rules ask of an engine."""

import numpy as np

from autodiff import gradient, jvp
from chainrules_core import (
    CotangentError,
    HasForwardMode,
    HasReverseMode,
    MissingCapabilityError,
    NoRuleError,
    NoTangent,
    PullbackArityError,
    RuleConfig,
    RuleResultError,
    Tangent,
    debug_mode,
    frule,
    frule_via_ad,
    pair_rule,
    require_frule,
    require_rrule,
    rrule,
    rrule_via_ad,
    scalar_rule,
    unbroadcast,
)
from tools.errors.entries import entry

# -- the pair --------------------------------------------------------------------------------------


@entry("A rule returns no pair", RuleResultError)
def rule_without_a_pair() -> None:
    def cube(x):
        return x**3

    @rrule.register(cube)
    def cube_rrule(x):
        return lambda y_bar: 3 * x**2 * y_bar

    gradient(lambda x: cube(x), 2.0)


@rule_without_a_pair.instead("Return the value and the pullback")
def rule_with_a_pair() -> None:
    def cube(x):
        return x**3

    @rrule.register(cube)
    def cube_rrule(x):
        return cube(x), lambda y_bar: 3 * x**2 * y_bar

    assert gradient(lambda x: cube(x), 2.0) == 12.0


@entry("A pair rule returns no triple", RuleResultError)
def pair_rule_without_a_triple() -> None:
    def cube(x):
        return x**3

    @pair_rule(cube)
    def cube_rule(x):
        return cube(x), lambda y_bar: 3 * x**2 * y_bar

    jvp(lambda x: cube(x), (2.0,), (1.0,))


@pair_rule_without_a_triple.instead("Return the value, the pushforward and the pullback")
def pair_rule_with_a_triple() -> None:
    def cube(x):
        return x**3

    @pair_rule(cube)
    def cube_rule(x):
        return cube(x), lambda x_dot: 3 * x**2 * x_dot, lambda y_bar: 3 * x**2 * y_bar

    assert jvp(lambda x: cube(x), (2.0,), (1.0,)) == (8.0, 12.0)


# -- the cotangents --------------------------------------------------------------------------------


@entry("A pullback returns too few cotangents", PullbackArityError)
def one_cotangent_for_two() -> None:
    def product(x, y):
        return x * y

    @rrule.register(product)
    def product_rrule(x, y):
        return x * y, lambda z_bar: z_bar * y

    gradient(lambda x: product(x, 3.0), 2.0)


@one_cotangent_for_two.instead("Return one for each argument, as a tuple")
def two_cotangents_for_two() -> None:
    def product(x, y):
        return x * y

    @rrule.register(product)
    def product_rrule(x, y):
        return x * y, lambda z_bar: (z_bar * y, z_bar * x)

    assert gradient(lambda x: product(x, 3.0), 2.0) == 3.0


@entry("A pullback of two arguments returns nothing", PullbackArityError)
def pullback_of_two_without_return() -> None:
    def product(x, y):
        return x * y

    @rrule.register(product)
    def product_rrule(x, y):
        def product_pullback(z_bar):
            z_bar * y, z_bar * x

        return x * y, product_pullback

    gradient(lambda x: product(x, 3.0), 2.0)


@pullback_of_two_without_return.instead("Return one for each argument")
def pullback_of_two_with_return() -> None:
    def product(x, y):
        return x * y

    @rrule.register(product)
    def product_rrule(x, y):
        def product_pullback(z_bar):
            return z_bar * y, z_bar * x

        return x * y, product_pullback

    assert gradient(lambda x: product(x, 3.0), 2.0) == 3.0


@entry("A pullback returns a tuple for a tuple argument", PullbackArityError, has_line=False)
def tuple_for_a_tuple_argument() -> None:
    def total(xs):
        return sum(xs)

    @rrule.register(total)
    def total_rrule(xs):
        return total(xs), lambda y_bar: (y_bar, y_bar, y_bar)

    rrule(total, (1.0, 2.0, 3.0))[1](1.0)


@tuple_for_a_tuple_argument.instead("Return a Tangent[tuple]")
def tangent_for_a_tuple_argument() -> None:
    def total(xs):
        return sum(xs)

    @rrule.register(total)
    def total_rrule(xs):
        return total(xs), lambda y_bar: Tangent[tuple](y_bar, y_bar, y_bar)

    assert rrule(total, (1.0, 2.0, 3.0))[1](1.0)[1][2] == 1.0


@entry("A pullback of one argument returns nothing", CotangentError)
def pullback_without_return() -> None:
    def cube(x):
        return x**3

    @rrule.register(cube)
    def cube_rrule(x):
        def cube_pullback(y_bar):
            3 * x**2 * y_bar

        return cube(x), cube_pullback

    gradient(lambda x: cube(x), 2.0)


@pullback_without_return.instead("Return the cotangent")
def pullback_with_return() -> None:
    def cube(x):
        return x**3

    @rrule.register(cube)
    def cube_rrule(x):
        def cube_pullback(y_bar):
            return 3 * x**2 * y_bar

        return cube(x), cube_pullback

    assert gradient(lambda x: cube(x), 2.0) == 12.0


@entry("A cotangent has another shape than its argument", CotangentError, has_line=False)
def cotangent_not_summed() -> None:
    def shifted(x, b):
        return x + b

    @rrule.register(shifted)
    def shifted_rrule(x, b):
        return x + b, lambda y_bar: (y_bar, y_bar)

    _, pullback = rrule(shifted, np.ones((4, 3)), np.ones(3))
    pullback(np.ones((4, 3)))


@cotangent_not_summed.instead("Sum it to the argument's shape")
def cotangent_summed() -> None:
    def shifted(x, b):
        return x + b

    @rrule.register(shifted)
    def shifted_rrule(x, b):
        return x + b, lambda y_bar: (y_bar, unbroadcast(y_bar, b.shape))

    _, pullback = rrule(shifted, np.ones((4, 3)), np.ones(3))
    assert pullback(np.ones((4, 3)))[2][0] == 4.0


@cotangent_not_summed.instead("Or have it summed")
def cotangent_summed_by_the_frame() -> None:
    def shifted(x, b):
        return x + b

    @rrule.register(shifted, broadcasts=True)
    def shifted_rrule(x, b):
        return x + b, lambda y_bar: (y_bar, y_bar)

    _, pullback = rrule(shifted, np.ones((4, 3)), np.ones(3))
    assert pullback(np.ones((4, 3)))[2][0] == 4.0


@entry("A cotangent is NaN (found in debug mode)", CotangentError, has_line=False)
def cotangent_is_nan() -> None:
    def length(x):
        return np.sqrt(np.sum(x * x))

    @rrule.register(length)
    def length_rrule(x):
        y = length(x)
        return y, lambda y_bar: y_bar * x / y

    _, pullback = rrule(length, np.zeros(3))
    with debug_mode():
        pullback(1.0)


@cotangent_is_nan.instead("Choose a value for this point")
def cotangent_at_zero() -> None:
    def length(x):
        return np.sqrt(np.sum(x * x))

    @rrule.register(length)
    def length_rrule(x):
        y = length(x)
        return y, lambda y_bar: y_bar * x / np.where(y > 0, y, 1.0)

    _, pullback = rrule(length, np.zeros(3))
    with debug_mode():
        assert not pullback(1.0)[1].any()


# -- no rule ---------------------------------------------------------------------------------------


@entry("There is no rrule", NoRuleError, has_line=False)
def no_rrule() -> None:
    def cube(x):
        return x**3

    require_rrule(cube, 2.0)


@no_rrule.instead("Register one")
def registered_rrule() -> None:
    def cube(x):
        return x**3

    @rrule.register(cube)
    def cube_rrule(x):
        return cube(x), lambda y_bar: 3 * x**2 * y_bar

    assert require_rrule(cube, 2.0)[1](1.0)[1] == 12.0


@entry("There is no frule for these types", NoRuleError, has_line=False)
def no_frule() -> None:
    def cube(x):
        return x**3

    scalar_rule(cube, lambda y, x: 3 * x**2, types=(np.ndarray,))
    require_frule((NoTangent(), 1.0), cube, 2.0)


@no_frule.instead("Register one for them")
def registered_frule() -> None:
    def cube(x):
        return x**3

    @frule.register(cube, float)
    def cube_frule(dots, x):
        (x_dot,) = dots
        return cube(x), 3 * x**2 * x_dot

    assert require_frule((NoTangent(), 1.0), cube, 2.0)[1] == 12.0


# -- what an engine can do -------------------------------------------------------------------------


@entry("A rule needs reverse mode, and the engine has none", MissingCapabilityError, has_line=False)
def rule_needs_reverse() -> None:
    class ForwardEngine(RuleConfig):
        pass

    def applied(f, x):
        return f(x)

    @rrule.register(applied, config=RuleConfig)
    def applied_rrule(config, f, x):
        y, pullback = rrule_via_ad(config, f, x)
        return y, lambda y_bar: pullback(y_bar)

    rrule(ForwardEngine(), applied, np.sin, 1.0)


@rule_needs_reverse.instead("Say that the rule needs it: other engines do without the rule")
def rule_requires_reverse() -> None:
    class ForwardEngine(RuleConfig):
        pass

    def applied(f, x):
        return f(x)

    @rrule.register(applied, requires=HasReverseMode)
    def applied_rrule(config, f, x):
        y, pullback = rrule_via_ad(config, f, x)
        return y, lambda y_bar: pullback(y_bar)

    assert rrule(ForwardEngine(), applied, np.sin, 1.0) is None


@entry(
    "An engine promises forward mode without a method for it",
    MissingCapabilityError,
    has_line=False,
)
def promised_forward() -> None:
    class Engine(RuleConfig):
        capabilities = frozenset({HasForwardMode})

    frule_via_ad(Engine(), (NoTangent(), 1.0), np.sin, 0.0)


@promised_forward.instead("Write the method")
def kept_forward() -> None:
    class Engine(RuleConfig):
        capabilities = frozenset({HasForwardMode})

        def frule_via_ad(self, dots, f, *args, **kwargs):
            return require_frule(dots, f, *args, **kwargs)

    assert frule_via_ad(Engine(), (NoTangent(), 1.0), np.sin, 0.0)[1] == 1.0
