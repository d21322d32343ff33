"""ProjectTo: projectors onto the tangent space of a value.

A projector knows the space of the cotangents of a value (shape, real or complex, precision,
structure) without keeping the value alive. This module has `ProjectTo` itself and the projectors of
numbers and arrays. The other ``projection_*`` modules have those of containers, of scipy.sparse and
of structured matrices.
"""

from __future__ import annotations

import enum
import math
import numbers
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core.errors import ProjectionError, TangentTypeError
from chainrules_core.registry.pending import load_imported
from chainrules_core.tangents.fields import declared_fields, is_structure, per_class
from chainrules_core.tangents.missing import NotImplementedTangent
from chainrules_core.tangents.structural import Tangent
from chainrules_core.tangents.thunk import AbstractThunk, Thunk
from chainrules_core.tangents.zero import NO_TANGENT, AbstractTangent, AbstractZero

Projector = Callable[[Any], Any]
_ndarray = np.ndarray


def ProjectTo(x: Any) -> Projector:  # noqa: N802  # it reads like the constructor it stands for
    """The projector onto the tangent space of `x`.

    ``ProjectTo(x)(dx)`` returns `dx` in the form of a tangent of `x`: with its shape, its
    precision, its sparsity and structure, and real if `x` is real. Projecting twice changes nothing
    more. Zeros, missing derivatives and a `Tangent` of the type of `x` are returned unchanged. A
    thunk becomes the thunk of its projection.

    ============================  ===============================================================
    `x`                           projection
    ============================  ===============================================================
    float, complex, NumPy number  a number of the same type; real part where `x` is real
    int, array of integers        as for float64
    array                         shape up to axes of length one, dtype
    bool, str, bytes, None, Enum  `NoTangent`
    class, slice, function
    tuple, list, dict,            ``Tangent[type(x)]``, each part projected; `NoTangent` where
    named tuple, dataclass        there is nothing in it to perturb
    plain object                  what it gets; a dict of fields becomes a `Tangent`
    scipy.sparse                  the stored entries of `x`, in its format
    anything else                 what it gets
    ============================  ===============================================================

    Functions that capture values, bound methods and ``functools.partial`` objects may have a
    tangent, so theirs are returned unchanged. Traced values go only through operations that can be
    traced.

    ``@ProjectTo.register(Foo)`` registers a function that takes a ``Foo`` and returns a projector,
    also for subclasses.

    Parameters
    ----------
    x : object
        The primal.

    Returns
    -------
    callable
        The projector. For numbers and arrays it has the attributes ``shape``, ``dtype``, ``ndim``
        and ``size`` of the space.

    Raises
    ------
    ProjectionError
        By the projector, for a cotangent with another shape, length or keys.
    TangentTypeError
        By the projector, for a structural tangent of another type.

    Examples
    --------
    >>> ProjectTo(1.0)(2 + 3j)
    2.0
    >>> ProjectTo(np.float32([1, 2]))(np.array([[0.5], [1.5]]))
    array([0.5, 1.5], dtype=float32)
    >>> ProjectTo("text")(1.0)
    NoTangent()
    >>> ProjectTo((1.0, "text"))((2 + 0j, 7.0))
    Tangent[tuple](2.0, NoTangent())
    """
    kind = type(x)
    if kind is _ndarray:
        try:
            return KNOWN_SPACES[x.dtype][x.shape]
        except KeyError:
            pass
    make = _registered.get(kind)
    return make(x) if make is not None else _find(kind)(x)


_registered: dict[type, Callable[[Any], Projector]] = {}


def register(*classes: type) -> Callable[[Callable], Callable]:
    """Register the decorated function, which maps a value to its projector, for classes.

    It also applies to subclasses without a closer registration. Abstract base classes count only if
    they are real bases.
    """

    def add(make: Callable[[Any], Projector]) -> Callable[[Any], Projector]:
        for cls in classes:
            _registered[cls] = make
        _find.forget_all()  # type: ignore[attr-defined]
        return make

    return add


ProjectTo.register = register  # type: ignore[attr-defined]


class Structure:
    """For `register`: any other object that has attributes."""


def is_registered(cls: type) -> bool:
    """Whether this very class has a registration."""
    return cls in _registered


@per_class
def _find(cls: type) -> Callable[[Any], Projector]:
    """The function registered for the nearest base of a class, or what suits its kind."""
    load_imported()  # which may register this class
    if issubclass(cls, enum.Enum):
        return _no_tangent_for  # also where it is an int
    for base in cls.__mro__:
        if base in _registered:
            return _registered[base]
    if issubclass(cls, numbers.Number) or hasattr(cls, "__array_ufunc__"):
        return _identity_for  # numbers of other libraries, and traced values
    if declared_fields(cls) is not None:
        return _registered[dict]
    if not is_structure(cls):
        return _identity_for
    return _registered[Structure]


