"""What stops a compilation."""

from __future__ import annotations

from typing import Any

from autodiff.errors import DifferentiationError

MISMATCH: Any = object()
"""What a program returns for arguments that it is not for."""


class NotRecordedError(Exception):
    """Something that a program cannot do; the function runs without being compiled."""


class TooLongError(NotRecordedError):
    """A recording has more steps than it may have."""


class CompileError(DifferentiationError):
    """A function cannot be compiled: it would not do each time what it did once."""
