"""Comparisons of traced values, and a warning for results that depend on nothing else.

No derivative goes through a comparison such as ``while f(m) < y``. If a result depends on an
argument only through comparisons (a root found by bisection between two constants), the tape has no
path from one to the other, and the derivative is 0, whatever the true one is. So each tape notes
which values are compared, and where. If there is no path from the result to an argument, but there
is one from the compared values, a `NoPathWarning` names the line.

The warning is given for searches: comparisons that one place in the code makes several times, with
different outcomes. The code may be the user's or a library's, but not NumPy's or that of a rule. A
single branch does not count: on one side of ``x if x > 0 else 0.0`` the derivative is 0. A mask
(``x > 0`` of an array) counts only if a truth value made by NumPy decides about a branch later, or
if the code was not rewritten, so that this is unknown. Results that are integers or truth values do
not count, and functions that are constant by a rule (``round``, ``argmax``) compare nothing.
"""

from __future__ import annotations

import cmath
import enum
import itertools
import math
import operator
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.closures.code_mentions import calls_engine
from autodiff.trace.pytree import leaves_of
from autodiff.trace.tape import FLOAT, Tape, sweep
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import bare
from chainrules_core.interpreter.places import MADE_HERE, folder_of
from chainrules_core.rules import name_of

_REPEATED = 4
"""The fewest comparisons at one place that make a search."""
_PLACES = 8
"""The most compared values that are kept for a place."""


class NoPathWarning(UserWarning):
    """A result depends on an argument only through comparisons: its derivative is 0 everywhere."""


class Decision:
    """A place in the code that compares traced values.

    Attributes
    ----------
    code, instruction
        The place.
    times : int
        How often it has compared.
    outcomes : set of bool
        The results.
    is_mask : bool
        Whether the results are arrays that may not decide about a branch.
    places : list
        The places of the first compared values on their tape.
    """

    __slots__ = ("code", "instruction", "is_mask", "outcomes", "places", "times")

    def __init__(self, code: types.CodeType, instruction: int) -> None:
        self.code = code
        self.instruction = instruction
        self.times = 0
        self.outcomes: set[bool] = set()
        self.is_mask = False
        self.places: list[Any] = []

    def is_search(self) -> bool:
        """Whether it has compared several times, with different outcomes."""
        return not self.is_mask and self.times >= _REPEATED and len(self.outcomes) > 1

    def decisions(self) -> list[Decision]:
        """Return itself."""
        return [self]

    def together_with(self, other: Decision) -> Decision:
        """Return the comparisons of both, which are at the same place."""
        both = Decision(self.code, self.instruction)
        both.times = self.times + other.times
        both.outcomes = self.outcomes | other.outcomes
        both.is_mask = self.is_mask and other.is_mask
        both.places = self.places + other.places
        return both

    def where(self) -> str:
        """Return the function, the file and the line."""
        lines = [
            line for start, end, line in self.code.co_lines() if start <= self.instruction < end
        ]
        line = lines[0] if lines else self.code.co_firstlineno
        return f"in {self.code.co_name} at {self.code.co_filename}, line {line}"


class MaySearch(enum.IntEnum):
    """Where what is computed without derivative may decide a branch."""

    NOWHERE = 0
    BY_RESULTS = 1
    """In the caller: arrays of integers or truth values that it gets depend on it."""
    INSIDE = 2


class UnnotedCall:
    """A call that noted no comparisons: it is traced again to see them, if somebody asks.

    Parameters
    ----------
    places : list
        The places of its arguments on the tape.
    trace : callable
        Traces the call on a tape of its own; it returns the `Linearised` of this run.
    is_mask : bool
        Whether only arrays that it returns may decide about a branch, and none has done so yet.
    """

    __slots__ = ("_by_results", "_found", "is_mask", "places", "trace")

    def __init__(self, places: list[Any], trace: Callable[[], Any], is_mask: bool) -> None:
        self.places = places
        self.trace = trace
        self.is_mask = self._by_results = is_mask
        self._found: list[Decision] | None = None

    def decisions(self) -> list[Decision]:
        """Return the decisions in the call; their places are those of the arguments compared."""
        if self._found is None:
            self._found = self._traced()
        return self._found

    def _traced(self) -> list[Decision]:
        traced = self.trace()
        leaves = [range(start, end) for start, end in _bounds(traced)]
        found = [d for part in traced.tape.decisions.values() for d in part.decisions()]
        if self._by_results and not self.is_mask:
            for decision in found:
                decision.is_mask = False
        for decision in found:
            reached = _reached(decision, traced)
            asks = [_is_among(reached, of_argument, traced) for of_argument in leaves]
            decision.places = list(itertools.compress(self.places, asks))
        return found


