"""Debug mode: costly checks around every rule, off by default."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_state = {"debug": os.environ.get("CHAINRULES_DEBUG", "") not in ("", "0")}


def is_debug() -> bool:
    """Whether debug mode is on."""
    return _state["debug"]


def set_debug(on: bool) -> None:
    """Switch debug mode on or off for the whole process.

    In debug mode, the frame around rules also checks that in-place accumulation returns the same
    buffer that it got, that no cotangent is NaN unless the seed or an argument is, and that adding
    a tangent to a primal can build the type of the primal.

    The environment variable ``CHAINRULES_DEBUG=1`` switches it on from the start.
    """
    _state["debug"] = bool(on)


@contextmanager
def debug_mode(on: bool = True) -> Iterator[None]:
    """Switch debug mode on inside a ``with`` block.

    Examples
    --------
    >>> with debug_mode():
    ...     is_debug()
    True
    """
    before = _state["debug"]
    _state["debug"] = bool(on)
    try:
        yield
    finally:
        _state["debug"] = before
