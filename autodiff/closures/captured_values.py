"""What functions have captured: in closure cells, defaults, bound objects, partial arguments.

Also what is reached from there through functions and containers, but not through globals or class
bodies.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.trace.pytree import leaves_of, map_leaves
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, is_tracer

_OURS = "__autodiff_"  # free variables by which rewritten code finds the engine


class Hole(str):
    """The place of a value that was taken out; a string, since those are leaves of nests."""

    owner: object  # a mark of its template: functions may have captured others with their holes


def with_captures(x: Any, change: Callable[[Any], Any], made: dict[int, Any]) -> Any:
    """Apply `change` to the leaves of a nest, and to what the functions among them have captured.

    Parameters
    ----------
    x : Any
        A nest, or a function.
    change : callable
        Returns what is to stand in the place of a leaf: another object only for a tracer or hole.
    made : dict
        The functions made so far, by the identity of the original; calls that share it keep what
        these functions have in common.
    """

    def changed(leaf: Any) -> Any:
        kind = type(leaf)
        if kind is types.FunctionType:
            return _function(leaf, change, made)
        if kind is types.MethodType:
            visited = -1 - id(leaf.__self__)  # no identity of a function
            if visited in made:
                return leaf  # an object that holds a method of its own
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
    # Also for `change` to see every leaf once; it has no effect yet if there is nothing to change.
    leaves = []
    seen: dict[int, Any] = {}
    for leaf in _captured(f, seen):
        if _is_taken(leaf):
            break
        leaves.append(leaf)
    else:
        for leaf in leaves:
            change(leaf)
        # What it has captured has nothing to change either: a graph is gone through once.
        made.update({at: g for at, g in seen.items() if type(g) is types.FunctionType})
        return f
    # What the engine's own variables hold stays: it is large, and not the user's.
    named = [*zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)]
    cells = [(c, False) if name.startswith(_OURS) else _cell(c, made) for name, c in named]
    new = types.FunctionType(
        f.__code__, f.__globals__, f.__name__, None, tuple([cell for cell, _ in cells])
    )
    made[id(f)] = new
    for (name, old), (cell, is_new) in zip(named, cells, strict=True):
        if is_new and not is_empty(old):
            cell.cell_contents = with_captures(old.cell_contents, change, made)
        elif cell is old and not is_empty(old) and not name.startswith(_OURS):
            with_captures(old.cell_contents, change, made)  # for `change` to see it
    new.__defaults__ = with_captures(f.__defaults__, change, made)
    new.__kwdefaults__ = with_captures(f.__kwdefaults__, change, made)
    new.__dict__.update(f.__dict__)
    new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
    return new


def _cell(cell: types.CellType, made: dict[int, Any]) -> tuple[types.CellType, bool]:
    """Return the new cell for a cell, and whether it is still to be filled.

    One that holds nothing traced stays: what is assigned to its variable is seen outside.
    """
    if id(cell) in made:
        return made[id(cell)], False
    if not is_empty(cell) and not any(map(_is_taken, _captured(cell.cell_contents, {}))):
        made[id(cell)] = cell
        return cell, False
    new = made[id(cell)] = types.CellType()
    return new, True


def _is_taken(leaf: Any) -> bool:
    return is_tracer(leaf) or type(leaf) is Hole


def is_empty(cell: types.CellType) -> bool:
    """Whether a captured variable has no value (yet)."""
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def _captured(x: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """Yield the leaves of a nest, functions replaced by what they have captured."""
    for leaf in leaves_of(x):
        kind = type(leaf)
        if kind not in (types.FunctionType, types.MethodType, functools.partial):
            yield leaf
        elif id(leaf) not in seen:
            seen[id(leaf)] = leaf
            yield from _captured(_parts_of_function(leaf), seen)


def _parts_of_function(f: Any) -> list[Any]:
    if type(f) is types.MethodType:
        return [f.__func__, f.__self__]
    if type(f) is functools.partial:
        return [f.func, f.args, f.keywords]
    cells = [
        cell.cell_contents
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        if not name.startswith(_OURS) and not is_empty(cell)
    ]
    return [*cells, f.__defaults__, f.__kwdefaults__]


def captured(x: Any) -> Iterator[Any]:
    """Yield the leaves of a nest, functions replaced by what they have captured."""
    return _captured(x, {})


def captured_tracers(f: Callable) -> list[Tracer]:
    """Return the traced values that a function has captured."""
    return [x for x in _captured(f, {}) if is_tracer(x) and x._tape is not CONSTANT]


def have_captured(values: tuple) -> bool:
    """Whether functions among the arguments of a call have captured traced values."""
    return any(type(a) is types.FunctionType and captured_tracers(a) for a in values)
