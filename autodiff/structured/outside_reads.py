"""What a program reads from outside its function, at each call and before it is traced again."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autodiff.errors import DifferentiationError
from autodiff.structured.argument_forms import columns_of_rows, list_argument
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.list_arguments import ListArgument
from autodiff.structured.reading.scopes import CELLS_OF_CALLEE, ColumnLookup, guarded_value
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
        found = self._values_captured(g)
        for x, (_, _, kind) in zip(found, self._captured, strict=True):
            if type(kind) is tuple:
                if type(x) is not ListArgument or x.key != kind:
                    return None
            elif not kind.is_array:
                if type(x) not in kind.classes:
                    return None
            elif type(x) is not np.ndarray or x.dtype != kind.dtype or x.ndim != kind.ndim:
                return None
        return found

    def _values_captured(self, g: types.FunctionType) -> list:
        """Return what the captured variables hold now; lists, and columns of rows, as arguments."""
        found: list = []
        columns: dict[int, Any] = {}  # id of a list of rows → its columns
        for d, name, kind in self._captured:
            if type(d) is not ColumnLookup:
                x = guarded_value(d, name, g)
                is_list = type(kind) is tuple and type(x) in (list, tuple)
                found.append(list_argument(x) if is_list else x)
                continue
            rows = guarded_value(d.where, d.name, g)
            if id(rows) not in columns:
                columns[id(rows)] = columns_of_rows(rows) if type(rows) in (list, tuple) else None
            own = columns[id(rows)]
            is_alike = own is not None and own[:2] == (d.depth, d.row)
            found.append(own[2][name] if is_alike else None)
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
        places += [(guarded_value(d, name, g), x, name) for d, name, x in cells]
        captured = zip(self._values_captured(g), before, self._captured, strict=True)
        places += [(now, x, name) for now, x, (_, name, _) in captured]
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
        return (
            type(now) is ListArgument
            and now.key == then.key
            and repr(now.plain) == repr(then.plain)
        )
    if now is then:
        return True
    if type(now) is not type(then):
        return False
    if type(now) is np.ndarray:
        is_like = now.shape == then.shape and now.dtype == then.dtype
        return is_like and now.tobytes() == then.tobytes()
    return type(now) in (int, float) and repr(now) == repr(then)
