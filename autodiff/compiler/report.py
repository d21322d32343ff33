"""compiled.report(): the programs of a compiled function, and what became of its loops."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from autodiff.structured.calls import Programs
from autodiff.structured.report import LoopState, loops_of


@dataclass(frozen=True)
class Report:
    """How a compiled function runs.

    Attributes
    ----------
    name : str
        The function.
    programs : int
        How many programs are kept.
    eager_because : str or None
        Why the last recording came to nothing, if it did: the function then runs as written.
    loops : tuple of LoopState
        What became of each loop, and why it is nothing faster.
    """

    name: str
    programs: int
    eager_because: str | None
    loops: tuple[LoopState, ...]

    def __str__(self) -> str:
        if self.programs:
            head = f"{self.name}: {self.programs} program{'s' * (self.programs > 1)}"
        elif self.eager_because is None:
            head = f"{self.name}: not called yet"
        else:
            head = f"{self.name} runs as it is written"
        lines = [f"{head}; {self.eager_because}" if self.eager_because else head]
        for loop in self.loops:
            place = f"  {loop.function}, {os.path.basename(loop.where)}"
            lines.append(f"{place}: {loop.state}" + (f" ({loop.why})" if loop.why else ""))
        return "\n".join(lines)

    __repr__ = __str__


def report_of(
    name: str, programs: int, eager_because: str | None, loops: Iterable[tuple[Programs, bool]]
) -> Report:
    """Return the report of a compiled function.

    `loops` are its functions with loops, and whether a recording holds all turns of each.
    """
    rows = [row for owner, is_recorded in loops for row in loops_of(owner, is_recorded)]
    return Report(name, programs, eager_because, tuple(dict.fromkeys(rows)))