# -------------------------------------------------------------------- nothing, and everything


def identity(dx: Any) -> Any:
    """The projector of values about whose tangents nothing is known."""
    return dx


def _identity_for(x: Any) -> Projector:
    return identity


class ProjectToNoTangent:
    """The projector of values that cannot be perturbed; there is one, ``no_tangent``."""

    __slots__ = ()

    def __call__(self, dx: Any) -> Any:
        """`NoTangent`, unless `dx` is a zero or a missing derivative; thunks are not computed."""
        return dx if isinstance(dx, (AbstractZero, NotImplementedTangent)) else NO_TANGENT

    def __repr__(self) -> str:
        return "ProjectTo(NoTangent())"


no_tangent = ProjectToNoTangent()


@register(
    bool, np.bool_, str, bytes, bytearray, np.character, np.datetime64, np.timedelta64, np.dtype,
    type(None), type(Ellipsis), type(NotImplemented), slice, type, types.ModuleType,
    np.ufunc, type(np.sum), types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, AbstractZero,
)  # fmt: skip
def _no_tangent_for(x: Any) -> Projector:
    return no_tangent


@register(types.FunctionType)
def _for_function(x: types.FunctionType) -> Projector:
    return no_tangent if x.__closure__ is None else identity


@register(types.BuiltinFunctionType)
def _for_builtin(x: types.BuiltinFunctionType) -> Projector:
    bound = x.__self__ is not None and not isinstance(x.__self__, (types.ModuleType, type))
    return identity if bound else no_tangent


# --------------------------------------------------------------------------------------- numbers


class ProjectToNumber:
    """The projector of numbers of one type, Python's or NumPy's."""

    __slots__ = ("dtype", "type")

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def __init__(self, number_type: type) -> None:
        self.type = number_type
        self.dtype = np.dtype(number_type)

    def __call__(self, dx: Any) -> Any:
        """`dx` as a number of the type."""
        cls = type(dx)
        if cls is self.type:
            return dx
        return self.type(dx) if cls in _REALS else self._project(dx)

    def _project(self, dx: Any) -> Any:
        if isinstance(dx, AbstractTangent):
            if isinstance(dx, Tangent) and issubclass(dx._primal_, (complex, np.complexfloating)):
                return self(dx["real"] + dx["imag"] * 1j)
            return _special(self, dx, self.type)
        if is_foreign(dx):
            return fit(dx, (), self.dtype)
        numeric = isinstance(dx, (int, float, complex, np.number, np.bool_))
        if not numeric or isinstance(dx, np.timedelta64):
            _refuse(dx, self.type.__name__)
            if not hasattr(dx, "shape"):
                return dx  # a number of another library
            if not _same_but_for_ones((), dx.shape):
                raise ProjectionError((), dx.shape)
            return self(dense(dx).reshape(())[()])
        if self.dtype.kind == "f":
            dx = dx.real
        return self.type(dx)

    def __repr__(self) -> str:
        return f"ProjectTo({self.type.__name__})"


_REALS = frozenset({int, float, np.float16, np.float32, np.float64, np.longdouble})

# NumPy's types of numbers; to NumPy, a span of time is an integer. Other packages put what is no
# class into its table.
_NUMBERS = [
    cls
    for cls in set(np.sctypeDict.values())
    if isinstance(cls, type) and issubclass(cls, np.number) and not issubclass(cls, np.timedelta64)
]


def _number_maker(number_type: type) -> Callable[[Any], Projector]:
    projector = ProjectToNumber(number_type)
    return lambda x: projector


register(float, int)(_number_maker(float))
register(complex)(_number_maker(complex))
register(np.integer)(_number_maker(np.float64))
for _number in _NUMBERS:
    register(_number)(
        _number_maker(_number) if issubclass(_number, np.inexact) else _registered[np.integer]
    )


# ---------------------------------------------------------------------------------------- arrays


class OfShape:
    """The base of projectors with a ``shape``: size, number of axes."""

    __slots__ = ()
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


