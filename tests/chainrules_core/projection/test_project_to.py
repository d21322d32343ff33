"""ProjectTo for numbers, arrays, and what cannot be perturbed."""

import datetime
import decimal
import enum
import fractions
import functools
import gc
import math
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes

from chainrules_core.errors import ProjectionError, TangentTypeError
from chainrules_core.projection.project_to import ProjectTo, ProjectToArray, identity, no_tangent
from chainrules_core.tangents import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    Thunk,
    ZeroTangent,
    not_implemented,
    thunk,
    unthunk,
)

ZERO, NO, MISSING = ZeroTangent(), NoTangent(), not_implemented("for a test")


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Traced:
    """As an engine's traced value: takes part in NumPy's protocols, must never be converted."""

    def __init__(self, value, log=()):
        self.value, self.log = np.asarray(value), list(log)

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)

    def astype(self, dtype):
        return Traced(self.value.astype(dtype), [*self.log, "astype"])

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise AssertionError("no ufunc is needed")

    def __array_function__(self, function, types, args, kwargs):
        (_, *rest) = args
        return Traced(function(self.value, *rest, **kwargs), [*self.log, function.__name__])

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("a traced value was converted to an array")

    def __float__(self):
        raise AssertionError("a traced value was converted to a float")

    __complex__ = __int__ = __bool__ = __float__


def same(a, b):
    """Whether two values agree in type, dtype, shape and value."""
    if isinstance(a, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


f4, f8, c8, c16 = np.float32, np.float64, np.complex64, np.complex128


# ------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "x, dx, projected",
    [
        # Python's numbers keep to Python's
        (1.0, 2.0, 2.0),
        (1.0, f8(2), 2.0),
        (1.0, f4(2), 2.0),
        (1.0, 2, 2.0),
        (1.0, True, 1.0),
        (1.0, 2 + 3j, 2.0),
        (1.0, c8(2 + 3j), 2.0),
        (1.0, np.array(2.0), 2.0),
        (1.0, np.array([[2.0]]), 2.0),
        (1.0, np.array([2 + 3j]), 2.0),
        (1.0, np.array([fractions.Fraction(1, 2)], object), fractions.Fraction(1, 2)),
        (1j, 2.0, 2 + 0j),
        (1j, 2, 2 + 0j),
        (1j, c8(2 + 3j), 2 + 3j),
        (1j, np.array([2.0]), 2 + 0j),
        # integers get floats
        (1, 2, 2.0),
        (1, 2 + 3j, 2.0),
        (np.int8(1), 2, f8(2)),
        (np.uint64(1), f4(2), f8(2)),
        # precision
        (f4(1), 2.0, f4(2)),
        (f4(1), f8(0.1), f4(0.1)),
        (f4(1), 2 + 3j, f4(2)),
        (f4(1), np.array([2.0]), f4(2)),
        (np.float16(1), f8(2), np.float16(2)),
        (f8(1), 2.0, f8(2)),
        (np.longdouble(1), 2.0, np.longdouble(2)),
        (c8(1), 2 + 3j, c8(2 + 3j)),
        (c8(1), f8(2), c8(2)),
        (c16(1), 2, c16(2)),
        # numbers of other libraries
        (1.0, fractions.Fraction(1, 2), fractions.Fraction(1, 2)),
        (1.0, decimal.Decimal(1), decimal.Decimal(1)),
        (fractions.Fraction(1, 2), 2 + 3j, 2 + 3j),
        (decimal.Decimal(1), 2.0, 2.0),
    ],
)
def test_numbers(x, dx, projected):
    result = ProjectTo(x)(dx)
    assert same(result, projected)
    assert same(ProjectTo(x)(result), projected)


@pytest.mark.parametrize("x", [1.0, 1, 1j, f4(1), np.int8(1)])
@pytest.mark.parametrize("dx", [np.ones(2), np.ones(0), np.ones((2, 1)), Traced(np.ones(2))])
def test_a_number_has_no_array_for_a_cotangent(x, dx):
    with pytest.raises(ProjectionError, match=r"An argument of shape \(\) cannot"):
        ProjectTo(x)(dx)


def test_a_number_from_its_structural_tangent():
    assert ProjectTo(1j)(Tangent[complex](real=2.0, imag=3.0)) == 2 + 3j
    assert ProjectTo(1j)(Tangent[complex](imag=3.0)) == 3j
    assert ProjectTo(1.0)(Tangent[complex](real=2.0, imag=3.0)) == 2.0


