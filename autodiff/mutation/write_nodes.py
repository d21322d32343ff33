"""The nodes of writes into traced arrays: an array with some elements replaced."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.mutation.memory_layout import axes_in_memory, places_of
from autodiff.trace.tape import Cotangents
from autodiff.trace.tracer import Tracer, bare, is_tracer
from chainrules_core import unbroadcast

Path = tuple[Callable[[Any], Any], ...]
"""The steps that lead from an array to a view of it."""


@dataclasses.dataclass(slots=True, eq=False)
class Write:
    """An array with some elements replaced.

    The cotangent of the value written is that of these elements, the other elements' is that of the
    array before.

    Attributes
    ----------
    before, value : int or None
        The nodes of the array before, and of the value; None for constants.
    path : tuple of callable
        The steps that lead from the array to the view that was written into.
    index : Any
        Which elements of the view were written.
    shape : tuple of int
        The shape of the value.
    space : ProjectTo
        The space of the array.
    axes : tuple of int, optional
        The order of the array's axes in memory, as of `axes_in_memory`.
    recorder : Any
        The recording that the index belongs to, if any.
    is_basic : bool
        Whether the index is basic, and the arrays hold real numbers.
    """

    before: int | None
    value: int | None
    path: Path
    index: Any
    shape: tuple
    space: Any
    axes: tuple[int, ...] | None = None
    recorder: Any = None
    is_basic: bool = False

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate the cotangent to the array before and to the value."""
        if not self.is_basic or type(y_bar) is not np.ndarray:
            self._hand_on(y_bar, bars)
            return
        j, index = self.before, self.index
        if j is not None and not bars.owns_current:
            y_bar = y_bar.copy()
        region = y_bar
        for step in self.path:
            region = step(region)
        if self.path and not self._is_part(region, y_bar):
            self._hand_on(y_bar, bars)
            return
        if self.value is not None:
            bar = region[index]
            if bar.shape != self.shape:
                bar = of_shape(bar, self.shape)
            if type(bar) is not np.ndarray:
                bar = float(bar)
            elif bar.base is not None:
                bar = bar.copy()
            bars.put(self.value, bar, True)
        if j is not None:
            region[index] = 0.0
            before = bars.values[j]
            if before is None:  # in the space of the array before, which is that of this one
                bars.values[j], bars.owned[j] = y_bar, 1
            else:
                bars.accumulate(j, before, y_bar, True)

    def _is_part(self, region: Any, y_bar: np.ndarray) -> bool:
        """Whether what the path leads to is the same part of a cotangent as of the array."""
        return np.may_share_memory(region, y_bar) and axes_in_memory(y_bar) == self.axes

    def _hand_on(self, y_bar: Any, bars: Cotangents) -> None:
        region, place, part = y_bar, self.index, None
        in_place = type(y_bar) is np.ndarray and self.recorder is None
        if in_place and self.before is None and not self.path and self.value is not None:
            if place is Ellipsis and self.shape == y_bar.shape:
                bars.put(self.value, y_bar, bars.owns_current)
                return
            bar = self._of_value(y_bar, place, None, in_place=False)
            bars.put(self.value, bar, getattr(bar, "base", y_bar) is None)
            return
        if in_place:
            if not bars.owns_current:
                y_bar = region = y_bar.copy()
            for step in self.path:
                region = step(region)
            in_place = not self.path or self._is_part(region, y_bar)
        recorder = y_bar._tape if is_tracer(y_bar) else self.recorder
        is_recorded = recorder is not None and recorder.program and not self.path
        if not in_place and not is_recorded:
            region, place, part = np.reshape(y_bar, (-1,)), self._positions(), self._part()
        if self.value is not None:
            bars.put(self.value, self._of_value(region, place, part), True)
        if self.before is None:
            return
        if in_place:
            region[place] = 0
            bars.put(self.before, y_bar, True)
        elif is_recorded:
            bars.put(self.before, recorder.set_item(y_bar, place, 0.0), True)
        else:
            kept = self._at_places(_others, self.space.shape, place)
            other: Any = np.zeros((), self.space.dtype)
            if part is not None:
                other = 1j * np.imag(y_bar) if part is np.real else np.real(y_bar)
            bars.put(self.before, np.where(kept, y_bar, other), True)

    def _part(self) -> Callable | None:
        """Return ``np.real`` or ``np.imag`` if the path leads to this part of complex elements."""
        if not self.path or self.space.dtype.kind != "c":
            return None
        probe = np.zeros(self.space.shape, complex)
        region: Any = probe
        for step in self.path:
            region = step(region)
        if np.iscomplexobj(region):
            return None
        region[...] = 1
        return np.real if np.any(np.real(probe)) else np.imag

    def _of_value(
        self, region: Any, place: Any, part: Callable | None, in_place: bool = True
    ) -> Any:
        """Return the cotangent of the value; `in_place` says that `region` is then overwritten."""
        bar = self._at_places(operator.getitem, region, place)
        bar = bar if part is None else part(bar)
        if in_place and type(bar) is np.ndarray and bar.base is not None:
            bar = bar.copy()  # a view of what is about to be overwritten
        winner = self._at_places(last_writes, np.shape(region), place)
        if winner is not None:
            bar = np.where(winner, bar, np.zeros((), self.space.dtype))
        return of_shape(bar, self.shape)

    def _positions(self) -> np.ndarray:
        """Return the flat indices of the elements written."""
        region: Any = places_of(self.space.shape, self.axes)
        if self.space.dtype.kind == "c":
            region = region * (1 + 1j)  # both parts tell the position
        for step in self.path:
            region = step(region)
        region = np.asarray(np.real(region)).astype(np.intp)
        return self._at_places(operator.getitem, region, self.index)

    def _at_places(self, f: Callable, x: Any, place: Any) -> Any:
        """Return ``f(x, place)``, recorded if the index is."""
        if self.recorder is None or is_tracer(x):
            return f(x, place)
        return self.recorder.call(f, (x, place), {})


