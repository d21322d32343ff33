"""Closure: a function and the values that it has captured, as a struct."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Closure:
    """A function that has captured values with respect to which it is differentiated.

    Mathematically a closure is a struct that can be called: its fields are what it has captured. An
    engine hands one to the rule of a higher-order function in place of a function that has captured
    traced values; functions that have captured none are handed over as they are. The rule calls it
    like the function, gives it to ``rrule_via_ad`` and ``frule_via_ad``, and returns its cotangent,
    ``Tangent[Closure](values=(…))``, as that of the function.

    Parameters
    ----------
    make : callable
        ``make(values)`` returns the function with other values in place of those it has captured.
    values : tuple
        The captured values: numbers and arrays.

    Examples
    --------
    >>> line = Closure(lambda values: lambda x: values[0] * x + values[1], (2.0, 1.0))
    >>> line(3.0)
    7.0
    >>> line.make((5.0, 0.0))(3.0)
    15.0
    """

    def __init__(self, make: Callable[[tuple], Callable], values: tuple) -> None:
        self.make = make
        self.values = values

    @functools.cached_property
    def function(self) -> Callable:
        """The function, with the values in their places."""
        return self.make(self.values)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the function."""
        if name.startswith("__") or "make" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.function, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)
