"""Code generation: the forward function with a tape, and its reverse sweep.

The forward function does what the user's function does, in the same order, with the same NumPy
functions. At the end of each block it pushes the values that the backward function reads and cannot
recompute cheaply. Before it overwrites contents that the sweep reads, it saves them.

The backward function runs the blocks in reverse order. The cotangent of a number is a variable. So
is that of an array if variables that hold it are rebound, and only the block that makes it writes
into it (`carried_arrays`). Other arrays that are read in several blocks have a *shadow*, an array
of the same layout that accumulates cotangents; the shadow of a view is the same view of the shadow.

The sweep undoes each write as it passes it, so every read finds what the forward function found.
"""

from __future__ import annotations

import functools
import operator
import re
from typing import Any

import numpy as np

from autodiff.structured.form.dependence import spares
from autodiff.structured.form.function_ir import (
    WRITES,
    Block,
    For,
    If,
    Memory,
    Op,
    Slot,
    Value,
    While,
    bodies_of,
    ops_of,
    without_tuples,
)
from autodiff.structured.form.known_functions import CALLED
from autodiff.structured.writing.activity import is_active, is_unchanged_by
from autodiff.structured.writing.carried_arrays import origin_of
from autodiff.structured.writing.forward_writer import ForwardWriter
from autodiff.structured.writing.live_variables import LiveVariables
from autodiff.structured.writing.source_writer import CodeLines, TapeEntry
from autodiff.structured.writing.sweep.block_sweep import BlockSweep

_SUMS_AND_PRODUCTS = frozenset({operator.add, operator.sub, operator.mul, operator.neg})
_NO_SWEEP = ["def backward(frame, tape, outs, seeds):", "    raise Changed"]
_MOST_RECOMPUTED = 4  # operations that an operand may be deep in an expression


