import numpy as np
import pytest

import autodiff
from chainrules_core.testing import check_rule, const
from tests.helpers import compl, real


def case(f, *args, **kwargs):
    return pytest.param(f, args, kwargs, id=f"{f.__name__}-{np.shape(args[0])}-{kwargs}")


fft = np.fft
READ_ONLY = real(4)
READ_ONLY.flags.writeable = False
TO_COMPLEX, FROM_HALF, TO_HALF = (fft.fft, fft.ifft), (fft.irfft, fft.hfft), (fft.rfft, fft.ihfft)
ONE_AXIS = (*TO_COMPLEX, *FROM_HALF, *TO_HALF)
OPTIONS = [
    {},
    {"n": 4},
    {"n": 7},
    {"n": 6, "axis": 0},
    {"norm": "ortho"},
    {"norm": "forward", "n": 3},
    {"norm": "backward", "axis": -2},
]
SEVERAL_OPTIONS = [
    {},
    {"axes": (0,)},
    {"axes": (1, 0), "norm": "ortho"},
    {"s": (4, 5), "axes": (0, 1)},
    {"s": (2, 6), "axes": (-1, 0), "norm": "forward"},
    {"s": (-1, 3), "axes": (-2, -1)},
]

CASES = [
    *[case(f, real(2, 5), **options) for f in ONE_AXIS for options in OPTIONS],
    *[case(f, real(4)) for f in ONE_AXIS],
    *[case(f, compl(5), **options) for f in (*TO_COMPLEX, *FROM_HALF) for options in OPTIONS[:3]],
    *[case(f, real(6, dtype=np.float32), norm="ortho") for f in ONE_AXIS],
    *[case(f, real(3, 8)[:, ::2]) for f in ONE_AXIS],
    *[case(f, READ_ONLY, 5, -1, "forward") for f in ONE_AXIS],
    *[case(f, real(0, 3)) for f in ONE_AXIS],
    *[case(f, [1.0, 2.0, 4.0]) for f in ONE_AXIS],
    *[case(f, (real(2), real(2)), 3) for f in ONE_AXIS],
    *[case(f, real(3, 4), **o) for f in (fft.fft2, fft.ifft2, fft.rfft2) for o in SEVERAL_OPTIONS],
    *[case(f, real(3, 4), **o) for f in (fft.fftn, fft.ifftn, fft.rfftn) for o in SEVERAL_OPTIONS],
    *[case(f, compl(2, 3), **o) for f in (fft.irfft2, fft.irfftn) for o in SEVERAL_OPTIONS],
    *[case(f, compl(3, 3)) for f in (fft.fft2, fft.ifft2, fft.fftn, fft.ifftn)],
    *[case(f, real(2, 3, 3)) for f in (fft.fft2, fft.rfft2, fft.fftn, fft.rfftn, fft.irfftn)],
    *[case(f, real(3, 2, dtype=np.float32)) for f in (fft.fftn, fft.rfftn, fft.irfftn)],
    case(fft.fftn, real(3, 2), (4, 2), (0, 0)),
    case(fft.ifftn, real(3, 2), (2, 5), (0, 0), "ortho"),
    *[case(f, real(5)) for f in (fft.fftshift, fft.ifftshift)],
    *[case(f, compl(4, 3), axes=0) for f in (fft.fftshift, fft.ifftshift)],
    *[case(f, real(4, 3), (1,)) for f in (fft.fftshift, fft.ifftshift)],
    *[case(f, [1.0, 2.0, 3.0]) for f in (fft.fftshift, fft.ifftshift)],
    *[case(f, const(n), 0.3) for f in (fft.fftfreq, fft.rfftfreq) for n in (4, 5)],
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("f", [fft.rfftn, fft.irfftn])
def test_real_transforms_over_an_axis_twice_are_refused(f):
    with pytest.raises(ValueError, match="axes"):
        autodiff.gradient(lambda x: np.sum(np.abs(f(x, axes=(0, 0)))), real(3, 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fft.fft(x),
        lambda x: fft.ifft(x * (1 + 2j), 5),
        lambda x: fft.rfft(a=x, n=7, norm="ortho"),
        lambda x: fft.irfft(x + 1j * x**2, 5),
        lambda x: fft.hfft(x * 1j, 6, -1, "forward"),
        lambda x: fft.ihfft(x, 3),
        lambda x: fft.fft2(np.outer(x, x)),
        lambda x: fft.irfft2(fft.rfft2(np.outer(x, x), (3, 3)), (4, 3)),
        lambda x: fft.irfftn(fft.rfftn(np.outer(x, x)) ** 2, s=(4, 4), axes=(0, 1)),
        lambda x: fft.fftshift(x**2) * fft.ifftshift(x),
        lambda x: fft.fftfreq(4, x[0]) * x,
        lambda x: fft.rfftfreq(7, d=x[1] ** 2) * x,
        lambda x: fft.fft([x[0], x[1] * x[2], 1.0]),
        lambda x: np.abs(fft.fft(x)) ** 3,
        lambda x: fft.ifft(fft.fft(x) * fft.fft([1.0, 2.0, 0.0, 1.0])),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, np.array([0.7, -1.3, 2.1, 0.4]))


def test_output_array():
    def through_a_buffer(x):
        buffer = np.zeros(4, complex)
        fft.fft(x, out=buffer)
        return np.sum(np.abs(buffer) ** 2)

    x = real(4)
    np.testing.assert_allclose(autodiff.gradient(through_a_buffer, x), 8 * x)
