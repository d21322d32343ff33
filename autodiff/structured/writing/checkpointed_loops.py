"""Checkpointed loops: they keep few states, and the sweep recomputes the iterations between them.

The forward function runs the loop without a tape and keeps the state of about √n iterations. The
sweep takes one segment between two states at a time, the last one first: it reruns the segment as
the forward function does, now with a tape, and sweeps it.

Arrays that the loop rebinds get new shadows in each rerun. At its end, the cotangents from later
segments are added to them.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WRITES,
    Block,
    For,
    Memory,
    Op,
    Slot,
    While,
    blocks_of,
)
from autodiff.structured.form.kinds import UnsupportedError


class CheckpointedLoop:
    """Writes one checkpointed loop.

    Attributes
    ----------
    live : list of Slot
        The variables bound before the loop and rebound later that the loop reads or binds.
    arrays : list of Slot
        The variables bound once, before the loop, whose memory the loop writes into.
    has_states : bool
        Whether an iteration may depend on earlier ones.
    reads : set of Memory
        What a rerun reads: writes after the loop have to be undone before it.
    """

    def __init__(self, emitter: Any, node: For | While) -> None:
        self.e = emitter
        self.node = node
        self.name = emitter.fresh("states")
        program = emitter.program
        own = [node] if isinstance(node, For) else [*node.before, *node.body]
        blocks = list(blocks_of(own))
        ops = [op for block in blocks for op in block.ops]
        read = {op.data for op in ops if op.code == "read"}
        bound = {slot for block in blocks for slot in block.writes}
        written = {op.args[0].root for op in ops if op.code in WRITES}
        if any(op.code == "draw" for op in ops):
            raise UnsupportedError("random numbers in a checkpointed loop")
        self.end = max([emitter.order.places[op][0] for op in ops], default=-1)
        values = [v for op in ops for v in op.operands]
        self.reads = {v.root for v in values if v.memory is not None}
        for memory in written:
            memory.is_restored = True  # the sweep must not change returned arrays
        before = set(node.readable)
        for other in program.body[: program.body.index(node)]:
            if isinstance(other, Block):
                before |= other.writes.keys()
        known = [s for s in program.slots if s in before and s is not getattr(node, "slot", None)]
        self.live = [s for s in known if not s.is_stable and s in read | bound]
        reached = [s.root for s in known if s.memory is not None]
        reached += [inner for memory in reached for inner in memory.within()]
        self.has_states = any(s in bound for s in self.live) or not written.isdisjoint(reached)
        self.arrays = [
            s for s in known if s.is_stable and s.memory is not None and s.root in written
        ]
        self.is_read = [s in read for s in self.arrays]
        self._check_lists(ops, [s for s in known if s in read | bound], written)

    def _check_lists(self, ops: list[Op], known: list[Slot], written: set[Memory]) -> None:
        """Raise if a list, or an array in a list, would be part of the state."""
        if not self.has_states:
            return
        filled = {op.args[0].root for op in ops if op.code in LIST_WRITES}
        lists = [s for s in known if s.kind is not None and s.kind.has_items]
        reached = _within([s.root for s in lists])
        if any(not s.is_stable for s in lists) or not filled.isdisjoint(reached):
            raise UnsupportedError("a list that a checkpointed loop fills")
        items = [op.out.root for op in ops if op.code == "item"]
        if not written.isdisjoint(items):
            raise UnsupportedError("arrays in a list that a checkpointed loop writes into")

    def runs_before(self, op: Op) -> bool:
        """Whether the loop runs before an operation."""
        return self.e.order.places[op][0] > self.end

    @property
    def shadowed(self) -> list[Slot]:
        """The live variables that have a shadow."""
        return [s for s in self.live if self.e.has_shadow(s)]

    def _names(self, slots: list[Slot], end: str = "") -> str:
        return f"({''.join(f'{s.name}{end}, ' for s in slots)})"

    def forward(self) -> None:
        """Write the loop in the forward function."""
        e, out, node, name = self.e, self.e.out, self.node, self.name
        copied = tuple([
            i for i, s in enumerate(self.live)
            if s.memory is not None and s.root.is_written
        ])  # fmt: skip
        arrays = self._names(self.arrays)
        out.add(f"{name} = LoopStates({arrays}, {self.is_read}, {copied})")
        out.add(f"{name}_begun = {self._names(self.shadowed, '_b')}")
        out.add("tape_push, push = push, skip")
        if node.broken is not None:
            out.add(f"{node.broken} = False")
        if isinstance(node, For):
            out.add(f"{name}_range = range({', '.join(map(e.text, node.bounds))})")
            out.add(f"for {node.slot.name} in {name}_range:")
        else:
            out.add("while True:")
        out.depth += 1
        out.add(f"{name}.turn({self._names(self.live)})")
        if isinstance(node, While):
            e.forward_test(node)
            out.add(f"if not {e.text(node.test)}:")
            out.add(f"    {name}.undo()")
            out.add("    break")
        e.forward_nodes(node.body)
        if node.broken is not None:
            out.add(f"if {node.broken}: break")
        out.depth -= 1
        out.add("push = tape_push")
        trips = f"{name}_range" if isinstance(node, For) else "None"
        out.add(f"push(({name}, {trips}, {name}_begun, {self._names(self.shadowed, '_b')}))")

    def backward(self, sweep: list[str]) -> None:
        """Write the loop in the backward function, given the sweep of its body."""
        e, out, node, name = self.e, self.e.out, self.node, self.name
        out.add(f"{name}, {name}_range, {name}_begun, {name}_after = pop()")
        out.add(f"{name}_after = taken({name}_after)")
        out.add(f"for {name}_n, {name}_m, {self._names(self.live)} in {name}.segments():")
        out.depth += 1
        heads, shadowed = self._names(self.shadowed, "_b"), self._names(self.shadowed)
        out.add(f"{heads} = {name}_heads = begun({name}_n, {name}_begun, {shadowed})")
        out.add("turns = []")
        out.add("push, pop = turns.append, turns.pop")
        trips, count = f"{name}_range[{name}_n:{name}_m]", f"range({name}_m - {name}_n)"
        rerun_head = sweep_head = f"for _ in {count}:"
        if isinstance(node, For):
            rerun_head = f"for {node.slot.name} in {trips}:"
            sweep_head = f"for {e.target_of(node)} in reversed({trips}):"
        out.add(rerun_head)
        out.depth += 1
        if isinstance(node, While):
            e.forward_test(node)
        e.forward_nodes(node.body)
        out.add("pass")
        out.depth -= 1
        out.add(f"added({heads}, {name}_after)")
        out.add(sweep_head)
        out.lines += sweep
        out.add("    pass")
        out.add(f"{name}_after = {name}_heads")
        out.depth -= 1
        out.add("pop = tape.pop")
        out.add(f"if not {name}.count: added({name}_begun, {name}_after)")


def _within(lists: list[Memory]) -> set[Memory]:
    """Return the memory of lists and dicts, and of everything inside them."""
    found: set[Memory] = set()
    left = list(lists)
    while left:
        memory = left.pop().root()
        if memory not in found:
            found.add(memory)
            left += memory.within()
    return found
