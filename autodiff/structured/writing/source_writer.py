"""The code generator that the forward and the backward function have in common.

It writes operations, indices, views and shadows.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

import numpy as np

from autodiff.partial_source import Constants
from autodiff.python_operators import PREFIXES, SIGNS
from autodiff.structured import blas_sums
from autodiff.structured.form.function_ir import (
    Block,
    For,
    FunctionIR,
    If,
    Op,
    Slot,
    Value,
    While,
    changes_list,
    flat,
)
from autodiff.structured.form.known_functions import CALLED, DIAGONALS
from autodiff.structured.form.order import Order
from autodiff.structured.writing.activity import is_active, written_parameters
from autodiff.structured.writing.carried_arrays import carried_arrays, origin_of
from autodiff.structured.writing.checkpointed_loops import CheckpointedLoop
from autodiff.structured.writing.hoisted_views import HoistedViews
from autodiff.structured.writing.plain_floats import (
    PlainFloats,
    has_low_precision,
    mixes_precisions,
)
from autodiff.structured.writing.shadow_layouts import layouts, layouts_of_values
from autodiff.structured.writing.shape_guards import ShapeGuards

_ATTRIBUTES = {np.real: "real", np.imag: "imag"}
_ATTRIBUTE_VIEWS = ("T", "real", "imag")
_LITERALS = (bool, int, float, str, type(None))
_INTEGER_OPERATORS = frozenset({
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.neg,
})  # fmt: skip
"""Operators on integers that the sweep recomputes instead of reading the tape."""


TapeEntry = str | tuple[Value, str]
"""What goes on the tape: a name, or a value with a suffix.

The suffix is empty for the value itself, ``_b`` for its shadow and ``_shape`` for its shape; ``_m``
and ``_b_m`` are the memoryviews of an array and of its shadow.
"""


def new_bindings(block: Block) -> list[tuple[Slot, Value]]:
    """Return the variables that a block binds to other values than theirs, and these values."""
    return [(s, v) for s, v in block.writes.items() if v.op.code != "read" or v.op.data is not s]


class CodeLines:
    """Lines of code at the current indentation depth."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def add(self, line: str) -> None:
        """Add a line at the current depth."""
        self.lines.append("    " * self.depth + line)

    def add_all(self, lines: Iterable[str]) -> None:
        """Add lines at the current depth."""
        for line in lines:
            self.add(line)

    def inside(self, head: str, write: Callable[[], None], last: Iterable[str] = ()) -> None:
        """Add a compound statement: `head`, then as its body what `write` adds and `last`."""
        self.add(head)
        n = len(self.lines)
        self.depth += 1
        write()
        self.add_all(last)
        if len(self.lines) == n:
            self.add("pass")
        self.depth -= 1


