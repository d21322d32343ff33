"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
from scipy import signal
from scipy.signal import windows

from tests.helpers import normal_draws

_, real, cplx = normal_draws(13)


x = real(12)
x8 = real(8)
x40 = real(40)
z = cplx(12)
k = real(3)
k4 = real(4)
zk = cplx(3)
X = real(3, 12)
X4 = real(4, 5)
K = real(2, 3)
Z = cplx(4, 5)
ZK = cplx(2, 3)
xs = np.sin(np.arange(12.0) * 0.7) + 0.1 * real(12)
X3 = real(2, 3, 4)
K3 = real(2, 2, 2)
X2 = real(5, 6)
X10 = real(8, 9)
b = np.array([0.4, 0.3, -0.1])
a = np.array([1.0, -0.5, 0.2])
a1 = np.array([1.7, -0.5, 0.2])
zb = cplx(3) * 0.3
zi = np.array([0.3, -0.2])
zi_rows = real(3, 2)
sos = np.array([[0.3, 0.2, 0.1, 1.0, -0.4, 0.2], [0.5, -0.1, 0.2, 1.0, 0.3, 0.1]])
zis = real(2, 2)
zis_rows = real(2, 3, 2)
wn = 0.3
wn2 = np.array([0.2, 0.5])
rp = 1.3
rs = 31.0
fs = 2.5
t = np.linspace(0, 1.7, 9)
t_ = np.linspace(-1.1, 1.3, 8)
zeros = np.array([-0.5, 0.3])
poles = np.array([0.5, -0.4, 0.2])
gain = 1.4
zz = np.array([0.3 + 0.4j, 0.3 - 0.4j])
pp = np.array([0.5 + 0.2j, 0.5 - 0.2j, 0.3])
spoles = np.array([-0.5 + 0.3j, -0.5 - 0.3j, -1.2])
sz = np.array([-0.7])
A = np.array([[-0.5, 0.2], [0.1, -0.8]])
B = np.array([[1.0], [0.4]])
C = np.array([[0.3, 0.7]])
D = np.array([[0.1]])
dt = 0.2
num = np.array([1.2, 0.4])
den = np.array([1.0, 0.7, 1.3])
Q = 5.3
w0 = 0.3
beta = 0.7
beta8 = 8.6
s = 1.3
ss = 0.6
p = 1.5
att = 55.0
tau = 3.0
al2 = 0.4
u = real(9)
U2 = real(9, 1)
w = np.array([0.2, 0.9, 2.1])
freqs = np.array([0.0, 0.3, 0.6, 1.0])
gains = np.array([1.0, 0.8, 0.3, 0.1])
h5 = np.array([0.2, 0.5, 1.0, 0.5, 0.2])
h7 = np.array([0.1, 0.25, 0.5, 1.0, 0.5, 0.25, 0.1])
win8 = np.abs(real(8)) + 0.5
tt = np.sort(np.abs(real(10))) * 3
fw = np.array([0.5, 1.1, 2.3])
per = 1.7
x64 = np.sin(np.arange(64) * 0.35) + 0.2 * real(64)
y64 = np.cos(np.arange(64) * 0.25) + 0.2 * real(64)
z64 = cplx(64)
Xw = real(2, 64)
m_ = 0.8 + 0.3j
band = [0.0, 0.4, 0.6, 1.0]
des = np.array([1.0, 0.9, 0.1, 0.05])
polesreq = np.array([-1.0, -2.0])
so = np.array([[0.3, 0.2, 0.1, -0.4, 0.2], [0.5, -0.1, 0.2, 0.3, 0.1]])


def mk(so):
    return np.concatenate([so[:, :3], np.ones((len(so), 1)), so[:, 3:]], 1)


n9 = np.arange(9)
h = 0.21
fm = np.array([0.3, 0.6])
X40 = real(14, 16)
x15 = real(15)


def fr(fm, end=1.0):
    return np.concatenate([[0.0], fm, [end]])


tv = np.array([0.3, 1.15, 3.4, 5.7, 10.2, -1.3, 12.6])
zz1 = np.array([0.3 + 0.4j])
pp1 = np.array([0.5 + 0.2j])


def cj(z):
    return np.concatenate([z, np.conj(z)])


peaky = np.array([0.1, 1.3, 0.2, 0.9, 0.4, 2.2, 0.3, 0.35, 0.1])

