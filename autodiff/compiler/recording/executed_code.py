"""What code of the user's does while a call is recorded: all of it must have been looked into.

The variables that a program compares at each call are found in code before the recording. Code that
is reached in another way (by a library's wrapper, a C function, a text that names it) may read
others. So the recording notes which code runs, and is of no use if some of it was not looked into.

``t += h`` binds `t` anew if it is a number, and writes into it if it is an array. Where the code
does not show which, it is looked at when the line runs.
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
"""So begin the names of files with code of ours."""
_OF_NAMED_TUPLES = "namedtuple_"
"""So begins the name of the variables around the `__new__` of a named tuple."""


def places_of(functions: Iterable[types.FunctionType]) -> set[Place]:
    """Return the lines of functions: their rewritten forms begin in one of them."""
    places: set[Place] = set()
    for g in functions:
        for code in codes_in(g.__code__):
            lines = [line for *_, line in code.co_lines() if line is not None]
            span = range(code.co_firstlineno, max(lines, default=0) + 1)
            places.update((code.co_filename, line) for line in span)
    return places


class Watch:
    """Notes code of the user's that runs, in this thread.

    Under a debugger nothing is noted: there is one place for a function that is told of calls.

    Parameters
    ----------
    looked_into : set of tuple
        The lines of the functions that were looked into.
    numbers : dict
        (File, line) of a statement ``t += h`` → the variable that must be a number there.

    Attributes
    ----------
    unseen : str
        The name of a function that ran and was not looked into; "" if there is none.

    Raises
    ------
    NotRecordedError
        In the function, before it writes into a variable that is no number where it must be one.
    """

    def __init__(self, looked_into: set[Place], numbers: Mapping[Place, str]) -> None:
        self.unseen = ""
        self._looked_into = looked_into
        self._numbers = numbers
        self._known: dict[int, types.CodeType] = {}  # the codes, so that no other has their id
        self._with_numbers: set[int] = set()
        self._is_on = False

    def __enter__(self) -> Watch:
        self._is_on = sys.gettrace() is None
        if self._is_on:
            sys.settrace(self._called)
        elif self._numbers:
            raise NotRecordedError("which variables are numbers cannot be seen under a debugger")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_on:
            sys.settrace(None)

    def _called(self, frame: types.FrameType, event: str, arg: object) -> Callable | None:
        code = frame.f_code
        if id(code) not in self._known:
            self._known[id(code)] = code
            is_known = (code.co_filename, code.co_firstlineno) in self._looked_into
            if not is_known and not self.unseen and _is_of_users(frame):
                self.unseen = code.co_qualname
            lines = code.co_lines() if self._numbers else ()
            if any((code.co_filename, line) in self._numbers for *_, line in lines):
                self._with_numbers.add(id(code))
        return self._at_line if id(code) in self._with_numbers else None

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
