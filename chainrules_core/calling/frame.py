"""What surrounds a rule, so that its author need not write it.

Thunks are forced, the function's own cotangent is filled in, the number of cotangents is checked,
and every cotangent is projected onto the tangent space of its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrules_core.calling.debug import is_debug
from chainrules_core.errors import (
    CotangentError,
    ProjectionError,
    PullbackArityError,
    RuleResultError,
    TangentTypeError,
)
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.operations.arithmetic import is_zero
from chainrules_core.operations.broadcasting import unbroadcast
from chainrules_core.operations.zeros import zero_tangent
from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.registry.entries import key_of
from chainrules_core.tangents import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    unthunk,
)

if TYPE_CHECKING:
    from chainrules_core.rule import HandRule, Rule

_NO_TANGENT = NoTangent()
_NAN = (
    "it is NaN, but no argument is, nor the cotangent of the output. Give the derivative at this "
    "point a value of its own in the pullback, as with np.where."
)


def checked_pair(rule: HandRule, result: Any) -> tuple[Any, Any]:
    """Return value and pullback (or tangent) of what a rule has returned, else say whose it was."""
    if type(result) is not tuple or len(result) != len(rule.returns):
        raise RuleResultError(rule, result)
    return result if len(result) == 2 else (result[0], result[-1])


def call_pullback(rule: Rule, pullback: Callable, n: int, y_bar: Any) -> tuple:
    """Call an author's pullback; return the cotangent of the function and of `n` arguments.

    The two forms an author may use are told apart by their number: one for the function and one
    for each argument, or the arguments alone (a bare value where there is one).
    """
    return sorted_bars(rule, pullback, n, pullback(unthunk(y_bar)))


def sorted_bars(rule: Rule, pullback: Callable, n: int, bars: Any) -> tuple:
    """Return what a pullback has returned, in either form, as one cotangent for each place."""
    if type(bars) is not tuple or len(bars) != n + 1:
        given = bars if type(bars) is tuple else (bars,)
        if len(given) != n:
            raise PullbackArityError(rule, pullback, n, len(given), type(bars))
        bars = (_NO_TANGENT, *given)
    for position, bar in enumerate(bars):
        if bar is None or type(bar) in (list, dict, tuple):
            raise CotangentError(rule, position - 1, bar)
    return bars


def part(y_bar: Any, i: int) -> Any:
    """Return the cotangent of one of several outputs; None if it is zero.

    Examples
    --------
    >>> from chainrules_core import Tangent
    >>> y_bar = Tangent[tuple](2.0, ZeroTangent())
    >>> part(y_bar, 0), part(y_bar, 1)
    (2.0, None)
    """
    bar = unthunk(y_bar[i])
    return None if isinstance(bar, AbstractZero) else bar


def parts(y_bar: Any, n: int) -> tuple:
    """Return the cotangents of the first `n` outputs; None in place of those that are zero.

    Examples
    --------
    >>> from chainrules_core import Tangent
    >>> parts(Tangent[tuple](2.0, ZeroTangent()), 2)
    (2.0, None)
    """
    return tuple([part(y_bar, i) for i in range(n)])


def named_projection(rule: Rule, position: int, projector: Callable, x_bar: Any) -> Any:
    """Project a cotangent; where its shape is wrong, name the rule and the argument."""
    try:
        if getattr(rule, "broadcasts", False):
            shape = getattr(projector, "shape", None)
            if shape is not None and not isinstance(x_bar, (AbstractZero, NotImplementedTangent)):
                x_bar = unthunk(x_bar)
                if np.shape(x_bar) != shape:
                    x_bar = unbroadcast(x_bar, shape)
        return projector(x_bar)
    except (ProjectionError, TangentTypeError) as error:
        raise CotangentError(rule, position, x_bar, error) from error


def full_pullback(
    rule: Rule, f: Callable, args: tuple, keywords: Iterable[str], bound: tuple, pull: Callable
) -> Callable[[Any], tuple]:
    """Return the pullback of the raw convention around a rule's own."""
    projectors = [ProjectTo(a) for a in bound]
    own = _has_own(f)
    order = call_order(rule, bound, len(args) + own, keywords)
    given = (key_of(f)[1] + args) if None in order else ()
    missing = {
        at: missing_for_option(rule, at, given[at]) for at, i in enumerate(order) if i is None
    }

    def wrapped_pullback(y_bar: Any) -> tuple:
        seed = ZeroTangent() if isinstance(y_bar, AbstractZero) else 1.0
        if isinstance(y_bar, AbstractZero):
            bars = tuple([ZeroTangent()] * (len(bound) + 1))
        else:
            with quiet():
                bars = pull(y_bar)
            if is_debug():
                _check_finite(rule, y_bar, bound, bars)
        projected = [
            named_projection(rule, i, projector, bar)
            for i, (projector, bar) in enumerate(zip(projectors, bars[1:], strict=True))
        ]
        placed = [missing[at] * seed if i is None else projected[i] for at, i in enumerate(order)]
        return tuple(placed) if own else (bars[0], *placed)

    name = getattr(getattr(pull, "pullback", pull), "__name__", "pullback")
    wrapped_pullback.__name__ = wrapped_pullback.__qualname__ = (
        name if name != "pull" else f"{getattr(rule.f, '__name__', 'f')}_pullback"
    )
    return wrapped_pullback


