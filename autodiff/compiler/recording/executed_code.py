"""Checks that all user code that runs while a call is recorded was analysed before.

A program compares outside variables at each call. They are found in the code before the recording.
Code that is reached in another way (by a library's wrapper, a C function, a text that names it) may
read other variables. So the recording notes which code runs, and is discarded if some of it was not
analysed. This is most of the time that a recording takes, since Python 3.11 runs about three times
as long with a trace function, even one that does nothing.

``t += h`` rebinds `t` if it is a number, and writes into it if it is an array. Where the code does
not show which, the value is checked when the line runs.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autodiff.compiler.compile_errors import NotRecordedError
from autodiff.compiler.recording.content_guards import OURS
from autodiff.intercept.source.library_code import is_of_library
from autodiff.trace.tracer import bare
from chainrules_core.interpreter.places import MADE_HERE, codes_in, folder_of, is_library_file

Place = tuple[str, int]
"""A file and a line."""
_MISSING: Any = object()
_OURS = (MADE_HERE, "<compiled ", *map(folder_of, OURS))
"""Prefixes of the names of files with our own code."""
_OF_NAMED_TUPLES = "namedtuple_"
"""Prefix of the name of the globals of the `__new__` of a named tuple."""


def places_of(functions: Iterable[types.FunctionType]) -> set[Place]:
    """Return the lines of functions; their rewritten code begins on one of them."""
    places: set[Place] = set()
    for g in functions:
        for code in codes_in(g.__code__):
            lines = [line for *_, line in code.co_lines() if line is not None]
            span = range(code.co_firstlineno, max(lines, default=0) + 1)
            places.update((code.co_filename, line) for line in span)
    return places


class Watch:
    """Notes which user code runs in this thread.

    Under a debugger it notes nothing, because a thread has only one trace function.

    Parameters
    ----------
    looked_into : set of tuple
        The lines of the functions that were analysed.
    numbers : dict
        (File, line) of a statement ``t += h`` → the variable that must be a number there.

    Attributes
    ----------
    unseen : str
        The name of a function that ran without having been analysed; "" if there is none.

    Raises
    ------
    NotRecordedError
        In the function, before it writes into a variable that must be a number and is none.
    """

    def __init__(self, looked_into: set[Place], numbers: Mapping[Place, str]) -> None:
        self.unseen = ""
        self._looked_into = looked_into
        self._numbers = numbers
        self._is_on = False

    def __enter__(self) -> Watch:
        self._is_on = sys.gettrace() is None
        if self._is_on:
            sys.settrace(self._at_calls())
        elif self._numbers:
            raise NotRecordedError("which variables are numbers cannot be seen under a debugger")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_on:
            sys.settrace(None)

    def _at_calls(self) -> Callable:
        """Return the trace function, which Python calls for every frame: it has to be short."""
        known: dict[int, tuple[types.CodeType, Callable | None]] = {}  # keeps the codes alive

        def called(frame: types.FrameType, event: str, arg: object) -> Callable | None:
            found = known.get(id(frame.f_code))
            if found is None:
                found = known[id(frame.f_code)] = frame.f_code, self._first_call(frame)
            return found[1]

        return called

    def _first_call(self, frame: types.FrameType) -> Callable | None:
        """Check code that runs for the first time; return what traces its lines, or None."""
        code = frame.f_code
        is_known = (code.co_filename, code.co_firstlineno) in self._looked_into
        if not is_known and not self.unseen and _is_of_users(frame):
            self.unseen = code.co_qualname
        lines = code.co_lines() if self._numbers else ()
        has_numbers = any((code.co_filename, line) in self._numbers for *_, line in lines)
        return self._at_line if has_numbers else None

    def _at_line(self, frame: types.FrameType, event: str, arg: object) -> Callable:
        code = frame.f_code
        name = self._numbers.get((code.co_filename, frame.f_lineno)) if event == "line" else None
        # An expression of the line may be a function of its own.
        if name is not None and name in (*code.co_varnames, *code.co_cellvars):
            kind = type(bare(frame.f_locals.get(name, _MISSING)))
            if kind not in _NUMBERS:
                raise NotRecordedError(f"{name!r}, which is written into, may be another's")
        return self._at_line


_NUMBERS = {bool, int, float, complex, *np.sctypeDict.values()} - {np.void, np.object_}


def _is_of_users(frame: types.FrameType) -> bool:
    code = frame.f_code
    file = code.co_filename
    if file.startswith(_OURS) or is_library_file(file) or code.co_name == "<module>":
        return False
    if not file.startswith("<"):
        return True
    name = str(frame.f_globals.get("__name__"))  # a dataclass's method, say, was made for a module
    module = sys.modules.get(name)
    return not (
        name.startswith(_OF_NAMED_TUPLES)
        or name.partition(".")[0] in OURS
        or (module is not None and is_of_library(module))
    )
