"""multistart: minimize from several places, here or by workers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from autodiff.distributed.sweeps import sweep
from autodiff.errors import ArgumentError
from autodiff.optimize.progress import bar_for
from autodiff.optimize.running import BY_CTRL_C, with_items
from autodiff.optimize.solvers import minimize
from autodiff.trace.tracer import bare


def multistart(
    f: Callable,
    starts: Iterable[Any],
    *,
    executor: Any = None,
    progress: Any = False,
    checkpoint: Any = None,
    **options: Any,
) -> Any:
    """Minimise a function from several places, and return the lowest minimum.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns a real number.
    starts : iterable
        Nests of parameters, as for :func:`minimize`.
    executor : Executor, callable, dask.distributed.Client or Workers, optional
        Who does the runs, as for :func:`autodiff.distributed.sweep`; by default they are done here,
        one after the other.
    progress : bool or rich.console.Console
        Whether to show how many runs have ended, if `rich` is installed.
    checkpoint : path, optional
        Each run has a file of its own beside this one: "fit.ckpt" becomes "fit.0.ckpt",
        "fit.1.ckpt", … With ``resume=True`` runs go on from these.
    **options : Any
        Those of :func:`minimize`: ``args``, ``method``, ``bounds``, ``constraints``, ...

    Returns
    -------
    scipy.optimize.OptimizeResult
        That of the run with the lowest value among those that succeeded, or among all if none did;
        with ``runs``, the results of all in the order of `starts`. Ctrl-C ends a run that is done
        here, and those after it are left out.

    Raises
    ------
    ArgumentError
        If there are no starts, or if `shards` are given: those are for :func:`minimize`.
    ShardError
        If workers that do a run are lost, or too slow, again and again.

    Examples
    --------
    >>> def wells(p):
    ...     return (p["x"] ** 2 - 1) ** 2 + 0.3 * p["x"]
    >>> result = multistart(wells, [{"x": 2.0}, {"x": -2.0}])
    >>> round(result.params["x"], 2), [round(run.params["x"], 2) for run in result.runs]
    (-1.04, [0.96, -1.04])
    """
    if "shards" in options:
        raise ArgumentError(
            "multistart gives whole runs to workers, and shards are for the sum of one run: call "
            "minimize(..., shards=..., executor=...) for each start, or leave shards out."
        )
    numbered = list(enumerate(starts))
    if not numbered:
        raise ArgumentError("multistart was given no starts: give a list of at least one.")
    run = functools.partial(_from_start, f, checkpoint, options)
    if executor is not None:
        runs = sweep(run, numbered, executor, progress=progress)
    else:
        runs = []
        with bar_for(progress, len(numbered), "runs") as bar:
            for one in numbered:
                runs.append(run(one))
                bar.ended(len(runs), len(numbered))
                if runs[-1].get("status") == BY_CTRL_C:
                    break
    best = min(runs, key=_rank)
    return with_items(type(best)(best), runs=runs)


def _from_start(f: Callable, checkpoint: Any, options: dict, numbered: tuple[int, Any]) -> Any:
    number, start = numbered
    if checkpoint is not None:
        file = Path(checkpoint)
        options = {**options, "checkpoint": file.with_name(f"{file.stem}.{number}{file.suffix}")}
    return minimize(f, start, **options)


def _rank(run: Any) -> tuple[bool, float]:
    value = float(bare(run.fun))
    return not run.success, math.inf if math.isnan(value) else value
