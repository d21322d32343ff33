"""Checks that all user code that runs while a call is recorded was analysed before.

A program compares outside variables at each call. They are found in the code before the recording.
Code that is reached in another way (by a library's wrapper, a C function, a text that names it) may
read other variables. So the recording notes which code runs, and is discarded if some of it was not
analysed. From Python 3.12 on, `sys.monitoring` shows each code object once, which takes hardly any
time. Before, a trace function is called for each frame, and Python takes three times as long.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

from autodiff.closures.code_mentions import read_globally
from autodiff.compiler.recording.content_guards import OURS
from autodiff.intercept.source.library_code import is_of_library
from autodiff.intercept.source.rewritten_code import given_in
from chainrules_core import frule, rrule
from chainrules_core.interpreter.places import MADE_HERE, codes_in, folder_of, is_library_file

Place = tuple[str, int]
"""A file and a line."""
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
    """Notes which user code runs in this thread, however it is called.

    A trace function of a debugger stays. Before Python 3.12 nothing is noted then, because a thread
    has only one.

    Parameters
    ----------
    looked_into : set of tuple
        The lines of the functions that were analysed.
    is_proved : bool
        Whether a proof says that no other code runs, unless a rule does. Then there is no trace
        function, which is slow.

    Attributes
    ----------
    unseen : str
        The name of a function that ran without having been analysed; "" if there is none.
    variables : set of str
        The global variables that the recording gives to the functions that read them.
    not_given : str
        The name of a function that ran and read one of them as it is; "" if there is none.
    """

    def __init__(self, looked_into: set[Place], is_proved: bool = False) -> None:
        self.unseen = self.not_given = ""
        self.variables: set[str] = set()
        self._is_proved = is_proved
        self._is_left_out = False
        self._looked_into = looked_into
        self._outer: Watch | None = None  # of another recording, whose trace function is replaced
        self._end: Callable[[], None] = _nothing

    def __enter__(self) -> Watch:
        tool = _free_tool()
        self.not_given = ""
        is_left_out = tool is None and self._is_proved and not self.variables
        self._is_left_out = is_left_out and not _has_rules_of_users()
        if not self._is_left_out:
            self._end = self._traced() if tool is None else self._monitored(tool)
        return self

    def __exit__(self, *_: object) -> None:
        end, self._end = self._end, _nothing
        end()
        if self._is_left_out and _has_rules_of_users():
            self.unseen = self.unseen or "a rule"

    def _monitored(self, tool: int) -> Callable[[], None]:
        """Have Python show each code object when it first runs; return what ends this."""
        events, thread = _monitoring.events, threading.get_ident()

        def starts(code: types.CodeType, offset: int) -> Any:
            if threading.get_ident() != thread:
                return None  # this thread may run the code later, so it must be shown again
            self._note(sys._getframe(1))
            return _monitoring.DISABLE

        def is_thrown_into(code: types.CodeType, offset: int, error: BaseException) -> None:
            if threading.get_ident() == thread:
                self._note(sys._getframe(1))

        def end() -> None:
            _monitoring.set_events(tool, 0)
            for event in callbacks:
                _monitoring.register_callback(tool, event, None)
            _monitoring.free_tool_id(tool)

        callbacks = {
            events.PY_START: starts,
            events.PY_RESUME: starts,
            events.PY_THROW: is_thrown_into,
        }
        for event, callback in callbacks.items():
            _monitoring.register_callback(tool, event, callback)
        _monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW)
        _monitoring.restart_events()  # what an earlier recording has seen is shown again
        return end

    def _traced(self) -> Callable[[], None]:
        """Have Python call a trace function for each frame; return what ends this."""
        before = sys.gettrace()
        outer = getattr(before, "watch", None) if type(before) is types.FunctionType else None
        self._outer = outer if isinstance(outer, Watch) else None
        if before is not None and self._outer is None:
            self.not_given = "code under a debugger" if self.variables else ""
            return _nothing
        known: dict[int, tuple[types.CodeType, bool]] = {}  # keeps the codes alive

        def called(frame: types.FrameType, event: str, arg: object) -> None:
            # It has to be short.
            found = known.get(id(frame.f_code))
            if found is None:
                self._note(frame)
                found = known[id(frame.f_code)] = frame.f_code, _is_of_users(frame)
            if not found[1]:  # in the user's code, a debugger may begin
                frame.f_trace_lines = False  # saves a sixth of the time

        def end() -> None:
            if sys.gettrace() is called:
                sys.settrace(before)
            else:
                self.unseen = self.unseen or "a debugger"

        called.watch = self  # type: ignore[attr-defined]
        sys.settrace(called)
        return end

    def _note(self, frame: types.FrameType) -> None:
        """Check code that runs for the first time."""
        code = frame.f_code
        is_known = (code.co_filename, code.co_firstlineno) in self._looked_into
        if not is_known and not self.unseen and _is_of_users(frame):
            self.unseen = code.co_qualname
        read = self.variables.intersection(code.co_names)
        if read and not read.isdisjoint(read_globally(code) - given_in(code)):
            self.not_given = code.co_qualname
        if self._outer is not None:
            self._outer._note(frame)


def _has_rules_of_users() -> bool:
    """Whether a rule is the user's: it may read variables that no function names."""
    files = {r.defined_at.rpartition(":")[0] for r in (*rrule.loaded(), *frule.loaded())}
    return not all(file.startswith(_OURS) or is_library_file(file) for file in files)


def _nothing() -> None:
    """End a watch that has not begun."""


_monitoring: Any = getattr(sys, "monitoring", None)
_TOOLS = (3, 4)
"""The ids of `sys.monitoring` that belong to no kind of tool (debugger, coverage, profiler)."""


def _free_tool() -> int | None:
    """Take an id of `sys.monitoring`; return None if there is none."""
    for tool in _TOOLS if _monitoring is not None else ():
        try:
            _monitoring.use_tool_id(tool, "autodiff")
        except ValueError:
            continue
        return tool
    return None


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
