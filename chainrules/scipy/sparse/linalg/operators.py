"""The matrices of linear operators: a column for each unit vector that they are applied to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg as spl
from scipy import sparse

from chainrules.scipy.namespaces import namespace
from chainrules.scipy.private import Private
from chainrules.scipy.sparse.entries import is_sparse, refused
from chainrules_core import decompose, ignore_derivatives

_interface = Private("sparse.linalg._interface")


def is_operator(x: Any) -> bool:
    """Whether a value is a linear operator."""
    return isinstance(x, spl.LinearOperator)


def plain(x: Any) -> Any:
    """Return an option of a solver without what is traced; a function as it is."""
    return x if hasattr(x, "__code__") or hasattr(x, "__func__") else ignore_derivatives(x)


def _matrix(x: Any) -> Any:
    if is_operator(x):
        return dense_of(x)
    return x.toarray() if is_sparse(x) else np.asarray(x)


def dense_of(x: Any) -> Any:
    """Return the matrix of a linear operator, traced where it depends on traced values."""
    kind = type(x).__name__
    if type(x).__module__.startswith("scipy.sparse.linalg"):
        args = getattr(x, "args", ())
        if kind in ("MatrixLinearOperator", "_AdjointMatrixOperator"):
            return _matrix(x.A)  # of an adjoint: the adjoint matrix
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
        if kind == "_AdjointLinearOperator":
            return np.conj(np.transpose(_matrix(x.A)))
        if kind == "_TransposedLinearOperator":
            return np.transpose(_matrix(x.A))
        apply = getattr(x, "_CustomLinearOperator__matvec_impl", None)
        if apply is None:
            refused(
                f"a linear operator of the class {kind}",
                "it has no rule. Give its matrix, or a LinearOperator made from a function.",
            )
    else:
        apply = x._matvec
    return _applied_to_units(apply, x.shape[1])


def _applied_to_units(apply: Any, n: int) -> Any:
    columns = [np.reshape(np.asarray(apply(e)), (-1,)) for e in np.eye(n)]
    return np.stack(columns, axis=1)


_adjoint_matrix = _interface._AdjointMatrixOperator

if "xp" in inspect.signature(_adjoint_matrix.__init__).parameters:  # since SciPy 1.18

    @decompose(_adjoint_matrix.__init__)
    def adjoint_body(self: Any, A: Any, xp: Any = None) -> None:
        # By the method: NumPy's function takes a sparse array as an object.
        if A.ndim == 2:
            turned = A.T
        else:
            turned = (sparse.swapaxes if is_sparse(A) else np.swapaxes)(A, -1, -2)
        _interface.MatrixLinearOperator.__init__(self, turned.conj(), xp=xp)
        self.args = (A,)


class TracedOperator(spl.LinearOperator):
    """A linear operator made from functions that have captured traced values."""

    def __init__(self, shape: Any, dtype: Any, functions: dict[str, Any]) -> None:
        self.functions = functions
        self.shape = tuple(shape)
        self.dtype = np.dtype(float if dtype is None else dtype)
        self._xp = namespace  # SciPy 1.18 asks each operator for the library of its arrays

    def _function(self, name: str) -> Any:
        function = self.functions.get(name)
        if function is None:
            raise NotImplementedError(f"{name} is not defined")
        return function

    def _matvec(self, x: Any) -> Any:
        return self._function("matvec")(x)

    def _rmatvec(self, x: Any) -> Any:
        return self._function("rmatvec")(x)

    def _matmat(self, X: Any) -> Any:
        if self.functions.get("matmat") is not None:
            return self.functions["matmat"](X)
        columns = [np.reshape(np.asarray(self._matvec(c)), (-1,)) for c in np.transpose(X)]
        return np.stack(columns, axis=1)

    def _rmatmat(self, X: Any) -> Any:
        if self.functions.get("rmatmat") is not None:
            return self.functions["rmatmat"](X)
        columns = [np.reshape(np.asarray(self._rmatvec(c)), (-1,)) for c in np.transpose(X)]
        return np.stack(columns, axis=1)


@decompose(spl.LinearOperator, object, Callable)
def linear_operator(
    shape: Any,
    matvec: Any,
    rmatvec: Any = None,
    matmat: Any = None,
    dtype: Any = None,
    rmatmat: Any = None,
) -> TracedOperator:
    """Return an operator that holds its functions as what they have captured."""
    functions = {"matvec": matvec, "rmatvec": rmatvec, "matmat": matmat, "rmatmat": rmatmat}
    return TracedOperator(shape, dtype, functions)