class ProgramWriter(ForwardWriter):
    """Writes the forward and the backward function of a program."""

    def emit(self) -> tuple[str, dict[str, Any]]:
        """Return the source of both functions, and the constants that it reads by name.

        Which writes are undone depends on what the sweep reads, and the other way round: so the
        sweep is rewritten until its reads no longer change. Code that compares all shapes never
        runs backwards, so it has no sweep.
        """
        while not self.compares_all:
            readers = self._reader_count()
            self.pushes = {}
            self.backward_lines = self._backward()
            if readers == self._reader_count():
                break
        self._forward()
        self.backward_head = _NO_SWEEP if self.compares_all else self._backward_head()
        lines = [*self.forward_head, *self.forward_lines, "", *self.backward_head]
        return "\n".join([*lines, *self.backward_lines]), self.constants.scope

    def _reader_count(self) -> int:
        roots = {
            v.root
            for op in ops_of(self.program.body)
            for v in (op.out, *op.args)
            if v is not None and v.memory is not None
        }
        return sum(len(m.readers) for m in roots)

    def _backward(self) -> list[str]:
        self._begin()
        self.memoryviews, self.blas_memories = set(), {}
        self.empty_sweeps, self.started = set(), set()
        source = self.out = CodeLines()
        body, slots = self.program.body, list(filter(self.has_variable, self.program.slots))
        self.live = LiveVariables(body, slots, self.for_native or bool(self.checkpointed))
        begun = [s for s in slots if s in self.live.last]
        source.add_all([f"{s.name}_b = {self._no_cotangent(s)}" for s in begun])
        self.seeded: dict[Value, list[str]] = {}
        self.sums = {}
        self._backward_seeds()
        first = len(source.lines)
        self._backward_nodes(body)
        self.without_cotangents(set(self.program.parameters) & set(slots) - self.live.first)
        self._add_sums(None, first)
        gradients = map(self._gradient, self.program.parameters)
        source.add(f"return ({''.join(f'{g}, ' for g in gradients)})")
        return source.lines

    def _no_cotangent(self, slot: Slot) -> str:
        """Return the cotangent of a variable before anything is added to it."""
        kind = slot.kind
        if not self.is_typed(slot) or kind is None:
            return "0.0"
        return self.constants.name(np.empty((0,) * kind.ndim, kind.dtype))

    def _backward_seeds(self) -> None:
        """Add the seeds to the cotangents of outputs and of arrays and lists written into."""
        out, outputs = self.out, self.outputs
        for n, v in enumerate(outputs):
            if is_active(v) and v.kind.is_list:  # here as long as when it was returned
                out.add(f"if seeds[{n}] is not None: add_in(out{n}_b, seeds[{n}])")
            elif is_active(v):
                name, zero = f"seed{n}", f"zeros_like(outs[{n}])" if v.kind.is_array else "0.0"
                seed = self.seed_of(n, v)
                out.add_all([f"{name} = {seed}", f"if {name} is None: {name} = {zero}"])
                self.seeded.setdefault(v, []).append(name)
        for n, slot in enumerate(self.written_parameters, len(outputs)):
            if self.has_shadow(slot):
                shadow = self._initial_shadow(slot)
                out.add(f"if seeds[{n}] is not None: {shadow} += seeds[{n}]")
        for n, slot in enumerate(self.changed_lists, len(outputs) + len(self.written_parameters)):
            if self.has_shadow(slot):
                # The lists of its initial state: some may have been removed since.
                out.add(f"if seeds[{n}] is not None: add_in({slot}_b_first, seeds[{n}])")

    def _gradient(self, slot: Slot) -> str:
        """Return the cotangent of a parameter as the backward function returns it."""
        if self.has_shadow(slot):
            shadow = self._initial_shadow(slot)
            is_permuted = slot.root in self.layouts
            return f"array({shadow}, order='C')" if is_permuted else shadow
        if not self.has_variable(slot):
            return "None"
        name = f"{slot.name}_b"
        return name if slot.memory is None else f"whole({name}, {self._initial(slot)})"

    def _begins_with_cotangent(self, slot: Slot) -> bool:
        """Initialize a shadow by its first cotangent, if that covers the whole array.

        This saves an array of zeros. False if the shadow must begin as zeros.
        """
        name = f"{slot.name}_b"
        if slot.root in self.layouts:
            return False
        lines = self.backward_lines
        first = next((k for k, x in enumerate(lines) if re.search(rf"\b{name}\b", x)), None)
        if first is None:
            return False
        added = re.fullmatch(
            rf"    (?:if (seeds\S+) is not None: )?{name} \+= (seed\S+)", lines[first]
        )
        if added is None or added[1] not in (None, added[2]):
            return False
        lines[first] = f"    {name} = shadow_with({slot.name}, {added[2]})"
        if name in self.memoryviews:
            self.memoryviews.remove(name)
            lines[first] += f"; {name}_m = memoryview({name})"
        if name in self.blas_memories:
            lines[first] += f"; {name}_v = {self.blas(self.blas_memories.pop(name))}({name})"
        return True

    def _backward_head(self) -> list[str]:
        source = CodeLines()
        source.lines.append("def backward(frame, tape, outs, seeds):")
        source.add("pop = tape.pop")
        frame = "".join(f"{n}, " for n in self._frame())
        if frame:
            source.add(f"({frame}) = frame")
        for slot in self.program.parameters:
            if slot in self.late_shadows and not self._begins_with_cotangent(slot):
                source.add(f"{slot.name}_b = {self._zeros(slot)}")
                if slot in self.changed_lists:
                    source.add(f"{slot.name}_b_first = lists_in({slot.name}_b)")
        source.add_all([f"{name}_m = memoryview({name})" for name in sorted(self.memoryviews)])
        for name, made in sorted(self.blas_memories.items()):
            source.add(f"{name}_v = {self.blas(made)}({name})")
        return source.lines

    def _backward_nodes(self, nodes: list) -> None:
        out = self.out
        for node in reversed(nodes):
            if isinstance(node, (For, While)):
                self.without_cotangents(self.live.before[node] - self.live.after[node])
            first = len(out.lines)
            if isinstance(node, Block):
                self._backward_block(node)
                self.backward_spans[node] = first, len(out.lines)
                continue
            if node in self.checkpointed:
                self.checkpointed[node].backward(self._sweep_of(node))
                continue
            with self.hoisting(node):
                if isinstance(node, If):
                    for k, head in enumerate(("if pop():", "else:")):
                        out.inside(head, functools.partial(self._backward_branch, node, k))
                else:
                    self.enclosing.append(node)
                    self._backward_loop(node)
                    self.enclosing.pop()
                    self._add_sums(node, first)
                self._drop_if_empty(node, first)
            self.backward_spans[node] = first, len(out.lines)

    def _backward_branch(self, node: For | While | If, k: int) -> None:
        """Write the sweep of the nodes in a branch or, with the last number, in a loop.

        A variable that is live before the node, but not at the start of these, is bound there.
        """
        self._backward_nodes(bodies_of(node)[k])
        self.without_cotangents(self.live.before[node] - self.live.inside[node, k])

    def _drop_if_empty(self, node: For | While | If, first: int) -> None:
        """Drop the sweep of a branch or loop if it does nothing.

        The forward function then pushes neither branch nor trip count.
        """
        lines = [line.strip() for line in self.out.lines[first:]]
        does_nothing = set(lines[1:]) <= {"pass", "else:"}
        if does_nothing and not (self.for_native or self.checkpointed):
            del self.out.lines[first:]
            self.empty_sweeps.add(node)

    def _backward_loop(self, node: For | While) -> None:
        out, first = self.out, len(self.out.lines)
        if isinstance(node, While):
            self._backward_body(node, "for _ in range(pop()):")
            return
        head = f"for {self.target_of(node)} in reversed({{}}):"
        self._backward_body(node, head.format("pop()"))
        if self.hoisted is not None and self.hoisted.names:
            trips = self.fresh("r")
            made = [f"{trips} = pop()", *self.hoisted.lines(trips), head.format(trips)]
            out.lines[first : first + 1] = ["    " * out.depth + line for line in made]

    def target_of(self, node: For) -> str:
        """Return the loop variable of the sweep; ``_`` if the body rebinds the user's."""
        return "_" if self.order.rebinds_its_variable(node) else node.slot.name

    def _backward_body(self, node: For | While, head: str) -> None:
        """Write the sweep of the body of a loop, which may read the loop variable."""
        outer = self.loops
        if isinstance(node, For) and not self.order.rebinds_its_variable(node):
            self.loops = [*outer, node.slot]
        k = len(bodies_of(node)) - 1  # the test of a `while` has no sweep
        self.out.inside(head, functools.partial(self._backward_branch, node, k))
        self.loops = outer

    def _add_sums(self, node: For | While | None, first: int) -> None:
        """Create the collectors of a loop at line `first`, and add their sums after the loop."""
        sums = self.sums.get(node, {})
        for inner, (start, stop) in self.backward_spans.items():
            if start >= first:
                self.backward_spans[inner] = start + len(sums), stop + len(sums)
        for (made, _), name in sums.items():
            self.out.lines.insert(first, "    " * self.out.depth + f"{name} = {made}")
            self.out.add(f"{name}.add_all()")

    def outer_sum(self, v: Value) -> str | None:
        """Return the name of the `OuterSum` for the shadow of a matrix; None if there is none.

        It collects outer products until a loop ends or, outside of loops, the function. Until then
        the sweep only adds to the shadow and never reads it.
        """
        node, body = self._summing_loop(v), self.program.body
        if node is None and (self.enclosing or not is_unchanged_by(v.root, body)):
            return None
        return self._collected(node, "OuterSum()", v)

    def product_sum(self, v: Value, matrix: Value, axis: int) -> str | None:
        """Return the name of the `ProductSum` for the shadow of a vector; None if there is none.

        It collects products of a matrix and vectors until a loop ends in which the sweep only adds
        to the shadow, and which does not write into the matrix.
        """
        node = self._summing_loop(v, matrix)
        return None if node is None else self._collected(node, f"ProductSum({axis})", matrix)

    def _summing_loop(self, *values: Value) -> For | While | None:
        """Return the outermost enclosing loop in which these arrays are invariant, or None."""
        roots = [v.root for v in values]
        loops = [node for node in self.enclosing if all(is_unchanged_by(m, [node]) for m in roots)]
        return loops[0] if loops else None

    def _collected(self, node: For | While | None, made: str, matrix: Value) -> str | None:
        """Return the name of the object that collects products with a matrix until a loop ends."""
        if self.has_strong_zero(self.current) or matrix.kind.dtype != np.float64:
            return None
        memory = matrix.root
        # All views of a parameter share one collector; other memory may hold several matrices.
        of_parameter = memory in {s.root for s in self.program.parameters if s.memory}
        key = self.blas(made), memory if of_parameter else matrix.op
        return self.sums.setdefault(node, {}).setdefault(key, self.fresh("o"))

    def _sweep_of(self, node: For | While) -> list[str]:
        """Return the sweep of the body of a checkpointed loop, for a loop inside another."""
        outer, self.out = self.out, CodeLines()
        self.out.depth = outer.depth + 1
        with self.hoisting(None):
            self._backward_body(node, "")
        (_, *made), self.out = self.out.lines, outer
        return made

    def _backward_block(self, block: Block) -> None:
        outer = self.out
        self.out = CodeLines()
        self.out.depth = outer.depth
        self.tape_reads: dict[str, TapeEntry] = {}
        self.views: dict[str, str] = {}  # views that the sweep of the block makes: source → name
        self.sweep = BlockSweep(self, block)
        self.sweep.run()
        names = list(self.tape_reads)
        if names:
            self.pushes[block] = dict(self.tape_reads)
            outer.add(f"{', '.join(names)} = pop()")
        outer.lines += self.out.lines
        self.out = outer

    def need(self, v: Value, contents: bool = True) -> str:
        """Return a value as source of the backward function.

        It is recomputed if that is cheap; otherwise the forward function pushes it.
        """
        if contents:
            self.reads(v)
        text = self._recomputed(v)
        if text is None:
            text = self._recomputed_by_loops(v)
        if text is None:
            self.tape_reads[v.name] = (v, "")
            return v.name
        if v.op.code != "view":
            return text
        return self._view(text, self._invariant_source(v, self._is_available))

    def _view(self, text: str, same: str | None) -> str:
        """Return the name of a view, which the sweep of a block makes once.

        `same` is its source before the loop, if it is loop-invariant.
        """
        if self.for_native:
            return text
        if text not in self.views:
            name = self._hoisted_name(same)
            self.views[text] = name or self.fresh("v")
            if name is None:
                self.out.add(f"{self.views[text]} = {text}")
        return self.views[text]

    def _invariant_shadow(self, v: Value) -> str | None:
        """Return a loop-invariant shadow as source before the loop; None if it may vary."""
        op, hoisted = v.op, self.hoisted
        if hoisted is None or op.code not in ("read", "view") or op.data == CALLED:
            return None
        if op.code == "read":
            return (
                f"{op.data}_b" if op.data.is_stable and hoisted.is_loop_invariant(op.data) else None
            )
        at = [self._invariant_source(a, self._is_available) for a in op.args[1:]]
        return self._of_texts(op, [self._invariant_shadow(op.args[0]), *at])

    def shape_of(self, v: Value) -> str:
        """Return the shape of an array as source of the backward function.

        If the array is not available, its shape is pushed: the tape need not keep the array alive.
        """
        text = self._recomputed(v)
        if text is not None:
            return f"{text}.shape"
        self.tape_reads[f"{v.name}_shape"] = (v, "_shape")
        return f"{v.name}_shape"

    def reads(self, v: Value) -> None:
        """Record that the sweep of the current operation reads the contents of an array."""
        for x in without_tuples([v]):
            if x.memory is not None and x.root.is_written:
                x.root.readers.add((self.current, x))

    def must_restore(self, op: Op, ops: list[Op]) -> bool:
        """Whether the sweep must undo a write, because it later reads what was overwritten.

        `ops` are the operations of its block. If an earlier write to the same part is undone anyway
        and no sweep reads the array between them, the later one need not be.
        """
        if not self._is_read_again(op):
            return False
        earlier = None if self.checkpointed else self._write_before(op, ops)
        return earlier is None or not self._is_read_again(earlier)

    def _write_before(self, op: Op, ops: list[Op]) -> Op | None:
        """Return the previous write to the same part, if no sweep reads the array between them."""
        memory: Memory = op.args[0].root
        readers = {reader for reader, _ in memory.readers}
        for other in reversed(ops[: ops.index(op)]):
            if other in readers:
                return None
            if other.code in WRITES and other.args[0].root is memory:
                is_same = other.data == op.data and other.args[2:] == op.args[2:]
                return other if is_same and other.args[0] is op.args[0] else None
        return None

    def _is_read_again(self, op: Op) -> bool:
        """Whether a sweep, or the rerun of a checkpointed loop, reads what a write overwrites."""
        memory: Memory = op.args[0].root
        reruns = [loop for loop in self.checkpointed.values() if memory in loop.reads]
        if any(self._changes(op, *reader) for reader in memory.readers) or any(
            loop.runs_before(op) for loop in reruns
        ):
            memory.is_restored = True
            return True
        return False

    def _changes(self, write: Op, reader: Op, read: Value) -> bool:
        """Whether a write may overwrite what an operation has read before it."""
        if write.args[0].root in self.carried:
            is_same = origin_of(read) is origin_of(write.args[0])
            return is_same and self.order.places[reader] <= self.order.places[write]
        if not self.order.may_precede(reader, write):
            return False
        return bool(self.checkpointed) or not spares(write, reader, read, self.order)

    def _recomputed(self, v: Value) -> str | None:
        """Return an expression that recomputes a value in the sweep, or None."""
        return self._expression(v, self._is_available, self.tape_reads)

    def _recomputed_by_loops(self, v: Value) -> str | None:
        """Return sums and products of arrays that recompute an array in the sweep, or None.

        Machine code fuses them into the loop that reads the array. This is faster than saving it,
        if the operands are saved anyway, as values of variables are.
        """
        if not self.for_native:
            return None
        pushed: dict[str, TapeEntry] = {}
        text = self._sums_and_products(v, pushed, _MOST_RECOMPUTED)
        if text is not None:
            self.tape_reads |= pushed
        return text

    def _sums_and_products(self, v: Value, pushed: dict[str, TapeEntry], depth: int) -> str | None:
        if v.memory is not None and v.root.is_written:
            return None
        text = self._recomputed(v)
        if text is not None:
            return text
        if v.op.code == "read" or v.kind.is_scalar:
            pushed[v.name] = (v, "")
            return v.name
        is_part = v.op.code == "view" and v.op.args[0].op.code in ("read", "view")
        is_cheap = v.op.code == "call" and v.op.f in _SUMS_AND_PRODUCTS and v.kind.is_array
        if not (is_part or is_cheap) or not depth:
            return None
        texts = [self._sums_and_products(a, pushed, depth - 1) for a in v.op.args]
        return self._of_texts(v.op, texts)

    def _is_available(self, slot: Slot) -> bool:
        """Whether the sweep can read a variable without the tape."""
        return slot.is_stable or slot in self.loops

    def place(self, op: Op, is_shadow: bool = True) -> str:
        """Return what the sweep indexes for an operation: its array or shadow, or a memoryview."""
        v = op.args[0]
        if op not in self.plain.elements:
            return self.shadow(v) if is_shadow else self.need(v, contents=False)
        end = "_b" if is_shadow else ""
        slot = v.op.data
        if slot.is_stable:
            self.memoryviews.add(f"{slot}{end}")
            return f"{slot}{end}_m"
        self.tape_reads[f"{v}{end}_m"] = (v, f"{end}_m")
        return f"{v}{end}_m"

    def part_of_shadow(self, op: Op, index: str) -> str:
        """Return the name of the part of a shadow that corresponds to what a write changes."""
        same = self._invariant_shadow(op.args[0])
        at = [self._invariant_source(a, self._is_available) for a in op.args[2:]]
        is_same = same is not None and None not in at
        part = f"{same}[{self.index(op.data, at)}]" if is_same else None  # type: ignore[arg-type] # no None
        return self._view(f"{self.place(op)}[{index}]", part)

    def shadow(self, v: Value) -> str:
        """Return the shadow of an array as source of the backward function."""
        op = v.op
        if op.code == "read":
            slot = op.data
            if slot.is_stable:
                return f"{slot.name}_b"
            self.tape_reads[f"{v.name}_b"] = (v, "_b")
            return f"{v.name}_b"
        if op.code == "view":
            base = self.shadow(op.args[0])
            text = self.view_of_shadow(op, base, self.need)
            return self._view(text, self._invariant_shadow(v))
        if self.is_filled(v):
            return self.sweep.own(v)
        self.tape_reads[f"{v.name}_b"] = (v, "_b")
        return f"{v.name}_b"
