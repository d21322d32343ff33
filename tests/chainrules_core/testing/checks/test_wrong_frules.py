"""Every planted mistake in an frule is found, and the message names it."""

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, ZeroTangent, not_implemented, unthunk
from chainrules_core.testing import RuleCheckError, check_frule, const, with_tangent

X = np.array([0.5, -1.5, 2.0])


def square(x):
    return x * x


def multiply(a, b):
    return a * b


def pushing(f, push, primal=None):
    """Make an `frule_f` for `f` whose tangent is ``push(dots, *args)``."""

    def frule_f(dots, _, *args, **kwargs):
        dots = [unthunk(dot) for dot in dots[1:]]
        return (primal or f)(*args, **kwargs), push(dots, *args)

    return frule_f


def fails(match, f, *args, **options):
    with pytest.raises(RuleCheckError, match=match) as caught:
        check_frule(f, *args, **options)
    return caught.value


@pytest.mark.parametrize(
    "f, args, push, match",
    [
        (square, (X,), lambda d, x: -2 * x * d[0], "tangent differs.*is a sign missing"),
        (square, (X,), lambda d, x: x * d[0], "0.5 times"),
        (np.abs, (X + 1j,), lambda d, x: x * d[0] / abs(x), "it is complex, .* for a real"),
        (
            multiply,
            (X, X + 1),
            lambda d, a, b: d[0] * b + d[1] * b,
            r"where only argument 2 \(b\) is perturbed",
        ),
        (
            multiply,
            (X, X + 1),
            lambda d, a, b: d[0] * a + d[1] * a,
            r"where only argument 1 \(a\) is perturbed",
        ),
        (np.sum, (X,), lambda d, a: d[0], r"wrong form: it is a float64 array of shape \(3,\)"),
        (
            square,
            (X.astype(np.float32),),
            lambda d, x: 2 * x * d[0].astype(float),
            "float64 array .* for a float32 array",
        ),
        (square, (X,), lambda d, x: None, "its tangent is None"),
        (square, (X,), lambda d, x: NoTangent(), r"found NoTangent\(\), but expected array"),
        (lambda x: (x, 2 * x), (X,), lambda d, x: (d[0], 2 * d[0]), r"write Tangent\[tuple\]"),
        (
            lambda x: (x, 2 * x),
            (X,),
            lambda d, x: Tangent[tuple](d[0], d[0]),
            r"at \[1\]: .*0.5 times",
        ),
        (np.argmax, (X,), lambda d, x: 0.0, r"cannot be perturbed: the tangent must be NoTangent"),
        (
            multiply,
            (X, X),
            lambda d, a, b: d[0].copy() * b + a * d[1].copy(),
            None,
        ),
        (
            multiply,
            (X, X),
            lambda d, a, b: d[0].flat[0] + 1,
            "it is a float64 for a float64 array",
        ),
    ],
)
def test_wrong_value(f, args, push, match):
    if match is None:
        check_frule(f, *args, frule_f=pushing(f, push))
    else:
        fails(match, f, *args, frule_f=pushing(f, push))


def test_zero_tangent_not_handled():
    def push(dots, a, b):
        return np.multiply(dots[0], b) + a * np.asarray(dots[1], dtype=float)[..., :]

    error = fails("the rule raised", multiply, X, X + 1, frule_f=pushing(multiply, push))
    assert "The tangents of the other arguments were ZeroTangent()." in error.__notes__


def test_wrong_when_one_is_zero():
    def push(dots, a, b):
        return dots[0] * b + dots[1] * a + isinstance(dots[1], ZeroTangent)

    rule = pushing(multiply, push)
    fails("when the arguments are perturbed one by one", multiply, X, X, frule_f=rule)
    check_frule(multiply, X, const(X), frule_f=rule)


def test_thunks():
    def frule_f(dots, f, x):
        return x * x, x * dots[1] + dots[1] * x

    fails("forces the thunk for argument 1", square, X, frule_f=frule_f)
    check_frule(square, X, frule_f=frule_f, check_thunked=False)


def test_side_effects():
    def changes_input(dots, f, x):
        y = x * x
        x += 1
        return y, 2 * (x - 1) * unthunk(dots[1])

    def changes_tangent(dots, f, x):
        y_dot = unthunk(dots[1])
        y_dot *= 2 * x
        return x * x, y_dot

    fails(r"changes argument 1 \(x\) in place", square, X, frule_f=changes_input)
    fails("changes the tangent of argument 1", square, X, frule_f=changes_tangent)


@pytest.mark.parametrize(
    "frule_f, match",
    [
        (lambda dots, f, x: None, "returned None"),
        (lambda dots, f, x: 2 * x * dots[1], "must return a pair"),
        (lambda dots, f, x: (x * x, 1, 2), "must return a pair"),
        (lambda dots, f, x: 1 / 0, "the rule raised ZeroDivisionError"),
        (lambda dots, f, x: (x, 2 * x * dots[1]), "its primal differs"),
        (lambda dots, f, x: (list(x * x), 2 * x * dots[1]), "another type"),
    ],
)
def test_wrong_call(frule_f, match):
    fails(match, square, X, frule_f=frule_f)


def test_no_rule():
    fails("there is no rule.*has no frule at all", square, X)


def test_given_tangent():
    seen = []

    def push(dots, x):
        seen.append(dots[0])
        return 2 * x * dots[0]

    check_frule(square, with_tangent(X, np.ones(3)), frule_f=pushing(square, push))
    assert all((dot == 1).all() for dot in seen)


def test_missing():
    def push(dots, a, b):
        return dots[0] * b + dots[1] * not_implemented("by b") if dots[1] else dots[0] * b

    rule = pushing(multiply, push)
    with pytest.warns(UserWarning, match="not implemented, and so not checked: argument 2"):
        result = check_frule(multiply, 2.0, 3.0, frule_f=rule)
    assert [label for label, _ in result.missing] == ["argument 2 (b)"]
    wrong = pushing(
        multiply, lambda d, a, b: 2 * d[0] * b + (not_implemented("by b") if d[1] else 0.0)
    )
    fails("where only argument 1", multiply, 2.0, 3.0, frule_f=wrong)
