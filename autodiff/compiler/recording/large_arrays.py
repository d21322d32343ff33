"""Large arrays outside a function, and what they held while it was recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

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
        # An array of bytes is compared as fast as memory is read.
        self._held = [(label, x, bytearray(bytes_of(x))) for label, x in found.values()]

    def undo(self) -> list[str]:
        """Put back what has been written into them; return the names of those variables."""
        changed = [held for held in self._held if held[2] != bytes_of(held[1])]
        for _, x, content in changed:
            x[...] = np.frombuffer(content, x.dtype).reshape(x.shape)
        return [label for label, _, _ in changed]

    def checks(self, names: Any) -> list[str]:
        """Return the statements that compare them with their copies."""
        checks = []
        for _, x, content in self._held:
            value, kind = names.of(x, "outer"), names.of(x.dtype, "dtype")
            now, held = names.of(bytes_of, "bytes_of"), names.of(content, "content")
            other = f"{value}.shape != {x.shape!r} or {value}.dtype != {kind}"
            checks.append(f"if {other} or {held} != {now}({value}): return MISMATCH")
        return checks


def bytes_of(x: np.ndarray) -> Any:
    """Return the bytes of an array, those in its memory if they lie one after the other."""
    return x.reshape(-1).view(np.uint8).data if x.flags.c_contiguous else x.tobytes()
