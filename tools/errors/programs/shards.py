"""Sums over shards of data, by workers."""

import contextlib
import functools
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np

from autodiff import ArgumentError, ShardError, gradient
from autodiff.distributed import Workers, sweep, value_and_gradient
from autodiff.optimize import minimize
from tools.errors.entries import entry

THREADS = functools.partial(ThreadPoolExecutor, 2)
PROCESSES = functools.partial(ProcessPoolExecutor, 1, mp_context=get_context("spawn"))
SHARDS = [np.array([1.0, 2.0]), np.array([3.0])]


def loss(a, x):
    return np.sum((a * x - 1) ** 2)


def dying():
    os._exit(1)


@entry("One array in place of shards", ArgumentError)
def array_as_shards() -> None:
    value_and_gradient(loss, 1.0, np.arange(8.0), THREADS)


@array_as_shards.instead("Split it")
def split_array() -> None:
    value_and_gradient(loss, 1.0, np.array_split(np.arange(8.0), 4), THREADS)


@entry("No shards", ArgumentError)
def no_shards() -> None:
    value_and_gradient(loss, 1.0, [], THREADS)


@no_shards.instead("Give one at least")
def one_shard() -> None:
    value_and_gradient(loss, 1.0, SHARDS[:1], THREADS)


def summed(a, numbers):
    return sum((a * x - 1) ** 2 for x in numbers)


@entry("A generator as a shard", ArgumentError)
def generator_as_shard() -> None:
    value_and_gradient(summed, 1.0, [(float(x) for x in range(3))], THREADS)


@generator_as_shard.instead("Give a function that makes it")
def function_as_shard() -> None:
    value_and_gradient(summed, 1.0, [lambda: (float(x) for x in range(3))], THREADS)


@entry("A file of a kind that is not known", ArgumentError)
def unknown_file() -> None:
    value_and_gradient(loss, 1.0, ["rows.csv"], THREADS)


@unknown_file.instead("Give a function that loads it")
def loading_function() -> None:
    file = Path(tempfile.mkdtemp()) / "rows.csv"
    file.write_text("1.0\n2.0\n")
    value_and_gradient(loss, 1.0, [functools.partial(np.loadtxt, file)], THREADS)


@entry("A file whose library is not installed", ArgumentError, has_line=False)
def missing_reader() -> None:
    with mock.patch.dict(sys.modules, {"zarr": None}):
        value_and_gradient(loss, 1.0, ["rows.zarr"], THREADS)


@missing_reader.instead("Read another kind of file")
def other_file() -> None:
    file = Path(tempfile.mkdtemp()) / "rows.npy"
    np.save(file, SHARDS[0])
    value_and_gradient(loss, 1.0, [file], THREADS)


@entry("A number in place of an executor", ArgumentError)
def number_of_workers() -> None:
    value_and_gradient(loss, 1.0, SHARDS, 2)


@number_of_workers.instead("Give an executor")
def executor() -> None:
    with ThreadPoolExecutor(2) as threads:
        value_and_gradient(loss, 1.0, SHARDS, threads)


@entry("Shards without an executor", ArgumentError)
def shards_alone() -> None:
    minimize(loss, 1.0, shards=SHARDS)


@shards_alone.instead("Give both")
def shards_and_executor() -> None:
    minimize(loss, 1.0, shards=SHARDS, executor=THREADS)


@entry("A sum over shards inside a function that is differentiated", ArgumentError)
def differentiated_sum() -> None:
    gradient(lambda a: value_and_gradient(loss, a, SHARDS, THREADS)[0], 1.0)


@differentiated_sum.instead("Take its gradient outside")
def sum_outside() -> None:
    value_and_gradient(loss, 1.0, SHARDS, THREADS)


@entry("A loss that cannot be sent to another process", ArgumentError)
def unsendable_loss() -> None:
    lock = threading.Lock()

    def locked(a, x):
        with lock:
            return loss(a, x)

    value_and_gradient(locked, 1.0, SHARDS, PROCESSES)


@unsendable_loss.instead("Define it at the top of a module")
def sendable_loss() -> None:
    value_and_gradient(loss, 1.0, SHARDS, PROCESSES)


@entry("A process that dies, in a pool that cannot be made again", ShardError)
def broken_pool() -> None:
    with PROCESSES() as pool:
        value_and_gradient(loss, 1.0, [dying], pool)


@broken_pool.instead("Give a function that makes the pool")
def pool_made_again() -> None:
    value_and_gradient(loss, 1.0, SHARDS, PROCESSES)


@entry("A shard that is too slow for each worker", ShardError)
def slow_shard() -> None:
    slow = functools.partial(time.sleep, 0.3)
    value_and_gradient(loss, 1.0, [slow], Workers(THREADS, timeout=0.05, retries=1))


@slow_shard.instead("Give more time")
def more_time() -> None:
    value_and_gradient(loss, 1.0, SHARDS, Workers(THREADS, timeout=60))


class UnsendableError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def failing(a, x):
    raise UnsendableError(1, 2)


@entry("A loss that raises what cannot be sent back", ShardError)
def unsendable_error() -> None:
    value_and_gradient(failing, 1.0, SHARDS[:1], THREADS)


@unsendable_error.instead("Raise an error that can be pickled")
def sendable_error() -> None:
    with contextlib.suppress(ZeroDivisionError):
        value_and_gradient(lambda a, x: 1.0 / 0.0, 1.0, SHARDS, THREADS)


@entry("A function that makes no executor", ArgumentError)
def maker_of_nothing() -> None:
    value_and_gradient(loss, 1.0, SHARDS, lambda: None)


@maker_of_nothing.instead("Give a function, or a class, that makes one")
def maker_of_threads() -> None:
    value_and_gradient(loss, 1.0, SHARDS, ThreadPoolExecutor)


@entry("No workers", ArgumentError)
def no_workers() -> None:
    Workers(THREADS, count=0)


@no_workers.instead("Give at least one")
def one_worker() -> None:
    Workers(THREADS, count=1)


@entry("No time for a task", ArgumentError)
def no_time() -> None:
    Workers(THREADS, timeout=0.0)


@no_time.instead("Give seconds, or None for no limit")
def some_time() -> None:
    Workers(THREADS, timeout=60.0)


@entry("A value in place of the function of a sweep", ArgumentError)
def value_to_sweep() -> None:
    sweep(loss(1.0, SHARDS[0]), [1.0, 2.0], THREADS)


@value_to_sweep.instead("Give the function, and its further arguments")
def function_to_sweep() -> None:
    sweep(loss, [1.0, 2.0], THREADS, args=(SHARDS[0],))


@entry("A sweep without settings", ArgumentError)
def no_settings() -> None:
    sweep(loss, [], THREADS, args=(SHARDS[0],))


@no_settings.instead("Give at least one")
def one_setting() -> None:
    sweep(loss, [1.0], THREADS, args=(SHARDS[0],))
