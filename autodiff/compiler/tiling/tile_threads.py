"""Threads that share the tiles of large arrays.

NumPy and kernels release the interpreter lock while they compute.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

FEWEST_TILES = 4
"""The fewest tiles of a thread."""
POOL = "autodiff tiles"
"""What the names of the threads begin with."""

_pool: Any = None
_n_threads: int | None = None  # as set by the user


def threads() -> int:
    """Return how many threads share large arrays."""
    if _n_threads is not None:
        return _n_threads
    setting = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if setting.isdecimal() and int(setting) > 0:  # BLAS libraries read it as well
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(n: int | None) -> None:
    """Set how many threads share large arrays; None for all cores."""
    global _n_threads, _pool
    _n_threads = n
    _pool = None


def _forget_pool() -> None:
    """Drop the pool in a forked process, which has none of its threads and would wait forever."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def run_in_threads(work: Callable, tiles: int, arguments: tuple) -> None:
    """Distribute tiles over threads, one of which is this one.

    ``work(first, last, arguments)`` runs on a range of them.
    """
    global _pool
    n = min(threads(), tiles // FEWEST_TILES)
    if n <= 1:
        work(0, tiles, arguments)
        return
    from concurrent.futures import ThreadPoolExecutor  # imported when needed

    pool = _pool
    if pool is None or pool._max_workers < n - 1:
        pool = _pool = ThreadPoolExecutor(n - 1, POOL)
    bounds = [tiles * k // n for k in range(n + 1)]
    waiting = [pool.submit(work, bounds[k], bounds[k + 1], arguments) for k in range(1, n)]
    work(0, bounds[1], arguments)
    for future in waiting:
        future.result()
