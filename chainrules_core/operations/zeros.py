"""Zero tangents as arrays and structures, and adding a tangent to a primal."""

from __future__ import annotations

import functools
import numbers
import threading
from typing import Any

import numpy as np

from chainrules_core.errors import ChainRulesError, PrimalAdditionError, TangentTypeError, counted
from chainrules_core.projection.project_to import ProjectTo, is_foreign, no_tangent
from chainrules_core.tangents.fields import construct, fields_of, is_namedtuple, is_structure
from chainrules_core.tangents.missing import NotImplementedTangent
from chainrules_core.tangents.mutable import structural_tangent
from chainrules_core.tangents.structural import Tangent
from chainrules_core.tangents.thunk import unthunk_deep
from chainrules_core.tangents.zero import NO_TANGENT, ZERO, AbstractZero

_under_way = threading.local()


@functools.singledispatch
def zero_tangent(x: Any) -> Any:
    """Return the zero of the tangent space of `x`, as a value that you can add to in place.

    For numbers and arrays, it is zeros in the dtype that `ProjectTo` gives to tangents. For
    containers and objects, it is a structural tangent with all fields (see `structural_tangent`).
    For values that cannot be perturbed, or have no fields, it is `NoTangent`. If an object contains
    itself, there is a `ZeroTangent`. Register a function for your own class with
    ``@zero_tangent.register(Foo)``.

    Examples
    --------
    >>> zero_tangent(2), zero_tangent(np.float32(2)), zero_tangent("text")
    (0.0, np.float32(0.0), NoTangent())
    >>> zero_tangent((1.0, np.ones(2)))
    Tangent[tuple](0.0, array([0., 0.]))
    """
    project = ProjectTo(x)
    if project is no_tangent:
        return NO_TANGENT
    if hasattr(project, "zeros"):  # scipy.sparse
        return project.zeros()
    dtype, shape = getattr(project, "dtype", None), getattr(project, "shape", ())
    if dtype is not None and dtype.kind != "O":
        if hasattr(project, "type"):
            return project.type(0)
        return np.zeros(shape, dtype)
    if isinstance(x, numbers.Number):
        return type(x)(0)  # type: ignore[call-arg]
    if is_foreign(x):
        return np.zeros_like(x)
    return _zero_structure(x)


def _zero_structure(x: Any) -> Any:
    ids = _under_way.__dict__.setdefault("ids", set())
    if id(x) in ids:
        return ZERO
    ids.add(id(x))
    try:
        if isinstance(x, np.ndarray):
            zeros = np.empty(x.size, object)
            for i, element in enumerate(x.flat):
                zeros[i] = zero_tangent(element)
            return zeros.reshape(x.shape)
        if _is_sequence(x):
            return Tangent[type(x)](*map(zero_tangent, x))
        fields = fields_of(x)
        if not fields:
            return NO_TANGENT
        parts = {name: zero_tangent(value) for name, value in fields.items()}
        return Tangent[type(x)](parts) if isinstance(x, dict) else structural_tangent(x, **parts)
    finally:
        ids.discard(id(x))


def _is_sequence(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and not is_namedtuple(type(x))


def add_tangent(primal: Any, tangent: Any) -> Any:
    """Return ``primal + tangent``, for structures field by field.

    Parameters
    ----------
    primal : object
        The primal, which does not change.
    tangent : tangent
        The tangent. A zero changes nothing; a structural tangent moves the fields that it names.

    Returns
    -------
    object
        A value of the same type as the primal; see `construct` for how structures are built.

    Raises
    ------
    PrimalAdditionError
        If the primal cannot be perturbed, or a structure cannot be built from its fields.
    TangentTypeError
        If the tangent does not belong to this primal.

    Examples
    --------
    >>> from chainrules_core.tangents import NoTangent
    >>> add_tangent((1.0, "text"), Tangent[tuple](0.5, NoTangent()))
    (1.5, 'text')
    """
    tangent = unthunk_deep(tangent)
    if isinstance(tangent, AbstractZero):
        return primal
    if isinstance(tangent, NotImplementedTangent):
        raise tangent.error()
    if isinstance(tangent, Tangent):
        return _add_structure(primal, tangent)
    cls = type(primal)
    containers = [x for x in (tangent, primal) if isinstance(x, (tuple, list, dict))]
    if containers and not hasattr(primal, "tocsr"):  # scipy.sparse has a kind of dict
        raise TangentTypeError(
            f"A {type(tangent).__name__} is no tangent of a {cls.__name__}: give "
            f"{_tangent_of(primal)}.",
            cls,
        )
    if isinstance(primal, np.ndarray) and primal.dtype == object:
        moved = np.empty(primal.size, object)
        for i, pair in enumerate(zip(primal.flat, np.ravel(tangent), strict=True)):
            moved[i] = add_tangent(*pair)
        return moved.reshape(primal.shape)
    if ProjectTo(primal) is no_tangent:
        raise PrimalAdditionError(
            cls,
            "it cannot be perturbed",
            "Give NoTangent() as its tangent.",
        )
    try:
        return primal + tangent
    except TypeError as error:
        either = f", or define {cls.__name__}.__add__" if is_structure(cls) else ""
        hint = f"Give {_tangent_of(primal)}{either}."
        raise PrimalAdditionError(cls, str(error), hint) from error


def _tangent_of(primal: Any) -> str:
    """Describe the tangent of a value, for messages."""
    cls = type(primal)
    if isinstance(primal, (tuple, list, dict)) or is_structure(cls):
        return f"a Tangent[{cls.__name__}](...) of its parts"
    return "a number or an array like the primal"


def _add_structure(primal: Any, tangent: Tangent) -> Any:
    cls = type(primal)
    if tangent._primal_ is not cls and tangent._primal_ is not Any:
        raise TangentTypeError(
            f"A {type(tangent).__name__} is no tangent of a {cls.__name__}: give "
            f"{_tangent_of(primal)}.",
            cls,
            tangent._primal_,
        )
    fields: Any
    if _is_sequence(primal):
        parts = Tangent.values(tangent)
        if len(parts) != len(primal):
            raise TangentTypeError(
                f"A tangent of {counted(len(parts), 'part')} cannot be added to a {cls.__name__} "
                f"of {len(primal)}: give one part for each element, ZeroTangent() where it does "
                "not move.",
                cls,
            )
        fields = [add_tangent(x, part) for x, part in zip(primal, parts, strict=True)]
    else:
        fields = fields_of(primal)
        for name, part in Tangent.items(tangent):
            if fields is None or name not in fields:
                if isinstance(part, AbstractZero):
                    continue
                raise TangentTypeError(
                    f"A {cls.__name__} has no field {name!r} to move"
                    + (f": its fields are {', '.join(map(repr, fields))}." if fields else "."),
                    cls,
                )
            fields[name] = add_tangent(fields[name], part)
    try:
        return construct(primal, fields)
    except ChainRulesError:
        raise
    except Exception as error:
        raise PrimalAdditionError(cls, f"{type(error).__name__}: {error}") from error
