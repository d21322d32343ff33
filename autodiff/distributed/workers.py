"""Where shards are evaluated: executors of concurrent.futures, and clusters of Dask."""

from __future__ import annotations

import dataclasses
import os
import queue
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from typing import Any

from autodiff.distributed.loading import is_lazy, prepared
from autodiff.distributed.packing import pack
from autodiff.distributed.worker import Work, add, run
from autodiff.errors import ArgumentError


@dataclasses.dataclass(frozen=True)
class Workers:
    """An executor, and what to do with workers that are lost or slow.

    Attributes
    ----------
    executor : concurrent.futures.Executor, callable or dask.distributed.Client
        A pool of threads or processes, or anything that behaves like one (mpi4py's pool,
        ``client.get_executor()``). A function without arguments may create it:
        ``functools.partial(ProcessPoolExecutor, 4)``. A process pool breaks as soon as one of its
        processes dies; if you pass a function, a new pool is created.
    count : int, optional
        How many tasks run at once; by default the number of threads of Dask's cluster, or of
        processors of this machine. The result does not depend on it.
    timeout : float, optional
        Seconds after which another worker gets the task too. The first result counts.
    retries : int
        How often a task is given out again after workers were lost or slow.

    Examples
    --------
    >>> import functools
    >>> from concurrent.futures import ProcessPoolExecutor
    >>> Workers(functools.partial(ProcessPoolExecutor, 4), count=4, timeout=60).retries
    3
    """

    executor: Any
    count: int | None = None
    timeout: float | None = None
    retries: int = 3

    def __post_init__(self) -> None:
        """Raise for numbers with which nothing would ever be given out."""
        for name, value, least in (("count", self.count, 1), ("retries", self.retries, 0)):
            if value is not None and (value < least or value != int(value)):
                raise ArgumentError(
                    f"Workers: {name} is {value!r}; it is a whole number >= {least}."
                )
        if self.timeout is not None and not self.timeout > 0:
            raise ArgumentError(f"Workers: timeout is {self.timeout!r}; give seconds, more than 0.")


class TooSlowError(Exception):
    """A task has not ended in the time that a worker has for it."""


def place_for(workers: Workers) -> Pool | Cluster:
    """Return where tasks are sent; raise if it is no executor."""
    client = getattr(sys.modules.get("distributed"), "Client", None)
    if client is not None and isinstance(workers.executor, client):
        return Cluster(workers)
    if not hasattr(workers.executor, "submit") and not callable(workers.executor):
        raise ArgumentError(
            f"executor is {workers.executor!r}; it must be an executor of concurrent.futures, a "
            "function that makes one, or a dask.distributed.Client."
        )
    return Pool(workers)


class Pool:
    """Any executor of ``concurrent.futures``: partial sums come back, and are added here."""

    def __init__(self, workers: Workers) -> None:
        is_made = hasattr(workers.executor, "submit") and not isinstance(workers.executor, type)
        self._make: Any = None if is_made else workers.executor
        self._executor = workers.executor if self._make is None else self._made()
        self.count = workers.count or os.cpu_count() or 1
        self.packs = not isinstance(self._executor, ThreadPoolExecutor)
        self.events: Callable[[], Any] = queue.SimpleQueue
        self.now = time.monotonic
        self._work: Any = None
        self._vectors: tuple = ()

    def _made(self) -> Any:
        executor = self._make()
        if not hasattr(executor, "submit"):
            raise ArgumentError(
                f"executor is a function that returned {executor!r}; it must make an executor of "
                "concurrent.futures."
            )
        return executor

    def share(self, work: Work) -> None:
        """Take what all tasks share."""
        self._work = pack(work, "the loss, with its arguments,") if self.packs else work

    def begin(self, vectors: tuple) -> None:
        """Take what all tasks of one evaluation share."""
        self._vectors = vectors

    def kept(self, shard: Any) -> Any:
        """Return a shard as it is kept between evaluations."""
        return shard

    def submit(self, kernel: Callable, shards: list) -> Any:
        """Give out a task; return its future."""
        sent = [prepared(shard, self.packs) for shard in shards]
        return self._executor.submit(run, self._work, kernel, self._vectors, sent)

    def taken(self, future: Any) -> Any:
        """Return what a task that has ended stands for in the sum; raise what it raised."""
        return future.result()

    def combine(self, left: Any, right: Any) -> Any:
        """Return the sum of two."""
        return add(left, right)

    def total(self, taken: Any) -> Any:
        """Return the numbers of a sum."""
        return taken

    @property
    def generation(self) -> Any:
        """What is lost as a whole."""
        return self._executor

    def repair(self, generation: Any, cause: Exception, futures: list) -> bool:
        """Make up for what was lost; return whether tasks can be given out again."""
        if not isinstance(cause, BrokenExecutor) or generation is not self._executor:
            return True
        if self._make is None:
            return False
        self._executor.shutdown(wait=False)
        self._executor = self._made()
        return True

    def close(self) -> None:
        """End the pool, if it was made here."""
        if self._make is not None:
            self._executor.shutdown(wait=False)


