"""Which traced arrays share memory: a write into one is seen in the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import PLAIN, constant_array, is_constant
from autodiff.errors import MutationError
from autodiff.functions import is_builtin_rule
from autodiff.mutation.held_arrays import owner_of
from autodiff.mutation.memory_layout import copy_of
from autodiff.trace.pytree import leaves_of, map_leaves, parts_of, rebuilt
from autodiff.trace.tracer import Tracer, bare, is_tracer, note_view, untraced
from chainrules_core.rule import Rule


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
    f : callable or Rule
        What was called, or the rule that it was called by.
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
    if any(old is not part for (_, old), part in zip(parts, new, strict=True)):
        made = rebuilt(made, new)
    if not path:
        _note_overlaps(made)
    return made


def _note_overlaps(made: Any) -> None:
    """Refuse writes into arrays of a result that lie in one memory, which is no argument's."""
    by_owner: dict[int, list[Tracer]] = {}
    for leaf in leaves_of(made):
        if type(leaf) is Tracer and leaf._origin is None and type(bare(leaf)) is np.ndarray:
            alike = by_owner.setdefault(id(owner_of(bare(leaf))), [])
            if all(leaf is not other for other in alike):
                alike.append(leaf)
    for first, *others in by_owner.values():
        pairs = itertools.combinations([bare(leaf) for leaf in (first, *others)], 2)
        if others and any(np.shares_memory(x, y) for x, y in pairs):
            for leaf in others:
                note_view(leaf, first, refuse)


def argument_itself(made: Tracer, args: Any, f: Any) -> Any:
    """Return the argument that a NumPy or SciPy function has returned itself, or None.

    A user's rule may change the derivative alone; its result stays another object.
    """
    for a in args:
        if type(a) is Tracer and a._value is made._value and a._tape is made._tape:
            return a if _may_return_argument(f) else None
        if type(a) in (list, tuple):
            same = argument_itself(made, a, f)
            if same is not None:
                return same
    return None


def _may_return_argument(f: Any) -> bool:
    """Whether a function is one of NumPy or SciPy, and its rule is not the user's."""
    if isinstance(f, Rule):
        if not is_builtin_rule(f):
            return False
        f = f.f
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


def shares_memory(y: Any, given: Any) -> bool:
    """Whether an array in a result lies in the memory of a constant array among the arguments."""
    owners = {id(owner_of(leaf)) for leaf in leaves_of(y) if type(leaf) is np.ndarray}
    return bool(owners) and any(
        is_constant(leaf) and id(owner_of(leaf._value)) in owners for leaf in leaves_of(given)
    )


def noting_writes(
    f: Callable, args: tuple, plain: tuple, named: dict[str, Any], options: dict[str, Any]
) -> tuple[Any, bool]:
    """Call `f` on arrays that a pullback may hold; return the result and whether it wrote into one.

    What it has written gets into the arguments, and the arrays are as they were. A part of such an
    array in the result cannot be made again without a second write, so later writes are refused.

    Parameters
    ----------
    f : callable
        What is called.
    args, named : tuple, dict
        The arguments.
    plain, options : tuple, dict
        The arguments for the call: plain arrays in the place of constants.
    """
    given = [(a, copy_of(a._value)) for a in leaves_of((args, named)) if is_constant(a)]
    written, parts = [], []
    try:
        y = f(*plain, **options)
        if any(before.tobytes() != a._value.tobytes() for a, before in given):
            itself = {id(a._value): a for a, _ in given}
            owners = {id(owner_of(a._value)): a for a, _ in given}

            def settled(x: Any) -> Any:
                if type(x) is not np.ndarray or id(x) in itself:
                    return itself.get(id(x), x)
                a = owners.get(id(owner_of(x)))
                made = constant_array(x if a is None else copy_of(x))
                if a is not None and type(made) is Tracer:
                    parts.append((made, a))
                return made

            y = map_leaves(y, settled)
    finally:
        for a, before in given:
            if before.tobytes() != a._value.tobytes():
                written.append((a, copy_of(a._value)))
                a._value[...] = before
    for a, after in written:
        a[...] = after
    for made, a in parts:
        note_view(made, a, refuse)
    _note_overlaps(y)
    return y, bool(written)
