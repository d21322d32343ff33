"""Cotangents that nobody has written, where what they belong to may be a constant.

A rule may not know the cotangent of an argument (`not_implemented`): an error, if something depends
on it. Whether anything does, another sweep tells, in which it is infinite: pullbacks are linear, so
what comes of it is no finite number, but where it belongs to a constant.
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
    """Take cotangents that are not known for Inf, for the length of a ``with`` block."""

    def __enter__(self) -> None:
        _mode.is_followed = True

    def __exit__(self, *error: object) -> None:
        _mode.is_followed = False


def unknown(bar: NotImplementedTangent, space: Any) -> Any:
    """Return what stands for a cotangent that is not known; an error but for such a sweep."""
    shape = getattr(space, "shape", None)
    if not _mode.is_followed or shape is None:
        raise bar.error()
    return np.full(shape, np.inf, getattr(space, "dtype", float))[()]
