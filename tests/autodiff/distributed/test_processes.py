"""Real processes: what is sent to them, what is lost with them, what they read."""

import functools
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from autodiff import ArgumentError, ShardError
from autodiff.distributed import Workers, value_and_gradient
from autodiff.distributed.packing import pack
from autodiff.optimize import adam, minimize, train
from tests.autodiff.distributed import client_program, losses
from tests.helpers import grown_and_killed, one_in, run_python

two_processes = functools.partial(
    ProcessPoolExecutor, 2, mp_context=multiprocessing.get_context("forkserver")
)
two_threads = functools.partial(ThreadPoolExecutor, 2)
PARAMS = {"w": np.array([0.1, -0.2, 0.3, 0.0]), "b": 0.5, "name": "logistic"}
has_cloudpickle = importlib.util.find_spec("cloudpickle") is not None


def loaders(count):
    return [functools.partial(losses.rows, seed) for seed in range(count)]


@pytest.fixture(scope="module")
def pool():
    with two_processes() as executor:
        yield executor


@pytest.fixture(scope="module")
def expected():
    return value_and_gradient(losses.logistic, PARAMS, loaders(12), two_threads)


def same(found, expected):
    assert found[0] == expected[0]
    assert found[1]["w"].tobytes() == expected[1]["w"].tobytes()
    assert found[1]["b"] == expected[1]["b"]


def test_shards_that_are_loaded_there_or_sent(pool, expected):
    same(value_and_gradient(losses.logistic, PARAMS, loaders(12), pool), expected)
    shards = [losses.rows(seed) for seed in range(12)]
    same(value_and_gradient(losses.logistic, PARAMS, shards, pool), expected)


def test_a_fit(pool):
    start = {"w": np.zeros(4), "b": 0.0}
    ours = minimize(losses.logistic, start, shards=loaders(12), executor=pool)
    here = minimize(losses.logistic, start, shards=loaders(12), executor=two_threads)
    assert ours.x.tobytes() == here.x.tobytes()
    assert ours.success


# ----------------------------------------------------------------------------------- what is lost


def test_a_process_that_dies_is_replaced(expected, tmp_path):
    shards = loaders(12)
    shards[5] = functools.partial(losses.dying_once, tmp_path / "died", 5)
    workers = Workers(two_processes, count=2)
    same(value_and_gradient(losses.logistic, PARAMS, shards, workers), expected)
    assert (tmp_path / "died").exists()


def test_a_fit_goes_on_when_a_process_dies(tmp_path):
    start = {"w": np.zeros(4), "b": 0.0}
    shards = loaders(6)
    whole = minimize(losses.logistic, start, shards=shards, executor=two_threads)
    shards[2] = functools.partial(losses.dying_once, tmp_path / "died", 2)
    found = minimize(losses.logistic, start, shards=shards, executor=two_processes)
    assert found.x.tobytes() == whole.x.tobytes()


def test_training_goes_on_when_a_process_dies(tmp_path):
    start = {"w": np.zeros(4), "b": 0.0}
    options = {"optimiser": adam(0.1), "batch_size": 4, "epochs": 2}
    shards = loaders(6)
    whole = train(losses.logistic, start, shards=shards, executor=two_threads, **options)
    shards[2] = functools.partial(losses.dying_once, tmp_path / "died", 2)
    found = train(losses.logistic, start, shards=shards, executor=two_processes, **options)
    assert (tmp_path / "died").exists()
    assert found.params["w"].tobytes() == whole.params["w"].tobytes()
    assert found.history.values == whole.history.values


def test_a_shard_that_kills_each_process():
    shards = loaders(3)
    shards[1] = functools.partial(losses.dying, 1)
    with pytest.raises(ShardError, match=r"shard \d .*given to workers 2 times.*BrokenProcessPool"):
        value_and_gradient(losses.logistic, PARAMS, shards, Workers(two_processes, retries=1))


def test_a_pool_that_cannot_be_replaced():
    shards = [functools.partial(losses.dying, 1)]
    with two_processes() as pool, pytest.raises(ShardError, match="Give a function that makes"):
        value_and_gradient(losses.logistic, PARAMS, shards, pool)


def test_a_slow_shard_is_given_to_another(expected, tmp_path):
    shards = loaders(12)
    shards[3] = functools.partial(losses.slow_once, tmp_path / "slow", 3)
    with two_processes() as executor:
        value_and_gradient(losses.logistic, PARAMS, loaders(2), executor)  # imports take time
        begun = time.monotonic()
        workers = Workers(executor, timeout=5, retries=8)
        same(value_and_gradient(losses.logistic, PARAMS, shards, workers), expected)
        assert time.monotonic() - begun < 500  # the slow one sleeps for longer
        os.kill(int((tmp_path / "slow").read_text()), signal.SIGKILL)


def test_a_client_that_is_killed_goes_on_bit_for_bit(tmp_path):
    file, program = tmp_path / "fit", "tests.autodiff.distributed.client_program"
    for size in (900, 2500)[:: one_in(2)]:
        grown_and_killed(file, size, "-m", program, file, "processes")
    again = run_python("-m", program, file, "processes").stdout
    assert again.strip() == client_program.shown(client_program.fit(two_threads))


