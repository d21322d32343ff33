"""Attributes and methods of traced numbers and arrays.

A method of an array is the NumPy function of the same name, except where the method does more
(``reshape(2, 3)``), works in place (``sort``), or returns Python's numbers (``item``, ``tolist``).
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE, require_rule
from autodiff.errors import DifferentiationError, MutationError, missing_attribute, missing_rule
from autodiff.mutation.assignment import assign, assign_item
from autodiff.mutation.shape_change import reshape_in_place
from autodiff.mutation.shared_arguments import itself
from autodiff.mutation.views import refuse
from autodiff.numpy_api import array_subclasses
from autodiff.numpy_api.array_iterators import Flat, set_flat
from autodiff.numpy_api.out_arguments import put, target_of
from autodiff.numpy_api.protocols import ruled
from autodiff.trace.checks.number_classes import own_member
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import argument_of
from autodiff.trace.tracer import (
    FloatTracer,
    Tracer,
    bare,
    is_tracer,
    note_view,
    untraced,
    wrap,
)
from chainrules_core.tangents.fields import in_class

# These do not depend on the numbers.
_CONSTANT_ATTRIBUTES = frozenset(
    {
        "__array_priority__", "device", "dtype", "itemsize", "nbytes", "ndim", "shape", "size",
    }
)  # fmt: skip
_LAYOUT = frozenset({"strides", "flags"})
"""The memory layout, which compiled programs do not keep."""
_CONSTANT_METHODS = frozenset(
    {
        "all", "any", "argmax", "argmin", "argpartition", "argsort", "nonzero", "is_integer",
    }
)  # fmt: skip


def _method_of(f: Callable) -> Callable:
    known = dispatch_cache.ways_of(f)

    def method(*args: Any, **kwargs: Any) -> Any:
        way = dispatch_cache.find(known, args, kwargs)
        if way is not None:
            result = way(*args, **kwargs)
            if result is not NO_RULE:
                return result
        return ruled(f, args, kwargs)

    return method


_FUNCTIONS: dict[str, Callable] = {
    name: _method_of(getattr(np, name))
    for name in (
        "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min",
        "prod", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace",
        "var", "choose",
    )
}  # fmt: skip


def _varargs(function: Callable) -> Callable:
    """Return a method that takes a tuple, or its elements as arguments."""
    call = _method_of(function)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(self, args[0] if len(args) == 1 else args, **kwargs)

    return method


_copied = _method_of(np.copy)


def _copy_of_array(self: Any, order: str = "C") -> Any:
    """Copy in C order: the function ``np.copy`` keeps the order of the original.

    Whether ``ravel`` of the copy is a view of it depends on the order.
    """
    if not isinstance(self, np.ndarray):
        return self  # a NumPy scalar
    if _lies_in(bare(self), order):
        return _copied(self)
    return ruled(np.copy, (self, order), {})


def _lies_in(x: Any, order: str) -> bool:
    """Whether a copy that keeps the order of the axes in memory has this order."""
    if order == "K" or not isinstance(x, np.ndarray) or x.ndim < 2:
        return True
    return order in ("C", "c") and x.flags.c_contiguous


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
    if not copy and np.dtype(dtype) == self.dtype and _lies_in(bare(self), order):
        return self
    y = require_rule(np.ndarray.astype, (self, dtype), {})
    return y if _lies_in(bare(y), order) else ruled(np.copy, (y, order), {})


def _item(self: Any, *args: Any) -> Any:
    if not is_tracer(self):
        return self.item(*args)
    if not isinstance(self, np.ndarray) and not args:
        if self.dtype.kind in "biu":  # recorded; derivatives do not trace them
            seen = untraced(self)
            return seen._tape.call(_plain_item, (seen,), {}) if is_tracer(seen) else seen.item()
        return require_rule(complex if self.dtype.kind == "c" else float, (self,), {})
    return require_rule(np.ndarray.item, (self, *args), {})


def _plain_item(x: Any) -> Any:
    """Return a NumPy number as a Python number."""
    return x.item()


def _tolist(self: Any) -> Any:
    return _item(self) if np.ndim(self) == 0 else [_tolist(part) for part in self]


def _flatten(self: Any, order: str = "C") -> Any:
    return ruled(np.copy, (ruled(np.ravel, (self, order), {}),), {})


def _conjugate(self: Any) -> Any:
    if not np.iscomplexobj(untraced(self)):
        return self  # as NumPy does: a write into the result is one into the array
    y = require_rule(np.conj, (self,), {})
    return require_rule(complex, (y,), {}) if type(bare(self)) is complex else y


def _clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    if out is not None:
        options["out"] = out
    return ruled(np.clip, (self, min, max), options)


def _compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    chosen = np.asarray(untraced(condition), bool)
    return ruled(np.compress, (chosen, self), {"axis": axis, "out": out})


def _fill(self: Any, value: Any) -> None:
    if isinstance(self, np.ndarray):  # the method of NumPy scalars does nothing
        np.zeros(1).fill(np.zeros(np.shape(value)))  # raises NumPy's own error, if any
        assign_item(target_of(self), ..., value)


def _sort(self: Any, axis: int = -1, kind: Any = None, order: Any = None, **_: Any) -> None:
    assign(self, require_rule(np.sort, (self, axis), {}))


def _partition(self: Any, kth: Any, axis: int = -1, **options: Any) -> None:
    assign(self, require_rule(np.partition, (self, kth, axis), {}))


def _put(self: Any, indices: Any, values: Any, mode: str = "raise") -> None:
    put(self, indices, values, mode)


def _resize(self: Any, *shape: Any, refcheck: bool = True) -> None:
    given = shape[0] if len(shape) == 1 else shape
    new_shape = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    reshape_in_place(self, _resized(self, new_shape))


def _resized(self: Any, shape: tuple) -> Any:
    """Return the elements in another shape, filled up with zeros."""
    flat, size = ruled(np.ravel, (self,), {}), math.prod(shape)
    missing = size - np.size(flat)
    flat = ruled(np.pad, (flat, (0, missing)), {}) if missing > 0 else flat[:size]
    return np.copy(np.reshape(flat, shape))


_type = type


def _is_half(real: np.dtype, whole: np.dtype) -> bool:
    """Whether `real` is the dtype of the parts of complex numbers of dtype `whole`."""
    return np.zeros((), whole).real.dtype == real


def _view(self: Any, dtype: Any = None, type: Any = None) -> Any:
    """Return a view, of the same dtype or of complex numbers as pairs of real ones and back."""
    if isinstance(dtype, _type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type not in (None, np.ndarray):
        plain = self if dtype is None else _view(self, dtype)
        return array_subclasses.view(plain, type)
    if dtype is None or np.dtype(dtype) == self.dtype:
        return ruled(np.reshape, (self, np.shape(self)), {})
    new = np.dtype(dtype)
    if self.dtype.kind == "c" and _is_half(new, self.dtype):
        parts = np.stack([np.real(self), np.imag(self)], axis=-1)
        made: Any = np.reshape(parts, (*np.shape(self)[:-1], -1))
    elif new.kind == "c" and _is_half(self.dtype, new) and np.shape(self)[-1] % 2 == 0:
        made = self[..., 0::2] + 1j * self[..., 1::2]
    else:
        raise _reinterpreted("view", new)
    note_view(made, self, refuse)
    return made


def _reinterpreted(name: str, dtype: Any) -> DifferentiationError:
    return DifferentiationError(
        f"x.{name}({dtype}) reads the bits of a traced array as something else, which has no "
        "derivative. Convert the numbers (x.astype), or, if the result is to be a constant, use "
        f"autodiff.ignore_derivatives(x).{name}(...)."
    )


def _getfield(self: Any, dtype: Any, offset: int = 0) -> Any:
    part = _field(self, dtype, offset)
    if part is None:
        return ruled(np.reshape, (self, np.shape(self)), {})
    return ruled(part, (self,), {})


def _setfield(self: Any, val: Any, dtype: Any, offset: int = 0) -> None:
    part = _field(self, dtype, offset)
    assign_item(target_of(self) if part is None else ruled(part, (self,), {}), ..., val)


def _field(self: Any, dtype: Any, offset: int) -> Callable | None:
    """Return which part of each element starts at an offset; None for the whole element."""
    new = np.dtype(dtype)
    if new == self.dtype and offset == 0:
        return None
    if self.dtype.kind == "c" and _is_half(new, self.dtype) and offset in (0, new.itemsize):
        return np.imag if offset else np.real
    raise _reinterpreted("getfield", new)


_OF_BYTES = ("byteswap", "dump", "dumps", "tobytes", "tofile")


def _lost(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen = untraced(self)
        if self._tape is CONSTANT and not is_tracer(seen) and name != "byteswap":  # it may write
            return getattr(seen, name)(*args, **kwargs)
        raise self._lost(f"x.{name}()", "Bytes are not differentiated; compute with the numbers.")

    return method


def _to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    return self


def _setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    attribute(self, "flags")  # this tells a recording, which goes on with a view
    bare(self).setflags(write, align, uic)


_DEFINED: dict[str, Callable] = {
    **_FUNCTIONS,
    "reshape": _varargs(np.reshape),
    "transpose": _transpose,
    "astype": _astype,
    "item": _item,
    "tolist": _tolist,
    "flatten": _flatten,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "clip": _clip,
    "compress": _compress,
    "searchsorted": _method_of(np.searchsorted),
    "partition": _partition,
    "put": _put,
    "resize": _resize,
    "view": _view,
    "getfield": _getfield,
    "setfield": _setfield,
    "to_device": _to_device,
    **{name: _lost(name) for name in _OF_BYTES},
    "copy": _copy_of_array,
    "fill": _fill,
    "sort": _sort,
    "setflags": _setflags,
}


@functools.lru_cache(2000)
def _shown_as(function: Any, kind: type, name: str) -> Callable:
    """Return a function with the name, docstring and signature of the method that it replaces.

    Libraries dispatch on the names of methods.
    """
    method: Any = types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    shown = getattr(kind, name, None)
    method.__kwdefaults__ = function.__kwdefaults__
    if shown is not None:
        method.__qualname__ = f"{kind.__qualname__}.{name}"
        method.__doc__ = shown.__doc__
        method.__wrapped__ = shown  # has the signature
    method.__module__ = None
    return method


_METHODS = {name: _shown_as(f, np.ndarray, name) for name, f in _DEFINED.items()}
_real_of = _method_of(np.real)


def _real(self: Any) -> Any:
    return self if type(bare(self)) is float else _real_of(self)


_PROPERTIES: dict[str, Callable] = {
    "T": _method_of(np.transpose),
    "mT": lambda x: ruled(np.swapaxes, (x, -1, -2), {}),
    "real": _real,
    "imag": _method_of(np.imag),
    "flat": Flat,
    "base": lambda x: None if x._origin is None else x._origin.parent,
}


def _set_part(part: Callable) -> Callable:
    def set_part(self: Tracer, value: Any) -> None:
        if part is np.imag and untraced(self).dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        assign_item(ruled(part, (self,), {}), ..., value)

    return set_part


def _set_shape(self: Tracer, shape: Any) -> None:
    reshape_in_place(self, ruled(np.reshape, (self, shape), {}))


def _refused(name: str) -> Callable:
    def set_refused(self: Tracer, value: Any) -> None:
        raise MutationError(
            f"x.{name} of a traced array is set, which is not followed. Make a new array "
            "(x.astype, x.reshape)."
        )

    return set_refused


_SETTERS: dict[str, Callable] = {
    "real": _set_part(np.real),
    "imag": _set_part(np.imag),
    "flat": set_flat,
    "shape": _set_shape,
    "dtype": _refused("dtype"),
    "strides": _refused("strides"),
}


_PROTOCOLS: dict[str, Callable] = {
    "__array_wrap__": lambda self, array, *context: array,
    "__array_namespace__": lambda self, **options: np,
}


_OF_PYTHON = (types.FunctionType, property, staticmethod, classmethod, functools.cached_property)
_BARE_MEMORY = ("__array_interface__", "__array_struct__")


def _with_view(x: Tracer) -> Tracer:
    """Give an argument a view in place of the user's array, on each level of tracing."""
    first = itself(x)
    value = first._value
    if is_tracer(value):
        first._value = _with_view(wrap(value._value, value._tape, value._index))
    else:
        first._value = value.view()
    x._value = first._value
    return x


