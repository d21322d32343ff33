"""The source of a reduction in a loop nest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import constant
from autodiff.functions import facts_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.loop_codegen import LoopWriter

_EXTREMA: dict[str, Any] = {"max": ("larger", np.maximum), "min": ("smaller", np.minimum)}
"""Kind of a fold → the function that is quick if there is no NaN, and the one that keeps NaN."""


def _product(x: str, y: str) -> str:
    return f"times({x}, {y})"


class Fold:
    """A reduction in a loop nest, along some of its loops.

    The terms of the innermost loop are folded into a variable, and so are all if the result is a
    number. What other loops reduce is folded into the memory.

    Parameters
    ----------
    w : LoopWriter
        The writer.
    p : int
        The operation.
    place : str
        The offset of the result in the memory; empty if it is a number.
    steps : list of int, optional
        The stride of the result in each loop: 0 in those that reduce. None if nests follow that
        run for a few rows at a time: other objects continue there what this one begins.

    Attributes
    ----------
    is_row : bool
        Whether the innermost loop reduces, to an element of the result.
    """

    def __init__(self, w: LoopWriter, p: int, place: str, steps: list[int] | None) -> None:
        self.w, self.p, self.op = w, p, w.ops[p]
        self.place = place
        self.start = constant(float(self.op.extra[0]))
        self.is_row = place != "" and steps is not None and 0 in steps[-1:]
        is_whole = steps is None or not all(self.op.extra[-1][: len(w.row)])
        self._is_in_memory = place != "" and (
            is_whole or not (self.is_row and all((steps or [])[:-1]))
        )
        if w.row:
            return
        if self._is_in_memory:
            w.fill(place, self.op.size, self.start)
        elif not place:
            self.begin()

    def begin(self) -> None:
        """Begin to fold into a variable."""
        self.w.write(f"total{self.p} = {self.start}")
        if self.op.kind in _EXTREMA:
            self.w.write(f"bad{self.p} = 0.0")

    def add(self, args: list[str], to: str) -> None:
        """Fold a term: into a variable, or into the memory at the offset `to`."""
        is_product = self.op.f is np.multiply
        term, *others = map(_product, args[::2], args[1::2]) if is_product else args
        for other in others:
            term = f"plus({term}, {other})"
        total = f"total{self.p}"
        if to and not self.is_row:
            self._put(to, term)
        elif self.op.kind in _EXTREMA:
            self.w.write(f"{total} = {_EXTREMA[self.op.kind][0]}({total}, {term})")
            self.w.write(f"bad{self.p} = plus(bad{self.p}, 1.0 if {term} != {term} else 0.0)")
        else:
            self.w.write(f"{total} = plus({total}, {term})")

    def _put(self, to: str, term: str) -> None:
        """Fold a number into the memory."""
        old = f"get(s, {to})"
        if self.op.kind in _EXTREMA:
            f = _EXTREMA[self.op.kind][1]
            new = facts_of(f).loops.format(self.w.temporary(old), term)
        else:
            new = f"plus({old}, {term})"
        self.w.write(f"put(s, {to}, {new})")

    def end(self, to: str = "") -> None:
        """End to fold into a variable; an extremum is NaN if a term was.

        The variable is the result, or is put to the offset `to`.
        """
        total = f"total{self.p}"
        if self.op.kind in _EXTREMA:
            self.w.write(f"{total} = math.nan if bad{self.p} > 0.0 else {total}")
        if not to:
            self.w.write(f"{self.w.variable(self.p)} = {total}")
        elif self._is_in_memory:
            self._put(to, total)
        else:
            self.w.write(f"put(s, {to}, {total})")
