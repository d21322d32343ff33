"""Convolution and correlation of arrays of several axes.

A full convolution y_k = Σ a_i v_{k-i} is linear in either array. With ȳ for the full output, ā is
the part of ȳ * conj(v reversed) where the arrays overlap completely. The mode "same" returns the
middle part of the shape of the first array, "valid" the part of complete overlap: outside of it ȳ
is 0. Axes that are not convolved, and those in which one array has length one, are broadcast.

A correlation of a and v is the convolution of a with v reversed and conjugated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft, signal

from chainrules.reductions.axes import reduced_axes
from chainrules.scipy.delegated import both
from chainrules.scipy.signal.segments import segments
from chainrules_core import Numeric, linear_rule, non_differentiable, unbroadcast

Shape = tuple[int, ...]


def reversed_conj(v: Any, axes: Any = None) -> Any:
    """`v` reversed along axes, and conjugated."""
    return np.conj(np.flip(v, axes)) if np.ndim(v) else np.conj(v)


def some_axes(a: Shape, v: Shape, axes: Any = None) -> tuple[int, ...]:
    """The axes that are convolved where those of length one are broadcast."""
    return tuple([i for i in reduced_axes(len(a), axes) if a[i] != 1 and v[i] != 1])


def all_axes(a: Shape, v: Shape, axes: None = None) -> tuple[int, ...]:
    """All axes: those of length one are convolved as well."""
    return tuple(range(len(a)))


def full_shape(a: Shape, v: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape of the full convolution."""
    return tuple([a[i] + v[i] - 1 if i in axes else max(a[i], v[i]) for i in range(len(a))])


def whole(y_bar: Any, a: Shape, v: Shape, mode: str, axes: tuple[int, ...]) -> Any:
    """The cotangent of the full convolution from that of its part: zeros around it."""
    full, part = full_shape(a, v, axes), np.shape(y_bar)
    if full == part:
        return y_bar
    starts = [(n - m) // 2 for n, m in zip(full, part, strict=True)]
    return np.pad(y_bar, [(s, n - m - s) for s, n, m in zip(starts, full, part, strict=True)])


Convolver = Callable[[Any, Any, tuple[int, ...]], Any]


def back(y_bar: Any, shape: Shape, v: Any, axes: tuple[int, ...], convolver: Convolver) -> Any:
    """Pull the cotangent of a full convolution with `v` back to an array of a shape."""
    kernel = reversed_conj(v, axes)
    bar = convolver(y_bar, kernel, axes) if axes else y_bar * kernel
    return unbroadcast(bar, shape)


def convolution_rules(f: Callable, axes_of: Callable, convolver_of: Callable) -> None:
    """Register the rules of a function that convolves, by what its pullback convolves with."""

    def a_bar(y_bar, in1, in2, *, mode="full", axes=None, **options):
        axes = axes_of(in1.shape, np.shape(in2), axes)
        y_bar = whole(y_bar, in1.shape, np.shape(in2), mode, axes)
        return back(y_bar, in1.shape, in2, axes, convolver_of(**options))

    def v_bar(y_bar, in1, in2, *, mode="full", axes=None, **options):
        axes = axes_of(np.shape(in1), in2.shape, axes)
        y_bar = whole(y_bar, np.shape(in1), in2.shape, mode, axes)
        return back(y_bar, in2.shape, in1, axes, convolver_of(**options))

    linear_rule(both(f), a_bar, v_bar, types=(Numeric, Numeric), lists=True)


MANY = 16
"""So many times as long as what they leave are arrays that are multiplied block by block."""


def by_transforms(f: Callable) -> Convolver:
    """Convolve by a function that makes Fourier transforms, or by those of blocks."""

    def convolver(x: Any, kernel: Any, axes: tuple[int, ...]) -> Any:
        if len(axes) == 1:
            n, longer = np.shape(kernel)[axes[0]], np.shape(x)[axes[0]]
            if are_few(longer - n + 1, n):
                moved = [np.moveaxis(part, axes[0], -1) for part in (x, kernel)]
                return np.moveaxis(few_sums(*moved), -1, axes[0])
        return f(x, kernel, "valid", axes)

    return convolver


def by_method(method: str = "auto") -> Convolver:
    def convolved(x: Any, kernel: Any, mode: str, axes: tuple[int, ...]) -> Any:
        return signal.convolve(x, kernel, mode, method)

    if method == "direct":
        return lambda x, kernel, axes: signal.convolve(x, kernel, "valid", method)
    return by_transforms(convolved)


SHORT = 4096
"""Up to this length one transform is as quick."""


def are_few(count: int, n: int) -> bool:
    """Whether so many sums of products of `n` elements are made block by block."""
    return n > MANY * count and n > SHORT


def few_sums(x: Any, kernel: Any) -> Any:
    """The complete overlaps of two long arrays, of which there are few, along the last axis.

    Both are cut into blocks; the transforms of the products of these are added up before the one
    transform back.
    """
    n, count = np.shape(kernel)[-1], np.shape(x)[-1] - np.shape(kernel)[-1] + 1
    size = fft.next_fast_len(max(8 * count, SHORT // 4), True)
    step = size - count + 1
    blocks = -(-n // step)
    weights = segments(lengthened(np.flip(kernel, -1), blocks * step), step, step, blocks)
    pieces = segments(lengthened(x, (blocks - 1) * step + size), size, step, blocks)
    if np.iscomplexobj(x) or np.iscomplexobj(kernel):
        turned = np.conj(fft.fft(np.conj(weights), size))
        return fft.ifft(np.sum(fft.fft(pieces, size) * turned, -2), size)[..., :count]
    products = fft.rfft(pieces, size) * np.conj(fft.rfft(weights, size))
    return fft.irfft(np.sum(products, -2), size)[..., :count]


def lengthened(x: Any, n: int) -> Any:
    """Put zeros behind the last axis, up to a length."""
    return np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(0, n - np.shape(x)[-1])])


convolution_rules(signal.convolve, all_axes, by_method)
convolution_rules(signal.fftconvolve, some_axes, lambda: by_transforms(signal.fftconvolve))
convolution_rules(signal.oaconvolve, some_axes, lambda: by_transforms(signal.oaconvolve))


def correlate_a_bar(y_bar, in1, in2, *, mode="full", method="auto"):
    axes = all_axes(in1.shape, np.shape(in2))
    y_bar = whole(y_bar, in1.shape, np.shape(in2), mode, axes)
    return back(y_bar, in1.shape, reversed_conj(in2), axes, by_method(method))


def correlate_v_bar(y_bar, in1, in2, *, mode="full", method="auto"):
    axes = all_axes(np.shape(in1), in2.shape)
    y_bar = whole(y_bar, np.shape(in1), in2.shape, mode, axes)
    return reversed_conj(back(y_bar, in2.shape, in1, axes, by_method(method)))


linear_rule(
    both(signal.correlate), correlate_a_bar, correlate_v_bar, types=(Numeric, Numeric), lists=True
)

non_differentiable(both(signal.choose_conv_method, signal.correlation_lags))