class _Last(threading.local):
    tape: Tape | None = None  # on which an array was compared last


_last = _Last()

# -- noting comparisons --------------------------------------------------------------------------

_HELPER, _USERS, _RULES = range(3)
_ROOTS = {
    **dict.fromkeys((MADE_HERE, "<compiled "), _HELPER),
    folder_of("autodiff"): _HELPER,
    **dict.fromkeys(map(folder_of, ("chainrules", "chainrules_core", "numpy")), _RULES),
}
_known_files: dict[str, int] = caches.register("files", {})


def _kind_of(file: str) -> int:
    """Return whose code a file is; helpers are functions of the engine called by user's code."""
    kind = _USERS
    for root, of_root in _ROOTS.items():
        if file.startswith(root):
            kind = of_root
    return caches.put(_known_files, file, kind, 4096)


def note(x: Any, outcome: Any, other: Any = None) -> None:
    """Note that the caller of our caller compares a traced value, and the outcome.

    `other` is the value that it is compared with, if that is traced too.
    """
    if other is not None and other._tape is not x._tape:
        note(other, outcome)
        other = None
    frame = _frame_of_user(sys._getframe(2))
    if frame is None:
        return
    code = frame.f_code
    decisions = x._tape.decisions
    key = id(code), frame.f_lasti
    decision = decisions.get(key)
    if decision is None:
        decision = decisions[key] = Decision(code, frame.f_lasti)
    decision.times += 1
    if decision.times > _PLACES and len(decision.outcomes) > 1 and not decision.is_mask:
        return  # it is known to be a search
    if outcome.__class__ is np.ndarray:
        decision.is_mask = calls_engine(code)  # which tells when a truth value is used
        decision.outcomes = _BOTH
        _last.tape = x._tape
    elif outcome.__class__ is bool or outcome.__class__ is np.bool_:
        decision.outcomes.add(outcome)
    if len(decision.places) < _PLACES:
        decision.places.append(x._index)
        if other is not None:
            decision.places.append(other._index)


_BOTH = {False, True}


