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
        ``loss(params, *shard, *args)`` returns a real number for one shard. The numbers are added.
        It must depend only on its arguments.
    params : Any
        The parameters: a nest of numbers and arrays, as :func:`autodiff.gradient` takes it.
    shards : sequence
        The data in parts. Their order affects only rounding. A part may be an array, a file that a
        worker reads (``.npy`` as a memory map, ``.parquet`` as a dict of columns, ``.zarr``), a
        function without arguments that a worker calls to load it, a future or collection of Dask,
        or a tuple of these, one for each argument of `loss`. Anything else is sent to the worker
        unchanged.
    executor : Executor, callable, dask.distributed.Client or Workers
        An executor of ``concurrent.futures``, a function that creates one, or Dask's client.
        :class:`Workers` adds a time limit and other options.
    args : tuple
        Further arguments of `loss`, sent with each task.
    progress : bool or rich.console.Console
        Whether to show a progress bar, if `rich` is installed.

    Returns
    -------
    value : float
        The sum.
    gradient : Any
        Its gradient with respect to `params`, as from :func:`autodiff.gradient`.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate, if there are no shards, or if the loss cannot be sent.
    ShardError
        If the workers that evaluate a shard are repeatedly lost or too slow.

    Notes
    -----
    Sums are computed in float64, in a binary tree over the shards whose shape depends only on their
    number. So the result does not depend on the number of workers, or on which one finishes first.
    On machines of the same kind it is the same to the last bit.

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
