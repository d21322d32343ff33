"""The methods of ``np.ndarray`` for instances of subclasses whose elements are traced.

See :mod:`autodiff.numpy_api.array_subclasses`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.errors import lost_value
from autodiff.mutation.views import settled
from autodiff.numpy_api.array_subclasses import (
    ArrayInstance,
    body_of,
    by_class,
    call_ufunc,
    data_of,
    function_of_arrays,
    not_followed,
    original,
    result_like,
    shell_of,
    ufunc_of_arrays,
    view,
)
from autodiff.trace.tracer import bare, is_tracer
from chainrules_core.tangents.fields import in_class

_array: Any = np.ndarray


class ArrayMethods(_array):  # to the type checker without the types of np.ndarray
    """The methods of ``np.ndarray`` for instances of subclasses whose elements are traced.

    There are no instances of it: an `ArrayInstance` passes for one.
    """

    __slots__ = ()

    def __array_finalize__(self, obj: Any) -> None:
        pass

    def __array_ufunc__(self, f: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        others = (*inputs, *(kwargs.get("out") or ()))
        if next(by_class("__array_ufunc__", list(others)), None) is not None:
            return NotImplemented
        return ufunc_of_arrays(f, method, inputs, kwargs)

    def __array_function__(self, f: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return function_of_arrays(f, args, kwargs)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return view(array, type(self._shell)) if is_tracer(array) else array

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return a view of another class, or the plain array."""
        if isinstance(dtype, _type) and issubclass(dtype, np.ndarray):
            dtype, type = None, dtype
        if dtype is not None and np.dtype(dtype) != self._traced.dtype:
            raise not_followed(self, "view")
        kind = _type(self._shell) if type is None else original(type)
        data = self._traced.view()
        return data if kind is np.ndarray else ArrayInstance(data, self._shell.view(kind))

    def __getitem__(self, index: Any) -> Any:
        index = settled(index)
        made = self._traced[index]
        return result_like(made, lambda: np.ndarray.__getitem__(self._shell, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._traced[index] = data_of(value)
        before = self._shell
        shell = bare(self._traced).view(_type(before))
        shell.__array_finalize__(before)
        object.__setattr__(self, "_shell", shell)

    def __len__(self) -> int:
        return len(self._traced)

    def __iter__(self) -> Iterator:
        return (self[i] for i in range(len(self._traced)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __float__(self) -> float:
        raise lost_value("float(), or a C function that takes a float,", type(self._shell).__name__)

    def setflags(self, *args: Any, **kwargs: Any) -> None:
        """Set flags of the array."""
        self._traced.setflags(*args, **kwargs)

    def item(self, *args: Any) -> Any:
        """Return an element as a Python number."""
        return self._traced.item(*args)

    def tolist(self) -> Any:
        """Return nested lists of numbers."""
        return self._traced.tolist()

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the mean, by the class's own sum."""
        if out is not None or options.get("where") is not None:
            raise not_followed(self, "mean")
        total = np.add.reduce(self, axis=axis, dtype=dtype, **options)
        made = total / (self._traced.size / max(np.size(shell_of(total)), 1))
        plainly: Any = np.ndarray.mean
        return result_like(data_of(made), lambda: plainly(self._shell, axis, dtype, **options))


_type = type
_CONSTANT = ("shape", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "strides", "base")
_SELECTING = (
    "astype", "compress", "copy", "diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze",
    "swapaxes", "take", "transpose",
)  # fmt: skip
_REDUCING: dict[str, tuple[np.ufunc, str]] = {
    "sum": (np.add, "reduce"), "prod": (np.multiply, "reduce"), "max": (np.maximum, "reduce"),
    "min": (np.minimum, "reduce"), "any": (np.logical_or, "reduce"),
    "all": (np.logical_and, "reduce"), "cumsum": (np.add, "accumulate"),
    "cumprod": (np.multiply, "accumulate"),
}  # fmt: skip
_BINARY: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
}  # fmt: skip
_COMPARING: dict[str, np.ufunc] = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_UNARY: dict[str, np.ufunc] = {"neg": np.negative, "pos": np.positive, "abs": np.absolute}
_OF_FUNCTION = ("argmax", "argmin", "argsort", "clip", "dot", "nonzero", "std", "trace", "var")


def _constant(name: str) -> property:
    return property(lambda self: getattr(self._traced, name))


def _part(name: str) -> property:
    descriptor = getattr(np.ndarray, name)
    return property(
        lambda self: result_like(
            getattr(self._traced, name), lambda: descriptor.__get__(self._shell)
        )
    )


def _selecting(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = settled(args)
        made = getattr(self._traced, name)(*args, **kwargs)
        return result_like(made, lambda: getattr(np.ndarray, name)(self._shell, *args, **kwargs))

    return method


def _reducing(f: np.ufunc, kind: str) -> Callable:
    def method(self: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kind == "accumulate" and axis is None:
            return method(self.ravel(), 0, *args, **kwargs)
        return call_ufunc(f, kind, (self,), dict(_named(args), axis=axis, **kwargs))

    return method


def _named(args: tuple) -> dict[str, Any]:
    """Return ``dtype`` and ``out`` of a reduction, given by their places."""
    return {name: v for name, v in zip(("dtype", "out"), args, strict=False) if v is not None}


def _binary(f: np.ufunc, is_reflected: bool) -> Callable:
    def method(self: Any, other: Any, modulo: None = None) -> Any:
        if getattr(type(other), "__array_ufunc__", f) is None:
            return NotImplemented  # it wants to be asked itself
        return call_ufunc(f, "__call__", (other, self) if is_reflected else (self, other), {})

    return method


def _unary(f: np.ufunc) -> Callable:
    return lambda self: call_ufunc(f, "__call__", (self,), {})


def _in_place(f: np.ufunc) -> Callable:
    return lambda self, other: call_ufunc(f, "__call__", (self, other), {"out": (self,)})


def _of_function(name: str) -> Callable:
    f = getattr(np, name)
    return lambda self, *args, **kwargs: _function_by_class(f, self, args, kwargs)


def _function_by_class(f: Any, x: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Do a method of an array that is not overridden as NumPy's function of the plain array."""
    if f in (np.argmax, np.argmin, np.argsort, np.nonzero):
        return f(x._traced, *args, **kwargs)
    made = calls.call(f, (x._traced, *map(data_of, args)), kwargs)
    return result_like(
        made, lambda: getattr(np.ndarray, f.__name__)(x._shell, *map(shell_of, args), **kwargs)
    )


def _delegating(name: str) -> Callable:
    """Return a special method of `ArrayInstance`: it calls that of the class it passes for."""

    def method(self: ArrayInstance, *args: Any) -> Any:
        found: Any = in_class(self.__class__, name)
        if found is None:
            return NotImplemented
        return body_of(found)(self, *args)

    method.__name__ = name
    return method


def _install() -> None:
    base: Any = ArrayMethods
    for name in _CONSTANT:
        setattr(base, name, _constant(name))
    for name in ("T", "mT", "real", "imag"):
        setattr(base, name, _part(name))
    for name in _SELECTING:
        setattr(base, name, _selecting(name))
    for name, (f, kind) in _REDUCING.items():
        setattr(base, name, _reducing(f, kind))
    for name in _OF_FUNCTION:
        setattr(base, name, _of_function(name))
    for name in ("conj", "conjugate"):
        setattr(base, name, _unary(np.conjugate))
    for name, f in _BINARY.items():
        setattr(base, f"__{name}__", _binary(f, False))
        setattr(base, f"__r{name}__", _binary(f, True))
        setattr(base, f"__i{name}__", _in_place(f))
    for name, f in _COMPARING.items():
        setattr(base, f"__{name}__", _binary(f, False))
    for name, f in _UNARY.items():
        setattr(base, f"__{name}__", _unary(f))
    base.__bool__ = lambda self: bool(self._traced)
    base.__hash__ = None
    specials = (
        *(f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i")),
        *(f"__{name}__" for name in (*_COMPARING, *_UNARY)),
        *("__len__", "__iter__", "__getitem__", "__setitem__", "__contains__", "__bool__"),
        *("__float__", "__int__", "__index__", "__complex__", "__round__", "__lshift__"),
        *("__rlshift__", "__rshift__", "__rrshift__", "__divmod__", "__rdivmod__"),
    )
    for name in specials:
        setattr(ArrayInstance, name, _delegating(name))
    for name in ("__int__", "__index__", "__complex__"):
        setattr(base, name, base.__float__)


_install()
