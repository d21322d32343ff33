"""How a rule calls back into the engine that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_core.errors import MissingCapabilityError


class Capability:
    """Something that an engine can do. Rules may require it with ``requires=``."""


class HasReverseMode(Capability):
    """The engine answers :func:`rrule_via_ad`."""


class NoReverseMode(Capability):
    """The engine has no reverse mode: the complement of `HasReverseMode`."""


class HasForwardMode(Capability):
    """The engine answers :func:`frule_via_ad`."""


class NoForwardMode(Capability):
    """The engine has no forward mode: the complement of `HasForwardMode`."""


class SupportsMutation(Capability):
    """The engine follows writes into arrays, so rules of mutating functions are safe."""


class RuleConfig:
    """What an engine can do. Rules that ask for it get this object.

    An engine subclasses it, lists its `capabilities` and implements the methods that they promise.
    A rule registered with ``requires=`` or ``config=`` gets the configuration as its first
    argument, and takes precedence over rules without.

    Attributes
    ----------
    capabilities : frozenset of type
        Subclasses of :class:`Capability`.
    primal : callable, optional
        ``primal(f, args, kwargs)`` computes a primal for derived rules; None calls `f`. An engine
        sets it if the arguments of a rule may be traced on an outer level.
    body : callable, optional
        ``body(function)`` returns what to run in place of the function of a rule, for the same
        purpose.

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
        """Return whether the engine has all of `capabilities`."""
        return self.capabilities.issuperset(capabilities)

    def rrule_via_ad(self, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """Differentiate `f` in reverse, by a rule or its body. Like ``rrule``, but never None."""
        raise MissingCapabilityError(self, HasReverseMode, "rrule_via_ad")

    def frule_via_ad(self, dots: tuple, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Differentiate `f` forward, by a rule or its body. Like ``frule``, but never None."""
        raise MissingCapabilityError(self, HasForwardMode, "frule_via_ad")

    def as_written(self, f: Callable) -> Callable:
        """Return a function that computes `f` on plain values, without the cost of tracing.

        An engine overrides it if the functions that it passes to rules look for traced values.
        """
        return f

    def repeated(self, which: str, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
        """Return a derivative of `f` as a function of the point, or None.

        Rules of solvers need it at many points. An engine that can prepare it once returns a
        function. None means that :meth:`rrule_via_ad` or :meth:`frule_via_ad` is as good.

        Parameters
        ----------
        which : {"pullback", "pushforward", "second"}
            ``pull(y_bar, *args)`` returns two tuples of cotangents: of the values that `f` has
            captured (if it is a ``Closure``), and of the arguments at `argnums`.
            ``push(value_dots, arg_dots, *args)`` returns the value and its tangent.
            ``second(y_bar, y_bar_dot, value_dots, arg_dots, *args)`` returns what the pullback
            does, and its tangents.
        f : callable
            The function.
        argnums : tuple of int
            The positions of the arguments that have cotangents, or tangents.
        """
        return None


def rrule_via_ad(
    config: RuleConfig, f: Callable, *args: Any, **kwargs: Any
) -> tuple[Any, Callable]:
    """Ask the engine of `config` to differentiate `f` in reverse.

    Parameters
    ----------
    config : RuleConfig
        The first argument of the rule.
    f : callable
        Any function. The engine uses its rule, or differentiates its body if there is none.
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
    """Ask the engine of `config` to differentiate `f` forward.

    Parameters
    ----------
    config : RuleConfig
        The first argument of the rule.
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
