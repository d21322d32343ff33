"""Which traced arrays share memory: a write into one is seen in the other."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import PLAIN
from autodiff.errors import MutationError
from autodiff.mutation.held_arrays import owner_of
from autodiff.trace.pytree import map_leaves, parts_of, rebuilt
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, View, bare, is_tracer, note_view, untraced, wrap


def note_shared(
    made: Any, args: tuple, f: Any, again: Callable[[tuple], Any], path: tuple = ()
) -> Any:
    """Note which arguments the arrays in a result share memory with.

    A write into one of the two is then seen in the other. Where a function of NumPy's has returned
    one of its arguments itself, so does the traced call.

    Parameters
    ----------
    made : Any
        The result, traced.
    args : tuple
        The arguments.
    f : callable
        What was called.
    again : callable
        ``again(args)``: the same call with other arguments.
    path : tuple
        The keys that lead from the result of the call to `made`, if that is a part of it.

    Returns
    -------
    Any
        The result, with arguments in the place of arrays that they are.
    """
    if type(made) is Tracer:
        plain = bare(made)
        if type(plain) is not np.ndarray:
            return made
        same = argument_itself(made, args, f)
        if same is not None:
            return same
        _note_views(made, plain, args, again, path)
        return made
    if type(made) in PLAIN or is_tracer(made):
        return made
    parts = parts_of(made)
    if parts is None:
        return made
    new = [note_shared(part, args, f, again, (*path, key)) for key, part in parts]
    if all(old is part for (_, old), part in zip(parts, new, strict=True)):
        return made
    return rebuilt(made, new)


def argument_itself(made: Tracer, args: Any, f: Any) -> Any:
    """Return the argument that a NumPy or SciPy function has returned itself, or None.

    A user's rule may change the derivative alone; its result stays another object.
    """
    for a in args:
        if type(a) is Tracer and a._value is made._value and a._tape is made._tape:
            return a if _is_numpys(f) else None
        if type(a) in (list, tuple):
            same = argument_itself(made, a, f)
            if same is not None:
                return same
    return None


def _is_numpys(f: Any) -> bool:
    home = getattr(f, "__objclass__", f)
    return (getattr(home, "__module__", None) or "").partition(".")[0] in ("numpy", "scipy")


def _note_views(made: Tracer, y: np.ndarray, args: tuple, again: Callable, path: tuple) -> None:
    owner = owner_of(y)
    for i, a in enumerate(args):
        if type(a) in (list, tuple):
            _note_views_of_elements(made, owner, a)
            continue
        value = bare(a)
        if type(a) is not Tracer or type(value) is not np.ndarray:
            continue
        if owner_of(value) is owner:
            before, after = args[:i], args[i + 1 :]

            def make(parent: Any, before: tuple = before, after: tuple = after) -> Any:
                if not is_tracer(parent):  # in a sweep: the other arguments are constants by now
                    before, after = settled((before, after))
                result = again((*before, parent, *after))
                for key in path:
                    is_container = isinstance(result, (list, tuple, dict))
                    result = result[key] if is_container else getattr(result, key)
                return result

            note_view(made, a, make)
            return


def settled(args: Any) -> Any:
    """Return arguments as constants, for a call that is made again after the recording."""
    return map_leaves(args, _settled)


def _settled(x: Any) -> Any:
    """Return an argument as a constant; a recording notes its value."""
    seen = untraced(x)
    return bare(seen._tape.settled(seen)) if is_tracer(seen) else seen


def _note_views_of_elements(made: Tracer, owner: Any, elements: Any) -> None:
    """Refuse writes into a result that shares the memory of an array inside a list."""
    for element in elements:
        value = bare(element)
        if type(value) is np.ndarray and owner_of(value) is owner:
            note_view(made, element, refuse)


def refuse(parent: Any) -> Any:
    """Refuse to make a view anew where it is not known how it was made."""
    raise MutationError(
        "an array is written into that shares its memory with another one in a way that is not "
        "followed. Write into a copy: x = x.copy()."
    )


def lent(owner: Tracer, value: Any) -> Any:
    """Return an array behind a tracer as another object, which nobody may write into unseen.

    Parameters
    ----------
    owner : Tracer
        The array. As long as the result lives, a write into its memory raises a MutationError.
    value : numpy.ndarray or Tracer
        The array behind it; a tracer while a program is recorded.

    Returns
    -------
    numpy.ndarray or Tracer
        An object of its own with the same memory.
    """
    if is_tracer(value):
        made = wrap(value._value, value._tape, value._index)
        note_view(made, owner, refuse)
        return made
    made = value.view()
    borrower, lender = weakref.ref(made), weakref.ref(owner)

    def as_view() -> Tracer | None:
        plain, parent = borrower(), lender()
        if plain is None or parent is None:
            return None
        view = Tracer(plain, CONSTANT, -1)
        view._origin = View(parent, refuse)
        return view

    owner._views = [*(owner._views or []), as_view]
    return made
