"""B-splines of signals: the basis functions, and what runs in C beneath the spline filters.

The centred B-splines of third and second order have the slopes (for x > 0; they are even)

    β₃' = -2x + 3x²/2 up to 1, -(2-x)²/2 up to 2;    β₂' = -2x up to ½, x - 3/2 up to 3/2.

The recursive filters of symmetric boundary conditions start with weighted sums over the signal. The
weights decay, so that those of a short signal tell them: they are SciPy's own. By the parameters of
the filter they are differentiated by their formulas, z^(k+1) for one real pole z; for two, at
r exp(±iω), the response h of the filter and that of the filter run both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage, signal

from chainrules.refused import RefusedError
from chainrules.scipy.delegated import both
from chainrules.scipy.private import Private
from chainrules_core import (
    decompose,
    ignore_derivatives,
    linear_rule,
    natively,
    primitive,
    scalar_rule,
)
from chainrules_core.authoring import is_foreign

_spline_filters = Private("signal._spline_filters")


def cubic_slope(y: Any, x: Any) -> Any:
    r = np.abs(x)
    outer = np.where(r < 2, -0.5 * np.sign(x) * (2 - r) ** 2, 0.0)
    return np.where(r < 1, -2 * x + 1.5 * x * r, outer)


def quadratic_slope(y: Any, x: Any) -> Any:
    r = np.abs(x)
    return np.where(r < 0.5, -2 * x, np.where(r < 1.5, np.sign(x) * (r - 1.5), 0.0))


scalar_rule(_spline_filters._cubic, cubic_slope)
scalar_rule(_spline_filters._quadratic, quadratic_slope)


# ------------------------------------------------------------------- where the recursions start

NOT_THE_FORMULA = (
    "SciPy starts the filter otherwise than its formula says (it does for omega=π), which has no "
    "derivative by the parameters. Wrap them in autodiff.ignore_derivatives(...)."
)


@primitive
def started(lines: Any, start: Callable, from_end: bool, parameters: tuple) -> Any:
    """Return the weighted sums of SciPy's function `start` over lines of samples."""
    # The C code reads memory in order, whatever the strides.
    return start(np.ascontiguousarray(lines), *parameters)


@primitive
def own_weights(start: Callable, parameters: tuple, n: int) -> Any:
    """Return the weights that SciPy gives to n samples, or to fewer where the others have none."""
    for length in (64, 256, 1024, n):
        try:
            return np.asarray(start(np.eye(min(length, n)), *parameters))
        except ValueError:  # the sum does not converge on so few
            continue
    raise ValueError("Sum to find symmetric boundary conditions did not converge.")


def started_adjoint(y_bar, lines, start, from_end, parameters):
    n = lines.shape[-1]
    weights = own_weights(start, parameters, n).astype(y_bar.dtype)
    bar = np.matmul(y_bar, np.transpose(weights))
    rest = np.zeros((*np.shape(bar)[:-1], n - np.shape(bar)[-1]), bar.dtype)
    return np.concatenate([rest, bar] if from_end else [bar, rest], axis=-1)


linear_rule(started, started_adjoint)


def one_pole(n: int, z: Any) -> Any:
    """The weights of n samples in the start of a filter with one pole."""
    return np.reshape(z ** np.arange(1, n + 1), (-1, 1)) + np.eye(n, 1)


def gain(r: Any, omega: Any) -> Any:
    """What makes constants pass a filter with two poles as they are."""
    return 1 - 2 * r * np.cos(omega) + r * r


def forward_pair(n: int, r: Any, omega: Any) -> Any:
    """The weights in the two values at which a filter with two poles starts."""
    k = np.arange(n + 2)
    if ignore_derivatives(omega) in (0.0, np.pi):
        waves = (k + 1) * np.cos(ignore_derivatives(omega)) ** k
    else:
        waves = np.sin(omega * (k + 1)) / np.sin(omega)
    h = gain(r, omega) * r**k * waves
    first = h[1 : n + 1] + h[0] * np.eye(n)[0]
    second = h[2:] + h[1] * np.eye(n)[0] + h[0] * np.eye(n)[min(1, n - 1)]
    return np.stack([first, second], axis=1)


def backward_pair(n: int, r: Any, omega: Any) -> Any:
    """The weights in the two values at which it starts again, from the end; the last sample first.

    They are those of the response of both runs to a signal that is mirrored there.
    """
    k, q = np.arange(-1, n + 2), r * r
    decay, at = (1 - q) / (1 + q), np.abs(k)
    if ignore_derivatives(omega) in (0.0, np.pi):
        sign = np.cos(ignore_derivatives(omega)) ** at
        both = (1 + q) / (1 - q) ** 3 * sign * (1 + decay * at)
    else:
        scale = (1 + q) / ((1 - q) * (1 - 2 * q * np.cos(2 * omega) + q * q))
        both = scale * (np.cos(omega * at) + decay / np.tan(omega) * np.sin(omega * at))
    h = gain(r, omega) ** 2 * r**at * both
    return np.stack([h[1 : n + 1] + h[2 : n + 2], h[:n] + h[3 : n + 3]], axis=1)


def register_start(name: str, from_end: bool, formula: Callable) -> None:
    """Declare the body of a function in C that computes such sums."""
    start = _spline_filters.get(name)
    if start is None:
        return

    @decompose(start)
    def start_body(lines: Any, *parameters: Any) -> Any:
        *poles, precision = parameters
        plain = tuple([ignore_derivatives(p) for p in poles])
        y = started(lines, start, from_end, (*plain, precision))
        if not any(is_foreign(p) for p in poles):
            return y
        own = natively(own_weights, start, (*plain, precision), np.shape(lines)[-1])
        own = own[::-1] if from_end else own
        weights = np.where(own != 0, formula(len(own), *poles), 0.0)  # SciPy leaves out the rest
        if not np.allclose(ignore_derivatives(weights), own, rtol=1e-6, atol=1e-9):
            raise RefusedError(f"scipy.signal.{name.partition('_')[0]}", NOT_THE_FORMULA)
        near = (lines[..., ::-1] if from_end else lines)[..., : len(own)]
        return y + np.matmul(near, weights - ignore_derivatives(weights))


register_start("symiirorder1_ic", False, one_pole)
register_start("symiirorder2_ic_fwd", False, forward_pair)
register_start("symiirorder2_ic_bwd", True, backward_pair)


# ---------------------------------------------------------------------------- separable filters


def convolved(x: Any, weights: Any, axis: int) -> Any:
    """``ndimage.convolve1d`` of a plane that is mirrored at its ends."""
    if np.iscomplexobj(weights):  # a correlation takes their conjugates
        return ndimage.convolve1d(x, weights, axis=axis, mode="reflect")
    # Late: the rules of scipy.ndimage import scipy.signal, whose rules these are.
    from chainrules.scipy.ndimage.correlation import correlated

    shape, origins = [1, 1], [0, 0]
    shape[axis], origins[axis] = -1, np.size(weights) % 2 - 1
    return correlated(x, np.reshape(np.flip(weights), shape), "symmetric", tuple(origins))


def sepfir2d_body(input, hrow, hcol):
    return convolved(convolved(np.asarray(input), np.asarray(hrow), 1), np.asarray(hcol), 0)


for _f in both(signal.sepfir2d):
    decompose(_f)(sepfir2d_body)
