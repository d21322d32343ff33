"""What pullbacks keep of the user's arrays, and how writes into these are noticed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

COPIED = 1 << 16
"""Bytes: of the user's arrays, those up to this size are copied for pullbacks, larger ones held."""
SMALL = 1 << 13
"""Bytes: copying an array of this size takes less time than finding the last copy of it."""
_WIDTH = 1021


class Holding:
    """Keeps arrays for the pullbacks of a tape.

    Attributes
    ----------
    copied : list of tuple
        The arrays among the arguments: what stands for it, what a write replaces there, the array.
    held : dict
        References to the user's arrays that pullbacks may hold, by id.
    copies : dict
        For arrays that are neither small nor held a reference to each and its last copy, by id.
    seen_as : dict
        For memory that no array owns the array that was used, by id of the owner.
    watched : dict
        The earlier content of arrays that are held, by id.
    watching : bool
        Whether code has run whose writes are not seen: from then on large arrays are watched too.
    epoch : int
        The number of calls of such code.
    goes_on : bool
        Whether such code may run at any time: the function being differentiated has no source.
    changed : bool
        Whether an array that is held was found changed when it was used again.
    """

    __slots__ = (
        "changed", "copied", "copies", "epoch", "goes_on", "held", "seen_as", "watched", "watching",
    )  # fmt: skip

    small = SMALL

    def __init__(self) -> None:
        self.copied: list[tuple[Any, Any, Any]] = []
        self.held: dict[int, Callable[[], Any]] = {}
        self.copies: dict[int, tuple[Callable[[], Any], np.ndarray]] = {}
        self.watched: dict[int, Watched] = {}
        self.seen_as: dict[int, np.ndarray] = {}
        self.watching = False
        self.epoch = 0
        self.goes_on = False
        self.changed = False

    def kept(self, x: np.ndarray) -> np.ndarray:
        """Return what a pullback may keep of an array of the user's.

        It is a copy, or, of a large array, the array itself, which is then held. Arrays of integers
        and truth values are always copied: code that counts or labels writes into them often.
        """
        n = x.nbytes
        if n <= SMALL:
            return x.copy("K")
        if n > COPIED and x.dtype.kind not in "iub":
            self.hold(x)
            return x
        known = self.copies.get(id(x))
        if known is not None and known[0]() is x and _is_same(known[1], x):
            return known[1]
        copy = x.copy("K")
        self.copies[id(x)] = weakref.ref(x), copy
        return copy

    def hold(self, x: np.ndarray) -> None:
        """Note that a pullback may keep the memory of an array.

        A write that is seen is refused (`trace_stack.check_free`). For other writes the content is
        compared in the end; that of a large array only if there can have been any.
        """
        owner = owner_of(x)
        known = self.held.get(id(owner))
        if known is None or known() is not owner:  # the id may be that of an earlier array
            self.held[id(owner)] = _reference(owner)
            if type(owner) is not np.ndarray:  # a buffer or a file
                self.seen_as[id(owner)] = x
            self._watch(owner)
            return
        watched = self.watched.get(id(owner))
        if watched is not None and (self.goes_on or watched.epoch != self.epoch):
            watched.epoch = self.epoch
            self.changed = self.changed or watched.has_changed()

    def watch(self, goes_on: bool = False) -> None:
        """Watch large arrays too, since code runs whose writes are not seen.

        If it `goes_on`, it may write at any time: arrays are compared whenever they are used again.
        """
        self.goes_on = self.goes_on or goes_on
        if not self.watching:
            self.watching = True
            for known in list(self.held.values()):
                self._watch(known())
        self.epoch += 1

    def _watch(self, owner: Any) -> None:
        array = self.seen_as.get(id(owner), owner)
        if not isinstance(array, np.ndarray) or array.dtype.hasobject or id(owner) in self.watched:
            return
        if self.watching or array.nbytes <= COPIED:
            self.watched[id(owner)] = Watched(array, self.epoch)

    def has_changed(self) -> bool:
        """Whether code whose writes are not seen has written into an array that is held."""
        return self.changed or any(w.has_changed() for w in self.watched.values())

    def holds(self, owner: Any) -> bool:
        """Whether the memory of this owner is held."""
        known = self.held.get(id(owner))
        return known is not None and known() is owner

    def is_given(self, x: np.ndarray) -> bool:
        """Whether an array shares memory with an argument, of which the function has a copy."""
        return any(type(y) is np.ndarray and np.may_share_memory(x, y) for _, _, y in self.copied)


def _reference(owner: Any) -> Callable[[], Any]:
    """Return a weak reference to an object, or a strong one if it takes no weak ones."""
    try:
        return weakref.ref(owner)
    except TypeError:
        return lambda: owner


def owner_of(x: np.ndarray) -> Any:
    """Return the array or other object that owns the memory of an array."""
    owner: Any = x
    while (base := getattr(owner, "base", None)) is not None:  # strided views have several bases
        owner = base
    return owner.obj if type(owner) is memoryview else owner


class Watched:
    """An array that is held, and its content when it was noted."""

    __slots__ = ("array", "before", "epoch")

    def __init__(self, array: np.ndarray, epoch: int) -> None:
        self.array = array
        self.before = fingerprint(array)
        self.epoch = epoch

    def has_changed(self) -> bool:
        """Whether the content has changed."""
        return fingerprint(self.array).tobytes() != self.before.tobytes()


def fingerprint(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array, or, of a large one, sums of its bits by rows and by columns.

    These change with the elements and with their order.
    """
    kind = {4: np.uint32, 8: np.uint64, 16: np.uint64}.get(x.itemsize)
    if x.nbytes <= COPIED or kind is None or not x.flags.forc:
        return x.copy()
    bits = x.ravel(order="K").view(kind)
    n = bits.size - bits.size % _WIDTH
    table = bits[:n].reshape(-1, _WIDTH)
    sums = [np.add.reduce(table, axis, dtype=np.uint64) for axis in (0, 1)]
    return np.concatenate([*sums, bits[n:]])


def _is_same(copy: np.ndarray, x: np.ndarray) -> bool:
    """Whether an array is still equal to its copy, bit for bit."""
    return copy.shape == x.shape and copy.dtype == x.dtype and copy.tobytes("A") == x.tobytes("A")
