"""Alias analysis: which values may share memory, and how long that memory is live."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from autodiff.compiler.kernels.array_kernels import Kernel
from autodiff.compiler.passes.scalar_replacement import pack
from autodiff.compiler.recording.ir import (
    Program,
    Ref,
    Step,
    add_item,
    effect,
    guard,
    part,
    refs_of,
    renamed,
    set_flat,
    set_item,
    sub_item,
)
from autodiff.functions import UFUNC_OF, is_elementwise, is_new_memory
from autodiff.structured.recorded_calls import Sweep
from chainrules_core.operations.scattering import scatter

CHANGES = frozenset({add_item, sub_item, set_item, set_flat})
"""Steps that may update their first argument in place if it is dead afterwards."""
OUTSIDE = -1
"""The owner of memory that the program must not write into: that of inputs and constants."""

_NEW = frozenset({pack, add_item, sub_item, set_item, set_flat, scatter})
_APART = frozenset({Kernel, Sweep})
"""Steps of these classes return several arrays, each in new memory of its own."""
_NONE: frozenset[int] = frozenset()


class AliasAnalysis:
    """Owners and liveness of the memory of all values.

    Attributes
    ----------
    owners : list of frozenset of int
        For each value, the values whose memory it may share, including itself.
    last : list of int
        For each value, the index of the last step that reads it; for outputs, the number of steps.
    until : list of int
        For each owner, the last of these indices among the values that may share its memory.
    escaping : set of int
        The owners whose memory an output may share.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        n = len(program.metas)
        self.owners: list[frozenset[int]] = [_NONE] * n
        self.last = [-1] * n
        self.until = [-1] * (n + 1)  # the last entry is that of OUTSIDE
        self.escaping: set[int] = set()
        self._broadcast = {s.out for s in program.steps if s.f is np.broadcast_to}  # read-only
        self._apart = {s.out for s in program.steps if type(s.f) in _APART}
        self._parts = Counter([_place(s) for s in program.steps if s.f is part])
        for i in program.inputs:
            if program.metas[i].shape is not None:
                self.owners[i] = frozenset({OUTSIDE})
        for at, step in enumerate(program.steps):
            for i in refs_of(step):
                self.last[i] = at
            if step.out >= 0:
                self.owners[step.out] = self._owners_of(step)
        end = len(program.steps)
        for x in program.outputs:
            if type(x) is Ref:
                self.last[x.i] = end
                self.escaping |= self.owners[x.i]
        for i, owners in enumerate(self.owners):
            for owner in owners:
                if self.last[i] > self.until[owner]:
                    self.until[owner] = self.last[i]

        for at in range(end - 1, -1, -1):
            step = program.steps[at]
            if step.f in CHANGES and step.out in self.escaping and self.is_free(step.args[0], at):
                self.escaping.add(step.args[0].i)  # it is updated in place

    def _owners_of(self, step: Step) -> frozenset[int]:
        meta = self.program.metas[step.out]
        f = UFUNC_OF.get(step.f, step.f)
        if f is guard or (meta.shape is None and f is not part and meta.type not in (tuple, list)):
            return _NONE
        own = frozenset({step.out})
        if f in _NEW or is_elementwise(f):
            return own
        if is_new_memory(f, step.args, step.kwargs) or self._is_apart(step):
            return own
        shared = [self.owners[i] for i in refs_of(step)]
        found = own.union(*shared)  # it may be a view
        if any(type(a) is np.ndarray for a in step.args) or f is effect:
            found |= {OUTSIDE}
        return found

    def _is_apart(self, step: Step) -> bool:
        """Whether a step returns separate arrays, or is the only one that takes one of them."""
        if step.f is not part:
            return step.out in self._apart
        whole = step.args[0]
        has_axes = bool(self.program.metas[step.out].shape)  # without axes it may be a number
        is_one = has_axes and type(whole) is Ref and whole.i in self._apart
        return is_one and self._parts[_place(step)] == 1

    def is_free(self, x: Any, at: int) -> bool:
        """Whether step `at` may write into the memory of a value, because it is dead afterwards."""
        if type(x) is not Ref:
            return False
        owners = self.owners[x.i]
        return owners == {x.i} and self.until[x.i] <= at and x.i not in self._broadcast

    def is_private(self, i: int) -> bool:
        """Whether the memory of a value does not escape from the program."""
        return i not in self.escaping and self.owners[i] == {i}


def _place(step: Step) -> tuple:
    """Return which part of which value a step takes."""
    whole, at = step.args
    return (whole.i if type(whole) is Ref else None), at


def _keeps_type(step: Step, program: Program) -> bool:
    """Whether ``+x`` has the type of `x`: of a Python float, it is a NumPy scalar."""
    x = step.args[0]
    return type(x) is Ref and program.metas[x.i].type is program.metas[step.out].type


def remove_copies(program: Program) -> Program:
    """Remove copies of arrays that are dead afterwards."""
    if not any(step.f is np.copy or step.f is np.positive for step in program.steps):
        return program
    memory = AliasAnalysis(program)
    originals: dict[int, Ref] = {}
    kept = []
    for at, step in enumerate(program.steps):
        is_identity = step.f is np.positive and _keeps_type(step, program)
        if is_identity or (step.f is np.copy and memory.is_free(step.args[0], at)):
            originals[step.out] = step.args[0]
        else:
            kept.append(step)
    if not originals:
        return program

    def now(i: int) -> Ref:
        while i in originals:
            i = originals[i].i
        return Ref(i)

    steps = [renamed(step, now) for step in kept]
    outputs = [now(x.i) if type(x) is Ref else x for x in program.outputs]
    return Program(steps, program.metas, program.inputs, outputs, program.exact)
