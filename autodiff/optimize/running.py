"""A run of a solver: what is noted, shown and kept while it works, and what Ctrl-C leaves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from autodiff.api.trees import Ravelling
from autodiff.optimize.history import History
from autodiff.optimize.progress import bar_for
from autodiff.optimize.record import Record

BY_CTRL_C, BY_CALLBACK = 98, 99
"""The status of a result that Ctrl-C or the callback has cut short; SciPy has 99, too."""


class StoppedError(Exception):
    """The callback has asked for the end of the run."""


class Run:
    """What is known of a run: each evaluation is noted.

    Parameters
    ----------
    ravelling : Ravelling
        How the parameters lie in the vector.
    progress : bool or rich.console.Console
        Whether to show a bar.
    checkpoint : path, optional
        The file in which all evaluations are recorded.
    resume : bool
        Whether to go on with those in the file.
    made_by : str
        What the file is of: the solver and its method.
    callback : callable, optional
        The user's.
    named : str
        What the lowest value is called in the result of a run that was cut short.
    by_iteration : bool
        Whether the best point is that of the last iteration: where there are constraints, the
        lowest value may be that of a point that is not allowed.

    Attributes
    ----------
    parts : callable
        ``parts(done, total)`` shows how far an evaluation over shards is.
    """

    def __init__(
        self,
        ravelling: Ravelling,
        *,
        progress: Any = False,
        checkpoint: Any = None,
        resume: bool = False,
        made_by: str = "",
        callback: Callable | None = None,
        named: str = "fun",
        by_iteration: bool = False,
    ) -> None:
        self.ravelling = ravelling
        self.history = History()
        self.best: Any = None
        self.lowest = np.inf
        self._bar = bar_for(progress)
        self.parts = self._bar.parts
        self._record = None
        if checkpoint is not None:
            self._record = Record(checkpoint, made_by, ravelling.like, resume, self.history)
        self._latest: Any = None
        self._callback = callback
        self._named = named
        self._by_iteration = by_iteration

    def recorded(self, of_vector: Callable, where: str = "") -> Callable:
        """Return what makes functions of the vector such that their evaluations are recorded.

        Parameters
        ----------
        of_vector : callable
            What makes functions of the vector.
        where : str
            Of which problem, if there are several: a constraint, for example.
        """
        record = self._record
        if record is None:
            return of_vector
        return lambda kernel: record.kept(f"{kernel.__name__} {where}", of_vector(kernel))

    def watched(self, function: Callable, read: Callable) -> Callable:
        """Return a function that notes its evaluations.

        Parameters
        ----------
        function : callable
            A function of the vector.
        read : callable
            Takes what it returns to its value and the length of its gradient.
        """

        def evaluated(x: Any) -> Any:
            y = function(x)
            value, length = read(y)
            self.history.note(float(value), float(length))
            if self._by_iteration:
                self._latest = x.copy(), value
            elif value < self.lowest:
                self._improve(x, value)
            self._bar.show(self.history)
            return y

        return evaluated

    def _improve(self, x: Any, value: float) -> None:
        self.best, self.lowest = np.array(x), float(value)

    @property
    def callback(self) -> Callable | None:
        """What SciPy is to call after an iteration, if there is something to do then."""
        return self._iterated if self._by_iteration or self._callback is not None else None

    def _iterated(self, x: Any, *_: Any) -> None:
        """Take what SciPy gives its callback after an iteration: the point first."""
        # A point that was not evaluated last is that of the iteration before, if a step is refused.
        if self._by_iteration and np.array_equal(x, self._latest[0]):
            self._improve(*self._latest)
        if self._callback is not None:
            params, count = self.ravelling.nest(x), len(self.history)
            try:
                self._callback(OptimizeResult(x=np.array(x), params=params, nfev=count))
            except StopIteration as stop:
                raise StoppedError from stop  # SciPy's methods would end at points of their own

    def solve(self, solver: Callable, f: Callable, x: Any, **named: Any) -> OptimizeResult:
        """Call a solver; return its result, or the best point if it is interrupted.

        Parameters
        ----------
        solver : callable
            One of SciPy's.
        f : callable
            What it solves, as `watched` has returned it.
        x : ndarray, shape (n,)
            Where it starts.
        **named : Any
            Further arguments of the solver.
        """
        self.best = x.copy()
        try:
            with self._record or contextlib.nullcontext(), self._bar:
                result = solver(f, x, **named)
        except KeyboardInterrupt:
            result = self._cut_short(BY_CTRL_C, "Interrupted by Ctrl-C")
        except StoppedError:
            result = self._cut_short(BY_CALLBACK, "Stopped by the callback")
        else:
            if self._by_iteration:
                self.best, self.lowest = np.array(result.x), float(result.fun)
        params = self.ravelling.nest(np.asarray(result.x, float))
        return with_items(result, params=params, history=self.history)

    def _cut_short(self, status: int, how: str) -> OptimizeResult:
        which = "of the last iteration" if self._by_iteration else "with the lowest value"
        count = len(self.history)
        return OptimizeResult(
            x=self.best, success=False, status=status, nfev=count,
            message=f"{how} after {count} evaluations; x is the point {which} so far.",
            **{self._named: self.lowest},
        )  # fmt: skip


def with_items(result: Any, **items: Any) -> Any:
    """Return a result with further items."""
    for name, value in items.items():
        dict.__setitem__(result, name, value)  # not by an attribute, which traced code intercepts
    return result
