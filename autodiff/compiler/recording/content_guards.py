"""Snapshots of containers and objects outside a function, to be compared at later calls."""

from __future__ import annotations

import abc
import collections
import functools
import operator
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from autodiff.compiler.recording.array_contents import ArrayContent, is_large
from autodiff.compiler.recording.mentioned_names import Mentioned
from autodiff.intercept.source.library_code import is_library, is_of_library
from autodiff.trace.pytree import facts_of
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import is_tracer
from chainrules_core.tangents.fields import dict_of, in_class, slots_of

SIMPLE = (int, float, complex, str, bool, type(None))
NUMBERS = (int, float, complex, np.float64, np.float32, np.int64)
OURS = ("autodiff", "chainrules", "chainrules_core")
_FEW_HOLDERS, _MOST_HOLDERS = 64, 1024
_FIXED = (
    type, types.FunctionType, types.ModuleType, np.ufunc, type(np.sum),
)  # fmt: skip
_CONTAINERS = (
    list, dict, tuple, set, frozenset, collections.deque, np.ndarray, types.FunctionType,
    types.SimpleNamespace,
)  # fmt: skip
"""Classes whose objects hold what the user has put into them."""
_MISSING = object()
_VARIES: Any = object()
"""Kept in place of a number that is an input of the program."""
_OF_FUNCTIONS = frozenset({"__annotations__", "__doc__", "__module__", "__name__", "__qualname__"})
"""Attributes that every function has and that can be rebound."""
_OF_CLASSES = frozenset({"__name__", "__qualname__"})


def is_fixed(x: Any) -> bool:
    """Whether no code can write into a value, apart from attributes of functions and classes."""
    if type(x) is tuple:
        return all(map(is_fixed, x))
    if type(x) is types.BuiltinFunctionType:
        return x.__self__ is None or type(x.__self__) is types.ModuleType  # no method of a list
    return type(x) in SIMPLE or isinstance(x, _FIXED)


def exactly(x: Any) -> Any:
    """Return what tells apart values that are equal: 1 == 1.0 == True, and 0.0 == -0.0.

    Examples
    --------
    >>> exactly(0.0) == exactly(-0.0), exactly((1, 2.0)) == exactly((True, 2.0))
    (False, False)
    """
    kind = type(x)
    if kind is tuple:
        return kind, *map(exactly, x)
    if (kind is float and x == 0.0) or kind is complex:
        return kind, str(x)
    return kind


def elements_in(x: Any) -> tuple[list, list]:
    """Return what a container holds, in order, and what tells it apart from what is equal."""
    held = list(x)
    return held, list(map(exactly, held))


def items_of(x: Any) -> Collection:
    """Return what a container holds, keys too, and what an error was made with; else nothing."""
    if isinstance(x, dict):
        return [*x, *x.values()]
    if isinstance(x, (tuple, list, set, frozenset, collections.deque)):
        return x
    if isinstance(x, np.ndarray) and x.dtype.hasobject:
        return x.view(np.ndarray).ravel().tolist()
    return x.args if isinstance(x, BaseException) else ()


class ReadAttributes:
    """Which attributes an object, a class or a module has of those that are read, and its class.

    Attributes
    ----------
    kind, bases : type, tuple
        The class, and what it is made of.
    kept : dict
        Those that there are.
    absent : frozenset or None
        Those that there are not; None if they are all those that are not kept.
    """

    __slots__ = ("absent", "bases", "kept", "kind")

    def __init__(self, x: Any, own: Mapping, mentioned: Mentioned, inherited: set[str]) -> None:
        self.kind = type(x)
        self.bases = self.kind.__mro__
        if mentioned.by_text:
            self.kept, self.absent = dict(own), None
            return
        names = mentioned.of(self.kind)
        self.kept = {n: own[n] for n in sorted(names & own.keys())}
        # What is not there yet may hide the class's.
        goes_on = mentioned.may_miss or "__getattr__" in inherited or "__getattr__" in own
        may_come = names if goes_on else names & (inherited | mentioned.bound)
        self.absent = frozenset(may_come - own.keys())

    def lacks(self, own: Mapping) -> bool:
        """Whether there are no attributes but those that there were."""
        if self.absent is None:
            return [*own] == [*self.kept]
        return own.keys().isdisjoint(self.absent)

    def is_same(self, x: Any) -> bool:
        """Whether an object has the same class and attributes."""
        kind = type(x)
        if kind is not self.kind or kind.__mro__ is not self.bases:
            return False
        own = dict_of(x)
        if not own and not self.kept:
            return True
        if not self.lacks(own):
            return False
        for name, value in self.kept.items():
            now = own.get(name, _MISSING)
            if now is not value and not same(now, value):
                return False
        return True

    def put_back(self, x: Any) -> None:
        """Give an object the attributes that it had."""
        own = dict_of(x)
        for n in [n for n in own if self.absent is None or n in self.absent]:
            del own[n]
        own.update(self.kept)


