"""Where the results of operations on small arrays are: all in one memory, known beforehand.

Of what a loop computes, all turns are kept where somebody reads them later, two where the next turn
reads them, and one else. What nobody reads from the memory is not in it. A change of an array that
nobody reads any more as it was is made in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.fusion_schedule import Memory, do_again, scheduled
from autodiff.compiler.kernels.loop_ir import NotSmallError, Op, View
from autodiff.compiler.passes.loop_rerolling import Loop, loops_of

_LARGEST_MEMORY = 1 << 24


class Block:
    """The operations of the top level, or of one loop: the first, and how often they are done."""

    __slots__ = ("count", "loop", "n", "start")

    def __init__(self, start: int, n: int, loop: Loop | None) -> None:
        self.start = start
        self.n = n
        self.loop = loop
        self.count = loop.count if loop else 1

    def turns(self, p: int) -> range:
        """Return the positions of an operation in all turns."""
        if self.loop is None:
            return range(p, p + 1)
        return range(p, p + self.loop.period * self.count, self.loop.period)


class Layout:
    """The operations with their loops, and places in memory.

    Attributes
    ----------
    size : int
        How many elements the memory has.
    direct : dict
        Operation → the number of the result that it writes, instead of writing to the memory.
    carried : dict
        Loop and operation → what the first turn reads in the place of the turn before.
    """

    def __init__(self, ops: list[Op], results: list[View]) -> None:
        self.ops = ops
        self.results = results
        self.loops = loops_of([op.signature for op in ops], [op.places for op in ops])
        self._loop_at = {loop.start: loop for loop in self.loops}
        self.loop_of: list[Loop | None] = [None] * len(ops)
        for loop in self.loops:
            for p in range(loop.start, loop.start + loop.period * loop.count):
                self.loop_of[p] = loop
        self.home = self._homes()
        self.items = {block.start: scheduled(self, block) for block in self.blocks()}
        do_again(self)
        self.kept: set[int] = set()  # positions whose result is read from the memory
        self._whole: set[tuple[int, int]] = set()  # (start, slot) of which all turns are kept
        self.carried: dict[tuple[int, int], View] = {}
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
        copies: set[int] = set()
        while True:
            home = self._homes_with(copies, last)
            irregular = self._irregular(home)
            if not irregular:
                return home
            copies |= irregular

    def _homes_with(self, copies: set[int], last: list[int]) -> list[int]:
        home = list(range(len(self.ops)))
        for p, op in enumerate(self.ops):
            if op.kind != "change" or p in copies:
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

    def _irregular(self, home: list[int]) -> set[int]:
        """Return changes that are not made in the same place, or of the same turn, in all turns."""
        for loop in self.loops:
            end = loop.start + loop.period * loop.count
            for j in range(loop.period):
                positions = range(loop.start + j, end, loop.period)
                away = {home[p] - p for p in positions}
                fixed = {home[p] for p in positions}
                if len(away) > 1 and (len(fixed) > 1 or any(loop.holds(p) for p in fixed)):
                    return set(positions)
        return set()

    def form(self, block: Block, p: int, a: int) -> str:
        """Say where an operand comes from: a place that stays, this turn, or the one before."""
        view = self.ops[p].args[a]
        loop = block.loop
        if loop is None:
            return "same"
        step = self.ops[p + loop.period].args[a].base - view.base
        if step == 0:  # what the first turn makes is not what each makes for itself
            return "moving" if loop.holds(view.base) else "same"
        if step == loop.period:
            if view.base >= loop.start:
                return "here"
            if view.base >= loop.start - loop.period:
                slot = loop.start + (view.base - loop.start) % loop.period
                same = self.ops[view.base].shape == self.ops[slot].shape
                if same and self.home[slot] == slot:
                    return "before"
        return "moving"

    def _note_readers(self) -> None:
        for block in self.blocks():
            together = {
                p: [*item.positions, *item.again]
                for item in self.items[block.start]
                for p in item.positions
            }
            for p in range(block.start, block.start + block.n):
                for a, view in enumerate(self.ops[p].args):
                    if view.kind != "v":
                        continue
                    if not self._is_beside(block, p, a, together[p]):
                        self._note_reader(block, p, a)
        self.direct = self._results_alone()
        for k, view in enumerate(self.results):
            if view.kind == "v" and not self.is_held(view) and self.direct.get(view.base) != k:
                self._note(view.base, None)
        for block in self.blocks():
            for p in range(block.start, block.start + block.n):
                if self.ops[p].kind in ("change", "scatter") and p not in self.kept:
                    self._note(p, block.loop)  # it is written, even if nobody reads it from there

    def _is_beside(self, block: Block, p: int, a: int, together: list[int]) -> bool:
        """Whether an operand is computed in the same nest, element by element."""
        view = self.ops[p].args[a]
        is_made_there = view.base in together and bool(view.shape)
        return is_made_there and self.form(block, p, a) in ("here", "same")

    def _note_reader(self, block: Block, p: int, a: int) -> None:
        """Note where an operand is read from the memory."""
        view, loop = self.ops[p].args[a], block.loop
        form = self.form(block, p, a)
        if form in ("here", "same"):
            if not self.is_variable(block, p, view, form):
                self._note(view.base, loop if form == "here" else None)
        elif loop is None:
            return
        elif form == "before":
            slot = (loop.start, (view.base - loop.start) % loop.period)
            self.carried.setdefault(slot, View("v", view.base))
            self.kept.add(loop.start + slot[1])
            self._note(view.base, None)
        else:
            step = self.ops[p + loop.period].args[a].base - view.base
            for t in range(loop.count):
                self._note(view.base + step * t, None)

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
            is_once = self.loop_of[view.base] is None and self.home.count(view.base) == 1
            if is_plain and is_whole and is_once:
                found[view.base] = k
        return found

    def _note(self, position: int, reader: Loop | None) -> None:
        """Note that a result is read from the memory, from inside a loop or from elsewhere."""
        for p in (position, self.home[position]):
            loop = self.loop_of[p]
            if loop is None:
                self.kept.add(p)
                continue
            j = (p - loop.start) % loop.period
            self.kept.add(loop.start + j)
            if loop is not reader and p < loop.start + loop.period * (loop.count - 1):
                self._whole.add((loop.start, j))

    def is_single(self, view: View) -> bool:
        """Whether an operand is the number that an operation has as its result."""
        return view.kind == "v" and not self.ops[view.base].shape

    def is_variable(self, block: Block, p: int, view: View, form: str) -> bool:
        """Whether an operand is a number that a variable holds."""
        if form in ("here", "same") and self.is_single(view):
            return form == "here" or self.is_held(view)
        return False

    def is_held(self, view: View) -> bool:
        """Whether a variable holds a number after the loop that it is made in."""
        loop = self.loop_of[view.base]
        is_last = loop is None or view.base >= loop.start + loop.period * (loop.count - 1)
        return self.is_single(view) and is_last

    def blocks(self) -> list[Block]:
        """Return the stretches of the top level and the loops, in order."""
        found = []
        p = 0
        while p < len(self.ops):
            loop = self._loop_at.get(p)
            if loop is not None:
                found.append(Block(p, loop.period, loop))
                p += loop.period * loop.count
                continue
            end = p
            while end < len(self.ops) and end not in self._loop_at:
                end += 1
            found.append(Block(p, end - p, None))
            p = end
        return found

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
            loop = self.loop_of[p]
            if op.kind != "stack" or (loop is not None and p >= loop.start + loop.period):
                continue
            turns = range(p, p + 1)
            if loop is not None:
                turns = range(p, p + loop.period * loop.count, loop.period)
            begin = 0
            for k, a in enumerate(op.args):
                size = int(np.prod(a.shape))
                if a.kind == "v" and all(self._is_alone(t, k, a.base - p, readers) for t in turns):
                    for t in turns:
                        found[self.ops[t].args[k].base] = (t, begin)
                begin += size
        return found

    def _is_alone(self, p: int, k: int, away: int, readers: dict[int, int]) -> bool:
        """Whether only one operation reads an operand of its, which is made in the same turn."""
        a = self.ops[p].args[k]
        q, loop = self.ops[a.base], self.loop_of[p]
        if self.loop_of[a.base] is not loop or a.base - p != away or not a.is_whole():
            return False
        if (
            loop is not None
            and (a.base - loop.start) // loop.period != (p - loop.start) // loop.period
        ):
            return False
        is_plain = self.home[a.base] == a.base and not q.is_bool and q.shape == a.shape != ()
        return is_plain and readers[a.base] == 1

    def _root(self, p: int) -> int:
        """Return the position whose memory a result is in."""
        p = self.home[p]
        while p in self.forwarded:
            p = self.home[self.forwarded[p][0]]
        return p

    def _placed(self) -> np.ndarray:
        """Return where each result is: -1 for those that are not stored.

        What is read for the last time gives its memory back; what is made in a loop does not.
        """
        address = np.full(len(self.ops), -1, np.int64)
        blocks = self.blocks()
        last = self._last_reads(blocks)
        ends: dict[int, list[int]] = {}
        for root, t in last.items():
            ends.setdefault(t, []).append(root)
        changed: list[range] = []
        t = 0
        for block in blocks:
            if block.loop is not None:
                changed += self._placed_in_loop(block, address)
                self._give_back(ends.get(t, ()), address)
                t += 1
                continue
            for item in self.items[block.start]:
                for p in item.positions:
                    if p not in self.kept or self.ops[p].kind == "guard":
                        continue
                    root = self._root(p)
                    if address[root] < 0:
                        address[root] = self._memory.room(self.ops[root].size)
                    self._settle(p, address)
                self._give_back(ends.get(t, ()), address)
                t += 1
        for turns in changed:  # their homes may come later, in the turn before
            address[turns] = address[[self.home[q] for q in turns]]
        if self._memory.size > _LARGEST_MEMORY:
            raise NotSmallError
        return address

    def _settle(self, p: int, address: np.ndarray) -> None:
        """Say where a result is in the memory of its root."""
        home = self.home[p]
        if home in self.forwarded:
            whole, begin = self.forwarded[home]
            self._settle(whole, address)
            address[home] = address[whole] + begin
        address[p] = address[home]

    def _last_reads(self, blocks: list[Block]) -> dict[int, int]:
        """Return when the memory of each result is read or written for the last time."""
        last: dict[int, int] = {}
        t = 0
        for block in blocks:
            for item in self.items[block.start]:
                for p in item.positions:
                    for q in block.turns(p):
                        for a in self.ops[q].args:
                            if a.kind == "v":
                                last[self._root(a.base)] = t
                        last[self._root(q)] = max(t, last.get(self._root(q), 0))
                if block.loop is None:
                    t += 1
            if block.loop is not None:
                t += 1
        for view in self.results:
            if view.kind == "v":
                last[self._root(view.base)] = t
        return last

    def _give_back(self, roots: Iterable[int], address: np.ndarray) -> None:
        for root in roots:
            if self.loop_of[root] is None and address[root] >= 0:
                self._memory.give_back(int(address[root]), self.ops[root].size)

    def _placed_in_loop(self, block: Block, address: np.ndarray) -> list[range]:
        """Place what a loop makes; return the changes, whose homes come first.

        What is kept for later turns comes first. Then what a turn alone reads gives its place back
        when it is read for the last time.
        """
        changed: list[range] = []
        singles: list[list[int]] = []
        loop: Any = block.loop
        for item in self.items[block.start]:
            singles.append([])
            for p in item.positions:
                if p not in self.kept or self.ops[p].kind == "guard":
                    continue
                turns = block.turns(p)
                slot = (block.start, p - block.start)
                size, t = self.ops[p].size, np.arange(block.count)
                if self.home[p] != p:
                    changed.append(turns)
                elif slot in self._whole:
                    extra = slot in self.carried
                    room = self._memory.room(size * (loop.count + extra))
                    address[turns] = room + size * (t + extra)
                elif slot in self.carried:
                    address[turns] = self._memory.room(2 * size) + size * ((t + 1) & 1)
                else:
                    singles[-1].append(p)
        ends = self._ends_in_turn(block)
        placed: set[int] = set()
        for at, positions in enumerate(singles):
            for p in positions:
                root = self._root(p)
                if address[root] < 0:
                    address[block.turns(root)] = self._memory.room(self.ops[root].size)
                    placed.add(root)
                for q in block.turns(p):
                    self._settle(q, address)
            for p in placed.intersection(ends.get(at, ())):
                self._memory.give_back(int(address[p]), self.ops[p].size)
        return changed

    def _ends_in_turn(self, block: Block) -> dict[int, list[int]]:
        """Return for each item of a loop what nobody reads after it, in any turn or elsewhere."""
        loop: Any = block.loop
        item_of = {p: at for at, item in enumerate(self.items[block.start]) for p in item.positions}
        last: dict[int, int] = {}
        escaped: set[int] = set()

        def turn(p: int) -> int:
            return (p - loop.start) // loop.period if loop.holds(p) else -1

        for q, op in enumerate(self.ops):
            bases = [a.base for a in op.args if a.kind == "v"]
            for root in {r for p in [*bases, q] for r in (p, self.home[p])}:
                if not loop.holds(root):
                    continue
                slot = loop.start + (root - loop.start) % loop.period
                if turn(q) == turn(root):
                    at = item_of[loop.start + (q - loop.start) % loop.period]
                    last[slot] = max(last.get(slot, 0), at)
                else:
                    escaped.add(slot)
        for view in self.results:
            if view.kind == "v" and loop.holds(view.base):
                for root in (view.base, self.home[view.base]):
                    escaped.add(loop.start + (root - loop.start) % loop.period)
        ends: dict[int, list[int]] = {}
        for slot, at in last.items():
            if slot not in escaped:
                ends.setdefault(at, []).append(slot)
        return ends

    def offsets(self, block: Block, p: int, a: int) -> np.ndarray:
        """Return the place of the first element of an operand in its array, in each turn."""
        return np.array([self.ops[q].args[a].offset for q in block.turns(p)])

    def places(self, block: Block, p: int, a: int) -> np.ndarray:
        """Return where an operand begins, in each turn."""
        view = self.ops[p].args[a]
        loop = block.loop
        if loop is None:
            return self.stored(self.address[[view.base]]) + view.offset
        then = self.ops[p + loop.period].args[a]
        t = np.arange(loop.count)
        offsets = self.offsets(block, p, a)
        if self.form(block, p, a) == "before":
            slot = (loop.start, (view.base - loop.start) % loop.period)
            size = self.ops[view.base].size
            begin = self.stored(self.address[[loop.start + slot[1]]]) - size  # of the turn before
            return begin + size * (t if slot in self._whole else t & 1) + offsets
        return self.stored(self.address[view.base + (then.base - view.base) * t]) + offsets

    @staticmethod
    def stored(places: np.ndarray) -> np.ndarray:
        """Return places in the memory; raise if there is none: machine code does not look."""
        if (places < 0).any():
            raise NotSmallError
        return places
