"""value_and_gradient over shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.distributed.sums import ShardedSum
from autodiff.optimize.history import History
from autodiff.optimize.problems import gradient_nest, pair_at, problem
from autodiff.optimize.progress import bar_for


def value_and_gradient(
    loss: Callable,
    params: Any,
    shards: Any,
    executor: Any,
    *,
    args: Any = (),
    progress: Any = False,
) -> tuple[float, Any]:
    """Return the sum of a loss over shards of data, and its gradient, computed by workers.

    Parameters
    ----------
    loss : callable
        ``loss(params, *shard, *args)`` returns a real number, that of one shard; the numbers are
        added. It must depend on its arguments alone.
    params : Any
        The parameters: a nest of numbers and arrays, as :func:`autodiff.gradient` takes it.
    shards : sequence
        The data in parts, in an order that counts for rounding alone. A part is an array, or a file
        that a worker reads (``.npy`` by memory map, ``.parquet`` as a dict of columns by pyarrow,
        ``.zarr``), or a function without arguments that a worker calls to load it, or one of
        Dask's futures and collections; or a tuple of these, one for each argument of `loss`.
        Anything else is sent to the worker as it is.
    executor : Executor, callable, dask.distributed.Client or Workers
        An executor of ``concurrent.futures``, or a function that makes one, or Dask's client.
        :class:`Workers` holds one, with a time limit and other options.
    args : tuple
        Further arguments of `loss`, sent with each task.
    progress : bool or rich.console.Console
        Whether to show a progress bar, if `rich` is installed.

    Returns
    -------
    value : float
        The sum.
    gradient : Any
        Its gradient by `params`, as :func:`autodiff.gradient` returns it.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate, if there are no shards, or if the loss cannot be sent.
    ShardError
        If workers that evaluate a shard are lost, or too slow, again and again.

    Notes
    -----
    Sums are in float64, in a binary tree over the shards whose shape depends on their number alone.
    So the result does not depend on the number of workers, nor on who is ready first: on machines
    of one kind it is the same to the last bit.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def loss(p, x, y):
    ...     return np.sum((p["a"] * x + p["b"] - y) ** 2)
    >>> x = np.arange(6.0)
    >>> shards = list(zip(np.array_split(x, 3), np.array_split(3 * x, 3)))
    >>> with ThreadPoolExecutor(2) as executor:
    ...     value, slope = value_and_gradient(loss, {"a": 2.0, "b": 0.0}, shards, executor)
    >>> value, slope
    (55.0, {'a': -110.0, 'b': -30.0})
    """
    posed = problem(loss, params, args)
    ravelling, history = posed.ravelling, History()
    with bar_for(progress, 1) as bar:
        with ShardedSum(loss, ravelling, posed.args, shards, executor, bar.parts) as total:
            value, vector = total.evaluate(pair_at, (posed.start,))
        history.note(float(value), float(np.linalg.norm(vector)))
        bar.show(history)
    return float(value), gradient_nest(ravelling, vector)
