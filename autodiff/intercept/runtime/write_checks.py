"""Calls on plain values that may write into an array that a pullback holds.

If the effects of a call are known, it is checked before it is made: it must not write into a held
array, by ``out=``, by an option such as ``overwrite_a``, or in place. If they are not known, the
held arrays are compared with their copies when the traced function has returned.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch.arguments import is_constant, place_of_out
from autodiff.mutation.assignment import assign_item, root_and_path
from autodiff.mutation.memory_layout import copy_of
from autodiff.mutation.views import refuse
from autodiff.numpy_api.out_arguments import WRITERS
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import check_free, watch_held
from autodiff.trace.tracer import Tracer, note_view
from chainrules_core.calling.signatures import parameter_names

TRUSTED = frozenset({"numpy", "scipy"})
"""Packages whose functions write only where their parameters say so."""
_HOLD_NOTHING = frozenset(
    {float, int, bool, complex, str, bytes, type(None), slice, range, np.float64, np.int64}
)
_TARGETS = ("dst", "a", "arr", "x")  # names of the first parameter of WRITERS


def check_out(f: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise if a call of a NumPy function writes into an array that is held."""
    if kwargs:
        if "out" in kwargs:
            _check(kwargs["out"])
        if f in WRITERS and not args:
            for name in _TARGETS:
                _check(kwargs.get(name))
    place = f.nin if isinstance(f, np.ufunc) else place_of_out(f)[0]
    if len(args) > place:
        _check(args[place:])
    if args and f in WRITERS and (f is not np.nan_to_num or _is_false(args, kwargs)):
        _check(args[0])


def _is_false(args: tuple, kwargs: dict[str, Any]) -> bool:
    return not (args[1] if len(args) > 1 else kwargs.get("copy", True))


def _check(x: Any) -> None:
    if type(x) is tuple or type(x) is list:
        for part in x:
            _check(part)
    else:
        check_free(x)


_names_of = caches.of_functions(1024)(parameter_names)


def _is_written(name: str) -> bool:
    return name in ("out", "output", "copy") or name.startswith("overwrite")


def with_copies(
    g: Callable, args: tuple, kwargs: dict[str, Any], names: frozenset[str] | None = None
) -> Any:
    """Call a function with copies of the arrays that were made in the traced function.

    What the function writes into a copy is then written into the array. If `names` is given, only
    the arguments of these names are copied.
    """
    given = [a for a in args if names is None]
    given += [a for name, a in kwargs.items() if names is None or name in names]
    copies = PlainCopies(filter(is_constant, given))
    if names is None:
        args = tuple([copies.of(a) for a in args])
    y = g(*args, **{n: copies.of(a) for n, a in kwargs.items()})
    return copies.written(y)


class PlainCopies:
    """Plain copies of arrays that were made in a traced function.

    Copies share memory where the arrays do: a write into one is seen in the other.
    """

    def __init__(self, arrays: Iterable[Tracer]) -> None:
        self._copies: dict[int, tuple[Tracer, np.ndarray]] = {}
        self._of_roots: list[tuple[Tracer, np.ndarray]] = []
        relatives: dict[int, list[tuple[Tracer, tuple]]] = {}
        for a in {id(a): a for a in arrays}.values():
            root, path = root_and_path(a)
            relatives.setdefault(id(root), []).append((a, path))
        for members in relatives.values():
            self._copy(members)

    def _copy(self, members: list[tuple[Tracer, tuple]]) -> None:
        """Copy arrays that share memory, several as views of one copy of their root."""
        is_alone = len(members) == 1
        root = members[0][0] if is_alone else root_and_path(members[0][0])[0]
        whole = copy_of(root._value)
        self._of_roots.append((root, whole))
        for a, path in members:
            copy = whole
            for step in () if is_alone else path:
                copy = step(copy)
            self._copies[id(a)] = a, copy

    def of(self, x: Any) -> Any:
        """Return the copy of an array, and any other value unchanged."""
        return self._copies[id(x)][1] if id(x) in self._copies else x

    def written(self, y: Any) -> Any:
        """Write changes of the copies into the arrays; return `y`, or the original of a copy."""
        for root, copy in self._of_roots:
            if copy.tobytes() != root._value.tobytes():
                assign_item(root, ..., copy)
        same = next((a for a, copy in self._copies.values() if copy is y), None)
        if same is not None or type(y) is not np.ndarray:
            return y if same is None else same
        for a, copy in self._copies.values():
            if np.may_share_memory(y, copy):
                view = Tracer(y, CONSTANT, -1)
                note_view(view, a, refuse)  # a write into one of them could not be followed
                return view
        return y


