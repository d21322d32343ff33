"""Writes into an argument that the function being differentiated also reaches in another way.

The function gets copies of its arguments, so a write into a list, dict, object or array that it was
given is not seen where it reads the original: as another argument, a captured variable, or a
global. Nor is a write into the original seen in the copy. Both are errors.
"""

from __future__ import annotations

import array
import collections
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.closures.captured_values import FUNCTIONS, parts_of_function
from autodiff.closures.code_mentions import mentions_of
from autodiff.errors import MutationError
from autodiff.mutation.held_arrays import owner_of
from autodiff.trace.pytree import parts_of
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import untraced
from chainrules_core.interpreter.places import is_ours
from chainrules_core.rules import name_of

_MOST_VISITED = 20_000


class WatchedArguments:
    """The containers and objects that a run has as arguments, of which the function gets copies.

    Attributes
    ----------
    stored : dict of int to bool
        The identities of the originals, and whether the function has stored into one: it may store
        the very object that is there, of which nothing shows afterwards.
    originals : dict of int to tuple
        The identity of each copy → what it is a copy of, and the copy.
    """

    __slots__ = ("originals", "stored")

    def __init__(self, containers: list[tuple]) -> None:
        self.stored = {id(x): False for x, *_ in containers}
        self.originals = {id(copy): (x, copy) for x, _, copy, _ in containers}


watching: list[WatchedArguments] = []
"""The runs with containers as arguments, the innermost last."""


def watch(containers: list[tuple]) -> WatchedArguments | None:
    """Begin to note what the function stores into the originals of its arguments."""
    if not containers:
        return None
    made = WatchedArguments(containers)
    watching.append(made)
    return made


def end_watch(made: WatchedArguments | None) -> None:
    """Note no more."""
    if made is not None:
        watching[:] = [other for other in watching if other is not made]


def note_store(container: Any) -> None:
    """Note that something is stored into a container."""
    for run in watching:
        if id(container) in run.stored:
            run.stored[id(container)] = True


def original(x: Any) -> Any:
    """Return what the user has given in the place of a copy; anything else as it is."""
    for run in reversed(watching):
        x = run.originals.get(id(x), (x,))[0]
    return x


def is_given(x: Any) -> bool:
    """Whether a container or object is an argument of a run."""
    return any(id(x) in run.originals for run in watching)


def check_writes(
    f: Callable,
    args: tuple,
    arrays: list[tuple],
    containers: list[tuple],
    watched: WatchedArguments | None,
) -> None:
    """Raise if an argument has been written into that the function knows by another name.

    Parameters
    ----------
    f, args
        The call.
    arrays : list of tuple
        A tracer, what a write into it replaces, and the array that it stands for.
    containers : list of tuple
        A container with its parts, and its copy with the parts of that.
    watched : Watch, optional
        What `watch` has noted.
    """
    written: dict[int, Any] = {}
    for traced, index, x in arrays:
        if traced._index is not index or (traced._tape is CONSTANT and _differs(traced._value, x)):
            written[id(x)] = x
    for x, parts, copy, parts_of_copy in containers:
        if not has_parts(x, parts) or (watched is not None and watched.stored[id(x)]):
            raise _error(f, x)
        if not has_parts(copy, parts_of_copy):
            written[id(x)] = x
    if not written:
        return
    program = program_tape()
    if program is not None:  # it looks for names of its own arguments
        program.written += written.values()
    twice = known_twice(f, args, list(written.values()))
    if twice is not None:
        raise _error(f, twice)


def _identity(x: Any) -> int:
    return id(owner_of(x)) if type(x) is np.ndarray else id(x)


def has_parts(container: Any, parts: list) -> bool:
    """Whether a container still has these parts, the very same objects."""
    kind = type(container)
    if kind is list:
        now = container
    elif kind is dict:
        now = list(container.values())
    elif isinstance(container, (set, collections.deque, bytearray, array.array)):
        return list(container) == parts
    else:
        now = [part for _, part in parts_of(container) or ()]
    if len(now) != len(parts):
        return False
    return all(map(operator.is_, now, parts)) or all(map(_is_part, now, parts))


def _differs(value: np.ndarray, x: np.ndarray) -> bool:
    """Whether an array without a tangent has other numbers than the one that it stands for."""
    return value is not x and not np.array_equal(value, untraced(x), equal_nan=True)


def _is_part(now: Any, before: Any) -> bool:
    """Whether two are one; pandas makes an array for each column whenever it is asked."""
    if now is before or not type(now) is type(before) is np.ndarray:
        return now is before
    return bool(now.__array_interface__ == before.__array_interface__)


def known_twice(f: Callable, args: tuple, written: list[Any]) -> Any:
    """Return one of some values that is in two arguments or is reached from the function, or None.

    Arrays are the same if they share memory.
    """
    wanted: dict[int, list] = {}
    for x in written:
        wanted.setdefault(_identity(x), []).append(x)
    once: set[int] = set()
    for root in (f, *args):
        found = {
            id(w): w for x in _reached(root) for w in wanted.get(_identity(x), ()) if _same(x, w)
        }
        for key, w in found.items():
            if root is f or key in once:
                return w
        once |= found.keys()
    return None


def _same(x: Any, y: Any) -> bool:
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return bool(np.may_share_memory(x, y))
    return x is y


def _error(f: Callable, written: Any) -> MutationError:
    return MutationError(
        f"{name_of(f)} writes into an argument, a {type(untraced(written)).__name__}, that it also "
        "reaches in another way: as another argument, a captured variable or a global. It is given "
        "a copy of its arguments for the derivative, so one would not see what is written into the "
        "other. Give it a copy (copy.deepcopy), or let it use the argument alone."
    )


def _reached(root: Any) -> Iterator[Any]:
    """Yield what can be reached from a function or value, by the globals of functions too."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting and len(seen) < _MOST_VISITED:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        yield x
        if isinstance(x, FUNCTIONS):
            waiting.extend(parts_of_function(x))
            if type(x) is types.FunctionType and not is_ours(x.__globals__.get("__name__")):
                waiting.extend(_globals_of(x))
        elif isinstance(x, type):
            waiting.extend([v for v in vars(x).values() if isinstance(v, _IN_CLASSES)])
        else:
            waiting.extend([part for _, part in parts_of(x) or ()])
            if callable(x):
                waiting.append(type(x))


_IN_CLASSES = (types.FunctionType, list, dict, np.ndarray)


def _globals_of(f: types.FunctionType) -> Iterator[Any]:
    """Yield the globals that a function names, and the attributes of modules that it names."""
    names = mentions_of(f.__code__).names
    for name in names:
        value = f.__globals__.get(name)
        if type(value) is types.ModuleType:
            inside = vars(value)
            yield from [inside[n] for n in names if n in inside]
        else:
            yield value
