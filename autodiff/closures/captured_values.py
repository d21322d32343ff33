"""What functions have captured: in closure cells, defaults, bound objects, partial arguments.

Also what can be reached from there through functions and containers, but not what is reached
through globals or class bodies.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autodiff.trace.pytree import leaves_of, map_leaves
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, is_tracer

FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
"""Functions that can have captured values."""
_OURS = "__autodiff_"  # free variables by which rewritten code finds the engine


class Hole(str):
    """A placeholder for a value that was taken out; a string, since those are leaves of pytrees.

    Attributes
    ----------
    owner : object
        Who has taken the value out: a function may have captured another one with its own holes.
    """

    owner: object

    def __new__(cls, name: object, owner: object) -> Hole:
        """Name a hole of an owner."""
        hole = super().__new__(cls, name)
        hole.owner = owner
        return hole

    def __getnewargs__(self) -> tuple[str, object]:  # type: ignore[override] # for pickle
        return str(self), self.owner


def cells_of(f: types.FunctionType) -> list[tuple[str, types.CellType]]:
    """Return the names and cells of the captured variables, without those of the engine."""
    named = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    return [(name, cell) for name, cell in named if not name.startswith(_OURS)]


def is_empty(cell: types.CellType) -> bool:
    """Whether a captured variable has no value (yet)."""
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def content_of(cell: types.CellType) -> Any:
    """Return the value of a captured variable; None if it has no value (yet)."""
    return None if is_empty(cell) else cell.cell_contents


def with_cells(
    f: types.FunctionType, cells: Iterable[types.CellType], code: types.CodeType | None = None
) -> types.FunctionType:
    """Return a function like `f` that has these cells, and runs `code` if that is given."""
    code = f.__code__ if code is None else code
    new = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    new.__kwdefaults__ = f.__kwdefaults__
    new.__dict__.update(f.__dict__)
    new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
    return new


def with_captures(x: Any, change: Callable[[Any], Any], made: dict[int, Any]) -> Any:
    """Apply `change` to the leaves of a pytree, and to what functions among them have captured.

    Parameters
    ----------
    x : Any
        A pytree, or a function.
    change : callable
        ``change(leaf)`` returns the new leaf; only for a tracer or hole may it be another object.
    made : dict
        The functions made so far, by the identity of the original. Calls with the same `made` keep
        variables shared that the functions share.
    """

    def changed(leaf: Any) -> Any:
        kind = type(leaf)
        if kind is types.FunctionType:
            return _function(leaf, change, made)
        if kind is types.MethodType:
            visited = -1 - id(leaf.__self__)  # no identity of a function
            if visited in made:
                return leaf  # the object holds a method of its own
            made[visited] = leaf
            function = _function(leaf.__func__, change, made)
            owner = with_captures(leaf.__self__, change, made)
            del made[visited]
            is_same = function is leaf.__func__ and owner is leaf.__self__
            return leaf if is_same else types.MethodType(function, owner)
        if kind is functools.partial:
            parts = leaf.func, leaf.args, leaf.keywords
            new = with_captures(parts, change, made)
            return leaf if new is parts else functools.partial(new[0], *new[1], **new[2])
        return change(leaf)

    return map_leaves(x, changed)


def _function(f: types.FunctionType, change: Callable, made: dict[int, Any]) -> Callable:
    """Return a function like `f` whose captured values are changed; `f` if it has none."""
    if id(f) in made:
        return made[id(f)]
    leaves = []
    seen: dict[int, Any] = {}
    for leaf in captured(f, seen):
        if _is_taken(leaf):
            break
        leaves.append(leaf)
    else:
        for leaf in leaves:
            change(leaf)  # it sees each leaf, though it changes none of these
        # The functions that it has captured have nothing to change either.
        made.update({at: g for at, g in seen.items() if type(g) is types.FunctionType})
        return f
    cells = {id(old): (old, *_cell(old, made)) for _, old in cells_of(f)}
    new = with_cells(f, [cells.get(id(c), (c, c))[1] for c in f.__closure__ or ()])
    made[id(f)] = new
    for old, cell, is_new in cells.values():
        if is_new and not is_empty(old):
            cell.cell_contents = with_captures(old.cell_contents, change, made)
        elif cell is old and not is_empty(old):
            with_captures(old.cell_contents, change, made)  # for `change` to see it
    new.__defaults__ = with_captures(f.__defaults__, change, made)
    new.__kwdefaults__ = with_captures(f.__kwdefaults__, change, made)
    return new


def _cell(cell: types.CellType, made: dict[int, Any]) -> tuple[types.CellType, bool]:
    """Return the new cell for a cell, and whether it must be filled yet.

    A cell that holds nothing traced stays, so that assignments to its variable are seen outside.
    """
    if id(cell) in made:
        return made[id(cell)], False
    if not is_empty(cell) and not any(map(_is_taken, captured(cell.cell_contents))):
        made[id(cell)] = cell
        return cell, False
    new = made[id(cell)] = types.CellType()
    return new, True


def _is_taken(leaf: Any) -> bool:
    return is_tracer(leaf) or type(leaf) is Hole


def captured(x: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """Yield the leaves of a pytree, functions replaced by what they have captured.

    `seen` gets these functions.
    """
    seen = {} if seen is None else seen
    for leaf in leaves_of(x):
        if type(leaf) not in FUNCTIONS:
            yield leaf
        elif id(leaf) not in seen:
            seen[id(leaf)] = leaf
            yield from captured(parts_of_function(leaf), seen)


def parts_of_function(f: Any) -> list[Any]:
    """Return what a function, a bound method or a ``partial`` has captured."""
    if isinstance(f, types.MethodType):
        return [f.__func__, f.__self__]
    if isinstance(f, functools.partial):
        return [f.func, f.args, f.keywords]
    contents = [cell.cell_contents for _, cell in cells_of(f) if not is_empty(cell)]
    return [*contents, f.__defaults__, f.__kwdefaults__]


def captured_tracers(f: Callable) -> list[Tracer]:
    """Return the traced values that a function has captured."""
    return [x for x in captured(f) if is_tracer(x) and x._tape is not CONSTANT]
