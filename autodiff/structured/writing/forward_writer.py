"""The code generator of the forward function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.python_operators import SIGNS
from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    Block,
    For,
    If,
    Op,
    Slot,
    Value,
    While,
    lists_of,
    ops_of,
)
from autodiff.structured.form.indices import WHOLE, has_arrays, has_places, region_of
from autodiff.structured.form.known_functions import CALLED
from autodiff.structured.writing.activity import (
    is_rounded,
    parameters_held,
    parameters_of,
)
from autodiff.structured.writing.carried_arrays import origin_of
from autodiff.structured.writing.list_mutations import write_mutation
from autodiff.structured.writing.result_guards import needs_guard
from autodiff.structured.writing.rules.direct_calls import source_of
from autodiff.structured.writing.rules.native_calls import native_call
from autodiff.structured.writing.shadow_layouts import call_in_layout
from autodiff.structured.writing.source_writer import (
    CodeLines,
    SourceWriter,
    TapeEntry,
    new_bindings,
)
from autodiff.structured.writing.sweep.pullback_sweep import record_call, start_call
from autodiff.trace.checks.conversions import EXACT

_WITH_NEW_SHADOW = ("call", "part", "load", "list", "dict", "item", "join", "draw")
"""Operations whose results get shadows of their own."""


class ForwardWriter(SourceWriter):
    """Writes the forward function.

    It does what the user's function does and pushes what the sweep reads.
    """

    def in_its_class(self, v: Value) -> str:
        """Return a number in the class that it has in the user's function."""
        text = self.text(v)
        if v not in self.plain.loose or len(v.kind.classes) > 1:
            return text
        return f"{self.constants.name(next(iter(v.kind.classes)))}({text})"

    def text_for(self, op: Op) -> Callable[[Value], str]:
        """Return the function that writes the arguments of an operation."""
        return self.text if op in self.plain.lenient else self.in_its_class

    def _forward(self) -> None:
        self._begin()
        body = self.out = CodeLines()
        self.forward_nodes(self.program.body)
        outs = [self._returned(v) for v in self.outputs]
        written = [self._written_parameter(s) for s in self.written_parameters]
        where = "is_outermost() and " if self._hides_views_of_calls() else ""
        for a, b in self._possible_aliases():
            body.add(f"if {where}may_share({a}, {b}): raise Changed")
        written += [f"{s.name}_first" for s in self.changed_lists]
        for n, v in self.lists_with_seeds():
            body.add(f"out{n}_b = {self.shadow_forward(v)}")
        body.add(f"outs = ({''.join(f'{o}, ' for o in [*outs, *written])})")
        text = "\n".join(body.lines)
        shadowed = [s for s in self.program.parameters if s.is_stable and self.has_shadow(s)]
        self.late_shadows = {s for s in shadowed if not re.search(rf"\b{s.name}_b\b", text)}
        body.add(f"return outs, ({''.join(f'{n}, ' for n in self._frame())}), tape")
        self.forward_head, self.forward_lines = self._forward_head(), body.lines

    def _possible_aliases(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of a result and an argument, or another result, that may share memory.

        By writing into one of them, the caller would change the other.
        """
        held = parameters_held(self.program)
        seen: list[Value] = []
        for v in self.outputs:
            if not v.kind.is_array or self.argument_of(v) is not None:
                continue
            for slot in self.program.parameters:
                if slot in parameters_of(v, held):
                    yield self.text(v), self._initial(slot)
            for other in seen:
                if self._may_be_a_view(v) or v.root is other.root:
                    yield self.text(v), self.text(other)
            seen.append(v)

    def _hides_views_of_calls(self) -> bool:
        """Whether results of recursive calls may be copies where the function returns views.

        That makes no difference if neither these results nor the arguments are written into, and
        the function does not return them.
        """
        if self.program.itself is None:
            return False
        made = {op.out for op in ops_of(self.program.body) if op.f is self.program.itself}
        roots = {v.root for v in made if v is not None and v.memory is not None}
        given = {s.root for s in self.program.parameters if s.memory is not None}
        returned = {v.root for v in self.outputs if v.memory is not None}
        return roots.isdisjoint(returned) and not any(m.is_written for m in roots | given)

    def _may_be_a_view(self, v: Value) -> bool:
        views = {memory.root() for memory in self.program.may_be_views}
        return v.memory is not None and v.root in views

    def argument_of(self, v: Value) -> Slot | None:
        """Return the parameter that an array always is, or always is a view of; None otherwise."""
        v = origin_of(v)
        is_one = v.op.code == "read" and v.op.data.is_stable
        return v.op.data if is_one and v.op.data in self.program.parameters else None

    def _forward_head(self) -> list[str]:
        source = CodeLines()
        names = [slot.name for slot in self.program.parameters]
        source.lines.append(f"def forward({', '.join(names)}):")
        source.add("tape = []")
        source.add("push = tape.append")
        for slot in self.program.parameters:
            if slot.memory is None:
                continue
            axes = self.layout_of(slot)
            if axes is not None:
                source.add(f"{slot.name} = laid_out({slot.name}, {axes})")
            elif slot in self.written_parameters:
                source.add(f"{slot.name} = array({slot.name}, order='K')")
            if slot in self.changed_lists:
                source.add(f"{slot.name} = copied_lists({slot.name})")
                source.add(f"{slot.name}_first = states_in({slot.name})")
            if not slot.is_stable:
                source.add(f"{slot.name}_in = {slot.name}")
            if self.has_shadow(slot) and slot not in self.late_shadows:
                source.add(f"{slot.name}_b = {self._zeros(slot)}")
                if not slot.is_stable:
                    source.add(f"{slot.name}_b_in = {slot.name}_b")
                if slot in self.changed_lists:
                    source.add(f"{slot.name}_b_first = lists_in({slot.name}_b)")
            source.add_all(self._new_views(slot))
        return source.lines

    def _returned(self, v: Value) -> str:
        text = self.in_its_class(v)
        if self.layout_of(v) is not None:
            return f"array({text}, order='C')"
        if v.kind.is_list:
            inner = list(lists_of(v.memory))[-1].root()
            return f"copied_lists({text})" if inner.is_restored else text
        is_plain = not v.kind.is_inexact  # the user may write into what the sweep reads as indices
        if v.memory and (is_plain or v.root.is_restored or self._may_be_a_view(v)):
            text = f"copied({text})"
        # NumPy gives a result the layout of the arguments.
        is_in_layout = self.layouts_of_values and v.kind.is_array
        return f"asarray({text}, order='C')" if is_in_layout else text

    def _written_parameter(self, slot: Slot) -> str:
        copied = slot.root.is_restored
        if self.layout_of(slot) is not None:
            return f"array({self._initial(slot)}, order='C')"
        return self._initial(slot) + (".copy('K')" if copied else "")

    def forward_nodes(self, nodes: list) -> None:
        """Write nodes of the forward function."""
        for node in nodes:
            first = len(self.out.lines)
            if isinstance(node, Block):
                self._forward_block(node)
            elif isinstance(node, If):
                test = self.text(node.test)
                with self.hoisting(None):
                    self._body(f"if {test}:", node.then, *self._push("True", node))
                    self._body("else:", node.otherwise, *self._push("False", node))
            elif node in self.checkpointed:
                self.checkpointed[node].forward()
            else:
                with self.hoisting(node):
                    (self._forward_for if isinstance(node, For) else self._forward_while)(node)
            self.forward_spans[node] = first, len(self.out.lines)

    def _push(self, text: str, node: For | While | If) -> list[str]:
        """Return the line that pushes a branch taken or a trip count, if the sweep reads it."""
        return [] if self.is_test or node in self.empty_sweeps else [f"push({text})"]

    def _forward_for(self, node: For) -> None:
        bounds = ", ".join(self.text(b) for b in node.bounds)
        trips = done = self.fresh("r")
        self.out.add(f"{trips} = range({bounds})")
        first = len(self.out.lines)
        last = []
        if node.broken is not None:
            count = f"{trips}_"
            done = f"{trips}[:{count}]"
            self.counters.append(count)
            self.out.add_all([f"{node.broken} = False", f"{count} = 0"])
            last = [f"{count} += 1", f"if {node.broken}: break"]
        self._body(f"for {node.slot.name} in {trips}:", node.body, *last)
        if self.hoisted is not None:
            indent = "    " * self.out.depth
            self.out.lines[first:first] = [indent + line for line in self.hoisted.lines(trips)]
        self.out.add_all(self._push(done, node))

    def _forward_while(self, node: While) -> None:
        n = self.fresh("n")
        self.counters.append(n)
        self.out.add(f"{n} = 0")
        if node.broken is not None:
            self.out.add(f"{node.broken} = False")

        def body() -> None:
            self.forward_test(node)
            self.out.add(f"if not {self.text(node.test)}: break")
            self.forward_nodes(node.body)
            self.out.add(f"{n} += 1")

        self.out.inside("while True:", body, [f"if {node.broken}: break"] if node.broken else [])
        self.out.add_all(self._push(n, node))

    def forward_test(self, node: While) -> None:
        """Write the nodes that compute the test of a loop."""
        is_test, self.is_test = self.is_test, True
        self.forward_nodes(node.before)
        self.is_test = is_test

    def _body(self, head: str, nodes: list, *last: str) -> None:
        self.out.inside(head, lambda: self.forward_nodes(nodes), last)

    def _forward_block(self, block: Block) -> None:
        out = self.out
        pushes = self.pushes.get(block, {})
        used_later = set(block.writes.values())
        for k, op in enumerate(block.ops):
            value = op.out
            if value is None:
                self._forward_write(op, block)
                continue
            if op.code == "read":
                self._forward_read(value, block)
                continue
            hoisted = self._hoisted_view(op)
            if hoisted is not None:
                self.inlined[value] = hoisted
                continue
            if value.name + "_pull" in pushes:
                out.add(f"{value.name}, {value.name}_pull = {record_call(self, op)}")
            elif op in self.started:
                out.add(f"{value.name} = {start_call(self, op)}")
            else:
                text = native_call(self, op, pushes) or source_of(self, op, self.text_for(op))
                self.shapes.note(op)
                if self._can_be_inlined(op, k, block, pushes, used_later):
                    self.shapes.compare(op)
                    self.inlined[value] = text
                    continue
                axes = self.layout_of(value)
                if op.code == "call" and axes is not None:
                    text = call_in_layout(self, op, text, axes)
                out.add(f"{value.name} = {text}")
            self._check(op)
            if self._makes_shadow(op):
                out.add(f"{value.name}_b = {self._new_shadow(op)}")
        names = [self._pushed(p) for p in pushes.values()]
        if names:
            self.push_names[len(out.lines)] = list(pushes)
            out.add(f"push({names[0]})" if len(names) == 1 else f"push(({', '.join(names)}))")
        self._bind_slots(block)

    def _bind_slots(self, block: Block) -> None:
        """Bind the variables that a block writes, their shadows and their memoryviews."""
        names, values, new_views = [], [], []
        for slot, value in new_bindings(block):
            names.append(slot.name)
            values.append(self._bound(slot, value))
            if self.has_shadow(slot):
                names.append(f"{slot.name}_b")
                values.append(self.shadow_forward(value))
            views = self._views(slot)
            if value.op.code == "read" and set(views) <= set(self._views(value.op.data)):
                names += [f"{slot}{m}" for m in views]
                values += [f"{self.text(value)}{m}" for m in views]
            else:
                new_views += self._new_views(slot)
        if names:
            self.out.add(f"{', '.join(names)} = {', '.join(values)}")
        self.out.add_all(new_views)

    def _forward_read(self, v: Value, block: Block) -> None:
        """Keep the value of a variable under its own name if the block rebinds the variable."""
        slot = v.op.data
        if self._is_rebound(v, block):
            self.out.add(f"{v.name} = {slot.name}")
            self.renamed.add(v)
            if self.has_shadow(v):
                self.out.add(f"{v.name}_b = {slot.name}_b")
            self.out.add_all([f"{v.name}{m} = {slot}{m}" for m in self._views(slot)])

    def _hoisted_view(self, op: Op) -> str | None:
        """Return the name of a view that is hoisted out of the loop; None for other operations."""
        if op.code != "view" or op.data == CALLED:
            return None
        value: Any = op.out
        return self._hoisted_name(self._invariant_source(value, lambda slot: True))

    def _new_views(self, slot: Slot) -> list[str]:
        return [f"{slot}{m} = memoryview({slot}{m[:-2]})" for m in self._views(slot)]

    def _bound(self, slot: Slot, v: Value) -> str:
        """Return the expression that a variable is bound to."""
        if slot not in self.plain.loose:
            return self.in_its_class(v)
        is_float = v.kind.classes == {np.float64} and v not in self.plain.loose
        return f"float({self.text(v)})" if is_float and slot.is_stable else self.text(v)

    def _makes_shadow(self, op: Op) -> bool:
        v = op.out if op.code in _WITH_NEW_SHADOW else None
        return v is not None and self.has_shadow(v) and not self.is_filled(v)

    def makes_new_shadow(self, op: Op) -> bool:
        """Whether an operation makes an array with a shadow of its own."""
        made = self._makes_shadow(op) and op.code != "item"
        return made and op.out is not None and op.out.kind.is_array

    def _new_shadow(self, op: Op) -> str:
        """Return the expression of the shadow of a result, or of an item read from a list."""
        if op.code == "item":
            base = self.shadow_forward(op.args[0])
            return self.view_of_shadow(op, base, self.text)
        if op.code == "dict" and op.out.kind.is_table:
            shadows = self.dict_of(op, list(map(self.shadow_of_item, op.args)))
            return f"zeros_by_key(float, {shadows})" if op.args else "zeros_by_key(float)"
        if op.code == "dict":
            return self.dict_of(op, list(map(self.shadow_of_item, op.args)))
        if op.code != "list":
            return self._zeros(op.out)
        if op.data:
            return f"[0.0] * len({op.out})"
        return f"[{', '.join(map(self.shadow_of_item, op.args))}]"

    def shadow_of_item(self, v: Value) -> str:
        """Return the shadow of an item that is put into a list, as forward source."""
        if not v.kind.has_memory:
            return "0.0"
        return self.shadow_forward(v) if self.has_shadow(v) else "None"

    def shadow_forward(self, v: Value) -> str:
        """Return the shadow of an array or list as source of the forward function."""
        op = v.op
        if op.code == "read":
            return f"{v.name}_b" if v in self.renamed else f"{op.data.name}_b"
        if op.code == "view":
            base = self.shadow_forward(op.args[0])
            return self.view_of_shadow(op, base, self.text)
        return f"{v.name}_b"

    def _can_be_inlined(
        self, op: Op, k: int, block: Block, pushes: dict, used_later: set[Value]
    ) -> bool:
        """Whether to write an operation where its result is read: once, with no write between."""
        value: Any = op.out
        if value.uses != 1 or value in used_later or op.code == "draw":
            return False
        if op.code == "call" and self.layout_of(value) is not None:
            return False
        if {value.name, value.name + "_b", value.name + "_shape"} & pushes.keys():
            return False
        if self._makes_shadow(op) or needs_guard(op) or is_rounded(op):
            return False
        if value in self.shapes.compared(op):
            return False
        for later in block.ops[k + 1 :]:
            if value in later.args or value in later.options.values():
                is_compared = later.code == "call" and value in self.shapes.compared(later)
                if is_compared and self.shapes.text(value, True) is None:
                    return False
                return later.out is not None or later.args[0] is not value
            if later.out is None:
                return False
        return False

    def _check(self, op: Op) -> None:
        """Write the guard of a result whose kind could depend on values or shapes."""
        value = op.out
        assert value is not None
        self.shapes.compare(op)
        if is_rounded(op):  # a larger integer may keep all digits of the number: no rounding
            self.out.add(f"if not {-EXACT} < {value.name} < {EXACT}: raise Changed")
        if not needs_guard(op):
            return
        if value.kind.is_array:
            dtype = self.constants.name(value.kind.dtype)
            self.out.add(
                f"if {value.name}.ndim != {value.kind.ndim} or {value.name}.dtype != {dtype}: "
                "raise Changed"
            )
        elif value.kind.parts:
            self.out.add(f"if len({value.name}) != {len(value.kind.parts)}: raise Changed")
        elif value.kind.is_scalar:
            loose = {bool, float} if value in self.plain.loose else set()
            classes = self.constants.name(tuple(sorted(value.kind.classes | loose, key=repr)))
            self.out.add(f"if type({value.name}) not in {classes}: raise Changed")

    def _forward_write(self, op: Op, block: Block) -> None:
        texts = {"break": f"{op.data} = True", "raise": "raise Changed",
                 "leave": f"{op.data}.__exit__(None, None, None)"}  # fmt: skip
        if op.code in texts:
            self.out.add(texts[op.code])
        elif op.code == "enter":
            name, options = op.data
            self.out.add_all([f"{name} = errstate(**{options!r})", f"{name}.__enter__()"])
        elif op.code == "show":
            given = "".join(f", {self.text(a)}" for a in op.args)
            self.out.add(f"add_message({self.constants.name(op.data)}{given})")
        elif op.code in LIST_WRITES:
            write_mutation(self, op, self.pushes.get(block, {}))
        else:
            self._forward_store(op, block)

    def _forward_store(self, op: Op, block: Block) -> None:
        base, value, *at = op.args
        given = self.text_for(op)(value)
        place = self.place_of(op, self.text(base))
        target = f"{place}[{self.index(op.data, [self.text(a) for a in at])}]"
        old = self.old_name(op)
        if old in self.pushes.get(block, {}):
            is_view = region_of(op).is_array and (self.for_native or not has_arrays(op.data))
            self.out.add(f"{old} = {target}" + (".copy()" if is_view else ""))
        if op.code == "store" and _may_overlap(base, value) and not has_places(op.data, at):
            # With other strides, NumPy chooses the order of writing. At index arrays it copies
            # first.
            self.out.add(f"if {given}.strides != {target}.strides: raise Changed")
        self.shapes.compare_written(op, target, given)
        sign = {"store": "=", "add": "+=", "sub": "-="}[op.code]
        if op.f is np.add:
            index = self.index(op.data, [self.text(a) for a in at])
            self.out.add(f"add_at({self.text(base)}, s_[{index}], {given})")
        elif op.data == WHOLE and op.code != "store":
            self.out.add(f"{self.text(base)} {sign} {given}")
        else:
            self.out.add(self._in_place(op, target) or f"{target} {sign} {given}")

    def _in_place(self, op: Op, target: str) -> str | None:
        """Return a write as an in-place operator (``x[k:] *= a``); None if it is no such update."""
        base, value, *at = op.args
        made = value.op
        sign = SIGNS.get(made.f)
        if op.code != "store" or value not in self.inlined or sign not in ("*", "/", "-", "+"):
            return None
        if self.for_native or self.compares_all or value.kind.dtype != base.kind.dtype:
            return None
        old, other = made.args
        is_same = old.op.code == "view" and old.op.data == op.data
        if not is_same or old.op.args != [base, *at] or old.kind.ndim != value.kind.ndim:
            return None
        name = self.text(old)
        return f"{name if name.isidentifier() else target} {sign}= {self.text_for(made)(other)}"

    def _pushed(self, pushed: TapeEntry) -> str:
        """Return what is pushed, as source of the forward function."""
        if isinstance(pushed, str):
            return pushed
        v, part = pushed
        is_shadow = part.startswith("_b")
        text = self.shadow_forward(v) if is_shadow else self.text(v)
        return text + (".shape" if part == "_shape" else part.removeprefix("_b"))


def _may_overlap(base: Value, value: Value) -> bool:
    """Whether a vector that is stored may share memory with the array that it is stored into."""
    own, given = base.memory, value.memory if value.kind.ndim == 1 else None
    return own is not None and given is not None and own.root() is given.root()
