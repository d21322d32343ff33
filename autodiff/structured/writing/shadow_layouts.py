"""Memory layouts of shadows: the parts that the sweep adds to are contiguous.

The elements of a column ``x[:, k]`` are far from each other. If a function accesses an array only
by columns, its shadow is laid out so that each column is contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator

from autodiff.structured.form.function_ir import Block, FunctionIR, If, Memory, Op, While
from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.writing.rules.bound_rules import BoundRule

_ITERATIONS = 8.0  # the assumed trip count of a loop
_ADVANTAGE = 2.0  # how much more often than by rows an array must be accessed along another axis
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
        memory, n = base.memory.root(), base.kind.ndim  # type: ignore[union-attr] # an array has one
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
    parts = parts_of_index(op.data) if type(op.data) is tuple else [("known", Ellipsis)]
    if ("known", None) in parts or any(part[0] == "array" for part in parts):
        return []
    rest = ("slice", None, None, None)
    if ("known", Ellipsis) in parts:
        k = parts.index(("known", Ellipsis))
        parts = [*parts[:k], *[rest] * (n - len(parts) + 1), *parts[k + 1 :]]
    parts = [*parts, *[rest] * (n - len(parts))]
    return [axis for axis, part in enumerate(parts) if part[0] == "slice"]


def _fixed(op: Op) -> Iterator[Memory]:
    """Yield the memory whose shadows must have the layout of their arrays because of an operation.

    This includes the matrices in products: outer products are added to their shadows, row by row.
    """
    given = [v for v in (*op.args, *op.options.values()) if v.memory is not None]
    roots = {v.memory.root() for v in given}  # type: ignore[union-attr] # they have one
    if isinstance(op.rule, BoundRule) and getattr(op.rule.rule, "subscripts", None):
        yield from (v.memory.root() for v in given if v.kind.ndim > 1)  # type: ignore[union-attr]
    made = op.out.memory.root() if op.out is not None and op.out.memory is not None else None
    may_be_view = op.code == "call" and made in roots and not makes_new(op)
    if may_be_view or any(v.kind.has_items for v in (*given, op.out) if v):
        yield from roots
        if made is not None:
            yield made
