"""Attributes and methods of traced numbers and arrays.

A method of an array is the NumPy function of the same name, except where the method does more
(``reshape(2, 3)``), works in place (``sort``), or leaves the array world (``item``, ``tolist``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.call import require_rule
from autodiff.errors import missing_rule
from autodiff.mutation import assign, assign_item
from autodiff.protocols import ruled
from autodiff.tape import CONSTANT
from autodiff.tracer import Tracer, untraced

# What is the same for the value and for whatever it is traced as.
_CONSTANT_ATTRIBUTES = frozenset(
    {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "flags", "device"}
)
_CONSTANT_METHODS = frozenset(
    {
        "all", "any", "argmax", "argmin", "argpartition", "argsort", "nonzero", "searchsorted",
        "is_integer",
    }
)  # fmt: skip


def _method_of(f: Callable) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return ruled(f, (self, *args), kwargs)

    return method


_FUNCTIONS: dict[str, Callable] = {
    name: _method_of(getattr(np, name))
    for name in (
        "clip", "compress", "copy", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min",
        "prod", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace",
        "var", "choose",
    )
}  # fmt: skip


def _varargs(function: Callable) -> Callable:
    """A method that takes its tuple spread out as well."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = args[0] if len(args) == 1 else args
        return ruled(function, (self, value), kwargs)

    return method


def _transpose(self: Any, *axes: Any) -> Any:
    given: Any = axes
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        given = axes[0]
    return ruled(np.transpose, (self, given or None), {})


def _astype(
    self: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    if not copy and np.dtype(dtype) == self.dtype:
        return self
    return require_rule(np.ndarray.astype, (self, dtype), {})


def _item(self: Any, *args: Any) -> Any:
    return require_rule(np.ndarray.item, (self, *args), {})


def _tolist(self: Any) -> Any:
    return _item(self) if np.ndim(self) == 0 else [_tolist(part) for part in self]


def _flatten(self: Any, order: str = "C") -> Any:
    return ruled(np.copy, (ruled(np.ravel, (self, order), {}),), {})


def _conjugate(self: Any) -> Any:
    return require_rule(np.conj, (self,), {})


def _fill(self: Any, value: Any) -> None:
    assign_item(self, ..., value)


def _sort(self: Any, axis: int = -1, **options: Any) -> None:
    assign(self, require_rule(np.sort, (self, axis), {}))


def _setflags(self: Any, **flags: Any) -> None:
    """Traced memory is the engine's own; the flags of the original do not apply to it."""


_METHODS: dict[str, Callable] = {
    **_FUNCTIONS,
    "reshape": _varargs(np.reshape),
    "transpose": _transpose,
    "astype": _astype,
    "item": _item,
    "tolist": _tolist,
    "flatten": _flatten,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "fill": _fill,
    "sort": _sort,
    "setflags": _setflags,
}
_PROPERTIES: dict[str, Callable] = {
    "T": _method_of(np.transpose),
    "mT": lambda x: ruled(np.swapaxes, (x, -1, -2), {}),
    "real": _method_of(np.real),
    "imag": _method_of(np.imag),
}


def attribute(self: Tracer, name: str) -> Any:
    """Return an attribute of the value, traced where it depends on it."""
    value = self._value
    if name in _CONSTANT_ATTRIBUTES:
        return getattr(untraced(value), name)
    plain = untraced(value)
    if name.startswith("__") and self._tape is not CONSTANT:
        # Above all __array_interface__ and its kin, by which NumPy would read the bare memory.
        raise AttributeError(f"a traced {plain.__class__.__name__} has no attribute {name!r}")
    attribute = getattr(type(plain), name, None)
    if attribute is None or name.startswith("__"):
        return getattr(plain, name)  # an AttributeError in the value's own words
    if name in _PROPERTIES:
        return _PROPERTIES[name](self)
    if name in _METHODS:
        return operator_method(_METHODS[name], self)
    if name in _CONSTANT_METHODS:
        return getattr(plain, name)
    raise missing_rule(attribute, (self,))


def method_of_array(name: str, x: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a method of an array that is not traced, on arguments that are."""
    method = _METHODS.get(name)
    if method is None:
        raise missing_rule(getattr(np.ndarray, name), (x, *args))
    return method(x, *args, **kwargs)


def operator_method(function: Callable, self: Tracer) -> Callable:
    """Return `function` with the traced value as first argument."""

    def method(*args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return method


def _copy(self: Tracer) -> Any:
    return ruled(np.copy, (self,), {}) if isinstance(self, np.ndarray) else self


def install() -> None:
    """Give `Tracer` the attributes of its value."""
    Tracer.__getattr__ = attribute  # type: ignore[attr-defined] # installed here
    Tracer.__copy__ = _copy  # type: ignore[attr-defined] # installed here


install()