class ProjectToArray:
    """The projector of arrays of numbers: shape, real or complex, precision.

    Parameters
    ----------
    shape : tuple of int
        The shape of cotangents. They may come with other axes of length one.
    dtype : numpy.dtype
        Their dtype: floating or complex.
    """

    __slots__ = ("dtype", "ndim", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.size = math.prod(shape)

    def __call__(self, dx: Any) -> Any:
        """`dx` with the shape and the dtype; itself where it has them."""
        if type(dx) is _ndarray and dx.dtype is self.dtype and dx.shape == self.shape:
            return dx
        return self._project(dx)

    def _project(self, dx: Any) -> Any:
        if isinstance(dx, AbstractTangent):
            return _special(self, dx, np.ndarray)
        if not is_foreign(dx):
            if not hasattr(dx, "shape"):
                _refuse(dx, "array")
            if not isinstance(dx, np.ndarray) or isinstance(dx, np.matrix):
                dx = dense(dx)
        return fit(dx, self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"ProjectTo(array, shape={self.shape}, dtype={self.dtype})"


# The space of the cotangents of arrays, by the dtype of these: numbers in native byte order here.
_SPACES = {
    np.dtype(cls): np.dtype(cls if issubclass(cls, np.inexact) else float) for cls in _NUMBERS
}


# Projectors made before, by the dtype and the shape of the primal: they never change.
KNOWN_SPACES: dict[np.dtype, dict[tuple[int, ...], ProjectToArray]] = {
    dtype: {} for dtype in _SPACES
}
_MOST_KNOWN = 4096  # shapes, for one dtype


@register(np.ndarray)
def _for_array(x: np.ndarray) -> Projector:
    try:
        return KNOWN_SPACES[x.dtype][x.shape]
    except KeyError:
        pass
    dtype = x.dtype
    space = _SPACES.get(dtype)
    if space is not None:
        known = KNOWN_SPACES[dtype]
        if len(known) >= _MOST_KNOWN:
            known.clear()
        return known.setdefault(x.shape, ProjectToArray(x.shape, space))
    if dtype.kind in "fciu":
        return ProjectToArray(x.shape, _SPACES[dtype.newbyteorder("=")])
    if dtype.kind == "O":
        return _registered[list](x)
    return no_tangent if dtype.kind in "bSUTMm" else identity


# ----------------------------------------------------------------------------- shared by projectors


def is_foreign(dx: Any) -> bool:
    """Whether `dx` takes part in NumPy's protocols without being NumPy's: traced, or on a device.

    Then it is handled by ``np.real``, ``np.reshape`` and ``.astype`` alone, never converted. A
    traced value may pass for an array in `isinstance`, so its own type is asked.
    """
    kind = type(dx)
    return hasattr(kind, "__array_ufunc__") and not issubclass(kind, (np.ndarray, np.generic))


def dense(dx: Any) -> np.ndarray:
    """A number, sparse array or subclass of arrays as a plain array."""
    return dx.toarray() if hasattr(dx, "tocsr") else np.asarray(dx)


def fit(dx: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """`dx` with shape and dtype, by traceable operations and only where they differ."""
    found = getattr(dx, "shape", None)
    if found is not None and found != shape:
        if not _same_but_for_ones(shape, found):
            raise ProjectionError(shape, found)
        dx = np.reshape(dx, shape)
    found = getattr(dx, "dtype", None)
    if found is None and dtype.kind == "f" and isinstance(dx, complex):
        dx = np.real(dx)  # a traced number of Python's
    if isinstance(found, np.dtype) and found != dtype:
        if found.kind == "O" or dtype.kind == "O":
            return dx  # elements that know their own types
        if found.kind not in "fciub":
            raise TangentTypeError(
                f"An array of {found} cannot be the cotangent of numbers: return an array of "
                "numbers, x_bar.astype(float)."
            )
        if found.kind == "c" and dtype.kind != "c":
            dx = np.real(dx)
        if dx.dtype != dtype:
            dx = dx.astype(dtype)
    return dx


def _same_but_for_ones(expected: tuple[int, ...], found: tuple[int, ...]) -> bool:
    # With as many axes on both sides, none has been added or dropped: a row is no column.
    return expected == found or (
        len(expected) != len(found)
        and [n for n in expected if n != 1] == [n for n in found if n != 1]
    )


_NO_TANGENTS = (tuple, list, dict, set, str, bytes, np.flexible, np.datetime64, np.timedelta64)


def _refuse(dx: Any, name: str) -> None:
    if dx is None or (isinstance(dx, _NO_TANGENTS) and not hasattr(dx, "tocsr")):
        article = "An" if name[0] in "aeiou" else "A"
        what = "None" if dx is None else f"a bare {type(dx).__name__}"
        raise TangentTypeError(
            f"{article} {name} cannot have {what} as cotangent: return a number or an array, "
            "ZeroTangent() where there is no influence, NoTangent() where there is no derivative.",
            type(dx),
        )


def _special(project: Projector, dx: AbstractTangent, primal: type) -> Any:
    """Project a special tangent, as every projector does."""
    if isinstance(dx, AbstractThunk):
        return Thunk(lambda: project(dx._forced_()))
    if isinstance(dx, Tangent) and dx._primal_ is not Any and not issubclass(primal, dx._primal_):
        numeric = issubclass(primal, (numbers.Number, np.ndarray)) or hasattr(primal, "tocsr")
        instead = "a number or an array" if numeric else f"a Tangent[{primal.__name__}](...)"
        raise TangentTypeError(
            f"A {type(dx).__name__} cannot be the cotangent of a {primal.__name__}: return "
            f"{instead}.",
            primal,
            dx._primal_,
        )
    return dx
