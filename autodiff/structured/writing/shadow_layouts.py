"""Memory layouts of arrays and shadows: the parts that a function accesses are contiguous.

The elements of a column ``x[:, k]`` are far from each other. If a function accesses an array only
by columns, its shadow is laid out so that each column is contiguous. In machine code, so is the
array: an argument is copied, and results are copied back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Block, FunctionIR, If, Memory, Op, While, flat
from autodiff.structured.form.indices import WHOLE, has_arrays, parts_of_index
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.runtime_library import places_of
from autodiff.structured.writing.rules.bound_rules import BoundRule

_ITERATIONS = 8.0  # the assumed trip count of a loop
_ADVANTAGE = 2.0  # how much more often than by rows an array must be accessed along another axis
_FILLED = frozenset({np.zeros, np.ones, np.empty, np.ndarray})
_INDEXED = frozenset({"view", "load", "store", "add", "sub"})


def layouts(program: FunctionIR) -> dict[Memory, tuple[int, ...]]:
    """Return the order of the axes, slowest first, of shadows that do not lie in C order."""
    scores: dict[Memory, list[float]] = {}  # for each axis: weight of the slices along it
    whole: dict[Memory, float] = {}  # weight of the accesses to all axes
    excluded: set[Memory] = set()
    for op, weight in _weighted_ops(program.body, 1.0):
        excluded.update(_fixed(op))
        if op.code not in _INDEXED or not op.args[0].kind.is_array:
            continue
        base = op.args[0]
        if base.op.code == "view":
            continue
        memory, n = base.root, base.kind.ndim
        score = scores.setdefault(memory, [0.0] * n)
        if len(score) != n:
            excluded.add(memory)
            continue
        sliced = _sliced_axes(op, n)
        if len(sliced) == n:
            whole[memory] = whole.get(memory, 0.0) + weight
        for axis in sliced if len(sliced) < n else ():
            score[axis] += weight
    found = {}
    for memory, score in scores.items():
        n = len(score)
        best = max(range(n), key=lambda axis: (score[axis], axis))
        if memory in excluded or score[best] <= _ADVANTAGE * (score[-1] + whole.get(memory, 0.0)):
            continue
        found[memory] = tuple(sorted(range(n), key=lambda axis: (score[axis], axis)))
    return found


def layouts_of_values(
    program: FunctionIR, layouts: dict[Memory, tuple[int, ...]]
) -> dict[Memory, tuple[int, ...]]:
    """Return the layouts of the arrays that can have the layout of their shadows, and gain by it.

    These are arguments, and arrays that calls make. A function that reads or makes all of an array
    in a loop, by one call, would traverse it in the wrong order. Outside of loops NumPy would give
    the layout to results as well, which machine code takes in C order.
    """
    excluded = {memory.root() for memory in program.may_be_views}
    given = {s.root for s in program.parameters if s.memory is not None}
    for v in flat(program.returned):
        is_argument = v.op.code == "read" and v.op.data in program.parameters
        if v.memory is not None and v.root in given and not is_argument:
            excluded.add(v.root)
    in_loops: set[Memory] = set()  # of arrays whose parts a loop accesses
    for op, weight in _weighted_ops(program.body, 1.0):
        v = op.out
        if v is not None and v.memory is not None and op.code not in ("read", "view"):
            axes = layouts.get(v.root, ())
            is_new = op.code == "call" and makes_new(op)
            if not is_new or (v.kind.ndim == len(axes) and weight > 1.0):
                excluded.add(v.root)
        roots = [a.root for a in op.args if a.memory is not None]
        if op.code in _INDEXED and roots:
            if type(op.data) is tuple and has_arrays(op.data):
                excluded.add(roots[0])
            if weight > 1.0:
                in_loops.add(roots[0])
        elif op.code == "call" and weight > 1.0:
            for a in op.operands:
                root = a.root if a.memory is not None else None
                if root in layouts and a.op.code == "read" and a.kind.ndim == len(layouts[root]):
                    excluded.add(root)
    found = {m: axes for m, axes in layouts.items() if m in in_loops - excluded}
    while True:
        ops = [op for op, weight in _weighted_ops(program.body, 1.0) if weight <= 1.0]
        passed_on = {m for op in ops for m in _passed_on(op, found)}
        if not passed_on:
            return found
        found = {m: axes for m, axes in found.items() if m not in passed_on}


def _passed_on(op: Op, found: dict[Memory, tuple[int, ...]]) -> set[Memory]:
    """Return the memory whose layout a result without that layout would get from NumPy."""
    v = op.out
    if op.code != "call" or v is None or v.memory is None or v.kind.ndim < 2:
        return set()
    axes = found.get(v.root)
    given = [a.root for a in op.operands if a.memory is not None]
    return {m for m in given if m in found and found[m] != axes}


def call_in_layout(e: Any, op: Op, text: str, axes: tuple[int, ...]) -> str:
    """Return a call that makes an array, as source that makes it in a layout.

    `text` is its source in the forward function, which the writer `e` writes.
    """
    if op.f is np.zeros_like and len(op.args) == 1 and not op.options:
        return f"zeros_along({e.text(op.args[0])}, {axes})"
    if op.f in _FILLED and op.args[0].op.code == "tuple":
        shape = op.args[0]
        lengths = [e.text(n) for n in shape.op.args]
        permuted = "".join(f"{lengths[k]}, " for k in axes)
        made = e.operation(op, lambda v: f"({permuted})" if v is shape else e.text(v))
        return f"{e.constants.name(np.transpose)}({made}, {places_of(axes)})"
    return f"laid_out({text}, {axes})"


def _weighted_ops(nodes: list, weight: float) -> Iterator[tuple[Op, float]]:
    """Yield all operations, and how often each is assumed to run."""
    for node in nodes:
        if isinstance(node, Block):
            yield from ((op, weight) for op in node.ops)
        elif isinstance(node, If):
            yield from _weighted_ops([*node.then, *node.otherwise], weight)
        else:
            before = node.before if isinstance(node, While) else []
            yield from _weighted_ops([*before, *node.body], weight * _ITERATIONS)


def _sliced_axes(op: Op, n: int) -> list[int]:
    """Return the axes of an array that an operation indexes by slices."""
    parts = parts_of_index(op.data) if type(op.data) is tuple else [WHOLE]
    if ("known", None) in parts or any(part[0] == "array" for part in parts):
        return []
    rest = ("slice", None, None, None)
    if WHOLE in parts:
        k = parts.index(WHOLE)
        parts = [*parts[:k], *[rest] * (n - len(parts) + 1), *parts[k + 1 :]]
    parts = [*parts, *[rest] * (n - len(parts))]
    return [axis for axis, part in enumerate(parts) if part[0] == "slice"]


def _fixed(op: Op) -> Iterator[Memory]:
    """Yield the memory whose shadows must have the layout of their arrays because of an operation.

    This includes the matrices in products: outer products are added to their shadows, row by row.
    """
    given = [v for v in op.operands if v.memory is not None]
    roots = {v.root for v in given}
    if isinstance(op.rule, BoundRule) and getattr(op.rule.rule, "subscripts", None):
        yield from (v.root for v in given if v.kind.ndim > 1)
    made = op.out.root if op.out is not None and op.out.memory is not None else None
    may_be_view = op.code == "call" and made in roots and not makes_new(op)
    if may_be_view or any(v.kind.has_items for v in (*given, op.out) if v):
        yield from roots
        if made is not None:
            yield made
