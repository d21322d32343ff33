"""When machine code of a program is made, and whether it is kept.

To compile takes tenths of a second, which calls of a microsecond hardly bring back. Programs of
many steps on small arrays gain so much that theirs is made after a few calls, or when they have run
for a twentieth of the time that it will take; others have to have run for half of it. Where NumPy
may well be as fast (its exponentials on large arrays, or a program in tiles), both take turns for
some calls, and the faster one stays. So do a program on large arrays and the function as it is
written, whose overhead is small there, and a program that has all turns of loops with one that runs
them as machine code.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from autodiff.compiler.compile_errors import MISMATCH
from chainrules_core.define.partial import ARITHMETIC

FEW_CALLS, MANY_CALLS, MANY_STEPS = 3, 30, 200
SHORT = 0.3
"""Up to how many seconds machine code that is sure to be faster may take at once."""
SURE, SHARE = 0.05, 0.5
"""Else a program has run for a share of the seconds that compiling it takes: a smaller one if its
machine code is sure to be faster."""
LARGE = 2e-5
"""Seconds by step that a program takes at the least where its arrays are large."""
_FIRST_LOOK = 0.03
WITH_LOOPS = 0.3
"""Seconds that a program with all turns of loops runs before one is made that has loops."""
TRIALS = 5
_MOST_CALLS = 4096

clock = time.perf_counter


class Candidate(NamedTuple):
    """Machine code that could be made.

    Attributes
    ----------
    seconds : float
        How long that may take.
    is_faster : bool
        Whether it is sure to be faster.
    make : callable
        Makes it: the function, the file that its source seems to be in, and the source.
    """

    seconds: float
    is_faster: bool
    make: Callable[[], tuple[Callable, str, str]]


def _use(variant: Any, made: tuple[Callable, str, str], before: Callable) -> None:
    """Have a variant run as machine code."""
    quick, filename, source = made
    variant.forget()
    variant.filename, variant.source = filename, source

    # A branch may depend on the last bits, which differ in machine code.
    contest(variant, _where_it_fits(quick, before))


def _where_it_fits(quick: Callable, before: Callable) -> Callable:
    """Return a function that runs `quick`, and `before` where a guard of that fails."""

    def either(*args: Any) -> Any:
        y = quick(*args)
        return before(*args) if y is MISMATCH else y

    return either


def _timed(run: Callable, first: int, look: Callable[[float, tuple], int]) -> Callable:
    """Return a function that runs `run` and times a call now and then.

    The call with the number `first` is timed; ``look(seconds, args)`` returns how many calls later
    the next one is.
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
    """Have machine code made of a variant when it pays.

    Parameters
    ----------
    variant : Variant
        The variant; its `run` is replaced.
    steps : int
        How many steps it has.
    at_once : callable, optional
        Returns what is to be made after a few calls, or None.
    when_paid : callable
        Returns what is to be made when the program has run for a while, or None.
    """
    run = variant.run
    period = FEW_CALLS if steps >= MANY_STEPS else MANY_CALLS
    calls = 0
    is_quick = at_once is not None
    candidate: Candidate | None = None
    is_known = False

    def look(seconds: float, args: tuple) -> int:
        """Decide, when a call has taken so long."""
        nonlocal period, calls, candidate, is_quick, is_known
        calls += period
        spent = calls * seconds
        try:
            if is_quick and candidate is None and at_once is not None:
                candidate = at_once()
                is_quick = candidate is not None
            if not is_quick and not is_known and spent >= _FIRST_LOOK:
                candidate, is_known = when_paid(), True
            if candidate is None and is_known:
                settle(variant, run)
                return period
            needed = _FIRST_LOOK
            if candidate is not None:
                needed = (SURE if candidate.is_faster else SHARE) * candidate.seconds
                if spent >= needed or (candidate.is_faster and candidate.seconds <= SHORT):
                    take(variant, candidate, run, False)
                    return period
            period = min(_MOST_CALLS, max(1, int((needed - spent) / max(seconds, 1e-7)) + 1))
        except Exception:  # something that machine code has not: the program runs as it is
            variant.run = run
        return period

    variant.run = _timed(run, period, look)


def take(variant: Any, candidate: Candidate, run: Callable, is_asked_for: bool = True) -> None:
    """Make machine code, for `run` as it was; let both take turns where it may be slower."""
    made = candidate.make()
    if not is_asked_for:
        made = (_or_as_before(variant, made[0], run), *made[1:])
    if candidate.is_faster:
        _use(variant, made, run)
    else:
        variant.run = _trial(
            made[0], run, lambda: _use(variant, made, run), lambda: settle(variant, run)
        )


def _or_as_before(variant: Any, quick: Callable, before: Callable) -> Callable:
    """Return machine code that gives way where it cannot be run."""

    def called(*args: Any) -> Any:
        try:
            return quick(*args)
        except ARITHMETIC:
            raise
        except (
            Exception
        ):  # arrays that are not as expected, or the user's own error, which is raised again
            variant.run = before
            return before(*args)

    return called


def settle(variant: Any, run: Callable) -> None:
    """Keep a program, unless its arrays are large and the function as it is written is faster."""
    variant.run, written = run, variant.written

    def look(seconds: float, args: tuple) -> int:
        if seconds >= LARGE * len(variant.program.steps):
            variant.run = _trial(written, run, use, keep)
        else:
            keep()
        return _MOST_CALLS

    def use() -> None:
        variant.run, variant.is_slower = _where_it_fits(written, run), True

    def keep() -> None:
        contest(variant, run)

    if written is not None:
        variant.run = _timed(run, TRIALS, look)
    else:
        keep()


def contest(variant: Any, run: Callable) -> None:
    """Run a variant; after a while, let a program that has loops take turns with it.

    The shortest of several calls counts: in one of them machine code may have been made.
    """
    variant.run, with_loops = run, variant.with_loops
    period, calls, timed, shortest = FEW_CALLS, 0, 0, float("inf")

    def look(seconds: float, args: tuple) -> int:
        nonlocal period, calls, timed, shortest
        shortest = min(shortest, seconds)
        calls, timed = calls + period, timed + 1
        still = int((WITH_LOOPS - calls * shortest) / max(shortest, 1e-7))
        period = min(_MOST_CALLS, 1 + max(0, still)) if timed >= FEW_CALLS else 1
        if still <= 0 and timed >= FEW_CALLS:
            variant.run, variant.with_loops = run, None
            other = with_loops(args)
            if other is not None:
                quick = _or_as_before(variant, lambda *args: other.run(*args), run)
                variant.run = _trial(
                    quick, run, lambda: use(quick, other), lambda: contest(variant, run)
                )
        return period

    def use(quick: Callable, other: Any) -> None:
        _use(variant, (quick, other.filename, other.source), run)
        variant.loops = other.loops

    if with_loops is not None:
        variant.run = _timed(run, FEW_CALLS, look)


def _trial(quick: Callable, run: Callable, use: Callable, keep: Callable) -> Callable:
    """Return a function that lets both take turns; then one is used, or the other is kept.

    A call that `quick` cannot make counts as one that takes forever.
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
        if turn == 2 * TRIALS:
            (use if best[1] < best[0] else keep)()
        return y

    return tried
