"""Functions that bring their own derivative: custom_vjp, custom_jvp, cotangent_hook."""

import numpy as np

from autodiff import (
    DifferentiationError,
    MutationError,
    cotangent_hook,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    gradient,
    ignore_derivatives,
)
from tools.errors.entries import entry


@entry("A custom_vjp without rule", DifferentiationError)
def vjp_without_rule() -> None:
    @custom_vjp
    def clipped(x):
        return x

    gradient(lambda x: clipped(x) ** 2, 3.0)


@vjp_without_rule.instead("Call its defvjp first")
def vjp_with_rule() -> None:
    @custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, y_bar: (np.clip(y_bar, -1.0, 1.0),))
    assert gradient(lambda x: clipped(x) ** 2, 3.0) == 1.0


@entry("A custom_jvp without rule", DifferentiationError)
def jvp_without_rule() -> None:
    @custom_jvp
    def softplus(x):
        return np.log1p(np.exp(x))

    gradient(lambda x: softplus(x), 0.0)


@jvp_without_rule.instead("Call its defjvp first")
def jvp_with_rule() -> None:
    @custom_jvp
    def softplus(x):
        return np.log1p(np.exp(x))

    @softplus.defjvp
    def softplus_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return softplus(x), x_dot / (1 + np.exp(-x))

    assert gradient(lambda x: softplus(x), 0.0) == 0.5


@entry("A function with a custom derivative has captured a traced value", DifferentiationError)
def custom_function_that_captured() -> None:
    def loss(x):
        @custom_vjp
        def scaled(t):
            return x * t

        scaled.defvjp(lambda t: (scaled(t), None), lambda _, y_bar: (y_bar,))
        return scaled(2.0)

    gradient(loss, 3.0)


@custom_function_that_captured.instead("Pass it as an argument")
def custom_function_of_arguments() -> None:
    @custom_vjp
    def scaled(x, t):
        return x * t

    scaled.defvjp(lambda x, t: (x * t, (x, t)), lambda xt, y_bar: (y_bar * xt[1], y_bar * xt[0]))
    assert gradient(lambda x: scaled(x, 2.0), 3.0) == 2.0


@entry("A keyword of a function with a custom derivative is traced", DifferentiationError)
def custom_keyword() -> None:
    @custom_vjp
    def scaled(x, *, factor):
        return x * factor

    scaled.defvjp(
        lambda x, *, factor: (x * factor, factor), lambda factor, y_bar: (y_bar * factor,)
    )
    gradient(lambda x: scaled(x, factor=x), 3.0)


@custom_keyword.instead("Make it a positional argument")
def custom_positional() -> None:
    @custom_vjp
    def scaled(x, factor):
        return x * factor

    scaled.defvjp(lambda x, c: (x * c, (x, c)), lambda xc, y_bar: (y_bar * xc[1], y_bar * xc[0]))
    assert gradient(lambda x: scaled(x, factor=x), 3.0) == 6.0


@entry("An argument in nondiff_argnums is traced", DifferentiationError)
def traced_nondiff_argument() -> None:
    def power(x, n):
        return x**n

    power = custom_vjp(power, nondiff_argnums=(1,))
    power.defvjp(lambda x, n: (x**n, x), lambda n, x, y_bar: (y_bar * n * x ** (n - 1),))
    gradient(lambda x, n: power(x, n), 3.0, 2.0)


@traced_nondiff_argument.instead("Differentiate with respect to the others")
def constant_nondiff_argument() -> None:
    def power(x, n):
        return x**n

    power = custom_vjp(power, nondiff_argnums=(1,))
    power.defvjp(lambda x, n: (x**n, x), lambda n, x, y_bar: (y_bar * n * x ** (n - 1),))
    assert gradient(lambda x, n: power(x, n), 3.0, 2.0, argnums=0) == 6.0


