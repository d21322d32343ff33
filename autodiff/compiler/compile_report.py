"""The result of compiled.report(): programs, and how each loop runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from autodiff.structured.calls import Programs
from autodiff.structured.loop_report import LoopState, loops_of


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
        Why the last recording failed, if it did; the function then runs as written.
    loops : tuple of LoopState
        How each loop runs, and why it does not run faster.
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

    `loops` pairs each structured program with whether a recording has unrolled it.
    """
    rows = [row for owner, is_unrolled in loops for row in loops_of(owner, is_unrolled)]
    return Report(name, programs, eager_because, tuple(dict.fromkeys(rows)))
