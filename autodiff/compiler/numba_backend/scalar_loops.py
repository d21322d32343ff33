"""A program of floats, written with the loops that ``turns`` finds in it.

An operand of a loop is the same in all turns, or comes from the same turn, from the turn before, or
from a place that moves by a fixed stride (a value of an earlier loop, an element of an array).
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from autodiff.compiler.passes.loop_rerolling import Loop, loops_of
from autodiff.compiler.passes.scalar_replacement import flat_place, pack
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.python_backend import scalar_exprs
from autodiff.compiler.recording.domain_guards import SOURCES
from autodiff.compiler.recording.ir import FLOAT64, Program, Ref, Step, guard
from autodiff.functions import facts_of


class Op:
    """A scalar step: what it does, and its operands as ``(kind, value)``.

    Kinds: "v" a value by its position, "c" a constant, "x" an input number, "e" an element
    ``(array, place)``.
    """

    __slots__ = ("f", "operands", "out", "step")

    def __init__(self, f: Any, operands: list[tuple], step: Step) -> None:
        self.f = f
        self.operands = operands
        self.step = step


class NotScalarError(Exception):
    """A program does more than arithmetic of floats."""


class Scalars:
    """A program of floats: its operations, inputs and outputs.

    Attributes
    ----------
    ops : list of Op
        In order.
    packs : list of (int, tuple, list)
        For each array that is returned its number, shape and ``(place, operand)``.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.metas = program.metas
        self.ops: list[Op] = []
        self.packs: list[tuple[int, tuple, list]] = []
        self.nan_of_packs: list[int] = []
        self.position: dict[int, int] = {}
        self._elements: dict[int, tuple[int, int]] = {}
        self._numbers: dict[int, int] = {}  # what is read of arrays without axes
        self._inputs = set(program.inputs)
        for step in program.steps:
            self._read(step)
        self._read_outputs()

    def _read(self, step: Step) -> None:
        metas = self.metas
        if step.f is guard:
            value, how, _ = step.args
            if how is has_nan and any(value.i == i for i, _, _ in self.packs):
                self.nan_of_packs.append(value.i)
                return
            if how is not bool and how is not has_nan and how not in SOURCES:
                raise NotScalarError
            self.ops.append(Op(("guard", how, step.args[2]), [self.operand(value)], step))
        elif step.f is pack:
            shape, places, *values = step.args
            pairs = [(p, self.operand(v)) for p, v in zip(places, values, strict=True)]
            self.packs.append((step.out, shape, pairs))
        elif step.f is operator.getitem:
            x, index = step.args
            meta = metas[x.i] if type(x) is Ref else None
            if meta is None or x.i not in self._inputs or meta.dtype != FLOAT64:
                raise NotScalarError
            place = flat_place(index, meta.shape or ())
            if place is None:
                raise NotScalarError
            self._elements[step.out] = (x.i, place)
            if meta.shape == ():  # it is given as a number
                self._numbers[step.out] = x.i
        elif scalar_exprs.is_scalar_step(step, metas):
            op = Op(step.f, [self.operand(a) for a in step.args], step)
            self.position[step.out] = len(self.ops)
            self.ops.append(op)
        else:
            raise NotScalarError

    def _read_outputs(self) -> None:
        for x in self.program.outputs:
            if type(x) is Ref and not any(x.i == i for i, _, _ in self.packs):
                self.operand(x)

    def operand(self, x: Any) -> tuple:
        """Return an argument as an operand."""
        if type(x) is not Ref:
            if isinstance(x, (np.float64, np.ndarray)):
                x = float(x)
            return ("c", x)
        if x.i in self.position:
            return ("v", self.position[x.i])
        if x.i in self._numbers:
            return ("x", self._numbers[x.i])
        if x.i in self._elements:
            return ("e", self._elements[x.i])
        if x.i in self._inputs and scalar_exprs.is_number(self.metas[x.i]):
            return ("x", x.i)
        raise NotScalarError


def _signature(op: Op) -> tuple:
    return (op.f, *[(k, v[0]) if k == "e" else (k, v if k == "x" else 0) for k, v in op.operands])


def _places(op: Op) -> tuple[int, ...]:
    return tuple([v if k == "v" else v[1] if k == "e" else 0 for k, v in op.operands])


