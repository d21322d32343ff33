"""scipy.signal."""

import numpy as np
from scipy import signal

from benchmarks.samples import N, by_hand_scipy, complexes, positive, reals, sample

A, SHORT = reals(), reals(101)
LONG = reals(100_000)
IMAGE, KERNEL = reals(300, 300), reals(7, 7)
B6, A6 = signal.butter(6, 0.2)
SOS = signal.butter(6, 0.2, output="sos")
TIMES = np.linspace(0, 10, 500)
SYSTEM = ([1.0, 0.5], [1.0, 1.2, 2.0])
STFT = signal.stft(LONG)[2]

SAMPLES = [
    sample(signal.convolve, A, SHORT),
    sample(signal.convolve, LONG, SHORT, method="direct", note="direct"),
    sample(signal.fftconvolve, A, SHORT),
    sample(signal.oaconvolve, A, SHORT),
    sample(signal.correlate, A, SHORT),
    sample(signal.convolve2d, IMAGE, KERNEL),
    sample(signal.correlate2d, IMAGE, KERNEL),
    sample(signal.lfilter, B6, A6, LONG),
    sample(signal.lfilter, SHORT, [1.0], LONG, note="FIR"),
    sample(signal.filtfilt, B6, A6, LONG),
    sample(signal.sosfilt, SOS, LONG, by_hand=by_hand_scipy.cascade),
    sample(signal.sosfiltfilt, SOS, LONG, by_hand=by_hand_scipy.cascade_there_and_back),
    sample(signal.savgol_filter, LONG, 11, 3),
    sample(signal.medfilt, LONG, 5),
    sample(signal.wiener, LONG, 5),
    sample(signal.upfirdn, SHORT, LONG, 3, 2),
    sample(signal.resample, LONG, 50_000),
    sample(signal.resample_poly, LONG, 3, 2),
    sample(signal.decimate, LONG, 4),
    sample(signal.detrend, LONG),
    sample(signal.hilbert, LONG),
    sample(signal.deconvolve, LONG[:2000], np.array([2.0, 0.5, 0.1])),
    sample(signal.stft, LONG),
    sample(signal.istft, STFT),
    sample(signal.spectrogram, LONG),
    sample(signal.periodogram, LONG),
    sample(signal.welch, LONG),
    sample(signal.csd, LONG, reals(100_000, seed=1)),
    sample(signal.coherence, LONG, reals(100_000, seed=1)),
    sample(signal.zoom_fft, LONG, 0.3, 1000),
    sample(signal.czt, LONG, 1000),
    sample(signal.cspline1d, LONG),
    sample(signal.qspline1d, LONG),
    sample(signal.sepfir2d, IMAGE, reals(7), reals(7, seed=1)),
    sample(signal.symiirorder1, LONG, 0.5, 0.3),
    sample(signal.freqz, B6, A6),
    sample(signal.sosfreqz, SOS),
    sample(signal.freqs, B6, A6, np.linspace(0.1, 2, 500)),
    sample(signal.lsim, SYSTEM, reals(500), TIMES),
    sample(signal.lombscargle, np.cumsum(positive(500)), reals(500), np.linspace(0.1, 2, 100)),
    sample(signal.vectorstrength, reals(20_000), 1.3),
    sample(signal.hilbert2, IMAGE),
    sample(signal.bilinear, B6, A6),
    sample(signal.fftconvolve, complexes(N // 5), complexes(101), note="complex"),
]