class SourceWriter:
    """Writes the values and operations of a program as source.

    Parameters
    ----------
    program : Program
        The function in structured form.
    broadcasts : frozenset of int
        The numbers of operations that broadcast their arrays.
    steep : frozenset of int
        The numbers of operations with infinite partial derivatives.
    for_native : bool
        Whether the source will become machine code. A variable keeps its kind there: a cotangent
        that has not begun is an array without elements, not the number 0.0.
    has_checkpoints : bool
        Whether the outermost loops are checkpointed.
    has_plain_floats : bool
        Whether elements of arrays may be read as Python floats.
    compares_all : bool
        Whether to compare even those shapes whose mismatch would raise an error anyway.
    notes_steep : bool
        Whether the sweep searches for operations with infinite partial derivatives.
    """

    out: CodeLines  # what is being written

    def __init__(
        self,
        program: FunctionIR,
        broadcasts: frozenset[int],
        steep: frozenset[int] = frozenset(),
        for_native: bool = False,
        has_checkpoints: bool = False,
        has_plain_floats: bool = False,
        compares_all: bool = False,
        notes_steep: bool = False,
    ) -> None:
        self.program = program
        self.broadcasts = broadcasts
        self.compares_all = compares_all
        self.steep = steep
        self.notes_steep = notes_steep
        self.for_native = for_native
        for slot in program.slots:
            slot.is_stable = slot.writes == 1
        arrays = [s for s in program.slots if s.memory is not None and not s.is_stable]
        self.rebound = {s.root for s in arrays}
        self.carried = carried_arrays(program, self.rebound)
        self.mixes_precisions = mixes_precisions(program)
        has_plain_floats = has_plain_floats and not self.mixes_precisions
        self.plain = PlainFloats(program if has_plain_floats else None)
        self.has_math = has_plain_floats  # `math` may compute partial derivatives of floats
        self.needs_math = False  # and does so somewhere
        self.constants = Constants()
        self.written_parameters = written_parameters(program)
        self.changed_lists = [
            s for s in program.parameters if s.kind and s.kind.is_list and changes_list(s.memory)
        ]
        self.order = Order(program.body)
        self.current: Any = None  # the operation whose sweep is being written
        # For each block: name in the backward function → what the forward function pushes.
        self.pushes: dict[Block, dict[str, TapeEntry]] = {}
        self.empty_sweeps: set[For | While | If] = set()  # loops and branches with an empty sweep
        self.started: set[Op] = set()  # calls of programs whose sweeps machine code calls
        self.loops: list[Slot] = []  # loop variables that the sweep can read
        self.enclosing: list[For | While] = []  # loops, the outermost first
        self.hoisted: HoistedViews | None = None  # views hoisted out of the loop being written
        # Objects that collect products until a loop (None: the function) ends:
        # constructor call and matrix → name.
        self.sums: dict[For | While | None, dict[tuple[str, Any], str]] = {}
        self.number = 0
        self.old_names: dict[Op, str] = {}
        self.is_test = False  # writing the test of a `while` loop, which needs no tape
        self.inlined: dict[Value, str] = {}
        self.renamed: set[Value] = set()
        self.shapes = ShapeGuards(self)
        found = {} if has_checkpoints else layouts(program)
        self.layouts = {m: axes for m, axes in found.items() if m not in self.carried}
        self.layouts_of_values = layouts_of_values(program, self.layouts) if for_native else {}
        self.late_shadows: set[Slot] = set()  # parameters whose shadows the backward function makes
        self.memoryviews: set[str] = set()  # arrays that the sweep reads through a memoryview
        self.blas_memories: dict[str, str] = {}  # array passed to BLAS → getter
        loops = [node for node in program.body if isinstance(node, (For, While))]
        made = [CheckpointedLoop(self, node) for node in loops if has_checkpoints]
        self.checkpointed = {loop.node: loop for loop in made if loop.has_states}
        # For machine code: the lines, the span of each node in them, the names in each push.
        self.forward_head: list[str] = []
        self.forward_lines: list[str] = []
        self.backward_head: list[str] = []
        self.backward_lines: list[str] = []
        self.forward_spans: dict[Any, tuple[int, int]] = {}
        self.backward_spans: dict[Any, tuple[int, int]] = {}
        self.push_names: dict[int, list[str]] = {}
        self.counters: list[str] = []
        self.adjoints: dict[int, tuple[Any, int]] = {}  # id of an adjoint → function and argument

    def seed_of(self, n: int, v: Value) -> str:
        """Return the cotangent of an output, or None: of class `float` only if that is harmless."""
        if self.for_native or not self.mixes_precisions or has_low_precision(v.kind):
            return f"seeds[{n}]"
        return f"{self.constants.name(np.asarray)}(seeds[{n}])[()]"

    def has_shadow(self, x: Value | Slot) -> bool:
        """Whether an array of the same layout accumulates the cotangent."""
        if x.memory is None:
            return False
        memory = x.root
        if not memory.is_active:
            return False
        if memory in self.carried:
            return self.is_filled(x)
        if memory.is_written or memory.is_indexed:
            return True
        return memory.leaves_block and memory not in self.rebound

    def is_filled(self, x: Value | Slot) -> bool:
        """Whether `x` is an array that its block makes and writes into, or a view of one.

        The sweep of the block makes its shadow.
        """
        if x.memory is None or not isinstance(x, Value) or x.root not in self.carried:
            return False
        return x.root.is_written and origin_of(x).op.code != "read"

    def has_variable(self, slot: Slot) -> bool:
        """Whether a variable of the sweep holds the cotangent of a variable."""
        if slot.memory is None:
            return slot.is_active
        return slot.root.is_active and not self.has_shadow(slot)

    def is_typed(self, slot: Slot) -> bool:
        """Whether the cotangent of a variable is always an array of one kind."""
        kind = slot.kind
        return self.for_native and kind is not None and kind.is_array and bool(kind.ndim)

    def without_cotangents(self, slots: Iterable[Slot]) -> None:
        """Write that variables have no cotangents."""
        none = [s for s in self.program.slots if s in slots]
        zero = [f"{s.name}_b" for s in none if not self.is_typed(s)]
        if zero:
            self.out.add(f"{' = '.join(zero)} = 0.0")
        self.out.add_all([f"{s.name}_b = {s.name}_b[:0]" for s in none if self.is_typed(s)])

    def const(self, x: Any) -> str:
        """Return the literal of a constant, or the name that the code reads it by."""
        if type(x) in _LITERALS and x == x and x not in (float("inf"), -float("inf")):
            text = repr(x)
            return f"({text})" if text.startswith("-") else text
        if type(x) is tuple:
            return "(" + "".join(f"{self.const(p)}, " for p in x) + ")"
        return self.constants.name(x)

    def index(self, template: Any, texts: list[str]) -> str:
        """Return an index as source."""

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
        """Return an operation as an expression; `text` writes its arguments."""
        args = [text(a) for a in op.args]
        if op.code in ("view", "load", "item") and op.data != CALLED and op.f is None:
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
            return "set()" if op.out.kind.is_set else self.dict_of(op, args)
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
        """Return the view of a shadow that corresponds to the view of an array.

        Unlike views from `np.diagonal`, it is writable.
        """
        if op.data == CALLED and op.f in DIAGONALS:
            return f"diagonal_of({base})"
        return self.operation(op, lambda a: base if a is op.args[0] else text(a))

    def dict_of(self, op: Op, texts: list[str]) -> str:
        """Return a dict display with the keys of an operation and other values."""
        pairs = zip(map(repr, op.data), texts, strict=True)
        return "{" + ", ".join([f"{key}: {text}" for key, text in pairs]) + "}"

    def blas(self, name: str) -> str:
        """Return the name of a function of `blas_sums`."""
        self.constants.scope.update(blas_sums.SCOPE)
        return name

    def has_strong_zero(self, op: Op) -> bool:
        """Whether 0 times an infinite partial derivative must stay 0 in an operation."""
        return self.notes_steep or self.shapes.numbers[op] in self.steep

    def place_of(self, op: Op, array: str) -> str:
        """Return the name that an operation indexes: the array or its memoryview."""
        return f"{array}_m" if op in self.plain.elements else array

    def _begin(self) -> None:
        """Discard what an earlier pass has noted about values."""
        self.inlined, self.renamed = {}, set()
        self.shapes.found = {}

    @property
    def outputs(self) -> list[Value]:
        """The returned values, flattened."""
        return flat(self.program.returned)

    def lists_with_seeds(self) -> list[tuple[int, Value]]:
        """Return the returned lists with a shadow, and their positions among the outputs."""
        return [(n, v) for n, v in enumerate(self.outputs) if v.kind.is_list and is_active(v)]

    def _initial(self, slot: Slot) -> str:
        return slot.name if slot.is_stable else f"{slot.name}_in"

    def _initial_shadow(self, slot: Slot) -> str:
        return f"{slot.name}_b" if slot.is_stable else f"{slot.name}_b_in"

    def _frame(self) -> list[str]:
        """Return the names that the forward function hands to the backward function.

        These are the parameters and the variables that are bound once, with their shadows.
        """
        names: dict[str, None] = {}
        for slot in self.program.slots:
            if slot.is_stable and (slot.reads or slot in self.program.parameters):
                names[slot.name] = None
                if self.has_shadow(slot) and slot not in self.late_shadows:
                    names[f"{slot.name}_b"] = None
        for slot in self.program.parameters:
            if self.has_shadow(slot) and slot not in self.late_shadows:
                names[self._initial_shadow(slot)] = None
                if slot in self.changed_lists:
                    names[f"{slot.name}_b_first"] = None
            elif slot.memory is not None and self.has_variable(slot):
                names[self._initial(slot)] = None
        return [*names, *[f"out{n}_b" for n, _ in self.lists_with_seeds()]]

    @contextlib.contextmanager
    def hoisting(self, node: Any) -> Iterator[None]:
        """Collect loop-invariant views while the body of a `for` loop is written.

        Branches and `while` loops have none. LLVM hoists them itself.
        """
        before = self.hoisted
        collects = isinstance(node, For) and not self.for_native
        self.hoisted = HoistedViews(node) if collects else None
        try:
            yield
        finally:
            self.hoisted = before

    def fresh(self, stem: str) -> str:
        """Return an unused name."""
        self.number += 1
        return f"{stem}_{self.number}_"

    def text(self, v: Value) -> str:
        """Return a value as source of the forward function."""
        if v.op.code == "const":
            return self.const(v.op.data)
        if v in self.inlined:
            return self.inlined[v]
        if v.op.code == "read":
            return v.name if v in self.renamed else v.op.data.name
        return v.name

    def _views(self, slot: Slot) -> list[str]:
        """Return the suffixes of the memoryviews that the forward function makes for a variable.

        For a shadow that is always available, the sweep makes its own memoryview.
        """
        if slot not in self.plain.arrays:
            return []
        return ["_m"] if slot.is_stable or not self.has_shadow(slot) else ["_m", "_b_m"]

    def _zeros(self, x: Value | Slot) -> str:
        """Return the expression of a new shadow for an array or list."""
        if x.kind is not None and x.kind.is_list:
            return f"zeros_in({x})"
        axes = self.layouts.get(x.root)
        if axes is None or x.kind is None or x.kind.ndim != len(axes):
            return f"zeros_like({x})"
        return f"zeros_along({x}, {axes})"

    def layout_of(self, x: Value | Slot) -> tuple[int, ...] | None:
        """Return the layout of an array; None if that is C order, or the user's."""
        axes = self.layouts_of_values.get(x.root) if x.memory is not None else None
        return axes if axes and x.kind is not None and x.kind.ndim == len(axes) else None

    def _is_rebound(self, v: Value, block: Block) -> bool:
        """Whether a block rebinds the variable that a value was read from."""
        return block.writes.get(v.op.data, v) is not v

    def old_name(self, op: Op) -> str:
        """Return the name of the contents that a write overwrites."""
        return self.old_names.setdefault(op, f"old{len(self.old_names)}")

    def _hoisted_name(self, text: str | None) -> str | None:
        """Return the name of the hoisted view with this source; None if nothing is hoisted."""
        if text is None or self.hoisted is None:
            return None
        if text not in self.hoisted.names:
            self.hoisted.names[text] = self.fresh("v")
        return self.hoisted.names[text]

    def _invariant_source(self, v: Value, is_available: Callable[[Slot], bool]) -> str | None:
        """Return a loop-invariant value as source before the loop; None if it may vary."""
        hoisted = self.hoisted
        if hoisted is None:
            return None
        return self._expression(
            v, lambda slot: hoisted.is_loop_invariant(slot) and is_available(slot), {}
        )

    def _expression(
        self, v: Value, is_available: Callable[[Slot], bool], names: Container, depth: int = 4
    ) -> str | None:
        """Return a cheap expression that recomputes a value from available variables, or None.

        It may also read the values in `names`.
        """
        op = v.op
        if op.code == "const":
            return self.const(op.data)
        if v.name in names:
            return v.name
        if op.code == "read":
            return op.data.name if is_available(op.data) else None
        is_cheap = op.code in ("view", "form", "tuple", "part") or (
            op.code == "call" and v.kind.is_integral and op.f in _INTEGER_OPERATORS
        )
        if depth == 0 or not is_cheap:
            return None
        texts = [self._expression(a, is_available, names, depth - 1) for a in op.args]
        return self._of_texts(op, texts)

    def _of_texts(self, op: Op, texts: list[str | None]) -> str | None:
        """Return an operation applied to argument expressions; None if one of these is None."""
        options = list(op.options.values())
        if None in texts or any(v.op.code != "const" for v in options):
            return None
        texts = [*texts, *[self.const(v.op.data) for v in options]]
        by_value = dict(zip((*op.args, *options), texts, strict=True))
        return self.operation(op, lambda a: by_value[a])  # type: ignore[arg-type, return-value]
