"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
from scipy import fft

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
F = np.asfortranarray(X)
S = np.repeat(X, 2, 1)[:, ::2]
dx = 0.35
x1 = np.array([0.7])
pa = np.exp(real(8) * 0.3)
mu = 0.4
dln = 0.1
off = 0.05
bi = 0.1
n4 = real(4)
r8 = real(8)
r9 = real(9)

CALLS = [
    lambda x: fft.fft(x),
    lambda z: fft.fft(z),
    lambda x5: fft.fft(x5),
    lambda z5: fft.fft(z5),
    lambda X: fft.fft(X),
    lambda x: fft.ifft(x),
    lambda z: fft.ifft(z),
    lambda x5: fft.ifft(x5),
    lambda z5: fft.ifft(z5),
    lambda X: fft.ifft(X),
    lambda x: fft.rfft(x),
    lambda x5: fft.rfft(x5),
    lambda X: fft.rfft(X),
    lambda x1: fft.rfft(x1),
    lambda S: fft.rfft(S),
    lambda x: fft.ihfft(x),
    lambda x5: fft.ihfft(x5),
    lambda X: fft.ihfft(X),
    lambda x1: fft.ihfft(x1),
    lambda S: fft.ihfft(S),
    lambda z: fft.irfft(z),
    lambda z5: fft.irfft(z5),
    lambda Z: fft.irfft(Z),
    lambda x: fft.irfft(x),
    lambda S: fft.irfft(S),
    lambda z: fft.hfft(z),
    lambda z5: fft.hfft(z5),
    lambda Z: fft.hfft(Z),
    lambda x: fft.hfft(x),
    lambda S: fft.hfft(S),
    lambda X: fft.fft2(X),
    lambda X3: fft.fft2(X3),
    lambda F: fft.fft2(F),
    lambda Z: fft.fft2(Z),
    lambda Z3: fft.fft2(Z3),
    lambda X: fft.ifft2(X),
    lambda X3: fft.ifft2(X3),
    lambda F: fft.ifft2(F),
    lambda Z: fft.ifft2(Z),
    lambda Z3: fft.ifft2(Z3),
    lambda X: fft.fftn(X),
    lambda X3: fft.fftn(X3),
    lambda F: fft.fftn(F),
    lambda Z: fft.fftn(Z),
    lambda Z3: fft.fftn(Z3),
    lambda X: fft.ifftn(X),
    lambda X3: fft.ifftn(X3),
    lambda F: fft.ifftn(F),
    lambda Z: fft.ifftn(Z),
    lambda Z3: fft.ifftn(Z3),
    lambda X: fft.rfft2(X),
    lambda X3: fft.rfft2(X3),
    lambda F: fft.rfft2(F),
    lambda X3: fft.rfft2(X3, s=(2, 5)),
    lambda X3: fft.rfft2(X3, s=(4, 3), axes=(0, 1)),
    lambda X: fft.rfftn(X),
    lambda X3: fft.rfftn(X3),
    lambda F: fft.rfftn(F),
    lambda X3: fft.rfftn(X3, s=(2, 5)),
    lambda X3: fft.rfftn(X3, s=(4, 3), axes=(0, 1)),
    lambda X: fft.ihfft2(X),
    lambda X3: fft.ihfft2(X3),
    lambda F: fft.ihfft2(F),
    lambda X3: fft.ihfft2(X3, s=(2, 5)),
    lambda X3: fft.ihfft2(X3, s=(4, 3), axes=(0, 1)),
    lambda X: fft.ihfftn(X),
    lambda X3: fft.ihfftn(X3),
    lambda F: fft.ihfftn(F),
    lambda X3: fft.ihfftn(X3, s=(2, 5)),
    lambda X3: fft.ihfftn(X3, s=(4, 3), axes=(0, 1)),
    lambda Z: fft.irfft2(Z),
    lambda Z3: fft.irfft2(Z3),
    lambda X: fft.irfft2(X),
    lambda Z3: fft.irfft2(Z3, s=(2, 5)),
    lambda Z3: fft.irfft2(Z3, s=(4, 3), axes=(0, 1)),
    lambda Z: fft.irfftn(Z),
    lambda Z3: fft.irfftn(Z3),
    lambda X: fft.irfftn(X),
    lambda Z3: fft.irfftn(Z3, s=(2, 5)),
    lambda Z3: fft.irfftn(Z3, s=(4, 3), axes=(0, 1)),
    lambda Z: fft.hfft2(Z),
    lambda Z3: fft.hfft2(Z3),
    lambda X: fft.hfft2(X),
    lambda Z3: fft.hfft2(Z3, s=(2, 5)),
    lambda Z3: fft.hfft2(Z3, s=(4, 3), axes=(0, 1)),
    lambda Z: fft.hfftn(Z),
    lambda Z3: fft.hfftn(Z3),
    lambda X: fft.hfftn(X),
    lambda Z3: fft.hfftn(Z3, s=(2, 5)),
    lambda Z3: fft.hfftn(Z3, s=(4, 3), axes=(0, 1)),
    lambda x: fft.dct(x, 1),
    lambda x: fft.dct(x, 1, norm="ortho"),
    lambda x: fft.dct(x, 1, n=4),
    lambda x: fft.dct(x, 1, n=9),
    lambda x: fft.dct(x, 1, norm="forward"),
    lambda x: fft.idct(x, 1),
    lambda x: fft.idct(x, 1, norm="ortho"),
    lambda x: fft.idct(x, 1, n=4),
    lambda x: fft.idct(x, 1, n=9),
    lambda x: fft.idct(x, 1, norm="forward"),
    lambda x: fft.dst(x, 1),
    lambda x: fft.dst(x, 1, norm="ortho"),
    lambda x: fft.dst(x, 1, n=4),
    lambda x: fft.dst(x, 1, n=9),
    lambda x: fft.dst(x, 1, norm="forward"),
    lambda x: fft.idst(x, 1),
    lambda x: fft.idst(x, 1, norm="ortho"),
    lambda x: fft.idst(x, 1, n=4),
    lambda x: fft.idst(x, 1, n=9),
    lambda x: fft.idst(x, 1, norm="forward"),
    lambda X: fft.dctn(X),
    lambda X3: fft.dctn(X3),
    lambda X: fft.dctn(X, 1),
    lambda X: fft.dctn(X, type=3, norm="ortho"),
    lambda X3: fft.dctn(X3, axes=(0, 2)),
    lambda X: fft.idctn(X),
    lambda X3: fft.idctn(X3),
    lambda X: fft.idctn(X, 1),
    lambda X: fft.idctn(X, type=3, norm="ortho"),
    lambda X3: fft.idctn(X3, axes=(0, 2)),
    lambda X: fft.dstn(X),
    lambda X3: fft.dstn(X3),
    lambda X: fft.dstn(X, 1),
    lambda X: fft.dstn(X, type=3, norm="ortho"),
    lambda X3: fft.dstn(X3, axes=(0, 2)),
    lambda X: fft.idstn(X),
    lambda X3: fft.idstn(X3),
    lambda X: fft.idstn(X, 1),
    lambda X: fft.idstn(X, type=3, norm="ortho"),
    lambda X3: fft.idstn(X3, axes=(0, 2)),
    lambda x: fft.fftshift(x),
    lambda X: fft.fftshift(X, 0),
    lambda X: fft.fftshift(X, axes=(1,)),
    lambda x5: fft.ifftshift(x5),
    lambda Z: fft.ifftshift(Z),
    lambda dx: fft.fftfreq(4, dx),
    lambda dx: fft.fftfreq(n=5, d=dx),
    lambda dx: fft.rfftfreq(5, dx),
    lambda dx: fft.rfftfreq(4, d=dx),
    lambda pa, dln, mu: fft.fht(pa, dln, mu),
    lambda pa: fft.fht(pa, 0.1, 0.4),
    lambda pa, mu, off: fft.fht(pa, 0.1, mu=mu, offset=off),
    lambda pa, bi: fft.fht(pa, 0.1, 0.4, bias=bi),
    lambda pa: fft.ifht(pa, 0.1, 0.4),
    lambda mu, bi: fft.fhtoffset(0.1, mu, bias=bi),
    lambda dx: fft.next_fast_len(7) * dx,
    lambda dx: fft.prev_fast_len(7) * dx,
]


@pytest.mark.parametrize("f", CALLS)
def test_call(f, check_call):
    check_call(f, *[globals()[name] for name in inspect.signature(f).parameters])
