"""Projectors of matrices with structure, for the authors of types that have it.

NumPy has no types for symmetric, triangular or banded matrices. The author of one returns the
matching projector from the function registered with ``ProjectTo.register``. Cotangents are plain
arrays that have the structure; all work on stacks of matrices as well.

    >>> from chainrules_core import ProjectTo
    >>> class SymmetricMatrix:
    ...     def __init__(self, a): self.a = (a + a.T) / 2
    >>> @ProjectTo.register(SymmetricMatrix)
    ... def project_to_symmetric(x):
    ...     return ProjectToSymmetric(x.a.shape, x.a.dtype)
    >>> ProjectTo(SymmetricMatrix(np.eye(2)))(np.array([[1.0, 4.0], [0.0, 1.0]]))
    array([[1., 2.],
           [2., 1.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core.projection.project_to import ProjectToArray
from chainrules_core.tangents.zero import AbstractTangent


class _ProjectToStructured(ProjectToArray):
    """A projector of arrays with one step more, ``_structure``, which a subclass says.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the matrix, or of a stack of them; ``n`` means ``(n, n)``.
    dtype : dtype, optional
        Floating or complex; float64 if not given.

    Raises
    ------
    ValueError
        If `shape` is not one of matrices.
    """

    __slots__ = ()
    _square = True

    def __init__(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> None:
        shape = (shape, shape) if isinstance(shape, int) else tuple(shape)
        if len(shape) < 2 or (self._square and shape[-1] != shape[-2]):
            kind = "square matrices" if self._square else "matrices"
            raise ValueError(f"{type(self).__name__} is about {kind}, not about shape {shape}.")
        super().__init__(shape, np.dtype(dtype))

    def __call__(self, dx: Any) -> Any:
        """`dx` with the structure."""
        dx = super().__call__(dx)
        return dx if isinstance(dx, AbstractTangent) else self._structure(dx)

    def _structure(self, dx: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype})"


class ProjectToSymmetric(_ProjectToStructured):
    """The projector of symmetric matrices: the mean of a matrix and its transpose."""

    __slots__ = ()

    def _structure(self, dx: Any) -> Any:
        return (dx + np.swapaxes(dx, -1, -2)) / 2


class ProjectToHermitian(_ProjectToStructured):
    """The projector of Hermitian matrices: the mean of a matrix and its conjugate transpose."""

    __slots__ = ()

    def _structure(self, dx: Any) -> Any:
        adjoint = np.swapaxes(dx, -1, -2)
        return (dx + (np.conj(adjoint) if self.dtype.kind == "c" else adjoint)) / 2


class ProjectToDiagonal(_ProjectToStructured):
    """The projector of diagonal matrices: zeros off the diagonal."""

    __slots__ = ()
    _square = False

    def _structure(self, dx: Any) -> Any:
        return np.triu(np.tril(dx))


class ProjectToTriangular(_ProjectToStructured):
    """The projector of triangular matrices: zeros in the other triangle.

    Parameters
    ----------
    shape, dtype
        See `ProjectToSymmetric`; the matrix need not be square.
    lower : bool
        Which triangle is kept.
    unit : bool
        Whether the diagonal is fixed at one, so that its cotangent is zero.
    """

    __slots__ = ("lower", "unit")
    _square = False

    def __init__(
        self,
        shape: int | tuple[int, ...],
        dtype: Any = np.float64,
        *,
        lower: bool = True,
        unit: bool = False,
    ) -> None:
        super().__init__(shape, dtype)
        self.lower, self.unit = lower, unit

    def _structure(self, dx: Any) -> Any:
        return np.tril(dx, -int(self.unit)) if self.lower else np.triu(dx, int(self.unit))


class ProjectToBanded(_ProjectToStructured):
    """The projector of banded matrices: zeros outside the band.

    Parameters
    ----------
    shape, dtype
        See `ProjectToSymmetric`; the matrix need not be square.
    lower, upper : int
        The number of diagonals below and above the main one.
    """

    __slots__ = ("lower", "upper")
    _square = False

    def __init__(
        self,
        shape: int | tuple[int, ...],
        dtype: Any = np.float64,
        *,
        lower: int = 0,
        upper: int = 0,
    ) -> None:
        super().__init__(shape, dtype)
        self.lower, self.upper = lower, upper

    def _structure(self, dx: Any) -> Any:
        return np.triu(np.tril(dx, self.upper), -self.lower)
