"""The discrete Fourier transforms of ``numpy.fft``; those of SciPy share what is here.

The matrix of the transform is F_jk = exp(-2πi jk/n), times 1, 1/√n or 1/n by ``norm``. It is
symmetric, so its adjoint Fᴴ is the inverse transform with the other factor: ``norm="forward"``
where the transform has ``"backward"``. Before it the array is cut or continued with zeros to n
elements, of which the adjoint is to do so back to its own length.

* ``rfft`` keeps the first m = n//2 + 1 outputs for a real array. x̄ = Re Fᴴ(ȳ, zeros): of each
  output that stands for two half goes to either, which makes it an ``irfft``.
* ``irfft`` adds to each of its m inputs the conjugate one, but for the first and, if n is even, the
  last, of which it reads the real part: so the adjoint is an ``rfft``, the others doubled.
* ``hfft(x) = irfft(conj x)`` and ``ihfft(x) = conj(rfft x)`` with the other factor.

A transform over several axes is one after the other; the adjoint takes them in opposite order.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.transforms.linear import fitted, linear_map
from chainrules_core import NoTangent, scalar_rule

OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The ``norm`` of the adjoint."""


@functools.lru_cache(maxsize=16)
def inner(n: int, ndim: int, axis: int) -> np.ndarray:
    """Which outputs of a real transform of length `n` stand for two, shaped to broadcast."""
    k = np.arange(n // 2 + 1)
    return np.reshape((k > 0) & (2 * k != n), (-1,) + (1,) * (ndim - 1 - axis % ndim))


# ------------------------------------------------------------------------- adjoints along one axis


def fft_adjoint(y_bar: Any, length: int, n: int, axis: int, norm: Any) -> Any:
    return fitted(np.fft.ifft(y_bar, axis=axis, norm=OTHER[norm]), length, axis)


def ifft_adjoint(y_bar: Any, length: int, n: int, axis: int, norm: Any) -> Any:
    return fitted(np.fft.fft(y_bar, axis=axis, norm=OTHER[norm]), length, axis)


def rfft_adjoint(y_bar: Any, length: int, n: int, axis: int, norm: Any) -> Any:
    halved = np.where(inner(n, np.ndim(y_bar), axis), y_bar / 2, y_bar)
    return fitted(np.fft.irfft(halved, n, axis, OTHER[norm]), length, axis)


def irfft_adjoint(y_bar: Any, length: int, n: int, axis: int, norm: Any) -> Any:
    bar = np.fft.rfft(y_bar, axis=axis, norm=OTHER[norm])
    return fitted(np.where(inner(n, np.ndim(bar), axis), 2 * bar, bar), length, axis)


def hfft_adjoint(y_bar: Any, length: int, n: int, axis: int, norm: Any) -> Any:
    return np.conj(irfft_adjoint(y_bar, length, n, axis, OTHER[norm]))


def ihfft_adjoint(y_bar: Any, length: int, n: int, axis: int, norm: Any) -> Any:
    return rfft_adjoint(np.conj(y_bar), length, n, axis, OTHER[norm])


def along_axis(adjoint: Callable, doubled: bool = False) -> Callable:
    """The adjoint of a transform along one axis; one from half to whole if `doubled`."""

    def transform_adjoint(y_bar, x, *, n=None, axis=-1, norm=None, workers=None):
        if n is None:
            n = 2 * (x.shape[axis] - 1) if doubled else x.shape[axis]
        return adjoint(y_bar, x.shape[axis], n, axis, norm)

    return transform_adjoint


ALONG_AXIS = {
    "fft": along_axis(fft_adjoint),
    "ifft": along_axis(ifft_adjoint),
    "rfft": along_axis(rfft_adjoint),
    "irfft": along_axis(irfft_adjoint, doubled=True),
    "hfft": along_axis(hfft_adjoint, doubled=True),
    "ihfft": along_axis(ihfft_adjoint),
}

# ----------------------------------------------------------------------- adjoints over several axes

Steps = list[tuple[int, int, int]]
"""Axis, length before and length of the transform along it, in the order of ``axes``."""


def steps_of(shape: tuple[int, ...], s: Any, axes: Any, doubled: bool) -> Steps:
    """Return the transforms that one over several axes consists of."""
    if axes is None:
        count = len(shape) if s is None else np.size(s)
        axes = range(len(shape) - count, len(shape))
    axes = [operator.index(a) % len(shape) for a in np.atleast_1d(axes).tolist()]
    sizes = [None] * len(axes) if s is None else np.atleast_1d(s).tolist()
    if s is None and doubled and axes:
        sizes[-1] = 2 * (shape[axes[-1]] - 1)
    sizes = [shape[a] if n is None or n == -1 else n for n, a in zip(sizes, axes, strict=True)]
    return [(axis, shape[axis], n) for axis, n in zip(axes, sizes, strict=True)]


def chained(steps: Steps) -> Steps:
    """The steps, where an axis that is transformed again has the length of the step before."""
    found, lengths = [], {}
    for axis, length, n in steps:
        found.append((axis, lengths.get(axis, length), n))
        lengths[axis] = n
    return found


def distinct(steps: Steps) -> Steps:
    """The steps of a real transform, whose axes must differ."""
    if len({axis for axis, _, _ in steps}) < len(steps):
        raise ValueError(
            "a real Fourier transform that takes one of its axes twice has no derivative rule: "
            "call it for each axis on its own."
        )
    return steps


def fftn_adjoint(y_bar: Any, steps: Steps, norm: Any, adjoint: Callable = fft_adjoint) -> Any:
    # NumPy goes through the axes from the last to the first.
    for axis, length, n in reversed(chained(steps[::-1])):
        y_bar = adjoint(y_bar, length, n, axis, norm)
    return y_bar


def ifftn_adjoint(y_bar: Any, steps: Steps, norm: Any) -> Any:
    return fftn_adjoint(y_bar, steps, norm, ifft_adjoint)


def rfftn_adjoint(y_bar: Any, steps: Steps, norm: Any) -> Any:
    *others, (axis, length, n) = distinct(steps)
    return rfft_adjoint(fftn_adjoint(y_bar, others, norm), length, n, axis, norm)


def irfftn_adjoint(y_bar: Any, steps: Steps, norm: Any) -> Any:
    *others, (axis, length, n) = distinct(steps)
    bar = irfft_adjoint(y_bar, length, n, axis, norm)
    return fftn_adjoint(bar, others[::-1], norm, ifft_adjoint)


def hfftn_adjoint(y_bar: Any, steps: Steps, norm: Any) -> Any:
    return np.conj(irfftn_adjoint(y_bar, steps, OTHER[norm]))


def ihfftn_adjoint(y_bar: Any, steps: Steps, norm: Any) -> Any:
    return rfftn_adjoint(np.conj(y_bar), steps, OTHER[norm])


def over_axes(adjoint: Callable, default: Any, doubled: bool = False) -> Callable:
    """The adjoint of a transform over several axes, with their `default`."""

    def transform_adjoint(y_bar, x, *, s=None, axes=default, norm=None, workers=None):
        return adjoint(y_bar, steps_of(x.shape, s, axes, doubled), norm)

    return transform_adjoint


OVER_AXES = {
    name + end: over_axes(adjoint, default, doubled=name in ("irfft", "hfft"))
    for end, default in (("n", None), ("2", (-2, -1)))
    for name, adjoint in (
        ("fft", fftn_adjoint),
        ("ifft", ifftn_adjoint),
        ("rfft", rfftn_adjoint),
        ("irfft", irfftn_adjoint),
        ("hfft", hfftn_adjoint),
        ("ihfft", ihfftn_adjoint),
    )
}

# ------------------------------------------------------------------------- shifts, and frequencies

SHIFTS = {
    "fftshift": lambda y_bar, x, *, axes=None: np.fft.ifftshift(y_bar, axes),
    "ifftshift": lambda y_bar, x, *, axes=None: np.fft.fftshift(y_bar, axes),
}


def fourier_rules(module: Any) -> None:
    """Register the rules of the transforms of a module, by their names."""
    for name, adjoint in {**ALONG_AXIS, **OVER_AXES, **SHIFTS}.items():
        if hasattr(module, name):
            linear_map(getattr(module, name), adjoint)
    # The frequencies k/(nd), by the sample spacing d.
    scalar_rule((module.fftfreq, module.rfftfreq), NoTangent(), lambda y, n, d: -y / d)


fourier_rules(np.fft)
