"""Spectra of segments: against differences, and against SciPy where no segment is traced."""

import numpy as np
import pytest
from scipy import signal

import autodiff
from chainrules.scipy.signal.segments import added_up, segments
from chainrules_core.testing import check_rule, const

RNG = np.random.default_rng(0)
X, STACK = RNG.standard_normal(300), RNG.standard_normal((2, 120, 3))
HANN = signal.windows.hann(40)
SHIFTED = signal.ShortTimeFFT(HANN, 13, 1.0, phase_shift=None)


def last(result):
    return result[-1] if isinstance(result, tuple) else result


def transform(mode="onesided", **options):
    return signal.ShortTimeFFT(HANN, 10, 1.0, fft_mode=mode, mfft=50, **options)


def back_again(x, both=False, scaling="spectrum", boundary="zeros", **options):
    pieces = signal.stft(
        x, return_onesided=not both, scaling=scaling, boundary=boundary, **options
    )[2]
    whole = bool(boundary)
    return signal.istft(
        pieces**2, input_onesided=not both, scaling=scaling, boundary=whole, **options
    )


CALLS = [
    ("stft", lambda x: signal.stft(x, nperseg=64), X),
    ("stft, overlap", lambda x: signal.stft(x, nperseg=60, noverlap=45, detrend="linear"), X),
    ("stft, axis", lambda x: signal.stft(x, nperseg=30, axis=1, boundary=None), STACK),
    ("stft, two sides", lambda x: signal.stft(x, nperseg=60, return_onesided=False), X),
    ("stft, one sample", lambda x: signal.stft(x, nperseg=1, noverlap=0), X),
    ("spectrogram", lambda x: signal.spectrogram(x, nperseg=64), X),
    ("spectrogram, mode", lambda x: signal.spectrogram(x, nperseg=64, mode="magnitude"), X),
    ("welch", lambda x: signal.welch(x, nperseg=64), X),
    ("welch, median", lambda x: signal.welch(x, nperseg=64, average="median"), X),
    ("welch, function", lambda x: signal.welch(x, nperseg=64, detrend=lambda s: s - s[0]), X),
    ("welch, axis", lambda x: signal.welch(x, nperseg=64, detrend=False, axis=1), STACK),
    ("csd", lambda x: signal.csd(x, x[::-1] ** 2, nperseg=64), X),
    ("coherence", lambda x: signal.coherence(x, x[::-1] ** 2, nperseg=64), X),
    ("slices", lambda x: SHIFTED.stft(x, p0=3, p1=11, k_offset=5), X),
    ("axis 1", lambda x: SHIFTED.stft(x, axis=1), STACK),
    ("axis -2", lambda x: SHIFTED.stft(x, axis=-2), STACK),
    ("linear", lambda x: SHIFTED.stft_detrend(x, "linear"), X),
    ("constant", lambda x: SHIFTED.spectrogram(x, detr="constant"), X),
    ("istft", lambda x: back_again(x, nperseg=64), X),
    ("istft, psd", lambda x: back_again(x, nperseg=60, noverlap=45, scaling="psd", fs=3.0), X),
    ("istft, two sides", lambda x: back_again(x, True, nperseg=50), X),
    ("istft, padded", lambda x: back_again(x, nperseg=50, nfft=64, noverlap=35), X),
    ("istft, window", lambda x: signal.istft(SQUARE * x[:5, None], window=np.exp(x[:8])), X),
    ("istft, odd", lambda x: signal.istft(SQUARE * x[:5, None], nperseg=9, noverlap=2), X),
    ("istft, axes", lambda x: signal.istft(x, time_axis=0, freq_axis=2), X[:60].reshape(4, 3, 5)),
    *[(mode, transform(mode).stft, X) for mode in ("twosided", "centered")],
    ("doubled", transform("onesided2X", scale_to="magnitude").stft, X),
]
SQUARE = RNG.standard_normal((5, 6)) + 1j * RNG.standard_normal((5, 6))
PADDINGS = ["zeros", "edge", "even", "odd"]


def check(f, x):
    weights = RNG.standard_normal(np.shape(last(f(x))))

    def loss(x):
        return np.sum(np.abs(last(f(x))) ** 2 * weights)

    value, found = autodiff.value_and_gradient(loss, x)
    np.testing.assert_allclose(value, loss(x), rtol=1e-12)
    direction, h = RNG.standard_normal(x.shape), 1e-5
    expected = (loss(x + h * direction) - loss(x - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.vdot(found, direction), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name, f, x", CALLS, ids=[name for name, *_ in CALLS])
def test_gradients(name, f, x):
    check(f, x)


def test_gaps():
    with pytest.warns(UserWarning, match="missing boundary"):
        check(lambda x: signal.istft(SQUARE * x[:5, None], boundary=False), X)


@pytest.mark.parametrize("padding", PADDINGS)
def test_padding(padding):
    check(lambda x: transform("onesided").stft(x, padding=padding), X)


CUTS = [(5, 2, 4), (4, 4, 3), (3, 5, 2), (1, 1, 6), (6, 4, 0)]


@pytest.mark.parametrize("length, step, count", CUTS)
def test_segments(length, step, count):
    x = RNG.standard_normal((2, (max(count, 1) - 1) * step + length + 1))
    check_rule(segments, x, const(length), const(step), const(count))
    pieces = RNG.standard_normal((2, count, length))
    check_rule(added_up, pieces, const(x.shape[-1]), const(step))
    plain = segments(x, length, step, count)
    assert plain.shape == (2, count, length)
    back = added_up(pieces, x.shape[-1], step)
    np.testing.assert_allclose(np.vdot(plain, pieces), np.vdot(x, back))


def test_second_order():
    def inner(z):
        return np.sum(np.abs(signal.stft(z, nperseg=32)[2]) ** 3)

    v = RNG.standard_normal(64)
    found = autodiff.gradient(lambda x: np.sum(autodiff.gradient(inner, x) * v), X[:64])
    h = 1e-5
    plus, minus = (autodiff.gradient(inner, X[:64] + s * h * v) for s in (1, -1))
    np.testing.assert_allclose(found, (plus - minus) / (2 * h), rtol=1e-4, atol=1e-6)


def test_precision():
    found = autodiff.gradient(lambda x: np.sum(np.abs(transform().stft(x)) ** 2), X.astype("f4"))
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: transform().stft(x, padding="x"), "padding must be one of"),
        (lambda x: transform().stft_detrend(x, 3), "detr must be"),
        (lambda x: transform().stft_detrend(x * 1j, "linear"), "complex x needs"),
        (lambda x: transform().stft(x[:3]), "at least 20 are needed"),
        (lambda x: signal.istft(x), "an axis of frequencies"),
        (lambda x: signal.istft(x[:, None], scaling="x"), "scaling must be"),
        (lambda x: signal.istft(x[:, None], nperseg=0), "nperseg must be"),
        (lambda x: signal.istft(x[:, None], nfft=3, nperseg=4), "nfft must be"),
        (lambda x: signal.istft(x[:, None], nperseg=4, noverlap=4), "noverlap must be"),
        (lambda x: signal.istft(x[:, None], nperseg=4, window=x), "window must have the shape"),
    ],
)
def test_wrong_calls(call, words):
    with pytest.raises(ValueError, match=words):
        autodiff.gradient(lambda x: np.sum(np.abs(last(call(x)))), X)
