"""Timing of several ways to do the same work, side by side in one process.

Machines are noisy, so what counts is the ratio of times taken in one run: the ways take turns, and
each is represented by its fastest round.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable


def interleaved(
    ways: dict[str, Callable[[], object]], *, rounds: int = 15, seconds: float = 0.02
) -> dict[str, float]:
    """Return the time of one call, in seconds, of each of several ways to do the same.

    Parameters
    ----------
    ways : dict
        Name → function without arguments.
    rounds : int
        How often each has its turn.
    seconds : float
        About how long one turn takes.

    Returns
    -------
    dict
        Name → seconds: the median of the fastest quarter of its turns.
    """
    repeats = {}
    for name, way in ways.items():
        way()
        start = time.perf_counter()
        way()
        repeats[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-9)))
    turns: dict[str, list[float]] = {name: [] for name in ways}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, way in ways.items():
                n = repeats[name]
                start = time.perf_counter()
                for _ in range(n):
                    way()
                turns[name].append((time.perf_counter() - start) / n)
            gc.collect()
    finally:
        if was_enabled:
            gc.enable()
    return {
        name: statistics.median(sorted(times)[: max(1, len(times) // 4)])
        for name, times in turns.items()
    }