@pytest.mark.parametrize(
    "x, dtype", [(1.0, f8), (1, f8), (f4(1), f4), (1j, c16), (c8(1), c8), (np.int8(1), f8)]
)
def test_projectors_of_numbers_describe_their_space(x, dtype):
    p = ProjectTo(x)
    assert (p.shape, p.ndim, p.size, p.dtype) == ((), 0, 1, np.dtype(dtype))
    assert ProjectTo(x) is p


# -------------------------------------------------------------------------------------- arrays


def ones(shape, dtype=float):
    return np.ones(shape, dtype)


@pytest.mark.parametrize(
    "x, dx, projected",
    [
        (ones(3), ones(3, int), ones(3)),
        (ones(3), ones(3, bool), ones(3)),
        (ones(3), ones(3, f4), ones(3)),
        (ones(3), ones(3) * (1 + 1j), ones(3)),
        (ones(3, f4), ones(3), ones(3, f4)),
        (ones(3, f4), ones(3) * (1 + 1j), ones(3, f4)),
        (ones(3, np.float16), ones(3), ones(3, np.float16)),
        (ones(3, c16), ones(3), ones(3, c16)),
        (ones(3, c8), ones(3), ones(3, c8)),
        (ones(3, int), ones(3, f4), ones(3)),
        (ones(3, np.uint8), ones(3, int), ones(3)),
        (ones(3, ">f8"), ones(3), ones(3)),
        (ones(3, ">i4"), ones(3), ones(3)),
        # shapes, up to axes of length one
        (ones(3), ones((3, 1)), ones(3)),
        (ones(3), ones((1, 3)), ones(3)),
        (ones((3, 1)), ones(3), ones((3, 1))),
        (ones((1, 3, 1)), ones(3), ones((1, 3, 1))),
        (ones(()), ones(1), ones(())),
        (ones(()), 1.0, ones(())),
        (ones(()), 1 + 1j, ones(())),
        (ones(()), f4(1), ones(())),
        (ones((), f4), 1.0, ones((), f4)),
        (ones(1), 1.0, ones(1)),
        (ones((1, 1)), 1, ones((1, 1))),
        (ones((0, 3)), ones((0, 3), f4), ones((0, 3))),
        # elements of other libraries keep their types
        (ones(1), np.array([fractions.Fraction(1, 2)]), np.array([fractions.Fraction(1, 2)])),
    ],
)
def test_arrays(x, dx, projected):
    result = ProjectTo(x)(dx)
    assert same(result, projected)
    assert ProjectTo(x)(result) is result


@pytest.mark.parametrize("dtype", [f4, f8, c8, c16, np.float16, np.longdouble])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_what_fits_is_the_same_object(shape, dtype):
    dx = ones(shape, dtype)
    assert ProjectTo(ones(shape, dtype))(dx) is dx
    transposed = ones(shape[::-1], dtype).T
    assert ProjectTo(dx)(transposed) is transposed


@given(array_shapes(min_dims=0, min_side=0, max_side=3), st.sampled_from([f4, f8, c8, c16, int]),
       st.sampled_from([f4, f8, c8, c16, int, bool]), st.integers(0, 2))  # fmt: skip
def test_projection_is_idempotent_and_gives_the_space(shape, dtype, d_dtype, extra):
    p = ProjectTo(ones(shape, dtype))
    result = p(ones((1,) * extra + shape, d_dtype))
    assert (result.shape, result.dtype) == (p.shape, p.dtype)
    assert p(result) is result


@pytest.mark.parametrize(
    "shape, d_shape",
    [((3,), (2,)), ((3,), ()), ((3,), (3, 3)), ((3, 1), (1, 3)), ((2, 3), (3, 2)), ((2, 3), (6,)),
     ((0,), ()), ((0,), (1,)), ((), (2,)), ((1,), (2,))],
)  # fmt: skip
def test_other_shapes_are_errors(shape, d_shape):
    with pytest.raises(ProjectionError) as caught:
        ProjectTo(ones(shape))(ones(d_shape))
    assert (caught.value.expected, caught.value.found) == (shape, d_shape)
    start = f"An argument of shape {shape} cannot have a cotangent of shape {d_shape}."
    assert str(caught.value).startswith(start)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("dx", [(1.0, 2.0), [1.0, 2.0], {"a": 1.0}, "ab", None, b"ab"])
