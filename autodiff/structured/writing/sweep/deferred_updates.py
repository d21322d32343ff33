"""Deferred updates of parts of shadows.

Each of ``v += a; v -= b; v.fill(0.0)`` is a pass over memory, and slow if the rows of a part are
short. So updates wait until a shadow in the same memory is read, or the block ends. Then one
statement updates each part. A part that was set to zero is assigned its sum.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import Memory
from autodiff.structured.writing.sweep.signs import added, total

_LONGEST = 160  # characters of a sum


class DeferredUpdates:
    """The deferred updates of a block.

    Parameters
    ----------
    out : CodeLines
        Where they are written. Until then nothing that they read may change.
    """

    def __init__(self, out: Any) -> None:
        self.out = out
        self.zeros: dict[Memory, list[str]] = {}  # parts to set to zero, before any addition
        self.sums: dict[Memory, dict[str, list[str]]] = {}  # part → terms to add

    def zero(self, memory: Memory, part: str) -> None:
        """Defer setting a part of a shadow to zero."""
        if memory in self.sums:
            self.flush(memory)
        self.zeros.setdefault(memory, []).append(part)

    def add(self, memory: Memory, part: str, text: str) -> None:
        """Defer an addition to a part of a shadow."""
        terms = self.sums.setdefault(memory, {}).setdefault(part, [])
        terms.append(text)
        if sum(map(len, terms)) > _LONGEST:
            self.flush(memory)

    def flush(self, memory: Memory) -> None:
        """Write the updates of shadows in this memory."""
        zeros, sums = self.zeros.pop(memory, []), self.sums.pop(memory, {})
        assigned = next((part for part in zeros if part in sums), None)  # one: parts may overlap
        self.out.add_all([f"{part}.fill(0.0)" for part in zeros if part != assigned])
        if assigned is not None:
            self.out.add(f"{assigned}[...] = {total(sums.pop(assigned))}")
        self.out.add_all([added(part, total(terms)) for part, terms in sums.items()])

    def flush_zeros(self, memory: Memory) -> None:
        """Write the updates of shadows in this memory before an addition, if one sets to zero."""
        if memory in self.zeros:
            self.flush(memory)

    def flush_all(self) -> None:
        """Write all updates."""
        for memory in [*self.zeros, *self.sums]:
            self.flush(memory)
