"""What is drawn: shapes, arrays in all layouts, axes, keywords."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np


class Call(NamedTuple):
    """The arguments of a call."""

    args: tuple
    options: Mapping[str, Any] = MappingProxyType({})


class Draw:
    """A source of random arguments."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def flip(self, chance: float = 0.5) -> bool:
        """Draw yes or no."""
        return bool(self.rng.random() < chance)

    def one(self, *choices: Any) -> Any:
        """Draw one of several."""
        return choices[int(self.rng.integers(0, len(choices)))]

    def integer(self, least: int, below: int) -> int:
        """Draw a number."""
        return int(self.rng.integers(least, below))

    def integers(self, least: int, below: int, *shape: int) -> np.ndarray:
        """Draw an array of numbers."""
        return self.rng.integers(least, below, shape)

    def mask(self, *shape: int) -> np.ndarray:
        """Draw which elements are taken; the first one always is."""
        mask = self.rng.random(shape) < 0.6
        mask.flat[0] = True
        return mask

    def order(self, ndim: int, n: int | None = None) -> tuple[int, ...]:
        """Draw some of the axes (at least one), or `n`, in any order, some from the end."""
        n = self.integer(1, ndim + 1) if n is None else n
        axes = self.rng.permutation(ndim)[:n].tolist()
        return tuple([a - ndim if self.flip(0.4) else a for a in axes])

    def axis(self, ndim: int, *, none: bool = True, several: bool = True) -> Any:
        """Draw an axis: None, one of them, or several."""
        if none and self.flip(0.25):
            return None
        if several and self.flip(0.35):
            return self.order(ndim)
        return self.integer(-ndim, ndim)

    def shape(self, ndim: int | None = None, least: int = 1, below: int = 4) -> tuple[int, ...]:
        """Draw a shape, of up to three axes."""
        ndim = self.integer(0, 4) if ndim is None else ndim
        return tuple(self.rng.integers(least, below, ndim).tolist())

    def sized(self, below: int = 4) -> tuple[int, ...]:
        """Draw a shape of one to three axes."""
        return self.shape(self.integer(1, 4), below=below)

    def array(self, *shape: int) -> Any:
        """Draw an array, laid out in one of many ways; of no axes perhaps a number."""
        x = self.rng.uniform(-2.0, 2.0, shape)
        if not shape:
            return self.one(np.asarray(x), np.float64(x), float(x))
        match self.integer(0, 5):
            case 0:
                return np.asfortranarray(x)
            case 1:
                return x[::-1].copy()[::-1]
            case 2:
                return np.repeat(x, 2, axis=-1)[..., ::2]
        return x

    def positive(self, *shape: int) -> Any:
        """Draw an array of numbers well above zero."""
        return np.abs(self.array(*shape)) + 0.3

    def number(self) -> float:
        """Draw a float."""
        return float(self.rng.uniform(-2.0, 2.0))

    def complex(self, *shape: int) -> Any:
        """Draw an array of complex numbers."""
        return self.array(*shape) + 1j * self.array(*shape)

    def rising(self, n: int) -> np.ndarray:
        """Draw numbers, each well above the one before."""
        return np.cumsum(self.positive(n))

    def square(self, n: int | None = None, stack: bool = True) -> Any:
        """Draw a matrix that is far from singular, perhaps a stack of them."""
        n = n or self.integer(1, 5)
        shape = self.shape(self.integer(0, 2)) if stack else ()
        return self.array(*shape, n, n) + 2.5 * np.eye(n)

    def definite(self, n: int | None = None, stack: bool = True) -> Any:
        """Draw a positive definite matrix, perhaps a stack of them."""
        a = self.square(n, stack)
        return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])

    def matrix(self) -> Any:
        """Draw a matrix of any shape, perhaps a stack of them."""
        return self.array(*self.shape(self.integer(0, 2)), *self.shape(2, below=5))

    def some(self, chance: float = 0.5, /, **options: Any) -> dict[str, Any]:
        """Draw some of these keywords; functions draw their values."""
        return {
            name: value() if callable(value) else value
            for name, value in options.items()
            if self.flip(chance)
        }


Maker = Callable[[Draw], Call]


class Line(NamedTuple):
    """One way to call a function."""

    name: str
    f: Callable
    make: Maker


def table_of(root: Any) -> tuple[list[Line], Callable[..., None]]:
    """Return an empty table for the functions under a module, and what adds lines to it."""
    lines: list[Line] = []

    def calls(names: str, make: Maker, f: Callable | None = None) -> None:
        """Add a line for each of the names; `f` is what is called in place of the function."""
        for name in names.split():
            try:
                lines.append(Line(name, f or operator.attrgetter(name)(root), make))
            except AttributeError:  # this version does not have it
                continue

    return lines, calls


def reduction(r: Draw, several: bool = True, **options: Any) -> Call:
    """Draw a reduction's arguments."""
    shape = r.sized()
    drawn = r.some(0.8, axis=lambda: r.axis(len(shape), several=several))
    return Call((r.array(*shape),), {**drawn, **r.some(**options)})


def masked(r: Draw, initial: float | None = None) -> Call:
    """Draw a reduction's arguments, ``where`` among them."""
    call = reduction(r, keepdims=r.flip)
    if not r.flip(0.3):
        return call
    where: dict[str, Any] = {"where": r.mask(*call.args[0].shape)}
    if initial is not None:
        where["initial"] = initial
    return Call(call.args, {**call.options, **where})


def of_one(r: Draw, positive: bool = False) -> Call:
    """Draw the argument of an elementwise function, perhaps with ``where`` and ``out``."""
    shape = r.shape(least=0 if r.flip(0.1) else 1)
    x = r.positive(*shape) if positive else r.array(*shape)
    if shape and 0 not in shape and r.flip(0.15):
        return Call((x,), {"where": r.mask(*shape), "out": np.zeros(shape)})
    return Call((x,))


def of_two(r: Draw, positive: bool = False) -> Call:
    """Draw the arguments of an elementwise function of two, which are broadcast."""
    shape = r.shape()
    other = shape[r.integer(0, len(shape) + 1) :] if r.flip() else shape
    other = tuple([1 if r.flip(0.2) else n for n in other])
    draw = r.positive if positive else r.array
    a, b = draw(*shape), draw(*other)
    if r.flip(0.15) and shape:
        a = a.tolist()
    return Call((b, a) if r.flip() else (a, b))
