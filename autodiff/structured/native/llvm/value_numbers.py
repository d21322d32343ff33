"""Value numbering: which LLVM values are equal for sure."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

_PURE = frozenset({"add", "sub", "mul", "sdiv", "icmp", "select", "getelementptr"})


class ValueNumbers:
    """Numbers of values: values with the same number are equal.

    These are values that the same instructions compute from equal operands, and those that a check
    has found equal.
    """

    def __init__(self) -> None:
        self._values: dict[int, tuple[Any, int]] = {}  # id → the value, which is kept alive; number
        self._numbers: dict[Any, int] = {}  # what a value is computed from → number
        self._equal: dict[int, int] = {}  # number → another one that is equal

    def of(self, x: Any) -> int:
        """Return the number of a value."""
        if id(x) not in self._values:
            self._values[id(x)] = x, self._numbers.setdefault(self._key(x), len(self._numbers))
        number = self._values[id(x)][1]
        while number in self._equal:
            number = self._equal[number]
        return number

    def _key(self, x: Any) -> Any:
        if isinstance(x, ir.Constant):
            return str(x)
        if isinstance(x, ir.Instruction) and x.opname in _PURE:
            how = getattr(x, "op", None), str(getattr(x, "source_etype", None))
            return x.opname, *how, *map(self.of, x.operands)
        return "value", id(x)

    def equate(self, x: Any, y: Any) -> None:
        """Note that two values are equal."""
        m, n = self.of(x), self.of(y)
        if m != n:
            self._equal[m] = n
