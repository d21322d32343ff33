"""Peaks: their places are constants, their heights, prominences and widths are not.

The prominence of a peak is its height above the higher one of its two bases. Its width is measured
at a height below it; there the signal is interpolated between two samples, and an intersection has
the place i + (h - x_i) / (x_{i+1} - x_i).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage, signal

from chainrules.scipy.delegated import both
from chainrules_core import decompose, non_differentiable

PLACES = (
    signal.find_peaks_cwt, signal.argrelextrema, signal.argrelmax, signal.argrelmin,
)  # fmt: skip
CONSTANTS = (
    signal.check_COLA, signal.check_NOLA, signal.findfreqs, signal.max_len_seq, signal.square,
    signal.unit_impulse,
)  # fmt: skip

non_differentiable(PLACES)
non_differentiable(CONSTANTS)


@non_differentiable
def bases(x: Any, peaks: Any, wlen: Any) -> tuple:
    """Return the places of the bases on both sides of each peak."""
    return signal.peak_prominences(x, peaks, wlen)[1:]


@non_differentiable
def crossings(*call: Any) -> tuple:
    """Return the samples before the left and the right intersection, as far as there are any."""
    _, heights, left, right = signal.peak_widths(*call)
    return heights, np.floor(left).astype(int), np.ceil(right).astype(int), left, right


@decompose(both(signal.peak_prominences))
def peak_prominences_body(x, peaks, wlen=None):
    x = np.asarray(x, np.float64)
    left, right = bases(x, peaks, wlen)
    return x[np.asarray(peaks)] - np.maximum(x[left], x[right]), left, right


def intersection(x: Any, height: Any, sample: np.ndarray, step: int) -> Any:
    """Return where a height is met between a sample at or below it and the next one."""
    following = sample + step
    inside = (following >= 0) & (following < len(x))
    following = np.where(inside, following, sample)
    rise = x[following] - x[sample]
    meets = inside & (x[sample] < height)
    part = (height - x[sample]) / np.where(meets, rise, 1.0)
    return sample + step * np.where(meets, part, 0.0)


@decompose(both(signal.peak_widths))
def peak_widths_body(x, peaks, rel_height=0.5, prominence_data=None, wlen=None):
    x, peaks = np.asarray(x, np.float64), np.asarray(peaks)
    if prominence_data is None:
        prominence_data = peak_prominences_body(x, peaks, wlen)
    height = x[peaks] - prominence_data[0] * rel_height
    _, before, after, _, _ = crossings(x, peaks, rel_height, prominence_data)
    left = intersection(x, height, before, 1)
    right = intersection(x, height, after, -1)
    return right - left, height, left, right


@non_differentiable
def found(x: Any, options: dict) -> tuple:
    """Return the peaks and their properties, of plain values."""
    return signal.find_peaks(x, **options)


@decompose(both(signal.find_peaks))
def find_peaks_body(
    x, height=None, threshold=None, distance=None, prominence=None, width=None, wlen=None,
    rel_height=0.5, plateau_size=None,
):  # fmt: skip
    x = np.asarray(x)
    options = {
        "height": height, "threshold": threshold, "distance": distance, "prominence": prominence,
        "width": width, "wlen": wlen, "rel_height": rel_height, "plateau_size": plateau_size,
    }  # fmt: skip
    peaks, properties = found(x, options)
    properties = dict(properties)
    if height is not None:
        properties["peak_heights"] = x[peaks]
    if threshold is not None:
        properties["left_thresholds"] = x[peaks] - x[peaks - 1]
        properties["right_thresholds"] = x[peaks] - x[peaks + 1]
    if prominence is not None or width is not None:
        data = peak_prominences_body(x, peaks, wlen)
        properties["prominences"] = data[0]
    if width is not None:
        measured = peak_widths_body(x, peaks, rel_height, data, wlen)
        properties.update(
            zip(("widths", "width_heights", "left_ips", "right_ips"), measured, strict=True)
        )
    return peaks, properties


@decompose(both(signal.medfilt2d))
def medfilt2d_body(input, kernel_size=3):
    x = np.asarray(input)
    size = [int(n) for n in np.broadcast_to(3 if kernel_size is None else kernel_size, (2,))]
    return ndimage.rank_filter(x, size[0] * size[1] // 2, size=size, mode="constant")
