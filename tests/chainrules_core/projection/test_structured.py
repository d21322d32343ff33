"""Projectors of matrices with structure."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from chainrules_core.errors import ProjectionError
from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.projection.structured import (
    ProjectToBanded,
    ProjectToDiagonal,
    ProjectToHermitian,
    ProjectToSymmetric,
    ProjectToTriangular,
)
from chainrules_core.tangents import Thunk, ZeroTangent, thunk, unthunk

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
C = A + 1j * A.T**2


@pytest.mark.parametrize(
    "project, dx, projected",
    [
        (ProjectToSymmetric(3), A, (A + A.T) / 2),
        (ProjectToSymmetric(3, complex), C, (C + C.T) / 2),
        (ProjectToHermitian(3), A, (A + A.T) / 2),
        (ProjectToHermitian(3, complex), C, (C + C.conj().T) / 2),
        (ProjectToDiagonal(3), A, np.diag(np.diag(A))),
        (ProjectToDiagonal((3, 2)), A[:, :2], np.diag([1.0, 5.0, 0.0])[:, :2]),
        (ProjectToTriangular(3), A, np.tril(A)),
        (ProjectToTriangular(3, lower=False), A, np.triu(A)),
        (ProjectToTriangular(3, unit=True), A, np.tril(A, -1)),
        (ProjectToTriangular(3, lower=False, unit=True), A, np.triu(A, 1)),
        (ProjectToBanded(3), A, np.diag(np.diag(A))),
        (ProjectToBanded(3, lower=1), A, np.tril(np.triu(A, -1))),
        (ProjectToBanded(3, lower=1, upper=1), A, np.triu(np.tril(A, 1), -1)),
        (ProjectToSymmetric((2, 3, 3)), np.stack([A, A.T]), np.stack([(A + A.T) / 2] * 2)),
    ],
)
def test_structures(project, dx, projected):
    np.testing.assert_allclose(project(dx), projected)
    np.testing.assert_array_equal(project(project(dx)), project(dx))


EACH = [
    ProjectToSymmetric,
    ProjectToHermitian,
    ProjectToDiagonal,
    ProjectToTriangular,
    ProjectToBanded,
]


@pytest.mark.parametrize("cls", EACH)
@given(st.integers(0, 2**32 - 1))
def test_projections_are_orthogonal(cls, seed):
    rng = np.random.default_rng(seed)
    p = cls(4, complex)
    x, y = rng.normal(size=(2, 4, 4)) + 1j * rng.normal(size=(2, 4, 4))
    assert np.vdot(p(x), y).real == pytest.approx(np.vdot(x, p(y)).real)


@pytest.mark.parametrize("cls", EACH)
def test_shape_dtype_and_special_tangents(cls):
    p = cls(3, np.float32)
    assert (p.shape, p.ndim, p.size, p.dtype) == ((3, 3), 2, 9, np.float32)
    assert p(C).dtype == np.float32
    assert p(ZeroTangent()) is ZeroTangent()
    lazy = p(thunk(lambda: A))
    assert type(lazy) is Thunk
    np.testing.assert_array_equal(unthunk(lazy), p(A))
    with pytest.raises(ProjectionError):
        p(np.ones((2, 2)))


def test_infinities_outside_the_structure_do_no_harm():
    dx = np.full((2, 2), np.inf)
    np.testing.assert_array_equal(ProjectToDiagonal(2)(dx), [[np.inf, 0.0], [0.0, np.inf]])


@pytest.mark.parametrize(
    "wrong", [lambda: ProjectToSymmetric((2, 3)), lambda: ProjectToBanded((3,))]
)
def test_shapes_that_are_none_of_matrices(wrong):
    with pytest.raises(ValueError, match="matrices"):
        wrong()


def test_as_a_registered_projector():
    class Lower:
        def __init__(self, a):
            self.a = a

    ProjectTo.register(Lower)(lambda x: ProjectToTriangular(x.a.shape, x.a.dtype))
    np.testing.assert_array_equal(ProjectTo(Lower(A))(A), np.tril(A))
