"""How long a derivative takes, as it is usually computed, and which of the user's lines take it.

The times of the whole are those of runs that nothing watches. Other runs only say how they divide:
one in which the user's lines are traced, and a sweep that looks at the clock between the nodes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff.api.gradients import gradient
from autodiff.errors import OutputError
from autodiff.explanation.lines import Follower, Line, LineClock
from autodiff.fastpath.blocked_sweep import sweep_chain
from autodiff.trace.checks.outputs import check_scalar
from autodiff.trace.linearize import Linearised, argnums_of
from autodiff.trace.observers import observing
from autodiff.trace.pytree import map_variables
from autodiff.trace.tape import Cotangents, sweep
from chainrules_core import NotImplementedTangentError
from chainrules_core.interpreter.quiet import quiet

_ENOUGH = 0.2  # seconds of repeating one measurement
_MOST = 5  # … and the most runs


@dataclass
class Times:
    """What the measurements have found.

    Attributes
    ----------
    forward, backward : float
        The times of the forward run and of the reverse sweep.
    first : float
        The time of the first run, in which code is read and rules are found.
    ordinary : float
        The time of a call of `gradient`, which may run loops, or all, as a program; where the
        output is not one number, of the two runs.
    root : Line
        The user's lines, whose times add up to `forward` and `backward`.
    """

    forward: float
    backward: float
    first: float
    ordinary: float
    root: Line


def measured(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> Times:
    """Measure a derivative; the first call, which is slower, by itself."""
    chosen = argnums_of(argnums)

    def run() -> tuple[float, float]:
        with observing(Follower()):
            start = time.perf_counter()
            traced = Linearised(f, args, kwargs, chosen, at_once=True)
            middle = time.perf_counter()
        again = time.perf_counter()
        bars_of(traced)
        return middle - start, time.perf_counter() - again

    first = sum(run())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first call has said it
        forward, backward = min(_repeated(run), key=sum)
        ordinary = _ordinary(f, args, kwargs, argnums)
        root = min(_repeated(lambda: _by_line(f, args, kwargs, chosen)), key=_total)
    # The times of a run that nothing watches, divided as they are where lines and nodes are timed.
    lines = list(root.walk())
    for name, whole in (("seconds", forward), ("back_seconds", backward)):
        found = sum(getattr(line, name) for line in lines)
        for line in lines:
            setattr(line, name, getattr(line, name) * whole / found if found else 0.0)
        root_time = whole - sum(getattr(line, name) for line in lines)
        setattr(root, name, max(getattr(root, name) + root_time, 0.0))
    return Times(forward, backward, first, ordinary or forward + backward, root)


def ones_like(y: Any) -> Any:
    """Return cotangents of one for all outputs."""
    return map_variables(y, lambda leaf: np.ones_like(leaf)[()])


def bars_of(traced: Linearised) -> list:
    """Return the cotangents of the arguments, for cotangents of one."""
    return traced.gradients() if _is_number(traced) else traced.cotangents(ones_like(traced.value))


def _is_number(traced: Linearised) -> bool:
    try:
        check_scalar(traced.f, traced.value)
    except OutputError:
        return False
    return True


def _repeated(run: Callable[[], Any]) -> list:
    """Return the results of several runs, of one where it takes long."""
    found: list = []
    start = time.perf_counter()
    while len(found) < _MOST:
        found.append(run())
        if time.perf_counter() - start > _ENOUGH:
            break
    return found


def _ordinary(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> float | None:
    """Return the time of a call of `gradient`; None where there is no gradient."""

    def run() -> float:
        start = time.perf_counter()
        gradient(call, *args, argnums=argnums)
        return time.perf_counter() - start

    def with_keywords(*given: Any) -> Any:
        return f(*given, **kwargs)

    call = with_keywords if kwargs else f
    try:
        return min(_repeated(run))
    except OutputError:
        return None


def _total(root: Line) -> float:
    return sum(line.seconds + line.back_seconds for line in root.walk())


def _by_line(
    f: Callable, args: tuple, kwargs: dict[str, Any], argnums: tuple[int, ...] | None
) -> Line:
    """Return the lines of a run with their times."""
    clock = LineClock(sys._getframe())
    with observing(clock):
        try:
            clock.start()
            traced = _Timed(f, args, kwargs, argnums, at_once=True)
        finally:
            clock.stop()
    clock.finish(len(traced.nodes))
    start = time.perf_counter()
    bars_of(traced)
    whole = time.perf_counter() - start
    for line, seconds in zip(clock.places, traced.seconds, strict=False):
        line.back_seconds += seconds
    clock.root.back_seconds += max(whole - traced.lost - sum(traced.seconds), 0.0)
    return clock.root


class _Timed(Linearised):
    """A run whose sweep is timed node by node.

    Attributes
    ----------
    seconds : list of float
        The time that the sweep spent at each place of the tape.
    lost : float
        The time of a second sweep, which is not timed.
    """

    __slots__ = ("lost", "seconds")

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.seconds: list[float] = []  # there is no sweep where the output is constant
        self.lost = 0.0
        super().__init__(*args, **keywords)

    def _swept(self, seeds: dict[int, Any], nested: bool, once: bool) -> list:
        nodes = self.nodes
        numbers = [i for i, node in enumerate(nodes) if type(node) is tuple]
        clock = _SweepClock(len(nodes), once)
        start = time.perf_counter()
        try:
            with quiet():
                found = sweep(
                    nodes, self.leaves, seeds, nested=nested, strong=once, runs=clock.visited
                )
        except NotImplementedTangentError:
            if once:
                raise
        self.seconds = clock.seconds
        # A step of plain numbers is too short to be timed: all of them share what is left.
        left = time.perf_counter() - start - sum(self.seconds)
        for i in numbers:
            self.seconds[i] = max(left, 0.0) / len(numbers)
        if once:
            return found
        start = time.perf_counter()
        try:
            return super()._swept(seeds, nested, once)  # with what it does about Inf and NaN
        finally:
            self.lost = time.perf_counter() - start


class _SweepClock:
    """Visits the nodes of a sweep and looks at the clock between them."""

    def __init__(self, size: int, once: bool) -> None:
        self.seconds = [0.0] * size
        self._once = once

    def visited(self, place: int, bar: Any, bars: Cotangents, leaves: int) -> bool:
        """Visit a node, or several elementwise ones together, which then share the time."""
        nodes = bars.nodes
        node = nodes[place]
        start = time.perf_counter()
        if self._once and sweep_chain(place, bar, bars, leaves):
            seconds = time.perf_counter() - start
            members = self._members(place, bars, leaves)
            for member in members:
                self.seconds[member] = seconds / len(members)
            return True
        if self._once:
            nodes[place] = None
        bars.owns_current = bars.owned[place]
        node.hand_on(bar, bars, self._once)
        self.seconds[place] = time.perf_counter() - start
        return True

    @staticmethod
    def _members(place: int, bars: Cotangents, leaves: int) -> list[int]:
        """Return the places of the nodes that a run has dropped: down to the next to be visited."""
        members = []
        for k in range(place, leaves - 1, -1):
            if bars.nodes[k] is None:
                members.append(k)
            elif bars.values[k] is not None:
                break
        return members
