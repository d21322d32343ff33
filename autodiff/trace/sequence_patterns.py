"""Sequence patterns of ``match`` (``case [a, b]``), which arrays match since NumPy 2.5.

Python asks a flag of the subject's class, not ``__class__``. With such a NumPy, all classes of
traced values carry the flag, and rewritten code asks before each sequence pattern whether the
subject is an array or a number (`NoTracedNumber`).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.trace.tracer import Tracer, bare, is_tracer

_FLAG = 1 << 5  # Py_TPFLAGS_SEQUENCE

ARRAYS_MATCH = bool(np.ndarray.__flags__ & _FLAG)
"""Whether arrays match sequence patterns."""

SEQUENCES: tuple[type, ...] = (Sequence, np.ndarray) if ARRAYS_MATCH else (Sequence,)
"""Classes whose instances match sequence patterns, texts and bytes excepted."""


class _Flagged(ABC):  # noqa: B024 - it gives its flag to what is registered
    __abc_tpflags__ = _FLAG


def mark(kind: type) -> type:
    """Let instances of a class that stands for arrays match sequence patterns, if arrays do."""
    return _Flagged.register(kind) if ARRAYS_MATCH else kind


class _NotTracedNumbers(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return not is_tracer(x) or isinstance(bare(x), np.ndarray)


class NoTracedNumber(list, metaclass=_NotTracedNumbers):
    """What a subject has to be that may match a sequence pattern: no traced number.

    The pattern ``NoTracedNumber([a, b])`` tests that, and then the subject itself against
    ``[a, b]``, because patterns of classes derived from ``list`` take the subject as their only
    positional part.
    """


mark(Tracer)
