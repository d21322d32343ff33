"""Errors that end a compilation, and the result of a program whose guards fail."""

from __future__ import annotations

from typing import Any

from autodiff.errors import DifferentiationError
from autodiff.trace.trace_stack import program_tape

MISMATCH: Any = object()
"""What a program returns if one of its guards fails."""


class NotRecordedError(Exception):
    """A call cannot become part of a program, so the function runs uncompiled.

    The recording is marked as spoilt at once, because the function may swallow the error.

    Attributes
    ----------
    loops : list of Programs
        The structured programs that were called so far.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.loops: list[Any] = []
        tape = program_tape()
        if tape is not None:
            tape.spoil(why)


class BudgetExceededError(NotRecordedError):
    """Recording and compiling a program would exceed its budget of time or memory."""


class LoopsUnrolledError(NotRecordedError):
    """A recording would unroll loops that a structured program could run.

    Attributes
    ----------
    as_steps : bool
        Whether the program can be a step of a recording; otherwise it replaces the recording.
    """

    def __init__(self, why: str, as_steps: bool) -> None:
        super().__init__(why)
        self.as_steps = as_steps


class CompileError(DifferentiationError):
    """A function must not be compiled, because its calls would not all compute the same."""