class Cluster:
    """A cluster of Dask by its client: parameters are scattered, and sums made on the workers."""

    packs = True
    generation = None

    def __init__(self, workers: Workers) -> None:
        self._client = workers.executor
        self.count = workers.count or max(1, sum(self._client.nthreads().values()))
        self.events: Callable[[], Any] = queue.SimpleQueue
        self.now = time.monotonic
        self._timeout, self._retries = workers.timeout, workers.retries
        self._slow: set[str] = set()
        self._packed = b""
        self._vectors: tuple = ()
        self._scattered: Any = None

    def share(self, work: Work) -> None:
        """Take what all tasks share."""
        self._packed = pack(work, "the loss, with its arguments,")
        self._work = self._scatter(self._packed)

    def begin(self, vectors: tuple) -> None:
        """Send the parameters to each worker, once."""
        self._vectors = vectors
        self._slow = set()
        self._scattered = self._scatter(vectors)

    def _submit(self, f: Callable, *args: Any) -> Any:
        others: dict[str, Any] = {}
        if self._slow:
            fast = self._client.nthreads().keys() - self._slow
            others = {"workers": list(fast), "allow_other_workers": True} if fast else {}
        return self._client.submit(f, *args, pure=False, **others)

    def _scatter(self, thing: Any) -> Any:
        for left in reversed(range(self._retries + 1)):
            try:
                return self._client.scatter([thing], hash=False)[0]
            except OSError:  # a worker died while it was sent
                if not left:
                    raise
                time.sleep(1.0)  # the scheduler has to notice
        raise AssertionError("the last attempt returns or raises")

    def kept(self, shard: Any) -> Any:
        """Return a shard as it is kept between evaluations: Dask's collections on the workers."""
        if isinstance(shard, tuple):
            return tuple(map(self.kept, shard))
        return self._client.compute(shard) if is_lazy(shard) else shard

    def submit(self, kernel: Callable, shards: list) -> Any:
        """Give out a task; return its future."""
        sent = [prepared(shard, self.packs) for shard in shards]
        return self._submit(run, self._work, kernel, self._scattered, sent)

    def taken(self, future: Any) -> Any:
        """Return the future itself, whose sum stays on the worker; raise what it raised."""
        if future.status != "finished":
            future.result()
        return future

    def combine(self, left: Any, right: Any) -> Any:
        """Have a worker add two."""
        return self._submit(add, left, right)

    def total(self, taken: Any) -> Any:
        """Return the numbers of a sum."""
        return taken.result(self._timeout)

    def repair(self, generation: Any, cause: Exception, futures: list) -> bool:
        """Send again what may have been on the lost worker alone; leave a slow one alone."""
        if isinstance(cause, TooSlowError):
            keys = {future.key for future in futures}
            processing = self._client.processing()
            self._slow |= {worker for worker, of in processing.items() if keys.intersection(of)}
        else:
            self._work = self._scatter(self._packed)
            self._scattered = self._scatter(self._vectors)
        return True

    def close(self) -> None:
        """Leave the client to its owner."""
        self._work = self._scattered = None
