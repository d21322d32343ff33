"""Registering rules."""

import numpy as np

from chainrules_core import (
    AmbiguousRuleError,
    NoTangent,
    RuleDefinitionError,
    Tangent,
    derivatives_given_output,
    frule,
    instance_of,
    linear_rule,
    needs_output,
    rrule,
    scalar_rule,
)
from chainrules_core.authoring import expression
from tools.errors.entries import entry

# -- what a rule can be for ------------------------------------------------------------------------


@entry("A rule for every class", RuleDefinitionError, has_line=False)
def rule_for_type() -> None:
    @rrule.register(type)
    def type_rrule(cls, x):
        return cls(x), lambda y_bar: y_bar


@rule_for_type.instead("Register the class itself")
def rule_for_a_class() -> None:
    class Celsius(float):
        pass

    @rrule.register(Celsius)
    def celsius_rrule(x):
        return Celsius(x), lambda y_bar: y_bar

    _, pullback = rrule(Celsius, 20.0)
    assert pullback(2.0)[1] == 2.0


@entry("A rule for a value", RuleDefinitionError, has_line=False)
def rule_for_a_value() -> None:
    def half(x):
        return x / 2

    scalar_rule(half(1.0), 0.5)


@rule_for_a_value.instead("Give the function, without calling it")
def rule_for_the_function() -> None:
    def half(x):
        return x / 2

    scalar_rule(half, 0.5)
    assert rrule(half, 1.0)[1](1.0)[1] == 0.5


@entry("A rule for a method of one object", RuleDefinitionError, has_line=False)
def rule_for_a_bound_method() -> None:
    class Scale:
        def apply(self, x):
            return 2.0 * x

    scale = Scale()

    @rrule.register(scale.apply)
    def apply_rrule(x):
        return scale.apply(x), lambda y_bar: 2.0 * y_bar


@rule_for_a_bound_method.instead("Register the function of the class; the object comes first")
def rule_for_a_method() -> None:
    class Scale:
        def apply(self, x):
            return 2.0 * x

    @rrule.register(Scale.apply)
    def apply_rrule(scale, x):
        return scale.apply(x), lambda y_bar: (NoTangent(), 2.0 * y_bar)

    assert rrule(Scale().apply, 3.0)[1](1.0)[1] == 2.0


@entry("A rule for calling objects that cannot be called", RuleDefinitionError, has_line=False)
def instance_without_a_call() -> None:
    class Line:
        def at(self, x):
            return 2.0 * x

    instance_of(Line)


@instance_without_a_call.instead("Register the method")
def method_of_the_instance() -> None:
    class Line:
        def at(self, x):
            return 2.0 * x

    @rrule.register(Line.at)
    def at_rrule(line, x):
        return line.at(x), lambda y_bar: 2.0 * y_bar

    assert rrule.methods(Line.at)


@instance_without_a_call.instead("Or let the class define __call__")
def instance_with_a_call() -> None:
    class Line:
        def __call__(self, x):
            return 2.0 * x

    assert instance_of(Line) is Line.__call__


# -- types of arguments ----------------------------------------------------------------------------


@entry("A type of a rule is not a class", RuleDefinitionError, has_line=False)
def type_as_text() -> None:
    def total(xs):
        return sum(xs)

    @rrule.register(total, list[float])
    def total_rrule(xs):
        return total(xs), lambda y_bar: [y_bar] * len(xs)


@type_as_text.instead("Give a class")
def type_as_a_class() -> None:
    def total(xs):
        return sum(xs)

    @rrule.register(total, list)
    def total_rrule(xs):
        return total(xs), lambda y_bar: Tangent[list](*[y_bar] * len(xs))

    assert rrule(total, [1.0, 2.0])[1](3.0)[1][1] == 3.0


@entry("A list of types that does not stand last", RuleDefinitionError, has_line=False)
def list_of_types_first() -> None:
    def shifted(x, by):
        return x + by

    rrule.register(shifted, [float, complex], int)(
        lambda x, by: (x + by, lambda y_bar: (y_bar, 0.0))
    )


@list_of_types_first.instead("Write a union as a tuple")
def union_first() -> None:
    def shifted(x, by):
        return x + by

    rrule.register(shifted, (float, complex), int)(
        lambda x, by: (x + by, lambda y_bar: (y_bar, y_bar))
    )
    assert rrule(shifted, 1.0, 2)[1](1.0)[1] == 1.0


@entry("Two rules match the same types", AmbiguousRuleError, has_line=False)
def two_rules_match() -> None:
    def product(x, y):
        return x * y

    def product_rrule(x, y):
        return x * y, lambda z_bar: (z_bar * y, z_bar * x)

    rrule.register(product, float, object)(product_rrule)
    rrule.register(product, object, float)(product_rrule)
    rrule(product, 2.0, 3.0)


@two_rules_match.instead("Register one for just these types")
def third_rule_decides() -> None:
    def product(x, y):
        return x * y

    def product_rrule(x, y):
        return x * y, lambda z_bar: (z_bar * y, z_bar * x)

    rrule.register(product, float, object)(product_rrule)
    rrule.register(product, object, float)(product_rrule)
    rrule.register(product, float, float)(product_rrule)
    assert rrule(product, 2.0, 3.0)[1](1.0)[1:] == (3.0, 2.0)


# -- scalar_rule -----------------------------------------------------------------------------------


@entry("scalar_rule without partials", RuleDefinitionError, has_line=False)
def scalar_rule_without_partials() -> None:
    def square(x):
        return x * x

    scalar_rule(square)


