"""Represent counts of elements as floats, where this makes no difference.

Generated loops have no integers, but the gradient of a maximum divides by the number of elements
that tie. So counts that are only added, compared and divided by become floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.compiler.passes.simplify import COUNT
from autodiff.compiler.recording.ir import (
    FLOAT32,
    FLOAT64,
    NUMBER,
    Meta,
    Program,
    Ref,
    Step,
    guard,
    refs_of,
)
from autodiff.functions import COMPARISONS, UFUNC_OF, is_elementwise

_STAYS = frozenset({np.maximum, np.minimum, np.add, np.subtract})
_COUNTING = frozenset({np.count_nonzero, COUNT})
_LARGEST = 1 << 24
"""Arrays with up to this number of elements are counted; floats of double precision are exact."""
_FLOATS: tuple = (FLOAT64, FLOAT32, float, np.float64, np.float32)


def counted(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return `np.count_nonzero` as float or array of floats."""
    return 1.0 * np.count_nonzero(x, axis=axis, keepdims=keepdims)


def counts_to_floats(program: Program) -> Program:
    """Return a program whose counts are floats, except for outputs."""
    metas = program.metas
    counts: dict[int, Meta] = {}
    for step in program.steps:
        if step.out >= 0 and _is_count(step, counts, metas):
            m = metas[step.out]
            counts[step.out] = Meta(m.type, FLOAT64, m.shape) if m.shape else NUMBER
    while counts:
        kept = set(counts)
        kept.difference_update(x.i for x in program.outputs if type(x) is Ref)
        for step in program.steps:
            if step.out not in counts:
                if not _may_read(step, metas):
                    kept.difference_update(refs_of(step))
            elif step.f not in _COUNTING and not kept.issuperset(refs_of(step)):
                kept.discard(step.out)
                kept.difference_update(refs_of(step))
        if len(kept) == len(counts):
            break
        counts = {i: m for i, m in counts.items() if i in kept}
    if not counts:
        return program
    new = [
        _as_float(s) if s.out in counts or _is_cast(s, counts, metas) else s for s in program.steps
    ]
    metas = list(metas)
    for i, meta in counts.items():
        metas[i] = meta
    return Program(new, metas, program.inputs, program.outputs, program.exact)


def _is_count(step: Step, counts: dict[int, Meta], metas: list[Meta]) -> bool:
    """Whether a step counts elements, or computes small integers from counts."""
    meta = metas[step.out]
    if not (meta.type is int or (meta.dtype is not None and meta.dtype.kind in "iu")):
        return False
    if step.f in _COUNTING:
        x = step.args[0]
        return (
            len(step.args) == 1
            and type(x) is Ref
            and metas[x.i].type is np.ndarray
            and metas[x.i].dtype in (np.bool_, FLOAT64, FLOAT32)
            and metas[x.i].size <= _LARGEST
            and (step.kwargs or {}).keys() <= {"axis", "keepdims"}
        )
    f: Any = UFUNC_OF.get(step.f, step.f)
    return (
        f in _STAYS
        and not step.kwargs
        and all(a.i in counts if type(a) is Ref else _is_small(a) for a in step.args)
        and any(type(a) is Ref for a in step.args)
    )


def _is_small(x: Any) -> bool:
    return isinstance(x, (int, np.integer, np.bool_)) and abs(int(x)) <= _LARGEST


def _may_read(step: Step, metas: list[Meta]) -> bool:
    """Whether a step gives the same result if a count is a float."""
    if step.f is guard:
        return step.args[1] is bool
    if step.f is np.ndarray.astype:
        is_of_one = len(step.args) == 2 and not step.kwargs
        return is_of_one and step.args[1] in _FLOATS
    if step.f in (np.any, np.all):
        return True
    f: Any = UFUNC_OF.get(step.f, step.f)
    if not is_elementwise(f) or step.kwargs:
        return False
    if f in COMPARISONS:
        return all(type(a) is Ref or _is_small(a) or type(a) is float for a in step.args)
    meta = metas[step.out]
    return f in (np.true_divide, np.multiply) and (meta.is_scalar or meta.dtype == FLOAT64)


def _is_cast(step: Step, counts: dict[int, Meta], metas: list[Meta]) -> bool:
    """Whether a step makes floats of counts, which these are by now."""
    is_cast = step.f is np.ndarray.astype and metas[step.out].dtype == FLOAT64
    return is_cast and type(step.args[0]) is Ref and step.args[0].i in counts


def _as_float(step: Step) -> Step:
    if step.f in _COUNTING:
        return Step(counted, step.args, step.kwargs, step.out)
    if step.f is np.ndarray.astype:
        return Step(np.copy, step.args[:1], None, step.out)
    args = tuple([a if type(a) is Ref else float(a) for a in step.args])
    return Step(step.f, args, step.kwargs, step.out)