OUTPUTS = frozenset({"out", "output"})


def look_of(g: Any) -> Looking:
    """Return what checks calls of a function; methods made in C share that of their class."""
    owner = getattr(g, "__self__", None)
    if type(g) is types.MethodType and type(g.__func__) is not types.FunctionType:
        return _look_of_method(g.__func__)
    if type(g) is types.BuiltinFunctionType and not isinstance(owner, (types.ModuleType, type)):
        method = getattr(type(owner), g.__name__, None)
        if type(method) is types.MethodDescriptorType:
            return _look_of_method(method)
    return Looking(g)


@functools.lru_cache(maxsize=1024)
def _look_of_method(method: Any) -> Looking:
    return Looking(method, own=1)


class Looking:
    """Checks calls of a library's function before they are made.

    Attributes
    ----------
    is_trusted : bool
        Whether its package is one of `TRUSTED`.
    is_of_python : bool
        Whether it belongs to the standard library: it can write only into its arguments.
    """

    def __init__(self, g: Any, own: int = 0) -> None:
        self._g, self._own = g, own
        home = getattr(g, "__objclass__", g)
        package = (getattr(home, "__module__", None) or "").partition(".")[0]
        self.is_trusted = package in TRUSTED
        self.is_of_python = package in sys.stdlib_module_names
        self.shuffles = getattr(g, "__name__", "") == "shuffle"

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters (read on demand, since that is slow)."""
        return _names_of(self._g)[self._own :]

    @functools.cached_property
    def place(self) -> int:
        """The position of the first parameter that says what is written into."""
        places = [i for i, name in enumerate(self.names) if _is_written(name)]
        return min(places, default=2 if not self.names else sys.maxsize)

    def never_writes(self, args: tuple) -> bool:
        """Whether no call with arguments of these types writes, if none of them is a function."""
        if self.is_trusted:
            return len(args) <= self.place and not self.shuffles
        return self.is_of_python and _HOLD_NOTHING.issuperset(map(type, args))

    def is_told_to_write(self, args: tuple, kwargs: dict[str, Any]) -> bool:
        """Whether a call is given an array of the traced function and told to overwrite one."""
        if len(args) <= self.place and not any(map(_is_written, kwargs)):
            return False
        return any(map(is_constant, (*args, *kwargs.values())))

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Raise if a call writes into a held array; note if it may."""
        if len(args) > self.place or kwargs:
            self._look_at_names(args, kwargs)
        if self.shuffles:
            _check(args)
        if self.is_trusted and not any(map(callable, args)):
            return
        values = (*args, *kwargs.values()) if kwargs else args
        if not (self.is_of_python and _HOLD_NOTHING.issuperset(map(type, values))):
            watch_held()

    def _look_at_names(self, args: tuple, kwargs: dict[str, Any]) -> None:
        given = dict(zip(self.names, args, strict=False))
        for name, value in {**given, **kwargs}.items():
            if name in ("out", "output"):
                _check(value)
            elif (name == "copy" and value is False) or (name.startswith("overwrite") and value):
                _check(tuple([a for a in (*args, *kwargs.values()) if type(a) is np.ndarray]))
        if not self.names and len(args) > self.place:  # it has no signature
            _check(tuple([a for a in args[self.place :] if type(a) is np.ndarray]))