@traced_nondiff_argument.instead("Wrap the value in ignore_derivatives")
def ignored_nondiff_argument() -> None:
    def power(x, n):
        return x**n

    power = custom_vjp(power, nondiff_argnums=(1,))
    power.defvjp(lambda x, n: (x**n, x), lambda n, x, y_bar: (y_bar * n * x ** (n - 1),))
    assert gradient(lambda x, n: power(x, ignore_derivatives(n)), 3.0, 2.0) == (6.0, 0.0)


@entry("A custom forward pass returns the value alone", DifferentiationError)
def forward_pass_without_residuals() -> None:
    @custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: x**2, lambda x, y_bar: (2 * x * y_bar,))
    gradient(lambda x: square(x), 3.0)


@forward_pass_without_residuals.instead("Return it with what the pullback needs")
def forward_pass_with_residuals() -> None:
    @custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, y_bar: (2 * x * y_bar,))
    assert gradient(lambda x: square(x), 3.0) == 6.0


@entry("A custom pullback returns too few cotangents", DifferentiationError)
def custom_pullback_with_too_few() -> None:
    @custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda xy, z_bar: (z_bar * xy[1],))
    gradient(lambda x, y: product(x, y), 2.0, 3.0)


@custom_pullback_with_too_few.instead("Return one for each argument")
def custom_pullback_with_all() -> None:
    @custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda xy, z_bar: (z_bar * xy[1], z_bar * xy[0]))
    assert gradient(lambda x, y: product(x, y), 2.0, 3.0) == (3.0, 2.0)


@custom_pullback_with_too_few.instead("Return None for one that is not perturbed")
def custom_pullback_with_none() -> None:
    @custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, y), lambda y, z_bar: (z_bar * y, None))
    assert gradient(lambda x, y: product(x, y), 2.0, 3.0, argnums=0) == 3.0


@entry("A custom pullback returns a number for a dict", DifferentiationError)
def custom_pullback_with_a_dict() -> None:
    @custom_gradient
    def norm(params):
        y = np.sum(params["w"] ** 2)
        return y, lambda y_bar: 2 * y_bar

    gradient(lambda params: norm(params), {"w": np.ones(2)})


@custom_pullback_with_a_dict.instead("Return one in the structure of the argument")
def custom_pullback_in_the_nesting() -> None:
    @custom_gradient
    def norm(params):
        y = np.sum(params["w"] ** 2)
        return y, lambda y_bar: {"w": 2 * y_bar * params["w"]}

    gradient(lambda params: norm(params), {"w": np.ones(2)})


@entry("A hook returns no cotangent", DifferentiationError)
def hook_without_cotangent() -> None:
    gradient(lambda x: cotangent_hook(x, lambda x_bar: f"{x_bar:.3f}") ** 2, 3.0)


@hook_without_cotangent.instead("Return a cotangent like the one it was given")
def hook_with_cotangent() -> None:
    assert gradient(lambda x: cotangent_hook(x, lambda x_bar: min(x_bar, 1.0)) ** 2, 3.0) == 1.0


@hook_without_cotangent.instead("Return None to leave it as it is")
def hook_that_looks() -> None:
    assert gradient(lambda x: cotangent_hook(x, print) ** 2, 3.0) == 6.0


@entry("A function with a rule of its own changes a list", MutationError)
def list_changed_by_a_function_with_a_rule() -> None:
    @custom_jvp
    def appended(xs):
        xs.append(xs[-1] * 2.0)

    appended.defjvp(lambda primals, tangents: (None, None))

    def loss(x):
        xs = [x]
        appended(xs)
        return sum(xs)

    gradient(loss, 2.0)


@list_changed_by_a_function_with_a_rule.instead("Return what is new")
def new_item_returned() -> None:
    @custom_jvp
    def doubled(xs):
        return xs[-1] * 2.0

    doubled.defjvp(lambda primals, tangents: (primals[0][-1] * 2.0, tangents[0][-1] * 2.0))

    def loss(x):
        xs = [x]
        xs.append(doubled(xs))
        return sum(xs)

    assert gradient(loss, 2.0) == 3.0
