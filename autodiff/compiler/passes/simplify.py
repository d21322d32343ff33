"""Make a program shorter: share, fold, simplify, and drop what nobody reads.

What is done keeps the values bit for bit, but for these: ``x + 0`` is `x` (so -0.0 stays -0.0),
``x**3``, ``x**-2`` and ``x**1.5`` are products, and sums of numbers that were added to an array of
zeros one by one start with the first of them.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.passes.algebraic_rules import Algebra, Splat, is_same
from autodiff.compiler.passes.scalar_replacement import Packs
from autodiff.compiler.python_backend.scalar_exprs import is_number, is_truth
from autodiff.compiler.recording.domain_guards import (
    POWERS,
    domain_of,
    domains_unread,
    may_raise,
    regular_matrix,
)
from autodiff.compiler.recording.ir import (
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
from autodiff.functions import UFUNC_OF, facts_of
from autodiff.structured.recorded_calls import Sweep

_OF_PYTHON = frozenset(
    {operator.mod, operator.floordiv, operator.truediv, operator.pow, divmod, pow, round}
)
"""Functions that do something else with floats than with NumPy's numbers: divide by zero, say."""
UNCHANGED = frozenset({float, np.float64, np.copy, operator.getitem})
_NUMERIC = (int, float, complex, np.generic, np.ndarray)
LARGEST_LOOKED_AT = 4096  # bytes, as far as changes of arrays from outside are noticed
_SINGLE = tuple(map(np.dtype, ("f2", "f4", "c8")))
_LARGEST_FOLDED = 1 << 16  # bytes of a constant that is computed beforehand


def _reads_single(x: Any) -> bool:
    """Whether a step, or an argument of one, mentions a constant of single precision."""
    if type(x) is Step:
        return _reads_single(x.args) or (x.kwargs is not None and _reads_single(x.kwargs))
    if isinstance(x, (np.generic, np.ndarray)):
        return x.dtype in _SINGLE
    if isinstance(x, dict):
        return any(map(_reads_single, x.values()))
    return isinstance(x, (tuple, list)) and any(map(_reads_single, x))


