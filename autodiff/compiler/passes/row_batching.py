"""The same elementwise step on many small vectors, done on the matrix of them.

Where all vectors of a group are there before the first step of it (the states of a forward loop,
for the backward one), the group is one step on a matrix with the vectors as rows. A vector added in
each turn to a row of a matrix is added to the whole matrix beforehand.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Meta, Program, Ref, Step, reads_of
from autodiff.functions import is_elementwise

_FEWEST = 8
_LARGEST = 512
_PASSES = 4


def in_rows(program: Program) -> Program:
    """Return a program in which such groups are batched."""
    for _ in range(_PASSES):
        found = _pass(program)
        if found is program:
            break
        program = found
    return program


def row_of(x: Any, origin: dict[int, Step], metas: list[Meta]) -> tuple[Ref, int] | None:
    """Return the matrix that an argument is a row of, and which; None for others."""
    step = origin.get(x.i) if type(x) is Ref else None
    if step is None or step.f is not operator.getitem:
        return None
    matrix, index = step.args
    shape: Any = metas[matrix.i].shape if type(matrix) is Ref else None
    return (matrix, index % shape[0]) if len(shape or ()) == 2 and type(index) is int else None


def run_of(places: list[tuple[Ref, int] | None]) -> tuple[Ref, slice] | None:
    """Return the matrix of rows that follow each other in it, up or down, and their slice."""
    rows = [place for place in places if place is not None]
    if len(rows) < len(places) or len({matrix.i for matrix, _ in rows}) != 1:
        return None
    (matrix, first), last = rows[0], rows[-1][1]
    stride = rows[1][1] - first
    if stride not in (1, -1) or any(b - a != stride for (_, a), (_, b) in itertools.pairwise(rows)):
        return None
    stop = last + stride
    return matrix, slice(first, stop if stop >= 0 else None, stride)


class _Rows:
    """Where each vector of a program comes from."""

    def __init__(self, program: Program) -> None:
        self.metas = program.metas
        self.origin: dict[int, Step] = {}
        self.at: dict[int, int] = {}
        self.uses = reads_of(program.steps, program.outputs)
        for at, step in enumerate(program.steps):
            if step.out >= 0:
                self.origin[step.out] = step
                self.at[step.out] = at

    def is_vector(self, x: Any) -> bool:
        """Whether an argument is a small vector of floats."""
        if type(x) is not Ref:
            return False
        meta = self.metas[x.i]
        return (
            meta.type is np.ndarray
            and meta.dtype == FLOAT64
            and len(meta.shape) == 1
            and meta.size <= _LARGEST
        )

    def row(self, x: Ref) -> tuple[Ref, int] | None:
        """Return the matrix that a vector is a row of, and which."""
        return row_of(x, self.origin, self.metas)

    def ready(self, x: Ref) -> int:
        """Return the step after which a vector is available."""
        row = self.row(x)
        return self.at.get(x.i if row is None else row[0].i, -1)


def _pass(program: Program) -> Program:
    rows = _Rows(program)
    groups: dict[tuple, list[tuple[int, Step, Ref]]] = {}
    for at, step in enumerate(program.steps):
        key = _sum_with_row(rows, step) or _of_one_vector(rows, step)
        if key is not None:
            *head, vector = key
            groups.setdefault((*head, rows.metas[step.out].shape), []).append((at, step, vector))
    first: dict[int, tuple] = {}
    member: dict[int, tuple] = {}
    for key, found in groups.items():
        start = found[0][0]
        chosen = [m for m in found if rows.ready(m[2]) < start]
        if len(chosen) < _FEWEST or (key[0] == "row" and rows.at.get(key[1], -1) >= start):
            continue
        first[start] = (key, chosen)
        for k, (at, _, _) in enumerate(chosen):
            member[at] = (start, k)
    if not first:
        return program
    steps: list[Step] = []
    whole: dict[int, Ref] = {}

    def write(f: Any, args: tuple, shape: tuple) -> Ref:
        program.metas.append(Meta(np.ndarray, FLOAT64, shape))
        steps.append(Step(f, args, None, len(program.metas) - 1))
        return Ref(len(program.metas) - 1)

    for at, step in enumerate(program.steps):
        if at in first:
            key, chosen = first[at]
            vectors = [v for _, _, v in chosen]
            n = rows.metas[vectors[0].i].shape[0]
            matrix = _stacked(rows, vectors, write, n)
            if key[0] == "row":
                args: tuple = (matrix, Ref(key[1]))
                f: Any = np.add
            else:
                f = key[0]
                args = tuple([matrix if p == "vector" else p[1] for p in key[1]])
            whole[at] = write(f, args, (len(vectors), n))
        if at not in member:
            steps.append(step)
            continue
        start, k = member[at]
        if first[start][0][0] == "row":
            inner = rows.origin[_inner(rows, step)[0].i]
            other = (
                next(a for a in inner.args if rows.row(a) is None)
                if (type(inner.args[0]) is Ref)
                else inner.args[0]
            )
            program.metas.append(rows.metas[step.out])
            i = len(program.metas) - 1
            steps.append(Step(operator.getitem, (whole[start], k), None, i))
            steps.append(Step(np.add, (other, Ref(i)), None, step.out))
        else:
            steps.append(Step(operator.getitem, (whole[start], k), None, step.out))
    return Program(steps, program.metas, program.inputs, program.outputs)


def _of_one_vector(rows: _Rows, step: Step) -> tuple | None:
    """Return the operation of an elementwise step, and its one vector."""
    if (
        step.out < 0
        or step.kwargs
        or not is_elementwise(step.f)
        or not rows.is_vector(Ref(step.out))
    ):
        return None
    vector = None
    parts: list[Any] = []
    for a in step.args:
        if rows.is_vector(a) and (vector is None or vector.i == a.i):
            vector = a
            parts.append("vector")
        elif type(a) in (int, float):
            parts.append(("number", a))
        else:
            return None
    if vector is None or rows.metas[vector.i].shape != rows.metas[step.out].shape:
        return None
    return step.f, tuple(parts), vector


def _inner(rows: _Rows, step: Step) -> Any:
    """Return the sum inside a sum, and what is added to it."""
    for x, b in (step.args, step.args[::-1]):
        origin = rows.origin.get(x.i) if type(x) is Ref else None
        if origin is not None and origin.f is np.add and rows.uses.get(x.i) == 1 and type(b) is Ref:
            return x, b
    return None


def _sum_with_row(rows: _Rows, step: Step) -> tuple | None:
    """``(d + row) + b`` is ``d + (row + b)``: return `b` and the row."""
    if step.f is not np.add or step.out < 0 or not rows.is_vector(Ref(step.out)):
        return None
    found = _inner(rows, step)
    if found is None or not rows.is_vector(found[1]) or rows.row(found[1]) is not None:
        return None
    inner = rows.origin[found[0].i]
    vectors = [a for a in inner.args if rows.is_vector(a)]
    of_matrix = [a for a in vectors if rows.row(a) is not None]
    if len(vectors) != 2 or len(of_matrix) != 1:
        return None
    shape = rows.metas[step.out].shape
    if any(rows.metas[a.i].shape != shape for a in (*vectors, found[1])):
        return None
    return "row", found[1].i, of_matrix[0]


def _stacked(rows: _Rows, vectors: list[Ref], write: Any, n: int) -> Ref:
    """Return a matrix with these rows: a part of an existing one, if they are its rows."""
    places = [rows.row(v) for v in vectors]
    run = run_of(places)
    if run is not None:
        matrix, index = run
        if index == slice(0, rows.metas[matrix.i].shape[0], 1):
            return matrix
        return write(operator.getitem, run, (len(vectors), n))
    # A row that is read later only is read here, too.
    there = [
        v if place is None else write(operator.getitem, place, (n,))
        for v, place in zip(vectors, places, strict=True)
    ]
    return write(np.array, (there,), (len(vectors), n))
