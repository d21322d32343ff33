"""Projectors of containers and objects: one projector for each element or field."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from chainrules_core.errors import ProjectionError, TangentTypeError
from chainrules_core.projection import project_to
from chainrules_core.tangents.fields import fields_of, is_namedtuple
from chainrules_core.tangents.structural import Tangent
from chainrules_core.tangents.zero import AbstractTangent

_under_way = threading.local()


class _ProjectToStructure:
    """The base of the projectors below: which structural tangents pass."""

    __slots__ = ("parts", "type")

    def __init__(self, cls: type, parts: Any) -> None:
        self.type = cls
        self.parts = parts

    def __call__(self, dx: Any) -> Any:
        """`dx` as a structural tangent of the type."""
        if not isinstance(dx, AbstractTangent):
            return self._project(dx)
        special = project_to._special(self, dx, self.type)
        if isinstance(special, Tangent):
            self._check(special)
        return special

    def _project(self, dx: Any) -> Any:
        raise NotImplementedError

    def _check(self, dx: Any) -> None:
        raise NotImplementedError

    def _refuse(self, dx: Any) -> TangentTypeError:
        name, found = self.type.__name__, type(dx).__name__
        return TangentTypeError(
            f"A {name} cannot have a {found} as cotangent: return a Tangent[{name}](...).",
            self.type,
            type(dx),
        )

    def _check_length(self, dx: Any) -> None:
        if len(dx) != len(self.parts):
            raise ProjectionError(
                len(self.parts), len(dx), "length",
                f"The cotangent of a {self.type.__name__} has one part for each element; those "
                "without influence are ZeroTangent().",
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"ProjectTo({self.type.__name__}, {self.parts!r})"


class ProjectToSequence(_ProjectToStructure):
    """The projector of tuples and lists."""

    __slots__ = ()

    def _project(self, dx: Any) -> Any:
        if isinstance(dx, (tuple, list)):
            elements = dx
        elif getattr(dx, "shape", ()):
            elements = [dx[i] for i in range(dx.shape[0])]
        else:
            raise self._refuse(dx)
        self._check(elements)
        return Tangent[self.type](*[p(d) for p, d in zip(self.parts, elements, strict=True)])

    _check = _ProjectToStructure._check_length


class ProjectToFields(_ProjectToStructure):
    """The projector of dicts, named tuples, dataclasses, and classes with slots."""

    __slots__ = ()

    def _project(self, dx: Any) -> Any:
        if isinstance(dx, dict):
            named = dx
        elif isinstance(dx, self.type):
            named = fields_of(dx) or {}
        elif isinstance(dx, (tuple, list)) and issubclass(self.type, tuple):
            self._check_length(dx)
            named = dict(zip(self.parts, dx, strict=True))
        else:
            raise self._refuse(dx)
        self._check(named)
        projected = {name: self.parts[name](part) for name, part in named.items()}
        if issubclass(self.type, dict):
            return Tangent[self.type](projected)
        return Tangent[self.type](**projected)

    def _check(self, dx: Any) -> None:
        unknown = [key for key in _keys(dx) if key not in self.parts]
        if unknown:
            raise ProjectionError(
                list(self.parts), unknown, "keys",
                "A cotangent can only name what its argument has; what it leaves out is zero.",
            )  # fmt: skip


def _keys(dx: Any) -> Any:
    return dx if isinstance(dx, dict) else Tangent.keys(dx)


class ProjectToObject:
    """The projector of plain objects; it knows the class alone.

    A structural tangent of the class passes; a dict of fields becomes one; everything else is
    what it is. The fields of the object are not looked at: an object may refer to half a program.
    """

    __slots__ = ("type",)

    def __init__(self, x: Any) -> None:
        self.type = type(x)

    def __call__(self, dx: Any) -> Any:
        """`dx`, with a dict made a structural tangent."""
        if isinstance(dx, AbstractTangent):
            return project_to._special(self, dx, self.type)
        return Tangent[self.type](**dx) if type(dx) is dict else dx

    def __repr__(self) -> str:
        return f"ProjectTo({self.type.__name__})"


class ProjectToObjectArray(project_to.OfShape):
    """The projector of arrays of objects: one projector for each element."""

    __slots__ = ("parts", "shape")

    dtype = np.dtype(object)

    def __init__(self, shape: tuple[int, ...], parts: list[Any]) -> None:
        self.shape = shape
        self.parts = parts

    def __call__(self, dx: Any) -> Any:
        """`dx` as an array of objects, each element projected."""
        if isinstance(dx, AbstractTangent):
            return project_to._special(self, dx, np.ndarray)
        if project_to.is_foreign(dx):
            return project_to.fit(dx, self.shape, self.dtype)
        if not hasattr(dx, "shape"):
            project_to._refuse(dx, "array")
            dx = np.asarray(dx)
        dx = project_to.fit(project_to.dense(dx).astype(object), self.shape, self.dtype)
        projected = np.empty(len(self.parts), object)
        for i, (project, element) in enumerate(zip(self.parts, dx.flat, strict=True)):
            projected[i] = project(element)
        return projected.reshape(self.shape)

    def __repr__(self) -> str:
        return f"ProjectTo(array, shape={self.shape}, dtype=object)"


@project_to.register(tuple, list, dict)
def for_container(x: Any) -> Any:
    """The projector of a container, of an object that declares its fields, or array of objects.

    Where a value contains itself, the inner occurrence gets what it gets.
    """
    try:
        ids = _under_way.ids
    except AttributeError:
        ids = _under_way.ids = set()
    if id(x) in ids:
        return project_to.identity
    ids.add(id(x))
    try:
        return _for_parts(x)
    finally:
        ids.discard(id(x))


def _for_parts(x: Any) -> Any:
    if isinstance(x, (tuple, list, np.ndarray)) and not is_namedtuple(type(x)):
        elements = x.flat if isinstance(x, np.ndarray) else x
        parts = [project_to.ProjectTo(element) for element in elements]
        if parts.count(project_to.no_tangent) == len(parts):
            return project_to.no_tangent
        if isinstance(x, np.ndarray):
            return ProjectToObjectArray(x.shape, parts)
        return ProjectToSequence(type(x), parts)
    fields = {name: project_to.ProjectTo(part) for name, part in (fields_of(x) or {}).items()}
    if list(fields.values()).count(project_to.no_tangent) == len(fields):
        return project_to.no_tangent
    return ProjectToFields(type(x), fields)


project_to.register(project_to.Structure)(ProjectToObject)