class Simplifier(Algebra):
    """Walks over the steps once and writes new ones."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.metas = program.metas
        # Beside single precision float and np.float64 are not the same: the latter decides.
        self.is_double = not any(m.dtype in _SINGLE for m in self.metas if m.dtype is not None)
        self.is_double &= not any(map(_reads_single, program.steps))
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
        exact = self.program.exact
        return Program(self.steps, self.metas, self.program.inputs, outputs, exact)

    # -- arguments -------------------------------------------------------------------------------

    def argument(self, x: Any) -> Any:
        """Return an argument in terms of the new program."""
        if type(x) is Ref:
            return self.new.get(x.i, x)
        return replaced(x, lambda i: self.new.get(i, Ref(i))) if has_refs(x) else x

    def needed(self, x: Any) -> Any:
        """Return an argument whose arrays are materialised."""
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
        args = tuple([self.argument(a) for a in step.args])
        f = step.f
        is_exact = step.out in self.program.exact
        if f in UFUNC_OF and all(type(a) is Ref or isinstance(a, _NUMERIC) for a in args):
            # True + True is 2 for Python, and a power of a negative number a complex one.
            metas = [self.meta(a) for a in args]
            is_of_python = self.metas[step.out].type is complex or all(
                m.type in (bool, complex) for m in metas
            )
            if f.__module__ == "math":  # in double precision, whatever is given
                is_of_python = not any(map(is_number, metas)) or any(
                    m.dtype not in (None, FLOAT64) for m in metas
                )
            if not is_of_python and (not is_exact or facts_of(UFUNC_OF[f]).is_rounded):
                if f in POWERS:  # what is written for it gives Inf where Python raises
                    domain = domain_of(Step(f, args, step.kwargs, step.out), self.metas)
                    if domain is not None:
                        self._guard(domain)
                f = UFUNC_OF[f]
        kwargs = {k: self.argument(v) for k, v in (step.kwargs or {}).items()}
        if f is guard:
            self._guard(args)
            return
        if f is effect:
            args = tuple([self.needed(a) for a in args])
            kwargs = {k: self.needed(v) for k, v in kwargs.items()}
            self.steps.append(Step(effect, args, kwargs or None, step.out))
            return
        if f in _OF_PYTHON:
            args = tuple(map(self.as_recorded, step.args, args))
        meta = self.metas[step.out]
        if is_exact and f is not part and f not in UNCHANGED:
            result = self.written(f, args, kwargs, meta, step.out)
        else:
            result = self.call(f, args, kwargs, meta, step.out)
        if not self.is_double and meta.type is np.float64:
            result = self.of_numpy(result)
        if type(result) is not Ref or result.i != step.out:
            self.new[step.out] = result

    def call(
        self, f: Callable, args: tuple, kwargs: dict, meta: Meta, out: int | None = None
    ) -> Any:
        """Return the value of ``f(*args, **kwargs)``; write a step if necessary."""
        simple = self._simplified(f, args, kwargs, meta)
        if simple is not None:
            return simple
        packed = self.packs.call(f, args, kwargs, meta, out)
        if packed is not None:
            return packed
        f, args = self._canonical(f, args, meta)
        return self.written(f, args, kwargs, meta, out)

    def written(
        self, f: Callable, args: tuple, kwargs: dict, meta: Meta, out: int | None = None
    ) -> Any:
        """Return the value of a call without simplification: an existing one, or a new step's."""
        args = tuple([self.needed(a) for a in args])
        kwargs = {k: self.needed(v) for k, v in kwargs.items()}
        if type(f) is types.MethodDescriptorType:  # perhaps a method of a NumPy scalar
            args = (self.of_numpy(args[0]), *args[1:])
        if not any(map(has_refs, args)) and not any(map(has_refs, kwargs.values())):
            folded = self._folded(f, args, kwargs, meta)
            if folded is not None:
                return folded[0]
        key = (f, *[self._key(a) for a in args], *[(k, self._key(v)) for k, v in kwargs.items()])
        try:
            known = self.made.get(key)
        except TypeError:
            known, key = None, ()
        is_any = self.is_double and not is_truth(meta)  # bool and np.bool_ differ
        if known is not None and (is_any or self._fits(known, meta)):
            return known
        i = self.number(meta) if out is None else out
        step = Step(f, args, kwargs or None, i)
        self.steps.append(step)
        self.origin[i] = step
        ref = Ref(i)
        if key:
            self.made[key] = ref
        return ref

    def as_recorded(self, recorded: Any, x: Any) -> Any:
        """Return an argument as the kind of number that was recorded, Python's or NumPy's."""
        kind = self.metas[recorded.i].type if type(recorded) is Ref else None
        if kind is np.float64:
            return self.of_numpy(x)
        if kind is float and self.meta(x).type is np.float64:
            return self.written(float, (x,), {}, meta_of(0.0)) if type(x) is Ref else float(x)
        return x

    def of_numpy(self, x: Any) -> Any:
        """Return a Python float as a NumPy scalar; anything else unchanged."""
        if type(x) is float:
            return np.float64(x)
        if type(x) is not Ref or self.metas[x.i].type is not float:
            return x
        return self.written(np.float64, (x,), {}, meta_of(np.float64(0.0)))

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
        except Exception:  # the program raises it where the function would
            return None
        if type(value) is np.ndarray:
            value.setflags(write=False)
        return (value,)

    # -- guards ----------------------------------------------------------------------------------

    def _guard(self, args: tuple) -> None:
        value, how, expected = args
        if how is described:
            origin = self.origin.get(value.i) if type(value) is Ref else None
            if origin is None:
                return
            if origin.f is np.flatnonzero and len(origin.args) == 1:  # its form is their number
                counted = self.call(COUNT, origin.args, {}, meta_of(0))
                value, how, expected = counted, operator.index, expected[2][0]
        if type(value) is not Ref:
            return  # it depends on nothing
        origin = self.origin.get(value.i)
        if how is bool and expected is True and origin is not None and origin.f is np.all:
            value = self._all_finite(value, origin)
            origin = self.origin[value.i]
        if how is bool and expected is False and origin is not None:
            of = origin.args[0] if origin.args else None
            if origin.f is np.not_equal and type(of) is Ref and is_same(of, origin.args[1]):
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
        if how is has_nan and self._is_swept(root):
            return
        if type(root) is Ref and (root.i, how) not in self.guarded:
            self.guarded.add((root.i, how))
            self.steps.append(Step(guard, (value, how, expected), None, -1))

    def _is_swept(self, x: Any) -> bool:
        """Whether a value is what the sweep of a program returns, which looks for NaN itself."""
        origin = self.origin.get(x.i) if type(x) is Ref else None
        if origin is None or origin.f is not part:
            return False
        whole = self.origin.get(origin.args[0].i)
        return whole is not None and type(whole.f) is Sweep

    def _all_finite(self, value: Ref, origin: Step) -> Ref:
        """Check `b` in place of logaddexp(c, b): its finiteness is known anyway."""
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
        """Return an array of equal elements as a `Splat`."""
        if type(x) is Ref:
            return self.splats.get(x.i)
        if type(x) is not np.ndarray or x.size < 2 or x.dtype.kind != "f":
            return None
        if x.nbytes > LARGEST_LOOKED_AT and any(x.strides):
            return None  # it may be the user's, and change
        known = self._constant_splats.get(id(x), self)
        if known is self:
            first = x[(0,) * x.ndim]
            known = Splat(first.item(), x, x.shape) if bool((x == first).all()) else None
            self._constant_splats[id(x)] = known
            self.kept.append(x)
        return known