def recorder_of(index: Any) -> Any:
    """Return the recording that an index, or a part of it, belongs to; None if there is none."""
    if type(index) is tuple:
        return next((tape for i in index if (tape := recorder_of(i)) is not None), None)
    return index._tape if is_tracer(index) else None


def _others(shape: tuple, places: Any) -> np.ndarray:
    """Return a mask that is False at these flat indices."""
    mask = np.ones(shape, bool)
    mask.reshape(-1)[places] = False
    return mask


def kept_part(x: Tracer) -> np.ndarray:
    """Return what a node keeps of a view: a copy, if the array behind it has been written into.

    If the node kept the view itself, the next write would have to copy the whole array.
    """
    root = x
    while root._origin is not None:
        root = root._origin.parent
    value: np.ndarray = x._value
    if root is x or root._tape is not x._tape:
        return value
    return value.copy("K") if type(x._tape.nodes[root._index]) is Write else value


def of_shape(bar: Any, shape: tuple) -> Any:
    """Return the cotangent of a value of this shape that was broadcast when it was written."""
    extra = len(shape) - np.ndim(bar)
    if extra > 0:
        bar = np.reshape(bar, (1,) * extra + np.shape(bar))
    return bar if np.shape(bar) == shape else unbroadcast(bar, shape)


def _parts_of(index: Any) -> tuple:
    return index if type(index) is tuple else (index,)


def last_writes(shape: tuple, index: Any) -> np.ndarray | None:
    """Return which of the writes at `index` are not overwritten; None if no index can repeat."""
    if not any(
        isinstance(part, (list, np.ndarray)) and np.asarray(bare(part)).dtype.kind != "b"
        for part in _parts_of(index)
    ):
        return None
    written = np.empty(shape, np.intp)  # of which only what is written is read
    places = written[index]
    ticket = np.arange(places.size).reshape(places.shape)
    written[index] = ticket
    return written[index] == ticket
