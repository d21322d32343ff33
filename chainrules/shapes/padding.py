"""``np.pad`` in every mode.

NumPy pads one axis after the other, each with what the axes before it have made. So does the
pushforward, and the pullback goes through the axes backwards. Along one axis the margins are

* ``edge``, ``wrap``, ``reflect``, ``symmetric``: elements read again. Padding the positions tells
  which. An odd reflection combines such an element with the first and the last one; its
  coefficients are found by padding unit vectors.
* ``constant``, ``linear_ramp``: (1 - t) v + t e for a given value v and the nearest element e, with
  t = 0 for constants.
* ``maximum``, ``minimum``, ``mean``, ``median``: a statistic of the elements next to the margin.
  Its gradient is a weight for each of them, which the statistic's own rule knows.
* ``empty``: anything; it does not depend on the array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrules.indexing.taking import scatter_along
from chainrules.shapes.joining import cut, slab
from chainrules.shapes.reshaping import ARRAY, Shape
from chainrules_core import (
    NoTangent,
    frule,
    linear_rule,
    primitive,
    require_rrule,
    rrule,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import is_foreign, scatter_along_into

READING = ("edge", "wrap", "reflect", "symmetric")
STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
# Keywords that give values for the margins. They reach np.pad by its **kwargs, of which the binder
# binds none: they are options, and a traced one is refused.
VALUES = ("constant_values", "end_values")


@dataclass
class Padding:
    """How one array is padded, axis by axis.

    Attributes
    ----------
    shape : tuple of int
        That of the array.
    widths, lengths : list of tuple
        For each axis what is asked for before and after: the widths of the margins, and the
        ``stat_length``.
    padded : array, optional
        The result, where a statistic's weights depend on the values.
    """

    mode: Any
    shape: Shape
    widths: list[tuple]
    lengths: list[tuple]
    reflect_type: str
    padded: Any = None

    def back(self, y_bar: Any, axis: int) -> Any:
        """Pull back through the padding of one axis."""
        left, right = self.widths[axis]
        if self.mode in READING:
            return self.read_back(y_bar, axis)
        before, x_bar, after = cut(y_bar, [left, self.shape[axis], right], axis)
        if self.mode in STATISTICS:
            return self.statistic_back(before, x_bar, after, axis)
        if self.mode != "linear_ramp":
            return x_bar
        for side, margin in enumerate((before, after)):
            t = self.ramp(axis, side)
            place = (self.shape[axis] - 1) * side
            edge_bar = np.sum(t * margin, axis=axis, keepdims=True)
            x_bar = added(x_bar, edge_bar, axis, place, place + 1)
        return x_bar

    def statistic_back(self, before: Any, x_bar: Any, after: Any, axis: int) -> Any:
        """Pull back through margins filled with statistics of the elements next to them."""
        sums = [np.sum(margin, axis=axis, keepdims=True) for margin in (before, after)]
        chunks = [self.chunk(axis, side) for side in (0, 1)]
        if chunks[0] == chunks[1]:
            sums, chunks = [sums[0] + sums[1]], chunks[:1]
        for bar, (start, stop) in zip(sums, chunks, strict=True):
            if stop > start:
                x_bar = added(x_bar, self.shares(axis, start, stop, bar), axis, start, stop)
        return x_bar

    def read_back(self, y_bar: Any, axis: int) -> Any:
        """Pull back through margins of elements that are read again."""
        n = self.shape[axis]
        shape = (*np.shape(y_bar)[:axis], n, *np.shape(y_bar)[axis + 1 :])
        places = self.places(axis)
        if self.is_folded(axis):
            return folded(y_bar, [(places, axis, self.widths[axis][0], n)])
        first = np.eye(1, n)[0]
        last = first[::-1]
        inner = (places > 0) & (places < n - 1)
        terms = (
            (places, np.where(inner, self.pad_line(1 - first - last, axis), 0)),
            (np.zeros_like(places), self.pad_line(first, axis)),
            (np.full_like(places, n - 1), self.pad_line(last, axis)),
        )
        column = (-1,) + (1,) * (len(self.shape) - axis - 1)
        return sum(
            scatter_along(np.reshape(c, column) * y_bar, where, axis, shape, y_bar.dtype)
            for where, c in terms
        )

    def is_folded(self, axis: int) -> bool:
        """Whether the margins of an axis are copies of elements."""
        if self.mode not in READING:
            return False
        return self.mode in READING[:2] or self.reflect_type == "even" or self.shape[axis] < 2

    def places(self, axis: int) -> np.ndarray:
        """Where the elements of a line come from."""
        return self.pad_line(np.arange(self.shape[axis]), axis, "even")

    def pad_line(self, line: np.ndarray, axis: int, reflect_type: str | None = None) -> np.ndarray:
        """Pad one line of numbers along an axis as the array is."""
        options: dict[str, Any] = {}
        if self.mode in ("reflect", "symmetric"):
            options["reflect_type"] = reflect_type or self.reflect_type
        return np.pad(line, self.widths[axis], self.mode, **options)

    def ramp(self, axis: int, side: int) -> np.ndarray:
        """The parts that the element at the end has in its margin."""
        width = self.widths[axis][side]
        t = np.arange(width) / max(width, 1)
        return np.reshape(t[::-1] if side else t, (-1,) + (1,) * (len(self.shape) - axis - 1))

    def chunk(self, axis: int, side: int) -> tuple[int, int]:
        """From where to where the elements go that a statistic is taken of."""
        n, length = self.shape[axis], self.lengths[axis][side]
        if not any(self.widths[axis]):
            return 0, 0
        length = n if length is None else min(length, n)
        return (n - length, n) if side else (0, length)

    def shares(self, axis: int, start: int, stop: int, bar: Any) -> Any:
        """The cotangents of these elements, given that of a statistic of them."""
        if self.padded is None or is_foreign(bar):
            return self.weights(axis, start, stop) * bar
        return unthunk(self.statistic(axis, start, stop)[1](bar)[1])

    def weights(self, axis: int, start: int, stop: int) -> Any:
        """The gradient of a statistic of these elements."""
        if self.padded is None:
            return 1 / (stop - start)
        y, pullback = self.statistic(axis, start, stop)
        return unthunk(pullback(np.ones_like(y))[1])

    def statistic(self, axis: int, start: int, stop: int) -> tuple:
        """A statistic of these elements, and its pullback."""
        # What was there when this axis had its turn: the axes behind had not.
        chunk = slab(self.padded, axis, self.widths[axis][0] + start, self.widths[axis][0] + stop)
        for behind in range(axis + 1, len(self.shape)):
            left = self.widths[behind][0]
            chunk = slab(chunk, behind, left, left + self.shape[behind])
        return require_rrule(STATISTICS[self.mode], chunk, axis=axis, keepdims=True)

    def forward(self, x_dot: Any, axis: int) -> Any:
        """Push forward through the padding of one axis by a statistic."""
        chunks = [self.chunk(axis, side) for side in (0, 1)]
        margins = []
        for width, (start, stop) in zip(self.widths[axis], chunks, strict=True):
            shape = (*np.shape(x_dot)[:axis], width, *np.shape(x_dot)[axis + 1 :])
            if width:
                moved = self.weights(axis, start, stop) * slab(x_dot, axis, start, stop)
                margins.append(np.broadcast_to(np.sum(moved, axis=axis, keepdims=True), shape))
            else:
                margins.append(np.zeros(shape, x_dot.dtype))
        return np.concatenate([margins[0], x_dot, margins[1]], axis)


@primitive
def folded(y_bar: Any, folds: list[tuple]) -> Any:
    """Add the margins to the elements they are copies of, and take them away, axis after axis.

    Each of `folds` is ``(places, axis, left, n)``: where the elements come from, and the margin
    before the n elements that remain.
    """
    x_bar = y_bar.copy()
    for places, axis, left, n in folds:
        whole, x_bar = x_bar, slab(x_bar, axis, left, left + n)
        for start, stop in ((0, left), (left + n, len(places))):
            margin, these = slab(whole, axis, start, stop), places[start:stop]
            if stop > start and these.min() == these.max():
                edge = slab(x_bar, axis, these[0], these[0] + 1)
                edge += np.sum(margin, axis=axis, keepdims=True)
            elif stop > start:
                scatter_along_into(x_bar, margin, these, axis)
    return x_bar


def unfolded(x: Any, y_bar: Any, folds: list[tuple]) -> Any:
    """The adjoint of `folded`."""
    for places, axis, _, _ in reversed(folds):
        x = np.take(x, places, axis)
    return x


linear_rule(folded, unfolded)


@primitive
def added(x_bar: Any, bar: Any, axis: int, start: int, stop: int) -> Any:
    """Return `x_bar` with `bar` added from `start` to `stop` along an axis."""
    if stop - start == x_bar.shape[axis]:
        return x_bar + bar
    x_bar = x_bar.astype(np.result_type(x_bar, bar))
    part = slab(x_bar, axis, start, stop)
    part += bar
    return x_bar


linear_rule(
    added,
    lambda y_bar, x_bar, bar, axis, start, stop: y_bar,
    lambda y_bar, x_bar, bar, axis, start, stop: unbroadcast(
        slab(y_bar, axis, start, stop), bar.shape
    ),
    joint=True,
)


def pairs(x: Any, ndim: int) -> list[tuple]:
    """Return one pair, before and after, for each axis, of what NumPy takes for it."""
    if isinstance(x, dict):
        found = [(0, 0)] * ndim
        for axis, widths in x.items():
            found[axis] = widths if isinstance(widths, tuple) else (widths, widths)
        return found
    return [tuple(pair) for pair in np.broadcast_to(np.array(x), (ndim, 2)).tolist()]


def padding_of(array: Any, pad_width: Any, mode: str, options: dict[str, Any], y: Any) -> Padding:
    ndim = np.ndim(array)
    return Padding(
        mode,
        np.shape(array),
        pairs(pad_width, ndim),
        pairs(options.get("stat_length"), ndim),
        options.get("reflect_type", "even"),
        y if mode in STATISTICS and mode != "mean" else None,
    )


@rrule.register(np.pad, ARRAY, shaped_by=(0,))
def pad_rrule(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    if callable(mode):
        return None
    y = np.pad(array, pad_width, mode, **options)
    padding = padding_of(array, pad_width, mode, options, y)

    def pad_pullback(y_bar: Any) -> tuple:
        axes = list(reversed(range(len(padding.shape))))
        if axes and all(map(padding.is_folded, axes)):
            widths, shape = padding.widths, padding.shape
            folds = [(padding.places(k), k, widths[k][0], shape[k]) for k in axes if any(widths[k])]
            y_bar = folded(y_bar, folds)
        else:
            for axis in axes:
                y_bar = padding.back(y_bar, axis)
        return y_bar, NoTangent(), NoTangent()

    return y, pad_pullback


@frule.register(np.pad, ARRAY)
def pad_frule(
    dots: tuple, array: Any, pad_width: Any, mode: Any = "constant", **options: Any
) -> Any:
    if callable(mode):
        return None
    y = np.pad(array, pad_width, mode, **options)
    padding = padding_of(array, pad_width, mode, options, y)
    x_dot = dots[0]
    if padding.padded is not None:
        for axis in range(len(padding.shape)):
            x_dot = padding.forward(x_dot, axis)
        return y, x_dot
    # The values in the margins are constants: their tangents are 0, as NumPy has it by default.
    linear = {name: value for name, value in options.items() if name not in VALUES}
    return y, np.pad(x_dot, pad_width, "constant" if mode == "empty" else mode, **linear)