class _Row(NamedTuple):
    """One holder, what it held, and how this is compared and put back: functions of both."""

    holder: Any
    kept: Any
    is_same: Callable[[Any, Any], bool]
    put_back: Callable[[Any, Any], None]


def _row_of(holder: Any, kept: ReadAttributes | ArrayContent) -> _Row:
    kind: Any = type(kept)
    return _Row(holder, kept, kind.is_same, kind.put_back)


class Snapshot:
    """The content of a pytree: lists, dicts, objects of user classes and small arrays.

    Of objects those attributes count whose names the functions mention, and their classes. What
    objects of libraries hold is compared as long as there is little.

    Attributes
    ----------
    is_whole : bool
        Whether nothing of the user's was left out because there is more.
    is_small : bool
        Whether nothing was left out, and it is compared in a short time.
    large : list of ndarray
        The large arrays in it. Their contents are no part of the snapshot.
    """

    __slots__ = ("_rows", "is_small", "is_whole", "large")

    def __init__(self, x: Any, names: Mentioned) -> None:
        self._rows: list[_Row] = []
        self.large: list[np.ndarray] = []
        self.is_whole = self.is_small = True
        waiting, seen = collections.deque([(x, False)]), set()
        while waiting and self.is_whole:
            holder, is_in_library = waiting.popleft()
            if id(holder) in seen:
                continue
            seen.add(id(holder))
            if isinstance(holder, np.ndarray) and is_large(holder):
                self.large.append(holder)
            rows, parts = _rows_of(holder, names)
            self.is_small = self.is_small and len(self._rows) + len(rows) <= _FEW_HOLDERS
            if rows and is_in_library and not self.is_small:
                continue
            self._rows += rows
            self.is_whole = len(self._rows) <= _MOST_HOLDERS
            is_in_library = is_in_library or _is_of_library(holder)
            waiting.extend((part, is_in_library) for part in parts if type(part) not in SIMPLE)
        self.is_small = self.is_small and self.is_whole

    def __bool__(self) -> bool:
        return bool(self._rows or self.large)

    def checks(self, names: Any) -> list[str]:
        """Return the conditions that something has changed; `names` gives names to objects."""
        if len(self._rows) == 1 and type(self._rows[0].kept) is ArrayContent:
            array, content = self._rows[0][:2]  # the value itself, or in a tuple, say
            return content.checks(names.of(array, "array"), names)
        return [f"{names.of(self.has_changed, 'has_changed')}()"] if self._rows else []

    def has_changed(self) -> bool:
        """Whether something is no longer what it was."""
        for holder, kept, is_same, _ in self._rows:  # noqa: SIM110 - `any` takes twice as long
            if not is_same(kept, holder):
                return True
        return False

    def numbers(self) -> list[tuple[Any, str, Any]]:
        """Return the dicts and objects that hold numbers, the keys, and the numbers."""
        return [
            (row.holder, name, x)
            for row in self._rows
            for name, x in _kept_of(row).items()
            if type(name) is str and type(x) in NUMBERS
        ]

    def leave_out(self, holder: Any, name: str) -> None:
        """Leave out a number, which may differ from now on."""
        for row in self._rows:
            if row.holder is holder and name in _kept_of(row):
                _kept_of(row)[name] = _VARIES

    def undo(self) -> bool:
        """Put back what has changed; say whether anything had."""
        changed = [row for row in self._rows if not row.is_same(row.kept, row.holder)]
        for holder, kept, _, put_back in changed:
            put_back(kept, holder)
        return bool(changed)


