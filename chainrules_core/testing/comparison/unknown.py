"""Cotangents of which parts are not implemented: what is known of them can be checked still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_core.tangents import NotImplementedTangent, Tangent, ZeroTangent, unthunk
from chainrules_core.testing.comparison.compare import assert_tangents_close
from chainrules_core.testing.numeric.vectors import items_of


def is_zero(bar: Any) -> bool:
    """Whether a tangent is zero, of whatever kind."""
    try:
        assert_tangents_close(bar, ZeroTangent())
    except AssertionError:
        return False
    return True


def without_missing(bar: Any) -> tuple[Any, list[NotImplementedTangent]]:
    """Return a structural tangent with its missing parts as zeros, and those parts."""
    bar = unthunk(bar)
    if isinstance(bar, NotImplementedTangent):
        return ZeroTangent(), [bar]
    if not isinstance(bar, Tangent):
        return bar, []
    missing: list[NotImplementedTangent] = []

    def replaced(part: Any) -> Any:
        known, gone = without_missing(part)
        missing.extend(gone)
        return _Unknown() if isinstance(unthunk(part), NotImplementedTangent) else known

    new = Tangent.map(bar, replaced)
    return (new, missing) if missing else (bar, [])


class _Unknown(NotImplementedTangent):
    """Marks a part that is not compared; equal to every other mark."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("", None, "", 0, "")

    def __reduce__(self) -> tuple:
        return _Unknown, ()


def where_known(expected: Any, bar: Any) -> Any:
    """Return `expected` with the parts marked that are unknown in `bar`."""
    if isinstance(bar, _Unknown):
        return bar
    if not (isinstance(bar, Tangent) and isinstance(expected, Tangent)):
        return expected
    parts = {key: where_known(part, bar[key]) for key, part in items_of(expected)}
    values: Callable = iter(list(parts.values())).__next__
    return Tangent.map(expected, lambda _: values())
