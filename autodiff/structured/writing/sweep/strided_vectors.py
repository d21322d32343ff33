"""Strided vectors for BLAS: columns of matrices, and reversed vectors.

BLAS updates them in place, given the memory of the whole array and a stride. It would copy a view.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.dependence import are_nonnegative
from autodiff.structured.form.function_ir import Value, known
from autodiff.structured.form.indices import parts_of_index


def strided_part(e: Any, v: Value, is_shadow: bool) -> str | None:
    """Return the arguments that describe a strided vector to the functions of `blas_sums`.

    Parameters
    ----------
    e : ProgramWriter
        Writes the sweep.
    v : Value
        The vector.
    is_shadow : bool
        Whether to describe its shadow instead.

    Returns
    -------
    str or None
        The memory, the first row, the end of the rows, and the column. None unless `v` is a column
        ``x[i:j, k]`` or a reversed vector ``x[i:j][::-1]`` with indices that are never negative.
    """
    op, is_reversed = v.op, _is_reversed(v)
    if is_reversed:
        op = op.args[0].op
    if op.code != "view" or type(op.data) is not tuple or e.for_native:
        return None
    base, *at = op.args
    axes, parts = base.kind.ndim, parts_of_index(op.data)
    if base.op.code != "read" or not base.op.data.is_stable or base.kind.dtype != np.float64:
        return None
    if [part[0] for part in parts] != (["slice"] if is_reversed else ["slice", "value"]):
        return None
    start, stop, step = [None if k is None else at[k] for k in parts[0][1:]]
    if axes != len(parts) or step is not None or not are_nonnegative(op, at, e.order):
        return None
    if is_shadow and base.root in e.layouts:
        return None
    name = base.op.data.name + ("_b" if is_shadow else "")
    e.blas_memories[name] = "from_end_of" if is_reversed else "columns_of"
    first = "0" if start is None else e.need(start)
    end = f"len({name})" if stop is None else e.need(stop)
    column = "0" if is_reversed else e.need(at[parts[1][1]])
    if not is_shadow:
        e.reads(v)
    return f"{name}_v, {first}, {end}, {column}"


def _is_reversed(v: Value) -> bool:
    op = v.op
    if op.code != "view" or type(op.data) is not tuple:
        return False
    parts = parts_of_index(op.data)
    return parts == [("slice", None, None, parts[0][-1])] and known(op.args[-1]) == -1
