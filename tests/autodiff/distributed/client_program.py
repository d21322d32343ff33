"""A fit over shards as a program that tests kill: its file, and "processes" or an address."""

import functools
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from autodiff.optimize import minimize
from tests.autodiff.distributed import losses

START = {"w": np.zeros(4), "b": 0.0}


def slowly(seed):
    time.sleep(0.01)
    return losses.rows(seed)


def fit(executor, **options):
    """Return the fit that the program makes."""
    shards = [functools.partial(slowly, seed) for seed in range(8)]
    return minimize(
        losses.logistic, START, shards=shards, executor=executor, options={"gtol": 1e-9}, **options
    )


def shown(result):
    """Return all bits of a result as text."""
    values = [value.hex() for value in result.history.values]
    return f"{result.nit} {result.nfev} {result.x.tobytes().hex()} {result.message} {values}"


def main(file, where):
    """Make the fit, and print it."""
    context = multiprocessing.get_context("forkserver")
    if where == "processes":
        made = functools.partial(ProcessPoolExecutor, 2, mp_context=context)
        result = fit(made, checkpoint=file, resume=True)
    else:
        from dask.distributed import Client

        with Client(where) as client:
            result = fit(client, checkpoint=file, resume=True)
    print(shown(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
