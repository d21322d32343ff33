"""Classes of numbers and arrays with arithmetic of their own, which are refused.

The engine treats instances of ``np.ndarray`` and ``float`` as plain arrays and numbers: its rules
compute what NumPy computes. A subclass that overrides an operator, a method or a NumPy protocol
computes something else (units, angles in degrees, quaternions). So it is an error if an instance
meets a traced value as a constant, an argument or a result. So it is for arrays of other systems
(a tensor of PyTorch): what is computed with them is recorded there, or nowhere.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.errors import ArgumentError, System, array_of_objects, not_connected, system_of
from autodiff.python_operators import ARITHMETIC

_BASES = (np.ndarray, np.generic, complex, float, int)
# What may be overridden, since no computation uses it: creation, copying, storage, printing.
_HARMLESS = frozenset(
    {
        "__annotations__", "__array_finalize__", "__array_priority__", "__class__",
        "__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__delattr__", "__dict__",
        "__dir__", "__doc__", "__format__", "__getnewargs__", "__getnewargs_ex__", "__getstate__",
        "__hash__", "__init__", "__init_subclass__", "__module__", "__new__", "__reduce__",
        "__reduce_ex__", "__repr__", "__setattr__", "__setstate__", "__sizeof__", "__slots__",
        "__str__", "__subclasshook__", "__weakref__",
    }
)  # fmt: skip
# What a class of numbers must not override; a class of constants (an Enum) may define others.
_ARITHMETIC = frozenset(
    f"__{side}{name}__"
    for side in ("", "r")
    for name in ("divmod", *[o.name for o in ARITHMETIC.values()])
) | {"__abs__", "__complex__", "__float__", "__neg__", "__pos__"}
_PROTOCOLS = frozenset({"__array__", "__array_function__", "__array_ufunc__", "__array_wrap__"})
_OTHER_ARRAYS = {"matrix": "a np.matrix"}
_known: weakref.WeakSet[type] = caches.register("plain classes of numbers", weakref.WeakSet())
INSTANCES: set[type] = set()
"""What stands for instances of subclasses of arrays whose elements are traced."""


numbers_in_cells: Callable[[Any], Any] = not_connected


def connect(numbers: Callable[[Any], Any]) -> None:
    """Put in the function of an upper module that this one calls; see :mod:`autodiff.wiring`.

    Parameters
    ----------
    numbers : callable
        ``numbers(x)`` is an object array of traced numbers as a traced array.
    """
    globals().update(numbers_in_cells=numbers)


def given_out(x: Any) -> Any:
    """Return an output of a traced function: that of a subclass of arrays as a plain one.

    So is an object array with traced numbers in its cells. Lists, tuples and dicts are looked into.
    """
    kind = type(x)
    if kind is np.ndarray and x.dtype.kind == "O":
        plain = numbers_in_cells(x)
        if plain is x and any(hasattr(type(cell), "_tape") for cell in x.flat):
            raise array_of_objects("the function returns an array")
        return plain
    if kind in INSTANCES:
        return x.given_out()
    if kind is list or kind is tuple:
        new = [given_out(v) for v in x]
        return x if all(map(operator.is_, new, x)) else kind(new)
    if kind is dict:
        named = {key: given_out(v) for key, v in x.items()}
        return x if all(map(operator.is_, named.values(), x.values())) else named
    return x


def _computes_itself(kind: type) -> bool:
    return (
        issubclass(kind, np.ndarray)
        and not any(base.__name__ in _OTHER_ARRAYS for base in kind.__mro__)
        and bool(overridden(kind))
    )


computes_itself = caches.fact_of_classes("classes with arithmetic", _computes_itself, set())
"""Whether a class of arrays gives arithmetic another meaning, and its own code can be run."""


def check_class(kind: type) -> None:
    """Raise for a class of numbers or arrays with arithmetic of its own."""
    if kind in _known:
        return
    if kind in INSTANCES:
        raise ArgumentError(
            "an array of a class with arithmetic of its own (units, labels), whose elements are "
            "traced, is given to a function that has a rule for plain arrays: the rule would leave "
            "out what the class does. Take the plain array out first (np.asarray(x), or x.value "
            "for units)."
        )
    if issubclass(kind, _BASES):
        check_matrix(kind)
        own = overridden(kind)
        if own:
            what = "arrays" if issubclass(kind, np.ndarray) else "numbers"
            names = ", ".join(own[:4]) + (" and more" if len(own) > 4 else "")
            raise ArgumentError(
                f"{kind.__qualname__}, a class of {what} that defines {names} itself, meets a "
                "traced value: what it computes is not followed, and the derivative would be "
                f"another function's. Give the function plain {what} (np.asarray(c)), and convert "
                "units and the like outside of it or by explicit factors."
            )
    system = system_of(kind)
    if system is not None:
        raise of_system(kind, system)
    _known.add(kind)


def own_member(x: Any, name: str) -> ArgumentError:
    """Build the error for a method or property that a class of numbers of the user's defines."""
    kind = type(x)
    what = "arrays" if issubclass(kind, np.ndarray) else "numbers"
    return ArgumentError(
        f"{name} of a traced {kind.__qualname__}, a class of {what}, is not followed: its code "
        f"would be given a plain one. Give the function plain {what} (float(x), np.asarray(x)) and "
        f"make the {kind.__qualname__} outside, or make {name} a function of a plain number."
    )


def of_system(kind: type, system: System) -> ArgumentError:
    """Build the error for an object of another system where arrays are differentiated."""
    if system.instead:
        way = system.instead
    else:
        way = f"Give arrays of its numbers, or wrap the function for {system.title}: {system.to_it}"
        if system.from_it:
            way += f"; wrap a function of {system.title} that it calls: {system.from_it}"
        way += " (in autodiff.interop)."
    return ArgumentError(
        f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}, a class of "
        f"{system.title}, meets a value that is differentiated here, and what {system.title} "
        f"computes is not followed. {way}"
    )


def overridden(kind: type) -> list[str]:
    """Return the names of the operators, methods and protocols that a subclass overrides."""
    is_array = issubclass(kind, np.ndarray)
    own: dict[str, None] = {}
    for base in kind.__mro__:
        if base in _BASES or _has_arithmetic_of_arrays(base):
            break
        for name in vars(base):
            if name in _HARMLESS:
                continue
            counts = hasattr(np.ndarray, name) if is_array else name in _ARITHMETIC
            if counts or name in _PROTOCOLS:
                own[name] = None
    return list(own)


def _has_arithmetic_of_arrays(kind: type) -> bool:
    """Whether this is one of NumPy's own subclasses (np.memmap); a masked array is another."""
    return kind.__module__.partition(".")[0] == "numpy" and kind.__name__ != "MaskedArray"


def check_matrix(kind: type) -> None:
    """Raise for a matrix."""
    for base in kind.__mro__:
        if base.__name__ in _OTHER_ARRAYS and base.__module__.partition(".")[0] == "numpy":
            raise ArgumentError(
                f"{_OTHER_ARRAYS[base.__name__]} (here {kind.__name__}) meets a traced value: its "
                "operators and methods are not those of arrays, and the derivative would be "
                "another function's. Make it an array: np.asarray(m)."
            )
