"""A table larger than the memory that this demo allows itself, fitted by worker processes.

The rows are made and written by the workers, in files that they map into memory. Each process is
limited to a number of megabytes beyond what its imports take.
"""

import contextlib
import functools
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from tables import DataError

from autodiff import value_and_gradient
from autodiff.distributed import Workers
from autodiff.optimize import minimize

WIDTH = 20
LARGER = 4  # times as large as the memory
ROOM = 10  # the gradient of a shard takes so many times its size
TRUE = np.linspace(-1.0, 1.0, WIDTH)


def fewest_shards():
    """How many shards are needed so that one fits into the memory."""
    return LARGER * ROOM


def limited(megabytes):
    """Limit the memory of this process, beyond what it has; return the limit before, or None."""
    try:
        import resource

        status = Path("/proc/self/status").read_text()
    except (ImportError, OSError):  # no such limit in this system
        return None
    has = next(int(line.split()[1]) for line in status.splitlines() if "VmData" in line)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (has * 1024 + megabytes * 2**20, before[1]))
    return before


def prepare_worker(megabytes):
    """Load what a gradient needs, and limit the memory from then on."""
    params = {"weights": np.zeros(WIDTH), "offset": 0.0}
    value_and_gradient(loss, params, np.ones((1000, WIDTH + 1)), argnums=0)
    limited(megabytes)


@contextlib.contextmanager
def limited_here(megabytes):
    """Limit the memory of this process for a while; tell whether that was possible."""
    # OpenBLAS takes 32 MB at the first use of the solver, and asks for ever if it gets none.
    minimize(lambda x: (x - 1.0) ** 2, 0.0, method="L-BFGS-B")
    before = limited(megabytes)
    try:
        yield before is not None
    finally:
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, before)


def write(folder, rows, seed):
    """Make a shard, and write it: the features, and a last column of labels, -1 and 1."""
    rng = np.random.default_rng([11, seed])
    shard = rng.standard_normal((rows, WIDTH + 1))
    shard[:, -1] = np.sign(shard[:, :-1] @ TRUE + rng.logistic(size=rows))
    np.save(Path(folder) / f"{seed}.npy", shard)


def loss(params, shard):
    """The negative log-likelihood of the labels of a shard."""
    scores = shard[:, :-1] @ params["weights"] + params["offset"]
    return np.sum(np.logaddexp(0.0, -shard[:, -1] * scores))


def fit(folder, *, shards, workers, memory, console):
    """Write a table in shards, fit a logistic regression to it, and return what to show.

    Parameters
    ----------
    folder : Path
        Where the table goes.
    shards, workers : int
        How many.
    memory : int
        Megabytes for each process; the table has four times as many.
    console : rich.console.Console
        Where progress is shown.

    Returns
    -------
    list of (str, str)
    """
    if shards < fewest_shards():
        raise DataError(f"--shards {shards}: one must fit into memory; give {fewest_shards()}")
    rows = LARGER * memory * 2**20 // (shards * (WIDTH + 1) * 8)
    if rows < 1:
        raise DataError(f"--shards {shards} are too many for --memory {memory}")
    paths = [Path(folder) / f"{seed}.npy" for seed in range(shards)]
    start = {"weights": np.zeros(WIDTH), "offset": 0.0, "model": "logistic"}
    with ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"),
        initializer=prepare_worker, initargs=(memory,),
    ) as pool:  # fmt: skip
        begin = time.perf_counter()
        list(pool.map(functools.partial(write, folder, rows), range(shards)))
        written = time.perf_counter() - begin
        size = sum(path.stat().st_size for path in paths) / 2**20
        begin = time.perf_counter()
        with limited_here(memory) as kept:
            result = minimize(
                loss, start, shards=paths, executor=Workers(pool, count=workers),
                method="L-BFGS-B", progress=console, options={"ftol": 1e-6},
            )  # fmt: skip
    values, count = result.history.values, shards * rows
    seconds = time.perf_counter() - begin
    return [
        ("table", f"{size:,.0f} MB, {count:,} rows"),
        ("memory of a process", f"{memory} MB{'' if kept else ' (not limited in this system)'}"),
        ("shards / workers", f"{shards} / {workers}"),
        ("loss, start → end", f"{values[0] / count:.6f} → {values[-1] / count:.6f}"),
        ("largest error of a weight", f"{np.max(np.abs(result.params['weights'] - TRUE)):.3f}"),
        ("gradient evaluations", str(result.nfev)),
        ("time", f"{written:.1f} s to write, {seconds:.1f} s to fit"),
    ]


def show(console, lines):
    """Print the table of what was fitted."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("Logistic regression on shards")
    for line in lines:
        table.add_row(*line)
    console.print(table)
