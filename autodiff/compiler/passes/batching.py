"""Batching: one operation on a large array in place of many on small ones.

An unrolled loop that multiplies a matrix with a vector in each iteration leaves many small steps.
This pass batches three patterns: products of one matrix with the rows of another, sums of outer
products (the gradient of such a matrix), and stacks of arrays that are all computed in the same way
(the rows of a Jacobian). It changes the order of sums.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, NamedTuple

import numpy as np

from autodiff.compiler.passes.simplify import has_nan, nan_of_product, remove_unused
from autodiff.compiler.recording.ir import (
    FLOAT64,
    Meta,
    Program,
    Ref,
    Step,
    add_item,
    guard,
    is_outer,
    meta_of,
    reads_of,
    set_item,
    sub_item,
)
from autodiff.functions import MATRIX_PRODUCTS, is_elementwise
from chainrules_core.operations.scattering import may_repeat, scatter

_FEWEST = 8
# If a sum of outer products that rules have made has so many elements, two of them are batched.
_LARGE = 4096
_STREAMED = 1 << 17
"""Such a sum of so many elements is a loop of machine code, if it has fewer than eight terms."""


def batched(program: Program, by_machine: bool) -> Program:
    """Return a program with small steps batched.

    `by_machine` says whether the program may become machine code, which computes a sum of a few
    outer products in one pass over memory. BLAS takes two.
    """
    metas = [program.metas[s.out] for s in program.steps if s.out >= 0]
    arrays = [meta.size for meta in metas if meta.shape]
    if len(arrays) < _FEWEST and max(arrays, default=0) < _LARGE:
        return program
    batching = _Batching(program, by_machine)
    batching.run()
    if not batching.changed:
        return program
    steps = batching.steps
    return remove_unused(Program(steps, program.metas, program.inputs, program.outputs))


class _Batching:
    """A walk over the steps of a program."""

    def __init__(self, program: Program, by_machine: bool) -> None:
        self.program = program
        self.by_machine = by_machine
        self.metas = program.metas
        self.steps: list[Step] = []
        self.origin: dict[int, Step] = {s.out: s for s in program.steps if s.out >= 0}
        self.uses = reads_of(program.steps, program.outputs)
        self.guards: dict[int, Ref] = {}  # array → its stack, which is checked for NaN
        self.batches: dict[tuple, Any] = {}  # similar values → the result of `_batch`
        self.checked = {s.args[0].i for s in program.steps if s.f is guard and s.args[1] is has_nan}
        self.is_swept = False  # the rows are those of sweeps, in which 0 · Inf is 0
        self.stacks: dict[tuple, Ref] = {}  # vectors → a matrix with these rows
        self.products: dict[tuple, Ref] = {}  # matrix and rows → the product with each row
        self.changed = False
        self.row_products = self._find_row_products()
        self.sums = self._find_sums()

    def run(self) -> None:
        """Walk over the steps and make new ones."""
        for step in self.program.steps:
            if step.f is np.stack:
                self._stack(step)
            elif step.out in self.row_products:
                self._product(step)
            elif step.out in self.sums:
                self._sum(step)
            elif step.f is guard and step.args[1] is has_nan:
                self._guard(step)
            else:
                self.steps.append(step)
        if self.guards:
            self._batch_guards()

    def _guard(self, step: Step) -> None:
        """Look for NaN in the factors of a large product first, since they are smaller."""
        y = step.args[0]
        made = self.origin.get(y.i)
        if made is not None and made.f is np.positive:
            made = self.origin.get(made.args[0].i)
        if made is not None and (made.f in MATRIX_PRODUCTS or is_outer(made)) and not made.kwargs:
            metas = [self.metas[x.i] for x in made.args[-2:] if type(x) is Ref]
            are_known = len(metas) == 2 and all(m.shape and m.dtype == FLOAT64 for m in metas)
            size = self.metas[y.i].size
            if are_known and size >= _LARGE and 4 * sum(m.size for m in metas) <= size:
                checked = self.write(nan_of_product, (*made.args[-2:], y), meta_of(0.0))
                step = _nan_guard(checked)
                self.changed = True
        self.steps.append(step)

    def write(
        self, f: Any, args: tuple, meta: Meta, out: int | None = None, kwargs: dict | None = None
    ) -> Ref:
        """Append a step."""
        if out is None:
            self.metas.append(meta)
            out = len(self.metas) - 1
        step = Step(f, args, kwargs, out)
        self.steps.append(step)
        self.origin[out] = step
        return Ref(out)

    def array(self, shape: tuple, dtype: np.dtype = FLOAT64) -> Meta:
        """Return the abstract value of an array."""
        return Meta(np.ndarray, dtype, shape)

    # -- one matrix and the rows of another ------------------------------------------------------

    def _find_row_products(self) -> dict[int, tuple]:
        """Find products of one matrix with many rows of another."""
        groups: dict[tuple, list] = {}
        for step in self.program.steps:
            if step.f not in MATRIX_PRODUCTS or step.kwargs or len(step.args) != 2:
                continue
            matrix, x = step.args
            row = _row_of(x, self.origin, self.metas)
            if row is None or type(matrix) is not Ref or self._ndim(matrix) != 2:
                continue
            if any(self.metas[a.i].dtype != FLOAT64 for a in (matrix, row[0])):
                continue
            groups.setdefault((matrix.i, row[0].i), []).append((step.out, row[1]))
        found = {}
        for key, members in groups.items():
            if len(members) >= _FEWEST and 2 * len(members) >= self.metas[key[1]].shape[0]:
                for out, row in members:
                    found[out] = (*key, row)
        return found

    def _is_like(self, x: Any, meta: Meta) -> bool:
        """Whether an argument has this dtype and shape."""
        own = self.metas[x.i] if type(x) is Ref else meta_of(x)
        return own.dtype == meta.dtype and own.shape == meta.shape

    def _is_term(self, x: Any, total: Meta) -> bool:
        return type(x) is Ref and self._is_like(x, total)

    def _ndim(self, x: Any) -> int:
        meta = self.metas[x.i] if type(x) is Ref else meta_of(x)
        return len(meta.shape or ())

    def _product(self, step: Step) -> None:
        matrix, rows, row = self.row_products[step.out]
        whole = self.products.get((matrix, rows))
        if whole is None:
            n, k = self.metas[matrix].shape
            transpose = self.write(np.transpose, (Ref(matrix),), self.array((k, n)))
            shape = (self.metas[rows].shape[0], n)
            whole = self.write(np.matmul, (Ref(rows), transpose), self.array(shape))
            self.products[matrix, rows] = whole
            self.changed = True
        self.write(operator.getitem, (whole, row), self.metas[step.out], step.out)

    # -- sums of outer products ------------------------------------------------------------------

    def _find_sums(self) -> dict[int, list[Ref]]:
        """Find sums that gain from batching."""
        sums: dict[int, list[Ref]] = {}
        inner: set[int] = set()
        for step in reversed(self.program.steps):
            if step.f is not np.add or step.kwargs or step.out in inner:
                continue
            total = self.metas[step.out]
            if not total.shape:
                continue
            leaves: list[Any] = []
            waiting: list[Any] = list(reversed(step.args))
            middle = []
            while waiting:
                x = waiting.pop()
                origin = self.origin.get(x.i) if type(x) is Ref else None
                is_sum = origin is not None and origin.f is np.add and self.uses[x.i] == 1
                if origin is not None and is_sum and not origin.kwargs and self._is_like(x, total):
                    middle.append(x.i)
                    waiting.extend(reversed(origin.args))
                else:
                    leaves.append(x)
            inner.update(middle)  # a partial sum gains nothing where the whole sum does not
            if len(leaves) >= 2 and self._gains(leaves, total):
                sums[step.out] = leaves
        return sums

    def _gains(self, leaves: list, meta: Meta) -> bool:
        if meta.dtype != FLOAT64:
            return False
        outer = [x for x in leaves if self._outer(x, meta) is not None]
        by_rules = [x for x in outer if self.origin[x.i].f is np.einsum]  # not the user's
        fewest = _FEWEST if self.by_machine and meta.size >= _STREAMED else 2
        return len(outer) >= _FEWEST or (meta.size >= _LARGE and len(by_rules) >= fewest)

    def _outer(self, x: Any, total: Meta) -> tuple[Ref, Ref] | None:
        """Return the two vectors whose outer product a term of a sum is; None for other terms."""
        origin = self.origin.get(x.i) if self._is_term(x, total) else None
        if origin is None or self.uses.get(x.i) != 1 or origin.kwargs or len(origin.args) < 2:
            return None
        a, b = origin.args[-2:]
        if type(a) is not Ref or type(b) is not Ref:
            return None
        if is_outer(origin):
            pair: tuple = (a, b)
        elif origin.f is np.multiply:
            pair = (self._column(a, 1), self._column(b, 0))
            if None in pair:
                pair = (self._column(b, 1), self._column(a, 0))
        else:
            return None
        if None in pair or any(self._ndim(v) != 1 for v in pair):
            return None
        return pair if all(self.metas[v.i].dtype == FLOAT64 for v in pair) else None

    def _column(self, x: Ref, axis: int) -> Ref | None:
        """Return the vector that is the only column (or row) of a matrix, in the same order."""
        if axis == 0 and self._ndim(x) == 1:
            return x
        origin = self.origin.get(x.i)
        shape = self.metas[x.i].shape or ()
        if origin is None or len(shape) != 2 or shape[axis] != 1 or type(origin.args[0]) is not Ref:
            return None
        if origin.f is operator.getitem:
            parts = origin.args[1] if type(origin.args[1]) is tuple else (origin.args[1],)
            rest = [p for p in parts if p is not None and p is not Ellipsis]
            if any(type(p) is not slice or p != slice(None) for p in rest):
                return None
        elif origin.f not in (np.reshape, np.expand_dims):
            return None
        return origin.args[0] if self._ndim(origin.args[0]) == 1 else None

    def _sum(self, step: Step) -> None:
        self.changed = True
        meta = self.metas[step.out]
        pairs: list[tuple[Ref, Ref]] = []
        terms: list[Any] = []
        for x in self.sums[step.out]:
            pair = self._outer(x, meta)
            if pair is None:
                terms.append(x)
            else:
                pairs.append(pair)
        left, right = (self.stacked([p[k] for p in pairs]) for k in (0, 1))
        n, k = self.metas[left.i].shape
        transpose = self.write(np.transpose, (left,), self.array((k, n)))
        terms.append(self.write(np.matmul, (transpose, right), self.array(meta.shape)))
        result = terms[0]
        for term in terms[1:-1]:
            result = self.write(np.add, (result, term), self.array(meta.shape))
        last = (result, terms[-1]) if len(terms) > 1 else (result,)
        self.write(np.add if len(terms) > 1 else np.positive, last, meta, step.out)

    def stacked(self, vectors: list[Ref]) -> Ref:
        """Return a matrix with these rows; a slice of an existing matrix, if they are its rows."""
        key = tuple([v.i for v in vectors])
        known = self.stacks.get(key) or self.stacks.get(tuple(reversed(key)))
        n = len(self.metas[vectors[0].i].shape or ()) and self.metas[vectors[0].i].shape[0]
        meta = self.array((len(vectors), n))
        if known is not None:
            if key in self.stacks:
                return known
            return self.write(operator.getitem, (known, slice(None, None, -1)), meta)
        run = _slice_of([_row_of(v, self.origin, self.metas) for v in vectors])
        if run is not None:
            whole = self.write(operator.getitem, run, meta)
        else:
            whole = self.write(np.array, (list(vectors),), meta)
        self.stacks[key] = whole
        return whole

    # -- stacks of arrays that are computed in the same way --------------------------------------

    def _stack(self, step: Step) -> None:
        items: Any = step.args[0] if len(step.args) == 1 and not step.kwargs else None
        if type(items) not in (list, tuple) or len(items) < _FEWEST:
            self.steps.append(step)
            return
        self.is_swept = all(type(x) is Ref and x.i in self.checked for x in items)
        mark, known = len(self.steps), dict(self.batches)
        made = self._batch(list(items), 0)
        if type(made) is Diagonal and type(made.vector) is Ref:
            made = self.write(np.diag, (made.vector,), self.metas[step.out])
        if type(made) is not Ref or self.metas[made.i].shape != self.metas[step.out].shape:
            del self.steps[mark:]
            self.batches = known  # the others refer to steps that are gone
            self.steps.append(step)
            return
        self.changed = True
        for x in items:
            if type(x) is Ref:
                self.guards[x.i] = made
        self.write(np.positive, (made,), self.metas[step.out], step.out)

    def _batch(self, items: list, depth: int) -> Any:
        """Return a value with the items along a new first axis; ``(item,)`` if all are the same.

        Return None if they are not computed in the same way.
        """
        first = items[0]
        if all(_is_same(x, first) for x in items):
            return (first,)
        if depth > 40:
            return None
        if all(type(x) is np.ndarray and x.shape == first.shape for x in items):
            whole = np.stack(items)
            is_square = whole.ndim == 2 and len(whole) == whole.shape[1]
            is_unit = self.is_swept and is_square and np.array_equal(whole, np.eye(len(whole)))
            return Diagonal(None) if is_unit else whole
        if not all(type(x) is Ref for x in items):
            return None
        key = (self.is_swept, *[x.i for x in items])
        if key in self.batches:
            return self.batches[key]
        origins = [self.origin.get(x.i) for x in items]
        made = None
        if all(o is not None and _is_alike(o, origins[0]) for o in origins):
            made = self._batched(origins, items, depth)
        self.batches[key] = made
        return made

    def _batched(self, origins: list[Any], items: list, depth: int) -> Any:
        first = origins[0]
        k = len(items)
        meta = self.metas[items[0].i]
        if any(self.metas[x.i].shape != meta.shape for x in items) or meta.type is not np.ndarray:
            return None
        if meta.dtype != FLOAT64:
            return None
        shape = (k, *(meta.shape or ()))
        f = first.f
        columns = list(zip(*[o.args for o in origins], strict=True))
        if f in (add_item, sub_item, set_item, scatter, operator.getitem):
            return self._batched_items(f, columns, shape, depth)
        args = [self._batch(list(c), depth + 1) for c in columns]
        if any(a is None for a in args):
            return None
        if any(type(a) is Diagonal for a in args):
            return None if first.kwargs else self._batched_diagonal(f, args, shape)
        if is_elementwise(f) and not first.kwargs:
            return self._batched_elementwise(f, args, shape, meta)
        if f in MATRIX_PRODUCTS and not first.kwargs:
            return self._batched_product(args, shape)
        return None

    def _batched_diagonal(self, f: Any, args: list, shape: tuple) -> Any:
        """Return the result of a step on diagonal matrices: the cotangents of a Jacobian."""
        vector = self.array(shape[1:])
        if f is np.negative and args[0].vector is not None:
            return Diagonal(self.write(f, (args[0].vector,), vector))
        if len(args) != 2:
            return None
        a, b = args
        if f is np.multiply:
            mine, other = (a, b) if type(a) is Diagonal else (b, a)
            if type(other) is not tuple or self._ndim(other[0]) > 1:
                return None
            if mine.vector is not None:
                return Diagonal(self.write(f, (other[0], mine.vector), vector))
            return Diagonal(other[0]) if self._is_like(other[0], self.array(shape[1:])) else None
        is_product = f in MATRIX_PRODUCTS and type(a) is Diagonal and type(b) is tuple
        if is_product and self._ndim(b[0]) == 2:
            if a.vector is None:
                return b[0] if self._is_like(b[0], self.array(shape)) else None
            column = self.write(np.reshape, (a.vector, (shape[0], 1)), self.array((shape[0], 1)))
            return self.write(np.multiply, (column, b[0]), self.array(shape))
        if f in (np.add, np.subtract) and type(b) is Diagonal and type(a) is Ref:
            mine, other, change = b, a, add_item if f is np.add else sub_item
        elif f is np.add and type(a) is Diagonal and type(b) is Ref:
            mine, other, change = a, b, add_item
        else:
            return None
        if self.metas[other.i].shape != shape:
            return None
        places = np.arange(shape[0])
        value = 1.0 if mine.vector is None else mine.vector
        return self.write(change, (other, (places, places), value), self.array(shape))

    def _batched_elementwise(self, f: Any, args: list, shape: tuple, meta: Meta) -> Any:
        if any(type(a) is not tuple and self._ndim(a) != len(shape) for a in args):
            return None
        args = [a[0] if type(a) is tuple else a for a in args]
        return self.write(f, tuple(args), self.array(shape, meta.dtype))

    def _batched_product(self, args: list, shape: tuple) -> Any:
        a, b = args
        if type(b) is tuple and type(a) is not tuple and self._ndim(b[0]) == 2:
            if len(shape) in (2, 3):
                return self.write(np.matmul, (a, b[0]), self.array(shape))
        elif type(a) is tuple and type(b) is not tuple and self._ndim(a[0]) == len(shape) == 2:
            n, m = self.metas[a[0].i].shape if type(a[0]) is Ref else a[0].shape
            transpose = self.write(np.transpose, (a[0],), self.array((m, n)))
            return self.write(np.matmul, (b, transpose), self.array(shape))
        return None

    def _batched_items(self, f: Any, columns: list, shape: tuple, depth: int) -> Any:
        index = columns[1][0]
        if not all(_is_same(x, index) for x in columns[1]) or type(index) is Ref:
            return None
        parts = index if type(index) is tuple else (index,)
        is_array = any(type(p) not in (int, slice, type(None), type(Ellipsis)) for p in parts)
        if may_repeat(index) or (is_array and len(parts) > 1):  # arrays may reorder the axes
            return None
        # A batched value needs all axes of the region: its first axis is not to be broadcast.
        region: Any = None if f is operator.getitem else np.broadcast_to(0.0, shape[1:])[index]
        inside = (slice(None), *parts)
        first = self._dense(self._batch(list(columns[0]), depth + 1), shape[0])
        if first is None or type(first) is tuple:
            return None
        if f is operator.getitem:
            return self.write(f, (first, inside), self.array(shape))
        if f is scatter:
            if self._ndim(first) != np.ndim(region) + 1:
                return None
            return self.write(f, (first, inside, shape, FLOAT64), self.array(shape))
        value = self._dense(self._batch(list(columns[2]), depth + 1), shape[0])
        if value is None:
            return None
        if type(value) is tuple:
            value = value[0]
        elif self._ndim(value) != np.ndim(region) + 1:
            return None
        return self.write(f, (first, inside, value), self.array(shape))

    def _dense(self, x: Any, n: int) -> Any:
        """Return a `Diagonal` of `n` rows as a dense matrix; anything else unchanged."""
        if type(x) is not Diagonal:
            return x
        if x.vector is None:
            return np.eye(n)
        return self.write(np.diag, (x.vector,), self.array((n, n)))

    def _batch_guards(self) -> None:
        """Check a stack for NaN once, in place of each of its rows."""
        kept: list[Step] = []
        checked: set[int] = set()
        for step in self.steps:
            if step.f is guard and step.args[1] is has_nan and step.args[0].i in self.guards:
                checked.add(self.guards[step.args[0].i].i)
            else:
                kept.append(step)
        self.steps = [_nan_guard(Ref(i)) for i in self.program.inputs if i in checked]
        for step in kept:
            self.steps.append(step)
            if step.out in checked:
                self.steps.append(_nan_guard(Ref(step.out)))


def _nan_guard(x: Ref) -> Step:
    return Step(guard, (x, has_nan, False), None, -1)


class Diagonal(NamedTuple):
    """A diagonal matrix, stored as its diagonal; None for the identity matrix.

    Only in sweeps, where 0 · Inf is 0: the rows of a unit matrix times NaN are NaN.
    """

    vector: Ref | None


def _is_same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if type(a) is Ref:
        return a.i == b.i
    if type(a) is np.ndarray:
        return a is b
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_is_same, a, b))
    return repr(a) == repr(b)


def _is_alike(a: Any, b: Any) -> bool:
    return a.f is b.f and len(a.args) == len(b.args) and repr(a.kwargs) == repr(b.kwargs)


def _row_of(x: Any, origin: dict[int, Step], metas: list[Meta]) -> tuple[Ref, int] | None:
    """Return the matrix and the number of the row that an argument is; None if it is no row."""
    step = origin.get(x.i) if type(x) is Ref else None
    if step is None or step.f is not operator.getitem:
        return None
    matrix, index = step.args
    shape: Any = metas[matrix.i].shape if type(matrix) is Ref else None
    return (matrix, index % shape[0]) if len(shape or ()) == 2 and type(index) is int else None


def _slice_of(places: list[tuple[Ref, int] | None]) -> tuple[Ref, slice] | None:
    """Return a matrix and a slice that selects these rows in order; None if there is none."""
    rows = [place for place in places if place is not None]
    if len(rows) < len(places) or len({matrix.i for matrix, _ in rows}) != 1:
        return None
    (matrix, first), last = rows[0], rows[-1][1]
    stride = rows[1][1] - first
    if stride not in (1, -1) or any(b - a != stride for (_, a), (_, b) in itertools.pairwise(rows)):
        return None
    stop = last + stride
    return matrix, slice(first, stop if stop >= 0 else None, stride)