@pytest.mark.parametrize("x", [ones(2), 1.0, 1])
def test_bare_containers_and_none_are_refused(x, dx):
    with pytest.raises(TangentTypeError):
        ProjectTo(x)(dx)


@pytest.mark.parametrize(
    "dx",
    [np.array(["1"]), np.array(["2020"], "M8[Y]"), np.str_("1"), np.datetime64("2020"),
     np.array([1], "m8[s]"), np.timedelta64(1, "s"), np.array(["1"], object)],
)  # fmt: skip
@pytest.mark.parametrize("x", [ones(1), 1.0, f4(1), 1j])
def test_what_is_no_number_is_refused(x, dx):
    if isinstance(x, np.ndarray) and dx.dtype == object:
        dx = dx.astype(str)
    with pytest.raises(TangentTypeError):
        ProjectTo(x)(dx)


@pytest.mark.parametrize("x", [ones((2, 3), f4), ones((2, 3), int), ones(()), ones(0)])
def test_projectors_of_arrays_describe_their_space(x):
    p = ProjectTo(x)
    assert isinstance(p, ProjectToArray)
    assert (p.shape, p.ndim, p.size) == (x.shape, x.ndim, x.size)
    assert p.dtype == (x.dtype if x.dtype.kind in "fc" else f8)


def test_subclasses_of_arrays_are_projected_like_arrays():
    class Sub(np.ndarray):
        pass

    x = ones((2, 2)).view(Sub)
    assert ProjectTo(x)(ones((2, 2), f4)).dtype == f8
    dx = ones((2, 2)).view(Sub)
    assert ProjectTo(ones((2, 2)))(dx) is dx
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    assert ProjectTo(masked)(ones(2)).shape == (2,)


def test_the_primal_is_not_kept_alive():
    class Sub(np.ndarray):
        pass

    for make in (lambda: ones(3).view(Sub), lambda: [ones(3).view(Sub)]):
        x = make()
        alive = weakref.ref(x[0] if isinstance(x, list) else x)
        p = ProjectTo(x)
        del x
        gc.collect()
        assert alive() is None
        assert p is not identity


# ----------------------------------------------------------------------- what cannot be perturbed


CONSTANTS = [
    True, np.bool_(True), "text", np.str_("a"), b"bytes", None, ..., NotImplemented, slice(1),
    Colour.RED, Level.LOW, int, Colour, np.float64, math, len, math.sin, np.sin, np.sum, str.upper,
    dict.fromkeys, np.dtype(float), np.datetime64("2020"), np.timedelta64(1, "D"),
    np.array([True]), np.array(["a"]), np.array([b"a"]), np.array(["2020"], "M8[Y]"),
    np.array([1], "m8[s]"), np.array([None, "a"]), np.array([True, None]), ZERO, NO, same,
]  # fmt: skip


@pytest.mark.parametrize("x", CONSTANTS)
@pytest.mark.parametrize("dx", [1.0, np.ones(2), Tangent[tuple](1.0), None, "a"])
def test_constants(x, dx):
    assert ProjectTo(x) is no_tangent
    assert ProjectTo(x)(dx) is NO


def test_constants_do_not_compute_thunks():
    def boom():
        raise AssertionError("computed")

    assert ProjectTo("text")(thunk(boom)) is NO


def closing_over(value):
    return lambda x: x + value


@pytest.mark.parametrize(
    "x", [closing_over(1.0), functools.partial(pow, 2), [].append, np.ones(2).sum, object(),
          datetime.date(2020, 1, 1), range(3), {1.0}, Traced(1.0), np.zeros(1, [("a", float)]),
          iter([]), np.random.default_rng(0)],
)  # fmt: skip
def test_what_is_not_known_gets_what_it_gets(x):
    assert ProjectTo(x) is identity
    for dx in (1.0, "a", None, ZERO, (1.0,)):
        assert ProjectTo(x)(dx) is dx


# ----------------------------------------------------------------------------- special tangents


EVERY = [
    1.0,
    1,
    1j,
    f4(1),
    ones(2),
    ones((), c8),
    (1.0,),
    [1.0],
    {"k": 1.0},
    "text",
    np.array([1.0, "a"], object),
]


@pytest.mark.parametrize("x", EVERY, ids=repr)
@pytest.mark.parametrize("special", [ZERO, NO, MISSING], ids=repr)
def test_zeros_and_missing_derivatives_pass(x, special):
    assert ProjectTo(x)(special) is special


