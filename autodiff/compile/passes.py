"""Make a program shorter: share, fold, simplify, and drop what nobody reads.

What is done keeps the values bit for bit, but for these: ``x + 0`` is `x` (so -0.0 stays -0.0),
``x**3`` and ``x**4`` are products, and sums of numbers that were added to an array of zeros one by
one start with the first of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compile.domains import domain_of
from autodiff.compile.ops import COMPARISONS, UFUNC_OF
from autodiff.compile.packs import Packs
from autodiff.compile.program import (
    FLOAT64,
    Meta,
    Program,
    Ref,
    Step,
    described,
    effect,
    guard,
    has_refs,
    meta_of,
    part,
    refs_of,
    replaced,
)

_LARGEST_FOLDED = 1 << 16  # bytes of a constant that is computed beforehand
_IDENTITIES = frozenset({np.copy, np.array, np.asarray, np.asanyarray, operator.pos, np.positive})
_REAL = frozenset({np.real, np.conj, np.conjugate})


class Splat:
    """An array all elements of which are one number, as an argument.

    Attributes
    ----------
    value : int, float or Ref
        The number.
    array : numpy.ndarray or Ref
        The array itself, for whoever needs it.
    """

    __slots__ = ("array", "shape", "value")

    def __init__(self, value: Any, array: Any, shape: tuple) -> None:
        self.value = value
        self.array = array
        self.shape = shape


class Simplifier:
    """Walks over the steps once and writes new ones."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.metas = program.metas
        self.steps: list[Step] = []
        self.new: dict[int, Any] = {}  # number → what stands for it: a Ref or a constant
        self.made: dict[tuple, Any] = {}  # what was computed before, by function and arguments
        self.origin: dict[int, Step] = {}  # number → the step that makes it
        self.splats: dict[int, Splat] = {}
        self.packs = Packs(self)
        self.guarded: set[tuple] = set()
        self._constant_splats: dict[int, Any] = {}
        self.kept: list[Any] = []  # objects whose identities are keys

    def run(self) -> Program:
        """Return the simplified program."""
        for step in self.program.steps:
            self._step(step)
        outputs = [self.needed(self.argument(x)) for x in self.program.outputs]
        return Program(self.steps, self.metas, self.program.inputs, outputs)

    # -- arguments -------------------------------------------------------------------------------

    def argument(self, x: Any) -> Any:
        """Return an argument in terms of the new program."""
        if type(x) is Ref:
            return self.new.get(x.i, x)
        return replaced(x, lambda i: self.new.get(i, Ref(i))) if has_refs(x) else x

    def needed(self, x: Any) -> Any:
        """Return an argument with the arrays in it computed for good."""
        if type(x) is Ref:
            return self.packs.materialised(x)
        if type(x) in (tuple, list, dict):
            return replaced(x, lambda i: self.packs.materialised(Ref(i)))
        return x

    def meta(self, x: Any) -> Meta:
        """Describe an argument."""
        return self.metas[x.i] if type(x) is Ref else meta_of(x)

    def number(self, meta: Meta) -> int:
        """Return the number of a new value."""
        self.metas.append(meta)
        return len(self.metas) - 1

    # -- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        f = UFUNC_OF.get(step.f, step.f)
        args = tuple([self.argument(a) for a in step.args])
        kwargs = {k: self.argument(v) for k, v in (step.kwargs or {}).items()}
        if f is guard:
            self._guard(args)
            return
        if f is effect:
            args = tuple([self.needed(a) for a in args])
            kwargs = {k: self.needed(v) for k, v in kwargs.items()}
            self.steps.append(Step(effect, args, kwargs or None, step.out))
            return
        result = self.call(f, args, kwargs, self.metas[step.out], step.out)
        if type(result) is not Ref or result.i != step.out:
            self.new[step.out] = result

    def call(
        self, f: Callable, args: tuple, kwargs: dict, meta: Meta, out: int | None = None
    ) -> Any:
        """Return what stands for ``f(*args, **kwargs)``; a step is written if it must be."""
        simple = self._simplified(f, args, kwargs, meta)
        if simple is not None:
            return simple
        packed = self.packs.call(f, args, kwargs, meta, out)
        if packed is not None:
            return packed
        f, args = self._canonical(f, args, meta)
        args = tuple([self.needed(a) for a in args])
        if not any(map(has_refs, args)) and not any(map(has_refs, kwargs.values())):
            folded = self._folded(f, args, kwargs, meta)
            if folded is not None:
                return folded[0]
        key = (f, *[self._key(a) for a in args], *[(k, self._key(v)) for k, v in kwargs.items()])
        try:
            known = self.made.get(key)
        except TypeError:
            known, key = None, ()
        if known is not None:
            return known
        i = self.number(meta) if out is None else out
        step = Step(f, args, kwargs or None, i)
        self.steps.append(step)
        self.origin[i] = step
        ref = Ref(i)
        if key:
            self.made[key] = ref
        return ref

    def _key(self, x: Any) -> Any:
        kind = type(x)
        if kind is Ref:
            return ("v", x.i)
        if kind is float:
            return (kind, x, math.copysign(1.0, x))
        if kind in (int, str, bool, type(None)):
            return (kind, x)
        if kind is slice:
            return (kind, x.start, x.stop, x.step)
        if kind is tuple or kind is list:
            return (kind, *[self._key(p) for p in x])
        self.kept.append(x)
        return (kind, id(x))

    def _folded(self, f: Callable, args: tuple, kwargs: dict, meta: Meta) -> tuple | None:
        if meta.shape is not None and meta.size * meta.dtype.itemsize > _LARGEST_FOLDED:
            return None
        try:
            with np.errstate(all="ignore"):
                value = f(*args, **kwargs)
        except Exception:
            return None
        if type(value) is np.ndarray:
            value.setflags(write=False)
        return (value,)

    # -- guards ----------------------------------------------------------------------------------

    def _guard(self, args: tuple) -> None:
        value, how, expected = args
        if how is described:
            origin = self.origin.get(value.i) if type(value) is Ref else None
            if origin is None or origin.f in FORM_IS_KNOWN:
                return
        if type(value) is not Ref:
            return  # it depends on nothing
        origin = self.origin.get(value.i)
        if how is bool and expected is True and origin is not None and origin.f is np.all:
            value = self._all_finite(value, origin)
            origin = self.origin[value.i]
        if how is bool and expected is False and origin is not None:
            of = origin.args[0] if origin.args else None
            if origin.f is np.not_equal and type(of) is Ref and _same(of, origin.args[1]):
                summed = self.origin.get(of.i)
                if summed is not None and summed.f is np.sum and not summed.kwargs:
                    of = summed.args[0]
                value, how = of, has_nan
        value = root = self.needed(value)
        while type(root) is Ref and how is has_nan:
            origin = self.origin.get(root.i)
            if origin is None or origin.f is not np.copy:
                break
            root = origin.args[0]
        if type(root) is Ref and (root.i, how) not in self.guarded:
            self.guarded.add((root.i, how))
            self.steps.append(Step(guard, (value, how, expected), None, -1))

    def _all_finite(self, value: Ref, origin: Step) -> Ref:
        """Whether all of logaddexp(c, b) is finite, is asked of `b`, which is known anyway."""
        inner = self.origin.get(origin.args[0].i) if type(origin.args[0]) is Ref else None
        if inner is None or inner.f is not np.isfinite or origin.kwargs or len(origin.args) != 1:
            return value
        of = self.origin.get(inner.args[0].i) if type(inner.args[0]) is Ref else None
        if of is None or of.f is not np.logaddexp:
            return value
        for c, b in (of.args, of.args[::-1]):
            if type(c) in (int, float) and math.isfinite(c) and type(b) is Ref:
                asked = self.call(np.isfinite, (b,), {}, self.metas[inner.out])
                return self.call(np.all, (asked,), {}, self.metas[origin.out])
        return value

    # -- what is known of functions --------------------------------------------------------------

    def splat(self, x: Any) -> Splat | None:
        """Return an array of equal elements as such."""
        if type(x) is Ref:
            return self.splats.get(x.i)
        if type(x) is not np.ndarray or x.size < 2 or x.dtype.kind != "f":
            return None
        known = self._constant_splats.get(id(x), self)
        if known is self:
            first = x[(0,) * x.ndim]
            known = Splat(first.item(), x, x.shape) if bool((x == first).all()) else None
            self._constant_splats[id(x)] = known
            self.kept.append(x)
        return known

    def _simplified(self, f: Any, args: tuple, kwargs: dict, meta: Meta) -> Any:
        """Return a value that is there already, or None."""
        x = args[0] if args else None
        if f is part and type(x) is Ref:
            origin = self.origin.get(x.i)
            if origin is not None and origin.f is tuple:
                return origin.args[args[1]]
            return None
        if f in _IDENTITIES and self._is_number(x) and not kwargs and meta.shape is None:
            return x
        if f in _REAL and len(args) == 1 and self._is_real(x) and self._fits(x, meta):
            return x
        if f in (float, np.float64) and len(args) == 1 and self.meta(x).is_scalar:
            return x
        if f is np.sum and self._is_number(x) and meta.is_scalar:
            return x
        if f in (np.any, np.all) and self.meta(x).type in (bool, np.bool_) and len(args) == 1:
            return x
        if f is np.sum and type(x) is Ref and len(args) == 1:
            return self._sum(x, kwargs, meta)
        if f is np.exp and type(x) is Ref:
            return self._sigmoid(x, meta)
        if f in (np.dot, np.matmul, operator.matmul) and len(args) == 2 and meta.shape:
            for k, a in enumerate(args):
                if type(a) is Ref and self._is_negated(a) and self.metas[a.i].size > meta.size:
                    inside = (*args[:k], self._behind(a), *args[k + 1 :])
                    return self._negative(f, inside, meta)
        if f is np.swapaxes and len(self.meta(x).shape or ()) == 2:
            return x if args[1] % 2 == args[2] % 2 else self.call(np.transpose, (x,), {}, meta)
        if f is np.broadcast_to:
            if self._fits(x, meta):
                return x
            if self._is_number(x) and self.meta(x).is_scalar:
                return self._broadcast(x, meta)
        if f is np.reshape and not kwargs and self._fits(x, meta):
            return x
        if f is np.ndarray.astype and self._is_number(x) and self._fits(x, meta):
            return x
        if len(args) == 2 and not kwargs and isinstance(f, np.ufunc):
            return self._binary(f, args[0], args[1], meta)
        if len(args) == 1 and not kwargs and f is np.negative and type(x) is Ref:
            origin = self.origin.get(x.i)
            if origin is not None and origin.f is np.negative:
                return origin.args[0]
            if origin is not None and origin.f is np.multiply and self._fits(x, meta):
                c, other = origin.args
                if type(c) in (int, float) and type(other) is Ref and self._is_real(x):
                    return self.call(np.multiply, (-float(c), other), {}, meta)
        return None

    def _sum(self, x: Ref, kwargs: dict, meta: Meta) -> Any:
        """The sum of products is a dot product; a sign goes in front."""
        origin = self.origin.get(x.i)
        if origin is None or not self._is_real(x):
            return None
        if origin.f is np.negative:
            inner = self.call(np.sum, origin.args, kwargs, meta)
            return self.call(np.negative, (inner,), {}, meta)
        if not meta.is_scalar or any(v not in (None, False) for v in kwargs.values()):
            return None
        factors = origin.args * 2 if origin.f is np.square else origin.args
        if origin.f not in (np.multiply, np.square) or self.metas[x.i].dtype != FLOAT64:
            return None
        shape = self.metas[x.i].shape
        if any(type(a) is not Ref or not self._fits(a, self.metas[x.i]) for a in factors):
            return None
        return self.call(np.dot if len(shape or ()) == 1 else np.vdot, factors, {}, meta)

    def _sigmoid(self, x: Ref, meta: Meta) -> Any:
        """exp(b - logaddexp(a, b)), the slope of logaddexp, is 1 / (1 + exp(a - b))."""
        origin = self.origin.get(x.i)
        if origin is None or origin.f not in (np.subtract, np.negative):
            return None
        if origin.f is np.negative:  # -(p + logaddexp(a, -p))
            total = self.origin.get(origin.args[0].i) if type(origin.args[0]) is Ref else None
            if total is None or total.f is not np.add:
                return None
            pairs = [(p, y, True) for p, y in (total.args, total.args[::-1])]
        else:
            pairs = [(*origin.args, False)]
        for b, y, is_negative in pairs:
            inner = self.origin.get(y.i) if type(y) is Ref else None
            if inner is None or inner.f is not np.logaddexp or not self._fits(y, meta):
                continue
            for mine, other in (inner.args, inner.args[::-1]):
                if is_negative:
                    if not (type(mine) is Ref and self._is_negated(mine)):
                        continue
                    mine = self._behind(mine)
                if not _same(mine, b) or not self._fits(b, meta):
                    continue
                combine = np.add if is_negative else np.subtract
                difference = self.call(combine, (other, b), {}, meta)
                power = self.call(np.exp, (difference,), {}, meta)
                below = self.call(np.add, (1.0, power), {}, meta)
                return self.call(np.reciprocal, (below,), {}, meta)
        return None

    def _quotient(self, x: Any, g: Any, meta: Meta) -> Any:
        """``(1 / b) * g`` is ``g / b``, and ``(-q / b) * g`` is ``-(q * (g / b))``."""
        origin = self.origin.get(x.i) if type(x) is Ref else None
        if origin is None or not self._is_real(x) or not self._is_real(g):
            return None
        if origin.f is np.reciprocal:
            return self.call(np.true_divide, (g, origin.args[0]), {}, meta)
        if origin.f is not np.true_divide or not self._fits(g, meta):
            return None
        top, below = origin.args
        if self._constant(top) == 1:
            return self.call(np.true_divide, (g, below), {}, meta)
        return None

    def _broadcast(self, x: Any, meta: Meta) -> Any:
        if type(x) is not Ref:
            return np.broadcast_to(x, meta.shape or ())
        ref = self.packs.plain_call(np.broadcast_to, (x, meta.shape), {}, meta)
        self.splats[ref.i] = Splat(x, ref, meta.shape or ())
        return ref

    def _is_number(self, x: Any) -> bool:
        return self.meta(x).shape is None and self.meta(x).type is not tuple

    def _is_real(self, x: Any) -> bool:
        meta = self.meta(x)
        return meta.type is float or (meta.dtype is not None and meta.dtype.kind == "f")

    def _fits(self, x: Any, meta: Meta) -> bool:
        """Whether a value has the type, dtype and shape of a result."""
        mine = self.meta(x)
        if mine.is_scalar and meta.is_scalar:
            return True
        return mine.type is meta.type and mine.dtype == meta.dtype and mine.shape == meta.shape

    def _binary(self, f: Any, a: Any, b: Any, meta: Meta) -> Any:
        if f is np.multiply:
            for x, other in ((a, b), (b, a)):
                c = self._constant(x)
                if c == 1 and self._fits(other, meta):
                    return other
                if c == -1 and self._fits(other, meta):
                    return self.call(np.negative, (other,), {}, meta)
                if type(x) is Ref and self._is_negated(x):
                    return self._negative(np.multiply, (self._behind(x), other), meta)
                quotient = self._quotient(x, other, meta)
                if quotient is not None:
                    return quotient
        elif f is np.add:
            for x, other in ((a, b), (b, a)):
                if self._constant(x) == 0 and self._fits(other, meta):
                    return other
            if type(b) is Ref and self._is_negated(b) and self._fits(a, meta):
                return self.call(np.subtract, (a, self.origin[b.i].args[0]), {}, meta)
            if type(a) is Ref and self._is_negated(a) and self._fits(b, meta):
                return self.call(np.subtract, (b, self.origin[a.i].args[0]), {}, meta)
            if type(b) is Ref and self._is_negated(b) and type(a) is Ref and self._is_negated(a):
                return self._negative(np.add, (self._behind(a), self._behind(b)), meta)
        elif f is np.subtract:
            if self._constant(b) == 0 and self._fits(a, meta):
                return a
            if self._constant(a) == 0 and self._fits(b, meta) and type(b) is Ref:
                return self.call(np.negative, (b,), {}, meta)
            if type(a) is Ref and self._is_negated(a):
                return self._negative(np.add, (self._behind(a), b), meta)
            if type(b) is Ref and self._is_negated(b) and self._fits(a, meta):
                return self.call(np.add, (a, self.origin[b.i].args[0]), {}, meta)
        elif f is np.true_divide:
            if self._constant(b) == 1 and self._fits(a, meta):
                return a
            if type(a) is Ref and self._is_negated(a):
                return self._negative(np.true_divide, (self._behind(a), b), meta)
            if type(b) is Ref and self._is_negated(b):
                return self._negative(np.true_divide, (a, self._behind(b)), meta)
        elif f is np.power:
            c = self._constant(b)
            if c == 1 and self._fits(a, meta):
                return a
            if c in (2, 3, 4) and type(a) is Ref and self._fits(a, meta) and self._is_real(a):
                square = self.call(np.square, (a,), {}, meta)
                if c == 2:
                    return square
                return self.call(np.multiply, (square, a if c == 3 else square), {}, meta)
            if c == 0.5 and self._fits(a, meta) and self._is_real(a) and meta.shape:
                return self.call(np.sqrt, (a,), {}, meta)
        return None

    def _negative(self, f: Any, args: tuple, meta: Meta) -> Any:
        """Return ``-f(*args)``: signs go outwards, where sums take them up."""
        return self.call(np.negative, (self.call(f, args, {}, meta),), {}, meta)

    def _behind(self, ref: Ref) -> Any:
        return self.origin[ref.i].args[0]

    def _is_negated(self, ref: Ref) -> bool:
        origin = self.origin.get(ref.i)
        return origin is not None and origin.f is np.negative and self._is_real(ref)

    def _constant(self, x: Any) -> Any:
        """Return the number that an argument is everywhere; None if it is none."""
        if type(x) in (int, float) or type(x) is np.float64:
            return x
        splat = self.splat(x)
        return None if splat is None or type(splat.value) is Ref else splat.value

    def _canonical(self, f: Any, args: tuple, meta: Meta) -> tuple[Any, tuple]:
        """Return a call with numbers in the place of arrays of one number, and factors gathered."""
        if not isinstance(f, np.ufunc) or meta.shape is None or len(args) != 2:
            if f is np.multiply and meta.is_scalar:
                return f, self._factors(args, meta)
            return f, args
        if meta.dtype == FLOAT64 and f is not np.power:
            args = tuple([float(x) if type(x) is int else x for x in args])
        a, b = args
        for mine, other in ((a, b), (b, a)):
            splat = self.splat(mine)
            if splat is None and type(mine) is Ref:
                splat = self._broadcasted(mine)
            if splat is None or self.meta(other).shape != meta.shape:
                continue
            if self.meta(other).dtype != self.meta(mine).dtype:
                continue
            args = (splat.value, b) if mine is a else (a, splat.value)
            break
        return f, self._factors(args, meta) if f is np.multiply else args

    def _broadcasted(self, ref: Ref) -> Splat | None:
        """Return what was broadcast to make an array: NumPy does it anyway."""
        origin = self.origin.get(ref.i)
        if origin is None or origin.f is not np.broadcast_to:
            return None
        return Splat(origin.args[0], ref, self.metas[ref.i].shape or ())

    def _factors(self, args: tuple, meta: Meta) -> tuple:
        """``2 * (x * c)`` is ``(2 * c) * x``: exact for powers of two."""
        a, b = args
        if type(b) in (int, float):
            a, b = b, a
        if type(a) not in (int, float) or type(b) is not Ref:
            return args
        inner = self.origin.get(b.i)
        if inner is None or inner.f is not np.multiply or inner.kwargs:
            return a, b
        for c, x in (inner.args, inner.args[::-1]):
            if type(c) in (int, float) and type(x) is Ref and self._fits(x, meta):
                if _is_power_of_two(a) or _is_power_of_two(c):
                    return float(a) * c, x
        return a, b


