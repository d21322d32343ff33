"""Segments of a signal, all of them at once, for spectra of short pieces.

SciPy cuts a signal into overlapping segments either as every `step`-th of all windows, or one by
one in a loop. Both are written here as one array of segments. Its adjoint adds the segments up:
pieces of `step` samples of all segments lie side by side in the signal, so as many additions are
made as there are such pieces in one segment.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import fft, signal

from chainrules_core import decompose, linear_rule
from chainrules_core.define import primitive


@primitive
def segments(x: Any, length: int, step: int, count: int) -> Any:
    """Cut the last axis into `count` segments that begin `step` apart; they are a new last axis."""
    return np.lib.stride_tricks.sliding_window_view(x, length, axis=-1)[..., ::step, :][
        ..., :count, :
    ]


@primitive
def added_up(segments_bar: Any, n: int, step: int) -> Any:
    """Add segments that begin `step` apart up to a signal of n samples."""
    *shape, count, length = segments_bar.shape
    pieces = -(-length // step)
    whole = np.zeros((*shape, count + pieces, step), segments_bar.dtype)
    for i in range(pieces):
        piece = segments_bar[..., i * step : (i + 1) * step]
        whole[..., i : i + count, : piece.shape[-1]] += piece
    flat = np.reshape(whole, (*shape, -1))[..., :n]
    if flat.shape[-1] == n:
        return flat
    return np.concatenate([flat, np.zeros((*shape, n - flat.shape[-1]), flat.dtype)], axis=-1)


linear_rule(segments, lambda y_bar, x, length, step, count: added_up(y_bar, x.shape[-1], step))
linear_rule(
    added_up,
    lambda x_bar, segments_bar, n, step: segments(
        padded(x_bar, segments_bar.shape, step),
        segments_bar.shape[-1],
        step,
        segments_bar.shape[-2],
    ),
)


def padded(x: Any, shape: tuple, step: int) -> Any:
    """Return a signal long enough for segments of a shape."""
    missing = (shape[-2] - 1) * step + shape[-1] - np.shape(x)[-1]
    return np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(0, missing)]) if missing > 0 else x


def all_segments(x: Any, length: int, step: int) -> Any:
    """Return all segments that fit into the signal."""
    return segments(x, length, step, max(0, (np.shape(x)[-1] - length) // step + 1))


# ------------------------------------------------------------------- what SciPy makes of them

_helper = getattr(signal._spectral_py, "_fft_helper", None)


def fft_helper_body(
    x: Any, win: Any, detrend_func: Any, nperseg: int, noverlap: int, nfft: int, sides: str
) -> Any:
    """The spectra of all segments."""
    pieces = win * detrend_func(all_segments(x, nperseg, nperseg - noverlap))
    if sides == "twosided":
        return fft.fft(pieces, n=nfft)
    return fft.rfft(np.real(pieces), n=nfft)


if _helper is not None:
    decompose(_helper)(fft_helper_body)

PADDINGS: dict[str, dict] = {
    "zeros": {"mode": "constant"},
    "edge": {"mode": "edge"},
    "even": {"mode": "reflect", "reflect_type": "even"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
}


def stft_detrend_body(
    self: Any,
    x: Any,
    detr: Any,
    p0: Any = None,
    p1: Any = None,
    *,
    k_offset: int = 0,
    padding: str = "zeros",
    axis: int = -1,
) -> Any:
    """The transforms of all slices at once; a function that takes trends away sees one of each."""
    if self.onesided_fft and np.iscomplexobj(x):
        raise ValueError(
            f"complex x needs fft_mode='twosided' or 'centered', not {self.fft_mode!r}"
        )
    if not (detr is None or isinstance(detr, str) or callable(detr)):
        raise ValueError(f"detr must be a string, a function or None, not {detr!r}")
    if padding not in PADDINGS:
        raise ValueError(f"padding must be one of {tuple(PADDINGS)}, not {padding!r}")
    x = np.moveaxis(x, axis, -1)
    n = np.shape(x)[-1]
    if n < self.m_num - self.m_num_mid:
        raise ValueError(f"x has {n} samples; at least {self.m_num - self.m_num_mid} are needed")
    p0, p1 = self.p_range(n, p0, p1)
    start = p0 * self.hop - self.m_num_mid + k_offset
    stop = start + (p1 - p0) * self.hop + self.m_num
    inside = x[..., max(start, 0) : min(stop, n)]
    margins = (-min(start, 0), max(stop - n, 0))
    padded_x = np.pad(inside, [(0, 0)] * (np.ndim(x) - 1) + [margins], **PADDINGS[padding])
    slices = segments(padded_x, self.m_num, self.hop, p1 - p0)
    if isinstance(detr, str):
        slices = signal.detrend(slices, type=detr)
    elif isinstance(detr, functools.partial) and detr.func is signal.detrend:
        slices = detr(slices)
    elif detr is not None:
        slices = np.stack([detr(slices[..., p, :]) for p in range(p1 - p0)], axis=-2)
    spectra = self._fft_func(slices * np.conj(self.win)).astype(complex)
    spectra = np.swapaxes(spectra, -1, -2)
    if np.ndim(x) == 1:
        return spectra
    return np.moveaxis(spectra, -2, axis if axis >= 0 else axis - 1)


stft_detrend_body.traces_objects = True  # type: ignore[attr-defined] # the window may be traced
decompose(signal.ShortTimeFFT.stft_detrend)(stft_detrend_body)
