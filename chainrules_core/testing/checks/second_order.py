"""Whether a rule's pullback can be differentiated in turn, by an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrules_core.tangents import AbstractZero, NoTangent, Tangent
from chainrules_core.testing.inputs.draw import rand_tangent
from chainrules_core.testing.numeric.differences import Point, dot
from chainrules_core.testing.numeric.vectors import items_of, tangent_to_vector

if TYPE_CHECKING:
    from chainrules_core.testing.checks.reverse import ReverseCheck


def check_second_order(check: ReverseCheck, gradient: Callable | None) -> None:
    """Compare the gradient of a gradient with finite differences of the gradient.

    With s(x) = Re⟨y_bar, f(x)⟩ and a random w, the engine's gradient of Re⟨w, ∇s(x)⟩ along a
    random x_dot is compared with Re⟨w, d/dt ∇s(x + t x_dot)⟩.

    Parameters
    ----------
    check : ReverseCheck
        A check that has passed to first order.
    gradient : callable
        An engine's ``gradient(f, *args)``: the gradient for one argument, a tuple of them for
        several.
    """
    case = check.case
    if gradient is None:
        raise TypeError("second_order=True needs an engine: pass gradient=, e.g. that of autodiff.")
    numbers = [n for n, a in enumerate(case.arguments) if a.status.value == "perturbed"]
    if not numbers or check.is_constant:
        return
    y_bar, values = check.y_bar, [a.value for a in case.arguments]

    def loss(*xs: Any) -> Any:
        full = list(values)
        for n, x in zip(numbers, xs, strict=True):
            full[n] = x
        f, args, kwargs = case.split(full)
        return weighted(y_bar, f(*args, **kwargs))

    def first(*xs: Any) -> tuple:
        found = gradient(loss, *xs)
        return found if len(xs) > 1 else (found,)

    xs = tuple(values[n] for n in numbers)
    weights = tuple(rand_tangent(x, case.rng) for x in xs)

    def second_loss(*xs: Any) -> Any:
        return sum([weighted(w, g) for w, g in zip(weights, first(*xs), strict=True)])

    found = case.attempt("the engine, differentiating twice,", lambda: gradient(second_loss, *xs))
    found = found if len(xs) > 1 else (found,)
    directions = [rand_tangent(x, case.rng) for x in xs]
    point = Point(lambda *xs: [_plain(g) for g in first(*xs)], xs, {}, case.fdm)
    vectors = [tangent_to_vector(x, d) for x, d in zip(xs, directions, strict=True)]
    derivative, _ = point.derivative(vectors)
    w = np.concatenate([tangent_to_vector(x, w) for x, w in zip(xs, weights, strict=True)])
    expected = dot(w, derivative)
    parts = [
        (tangent_to_vector(x, _plain(g)), v) for x, g, v in zip(xs, found, vectors, strict=True)
    ]
    actual = sum(dot(v, g) for g, v in parts)
    rtol, atol = case.tolerance.of(case.epsilon(check.expected_y))
    scale = max(
        dot(np.abs(w), np.abs(derivative)), sum(dot(np.abs(v), np.abs(g)) for g, v in parts)
    )
    if not abs(actual - expected) <= rtol * scale + atol * max(1.0, scale):
        case.fail(
            "the second derivative differs from finite differences of the first: along a random "
            f"direction it is {actual:.12g}, and {expected:.12g} is expected."
        )


def weighted(weight: Any, y: Any) -> Any:
    """Return Re⟨weight, y⟩ by plain NumPy operations, for an engine to differentiate."""
    if isinstance(weight, Tangent):
        terms = []
        for key, part in items_of(weight):
            if isinstance(part, AbstractZero):
                continue
            is_item = isinstance(y, (Tangent, tuple, list, dict)) and not hasattr(y, "_make")
            terms.append(weighted(part, y[key] if is_item else getattr(y, key)))
        return sum(terms)
    if isinstance(weight, AbstractZero):
        return 0.0
    product = np.conj(weight) * y
    return np.sum(np.real(product))


def _plain(found: Any) -> Any:
    """Return an engine's gradient with None, for what cannot be perturbed, as a tangent."""
    return NoTangent() if found is None else found
