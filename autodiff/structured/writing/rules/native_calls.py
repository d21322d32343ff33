"""Calls in another form for machine code, which keeps or computes more than a call asks for.

* The sweep of ``x = solve(a, b)`` solves a system with the transposed matrix. Machine code keeps
  the factors of the matrix, so the sweep factors none.
* A loop that multiplies the rows of one matrix by another one computes several products at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.blas_sums import factored, product_ahead, solve_factored
from autodiff.structured.form.function_ir import Op, Value, ops_of
from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.known_functions import CALLED
from autodiff.structured.form.order import outermost_loops
from autodiff.structured.writing.activity import is_unchanged_by
from autodiff.structured.writing.rules.bound_rules import BoundRule
from autodiff.structured.writing.rules.known_adjoints import matrix_function

_DTYPES = (np.float64, np.complex128)


def native_call(e: Any, op: Op, pushes: dict) -> str | None:
    """Return the source of a call in another form; None for other calls.

    `pushes` has the names that the sweep reads from the tape.
    """
    factors = factors_of(op)
    if factors in pushes:
        a, b = map(e.text, op.args)
        e.out.add(f"{factors} = {e.constants.name(factored)}({a})")
        return f"{e.constants.name(solve_factored)}({factors}, {b})"
    return _product_ahead(e, op) if e.for_native and op.code == "call" else None


def factors_of(op: Op) -> str | None:
    """Return the name of the factors of the matrix of a linear system; None for other calls."""
    if matrix_function(op) is not np.linalg.solve:
        return None
    own, dtype = op.args[0].kind.dtype, op.out.kind.dtype
    return f"{op.out}_lu" if own == dtype and dtype in _DTYPES else None


def solution_of_adjoint(e: Any, op: Op, g: str) -> str | None:
    """Return the solution of the system with the conjugate transpose; None if none is factored."""
    factors = factors_of(op) if e.for_native else None
    if factors is None:
        return None
    e.tape_reads[factors] = factors
    return f"{e.constants.name(solve_factored)}({factors}, {g}, True)"


def _product_ahead(e: Any, op: Op) -> str | None:
    """Return a product of a row or column with a matrix, both of which the loop only reads."""
    bound = op.rule
    if not isinstance(bound, BoundRule) or bound.options or len(op.args) != 2:
        return None
    subscripts = getattr(bound.rule, "subscripts", None) or {}
    ranks = tuple([a.kind.ndim for a in op.args if a.kind.dtype == np.float64])
    text = subscripts.get(ranks) if sorted(ranks) == [1, 2] else None
    if text is None:
        return None
    x, y = sorted(op.args, key=lambda a: a.kind.ndim)
    factors = sorted(text.partition("->")[0].split(","), key=len)
    place = _place_of_row(x)
    loop = next((n for n in outermost_loops(e.program.body) if op in ops_of([n])), None)
    if place is None or loop is None:
        return None
    if not all(is_unchanged_by(a.root, [loop]) for a in (x, y)):
        return None
    axis, k = place
    given = [e.text(x), e.text(y), str(factors[1].index(factors[0]))]
    given += [e.text(x.op.args[0]), str(axis), e.text(x.op.args[1 + k])]
    return f"{e.constants.name(product_ahead)}({', '.join(given)})"


def _place_of_row(x: Value) -> tuple[int, int] | None:
    """Return the axis of a matrix along which a vector is at an index, and the index.

    The index is a position among the arguments. None for other vectors.
    """
    op = x.op
    if op.code != "view" or op.data == CALLED or op.args[0].op.code != "read":
        return None
    if type(op.data) is not tuple or op.args[0].kind.ndim != 2:
        return None
    parts = parts_of_index(op.data)
    at = [(axis, part[1]) for axis, part in enumerate(parts) if part[0] not in _OTHER_PARTS]
    are_plain = all(part[0] not in ("known", "array") for part in parts)
    return at[0] if are_plain and len(at) == 1 else None


_OTHER_PARTS = frozenset({"known", "slice", "array"})