def of_array(x: np.ndarray) -> Snapshot:
    """Return the content of an array, however large."""
    snapshot = Snapshot(None, Mentioned())
    snapshot._rows.append(_row_of(x, ArrayContent(x)))
    return snapshot


def _kept_of(row: _Row) -> dict[str, Any]:
    """Return what a dict of no other class holds, or the attributes of an object by name."""
    if type(row.kept) is ReadAttributes and row.kept.absent is not None:
        return row.kept.kept
    return row.kept if type(row.kept) is type(row.holder) is dict else {}


def _is_of_library(x: Any) -> bool:
    """Whether a holder is an object of a library's, and no container."""
    return not isinstance(x, _CONTAINERS) and not is_of_users(type(x))


def _rows_of(x: Any, names: Mentioned) -> tuple[list[_Row], Collection]:
    """Return what is to be compared of a holder, if it is one, and what it holds."""
    kind = type(x)
    if is_tracer(x):
        return _rows_of_tracer(x)
    if isinstance(x, np.ndarray):
        rows, parts = _rows_of_array(x, names)
        more, held = ([], []) if kind is np.ndarray else _rows_of_foreign(x)  # a mask, say
        return [*rows, *more], [*parts, *held]
    if isinstance(x, type):
        return _rows_of_class(x, names)
    if kind is types.FunctionType and not is_library(x):
        return _rows_of_function(x, names)
    rows, parts = _rows_of_container(x), items_of(x)
    more, held = _rows_of_object(x, names) if is_of_users(kind) else _rows_of_foreign(x)
    return [*rows, *more], [*parts, *held]


def _rows_of_function(x: Any, names: Mentioned) -> tuple[list[_Row], list]:
    rows, parts = [], []
    if vars(x) or names.may_miss:
        had = ReadAttributes(x, vars(x), names, set())
        rows, parts = [_row_of(x, had)], [*had.kept.values()]
    read = _OF_FUNCTIONS if names.by_text else names.names & _OF_FUNCTIONS
    if read:
        own = {n: getattr(x, n) for n in read}
        rows.append(_Row(x, own, _same_slots, _put_slots))
        parts += own.values()
    return rows, parts


def _rows_of_class(x: type, names: Mentioned) -> tuple[list[_Row], list]:
    """Return what is no item of a class: its name, and what is registered as a subclass."""
    rows = []
    read = _OF_CLASSES if names.by_text else names.names & _OF_CLASSES
    if read:
        rows.append(_Row(x, {n: getattr(x, n) for n in read}, _same_slots, _leave))
    if isinstance(x, abc.ABCMeta):
        rows.append(_Row(x, abc.get_cache_token(), _same_registrations, _leave))
    return rows, []


def _rows_of_container(x: Any) -> list[_Row]:
    """Return what is to be compared of what can be written into in place."""
    if isinstance(x, (list, collections.deque, set)):
        return [_Row(x, list(x), _same_parts, _put_parts)]
    if isinstance(x, dict):
        return [_Row(x, dict(x), _same_dict, _put_parts)]
    if isinstance(x, BaseException):
        return [_Row(x, {"args": x.args}, _same_slots, _put_slots)]
    if isinstance(x, functools.partial):
        parts = {"func": x.func, "args": x.args, "keywords": x.keywords}
        return [_Row(x, parts, _same_slots, _put_into_partial)]
    return []


def is_foreign(function: types.FunctionType) -> bool:
    """Whether a function is a library's, or ours."""
    module = function.__globals__.get("__name__", "") or ""
    is_ours = module.partition(".")[0] in OURS
    if "<locals>" in function.__qualname__ and is_ours:
        return False
    return is_ours or is_library(function)


def is_of_users(kind: type) -> bool:
    """Whether a class is the user's, and its objects hold values in attributes."""
    if not isinstance(kind.__module__, str):  # a class of functions that Cython makes
        return False
    if kind.__module__.partition(".")[0] in OURS or is_of_library(kind):
        return False
    return facts_of(kind).has_fields


def _rows_of_object(x: Any, names: Mentioned) -> tuple[list[_Row], list]:
    inherited = {n for base in type(x).__mro__[:-1] for n in vars(base)}
    had = ReadAttributes(x, dict_of(x), names, inherited)
    slots: Collection[str] = slots_of(type(x))
    if not names.by_text:
        slots = names.of(type(x)).intersection(slots)
    in_slots = {n: getattr(x, n, _MISSING) for n in slots}
    rows = [_row_of(x, had)]
    if in_slots:
        rows.append(_Row(x, in_slots, _same_slots, _put_slots))
    return rows, [*had.kept.values(), *in_slots.values()]


