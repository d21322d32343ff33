"""Validators of pydantic, which are compiled, and keep the numbers and arrays that they accept.

They see plain values. Where the result has these very objects, the traced values take their places.
If one is missing, the validator has converted it, which is not followed. Nor is it where functions
written in Python take part, since they would compute with the plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import innermost
from autodiff.intercept.syntax import syntax_ops
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core.tangents.fields import in_class

_PLACES = {"validate_python": 0, "validate_assignment": 2}
"""Methods of validators → at which place they take what is validated."""
_NOT_RUN = frozenset({"serialization", "metadata", "computed_fields"})
"""Parts of a schema that validation does not use."""


def of_method(g: Any, otherwise: Callable) -> Callable:
    """Return what is called for a method of a validator; `otherwise` where it is not followed."""
    place = _PLACES.get(g.__name__)

    def validated(*args: Any, **kwargs: Any) -> Any:
        if place is None or len(args) <= place or not _holds_traced(args[place]):
            return otherwise(*args, **kwargs)
        instance = kwargs.get("self_instance") if place == 0 else args[0]
        if instance is None or not _only_looks(type(instance)):
            return otherwise(*args, **kwargs)
        for as_floats in (False, True):  # it makes a float of a NumPy number
            stands = _StandIns(as_floats)
            plain = stands.plain(args[place])
            if stands.are_recorded():
                break
            made = g(*args[:place], plain, *args[place + 1 :], **kwargs)
            stands.put_back(vars(instance))
            if made is instance and not stands.missing:
                return made
        return otherwise(*args, **kwargs)

    return validated


def _holds_traced(x: Any) -> bool:
    parts = (x.args, x.kwargs) if type(x).__name__ == "ArgsKwargs" else (x,)
    return innermost(parts, {}) is not None


class _StandIns:
    """Plain objects in place of traced values, each another one."""

    def __init__(self, as_floats: bool) -> None:
        self._as_floats = as_floats
        self._given: dict[int, tuple[Any, Any]] = {}
        self._seen: dict[int, Any] = {}
        self.missing: set[int] = set()

    def plain(self, x: Any) -> Any:
        """Return what is validated; objects other than lists, tuples and dicts stay."""
        kind = type(x)
        if kind.__name__ == "ArgsKwargs":
            return kind(self.plain(x.args), self.plain(x.kwargs or {}))
        if is_tracer(x):
            if self._as_floats and isinstance(x, np.float64):
                x = syntax_ops.intercept(float)(x)
            value = untraced(x)
            if not is_tracer(value):
                value = value.copy() if isinstance(value, np.ndarray) else type(value)(value * 1.0)
            self.missing.add(id(value))
        elif kind is list or kind is tuple:
            value = kind([self.plain(part) for part in x])
        elif kind is dict:
            value = {key: self.plain(part) for key, part in x.items()}
        else:
            return x
        self._given[id(value)] = value, x
        return value

    def are_recorded(self) -> bool:
        """Whether a value is one of a program that is recorded."""
        return any(is_tracer(value) for value, _ in self._given.values())

    def put_back(self, x: Any) -> Any:
        """Return a result with the traced values in it; new containers are changed in place."""
        if id(x) in self._seen:
            return x
        kind = type(x)
        if id(x) in self._given:
            self._find(x)
            return self._given[id(x)][1]
        self._seen[id(x)] = x
        if kind is tuple:
            return tuple([self.put_back(part) for part in x])
        if kind is list:
            x[:] = [self.put_back(part) for part in x]
        elif kind is dict:
            x.update({key: self.put_back(part) for key, part in x.items()})
        elif in_class(kind, "__pydantic_validator__") is not None:
            self.put_back(vars(x))
        return x

    def _find(self, value: Any) -> None:
        """Note that a stand-in is in the result, or all those in a container."""
        self.missing.discard(id(value))
        if type(value) in (list, tuple, dict):
            for part in value.values() if type(value) is dict else value:
                if id(part) in self._given:
                    self._find(part)


def _only_looks(kind: type) -> bool:
    """Whether validating an instance of a class runs no Python code, and takes no object apart."""
    schema = in_class(kind, "__pydantic_core_schema__")
    return isinstance(schema, dict) and not any(_does_more(*part) for part in _parts(schema))


def _parts(schema: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(schema, dict):
        for key, part in schema.items():
            if key not in _NOT_RUN:
                yield key, part
                yield from _parts(part)
    elif isinstance(schema, (list, tuple)):
        for part in schema:
            yield from _parts(part)


def _does_more(key: Any, part: Any) -> bool:
    if key in ("post_init", "custom_init", "from_attributes"):
        return bool(part)
    if key == "revalidate_instances":
        return part != "never"
    return callable(part) and not isinstance(part, type)
