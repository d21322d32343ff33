"""The source of operations that are not elementwise: each has loop nests of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import NotLowerableError, at, strides_of, term_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.loop_codegen import LoopWriter

_FEW = 4
"""Up to so many arrays are copied one by one, more of one form in a loop."""


def write_operation(w: LoopWriter, p: int) -> None:
    """Write an operation."""
    _WRITERS[w.ops[p].kind](w, p)


def _call(w: LoopWriter, p: int) -> None:
    """Write a call of a routine of `linalg_runtime`, or an expression of such calls.

    A loop nest calls it for each matrix of a stack.
    """
    op = w.ops[p]
    core, text, may_fail = op.extra
    n = len(op.shape) - core
    given = [w.memory(p, a) for a in range(len(op.args))]
    strides = [*[a.strides[:n] for a in op.args], strides_of(op.shape)[:n]]
    terms, variables = w.nest(op.shape[:n], strides)
    places = [f"{array}, {at(place, t)}" for (array, place), t in zip(given, terms, strict=False)]
    target = at(w.target(p), terms[-1]) if op.shape else ""
    made = text.format(*places, y=f"s, {target}")
    if "{y}" not in text:  # it is the value of the result
        made = f"put(s, {target}, {made})" if op.shape else f"{w.variable(p)} = {made}"
    w.write(f"if not {made}: return 2" if may_fail else made)
    w.leave(len(variables))


def _running(w: LoopWriter, p: int) -> None:
    """Write a cumulative sum along an axis."""
    op = w.ops[p]
    (axis,) = op.extra
    view = op.args[0]
    array, place = w.memory(p, 0)
    target = w.target(p)
    out = strides_of(op.shape)
    index: list[str] = []
    inside: list[str] = []
    for d, n in enumerate(op.shape):
        if d != axis:
            w.enter(f"k{d}", n)
            index += term_of(out[d], f"k{d}")
            inside += term_of(view.strides[d], f"k{d}")
    here, there = w.temporary(at(place, inside)), w.temporary(at(target, index))
    w.write("total = 0.0")
    w.enter("j", op.shape[axis])
    w.write(f"total = total + get({array}, {at(here, term_of(view.strides[axis], 'j'))})")
    w.write(f"put(s, {at(there, term_of(out[axis], 'j'))}, total)")
    w.leave(len(op.shape))


def _read_places(w: LoopWriter, p: int) -> None:
    array, place = w.memory(p, 0)
    target = w.target(p)
    w.enter("i", w.ops[p].size)
    w.write(f"put(s, {target} + i, get({array}, {place} + x{w.ops[p].args[1].base}[i]))")
    w.leave()


def _added_places(w: LoopWriter, p: int) -> None:
    view, table = w.ops[p].args
    target = w.target(p)
    w.fill(target, w.ops[p].size)
    number = ""
    if view.kind in "nc" or not view.shape or w.is_single(view):
        number = w.temporary(w.number(p, 0))
    else:
        array, start = w.memory(p, 0)
    terms, variables = w.nest(view.shape, [view.strides, strides_of(view.shape)])
    value = number or f"get({array}, {at(start, terms[0])})"
    to = w.temporary(f"{target} + x{table.base}[{' + '.join(terms[1]) or '0'}]")
    w.write(f"put(s, {to}, get(s, {to}) + {value})")
    w.leave(len(variables))


def _copied(w: LoopWriter, p: int, a: int, target: str, place: tuple, sign: str = "=") -> None:
    """Write an operand to a region of the result, given by its offset, and shape and strides."""
    shape, strides = place
    view = w.ops[p].args[a]
    if view.is_bool:
        raise NotLowerableError
    if view.kind in "nc" or not view.shape or w.is_single(view):
        text, mine = w.number(p, a), (0,) * len(shape)
        text = text if text.isidentifier() else w.temporary(text)
        array = start = ""
    else:
        array, start = w.memory(p, a)
        mine, text = view.strides, ""
        if sign == "=" and mine == strides == strides_of(shape):
            w.write(f"moved({array}, {start}, {math.prod(shape)}, s, {target})")
            return
    terms, variables = w.nest(shape, [strides, mine])
    value = text or f"get({array}, {at(start, terms[1])})"
    to = at(target, terms[0])
    if sign != "=":
        value = w.ops[p].rounded(f"get(s, {to}) {sign} {value}")
    w.write(f"put(s, {to}, {value})")
    w.leave(len(variables))


def _change(w: LoopWriter, p: int) -> None:
    op = w.ops[p]
    sign, shape, strides = op.extra
    if op.args[0].kind == "c":
        w.fill(w.target(p), op.size)
    elif w.buffer[p] == p:
        _copied(w, p, 0, w.target(p), (op.shape, strides_of(op.shape)))
    _copied(w, p, 1, w.target(p, op.offset), (shape, strides), sign)


def _parts(w: LoopWriter, p: int) -> None:
    """Write arrays and numbers to regions; a loop copies those of one form in the memory."""
    op = w.ops[p]
    is_covered, regions = op.extra
    if not is_covered:
        w.fill(w.target(p), op.size)
    alike: dict[tuple, list[int]] = {}
    for a, (v, (_, out)) in enumerate(zip(op.args, regions, strict=True)):
        if v.kind == "v" and w.address[v.base] >= 0:
            alike.setdefault((v.shape, v.strides, out), []).append(a)
    done: set[int] = set()
    for (shape, strides, out), group in alike.items():
        if len(group) <= _FEW:
            continue
        done.update(group)
        places = np.array([w.address[op.args[a].base] + op.args[a].offset for a in group])
        w.enter("t", len(group))
        begin = w.temporary(w.moving(places))
        to = w.temporary(w.moving(w.stored(p) + np.array([regions[a][0] for a in group])))
        terms, variables = w.nest(shape, [out, strides])
        w.write(f"put(s, {at(to, terms[0])}, get(s, {at(begin, terms[1])}))")
        w.leave(len(variables) + 1)
    for a, (v, (offset, out)) in enumerate(zip(op.args, regions, strict=True)):
        if a not in done:
            _copied(w, p, a, w.target(p, offset), (v.shape, out))
            w.nests += v.shape != ()


_WRITERS: dict[str, Any] = {
    "call": _call,
    "change": _change,
    "parts": _parts,
    "running": _running,
    "places": _read_places,
    "add_places": _added_places,
}
