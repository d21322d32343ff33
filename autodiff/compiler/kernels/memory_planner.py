"""Static memory allocation: offsets of the results of operations in one block of memory.

Results that are never read from memory are not stored, and memory is reused after the last read. An
update is done in place if nobody reads the old array afterwards.
"""

from __future__ import annotations

from collections import Counter

from autodiff.compiler.kernels.fusion_schedule import choose_recomputed, scheduled
from autodiff.compiler.kernels.loop_ir import LoopOp, NotLowerableError, StridedView
from autodiff.compiler.kernels.row_blocks import read_in_block

_LARGEST_MEMORY = 1 << 24


class MemoryPlan:
    """The schedule of operations, and the memory of their results.

    Attributes
    ----------
    bands : list of list of FusionGroup
        The fusion groups in order, in bands: see `row_blocks`.
    items : list of FusionGroup
        The same, without bands.
    in_block : dict
        Operations of whose results only a block of rows is in memory → its elements.
    size : int
        The number of elements of the memory.
    buffer : list of int
        Operation → the operation whose buffer it writes: another one if it updates in place.
    kept : set of int
        Operations whose results are stored in the memory.
    direct : dict
        Operation → the index of the returned array that it writes to, instead of the memory.
    address : list of int
        The offset of each result in the memory; -1 for those that are not stored.
    """

    def __init__(self, ops: list[LoopOp], results: list[StridedView]) -> None:
        self.ops = ops
        self.results = results
        self.buffer = self._homes()
        self.bands = scheduled(self)
        self.items = [item for band in self.bands for item in band]
        choose_recomputed(self)
        self.kept: set[int] = set()
        self._find_stored()
        self.in_block = read_in_block(self)
        self._memory = _FreeList()
        self.address = self._allocated()
        self.size = self._memory.size

    # -- liveness --------------------------------------------------------------------------------

    def _homes(self) -> list[int]:
        """Return the buffer of each result: updates are done in place where that is possible."""
        last = list(range(len(self.ops)))  # the last operation that reads each result
        for p, op in enumerate(self.ops):
            for a in op.args:
                if a.kind == "v":
                    last[a.base] = p
        for a in self.results:
            if a.kind == "v":
                last[a.base] = len(self.ops)
        buffer = list(range(len(self.ops)))
        for p, op in enumerate(self.ops):
            if op.kind != "change":
                continue
            before, given = op.args
            if before.kind != "v" or last[before.base] > p or not before.is_whole():
                continue
            if self.ops[before.base].size != op.size or before.is_bool:
                continue
            if given.kind == "v" and buffer[given.base] == buffer[before.base]:
                continue
            buffer[p] = buffer[before.base]
        return buffer

    def _find_stored(self) -> None:
        """Find which results are stored in the memory, and which go to a returned array."""
        for item in self.items:
            together = {*item.positions, *item.recomputed}
            for p in item.positions:
                for view in self.ops[p].args:
                    if view.kind == "v" and view.base not in together:
                        self._store(view)
        self.direct = self._direct_results()
        for k, view in enumerate(self.results):
            if view.kind == "v" and self.direct.get(view.base) != k:
                self._store(view)
        for p, op in enumerate(self.ops):
            if op.kind == "change":  # it writes even if nobody reads the result
                self.kept |= {p, self.buffer[p]}

    def _store(self, view: StridedView) -> None:
        """Store a result that is read, unless it is a number, which is in a variable."""
        if not self.is_single(view):
            self.kept |= {view.base, self.buffer[view.base]}

    def _direct_results(self) -> dict[int, int]:
        """Return the results that nobody reads from the memory, with the array to write them to."""
        bases = Counter([a.base for a in self.results if a.kind == "v"])
        shared = Counter(self.buffer)
        found: dict[int, int] = {}
        for k, view in enumerate(self.results):
            if view.kind != "v" or view.base in self.kept or bases[view.base] > 1:
                continue
            op = self.ops[view.base]
            is_plain = op.kind == "map" and op.shape != () and not op.is_bool
            is_whole = view.is_whole() and view.shape == op.shape
            if is_plain and is_whole and shared[view.base] == 1:
                found[view.base] = k
        return found

    def is_single(self, view: StridedView) -> bool:
        """Whether an operand is the result of an operation, and a number."""
        return view.kind == "v" and not self.ops[view.base].shape

    # -- memory ----------------------------------------------------------------------------------

    def _allocated(self) -> list[int]:
        """Return the offset of each result; -1 for those that are not stored."""
        address = [-1] * len(self.ops)
        ends: dict[int, list[int]] = {}
        for buffer, t in self._last_reads().items():
            ends.setdefault(t, []).append(buffer)
        for t, band in enumerate(self.bands):
            for p in [p for item in band for p in item.positions if p in self.kept]:
                buffer = self.buffer[p]
                if address[buffer] < 0:
                    address[buffer] = self._memory.allocate(self._size_of(buffer))
                address[p] = address[buffer]
            for buffer in ends.get(t, ()):
                if address[buffer] >= 0:
                    self._memory.free(address[buffer], self._size_of(buffer))
        if self._memory.size > _LARGEST_MEMORY:
            raise NotLowerableError
        return address

    def _size_of(self, p: int) -> int:
        """Return how many elements of a result are in memory."""
        return self.in_block.get(p) or self.ops[p].size

    def _last_reads(self) -> dict[int, int]:
        """Return the last band that reads or writes each buffer."""
        last: dict[int, int] = {}
        for t, band in enumerate(self.bands):
            for p in [p for item in band for p in item.positions]:
                last.update({self.buffer[a.base]: t for a in self.ops[p].args if a.kind == "v"})
                last[self.buffer[p]] = t
        for view in self.results:
            if view.kind == "v":
                last[self.buffer[view.base]] = len(self.bands)
        return last

    def stored(self, p: int) -> int:
        """Return the offset of a result; raise if it is not stored: machine code does not check."""
        if self.address[p] < 0:
            raise NotLowerableError
        return self.address[p]


class _FreeList:
    """Allocator of elements in one block of memory."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # free ranges in order, ends excluded

    def allocate(self, n: int) -> int:
        """Return the offset of `n` elements, in the smallest free range that holds them."""
        fitting = [(b - a, a, b) for a, b in self._free if b - a >= n]
        if fitting:
            _, a, b = min(fitting)
            self._free.remove((a, b))
            if b - a > n:
                self.free(a + n, b - a - n)
            return a
        if self._free and self._free[-1][1] == self.size:
            a, _ = self._free.pop()
            self.size = a + n
            return a
        self.size += n
        return self.size - n

    def free(self, offset: int, n: int) -> None:
        """Free `n` elements, and merge adjacent free ranges."""
        ranges = sorted([*self._free, (offset, offset + n)])
        self._free = ranges[:1]
        for a, b in ranges[1:]:
            if a == self._free[-1][1]:
                self._free[-1] = (self._free[-1][0], b)
            else:
                self._free.append((a, b))
