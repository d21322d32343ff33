"""What is written alike in both functions of a program: operations, indices, views, shadows."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

import numpy as np

from autodiff.partial_source import Constants
from autodiff.python_operators import PREFIXES, SIGNS
from autodiff.structured.form.ir import (
    Block,
    For,
    If,
    Op,
    Program,
    Slot,
    Value,
    While,
    changes_list,
    flat,
)
from autodiff.structured.form.known_functions import CALLED, DIAGONALS
from autodiff.structured.form.order import Order
from autodiff.structured.writing.activity import is_active, written_parameters
from autodiff.structured.writing.checkpoints import CheckpointedLoop
from autodiff.structured.writing.layouts import layouts
from autodiff.structured.writing.loop_views import LoopViews
from autodiff.structured.writing.plain_floats import PlainFloats
from autodiff.structured.writing.shapes import Shapes

_ATTRIBUTES = {np.real: "real", np.imag: "imag"}
_ATTRIBUTE_VIEWS = ("T", "real", "imag")
_LITERALS = (bool, int, float, str, type(None))
_AGAIN = frozenset({operator.add, operator.sub, operator.mul, operator.floordiv, operator.neg})


Pushed = str | tuple[Value, str]
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

    def inside(self, head: str, write: Callable[[], None], last: Iterable[str] = ()) -> None:
        """Add a line, and one level deeper what `write` adds and the `last` lines."""
        self.add(head)
        n = len(self.lines)
        self.depth += 1
        write()
        self.add_all(last)
        if len(self.lines) == n:
            self.add("pass")
        self.depth -= 1


class Writer:
    """Writes values and operations of a program as source."""

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
        self.has_math = has_plain_floats  # slopes of floats may be computed by Python's math
        self.needs_math = False  # some are
        self.constants = Constants()
        self.written_parameters = written_parameters(program)
        self.changed_lists = [
            s for s in program.parameters if s.kind and s.kind.is_list and changes_list(s.memory)
        ]
        self.order = Order(program.body)
        self.current: Any = None  # the operation whose sweep is written
        # For each block: name in the backward function → what the forward function pushes.
        self.pushes: dict[Block, dict[str, Pushed]] = {}
        self.silent: set[For | While | If] = set()  # nodes that the sweep need not know of
        self.loops: list[Slot] = []
        self.enclosing: list[For | While] = []  # loops, the outermost first
        self.shared: LoopViews | None = None  # of the loop whose body is written
        # What collects products until a loop or, for None, the function ends: how it is made, and
        # for which matrix → its name.
        self.sums: dict[For | While | None, dict[tuple[str, Any], str]] = {}
        self.number = 0
        self.is_test = False  # of a while loop: the sweep does not pass it, so nothing is pushed
        self.inlined: dict[Value, str] = {}
        self.renamed: set[Value] = set()
        self.shapes = Shapes(self)
        self.layouts = {} if has_checkpoints else layouts(program)
        self.late: set[Slot] = set()  # parameters whose shadows the backward function makes
        self.viewed: set[str] = set()  # arrays that the sweep reads through a memoryview
        self.memories: dict[str, str] = {}  # arrays whose memory BLAS is given, and by what
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
        if op.code == "list" and op.f is not None:
            given = "".join(f", {text(v)}" for v in op.options.values())
            return f"{self.constants.name(op.f)}((){given})"
        if op.code == "list":
            *items, times = args if op.data else [*args, ""]
            return f"[{', '.join(items)}]" + (f" * {times}" if op.data else "")
        if op.code == "dict":
            return self.dict_of(op, args)
        if op.code == "tuple":
            return "(" + "".join(f"{a}, " for a in args) + ")"
        if op.code == "part":
            return f"{args[0]}[{op.data}]"
        symbol = SIGNS.get(op.f)
        if symbol is not None:
            return f"({args[0]} {symbol} {args[1]})"
        if op.f in PREFIXES:
            return f"({PREFIXES[op.f]}{args[0]})"
        if op.f in _ATTRIBUTES:
            return f"({args[0]}).{_ATTRIBUTES[op.f]}"
        named = [f"{name}={text(v)}" for name, v in op.options.items()]
        return f"{self.constants.name(op.f)}({', '.join([*args, *named])})"

    def view_of_shadow(self, op: Op, base: str, text: Callable[[Value], str]) -> str:
        """Return the view that an operation makes, but of a shadow, which is written into."""
        if op.data == CALLED and op.f in DIAGONALS:
            return f"diagonal_of({base})"
        return self.operation(op, lambda a: base if a is op.args[0] else text(a))

    def dict_of(self, op: Op, texts: list[str]) -> str:
        """Return a dict with the keys of an operation that makes one, as it is written."""
        pairs = zip(map(repr, op.data), texts, strict=True)
        return "{" + ", ".join([f"{key}: {text}" for key, text in pairs]) + "}"

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

    def _begin(self) -> None:
        """Forget how the forward function has been written before."""
        self.inlined, self.renamed = {}, set()
        self.shapes.found = {}

    @property
    def outputs(self) -> list[Value]:
        """The values that are returned, one after the other."""
        return flat(self.program.returned)

    def lists_with_seeds(self) -> list[tuple[int, Value]]:
        """Return the lists that are returned and have a shadow, by the number of the output."""
        return [(n, v) for n, v in enumerate(self.outputs) if v.kind.is_list and is_active(v)]

    def _initial(self, slot: Slot) -> str:
        return slot.name if slot.is_stable else f"{slot.name}_in"

    def _initial_shadow(self, slot: Slot) -> str:
        return f"{slot.name}_b" if slot.is_stable else f"{slot.name}_b_in"

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
                if slot in self.changed_lists:
                    names[f"{slot.name}_b_first"] = None
            elif slot.memory is not None and self.has_variable(slot):
                names[self._initial(slot)] = None
        return [*names, *[f"out{n}_b" for n, _ in self.lists_with_seeds()]]

    @contextlib.contextmanager
    def sharing(self, node: Any) -> Iterator[None]:
        """Collect the views that the turns of a loop share; of branches and `while` loops none.

        LLVM does so by itself.
        """
        before = self.shared
        collects = isinstance(node, For) and not self.for_machine
        self.shared = LoopViews(node) if collects else None
        try:
            yield
        finally:
            self.shared = before

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

    def _views(self, slot: Slot) -> list[str]:
        """Return the endings of the memoryviews that the forward function has of a variable.

        The sweep makes its own of shadows that are always at hand.
        """
        if slot not in self.plain.arrays:
            return []
        return ["_m"] if slot.is_stable or not self.has_shadow(slot) else ["_m", "_b_m"]

    def _zeros(self, x: Value | Slot) -> str:
        """Return a new shadow of an array or list as it is written."""
        if x.kind is not None and x.kind.is_list:
            return f"zeros_in({x})"
        axes = self.layouts.get(x.memory.root())  # type: ignore[union-attr] # an array has one
        if axes is None or x.kind is None or x.kind.ndim != len(axes):
            return f"zeros_like({x})"
        return f"zeros_along({x}, {axes})"

    def old_name(self, op: Op) -> str:
        """Return the name of what a write overwrites."""
        return f"old{id(op)}"

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
        options = list(op.options.values())
        if None in texts or any(v.op.code != "const" for v in options):
            return None
        texts = [*texts, *[self.const(v.op.data) for v in options]]
        by_value = dict(zip((*op.args, *options), texts, strict=True))
        return self.operation(op, lambda a: by_value[a])  # type: ignore[arg-type, return-value]
