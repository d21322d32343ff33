"""The matrices of linear operators: a column for each unit vector that they are applied to."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg as spl

from chainrules.scipy.sparse.entries import is_sparse, refused


def is_operator(x: Any) -> bool:
    """Whether a value is a linear operator."""
    return isinstance(x, spl.LinearOperator)


def _matrix(x: Any) -> Any:
    if is_operator(x):
        return dense_of(x)
    return x.toarray() if is_sparse(x) else np.asarray(x)


def dense_of(x: Any) -> Any:
    """Return the matrix of a linear operator, traced where it depends on traced values."""
    kind = type(x).__name__
    if type(x).__module__.startswith("scipy.sparse.linalg"):
        args = x.args
        if kind == "MatrixLinearOperator":
            return _matrix(x.A)
        if kind == "IdentityOperator":
            return np.eye(x.shape[0])
        if kind == "_SumLinearOperator":
            return _matrix(args[0]) + _matrix(args[1])
        if kind == "_ProductLinearOperator":
            return _matrix(args[0]) @ _matrix(args[1])
        if kind == "_ScaledLinearOperator":
            return _matrix(args[0]) * args[1]
        if kind == "_PowerLinearOperator":
            return np.linalg.matrix_power(_matrix(args[0]), args[1])
        if kind in ("_AdjointLinearOperator", "_AdjointMatrixOperator"):
            return np.conj(np.transpose(_matrix(x.A)))
        if kind == "_TransposedLinearOperator":
            return np.transpose(_matrix(x.A))
        apply = getattr(x, "_CustomLinearOperator__matvec_impl", None)
        if apply is None:
            refused(kind, "give its matrix, or a LinearOperator made from a function.")
    else:
        apply = x._matvec
    n = x.shape[1]
    columns = [np.reshape(np.asarray(apply(e)), (-1,)) for e in np.eye(n)]
    return np.stack(columns, axis=1)
