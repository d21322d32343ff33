"""Tiling: run groups of steps on large arrays tile by tile, on all cores.

An operation on an array that does not fit into the cache waits for memory. If a whole group runs on
one tile after the other, it reads and writes memory once. Steps may broadcast, take views and
reduce along axes, as long as the tiles along one axis stay independent (`tile_rules`), as in a
softmax of rows and its gradient. Reductions along the axis itself end a group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff.compiler.kernels.lowering_table import VIEWS, is_real
from autodiff.compiler.kernels.reductions import REDUCED
from autodiff.compiler.passes.counts_as_floats import counts_to_floats
from autodiff.compiler.passes.simplify import remove_unused
from autodiff.compiler.passes.sums_of_squares import with_sums_of_squares
from autodiff.compiler.recording.ir import (
    FLOATS,
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
from autodiff.compiler.tiling.tile_executor import Tiles, length_of
from autodiff.compiler.tiling.tile_rules import Member, TilingRules
from autodiff.compiler.tiling.tile_threads import FEWEST_TILES
from autodiff.functions import COMPARISONS, MATRIX_PRODUCTS, UFUNC_OF, is_elementwise

LARGE = 1 << 16
"""The number of elements from which on arrays are cut into tiles: smaller ones fit the cache."""
LARGE_IF_MIXED = 1 << 17
"""The same for groups that are more than elementwise steps of one shape."""
_MOST_STEPS = 500
_CHEAP: frozenset[Any] = COMPARISONS | {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.square, np.absolute,
}  # fmt: skip
_DEEPEST = 2


def tile_program(program: Program, by_machine: bool) -> Program:
    """Return a program with each group of steps on large arrays as one step.

    `by_machine` says whether the code for a tile may become machine code.
    """
    large_shape = _Tiling(program, False).large_shape
    if len(program.steps) > _MOST_STEPS or not any(map(large_shape, program.steps)):
        return program
    tiling = _Tiling(with_sums_of_squares(counts_to_floats(program)), by_machine)
    steps = tiling.grouped(tiling.program.steps)
    if not tiling.has_groups:
        return program
    outputs = tiling.program.outputs
    return remove_unused(Program(steps, tiling.metas, program.inputs, outputs))


class _Group(NamedTuple):
    """Steps that run tile by tile, and the steps before and after them."""

    members: list[Member]
    before: list[Step]
    after: list[Step]
    n: int


def _is_elementwise(member: Member) -> bool:
    return is_elementwise(UFUNC_OF.get(member.step.f, member.step.f))


class _Tiling:
    """The search for groups in a program.

    Attributes
    ----------
    recomputed : set of int
        The values that are computed again outside of their group.
    views : set of int
        The values that are views.
    reads : dict
        How often each value is read.
    """

    def __init__(self, program: Program, by_machine: bool) -> None:
        self.program = program
        self.metas = program.metas
        self.by_machine = by_machine
        self.has_groups = False
        self.recomputed: set[int] = set()
        self.views = {step.out for step in program.steps if step.f in VIEWS}
        self.reads = reads_of(program.steps)
        self.outputs = {x.i for x in program.outputs if type(x) is Ref}
        for i in self.outputs:
            self.reads[i] = self.reads.get(i, 0) + 1

    def large_shape(self, step: Step) -> tuple | None:
        """Return the shape of the large array that a step computes or reduces; None for others."""
        if step.out < 0:
            return None
        meta = self.metas[step.out]
        f = UFUNC_OF.get(step.f, step.f)
        if f in REDUCED and step.args and type(step.args[0]) is Ref:
            meta = self.metas[step.args[0].i]
        elif not (is_elementwise(f) or f is np.where or f in MATRIX_PRODUCTS or is_outer(step)):
            return None
        is_array = meta.type is np.ndarray and meta.dtype in (*FLOATS, np.bool_)
        return meta.shape if is_array and meta.size >= LARGE else None

    def grouped(self, steps: list[Step]) -> list[Step]:
        """Return the steps with each group as one step."""
        done: list[Step] = []
        waiting = [steps]
        while waiting:
            steps = waiting.pop()
            group = self._first_group(steps)
            if group is None:
                done += steps
                continue
            self.has_groups = True
            tiled, recomputed = self._tiled(group)
            waiting += [[*recomputed, *group.after], tiled, group.before]
        return done

    def _first_group(self, steps: list[Step]) -> _Group | None:
        """Return the first useful group, cut along the axis with the most work."""
        tried: set[tuple[int, int]] = set()
        for at, step in enumerate(steps):
            shape = self.large_shape(step)
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
                    if self._is_useful(group) and (best is None or work > best[0]):
                        best = work, group
            if best is not None:
                return best[1]
        return None

    def _work(self, member: Member) -> int:
        return max(self.metas[i].size for i in [member.step.out, *refs_of(member.step)])

    def _is_useful(self, group: _Group) -> bool:
        """Whether a group has several large steps, and tiles of a reasonable size."""
        counted = [m for m in group.members if m.step.f not in VIEWS]
        large = [m for m in counted if self._work(m) >= LARGE]
        if len(large) < 2 or length_of(group.members, group.n, self.metas) is None:
            return False
        whole = [m for m in large if not is_real(self.metas[m.step.out])]
        arrays = [self.metas[m.step.out] for m in whole]
        is_mixed = len({x.shape for x in arrays}) > 1 or not all(_is_elementwise(m) for m in whole)
        if is_mixed and max(x.size for x in arrays) < LARGE_IF_MIXED:
            return False
        is_product = len(whole) == 1 and whole[0].step.f in MATRIX_PRODUCTS
        # Copying a product out of its tiles takes longer than reading it again.
        return not (is_product and whole[0] in self._kept(group.members))

    def _group(self, steps: list[Step], at: int, shape: tuple, axis: int) -> _Group | None:
        """Collect the group that starts with the step `at`, whose array is cut along an axis."""
        rules = TilingRules(self.metas, shape[axis])
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
            elif not is_late and self.large_shape(step) == shape:
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
        """Return the members whose results are read outside of the group."""
        inside = reads_of([m.step for m in members])
        return [m for m in members if self.reads.get(m.step.out, 0) > inside.get(m.step.out, 0)]

    def _tiled(self, group: _Group) -> tuple[list[Step], list[Step]]:
        """Return the step that runs a group, with those that take its results apart.

        Also return the steps that are cheaper to run again than to store their results.
        """
        members = group.members
        inside = reads_of([m.step for m in members])
        results = self._kept(members)
        again = self._recomputed(members, results)
        for step in again:  # the reads inside the group are reads of another value
            self.reads[step.out] -= inside.get(step.out, 0)
        for i, n in reads_of(again).items():
            self.reads[i] += n
        outside = {step.out for step in again}
        self.recomputed |= outside
        results = [m for m in results if m.step.out not in outside]
        tiles = Tiles(members, results, group.n, self.metas, self.by_machine)
        self.metas.append(TUPLE)
        whole = Ref(len(self.metas) - 1)
        new = [Step(tiles, tuple(tiles.given), None, whole.i)]
        new += [Step(part, (whole, k), None, m.step.out) for k, m in enumerate(results)]
        return new, again

    def _recomputed(self, members: list[Member], results: list[Member]) -> list[Step]:
        """Return the steps that compute some results again, from the others and the inputs."""
        made = {m.step.out: m for m in members}
        kept = {m.step.out for m in results}
        needed: set[int] = set()  # results from which others are computed again
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
            if made[i].axis is None or i in self.recomputed:
                return None  # only once, so that the search ends
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
