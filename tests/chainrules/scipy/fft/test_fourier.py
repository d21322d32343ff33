import numpy as np
import pytest
from scipy import fft

from chainrules.scipy.private import first_of
from chainrules_core import NoTangent, frule, rrule
from chainrules_core.registry.entries import key_of
from chainrules_core.testing import check_rule, const
from tests.helpers import compl, real


def case(f, *args, **kwargs):
    name = getattr(f, "__name__", f)
    return pytest.param(f, args, kwargs, id=f"{name}-{np.shape(args[0])}-{kwargs}")


ONE_AXIS = [fft.fft, fft.ifft, fft.rfft, fft.irfft, fft.hfft, fft.ihfft]
FROM_COMPLEX = [
    fft.fft2,
    fft.ifft2,
    fft.fftn,
    fft.ifftn,
    fft.irfft2,
    fft.irfftn,
    fft.hfft2,
    fft.hfftn,
]
SEVERAL = [*FROM_COMPLEX, fft.rfft2, fft.rfftn, fft.ihfft2, fft.ihfftn]
SHIFTS = [fft.fftshift, fft.ifftshift]
OPTIONS = [{}, {"n": 4}, {"n": 7, "axis": 0}, {"norm": "ortho"}, {"norm": "forward", "workers": 1}]
SEVERAL_OPTIONS = [{}, {"axes": (1, 0), "norm": "ortho"}, {"s": (4, 5)}, {"s": 3, "axes": 0}]

CASES = [
    *[case(f, real(2, 5), **options) for f in ONE_AXIS for options in OPTIONS],
    *[case(f, real(4, dtype=np.float32)) for f in ONE_AXIS],
    *[case(f, [1.0, 2.0, 4.0], 5, 0, "backward") for f in ONE_AXIS],
    *[case(f, real(3, 4), **options) for f in SEVERAL for options in SEVERAL_OPTIONS],
    *[case(f, compl(3, 3), (4, 2), (0, 1), "forward") for f in FROM_COMPLEX],
    *[case(f, real(2, 3, 3)) for f in SEVERAL],
    *[case(f, real(5)) for f in SHIFTS],
    *[case(f, compl(4, 3), axes=(0,)) for f in SHIFTS],
    *[case(f, const(n), 0.3) for f in (fft.fftfreq, fft.rfftfreq) for n in (4, 5)],
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("f", [fft.fft, fft.dct, fft.idstn])
def test_the_argument_is_not_overwritten(f):
    x = compl(4)
    y, pullback = rrule(f, x, overwrite_x=True)
    pullback(y)
    _, y_dot = frule((NoTangent(), x), f, x, overwrite_x=True)
    np.testing.assert_array_equal(x, compl(4))
    np.testing.assert_array_equal(y_dot, f(x))


@pytest.mark.parametrize("f", [fft.next_fast_len, fft.prev_fast_len])
def test_lengths_are_constants(f):
    y, pullback = rrule(f, 11)
    assert y == f(11)
    assert pullback(1.0) == (NoTangent(), NoTangent())
    check_rule(f, 11)


def test_workers_are_a_constant():
    check_rule(fft.get_workers)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fft.fft(x),
        lambda x: fft.irfft(x + 1j * x**2, 5, overwrite_x=True),
        lambda x: fft.hfft2(np.outer(x, x) * 1j),
        lambda x: fft.ihfftn(x=np.outer(x, x), s=(3, 2)),
        lambda x: fft.ifftn(fft.fftn(np.outer(x, x), workers=1) ** 2),
        lambda x: fft.ifftshift(fft.fftshift(x) * x),
        lambda x: fft.fftfreq(4, x[0]) * fft.rfftfreq(6, d=x[1]),
        lambda x: fft.rfft([x[0], x[1] * x[2], 1.0]),
        lambda x: fft.fft(x, fft.next_fast_len(len(x) + 3)),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, np.array([0.7, -1.3, 2.1, 0.4]))


def test_functions_made_by_pybind11_are_keys_of_their_own():
    c2c = first_of("fft._pocketfft.pypocketfft", "fft._duccfft.pyduccfft").c2c
    assert key_of(c2c) == (c2c, ())
