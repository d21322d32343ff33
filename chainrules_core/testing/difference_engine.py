"""TestConfig: an engine for tests, which differentiates by rules, else by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_core.config import HasForwardMode, HasReverseMode, RuleConfig
from chainrules_core.registry.entries import key_of
from chainrules_core.rules import frule, rrule
from chainrules_core.tangents import NoTangent, unthunk_deep
from chainrules_core.testing.numeric.differences import FiniteDifferences, jvp_fd, vjp_fd


class TestConfig(RuleConfig):
    """A configuration with both modes, for testing rules that call back into the engine.

    A function that the rule hands back is differentiated by its own rule, and by finite
    differences where it has none: so rules of higher-order functions can be tested without an
    engine. What a closure refers to is not perturbed.

    Parameters
    ----------
    fdm : FiniteDifferences, optional
        The method; `central_fdm()` by default.

    Examples
    --------
    >>> y, pullback = TestConfig().rrule_via_ad(lambda x: x**3, 2.0)
    >>> f_bar, x_bar = pullback(1.0)
    >>> f_bar, round(x_bar, 9)
    (NoTangent(), 12.0)
    """

    __test__ = False  # not a test class, whatever its name

    capabilities: ClassVar[frozenset[type]] = frozenset({HasReverseMode, HasForwardMode})

    def __init__(self, fdm: FiniteDifferences | None = None) -> None:
        self.fdm = fdm

    def rrule_via_ad(self, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """Use the rrule of `f`, else finite differences."""
        found = rrule(self, f, *args, **kwargs)
        if found is not None:
            return found
        key, own = key_of(f)

        def differences_pullback(y_bar: Any) -> tuple:
            bars = vjp_fd(key, (*own, *args), unthunk_deep(y_bar), self.fdm, **kwargs)
            return bars if own else (NoTangent(), *bars)

        return f(*args, **kwargs), differences_pullback

    def frule_via_ad(self, dots: tuple, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Use the frule of `f`, else finite differences."""
        found = frule(self, dots, f, *args, **kwargs)
        if found is not None:
            return found
        key, own = key_of(f)
        dots = dots if own else dots[1:]
        return f(*args, **kwargs), jvp_fd(key, (*own, *args), dots, self.fdm, **kwargs)