class Writer:
    """Writes the source of a program of floats, for numba or Python."""

    def __init__(self, program: Scalars) -> None:
        self.program = program
        self.ops = program.ops
        self.loops = loops_of(list(map(_signature, self.ops)), list(map(_places, self.ops)))
        self.loop_at: dict[int, Loop] = {loop.start: loop for loop in self.loops}
        self._starts = [loop.start for loop in self.loops]
        self.tables: dict[str, np.ndarray] = {}
        self.lines: list[str] = []
        self.stored: dict[int, int] = {}  # position → place in the store
        self._outside: set[int] = set()  # positions in loops that are read outside of them
        self._regions()

    # -- what has to be stored -------------------------------------------------------------------

    def loop_of(self, position: int) -> Loop | None:
        """Return the loop that a position is in."""
        k = int(np.searchsorted(self._starts, position, side="right")) - 1
        if k >= 0 and self.loops[k].holds(position):
            return self.loops[k]
        return None

    def _regions(self) -> None:
        wanted: set[int] = set()
        for loop in self.loops:
            for j in range(loop.period):
                for place, (kind, value) in enumerate(self.ops[loop.start + j].operands):
                    if kind == "v" and self._form(loop, j, place) == "moving":
                        step = self._step(loop, j, place)
                        wanted.update(value + step * t for t in range(loop.count))
        for position, op in enumerate(self.ops):
            if self.loop_of(position) is None:
                self._note_outside([v for kind, v in op.operands if kind == "v"], wanted)
        for loop in self.loops:
            for j in range(loop.period):
                for place, (kind, value) in enumerate(self.ops[loop.start + j].operands):
                    if kind == "v" and self._form(loop, j, place) in ("same", "before"):
                        self._note_outside([value], wanted)
        finals = [
            self.program.operand(x)
            for x in self.program.program.outputs
            if type(x) is Ref and not any(x.i == i for i, _, _ in self.program.packs)
        ]
        finals += [o for _, _, pairs in self.program.packs for _, o in pairs]
        self._note_outside([v for kind, v in finals if kind == "v"], wanted)
        self._number(wanted)

    def _note_outside(self, positions: list[int], wanted: set[int]) -> None:
        for position in positions:
            loop = self.loop_of(position)
            if loop is None:
                continue
            if position >= loop.start + loop.period * (loop.count - 1):
                self._outside.add(position)  # a variable still holds it
            else:
                wanted.add(position)

    def _number(self, wanted: set[int]) -> None:
        """Give the positions places in the store: those of one slot of a loop side by side."""
        slots: dict[tuple, list[int]] = {}
        for position in sorted(wanted):
            loop = self.loop_of(position)
            if loop is None:
                slots.setdefault((-1, position), []).append(position)
            else:
                slots.setdefault((loop.start, (position - loop.start) % loop.period), [])
        n = 0
        for (start, j), positions in slots.items():
            if start < 0:
                self.stored[positions[0]] = n
                n += 1
                continue
            loop = self.loop_at[start]
            for t in range(loop.count):
                self.stored[start + t * loop.period + j] = n + t
            n += loop.count
        self.store_size = n

    # -- operands --------------------------------------------------------------------------------

    def _step(self, loop: Loop, j: int, place: int) -> int:
        a = self.ops[loop.start + j].operands[place][1]
        b = self.ops[loop.start + loop.period + j].operands[place][1]
        return b - a

    def _form(self, loop: Loop, j: int, place: int) -> str:
        """Say where an operand of a loop comes from."""
        value = self.ops[loop.start + j].operands[place][1]
        step = self._step(loop, j, place)
        if step == 0:
            return "same"
        if step == loop.period:
            if value >= loop.start:
                return "here"
            if value >= loop.start - loop.period:
                return "before"
        return "moving"

    def _moving(self, loop: Loop, value: int, step: int) -> str:
        """Return an element of the store that moves from turn to turn."""
        places = [self.stored[value + step * t] for t in range(loop.count)]
        return f"store[{self._affine(places)}]"

    def _affine(self, places: list[int]) -> str:
        stride = places[1] - places[0]
        if all(b - a == stride for a, b in itertools.pairwise(places)):
            if stride == 0:
                return str(places[0])
            return f"{places[0]} + t" if stride == 1 else f"{places[0]} + ({stride}) * t"
        return f"{self._table(np.array(places))}[t]"

    def _table(self, values: np.ndarray) -> str:
        name = f"table{len(self.tables)}"
        self.tables[name] = values
        return name

    def shown(self, operand: tuple) -> str:
        """Return an operand outside of loops."""
        kind, value = operand
        if kind == "c":
            return _constant(value)
        if kind == "x":
            return f"x{value}"
        if kind == "e":
            return f"x{value[0]}[{value[1]}]"
        loop = self.loop_of(value)
        if loop is None or value in self._outside:
            return f"v{value}"
        return f"store[{self.stored[value]}]"

    def _shown_in(self, loop: Loop, j: int, place: int) -> str:
        op = self.ops[loop.start + j]
        kind, value = op.operands[place]
        if kind == "v":
            form = self._form(loop, j, place)
            if form == "same":
                return self.shown((kind, value))
            if form == "here":
                return f"w{value - loop.start}"
            if form == "before":
                return f"q{value - loop.start + loop.period}"
            return self._moving(loop, value, self._step(loop, j, place))
        turns = [
            self.ops[loop.start + t * loop.period + j].operands[place][1] for t in range(loop.count)
        ]
        if kind == "c":
            if all(repr(c) == repr(value) for c in turns):
                return _constant(value)
            return f"{self._table(np.array(turns, float))}[t]"
        if kind == "e":
            return f"x{value[0]}[{self._affine([p for _, p in turns])}]"
        return f"x{value}"

    # -- lines -----------------------------------------------------------------------------------

    def body(self) -> list[str]:
        """Return the statements."""
        position = 0
        n = len(self.ops)
        if self.store_size:
            self.lines.append(f"store = np.empty({self.store_size})")
        while position < n:
            loop = self.loop_at.get(position)
            if loop is None:
                op = self.ops[position]
                self._line(op, [self.shown(o) for o in op.operands], f"v{position}", "")
                if position in self.stored:
                    self.lines.append(f"store[{self.stored[position]}] = v{position}")
                position += 1
            else:
                self._loop(loop)
                position += loop.period * loop.count
        return self.lines

    def _loop(self, loop: Loop) -> None:
        carried: dict[int, int] = {}
        for j in range(loop.period):
            for place, (kind, value) in enumerate(self.ops[loop.start + j].operands):
                if kind == "v" and self._form(loop, j, place) == "before":
                    carried[value - loop.start + loop.period] = value
        for slot, value in carried.items():
            self.lines.append(f"q{slot} = {self.shown(('v', value))}")
        self.lines.append(f"for t in range({loop.count}):")
        for j in range(loop.period):
            op = self.ops[loop.start + j]
            operands = [self._shown_in(loop, j, place) for place in range(len(op.operands))]
            self._line(op, operands, f"w{j}", "    ")
            base = self.stored.get(loop.start + j)
            if base is not None:
                self.lines.append(f"    store[{base} + t] = w{j}")
        for slot in carried:
            self.lines.append(f"    q{slot} = w{slot}")
        last = loop.start + loop.period * (loop.count - 1)
        for position in sorted(self._outside):
            if loop.holds(position):
                self.lines.append(f"v{position} = w{position - last}")

    def _line(self, op: Op, operands: list[str], target: str, indent: str) -> None:
        if type(op.f) is tuple:
            _, how, expected = op.f
            x = operands[0]
            if how is bool:
                condition = f"not {x}" if expected else x
            elif how is has_nan:
                condition = f"{x} != {x}"
            else:
                condition = f"not ({SOURCES[how].format(x)})"
            self.lines.append(f"{indent}if {condition}: return {self.failed}")
            return
        self.lines.append(f"{indent}{target} = {expression(op.f, operands)}")
        bad = facts_of(op.f).undefined
        if bad:
            self.lines.append(
                f"{indent}if {bad.format(*operands, y=target)}: return {self.undefined}"
            )

    failed = "None"
    undefined = "None"


def expression(f: Any, operands: list[str]) -> str:
    """Return an operation as it is written with ``math``."""
    facts = facts_of(f)
    if facts.python:
        return facts.python.format(*operands)
    if f is np.cbrt:
        return f"np.cbrt({operands[0]})"  # numba does not know that of math
    function: Any = facts.math
    return f"math.{function.__name__}({', '.join(operands)})"


def _constant(x: Any) -> str:
    if type(x) is bool:
        return repr(x)
    if x != x or x in (float("inf"), float("-inf")):
        return f"float('{x}')" if x == x else "math.nan"
    return f"({float(x)!r})" if x < 0 else repr(float(x))
