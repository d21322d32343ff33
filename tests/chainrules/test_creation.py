import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, ZeroTangent, frule, rrule
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from chainrules_core.testing.inputs.seeds import const
from tests.helpers import case

V = REAL.draw(3, rng=1)
X = REAL.draw((2, 3), rng=2)
X32 = REAL.draw((2, 3), np.float32, rng=3)
Z = COMPLEX.draw((2, 3), rng=4)
STRIDED = REAL.draw((4, 6), rng=5)[::2, ::-2]
POINT = np.array(1.5)
EMPTY = np.zeros((0, 3))
Pair = namedtuple("Pair", "a b")


ARRAY = [
    case(np.array, [1.0, 2.0]),
    case(np.array, (1.0, 2.0, 3)),
    case(np.array, [[1.0, 2.0], [3.0, 4.0]]),
    case(np.array, [(1.0, 2), [3.0, POINT]]),
    case(np.array, [V, [1.0, 2.0, 3.0]]),
    case(np.array, [X, STRIDED]),
    case(np.array, [1.0, True, 2]),
    case(np.array, [1.0, 2 + 3j]),
    case(np.array, [V, Z[0]]),
    case(np.array, [np.float32(1.5), np.float32(2.5)]),
    case(np.array, [Pair(1.0, 2.0), (3.0, 4.0)]),
    case(np.array, Pair(1.0, V[0])),
    case(np.array, X),
    case(np.array, X32),
    case(np.array, Z),
    case(np.array, 1.5),
    case(np.array, POINT),
    case(np.array, EMPTY),
    case(np.array, [EMPTY]),
    case(np.array, [1.0, 2.0], np.float32),
    case(np.array, [1.0, 2.0], dtype=complex),
    case(np.array, X, dtype=np.float32, copy=True, order="F"),
    case(np.array, [1.0, 2.0], ndmin=3),
    case(np.array, V, ndmin=2),
    case(np.array, object=[1.0, 2.0]),
    case(np.asarray, [1.0, V[0]]),
    case(np.asarray, X, np.float32),
    case(np.asarray, X, dtype=float, order="F"),
    case(np.asarray, a=[[1.0], [2.0]]),
    case(np.asanyarray, [[1.0, 2.0]]),
    case(np.ascontiguousarray, STRIDED),
    case(np.ascontiguousarray, 1.5),
    case(np.ascontiguousarray, [1.0, 2.0], dtype=np.float32),
    case(np.asfortranarray, X),
    case(np.asfortranarray, [[1.0, 2.0]]),
    case(np.require, X, np.float32, ["C", "W"]),
    case(np.require, [1.0, 2.0]),
    case(np.asarray_chkfinite, X),
    case(np.asarray_chkfinite, [1.0, 2.0], float),
    case(np.fromiter, [1.0, 2.0, 3.0], float),
    case(np.fromiter, [1.0, 2.0, 3.0], dtype=np.float32),
    case(np.copy, X),
    case(np.copy, X32, "F"),
    case(np.copy, Z, order="C"),
    case(np.copy, 1.5),
]
CASTS = [
    case(np.ndarray.astype, X, np.float32),
    case(np.ndarray.astype, X32, np.float64),
    case(np.ndarray.astype, X, dtype=complex),
    case(np.ndarray.astype, X32, np.complex128),
    case(np.ndarray.astype, Z, np.complex64),
    case(np.ndarray.astype, X, float, copy=False),
    case(np.ndarray.astype, X, "f4", order="F"),
    case(np.ndarray.astype, X, int),
    case(np.ndarray.astype, X, bool),
    case(np.ndarray.astype, EMPTY, np.float32),
    case(np.astype, X, np.float32),
    case(np.astype, X32, np.float64, copy=False),
    case(np.astype, X, np.int64),
    case(np.float64, 1.5),
    case(np.float64, np.float32(1.5)),
    case(np.float64, X32),
    case(np.float64, [1.0, 2.0]),
    case(np.float32, 1.5),
    case(np.float32, X),
    case(np.float16, 1.5),
    case(np.longdouble, 1.5),
    case(np.complex128, 1.5),
    case(np.complex128, 1 + 2j),
    case(np.complex128, X),
    case(np.complex128, 1.5, 2.5),
    case(np.complex64, 1 + 2j),
    case(np.int64, 1.5),
]
FULL = [
    case(np.full, (2, 3), 1.5),
    case(np.full, 4, fill_value=1.5),
    case(np.full, (2, 3), V),
    case(np.full, shape=(2, 3), fill_value=[1.0, 2.0, 3.0]),
    case(np.full, (2, 3), [[1.0], [2.0]]),
    case(np.full, (2, 3), 1 + 2j),
    case(np.full, (2, 2), 1.5, np.float32),
    case(np.full, (2, 2), 1.5, dtype=complex),
    case(np.full, (2, 2), 1.5, dtype=int),
    case(np.full, (0, 2), 1.5),
    case(np.full, (), 1.5, order="F"),
    case(np.full_like, X, 1.5),
    case(np.full_like, X, V),
    case(np.full_like, a=X32, fill_value=[1.0, 2.0, 3.0]),
    case(np.full_like, X32, 1.5, float),
    case(np.full_like, X, 1.5, dtype=int),
    case(np.full_like, X, 1.5, shape=(4,)),
    case(np.full_like, const(np.arange(3)), 1.5, float),
    case(np.full_like, Z, 1 + 2j),
]


@pytest.mark.parametrize("f, args, kwargs", ARRAY + CASTS + FULL)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
def test_a_cast_to_real_takes_the_real_part():
    check_rule(np.ndarray.astype, Z, float)
    check_rule(np.ndarray.astype, Z, np.float32)


@pytest.mark.parametrize("f", [np.array, np.asarray, np.require])
@pytest.mark.parametrize("dtype", [int, bool, np.uint8])
def test_a_cast_to_integers_is_constant(f, dtype):
    x = np.array([1.5, 2.5])
    assert rrule(f, x, dtype)[1](np.ones(2)) == (NoTangent(), ZeroTangent(), NoTangent())
    assert frule((NoTangent(), x, NoTangent()), f, x, dtype)[1] == ZeroTangent()


def test_an_array_of_objects_has_no_rule():
    assert rrule(np.array, [1.0, 2.0], dtype=object) is None
    assert rrule(np.asarray, [1.0, "text"], object) is None


def test_the_cotangent_of_a_list_is_in_its_nesting():
    _, pullback = rrule(np.array, [[1.0, np.float32(2)], (3, True)])
    _, bar = pullback(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert bar == Tangent[list](Tangent[list](1.0, np.float32(2)), Tangent[tuple](3.0, NoTangent()))
    assert isinstance(bar[0][1], np.float32)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.copy(),
        lambda x: np.copy(x) * x,
        lambda x: x.astype(complex) * 1j,
        lambda x: x.astype(int) * x,
        lambda x: np.full_like(x, x[0, 1]) * x,
        lambda x: np.full_like(x, x[0]) * x,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)


def test_types_that_other_packages_put_into_the_table_of_numpy():
    """numpy-quaternion puts a dtype there, which is no class."""
    program = (
        "import numpy as np; np.sctypeDict['strange'] = np.dtype(float)\n"
        "from autodiff import gradient\n"
        "print(gradient(lambda x: np.float64(x) * np.ones(1)[0], 2.0))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "1.0", run.stderr
