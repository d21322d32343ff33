"""What a sweep adds to parts of shadows, or sets to zero, and does as late as it can.

`v += a; v -= b; v.fill(0.0)` are passes over memory, the slower the shorter the rows of a part are.
Sums for one part are held until a shadow in the same memory is read, or the block ends: then
there is one statement for each part. A part that was set to zero is assigned what comes for it.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.ir import Memory
from autodiff.structured.writing.sweep.signs import added, total

_LONGEST = 160  # characters of a sum


class HeldSums:
    """The sums that are held in a block.

    Parameters
    ----------
    out : Source
        Where they are written. Until then nothing that they read may change.
    """

    def __init__(self, out: Any) -> None:
        self.out = out
        self.zeros: dict[Memory, list[str]] = {}  # the parts that are set to zero, before any sum
        self.sums: dict[Memory, dict[str, list[str]]] = {}  # for each part what is added

    def zero(self, memory: Memory, part: str) -> None:
        """Set a part of a shadow to zero, later."""
        if memory in self.sums:
            self.settle(memory)
        self.zeros.setdefault(memory, []).append(part)

    def add(self, memory: Memory, part: str, text: str) -> None:
        """Add to a part of a shadow, later."""
        terms = self.sums.setdefault(memory, {}).setdefault(part, [])
        terms.append(text)
        if sum(map(len, terms)) > _LONGEST:
            self.settle(memory)

    def settle(self, memory: Memory) -> None:
        """Write what is held for shadows in some memory."""
        zeros, sums = self.zeros.pop(memory, []), self.sums.pop(memory, {})
        assigned = next((part for part in zeros if part in sums), None)  # others may overlap it
        self.out.add_all([f"{part}.fill(0.0)" for part in zeros if part != assigned])
        if assigned is not None:
            self.out.add(f"{assigned}[...] = {total(sums.pop(assigned))}")
        self.out.add_all([added(part, total(terms)) for part, terms in sums.items()])

    def settle_zeros(self, memory: Memory) -> None:
        """Write what is held if a part is set to zero, so that more may be added."""
        if memory in self.zeros:
            self.settle(memory)

    def settle_all(self) -> None:
        """Write all that is held."""
        for memory in [*self.zeros, *self.sums]:
            self.settle(memory)
