"""Derivatives that their rule declares as not implemented."""

import numpy as np
from scipy import fftpack

import chainrules  # noqa: F401 # its rules
from chainrules_core import (
    NoTangent,
    NotImplementedTangentError,
    Tangent,
    add_tangent,
    inner,
    norm,
    not_implemented,
    rrule,
    scalar_rule,
)
from chainrules_core.errors import MissingTangentAttributeError
from chainrules_core.testing import vjp_fd
from tools.errors.entries import entry


@entry("A missing derivative is divided", NotImplementedTangentError, has_line=False)
def missing_divided() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    n_bar / 2.0


@missing_divided.instead("Write the partial derivative")
def written_divided() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert np.isclose(n_bar / 2.0, 4.0 * np.log(2.0))


@missing_divided.instead("Or keep the argument constant")
def constant_divided() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert x_bar / 2.0 == 6.0


@entry("A missing derivative is made an array", NotImplementedTangentError, has_line=False)
def missing_as_an_array() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    np.array([x_bar, n_bar], dtype=float)


@missing_as_an_array.instead("Write the partial derivative")
def written_as_an_array() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, x_bar, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert np.array([x_bar, n_bar], dtype=float)[0] == 12.0


@missing_as_an_array.instead("Or keep the argument constant")
def constant_as_an_array() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert np.array([x_bar], dtype=float)[0] == 12.0


@entry("An attribute of a missing derivative", MissingTangentAttributeError, has_line=False)
def missing_real_part() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    n_bar.real  # noqa: B018


@missing_real_part.instead("Write the partial derivative")
def written_real_part() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert np.isclose(n_bar.real, 8.0 * np.log(2.0))


@missing_real_part.instead("Or keep the argument constant")
def constant_real_part() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert x_bar.real == 12.0


@entry("An inner product with a missing derivative", NotImplementedTangentError, has_line=False)
def inner_with_missing() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    inner(0.5, n_bar)


@inner_with_missing.instead("Write the partial derivative")
def inner_with_written() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert np.isclose(inner(0.5, n_bar), 4.0 * np.log(2.0))


@inner_with_missing.instead("Or keep the argument constant")
def inner_with_constant() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert inner(0.5, x_bar) == 6.0


@entry("The norm of a missing derivative", NotImplementedTangentError, has_line=False)
def norm_of_missing() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    norm(Tangent[tuple](x_bar, n_bar))


@norm_of_missing.instead("Write the partial derivative")
def norm_of_written() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, x_bar, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert norm(Tangent[tuple](x_bar, n_bar)) > 12.0


@norm_of_missing.instead("Or keep the argument constant")
def norm_of_constant() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert norm(Tangent[tuple](x_bar, NoTangent())) == 12.0


@entry("A primal is moved by a missing derivative", NotImplementedTangentError, has_line=False)
def moved_by_missing() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    add_tangent(3.0, -0.1 * n_bar)


@moved_by_missing.instead("Write the partial derivative")
def moved_by_written() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert add_tangent(3.0, -0.1 * n_bar) < 3.0


@moved_by_missing.instead("Or keep the argument constant")
def constant_not_moved() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert np.isclose(add_tangent(2.0, -0.1 * x_bar), 0.8)


@entry("Finite differences with a missing derivative", NotImplementedTangentError, has_line=False)
def differences_with_missing() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    vjp_fd(np.sin, (3.0,), n_bar)


@differences_with_missing.instead("Write the partial derivative")
def differences_with_written() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, lambda y, x, n: y * np.log(x))
    _, _, n_bar = rrule(power, 2.0, 3.0)[1](1.0)
    assert len(vjp_fd(np.sin, (3.0,), n_bar)) == 1


@differences_with_missing.instead("Or keep the argument constant")
def differences_with_constant() -> None:
    def power(x, n):
        return x**n

    scalar_rule(power, lambda y, x, n: n * y / x, not_implemented("the derivative in n"))
    _, x_bar, _ = rrule(power, 2.0, 3.0)[1](1.0)
    assert len(vjp_fd(np.sin, (3.0,), x_bar)) == 1


@entry("An argument that a rule does not differentiate", NotImplementedTangentError, has_line=False)
def option_of_a_rule() -> None:
    signal = np.sin(np.arange(8) * np.pi / 4)
    _, _, by_bar = rrule(fftpack.shift, signal, 0.5)[1](np.ones(8))
    by_bar / 2.0


@option_of_a_rule.instead("Keep it constant")
def constant_option_of_a_rule() -> None:
    signal = np.sin(np.arange(8) * np.pi / 4)
    _, signal_bar, _ = rrule(fftpack.shift, signal, 0.5)[1](np.ones(8))
    assert np.allclose(signal_bar, 1.0)
