"""The source of operations that are not elementwise: each has loop nests of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.linalg import linalg_codegen
from autodiff.compiler.kernels.loop_ir import (
    LoopOp,
    NotLowerableError,
    at,
    constant,
    strides_of,
    term_of,
)

if TYPE_CHECKING:
    from autodiff.compiler.kernels.loop_codegen import LoopWriter

_UNROLLED = 4
_FEW = 4096
"""Up to this number of multiplications, a call is as fast as loops of constant trip count."""


def write_operation(w: LoopWriter, p: int) -> None:
    """Write an operation."""
    _WRITERS[w.ops[p].kind](w, p)


def _product(w: LoopWriter, p: int) -> None:
    """Write a product of vectors and matrices, with loops in the order of the strides."""
    a, b = w.ops[p].args
    (x, x_at), (y, y_at) = w.memory(p, 0), w.memory(p, 1)
    k = a.shape[-1]
    n, row = (1, 0) if len(a.shape) == 1 else (a.shape[0], a.strides[0])
    m, column = (1, 0) if len(b.shape) == 1 else (b.shape[1], b.strides[1])
    along, down = a.strides[-1], b.strides[0]
    if n * m > 1 and n * k * m <= _FEW:
        target = w.target(p)  # a call compiles fastest, as the routine is compiled once
        left, right = f"{x}, {x_at}, {row}, {along}", f"{y}, {y_at}, {down}, {column}"
        w.write(f"multiplied({left}, {right}, {n}, {k}, {m}, s, {target})")
        return
    if n == 1 and m > 1:  # a row times a matrix is the transposed matrix times a column
        x, x_at, y, y_at = y, y_at, x, x_at
        n, m, row, column, along, down = m, 1, column, 0, down, along
    if n == m == 1:
        _add_products(w, k, (x, at(x_at, term_of(along, "j"))), (y, at(y_at, term_of(down, "j"))))
        w.result(p, "total")
        return
    target = w.target(p)
    if m == 1:
        _matrix_times_vector(w, (x, x_at, row, along), (y, y_at, down), n, k, target)
    elif abs(down) < abs(column):
        w.enter("i", n)
        w.enter("l", m)
        left = at(x_at, term_of(row, "i") + term_of(along, "j"))
        right = at(y_at, term_of(down, "j") + term_of(column, "l"))
        _add_products(w, k, (x, left), (y, right))
        w.write(f"put(s, {target} + {m} * i + l, total)")
        w.leave(2)
    else:
        w.enter("i", n)
        start = w.temporary(f"{target} + {m} * i")
        here = w.temporary(at(x_at, term_of(row, "i")))
        _combined(w, (y, y_at, column, down), (x, here, along), m, k, start)
        w.leave()


def _add_products(w: LoopWriter, k: int, left: tuple[str, str], right: tuple[str, str]) -> None:
    """Write the inner product of two vectors, given by array and index; the loop variable is j."""
    w.write("total = 0.0")
    w.enter("j", k)
    w.write(f"total = plus(total, times(get({', '.join(left)}), get({', '.join(right)})))")
    w.leave()


def _matrix_times_vector(
    w: LoopWriter, matrix: tuple, vector: tuple, n: int, k: int, target: str
) -> None:
    x, x_at, row, along = matrix
    y, y_at, down = vector
    if abs(row) < abs(along):
        _combined(w, (x, x_at, row, along), (y, y_at, down), n, k, target)
        return
    w.enter("i", n)
    left = at(x_at, term_of(row, "i") + term_of(along, "j"))
    _add_products(w, k, (x, left), (y, at(y_at, term_of(down, "j"))))
    w.write(f"put(s, {target} + i, total)")
    w.leave()


def _combined(w: LoopWriter, matrix: tuple, vector: tuple, n: int, k: int, target: str) -> None:
    """Write a linear combination of the columns of a matrix, several columns at a time."""
    x, x_at, row, along = matrix
    y, y_at, down = vector
    w.enter("i0", n)
    w.write(f"put(s, {target} + i0, 0.0)")
    w.leave()
    unrolled = _UNROLLED if k % _UNROLLED == 0 else 1
    w.enter("j", k // unrolled)
    factors = []
    for u in range(unrolled):
        index = f"({unrolled} * j + {u})"
        factors.append(w.temporary(f"get({y}, {at(y_at, term_of(down, index))})"))
    starts = [
        w.temporary(at(x_at, term_of(along, f"({unrolled} * j + {u})"))) for u in range(unrolled)
    ]
    w.enter("i0", n)
    total = f"get(s, {target} + i0)"
    for factor, start in zip(factors, starts, strict=True):
        total = f"plus({total}, times({factor}, get({x}, {at(start, term_of(row, 'i0'))})))"
    w.write(f"put(s, {target} + i0, {total})")
    w.leave(2)


def _contracted(w: LoopWriter, p: int) -> None:
    """Write a contraction: for each element of the result, or for whole rows if contiguous."""
    op = w.ops[p]
    a, b = op.args
    n = len(op.shape)
    (x, x_at), (y, y_at) = w.memory(p, 0), w.memory(p, 1)
    if not op.shape:
        w.write("total = 0.0")
        terms, variables = w.nest(a.shape, [a.strides, b.strides])
        left, right = f"get({x}, {at(x_at, terms[0])})", f"get({y}, {at(y_at, terms[1])})"
        w.write(f"total = plus(total, times({left}, {right}))")
        w.leave(len(variables))
        w.result(p, "total")
        return
    target = w.target(p)
    inner, out = a.shape[n:], strides_of(op.shape)
    last = {a.strides[n - 1], b.strides[n - 1]}
    by_rows = last == {0, 1} and {v.strides[-1] for v in (a, b)} != {1}
    outer = n - 1 if by_rows else n
    index: list[list[str]] = [[], [], []]
    for d in range(outer):
        w.enter(f"k{d}", op.shape[d])
        for terms, strides in zip(index, (out, a.strides, b.strides), strict=True):
            terms += term_of(strides[d], f"k{d}")
    to, here, there = (
        w.temporary(at(x, t)) for x, t in zip((target, x_at, y_at), index, strict=True)
    )
    if by_rows:
        m = op.shape[-1]
        _zeroed(w, to, m)
        (here_terms, there_terms), variables = w.nest(inner, [a.strides[n:], b.strides[n:]])
        here, there = w.temporary(at(here, here_terms)), w.temporary(at(there, there_terms))
        w.enter("i", m)
        left = f"get({x}, {at(here, term_of(a.strides[n - 1], 'i'))})"
        right = f"get({y}, {at(there, term_of(b.strides[n - 1], 'i'))})"
        w.write(f"put(s, {to} + i, plus(get(s, {to} + i), times({left}, {right})))")
        w.leave(len(variables) + 1 + outer)
        return
    w.write("total = 0.0")
    (here_terms, there_terms), variables = w.nest(inner, [a.strides[n:], b.strides[n:]])
    left, right = f"get({x}, {at(here, here_terms)})", f"get({y}, {at(there, there_terms)})"
    w.write(f"total = plus(total, times({left}, {right}))")
    w.leave(len(variables))
    w.write(f"put(s, {to}, total)")
    w.leave(outer)


def _reduced(w: LoopWriter, p: int) -> None:
    """Write a sum, maximum or minimum along axes."""
    op = w.ops[p]
    axes, divisor = op.extra  # for extrema not a divisor, but the initial value, if any
    view = op.args[0]
    array, place = w.memory(p, 0)
    kept = [d for d in range(len(view.shape)) if d not in axes]
    target = w.target(p) if op.shape else ""
    out = strides_of(tuple([view.shape[d] for d in kept]))
    if kept and view.strides[kept[-1]] == 1 and all(view.strides[d] != 1 for d in axes):
        _reduced_by_rows(w, op, (array, place), kept, target)
        return
    index = [t for k, d in enumerate(kept) for t in term_of(out[k], f"k{k}")]
    inside = [t for k, d in enumerate(kept) for t in term_of(view.strides[d], f"k{k}")]
    for k, d in enumerate(kept):
        w.enter(f"k{k}", view.shape[d])
    here = w.temporary(at(place, inside)) if inside else place
    element = f"get({array}, {here})"
    w.write(f"total = {_first(op, element)}")
    if op.kind != "sum":
        w.write("bad = 0.0")
    rest = tuple([view.shape[d] for d in axes])
    terms, variables = w.nest(rest, [tuple([view.strides[d] for d in axes])])
    element = f"get({array}, {at(here, terms[0])})"
    if op.kind == "sum":
        w.write(f"total = plus(total, {element})")
    else:
        other = w.temporary(element)
        w.write(f"total = {'larger' if op.kind == 'max' else 'smaller'}(total, {other})")
        w.write(f"bad = plus(bad, 1.0 if {other} != {other} else 0.0)")
    w.leave(len(variables))
    if op.kind != "sum":
        w.write("total = math.nan if bad > 0.0 else total")
    if divisor and op.kind == "sum":
        w.write(f"total = total / {float(divisor)!r}")
    if op.shape:
        w.write(f"put(s, {at(target, index)}, total)")
    w.leave(len(kept))
    if not op.shape:
        w.result(p, "total")


def _first(op: LoopOp, element: str) -> str:
    """Return the initial value of a reduction."""
    if op.kind == "sum":
        return "0.0"
    return element if op.extra[1] is None else constant(float(op.extra[1]))


def _reduced_by_rows(
    w: LoopWriter, op: LoopOp, source: tuple[str, str], kept: list[int], target: str
) -> None:
    """Write a reduction along other axes than the contiguous one: whole rows at a time."""
    axes, divisor = op.extra
    view = op.args[0]
    array, place = source
    out = strides_of(tuple([view.shape[d] for d in kept]))
    *outer, last = kept
    index = [t for k, _ in enumerate(outer) for t in term_of(out[k], f"k{k}")]
    inside = [t for k, d in enumerate(outer) for t in term_of(view.strides[d], f"k{k}")]
    for k, d in enumerate(outer):
        w.enter(f"k{k}", view.shape[d])
    here, there = w.temporary(at(place, inside)), w.temporary(at(target, index))
    w.enter("j", view.shape[last])
    first = _first(op, f"get({array}, {here} + j)")
    w.write(f"put(s, {there} + j, {first})")
    w.leave()
    rest = tuple([view.shape[d] for d in axes])
    terms, variables = w.nest(rest, [tuple([view.strides[d] for d in axes])])
    row = w.temporary(at(here, terms[0]))
    w.enter("j", view.shape[last])
    w.write(f"total = get(s, {there} + j)")
    w.write(f"other = get({array}, {row} + j)")
    if op.kind == "sum":
        text = "plus(total, other)"
    else:
        sign = ">=" if op.kind == "max" else "<="
        text = f"total if total {sign} other or total != total else other"
    w.write(f"put(s, {there} + j, {text})")
    w.leave(len(variables) + 1)
    if divisor and op.kind == "sum":
        w.enter("j", view.shape[last])
        w.write(f"put(s, {there} + j, get(s, {there} + j) / {float(divisor)!r})")
        w.leave()
    w.leave(len(outer))


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
    _zeroed(w, target, w.ops[p].size)
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


def _zeroed(w: LoopWriter, target: str, size: int) -> None:
    w.enter("i0", size)
    w.write(f"put(s, {target} + i0, 0.0)")
    w.leave()


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
    if w.buffer[p] == p:
        _copied(w, p, 0, w.target(p), (op.shape, strides_of(op.shape)))
    _copied(w, p, 1, w.region(p), (shape, strides), sign)


def _scatter(w: LoopWriter, p: int) -> None:
    op = w.ops[p]
    _zeroed(w, w.target(p), op.size)
    _copied(w, p, 0, w.region(p), op.extra)


def _stacked(w: LoopWriter, p: int) -> None:
    """Write a stack of arrays; a loop copies those in the memory with equal shape and strides."""
    op = w.ops[p]
    target = w.target(p)
    views = op.args
    sizes = [math.prod(v.shape) for v in views]
    begins = np.cumsum([0, *sizes[:-1]])
    alike: dict[tuple, list[int]] = {}
    for a, v in enumerate(views):
        if v.kind == "v" and w.address[v.base] >= 0 and v.base not in w.forwarded:
            alike.setdefault((v.shape, v.strides), []).append(a)
    done: set[int] = set()
    for (shape, strides), group in alike.items():
        if len(group) <= _UNROLLED:
            continue
        done.update(group)
        w.enter("t", len(group))
        places = np.array([w.address[views[a].base] + views[a].offset for a in group])
        begin = w.temporary(w.moving(places))
        to = w.temporary(f"{target} + {w.moving(begins[group])}")
        terms, variables = w.nest(shape, [strides_of(shape), strides])
        w.write(f"put(s, {at(to, terms[0])}, get(s, {at(begin, terms[1])}))")
        w.leave(len(variables) + 1)
    for a, view in enumerate(views):
        if a not in done and not (view.kind == "v" and w.forwarded.get(view.base, (-1,))[0] == p):
            start = w.temporary(f"{target} + {begins[a]}") if begins[a] else target
            _copied(w, p, a, start, (view.shape, strides_of(view.shape)))
            w.nests += 1


def _packed(w: LoopWriter, p: int) -> None:
    """Write an array of zeros with some numbers; a loop copies those in the memory."""
    op = w.ops[p]
    target = w.target(p)
    _zeroed(w, target, op.size)
    views = op.args
    moving = [
        (place, w.address[v.base] + v.offset)
        for place, v in zip(op.extra[0], views, strict=True)
        if v.kind == "v" and w.address[v.base] >= 0 and not v.is_bool
    ]
    done = set()
    if len(moving) > _UNROLLED:
        first, second = (w.table(np.array([m[k] for m in moving])) for k in (0, 1))
        w.enter("t", len(moving))
        w.write(f"put(s, {target} + {first}[t], get(s, {second}[t]))")
        w.leave()
        done = {place for place, _ in moving}
    for a, place in enumerate(op.extra[0]):
        if place not in done:
            w.write(f"put(s, {target} + {place}, {w.number(p, a)})")


_WRITERS: dict[str, Any] = {
    "product": _product,
    "contraction": _contracted,
    "sum": _reduced,
    "max": _reduced,
    "min": _reduced,
    "change": _change,
    "scatter": _scatter,
    "stack": _stacked,
    "pack": _packed,
    "running": _running,
    "places": _read_places,
    "add_places": _added_places,
    "factors": linalg_codegen.factors,
    "solution": linalg_codegen.solution,
    "unordered": linalg_codegen.unordered,
    "cholesky": linalg_codegen.cholesky,
    "triangular": linalg_codegen.triangular,
    "determinant": linalg_codegen.determinant,
}
