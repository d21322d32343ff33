"""scipy.fft and scipy.fftpack."""

from scipy import fft, fftpack

from benchmarks.samples import N, complexes, positive, reals, sample

A, M, C = reals(), reals(1000, 500), complexes(N // 5)
CM = complexes(500, 500)

SAMPLES = [
    *[sample(f, A) for f in (fft.fft, fft.rfft, fft.ihfft)],
    *[sample(f, C) for f in (fft.ifft, fft.irfft, fft.hfft)],
    *[sample(f, M) for f in (fft.fft2, fft.fftn, fft.rfft2, fft.rfftn)],
    *[sample(f, CM) for f in (fft.ifft2, fft.ifftn, fft.irfft2, fft.irfftn)],
    *[sample(f, CM) for f in (fft.hfft2, fft.hfftn)],
    *[sample(f, M) for f in (fft.ihfft2, fft.ihfftn)],
    sample(fft.fft, M, axis=0, note="axis=0"),
    sample(fft.fft, A, norm="ortho", note="ortho"),
    sample(fft.fft, A, n=N + N // 4, note="padded"),
    *[sample(f, A) for f in (fft.dct, fft.idct, fft.dst, fft.idst)],
    *[sample(fft.dct, A, type=k, note=f"type {k}") for k in (1, 3, 4)],
    *[sample(f, M) for f in (fft.dctn, fft.idctn, fft.dstn, fft.idstn)],
    *[sample(f, M) for f in (fft.fftshift, fft.ifftshift)],
    sample(fft.fht, positive(2048), 0.01, 0.5),
    sample(fft.ifht, positive(2048), 0.01, 0.5),
    *[sample(f, A) for f in (fftpack.fft, fftpack.rfft, fftpack.irfft, fftpack.dct)],
    *[sample(f, reals(20_000)) for f in (fftpack.diff, fftpack.hilbert, fftpack.ihilbert)],
    sample(fftpack.tilbert, reals(20_000), 1.0),
    sample(fftpack.shift, reals(20_000), 0.3),
]
