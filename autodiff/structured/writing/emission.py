"""From the structured form to source: the function with a tape, and its reverse sweep.

The forward function does what the user's does, in the same order, with the same functions of NumPy.
At the end of each block it pushes what the backward function will read and could not compute
again; where memory is overwritten whose contents are read again, it pushes what was there.

The backward function runs the blocks in reverse order. A number has a variable for its cotangent,
and so has an array that is nowhere indexed or written into, if variables that hold it are bound
anew. Other arrays that are read in several blocks have a *shadow*, an array of the same layout, in
which cotangents are added up: the shadow of a view is the same view of the shadow. In machine code
all arrays that are read in several blocks have one.

Memory is put back to what it was as writes are passed, so that every read finds what it found.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from autodiff.structured.form.dependence import spares
from autodiff.structured.form.ir import (
    WRITES,
    Block,
    For,
    If,
    Memory,
    Op,
    Slot,
    Value,
    While,
    blocks_of,
    without_tuples,
)
from autodiff.structured.form.known_functions import CALLED
from autodiff.structured.form.order import binds
from autodiff.structured.writing.activity import is_active, leaves_alone
from autodiff.structured.writing.forward import ForwardWriter
from autodiff.structured.writing.sweep.block_sweep import BlockSweep
from autodiff.structured.writing.writer import Pushed, Source


class Emitter(ForwardWriter):
    """Writes the forward and the backward function of a program."""

    def emit(self) -> tuple[str, dict[str, Any]]:
        """Return the source of both functions, and what it reads by name."""
        while True:
            readers = self._count_of_readers()
            self.pushes = {}
            self.backward_lines = self._backward()
            if readers == self._count_of_readers():
                break
        self._forward()
        self.backward_head = self._backward_head()
        lines = [*self.forward_head, *self.forward_lines, "", *self.backward_head]
        return "\n".join([*lines, *self.backward_lines]), self.constants.scope

    def _count_of_readers(self) -> int:
        memories = {
            v.memory.root()
            for block in blocks_of(self.program.body)
            for op in block.ops
            for v in (op.out, *op.args)
            if v is not None and v.memory is not None
        }
        return sum(len(m.readers) for m in memories)

    def _backward(self) -> list[str]:
        self._begin()
        self.viewed, self.memories = set(), {}
        self.silent = set()
        source = self.out = Source()
        for s in filter(self.has_variable, self.program.slots):
            source.add(f"{s.name}_b = 0.0")
        self.seeded: dict[Value, list[str]] = {}
        self.sums = {}
        n = 0
        for v in self.outputs:
            if is_active(v) and v.kind.is_list:  # which is as long here as it is returned
                source.add(f"if seeds[{n}] is not None: add_in(out{n}_b, seeds[{n}])")
            elif is_active(v):
                source.add(f"seed{n} = seeds[{n}]")
                if v.kind.is_array:
                    source.add(f"if seed{n} is None: seed{n} = zeros_like(outs[{n}])")
                else:
                    source.add(f"if seed{n} is None: seed{n} = 0.0")
                self._seed(v, f"seed{n}")
            n += 1
        for slot in self.written_parameters:
            if self.has_shadow(slot):
                name = self._initial_shadow(slot)
                source.add(f"if seeds[{n}] is not None: {name} += seeds[{n}]")
            n += 1
        for slot in self.changed_lists:
            if self.has_shadow(slot):
                # Also to lists that are no more in it.
                source.add(f"if seeds[{n}] is not None: add_in({slot}_b_first, seeds[{n}])")
            n += 1
        first = len(source.lines)
        self._backward_nodes(self.program.body)
        self._add_sums(None, first)
        results = []
        for slot in self.program.parameters:
            if self.has_shadow(slot):
                shadow = self._initial_shadow(slot)
                is_other = slot.memory.root() in self.layouts  # type: ignore[union-attr]
                results.append(f"array({shadow}, order='C')" if is_other else shadow)
            elif self.has_variable(slot):
                name = f"{slot.name}_b"
                is_array = slot.memory is not None
                results.append(f"whole({name}, {self._initial(slot)})" if is_array else name)
            else:
                results.append("None")
        source.add(f"return ({''.join(f'{r}, ' for r in results)})")
        return source.lines

    def _begins_with_cotangent(self, slot: Slot) -> bool:
        """Have a shadow begin as a copy of what is first added to all of it, if that is so."""
        name = f"{slot.name}_b"
        if slot.memory.root() in self.layouts:  # type: ignore[union-attr]
            return False
        lines = self.backward_lines
        first = next((k for k, x in enumerate(lines) if re.search(rf"\b{name}\b", x)), None)
        if first is None:
            return False
        added = re.fullmatch(
            rf"    (?:if (seeds\S+) is not None: )?{name} \+= (seed\S+)", lines[first]
        )
        if added is None or added.group(1) not in (None, added.group(2)):
            return False
        lines[first] = f"    {name} = shadow_with({slot.name}, {added.group(2)})"
        if name in self.viewed:
            self.viewed.remove(name)
            lines[first] += f"; {name}_m = memoryview({name})"
        if name in self.memories:
            lines[first] += f"; {name}_v = {self.blas(self.memories.pop(name))}({name})"
        return True

    def _backward_head(self) -> list[str]:
        source = Source()
        source.lines.append("def backward(frame, tape, outs, seeds):")
        source.add("pop = tape.pop")
        frame = "".join(f"{n}, " for n in self._frame())
        if frame:
            source.add(f"({frame}) = frame")
        for slot in self.program.parameters:
            if slot in self.late and not self._begins_with_cotangent(slot):
                source.add(f"{slot.name}_b = {self._zeros(slot)}")
                if slot in self.changed_lists:
                    source.add(f"{slot.name}_b_first = lists_in({slot.name}_b)")
        source.add_all([f"{name}_m = memoryview({name})" for name in sorted(self.viewed)])
        for name, made in sorted(self.memories.items()):
            source.add(f"{name}_v = {self.blas(made)}({name})")
        return source.lines

    def _seed(self, v: Value, text: str) -> None:
        self.seeded.setdefault(v, []).append(text)

    def _backward_nodes(self, nodes: list) -> None:
        out = self.out
        for node in reversed(nodes):
            first = len(out.lines)
            if isinstance(node, Block):
                self._backward_block(node)
                self.backward_spans[node] = first, len(out.lines)
                continue
            if node in self.checkpointed:
                self.checkpointed[node].backward(self._sweep_of(node))
                continue
            with self.sharing(node):
                if isinstance(node, If):
                    self._backward_if(node)
                else:
                    self.enclosing.append(node)
                    self._backward_loop(node)
                    self.enclosing.pop()
                    self._add_sums(node, first)
                self._leave_out(node, first)
            self.backward_spans[node] = first, len(out.lines)

    def _leave_out(self, node: For | While | If, first: int) -> None:
        """Drop the sweep of a branch or loop that does nothing; nobody pushes its way then."""
        lines = [line.strip() for line in self.out.lines[first:]]
        does_nothing = set(lines[1:]) <= {"pass", "else:"}
        if does_nothing and not (self.for_machine or self.checkpointed):
            del self.out.lines[first:]
            self.silent.add(node)

    def _backward_if(self, node: If) -> None:
        self.out.add("if pop():")
        self._indented(node.then)
        self.out.add("else:")
        self._indented(node.otherwise)

    def _backward_loop(self, node: For | While) -> None:
        out, first = self.out, len(self.out.lines)
        if isinstance(node, While):
            out.add("for _ in range(pop()):")
            self._turn_back(node)
            return
        own = not binds(node.body, node.slot)
        head = f"for {node.slot.name if own else '_'} in reversed({{}}):"
        out.add(head.format("pop()"))
        self._turn_back(node)
        if self.shared is not None and self.shared.names:
            turns = self.fresh("r")
            made = [f"{turns} = pop()", *self.shared.lines(turns), head.format(turns)]
            out.lines[first : first + 1] = ["    " * out.depth + line for line in made]

    def _turn_back(self, node: For | While) -> None:
        """Write the sweep of the body of a loop, in which its variable is at hand."""
        own = isinstance(node, For) and not binds(node.body, node.slot)
        if own:
            self.loops.append(node.slot)  # type: ignore[union-attr] # it is a `For`
        self._indented(node.body)
        if own:
            self.loops.pop()

    def _add_sums(self, node: For | While | None, first: int) -> None:
        """Add what was collected in lines from the first on."""
        sums = self.sums.get(node, {})
        for inner, (start, stop) in self.backward_spans.items():
            if start >= first:
                self.backward_spans[inner] = start + len(sums), stop + len(sums)
        for (made, _), name in sums.items():
            self.out.lines.insert(first, "    " * self.out.depth + f"{name} = {made}")
            self.out.add(f"{name}.add_all()")

    def outer_sum(self, v: Value) -> str | None:
        """Return what collects outer products for the shadow of a matrix; None if nothing does.

        It does so until a loop ends or, outside of loops, the function. There nothing but sums
        goes into the shadow: what is in it is not read before.
        """
        node, body = self._summing_loop(v), self.program.body
        if node is None and (self.enclosing or not leaves_alone(v.memory.root(), body)):  # type: ignore[union-attr] # an array has one
            return None
        return self._collected(node, "OuterSum()", v)

    def product_sum(self, v: Value, matrix: Value, axis: int) -> str | None:
        """Return what collects products of a matrix and vectors for the shadow of a vector.

        It does so until a loop ends in which nothing but sums goes into the shadow, and nothing is
        written into the matrix.
        """
        node = self._summing_loop(v, matrix)
        return None if node is None else self._collected(node, f"ProductSum({axis})", matrix)

    def _summing_loop(self, *values: Value) -> For | While | None:
        """Return the outermost loop that leaves these arrays alone; None if there is none."""
        memories = [v.memory.root() for v in values]  # type: ignore[union-attr] # they have one
        loops = [node for node in self.enclosing if all(leaves_alone(m, [node]) for m in memories)]
        return loops[0] if loops else None

    def _collected(self, node: For | While | None, made: str, matrix: Value) -> str | None:
        """Return the name of what collects for a matrix until a loop ends."""
        if self.is_strong(self.current) or matrix.kind.dtype != np.float64:
            return None
        memory = matrix.memory.root()  # type: ignore[union-attr] # an array has one
        of_parameter = memory in {s.memory.root() for s in self.program.parameters if s.memory}
        key = (
            self.blas(made),
            memory if of_parameter else matrix.op,
        )  # else they may be several in turn
        return self.sums.setdefault(node, {}).setdefault(key, self.fresh("o"))

    def _sweep_of(self, node: For | While) -> list[str]:
        """Return the sweep of the body of a loop, as it is written inside two others."""
        outer, self.out = self.out, Source()
        self.out.depth = outer.depth + 1
        with self.sharing(None):
            self._turn_back(node)
        made, self.out = self.out.lines, outer
        return made

    def _indented(self, nodes: list) -> None:
        self.out.depth += 1
        n = len(self.out.lines)
        self._backward_nodes(nodes)
        if len(self.out.lines) == n:
            self.out.add("pass")
        self.out.depth -= 1

    def _backward_block(self, block: Block) -> None:
        outer = self.out
        self.out = Source()
        self.out.depth = outer.depth
        self.pushing: dict[str, Pushed] = {}
        self.views: dict[str, str] = {}  # that the sweep of the block makes: source → name
        BlockSweep(self, block).run()
        names = list(self.pushing)
        if names:
            self.pushes[block] = dict(self.pushing)
            outer.add(f"{', '.join(names)} = pop()")
        outer.lines += self.out.lines
        self.out = outer

    def need(self, v: Value, contents: bool = True) -> str:
        """Return a value as the backward function writes it; it is pushed if it must be."""
        if contents:
            self.reads(v)
        again = self.again(v)
        if again is not None:
            same = self._same_in_turns(v, self._is_at_hand)
            return self._view(again, same) if v.op.code == "view" else again
        self.pushing[v.name] = (v, "")
        return v.name

    def _view(self, text: str, same: str | None) -> str:
        """Return the name of a view in the sweep of a block, which makes it once.

        `same` is the view as it is written before the loop, if it is the same in all turns.
        """
        if self.for_machine:
            return text
        if text not in self.views:
            name = self._shared_view(same)
            self.views[text] = name or self.fresh("v")
            if name is None:
                self.out.add(f"{self.views[text]} = {text}")
        return self.views[text]

    def _same_shadow_in_turns(self, v: Value) -> str | None:
        """Return a shadow as it is written before the loop; None if turns may have others."""
        op, shared = v.op, self.shared
        if shared is None or op.code not in ("read", "view") or op.data == CALLED:
            return None
        if op.code == "read":
            return f"{op.data}_b" if op.data.is_stable and shared.is_fixed(op.data) else None
        at = [self._same_in_turns(a, self._is_at_hand) for a in op.args[1:]]
        return self._of_texts(op, [self._same_shadow_in_turns(op.args[0]), *at])

    def shape_of(self, v: Value) -> str:
        """Return the shape of an array as the backward function writes it.

        It is pushed if the array is not at hand, so that nobody keeps the array for it.
        """
        found = self.again(v)
        if found is not None:
            return f"{found}.shape"
        self.pushing[f"{v.name}_shape"] = (v, "_shape")
        return f"{v.name}_shape"

    def reads(self, v: Value) -> None:
        """Note that the sweep of this operation reads what an array holds."""
        for x in without_tuples([v]):
            if x.memory is not None and x.memory.root().is_written:
                x.memory.root().readers.add((self.current, x))

    def must_restore(self, op: Op, ops: list[Op]) -> bool:
        """Whether what a write overwrites is read in the sweep after the write is passed.

        `ops` are the operations of its block. What an earlier write to the same part overwrites
        is put back there, too: if nobody reads it before, the later write need not be undone.
        """
        if not self._is_read_again(op):
            return False
        earlier = None if self.checkpointed else self._write_before(op, ops)
        return earlier is None or not self._is_read_again(earlier)

    def _write_before(self, op: Op, ops: list[Op]) -> Op | None:
        """Return the write to the same part before another, if no sweep reads the array between."""
        memory: Memory = op.args[0].memory.root()  # type: ignore[union-attr] # an array has one
        readers = {reader for reader, _ in memory.readers}
        for other in reversed(ops[: ops.index(op)]):
            if other in readers:
                return None
            if other.code in WRITES and other.args[0].memory.root() is memory:  # type: ignore[union-attr] # it has one
                is_same = other.data == op.data and other.args[2:] == op.args[2:]
                return other if is_same and other.args[0] is op.args[0] else None
        return None

    def _is_read_again(self, op: Op) -> bool:
        """Whether a sweep reads what a write overwrites."""
        memory: Memory = op.args[0].memory.root()  # type: ignore[union-attr] # an array has one
        again = [loop for loop in self.checkpointed.values() if memory in loop.reads]
        if any(self._changes(op, *reader) for reader in memory.readers) or any(
            loop.is_before(op) for loop in again
        ):
            memory.is_restored = True
            return True
        return False

    def _changes(self, write: Op, reader: Op, read: Value) -> bool:
        """Whether a write may change what an operation has read before."""
        if not self.order.may_precede(reader, write):
            return False
        return bool(self.checkpointed) or not spares(write, reader, read, self.order)

    def again(self, v: Value) -> str | None:
        """Return a value as an expression of what is at hand in the sweep, or None."""
        return self._expression(v, self._is_at_hand, self.pushing)

    def _is_at_hand(self, slot: Slot) -> bool:
        """Whether a variable is at hand in the sweep."""
        return slot.is_stable or slot in self.loops

    def place(self, op: Op, is_shadow: bool = True) -> str:
        """Return where the sweep reads or writes in the array of an operation, or in its shadow."""
        v = op.args[0]
        if op not in self.plain.elements:
            return self.shadow(v) if is_shadow else self.need(v, contents=False)
        end = "_b" if is_shadow else ""
        slot = v.op.data
        if slot.is_stable:
            self.viewed.add(f"{slot}{end}")
            return f"{slot}{end}_m"
        self.pushing[f"{v}{end}_m"] = (v, f"{end}_m")
        return f"{v}{end}_m"

    def part_of_shadow(self, op: Op, index: str) -> str:
        """Return the name of the part of a shadow in the place of what an operation writes."""
        same = self._same_shadow_in_turns(op.args[0])
        at = [self._same_in_turns(a, self._is_at_hand) for a in op.args[2:]]
        is_same = same is not None and None not in at
        part = f"{same}[{self.index(op.data, at)}]" if is_same else None  # type: ignore[arg-type] # no None
        return self._view(f"{self.place(op)}[{index}]", part)

    def shadow(self, v: Value) -> str:
        """Return the shadow of an array as the backward function writes it."""
        op = v.op
        if op.code == "read":
            slot = op.data
            if slot.is_stable:
                return f"{slot.name}_b"
            self.pushing[f"{v.name}_b"] = (v, "_b")
            return f"{v.name}_b"
        if op.code == "view":
            base = self.shadow(op.args[0])
            text = self.view_of_shadow(op, base, self.need)
            return self._view(text, self._same_shadow_in_turns(v))
        self.pushing[f"{v.name}_b"] = (v, "_b")
        return f"{v.name}_b"
