"""Shape guards: they ensure that each cotangent has the shape of its value.

The first code of a program assumes that arrays are not broadcast against each other. The forward
function compares their shapes where a cotangent with too many elements would do harm. It notes the
operations in which they differ, and the program is rewritten to sum over the broadcast axes there.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import Op, Value, blocks_of
from autodiff.structured.form.indices import region_of
from autodiff.structured.writing.activity import is_active
from autodiff.structured.writing.rules.bound_rules import is_elementwise
from autodiff.structured.writing.rules.known_adjoints import is_choice


class ShapeGuards:
    """Writes the shape guards of a forward function."""

    def __init__(self, emitter: Any) -> None:
        self.e = emitter
        blocks = list(blocks_of(emitter.program.body))
        ops = [op for block in blocks for op in block.ops]
        self.numbers = {op: n for n, op in enumerate(ops)}  # in the order of the source
        # Values that other blocks, or the caller, may read.
        self.escaping = {v for block in blocks for v in block.writes.values()}
        self.escaping.update(emitter.outputs)
        self.found: dict[Value, Value] = {}  # array → an earlier one known to have its shape
        # Whether a cotangent with too many elements raises an error, or at least does no harm.
        self.refused: dict[Value, bool] = {}
        self.harmless: dict[Value, bool] = {}
        for op in ops:
            if op.out is not None:  # its arguments are done already: no deep recursion
                self.refused[op.out] = self._is_refused(op.out)
                self.harmless[op.out] = self._is_harmless(op.out)

    def compare(self, op: Op) -> None:
        """Write the shape guards of an operation."""
        compared = self.compared(op)
        texts = [self.text(v, v in self.e.inlined) for v in compared]
        for v, text in zip(compared[1:], texts[1:], strict=True):
            self.e.out.add(f"if {texts[0]} != {text}: {self.noted(op)}")
            # Later values point to earlier ones, as results point to arguments: no cycles.
            pair = {self._alike(v), self._alike(compared[0])}
            first, *later = sorted(pair, key=lambda v: self.numbers[v.op])
            self.found.update(dict.fromkeys(later, first))
        self.note(op)

    def noted(self, op: Op) -> str:
        """Return the statement that reports broadcast arrays in an operation."""
        return "raise Broadcast" if self.e.for_native else f"broadcast({self.numbers[op]})"

    def is_broadcast(self, op: Op) -> bool:
        """Whether an operation is known to broadcast its arrays."""
        return self.numbers[op] in self.e.broadcasts

    def compare_written(self, op: Op, target: str, given: str) -> None:
        """Write the guard that a written array is not broadcast, if all shapes are compared."""
        value, ndim = op.args[1], region_of(op).ndim
        if self.e.compares_all and not self.is_broadcast(op) and ndim == value.kind.ndim > 0:
            self.e.out.add(f"if {target}.shape != {given}.shape: {self.noted(op)}")

    def note(self, op: Op) -> None:
        """Note the shape of an elementwise result, if its arguments are known to have one shape."""
        v = op.out
        if v is None or v in self.found or op.code != "call" or not is_elementwise(op):
            return
        arrays = [a for a in op.rule.args if isinstance(a, Value) and a.kind.ndim]
        roots = set(map(self._alike, arrays))
        if len(roots) == 1 and all(a.kind.ndim == v.kind.ndim for a in arrays):
            self.found[v] = roots.pop()

    def compared(self, op: Op) -> list[Value]:
        """Return the arrays whose shapes must be compared before an elementwise operation.

        Cotangents of its arguments get the shape of its result, which is wrong for an argument that
        was broadcast. `np.where` counts as elementwise if all shapes are compared. Of arrays that
        are known to have one shape, one is returned.
        """
        n = op.out.kind.ndim
        is_chosen = self.e.compares_all and is_choice(op)
        if not n or not (is_elementwise(op) or is_chosen) or self.is_broadcast(op):
            return []
        args = op.args if is_chosen else op.rule.args
        arrays = [v for v in args if isinstance(v, Value) and v.kind.ndim]
        alike = [v for v in arrays if v.kind.ndim == n]
        if len(arrays) < 2 or (all(map(self.tolerates_excess, alike)) and not self.e.compares_all):
            return []
        if len(alike) < len(arrays):
            alike.append(op.out)
        compared = list({self._alike(v): v for v in alike}.values())
        return compared if len(compared) > 1 else []

    def tolerates_excess(self, v: Value) -> bool:
        """Whether a cotangent of `v` with too many elements does no harm."""
        return self.harmless.get(v, True)  # a constant has no cotangent

    def _is_harmless(self, v: Value) -> bool:
        """Compute `tolerates_excess`.

        A value that is read once passes the cotangent to its arguments, element by element; for a
        number all elements are added up, which is right.
        """
        if not v.kind.is_array or not is_active(v) or self.refused[v]:
            return True
        if v.uses != 1 or not self._only_passes_on(v):
            return False
        return all(self.tolerates_excess(a) for a in v.op.rule.args if isinstance(a, Value))

    def _is_refused(self, v: Value) -> bool:
        """Whether a cotangent of `v` with too many elements raises an error, in the end.

        Adding it to a shadow does. Elementwise operations pass it to their arguments; a sum with
        other cotangents of the value has too many elements, too.
        """
        if not v.kind.is_array or self.e.has_shadow(v):
            return v.kind.is_array
        if not self._only_passes_on(v) or self.is_broadcast(v.op):
            return False
        active = [a for a in v.op.rule.args if isinstance(a, Value) and is_active(a)]
        return all(a.kind.ndim == v.kind.ndim and self.refused[a] for a in active)

    def _only_passes_on(self, v: Value) -> bool:
        """Whether the cotangent of a value only goes to its arguments, element by element."""
        return v not in self.escaping and v.op.code == "call" and is_elementwise(v.op)

    def text(self, v: Value, is_inlined: bool) -> str | None:
        """Return the shape of an array as source of the forward function, if that costs nothing."""
        if v.op.code == "call" and is_inlined:
            if not is_elementwise(v.op) or self._alike(v) is v:
                return None
            a = next(a for a in v.op.args if a.kind.ndim)
            return self.text(a, a in self.e.inlined)
        return f"{self.e.text(v)}.shape"

    def _alike(self, v: Value) -> Value:
        """Return the earliest value that is known to have the shape of `v`.

        If all shapes are compared, nothing is known: one run finds all operations that broadcast.
        """
        while v in self.found and not self.e.compares_all:
            v = self.found[v]
        return v
