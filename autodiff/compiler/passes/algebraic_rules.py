"""Algebraic identities that simplify a call or make it unnecessary.

They keep all bits, except the last bits of products and quotients that are reordered.
``np.sum(x)`` of one float may keep the sign of a negative zero. A power of an array whose exponent
is a multiple of 0.5 becomes a product of the array and its root.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.passes.triangular_solves import triangular
from autodiff.compiler.recording.domain_guards import is_not_zero
from autodiff.compiler.recording.ir import FLOAT64, Meta, Ref, Step, part, set_item
from autodiff.functions import MATRIX_PRODUCTS, is_elementwise, takes_floats
from chainrules_core.operations.scattering import scatter

_AS_ARRAY: tuple[Any, ...] = (np.asarray, np.asanyarray)
_TWICE_AN_EXPONENT = range(1, 33)
"""Powers of arrays with these exponents become products of the array and its root."""
_LEAST_NORMAL = sys.float_info.min
_DENSE = 0.75
"""A mask with a larger share of true elements is faster than their places."""


class AlgebraicRules:
    """The identities, as a mixin of a pass that knows the step behind each value."""

    metas: list[Meta]
    is_double: bool
    _guard: Callable
    origin: dict[int, Step]
    splats: dict[int, Any]
    meta: Callable[[Any], Meta]
    splat: Callable[[Any], Any]
    call: Callable[..., Any]
    plain_call: Callable[..., Any]

    def _simplified(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Return an existing value that equals the call, or None."""
        if f in _RULES and _KEEP_THE_VALUE.issuperset(kwargs):
            return _RULES[f](self, f, args, kwargs, meta)
        if f in _OPERATIONS and len(args) == 2 and not kwargs:
            return _OPERATIONS[f](self, args[0], args[1], meta)
        return None

    def _part(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        origin = self._origin_of(args[0])
        return origin.args[args[1]] if origin is not None and origin.f is tuple else None

    def _copy(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        x = args[0] if args else None
        if self._is_number(x) and not kwargs and meta.shape is None:
            return x if self._fits(x, meta) else None
        is_array = f in _AS_ARRAY and type(x) is Ref and self._has_dtype(x, args[1:], kwargs)
        return x if is_array else None

    def _real_part(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        is_same = len(args) == 1 and self._is_real(args[0]) and self._fits(args[0], meta)
        return args[0] if is_same else None

    def _float(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        is_scalar = len(args) == 1 and self.meta(args[0]).is_scalar
        return args[0] if is_scalar and self._fits(args[0], meta) else None

    def _truth(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        is_bool = len(args) == 1 and self.meta(args[0]).type in (bool, np.bool_)
        return args[0] if is_bool else None

    def _solution(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        found = triangular(args, self.origin, self.metas) if len(args) == 2 and not kwargs else None
        return None if found is None else self.call(*found, {}, meta)

    def _product(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        if len(args) != 2 or not meta.shape:
            return None
        for k, a in enumerate(args):
            if self._is_negated(a) and self.metas[a.i].size > meta.size:
                factors = (*args[:k], self._negated_operand(a), *args[k + 1 :])
                return self._negative(f, factors, meta)
        a, b = args
        rows, matrix = (self.meta(x) for x in args)
        if len(rows.shape or ()) > 2 and len(matrix.shape or ()) == 2 and meta.size:
            # NumPy multiplies the matrices of a stack one by one: this is one product.
            n, k = meta.size // meta.shape[-1], rows.shape[-1]
            flat = self.call(np.reshape, (a, (n, k)), {}, Meta(rows.type, rows.dtype, (n, k)))
            product = Meta(meta.type, meta.dtype, (n, meta.shape[-1]))
            y = self.call(np.matmul, (flat, b), {}, product)
            return self.call(np.reshape, (y, meta.shape), {}, meta)
        return None

    def _by_places(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Read, write or scatter through a mask by the places of its true elements.

        All steps share these places. If they are most elements, the mask is as fast.
        """
        mask = self.meta(args[1])
        whole, chosen = meta.shape, self.meta(args[-1 if f is set_item else 0]).shape
        if f is operator.getitem:
            whole, chosen = chosen, whole
        if type(args[1]) is not Ref or mask.type is not np.ndarray or mask.dtype != np.bool_:
            return None
        if not whole or not chosen or mask.shape != whole or not len(whole) == len(chosen) == 1:
            return None
        if chosen == (1,) or chosen[0] > _DENSE * whole[0]:  # one value may be for all places
            return None
        found = Meta(np.ndarray, np.dtype(np.intp), chosen)
        places = self.call(np.flatnonzero, (args[1],), {}, found)
        return self.call(f, (args[0], places, *args[2:]), {}, meta)

    def has_no_repeats(self, places: Any) -> bool:
        """Whether an index is the places of the true elements of a mask."""
        origin = self._origin_of(places)
        return origin is not None and origin.f is np.flatnonzero

    def _write(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Drop ``x[i] = x[i]``, which remains of ``x[i] += y``.

        A write of all elements is the value. A write of a number through a mask into a constant
        becomes `np.where`, which can be fused with elementwise operations.
        """
        before, index, value = args
        if index is Ellipsis and self.meta(before).type is np.ndarray and self._fits(value, meta):
            return value
        mask = self.meta(index) if type(index) is Ref else None
        if mask is not None and mask.dtype == bool and mask.shape == meta.shape:
            is_constant = type(before) is np.ndarray and meta.dtype == FLOAT64
            if is_constant and self.meta(value).is_scalar:
                other = before if before.any() or np.signbit(before).any() else 0.0
                return self.call(np.where, (index, value, other), {}, meta)
            return self._by_places(f, args, kwargs, meta)
        origin = self._origin_of(value)
        if origin is None or origin.f is not operator.getitem:
            return None
        is_read = is_same(origin.args[0], before) and _is_same_index(origin.args[1], index)
        return before if is_read else None

    def _swapaxes(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        if len(args) != 3 or len(self.meta(args[0]).shape or ()) != 2:
            return None
        if args[1] % 2 == args[2] % 2:
            return args[0]
        return self.call(np.transpose, args[:1], {}, meta)

    def _broadcast_to(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        x = args[0] if args else None
        if self._fits(x, meta):
            return x
        if self._is_number(x) and self.meta(x).is_scalar:
            return self._broadcast(x, meta)
        return None

    def _reshape(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        return args[0] if not kwargs and self._fits(args[0], meta) else None

    def _astype(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        x = args[0]
        return x if self._is_number(x) and self._fits(x, meta) else None

    def _negation(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        origin = self._origin_of(args[0]) if len(args) == 1 and not kwargs else None
        if origin is None or origin.kwargs:
            return None
        if origin.f is np.negative:
            return origin.args[0]
        if origin.f is np.multiply and self._fits(args[0], meta):
            c, other = origin.args
            if type(c) in (int, float) and type(other) is Ref and self._is_real(args[0]):
                return self.call(np.multiply, (-float(c), other), {}, meta)
        return None

    def _origin_of(self, x: Any) -> Step | None:
        """Return the step that computes an argument, if there is one."""
        return self.origin.get(x.i) if type(x) is Ref else None

    def _tensordot(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Replace a contraction of one axis of two matrices or vectors by a matrix product."""
        if not meta.shape:
            return None
        axes = args[2] if len(args) > 2 else kwargs.get("axes", 2)
        a, b = args[:2]
        shapes = [self.meta(x).shape or () for x in (a, b)]
        if type(axes) not in (tuple, list) or not all(self._is_real(x) for x in (a, b)):
            return None
        pair = [x[0] if type(x) in (tuple, list) and len(x) == 1 else x for x in axes]
        if [type(x) for x in pair] != [int, int] or not all(1 <= len(s) <= 2 for s in shapes):
            return None
        if pair[0] % len(shapes[0]) != len(shapes[0]) - 1:
            a = self._transposed(a)
        if pair[1] % len(shapes[1]) != 0:
            b = self._transposed(b)
        return self.call(np.dot, (a, b), {}, meta)

    def _transposed(self, x: Any) -> Any:
        meta = self.meta(x)
        result = Meta(meta.type, meta.dtype, tuple(reversed(meta.shape or ())))
        return self.call(np.transpose, (x,), {}, result)

    def _sum(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Replace a sum of products by a dot product."""
        x = args[0] if args else None
        if len(args) > 2:  # more than an axis is given
            return None
        if self._is_number(x) and meta.is_scalar:
            return x if self._fits(x, meta) else None
        origin = self._origin_of(x) if len(args) == 1 else None
        if type(x) is not Ref or origin is None or not self._is_real(x):
            return None
        if not meta.is_scalar or any(v not in (None, False) for v in kwargs.values()):
            return None
        factors = origin.args * 2 if origin.f is np.square else origin.args
        if origin.f not in (np.multiply, np.square) or self.metas[x.i].dtype != FLOAT64:
            return None
        shape = self.metas[x.i].shape
        if any(type(a) is not Ref or not self._fits(a, self.metas[x.i]) for a in factors):
            return None
        return self.call(np.dot if len(shape or ()) == 1 else np.vdot, factors, {}, meta)

    def _sigmoid(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Replace exp(b - logaddexp(a, b)), the slope of logaddexp, by 1 / (1 + exp(a - b))."""
        origin = self._origin_of(args[0])
        if origin is None or origin.f not in (np.subtract, np.negative):
            return None
        if origin.f is np.negative:  # -(p + logaddexp(a, -p))
            total = self._origin_of(origin.args[0])
            if total is None or total.f is not np.add:
                return None
            pairs = [(p, y, True) for p, y in (total.args, total.args[::-1])]
        else:
            pairs = [(*origin.args, False)]
        for b, y, is_negative in pairs:
            inner = self._origin_of(y)
            if inner is None or inner.f is not np.logaddexp or not self._fits(y, meta):
                continue
            for mine, other in (inner.args, inner.args[::-1]):
                if is_negative:
                    if not self._is_negated(mine):
                        continue
                    mine = self._negated_operand(mine)
                if not is_same(mine, b) or not self._fits(b, meta):
                    continue
                combine = np.add if is_negative else np.subtract
                difference = self.call(combine, (other, b), {}, meta)
                power = self.call(np.exp, (difference,), {}, meta)
                below = self.call(np.add, (1.0, power), {}, meta)
                return self.call(np.reciprocal, (below,), {}, meta)
        return None

    def _quotient(self, x: Any, g: Any, meta: Meta) -> Any:
        """Replace ``(1 / b) * g`` by ``g / b``."""
        origin = self._origin_of(x)
        if origin is None or origin.kwargs or not self._is_real(x) or not self._is_real(g):
            return None
        if origin.f is np.reciprocal:
            return self.call(np.true_divide, (g, origin.args[0]), {}, meta)
        if origin.f is not np.true_divide or not self._fits(g, meta):
            return None
        top, below = origin.args
        if self._constant(top) == 1:
            if meta.shape is not None and self.meta(below).type is float:
                self._guard((below, is_not_zero, True))  # Python's floats would raise
            return self.call(np.true_divide, (g, below), {}, meta)
        return None

    def _broadcast(self, x: Any, meta: Meta) -> Any:
        if type(x) is not Ref:
            return np.broadcast_to(x, meta.shape or ())
        ref = self.plain_call(np.broadcast_to, (x, meta.shape), {}, meta)
        self.splats[ref.i] = x
        return ref

    def _has_dtype(self, x: Ref, dtype: tuple, kwargs: dict) -> bool:
        """Whether a value is already an array of the requested dtype."""
        meta, requested = self.metas[x.i], (*dtype, *kwargs.values())
        if meta.type is not np.ndarray or len(requested) > 1 or kwargs.keys() - {"dtype"}:
            return False
        return all(
            d is None or (isinstance(d, (type, np.dtype)) and meta.dtype == d) for d in requested
        )

    def _is_number(self, x: Any) -> bool:
        return self.meta(x).shape is None and self.meta(x).type is not tuple

    def _is_real(self, x: Any) -> bool:
        meta = self.meta(x)
        return meta.type is float or (meta.dtype is not None and meta.dtype.kind == "f")

    def _fits(self, x: Any, meta: Meta) -> bool:
        """Whether a value has the type, dtype and shape that a result must have."""
        mine = self.meta(x)
        if mine.is_scalar and meta.is_scalar:
            return self.is_double or mine.type is meta.type
        return mine.type is meta.type and mine.dtype == meta.dtype and mine.shape == meta.shape

    def _times(self, a: Any, b: Any, meta: Meta) -> Any:
        for x, other in ((a, b), (b, a)):
            c = self._constant(x)
            if c == 1 and self._fits(other, meta):
                return other
            if c == -1 and self._fits(other, meta):
                return self.call(np.negative, (other,), {}, meta)
            if self._is_negated(x):
                return self._negative(np.multiply, (self._negated_operand(x), other), meta)
            quotient = self._quotient(x, other, meta)
            if quotient is not None:
                return quotient
        return None

    def _plus(self, a: Any, b: Any, meta: Meta) -> Any:
        for x, other in ((a, b), (b, a)):
            if self._is_zero(x, -1.0) and self._fits(other, meta):
                return other
        for x, other in ((a, b), (b, a)):
            if self._is_negated(other) and self._fits(x, meta):
                return self.call(np.subtract, (x, self._negated_operand(other)), {}, meta)
        return None

    def _minus(self, a: Any, b: Any, meta: Meta) -> Any:
        if self._is_zero(b, 1.0) and self._fits(a, meta):
            return a
        if self._is_zero(a, -1.0) and self._fits(b, meta) and type(b) is Ref:
            return self.call(np.negative, (b,), {}, meta)
        if self._is_negated(b) and self._fits(a, meta):
            return self.call(np.add, (a, self._negated_operand(b)), {}, meta)
        return None

    def _is_zero(self, x: Any, sign: float) -> bool:
        c = self._constant(x)
        return c == 0 and math.copysign(1.0, c) == sign

    def _over(self, a: Any, b: Any, meta: Meta) -> Any:
        if self._constant(b) == 1 and self._fits(a, meta):
            return a
        if self._is_negated(a):
            return self._negative(np.true_divide, (self._negated_operand(a), b), meta)
        if self._is_negated(b):
            return self._negative(np.true_divide, (a, self._negated_operand(b)), meta)
        return None

    def _power(self, a: Any, b: Any, meta: Meta) -> Any:
        c = self._constant(b)
        if c is None or not self._fits(a, meta):
            return None
        if c == 1:
            return a
        if type(a) is not Ref or not self._is_real(a):
            return None
        if c in (2, 3, 4):
            return self._whole_power(a, int(c), meta)
        if not meta.shape or 2 * abs(c) not in _TWICE_AN_EXPONENT:
            return None
        if c <= -1:  # reciprocal first: the positive power may overflow
            base = self.plain_call(np.add, (a, 0.0), {}, meta) if c % 1 else a
            return self._power(self.call(np.reciprocal, (base,), {}, meta), -c, meta)
        if c % 1 and c != 0.5:  # the root of -0.0 is -0.0, no other power of it is
            a = self.plain_call(np.add, (a, 0.0), {}, meta)
        root = self.call(np.sqrt, (a,), {}, meta) if c % 1 else None
        if abs(c) < 1:
            return root if c > 0 else self.call(np.reciprocal, (root,), {}, meta)
        power = self._whole_power(a, int(c), meta)
        return power if root is None else self.call(np.multiply, (power, root), {}, meta)

    def _whole_power(self, a: Any, n: int, meta: Meta) -> Any:
        """Return an integer power as a product of squares, which other powers share."""
        if n < 2:
            return a
        square = self.call(np.square, (self._whole_power(a, n // 2, meta),), {}, meta)
        return self.call(np.multiply, (square, a), {}, meta) if n % 2 else square

    def _negative(self, f: Any, args: tuple, meta: Meta) -> Any:
        """Return ``-f(*args)``: negations move outwards, where sums absorb them."""
        return self.call(np.negative, (self.call(f, args, {}, meta),), {}, meta)

    def _negated_operand(self, ref: Ref) -> Any:
        """Return x for a value that is -x."""
        return self.origin[ref.i].args[0]

    def _is_negated(self, x: Any) -> bool:
        origin = self._origin_of(x)
        is_negative = origin is not None and origin.f is np.negative and not origin.kwargs
        return is_negative and self._is_real(x)

    def _constant(self, x: Any) -> Any:
        """Return the constant that all elements of an argument equal; None if there is none."""
        if type(x) in (int, float) or type(x) is np.float64:
            return x
        number = self.splat(x)
        return None if type(number) is Ref else number

    def _canonical(self, f: Any, args: tuple, meta: Meta) -> tuple[Any, tuple]:
        """Return a call with numbers for broadcast arrays, and with constant factors combined."""
        if not is_elementwise(f) or meta.shape is None or len(args) != 2:
            if f is np.multiply and meta.is_scalar:
                return f, self._factors(args, meta)
            return f, args
        if meta.dtype == FLOAT64 and f is not np.power and takes_floats(f):
            args = tuple([float(x) if type(x) is int else x for x in args])
        a, b = args
        for mine, other in ((a, b), (b, a)):
            source = self.splat(mine)
            if source is None:
                source = self._broadcast_source(mine)
            if source is None or self.meta(other).shape != meta.shape:
                continue
            if self.meta(other).dtype != self.meta(mine).dtype:
                continue
            args = (source, b) if mine is a else (a, source)
            break
        return f, self._factors(args, meta) if f is np.multiply else args

    def _broadcast_source(self, x: Any) -> Any:
        """Return the argument of an explicit broadcast: the ufunc broadcasts it as well."""
        origin = self._origin_of(x)
        return origin.args[0] if origin is not None and origin.f is np.broadcast_to else None

    def _factors(self, args: tuple, meta: Meta) -> tuple:
        """Replace ``2 * (x * c)`` by ``(2 * c) * x``, where one factor is a power of two: exact."""
        a, b = args
        if type(b) in (int, float):
            a, b = b, a
        if type(a) not in (int, float) or type(b) is not Ref:
            return args
        inner = self.origin.get(b.i)
        if inner is None or inner.f is not np.multiply or inner.kwargs:
            return a, b
        if any(m.dtype != FLOAT64 and not m.is_scalar for m in (meta, self.meta(b))):
            return a, b
        for c, x in (inner.args, inner.args[::-1]):
            is_exact = type(c) in (int, float) and (_is_power_of_two(a) or _is_power_of_two(c))
            if is_exact and type(x) is Ref and self._fits(x, meta):
                product = float(a) * c
                if _LEAST_NORMAL <= abs(product) < math.inf or c == 0:
                    return product, x
        return a, b


# Options that affect the form of a result, but not the values.
_KEEP_THE_VALUE = frozenset({"axis", "axes", "dtype", "keepdims", "copy", "order", "part", "subok"})
_COPIES = (np.copy, np.array, np.asarray, np.asanyarray, operator.pos, np.positive)
_RULES: dict[Any, Callable] = {
    **dict.fromkeys(_COPIES, AlgebraicRules._copy),
    **dict.fromkeys((np.real, np.conj), AlgebraicRules._real_part),
    **dict.fromkeys((float, np.float64), AlgebraicRules._float),
    **dict.fromkeys((np.any, np.all), AlgebraicRules._truth),
    **dict.fromkeys(MATRIX_PRODUCTS, AlgebraicRules._product),
    part: AlgebraicRules._part,
    np.sum: AlgebraicRules._sum,
    np.exp: AlgebraicRules._sigmoid,
    np.linalg.solve: AlgebraicRules._solution,
    **dict.fromkeys((operator.getitem, scatter), AlgebraicRules._by_places),
    set_item: AlgebraicRules._write,
    np.tensordot: AlgebraicRules._tensordot,
    np.swapaxes: AlgebraicRules._swapaxes,
    np.broadcast_to: AlgebraicRules._broadcast_to,
    np.reshape: AlgebraicRules._reshape,
    np.ndarray.astype: AlgebraicRules._astype,
    np.negative: AlgebraicRules._negation,
}
"""Function → its rule, which returns a value that replaces the call, or None."""
_OPERATIONS: dict[Any, Callable] = {
    np.multiply: AlgebraicRules._times,
    np.add: AlgebraicRules._plus,
    np.subtract: AlgebraicRules._minus,
    np.true_divide: AlgebraicRules._over,
    np.power: AlgebraicRules._power,
}


def _is_power_of_two(c: float) -> bool:
    return c != 0 and math.isfinite(c) and math.frexp(c)[0] in (0.5, -0.5)


def _is_same_index(a: Any, b: Any) -> bool:
    parts = (a if type(a) is tuple else (a,), b if type(b) is tuple else (b,))
    if any(type(p) not in (int, slice) and p is not Ellipsis for side in parts for p in side):
        return False
    return parts[0] == parts[1]


def is_same(a: Any, b: Any) -> bool:
    """Whether two arguments are the same value of the program."""
    return type(a) is Ref and type(b) is Ref and a.i == b.i
