"""ProjectTo for scipy.sparse: the pattern and the format of the primal."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from chainrules_core.errors import ProjectionError, TangentTypeError
from chainrules_core.operations.arithmetic import add, conj, inner, is_zero, norm
from chainrules_core.operations.zeros import add_tangent, zero_tangent
from chainrules_core.projection.project_to import ProjectTo, no_tangent
from chainrules_core.tangents import NoTangent, Thunk, ZeroTangent, not_implemented, thunk, unthunk

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
KINDS = ("array", "matrix")
G = np.arange(1.0, 25.0).reshape(4, 6)


def sparse(form, kind, dtype=float):
    """A 4 by 6 sparse array with 7 entries, among them an explicit zero and an empty row."""
    rows, columns = [0, 0, 1, 1, 3, 3, 3], [1, 4, 0, 5, 2, 3, 5]
    data = np.array([1.0, 2.0, 0.0, 4.0, 5.0, 6.0, 7.0]).astype(dtype)
    x = getattr(sp, f"csr_{kind}")((data, columns, np.cumsum([0, 2, 2, 0, 3])), shape=(4, 6))
    assert list(np.repeat(range(4), np.diff(x.indptr))) == rows
    return x.asformat(form)


def pattern(x):
    """Where `x` stores entries, as an array of ones."""
    ones = x.copy()
    if x.format in ("lil", "dok"):
        ones = ones.tocoo()
    ones.data = np.ones_like(ones.data)
    return ones.toarray().real.astype(float)


each_format = pytest.mark.parametrize("form", FORMATS)
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_format
@each_kind
def test_keeps_pattern_and_format(form, kind):
    x = sparse(form, kind)
    p = ProjectTo(x)
    projected = p(G)
    assert type(projected) is type(x)
    assert projected.nnz == x.nnz
    np.testing.assert_array_equal(projected.toarray(), G * pattern(x))
    assert p(projected) is projected
    assert (p.shape, p.ndim, p.size, p.dtype) == ((4, 6), 2, 24, np.dtype(float))


@each_format
@pytest.mark.parametrize("given_form", FORMATS)
@pytest.mark.parametrize("given_kind", KINDS)
def test_takes_every_format(form, given_form, given_kind):
    x = sparse(form, "array")
    dx = getattr(sp, f"csr_{given_kind}")(G).asformat(given_form)
    np.testing.assert_array_equal(ProjectTo(x)(dx).toarray(), G * pattern(x))
    less = sparse(given_form, given_kind) * 2
    np.testing.assert_array_equal(ProjectTo(x)(less).toarray(), less.toarray())


@each_format
def test_an_identical_pattern_is_not_copied(form):
    x = sparse(form, "array")
    dx = x * 3.0
    assert ProjectTo(x)(dx) is dx


@pytest.mark.parametrize(
    "dtype, d_dtype, expected",
    [
        ("f4", "f8", "f4"),
        ("f8", "f4", "f8"),
        ("i4", "f4", "f8"),
        ("c8", "f8", "c8"),
        ("f8", "c16", "f8"),
    ],
)
@each_format
def test_precision_and_kind(form, dtype, d_dtype, expected):
    x = sparse(form, "array", dtype)
    factor = 1 + 1j if d_dtype == "c16" else 1
    for dx in ((G * factor).astype(d_dtype), sparse(form, "array", d_dtype) * factor):
        projected = ProjectTo(x)(dx)
        assert projected.dtype == np.dtype(expected)
        full = dx if isinstance(dx, np.ndarray) else dx.toarray()
        np.testing.assert_array_equal(
            projected.toarray(), (full if expected[0] == "c" else full.real) * pattern(x)
        )


def test_precision_does_not_drop_below_that_of_the_data():
    assert ProjectTo(sparse("coo", "array", "f4"))(G).data.dtype == np.float32


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_duplicates_share_their_cotangent(form):
    rows, columns, data = np.array([0, 0, 1]), np.array([1, 1, 2]), np.ones(3)
    if form == "coo":
        x = sp.coo_array((data, (rows, columns)), shape=(2, 3))
    elif form == "bsr":
        x = sp.bsr_array((data.reshape(3, 1, 1), columns, [0, 2, 3]), shape=(2, 3))
    elif form == "csr":
        x = sp.csr_array((data, columns, [0, 2, 3]), shape=(2, 3))
    else:
        x = sp.csc_array((data, rows, [0, 0, 2, 3]), shape=(2, 3))
    g = np.array([[1.0, 4.0, 1.0], [1.0, 1.0, 3.0]])
    projected = ProjectTo(x)(g)
    assert type(projected) is type(x)
    assert projected.nnz == 3
    np.testing.assert_array_equal(projected.toarray(), [[0.0, 4.0, 0.0], [0.0, 0.0, 3.0]])
    np.testing.assert_array_equal(np.sort(np.ravel(projected.data)), [2.0, 2.0, 3.0])
    assert ProjectTo(x)(projected) is projected


def test_later_changes_of_the_primal_in_place_do_no_harm():
    x = sp.csr_array((np.ones(3), np.array([1, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    p = ProjectTo(x)
    x.sum_duplicates()
    np.testing.assert_array_equal(p(np.ones((2, 3))).toarray(), [[0, 1, 0], [0, 0, 1]])
    x = sparse("csr", "array")
    p = ProjectTo(x)
    projected = p(G)
    projected.indices[:] = 0
    np.testing.assert_array_equal(p(G).toarray(), G * pattern(x))


def test_unsorted_indices():
    x = sp.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert list(ProjectTo(x)(np.array([[5.0, 6.0, 7.0]])).data) == [7.0, 5.0]


@pytest.mark.parametrize("form", ["coo", "csr", "dok"])
def test_one_dimension(form):
    x = sp.coo_array(np.array([1.0, 0.0, 2.0])).asformat(form)
    projected = ProjectTo(x)(np.array([3.0, 4.0, 5.0]))
    assert type(projected) is type(x)
    np.testing.assert_array_equal(projected.toarray(), [3.0, 0.0, 5.0])
    np.testing.assert_array_equal(ProjectTo(x)(projected.tocoo()).toarray(), [3.0, 0.0, 5.0])


def test_blocks_and_diagonals_are_kept_whole():
    x = sp.bsr_array((np.ones((1, 2, 2)), [1], [0, 1]), shape=(2, 4))
    np.testing.assert_array_equal(
        ProjectTo(x)(np.arange(8.0).reshape(2, 4)).toarray(), [[0, 0, 2, 3], [0, 0, 6, 7]]
    )
    d = sp.dia_array((np.ones((2, 3)), [0, 1]), shape=(3, 3))
    np.testing.assert_array_equal(
        ProjectTo(d)(np.ones((3, 3))).toarray(), [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    )


@each_format
@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (3, 3)])
def test_empty(form, shape):
    x = getattr(sp, f"{form}_array")(shape)
    for dx in (np.ones(shape), sp.csr_array(np.ones(shape))):
        projected = ProjectTo(x)(dx)
        assert projected.nnz == 0
        assert projected.shape == shape


@each_format
@pytest.mark.parametrize("dx", [np.ones((6, 4)), np.ones(24), 1.0, np.ones((4, 6, 1))])
def test_other_shapes_are_errors(form, dx):
    with pytest.raises(ProjectionError, match=r"of shape \(4, 6\) cannot"):
        ProjectTo(sparse(form, "array"))(dx)


@each_format
def test_special_tangents(form):
    p = ProjectTo(sparse(form, "array"))
    for special in (ZeroTangent(), NoTangent(), not_implemented("x")):
        assert p(special) is special
    lazy = p(thunk(lambda: G))
    assert type(lazy) is Thunk
    np.testing.assert_array_equal(unthunk(lazy).toarray(), p(G).toarray())
    for wrong in (None, [1.0], "a"):
        with pytest.raises(TangentTypeError):
            p(wrong)


def test_truth_values():
    assert ProjectTo(sparse("csr", "array", bool)) is no_tangent


def test_a_dense_primal_makes_a_sparse_cotangent_dense():
    projected = ProjectTo(np.ones((4, 6)))(sparse("csr", "matrix"))
    assert type(projected) is np.ndarray
    np.testing.assert_array_equal(projected, sparse("csr", "matrix").toarray())


def test_a_subclass_is_projected():
    class Mine(sp.csr_array):
        pass

    assert type(ProjectTo(Mine(sparse("csr", "array")))(G)) is Mine


@each_format
@each_kind
def test_zeros_and_sums(form, kind):
    x = sparse(form, kind)
    zero = zero_tangent(x)
    assert type(zero) is type(x)
    assert zero.nnz == x.nnz
    assert is_zero(zero)
    assert not is_zero(x)
    dx = ProjectTo(x)(G)
    assert type(add_tangent(x, dx)).__name__.endswith(kind)
    np.testing.assert_array_equal(add_tangent(x, dx).toarray(), x.toarray() + dx.toarray())
    np.testing.assert_array_equal(add(zero, dx).toarray(), dx.toarray())
    assert norm(dx) == pytest.approx(np.linalg.norm(dx.toarray()))
    np.testing.assert_array_equal(conj(dx * 1j).toarray(), dx.toarray() * -1j)
    assert inner(dx, G) == inner(G, dx) == np.vdot(dx.toarray(), G)
    assert inner(dx, dx) == np.vdot(dx.toarray(), dx.toarray())


@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMATS))
def test_the_projection_is_orthogonal(seed, form):
    rng = np.random.default_rng(seed)
    x = sp.random_array((4, 6), density=0.4, rng=rng, format=form)
    p = ProjectTo(x)
    a, b = rng.normal(size=(2, 4, 6))
    assert np.vdot(p(a).toarray(), b) == pytest.approx(np.vdot(a, p(b).toarray()))
    np.testing.assert_allclose(p(p(a).tocoo()).toarray(), p(a).toarray())
