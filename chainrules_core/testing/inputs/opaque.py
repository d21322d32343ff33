"""OpaqueIterable: an iterable of which nothing is known but that it can be iterated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from chainrules_core.operations.zeros import zero_tangent
from chainrules_core.testing.comparison.compare import register_comparison
from chainrules_core.testing.numeric.vectors import to_vector


class OpaqueIterable:
    """An iterable without indexing, for rules of functions that take any iterable.

    Its tangents are of the same class. They can be added and scaled, drawn by `rand_tangent` and
    compared.

    Parameters
    ----------
    data : iterable
        The elements.
    sized : bool
        Whether it has a length.

    Examples
    --------
    >>> x = OpaqueIterable([1.0, 2.0])
    >>> sum(x), list(x + x)
    (3.0, [2.0, 4.0])
    >>> len(x)
    Traceback (most recent call last):
        ...
    TypeError: object of type 'OpaqueIterable' has no len()
    >>> len(OpaqueIterable([1.0, 2.0], sized=True))
    2
    """

    def __new__(cls, data: Iterable, sized: bool = False) -> OpaqueIterable:
        """Choose the class: only one of them has a length."""
        return object.__new__(_SizedIterable if sized else cls)

    def __init__(self, data: Iterable, sized: bool = False) -> None:
        self._data = list(data)

    def __getnewargs__(self) -> tuple:
        return (self._data,)

    def _with(self, data: Iterable) -> OpaqueIterable:
        return OpaqueIterable(data, sized=isinstance(self, _SizedIterable))

    def __iter__(self) -> Iterator:
        return iter(self._data)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, OpaqueIterable):
            return NotImplemented
        return self._with(a + b for a, b in zip(self._data, other._data, strict=True))

    def __mul__(self, factor: Any) -> OpaqueIterable:
        return self._with(a * factor for a in self._data)

    __rmul__ = __mul__

    def __neg__(self) -> OpaqueIterable:
        return self * -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueIterable) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sized = ", sized=True" if isinstance(self, _SizedIterable) else ""
        return f"OpaqueIterable({self._data!r}{sized})"


class _SizedIterable(OpaqueIterable):
    def __len__(self) -> int:
        return len(self._data)


@to_vector.register(OpaqueIterable)
def _to_vector(x: OpaqueIterable) -> tuple[np.ndarray, Callable[[np.ndarray], OpaqueIterable]]:
    vector, rebuild = to_vector(x._data)
    return vector, lambda v: x._with(rebuild(v))


@zero_tangent.register(OpaqueIterable)
def _zero(x: OpaqueIterable) -> OpaqueIterable:
    return x * 0.0


@register_comparison(OpaqueIterable)
def _close(actual: Any, expected: OpaqueIterable, close: Callable[[Any, Any, str], None]) -> None:
    if not isinstance(actual, OpaqueIterable):
        raise AssertionError(f"expected an OpaqueIterable, but found {actual!r}")
    close(actual._data, expected._data, "._data")
