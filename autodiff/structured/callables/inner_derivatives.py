"""Derivatives inside functions with loops: calls that record their own pullbacks."""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autodiff.mutation.memory_layout import unshared
from autodiff.structured.callables.recursive_calls import RuleLike
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.trace.trace_stack import apart
from chainrules_core import AbstractZero

OPTIONS = frozenset({"argnums", "fallback", "has_aux", "mode"})
"""The options of derivatives; all other keyword arguments are those of the function."""

CURRIED: dict[str, tuple[str, dict[str, Any]]] = {
    "grad": ("gradient", {}),
    "value_and_grad": ("value_and_gradient", {}),
    "jacfwd": ("jacobian", {"mode": "forward"}),
    "jacrev": ("jacobian", {"mode": "reverse"}),
}
"""Functions that return ``functools.partial(derivative, f, argnums=..., **options)``."""

_serials = itertools.count(1)
_functions: dict[str, Callable] = {}
_names: dict[Callable, str] = {}
parts_of_curried: Callable[[Any], tuple[Callable, Callable, dict[str, Any]] | None]


def connect(*, parts_of_derivative: Callable, **functions: Callable) -> None:
    """Take the functions of `autodiff.api`, which import this module."""
    global parts_of_curried
    parts_of_curried = parts_of_derivative
    _functions.update(functions)
    _names.update({f: name for name, f in functions.items()})


def derivative_called(f: Any) -> str:
    """Return the name of a function that differentiates; an empty text for all others."""
    try:
        return _names.get(f, "")
    except TypeError:  # unhashable
        return ""


def function_called(name: str) -> Callable:
    """Return the function that differentiates, by its name."""
    return _functions[name]


class LeafPlace(NamedTuple):
    """Stands for a number or array in a nest, by its position."""

    place: int


class InnerDerivative(RuleLike):
    """A derivative of a function that reads numbers and arrays from its arguments alone.

    Its own derivatives are those of the call as it is written, which the engine differentiates like
    any other.

    Parameters
    ----------
    transform : callable
        Computes the derivative: ``transform(f, *args, **named)``.
    f : FunctionType
        The function.
    args, named : tuple, dict
        The other arguments, in which each `LeafPlace` stands for an argument of this operation.
    result : Any
        The structure of the result: tuples, lists and dicts with a `Kind` for each number or array.
    """

    returns_new = True

    def __init__(
        self, transform: Callable, f: Callable, args: tuple, named: dict[str, Any], result: Any
    ) -> None:
        self.__name__ = f"{transform.__name__}_of_{f.__name__}"
        held: dict[str, Any] = {"transform": transform, "f": f}
        leaves: set[int] = set()
        given = [_written(x, held, leaves) for x in args]
        given += [f"{name}={_written(x, held, leaves)}" for name, x in named.items()]
        found = list(_kinds_in(result, "y"))
        self.kinds = tuple([kind for _, kind in found])
        text = f"""def derivative_of({", ".join(held)}):
    def derivative({", ".join([f"x{place}" for place in sorted(leaves)])}):
        y = transform(f, {", ".join(given)})
        return {", ".join([place for place, _ in found])},
    return derivative
"""
        file = f"<{self.__name__} {next(_serials)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        namespace: dict[str, Any] = {"__name__": __name__}
        exec(compile(text, file, "exec"), namespace)
        # Straight-line code that captures what it calls: it can become a program.
        self.derivative: Callable = namespace["derivative_of"](**held)
        weakref.finalize(self.derivative, linecache.cache.pop, file, None)

    def __call__(self, *args: Any) -> Any:
        """Return the derivative; a tuple if it has several parts."""
        arrays = [a for a in args if type(a) is np.ndarray]
        made = []
        for x, kind in zip(apart(self.derivative, *args), self.kinds, strict=True):
            is_other = kind.is_array and (x.dtype != kind.dtype or x.ndim != kind.ndim)
            if is_other or type(x) not in kind.classes:
                raise UnsupportedError("a derivative of another class")
            if kind.is_array:
                x = unshared(x, arrays)
                arrays.append(x)
            made.append(x)
        return tuple(made) if len(made) > 1 else made[0]

    def at_levels(self, *args: Any) -> Any:
        """Return the derivative where some arguments are traced."""
        found = self.derivative(*args)
        return found if len(found) > 1 else found[0]

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return the derivative, and the pullback for the arguments at the positions `wanted`."""
        made = self(*args)
        values = made if len(self.kinds) > 1 else (made,)

        def pullback(bars: Any) -> list:
            given = bars if len(values) > 1 else (bars,)
            seeds = tuple(map(_like, values, given))
            return apart(_functions["cotangents"], self.derivative, args, seeds, wanted)

        return made, pullback


def _written(x: Any, held: dict[str, Any], leaves: set[int]) -> str:
    """Return the source of a nest; its constants go into `held`, the places of its leaves too."""
    if type(x) is LeafPlace:
        leaves.add(x.place)
        return f"x{x.place}"
    if type(x) is dict:
        items = [f"{key!r}: {_written(part, held, leaves)}" for key, part in x.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(x, (tuple, list)):
        parts = ", ".join([_written(part, held, leaves) for part in x])
        if hasattr(x, "_fields"):
            return f"{_constant(type(x), held)}({parts})"
        return f"[{parts}]" if type(x) is list else f"({parts},)" if x else "()"
    return _constant(x, held)


def _constant(x: Any, held: dict[str, Any]) -> str:
    name = f"c{len(held)}"
    held[name] = x
    return name


def _kinds_in(x: Any, place: str) -> Iterator[tuple[str, Kind]]:
    """Yield the source that reads each part of a nest `place`, and its kind."""
    if type(x) is Kind:
        yield place, x
    elif isinstance(x, (tuple, list, dict)):
        for key, part in x.items() if type(x) is dict else enumerate(x):
            yield from _kinds_in(part, f"{place}[{key!r}]")


def _like(x: Any, bar: Any) -> Any:
    """Return a cotangent, or zeros where there is none, in the class and shape of a value."""
    if type(x) is np.ndarray:
        full = np.zeros_like(x)
        full[...] = 0.0 if _is_zero(bar) else bar
        return full
    return type(x)(0.0 if _is_zero(bar) else bar)


def _is_zero(bar: Any) -> bool:
    return bar is None or isinstance(bar, AbstractZero)
