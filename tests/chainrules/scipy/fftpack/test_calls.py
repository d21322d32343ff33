"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
from scipy import fftpack

from tests.helpers import normal_draws

_, real, cplx = normal_draws(12)


x = real(6)
x5 = real(5)
x7 = real(7)
z = cplx(6)
z5 = cplx(5)
X = real(3, 4)
Z = cplx(3, 4)
X3 = real(2, 3, 4)
Z3 = cplx(2, 3, 4)
dx = 0.35
pa = np.exp(real(8) * 0.3)
n4 = real(4)
r8 = real(8)
r9 = real(9)

CALLS = [
    lambda x: fftpack.fft(x),
    lambda z: fftpack.fft(z),
    lambda x5: fftpack.fft(x5),
    lambda x: fftpack.ifft(x),
    lambda z: fftpack.ifft(z),
    lambda x5: fftpack.ifft(x5),
    lambda x: fftpack.rfft(x),
    lambda x5: fftpack.rfft(x5),
    lambda X: fftpack.rfft(X),
    lambda x: fftpack.irfft(x),
    lambda x5: fftpack.irfft(x5),
    lambda X: fftpack.irfft(X),
    lambda X: fftpack.fft2(X),
    lambda Z: fftpack.fft2(Z),
    lambda Z3: fftpack.fft2(Z3, (2, 5)),
    lambda X: fftpack.ifft2(X),
    lambda Z: fftpack.ifft2(Z),
    lambda Z3: fftpack.ifft2(Z3, (2, 5)),
    lambda X: fftpack.fftn(X),
    lambda Z: fftpack.fftn(Z),
    lambda Z3: fftpack.fftn(Z3, (1, 2, 5)),
    lambda X: fftpack.ifftn(X),
    lambda Z: fftpack.ifftn(Z),
    lambda Z3: fftpack.ifftn(Z3, (1, 2, 5)),
    lambda x: fftpack.dct(x, 1),
    lambda x: fftpack.dct(x, 1, norm="ortho"),
    lambda x: fftpack.dct(x, 1, n=4),
    lambda x: fftpack.idct(x, 1),
    lambda x: fftpack.idct(x, 1, norm="ortho"),
    lambda x: fftpack.idct(x, 1, n=4),
    lambda x: fftpack.dst(x, 1),
    lambda x: fftpack.dst(x, 1, norm="ortho"),
    lambda x: fftpack.dst(x, 1, n=4),
    lambda x: fftpack.idst(x, 1),
    lambda x: fftpack.idst(x, 1, norm="ortho"),
    lambda x: fftpack.idst(x, 1, n=4),
    lambda X: fftpack.dctn(X),
    lambda X: fftpack.dctn(X, 1),
    lambda X: fftpack.dctn(X, type=3, norm="ortho"),
    lambda X: fftpack.idctn(X),
    lambda X: fftpack.idctn(X, 1),
    lambda X: fftpack.idctn(X, type=3, norm="ortho"),
    lambda X: fftpack.dstn(X),
    lambda X: fftpack.dstn(X, 1),
    lambda X: fftpack.dstn(X, type=3, norm="ortho"),
    lambda X: fftpack.idstn(X),
    lambda X: fftpack.idstn(X, 1),
    lambda X: fftpack.idstn(X, type=3, norm="ortho"),
    lambda x: fftpack.diff(x),
    lambda x: fftpack.diff(x, 2),
    lambda x: fftpack.diff(x, order=-1),
    lambda x: fftpack.hilbert(x),
    lambda x5: fftpack.hilbert(x5),
    lambda x: fftpack.ihilbert(x),
    lambda x: fftpack.tilbert(x, 0.4, 2.5),
    lambda x: fftpack.cs_diff(x, 0.5, 0.7),
    lambda x: fftpack.fftshift(x),
    lambda X: fftpack.ifftshift(X, 1),
    lambda dx: fftpack.fftfreq(5, dx),
    lambda dx: fftpack.rfftfreq(5, dx),
    lambda dx: fftpack.rfftfreq(n=4, d=dx),
    lambda dx: fftpack.next_fast_len(7) * dx,
]


@pytest.mark.parametrize("f", CALLS)
def test_call(f, check_call):
    check_call(f, *[globals()[name] for name in inspect.signature(f).parameters])
