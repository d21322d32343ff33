"""A sum over shards: tasks are given out, lost ones again, and what arrives is added in a tree."""

from __future__ import annotations

import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any

import numpy as np

from autodiff.api.trees import Ravelling
from autodiff.distributed.loading import called_with, described, is_lazy
from autodiff.distributed.tree import TreeSum, group_size
from autodiff.distributed.worker import LossError, Work
from autodiff.distributed.workers import TooSlowError, Workers, place_for
from autodiff.errors import ArgumentError, ShardError
from autodiff.trace.trace_stack import is_differentiating

_PICKLING = (pickle.PicklingError, TypeError, AttributeError)
_TASKS = 4  # for each worker: few enough to send little, so many that none waits long for another


def _nothing(done: int, total: int) -> None:
    """Report to nobody."""


class ShardedSum:
    """Sums of a loss, or of its derivatives, over shards.

    Parameters
    ----------
    loss : callable
        ``loss(params, *shard, *args)``.
    ravelling : Ravelling
        How the parameters lie in the vector.
    args : tuple
        Further arguments of `loss`.
    shards : sequence
        The shards.
    workers : Any
        An executor, or :class:`Workers`.
    report : callable
        Called as ``report(done, total)``, in shards.
    place : Any
        Where tasks are sent, by default what `workers` says.
    together : int, optional
        How many neighbouring shards a task has, a power of two; by default a few tasks for each
        worker.

    Raises
    ------
    ArgumentError
        If there are no shards, if the executor is none, or if the loss cannot be sent to it.
    """

    def __init__(
        self,
        loss: Callable,
        ravelling: Ravelling,
        args: tuple,
        shards: Any,
        workers: Any,
        report: Callable[[int, int], None] = _nothing,
        place: Any = None,
        together: int | None = None,
    ) -> None:
        if is_differentiating():
            raise ArgumentError(
                "a sum over shards is evaluated by workers, and what they compute cannot be "
                "differentiated again. Call this outside of the function that is differentiated."
            )
        self.workers = workers if isinstance(workers, Workers) else Workers(workers)
        self.shards = _checked(shards)
        self.place = place_for(self.workers) if place is None else place
        self.together = together
        self._report = report
        try:
            self.shards = [self.place.kept(shard) for shard in self.shards]
            self.place.share(Work(loss, ravelling.without_numbers(), args))
        except BaseException:
            self.place.close()
            raise

    def __enter__(self) -> ShardedSum:
        return self

    def __exit__(self, *error: object) -> None:
        """Let the workers go."""
        self.place.close()

    def of_vector(self, kernel: Callable) -> Callable:
        """Return the sum of a function of :mod:`autodiff.optimize.problems`, of the vector."""
        return lambda *vectors: self.evaluate(kernel, vectors)

    def evaluate(self, kernel: Callable, vectors: tuple, places: Sequence[int] = ()) -> Any:
        """Return the sum of a kernel over shards.

        Parameters
        ----------
        kernel : callable
            As for :func:`autodiff.distributed.worker.run`.
        vectors : tuple of ndarray
            Its arguments.
        places : sequence of int
            Which shards, in the order of the sum; by default all.

        Raises
        ------
        ShardError
            If a shard was given out again and again without success.
        Exception
            What the loss raised on a worker.
        """
        cause: Exception | None = None
        chosen = list(places) or list(range(len(self.shards)))
        for _ in range(self.workers.retries + 1):
            self.place.begin(vectors)
            gathered = self._gathered(kernel, chosen)
            try:
                return self.place.total(gathered)
            except Exception as error:  # sums were lost with their workers
                cause = error
        raise self.given_up(chosen, cause) from cause

    def _gathered(self, kernel: Callable, places: list[int]) -> Any:
        """Return the sum as the workers have it."""
        tasks, count, done = _Tasks(self, kernel, places), len(places), 0
        total = TreeSum(len(tasks.groups), self.place.combine)
        try:
            while done < count:
                tasks.give_out()
                ended = tasks.next()
                if ended is not None:
                    total.add(*ended)
                    done += len(tasks.groups[ended[0]])
                    self._report(done, count)
        finally:
            tasks.end()
        return total.total

    def given_up(self, places: list[int], cause: Exception | None) -> ShardError:
        """Build the error for shards that were given out again and again."""
        named = ", ".join(described(i, self.shards[i]) for i in places[:3])
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        times = self.workers.retries + 1
        advice = (
            "It cannot be sent to another process: give a function that makes it there."
            if isinstance(cause, _PICKLING) and "pickle" in str(cause)
            else "Workers die of too little memory most of all: make shards smaller, or run fewer "
            "at once (Workers(executor, count=...))."
        )
        return ShardError(
            f"{named}{more} could not be evaluated: given to workers {times} times, the last "
            f"time it ended with {type(cause).__name__}: {cause}. {advice}"
            if not isinstance(cause, TooSlowError)
            else f"{named}{more} could not be evaluated: {times} workers have had it for "
            f"{self.workers.timeout} s each. Give more time (Workers(executor, timeout=...)), or "
            "make shards smaller."
        )


