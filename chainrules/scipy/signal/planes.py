"""Convolution of planes with their margins continued: ``convolve2d``, ``correlate2d``.

The first plane is continued by the extent of the second, with a value, periodically or mirrored;
then only complete overlap counts. With P that padding, y = P(a) * v, and

    ā = Pᵀ(ȳ * conj(v reversed)),   v̄_j = Σ_m ȳ_m conj(P(a)_{m+K-1-j}).

Pᵀ adds what was read from an element to it. The mode "same" starts at the middle of the second
plane (of even length: before it in a convolution, after it in a correlation); in the mode "valid"
nothing is continued. There SciPy exchanges the planes if the second is the larger one; a
correlation is then reversed, but not conjugated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import signal

from chainrules.scipy.delegated import both
from chainrules.scipy.signal.convolution import reversed_conj
from chainrules.transforms.margins import folded
from chainrules_core import Numeric, pair_rule, thunk

PADDING = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap",
           "symm": "symmetric", "symmetric": "symmetric"}  # fmt: skip


class Planes:
    """A convolution of a plane `a`, continued, with a plane `v`."""

    def __init__(self, a: Any, v: Any, mode: str, boundary: str, fill: Any, after: bool) -> None:
        self.a, self.v, self.padding, self.fill = a, v, PADDING[boundary], fill
        self.shape, self.extent = np.shape(a), np.shape(v)
        self.widths = [(0 if mode == "valid" else n - 1,) * 2 for n in self.extent]
        middle = 0 if after else 1
        self.starts = [(n - middle) // 2 if mode == "same" else 0 for n in self.extent]

    def padded(self, a: Any) -> Any:
        """`a`, continued."""
        options = {"constant_values": self.fill} if self.padding == "constant" else {}
        return np.pad(a, self.widths, self.padding, **options)

    def whole(self, y_bar: Any) -> Any:
        """The cotangent of all complete overlaps, from that of the part that is returned."""
        sizes = [
            n + sum(w) - k + 1 for n, w, k in zip(self.shape, self.widths, self.extent, strict=True)
        ]
        part = np.shape(y_bar)
        return np.pad(
            y_bar,
            [(s, n - m - s) for s, n, m in zip(self.starts, sizes, part, strict=True)],
        )

    def a_bar(self, y_bar: Any) -> Any:
        """The cotangent of the first plane."""
        bar = signal.convolve(self.whole(y_bar), reversed_conj(self.v))
        return folded(bar, self.widths, self.padding)

    def v_bar(self, y_bar: Any) -> Any:
        """The cotangent of the second plane."""
        bar = signal.correlate(self.padded(self.a), self.whole(y_bar), "valid")
        return reversed_conj(bar)


def plane_rules(f: Callable, correlates: bool) -> None:
    """Register the rules of a convolution or correlation of planes."""

    @pair_rule(both(f), Numeric, Numeric, lists=True, shaped_by=(0, 1))
    def plane_rule(in1, in2, *, mode="full", boundary="fill", fillvalue=0):
        y = f(in1, in2, mode, boundary, fillvalue)

        def plane_pushforward(a_dot, v_dot):
            return f(a_dot, in2, mode, boundary) + f(in1, v_dot, mode, boundary, fillvalue)

        def plane_pullback(y_bar):
            exchanged = mode == "valid" and np.any(np.less(np.shape(in1), np.shape(in2)))
            v = reversed_conj(in2) if correlates else in2
            if exchanged:
                y_bar = np.conj(y_bar) if correlates else y_bar
                planes = Planes(v, in1, mode, boundary, fillvalue, correlates)
                of_a, of_v = planes.v_bar, planes.a_bar
            else:
                planes = Planes(in1, v, mode, boundary, fillvalue, correlates)
                of_a, of_v = planes.a_bar, planes.v_bar
            if correlates:
                return thunk(lambda: of_a(y_bar)), thunk(lambda: reversed_conj(of_v(y_bar)))
            return thunk(lambda: of_a(y_bar)), thunk(lambda: of_v(y_bar))

        return y, plane_pushforward, plane_pullback


plane_rules(signal.convolve2d, correlates=False)
plane_rules(signal.correlate2d, correlates=True)
