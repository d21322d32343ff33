"""Sums over shards: ``python -m benchmarks.distributed``.

The speed-up of two processes over one; the bytes that a step moves; the memory of the client as the
number of shards grows; and 1,000 simulated workers, which are slow and die as distributions say.
"""

from __future__ import annotations

import argparse
import functools
import gc
import math
import multiprocessing
import pickle
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from autodiff.api.trees import Ravelling
from autodiff.distributed import Workers, tree, value_and_gradient
from autodiff.distributed.sums import ShardedSum
from autodiff.distributed.worker import Work
from autodiff.distributed.workers import Pool
from autodiff.optimize.problems import pair_at
from benchmarks.simulated_cluster import SimulatedCluster

WIDTH = 20


def rows(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([3, seed])
    x = rng.standard_normal((count, WIDTH))
    return x, np.sign(x[:, 0] + rng.standard_normal(count))


def loss(p: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return np.sum(np.logaddexp(0.0, -y * (x @ p["w"] + p["b"])))


def no_loss(p: Any, x: float) -> Any:
    return np.sum(p * x)


def speed_up(console: Console, count: int, shards: int) -> None:
    """Print the time of a gradient with one process and with two."""
    params = {"w": np.zeros(WIDTH), "b": 0.0}
    data = [functools.partial(rows, seed, count) for seed in range(shards)]
    table = Table(title=f"{count * shards:,} rows drawn on the workers, {shards} shards")
    for column in ("processes", "seconds", "speed-up"):
        table.add_column(column, justify="right")
    seconds: dict[int, float] = {}
    found = []
    for number in (1, 2):
        context = multiprocessing.get_context("forkserver")
        with ProcessPoolExecutor(number, mp_context=context) as pool:
            workers = Workers(pool, count=2)
            value_and_gradient(loss, params, data[: 4 * number], workers)  # imports
            times = []
            for _ in range(3):
                begun = time.perf_counter()
                found.append(value_and_gradient(loss, params, data, workers)[0])
                times.append(time.perf_counter() - begun)
            seconds[number] = min(times)
        ratio = f"{seconds[1] / seconds[number]:.2f}"
        table.add_row(str(number), f"{seconds[number]:.2f}", ratio)
    assert len(set(found)) == 1
    console.print(table)


class Counting(Pool):
    """A pool that counts the bytes of what its tasks are given and return."""

    sent = received = 0

    def submit(self, kernel: Any, shards: list) -> Any:
        self.sent += len(pickle.dumps((self._work, kernel, self._vectors, shards)))
        return super().submit(kernel, shards)

    def taken(self, future: Any) -> Any:
        found = super().taken(future)
        self.received += len(pickle.dumps(found))
        return found

    def share(self, work: Work) -> None:
        self.packs = True
        super().share(work)


def bytes_moved(console: Console) -> None:
    """Print what a step moves between the client and two workers."""
    table = Table(title="Bytes of a step, 64 shards, 2 workers: 8 tasks")
    for column in ("parameters", "bytes of them", "sent", "received", "data, had they been sent"):
        table.add_column(column, justify="right")
    for size in (10, 1000, 100_000):
        params = np.zeros(size)
        shards = [functools.partial(float, i) for i in range(64)]
        workers = Workers(functools.partial(ThreadPoolExecutor, 2), count=2)
        place = Counting(workers)
        ravelling = Ravelling(params, real=True)
        with ShardedSum(no_loss, ravelling, (), shards, workers, place=place) as total:
            total.evaluate(pair_at, (params,))
        numbers = (size, params.nbytes, place.sent, place.received, 64 * 100_000 * WIDTH * 8)
        table.add_row(*(f"{n:,}" for n in numbers))
    console.print(table)


def memory(console: Console) -> None:
    """Print the client's memory at its peak, for a million parameters and more and more shards."""
    params = np.zeros(1_000_000)
    ravelling = Ravelling(params, real=True)
    table = Table(title="Peak of the client's memory, 1,000,000 parameters (8 MB), 2 processes")
    table.add_column("shards", justify="right")
    table.add_column("MB", justify="right")
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        workers = Workers(pool, count=2)
        for count in (8, 8, 32, 128, 512):  # the first imports what it needs
            with ShardedSum(no_loss, ravelling, (), [1.0] * count, workers) as total:
                gc.collect()
                tracemalloc.start()
                total.evaluate(pair_at, (params,))
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            table.add_row(str(count), f"{peak / 1e6:.0f}")
    console.print(table)


def simulated(console: Console, count: int, shards: int) -> None:
    """Print what delays and deaths do to a step of many workers, and that they change no bit."""
    table = Table(title=f"{count:,} simulated workers, {shards:,} shards; a task takes 10 s or so")
    for column in ("delays", "deaths", "time limit", "step (s)", "ideal", "tasks", "dead", "sums"):
        table.add_column(column, justify="right")
    delays = {
        "gamma": lambda rng: rng.gamma(20.0, 0.5),
        "log-normal": lambda rng: 8.0 * math.exp(rng.normal(0, 0.6)),
        "1 % hang": lambda rng: 3600.0 if rng.random() < 0.01 else rng.gamma(20.0, 0.5),
    }
    params = np.array([1.5, -0.5])
    ravelling = Ravelling(params, real=True)
    terms = list(np.random.default_rng(0).normal(size=shards))
    found = set()
    most, plain = 0, tree.TreeSum.add

    def counted(self: Any, place: int, term: Any) -> None:
        nonlocal most
        plain(self, place, term)
        most = max(most, len(self.pending))

    cases = [("gamma", 0.0, None), ("gamma", 0.01, None), ("log-normal", 0.0, None),
             ("log-normal", 0.02, 40.0), ("1 % hang", 0.0, None),
             ("1 % hang", 0.01, 40.0)]  # fmt: skip
    for name, deaths, limit in cases:
        cluster = SimulatedCluster(count, delays[name], deaths)
        workers = Workers(None, timeout=limit, retries=20)
        most = 0
        with ShardedSum(no_loss, ravelling, (), terms, workers, place=cluster) as total:
            tree.TreeSum.add = counted  # type: ignore[method-assign]
            try:
                value, slope = total.evaluate(pair_at, (params,))
            finally:
                tree.TreeSum.add = plain  # type: ignore[method-assign]
        found.add((float(value), slope.tobytes()))
        ideal = cluster.busy / count
        table.add_row(
            name, f"{deaths:.0%}", "" if limit is None else f"{limit:.0f} s",
            f"{cluster.clock:.0f}", f"{ideal:.0f}", f"{cluster.given_out:,}",
            str(cluster.losses), str(most),
        )  # fmt: skip
    assert len(found) == 1  # the same bits each time
    console.print(table)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="rows of a shard")
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1000, help="simulated ones")
    options = parser.parse_args()
    console = Console()
    speed_up(console, options.rows, options.shards)
    bytes_moved(console)
    memory(console)
    simulated(console, options.workers, 8 * options.workers)


if __name__ == "__main__":
    main()
