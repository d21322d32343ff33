"""What runs on a worker: the sum over some neighbouring shards."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.api.trees import Ravelling
from autodiff.distributed.loading import loaded
from autodiff.distributed.packing import unpacked
from autodiff.distributed.tree import TreeSum
from autodiff.repeatable import repeatable


class Work(NamedTuple):
    """What all tasks of a fit share.

    Attributes
    ----------
    loss : callable
        ``loss(params, *shard, *args)``.
    ravelling : Ravelling
        How the parameters lie in the vector.
    args : tuple
        Further arguments of the loss.
    """

    loss: Callable
    ravelling: Ravelling
    args: tuple


class LossError(Exception):
    """The user's code raised on a worker. Everything else that a task raises is a lost worker.

    Parameters
    ----------
    place : int
        Which shard of the task it was.
    error : Exception or None
        What was raised, if it can be sent.
    text : str
        The traceback.
    """

    def __init__(self, place: int, error: Exception | None, text: str) -> None:
        super().__init__(place, error, text)
        self.place, self.error, self.text = place, error, text

    def __str__(self) -> str:
        return self.text


def run(work: Any, kernel: Callable, vectors: tuple, shards: list) -> Any:
    """Return the sum over neighbouring shards.

    Parameters
    ----------
    work : Work or bytes
        What all tasks share, packed if it came from another process.
    kernel : callable
        ``kernel(loss, ravelling, args, *vectors)`` returns a number, an array or a tuple of them (a
        function of :mod:`autodiff.optimize.problems`), or a list of what is to be collected.
    vectors : tuple of ndarray
        The point, and other arguments of the kernel.
    shards : list
        The shards as :func:`autodiff.distributed.loading.prepared` made them.

    Returns
    -------
    ndarray, tuple of ndarray, or list
        Numbers in float64.
    """
    known = unpacked(work) if isinstance(work, bytes) else work
    total = TreeSum(len(shards), add)
    with repeatable():
        for i, shard in enumerate(shards):
            try:
                y = kernel(known.loss, known.ravelling, (*loaded(shard), *known.args), *vectors)
            except Exception as error:
                text = traceback.format_exc()
                raise LossError(i, _sendable(error), text) from None
            total.add(i, _in_double_precision(y))
    return total.total


def _in_double_precision(y: Any) -> Any:
    if isinstance(y, list):
        return y  # of what is collected, not added
    if isinstance(y, tuple):
        return tuple(np.asarray(part, float) for part in y)
    return np.asarray(y, float)


def add(left: Any, right: Any) -> Any:
    """Return the sum of two partial sums; lists are joined."""
    if isinstance(left, tuple):
        return tuple(a + b for a, b in zip(left, right, strict=True))
    return left + right


def _sendable(error: Exception) -> Exception | None:
    """Return an error if it survives its way to another process."""
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:  # methods of the user's classes run here, and raise what they like
        return None
    return error if type(again) is type(error) else None
