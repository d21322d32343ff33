"""What a program reads from outside its function, at each call and before it is traced again."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autodiff.errors import DifferentiationError
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.list_arguments import ListArgument, as_list_argument
from autodiff.structured.reading.scopes import CELLS_OF_CALLEE, guarded_value
from autodiff.trace.trace_stack import program_tape


class OutsideReads:
    """Globals, captured variables and attributes that a program reads.

    Parameters
    ----------
    guards : iterable of tuple
        Where each constant of the program is looked up, its name there, and the constant.
    captured : list of tuple
        Where each further argument of the program is looked up, its name there, and its kind.
    """

    def __init__(self, guards: Iterable[tuple], captured: list[tuple]) -> None:
        known = {(id(d), name, id(x)): (d, name, x) for d, name, x in guards}.values()
        self._guards = [(d.get, name, x) for d, name, x in known if d is not CELLS_OF_CALLEE]
        self._guards_of_cells = [(name, x) for d, name, x in known if d is CELLS_OF_CALLEE]
        self._captured = captured
        self._places = {(id(d), name) for d, name, _ in (*known, *captured)}

    def values(self, g: types.FunctionType) -> list | None:
        """Return what the program takes from outside as arguments; None if a guard fails."""
        recording = program_tape()
        if recording is not None and not self._places.isdisjoint(recording.variables):
            return None
        for look_up, name, x in self._guards:
            if look_up(name, UNKNOWN) is not x:
                return None
        for name, x in self._guards_of_cells:
            if guarded_value(CELLS_OF_CALLEE, name, g) is not x:
                return None
        if not self._captured:
            return []
        found = [guarded_value(d, name, g) for d, name, _ in self._captured]
        for i, (x, (_, _, kind)) in enumerate(zip(found, self._captured, strict=True)):
            if type(kind) is tuple:
                found[i] = as_list_argument(x) if type(x) in (list, tuple) else None
                if found[i] is None or found[i].key != kind:
                    return None
            elif not kind.is_array:
                if type(x) not in kind.classes:
                    return None
            elif type(x) is not np.ndarray or x.dtype != kind.dtype or x.ndim != kind.ndim:
                return None
        return found

    def changed_numbers(self) -> set[str]:
        """Return the names of numbers that are others than in the program."""
        numbers = [guard for guard in self._guards if type(guard[2]) in (int, float)]
        return {name for look_up, name, x in numbers if type(look_up(name)) is type(x)
                and look_up(name) is not x}  # fmt: skip

    def check(self, g: types.FunctionType, before: Sequence) -> None:
        """Raise if something has changed since a run that took `before` from outside.

        Whoever traces the function again calls this first: tracing reads what is there now.
        """
        places = [(look_up(name, UNKNOWN), x, name) for look_up, name, x in self._guards]
        cells = [(CELLS_OF_CALLEE, name, x) for name, x in self._guards_of_cells]
        cells += [(d, name, x) for (d, name, _), x in zip(self._captured, before, strict=True)]
        places += [(guarded_value(d, name, g), x, name) for d, name, x in cells]
        for now, then, name in places:
            if not _is_as_before(now, then):
                what = f"the {name!r} that" if type(name) is str and name else "what"
                raise DifferentiationError(
                    f"{g.__qualname__}: its pullback traces it again, and {what} it reads has "
                    "changed since it was called, so its gradient would be wrong. Take the "
                    "gradient before you change that, or pass it as an argument."
                )


def _is_as_before(now: Any, then: Any) -> bool:
    """Whether a variable holds what a run has read there, or a copy of it."""
    if type(then) is ListArgument:
        now = as_list_argument(now) if type(now) in (list, tuple) else None
        return now is not None and now.key == then.key and repr(now.plain) == repr(then.plain)
    if now is then:
        return True
    if type(now) is not type(then):
        return False
    if type(now) is np.ndarray:
        is_like = now.shape == then.shape and now.dtype == then.dtype
        return is_like and now.tobytes() == then.tobytes()
    return type(now) in (int, float) and repr(now) == repr(then)
