"""Iterative solvers, differentiated at their solution and not through their iterations.

The solution is what the solver found; where it reports that it has not converged there is no
derivative. Its cotangents are those of the linear system, whatever the path that led there: the
start and the preconditioner have none. Operators are written out as matrices for that.

Least squares: with A of full column rank (or damped), x = (AᴴA + d²)⁻¹ (Aᴴb + d² x₀); with A of
full row rank, x = Aᴴ (A Aᴴ)⁻¹ b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from chainrules.scipy.sparse.entries import as_format, from_places, is_sparse, refused
from chainrules.scipy.sparse.linalg.operators import dense_of, is_operator, plain
from chainrules.scipy.sparse.linalg.solving import System, square_csr
from chainrules_core import decompose, ignore_derivatives, natively


def _iterative(f: Callable) -> Callable:
    name = f"scipy.sparse.linalg.{f.__name__}"

    def body(A: Any, b: Any, x0: Any = None, *args: Any, **kwargs: Any) -> tuple:
        shift = kwargs.get("shift", 0.0)
        known = {k: plain(v) for k, v in kwargs.items()}
        right = np.asarray(b)
        if is_operator(A):
            A = dense_of(A)
        system = System(A if f is not spl.minres else _shifted(A, shift))
        found, info = natively(
            f, ignore_derivatives(A), ignore_derivatives(right), ignore_derivatives(x0), **known
        )
        if info != 0:
            refused(
                name,
                f"it has not converged (info={info}). Give a larger maxiter or a larger rtol, or "
                "use spsolve.",
            )
        right = np.reshape(right, (-1,))
        entries = ignore_derivatives(system.entries)
        system.solver.know(entries, ignore_derivatives(right), np.reshape(found, (-1,)))
        return np.reshape(system.solve(right), np.shape(found)), info

    return body


def _shifted(x: Any, shift: Any) -> Any:
    x = square_csr(x)
    if isinstance(shift, (int, float)) and shift == 0:
        return x
    return x - shift * sp.eye_array(x.shape[0], format="csr")


for _f in (
    spl.bicg, spl.bicgstab, spl.cg, spl.cgs, spl.gmres, spl.lgmres, spl.minres, spl.qmr, spl.tfqmr,
    spl.gcrotmk,
):  # fmt: skip
    decompose(_f)(_iterative(_f))


# -- least squares --------------------------------------------------------------------------------


class Estimate:
    """An estimate that a solver makes on its way: not differentiated, and no number here.

    Parameters
    ----------
    name : str
        What it is.
    value : float
        Its value.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        refused(self.name, "the iteration only estimates it. Compute it from A, b and x.")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __pow__ = __neg__ = __abs__ = __float__ = __array__ = _refuse
    __array_ufunc__ = _refuse


def _csr(x: Any) -> Any:
    if is_operator(x):
        x = dense_of(x)
    if is_sparse(x):
        return as_format(x, "csr")
    x = np.asarray(x)
    places = tuple([a.ravel() for a in np.indices(np.shape(x))])
    return as_format(from_places(np.reshape(x, (-1,)), places, np.shape(x)), "csr")


def least_squares(x: Any, b: Any, damp: Any, start: Any) -> Any:
    """Return the solution of a least-squares problem with a sparse matrix of full rank."""
    a = _csr(x)
    a = a if isinstance(a, sp.sparray) else sp.csr_array(a)
    m, n = a.shape
    adjoint = a.conj().T
    is_damped = ignore_derivatives(damp) != 0
    if m >= n or is_damped:
        normal = adjoint @ a
        right = adjoint @ b
        if is_damped:
            normal = normal + damp**2 * sp.eye_array(n, format="csr")
            right = right if start is None else right + damp**2 * start
        return System(normal).solve(right)
    if start is None:
        return adjoint @ System(a @ adjoint).solve(b)
    return start + adjoint @ System(a @ adjoint).solve(b - a @ start)


INEXACT = (
    "its solution is not the exact and only one. Leave out columns of a matrix that lacks full "
    "rank, or give smaller tolerances (atol, btol) and more iterations (iter_lim or maxiter)."
)


def _check_rank(name: str, found: Any, x: Any) -> None:
    if not np.allclose(found, x, rtol=1e-3, atol=1e-3 * max(1.0, float(np.max(np.abs(found))))):
        refused(f"scipy.sparse.linalg.{name}", INEXACT)


def _least_squares(f: Callable) -> Callable:
    def body(A: Any, b: Any, *args: Any, **kwargs: Any) -> tuple:
        damp = kwargs.get("damp", args[0] if args else 0.0)
        start = kwargs.get("x0")
        if is_operator(A):
            A = dense_of(A)
        right = np.reshape(np.asarray(b), (-1,))
        given = [plain(v) for v in args]
        named = {k: plain(v) for k, v in kwargs.items()}
        found = natively(f, ignore_derivatives(A), ignore_derivatives(right), *given, **named)
        try:
            x = least_squares(A, right, damp, start)
        except RuntimeError as error:
            if type(error) is not RuntimeError:  # SuperLU: "Factor is exactly singular"
                raise
            refused(f"scipy.sparse.linalg.{f.__name__}", INEXACT)
        _check_rank(f.__name__, found[0], ignore_derivatives(x))
        residual = np.linalg.norm(right - _csr(A) @ x)
        size = np.linalg.norm(x)
        if f is spl.lsmr:
            rest = [
                Estimate(f"{n} in the result of scipy.sparse.linalg.lsmr", v)
                for n, v in zip(_LSMR, found[4:7], strict=True)
            ]
            return (x, found[1], found[2], residual, *rest, size)
        if ignore_derivatives(damp) != 0:
            gap = x if start is None else x - start
            both = np.sqrt(residual**2 + damp**2 * np.sum(np.abs(gap) ** 2))
        else:
            both = residual
        rest = [
            Estimate(f"{n} in the result of scipy.sparse.linalg.lsqr", v)
            for n, v in zip(_LSQR, found[5:8], strict=True)
        ]
        variance = Estimate("var in the result of scipy.sparse.linalg.lsqr", found[9])
        return (x, found[1], found[2], residual, both, *rest, size, variance)

    return body


_LSMR = ("normar", "norma", "conda")
_LSQR = ("anorm", "acond", "arnorm")
decompose(spl.lsqr)(_least_squares(spl.lsqr))
decompose(spl.lsmr)(_least_squares(spl.lsmr))
