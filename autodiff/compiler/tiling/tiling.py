"""Stretches of a program on large arrays, done one tile after the other on all cores.

Chains (``blocks``) are elementwise steps of one shape. Here steps may broadcast, take views and
reduce along axes, as long as they leave the tiles of one axis apart (``tile_rules``): a softmax of
rows, with its gradient, is read once and written once. Reductions along the axis itself end it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff.compiler.kernels.op_lowerings import VIEWS
from autodiff.compiler.kernels.reductions import REDUCED
from autodiff.compiler.passes.integers_as_floats import with_counts_as_floats
from autodiff.compiler.passes.simplify import without_unused
from autodiff.compiler.recording.ir import (
    FLOAT64,
    TUPLE,
    Program,
    Ref,
    Step,
    effect,
    is_outer,
    part,
    reads_of,
    refs_of,
)
from autodiff.compiler.tiling.tile_executor import FEWEST_TILES, Tiles, length_of
from autodiff.compiler.tiling.tile_lowering import Preparing
from autodiff.compiler.tiling.tile_rules import Member, Rules
from autodiff.functions import COMPARISONS, MATRIX_PRODUCTS, UFUNC_OF, is_elementwise

LARGE = 1 << 17
"""From how many elements on arrays are cut into tiles: others fit into the cache anyway."""
_MOST_STEPS = 500
_CHEAP: frozenset[Any] = COMPARISONS | {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.square, np.absolute,
}  # fmt: skip
_DEEPEST = 2


def in_tiles(program: Program, by_machine: bool) -> Program:
    """Return a program with stretches on large arrays done tile by tile.

    `by_machine` says whether what is done with a tile may become machine code.
    """
    shape = _Cutting(program, False).shape
    if len(program.steps) > _MOST_STEPS or not any(map(shape, program.steps)):
        return program
    floats = with_counts_as_floats(program)
    prepared = Preparing(Program(floats.steps, list(floats.metas), floats.inputs, floats.outputs))
    cutting = _Cutting(prepared.run(), by_machine)
    steps = cutting.cut(cutting.program.steps)
    if not cutting.found:
        return program
    outputs = cutting.program.outputs
    return without_unused(Program(steps, cutting.metas, program.inputs, outputs))


class _Group(NamedTuple):
    """Steps that are done tile by tile, those before them, and those after them."""

    members: list[Member]
    before: list[Step]
    after: list[Step]
    n: int


class _Cutting:
    def __init__(self, program: Program, by_machine: bool) -> None:
        self.program = program
        self.metas = program.metas
        self.by_machine = by_machine
        self.found = 0
        self.redone: set[int] = set()
        self.views = {step.out for step in program.steps if step.f in VIEWS}
        self.reads = reads_of(program.steps)
        self.outputs = {x.i for x in program.outputs if type(x) is Ref}
        for i in self.outputs:
            self.reads[i] = self.reads.get(i, 0) + 1

    def shape(self, step: Step) -> tuple | None:
        """Return the shape of the large array that a step makes or reduces; None for others."""
        if step.out < 0:
            return None
        meta = self.metas[step.out]
        f = UFUNC_OF.get(step.f, step.f)
        if f in REDUCED and step.args and type(step.args[0]) is Ref:
            meta = self.metas[step.args[0].i]
        elif not (is_elementwise(f) or f is np.where or f in MATRIX_PRODUCTS or is_outer(step)):
            return None
        is_array = meta.type is np.ndarray and meta.dtype in (FLOAT64, np.bool_)
        return meta.shape if is_array and meta.size >= LARGE else None

    def cut(self, steps: list[Step]) -> list[Step]:
        """Return steps with those that can be done tile by tile put together."""
        done: list[Step] = []
        waiting = [steps]
        while waiting:
            steps = waiting.pop()
            group = self._first_group(steps)
            if group is None:
                done += steps
                continue
            self.found += 1
            tiled, again = self._tiled(group)
            waiting += [[*again, *group.after], tiled]
            waiting.append(group.before)
        return done

    def _first_group(self, steps: list[Step]) -> _Group | None:
        tried: set[tuple[int, int]] = set()
        for at, step in enumerate(steps):
            shape = self.shape(step)
            if shape is None:
                continue
            best: tuple[int, _Group] | None = None
            for axis, n in enumerate(shape):
                if n >= FEWEST_TILES and (step.out, axis) not in tried:
                    group = self._group(steps, at, shape, axis)
                    if group is None:
                        continue
                    tried.update((m.step.out, axis) for m in group.members)
                    work = sum(self._work(m) for m in group.members)
                    if self._is_of_use(group, shape) and (best is None or work > best[0]):
                        best = work, group
            if best is not None:
                return best[1]
        return None

    def _work(self, member: Member) -> int:
        sizes = [self.metas[i].size for i in [member.step.out, *refs_of(member.step)]]
        return max(sizes)

    def _is_of_use(self, group: _Group, shape: tuple) -> bool:
        """Whether it is more than a chain, and its tiles are neither too large nor too small."""
        counted = [m for m in group.members if m.step.f not in VIEWS]
        large = [m for m in counted if self._work(m) >= LARGE]
        if len(large) < 2 or length_of(group.members, group.n, self.metas) is None:
            return False
        whole = [m for m in large if not self.metas[m.step.out].is_scalar]
        if (
            len(whole) == 1
            and whole[0].step.f in MATRIX_PRODUCTS
            and whole[0] in self._kept(group.members)
        ):
            return False  # to copy a product out of its tiles takes longer than to read it again
        for m in large:
            meta = self.metas[m.step.out]
            if m.axis is not None and (meta.shape != shape or meta.dtype != FLOAT64):
                return True
            if not is_elementwise(UFUNC_OF.get(m.step.f, m.step.f)) and not meta.is_scalar:
                return True
            for a in m.step.args:
                if type(a) is Ref and a.i in self.views:
                    return True  # a chain would copy it, for it has its elements in one row
                mine = self.metas[a.i].shape if type(a) is Ref else np.shape(a)
                if mine and mine != shape:
                    return True
        return False

    def _group(self, steps: list[Step], at: int, shape: tuple, axis: int) -> _Group | None:
        rules = Rules(self.metas, shape[axis])
        members: list[Member] = []
        before, after = list(steps[:at]), []
        late: set[int] = set()
        for k in range(at, len(steps)):
            step = steps[k]
            if step.f is effect:
                after += steps[k:]
                break
            refs = refs_of(step)
            is_late = not late.isdisjoint(refs)
            is_inside = any(i in rules.axes for i in refs)
            member = None
            if is_inside and not is_late:
                member = rules.member(step)
            elif not is_late and self.shape(step) == shape:
                member = rules.first(step, axis)
            if member is not None:
                members.append(member)
                if member.axis is not None:
                    rules.axes[step.out] = member.axis
            elif is_late or is_inside:
                after.append(step)
            else:
                before.append(step)
            if step.out >= 0 and (member.axis is None if member else is_late or is_inside):
                late.add(step.out)
            if k == at and not members:
                return None
        return _Group(members, before, after, rules.n)

    def _kept(self, members: list[Member]) -> list[Member]:
        """Return the members that steps outside of the group read."""
        inside = reads_of([m.step for m in members])
        return [m for m in members if self.reads.get(m.step.out, 0) > inside.get(m.step.out, 0)]

    def _tiled(self, group: _Group) -> tuple[list[Step], list[Step]]:
        """Return the step that does a group, with those that take its results.

        Also those whose results are rather computed again than kept.
        """
        members = group.members
        inside = reads_of([m.step for m in members])
        results = self._kept(members)
        again = self._again(members, results)
        for step in again:  # it is another value now than that of the group
            self.reads[step.out] -= inside.get(step.out, 0)
        for i, n in reads_of(again).items():
            self.reads[i] += n
        self.redone.update(step.out for step in again)
        here = {step.out for step in again}
        results = [m for m in results if m.step.out not in here]
        tiles = Tiles(members, results, group.n, self.metas, self.by_machine)
        self.metas.append(TUPLE)
        whole = Ref(len(self.metas) - 1)
        new = [Step(tiles, tuple(tiles.given), None, whole.i)]
        new += [Step(part, (whole, k), None, m.step.out) for k, m in enumerate(results)]
        return new, again

    def _again(self, members: list[Member], results: list[Member]) -> list[Step]:
        """Return the steps that make some results again, out of others and of what is given."""
        made = {m.step.out: m for m in members}
        kept = {m.step.out for m in results}
        needed: set[int] = set()  # results from which others are made again
        again: dict[int, Step] = {}

        def steps_for(i: int, depth: int) -> list[Step] | None:
            if i not in made or i in again:
                return []
            step = made[i].step
            is_result = i in kept
            if is_result and depth:
                needed.add(i)
                return []
            if depth > _DEEPEST or step.f not in _CHEAP or i in self.outputs or i in needed:
                return None
            if made[i].axis is None or i in self.redone:
                return None  # once is enough: else there would be no end
            found = []
            for k in refs_of(step):
                before = steps_for(k, depth + 1)
                if before is None:
                    return None
                found += before
            return [*found, step]

        for m in results:
            if self.metas[m.step.out].size >= LARGE:
                for step in steps_for(m.step.out, 0) or ():
                    again[step.out] = step
                    kept.discard(step.out)
        return list(again.values())