class _Tasks:
    """The tasks of one evaluation: groups of shards that are with workers."""

    def __init__(self, total: ShardedSum, kernel: Callable, places: list[int]) -> None:
        self._total, self._place, self._kernel = total, total.place, kernel
        size = total.together or group_size(len(places), _TASKS * self._place.count)
        self.groups = [places[i : i + size] for i in range(0, len(places), size)]
        self._events = total.place.events()
        self._next = 0
        # Group → futures of the task, how often it was given out, and until when it has time.
        self._running: dict[int, list] = {}
        self._times: dict[int, int] = {}
        self._until: dict[int, float] = {}

    def give_out(self) -> None:
        """Give out tasks, so many that no worker waits for the next."""
        while self._next < len(self.groups) and len(self._running) < 2 * self._place.count:
            self._submit(self._next)
            self._next += 1

    def _submit(self, group: int) -> None:
        shards = [self._total.shards[place] for place in self.groups[group]]
        generation = self._place.generation
        self._times[group] = self._times.get(group, 0) + 1
        if self._total.workers.timeout is not None:
            self._until[group] = self._place.now() + self._total.workers.timeout
        self._running.setdefault(group, [])
        try:
            future = self._place.submit(self._kernel, shards)
        except BrokenExecutor as error:
            self._again(group, generation, error)
            return
        self._running[group].append(future)
        events = self._events
        future.add_done_callback(lambda ended: events.put((group, generation, ended)))

    def next(self) -> tuple[int, Any] | None:
        """Wait; return a group that has ended and its sum, or None if there is none yet."""
        try:
            group, generation, future = self._events.get(timeout=self._patience())
        except queue.Empty:
            now = self._place.now()
            for group in [g for g, until in self._until.items() if until <= now]:
                self._again(group, self._place.generation, TooSlowError())
            return None
        if group not in self._running:
            return None  # another worker was faster
        try:
            taken = self._place.taken(future)
        except LossError as failed:
            place = self.groups[group][failed.place]
            where = called_with(place, self._total.shards[place])
            if failed.error is None:
                last = failed.text.strip().rpartition("\n")[2]
                raise ShardError(f"{where} raised what cannot be sent back: {last}") from failed
            failed.error.add_note(f"This is {where}; on its worker:\n{failed.text}")
            raise failed.error from failed.error.__cause__
        except Exception as cause:
            self._again(group, generation, cause)
            return None
        self._forget(group)
        return group, taken

    def _patience(self) -> float | None:
        return max(0.0, min(self._until.values()) - self._place.now()) if self._until else None

    def _again(self, group: int, generation: Any, cause: Exception) -> None:
        """Give a task out again; raise if it was given out often enough."""
        can_go_on = self._place.repair(generation, cause, self._running[group])
        if not can_go_on:
            raise ShardError(
                "a process of the pool has died, and the pool with it "
                f"({type(cause).__name__}). Give a function that makes the pool, so that a new one "
                "can be made: functools.partial(ProcessPoolExecutor, 2)."
            ) from cause
        if self._times[group] > self._total.workers.retries:
            raise self._total.given_up(self.groups[group], cause) from cause
        self._submit(group)

    def _forget(self, group: int) -> list:
        self._until.pop(group, None)
        return self._running.pop(group)

    def end(self) -> None:
        """Take back what is not needed any more."""
        for group in list(self._running):
            for future in self._forget(group):
                future.cancel()


def _checked(shards: Any) -> list:
    """Return the shards as a list."""
    if isinstance(shards, (np.ndarray, str, bytes, dict)) or is_lazy(shards):
        raise ArgumentError(
            f"shards is one {type(shards).__name__}. Give a list of shards: arrays "
            "(np.array_split(x, 8)), tuples of arrays, files, or functions that load them; of an "
            "array of Dask its blocks (list(x.to_delayed().ravel()))."
        )
    listed = list(shards)
    if not listed:
        raise ArgumentError("there are no shards: give a list of at least one.")
    for number, shard in enumerate(listed):
        for part in shard if isinstance(shard, tuple) else (shard,):
            if isinstance(part, Iterator):
                raise ArgumentError(
                    f"shard {number} holds a {type(part).__name__}, which can be read only once, "
                    "and a shard is read in each evaluation. Give a list, or a function that "
                    "makes it."
                )
    return listed


def is_sharded(shards: Any, executor: Any) -> bool:
    """Whether a loss is summed by workers; raise if one of the two is missing."""
    if (shards is None) != (executor is None):
        raise ArgumentError(
            "shards and executor belong together: give both, or evaluate the whole loss here."
        )
    return shards is not None
