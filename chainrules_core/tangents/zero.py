"""ZeroTangent and NoTangent, and their arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np


class AbstractTangent:
    """Base of the special tangents; plain numbers and arrays are tangents as well."""

    __slots__ = ()

    def _forced_(self) -> Any:
        """Return this tangent without any thunk inside."""
        return self

    def _as_object_(self) -> np.ndarray:
        """Return an array of shape () that holds this tangent, as arrays of objects ask for it."""
        holder = np.empty(1, object)
        holder[0] = self
        return holder.reshape(())


class AbstractZero(AbstractTangent):
    """Base of `ZeroTangent` and `NoTangent`: every linear operation returns the zero itself."""

    __slots__ = ()

    # NumPy's operators step back, so that ``array + zero`` reaches __radd__ below.
    __array_ufunc__ = None

    def __reduce__(self) -> tuple:
        return type(self), ()  # copies and unpickled ones are the singleton again

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return self if other is ZERO else other

    def __radd__(self, other: Any) -> Any:
        return other

    def __sub__(self, other: Any) -> Any:
        return self + other if isinstance(other, AbstractZero) else -other

    def __rsub__(self, other: Any) -> Any:
        return other

    def __mul__(self, other: Any) -> AbstractZero:
        return ZERO if other is ZERO else self

    def __rmul__(self, other: Any) -> AbstractZero:
        return self

    __matmul__, __rmatmul__ = __mul__, __rmul__

    def __truediv__(self, other: Any) -> Self:
        return self

    def __neg__(self) -> Self:
        return self

    __pos__ = __neg__

    # -- as a number -----------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __complex__(self) -> complex:
        return 0j

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._as_object_() if dtype == np.dtype(object) else np.zeros((), dtype)

    # -- as an array or a structure --------------------------------------------------------------
    # Only what is linear, and nothing that is no derivative: a zero has no shape and no length.

    def __getitem__(self, key: Any) -> Self:
        return self

    def __iter__(self) -> Iterator[Self]:
        yield self

    @property
    def T(self) -> Self:  # noqa: N802  # NumPy's name
        """Itself."""
        return self

    mT = real = imag = T  # noqa: N815  # NumPy's name

    def sum(self, *args: Any, **kwargs: Any) -> Self:
        """Itself, as for each of NumPy's linear methods."""
        return self

    mean = trace = cumsum = dot = sum
    conj = conjugate = transpose = swapaxes = sum
    reshape = ravel = flatten = squeeze = diagonal = take = repeat = sum
    astype = copy = sum


class ZeroTangent(AbstractZero):
    """The zero of every tangent space: a perturbation has no effect.

    Every call returns the same object.

    Examples
    --------
    >>> ZeroTangent() + 2.0
    2.0
    >>> ZeroTangent() * 2.0
    ZeroTangent()
    >>> float(ZeroTangent())
    0.0
    """

    __slots__ = ()
    _instance: ZeroTangent | None = None

    def __new__(cls) -> ZeroTangent:
        """Return the one object."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "ZeroTangent()"


class NoTangent(AbstractZero):
    """The tangent of something that cannot be perturbed: an index, a string, a function.

    It behaves like `ZeroTangent`. Every call returns the same object.

    Examples
    --------
    >>> NoTangent() + ZeroTangent(), NoTangent() * ZeroTangent()
    (NoTangent(), ZeroTangent())
    """

    __slots__ = ()
    _instance: NoTangent | None = None

    def __new__(cls) -> NoTangent:
        """Return the one object."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "NoTangent()"


ZERO = ZeroTangent()
NO_TANGENT = NoTangent()