@pytest.mark.parametrize(
    "x, dx",
    [(1.0, 1 + 1j), (ones(2, f4), ones(2)), ((1.0,), (1j,)), ([1.0], [1j]), ({"k": 1}, {"k": 1j})],
)
@pytest.mark.parametrize("kind", [Thunk, lambda f: InplaceableThunk(lambda buffer: buffer, f)])
def test_the_projection_of_a_thunk_is_a_thunk(x, dx, kind):
    calls = []
    p = ProjectTo(x)
    projected = p(kind(lambda: calls.append(1) or dx))
    assert type(projected) is Thunk
    assert calls == []
    assert same(unthunk(projected), p(dx))
    assert unthunk(projected) is unthunk(projected)
    assert calls == [1]


@pytest.mark.parametrize("x", [1.0, ones(2), "no"])
def test_structural_tangents_of_something_else_are_refused(x):
    dx = Tangent[tuple](1.0, 2.0)
    if x == "no" if isinstance(x, str) else False:
        assert ProjectTo(x)(dx) is NO
        return
    with pytest.raises(TangentTypeError, match=r"Tangent\[tuple\] cannot be the cotangent"):
        ProjectTo(x)(dx)


# -------------------------------------------------------------------------------- traced values


@pytest.mark.parametrize(
    "x, value, operations",
    [
        (1.0, 2.0, []),
        (1.0, 2j, ["real"]),
        (1.0, [2.0], ["reshape"]),
        (f4(1), 2.0, ["astype"]),
        (1j, 2.0, ["astype"]),
        (1, 2.0, []),
        (ones(2), [1.0, 2.0], []),
        (ones(2), [1j, 2.0], ["real"]),
        (ones(2, f4), [1j, 2.0], ["real", "astype"]),
        (ones(2), [[1.0, 2.0]], ["reshape"]),
        (ones((2, 1), c8), [1.0, 2.0], ["reshape", "astype"]),
        (ones((), f4), 1.0, ["astype"]),
    ],
)
def test_traced_cotangents_meet_traceable_operations_only(x, value, operations):
    dx = Traced(value)
    result = ProjectTo(x)(dx)
    assert isinstance(result, Traced)
    assert result.log == operations
    assert (result is dx) == (operations == [])
    assert result.value.shape == np.shape(x)


def test_traced_cotangents_without_a_dtype_pass():
    class Odd:
        __array_ufunc__ = None

    dx = Odd()
    assert ProjectTo(1.0)(dx) is dx
    assert ProjectTo(ones(2))(dx) is dx


@pytest.mark.parametrize(
    "x, text",
    [
        (1, "ProjectTo(float)"),
        (f4(1), "ProjectTo(float32)"),
        (ones((2, 3), f4), "ProjectTo(array, shape=(2, 3), dtype=float32)"),
        ("a", "ProjectTo(NoTangent())"),
        ((1.0, "a"), "ProjectTo(tuple, [ProjectTo(float), ProjectTo(NoTangent())])"),
        ({"k": 1j}, "ProjectTo(dict, {'k': ProjectTo(complex)})"),
    ],
)
def test_repr(x, text):
    assert repr(ProjectTo(x)) == text


# -------------------------------------------------------------------------------- registration


def test_registered_types_and_their_subclasses():
    class Angle:
        def __init__(self, value):
            self.value = value

    class Sharp(Angle):
        pass

    assert not isinstance(ProjectTo(Sharp(1.0)), ProjectToArray)

    @ProjectTo.register(Angle)
    def project_to_angle(x):
        return ProjectTo(x.value)

    assert ProjectTo(Angle(1.0))(1j) == 0.0
    assert ProjectTo(Sharp(1.0))(1j) == 0.0


def test_a_registration_for_a_subclass_of_arrays():
    class Sub(np.ndarray):
        pass

    ProjectTo.register(Sub)(lambda x: no_tangent)
    assert ProjectTo(ones(2).view(Sub)) is no_tangent
    assert ProjectTo(ones(2)) is not no_tangent


def test_the_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(ProjectionError((3,), (2,))))
    assert str(error) == str(ProjectionError((3,), (2,)))


def test_nothing_here_loads_scipy():
    code = (
        "import sys, numpy as np\n"
        "from chainrules_core.projection.project_to import ProjectTo\n"
        "class Foo: pass\n"
        "for x in (1.0, np.ones(2), [1.0], {'a': (1,)}, Foo(), 'a'): ProjectTo(x)\n"
        "sys.exit(any(m.split('.')[0] == 'scipy' for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
