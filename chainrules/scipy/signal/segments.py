"""Segments of a signal, all of them at once, for spectra of short pieces.

SciPy cuts a signal into overlapping segments either as every `step`-th of all windows, or one by
one in a loop. Both are written here as one array of segments. Its adjoint adds the segments up:
pieces of `step` samples of all segments lie side by side in the signal, so as many additions are
made as there are such pieces in one segment.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import numpy as np
from scipy import fft, signal

from chainrules.scipy.delegated import both
from chainrules.scipy.private import Private
from chainrules_core import decompose, linear_rule, non_differentiable, primitive


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

_helper = Private("signal._spectral_py").get("_fft_helper")


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


# ------------------------------------------------------------------------------- and back again

WINDOW = inspect.signature(signal.istft).parameters["window"].default
"""Another one in older versions."""

TINY = 1e-10
"""What the squares of the windows add up to at least, where SciPy divides by it."""


def sizes_of_segments(
    bins: int, nperseg: Any, noverlap: Any, nfft: Any, onesided: bool
) -> tuple[int, int, int]:
    """How long a segment is, after how many samples the next begins, and how long its transform."""
    even = 2 * (bins - 1) if onesided else bins
    nperseg = even if nperseg is None else int(nperseg)
    if nperseg < 1:
        raise ValueError(f"nperseg must be a positive integer, not {nperseg}")
    if nfft is None:
        nfft = nperseg if onesided and nperseg == even + 1 else even
    elif int(nfft) < nperseg:
        raise ValueError(f"nfft must be at least nperseg = {nperseg}, not {nfft}")
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ValueError(f"noverlap must be less than nperseg = {nperseg}, not {noverlap}")
    return nperseg, nperseg - noverlap, int(nfft)


def window_of(window: Any, nperseg: int) -> Any:
    """The samples of a window that is given by its name or as an array."""
    if isinstance(window, (str, tuple)):
        return signal.get_window(window, nperseg)
    window = np.asarray(window)
    if np.shape(window) != (nperseg,):
        raise ValueError(f"window must have the shape ({nperseg},), not {np.shape(window)}")
    return window


@non_differentiable
def warn_of_gaps(norm: Any, has_boundary: bool) -> None:
    """Warn where no window says anything about a sample."""
    if np.any(norm <= TINY):
        warnings.warn(
            "NOLA condition failed, STFT may not be invertible."
            + ("" if has_boundary else " Possibly due to missing boundary"),
            stacklevel=3,
        )


@decompose(both(signal.istft))
def istft_body(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = WINDOW,
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> Any:
    """The segments of all times at once, added up."""
    z = np.asarray(Zxx) + 0j
    if np.ndim(z) < 2 or freq_axis % np.ndim(z) == time_axis % np.ndim(z):
        raise ValueError("Zxx needs an axis of frequencies and another one of times")
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"scaling must be 'spectrum' or 'psd', not {scaling!r}")
    z = np.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    count, bins = np.shape(z)[-2:]
    nperseg, step, nfft = sizes_of_segments(bins, nperseg, noverlap, nfft, input_onesided)
    pieces = (fft.irfft if input_onesided else fft.ifft)(z, n=nfft)[..., :nperseg]
    win = window_of(window, nperseg)
    if np.result_type(win, pieces) != pieces.dtype:
        win = win.astype(pieces.dtype)
    squares = win**2
    factor = np.sum(win) if scaling == "spectrum" else np.sqrt(fs * np.sum(squares))
    n = nperseg + (count - 1) * step
    x = added_up(pieces * (win * factor), n, step)
    norm = added_up(np.broadcast_to(squares, (count, nperseg)), n, step)
    if boundary:
        margin = nperseg // 2
        x, norm = x[..., margin:-margin], norm[margin:-margin]
    warn_of_gaps(np.real(norm), boundary)
    x = x / np.where(np.real(norm) > TINY, norm, 1)
    x = np.real(x) if input_onesided else x
    # As SciPy has it: where the axis of times was not the last one, it is put back.
    at = time_axis % np.ndim(z)
    if at != np.ndim(z) - 1:
        x = np.moveaxis(x, -1, at - (freq_axis % np.ndim(z) < at))
    return np.arange(np.shape(x)[0]) / float(fs), x