CALLS = [
    lambda x, k: signal.convolve(x, k, "same"),
    lambda x, k: signal.convolve(x, k, mode="valid"),
    lambda x, k: signal.correlate(x, k),
    lambda x, k: signal.correlate(x, k, "same"),
    lambda x: signal.correlation_lags(4, 3) @ x[:6],
    lambda x, k: signal.fftconvolve(x, k),
    lambda x, k: signal.fftconvolve(x, k, "same"),
    lambda x40, k: signal.oaconvolve(x40, k),
    lambda x40, k: signal.oaconvolve(x40, k, "same"),
    lambda X4, K: signal.convolve2d(X4, K),
    lambda X4, K: signal.convolve2d(X4, K, "same"),
    lambda X4, K: signal.correlate2d(X4, K),
    lambda X4, K: signal.correlate2d(X4, K, "same", "symm"),
    lambda X10, k, h5: signal.sepfir2d(X10, k, h5),
    lambda b, a, x: signal.lfilter(b, a, x),
    lambda b, a1, x: signal.lfilter(b, a1, x),
    lambda b, a: signal.lfilter_zi(b, a),
    lambda b, a1: signal.lfilter_zi(b, a1),
    lambda b, a, zi: signal.lfiltic(b, a, y=zi),
    lambda b, a, zi, k: signal.lfiltic(b, a, zi, x=k[:2]),
    lambda b, a, x40: signal.filtfilt(b, a, x40),
    lambda b, a, x40: signal.filtfilt(b, a, x40, padtype="even"),
    lambda sos: signal.sosfilt_zi(sos),
    lambda x, k: signal.deconvolve(x, k)[0],
    lambda x, k: signal.deconvolve(x, k),
    lambda x: signal.savgol_filter(x, 5, 2),
    lambda x: signal.savgol_filter(x, 5, 2, deriv=1, delta=0.5),
    lambda s: signal.savgol_coeffs(5, 2, pos=s),
    lambda s: signal.savgol_coeffs(5, 2, deriv=1, delta=s),
    lambda x: signal.hilbert(x),
    lambda x: signal.hilbert(x, 16),
    lambda X4: signal.hilbert2(X4),
    lambda X4: signal.hilbert2(X4, (6, 7)),
    lambda x64: signal.envelope(x64),
    lambda x64: signal.envelope(x64, (2, 20)),
    lambda x: signal.detrend(x),
    lambda x: signal.detrend(x, type="constant"),
    lambda x: signal.resample(x, 8),
    lambda x: signal.resample(x, 20),
    lambda x: signal.resample_poly(x, 2, 3),
    lambda X: signal.resample_poly(X, 3, 2, axis=1),
    lambda x64: signal.decimate(x64, 2),
    lambda x64: signal.decimate(x64, 2, ftype="fir"),
    lambda k, x: signal.upfirdn(k, x),
    lambda k, x: signal.upfirdn(k, x, 2),
    lambda x: signal.medfilt(x),
    lambda x: signal.medfilt(x, 5),
    lambda X4: signal.medfilt2d(X4),
    lambda X4: signal.medfilt2d(X4, 3),
    lambda X4: signal.order_filter(X4, np.ones((3, 3)), 2),
    lambda x: signal.order_filter(x, np.ones(3), 0),
    lambda x: signal.wiener(x),
    lambda x: signal.wiener(x, 5),
    lambda x64: signal.periodogram(x64),
    lambda x64, fs: signal.periodogram(x64, fs),
    lambda x64: signal.welch(x64, nperseg=16),
    lambda x64: signal.welch(x64, 2.0, "hann", 16, 8),
    lambda x64, y64: signal.csd(x64, y64, nperseg=16),
    lambda x64, y64, fs: signal.csd(x64, y64, fs, "hann", 16, 4, 20, "constant", False),
    lambda x64, y64: signal.coherence(x64, y64, nperseg=16),
    lambda x64, y64: signal.coherence(x64, y64, 2.0, "hamming", 16, 8),
    lambda x64: signal.spectrogram(x64, nperseg=16),
    lambda x64, fs: signal.spectrogram(x64, fs, nperseg=16, noverlap=2, mode="magnitude"),
    lambda x64: signal.stft(x64, nperseg=16),
    lambda x64, fs: signal.stft(x64, fs, nperseg=16, noverlap=12),
    lambda x64: signal.istft(signal.stft(x64, nperseg=16)[2], nperseg=16),
    lambda x64: signal.istft(signal.stft(x64, nperseg=16, noverlap=12)[2], 1.0, "hann", 16, 12),
    lambda x64: signal.ShortTimeFFT(signal.windows.hann(8), hop=4, fs=1.0).stft(x64),
    lambda win8, x64: signal.ShortTimeFFT(win8, 4, 1.0).stft(x64),
    lambda x64: signal.ShortTimeFFT.from_window("hann", 1.0, 8, 4).stft(x64, padding="even"),
    lambda win8: signal.closest_STFT_dual_window(win8, 4),
    lambda win8: signal.closest_STFT_dual_window(win8, 4, np.ones(8)),
    lambda tt, x, fw: signal.lombscargle(tt, x[:10], fw),
    lambda tt, x, fw: signal.lombscargle(tt, x[:10], fw, normalize=True),
    lambda tt, per: signal.vectorstrength(tt, per),
    lambda tt, fw: signal.vectorstrength(tt, fw),
    lambda x: signal.czt(x, 5),
    lambda x: signal.czt(x, 5, np.exp(-0.3j), 1.1),
    lambda m_: signal.czt_points(5, m_, 1.1),
    lambda s: signal.czt_points(5, a=s),
    lambda m_, x: signal.CZT(12, 5, m_)(x),
    lambda x: signal.zoom_fft(x, [0.2, 0.8], 5),
    lambda x: signal.zoom_fft(x, 0.7, m=4, fs=2.5),
    lambda x: signal.ZoomFFT(12, [0.2, 0.8], 5)(x),
    lambda wn: signal.firwin(7, wn),
    lambda wn: signal.firwin(7, wn, window="hann"),
    lambda des: signal.firls(7, [0.0, 0.3, 0.5, 1.0], des),
    lambda des, wn2: signal.firls(7, [0.0, 0.3, 0.5, 1.0], des, weight=wn2),
    lambda s: signal.remez(9, [0.0, 0.1, 0.2, 0.5], [1.0, 0.0]) * s,
    lambda wn: signal.firwin_2d((5, 5), "hamming", fc=wn, circular=True),
    lambda wn: signal.butter(3, wn),
    lambda wn: signal.butter(3, wn, "high"),
    lambda rp, wn: signal.cheby1(3, rp, wn),
    lambda rp, wn2: signal.cheby1(3, rp, wn2, "bandpass", output="sos"),
    lambda rs, wn: signal.cheby2(3, rs, wn),
    lambda rs, wn2: signal.cheby2(3, rs, wn2, "bandstop", output="zpk"),
    lambda rp, rs, wn: signal.ellip(3, rp, rs, wn),
    lambda rp, rs, wn2: signal.ellip(3, rp, rs, wn2, "bandpass", output="zpk"),
    lambda wn: signal.bessel(3, wn),
    lambda wn: signal.bessel(3, wn, norm="delay"),
    lambda wn: signal.iirfilter(3, wn, btype="low"),
    lambda wn2, rp, rs: signal.iirfilter(3, wn2, rp, rs, "band", ftype="ellip", output="zpk"),
    lambda wn, rp, rs: signal.iirdesign(wn, 0.5, rp, rs),
    lambda wn, rp, rs: signal.iirdesign(wn, 0.6, rp, rs, ftype="cheby1", output="zpk"),
    lambda w0, Q: signal.iirnotch(w0, Q),
    lambda w0, Q, fs: signal.iirnotch(w0, Q, fs=fs),
    lambda w0, Q: signal.iirpeak(w0, Q),
    lambda w0, Q, fs: signal.iirpeak(w0=w0, Q=Q, fs=fs),
    lambda Q: signal.iircomb(0.25, Q),
    lambda Q: signal.iircomb(0.25, Q, ftype="peak", fs=2.0, pass_zero=True),
    lambda w0, fs: signal.gammatone(w0, "iir", 4, fs=fs),
    lambda w0, fs: signal.gammatone(w0, "fir", order=3, numtaps=9, fs=fs),
    lambda wn2, rp, rs: signal.buttord(wn2, [0.1, 0.7], rp, rs),
    lambda wn, rp, rs: signal.cheb1ord(wn, 0.5, rp, rs),
    lambda wn, rp, rs: signal.cheb2ord(wn, 0.5, rp, rs),
    lambda wn, rp, rs: signal.ellipord(wn, 0.5, rp, rs),
    lambda wn, rp, rs, fs: signal.cheb2ord(0.5, wn, rp, rs, fs=fs),
    lambda rp: signal.cheb1ap(3, rp),
    lambda rp: signal.cheb1ap(4, rp),
    lambda rs: signal.cheb2ap(3, rs),
    lambda rp, rs: signal.ellipap(3, rp, rs),
    lambda rp, rs: signal.ellipap(4, rp, rs),
    lambda s: signal.buttap(3)[2] * s,
    lambda s: signal.besselap(3, norm="phase")[1] * s,
    lambda rs: signal.kaiserord(rs, 0.2),
    lambda rs, wn: signal.kaiserord(rs, wn)[1],
    lambda rs: signal.kaiser_beta(rs),
    lambda att: signal.kaiser_beta(att),
    lambda wn: signal.kaiser_atten(7, wn),
    lambda b, a: signal.freqz(b, a),
    lambda b, a: signal.freqz(b, a, 8),
    lambda zz, pp, gain: signal.freqz_zpk(zz, pp, gain, 7),
    lambda zeros, poles, gain, w: signal.freqz_zpk(zeros, poles, gain, w),
    lambda num, den, w: signal.freqs(num, den, w),
    lambda num, den: signal.freqs(num, den, worN=5),
    lambda zeros, poles, gain, w: signal.freqs_zpk(zeros, poles, gain, w),
    lambda sz, spoles, gain: signal.freqs_zpk(sz, spoles, gain, worN=4),
    lambda b, a: signal.group_delay((b, a), 7),
    lambda b, a, w: signal.group_delay((b, a), w),
    lambda b, a: signal.tf2zpk(b, a),
    lambda num, den: signal.tf2zpk(num, den),
    lambda b, a: signal.tf2sos(b, a),
    lambda num, den: signal.tf2sos(num, den, analog=True),
    lambda num, den: signal.tf2ss(num, den),
    lambda b, a1: signal.tf2ss(b, a1),
    lambda zeros, poles, gain: signal.zpk2tf(zeros, poles, gain),
    lambda zeros, poles, gain: signal.zpk2sos(zeros, poles, gain, pairing="keep_odd"),
    lambda zeros, poles, gain: signal.zpk2ss(zeros, poles, gain),
    lambda A, B, C, D: signal.ss2tf(A, B, C, D),
    lambda A, B, C, D: signal.ss2tf(A, B, C, D, input=0),
    lambda A, B, C, D: signal.ss2zpk(A, B, C, D),
    lambda sos: signal.sos2tf(sos),
    lambda sos: signal.sos2zpk(sos),
    lambda num, den: signal.bilinear(num, den),
    lambda num, den, fs: signal.bilinear(num, den, fs),
    lambda sz, spoles, gain, fs: signal.bilinear_zpk(sz, spoles, gain, fs),
    lambda num, den, s: signal.lp2lp(num, den, s),
    lambda num, den, s: signal.lp2hp(num, den, s),
    lambda num, den, s, ss: signal.lp2bp(num, den, s, ss),
    lambda num, den, s, ss: signal.lp2bs(num, den, s, ss),
    lambda num, den: signal.lp2lp(num, den),
    lambda sz, spoles, gain, s: signal.lp2lp_zpk(sz, spoles, gain, s),
    lambda sz, spoles, gain, s: signal.lp2hp_zpk(sz, spoles, gain, s),
    lambda num, den: signal.normalize(num, den),
    lambda b, a1: signal.normalize(b, a1),
    lambda num: signal.residue(num, np.array([1.0, 3.5, 2.1])),
    lambda b, a: signal.residue(b, a),
    lambda b, a: signal.residuez(b, a),
    lambda zeros, polesreq, s: signal.invres(zeros, polesreq, [s]),
    lambda zeros, polesreq: signal.invresz(zeros, polesreq, [0.4, 0.2]),
    lambda polesreq, s: signal.unique_roots(polesreq * s),
    lambda s: signal.unique_roots(np.array([1.0, 1.0001, 2.0]) * s, tol=0.01, rtype="avg"),
    lambda h7, s: signal.minimum_phase(h7 * s),
    lambda h7: signal.minimum_phase(h7, n_fft=64, half=False),
    lambda num, den: signal.lti(num, den).to_zpk().poles,
    lambda num, den, w: signal.lti(num, den).bode(w=w),
    lambda b, a, w: signal.dlti(b, a, dt=0.1).freqresp(w)[1],
    lambda b, a: signal.dlti(b, a, dt=0.1).step(n=8)[1],
    lambda num, den: signal.TransferFunction(num, den).num,
    lambda num, den: signal.TransferFunction(num, den).to_ss().A,
    lambda sz, spoles, gain: signal.ZerosPolesGain(sz, spoles, gain).to_tf().num,
    lambda A, B, C, D: signal.StateSpace(A, B, C, D).to_tf().den,
    lambda A, B, C, D: signal.StateSpace(A, B, C, D).to_zpk().poles,
    lambda A, B, C, D: signal.abcd_normalize(A, B, C, D),
    lambda A, B, C: signal.abcd_normalize(A, B, C),
    lambda A, B, C, D: signal.cont2discrete((A, B, C, D), 0.2)[:4],
    lambda A, B, C, D, dt: signal.cont2discrete((A, B, C, D), dt)[:4],
    lambda A, B, C, D: signal.impulse((A, B, C, D), N=6)[1],
    lambda num, den: signal.step((num, den))[1],
    lambda A, B, C, D, u: signal.dlsim((A, B, C, D, 1.0), u)[1],
    lambda A, B, C, D, u, zi: signal.dlsim((A, B, C, D, 1.0), u, x0=zi)[1:],
    lambda A, B, C, D: signal.dimpulse((A, B, C, D, 1.0), n=6)[1],
    lambda b, a: signal.dimpulse((b, a, 1.0), n=6)[1],
    lambda b, a: signal.dstep((b, a, 1.0), n=6)[1],
    lambda num, den, w: signal.bode((num, den), w),
    lambda num, den: signal.bode((num, den), n=5)[1:],
    lambda num, den, w: signal.freqresp((num, den), w),
    lambda A, B, C, D, w: signal.freqresp((A, B, C, D), w)[1],
    lambda b, a, w: signal.dbode((b, a, 0.2), w),
    lambda b, a, w: signal.dfreqresp((b, a, 0.2), w)[1],
    lambda A, B, C, D, w: signal.dfreqresp((A, B, C, D, 0.2), w)[1],
    lambda A, B, polesreq: signal.place_poles(A, B, polesreq).gain_matrix,
    lambda x: signal.cspline1d(x),
    lambda x, s: signal.cspline1d(x, lamb=s),
    lambda x, t, s: signal.cspline1d_eval(x, t * 3 + 0.3, dx=s, x0=0.1),
    lambda x: signal.qspline1d(x),
    lambda x, t: signal.qspline1d_eval(x, t * 3 + 0.3),
    lambda x, t: signal.qspline1d_eval(signal.qspline1d(x), t, 0.5, -0.2),
    lambda t_: signal.gauss_spline(t_, 3),
    lambda x40: signal.symiirorder1(x40, 0.5, 0.3),
    lambda x40: signal.symiirorder2(x40, 0.3, 0.4),
    lambda t: signal.chirp(t, 1.0, 1.5, 3.0),
    lambda t, s, p, tau: signal.chirp(t, f0=s, t1=p, f1=tau),
    lambda t, wn: signal.chirp(t, wn, 1.5, 0.3, "log"),  # of constant frequency, as the next
    lambda t, wn: signal.chirp(t, 0.3, 1.5, wn, "hyperbolic"),
    lambda t, wn, fs: signal.chirp(t, wn, fs, 0.7, "quadratic", vertex_zero=False),
    lambda t_, tau: signal.gausspulse(t_, fc=tau),
    lambda t_, tau: signal.gausspulse(t_, tau, 0.4, -5, retquad=True, retenv=True),
    lambda t: signal.sawtooth(t * 3 + 0.1),
    lambda t, wn: signal.sawtooth(t * 3 + 0.1, wn),
    lambda t, s: signal.square(t * 3 + 0.1) * s,
    lambda t, wn, s: signal.square(t * 3 + 0.1, duty=wn) * s,
    lambda t, k: signal.sweep_poly(t, k),
    lambda t, k: signal.sweep_poly(t, np.poly1d(k)),
    lambda s: signal.unit_impulse(5) * s,
    lambda s: signal.max_len_seq(3)[0] * s,
    lambda xs: signal.peak_widths(xs, signal.find_peaks(xs)[0]),
    lambda xs, wn: signal.peak_widths(xs, signal.find_peaks(xs)[0], rel_height=wn),
    lambda xs: xs[signal.find_peaks(xs, height=-1)[0]],
    lambda xs: signal.find_peaks(xs, height=-10, prominence=0, width=0)[1],
    lambda xs: xs[signal.argrelextrema(xs, np.greater)[0]],
    lambda s: signal.get_window("hann", 5) * s,
    lambda beta8: signal.get_window(("kaiser", beta8), 7),
    lambda rs: windows.chebwin(7, rs),
    lambda att: windows.chebwin(8, att, False),
    lambda s: windows.dpss(8, s),
    lambda s: windows.dpss(8, 2.5, 2) * s,
    lambda tau: windows.exponential(7, tau=tau),
    lambda tau: windows.exponential(7, 2, tau, False),
    lambda s: windows.gaussian(7, s),
    lambda s: windows.gaussian(M=8, std=s, sym=False),
    lambda k: windows.general_cosine(7, k),
    lambda k: windows.general_cosine(8, a=k, sym=False),
    lambda p, s: windows.general_gaussian(7, p, s),
    lambda s: windows.general_gaussian(8, p=1.5, sig=s, sym=False),
    lambda al2: windows.general_hamming(7, al2),
    lambda al2: windows.general_hamming(8, alpha=al2, sym=False),
    lambda beta8: windows.kaiser(7, beta8),
    lambda beta8: windows.kaiser(8, beta=beta8, sym=False),
    lambda beta8: windows.kaiser_bessel_derived(8, beta8),
    lambda beta8: windows.kaiser_bessel_derived(8, beta=beta8, sym=True),
    lambda rs: windows.taylor(8, 4, rs),
    lambda rs: windows.taylor(8, nbar=3, sll=rs, norm=False, sym=False),
    lambda al2: windows.tukey(8, al2),
    lambda al2: windows.tukey(9, alpha=al2, sym=False),
    lambda s: windows.hann(5) * s,
    lambda s: windows.blackman(5, False) * s,
    lambda tau: windows.get_window(("exponential", None, tau), 6),
    lambda s: windows.lanczos(6) * s,
    lambda s: windows.cosine(6) * s,
    lambda s: windows.triang(6) * s,
    lambda X10, h5, k: signal.sepfir2d(X10, h5, k),
    lambda so, x: signal.sosfilt(mk(so), x),
    lambda so, X: signal.sosfilt(mk(so), X),
    lambda so, x40: signal.sosfiltfilt(mk(so), x40),
    lambda so, x40: signal.sosfiltfilt(mk(so), x40, padtype="even", padlen=4),
    lambda so: signal.freqz_sos(mk(so), 7),
    lambda so, w, fs: signal.freqz_sos(mk(so), w, fs=fs),
    lambda so: signal.sosfreqz(mk(so), 7),
    lambda fm, gains: signal.firwin2(7, fr(fm), gains),
    lambda fm, gains: signal.firwin2(9, fr(fm), gains, nfreqs=65, window="hamming"),
    lambda wn, rp, rs: signal.buttord(wn, 0.63, rp, rs),
    lambda zz1, pp1, gain: signal.zpk2tf(cj(zz1), cj(pp1), gain),
    lambda zz1, pp1, gain: signal.zpk2sos(cj(zz1), cj(pp1), gain),
    lambda zz1, pp1, gain: signal.zpk2ss(cj(zz1), cj(pp1), gain),
    lambda A, B, C, D, u, h: signal.lsim((A, B, C, D), u, h * n9),
    lambda num, den, u, h: signal.lsim((num, den), u, h * n9)[1],
    lambda num, den: signal.lsim((num, den), [1.0, 0, 2.0], [0, 0.5, 1.0])[1],
    lambda num, den, h: signal.impulse((num, den), T=h * n9)[1],
    lambda num, den, h: signal.step((num, den), T=h * n9)[1],
    lambda x, tv: signal.cspline1d_eval(signal.cspline1d(x), tv),
    lambda X40: signal.cspline2d(X40),
    lambda X40: signal.qspline2d(X40),
    lambda peaky: signal.find_peaks(peaky, height=0.5)[1],
    lambda peaky: peaky[signal.find_peaks(peaky, distance=3)[0]],
]


@pytest.mark.parametrize("f", CALLS)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:h does not appear:RuntimeWarning")
def test_call(f, check_call):
    check_call(f, *[globals()[name] for name in inspect.signature(f).parameters])