def attribute(self: Tracer, name: str) -> Any:
    """Return an attribute of the value, traced where it depends on it."""
    value = self._value
    plain = bare(value)
    if name in _CONSTANT_ATTRIBUTES:
        return getattr(plain, name)
    if name in _LAYOUT:
        seen = untraced(self)
        if is_tracer(seen):
            seen._tape.spoil(f"x.{name} says how an array lies in memory, which is not followed")
            if name == "flags":  # the function runs again after the recording, with the same array
                plain = seen._value = plain.view()
        elif name == "flags" and bare(argument_of(itself(self))) is plain:
            plain = bare(_with_view(self))  # the flags of the user's array stay
        return getattr(plain, name)
    if name in _PROTOCOLS and isinstance(plain, np.ndarray):
        return types.MethodType(_shown_as(_PROTOCOLS[name], np.ndarray, name), self)
    if name.startswith("__") and (self._tape is not CONSTANT or name in _BARE_MEMORY):
        # Above all __array_interface__, through which NumPy would read the memory itself. That of a
        # constant may be read, but f2py would also write into it.
        raise AttributeError(f"a traced {plain.__class__.__name__} has no attribute {name!r}")
    kind: Any = type(plain)
    attribute = getattr(kind, name, None)
    if attribute is None or name.startswith("__"):
        return getattr(plain, name)  # raises the value's own AttributeError
    if name in _PROPERTIES:
        return _PROPERTIES[name](self)
    if name in _METHODS:
        return types.MethodType(_shown_as(_DEFINED[name], kind, name), self)
    if name in _CONSTANT_METHODS:
        seen = untraced(self)
        return seen._tape.method(seen, name) if is_tracer(seen) else getattr(plain, name)
    if kind.__module__ != "numpy" and type(in_class(kind, name)) in _OF_PYTHON:
        raise own_member(plain, name)
    if callable(attribute):
        if isinstance(attribute, types.BuiltinFunctionType):
            return attribute  # of the class: float.fromhex
        return types.MethodType(_shown_as(_without_rule(attribute), kind, name), self)
    raise missing_attribute(self, name)


