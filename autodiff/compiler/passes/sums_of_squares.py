"""Lower steps to those for which loops have code.

A variance becomes a mean of squares, and a check for NaN becomes a sum of squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.compiler.kernels.reductions import is_reduction
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.recording.ir import (
    FLOATS,
    Meta,
    Program,
    Ref,
    Step,
    guard,
    meta_of,
    refs_of,
    renamed,
)


def with_sums_of_squares(program: Program) -> Program:
    """Return the lowered program."""
    return _SquareLowering(program).run()


class _SquareLowering:
    """A walk over the steps that lowers them.

    Attributes
    ----------
    means : dict
        The number of an array and the axes → its mean with ``keepdims``.
    replacements : dict
        The number of a mean → an equal one.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.metas = list(program.metas)
        self.steps: list[Step] = []
        self.means: dict[tuple, Ref] = {}
        self.replacements: dict[int, Ref] = {}

    def run(self) -> Program:
        """Return the lowered program."""
        for step in self.program.steps:
            if self.replacements and not self.replacements.keys().isdisjoint(refs_of(step)):
                step = renamed(step, self._replacement)
            if step.f in (np.var, np.std) and self._is_plain(step):
                self._variance(step)
            elif step.f is np.mean and self._is_plain(step) and self.metas[step.out].shape:
                self._mean(step)
            elif step.f is guard and step.args[1] is has_nan and self._is_array(step.args[0]):
                number = meta_of(self.metas[step.args[0].i].dtype.type(0.0))
                square = self._add_step(np.vdot, (step.args[0], step.args[0]), None, number)
                self.steps.append(Step(guard, (square, *step.args[1:]), None, -1))
            else:
                self.steps.append(step)
        outputs = [self._replacement(x.i) if type(x) is Ref else x for x in self.program.outputs]
        return Program(self.steps, self.metas, self.program.inputs, outputs)

    def _replacement(self, i: int) -> Ref:
        return self.replacements.get(i) or Ref(i)

    def _mean(self, step: Step) -> None:
        """Compute equal means with `keepdims` once."""
        key = (step.args[0].i, self._reduced(step))
        if not (step.kwargs or {}).get("keepdims"):
            self.steps.append(step)
        elif key in self.means:
            self.replacements[step.out] = self.means[key]
        else:
            self.means[key] = Ref(step.out)
            self.steps.append(step)

    def _reduced(self, step: Step) -> tuple[int, ...]:
        """Return the axes that a reduction sums over."""
        d = len(self.metas[step.args[0].i].shape or ())
        axis = (step.kwargs or {}).get("axis")
        axes = range(d) if axis is None else axis if type(axis) is tuple else (axis,)
        return tuple(sorted({a % d for a in axes}))

    def _is_array(self, x: Any) -> bool:
        meta = self.metas[x.i] if type(x) is Ref else None
        return meta is not None and meta.type is np.ndarray and meta.dtype in FLOATS

    def _is_plain(self, step: Step) -> bool:
        return is_reduction(step) and self._is_array(step.args[0])

    def _add_step(self, f: Any, args: tuple, kwargs: dict | None, meta: Meta) -> Ref:
        self.metas.append(meta)
        self.steps.append(Step(f, args, kwargs, len(self.metas) - 1))
        return Ref(len(self.metas) - 1)

    def _variance(self, step: Step) -> None:
        """Lower a variance or standard deviation."""
        (x,), options = step.args, step.kwargs or {}
        whole = self.metas[x.i]
        shape = whole.shape or ()
        reduced = self._reduced(step)
        mean = self.means.get((x.i, reduced))
        if mean is None:
            kept = tuple([1 if d in reduced else n for d, n in enumerate(shape)])
            along = {"axis": reduced, "keepdims": True}
            mean = self._add_step(np.mean, (x,), along, Meta(np.ndarray, whole.dtype, kept))
            self.means[x.i, reduced] = mean
        deviation = self._add_step(np.subtract, (x, mean), None, whole)
        square = self._add_step(np.square, (deviation,), None, whole)
        rest = {"axis": reduced, "keepdims": options.get("keepdims", False)}
        meta = self.metas[step.out]
        if step.f is np.var:
            self.steps.append(Step(np.mean, (square,), rest, step.out))
        else:
            variance = self._add_step(np.mean, (square,), rest, meta)
            self.steps.append(Step(np.sqrt, (variance,), None, step.out))