def can_be_perturbed(x: Any) -> bool:
    """Whether a value is, or holds, a real or complex number that is not whole.

    Examples
    --------
    >>> can_be_perturbed(2.0), can_be_perturbed([1, np.ones(2)]), can_be_perturbed((3, "same"))
    (True, True, False)
    """
    if isinstance(x, (float, complex)):
        return True
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fc" or (x.dtype.kind == "O" and any(map(can_be_perturbed, x.flat)))
    if isinstance(x, dict):
        return any(map(can_be_perturbed, x.values()))
    if isinstance(x, (tuple, list)):
        return any(map(can_be_perturbed, x))
    return False


def missing_tangent(rule: Rule, name: str, value: Any) -> Any:
    """Return the cotangent of an argument that a rule does not differentiate.

    What cannot be perturbed has none; a number has one that nobody has written.
    """
    if not can_be_perturbed(value):
        return _NO_TANGENT
    return NotImplementedTangent(
        f"the derivative of {rule.name} by {name}, which its rule does not differentiate",
        None,
        *_file_and_line(rule.defined_at),
        rule.name,
    )


def _file_and_line(defined_at: str) -> tuple[str, int]:
    file, _, line = defined_at.rpartition(":")
    return file, int(line) if line.isdigit() else 0


def missing_for_option(rule: Rule, position: int, value: Any) -> Any:
    """Return the missing cotangent of an option that was given by position."""
    return missing_tangent(rule, rule.binder.name_at(position), value)


def _has_own(f: Callable) -> bool:
    return bool(key_of(f)[1])


def call_order(
    rule: Rule, bound: tuple, given: int, keywords: Iterable[str] = ()
) -> list[int | None]:
    """Return, for each argument that has a cotangent, its place among the bound ones.

    These are the positional arguments of the call (None stands for one passed as an option), and
    what is differentiated and was passed by keyword.
    """
    order = rule.binder.places(given, keywords)
    return order[:given] + [i for i in order[given:] if i is not None and rule.differentiates(i)]


def split_dots(rule: Rule, f: Callable, dots: tuple, args: tuple, bound: tuple) -> tuple:
    """Bring the tangents of the raw convention into the order of the bound arguments."""
    if len(dots) != len(args) + 1:
        raise TypeError(
            f"frule of {rule.name} was given {len(dots)} tangents for {len(args)} arguments: it "
            "takes one for the function itself and one for each positional argument, "
            "frule((NoTangent(), x_dot), f, x)."
        )
    own = _has_own(f)
    given = dots if own else dots[1:]
    sorted_dots: list[Any] = [ZeroTangent()] * len(bound)
    for place, dot in zip(rule.binder.places(len(given)), given, strict=True):
        if place is not None:
            sorted_dots[place] = unthunk(dot)
    return tuple(sorted_dots)


def missing_along(rule: Rule, f: Callable, dots: tuple, args: tuple, bound: tuple) -> Any:
    """Return the tangent of a call that moves an argument its rule does not differentiate.

    None where it moves no such argument.
    """
    own = key_of(f)[1]
    given = dots if own else dots[1:]
    places = rule.binder.places(len(given))
    for at, (place, dot, value) in enumerate(zip(places, given, own + args, strict=True)):
        if isinstance(dot, AbstractZero) or (place is not None and rule.differentiates(place)):
            continue
        dot = unthunk(dot)
        if not isinstance(dot, AbstractZero) and not is_zero(dot):
            missing = missing_for_option(rule, at, value)
            if not isinstance(missing, AbstractZero):
                return missing
    return None


def materialised(dot: Any, primal: Any) -> Any:
    """Return a tangent that hand-written rules can compute with: zeros made concrete.

    An array of integers is like one of floats that stays where it is.
    """
    if not isinstance(dot, AbstractZero):
        return dot
    if isinstance(primal, np.ndarray) and primal.dtype.kind in "iub":
        return np.zeros(primal.shape)
    return dot if isinstance(dot, NoTangent) else zero_tangent(primal)


def _check_finite(rule: Rule, y_bar: Any, bound: tuple, bars: tuple) -> None:
    """In debug mode: a NaN out of no NaN is reported with the rule's name."""
    values = [v for v in (y_bar, *bound) if isinstance(v, (float, complex, np.ndarray, np.inexact))]
    if any(np.isnan(v).any() for v in values if np.asarray(v).dtype.kind in "fc"):
        return
    for position, bar in enumerate(bars[1:]):
        bar = unthunk(bar)
        if isinstance(bar, (float, complex, np.ndarray, np.inexact)) and np.isnan(bar).any():
            raise CotangentError(rule, position, bar, _NAN)
