"""Every planted mistake in an rrule is found, and the message names it."""

from collections import namedtuple

import numpy as np
import pytest

from chainrules_core import (
    NoTangent,
    Tangent,
    ZeroTangent,
)
from chainrules_core.testing import check_rrule, const, forward_fdm

X = np.array([0.5, -1.5, 2.0])
MATRIX = np.arange(1.0, 21.0).reshape(4, 5)
Z = np.array([1.0 + 2.0j, -0.5 + 0.25j])
Pair = namedtuple("Pair", "a b")


def square(x):
    return x * x


def multiply(a, b):
    return a * b


# ------------------------------------------------------------------------------ wrong derivatives


@pytest.mark.parametrize(
    "f, args, bars, match",
    [
        (square, (X,), [lambda v, x: -2 * x * v], "argument 1.*differs.*is a sign missing"),
        (square, (X,), [lambda v, x: x * v], "argument 1.*0.5 times what is expected, throughout"),
        (square, (2.0,), [lambda v, x: x * v], "argument 1.*0.5 times what is expected"),
        (square, (X,), [lambda v, x: 0 * v], "It is zero throughout"),
        (square, (X,), [lambda v, x: np.nan * v], "There is NaN in it"),
        (square, (X,), [lambda v, x: ZeroTangent()], r"found ZeroTangent\(\), but expected array"),
        (square, (X,), [lambda v, x: NoTangent()], r"found NoTangent\(\), but expected array"),
        (square, (Z,), [lambda v, x: 2 * x * v], "differs from finite differences"),
        (lambda z: 1j * z, (Z,), [lambda v, z: 1j * v], "-1 times what is expected|negative"),
        (np.abs, (Z,), [lambda v, z: v * z.conj() / abs(z)], "complex conjugate of what is"),
        (lambda a: a.T @ a, (MATRIX[:2, :2],), [lambda v, a: a @ v + a @ v], "argument 1"),
        (lambda a: a.T, (MATRIX[:3, :3],), [lambda v, a: v], "transpose of what is expected"),
        (lambda a: a[::-1], (X,), [lambda v, a: v], "The entries are in another order"),
        (
            multiply,
            (X, X + 1),
            [lambda v, a, b: v * b, lambda v, a, b: v * b],
            r"argument 2 \(b\) differs.*3 of 3 entries differ",
        ),
        (
            np.sum,
            (MATRIX,),
            [lambda v, a: v * np.where(np.arange(20).reshape(4, 5) == 13, 1.5, 1.0)],
            r"argument 1 \(a\) differs.*1 of 20 entries differ, most at \[2, 3\]",
        ),
    ],
)
def test_wrong_value(fails, pulling, f, args, bars, match):
    fails(match, f, *args, rrule_f=pulling(f, *bars))


def test_one_wrong_entry_of_many_is_found_without_the_whole_gradient(fails, pulling):
    x = np.linspace(1.0, 2.0, 5000)
    wrong = pulling(np.sum, lambda v, x: v * np.where(np.arange(5000) == 77, 1.001, 1.0))
    fails("along a random direction.* coordinates, at random, are right", np.sum, x, rrule_f=wrong)
    wrong = pulling(np.sum, lambda v, x: 2 * v * np.ones(5000))
    fails("20 of 20 entries differ.*It is 2 times", np.sum, x, rrule_f=wrong)


def test_message_has_values_and_place(fails, pulling):
    message = fails("found", square, X, rrule_f=pulling(square, lambda v, x: 2 * v * x + [0, 0, 1]))
    assert "1 of 3 entries differ, most at [2]: found" in message
    assert "is allowed" in message
    assert message.startswith("rrule of ")
    assert "square(float64 array of shape (3,))" in message


def test_kinks_are_pointed_out(fails, pulling):
    rule = pulling(np.abs, lambda v, x: float(v))
    message = fails("differs", np.abs, 0.0, rrule_f=rule)
    assert "is there a kink" in message
    assert "forward_fdm" in message
    check_rrule(np.abs, 0.0, rrule_f=rule, fdm=forward_fdm())


# ------------------------------------------------------------------------------------ wrong forms


