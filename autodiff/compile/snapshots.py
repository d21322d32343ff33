"""What nests and objects from outside a function hold, to be compared with what they hold later."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from autodiff.intercept.libraries import is_of_library
from autodiff.structures import facts_of

SMALL = 4096
"""Up to how many bytes of an array are compared; of a larger one its identity."""
SIMPLE = (int, float, complex, str, bool, type(None))
OURS = ("autodiff", "chainrules", "chainrules_core")
_MOST_HOLDERS, _MOST_PARTS = 64, 512
_MISSING = object()
_BY_TEXT = frozenset({"vars", "getattr", "__dict__", "asdict", "astuple", "fields"})


class _Row(NamedTuple):
    """One holder, what it held, and how this is compared and put back."""

    holder: Any
    kept: Any
    is_same: Callable[[Any, Any], bool]
    put_back: Callable[[Any, Any], None]


class Snapshot:
    """What a nest held: its first 64 lists, dicts, objects of the user's classes and small arrays.

    Of objects those attributes count whose names the functions mention.
    """

    __slots__ = ("_rows",)

    def __init__(self, x: Any, names: set[str]) -> None:
        self._rows: list[_Row] = []
        waiting, seen, count = collections.deque([x]), set(), 0
        while waiting and len(self._rows) < _MOST_HOLDERS:
            holder = waiting.popleft()
            if id(holder) in seen:
                continue
            seen.add(id(holder))
            rows, parts = _rows_of(holder, names)
            if count + len(parts) <= _MOST_PARTS:
                count += len(parts)
                self._rows += rows
                waiting.extend(parts)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def has_changed(self) -> bool:
        """Whether something is no longer what it was."""
        return any(not is_same(holder, kept) for holder, kept, is_same, _ in self._rows)

    def undo(self) -> bool:
        """Put back what has changed; say whether anything had."""
        changed = [row for row in self._rows if not row.is_same(row.holder, row.kept)]
        for holder, kept, _, put_back in changed:
            put_back(holder, kept)
        return bool(changed)


def _rows_of(x: Any, names: set[str]) -> tuple[list[_Row], Collection]:
    """Return what is to be compared of a holder, if it is one, and what it holds."""
    kind = type(x)
    if isinstance(x, np.ndarray):
        rows, parts = _rows_of_array(x.view(np.ndarray))
        if kind is np.ndarray:
            return rows, parts
        more, held = _rows_of_foreign(x)  # a mask, say
        return rows + more, [*parts, *held]
    if kind is list or kind is collections.deque:
        return [_Row(x, list(x), _same_parts, _put_parts)], x
    if kind is set:
        return [_Row(x, x.copy(), operator.eq, _put_all)], ()
    if isinstance(x, dict):
        return [_Row(x, dict(x), _same_dict, _put_all)], x.values()
    if isinstance(x, tuple):
        return [], x
    if is_of_users(kind):
        return _rows_of_object(x, names)
    return _rows_of_foreign(x)


def is_of_users(kind: type) -> bool:
    """Whether a class is the user's, and its objects hold values in attributes."""
    if kind.__module__.partition(".")[0] in OURS or is_of_library(kind):
        return False
    return facts_of(kind).has_fields


def _rows_of_object(x: Any, names: set[str]) -> tuple[list[_Row], list]:
    own = getattr(x, "__dict__", {})
    slots: Collection[str] = facts_of(type(x)).slots
    if names.isdisjoint(_BY_TEXT):
        inherited = {n for base in type(x).__mro__[:-1] for n in vars(base)}
        slots = [n for n in slots if n in names]
        mentioned = names & (inherited | own.keys())  # what is not there yet may hide the class's
    else:
        mentioned = set(own)
    kept = {n: own.get(n, _MISSING) for n in mentioned}
    in_slots = {n: getattr(x, n, _MISSING) for n in slots}
    rows = [_Row(own, kept, _same_names, _put_names)] if kept else []
    if in_slots:
        rows.append(_Row(x, in_slots, _same_slots, _put_slots))
    return rows, [*kept.values(), *in_slots.values()]


def _rows_of_array(x: np.ndarray) -> tuple[list[_Row], list]:
    if x.nbytes > SMALL:
        return [], []
    if x.dtype.kind == "O":
        return [_Row(x, x.ravel().tolist(), _same_objects, _put_objects)], x.ravel().tolist()
    return [_Row(x, x.tobytes(), _same_bytes, _put_bytes)], []


def _rows_of_foreign(x: Any) -> tuple[list[_Row], list]:
    """Return the attributes of an object of a library's: its methods may read each of them."""
    own = getattr(x, "__dict__", None)
    if (
        type(own) is not dict
        or hasattr(x, "__name__")  # a function, a class or a module
        or type(x).__module__.partition(".")[0] in OURS
    ):
        return [], []
    kept = dict(own)
    return [_Row(own, kept, _same_dict, _put_all)], list(kept.values())


# -- whether it is the same, and how it is put back -----------------------------------------------


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in SIMPLE and a == b)


def _same_parts(holder: Collection, kept: list) -> bool:
    return len(holder) == len(kept) and all(map(_same, holder, kept))


def _same_dict(holder: dict, kept: dict) -> bool:
    return list(holder) == list(kept) and all(map(_same, holder.values(), kept.values()))


def _same_names(holder: dict, kept: dict) -> bool:
    return all(_same(holder.get(n, _MISSING), value) for n, value in kept.items())


def _same_slots(holder: Any, kept: dict) -> bool:
    return all(_same(getattr(holder, n, _MISSING), value) for n, value in kept.items())


def _same_bytes(holder: np.ndarray, kept: bytes) -> bool:
    return holder.tobytes() == kept


def _same_objects(holder: np.ndarray, kept: list) -> bool:
    return all(map(_same, holder.ravel().tolist(), kept))


def _put_objects(holder: np.ndarray, kept: list) -> None:
    for place, value in enumerate(kept):
        holder.flat[place] = value


def _put_bytes(holder: np.ndarray, kept: bytes) -> None:
    holder[...] = np.frombuffer(kept, holder.dtype).reshape(holder.shape)


def _put_parts(holder: Any, kept: list) -> None:
    holder.clear()
    holder.extend(kept)


def _put_all(holder: Any, kept: Any) -> None:
    holder.clear()
    holder.update(kept)


def _put_names(holder: dict, kept: dict) -> None:
    holder.update({n: value for n, value in kept.items() if value is not _MISSING})
    for n in [n for n, value in kept.items() if value is _MISSING and n in holder]:
        del holder[n]


def _put_slots(holder: Any, kept: dict) -> None:
    for n, value in kept.items():
        if value is not _MISSING:
            object.__setattr__(holder, n, value)
