"""Rules that declare that there is nothing to differentiate, or that a rule should not be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from chainrules_core.calling.signatures import Signature
from chainrules_core.config import HasForwardMode, HasReverseMode
from chainrules_core.rule import Rule
from chainrules_core.rules import RuleTable, checked_key, frule, rrule
from chainrules_core.tangents import NoTangent

_ANYTHING = Signature((), 0, varargs=True, any_option=True)


class _AnyArguments(Rule):
    """A rule that takes the arguments of the function unbound."""

    has_formula = False

    def __init__(self, f: Callable, types: tuple, **traits: Any) -> None:
        super().__init__(f, types, lambda: _ANYTHING, **traits)

    @property
    def binder(self) -> Any:
        """A binder that does not change the call."""
        return _AS_IT_COMES


class _AsItComes:
    """The binder of rules that look at no argument."""

    @staticmethod
    def bind(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        return args, kwargs

    @staticmethod
    def places(given: int, keywords: Iterable[str] = ()) -> list[int | None]:
        return list(range(given))

    @staticmethod
    def name_at(position: int) -> str:
        return f"argument {position}"


_AS_IT_COMES = _AsItComes()


class NonDifferentiableRule(_AnyArguments):
    """The rule of a function whose output does not depend differentiably on anything."""

    kind = "non_differentiable"

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: Any = None,
    ) -> tuple[Any, Callable]:
        """Call the function; every cotangent is NoTangent."""
        y = self.f(*args, **options)
        n = len(args) + 1 if wanted is None else len(wanted)

        def pull(y_bar: Any) -> tuple:
            return (NoTangent(),) * n

        return y, pull

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], config: Any = None
    ) -> tuple[Any, Any]:
        """Call the function; the tangent is NoTangent."""
        return self.f(*args, **options), NoTangent()


class OptOut(_AnyArguments):
    """Marks types for which a more general rule is not to be used."""

    kind = "opt_out"


class DecomposeRule(Rule):
    """A rule to differentiate a plain body in place of the function."""

    kind = "decompose"
    has_formula = False

    def __init__(
        self,
        f: Callable,
        types: tuple,
        body: Callable,
        mode: str,
        shaped_by: Sequence[int] = (),
    ) -> None:
        needs = HasReverseMode if mode == "rrule" else HasForwardMode
        super().__init__(f, types, lambda: Signature.of_rule(body), requires=frozenset({needs}))
        self.body = body
        self.shaped_by = shaped_by

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: Any = None,
    ) -> tuple[Any, Callable]:
        """Have the engine differentiate the body."""
        y, pullback = config.rrule_via_ad(self.body, *args, **options)

        def pull(y_bar: Any) -> tuple:
            bars = pullback(y_bar)
            return bars if wanted is None else tuple([bars[i + 1] for i in wanted])

        return y, pull

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], config: Any = None
    ) -> tuple[Any, Any]:
        """Have the engine push through the body."""
        return config.frule_via_ad((NoTangent(), *dots), self.body, *args, **options)


def non_differentiable(f: Callable | tuple[Callable, ...], *types: Any) -> Any:
    """Declare that the output of `f` does not depend differentiably on its arguments.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several. The declaration covers keywords and any number of arguments.
    *types : type, tuple or list
        The types of the leading arguments for which this holds (all, if you give none):
        ``non_differentiable(concat, [str])`` for any number of strings.

    Returns
    -------
    callable
        `f`, so that it can be used as a decorator.

    Examples
    --------
    >>> import operator
    >>> non_differentiable(operator.concat, [str])
    <built-in function concat>
    >>> rrule(operator.concat, "a", "b")[1](1.0)
    (NoTangent(), NoTangent(), NoTangent())
    >>> rrule.unregister(operator.concat); frule.unregister(operator.concat)
    """
    for target in f if isinstance(f, tuple) else (f,):
        rule = NonDifferentiableRule(checked_key(target), types)
        rrule.add(rule)
        frule.add(rule)
    return f


def opt_out(table: RuleTable, f: Callable, *types: Any, config: type | None = None) -> None:
    """Declare that engines should trace `f` instead of using its rule, for some types.

    Parameters
    ----------
    table : RuleTable
        `rrule` or `frule`.
    f : callable
        The function.
    *types : type, tuple or list
        Types more specific than those of the rule to avoid. An even more specific rule wins again.
    config : type, optional
        Only for engines with this ``RuleConfig``.

    Examples
    --------
    >>> import numpy as np
    >>> class MyArray(np.ndarray): pass
    >>> opt_out(rrule, np.matmul, MyArray)
    >>> rrule.is_opted_out(np.matmul, MyArray, MyArray)
    True
    >>> rrule.unregister(np.matmul, MyArray)
    """
    table.add(OptOut(checked_key(f), types, config_type=config))


def decompose(
    f: Callable | tuple[Callable, ...], *types: Any, shaped_by: Sequence[int] = ()
) -> Callable[[Callable], Callable]:
    """Declare a plain body that engines differentiate in place of `f`.

    Use it for functions that have no rule and cannot be traced, but can be written in terms of
    functions that have rules. The decorated body must compute the same values.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several that compute the same.
    *types : type, tuple or list
        Types of the leading arguments.
    shaped_by : sequence of int
        As for ``rrule.register``.

    Returns
    -------
    callable
        A decorator that returns the body unchanged.
    """

    def add(body: Callable) -> Callable:
        for target in f if isinstance(f, tuple) else (f,):
            for table in (rrule, frule):
                key = checked_key(target)
                table.add(DecomposeRule(key, types, body, table.mode, shaped_by))
        return body

    return add