def _rows_of_array(x: np.ndarray, names: Mentioned) -> tuple[list[_Row], Collection]:
    around = [x.base] if names.reaches_around else []
    if x.dtype.hasobject:
        held = items_of(x)
        kept = x.shape, x.flags.writeable, held
        return [_Row(x, kept, _same_objects, _put_objects)], [*held, *around]
    rows = [] if is_large(x) else [_row_of(x, ArrayContent(x))]
    return rows, around


def _rows_of_tracer(x: Any) -> tuple[list[_Row], Collection]:
    """Return that of an array which was made in a traced function, and kept outside."""
    array = x._value
    if x._tape is not CONSTANT or type(array) is not np.ndarray:
        return [], []
    kept = {"_tape": CONSTANT, "_index": x._index, "_value": array}
    return [_Row(x, kept, _same_slots, _put_slots)], [array]


def _rows_of_foreign(x: Any) -> tuple[list[_Row], list]:
    """Return the attributes of an object of a library's: its methods may read each of them."""
    own = dict_of(x)
    if (
        (in_class(type(x), "__dict__") is None and not slots_of(type(x)))
        or "__name__" in own
        or in_class(type(x), "__name__") is not None  # a function, a class or a module
        or type(x).__module__.partition(".")[0] in OURS
    ):
        return [], []
    kept = dict(own)
    rows, parts = [_Row(own, kept, _same_dict, _put_parts)], list(kept.values())
    in_slots = {n: getattr(x, n, _MISSING) for n in slots_of(type(x))}
    if in_slots:
        rows.append(_Row(x, in_slots, _same_slots, _put_slots))
        parts += in_slots.values()
    return rows, parts


# -- whether it is the same, and how it is put back -----------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Whether two values are one, or plain values that nothing tells apart."""
    if a is b or b is _VARIES:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    return kind in SIMPLE and a == b and exactly(a) == exactly(b)


def _are_same(now: Collection, then: Collection) -> bool:
    return all(map(operator.is_, now, then)) or all(map(same, now, then))


def _same_parts(kept: list, holder: Collection) -> bool:
    return len(holder) == len(kept) and _are_same(holder, kept)


def _same_dict(kept: dict, holder: dict) -> bool:
    if len(holder) != len(kept):
        return False
    return not kept or (_are_same(holder, kept) and _are_same(holder.values(), kept.values()))


def _put_parts(kept: Any, holder: Any) -> None:
    kinds = (list, collections.deque, collections.OrderedDict, dict, set)
    kind: Any = next(kind for kind in kinds if isinstance(holder, kind))
    kind.clear(holder)  # a class of the user's may do more
    put = kind.update if hasattr(kind, "update") else kind.extend
    put(holder, kept)


def _same_slots(kept: dict, holder: Any) -> bool:
    for n, value in kept.items():
        now = getattr(holder, n, _MISSING)
        if now is not value and not same(now, value):
            return False
    return True


def _put_slots(kept: dict, holder: Any) -> None:
    for n, value in kept.items():
        if value is not _MISSING:
            object.__setattr__(holder, n, value)
        elif hasattr(holder, n):
            object.__delattr__(holder, n)


def _put_into_partial(kept: dict, holder: functools.partial) -> None:
    set_state: Any = getattr(holder, "__setstate__")  # noqa: B009 - unknown to type checkers
    set_state((*kept.values(), vars(holder)))


def _same_objects(kept: tuple, holder: np.ndarray) -> bool:
    is_like = (holder.shape, holder.flags.writeable) == kept[:2]
    return is_like and _are_same(items_of(holder), kept[2])


def _put_objects(kept: tuple, holder: np.ndarray) -> None:
    holder.shape = kept[0]
    for place, value in enumerate(kept[2]):
        holder.view(np.ndarray).flat[place] = value


def _same_registrations(token: object, holder: Any) -> bool:
    return abc.get_cache_token() == token


def _leave(kept: Any, holder: Any) -> None:
    """Put nothing back: a store into a class ends a recording, and a registration stays."""
