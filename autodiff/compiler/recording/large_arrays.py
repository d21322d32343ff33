"""Large arrays outside a function, and what they held while it was recorded."""

from __future__ import annotations

from typing import Any

from autodiff.compiler.recording.array_contents import ArrayContent
from autodiff.compiler.recording.dependency import Dependency


class LargeArrays:
    """The large arrays in the variables outside a function, with copies of their contents.

    What the function computes from such an array alone is a constant of the program, so a program
    compares the array at each call. If the function writes into it, there is no program.

    Parameters
    ----------
    outside : list of Dependency
        The variables.
    """

    def __init__(self, outside: list[Dependency]) -> None:
        found = {id(x): (d.label, x) for d in outside if d.inside for x in d.inside.large}
        self._held = [(label, x, ArrayContent(x)) for label, x in found.values()]

    def undo(self) -> list[str]:
        """Put back what has been written into them; return the names of those variables."""
        changed = [held for held in self._held if not held[2].is_same(held[1])]
        for _, x, content in changed:
            content.put_back(x)
        return [label for label, _, _ in changed]

    def checks(self, names: Any) -> list[str]:
        """Return the statements that compare them with their copies."""
        held = [(names.of(c.is_same, "is_same"), names.of(x, "outer")) for _, x, c in self._held]
        return [f"if not {is_same}({x}): return MISMATCH" for is_same, x in held]
