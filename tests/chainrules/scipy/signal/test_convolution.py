import numpy as np
import pytest
from scipy import signal

from chainrules.scipy.signal.convolution import few_sums
from chainrules_core import NoTangent, rrule, unthunk
from chainrules_core.testing import check_rule
from tests.helpers import compl, real

MODES = ("full", "same", "valid")
METHODS = ("auto", "direct", "fft")


def case(f, *args, **kwargs):
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{[np.shape(a) for a in args]}{kwargs}")


BY_METHOD = (signal.convolve, signal.correlate)
BY_FFT = (signal.fftconvolve, signal.oaconvolve)
ALL = (*BY_METHOD, *BY_FFT)
AXES = (0, (1,), [-1, 0])
SIZES = [(5, 3), (3, 5), (4, 4), (4, 2), (1, 3)]
PLANES = [((4, 3), (2, 3)), ((2, 2), (3, 4)), ((3, 3), (1, 2))]

CASES = [
    *[case(f, real(n), real(m), mode=k) for f in ALL for n, m in SIZES for k in MODES],
    *[case(f, real(4), real(3), k, m) for f in BY_METHOD for k in MODES for m in METHODS],
    *[case(f, compl(4), real(3), mode=k) for f in ALL for k in MODES],
    *[case(f, real(2), compl(3), mode=k, method="direct") for f in BY_METHOD for k in MODES],
    *[case(f, real(*a), real(*v), mode=k) for f in BY_METHOD for a, v in PLANES for k in MODES[:2]],
    *[case(f, real(3, 4), real(2, 2), mode="valid") for f in ALL],
    *[case(f, real(2, 3, 2), real(2, 1, 2)) for f in ALL],
    *[case(f, real(4, dtype=np.float32), real(3, dtype=np.float32)) for f in ALL],
    *[case(f, real(8)[::2], real(6)[::-2]) for f in ALL],
    *[case(f, [1.0, 2.0, 3.0], real(2)) for f in ALL],
    *[case(f, real(2), [1.0, 2.0, 3.0]) for f in ALL],
    *[case(f, np.array(2.0), np.array(3.0)) for f in ALL],
    *[case(f, real(4, 3), real(4, 3), k, ax) for f in BY_FFT for k in MODES for ax in AXES],
    *[case(f, real(4, 5), real(1, 3), k, axes=1) for f in BY_FFT for k in MODES],
    *[case(f, real(1, 5), real(3, 3), k, axes=1) for f in BY_FFT for k in MODES],
    *[case(signal.oaconvolve, real(40), real(4), k) for k in MODES],
]  # fmt: skip


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("f", ALL)
@pytest.mark.parametrize("mode", MODES)
def test_engine(f, mode, check_engine):
    check_engine(lambda a, v: f(a, in2=v, mode=mode), real(4), real(3))
    check_engine(lambda x: f([x[0], x[1] * 1j, 1.0], x[1:], mode), real(3))


@pytest.mark.parametrize("x, kernel", [(real(2, 50), real(2, 44)), (compl(50), real(50))])
def test_few_sums(x, kernel, check_engine):
    found = [
        signal.convolve(a, b, "valid")
        for a, b in zip(*map(np.atleast_2d, (x, kernel)), strict=True)
    ]
    np.testing.assert_allclose(np.atleast_2d(few_sums(x, kernel)), found, atol=1e-12)
    check_engine(few_sums, x[..., :12], kernel[..., :9])


@pytest.mark.parametrize("f", ALL)
@pytest.mark.parametrize("a, v", [(real(9000), compl(7)), (real(5), real(9001))])
def test_long_arrays(f, a, v):
    y, back = rrule(f, a, v)
    same = signal.correlate if f is signal.correlate else signal.convolve
    expected = rrule(same, a, v, method="direct")
    y_bar = np.cos(np.arange(len(y)))
    for bar, other in zip(back(y_bar)[1:], expected[1](y_bar)[1:], strict=True):
        np.testing.assert_allclose(unthunk(bar), unthunk(other), atol=1e-9)


def test_constants():
    assert rrule(signal.choose_conv_method, real(3), real(3))[1](1.0) == (NoTangent(),) * 3
    check_rule(signal.correlation_lags, 4, 3)
