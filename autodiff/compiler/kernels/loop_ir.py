"""Operations on small arrays, and the elements that they read."""

from __future__ import annotations

from typing import Any


class NotSmallError(Exception):
    """A stretch of a program cannot be written as nests of loops."""


class View:
    """Elements of an array.

    Attributes
    ----------
    kind : str
        "v" for the result of an operation, "x" for an array given, "n" for a number given, "c" for
        a constant number.
    base : Any
        Which: the position of the operation, the number of what is given, the constant.
    offset : int
        The place of the first element.
    shape, strides : tuple of int
        How many there are, and how far apart.
    is_bool : bool
        Whether they are truths, which are 1.0 and 0.0 in the memory.
    bounds : tuple, optional
        For each axis from where to where there are elements; zeros are around them. Only
        elementwise functions read such a view.
    """

    __slots__ = ("base", "bounds", "is_bool", "kind", "offset", "shape", "strides")

    def __init__(
        self,
        kind: str,
        base: Any,
        offset: int = 0,
        shape: tuple = (),
        strides: tuple = (),
        is_bool: bool = False,
        bounds: tuple[tuple[int, int], ...] | None = None,
    ) -> None:
        self.bounds = bounds
        self.kind = kind
        self.base = base
        self.offset = offset
        self.shape = shape
        self.strides = strides
        self.is_bool = is_bool

    def broadcast(self, shape: tuple) -> View:
        """Return the view with axes of stride 0 where it is repeated."""
        if self.shape == shape:
            return self
        missing = len(shape) - len(self.shape)
        if missing < 0:
            raise NotSmallError
        strides = [0] * missing
        for n, mine, stride in zip(shape[missing:], self.shape, self.strides, strict=True):
            strides.append(0 if mine == 1 and n != 1 else stride)
        bounds = self.bounds
        if bounds is not None:
            own = zip(shape[missing:], self.shape, bounds, strict=True)
            around = [(0, n) for n in shape[:missing]]
            bounds = (*around, *[b if n == mine else (0, n) for n, mine, b in own])
        made = tuple(strides)
        return View(self.kind, self.base, self.offset, shape, made, self.is_bool, bounds)

    def is_whole(self) -> bool:
        """Whether the elements are those of an array from its first on, in order."""
        is_plain = self.offset == 0 and self.bounds is None
        return is_plain and self.strides == strides_of(self.shape)


def strides_of(shape: tuple) -> tuple[int, ...]:
    """Return the strides of an array in the order of C, in elements."""
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


class Op:
    """One operation.

    Attributes
    ----------
    kind : str
        "map" for elementwise functions, "product", "sum", "max", "min", "change", "stack", "pack",
        "guard".
    f : Any
        The function, where the kind does not say it.
    args : list of View
        What it reads.
    shape : tuple of int
        That of the result.
    offset : int
        Where in the result it writes.
    extra : tuple
        What else there is to know.
    is_bool, is_number : bool
        Whether the result is made of truths, and whether it is a number, for which Python's rules
        of arithmetic hold.
    """

    __slots__ = ("args", "extra", "f", "is_bool", "is_number", "kind", "offset", "shape")

    def __init__(
        self, kind: str, f: Any, args: list[View], shape: tuple, extra: tuple = (), offset: int = 0
    ) -> None:
        self.offset = offset
        self.kind = kind
        self.f = f
        self.args = args
        self.shape = shape
        self.extra = extra
        self.is_bool = False
        self.is_number = False

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n


def at(place: str, terms: list[str]) -> str:
    """Return the place of an element."""
    return " + ".join([place, *terms])


def constant(x: Any) -> str:
    """Return a number."""
    if type(x) is bool:
        return repr(x)
    if x != x:
        return "math.nan"
    if x in (float("inf"), float("-inf")):
        return "math.inf" if x > 0 else "(-math.inf)"
    return f"({x!r})" if x < 0 else repr(x)
