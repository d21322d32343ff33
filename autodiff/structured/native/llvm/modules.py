"""Modules of LLVM: functions that are compiled together."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def length_of(function: Any) -> int:
    """Return the number of instructions of a function."""
    return sum(len(block.instructions) for block in function.blocks)


class LLVMModule(ir.Module):
    """LLVM module: functions that are compiled together.

    Attributes
    ----------
    loops : dict
        Functions that loop over elements, by what they compute: see `outlining`.
    kept : list
        Objects of Python's that the machine code reads by address.
    callees : Callees
        The functions that have programs of their own.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.loops: dict[Any, Any] = {}
        self.kept: list[Any] = []
        self.callees: Any = None

    def drop(self, name: str) -> None:
        """Remove the function of a name, if there is one."""
        if self.globals.pop(name, None) is not None:
            self.scope._useset.discard(name)

    def instructions(self) -> int:
        """Return the number of instructions."""
        return sum(map(length_of, self.functions))
