"""Tracebacks show the user's code: the engine's frames are left out unless they are asked for."""

from __future__ import annotations

import os
import types

from chainrules_core.places import MADE_HERE

_OURS = frozenset({"autodiff", "chainrules", "chainrules_core", "multipledispatch"})


class _Settings:
    full = os.environ.get("AUTODIFF_TRACEBACKS", "") == "full"


def full_tracebacks(enabled: bool) -> bool:
    """Say whether tracebacks show the frames of the engine and its rules.

    They do not, from the beginning, unless the environment has ``AUTODIFF_TRACEBACKS=full``.

    Parameters
    ----------
    enabled : bool
        Whether they are shown from now on.

    Returns
    -------
    bool
        Whether they were shown before.

    Examples
    --------
    >>> before = full_tracebacks(True)
    >>> full_tracebacks(before)
    True
    """
    before, _Settings.full = _Settings.full, bool(enabled)
    return before


def hide_engine(error: BaseException) -> None:
    """Leave the engine's frames out of the traceback of an error, and of what led to it.

    The outermost frame stays: that of the function which the user has called.
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
