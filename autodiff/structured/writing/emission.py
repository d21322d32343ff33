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

import operator
import re
from collections.abc import Callable, Container, Iterable
from typing import Any

import numpy as np

from autodiff.functions import SIGNS, UFUNC_OF
from autodiff.structured.form.indices import has_arrays, region_of
from autodiff.structured.form.ir import (
    Block,
    For,
    If,
    Memory,
    Op,
    Program,
    Slot,
    Value,
    While,
    binds,
    blocks_of,
    flat,
)
from autodiff.structured.form.known_functions import CALLED
from autodiff.structured.form.order import Order
from autodiff.structured.form.regions import spares
from autodiff.structured.writing.activity import (
    adds_alone,
    is_active,
    is_rounded,
    written_parameters,
)
from autodiff.structured.writing.block_sweep import BlockSweep
from autodiff.structured.writing.calls_without_rules import is_display
from autodiff.structured.writing.checkpoints import CheckpointedLoop
from autodiff.structured.writing.layouts import layouts
from autodiff.structured.writing.loop_views import LoopViews
from autodiff.structured.writing.partial_source import Constants
from autodiff.structured.writing.plain_floats import PlainFloats
from autodiff.structured.writing.shapes import Shapes
from autodiff.trace.checks.conversions import EXACT

SYMBOLS: dict[Any, str] = {
    **{f: SIGNS[ufunc] for f, ufunc in UFUNC_OF.items() if ufunc in SIGNS and f is not ufunc},
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
}
_ATTRIBUTES = {np.real: "real", np.imag: "imag"}
_ATTRIBUTE_VIEWS = ("T", "real", "imag")
_PREFIXES: dict[Any, str] = {operator.neg: "-", operator.pos: "+", operator.not_: "not "}
_LITERALS = (bool, int, float, str, type(None))
_NEW = ("call", "load", "list", "item", "join")  # each makes an array or list with a shadow
_AGAIN = frozenset({operator.add, operator.sub, operator.mul, operator.floordiv, operator.neg})


_Pushed = str | tuple[Value, str]
"""A name, or a value and what of it: nothing, ``_b`` for its shadow, ``_shape``.

``_m`` and ``_b_m`` are the memoryviews of an array and of its shadow.
"""


