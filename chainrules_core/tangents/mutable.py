"""MutableTangent: a structural tangent that changes along with its primal."""

from __future__ import annotations

from typing import Any, ClassVar

from chainrules_core.errors import TangentTypeError
from chainrules_core.tangents.fields import declared_fields, fields_of, is_structure
from chainrules_core.tangents.structural import Tangent, _name
from chainrules_core.tangents.zero import ZERO


class MutableTangent(Tangent):
    """A structural tangent whose parts can be assigned: ``t.a = a_dot``, ``t["a"] = a_dot``.

    For forward mode through code that writes attributes: the tangent is changed as its primal is.
    All declared fields must be there from the start; for what has no derivative yet, a zero.
    Adding and scaling make new tangents, as for `Tangent`.

    ``MutableTangent[Foo]`` is a subclass of ``Tangent[Foo]``.

    Raises
    ------
    TangentTypeError
        As for `Tangent`, and if a field is missing.

    Examples
    --------
    >>> class Foo:
    ...     def __init__(self): self.a = 1.0
    >>> t = MutableTangent[Foo](a=0.0)
    >>> t.a = 2.0
    >>> t
    MutableTangent[Foo](a=2.0)
    """

    __slots__ = ()
    _known_: ClassVar[dict[int, Any]] = {}

    @staticmethod
    def _also_(primal: type) -> tuple[type, ...]:
        return (Tangent[primal],)

    def __new__(cls, /, *parts: Any, **fields: Any) -> Any:
        """Check that all fields are there."""
        new = super().__new__(cls, *parts, **fields)
        missing = [name for name in new._fields_ or () if name not in new._backing_]
        if missing:
            raise TangentTypeError(
                f"{type(new).__name__} needs all fields; these are missing: {', '.join(missing)}. "
                "Give ZeroTangent() for a field that has no derivative yet.",
                new._primal_,
            )
        return new

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_backing_", "_primal_"):
            object.__setattr__(self, name, value)
        else:
            self[name] = value

    def __setitem__(self, key: Any, value: Any) -> None:
        stored = self._backing_
        if type(stored) is tuple:
            parts = list(stored)
            parts[key] = value
            self._backing_ = tuple(parts)
        else:
            stored[_name(self, key)] = value  # type: ignore[index]


def structural_tangent(primal: Any, /, *parts: Any, **fields: Any) -> Tangent:
    """The structural tangent of a value, of the kind that suits it.

    A plain object, and a dataclass or class with slots that is not frozen, gets a
    `MutableTangent` with zeros for fields left out; tuples, lists, dicts and frozen dataclasses
    get a `Tangent`. (Lists and dicts change their length, which a tangent cannot follow; engines
    trace their elements instead.)

    Examples
    --------
    >>> class Foo:
    ...     def __init__(self): self.a, self.b = 1.0, 2.0
    >>> structural_tangent(Foo(), a=0.5)
    MutableTangent[Foo](a=0.5, b=ZeroTangent())
    >>> structural_tangent((1.0, 2.0), 0.5, 0.0)
    Tangent[tuple](0.5, 0.0)
    """
    cls = type(primal)
    parameters = getattr(cls, "__dataclass_params__", None)
    if not is_structure(cls) or (parameters is not None and parameters.frozen):
        return Tangent[cls](*parts, **fields)
    every = dict.fromkeys(declared_fields(cls) or fields_of(primal) or (), ZERO)
    return MutableTangent[cls](*parts, **{**every, **fields})
