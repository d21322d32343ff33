"""Decompose einsums of three and more operands into einsums of two.

A contraction of two operands can become part of a loop nest or a call of BLAS, and equal
contractions in several einsums are computed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Meta, Program, Ref, Step, meta_of
from chainrules_core.operations.contraction import extents_of, path_of


def split_einsums(program: Program) -> Program:
    """Return a program whose einsums have two operands, if an order was found that is cheaper."""
    steps: list[Step] = []
    for step in program.steps:
        steps += (step.f is np.einsum and _pairs(step, program.metas)) or [step]
    if all(a is b for a, b in zip(steps, program.steps, strict=False)):
        return program
    return Program(steps, program.metas, program.inputs, program.outputs)


def _product(step: Step, labels: list[str], out: str, shapes: list) -> list[Step] | None:
    """Return an einsum of two operands as a matrix product; None if it is not one."""
    operands = step.args[1:]
    for first, second in ((0, 1), (1, 0)):
        left, right = labels[first], labels[second]
        both = [c for c in left if c in right and c not in out]
        free = [c for c in left + right if c not in both]
        is_plain = all(len(set(x)) == len(x) for x in (left, right, out))
        if both and out and is_plain and "".join(free) == out:
            axes = ([left.index(c) for c in both], [right.index(c) for c in both])
            extents = [
                [shapes[k][a] for a in mine] for k, mine in zip((first, second), axes, strict=True)
            ]
            if extents[0] != extents[1]:
                return None  # an axis of length 1 is broadcast
            a, b = operands[first], operands[second]
            if axes == ([len(left) - 1], [0]) and len(right) == 2:
                return [Step(np.matmul, (a, b), None, step.out)]  # BLAS reads views without copies
            return [Step(np.tensordot, (a, b, axes), None, step.out)]
    return None


def _pairs(step: Step, metas: list[Meta]) -> list[Step] | None:
    """Return the steps that replace an einsum; None if it stays."""
    text, *operands = step.args
    if type(text) is not str or len(operands) < 2 or (step.kwargs or {}).keys() - {"optimize"}:
        return None
    given, arrow, out = text.replace(" ", "").partition("->")
    found = [metas[x.i] if type(x) is Ref else meta_of(x) for x in operands]
    if not arrow or not (given.replace(",", "") + out).isalpha():
        return None
    if any(m.type is not np.ndarray or m.dtype != FLOAT64 for m in found):
        return None
    path: Any = path_of(text, tuple([m.shape for m in found]))
    if not path:
        return None
    if len(operands) == 2:
        return _product(step, given.split(","), out, [m.shape for m in found])
    factors = [*zip(given.split(","), operands, [m.shape for m in found], strict=True)]
    steps: list[Step] = []
    for places in path[1:]:
        labels, values, shapes = zip(*[factors[k] for k in places], strict=True)
        factors = [x for k, x in enumerate(factors) if k not in places]
        kept, target = out, step.out
        if factors:
            needed = {*out, *"".join(letters for letters, _, _ in factors)}
            kept = "".join(c for c in dict.fromkeys("".join(labels)) if c in needed)
            if not kept:
                return None
            extents = extents_of(labels, shapes)
            metas.append(Meta(np.ndarray, FLOAT64, tuple([extents[c] for c in kept])))
            target = len(metas) - 1
        steps.append(Step(np.einsum, (f"{','.join(labels)}->{kept}", *values), None, target))
        factors.append((kept, Ref(target), metas[target].shape))
    return steps