def has_nan(x: Any) -> bool:
    """Whether there is a NaN in a number or an array (what a guard reads of a value)."""
    square = x * x if np.ndim(x) == 0 else np.vdot(x, x)
    return bool(square != square)


def nan_of_product(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> float:
    """Return NaN if there is one in the product y of two arrays.

    There is none if the factors are finite, but for sums of infinite terms of both signs, which
    are NaN in any order of the factors.
    """
    if math.isfinite(np.vdot(a, a) + np.vdot(b, b)):
        return 0.0
    return float(np.vdot(y, y))


COUNT: Any = getattr(getattr(np, "_core", None), "multiarray", np).count_nonzero


def without_unused(program: Program) -> Program:
    """Return a program without the steps that nobody reads."""
    used = bytearray(len(program.metas))
    for x in program.outputs:
        if type(x) is Ref:
            used[x.i] = 1
    kept = []
    first: dict[tuple, Step] = {}  # of those that raise where the same matrix is singular
    for step in program.steps:
        matrix = regular_matrix(step)
        if matrix is not None:
            first.setdefault(matrix, step)
    for step in reversed(program.steps):
        needed = [step]
        if step.out >= 0 and not used[step.out] and step.f is not effect:
            # Where it raises the function does, though nobody reads the result.
            domains = domains_unread(step, program.metas)
            needed = [Step(guard, domain, None, -1) for domain in domains]
            is_first = first.get(regular_matrix(step) or (), step) is step
            if not needed and is_first and may_raise(step, program.metas):
                needed = [step]
        for one in needed:
            for i in refs_of(one):
                used[i] = 1
        kept += needed
    kept.reverse()
    return Program(kept, program.metas, program.inputs, program.outputs, program.exact)


def optimised(program: Program) -> Program:
    """Return the program after simplification."""
    return without_unused(Simplifier(without_unused(program)).run())
