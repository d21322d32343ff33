"""The original code of rewritten functions, for calls with plain values only.

A function that a traced function passes to a solver is rewritten, and may have captured arrays that
can take traced values. Where a rule calls it on plain values only (the primal of an integral or a
root), the original runs, at its own speed.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from autodiff.closures.captured_values import content_of, with_cells
from autodiff.intercept.source import rewritten_code
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import is_tracer
from chainrules_core import Closure


def as_written(x: Any) -> Any:
    """Return a function, or a container of some, as it was written, with plain values captured."""
    try:
        return _plain(x, {})
    except _RecursiveError:
        return x


class _RecursiveError(Exception):
    """A function has captured itself."""


def _plain(x: Any, made: dict[int, Any]) -> Any:
    kind = type(x)
    if kind is types.FunctionType:
        return _function(x, made)
    if kind is Closure:
        return _plain(x.function, made)
    if kind is types.MethodType:
        function = _plain(x.__func__, made)
        return x if function is x.__func__ else types.MethodType(function, x.__self__)
    if kind is functools.partial:
        parts = x.func, x.args, x.keywords
        new = _plain(parts, made)
        return x if new is parts else functools.partial(new[0], *new[1], **new[2])
    if kind in (tuple, list):
        items = [_plain(p, made) for p in x]
        return x if all(p is old for p, old in zip(items, x, strict=True)) else kind(items)
    if kind is dict:
        named = {name: _plain(p, made) for name, p in x.items()}
        return x if all(p is x[name] for name, p in named.items()) else named
    if is_tracer(x) and x._tape is CONSTANT:
        if id(x) not in made:
            made[id(x)] = x._value.copy("K")  # it may be written into
        return made[id(x)]
    return x


def _function(f: types.FunctionType, made: dict[int, Any]) -> Any:
    known = made.setdefault(id(f), _function)
    if known is not _function:
        if known is None:
            raise _RecursiveError
        return known
    made[id(f)] = None
    new = made[id(f)] = _made_plain(f, made)
    return new


def _made_plain(f: types.FunctionType, made: dict[int, Any]) -> Any:
    code = rewritten_code.original_of(f.__code__)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    if not all(name in cells for name in code.co_freevars):
        return f
    used = tuple([_cell(cells[name], made) for name in code.co_freevars])
    given = f.__defaults__, f.__kwdefaults__
    new_given = _plain(given, made)
    same = all(c is cells[name] for c, name in zip(used, code.co_freevars, strict=True))
    if code is f.__code__ and same and new_given is given:
        return f
    new = with_cells(f, used, code)
    new.__defaults__, new.__kwdefaults__ = new_given
    return new


def _cell(cell: types.CellType, made: dict[int, Any]) -> types.CellType:
    """Return a cell with plain content; the cell itself if it has that: it may be assigned."""
    if id(cell) not in made:
        content = content_of(cell)
        new = _plain(content, made)
        made[id(cell)] = cell if new is content else types.CellType(new)
    return made[id(cell)]
