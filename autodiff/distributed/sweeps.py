"""sweep: a function of each of several settings, by workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autodiff.api.trees import Ravelling
from autodiff.distributed.loading import Setting
from autodiff.distributed.sums import ShardedSum
from autodiff.errors import ArgumentError
from autodiff.optimize.progress import bar_for
from autodiff.repeatable import repeatable


def sweep(
    f: Callable, settings: Iterable[Any], executor: Any, *, args: Any = (), progress: Any = False
) -> list:
    """Call a function with each of several settings, by workers.

    Parameters
    ----------
    f : callable
        ``f(setting, *args)``: a fit with other hyperparameters, say. What it returns is sent back.
    settings : iterable
        What it is called with: numbers, dicts, names, functions.
    executor : Executor, callable, dask.distributed.Client or Workers
        Who calls it, as for :func:`value_and_gradient`. A call whose worker is lost, or too slow,
        is made again.
    args : tuple
        Further arguments, the same for all.
    progress : bool or rich.console.Console
        Whether to show how many calls have ended, if `rich` is installed.

    Returns
    -------
    list
        What it returned, in the order of the settings.

    Raises
    ------
    ArgumentError
        If there are no settings, or if the function cannot be sent to the workers.
    ShardError
        If workers that call it are lost, or too slow, again and again.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from autodiff.optimize import minimize
    >>> def fitted(penalty):
    ...     return minimize(lambda w: (w - 3) ** 2 + penalty * w ** 2, 0.0).params
    >>> with ThreadPoolExecutor(2) as executor:
    ...     [round(w, 4) for w in sweep(fitted, [0.0, 0.5, 2.0], executor)]
    [3.0, 2.0, 1.0]
    """
    if not callable(f):
        raise ArgumentError(
            f"the first argument must be a function of a setting, not {type(f).__name__}."
        )
    calls = [Setting(one) for one in settings]
    if not calls:
        raise ArgumentError("sweep was given no settings: give a list of at least one.")
    further = args if isinstance(args, tuple) else (args,)
    with bar_for(progress, len(calls), "calls") as bar:
        report, nothing = bar.ended, Ravelling(None)
        with ShardedSum(f, nothing, further, calls, executor, report, together=1) as total:
            return total.evaluate(collected, ())


def collected(f: Callable, _: Ravelling, args: tuple) -> list:
    """Return a list of what the function returns."""
    with repeatable(False):  # nothing is added, so functions may be compiled
        return [f(*args)]