@scalar_rule_without_partials.instead("Give one for each argument")
def scalar_rule_with_a_partial() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    assert rrule(square, 3.0)[1](1.0)[1] == 6.0


@scalar_rule_without_partials.instead("For several outputs, one tuple for each")
def scalar_rule_of_two_outputs() -> None:
    def sin_and_cos(x):
        return np.sin(x), np.cos(x)

    scalar_rule(sin_and_cos, (lambda y, x: y[1],), (lambda y, x: -y[0],))
    assert frule((None, 1.0), sin_and_cos, 0.0)[1][0] == 1.0


@entry("A partial of scalar_rule without the output", RuleDefinitionError, has_line=False)
def partial_without_the_output() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda x: 2 * x)


@partial_without_the_output.instead("Begin it with the output")
def partial_with_the_output() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    assert rrule(square, 3.0)[1](1.0)[1] == 6.0


@entry("A function without scalar_rule", RuleDefinitionError, has_line=False)
def output_of_no_scalar_rule() -> None:
    needs_output(np.sum, np.ndarray)


@output_of_no_scalar_rule.instead("Define one")
def output_of_a_scalar_rule() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    assert not needs_output(square, float)


@output_of_no_scalar_rule.instead("Or ask first whether there is one")
def asked_for_derivatives() -> None:
    assert derivatives_given_output(None, np.sum, np.ones(2)) is None


# -- expression ------------------------------------------------------------------------------------


@entry("An expression for arguments of no such kind", RuleDefinitionError, has_line=False)
def expression_of_no_kind() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    expression(square, lambda y, x: 2 * x, of="float")


@expression_of_no_kind.instead("Write one of the four")
def expression_of_numbers() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    expression(square, lambda y, x: 2 * x, of="real number")
    assert ("real number", 1) in rrule.methods(square)[0].expressions


@entry("An expression without a rule", RuleDefinitionError, has_line=False)
def expression_without_a_rule() -> None:
    def square(x):
        return x * x

    expression(square, lambda y, x: 2 * x)


@expression_without_a_rule.instead("Register the rule first")
def expression_beside_a_rule() -> None:
    def square(x):
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    expression(square, lambda y, x: 2 * x)
    assert rrule(square, 3.0)[1](1.0)[1] == 6.0


@entry("An expression of several outputs", RuleDefinitionError, has_line=False)
def expression_of_several_outputs() -> None:
    def sin_and_cos(x):
        return np.sin(x), np.cos(x)

    scalar_rule(sin_and_cos, (lambda y, x: y[1],), (lambda y, x: -y[0],))
    expression(sin_and_cos, (lambda y, x: y[1],), (lambda y, x: -y[0],))


@expression_of_several_outputs.instead("The rule alone says it")
def rule_of_several_outputs() -> None:
    def sin_and_cos(x):
        return np.sin(x), np.cos(x)

    scalar_rule(sin_and_cos, (lambda y, x: y[1],), (lambda y, x: -y[0],))
    assert frule((None, 1.0), sin_and_cos, 0.0)[1][0] == 1.0


# -- linear_rule -----------------------------------------------------------------------------------


@entry("linear_rule with too few adjoints", RuleDefinitionError, has_line=False)
def too_few_adjoints() -> None:
    def difference(x, y):
        return x - y

    linear_rule(difference, lambda z_bar, x, y: z_bar, argnums=(0, 1), joint=True)


@too_few_adjoints.instead("Give one for each of argnums")
def enough_adjoints() -> None:
    def difference(x, y):
        return x - y

    linear_rule(
        difference, lambda z_bar, x, y: z_bar, lambda z_bar, x, y: -z_bar,
        argnums=(0, 1), joint=True,
    )  # fmt: skip
    assert rrule(difference, 1.0, 2.0)[1](1.0)[1:] == (1.0, -1.0)


@entry(
    "linear_rule with factors for another number of adjoints", RuleDefinitionError, has_line=False
)
def too_many_factors() -> None:
    def applied(matrix, vector):
        return matrix @ vector

    linear_rule(
        applied, lambda y_bar, matrix, vector: np.outer(y_bar, vector), argnums=(0,),
        factors=(lambda y_bar, matrix, vector: (y_bar, vector), None),
    )  # fmt: skip


@too_many_factors.instead("Give one for each adjoint")
def enough_factors() -> None:
    def applied(matrix, vector):
        return matrix @ vector

    linear_rule(
        applied, lambda y_bar, matrix, vector: np.outer(y_bar, vector), argnums=(0,),
        factors=(lambda y_bar, matrix, vector: (y_bar, vector),),
    )  # fmt: skip
    assert rrule(applied, np.eye(2), np.ones(2))[1](np.ones(2))[1].sum() == 4.0


@entry("linear_rule with add_into for two arguments", RuleDefinitionError, has_line=False)
def add_into_for_two() -> None:
    def difference(x, y):
        return x - y

    def add_into(x_bar, z_bar, x, y):
        x_bar += z_bar
        return x_bar

    linear_rule(
        difference, lambda z_bar, x, y: z_bar, lambda z_bar, x, y: -z_bar,
        joint=True, add_into=add_into,
    )  # fmt: skip


@add_into_for_two.instead("Leave add_into out")
def no_add_into() -> None:
    def difference(x, y):
        return x - y

    linear_rule(
        difference, lambda z_bar, x, y: z_bar, lambda z_bar, x, y: -z_bar, joint=True
    )  # fmt: skip
    assert rrule(difference, 1.0, 2.0)[1](1.0)[1:] == (1.0, -1.0)
