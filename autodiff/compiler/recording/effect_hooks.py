"""Replacements for impure functions while a program is recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.compile_errors import CompileError, NotRecordedError
from autodiff.compiler.recording.function_effects import (
    IMPURE_OWNERS,
    SEEDED,
    goes_on,
    impurity,
    is_iterative,
    may_have_state,
)
from autodiff.intercept.runtime import replacements
from autodiff.trace.pytree import leaves_of
from autodiff.trace.trace_stack import note_draw, program_tape
from autodiff.trace.tracer import bare, is_tracer
from chainrules_core.rules import name_of

_CHANGING = frozenset({"shuffle", "bytes"})


def watched(g: Any) -> Callable | None:
    """Return the replacement of an impure function; None for other functions."""
    if g is print:
        return _printing
    why = impurity(g)
    if why:
        return _refusing(g, why)
    return _told(g) if may_have_state(g) or is_iterative(g) or goes_on(g) else None


def is_unwinding(tape: Any) -> bool:
    """Whether a recording has been refused, and the program is closing what it had opened.

    It has to be let: a file, a socket or an event loop would stay open.
    """
    return tape.is_refused and sys.exc_info()[1] is not None


def _told(g: Any) -> Callable:
    """Such a function runs as it is.

    A warning is given, or a state read, at each call; compiled code that iterates over products
    with a recorded matrix would read other memory than that of its values.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        tape = program_tape()
        if tape is not None and not is_unwinding(tape):
            tape.is_refused = True
            raise NotRecordedError(f"{name_of(g)} is called in it")
        return replacements.unwatched(g)(*args, **kwargs)

    return called


def _printing(*args: Any, **kwargs: Any) -> None:
    tape = program_tape()
    if tape is None:
        replacements.unwatched(print)(*args, **kwargs)
    else:
        tape.print(args, kwargs)


def _refusing(g: Any, why: str) -> Callable:
    is_draw = why.startswith("draws")

    def called(*args: Any, **kwargs: Any) -> Any:
        tape = program_tape()
        if tape is None or is_unwinding(tape):
            y = replacements.unwatched(g)(*args, **kwargs)
            if is_draw:
                note_draw(bare(y))
            return y
        if g in SEEDED and args and args[0] is not None and not is_tracer(args[0]):
            made = g(*args, **kwargs)
            tape.own_generators.append(made)  # it gives the same numbers each time
            return made
        owner = getattr(g, "__self__", None)
        if any(owner is own for own in tape.own_generators):
            if any(map(is_tracer, leaves_of((args, kwargs)))):
                # A program would go on drawing from this one generator.
                raise NotRecordedError("a generator made in it draws with recorded values")
            if g.__name__ in _CHANGING or kwargs.get("out") is not None:
                raise NotRecordedError(f"{name_of(g)} writes into what it is given")
            return replacements.unwatched(g)(*args, **kwargs)
        if isinstance(owner, np.random.Generator) and id(owner) in tape.generators:
            if g.__name__ in _CHANGING:
                raise NotRecordedError(f"a generator's {g.__name__} is not followed")
            return tape.draw(owner, g.__name__, args, kwargs)
        tape.is_refused = True
        raise CompileError(
            f"{name_of(g)} {why}: a compiled function would give the same result each time. Give "
            "it what it needs as an argument (a numpy.random.Generator is followed), or do not "
            "compile it."
        )

    return called


replacements.watch_impure(watched, IMPURE_OWNERS)
