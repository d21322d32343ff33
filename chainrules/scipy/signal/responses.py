"""Responses of continuous linear systems, whose states follow from each other: ``lsim``.

The states are a recurrence x_{i+1} = x_i M + p_i with one matrix. Its adjoint is the same
recurrence backwards, λ_i = ȳ_i + λ_{i+1} Mᴴ; then p̄_i = λ_{i+1} and M̄ = Σ_i x_iᴴ λ_{i+1}.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import linalg, signal

from chainrules.linalg.matrices import adjoint
from chainrules.scipy.delegated import both
from chainrules_core import Array, decompose, pair_rule, primitive


@primitive
def states(first: Any, step: Any, pushes: Any) -> Any:
    """Return all x with x_0 = `first` and x_{i+1} = x_i `step` + pushes_i, as rows.

    Examples
    --------
    >>> states(np.array([1.0]), np.array([[2.0]]), np.array([[0.0], [1.0]]))
    array([[1.],
           [2.],
           [5.]])
    """
    x = np.concatenate([first[None], pushes]).astype(np.result_type(first, step, pushes))
    last = x[0]
    for row in x[1:]:
        row += last @ step
        last = row
    return x


@pair_rule(states, Array, Array, Array)
def states_rule(first, step, pushes):
    x = states(first, step, pushes)

    def states_pushforward(first_dot, step_dot, pushes_dot):
        return states(first_dot, step, pushes_dot + np.matmul(x[:-1], step_dot))

    def states_pullback(x_bar):
        bars = states(x_bar[-1], adjoint(step), x_bar[-2::-1])[::-1]
        return bars[0], np.matmul(adjoint(x[:-1]), bars[1:]), bars[1:]

    return x, states_pushforward, states_pullback


def as_state_space(system: Any) -> Any:
    if isinstance(system, signal.dlti):
        raise AttributeError("lsim is for continuous systems, not for dlti systems")
    return (system if isinstance(system, signal.lti) else signal.lti(*system))._as_ss()


def checked_times(T: Any) -> Any:
    """The times, which have to be equally spaced and not before 0."""
    T = np.atleast_1d(T)
    if np.ndim(T) != 1:
        raise ValueError(f"T must have one axis, not {np.ndim(T)}")
    if T[0] < 0:
        raise ValueError(f"T must not begin before 0, but begins at {T[0]}")
    if np.size(T) > 2 and not np.allclose(np.diff(T), T[1] - T[0]):
        raise ValueError("the times in T must be equally spaced")
    return T


def checked_inputs(U: Any, count: int, inputs: int) -> Any:
    """The inputs as rows."""
    U = np.atleast_1d(U)
    U = U[:, None] if np.ndim(U) == 1 else U
    if np.shape(U) != (count, inputs):
        raise ValueError(
            f"U must have a row for each time and a column for each input, so ({count}, {inputs}), "
            f"not {np.shape(U)}"
        )
    return U


def check_kinds(A: Any, X0: Any, U: Any) -> None:
    """SciPy keeps the states in the type of A, and drops what does not go into it."""
    others = [np.asarray(x).dtype.kind for x in (X0, U) if x is not None]
    if A.dtype.kind not in "fc" or (A.dtype.kind == "f" and "c" in others):
        raise TypeError(
            f"scipy.signal.lsim keeps the states in the type of A, {A.dtype}, which cannot hold "
            "them. Give A as an array of floats, or of complex numbers."
        )


def pushes_of(A: Any, B: Any, U: Any, dt: Any, interp: bool) -> tuple[Any, Any]:
    """The matrix that takes the states one step on, and what the inputs add in each.

    Both are parts of one exponential: inputs are further states, which stay constant or change
    linearly during a step.
    """
    n, m = np.shape(B)
    blocks = [np.concatenate([A * dt, B * dt], 1), np.zeros((m, n + m))]
    M = np.concatenate(blocks)
    if not interp:
        found = linalg.expm(M.T)
        return found[:n, :n], np.matmul(U[:-1], found[n:, :n])
    M = np.concatenate([M, np.zeros((m, n + m))])
    M = np.concatenate([M, np.concatenate([np.zeros((n, m)), np.eye(m), np.zeros((m, m))])], 1)
    found = linalg.expm(M.T)
    later = found[n + m :, :n]
    earlier = found[n : n + m, :n] - later
    return found[:n, :n], np.matmul(U[:-1], earlier) + np.matmul(U[1:], later)


@decompose(both(signal.lsim))
def lsim_body(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> Any:
    """All states by one recurrence."""
    space, T = as_state_space(system), checked_times(T)
    A, B, C, D = [np.asarray(x) for x in (space.A, space.B, space.C, space.D)]
    check_kinds(A, X0, U)
    count, n = np.size(T), np.shape(A)[0]
    first = np.zeros(n, A.dtype) if X0 is None else np.broadcast_to(np.asarray(X0), (n,))
    if T[0] > 0:
        first = np.matmul(first, linalg.expm(A.T * T[0]))
    # An array of zeros is an input like others: it may be the derivative by it that is wanted.
    has_input = U is not None and not (isinstance(U, numbers.Number) and U == 0)
    rows = checked_inputs(U, count, np.shape(B)[1]) if has_input else None
    if count == 1:
        x = np.reshape(first, (1, n))
    elif rows is None:
        step = linalg.expm(A.T * (T[1] - T[0]))
        x = states(first, step, np.zeros((count - 1, n), A.dtype))
    else:
        x = states(first, *pushes_of(A, B, rows, T[1] - T[0], interp))
    y = np.squeeze(np.matmul(x, C.T))
    if rows is not None:
        y = y + np.squeeze(np.matmul(rows, D.T))
    return T, y, np.squeeze(x)