class Source:
    """Lines of code, with their depth."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def add(self, line: str) -> None:
        """Add a line at this depth."""
        self.lines.append("    " * self.depth + line)

    def add_all(self, lines: Iterable[str]) -> None:
        """Add lines at this depth."""
        for line in lines:
            self.add(line)


class Emitter:
    """Writes the forward and the backward function of a program."""

    def __init__(
        self,
        program: Program,
        broadcasts: frozenset[int],
        steep: frozenset[int] = frozenset(),
        for_machine: bool = False,
        has_checkpoints: bool = False,
        has_plain_floats: bool = False,
        compares_all: bool = False,
        notes_steep: bool = False,
    ) -> None:
        self.program = program
        self.broadcasts = broadcasts  # the numbers of operations in which arrays are broadcast
        self.compares_all = compares_all  # also shapes that an error would tell of
        self.steep = steep  # the numbers of operations in which slopes are infinite
        self.notes_steep = notes_steep  # the sweep looks for these operations
        self.for_machine = for_machine  # which has no variables for cotangents of arrays
        for slot in program.slots:
            slot.is_stable = slot.writes == 1
        arrays = [s for s in program.slots if s.memory is not None and not s.is_stable]
        self.rebound = {s.memory.root() for s in arrays}  # type: ignore[union-attr]
        self.plain = PlainFloats(program if has_plain_floats else None)
        self.constants = Constants()
        self.written_parameters = written_parameters(program)
        self.order = Order(program.body)
        self.current: Any = None  # the operation whose sweep is written
        # For each block: name in the backward function → what the forward function pushes.
        self.pushes: dict[Block, dict[str, _Pushed]] = {}
        self.loops: list[Slot] = []
        self.enclosing: list[For | While] = []  # loops, the outermost first
        self.shared: LoopViews | None = None  # of the loop whose body is written
        # Of outer products, added when a loop or, for None, the function ends.
        self.sums: dict[For | While | None, dict[Any, str]] = {}
        self.number = 0
        self.is_test = False  # of a while loop: the sweep does not pass it, so nothing is pushed
        self.inlined: dict[Value, str] = {}
        self.renamed: set[Value] = set()
        self.shapes = Shapes(self)
        self.layouts = {} if for_machine or has_checkpoints else layouts(program)
        self.late: set[Slot] = set()  # parameters whose shadows the backward function makes
        self.viewed: set[str] = set()  # arrays that the sweep reads through a memoryview
        # The loops that keep some of their states.
        loops = [node for node in program.body if isinstance(node, (For, While))]
        made = [CheckpointedLoop(self, node) for node in loops if has_checkpoints]
        self.checkpointed = {loop.node: loop for loop in made if loop.has_states}
        # What becomes of it in machine code: lines, those of each loop, what is pushed where.
        self.forward_head: list[str] = []
        self.forward_lines: list[str] = []
        self.backward_head: list[str] = []
        self.backward_lines: list[str] = []
        self.forward_spans: dict[Any, tuple[int, int]] = {}
        self.backward_spans: dict[Any, tuple[int, int]] = {}
        self.push_names: dict[int, list[str]] = {}
        self.counters: list[str] = []
        self.adjoints: dict[int, tuple[Any, int]] = {}  # by id: of which function and argument

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

    def has_shadow(self, x: Value | Slot) -> bool:
        """Whether cotangents are added up in an array of the same layout."""
        if x.memory is None:
            return False
        memory = x.memory.root()
        if memory.is_written or memory.is_indexed or not memory.is_active:
            return memory.is_active
        return memory.leaves_block and (self.for_machine or memory not in self.rebound)

    def has_variable(self, slot: Slot) -> bool:
        """Whether the cotangent of what a variable holds is a variable, too."""
        if slot.memory is None:
            return slot.is_active
        return slot.memory.root().is_active and not self.has_shadow(slot)

    def _count_of_readers(self) -> int:
        memories = {
            v.memory.root()
            for block in blocks_of(self.program.body)
            for op in block.ops
            for v in (op.out, *op.args)
            if v is not None and v.memory is not None
        }
        return sum(len(m.readers) for m in memories)

    # -- what both directions write ----------------------------------------------------------------

    def const(self, x: Any) -> str:
        """Return a constant as it is written, or the name under which code finds it."""
        if type(x) in _LITERALS and x == x and x not in (float("inf"), -float("inf")):
            text = repr(x)
            return f"({text})" if text.startswith("-") else text
        if type(x) is tuple:
            return "(" + "".join(f"{self.const(p)}, " for p in x) + ")"
        return self.constants.name(x)

    def index(self, template: Any, texts: list[str]) -> str:
        """Return an index as it is written."""

        def one(part: tuple) -> str:
            if part[0] == "known":
                return "..." if part[1] is Ellipsis else "None"
            if part[0] == "slice":
                low, high, step = ["" if b is None else texts[b] for b in part[1:]]
                return f"{low}:{high}" + (f":{step}" if step else "")
            return texts[part[1]]

        if template and isinstance(template[0], str):
            return one(template)
        return ", ".join(map(one, template)) + ("," if len(template) == 1 else "")

    def operation(self, op: Op, text: Callable[[Value], str]) -> str:
        """Return an operation as an expression."""
        args = [text(a) for a in op.args]
        if op.code in ("view", "load", "item") and op.data != CALLED:
            if op.data in _ATTRIBUTE_VIEWS:
                return f"{args[0]}.{op.data}"
            base = self.place_of(op, args[0])
            index = self.index(op.data, args[1:])
            return f"{base}.item({index})" if op in self.plain.items else f"{base}[{index}]"
        if op.code == "form":
            return f"len({args[0]})" if op.data == "len" else f"{args[0]}.{op.data}"
        if op.code == "list":
            *items, times = args if op.data else [*args, ""]
            return f"[{', '.join(items)}]" + (f" * {times}" if op.data else "")
        if op.code == "tuple":
            return "(" + "".join(f"{a}, " for a in args) + ")"
        if op.code == "part":
            return f"{args[0]}[{op.data}]"
        symbol = SYMBOLS.get(op.f)
        if symbol is not None:
            return f"({args[0]} {symbol} {args[1]})"
        if op.f in _PREFIXES:
            return f"({_PREFIXES[op.f]}{args[0]})"
        if op.f in _ATTRIBUTES:
            return f"({args[0]}).{_ATTRIBUTES[op.f]}"
        named = [f"{name}={text(v)}" for name, v in op.options.items()]
        return f"{self.constants.name(op.f)}({', '.join([*args, *named])})"

    def blas(self, name: str) -> str:
        """Return the name of a function of `blas_sums`, which is imported when it is needed."""
        from autodiff.structured import blas_sums

        self.constants.scope.update(blas_sums.SCOPE)
        return name

    def is_strong(self, op: Op) -> bool:
        """Whether a cotangent that is 0 stays 0 in an operation, however steep it is."""
        return self.notes_steep or self.shapes.numbers[op] in self.steep

    def place_of(self, op: Op, array: str) -> str:
        """Return where an operation reads or writes in an array: in its memoryview, if it can."""
        return f"{array}_m" if op in self.plain.elements else array

    def in_its_class(self, v: Value) -> str:
        """Return a number, in the class that it has in the function."""
        text = self.text(v)
        if v not in self.plain.loose or len(v.kind.classes) > 1:
            return text
        return f"{self.constants.name(next(iter(v.kind.classes)))}({text})"

    def text_for(self, op: Op) -> Callable[[Value], str]:
        """Return what writes the arguments of an operation of the forward function."""
        return self.text if op in self.plain.lenient else self.in_its_class

    # -- forward -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Forget how the forward function has been written before."""
        self.inlined, self.renamed = {}, set()
        self.shapes.found = {}

    def _forward(self) -> None:
        self._begin()
        body = self.out = Source()
        self.forward_nodes(self.program.body)
        outs = [self._returned(v) for v in self.outputs]
        written = [self._written(s) for s in self.written_parameters]
        for v, out in zip(self.outputs, outs, strict=True):
            for slot in self._arguments_that_may_be(v):
                body.add(f"if may_share({out}, {self._initial(slot)}): raise Changed")
        body.add(f"outs = ({''.join(f'{o}, ' for o in [*outs, *written])})")
        text = "\n".join(body.lines)
        shadowed = [s for s in self.program.parameters if s.is_stable and self.has_shadow(s)]
        self.late = {s for s in shadowed if not re.search(rf"\b{s.name}_b\b", text)}
        body.add(f"return outs, ({''.join(f'{n}, ' for n in self._frame())}), tape")
        self.forward_head, self.forward_lines = self._forward_head(), body.lines

    def _arguments_that_may_be(self, v: Value) -> list[Slot]:
        """Return the arguments that a variable holds if it is not bound anew."""
        if v.memory is None or v.op.code != "read" or v.op.data.is_stable:
            return []
        memory, slots = v.memory.root(), self.program.parameters
        return [s for s in slots if s.memory is not None and s.memory.root() is memory]

    def _forward_head(self) -> list[str]:
        source = Source()
        names = [slot.name for slot in self.program.parameters]
        source.lines.append(f"def forward({', '.join(names)}):")
        source.add("tape = []")
        source.add("push = tape.append")
        for slot in self.program.parameters:
            memory = slot.memory.root() if slot.memory is not None else None
            if memory is None:
                continue
            if slot in self.written_parameters:
                source.add(f"{slot.name} = array({slot.name}, order='K')")
            if not slot.is_stable:
                source.add(f"{slot.name}_in = {slot.name}")
            if self.has_shadow(slot) and slot not in self.late:
                source.add(f"{slot.name}_b = {self._zeros(slot)}")
                if not slot.is_stable:
                    source.add(f"{slot.name}_b_in = {slot.name}_b")
            source.add_all(self._new_views(slot))
        return source.lines

    @property
    def outputs(self) -> list[Value]:
        """The values that are returned, one after the other."""
        return flat(self.program.returned)

    def _initial(self, slot: Slot) -> str:
        return slot.name if slot.is_stable else f"{slot.name}_in"

    def _initial_shadow(self, slot: Slot) -> str:
        return f"{slot.name}_b" if slot.is_stable else f"{slot.name}_b_in"

    def _returned(self, v: Value) -> str:
        text = self.in_its_class(v)
        if v.memory is not None and v.memory.root().is_restored:
            return f"{text}.copy('K')"
        return text

    def _written(self, slot: Slot) -> str:
        copied = slot.memory.root().is_restored  # type: ignore[union-attr] # an array has one
        return self._initial(slot) + (".copy('K')" if copied else "")

    def _frame(self) -> list[str]:
        """Return the names that both functions know: variables bound once, and parameters."""
        names: dict[str, None] = {}
        for slot in self.program.slots:
            if slot.is_stable and (slot.reads or slot in self.program.parameters):
                names[slot.name] = None
                if self.has_shadow(slot) and slot not in self.late:
                    names[f"{slot.name}_b"] = None
        for slot in self.program.parameters:
            if self.has_shadow(slot) and slot not in self.late:
                names[self._initial_shadow(slot)] = None
            elif slot.memory is not None and self.has_variable(slot):
                names[self._initial(slot)] = None
        return list(names)

    def forward_nodes(self, nodes: list) -> None:
        """Write what the forward function does."""
        for node in nodes:
            if isinstance(node, Block):
                self._forward_block(node)
            elif isinstance(node, If):
                test, shared, self.shared = self.text(node.test), self.shared, None
                self._turns(f"if {test}:", node.then, *self._push("True"))
                self._turns("else:", node.otherwise, *self._push("False"))
                self.shared = shared
            elif node in self.checkpointed:
                self.checkpointed[node].forward()
            else:
                first, shared = len(self.out.lines), self.shared
                self.shared = self._shared_views(node)
                (self._forward_for if isinstance(node, For) else self._forward_while)(node)
                self.forward_spans[node] = first, len(self.out.lines)
                self.shared = shared

    def _push(self, text: str) -> list[str]:
        return [] if self.is_test else [f"push({text})"]

    def _forward_for(self, node: For) -> None:
        bounds = ", ".join(self.text(b) for b in node.bounds)
        n = self.fresh("r")
        self.out.add(f"{n} = range({bounds})")
        first = len(self.out.lines)
        if node.broken is None:
            self._turns(f"for {node.slot.name} in {n}:", node.body)
            self._make_shared_views(first, n)
            self.out.add_all(self._push(n))
            return
        self.counters.append(f"{n}_")
        self.out.add(f"{node.broken} = False")
        self.out.add(f"{n}_ = 0")
        last = [f"{n}_ += 1", f"if {node.broken}: break"]
        self._turns(f"for {node.slot.name} in {n}:", node.body, *last)
        self._make_shared_views(first, n)
        self.out.add_all(self._push(f"{n}[:{n}_]"))

    def _shared_views(self, node: For | While) -> LoopViews | None:
        """Return what collects views of a loop; LLVM does so by itself."""
        return None if self.for_machine or isinstance(node, While) else LoopViews(node)

    def _make_shared_views(self, at: int, turns: str) -> None:
        """Make the views that the turns of a loop share, before a line."""
        if self.shared is not None:
            indent = "    " * self.out.depth
            self.out.lines[at:at] = [indent + line for line in self.shared.lines(turns)]

    def _forward_while(self, node: While) -> None:
        n = self.fresh("n")
        self.counters.append(n)
        self.out.add(f"{n} = 0")
        if node.broken is not None:
            self.out.add(f"{node.broken} = False")
        self.out.add("while True:")
        self.out.depth += 1
        self.forward_test(node)
        self.out.add(f"if not {self.text(node.test)}: break")
        self.forward_nodes(node.body)
        self.out.add(f"{n} += 1")
        if node.broken is not None:
            self.out.add(f"if {node.broken}: break")
        self.out.depth -= 1
        self.out.add_all(self._push(n))

    def forward_test(self, node: While) -> None:
        """Write what makes the test of a loop."""
        is_test, self.is_test = self.is_test, True
        self.forward_nodes(node.before)
        self.is_test = is_test

    def _turns(self, head: str, nodes: list, *last: str) -> None:
        self.out.add(head)
        n = len(self.out.lines)
        self.out.depth += 1
        self.forward_nodes(nodes)
        self.out.add_all(last)
        if len(self.out.lines) == n:
            self.out.add("pass")
        self.out.depth -= 1

    def fresh(self, stem: str) -> str:
        """Return a name that is not used."""
        self.number += 1
        return f"{stem}_{self.number}_"

    def text(self, v: Value) -> str:
        """Return a value as the forward function writes it."""
        if v.op.code == "const":
            return self.const(v.op.data)
        if v in self.inlined:
            return self.inlined[v]
        if v.op.code == "read":
            return v.name if v in self.renamed else v.op.data.name
        return v.name

    def _forward_block(self, block: Block) -> None:
        out = self.out
        pushes = self.pushes.get(block, {})
        pushed = set(pushes)
        used_later = set(block.writes.values())
        for k, op in enumerate(block.ops):
            value = op.out
            if value is None:
                self._forward_write(op, block)
                continue
            if op.code == "read":
                self._forward_read(value, block)
                continue
            if self._is_shared(op):
                continue
            if value.name + "_pull" in pushes:
                out.add(f"{value.name}, {value.name}_pull = {self._recorded(op)}")
            else:
                text = self.operation(op, self.text_for(op))
                self.shapes.note(op)
                if self._can_be_inlined(op, k, block, pushed, used_later):
                    self.shapes.compare(op)
                    self.inlined[value] = text
                    continue
                out.add(f"{value.name} = {text}")
            self._check(op)
            if self._makes_shadow(op):
                out.add(f"{value.name}_b = {self._new_shadow(op)}")
        names = [self._pushed(p) for p in pushes.values()]
        if names:
            self.push_names[len(out.lines)] = list(pushes)
            out.add(f"push({names[0]})" if len(names) == 1 else f"push(({', '.join(names)}))")
        slots, values, made = [], [], []
        for slot, value in block.writes.items():
            if value.op.code == "read" and value.op.data is slot:
                continue
            slots.append(slot.name)
            values.append(self._bound(slot, value))
            if self.has_shadow(value):
                slots.append(f"{slot.name}_b")
                values.append(self._shadow_forward(value))
            views = self._views(slot)
            if value.op.code == "read" and set(views) <= set(self._views(value.op.data)):
                slots += [f"{slot}{m}" for m in views]
                values += [f"{self.text(value)}{m}" for m in views]
            else:
                made += self._new_views(slot)
        if slots:
            out.add(f"{', '.join(slots)} = {', '.join(values)}")
        out.add_all(made)

    def _forward_read(self, v: Value, block: Block) -> None:
        """Keep what a variable holds, if it is bound anew and what follows may read this value."""
        slot = v.op.data
        if self._is_rebound(v, block):
            self.out.add(f"{v.name} = {slot.name}")
            self.renamed.add(v)
            if self.has_shadow(v):
                self.out.add(f"{v.name}_b = {slot.name}_b")
            self.out.add_all([f"{v.name}{m} = {slot}{m}" for m in self._views(slot)])

    def _is_shared(self, op: Op) -> bool:
        """Whether an operation makes a view that is made before the loop, and has a name there."""
        if op.code != "view" or op.data == CALLED:
            return False
        value: Any = op.out
        name = self._shared_view(self._same_in_turns(value, lambda slot: True))
        if name is not None:
            self.inlined[value] = name
        return name is not None

    def _views(self, slot: Slot) -> list[str]:
        """Return the endings of the memoryviews that the forward function has of a variable.

        The sweep makes its own of shadows that are always at hand.
        """
        if slot not in self.plain.arrays:
            return []
        return ["_m"] if slot.is_stable or not self.has_shadow(slot) else ["_m", "_b_m"]

    def _new_views(self, slot: Slot) -> list[str]:
        return [f"{slot}{m} = memoryview({slot}{m[:-2]})" for m in self._views(slot)]

    def _bound(self, slot: Slot, v: Value) -> str:
        """Return what a variable is bound to."""
        if slot not in self.plain.loose:
            return self.in_its_class(v)
        is_float = v.kind.classes == {np.float64} and v not in self.plain.loose
        return f"float({self.text(v)})" if is_float and slot.is_stable else self.text(v)

    def _is_rebound(self, v: Value, block: Block) -> bool:
        return v.op.data in block.writes and block.writes[v.op.data] is not v

    def _makes_shadow(self, op: Op) -> bool:
        value = op.out
        return value is not None and op.code in _NEW and self.has_shadow(value)

    def _new_shadow(self, op: Op) -> str:
        """Return a shadow for what an operation makes, or reads in a list, as it is written."""
        if op.code == "item":
            base = self._shadow_forward(op.args[0])
            return self.operation(op, lambda a: base if a is op.args[0] else self.text(a))
        if op.code != "list":
            return self._zeros(op.out)  # type: ignore[arg-type] # it makes an array
        if op.data:
            return f"[0.0] * len({op.out})"
        return f"[{', '.join(map(self._shadow_of_item, op.args))}]"

    def _zeros(self, x: Value | Slot) -> str:
        """Return a new shadow of an array as it is written."""
        axes = self.layouts.get(x.memory.root())  # type: ignore[union-attr] # an array has one
        if axes is None or x.kind is None or x.kind.ndim != len(axes):
            return f"zeros_like({x})"
        return f"zeros_along({x}, {axes})"

    def _shadow_of_item(self, v: Value) -> str:
        return self._shadow_forward(v) if v.kind.has_memory else "0.0"

    def _shadow_forward(self, v: Value) -> str:
        op = v.op
        if op.code == "read":
            return f"{v.name}_b" if v in self.renamed else f"{op.data.name}_b"
        if op.code == "view":
            base = self._shadow_forward(op.args[0])
            return self.operation(op, lambda a: base if a is op.args[0] else self.text(a))
        return f"{v.name}_b"

    def _can_be_inlined(
        self, op: Op, k: int, block: Block, pushed: set[str], used_later: set[Value]
    ) -> bool:
        """Whether an operation is written where its value is read: once, with no write between."""
        value = op.out
        assert value is not None
        if value.uses != 1 or value.name in pushed or value in used_later:
            return False
        if {value.name + "_b", value.name + "_shape"} & pushed:
            return False
        if self._makes_shadow(op) or _is_checked(op):
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
        """Check a result whose kind could depend on values, or on shapes."""
        value = op.out
        assert value is not None
        self.shapes.compare(op)
        if is_rounded(op):  # an integer beyond may hold all digits of the number
            self.out.add(f"if not {-EXACT} < {value.name} < {EXACT}: raise Changed")
        if not _is_checked(op):
            return
        if value.kind.is_array:
            dtype = self.constants.name(value.kind.dtype)
            self.out.add(
                f"if {value.name}.ndim != {value.kind.ndim} or {value.name}.dtype != {dtype}: "
                "raise Changed"
            )
        elif value.kind.is_scalar:
            loose = {bool, float} if value in self.plain.loose else set()
            classes = self.constants.name(tuple(sorted(value.kind.classes | loose, key=repr)))
            self.out.add(f"if type({value.name}) not in {classes}: raise Changed")

    def _recorded(self, op: Op) -> str:
        bound = op.rule
        wanted = tuple([
            i for i, a in enumerate(bound.args) if isinstance(a, Value) and is_active(a)
        ])  # fmt: skip
        record = self.constants.name(bound.rule.record)
        text = self.text_for(op)
        args = "".join(
            f"{text(a) if isinstance(a, Value) else self.const(a)}, " for a in bound.args
        )
        named = ", ".join(
            f"{name!r}: {text(a) if isinstance(a, Value) else self.const(a)}"
            for name, a in bound.options.items()
        )
        return f"{record}(({args}), {{{named}}}, {wanted!r})"

    def _forward_write(self, op: Op, block: Block) -> None:
        if op.code == "break":
            self.out.add(f"{op.data} = True")
            return
        if op.code == "raise":
            self.out.add("raise Changed")
            return
        if op.code == "enter":
            name, options = op.data
            made = ", ".join(f"{key}={option!r}" for key, option in options.items())
            self.out.add_all([f"{name} = errstate({made})", f"{name}.__enter__()"])
            return
        if op.code == "leave":
            self.out.add(f"{op.data}.__exit__(None, None, None)")
            return
        base, value, *at = op.args
        given = self.text_for(op)(value)
        if op.code == "append":
            self.out.add(f"{self.text(base)}.append({given})")
            if self.has_shadow(base):
                shadow = self._shadow_forward(base)
                self.out.add(f"{shadow}.append({self._shadow_of_item(value)})")
            return
        place = self.place_of(op, self.text(base))
        target = f"{place}[{self.index(op.data, [self.text(a) for a in at])}]"
        old = self.old_name(op)
        if op.code == "set":
            self._forward_set(op, target, old if old in self.pushes.get(block, {}) else None)
            return
        if old in self.pushes.get(block, {}):
            is_view = region_of(op).is_array and (self.for_machine or not has_arrays(op.data))
            self.out.add(f"{old} = {target}" + (".copy()" if is_view else ""))
        if op.code == "store" and _may_overlap(base, value):
            # NumPy writes along another direction in an order of its own, not as if it had copied.
            self.out.add(f"if {given}.strides != {target}.strides: raise Changed")
        self.shapes.compare_written(op, target, given)
        sign = {"store": "=", "add": "+=", "sub": "-="}[op.code]
        if op.data == ("known", Ellipsis) and op.code != "store":
            name = self.text(base)
            self.out.add(f"{name} {sign} {given}")
            return
        self.out.add(f"{target} {sign} {given}")

    def _forward_set(self, op: Op, target: str, old: str | None) -> None:
        """Write an item of a list; an array in it has its shadow in the shadow of the list."""
        base, value, at = op.args
        self.out.add(f"{target} = {self.in_its_class(value)}")
        if value.kind.has_memory and self.has_shadow(base):
            shadow = f"{self._shadow_forward(base)}[{self.text(at)}]"
            if old is not None:
                self.out.add(f"{old} = {shadow}")
            self.out.add(f"{shadow} = {self._shadow_forward(value)}")

    def old_name(self, op: Op) -> str:
        """Return the name of what a write overwrites."""
        return f"old{id(op)}"

    # -- backward ----------------------------------------------------------------------------------

    def _backward(self) -> list[str]:
        self._begin()
        self.viewed = set()
        source = self.out = Source()
        for s in filter(self.has_variable, self.program.slots):
            source.add(f"{s.name}_b = 0.0")
        self.seeded: dict[Value, list[str]] = {}
        self.sums = {}
        n = 0
        for v in self.outputs:
            if is_active(v):
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

    def _backward_head(self) -> list[str]:
        source = Source()
        source.lines.append("def backward(frame, tape, outs, seeds):")
        source.add("pop = tape.pop")
        frame = "".join(f"{n}, " for n in self._frame())
        if frame:
            source.add(f"({frame}) = frame")
        for slot in self.program.parameters:
            if slot in self.late:
                source.add(f"{slot.name}_b = {self._zeros(slot)}")
        source.add_all([f"{name}_m = memoryview({name})" for name in sorted(self.viewed)])
        return source.lines

    def _seed(self, v: Value, text: str) -> None:
        self.seeded.setdefault(v, []).append(text)

    def _backward_nodes(self, nodes: list) -> None:
        out = self.out
        for node in reversed(nodes):
            if isinstance(node, Block):
                self._backward_block(node)
                continue
            if node in self.checkpointed:
                self.checkpointed[node].backward(self._sweep_of(node))
                continue
            first, shared, self.shared = len(out.lines), self.shared, None
            if isinstance(node, (For, While)):
                self.enclosing.append(node)
                self.shared = self._shared_views(node)
            if isinstance(node, For):
                own = not binds(node.body, node.slot)
                out.add(f"for {node.slot.name if own else '_'} in reversed(pop()):")
                if own:
                    self.loops.append(node.slot)
                self._indented(node.body)
                if own:
                    self.loops.pop()
                if self.shared is not None and self.shared.names:
                    turns = self.fresh("r")
                    out.lines[first] = out.lines[first].replace("pop()", turns)
                    self._make_shared_views(first, turns)
                    out.lines.insert(first, "    " * out.depth + f"{turns} = pop()")
            elif isinstance(node, While):
                out.add("for _ in range(pop()):")
                self._indented(node.body)
            else:
                out.add("if pop():")
                self._indented(node.then)
                out.add("else:")
                self._indented(node.otherwise)
            self.shared = shared
            if isinstance(node, (For, While)):
                self.enclosing.pop()
                self._add_sums(node, first)
            self.backward_spans[node] = first, len(out.lines)

    def _add_sums(self, node: For | While | None, first: int) -> None:
        """Add what was collected in lines from the first on."""
        names = self.sums.get(node, {}).values()
        for inner, (start, stop) in self.backward_spans.items():
            if start >= first:
                self.backward_spans[inner] = start + len(names), stop + len(names)
        for name in names:
            self.out.lines.insert(
                first, "    " * self.out.depth + f"{name} = {self.blas('OuterSum')}()"
            )
            self.out.add(f"{name}.add_all()")

    def outer_sum(self, v: Value) -> str | None:
        """Return what collects outer products for the shadow of an array.

        It does so until a loop ends or, outside of loops, the function. There nothing but sums
        goes into the shadow: what is in it is not read before.
        """
        if self.is_strong(self.current) or v.kind.dtype != np.float64:
            return None
        memory = v.memory.root()  # type: ignore[union-attr] # an array has one
        node = next((loop for loop in self.enclosing if adds_alone(memory, [loop])), None)
        if node is None and (self.enclosing or not adds_alone(memory, self.program.body)):
            return None
        names = self.sums.setdefault(node, {})
        of_parameter = memory in {s.memory.root() for s in self.program.parameters if s.memory}
        key = memory if of_parameter else v.op  # else these may be several arrays in turn
        return names.setdefault(key, f"o{sum(map(len, self.sums.values()))}_")

    def _sweep_of(self, node: For | While) -> list[str]:
        """Return the sweep of the body of a loop, as it is written inside two others."""
        outer, self.out = self.out, Source()
        shared, self.shared = self.shared, None
        self.out.depth = outer.depth + 1
        own = isinstance(node, For) and not binds(node.body, node.slot)
        if own:
            self.loops.append(node.slot)  # type: ignore[union-attr] # it is a `For`
        self._indented(node.body)
        if own:
            self.loops.pop()
        made, self.out, self.shared = self.out.lines, outer, shared
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
        self.pushing: dict[str, _Pushed] = {}
        self.views: dict[str, str] = {}  # that the sweep of the block makes: source → name
        BlockSweep(self, block).run()
        names = list(self.pushing)
        if names:
            self.pushes[block] = dict(self.pushing)
            outer.add(f"{', '.join(names)} = pop()")
        outer.lines += self.out.lines
        self.out = outer

    # what the backward function reads of the forward one

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

    def _shared_view(self, text: str | None) -> str | None:
        """Return the name of a view that the turns of a loop share; None if there is no such."""
        if text is None or self.shared is None:
            return None
        if text not in self.shared.names:
            self.shared.names[text] = self.fresh("v")
        return self.shared.names[text]

    def _same_in_turns(self, v: Value, is_at_hand: Callable[[Slot], bool]) -> str | None:
        """Return a value as it is written before the loop; None if turns may have others."""
        shared = self.shared
        if shared is None:
            return None
        return self._expression(v, lambda slot: shared.is_fixed(slot) and is_at_hand(slot), {})

    def _same_shadow_in_turns(self, v: Value) -> str | None:
        """Return a shadow as it is written before the loop; None if turns may have others."""
        op, shared = v.op, self.shared
        if shared is None or op.code not in ("read", "view"):
            return None
        if op.code == "read":
            return f"{op.data}_b" if op.data.is_stable and shared.is_fixed(op.data) else None
        at = [self._same_in_turns(a, self._is_at_hand) for a in op.args[1:]]
        return self._of_texts(op, [self._same_shadow_in_turns(op.args[0]), *at])

    def shape_of(self, v: Value) -> str:
        """Return the shape of an array as the backward function writes it.

        It is pushed if the array is not at hand, so that nobody keeps the array for it. Machine
        code pushes arrays as addresses.
        """
        found = self.again(v)
        if found is None and self.for_machine:
            found = self.need(v, contents=False)
        if found is not None:
            return f"{found}.shape"
        self.pushing[f"{v.name}_shape"] = (v, "_shape")
        return f"{v.name}_shape"

    def reads(self, v: Value) -> None:
        """Note that the sweep of this operation reads what an array holds."""
        if v.memory is not None and v.memory.root().is_written:
            v.memory.root().readers.add((self.current, v))

    def must_restore(self, op: Op) -> bool:
        """Whether what a write overwrites is read in the sweep after the write is passed."""
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

    def _pushed(self, pushed: _Pushed) -> str:
        """Return what is pushed as the forward function writes it."""
        if isinstance(pushed, str):
            return pushed
        v, part = pushed
        if part.startswith("_b"):
            return self._shadow_forward(v) + part.removeprefix("_b")
        return self.text(v) + (".shape" if part == "_shape" else part)

    def again(self, v: Value) -> str | None:
        """Return a value as an expression of what is at hand in the sweep, or None."""
        return self._expression(v, self._is_at_hand, self.pushing)

    def _is_at_hand(self, slot: Slot) -> bool:
        """Whether a variable is at hand in the sweep."""
        return slot.is_stable or slot in self.loops

    def _expression(
        self, v: Value, is_at_hand: Callable[[Slot], bool], names: Container, depth: int = 4
    ) -> str | None:
        """Return a value as an expression of variables at hand and values with names, or None."""
        op = v.op
        if op.code == "const":
            return self.const(op.data)
        if v.name in names:
            return v.name
        if op.code == "read":
            return op.data.name if is_at_hand(op.data) else None
        if depth == 0:
            return None
        cheap = op.code in ("view", "form", "tuple", "part") or (
            op.code == "call" and v.kind.is_integral and op.f in _AGAIN
        )
        if not cheap:
            return None
        return self._of_texts(
            op, [self._expression(a, is_at_hand, names, depth - 1) for a in op.args]
        )

    def _of_texts(self, op: Op, texts: list[str | None]) -> str | None:
        """Return an operation on arguments as they are written; None if one of them is."""
        if None in texts:
            return None
        by_value = dict(zip(op.args, texts, strict=True))
        return self.operation(op, lambda a: by_value[a])  # type: ignore[arg-type, return-value]

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
            text = self.operation(op, lambda a: base if a is op.args[0] else self.need(a))
            return self._view(text, self._same_shadow_in_turns(v))
        self.pushing[f"{v.name}_b"] = (v, "_b")
        return f"{v.name}_b"


def _may_overlap(base: Value, value: Value) -> bool:
    """Whether a row or column is written that may share memory with what is written into it."""
    if value.memory is None or value.kind.ndim != 1:
        return False
    return value.memory.root() is base.memory.root()  # type: ignore[union-attr] # an array has one


def _is_checked(op: Op) -> bool:
    """Whether the kind of a result could depend on values, or on shapes."""
    if op.code == "join" or op.data is CALLED:
        return True
    if op.code != "call" or isinstance(op.f, np.ufunc):
        return False
    if op.f is operator.pow:
        return all(not a.kind.is_array for a in op.args)
    if getattr(op.f, "__module__", None) == "math" or is_display(op):
        return False  # its class depends on those of the arguments alone
    return op.f not in SYMBOLS and op.f not in _PREFIXES
