"""The source of a kernel: loop nests over fused operations.

`machine_code` compiles it. `op_codegen` writes the operations that are not elementwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.fold_codegen import Fold
from autodiff.compiler.kernels.loop_ir import (
    FOLDS,
    LoopOp,
    StridedView,
    at,
    constant,
    strides_of,
    term_of,
)
from autodiff.compiler.kernels.memory_planner import MemoryPlan
from autodiff.compiler.kernels.op_codegen import write_operation
from autodiff.compiler.kernels.row_blocks import axes_of_rows, rows_in_block
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.recording.domain_guards import SOURCES
from autodiff.functions import facts_of, known

if TYPE_CHECKING:
    from autodiff.compiler.kernels.fusion_schedule import FusionGroup

_MANY = 8
"""Fewest elements of a nest that calls vectorizable functions."""
_VECTORIZED_IF_LONG = frozenset(f for f, loops in known("simd").items() if loops == "long")
"""Functions of `vector_functions` in nests of so many elements; others call those of ``math``.
On processors for which NumPy's exp and tanh are not vectorized, these dominate the time of a nest;
sines never are."""


class LoopWriter(MemoryPlan):
    """Generator of the source of a list of operations.

    Attributes
    ----------
    lines : list of str
        The statements.
    tables : dict
        Arrays of constants that they read, by name.
    nests : int
        The number of loop nests.
    """

    def __init__(self, ops: list[LoopOp], results: list[StridedView]) -> None:
        super().__init__(ops, results)
        self.lines: list[str] = []
        self.tables: dict[str, np.ndarray] = {}
        self.nests = 0
        self._indent = ""
        self._temporaries = 0
        self.row: list[str] = []  # the index of the first row of a block

    # -- operands --------------------------------------------------------------------------------

    def moving(self, places: np.ndarray) -> str:
        """Return the expression of an offset that iteration `t` of a loop takes from a list."""
        first, stride = int(places[0]), int(places[1] - places[0])
        if (np.diff(places) == stride).all():
            return f"{first} + ({stride}) * t"
        return f"{self.table(places)}[t]"

    def table(self, values: np.ndarray) -> str:
        """Add an array of constants; return its name."""
        name = f"table{len(self.tables)}"
        self.tables[name] = values
        return name

    def memory(self, p: int, a: int) -> tuple[str, str]:
        """Return the array that contains an operand, and the offset of its first element."""
        view = self.ops[p].args[a]
        if view.kind == "x":
            return f"x{view.base}", self._in_row(view.offset, view.strides)
        offset = self.stored(view.base) + view.offset
        return "s", self._in_row(offset, view.strides, view.base in self.in_block)

    def _in_row(self, offset: int, strides: tuple, is_block: bool = False) -> str:
        """Return an offset, moved to the first row of a block unless memory has only the block."""
        pairs = () if is_block else zip(strides, self.row, strict=False)
        return at(str(offset), [term for s, i in pairs for term in term_of(s, i)])

    def _inside(self, strides: tuple) -> tuple:
        """Return the strides, or the lengths, of the axes of a block of rows."""
        return strides[max(0, len(self.row) - 1) :]

    def target(self, p: int, offset: int = 0) -> str:
        """Return the offset of an element of a result: by default of the first."""
        return str(self.stored(p) + offset)

    def number(self, p: int, a: int) -> str:
        """Return the expression of an operand that is a number."""
        view = self.ops[p].args[a]
        if view.kind == "n":
            return f"(x{view.base} != 0.0)" if view.is_bool else f"x{view.base}"
        if view.kind == "c":
            return constant(view.base)
        if self.is_single(view):
            return self.variable(view.base)
        array, place = self.memory(p, a)
        text = f"get({array}, {place})"
        return f"({text} != 0.0)" if view.is_bool else text

    def variable(self, position: int) -> str:
        """Return the variable of an operation whose result is a number."""
        return f"v{position}"

    # -- statements ------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write a statement."""
        self.lines.append(self._indent + text)

    def temporary(self, text: str) -> str:
        """Assign an expression to a new variable; return its name."""
        self._temporaries += 1
        self.write(f"c{self._temporaries} = {text}")
        return f"c{self._temporaries}"

    def begin(self, text: str) -> None:
        """Write the head of a compound statement, and indent what follows."""
        self.write(text)
        self._indent += "    "

    def enter(self, variable: str, n: int | str) -> None:
        """Begin a loop."""
        self.begin(f"for {variable} in range({n}):")

    def leave(self, n: int = 1) -> None:
        """End compound statements."""
        self._indent = self._indent[: len(self._indent) - 4 * n]

    def result(self, p: int, text: str) -> None:
        """Write a result that is a number, or an array with one element."""
        if self.ops[p].shape:
            self.write(f"put(s, {self.target(p)}, {text})")
        else:
            self.write(f"{self.variable(p)} = {text}")

    def source(self) -> list[str]:
        """Write all operations; return the statements."""
        for band in self.bands:
            item = band[0]
            if len(band) > 1:
                self._band(band)
                continue
            if item.kind == "nest":
                self._group(item.positions, item.shape, item.recomputed)
                continue
            (p,) = item.positions
            if item.kind == "number":
                self._scalar(p)
            elif item.kind == "guard":
                self._guard(p)
            else:
                write_operation(self, p)
                self.nests += 1
        return self.lines

    def _scalar(self, p: int) -> None:
        op = self.ops[p]
        args = [self.number(p, a) for a in range(len(op.args))]
        divides = op.f is np.true_divide or op.f is np.reciprocal
        if op.is_number and divides and not _is_nonzero_constant(op.args[-1]):
            self.write(f"if {args[-1]} == 0.0: return 2")
        name, facts = self.variable(p), facts_of(op.f)
        self.write(f"{name} = {op.rounded(facts.loops.format(*args))}")
        if op.is_number and facts.undefined:
            self.write(f"if {facts.undefined.format(*args, y=name)}: return 2")

    def _guard(self, p: int) -> None:
        op = self.ops[p]
        view, question = op.args[0], op.f
        x = self.number(p, 0)
        if question is bool:
            x = x if view.is_bool else f"({x} != 0.0)"
            self.write(f"if {f'not {x}' if op.extra[0] else x}: return 0")
        elif question is has_nan:
            self.write(f"if {x} != {x}: return 0")
        else:
            self.write(f"if not ({SOURCES[question].format(x)}): return 0")

    def nest(
        self, shape: tuple, strides: list[tuple], between: Callable | None = None
    ) -> tuple[list, list]:
        """Begin a loop nest over a shape: see `_loops`.

        Return the terms of the index for each of the strides, and the loop variables. `between` is
        called before the innermost loop, with the terms so far and the strides in that loop.
        """
        loops = _loops(shape, strides, "rows" if self.row else "")
        terms: list[list[str]] = [[] for _ in strides]
        variables = []
        for k, (n, steps) in enumerate(loops):
            variable = f"i{k}"
            variables.append(variable)
            if between is not None and k == len(loops) - 1:
                between(terms, steps)
            self.enter(variable, n)
            for index, s in zip(terms, steps, strict=True):
                index += term_of(s, variable)
        return terms, variables

    def fill(self, place: str, n: int, value: str = "0.0") -> None:
        """Write a number to all elements of a range of the memory."""
        self.enter("i0", n)
        self.write(f"put(s, {place} + i0, {value})")
        self.leave()

    def _band(self, band: list[FusionGroup]) -> None:
        """Write nests that run for one block of rows after the other."""
        k, rows = axes_of_rows(band), rows_in_block(band)
        *first, n = band[0].shape[:k]
        numbers = []
        for p in [p for item in band for p in item.positions if self.ops[p].kind in FOLDS]:
            fold = Fold(self, p, self.target(p) if self.ops[p].shape else "", None)
            if not self.ops[p].shape:
                numbers.append(fold)
        self.row = [f"row{d}" for d in range(k)]
        for variable, m in zip(self.row, first, strict=False):
            self.enter(variable, m)
        self.enter("block", -(-n // rows))
        self.write(f"{self.row[-1]} = {rows} * block")
        self.write(f"rows = {rows} if {self.row[-1]} + {rows} <= {n} else {n} - {self.row[-1]}")
        for item in band:
            self._group(item.positions, item.shape, item.recomputed)
        self.row = []
        self.leave(k)
        for fold in numbers:
            fold.end()

    def _group(self, own: list[int], shape: tuple, recomputed: set[int]) -> None:
        """Write operations as one loop nest; results of those in `recomputed` are not stored."""
        positions = sorted([*own, *recomputed])
        self.nests += 1
        loads: list[tuple[str, str]] = []
        strides: list[tuple] = [self._inside(strides_of(shape))]
        operands = [self._operands(p, positions, loads, strides) for p in positions]
        targets: dict[int, tuple[str, int]] = {}
        for p in own:
            self._begin(p, strides, targets)
        shape = self._inside(shape)
        outside = max(0, len(self.row) - 1)  # axes that the nest does not go over
        edges = {d: len(strides) + k for k, d in enumerate(self._edges(positions))}
        strides += [tuple([int(d == outside + k) for k in range(len(shape))]) for d in edges]
        is_long = {
            p
            for p in positions
            if self.ops[p].f in _VECTORIZED_IF_LONG and self.ops[p].size >= _MANY
        }
        is_pure = all(self.ops[p].kind != "change" for p in positions)
        hoisted: dict[int, str] = {}
        loaded = [x for args in operands for x in args if not isinstance(x, str)]
        padded = {k for k, view in loaded if view.bounds is not None}
        folds = self._folds(positions, targets, _loops(shape, strides))
        rows = [fold for fold in folds.values() if fold.is_row]

        def between(terms: list, last: list[int]) -> None:
            """Hoist loads that are invariant in the innermost loop; begin folds along it."""
            for k, (array, place) in enumerate(loads, 1):
                if is_pure and last[k] == 0 and terms[k] and k not in padded:
                    hoisted[k] = self.temporary(f"get({array}, {at(place, terms[k])})")
            for fold in rows:
                fold.begin()

        def load(k: int, view: StridedView) -> str:
            """Load the element of a view with the k-th strides into a variable."""
            array, place = loads[k - 1]
            text = hoisted.get(k) or f"get({array}, {at(place, terms[k])})"
            indices = {d: [*self.row[d : d + 1], *terms[k]] for d, k in edges.items()}
            return self._element_of(view, text, {d: " + ".join(x) for d, x in indices.items()})

        terms, variables = self.nest(shape, strides, between)
        for p, parts in zip(positions, operands, strict=True):
            args = [x if type(x) is str else load(*x) for x in parts]
            to = at(targets[p][0], terms[targets[p][1]]) if p in targets else ""
            if p in folds:
                folds[p].add(args, to)
            else:
                self._element(p, args, to, p in is_long)
        if rows:
            self.leave()
            variables.pop()
        for fold in rows:
            fold.end(at(fold.place, terms[targets[fold.p][1]]))
        self.leave(len(variables))
        for p, fold in folds.items():
            if p not in targets and not self.row:
                fold.end()

    def _folds(
        self, positions: list[int], targets: dict[int, tuple[str, int]], loops: list
    ) -> dict[int, Fold]:
        """Return the reductions in a nest, and write what precedes it for them."""
        found = {}
        for p in positions:
            if self.ops[p].kind in FOLDS:
                place, k = targets.get(p, ("", 0))
                steps = [steps[k] for _, steps in loops]
                found[p] = Fold(self, p, place, steps)
        return found

    def _operands(
        self, p: int, positions: list[int], loads: list, strides: list[tuple]
    ) -> list[Any]:
        """Return the operands of a fused operation: each is an expression, or a load.

        A load is the index of its strides, and a view; it is added to `loads` and `strides`. Loads
        of a single element are hoisted out of the nest.
        """
        op = self.ops[p]
        operands: list[Any] = []
        for a, view in enumerate(op.args):
            if op.kind == "change" and a == 0:
                continue  # it is updated in place
            if view.kind == "v" and view.base in positions:
                operands.append(f"g{view.base}")
            elif view.kind in "nc" or self.is_single(view):
                text = self.number(p, a)
                operands.append(text if text.isidentifier() else self._hoisted(text))
            elif not any(self._inside(view.strides)) and view.bounds is None:
                array, place = self.memory(p, a)
                text = f"get({array}, {place})"
                operands.append(self.temporary(f"{text} != 0.0" if view.is_bool else text))
            else:
                loads.append(self.memory(p, a))
                strides.append(self._inside(view.strides))
                operands.append((len(strides) - 1, view))
        return operands

    def _element_of(self, view: StridedView, text: str, variables: dict[int, str]) -> str:
        """Load an element of a view into a variable; in the padding it is zero."""
        self._temporaries += 1
        name = f"e{self._temporaries}"
        if view.bounds is None:
            self.write(f"{name} = {text}{' != 0.0' if view.is_bool else ''}")
            return name
        self.write(f"{name} = 0.0")
        self.begin(f"if {_is_inside(view, variables)}:")
        self.write(f"{name} = {text}")
        self.leave()
        return name

    def _edges(self, positions: list[int]) -> list[int]:
        """Return the axes along which an operation reads a padded view."""
        views = [a for p in positions for a in self.ops[p].args if a.bounds is not None]
        return sorted({d for a in views for d, _ in _ends(a)})

    def _begin(self, p: int, strides: list[tuple], targets: dict[int, tuple[str, int]]) -> None:
        """Write what precedes the nest for an operation, and add where its result is stored."""
        op = self.ops[p]
        if op.kind in FOLDS and not op.shape:
            return
        if op.kind in ("change", *FOLDS):
            own = op.extra[-1]
            place = self._in_row(self.stored(p) + op.offset, own)
            if op.kind == "change" and self.buffer[p] == p:
                self._cleared(p)
        elif p in self.kept or p in self.direct:
            own = strides_of(op.shape)
            offset = self.stored(p) if p in self.kept else 0
            place = self._in_row(offset, own, p in self.in_block)
        else:
            return
        strides.append(self._inside(own))
        targets[p] = (place, len(strides) - 1)

    def _element(self, p: int, args: list[str], to: str, is_vectorizable: bool) -> None:
        """Write an operation on one element; the result is stored at the offset `to`, if any."""
        op = self.ops[p]
        text = args[0]
        if is_vectorizable:
            text = f"{op.f.__name__}({text})"
        elif op.kind == "map":
            text = facts_of(op.f).loops.format(*args)
        elif op.kind == "change" and op.extra[0] != "=":
            text = f"get(s, {to}) {op.extra[0]} {text}"
        self.write(f"g{p} = {op.rounded(text)}")
        if to:
            value = f"1.0 if g{p} else 0.0" if op.is_bool else f"g{p}"
            array = f"p{self.direct[p]}" if p in self.direct else "s"
            self.write(f"put({array}, {to}, {value})")

    def _cleared(self, p: int) -> None:
        """Clear a result before a region of it is written; skip the region if it is contiguous."""
        op = self.ops[p]
        _, shape, strides = op.extra
        ranges = [(0, op.size)]
        if len(op.shape) == 1 and strides == (1,):
            ranges = [(0, op.offset), (op.offset + shape[0], op.size)]
        for first, end in ranges:
            if first < end:
                self.fill(self.target(p, first), end - first)

    def _hoisted(self, text: str) -> str:
        """Assign an expression to a variable, unless it is a literal."""
        is_plain = text.replace(".", "").replace("e", "").replace("-", "").isdigit()
        return text if is_plain or text.startswith("(-") else self.temporary(text)


def _loops(shape: tuple, strides: list[tuple], rows: str = "") -> list[tuple[int | str, list[int]]]:
    """Return the loops over a shape, with their lengths and strides.

    Adjacent axes are merged where all strides allow it. The first axis has `rows` rows, if given.
    """
    axes: list[list[int]] = []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if axes and all(s[axes[-1][-1]] == s[d] * n for s in strides):
            axes[-1].append(d)
        else:
            axes.append([d])
    found: list[tuple[int | str, list[int]]] = []
    for merged in axes:
        n = math.prod([shape[d] for d in merged if d or not rows])
        is_first = rows and 0 in merged
        found.append((f"{rows} * {n}" if is_first else n, [s[merged[-1]] for s in strides]))
    return found


def _ends(view: StridedView) -> list[tuple[int, tuple[int, int]]]:
    """Return the axes along which a view is padded, with the bounds of its elements."""
    both = zip(view.bounds or (), view.shape, strict=True)
    return [(d, b) for d, (b, n) in enumerate(both) if b != (0, n)]


def _is_inside(view: StridedView, variables: dict[int, str]) -> str:
    """Return the expression of whether an index is inside of the elements of a padded view."""
    tests = []
    for d, (first, end) in _ends(view):
        tests += [f"{variables[d]} >= {first}"] if first else []
        tests += [f"{variables[d]} < {end}"] if end < view.shape[d] else []
    return " and ".join(tests) or "True"


def _is_nonzero_constant(view: StridedView) -> bool:
    return view.kind == "c" and view.base != 0
