"""Simplify a program: merge equal calls, fold constants, apply identities, drop unused steps.

The values keep all bits, with these exceptions: ``x + 0`` is `x` (so -0.0 stays -0.0); ``x**3``,
``x**-2`` and ``x**1.5`` become products; the sum of numbers that were added to an array of zeros
starts with the first of them. `algebraic_rules` lists further ones.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.passes.algebraic_rules import AlgebraicRules, is_same
from autodiff.compiler.passes.scalar_replacement import ElementTables
from autodiff.compiler.python_backend.scalar_exprs import is_bool, is_number
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
    gives_again,
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
"""Functions that treat Python floats and NumPy scalars differently, as in a division by zero."""
UNCHANGED = frozenset({float, np.float64, np.copy, operator.getitem})
_NUMERIC = (int, float, complex, np.generic, np.ndarray)
LARGEST_COMPARED = 4096  # bytes: guards compare the content of captured arrays up to this size
_SINGLE = tuple(map(np.dtype, ("f2", "f4", "c8")))
_LARGEST_FOLDED = 1 << 16  # bytes of a folded constant


def _reads_single(x: Any) -> bool:
    """Whether a step, or an argument, contains a constant of single precision."""
    if type(x) is Step:
        return _reads_single(x.args) or (x.kwargs is not None and _reads_single(x.kwargs))
    if isinstance(x, (np.generic, np.ndarray)):
        return x.dtype in _SINGLE
    if isinstance(x, dict):
        return any(map(_reads_single, x.values()))
    return isinstance(x, (tuple, list)) and any(map(_reads_single, x))


class Simplifier(AlgebraicRules):
    """A pass that walks over the steps once and makes new ones."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.metas = program.metas
        # With single precision, float and np.float64 differ: only np.float64 promotes the result.
        self.is_double = not any(m.dtype in _SINGLE for m in self.metas if m.dtype is not None)
        self.is_double &= not any(map(_reads_single, program.steps))
        self.steps: list[Step] = []
        self.replacements: dict[int, Any] = {}  # old number → a Ref or a constant
        self.known_calls: dict[tuple, Ref] = {}  # function and arguments → the value
        self.origin: dict[int, Step] = {}  # number → the step that makes it
        self.splats: dict[int, Any] = {}  # number of an array → the number that was broadcast
        self.tables = ElementTables(self)
        self.guarded: set[tuple] = set()
        self.known_integers = {
            s.args[0].i: s.args[2]
            for s in program.steps
            if s.f is guard and s.args[1] is operator.index and type(s.args[0]) is Ref
            if self.metas[s.args[0].i].type is int
        }
        self._constant_splats: dict[int, Any] = {}
        self.kept_alive: list[Any] = []  # objects whose ids are keys

    def run(self) -> Program:
        """Return the simplified program."""
        for i in self.program.inputs:
            self._replace_integer(Ref(i), i)
        for step in self.program.steps:
            self._step(step)
        outputs = [self.materialised(self.argument(x)) for x in self.program.outputs]
        exact = self.program.exact
        return Program(self.steps, self.metas, self.program.inputs, outputs, exact)

    # -- arguments -------------------------------------------------------------------------------

    def argument(self, x: Any) -> Any:
        """Return an argument in terms of the new program."""
        if type(x) is Ref:
            return self.replacements.get(x.i, x)
        return replaced(x, lambda i: self.replacements.get(i, Ref(i))) if has_refs(x) else x

    def materialised(self, x: Any) -> Any:
        """Return an argument with its element tables as arrays."""
        if type(x) is Ref:
            return self.tables.materialised(x)
        if type(x) in (tuple, list, dict):
            return replaced(x, lambda i: self.tables.materialised(Ref(i)))
        return x

    def meta(self, x: Any) -> Meta:
        """Describe an argument."""
        return self.metas[x.i] if type(x) is Ref else meta_of(x)

    def new_value(self, meta: Meta) -> int:
        """Return the number of a new value."""
        self.metas.append(meta)
        return len(self.metas) - 1

    # -- steps -----------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        args = tuple([self.argument(a) for a in step.args])
        f = step.f
        is_exact = step.out in self.program.exact
        if f in UFUNC_OF and all(type(a) is Ref or isinstance(a, _NUMERIC) for a in args):
            # In Python True + True is 2, and a fractional power of a negative number is complex.
            metas = [self.meta(a) for a in args]
            kinds = {m.type for m in metas}
            is_of_python = self.metas[step.out].type is complex or kinds <= {bool, complex}
            is_of_python |= kinds <= {bool, int}  # Python's integers have no limits
            if f.__module__ == "math":  # computes in double precision, whatever the argument
                is_of_python = not any(map(is_number, metas)) or any(
                    m.dtype not in (None, FLOAT64) for m in metas
                )
            if f is operator.pow and metas[0].dtype == np.bool_:
                is_of_python = True  # NumPy squares without promotion
            if not is_of_python and (not is_exact or facts_of(UFUNC_OF[f]).is_rounded):
                if f in POWERS:  # the ufunc gives Inf where Python raises
                    domain = domain_of(Step(f, args, step.kwargs, step.out), self.metas)
                    if domain is not None:
                        self._guard(domain)
                f = UFUNC_OF[f]
        kwargs = {k: self.argument(v) for k, v in (step.kwargs or {}).items()}
        if f is guard:
            self._guard(args)
            return
        if f is effect:
            args = tuple([self.materialised(a) for a in args])
            kwargs = {k: self.materialised(v) for k, v in kwargs.items()}
            self.steps.append(Step(effect, args, kwargs or None, step.out))
            return
        if f is gives_again:  # the arguments are constants, but what it gives may change
            self.add_step(f, args, kwargs, self.metas[step.out], step.out)
            return
        if f in _OF_PYTHON:
            args = tuple(map(self._as_recorded_kind, step.args, args))
        meta = self.metas[step.out]
        if is_exact and f is not part and f not in UNCHANGED:
            result = self.plain_call(f, args, kwargs, meta, step.out)
        else:
            result = self.call(f, args, kwargs, meta, step.out)
        if not self.is_double and meta.type is np.float64:
            result = self._as_numpy(result)
        if type(result) is not Ref or result.i != step.out:
            self.replacements[step.out] = result
        self._replace_integer(result, step.out)

    def _replace_integer(self, x: Any, i: int) -> None:
        """Replace an integer that a guard compares by the constant that it must be."""
        if i in self.known_integers:
            self._guard((x, operator.index, self.known_integers[i]))
            self.replacements[i] = self.known_integers[i]

    def call(
        self, f: Callable, args: tuple, kwargs: dict, meta: Meta, out: int | None = None
    ) -> Any:
        """Return the value of ``f(*args, **kwargs)``; add a step if necessary."""
        simple = self._simplified(f, args, kwargs, meta)
        if simple is not None:
            return simple
        found = self.tables.call(f, args, kwargs, meta, out)
        if found is not None:
            return found
        f, args = self._canonical(f, args, meta)
        return self.plain_call(f, args, kwargs, meta, out)

    def plain_call(
        self, f: Callable, args: tuple, kwargs: dict, meta: Meta, out: int | None = None
    ) -> Any:
        """Return the value of a call without identities; fold constants, share equal calls."""
        args = tuple([self.materialised(a) for a in args])
        kwargs = {k: self.materialised(v) for k, v in kwargs.items()}
        if type(f) is types.MethodDescriptorType:  # perhaps a method of a NumPy scalar
            args = (self._as_numpy(args[0]), *args[1:])
        if not any(map(has_refs, args)) and not any(map(has_refs, kwargs.values())):
            folded = self._folded(f, args, kwargs, meta)
            if folded is not None:
                return folded[0]
        key = (f, *[self._key(a) for a in args], *[(k, self._key(v)) for k, v in kwargs.items()])
        try:
            known = self.known_calls.get(key)
        except TypeError:
            known, key = None, ()
        is_any = self.is_double and not is_bool(meta)  # bool and np.bool_ differ
        if known is not None and (is_any or self._fits(known, meta)):
            return known
        ref = self.add_step(f, args, kwargs, meta, out)
        if key:
            self.known_calls[key] = ref
        return ref

    def add_step(
        self, f: Callable, args: tuple, kwargs: dict, meta: Meta, out: int | None = None
    ) -> Ref:
        """Append a step; return its value."""
        i = self.new_value(meta) if out is None else out
        step = Step(f, args, kwargs or None, i)
        self.steps.append(step)
        self.origin[i] = step
        return Ref(i)

    def _as_recorded_kind(self, recorded: Any, x: Any) -> Any:
        """Return an argument as the kind of number that was recorded, Python's or NumPy's."""
        kind = self.metas[recorded.i].type if type(recorded) is Ref else None
        if kind is np.float64:
            return self._as_numpy(x)
        if kind is float and self.meta(x).type is np.float64:
            return self.plain_call(float, (x,), {}, meta_of(0.0)) if type(x) is Ref else float(x)
        return x

    def _as_numpy(self, x: Any) -> Any:
        """Return a Python float as a NumPy scalar; anything else unchanged."""
        if type(x) is float:
            return np.float64(x)
        if type(x) is not Ref or self.metas[x.i].type is not float:
            return x
        return self.plain_call(np.float64, (x,), {}, meta_of(np.float64(0.0)))

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
        self.kept_alive.append(x)
        return (kind, id(x))

    def _folded(self, f: Callable, args: tuple, kwargs: dict, meta: Meta) -> tuple | None:
        """Return ``(value,)`` of a call with constant arguments; None if it stays a call."""
        if meta.shape is not None and meta.size * meta.dtype.itemsize > _LARGEST_FOLDED:
            return None
        try:
            with np.errstate(all="ignore"):
                value = f(*args, **kwargs)
        except Exception:  # the program raises it when it runs
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
            if origin.f is np.flatnonzero and len(origin.args) == 1:  # its length is the count
                counted = self.call(COUNT, origin.args, {}, meta_of(0))
                value, how, expected = counted, operator.index, expected[2][0]
        if type(value) is not Ref:
            return  # a constant
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
        value = root = self.materialised(value)
        while type(root) is Ref and how is has_nan:
            origin = self.origin.get(root.i)
            if origin is None or origin.f is not np.copy:
                break
            root = origin.args[0]
        if how is has_nan and self._is_checked_by_sweep(root):
            return
        if type(root) is Ref and (root.i, how) not in self.guarded:
            self.guarded.add((root.i, how))
            self.steps.append(Step(guard, (value, how, expected), None, -1))

    def _is_checked_by_sweep(self, x: Any) -> bool:
        """Whether a value comes from the sweep of a structured program, which checks for NaN."""
        origin = self.origin.get(x.i) if type(x) is Ref else None
        if origin is None or origin.f is not part:
            return False
        whole = self.origin.get(origin.args[0].i)
        return whole is not None and type(whole.f) is Sweep

    def _all_finite(self, value: Ref, origin: Step) -> Ref:
        """Check whether `b` is finite, in place of logaddexp(c, b) for a constant c."""
        inner = self.origin.get(origin.args[0].i) if type(origin.args[0]) is Ref else None
        if inner is None or inner.f is not np.isfinite or origin.kwargs or len(origin.args) != 1:
            return value
        of = self.origin.get(inner.args[0].i) if type(inner.args[0]) is Ref else None
        if of is None or of.f is not np.logaddexp:
            return value
        for c, b in (of.args, of.args[::-1]):
            if type(c) in (int, float) and math.isfinite(c) and type(b) is Ref:
                is_finite = self.call(np.isfinite, (b,), {}, self.metas[inner.out])
                return self.call(np.all, (is_finite,), {}, self.metas[origin.out])
        return value

    # -- arrays of equal elements ----------------------------------------------------------------

    def splat(self, x: Any) -> Any:
        """Return the number that all elements of an array equal; None if there is none."""
        if type(x) is Ref:
            return self.splats.get(x.i)
        if type(x) is not np.ndarray or x.size < 2 or x.dtype.kind != "f":
            return None
        if x.nbytes > LARGEST_COMPARED and any(x.strides):
            return None  # the user may change it
        known = self._constant_splats.get(id(x), self)
        if known is self:
            first = x[(0,) * x.ndim]
            is_splat = bool((x == first).all()) and (bool(first) or _has_one_sign(x))
            known = first.item() if is_splat else None
            self._constant_splats[id(x)] = known
            self.kept_alive.append(x)
        return known


