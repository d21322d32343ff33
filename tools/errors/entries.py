"""Programs that trigger each error of the packages, and programs that apply its way out.

An entry is a function that raises one error, or gives one warning, and others that do the same work
as its message says to: these must run. Entries stand in the modules of `tools.errors.programs`, in
files, since an error names the user's line.
"""

from __future__ import annotations

import importlib
import pkgutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from autodiff import full_tracebacks
from chainrules_core import frule, rrule
from chainrules_core.interpreter.collector import uncollected
from chainrules_core.testing import RuleCheckError
from tools.errors.sites import ROOT, Site, sites

PROGRAMS = Path(__file__).with_name("programs")


class Entry:
    """One cause of an error.

    Attributes
    ----------
    title : str
        The cause, in a few words.
    kind : type
        The error or warning.
    program : callable
        What raises it.
    remedies : list of (str, callable)
        What to do, and programs that do it.
    has_line : bool
        Whether the message itself names the user's line. A rule that is called directly, without
        an engine, leaves that to the traceback.
    """

    def __init__(self, title: str, kind: type, program: Callable, has_line: bool) -> None:
        self.title = title
        self.kind = kind
        self.program = program
        self.has_line = has_line
        self.remedies: list[tuple[str, Callable]] = []

    def instead(self, what: str) -> Callable[[Callable], Callable]:
        """Declare a program that does what the message says to."""

        def declare(program: Callable) -> Callable:
            self.remedies.append((what, program))
            return program

        return declare


_entries: list[Entry] = []


def entry(title: str, kind: type, *, has_line: bool = True) -> Callable[[Callable], Entry]:
    """Declare a function as the program that raises an error of class `kind`."""

    def declare(program: Callable) -> Entry:
        made = Entry(title, kind, program, has_line)
        _entries.append(made)
        return made

    return declare


def entries() -> list[Entry]:
    """Return the entries of all modules."""
    package = "tools.errors.programs"
    for found in pkgutil.iter_modules([str(PROGRAMS)]):
        importlib.import_module(f"{package}.{found.name}")
    return _entries


# -- running them ----------------------------------------------------------------------------------


@contextmanager
def without_new_rules() -> Iterator[None]:
    """Take away, at the end, the rules that a program of `tools.errors.programs` registers."""
    try:
        yield
    finally:
        for table in (rrule, frule):
            for rule in table.methods():
                if rule.defined_at.startswith(str(PROGRAMS)):
                    table.unregister(rule.f, *rule.types)


class Raised(NamedTuple):
    """What a program has raised or warned of."""

    error: BaseException | Warning
    text: str
    site: Site | None


def run(entry: Entry) -> Raised | None:
    """Run the program of an entry; return what it raised, None if nothing."""
    given: list[tuple[Any, traceback.StackSummary]] = []

    def warn(message: Any, category: type = UserWarning, *args: Any, **kwargs: Any) -> None:
        made = message if isinstance(message, Warning) else category(message)
        given.append((made, traceback.extract_stack()))

    _by_file()  # of the packages as they are, before something is patched
    # A failed check of a rule hides its traceback, in which the site is found.
    shown = mock.patch.object(RuleCheckError, "with_traceback", lambda error, _: error, create=True)
    before = full_tracebacks(True)
    with mock.patch.object(warnings, "warn", warn), shown, without_new_rules():
        try:
            try:
                entry.program()
            except SystemError:  # of a parse that is not ours: see interpreter.parsing of the core
                with uncollected:
                    entry.program()
        except Exception as error:
            frames = [
                frame for e in _chain(error) for frame in traceback.extract_tb(e.__traceback__)
            ]
            return Raised(error, text_of(error), _site(frames))
        finally:
            full_tracebacks(before)
    for made, stack in given:
        if isinstance(made, entry.kind):
            return Raised(made, str(made), _site(list(stack)))
    return None


def text_of(error: BaseException) -> str:
    """Return the message of an error, and its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error after those that it came of."""
    before = error.__cause__ or error.__context__
    if before is not None:
        yield from _chain(before)
    yield error


def _site(frames: list[traceback.FrameSummary]) -> Site | None:
    """Return the innermost statement among the frames that raises an error of ours."""
    for frame in reversed(frames):
        for site in _by_file().get(frame.filename, ()):
            if site.first <= (frame.lineno or 0) <= site.last:
                return site
    return None


_known: dict[str, list[Site]] = {}


def _by_file() -> dict[str, list[Site]]:
    if not _known:
        for site in sites():
            _known.setdefault(str(ROOT / site.file), []).append(site)
    return _known
