"""Which traced arrays share memory: a write into one is seen in the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.arguments import PLAIN
from autodiff.errors import MutationError
from autodiff.structures import map_leaves, parts_of
from autodiff.tracer import Tracer, bare, is_tracer, note_view, untraced


def note_shared(made: Any, args: tuple, again: Callable[[tuple], Any]) -> None:
    """Note from which argument a result has its memory: a write into one is seen in the other.

    Parameters
    ----------
    made : Any
        The result, traced.
    args : tuple
        The arguments.
    again : callable
        ``again(args)``: the same call with other arguments.
    """
    if type(made) is Tracer:
        plain = bare(made)
        if type(plain) is np.ndarray:
            _note_views(made, plain, args, again, ())
        return
    if type(made) not in PLAIN and not is_tracer(made):
        _note_parts(made, args, again, ())


def _note_parts(made: Any, args: tuple, again: Callable, path: tuple) -> None:
    for key, part in parts_of(made) or ():
        plain = bare(part)
        if type(part) is Tracer and type(plain) is np.ndarray:
            _note_views(part, plain, args, again, (*path, key))
        elif type(part) not in PLAIN and not is_tracer(part):
            _note_parts(part, args, again, (*path, key))


def _note_views(made: Tracer, y: np.ndarray, args: tuple, again: Callable, path: tuple) -> None:
    owner = _owner(y)
    for i, a in enumerate(args):
        if type(a) in (list, tuple):
            _note_views_of_elements(made, owner, a)
            continue
        value = bare(a)
        if type(a) is not Tracer or type(value) is not np.ndarray:
            continue
        if _owner(value) is owner:
            before, after = args[:i], args[i + 1 :]

            def make(parent: Any, before: tuple = before, after: tuple = after) -> Any:
                if not is_tracer(parent):  # a cotangent of this shape: what else is traced is over
                    before, after = map_leaves((before, after), _settled)
                result = again((*before, parent, *after))
                for key in path:
                    is_container = isinstance(result, (list, tuple, dict))
                    result = result[key] if is_container else getattr(result, key)
                return result

            note_view(made, a, make)
            return


def _settled(x: Any) -> Any:
    """Return an argument as a constant; a recording notes what an index was."""
    seen = untraced(x)
    return bare(seen._tape.settled(seen)) if is_tracer(seen) else seen


def _owner(y: np.ndarray) -> Any:
    """Return what owns the memory; behind strided views are several things in between."""
    owner: Any = y
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return owner


def _note_views_of_elements(made: Tracer, owner: Any, elements: Any) -> None:
    """A result that shares the memory of an array inside a list: writes into it are refused."""
    for element in elements:
        value = bare(element)
        if type(value) is np.ndarray and _owner(value) is owner:
            note_view(made, element, refuse)


def refuse(parent: Any) -> Any:
    """In the place of how a view is made where that cannot be followed."""
    raise MutationError(
        "an array is written into that shares its memory with another one in a way that is not "
        "followed. Write into a copy: x = x.copy()."
    )
