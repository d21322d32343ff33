"""In which order the axes of a shadow lie in memory: vectors that the sweep adds to lie in a row.

`x[:, k]` is a column of an array, whose elements are far from each other. If a function reads and
writes such parts of an array alone, its shadow is made so that each of them lies in a row.
"""

from __future__ import annotations

from collections.abc import Iterator

from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.ir import Block, If, Memory, Op, Program, While
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.writing.rules.bound_rules import Bound

_DEEPER = 8.0  # how often a loop is taken to turn
_CLEARLY = 2.0  # how much more often another axis must be cut along
_INDEXED = frozenset({"view", "load", "store", "add", "sub"})


def layouts(program: Program) -> dict[Memory, tuple[int, ...]]:
    """Return the order of the axes, the slowest first, of shadows for which it is another one."""
    scores: dict[Memory, list[float]] = {}  # for each axis: what is cut along this axis alone
    others: dict[Memory, float] = {}
    excluded: set[Memory] = set()
    for op, weight in _ops(program.body, 1.0):
        excluded.update(_fixed(op))
        if op.code not in _INDEXED or not op.args[0].kind.is_array:
            continue
        base = op.args[0]
        if base.op.code == "view":  # a part of a part
            continue
        memory, n = base.memory.root(), base.kind.ndim  # type: ignore[union-attr] # an array has one
        score = scores.setdefault(memory, [0.0] * n)
        if len(score) != n:
            excluded.add(memory)
            continue
        cut = _sliced_axes(op, n)
        if len(cut) == n:
            others[memory] = others.get(memory, 0.0) + weight
        for axis in cut if 0 < len(cut) < n else ():
            score[axis] += weight
    found = {}
    for memory, score in scores.items():
        n = len(score)
        best = max(range(n), key=lambda axis: (score[axis], axis))
        if memory in excluded or score[best] <= _CLEARLY * (score[-1] + others.get(memory, 0.0)):
            continue
        found[memory] = tuple(sorted(range(n), key=lambda axis: (score[axis], axis)))
    return found


def _ops(nodes: list, weight: float) -> Iterator[tuple[Op, float]]:
    for node in nodes:
        if isinstance(node, Block):
            yield from ((op, weight) for op in node.ops)
        elif isinstance(node, If):
            yield from _ops([*node.then, *node.otherwise], weight)
        else:
            before = node.before if isinstance(node, While) else []
            yield from _ops([*before, *node.body], weight * _DEEPER)


def _sliced_axes(op: Op, n: int) -> list[int]:
    """Return the axes of the array along which a part of it has several elements."""
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
    """Yield the memory whose shadows have the layout of their arrays in an operation.

    Matrices in products are those to which outer products are added, whose rows must lie in a row.
    """
    given = [v for v in (*op.args, *op.options.values()) if v.memory is not None]
    roots = {v.memory.root() for v in given}  # type: ignore[union-attr] # they have one
    if isinstance(op.rule, Bound) and getattr(op.rule.rule, "subscripts", None):
        yield from (v.memory.root() for v in given if v.kind.ndim > 1)  # type: ignore[union-attr]
    made = op.out.memory.root() if op.out is not None and op.out.memory is not None else None
    may_be_view = op.code == "call" and made in roots and not makes_new(op)
    if may_be_view or any(v.kind.has_items for v in (*given, op.out) if v):
        yield from roots
        if made is not None:
            yield made
