"""Tracebacks that show the user's code, without the frames of the engine."""

from __future__ import annotations

import os
import types

from chainrules_core.interpreter.places import MADE_HERE

_OURS = frozenset({"autodiff", "chainrules", "chainrules_core", "multipledispatch"})


class _Settings:
    full = os.environ.get("AUTODIFF_TRACEBACKS", "") == "full"


def full_tracebacks(enabled: bool) -> bool:
    """Set whether tracebacks show the frames of the engine and its rules.

    By default they are hidden, unless the environment variable ``AUTODIFF_TRACEBACKS`` is ``full``.

    Parameters
    ----------
    enabled : bool
        The new setting.

    Returns
    -------
    bool
        The setting before.

    Examples
    --------
    >>> before = full_tracebacks(True)
    >>> full_tracebacks(before)
    True
    """
    before, _Settings.full = _Settings.full, bool(enabled)
    return before


def hide_engine(error: BaseException) -> None:
    """Remove the engine's frames from the traceback of an error, and of its causes.

    The outermost frame, that of the function called by the user, is kept.
    """
    if _Settings.full:
        return
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _shortened(one.__traceback__)
        waiting += [one.__cause__, one.__context__]


def _shortened(outermost: types.TracebackType | None) -> types.TracebackType | None:
    kept = outermost
    while kept is not None:
        inner = kept.tb_next
        while inner is not None and _is_of_engine(inner.tb_frame):
            inner = inner.tb_next
        kept.tb_next = inner
        kept = inner
    return outermost


def _is_of_engine(frame: types.FrameType) -> bool:
    package = (frame.f_globals.get("__name__") or "").partition(".")[0]
    return package in _OURS or frame.f_code.co_filename.startswith(MADE_HERE)
