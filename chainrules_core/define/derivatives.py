"""The partial derivatives of an elementwise function as values; whether they read its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_core.define.scalar import ScalarRule
from chainrules_core.errors import RuleDefinitionError
from chainrules_core.rule import name_of
from chainrules_core.rules import checked_key, rrule


def derivatives_given_output(y: Any, f: Callable, *args: Any) -> tuple | None:
    """Return the partial derivatives of `f` as values: ``D[i][j]`` = ∂y_i/∂x_j.

    Parameters
    ----------
    y : value
        The output of ``f(*args)``, or None if the rule does not read it (`needs_output`).
    f : callable
        A function defined by :func:`scalar_rule`.
    *args : values
        Its arguments.

    Returns
    -------
    tuple of tuple, or None
        The partial derivatives, or None if `f` has no rule of this kind.

    Examples
    --------
    >>> from chainrules_core import frule, scalar_rule
    >>> def square(x): return x * x
    >>> scalar_rule(square, lambda y, x: 2 * x)
    >>> derivatives_given_output(None, square, 3.0)
    ((6.0,),)
    >>> rrule.unregister(square); frule.unregister(square)
    """
    found = rrule.resolve(f, args, {})
    if found is None or not isinstance(found[0], ScalarRule):
        return None
    return found[0].derivatives(y, args)


def needs_output(f: Callable, *types: type) -> bool:
    """Return whether the partials of `f`, which has a `scalar_rule`, read its output."""
    entry = rrule.entry(checked_key(f))
    rule = None if entry is None else entry.find(types)
    if not isinstance(rule, ScalarRule):
        kinds = ", ".join(t.__name__ for t in types)
        raise RuleDefinitionError(
            f"{name_of(f)} has no scalar_rule{f' for ({kinds})' if types else ''}, and only a "
            "scalar_rule has partials. Define one, or call rrule."
        )
    return rule.setup is not None or any(0 in p.reads for row in rule.partials for p in row)
