"""Cotangents that a rule does not implement, and whether a result depends on them.

A rule may not know the cotangent of an argument (`not_implemented`). This is an error only if a
result depends on it. A second sweep finds out, with Inf for that cotangent: pullbacks are linear,
so no result that depends on it is finite.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from chainrules_core import NotImplementedTangent


class _Mode(threading.local):
    is_followed = False


_mode = _Mode()


class followed:  # noqa: N801 - it reads like a function
    """A ``with`` block in which unimplemented cotangents are Inf."""

    def __enter__(self) -> None:
        _mode.is_followed = True

    def __exit__(self, *error: object) -> None:
        _mode.is_followed = False


def unknown(bar: NotImplementedTangent, space: Any) -> Any:
    """Raise for an unimplemented cotangent; return Inf inside a block of `followed`."""
    shape = getattr(space, "shape", None)
    if not _mode.is_followed or shape is None:
        raise bar.error()
    return np.full(shape, np.inf, getattr(space, "dtype", float))[()]