def test_a_process_that_dies_in_a_run_that_goes_on(tmp_path):
    """Ctrl-C ends the run, and a process of the pool dies in each of its two parts."""
    start, file = {"w": np.zeros(4), "b": 0.0}, tmp_path / "fit"
    whole = minimize(losses.logistic, start, shards=loaders(6), executor=two_threads)

    def interrupt(state):
        if state.nfev == 5 and not again:
            signal.raise_signal(signal.SIGINT)

    for again in (False, True):
        shards = loaders(6)
        shards[2] = functools.partial(losses.dying_once, tmp_path / f"died {again}", 2)
        found = minimize(
            losses.logistic, start, shards=shards, executor=two_processes, callback=interrupt,
            checkpoint=file, resume=True,
        )  # fmt: skip
        assert found.success == again
        assert (tmp_path / f"died {again}").exists()
    assert found.x.tobytes() == whole.x.tobytes()
    assert found.history.values == whole.history.values
    assert (found.nit, found.nfev, found.message) == (whole.nit, whole.nfev, whole.message)


def test_an_interrupt_leaves_the_best_point():
    start = {"w": np.zeros(4), "b": 0.0}
    seen = []

    def interrupt(state):
        seen.append(state)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    shards = [functools.partial(losses.rows, seed, 20000) for seed in range(8)]
    result = minimize(
        losses.logistic, start, shards=shards, executor=two_processes, callback=interrupt,
        options={"gtol": 0.0},
    )  # fmt: skip
    assert result.message.startswith("Interrupted by Ctrl-C")
    assert result.fun == min(result.history.values)


# ------------------------------------------------------------------------------------ what is sent


def test_errors_keep_their_class_where_they_can(pool):
    shards = [np.full(2, float(i)) for i in range(6)]
    with pytest.raises(ValueError, match="a row that cannot be") as caught:
        value_and_gradient(losses.failing, {"a": 1.0}, shards, pool)
    (note,) = caught.value.__notes__
    assert note.startswith("This is the loss of shard 3 (array of shape (2,)); on its worker:")
    assert "losses.py" in note
    with pytest.raises(
        ShardError, match=r"(?s)loss of shard \d.* sent back.*UnsendableError: 1 and 2"
    ):
        value_and_gradient(losses.failing_badly, {"a": 1.0}, shards, pool)


def test_a_lambda_needs_cloudpickle(pool, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(
        ArgumentError, match=r"the loss, with its arguments, cannot be sent.*install"
    ):
        value_and_gradient(lambda p, x: np.sum(p * x), 1.0, [np.ones(2)], pool)
    with pytest.raises(ArgumentError, match="function that loads a shard cannot be sent"):
        value_and_gradient(losses.squares, {"a": 1.0}, [lambda: np.ones(2)], pool)


@pytest.mark.skipif(not has_cloudpickle, reason="cloudpickle is not installed")
def test_lambdas_and_cells_go_with_their_source(pool):
    scale = 2.0
    value, slope = value_and_gradient(
        lambda p, x: np.sum(scale * p * x), 1.5, [lambda: np.ones(2), np.ones(3)], pool
    )
    assert (value, slope) == (15.0, 10.0)
    with pytest.raises(ArgumentError, match="Make what it refers to without open files"):
        pack(threading.Lock(), "a lock")


CELL = """
import math
def of_cell(p, x):
    total = 0.0
    for value in x:
        total += math.sin(p * value)
    return total
"""


@pytest.mark.skipif(not has_cloudpickle, reason="cloudpickle is not installed")
def test_functions_of_a_notebook_are_differentiated_from_their_source(pool):
    import linecache

    name = "<ipython-input-1-0123456789ab>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    namespace = {"__name__": "__main__"}
    exec(compile(CELL, name, "exec"), namespace)
    x = np.array([0.1, 0.7])
    value, slope = value_and_gradient(namespace["of_cell"], 0.5, [x, x], pool)
    assert value == pytest.approx(2 * np.sum(np.sin(0.5 * x)))
    assert slope == pytest.approx(2 * np.sum(x * np.cos(0.5 * x)))


# ------------------------------------------------------------------------------------------- files


def test_files_of_arrays(pool, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shards = []
    for seed in range(12):
        x, y = losses.rows(seed)
        np.save(f"x{seed}.npy", x)
        np.save(f"y{seed}.npy", y)
        shards.append((f"x{seed}.npy", Path(f"y{seed}.npy")))
    same(value_and_gradient(losses.logistic, PARAMS, shards, pool), expected)
    with pytest.raises(FileNotFoundError) as caught:
        value_and_gradient(losses.squares, {"a": 1.0}, ["none.npy"], pool)
    assert "shard 0 (none.npy)" in caught.value.__notes__[0]


def test_tables_of_parquet(pool, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"a": np.arange(4.0), "b": np.array([1, 2, 3, 4])}
    for i in range(3):
        parquet.write_table(pyarrow.table(columns), tmp_path / f"{i}.parquet")
    shards = [tmp_path / f"{i}.parquet" for i in range(3)]
    value, slope = value_and_gradient(losses.of_table, 2.0, shards, pool)
    assert (value, slope) == (3 * 2.0 * 20.0, 3 * 20.0)


def test_arrays_of_zarr(pool, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(tmp_path / "x.zarr"), np.arange(5.0))
    value, slope = value_and_gradient(losses.squares, {"a": 1.0}, [tmp_path / "x.zarr"], pool)
    x = np.arange(5.0)
    assert value == np.sum((x - 1) ** 2)
    assert slope["a"] == np.sum(2 * x * (x - 1))


@pytest.mark.parametrize("name, package", [("x.parquet", "pyarrow"), ("x.zarr", "zarr")])
def test_files_without_their_library(name, package, monkeypatch):
    for module in (package, f"{package}.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ArgumentError, match=rf"{name} is read with {package}, which is not inst"):
        value_and_gradient(losses.squares, {"a": 1.0}, [name], two_threads)


def test_a_shard_that_cannot_be_sent():
    workers = Workers(two_processes, retries=1)
    with pytest.raises(ShardError, match="cannot be sent to another process: give a function"):
        value_and_gradient(losses.logistic, PARAMS, [threading.Lock()], workers)
