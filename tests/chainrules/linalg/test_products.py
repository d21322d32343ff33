import operator

import numpy as np
import pytest

import autodiff
from chainrules_core import ProjectTo, rrule
from chainrules_core.engine import STEPS
from chainrules_core.testing.checks.check import check_rule
from tests.helpers import compl, real


def case(f, *args, **kwargs):
    name = f"{getattr(f, '__module__', None) or 'numpy'}.{f.__name__}"
    shapes = ",".join(str(np.shape(a)).replace(" ", "") for a in args[:2])
    return pytest.param(f, args, kwargs, id=f"{name}{shapes}{list(kwargs.values()) or ''}")


STRIDED = real(6, 8)[::2, ::-2]  # (3, 4)
F32 = {"dtype": np.float32}
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
PLANES = pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
SPACE_ALONE = pytest.mark.skipif(NUMPY >= (2, 5), reason="np.cross takes vectors of a space alone")

CASES = [
    # matmul: vectors, matrices and stacks on either side
    case(np.matmul, real(2, 3), real(3, 4)),
    case(np.matmul, compl(2, 3), compl(3, 4)),
    case(np.matmul, real(2, 3), compl(3, 4)),
    case(np.matmul, real(2, 3, **F32), real(3, 4, **F32)),
    case(np.matmul, real(2, 3, **F32), real(3, 4)),
    case(np.matmul, real(2, 3), np.arange(12).reshape(3, 4)),
    case(np.matmul, STRIDED, STRIDED.T),
    case(np.matmul, real(3), real(3, seed=3)),
    case(np.matmul, compl(3), compl(3, seed=3)),
    case(np.matmul, compl(3), compl(3, 2)),
    case(np.matmul, compl(2, 3), compl(3)),
    case(np.matmul, compl(4, 2, 3), compl(3)),
    case(np.matmul, compl(3), compl(4, 3, 2)),
    case(np.matmul, compl(4, 2, 3), compl(3, 2)),
    case(np.matmul, compl(2, 3), compl(4, 3, 2)),
    case(np.matmul, compl(4, 2, 3), compl(4, 3, 2)),
    case(np.matmul, real(5, 1, 2, 3), real(4, 3, 2)),
    case(np.matmul, real(1, 2, 3), real(4, 3, 2)),
    case(np.matmul, real(2, 0), real(0, 3)),
    case(np.matmul, real(0, 2), real(2, 3)),
    case(np.matmul, real(0, 2, 3), real(3, 2)),
    case(np.matmul, real(2, 3), real(0, 3, 2)),
    case(np.matmul, real(1, 1), real(1, 1, seed=3)),
    case(np.matmul, real(3, 2), real(4, 3), axes=[(1, 0), (1, 0), (0, 1)]),
    case(np.matmul, real(3, 2), real(4, 3), axes=[(-1, -2), (1, 0), (1, 0)]),
    case(np.matmul, compl(3, 2, 5), compl(3, 4), axes=[(1, 0), (0, 1), (0, 1)]),
    case(np.matmul, real(3), real(4, 3), axes=[0, (1, 0), 0]),
    case(np.matmul, real(2, 3), real(3, 4), dtype=np.float64, casting="no", order="F"),
    case(operator.matmul, compl(2, 3), compl(3, 4)),
    case(operator.matmul, real(4, 2, 3), real(3)),
    case(np.linalg.matmul, compl(2, 3), compl(4, 3, 2)),
    # dot
    case(np.dot, real(3), real(3, seed=3)),
    case(np.dot, compl(2, 3), compl(3, 4)),
    case(np.dot, real(2, 3), real(3)),
    case(np.dot, compl(3), compl(3, 2)),
    case(np.dot, compl(5, 2, 3), compl(4, 3, 2)),
    case(np.dot, compl(5, 2, 3), compl(3)),
    case(np.dot, compl(3), compl(5, 3, 2)),
    case(np.dot, real(5, 2, 3), real(3, 2)),
    case(np.dot, 2.5, compl(4, 2)),
    case(np.dot, compl(4, 2), 2.5 + 1j),
    case(np.dot, np.array(2.5), real(2)),
    case(np.dot, 2.5, -1.5),
    case(np.dot, real(2, 3, **F32), real(3, 4, **F32)),
    case(np.dot, real(0), real(0)),
    case(np.dot, STRIDED, STRIDED.T),
    # inner, vdot, outer
    case(np.inner, real(3), real(3, seed=3)),
    case(np.inner, compl(2, 3), compl(4, 3)),
    case(np.inner, compl(5, 2, 3), compl(4, 3)),
    case(np.inner, compl(3), compl(4, 3)),
    case(np.inner, 2.5, compl(2, 3)),
    case(np.inner, real(2, 3), np.array(2.5)),
    case(np.inner, 2.5, 1.5),
    case(np.inner, real(2, 0), real(3, 0)),
    case(np.vdot, real(3), real(3, seed=3)),
    case(np.vdot, compl(2, 3), compl(3, 2)),
    case(np.vdot, real(2, 3), compl(6)),
    case(np.vdot, 2.5 + 1j, 1.5 - 2j),
    case(np.vdot, real(3, **F32), real(3, seed=3, **F32)),
    case(np.vdot, real(0), real(0)),
    case(np.outer, real(3), real(2)),
    case(np.outer, compl(2, 3), compl(2, 2)),
    case(np.outer, 2.5, compl(2)),
    case(np.outer, real(3), compl(2)),
    case(np.outer, real(0), real(2)),
    case(np.linalg.outer, compl(3), compl(2)),
    # vecdot, matvec, vecmat
    case(np.vecdot, real(3), real(3, seed=3)),
    case(np.vecdot, compl(3, 2), compl(3, 2, seed=3)),
    case(np.vecdot, compl(3, 2), compl(4, 3, 2)),
    case(np.vecdot, compl(1, 2), compl(3, 2)),
    case(np.vecdot, compl(3, 2), compl(3, 2, seed=3), axis=0),
    case(np.vecdot, compl(3, 2), compl(3, 2, seed=3), axis=0, keepdims=True),
    case(np.vecdot, compl(3, 2), compl(3, 2, seed=3), keepdims=True),
    case(np.vecdot, compl(3, 2), compl(2, 3), axes=[0, 1]),
    case(np.vecdot, compl(3, 2), compl(2, 3), axes=[0, 1, 0], keepdims=True),
    case(np.vecdot, compl(3, 2), compl(2, 3), axes=[0, 1], keepdims=True),
    case(np.linalg.vecdot, compl(3, 2), compl(3, 2, seed=3)),
    case(np.linalg.vecdot, compl(3, 2), compl(5, 3, 2), axis=-2),
    case(np.matvec, compl(3, 2), compl(2)),
    case(np.matvec, compl(3, 2), compl(4, 2)),
    case(np.matvec, compl(4, 3, 2), compl(2)),
    case(np.matvec, compl(4, 3, 2), compl(4, 2)),
    case(np.matvec, compl(3, 2, 4), compl(2, 1), axes=[(0, 1), 0, 0]),
    case(np.vecmat, compl(2), compl(2, 3)),
    case(np.vecmat, compl(4, 2), compl(2, 3)),
    case(np.vecmat, compl(2), compl(4, 2, 3)),
    case(np.vecmat, compl(4, 2), compl(4, 2, 3)),
    case(np.vecmat, compl(2, 4), compl(3, 2), axes=[0, (1, 0), 0]),
    # tensordot, kron
    case(np.tensordot, compl(2, 3, 4), compl(3, 4, 2)),
    case(np.tensordot, compl(2, 3, 4), compl(4, 2), 1),
    case(np.tensordot, compl(2, 3), compl(2), 0),
    case(np.tensordot, compl(2, 3), compl(2), axes=0),
    case(np.tensordot, compl(2, 3, 4), compl(4, 2), axes=([2, 0], [0, 1])),
    case(np.tensordot, compl(2, 3, 4), compl(4, 2, 3), axes=((-1, 0, 1), (0, 1, 2))),
    case(np.tensordot, compl(2, 3), compl(3, 2), axes=(-1, 0)),
    case(np.tensordot, real(2, 3, **F32), real(3, 2, **F32), 1),
    case(np.tensordot, real(2, 0), real(0, 3), 1),
    case(np.linalg.tensordot, compl(2, 3, 4), compl(4, 2), axes=([0, 2], [1, 0])),
    case(np.linalg.tensordot, compl(2, 3), compl(2, 3, seed=3)),
    case(np.kron, real(3), real(2)),
    case(np.kron, compl(2, 3), compl(2)),
    case(np.kron, compl(2), compl(2, 3)),
    case(np.kron, compl(2, 3), compl(1, 2, 2)),
    case(np.kron, 2.5, compl(2, 2)),
    case(np.kron, compl(2, 2), np.array(1.5)),
    case(np.kron, real(2, 0), real(2, 3)),
    # cross
    case(np.cross, real(3), real(3, seed=3)),
    case(np.cross, compl(3), compl(4, 3)),
    case(np.cross, compl(2, 1, 3), compl(4, 3)),
    case(np.cross, compl(3, 4), compl(4, 3), axisa=0),
    case(np.cross, compl(3, 4), compl(4, 3), 0, 1, 0),
    case(np.cross, compl(4, 3), compl(3, 2, 4), axisb=0, axisc=1),
    case(np.cross, compl(3, 4), compl(3, 4, seed=3), axis=0),
    case(np.cross, real(4, 3, **F32), real(4, 3, seed=3, **F32)),
    case(np.linalg.cross, compl(4, 3), compl(4, 3, seed=3)),
    case(np.linalg.cross, compl(3, 4), compl(3, 4, seed=3), axis=0),
    # trace
    case(np.trace, real(3, 3)),
    case(np.trace, compl(3, 4)),
    case(np.trace, compl(3, 4), 1),
    case(np.trace, compl(3, 4), offset=-2),
    case(np.trace, compl(3, 4), 7),
    case(np.trace, compl(3, 4, 2), 1, 2, 0),
    case(np.trace, compl(3, 4, 2), offset=-1, axis1=-1, axis2=1),
    case(np.trace, real(3, 3, **F32)),
    case(np.trace, real(3, 3, **F32), dtype=np.float64),
    case(np.trace, real(0, 3)),
    case(np.linalg.trace, compl(2, 3, 4)),
    case(np.linalg.trace, compl(2, 3, 4), offset=-1),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@PLANES
@SPACE_ALONE
@pytest.mark.parametrize(
    "f, args, kwargs",
    [
        case(np.cross, compl(4, 2), compl(2)),
        case(np.cross, compl(4, 2), compl(4, 3)),
        case(np.cross, compl(4, 3), compl(4, 2)),
        case(np.cross, compl(2, 4), compl(4, 3), axisa=0, axisc=0),
    ],
)
def test_cross_in_the_plane(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


A, B, V = real(3, 3), real(3, 3, seed=4), real(3)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a @ b @ a,
        lambda a, b: np.dot(b=a, a=b),
        lambda a, b: np.tensordot(a, axes=1, b=b),
        lambda a, b: np.matmul(a, b[0]),
        lambda a, b: a.dot(b).trace(),
        lambda a, b: np.dot(a, b, out=np.empty((3, 3))),
        lambda a, b: np.outer(a[0], b[1]) @ V,
        lambda a, b: np.vdot(a, b) * np.inner(a, b),
        lambda a, b: np.kron(a[:2], b),
        lambda a, b: np.cross(a, b[0]),
        lambda a, b: np.tensordot(a, b, ((0, 1), (1, 0))),
        lambda a, b: [[1.0, 2.0, 3.0]] @ a + b,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A, B)


def test_no_copy_of_real_matrices():
    """The pullback is two products; a real factor is transposed as a view and not conjugated."""
    from chainrules.linalg.matrices import adjoint, conj

    assert conj(A) is A
    assert np.shares_memory(adjoint(A), A)


@PLANES
@SPACE_ALONE
def test_second_derivatives_of_the_product_of_two_vectors_of_a_plane():
    # Its cotangent may be a float of Python's.
    def f(x):
        return np.exp(np.cross(x, x * np.array([0.3, -0.4])))

    x, h = np.array([1.0, 2.0]), 1e-5
    expected = (autodiff.gradient(f, x + h) - autodiff.gradient(f, x - h)) / (2 * h)
    np.testing.assert_allclose(autodiff.hvp(f, x, np.ones(2)), expected, rtol=1e-8)


PRODUCTS = [np.dot, np.inner, np.matmul, operator.matmul, np.linalg.matmul, np.outer,
            np.linalg.outer]  # fmt: skip


@pytest.mark.parametrize("f", PRODUCTS)
@pytest.mark.parametrize("dtype", [float, complex])
def test_subscripts_say_what_the_product_and_its_adjoints_are(f, dtype):
    rng = np.random.default_rng(5)

    def drawn(*shape):
        return rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype is complex else 0)

    sizes = {"i": 2, "j": 3, "k": 4}
    some = np.ones(2, dtype)
    subscripts = rrule.entry(f).resolve((some, some), {}, None)[0].subscripts
    assert subscripts
    for ndims, text in subscripts.items():
        factors, ys = text.split("->")
        each = factors.split(",")
        a, b = (drawn(*[sizes[k] for k in xs]) for xs in each)
        assert ndims == (a.ndim, b.ndim)
        rule, _, _ = rrule.entry(f).resolve((a, b), {}, None)
        np.testing.assert_allclose(f(a, b), np.einsum(text, a, b))
        y_bar = drawn(*[sizes[k] for k in ys]) if ys else 0.7
        for j, (adjoint, seen) in enumerate(
            zip(rule.adjoints, ((ProjectTo(a), b), (a, ProjectTo(b))), strict=True)
        ):
            backwards = f"{ys},{each[1 - j]}->{each[j]}"
            expected = np.einsum(backwards, y_bar, np.conj((a, b)[1 - j]))
            np.testing.assert_allclose(adjoint(y_bar, *seen), expected)


@pytest.mark.parametrize("f", [np.cross, np.linalg.cross])
@pytest.mark.parametrize("a, b", [(real(3), real(3, seed=3)), (real(4, 3), real(2, 1, 3))])
def test_cross_in_steps(f, a, b):
    np.testing.assert_allclose(STEPS[f](a, b), np.cross(a, b), rtol=1e-14, atol=1e-15)
    assert STEPS[f](a, b[..., :2]) is NotImplemented
    assert STEPS[f](a, b, axis=0) is NotImplemented

    def loss(a, b):
        return np.sum(np.sin(f(a, b)))

    compiled = autodiff.compile(lambda a, b: autodiff.gradient(loss, a, b))
    for k in (1.0, 2.0):
        expected = autodiff.gradient(loss, a * k, b)
        for x, y in zip(compiled(a * k, b), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
