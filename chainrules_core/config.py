"""How a rule calls back into the engine that asked for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_core.errors import MissingCapabilityError


class Capability:
    """Something an engine can do; rules may require it with ``requires=``."""


class HasReverseMode(Capability):
    """The engine answers :func:`rrule_via_ad`."""


class NoReverseMode(Capability):
    """The engine has no reverse mode: the complement of `HasReverseMode`."""


class HasForwardMode(Capability):
    """The engine answers :func:`frule_via_ad`."""


class NoForwardMode(Capability):
    """The engine has no forward mode: the complement of `HasForwardMode`."""


class SupportsMutation(Capability):
    """The engine follows writes into arrays, so that rules of mutating functions are safe."""


class RuleConfig:
    """The capabilities of an engine, given to the rules that ask for them.

    An engine subclasses it, lists its `capabilities` and implements the methods they promise. A
    rule registered with ``requires=`` or ``config=`` gets the configuration as first argument and
    goes before rules that do without.

    Attributes
    ----------
    capabilities : frozenset of type
        Subclasses of :class:`Capability`.
    primal : callable, optional
        ``primal(f, args, kwargs)``: how derived rules are to compute a primal; None calls `f`. An
        engine sets it where the arguments of a rule may be traced on an outer level.
    body : callable, optional
        ``body(function)``: what to run in place of a rule's own function; for the same purpose.

    Examples
    --------
    >>> class MyEngine(RuleConfig):
    ...     capabilities = frozenset({HasReverseMode, NoForwardMode})
    >>> MyEngine().has(HasReverseMode)
    True
    """

    capabilities: ClassVar[frozenset[type]] = frozenset()
    primal: ClassVar[Callable | None] = None
    body: ClassVar[Callable | None] = None

    def has(self, *capabilities: type) -> bool:
        """Whether all of `capabilities` are there."""
        return self.capabilities.issuperset(capabilities)

    def rrule_via_ad(self, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """Differentiate `f` in reverse, by a rule or by its body; as ``rrule``, never None."""
        raise MissingCapabilityError(self, HasReverseMode, "rrule_via_ad")

    def frule_via_ad(self, dots: tuple, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Differentiate `f` forward, by a rule or by its body; as ``frule``, never None."""
        raise MissingCapabilityError(self, HasForwardMode, "frule_via_ad")

    def as_written(self, f: Callable) -> Callable:
        """Return a function that does what `f` does on plain values, as fast as it was written.

        An engine that hands over functions in which it looks for traced values has another one.
        """
        return f

    def repeated_pullback(self, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
        """Return the pullback of a function as a function of the point, or None.

        For rules that need it at many points, as solvers do: an engine that can prepare it once
        returns ``pull(y_bar, *args)``, which returns two tuples of cotangents: of the values that
        `f` has captured (if it is a ``Closure``), and of the arguments at `argnums`. None means
        that :meth:`rrule_via_ad` is as good.
        """
        return None

    def repeated_pushforward(self, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
        """Return the pushforward of a function as a function of the point, or None.

        As :meth:`repeated_pullback`: ``push(value_dots, arg_dots, *args)`` returns the value and
        its tangent.
        """
        return None

    def repeated_second(self, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
        """Return the pushforward of the pullback as a function of the point, or None.

        As :meth:`repeated_pullback`: ``second(y_bar, y_bar_dot, value_dots, arg_dots, *args)``
        returns what the pullback does, and its tangents.
        """
        return None


def rrule_via_ad(
    config: RuleConfig, f: Callable, *args: Any, **kwargs: Any
) -> tuple[Any, Callable]:
    """Have the engine behind `config` differentiate `f` in reverse.

    Parameters
    ----------
    config : RuleConfig
        What the rule got as its first argument.
    f : callable
        Any function: a rule for it is used, else its body is differentiated.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    tuple
        ``(y, pullback)``; the pullback returns a cotangent for `f` and for each of `args`.

    Raises
    ------
    MissingCapabilityError
        If the engine has no reverse mode.
    """
    return config.rrule_via_ad(f, *args, **kwargs)


def frule_via_ad(
    config: RuleConfig, dots: tuple, f: Callable, *args: Any, **kwargs: Any
) -> tuple[Any, Any]:
    """Have the engine behind `config` differentiate `f` forward.

    Parameters
    ----------
    config : RuleConfig
        What the rule got as its first argument.
    dots : tuple
        Tangents of `f` itself and of each of `args`.
    f : callable
        Any function.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    tuple
        ``(y, y_dot)``.

    Raises
    ------
    MissingCapabilityError
        If the engine has no forward mode.
    """
    return config.frule_via_ad(dots, f, *args, **kwargs)