@pytest.mark.parametrize(
    "f, args, bars, match",
    [
        (
            multiply,
            (X, 2.0),
            [lambda v, a, b: v * b, lambda v, a, b: v * a],
            r"argument 2 \(b\) has the wrong form.*shape \(3,\) for a float",
        ),
        (
            multiply,
            (MATRIX, MATRIX[:1]),
            [lambda v, a, b: v * b, lambda v, a, b: v * a],
            r"shape \(4, 5\) for a float64 array of shape \(1, 5\)",
        ),
        (
            square,
            (X.astype(np.float32),),
            [lambda v, x: 2.0 * x.astype(float) * v],
            r"a float64 array of shape \(3,\) for a float32 array",
        ),
        (square, (X,), [lambda v, x: 2 * x * v + 0j], "it is complex, .* for a real"),
        (square, (Z,), [lambda v, x: np.real(2 * x * v)], "float64 array .* for a complex128"),
        (square, (2.0,), [lambda v, x: np.array(2 * x * v)], r"array of shape \(\) for a float"),
        (square, (np.float32(2),), [lambda v, x: float(2 * x * v)], "a float for a float32"),
        (square, (X,), [lambda v, x: None], "argument 1.* is None, which is no tangent"),
        (square, (X,), [lambda v, x: "text"], "it is a str for a float64 array"),
        (sum, ([1.0, 2.0],), [lambda v, x: [v, v]], r"bare list.*write Tangent\[list\]"),
        (sum, ((1.0, 2.0),), [lambda v, x: (v, v)], r"bare tuple.*write Tangent\[tuple\]"),
        (sum, ((1.0, 2.0),), [lambda v, x: Tangent[list](v, v)], r"a Tangent\[list\] for a tuple"),
        (sum, ((1.0, 2.0),), [lambda v, x: Tangent[tuple](v)], "it has 1 parts for a tuple of 2"),
        (sum, ((1.0, 2.0),), [lambda v, x: np.array([v, v])], "for a tuple, whose tangent is a"),
        (
            lambda p: p.a * p.b,
            (Pair(2.0, 3.0),),
            [lambda v, p: Tangent[Pair](a=v * p.b)],
            r"at \.b: found ZeroTangent\(\), but expected",
        ),
        (
            lambda p: p.a * p.b[1],
            (Pair(2.0, [1.0, 3.0]),),
            [lambda v, p: Tangent[Pair](a=v * 3.0, b=Tangent[list](0.0, 2 * v * p.a))],
            r"at \.b\[1\]: found .*2 times",
        ),
    ],
)
def test_wrong_form(fails, pulling, f, args, bars, match):
    fails(match, f, *args, rrule_f=pulling(f, *bars))


def test_dtype_can_be_left_alone(pulling):
    rule = pulling(square, lambda v, x: 2.0 * x.astype(float) * v)
    check_rrule(square, X.astype(np.float32), rrule_f=rule, check_dtype=False)


# ------------------------------------------------------------- arguments that cannot be perturbed


@pytest.mark.parametrize(
    "bar, match",
    [
        (lambda v, *_: ZeroTangent(), r"argument 2 \(mode\) is a str.*must be NoTangent\(\)"),
        (lambda v, *_: 0.0, r"must be NoTangent\(\), and is 0.0"),
    ],
)
def test_string(fails, pulling, bar, match):
    def scaled(x, mode):
        return x * len(mode)

    fails(match, scaled, 2.0, "ab", rrule_f=pulling(scaled, lambda v, *_: 2 * v, bar))
    check_rrule(scaled, 2.0, "ab", rrule_f=pulling(scaled, lambda v, *_: 2 * v, _nothing))


def _nothing(v, *_):
    return NoTangent()


@pytest.mark.parametrize("bar", [lambda *_: ZeroTangent(), lambda *_: 1.0])
def test_index(fails, pulling, bar):
    def item(x, i):
        return x[i]

    def item_bar(v, x, i):
        return np.where(np.arange(3) == i, v, 0.0)

    fails("an integer that cannot be perturbed", item, X, 1, rrule_f=pulling(item, item_bar, bar))
    check_rrule(item, X, 1, rrule_f=pulling(item, item_bar, _nothing))


def test_integer_with_a_value_is_checked_as_float(fails, pulling):
    def power_bar(v, x, n):
        return v * n * x ** (n - 1)

    def right(v, x, n):
        return v * x**n * np.log(x)

    check_rrule(pow, 2.0, 3, rrule_f=pulling(pow, power_bar, right))
    check_rrule(pow, 2.0, 3, rrule_f=pulling(pow, power_bar, _nothing))
    wrong = pulling(pow, power_bar, lambda *a: -right(*a))
    fails("argument 2 .*is a sign missing", pow, 2.0, 3, rrule_f=wrong)
    fails("argument 2", pow, 2.0, 3, rrule_f=pulling(pow, power_bar, lambda *_: ZeroTangent()))


def test_function_itself(fails, raw):
    def rule(x):
        return square(x), lambda v: (ZeroTangent(), 2 * x * v)

    fails(r"the function itself is a function, which cannot", square, X, rrule_f=raw(rule))


def test_const(fails, pulling):
    bars = [lambda v, a, b: v * b, lambda v, a, b: v * a]
    rule = pulling(multiply, *bars)
    fails(r"argument 2 \(b\) must be zero.*constant", multiply, X, const(X), rrule_f=rule)
    for zero in (NoTangent(), ZeroTangent(), np.zeros(3)):
        rule = pulling(multiply, bars[0], lambda *_, zero=zero: zero)
        check_rrule(multiply, X, const(X), rrule_f=rule)
