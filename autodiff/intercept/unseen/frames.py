"""Functions that look at the frames of their callers, which see the user's frames alone.

The replacement of a function may have a frame of its own between two of the user's. So
``sys._getframe`` and its kin, called in a traced function, do not count the engine's frames. The
library's functions that call them are always rewritten, so that these calls are intercepted too.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from autodiff.intercept.source import fusion_sites
from chainrules_core.places import MADE_HERE, folder_of

_ENGINE = folder_of("autodiff"), MADE_HERE
_LOOKING = frozenset({"_getframe", "_getframemodulename", "currentframe", "stack"})


def is_of_engine(code: types.CodeType) -> bool:
    """Whether a frame of this code is the engine's own, not that of a function it has rewritten."""
    # A lambda in the place of an expression is the engine's, too.
    return code.co_filename.startswith(_ENGINE) or fusion_sites.is_generic(code)


def _skipping(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the frame itself, or the next one out that is not the engine's."""
    while frame is not None and is_of_engine(frame.f_code):
        frame = frame.f_back
    return frame


def frame_at(depth: int = 0, /) -> types.FrameType:
    """Do ``sys._getframe(depth)`` for rewritten code that calls this."""
    frame = _skipping(sys._getframe(1))
    for _ in range(depth):
        frame = frame and _skipping(frame.f_back)
    if frame is None:
        raise ValueError("call stack is not deep enough")
    return frame


def module_at(depth: int = 0) -> str | None:
    """Do ``sys._getframemodulename(depth)``."""
    try:
        return frame_at(depth).f_globals.get("__name__")
    except ValueError:
        return None


def current_frame() -> types.FrameType:
    """Do ``inspect.currentframe()``."""
    return frame_at()


def stack(context: int = 1) -> list[inspect.FrameInfo]:
    """Do ``inspect.stack(context)``."""
    return [
        info
        for info in inspect.getouterframes(frame_at(), context)
        if not is_of_engine(info.frame.f_code)
    ]


REPLACED: dict[Any, Callable] = {
    sys._getframe: frame_at,
    inspect.currentframe: current_frame,
    inspect.stack: stack,
}
if hasattr(sys, "_getframemodulename"):  # since Python 3.12
    REPLACED[sys._getframemodulename] = module_at


def looks_at_frames(code: types.CodeType) -> bool:
    """Whether a function names what looks at its caller's frame."""
    return not _LOOKING.isdisjoint(code.co_names)
