"""A cluster in virtual time: delays and losses are drawn from distributions, numbers computed.

What gives tasks out and adds what arrives is the code that real clusters get,
`autodiff.distributed.sums`: only the workers and the clock are simulated.
"""

from __future__ import annotations

import heapq
import itertools
import queue
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.distributed.worker import Work, add, run


class LostWorkerError(Exception):
    """A simulated worker has died."""


class Future:
    """A task of a simulated worker."""

    def __init__(self, task: Callable, lost: bool) -> None:
        self._task, self._lost, self.callback = task, lost, None
        self.cancelled = False

    def add_done_callback(self, callback: Callable) -> None:
        self.callback = callback

    def cancel(self) -> None:
        self.cancelled = True

    def result(self) -> Any:
        if self._lost:
            raise LostWorkerError("worker")
        return self._task()


class SimulatedCluster:
    """Workers that take tasks in the order in which these are given out.

    Parameters
    ----------
    count : int
        How many workers.
    seconds : callable
        ``seconds(rng)`` draws how long a task takes.
    loss : float
        The probability that a worker dies of a task; the next takes its place after 30 s.
    seed : int
        Of all draws.
    """

    packs = False
    generation = None

    def __init__(self, count: int, seconds: Callable, loss: float = 0.0, seed: int = 0) -> None:
        self.count = count
        self.clock = self.busy = 0.0
        self.given_out = self.losses = self.most_pending = 0
        self._rng, self._seconds, self._loss = np.random.default_rng(seed), seconds, loss
        self._free = [0.0] * count
        self._ends: list = []
        self._order = itertools.count()
        self._ready: list = []

    def now(self) -> float:
        return self.clock

    def events(self) -> SimulatedCluster:
        self._ends, self._ready = [], []
        return self

    def share(self, work: Work) -> None:
        self._work = work

    def begin(self, vectors: tuple) -> None:
        self._vectors = vectors

    def kept(self, shard: Any) -> Any:
        return shard

    def submit(self, kernel: Callable, shards: list) -> Future:
        self.given_out += 1
        lost = self._rng.random() < self._loss
        future = Future(lambda: run(self._work, kernel, self._vectors, shards), lost)
        needed = self._seconds(self._rng) * (self._rng.random() if lost else 1.0)
        end = max(self.clock, heapq.heappop(self._free)) + needed
        heapq.heappush(self._free, end + 30.0 * lost)
        heapq.heappush(self._ends, (end, next(self._order), future))
        self.busy += needed
        self.losses += lost
        return future

    def put(self, event: Any) -> None:
        self._ready.append(event)

    def get(self, timeout: float | None = None) -> Any:
        """Go on in time to the next end of a task."""
        until = np.inf if timeout is None else self.clock + timeout
        while self._ends and self._ends[0][0] <= until:
            self.clock, _, future = heapq.heappop(self._ends)
            if not future.cancelled:
                future.callback(future)
                return self._ready.pop()
        if until == np.inf:
            raise RuntimeError("nothing is left to wait for")
        self.clock = until
        raise queue.Empty

    def taken(self, future: Future) -> Any:
        return future.result()

    def combine(self, left: Any, right: Any) -> Any:
        return add(left, right)

    def total(self, taken: Any) -> Any:
        return taken

    def repair(self, generation: Any, cause: Exception, futures: list) -> bool:
        return True

    def close(self) -> None:
        pass
