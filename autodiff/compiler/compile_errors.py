"""What stops a compilation."""

from __future__ import annotations

from typing import Any

from autodiff.errors import DifferentiationError
from autodiff.trace.trace_stack import program_tape

MISMATCH: Any = object()
"""What a program returns for arguments that it is not for."""


class NotRecordedError(Exception):
    """A call cannot be part of a program; the function runs without being compiled.

    The recording is spoilt at once: the function may swallow the error and go on.

    Attributes
    ----------
    loops : list of Programs
        The programs of the functions with loops that were called so far.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.loops: list[Any] = []
        tape = program_tape()
        if tape is not None:
            tape.spoil(why)


class TooLongError(NotRecordedError):
    """Making a program takes more time or memory than it may."""


class UnrolledError(NotRecordedError):
    """A recording unrolls loops that a structured program could run."""


class CompileError(DifferentiationError):
    """A function cannot be compiled, because its calls would not all do the same."""
