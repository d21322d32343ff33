"""Which arrays must have one shape, so that each cotangent has the shape of its value.

The first code of a program is written for arrays that are not broadcast against each other. The
forward function compares shapes where a cotangent with too many elements would do harm, and notes
the operations in which they differ: then code is written that sums over the axes that were
broadcast there.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.indices import region_of
from autodiff.structured.form.ir import Op, Value, blocks_of
from autodiff.structured.writing.activity import is_active
from autodiff.structured.writing.rules.bound_rules import is_elementwise
from autodiff.structured.writing.rules.calls_without_rules import is_choice


class Shapes:
    """Writes the comparisons of shapes of a forward function."""

    def __init__(self, emitter: Any) -> None:
        self.e = emitter
        blocks = list(blocks_of(emitter.program.body))
        ops = [op for block in blocks for op in block.ops]
        self.numbers = {op: n for n, op in enumerate(ops)}  # in the order of the source
        self.lasting = {v for block in blocks for v in block.writes.values()}  # read in others, too
        self.lasting.update(emitter.outputs)
        self.found: dict[Value, Value] = {}  # an earlier array that is known to have the same shape
        # What a cotangent with too many elements does: raises an error, or at least no harm.
        self.refused: dict[Value, bool] = {}
        self.harmless: dict[Value, bool] = {}
        for op in ops:
            if op.out is not None:  # its arguments come first, so no search goes deep
                self.refused[op.out] = self._is_refused(op.out)
                self.harmless[op.out] = self._is_harmless(op.out)

    def compare(self, op: Op) -> None:
        """Write the comparison that an operation needs."""
        compared = self.compared(op)
        texts = [self.text(v, v in self.e.inlined) for v in compared]
        for v, text in zip(compared[1:], texts[1:], strict=True):
            self.e.out.add(f"if {texts[0]} != {text}: {self.noted(op)}")
            # The later one is led back to the earlier one, as results are to arguments: no circles.
            pair = {self._alike(v), self._alike(compared[0])}
            first, *later = sorted(pair, key=lambda v: self.numbers[v.op])
            self.found.update(dict.fromkeys(later, first))
        self.note(op)

    def noted(self, op: Op) -> str:
        """Return the statement that notes that arrays are broadcast in an operation."""
        return "raise Broadcast" if self.e.for_machine else f"broadcast({self.numbers[op]})"

    def is_broadcast(self, op: Op) -> bool:
        """Whether arrays have been broadcast in an operation."""
        return self.numbers[op] in self.e.broadcasts

    def compare_written(self, op: Op, target: str, given: str) -> None:
        """Write the comparison of what is written with where it goes, if all is compared."""
        value, ndim = op.args[1], region_of(op).ndim
        if self.e.compares_all and not self.is_broadcast(op) and ndim == value.kind.ndim > 0:
            self.e.out.add(f"if {target}.shape != {given}.shape: {self.noted(op)}")

    def note(self, op: Op) -> None:
        """Note which shape an elementwise operation makes, if its arguments have one alone."""
        v = op.out
        if v is None or v in self.found or op.code != "call" or not is_elementwise(op):
            return
        arrays = [a for a in op.rule.args if isinstance(a, Value) and a.kind.ndim]
        roots = set(map(self._alike, arrays))
        if len(roots) == 1 and all(a.kind.ndim == v.kind.ndim for a in arrays):
            self.found[v] = roots.pop()

    def compared(self, op: Op) -> list[Value]:
        """Return the arrays that must be found to have one shape before an elementwise operation.

        A choice is one, too, if all is compared: its sweep adds cotangents as if it had one shape.
        Cotangents of its arguments get the shape of its result: one that was broadcast would have
        the wrong one. What is known to have one shape is compared once.
        """
        n = op.out.kind.ndim  # type: ignore[union-attr] # a call makes a value
        is_chosen = self.e.compares_all and is_choice(op)
        if not n or not (is_elementwise(op) or is_chosen) or self.is_broadcast(op):
            return []
        args = op.args if is_chosen else op.rule.args
        arrays = [v for v in args if isinstance(v, Value) and v.kind.ndim]
        alike = [v for v in arrays if v.kind.ndim == n]
        if len(arrays) < 2 or (all(map(self.notices, alike)) and not self.e.compares_all):
            return []
        if len(alike) < len(arrays):
            alike.append(op.out)  # type: ignore[arg-type]
        compared = list({self._alike(v): v for v in alike}.values())
        return compared if len(compared) > 1 else []

    def notices(self, v: Value) -> bool:
        """Whether a cotangent with too many elements does no harm in the place of that of `v`."""
        return self.harmless.get(v, True)  # a constant has none

    def _is_harmless(self, v: Value) -> bool:
        """Find out what `notices` says.

        A value that is read once hands it on, element by element, to what it was made of; a number
        adds up all elements, which is right.
        """
        if not v.kind.is_array or not is_active(v) or self.refused[v]:
            return True
        if v.uses != 1 or not self._hands_on(v):
            return False
        return all(self.notices(a) for a in v.op.rule.args if isinstance(a, Value))

    def _is_refused(self, v: Value) -> bool:
        """Whether a cotangent with too many elements raises an error: if it is added to shadows.

        If a value is read several times, all that comes for it may be broadcast to what is too
        large. This is handed on, element by element, until it is refused.
        """
        if not v.kind.is_array or self.e.has_shadow(v):
            return v.kind.is_array
        if not self._hands_on(v) or self.is_broadcast(v.op):
            return False
        active = [a for a in v.op.rule.args if isinstance(a, Value) and is_active(a)]
        return all(a.kind.ndim == v.kind.ndim and self.refused[a] for a in active)

    def _hands_on(self, v: Value) -> bool:
        """Whether the cotangent of a value goes to the arguments alone, element by element."""
        return v not in self.lasting and v.op.code == "call" and is_elementwise(v.op)

    def text(self, v: Value, is_inlined: bool) -> str | None:
        """Return the shape of an array as the forward function writes it, if that costs nothing."""
        if v.op.code == "call" and is_inlined:
            if not is_elementwise(v.op) or self._alike(v) is v:
                return None
            a = next(a for a in v.op.args if a.kind.ndim)
            return self.text(a, a in self.e.inlined)
        return f"{self.e.text(v)}.shape"

    def _alike(self, v: Value) -> Value:
        """Return the value that stands for all that are known to have the shape of `v`."""
        while v in self.found:
            v = self.found[v]
        return v