@functools.cache
def _without_rule(method: Any) -> Callable:
    """Return a replacement, which raises, for a method without a rule."""

    def refused(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise missing_rule(method, (self, *args), kwargs)

    return refused


def method_of_array(name: str, x: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a method of an untraced array with traced arguments."""
    method = _METHODS.get(name)
    if method is None or name in _OF_BYTES:
        raise missing_rule(getattr(np.ndarray, name), (x, *args))
    return method(x, *args, **kwargs)


class _Doc:
    """The docstring of the value, for its tracer."""

    def __get__(self, x: Tracer | None, kind: type) -> str | None:
        return _DOC if x is None else bare(x).__doc__


_DOC = Tracer.__doc__


def _copy(self: Tracer) -> Any:
    return ruled(np.copy, (self,), {}) if isinstance(self, np.ndarray) else self


def _getter(name: str) -> Callable:
    """Return a getter of an attribute, with a fast path for arrays on a single trace level."""

    def get(self: Tracer) -> Any:
        return attribute(self, name)

    def get_constant(self: Tracer) -> Any:
        value = self._value
        while issubclass(type(value), Tracer):
            value = value._value
        return getattr(value, name)

    def get_method(self: Tracer) -> Any:
        if type(self._value) is np.ndarray:
            return types.MethodType(method, self)
        return attribute(self, name)

    def get_property(self: Tracer) -> Any:
        return derived(self) if type(self._value) is np.ndarray else attribute(self, name)

    method: Any = _METHODS.get(name)
    if method is not None:
        return get_method
    derived: Any = _PROPERTIES.get(name)
    if derived is not None:
        return get_property
    return get_constant if name in _CONSTANT_ATTRIBUTES else get


# Attributes that are properties, which Python finds sooner than through `__getattr__`.
_AT_ONCE = (*_FUNCTIONS, "copy", "reshape", "transpose", "astype", "item", "ndim", "size", "T")


def install() -> None:
    """Give `Tracer` the attributes of its value."""
    for name in _AT_ONCE:
        setattr(Tracer, name, property(_getter(name)))
    for name, setter in _SETTERS.items():
        setattr(Tracer, name, property(_getter(name), setter))
    for kind in (Tracer, FloatTracer):
        # Each has its own: if C code looks up an attribute while an exception is pending, Python
        # does not find an inherited `__getattr__`, and a class without one never asks again.
        kind.__getattr__ = attribute  # type: ignore[attr-defined] # installed here
    Tracer.__copy__ = _copy  # type: ignore[attr-defined] # installed here
    Tracer.__dir__ = lambda self: dir(bare(self))  # type: ignore[method-assign] # installed here
    for name, function in vars(Tracer).items():
        if isinstance(function, types.FunctionType):
            function.__name__ = name
    for kind in (Tracer, FloatTracer):
        kind.__doc__ = _Doc()  # type: ignore[assignment] # a descriptor


install()
