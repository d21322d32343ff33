"""train: a first-order optimiser over minibatches, whose runs can be interrupted and continued."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from autodiff.api.gradients import value_and_gradient
from autodiff.api.trees import Ravelling
from autodiff.distributed.sums import ShardedSum, is_sharded
from autodiff.errors import ArgumentError
from autodiff.optimize.first_order import Optimiser, adam
from autodiff.optimize.history import History
from autodiff.optimize.problems import gradient_nest, pair_at, problem
from autodiff.optimize.progress import bar_for
from autodiff.optimize.running import BY_CALLBACK, BY_CTRL_C
from autodiff.optimize.saved import EVERY, check_form, check_place, form_of, load, save
from autodiff.repeatable import repeatable


def train(
    loss: Callable,
    params0: Any,
    data: Any = None,
    *,
    optimiser: Optimiser | None = None,
    batch_size: int | None = None,
    epochs: int = 1,
    seed: int = 0,
    callback: Callable | None = None,
    progress: Any = False,
    checkpoint: Any = None,
    resume: bool = False,
    shards: Any = None,
    executor: Any = None,
) -> OptimizeResult:
    """Minimise a mean over examples, by steps on minibatches.

    Parameters
    ----------
    loss : callable
        ``loss(params, *batch)`` returns the mean loss of a batch, a real number.
    params0 : Any
        The starting point, a nest as for :func:`minimize`. Dtypes are kept.
    data : ndarray or tuple of ndarray, optional
        Arrays with the examples along their first axis. Leave it out if you pass `shards`.
    optimiser : Optimiser, optional
        By default :func:`adam`.
    batch_size : int, optional
        The number of examples, or of shards, in a batch; by default all of them. The last batch of
        an epoch may be smaller.
    epochs : int
        How often each example or shard is used. Each epoch has a new order.
    seed : int
        The seed of these orders.
    callback : callable, optional
        Called after each step with an `OptimizeResult` that has ``params``, ``fun`` (the loss of
        the batch) and ``nit``. It may raise StopIteration to stop.
    progress : bool or rich.console.Console
        Whether to show a progress bar, if `rich` is installed.
    checkpoint : path, optional
        A file to write the state to, every ten seconds and at the end.
    resume : bool
        Whether to continue from that file, if it exists.
    shards : sequence, optional
        Data in parts, as :func:`autodiff.distributed.value_and_gradient` takes them. A batch
        consists of several shards, and its loss is the mean of ``loss(params, *shard)`` over them,
        so all shards should have the same length.
    executor : Executor, callable, dask.distributed.Client or Workers
        The workers that evaluate the shards.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``params``, ``fun`` (the loss of the last batch), ``nit`` (steps), ``history``, ``success``
        and ``message``. After Ctrl-C, the parameters are those of the last step, because losses of
        different batches cannot be compared.

    Raises
    ------
    ArgumentError
        If the data have different lengths, if there is nothing to fit, or if the checkpoint belongs
        to another run.
    ShardError
        If the workers that evaluate a shard are repeatedly lost or too slow.

    Notes
    -----
    A run that continues from a checkpoint takes the same steps, bit for bit, as a run without
    interruption: the order of the examples depends only on `seed` and the epoch. With `checkpoint`,
    the loss is not compiled automatically, and its loops do not become machine code, because both
    may differ in the last bits.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 64)
    >>> def loss(p, x, y):
    ...     return np.mean((p["a"] * x + p["b"] - y) ** 2)
    >>> result = train(loss, {"a": 0.0, "b": 0.0}, (x, 2 * x + 1), optimiser=adam(0.1),
    ...                batch_size=16, epochs=100)
    >>> round(result.params["a"], 3), round(result.params["b"], 3)
    (2.0, 1.0)
    """
    posed = problem(loss, params0)
    bar = bar_for(progress)
    if checkpoint is not None:
        check_place(checkpoint)
    examples: Examples | Shards
    if is_sharded(shards, executor):
        if data is not None:
            raise ArgumentError("train was given data and shards: give one of them.")
        sharded = ShardedSum(loss, posed.ravelling, (), shards, executor, bar.parts)
        examples = Shards(sharded, posed.ravelling)
    else:
        examples = Examples(loss, data, exact=checkpoint is not None)
    with examples:
        if batch_size is not None and (batch_size < 1 or batch_size != int(batch_size)):
            raise ArgumentError(
                f"batch_size is {batch_size}; a batch has a whole number of examples, at least one."
            )
        size = min(int(batch_size or examples.count), examples.count)
        optimiser = adam() if optimiser is None else optimiser
        state = Training(examples, posed.ravelling, optimiser, size, seed, checkpoint)
        if resume:
            state.read()
        total = epochs * state.in_epoch
        bar.expect(total)
        success, status, message = True, 0, "All epochs are done."
        try:
            with bar:
                while state.step < total:
                    value = state.advance()
                    bar.show(state.history)
                    if callback is not None:
                        callback(OptimizeResult(params=state.params, fun=value, nit=state.step))
        except KeyboardInterrupt:
            success, status = False, BY_CTRL_C
            message = (
                f"Interrupted by Ctrl-C after {state.step} steps; params are those of the last."
            )
        except StopIteration:
            success, status = False, BY_CALLBACK
            message = f"Stopped by the callback after {state.step} steps."
        finally:
            state.write()  # an error of the user's function loses nothing either
    values = state.history.values
    return OptimizeResult(
        params=state.params, fun=values[-1] if values else np.nan, nit=state.step,
        history=state.history, success=success, status=status, message=message,
    )  # fmt: skip


class Examples:
    """Examples along the first axes of arrays.

    Parameters
    ----------
    loss : callable
        ``loss(params, *batch)``.
    data : ndarray or tuple of ndarray
        The arrays.
    exact : bool
        Whether the loss is to be the same in each process, to the last bit.
    """

    def __init__(self, loss: Callable, data: Any, exact: bool) -> None:
        self._loss = loss
        self._block = repeatable() if exact else contextlib.nullcontext()
        given = data if isinstance(data, tuple) else (data,)
        self._arrays = tuple([np.asarray(a) if isinstance(a, list) else a for a in given])
        if data is None or not self._arrays:
            raise ArgumentError("train was given no data: give arrays, or shards and an executor.")
        lengths = {len(a) for a in self._arrays}
        if len(lengths) != 1 or 0 in lengths:
            raise ArgumentError(
                f"the data have the lengths {[len(a) for a in self._arrays]}: each array has the "
                "same number of examples along its first axis, and at least one."
            )
        (self.count,) = lengths

    def __enter__(self) -> Examples:
        return self

    def __exit__(self, *error: object) -> None:
        """End."""

    def evaluate(self, params: Any, chosen: np.ndarray) -> tuple[Any, Any]:
        """Return the mean loss of some examples, and its gradient."""
        batch = [a[chosen] for a in self._arrays]
        with self._block:
            return value_and_gradient(self._loss, params, *batch, argnums=0)


class Shards:
    """Shards that workers evaluate.

    Parameters
    ----------
    total : ShardedSum
        Sums over them.
    ravelling : Ravelling
        How the parameters lie in the vector.
    """

    def __init__(self, total: ShardedSum, ravelling: Ravelling) -> None:
        self._total, self._ravelling = total, ravelling
        self.count = len(total.shards)

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *error: object) -> None:
        """Let the workers go."""
        self._total.__exit__(*error)

    def evaluate(self, params: Any, chosen: np.ndarray) -> tuple[Any, Any]:
        """Return the mean loss of some shards, and its gradient."""
        vectors = (self._ravelling.vector(params),)
        value, vector = self._total.evaluate(pair_at, vectors, chosen.tolist())
        return value / len(chosen), gradient_nest(self._ravelling, vector / len(chosen))


class Training:
    """Where a run is: parameters, what the optimiser remembers, and steps taken."""

    def __init__(
        self, examples: Examples | Shards, ravelling: Ravelling, optimiser: Optimiser, size: int,
        seed: int, checkpoint: Any,
    ) -> None:  # fmt: skip
        self.params = ravelling.like
        self.memory, self.step = optimiser.start(self.params), 0
        self.history = History()
        self.in_epoch = -(-examples.count // size)
        self._examples, self._count, self._size = examples, examples.count, size
        self._optimiser, self.seed = optimiser, seed
        self._ravelling = ravelling
        # In this folder, also if the loss goes to another.
        self._checkpoint = None if checkpoint is None else Path(checkpoint).absolute()
        self._saved_at = time.monotonic()
        self._epoch, self._order = -1, np.arange(0)

    def advance(self) -> float:
        """Take one step; return the loss of the batch."""
        epoch, place = divmod(self.step, self.in_epoch)
        if epoch != self._epoch:
            # A function of the seed and the epoch: a run that is resumed draws the same.
            self._order = np.random.default_rng([self.seed, epoch]).permutation(self._count)
            self._epoch = epoch
        chosen = self._order[place * self._size : (place + 1) * self._size]
        value, slopes = self._examples.evaluate(self.params, chosen)
        params, memory = self._optimiser.step(self.params, slopes, self.memory, self.step)
        length = float(np.linalg.norm(self._ravelling.vector(slopes)))
        # All of it at once: an interrupt comes before or after.
        self.params, self.memory, self.step = params, memory, self.step + 1
        self.history.note(float(value), length)
        if self._checkpoint is not None and time.monotonic() - self._saved_at > EVERY:
            self.write()
        return float(value)

    @property
    def _run(self) -> np.ndarray:
        return np.array([self._count, self._size, self.seed])

    def write(self) -> None:
        """Write the state to the checkpoint, if there is one."""
        if self._checkpoint is not None:
            state = {"params": self.params, "memory": self.memory, "step": float(self.step)}
            form = form_of(self.params)
            save(self._checkpoint, state, run=self._run, form=form, **self.history.arrays())
            self._saved_at = time.monotonic()

    def read(self) -> None:
        """Go on from the checkpoint, if its file exists."""
        like = {"params": self.params, "memory": self.memory, "step": 0.0}
        state, extras = load(self._checkpoint, like) if self._checkpoint is not None else ({}, {})
        if not state:
            return
        check_form(self._checkpoint, extras, self.params)
        run = np.ravel(extras.get("run", ()))
        if not np.array_equal(run, self._run):
            raise ArgumentError(
                "the checkpoint is of a run with other data or options: its number of examples or "
                f"shards, batch_size and seed are {run.tolist()}, and now "
                f"{self._run.tolist()}. Give the same, or another file."
            )
        self.params, self.memory, self.step = state["params"], state["memory"], int(state["step"])
        self.history = History.of_arrays(extras)