def _has_one_sign(zeros: np.ndarray) -> bool:
    signs = np.signbit(zeros)
    return bool(signs.all() or not signs.any())


def has_nan(x: Any) -> bool:
    """Whether a number or an array contains NaN; for use in guards."""
    square = x * x if np.ndim(x) == 0 else np.vdot(x, x)
    return bool(square != square)


def nan_of_product(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> float:
    """Return NaN if the product `y` of two arrays contains NaN, or 0.0.

    It contains none if the factors are finite and small enough; only otherwise is `y` read.
    """
    if math.isfinite(np.vdot(a, a) + np.vdot(b, b)):
        return 0.0
    return float(np.vdot(y, y))


COUNT: Any = getattr(getattr(np, "_core", None), "multiarray", np).count_nonzero


def remove_unused(program: Program) -> Program:
    """Return a program without steps whose results are unused."""
    used = bytearray(len(program.metas))
    for x in program.outputs:
        if type(x) is Ref:
            used[x.i] = 1
    kept = []
    first: dict[tuple, Step] = {}  # matrix → the first step that raises if it is singular
    for step in program.steps:
        matrix = regular_matrix(step)
        if matrix is not None:
            first.setdefault(matrix, step)
    for step in reversed(program.steps):
        needed = [step]
        if step.out >= 0 and not used[step.out] and step.f is not effect:
            # The function raises where this step raises, even if the result is unused.
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


def simplify(program: Program) -> Program:
    """Simplify a program."""
    return remove_unused(Simplifier(remove_unused(program)).run())