def _is_power_of_two(c: float) -> bool:
    return c != 0 and math.isfinite(c) and math.frexp(c)[0] in (0.5, -0.5)


def _same(a: Any, b: Any) -> bool:
    return type(a) is Ref and type(b) is Ref and a.i == b.i


def has_nan(x: Any) -> bool:
    """Whether there is a NaN in a number or an array (a way of reading a value, for guards)."""
    square = x * x if np.ndim(x) == 0 else np.vdot(x, x)
    return bool(square != square)


FORM_IS_KNOWN: set[Any] = set()
"""Functions of ours that are recorded, whose results have a form that is known."""


def without_unused(program: Program) -> Program:
    """Return a program without the steps that nobody reads."""
    used = bytearray(len(program.metas))
    for x in program.outputs:
        if type(x) is Ref:
            used[x.i] = 1
    kept = []
    for step in reversed(program.steps):
        if step.out >= 0 and not used[step.out] and step.f is not effect:
            domain = domain_of(step, program.metas)
            if domain is None:
                continue
            step = Step(guard, domain, None, -1)  # it would raise, though nobody reads the result
        for i in refs_of(step):
            used[i] = 1
        kept.append(step)
    kept.reverse()
    return Program(kept, program.metas, program.inputs, program.outputs)


def optimised(program: Program) -> Program:
    """Return the program made shorter."""
    return without_unused(Simplifier(without_unused(program)).run())


__all__ = ["COMPARISONS", "FLOAT64", "Simplifier", "has_nan", "optimised", "without_unused"]