def _frame_of_user(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the frame of the user's or library's code that is running; None within a rule."""
    while frame is not None:
        file = frame.f_code.co_filename
        kind = _known_files.get(file)
        if kind is None:
            kind = _kind_of(file)
        if kind == _USERS:
            return frame
        if kind == _RULES:
            return None
        frame = frame.f_back
    return None


def may_be_asked(tape: Tape) -> bool:
    """Whether the caller of a function will tell that its results decide about a branch."""
    frame = _frame_of_user(sys._getframe(1))
    is_told = frame is not None and calls_engine(frame.f_code)
    if is_told:
        _last.tape = tape
    return is_told


ASKING: frozenset[Any] = frozenset(
    {
        math.isclose, cmath.isclose, np.isclose, np.allclose, np.array_equal, np.array_equiv,
        np.all, np.any, np.greater, np.greater_equal, np.less, np.less_equal, np.equal,
        np.not_equal, np.sign, operator.gt, operator.ge, operator.lt, operator.le, operator.eq,
        operator.ne,
    }
)  # fmt: skip
"""Functions without a derivative that compare values."""


def note_call(f: Callable, sources: list, tape: Tape, y: Any) -> None:
    """Note a call of such a function; `sources` are its traced arguments, or hold these."""
    if f in ASKING and not tape.program:
        found = bare(y) > 0 if f is np.sign else bare(y)
        for x in sources:
            if getattr(x, "_tape", None) is tape:
                note(x, found)


def asked() -> None:
    """Note that a truth value made by NumPy, maybe from masks, decides about a branch."""
    tape, _last.tape = _last.tape, None
    if tape is not None:
        for decision in tape.decisions.values():
            decision.is_mask = False


def ended() -> None:
    """Note that the function has ended: what the engine asks in the sweep decides about nothing."""
    _last.tape = None


# -- warnings ------------------------------------------------------------------------------------


def check_arguments(f: Callable, traced: Any, found: list) -> None:
    """Warn if the result depends on an argument only through searches.

    Parameters
    ----------
    f : callable
        The function.
    traced : Linearised
        Its run.
    found : list
        A cotangent for each leaf of the tape, or None where there is no path.
    """
    arguments = [
        (number, range(start, end))
        for (start, end), (number, _) in zip(_bounds(traced), traced.ends, strict=True)
        if start < end and all(found[leaf] is None for leaf in range(start, end))
    ]
    if not arguments or all(map(_is_discrete, leaves_of(traced.value))):
        return
    for number, leaves in arguments:
        search = _search_on(leaves, traced)
        if search is not None:
            _warn(f, f"argument {number}", search)


def _bounds(traced: Any) -> list[tuple[int, int]]:
    """Return where the leaves of each argument begin and end on the tape."""
    return list(itertools.pairwise([0, *[end for _, end in traced.ends]]))


def _search_on(leaves: range, traced: Any) -> Decision | None:
    """Return a search whose compared values depend on one of these leaves."""
    is_only = len(traced.ends) == 1
    asked_for = [
        decision
        for decision in traced.tape.decisions.values()
        if type(decision) is Decision
        or (not decision.is_mask and _depends(decision, leaves, traced))
    ]  # other calls need not be traced again
    for search in _searches(asked_for):
        if is_only or _depends(search, leaves, traced):
            return search
    return None


def _searches(decisions: Iterable[Decision | UnnotedCall]) -> Iterator[Decision]:
    """Yield the searches; the comparisons of all calls at one place count together."""
    found: dict[Any, Decision] = {}
    for part in decisions:
        for decision in part.decisions():
            place = decision.code, decision.instruction
            earlier = found.get(place)
            found[place] = decision if earlier is None else earlier.together_with(decision)
            if found[place].is_search():
                yield found[place]


def check_forward(f: Callable, tape: Tape, y: Any) -> None:
    """Warn about searches; `y` is the result of a run in forward mode, which has no tangent."""
    if all(map(_is_discrete, leaves_of(y))):
        return
    search = next(_searches(tape.decisions.values()), None)
    if search is not None:
        _warn(f, "its arguments", search)


def _is_discrete(x: Any) -> bool:
    """Whether a result is an integer or a truth value, or not a number at all."""
    x = bare(x)
    return not isinstance(x, (float, complex)) and getattr(x, "dtype", _INT).kind not in "fc"


_INT = np.dtype(int)


def _depends(search: Decision | UnnotedCall, leaves: range, traced: Any) -> bool:
    """Whether the values compared in a search depend on one of these leaves."""
    if any(place in leaves for place in search.places):
        return True
    return _is_among(_reached(search, traced), leaves, traced)


def _reached(search: Decision | UnnotedCall, traced: Any) -> set[int] | None:
    """Return the leaves that the values compared in a search depend on; None if it is unknown."""
    nodes, places = traced.nodes, search.places
    try:
        seeds = {place: _one(nodes[place]) for place in places if place >= traced.leaves}
        with np.errstate(all="ignore"):
            bars = sweep(nodes, traced.leaves, seeds, nested=traced.tape.nested)
    except Exception:  # the nodes of a large tape are dropped in its sweep
        return None
    return {i for i in range(traced.leaves) if bars[i] is not None or i in places}


def _is_among(reached: set[int] | None, leaves: range, traced: Any) -> bool:
    """Whether one of these leaves is reached; if it is unknown, all leaves together are."""
    return traced.leaves == len(leaves) if reached is None else not reached.isdisjoint(leaves)


def _one(node: Any) -> Any:
    space: Any = FLOAT if type(node) is tuple else node.space
    shape = getattr(space, "shape", ())
    return np.ones(shape, space.dtype) if shape else 1.0


def _warn(f: Callable, what: str, search: Decision) -> None:
    message = (
        f"the result of {name_of(f)} depends on {what} only through comparisons, such as those "
        f"{search.where()}: no derivative goes through them, and the one returned is 0. For a "
        "root or minimum use scipy.optimize (root_scalar, minimize), which has derivatives, or "
        "give the function a rule (chainrules_core.rrule.register, autodiff.custom_gradient). If "
        "it is piecewise constant, 0 is right: filter autodiff.NoPathWarning, or choose other "
        "arguments with argnums=."
    )
    program = program_tape()
    if program is None:
        warn(message)
    else:  # it warns each time
        program.do_late(warn, (message,), {})


def warn(message: str) -> None:
    """Warn of a result that depends on nothing else, at the user's line."""
    warnings.warn(message, NoPathWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Return the ``stacklevel`` with which our caller's warning names the user's line."""
    level = 2
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and _kind_of(frame.f_code.co_filename) != _USERS:
        frame = frame.f_back
        level += 1
    return level
