"""The user's lines that run in a differentiation, and the time that each of them takes.

Lines form a tree: below a line are the lines of the functions that it calls. A line is one entry
there, however often it runs, so the tree of a long loop is small.
"""

from __future__ import annotations

import os
import sys
import time
import types
from collections.abc import Iterator
from typing import Any

from autodiff import caches
from autodiff.trace.observers import Observer
from autodiff.trace.tape import Tape
from chainrules_core.interpreter.places import MADE_HERE, folder_of, is_library_file

_PACKAGES = ("autodiff", "chainrules", "chainrules_core")
OURS = (*map(folder_of, _PACKAGES), MADE_HERE)


class Line:
    """A line of the user's, as it is reached through one path of calls.

    Attributes
    ----------
    filename, function, number : str, str, int
        Where it is. The line at the root has no number: it stands for all that is outside of the
        user's lines.
    parent : Line or None
        The line that calls its function.
    count : int
        How often it ran.
    seconds, back_seconds : float
        The time that it took itself, without the lines below it, and that of the pullbacks of the
        calls that it made.
    own_seconds, own_back_seconds : float
        What of that is not in one of the calls in the report.
    """

    __slots__ = (
        "back_seconds", "children", "count", "filename", "function", "number", "own_back_seconds",
        "own_seconds", "parent", "seconds",
    )  # fmt: skip

    def __init__(
        self, filename: str = "", function: str = "", number: int = 0, parent: Line | None = None
    ) -> None:
        self.filename = filename
        self.function = function
        self.number = number
        self.parent = parent
        self.children: dict[tuple, Line] = {}
        self.count = 0
        self.seconds = self.back_seconds = 0.0
        self.own_seconds = self.own_back_seconds = 0.0

    @property
    def where(self) -> str:
        """The name of the file and the number of the line."""
        return f"{os.path.basename(self.filename)}:{self.number}" if self.number else ""

    def walk(self) -> Iterator[Line]:
        """Yield the line and all lines below it."""
        waiting = [self]
        while waiting:
            line = waiting.pop()
            yield line
            waiting.extend(reversed(line.children.values()))

    def at(self, frame: types.FrameType | None, base: types.FrameType | None) -> Line:
        """Return the line that runs in `frame`, below this one, which is the root.

        Frames of libraries are left out, and those from `base` outwards.
        """
        line = self
        for outer in stack_of(frame, base):
            line = line.below(outer)
        return line

    def below(self, frame: types.FrameType) -> Line:
        """Return the line that runs in a frame that this line calls; itself if not the user's."""
        if not is_users(frame):
            return self
        code = frame.f_code
        key = (code.co_filename, code.co_qualname, frame.f_lineno)
        below = self.children.get(key)
        if below is None:
            below = self.children[key] = Line(*key, self)
        return below


def stack_of(frame: types.FrameType | None, base: types.FrameType | None) -> list[types.FrameType]:
    """Return a frame and those that it was called from, outermost first, up to `base`."""
    frames = []
    while frame is not None and frame is not base:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


_users: dict[str, bool] = caches.register("files of the user's", {})


def is_users(frame: types.FrameType) -> bool:
    """Whether the code of a frame is the user's: not ours, not a library's."""
    name = frame.f_code.co_filename
    found = _users.get(name)
    if found is None:
        is_ours = name.startswith(OURS) or is_library_file(name)
        found = caches.put(_users, name, not is_ours, 10_000)
    if not found:
        return False
    # Code made of a text is named alike whoever made it.
    package = (frame.f_globals.get("__name__") or "").partition(".")[0]
    return not name.startswith("<") or package not in ("", *_PACKAGES)


class _Followed(Tape):
    """A tape that loops are recorded on turn by turn, not run as programs that have no lines."""

    __slots__ = ()


class Follower(Observer):
    """Lets loops be recorded turn by turn; all else goes its usual ways, fast paths among them."""

    def __init__(self) -> None:
        self._tape: Tape | None = None

    def tape(self) -> Tape:
        """Return a tape that follows loops the first time, and plain tapes later."""
        if self._tape is not None:
            return Tape()
        self._tape = _Followed()
        return self._tape


class LineClock(Follower):
    """Measures how long each line of the user's runs.

    The clock stands still while it looks which line runs.

    Attributes
    ----------
    root : Line
        The lines.
    places : list of Line
        For each place on the tape the line that it comes from.
    """

    def __init__(self, base: types.FrameType) -> None:
        super().__init__()
        self.root = Line()
        self.places: list[Line] = []
        self._base: types.FrameType | None = base
        self._current = self.root
        self._since = 0.0
        self._before: Any = None

    def start(self) -> None:
        """Start the clock."""
        self._before = sys.gettrace()
        sys.settrace(self._entered)
        self._since = time.perf_counter()

    def stop(self) -> None:
        """Stop the clock."""
        now = time.perf_counter()
        sys.settrace(self._before)
        self._charge(now)
        self._base = None

    def finish(self, nodes: int) -> None:
        """Note where the last of so many nodes come from."""
        self.places += [self._current] * (nodes - len(self.places))

    def _entered(self, frame: types.FrameType, event: str, value: Any) -> Any:
        return self._stepped if is_users(frame) else None

    def _stepped(self, frame: types.FrameType, event: str, value: Any) -> Any:
        self._charge(time.perf_counter())
        if event == "line":
            self._current = self.root.at(frame, self._base)
            self._current.count += 1
        elif event == "return":  # the rest of the line that called
            self._current = self.root.at(frame.f_back, self._base)
        self._since = time.perf_counter()
        return self._stepped

    def _charge(self, now: float) -> None:
        """Give the time since the last event, and the nodes made in it, to the line that ran."""
        self._current.seconds += now - self._since
        tape = self._tape
        if tape is not None and not tape.is_closed:
            self.places += [self._current] * (len(tape.nodes) - len(self.places))
