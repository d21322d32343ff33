import numpy as np
import pytest

import autodiff
from chainrules.shapes.windows import overlapped
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL

windows = np.lib.stride_tricks.sliding_window_view
strided = np.lib.stride_tricks.as_strided
V = REAL.draw(5, rng=1)
X = REAL.draw((3, 4), rng=2)
Z = COMPLEX.draw((2, 3), rng=3)
T = REAL.draw((2, 3, 4), rng=4)
PART = REAL.draw((6, 8), rng=5)[::2, ::-2]
READ_ONLY = V.copy()
READ_ONLY.flags.writeable = False


def case(*args, **kwargs):
    return pytest.param(args, kwargs)


@pytest.mark.parametrize(
    "args, kwargs",
    [
        case(V, 2),
        case(V, (3,)),
        case(V, 5),
        case(V, 2, 0),
        case(V, window_shape=2, axis=-1),
        case(READ_ONLY, 2),
        case(V.astype(np.float32), 2),
        case(X, (2, 3)),
        case(X, 2, axis=1),
        case(X, (2, 2), axis=(1, 0)),
        case(X, (2, 2), (1, 1)),
        case(X, (), ()),
        case(PART, (2, 2)),
        case(Z, (1, 2)),
        case(T, 2, -2),
        case(np.zeros((0, 3)), 2, 1),
    ],
)
def test_sliding_window_view(args, kwargs):
    check_rule(windows, *args, fkwargs=kwargs)


@pytest.mark.parametrize(
    "args, kwargs",
    [
        case(V, (4, 2), (8, 8)),
        case(V, shape=(2, 2), strides=(16, 8)),
        case(V),
        case(V, (3,)),
        case(V, (3,), (0,)),
        case(X, (2, 2), (32, 16), writeable=False),
        case(Z, (3, 2), (16, 16)),
        case(PART, (3, 4)),
        case(np.zeros(0), (0, 2), (8, 8)),
    ],
)
def test_as_strided(args, kwargs):
    check_rule(strided, *args, fkwargs=kwargs)


def test_the_adjoint_of_windows():
    check_rule(overlapped, windows(X, (2, 2)), (3, 4), (2, 2), None)
    check_rule(overlapped, windows(V, 3), (5,), 3, 0)


def test_memory_between_the_elements_has_no_derivative():
    with pytest.raises(ValueError, match=r"as_strided reads memory that belongs to no element"):
        autodiff.gradient(lambda x: np.sum(strided(x[::2], (3,), (8,))), V)


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: windows(x, 2), V),
        (lambda x: windows(x * x, (2, 2)).mean(axis=(2, 3)), X),
        (lambda x: windows([x[0], x[1], 1.0], 2), V),
        (lambda x: windows(x, 2, subok=True), V),
        (lambda x: strided(x, (4, 2), (8, 8)), V),
        (lambda x: strided(x.T, (2, 3)), X),
    ],
)
def test_engine(f, x, check_modes):
    check_modes(f, x)


def test_a_write_into_windows_is_refused():
    def written(x):
        y = x * x
        windows(y, 2, writeable=True)[1, 1] = x[0]
        return np.sum(y)

    with pytest.raises(autodiff.MutationError, match=r"stand for one another .* windows"):
        autodiff.gradient(written, V)


def test_windows_see_a_write_into_the_array(check_modes):
    def written(x):
        y = x * x
        seen = windows(y, 2)
        y[1] = x[0]
        return seen

    check_modes(written, V)
