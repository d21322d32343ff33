"""Decorators for functions that define their own derivative.

A function with :func:`custom_gradient` returns its value and its pullback, like the body of an
rrule. :func:`custom_vjp` and :func:`custom_jvp` have the interface of JAX. For an existing
function, use ``chainrules_core.rrule.register(f, ...)`` instead, which needs no decorator.

All three become calls of one function with a rule, `_with_rules`. Each works in both modes: the
pushforward is the adjoint of a custom pullback, and the pullback is the transpose of a custom
pushforward, which is linear in the tangents.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

from autodiff.api.callback_values import MISFITS, as_pytree, as_tangent, call_user
from autodiff.closures.captured_state import with_own_variables
from autodiff.closures.captured_values import captured_tracers
from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import call
from autodiff.errors import DifferentiationError
from autodiff.trace.linearize import Linearised
from autodiff.trace.pytree import has_variables, map_leaves
from autodiff.trace.tracer import untraced
from chainrules_core import AbstractZero, NoTangent, ZeroTangent, frule, rrule, zero_tangent
from chainrules_core.rules import name_of

P = ParamSpec("P")
Y = TypeVar("Y")


def custom_gradient(f: Callable[P, tuple[Y, Callable]]) -> Callable[P, Y]:
    """Return a function that computes its own pullback.

    Parameters
    ----------
    f : callable
        A function that returns ``(y, pullback)``. ``pullback(y_bar)`` returns a tuple with a
        cotangent for each positional argument of `f`; for a single argument it may be the cotangent
        itself. A cotangent has the structure and shapes of its argument. For an argument without a
        derivative it is None or ``NoTangent()``.

    Returns
    -------
    callable
        A function with the arguments of `f` that returns `y`.

    Raises
    ------
    DifferentiationError
        When the function is called, if it has captured a traced value (pass it as an argument) or
        gets one as a keyword-only argument; in the reverse sweep, if the cotangents do not fit.

    See Also
    --------
    chainrules_core.rrule : defines a rule for an existing function.

    Notes
    -----
    The body is not traced; second derivatives are those of the pullback. Forward mode uses the
    adjoint of the pullback.

    Examples
    --------
    >>> import numpy as np
    >>> from autodiff import gradient
    >>> @custom_gradient
    ... def log1pexp(x):
    ...     e = np.exp(x)
    ...     def log1pexp_pullback(y_bar):
    ...         return y_bar * (1 - 1 / (1 + e))
    ...     return np.log1p(e), log1pexp_pullback
    >>> gradient(log1pexp, 0.0)
    0.5
    """
    _check_function(f, "custom_gradient")

    @functools.wraps(f)
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        def value(*args: Any) -> Any:
            return record(*args)[0]

        def record(*args: Any) -> tuple[Any, Callable]:
            return _pair(f, bound.call(f, args), "(y, pullback)")

        bound = _bound(f, args, kwargs, ())
        return _called(f, bound.args, value, record, None)

    return with_gradient


def custom_vjp(f: Callable, nondiff_argnums: tuple[int, ...] = ()) -> Callable:
    """Return a function whose pullback is defined by ``defvjp``, as with JAX's `custom_vjp`.

    Parameters
    ----------
    f : callable
        The function.
    nondiff_argnums : tuple of int
        The positions of arguments that are constants; ``bwd`` gets them first.

    Returns
    -------
    callable
        `f` with an attribute ``defvjp(fwd, bwd)``. ``fwd(*args)`` returns ``(y, residuals)``;
        ``bwd(*nondiff_args, residuals, y_bar)`` returns a tuple of cotangents, None for zero.

    Raises
    ------
    DifferentiationError
        When the function is called before ``defvjp``; otherwise as with :func:`custom_gradient`.

    Notes
    -----
    As everywhere in this package, the cotangent of a complex value is ``∂s/∂re + i ∂s/∂im``, the
    conjugate of JAX's.

    Examples
    --------
    >>> import numpy as np
    >>> from autodiff import gradient
    >>> @custom_vjp
    ... def clipped(x, limit):
    ...     return x
    >>> def clipped_fwd(x, limit):
    ...     return x, limit
    >>> def clipped_bwd(limit, y_bar):
    ...     return np.clip(y_bar, -limit, limit), None
    >>> clipped.defvjp(clipped_fwd, clipped_bwd)
    >>> gradient(lambda x: clipped(x, 1.0) ** 2, 3.0)
    1.0
    """
    _check_function(f, "custom_vjp")
    rules: list[Callable] = []

    def defvjp(fwd: Callable, bwd: Callable) -> None:
        rules[:] = [fwd, bwd]

    @functools.wraps(f)
    def with_vjp(*args: Any, **kwargs: Any) -> Any:
        if not rules:
            raise DifferentiationError(
                f"{name_of(f)} is a custom_vjp without a rule: call its defvjp(fwd, bwd) first."
            )
        fwd, bwd = rules

        def value(*args: Any) -> Any:
            return bound.call(f, args)

        def record(*args: Any) -> tuple[Any, Callable]:
            y, residuals = _pair(fwd, bound.call(fwd, args), "(y, residuals)")

            def pullback(y_bar: Any) -> Any:
                return call_user(bwd, *bound.constants, residuals, y_bar)

            return y, pullback

        bound = _bound(f, args, kwargs, nondiff_argnums)
        return _called(f, bound.args, value, record, None)

    with_vjp.defvjp = defvjp  # type: ignore[attr-defined] # as JAX has it
    return with_vjp


def custom_jvp(f: Callable, nondiff_argnums: tuple[int, ...] = ()) -> Callable:
    """Return a function whose pushforward is defined by ``defjvp``, as with JAX's `custom_jvp`.

    Parameters
    ----------
    f : callable
        The function.
    nondiff_argnums : tuple of int
        The positions of arguments that are constants; ``jvp`` gets them first.

    Returns
    -------
    callable
        `f` with two attributes. ``defjvp(jvp)`` takes a function ``jvp(*nondiff_args, primals,
        tangents)`` that returns ``(y, y_dot)`` and is linear in the tangents; it returns `jvp`, so
        it can be a decorator. ``defjvps(*jvps)`` takes a function ``jvp(x_dot, y, *primals)``, or
        None, for each argument.

    Raises
    ------
    DifferentiationError
        When the function is called before ``defjvp``; otherwise as with :func:`custom_gradient`.

    Examples
    --------
    >>> import numpy as np
    >>> from autodiff import gradient
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + np.exp(x))) * x_dot
    >>> gradient(log1pexp, 0.0)
    0.5
    """
    _check_function(f, "custom_jvp")
    rules: list[Callable] = []

    def defjvp(jvp: Callable) -> Callable:
        rules[:] = [jvp]
        return jvp

    def defjvps(*jvps: Callable | None) -> None:
        def summed(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            y = with_jvp(*primals)
            terms = [
                jvp(dot, y, *primals)
                for jvp, dot in zip(jvps, tangents, strict=True)
                if jvp is not None
            ]
            return y, sum(terms[1:], terms[0]) if terms else map_leaves(y, zero_tangent)

        rules[:] = [summed]

    @functools.wraps(f)
    def with_jvp(*args: Any, **kwargs: Any) -> Any:
        if not rules:
            raise DifferentiationError(
                f"{name_of(f)} is a custom_jvp without a rule: call its defjvp(jvp) first."
            )
        (jvp,) = rules

        def value(*args: Any) -> Any:
            return bound.call(f, args)

        def push(args: tuple, dots: tuple) -> tuple[Any, Any]:
            return _pair(jvp, call_user(jvp, *bound.constants, args, dots), "(y, y_dot)")

        def record(*args: Any) -> tuple[Any, Callable]:
            def pullback(y_bar: Any) -> Any:
                return _transposed(push, args, y_bar)

            return value(*args), pullback

        bound = _bound(f, args, kwargs, nondiff_argnums)
        return _called(f, bound.args, value, record, push)

    with_jvp.defjvp = defjvp  # type: ignore[attr-defined] # as JAX has it
    with_jvp.defjvps = defjvps  # type: ignore[attr-defined] # as JAX has it
    return with_jvp


# -- the one function with a rule ----------------------------------------------------------------


class Rules(str):
    """A function and its rules. It is a string, since strings are leaves of pytrees."""

    f: Callable
    value: Callable
    record: Callable
    push: Callable | None


def _with_rules(rules: Rules, *args: Any) -> Any:
    """Return the value of a function that has its own rules."""
    return rules.value(*args)


@rrule.register(_with_rules, Rules, [object])
def _with_rules_rrule(rules: Rules, *args: Any) -> tuple[Any, Callable]:
    y, pullback = rules.record(*args)
    pullback = with_own_variables(
        pullback
    )  # it runs later, when captured variables may have changed

    def custom_pullback(y_bar: Any) -> tuple:
        bars = call_user(pullback, as_pytree(y, y_bar))
        return NoTangent(), *_cotangents(rules.f, args, bars)

    return y, custom_pullback


@frule.register(_with_rules, Rules, [object])
def _with_rules_frule(dots: tuple, rules: Rules, *args: Any) -> tuple[Any, Any] | None:
    if rules.push is None:
        return None  # the engine uses the adjoint of the pullback
    trees = tuple([as_pytree(x, dot) for x, dot in zip(args, dots[1:], strict=True)])
    y, y_dot = rules.push(args, trees)
    return y, as_tangent(y, y_dot)


def _called(
    f: Callable, args: tuple, value: Callable, record: Callable, push: Callable | None
) -> Any:
    """Call a function, to be differentiated by its own rules."""
    _check_captures(f, innermost(args, {}))
    rules = Rules(name_of(f))
    rules.f, rules.value, rules.record, rules.push = f, value, record, push
    return call(_with_rules, (rules, *args))


def _transposed(push: Callable, args: tuple, y_bar: Any) -> tuple:
    """Return the cotangents of `args`: the transpose of a pushforward, applied to `y_bar`."""
    places = tuple([i for i, x in enumerate(args) if has_variables(x)])
    zeros = [as_pytree(x, ZeroTangent()) for x in args]
    pushed = Tangents(push, args, zeros, places)
    traced = Linearised(pushed, tuple([zeros[i] for i in places]), {}, None)
    found = dict(zip(places, traced.cotangents(y_bar), strict=True))
    return tuple([found.get(i) for i in range(len(args))])


class Tangents:
    """A pushforward as a function of some of the tangents."""

    def __init__(self, push: Callable, args: tuple, dots: list, places: tuple[int, ...]) -> None:
        self.push, self.args, self.dots, self.places = push, args, dots, places

    def __call__(self, *given: Any) -> Any:
        """Push these tangents."""
        dots = list(self.dots)
        for i, dot in zip(self.places, given, strict=True):
            dots[i] = dot
        return self.push(self.args, tuple(dots))[1]


def _check_function(f: Any, decorator: str) -> None:
    if not callable(f):
        raise TypeError(f"{decorator} takes a function, not {type(f).__name__}.")


def _check_captures(f: Callable, tape: Any) -> None:
    """Raise if a function with a custom derivative has captured a traced value."""
    if any(tape is None or x._tape.serial >= tape.serial for x in captured_tracers(f)):
        raise DifferentiationError(
            f"{name_of(f)} has a custom derivative, which is for its arguments, but it has "
            "captured a traced value from outside, whose derivative would be lost. Pass it as an "
            "argument, or wrap it in autodiff.ignore_derivatives(...)."
        )


class BoundArguments(NamedTuple):
    """The arguments of a call, put in their places.

    Attributes
    ----------
    args : tuple
        The positional arguments that are differentiated.
    constants : tuple
        Those that are not, in the order of `nondiff_argnums`.
    positions : dict of int to Any
        The latter by their positions.
    keywords : dict
        Keyword-only arguments.
    """

    args: tuple
    constants: tuple
    positions: dict[int, Any]
    keywords: dict[str, Any]

    def call(self, g: Callable, args: tuple) -> Any:
        """Call a user-defined function with `args` for the differentiated arguments."""
        remaining = iter(args)
        n = len(args) + len(self.positions)
        whole = [self.positions[i] if i in self.positions else next(remaining) for i in range(n)]
        return call_user(functools.partial(g, **self.keywords) if self.keywords else g, *whole)


def _bound(
    f: Callable, args: tuple, kwargs: dict[str, Any], nondiff: tuple[int, ...]
) -> BoundArguments:
    """Return the arguments of a call of `f`; those that are constants must not be traced."""
    if kwargs:
        given = inspect.signature(f).bind(*args, **kwargs)
        args, kwargs = given.args, given.kwargs
    if innermost((), kwargs) is not None:
        raise DifferentiationError(
            f"{name_of(f)} has a custom derivative, which is for its positional arguments; a "
            f"traced value was given as {', '.join(kwargs)}. Make that a positional argument."
        )
    positions = {i: args[i] for i in nondiff}
    constants = tuple(positions.values())
    if innermost(constants, {}) is not None:
        raise DifferentiationError(
            f"{name_of(f)} was given a traced value for an argument in its nondiff_argnums. Take "
            "it out of them, or wrap the value in autodiff.ignore_derivatives(...)."
        )
    return BoundArguments(
        tuple([x for i, x in enumerate(args) if i not in positions]), constants, positions, kwargs
    )


def _pair(f: Callable, result: Any, form: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise DifferentiationError(
            f"{name_of(f)} must return a pair {form}; it returned a "
            f"{type(untraced(result)).__name__}."
        )
    return result


def _cotangents(f: Callable, args: tuple, bars: Any) -> tuple:
    """Return a cotangent for each argument, from what a custom pullback returned."""
    n = len(args)
    if type(bars) is tuple and len(bars) == n + 1 and isinstance(bars[0], AbstractZero):
        bars = bars[1:]
    elif type(bars) is not tuple and n == 1 and bars is not None:
        bars = (bars,)
    if type(bars) is not tuple or len(bars) != n:
        found = len(bars) if type(bars) is tuple else f"a {type(untraced(bars)).__name__}"
        raise DifferentiationError(
            f"the custom pullback of {name_of(f)} must return a tuple with a cotangent for each of "
            f"its {n} arguments; it returned {found}. Give None for one that is not perturbed."
        )
    made = []
    for i, (x, bar) in enumerate(zip(args, bars, strict=True)):
        try:
            made.append(ZeroTangent() if bar is None else as_tangent(x, bar))
        except MISFITS as error:
            raise DifferentiationError(
                f"the custom pullback of {name_of(f)} returned a {type(untraced(bar)).__name__} "
                f"for argument {i}, a {type(untraced(x)).__name__} ({error}). Return one with the "
                "structure of the argument, or None where it is not perturbed."
            ) from error
    return tuple(made)
