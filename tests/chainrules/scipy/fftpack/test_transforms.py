import numpy as np
import pytest
from scipy import fftpack

from chainrules_core.testing import check_rule, const
from tests.helpers import compl, real


def case(f, *args, **kwargs):
    return pytest.param(f, args, kwargs, id=f"{f.__name__}-{np.shape(args[0])}-{args[1:]}-{kwargs}")


COMPLEX_ONES = [fftpack.fft, fftpack.ifft]
REAL_ONES = [fftpack.rfft, fftpack.irfft]
COSINES = [fftpack.dct, fftpack.idct, fftpack.dst, fftpack.idst]
COSINES_N = [fftpack.dctn, fftpack.idctn, fftpack.dstn, fftpack.idstn]
OPTIONS = [{}, {"n": 4}, {"n": 7, "axis": 0}]

CASES = [
    *[case(f, real(2, 5), **options) for f in (*COMPLEX_ONES, *REAL_ONES) for options in OPTIONS],
    *[case(f, real(6)) for f in REAL_ONES],
    *[case(f, real(n)) for f in REAL_ONES for n in (1, 2)],
    *[case(f, compl(3)) for f in COMPLEX_ONES],
    *[case(f, [1.0, 2.0, 4.0]) for f in (*COMPLEX_ONES, *REAL_ONES)],
    *[case(f, compl(3, 3)) for f in (fftpack.fftn, fftpack.ifftn, fftpack.fft2, fftpack.ifft2)],
    *[case(f, real(3, 4), (2, 5), (1, 0)) for f in (fftpack.fftn, fftpack.ifftn)],
    *[case(f, real(3, 4), shape=(2, 5)) for f in (fftpack.fft2, fftpack.ifft2)],
    *[case(f, real(5), t, norm=n) for f in COSINES for t in (1, 2, 3, 4) for n in (None, "ortho")],
    *[case(f, real(4, 2), 2, 5, 0) for f in COSINES],
    *[case(f, compl(4), 3) for f in COSINES],
    *[case(f, real(3, 2), t, norm="ortho") for f in COSINES_N for t in (1, 2, 3, 4)],
    *[case(f, real(3, 2), t, (2, 3), (0, 1)) for f in COSINES_N for t in (1, 2, 3, 4)],
    *[case(fftpack.rfftfreq, const(n), 0.3) for n in (4, 5)],
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


def test_lengths_are_constants():
    check_rule(fftpack.next_fast_len, 11)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fftpack.fft(x) * fftpack.ifft(x, 4),
        lambda x: fftpack.rfft(x, n=3) * fftpack.irfft(x, 3),
        lambda x: fftpack.ifft2(fftpack.fft2(np.outer(x, x)) ** 2),
        lambda x: fftpack.fftshift(fftpack.fftfreq(4, x[0]) * x) + fftpack.rfftfreq(4, x[1]),
        lambda x: fftpack.dct(x) * fftpack.idst(x, type=3, norm="ortho"),
        lambda x: fftpack.dctn(np.outer(x, x), 1) * fftpack.idstn(np.outer(x, x)),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, np.array([0.7, -1.3, 2.1, 0.4]))
