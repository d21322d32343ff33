"""Promotion: when a program is compiled to machine code, and which version of it is kept.

Compiling takes tenths of a second, which calls of a microsecond hardly bring back. Programs of many
steps on small arrays gain so much that they are compiled after a few calls, or when they have run
for a twentieth of the compile time; others must have run for half of it. Where it is uncertain
which of two versions is faster, they alternate for some calls, and the faster one is kept. Such
pairs are machine code and NumPy on large arrays; an unrolled program and one that runs the loops
as machine code; and, whatever is chosen of these, that and the function as written.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from autodiff.compiler.compile_errors import MISMATCH

FEW_CALLS, MANY_CALLS, MANY_STEPS = 3, 30, 200
SHORT = 0.3
"""Machine code that is sure to be faster is compiled at once if that takes no more seconds."""
SURE, SHARE = 0.05, 0.5
"""Otherwise, a program must have run for such a share of the compile time: the smaller one if its
machine code is sure to be faster."""
PER_STEP = 4e-4
"""The seconds per step of lowering and compiling a long program, before it is lowered."""
OVERHEAD = 2e-6
"""Tracing a step takes at least so many seconds."""
_FIRST_LOOK = 0.03
WITH_LOOPS = 0.3
"""Seconds that an unrolled program runs before a version with loops is made."""
TRIALS, FEW_TRIALS, MUCH_SLOWER = 5, 2, 3.0
"""How often each version runs, at most and at least; the factor at which the fewest are enough."""
_MOST_ERRORS = 4
"""How many calls may raise errors in machine code alone."""
_MOST_CALLS = 4096

clock = time.perf_counter


class Candidate(NamedTuple):
    """Machine code that could be compiled.

    Attributes
    ----------
    seconds : float
        How long compiling takes, roughly.
    is_faster : bool
        Whether the machine code is sure to be faster.
    make : callable
        Compiles it; returns the function, its file name for tracebacks, and its source.
    """

    seconds: float
    is_faster: bool
    make: Callable[[], tuple[Callable, str, str]]


def _use(variant: Any, made: tuple[Callable, str, str], before: Callable) -> None:
    """Let a variant run other code; where a guard of that fails, it runs `before`."""
    quick, filename, source = made
    variant.forget()
    variant.filename, variant.source = filename, source

    # A branch may depend on the last bits, which differ in machine code.
    contest(variant, _if_guards_hold(quick, before))


def _if_guards_hold(quick: Callable, before: Callable) -> Callable:
    """Return a function that runs `quick`, or `before` if a guard of `quick` fails."""

    def either(*args: Any) -> Any:
        y = quick(*args)
        return before(*args) if y is MISMATCH else y

    return either


def _timed(run: Callable, first: int, look: Callable[[float, tuple], int]) -> Callable:
    """Return a function that runs `run` and times some of the calls.

    It times the call with the number `first`. ``look(seconds, args)`` returns after how many more
    calls it times the next one.
    """
    left = first

    def counted(*args: Any) -> Any:
        nonlocal left
        left -= 1
        if left > 0:
            return run(*args)
        start = clock()
        y = run(*args)
        left = look(clock() - start, args)
        return y

    return counted


def watch(
    variant: Any,
    steps: int,
    at_once: Callable[[], Candidate | None] | None,
    when_paid: Callable[[], Candidate | None],
) -> None:
    """Compile a variant to machine code when that pays.

    Parameters
    ----------
    variant : Variant
        The variant; its `run` is replaced.
    steps : int
        How many steps it has.
    at_once : callable, optional
        Returns the candidate for the first calls, or None.
    when_paid : callable
        Returns the candidate for a program that has run for a while, or None.
    """
    run = variant.run
    period, least = FEW_CALLS, 0 if steps >= MANY_STEPS else MANY_CALLS
    calls = 0
    candidate: Candidate | None = None
    is_final = False  # whether there is no other candidate
    at_least = SURE * PER_STEP * steps if PER_STEP * steps > SHORT else 0.0
    variant.is_watched = True

    def look(seconds: float, args: tuple) -> int:
        """Decide what to do after a call that took so long."""
        nonlocal period, calls, candidate, at_once, is_final
        calls += period
        spent = calls * seconds
        if calls < least and spent < _FIRST_LOOK:  # short calls need not be looked at so soon
            period = least - calls
            return period
        try:
            if at_once is not None and candidate is None and spent >= at_least:
                candidate = at_once()
                if candidate is None:
                    at_once = None
            if at_once is None and not is_final and spent >= max(_FIRST_LOOK, at_least):
                candidate, is_final = when_paid(), True
            if candidate is None and is_final:
                variant.is_watched = False
                contest(variant, run)
                return period
            needed = max(_FIRST_LOOK, at_least)
            if candidate is not None:
                needed = (SURE if candidate.is_faster else SHARE) * candidate.seconds
                if spent >= needed or (candidate.is_faster and candidate.seconds <= SHORT):
                    variant.is_watched = False
                    take(variant, candidate, run, False)
                    return period
            period = min(_MOST_CALLS, max(1, int((needed - spent) / max(seconds, 1e-7)) + 1))
        except Exception:  # machine code does not support something: keep the program
            variant.is_watched = False
            contest(variant, run)
        return period

    variant.run = _timed(run, period, look)


def take(variant: Any, candidate: Candidate, run: Callable, is_requested: bool = True) -> None:
    """Compile a candidate; use it in place of `run`, after a trial if it may be slower."""
    made = candidate.make()
    if not is_requested:
        made = (_with_fallback(variant, made[0], run), *made[1:])
    if candidate.is_faster:
        _use(variant, made, run)
    else:
        variant.run = _trial(
            made[0], run, lambda: _use(variant, made, run), lambda: contest(variant, run)
        )


def _with_fallback(variant: Any, quick: Callable, before: Callable) -> Callable:
    """Return a function that runs `quick`, or `before` if that raises an error.

    It goes back to `before` for good after an unexpected error, or if `before` raises none in
    several of these calls: a comparison with NaN is an error of the processor, but not of NumPy.
    """
    left = _MOST_ERRORS

    def called(*args: Any) -> Any:
        nonlocal left
        try:
            return quick(*args)
        except (ArithmeticError, ValueError):
            y = before(*args)
            left -= 1
            if left <= 0:
                variant.run = before
            return y
        except Exception:  # unexpected arrays, or the user's own error, which is raised again
            variant.run = before
            return before(*args)

    return called


def paid(variant: Any, spent: float, most: float = math.inf) -> tuple | None:
    """Return the machine code of a variant that has run for so many seconds, if that pays.

    It pays if compiling takes no longer. If it takes more than `most` seconds, there is none. The
    machine code of a variant is returned once.
    """
    find, least = variant.machine_code, PER_STEP * len(variant.program.steps)
    if find is None or spent < max(_FIRST_LOOK, least):
        return None
    try:
        candidate = find() if least <= most else None
        if candidate is not None and candidate.seconds > most:
            candidate = None
        if candidate is not None and spent < candidate.seconds:
            variant.machine_code = lambda: candidate
            return None
        variant.machine_code = None
        return None if candidate is None else candidate.make()
    except Exception:  # machine code does not support something: keep the program
        variant.machine_code = None
        return None


def use(variant: Any, made: tuple[Callable, str, str]) -> None:
    """Let a variant run machine code in place of what it has run so far, if that succeeds."""
    run = variant.run
    _use(variant, (_with_fallback(variant, made[0], run), *made[1:]), run)


def contest(variant: Any, run: Callable) -> None:
    """Run a variant; after a while, try a version that keeps the loops, if there can be one.

    Only the shortest of several calls counts, because others may have compiled machine code.
    """
    with_loops = variant.with_loops
    period, calls, timed, shortest = FEW_CALLS, 0, 0, float("inf")

    def look(seconds: float, args: tuple) -> int:
        nonlocal period, calls, timed, shortest
        if variant.run is not counted:
            return period  # the call has made machine code
        shortest = min(shortest, seconds)
        calls, timed = calls + period, timed + 1
        calls_left = int((WITH_LOOPS - calls * shortest) / max(shortest, 1e-7))
        period = min(_MOST_CALLS, 1 + max(0, calls_left)) if timed >= FEW_CALLS else 1
        if calls_left <= 0 and timed >= FEW_CALLS:
            variant.with_loops = None
            other = with_loops(args)
            if other is None:
                settle(variant, run)
            else:
                quick = _with_fallback(variant, lambda *args: other.run(*args), run)
                variant.run = _trial(
                    quick, run, lambda: use(quick, other), lambda: settle(variant, run)
                )
        return period

    def use(quick: Callable, other: Any) -> None:
        _use(variant, (quick, other.filename, other.source), run)
        variant.loops = other.loops

    if with_loops is None:
        settle(variant, run)
    else:
        counted = variant.run = _timed(run, FEW_CALLS, look)


def settle(variant: Any, run: Callable) -> None:
    """Keep what has been chosen of a variant, unless the function as written is faster."""
    written = variant.written

    def look(seconds: float, args: tuple) -> int:
        is_long = seconds >= OVERHEAD * len(variant.program.steps)
        variant.run = _trial(written, run, use, keep) if is_long else run
        return _MOST_CALLS

    def use() -> None:
        variant.run, variant.is_slower = _if_guards_hold(written, run), True

    def keep() -> None:
        variant.run = run

    if written is None or variant.is_watched:  # what watches it chooses later
        keep()
    else:
        variant.run = _timed(run, TRIALS, look)


def _trial(quick: Callable, run: Callable, use: Callable, keep: Callable) -> Callable:
    """Return a function that alternates between both; it then calls `use` if `quick` is faster.

    Otherwise it calls `keep`. A call whose guards fail in `quick` does not count for it.
    """
    best = [float("inf"), float("inf")]
    turn = 0

    def tried(*args: Any) -> Any:
        nonlocal turn
        k = turn % 2
        start = clock()
        y = (quick if k else run)(*args)
        seconds = clock() - start
        if y is not MISMATCH:
            best[k] = min(best[k], seconds)
        elif k:
            y = run(*args)
        else:
            return y
        turn += 1
        is_clear = turn >= 2 * FEW_TRIALS and max(best) > MUCH_SLOWER * min(best)
        if turn == 2 * TRIALS or is_clear:
            (use if best[1] < best[0] else keep)()
        return y

    return tried
