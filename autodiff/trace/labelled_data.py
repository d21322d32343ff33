"""Classes of other packages that hold numbers with labels, and how they are taken apart."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple


class Table(NamedTuple):
    """How the objects of a class of labelled numbers are taken apart.

    Attributes
    ----------
    parts : callable
        ``parts(x)`` returns ``(key, part)`` for each array of numbers; None for a leaf.
    rebuilt : callable
        ``rebuilt(x, parts)`` returns such an object with other arrays, and the same labels.
    seed : callable
        ``seed(x, given, key)`` returns the numbers for a part of `x` in a tangent or cotangent of
        its class; it is an error if this has other labels.
    """

    parts: Callable[[Any], list[tuple[Any, Any]] | None]
    rebuilt: Callable[[Any, list], Any]
    seed: Callable[[Any, Any, Any], Any]


TABLES: dict[type, Table] = {}
"""Classes of other packages that hold numbers with labels."""
TABLES_OF = {"pandas": (("Series", "DataFrame"), "autodiff.numpy_api.pandas_columns")}
"""Package → names of such classes, and the module that knows about them."""


def module_of(kind: type) -> str:
    """Return the module that defines a class; empty for a metaclass that says it of its classes."""
    module: object = kind.__module__
    return module if isinstance(module, str) else ""


def load_table(kind: type) -> None:
    """Import what is known about a class of another package, which is imported itself."""
    names, module = TABLES_OF.get(module_of(kind).partition(".")[0], ((), ""))
    if kind.__name__ in names:
        importlib.import_module(module)
