"""Where the results of operations on small arrays are: all in one memory, known beforehand.

What nobody reads from the memory is not in it, and what is read for the last time gives its place
back. A change of an array that nobody reads any more as it was is made in place.
"""

from __future__ import annotations

import numpy as np

from autodiff.compiler.kernels.fusion_schedule import Memory, do_again, scheduled
from autodiff.compiler.kernels.loop_ir import NotSmallError, Op, View

_LARGEST_MEMORY = 1 << 24


class Layout:
    """The operations in order, and their places in memory.

    Attributes
    ----------
    items : list of Item
        What is done, in order.
    size : int
        How many elements the memory has.
    kept : set of int
        Operations whose results are written to the memory.
    direct : dict
        Operation → the number of the result that it writes, instead of writing to the memory.
    address : list of int
        Where each result is in the memory; -1 for those that are not in it.
    """

    def __init__(self, ops: list[Op], results: list[View]) -> None:
        self.ops = ops
        self.results = results
        self.home = self._homes()
        self.items = scheduled(self)
        do_again(self)
        self.kept: set[int] = set()
        self._note_readers()
        self.forwarded = self._forwarded()
        self._memory = Memory()
        self.address = self._placed()
        self.size = self._memory.size

    # -- who reads what --------------------------------------------------------------------------

    def _homes(self) -> list[int]:
        """For each result whose memory it lives in: changes are made in place where they can be."""
        last = list(range(len(self.ops)))
        for p, op in enumerate(self.ops):
            for a in op.args:
                if a.kind == "v":
                    last[a.base] = p
        for a in self.results:
            if a.kind == "v":
                last[a.base] = len(self.ops)
        home = list(range(len(self.ops)))
        for p, op in enumerate(self.ops):
            if op.kind != "change":
                continue
            before, given = op.args
            if before.kind != "v" or last[before.base] > p or not before.is_whole():
                continue
            if self.ops[before.base].size != op.size or before.is_bool:
                continue
            if given.kind == "v" and home[given.base] == home[before.base]:
                continue
            home[p] = home[before.base]
        return home

    def _note_readers(self) -> None:
        for item in self.items:
            together = {*item.positions, *item.again}
            for p in item.positions:
                for view in self.ops[p].args:
                    if view.kind == "v" and view.base not in together:
                        self._note(view)
        self.direct = self._results_alone()
        for k, view in enumerate(self.results):
            if view.kind == "v" and self.direct.get(view.base) != k:
                self._note(view)
        for p, op in enumerate(self.ops):
            if op.kind in ("change", "scatter"):  # it is written, even if nobody reads it
                self.kept |= {p, self.home[p]}

    def _note(self, view: View) -> None:
        """Note that a result is read from the memory, if no variable holds it."""
        if not self.is_single(view):
            self.kept |= {view.base, self.home[view.base]}

    def _results_alone(self) -> dict[int, int]:
        """Return the results that nobody else reads from the memory: they are written at once."""
        bases = [a.base for a in self.results if a.kind == "v"]
        found: dict[int, int] = {}
        for k, view in enumerate(self.results):
            if view.kind != "v" or view.base in self.kept or bases.count(view.base) > 1:
                continue
            op = self.ops[view.base]
            is_plain = op.kind == "map" and op.shape != () and not op.is_bool
            is_whole = view.is_whole() and view.shape == op.shape
            if is_plain and is_whole and self.home.count(view.base) == 1:
                found[view.base] = k
        return found

    def is_single(self, view: View) -> bool:
        """Whether an operand is the number that an operation has as its result."""
        return view.kind == "v" and not self.ops[view.base].shape

    # -- memory ----------------------------------------------------------------------------------

    def _forwarded(self) -> dict[int, tuple[int, int]]:
        """Results that are written where an array has them that is put together of such.

        For each the position of that array, and the place in it.
        """
        readers: dict[int, int] = {}
        for views in (self.results, *[op.args for op in self.ops]):
            for a in views:
                if a.kind == "v":
                    readers[a.base] = readers.get(a.base, 0) + 1
        found: dict[int, tuple[int, int]] = {}
        for p, op in enumerate(self.ops):
            begin = 0
            for a in op.args if op.kind == "stack" else ():
                if a.kind == "v" and readers[a.base] == 1 and self._is_plain(a):
                    found[a.base] = (p, begin)
                begin += int(np.prod(a.shape))
        return found

    def _is_plain(self, a: View) -> bool:
        """Whether an operand is all of a result that has its own memory."""
        op = self.ops[a.base]
        is_own = self.home[a.base] == a.base and not op.is_bool
        return is_own and a.is_whole() and op.shape == a.shape != ()

    def _root(self, p: int) -> int:
        """Return the position whose memory a result is in."""
        p = self.home[p]
        while p in self.forwarded:
            p = self.home[self.forwarded[p][0]]
        return p

    def _placed(self) -> list[int]:
        """Return where each result is: -1 for those that are not stored."""
        address = [-1] * len(self.ops)
        ends: dict[int, list[int]] = {}
        for root, t in self._last_reads().items():
            ends.setdefault(t, []).append(root)
        for t, item in enumerate(self.items):
            for p in item.positions:
                if p not in self.kept:
                    continue
                root = self._root(p)
                if address[root] < 0:
                    address[root] = self._memory.room(self.ops[root].size)
                self._settle(p, address)
            for root in ends.get(t, ()):
                if address[root] >= 0:
                    self._memory.give_back(address[root], self.ops[root].size)
        if self._memory.size > _LARGEST_MEMORY:
            raise NotSmallError
        return address

    def _settle(self, p: int, address: list[int]) -> None:
        """Say where a result is in the memory of its root."""
        home = self.home[p]
        if home in self.forwarded:
            whole, begin = self.forwarded[home]
            self._settle(whole, address)
            address[home] = address[whole] + begin
        address[p] = address[home]

    def _last_reads(self) -> dict[int, int]:
        """Return at which item the memory of each result is read or written for the last time."""
        last: dict[int, int] = {}
        for t, item in enumerate(self.items):
            for p in item.positions:
                last.update({self._root(a.base): t for a in self.ops[p].args if a.kind == "v"})
                last[self._root(p)] = t
        for view in self.results:
            if view.kind == "v":
                last[self._root(view.base)] = len(self.items)
        return last

    def stored(self, p: int) -> int:
        """Return where a result is; raise if it is not stored: machine code does not look."""
        if self.address[p] < 0:
            raise NotSmallError
        return self.address[p]
