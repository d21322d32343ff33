"""Where in the user's code something happens, for errors to name."""

from __future__ import annotations

import itertools
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

_OURS = frozenset({"chainrules", "chainrules_core", "numpy", "multipledispatch"})
_ENTRIES: tuple[str, ...] = ()
"""The names with which the modules begin whose functions differentiate those of users."""
MADE_HERE = "<engine: "
"""How the file names of code begin that an engine has written."""
_PATHS = sysconfig.get_paths()
_LIBRARY = tuple(
    {_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if _PATHS.get(name)}
)


def add_engine(package: str, entries: str) -> None:
    """Have errors name no line of an engine's own code.

    Parameters
    ----------
    package : str
        The name of the engine's package.
    entries : str
        How the names of the modules begin whose functions differentiate those of users.

    Examples
    --------
    >>> add_engine("my_engine", "my_engine.api")
    """
    globals().update(_OURS=_OURS | {package}, _ENTRIES=(*_ENTRIES, entries))


def folder_of(package: str) -> str:
    """Return the folder of a loaded package, with a separator at its end."""
    return os.path.dirname(os.path.abspath(sys.modules[package].__file__ or "")) + os.sep


def is_library_file(filename: str) -> bool:
    """Whether code of a file is the standard library's or an installed package's."""
    return filename.startswith((*_LIBRARY, "<frozen"))


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def frames() -> Iterator[types.FrameType]:
    """Yield the frames from here outwards, without ours and NumPy's."""
    return itertools.filterfalse(_is_ours, _running())


def _running() -> Iterator[types.FrameType]:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_ours(module: Any) -> bool:
    """Whether a module of this name is an engine's, or one of the rules' or NumPy's."""
    return type(module) is str and module.partition(".")[0] in _OURS


def _is_ours(frame: types.FrameType) -> bool:
    is_written = frame.f_code.co_filename.startswith(MADE_HERE)
    return is_written or is_ours(frame.f_globals.get("__name__"))


def user_line(inner: types.TracebackType | None = None) -> str:
    """Return where the user's code is: the innermost frame outside ours, NumPy's and libraries'.

    What a library was doing there is named after it. Code made of text is the user's only if
    nothing that was called from a differentiated function has a file.

    Parameters
    ----------
    inner : traceback, optional
        Of an exception: its frames, which have ended, come before those that are running.
    """
    library = made = ""
    for frame, line in _lines(inner):
        if _is_ours(frame):
            if made and (frame.f_globals.get("__name__") or "").startswith(_ENTRIES):
                return made  # what is differentiated was itself made of text
            continue
        code = frame.f_code
        place = f"{code.co_filename}, line {line}, in {code.co_name}"
        if is_library_file(code.co_filename):
            library = library or place
            continue
        place = f"{place} (through {library})" if library else place
        if not _is_made_of_text(code.co_filename):
            return place
        made = made or place
    return made or library or "an unknown line"


_PROMPTS = ("<stdin", "<input", "<console", "<python-input", "<ipython-input")


def _is_made_of_text(filename: str) -> bool:
    """Whether code was made by ``exec``: by a library, as a rule, to wrap a function."""
    return filename.startswith("<") and not filename.startswith(_PROMPTS)


def _lines(inner: types.TracebackType | None) -> Iterator[tuple[types.FrameType, int]]:
    """Yield the lines of a traceback, and those that are running, the innermost first."""
    ended = []
    while inner is not None:
        ended.append(inner)
        inner = inner.tb_next
    yield from [(t.tb_frame, t.tb_lineno) for t in ended[::-1]]
    yield from ((frame, frame.f_lineno) for frame in _running())


def say_where(error: BaseException) -> None:
    """Add a note with the user's line to an error that does not name it."""
    if not hasattr(error, "where"):
        where = user_line(error.__traceback__)
        error.where = where  # type: ignore[attr-defined]
        error.add_note(f"  at {where}")
