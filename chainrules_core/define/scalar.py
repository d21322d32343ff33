"""scalar_rule: both rules of an elementwise function, from its partial derivatives."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from chainrules_core.calling.signatures import Signature, signature_of
from chainrules_core.define.bits import where_true
from chainrules_core.define.output_precision import FLOAT64, precise
from chainrules_core.define.partial import Partial
from chainrules_core.errors import RuleDefinitionError, counted
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.interpreter.references import if_counted
from chainrules_core.operations.arithmetic import is_zero
from chainrules_core.operations.broadcasting import unbroadcast
from chainrules_core.projection.project_to import ProjectTo, is_foreign
from chainrules_core.rule import Rule, names_of
from chainrules_core.rules import checked_key, frule, rrule
from chainrules_core.tangents import AbstractZero, NoTangent, Tangent, ZeroTangent, unthunk
from chainrules_core.tangents.missing import NotImplementedTangent

_SPECIAL = (AbstractZero, NotImplementedTangent)
# Keywords of ufuncs that leave the derivative as it is.
_UFUNC_OPTIONS = frozenset({"casting", "dtype", "order", "subok"})


class ScalarRule(Rule):
    """The rule of an elementwise function, made from its partial derivatives.

    Attributes
    ----------
    partials : tuple of tuple of Partial
        ``partials[i][j]`` is ∂y_i/∂x_j; a function with one output has one row.
    setup : callable, optional
        ``setup(y, *args)``, computed once and given to each partial as last argument.
    together : callable, optional
        ``together(y_bar, y, *args)``: the products of all partials with ȳ at less cost.
    """

    kind = "scalar"

    def __init__(
        self,
        f: Callable,
        rows: tuple[tuple[Partial, ...], ...],
        setup: Callable | None,
        types: tuple,
        several: bool,
        together: Callable | None = None,
    ) -> None:
        n = len(rows[0])
        super().__init__(f, types, lambda: _signature(f, n))
        self.partials = rows
        self.setup = setup
        self.several = several
        self.together = together
        self.n = n

    def _takes(self, n: int) -> bool:
        return n == self.n  # without reading the signature of the function, which is slow

    def _kept(self, y: Any, args: tuple, wanted: tuple[int, ...]) -> list:
        """Return ``(y, *args)`` with what no wanted partial reads left out."""
        values = [y, *precise(y, args)]
        if self.setup is not None:
            return values
        reads = self.reads(wanted)
        return [v if i in reads else None for i, v in enumerate(values)]

    def reads(self, wanted: Sequence[int]) -> set[int]:
        """Return which of ``(y, *args)`` the pullback to the wanted arguments reads."""
        reads: set[int] = set()
        for row in self.partials:
            for j in wanted:
                reads |= row[j].reads
        return reads | self.together_reads if len(wanted) == self.n else reads

    @functools.cached_property
    def together_reads(self) -> frozenset[int]:
        """Which of ``(y, *args)`` the products made together read."""
        if self.together is None:
            return frozenset()
        return frozenset([i - 1 for i in Partial(self.together, self.n + 2).reads if i > 0])

    def _evaluated(self, values: list) -> list:
        """Return `values` with what ``setup`` makes of them behind."""
        if self.setup is None:
            return values
        return [*values, self.setup(*values)]

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: Any = None,
    ) -> tuple[Any, Callable]:
        """Compute the primal; the partials wait for the pullback."""
        y = self.primal(args, options, config)
        positions = tuple(range(self.n)) if wanted is None else wanted
        values = self._kept(y, args, positions)
        shapes = [np.shape(args[j]) for j in positions]
        full = wanted is None
        # What a partial reads of these changes with what is differentiated.
        varying = {0, *[j + 1 for j in positions]}

        def pull(y_bar: Any, product: Callable = strong_product) -> tuple:
            y_bar = unthunk(y_bar)
            bars = self._pull_together(y_bar, values, shapes, product is strong_product)
            if bars is None:
                known = self._evaluated(values)
                bars = tuple(
                    [
                        self._pull_one(j, y_bar, known, shape, product, varying)
                        for j, shape in zip(positions, shapes, strict=True)
                    ]
                )
            return (NoTangent(), *bars) if full else bars

        return y, pull

    def _pull_one(
        self,
        j: int,
        y_bar: Any,
        values: list,
        shape: tuple,
        product: Callable,
        varying: set[int],
    ) -> Any:
        """Pull back to argument `j`: the sum over the outputs of conj(∂y_i/∂x_j) ȳ_i."""
        if not self.several:
            partial = self.partials[0][j]
            # What a setup makes depends on all arguments.
            is_constant = self.setup is None and varying.isdisjoint(partial.reads)
            if product is strong_product and is_constant:
                product = constant_product
            return pull_product(partial, values, y_bar, shape, product)
        total: Any = ZeroTangent()
        for i, row in enumerate(self.partials):
            bar = unthunk(y_bar[i])
            if not isinstance(bar, AbstractZero):
                total = total + pull_product(row[j], values, bar, shape, product)
        return total

    def products_together(
        self, y_bar: Any, values: tuple | list, strong: bool = True
    ) -> tuple | None:
        """Return the product of ȳ with each partial by ``together``, if it can make them all.

        `values` are ``(y, *args)``, as far as they are read; `strong` says that a zero in ȳ must
        stay zero. None says that the products are to be made one by one.
        """
        if self.together is None:
            return None
        for value in (y_bar, *[values[i] for i in self.together_reads]):
            if type(value) is not _ndarray or value.dtype is not FLOAT64:
                return None
        bars = self.together(y_bar, *values)
        return None if bars is None or (strong and has_nan(bars[-1])) else bars

    def _pull_together(self, y_bar: Any, values: list, shapes: list, strong: bool) -> tuple | None:
        if self.together is None or len(shapes) != self.n:
            return None
        bars = self.products_together(y_bar, values, strong)
        if bars is None:
            return None
        return tuple([unbroadcast(bar, shape) for bar, shape in zip(bars, shapes, strict=True)])

    def pull_rows(
        self,
        y_bars: Any,
        y: Any,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...],
    ) -> tuple:
        """Pull many cotangents back at once: products broadcast over them."""
        values = self._evaluated([y, *precise(y, args)])
        varying = {0, *[j + 1 for j in wanted]}
        first = next((b for b in y_bars if not isinstance(b, _SPECIAL)), None)
        of_one = y_bars if not self.several else first
        if of_one is None:
            return (ZeroTangent(),) * len(wanted)
        n, ndim = len(of_one), np.ndim(of_one) - 1
        bars = []
        with quiet():
            for j in wanted:
                shape = np.shape(args[j])
                spread = (n, *(1,) * (ndim - len(shape)), *shape)
                bar = self._pull_one(j, y_bars, values, spread, strong_product, varying)
                bars.append(bar if isinstance(bar, _SPECIAL) else np.reshape(bar, (n, *shape)))
        return tuple(bars)

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], config: Any = None
    ) -> tuple[Any, Any]:
        """Compute the primal and the sum over the arguments of ∂y/∂x_j ẋ_j."""
        y = self.primal(args, options, config)
        values = self._evaluated([y, *precise(y, args)])
        dots = tuple([unthunk(d) for d in dots])
        with quiet():
            rows = [self._push_row(row, values, dots, args) for row in self.partials]
        outputs = y if self.several else (y,)
        rows = [fit(r, o) for r, o in zip(rows, outputs, strict=True)]
        return y, Tangent[tuple](*rows) if self.several else rows[0]

    def _push_row(self, row: tuple[Partial, ...], values: list, dots: tuple, args: tuple) -> Any:
        total: Any = ZeroTangent()
        for partial, dot in zip(row, dots, strict=True):
            if isinstance(dot, AbstractZero):
                continue
            slope = partial(*values)
            if isinstance(slope, NotImplementedTangent) and is_zero(dot):
                continue  # what does not move needs no derivative
            total = total + strong_product(slope, dot)
        return total

    def derivatives(self, y: Any, args: tuple) -> tuple[tuple[Any, ...], ...]:
        """Return ``D[i][j]`` = ∂y_i/∂x_j."""
        values = self._evaluated([y, *precise(y, args)])
        with quiet():
            return tuple(tuple(p(*values) for p in row) for row in self.partials)


def _signature(f: Callable, n: int) -> Signature:
    """Return the signature of a rule of `n` arguments, with the function's own names."""
    target = signature_of(f)
    names = [] if target is None else list(target.parameters)[:n]
    names += [f"x{i}" for i in range(len(names), n)]
    return Signature(tuple(names), n, options=_UFUNC_OPTIONS if _is_ufunc(f) else frozenset())


def _is_ufunc(f: Callable) -> bool:
    return isinstance(f, np.ufunc)


_ndarray = np.ndarray


def _references(x: Any) -> int:
    return sys.getrefcount(x)


def _references_alone() -> int:
    """Count the references to an array that one local variable alone holds."""
    x = np.empty(1)
    return _references(x)


_ALONE = if_counted(_references_alone())


def pull_product(
    partial: Partial, values: Sequence, y_bar: Any, shape: tuple, product: Callable
) -> Any:
    """Return conj(partial) ȳ, summed back to `shape`.

    A partial derivative that nobody else holds gives its memory to the product.
    """
    d = partial(*values)
    if isinstance(d, _SPECIAL):
        return d
    if type(d) is _ndarray:
        if shape == () and type(y_bar) is _ndarray and d.shape == y_bar.shape:
            total = np.vdot(d, y_bar)
            if total == total:
                return total
        owns = d.base is None and _references(d) == _ALONE
        if d.dtype.kind == "c":
            d = np.conjugate(d, out=d) if owns else np.conjugate(d)
            owns = True
        x_bar = product(d, y_bar, owns)
    else:
        x_bar = product(conjugate(d), y_bar)
    found = x_bar.shape if type(x_bar) is _ndarray else np.shape(x_bar)
    return x_bar if found == shape else unbroadcast(x_bar, shape)


def conjugate(d: Any) -> Any:
    """Return the conjugate of a complex value; a real one itself, since ``np.conj`` copies."""
    if isinstance(d, complex):  # a traced one passes for it
        return np.conj(d)
    dtype = getattr(d, "dtype", None)
    return np.conj(d) if dtype is not None and dtype.kind == "c" else d


def plain_product(d: Any, t: Any, owns: bool = False) -> Any:
    """Return ``d * t``, without a multiplication by one; in the memory of `d` if it may be."""
    are_arrays = owns and type(d) is type(t) is _ndarray
    if are_arrays and d.shape == t.shape and _keeps_dtype(d.dtype, t.dtype):
        return np.multiply(d, t, out=d)
    if type(d) is int and d == 1:
        return t
    if type(d) is _ndarray and type(t) is _ndarray and d.dtype.kind == "b":
        return where_true(d, t) if t.dtype.kind == "f" else d * t
    return d * t


def _keeps_dtype(mine: np.dtype, other: np.dtype) -> bool:
    return mine is other or (mine.kind in "fc" and np.result_type(mine, other) == mine)


def strong_product(d: Any, t: Any, owns: bool = False) -> Any:
    """Return ``d * t`` where a zero in `t` wins over Inf and NaN in `d`.

    This is what keeps the branch of ``where`` that was not taken from making NaN of 0 · Inf.
    """
    product = plain_product(d, t, owns)
    if product is t or isinstance(product, _SPECIAL):
        return product
    if is_exact_zero(d):
        return constant_product(d, t)
    if (is_foreign(d) or is_foreign(t)) and getattr(d, "dtype", None) == np.bool_:
        return np.where(d, t, np.zeros_like(t))
    if _is_finite(d) or not has_nan(product):
        return product
    return np.where(t == 0, np.zeros_like(product), product)


def is_exact_zero(d: Any) -> bool:
    """Whether a partial derivative is an int or truth value, and zero: the function is constant.

    The zero of a float may be a slope that only vanishes here, as that of a square.
    """
    kind = type(d)
    return (kind is int or kind is bool or kind is np.bool_) and not d


def constant_product(d: Any, t: Any, owns: bool = False) -> Any:
    """Return ``d * t`` where a zero in `d`, too, wins over Inf: y = d x with a constant d.

    There 0 · x does not change with x, however steep what follows is: ``sqrt(mask * x)``.
    """
    product = plain_product(d, t) if is_exact_zero(d) else strong_product(d, t)
    if isinstance(product, _SPECIAL) or not has_nan(product):
        return product
    return np.where(np.equal(d, 0) & np.isinf(t), np.zeros_like(product), product)


def _is_finite(d: Any) -> bool:
    """Whether a partial derivative is seen at a glance to be neither Inf nor NaN."""
    kind = type(d)
    if kind is _ndarray:
        return d.dtype.kind in "bui"
    return kind is int or (kind is float and math.isfinite(d))


def has_nan(x: Any) -> bool:
    """Whether there is a NaN in a number or an array."""
    if type(x) is _ndarray and x.dtype.kind in "fc":
        if x.dtype is FLOAT64 and x.flags.forc:
            # One pass, which of Inf makes no NaN; that it overflows is no error of the program.
            with quiet():
                total = x.dot(x) if x.ndim == 1 else np.vdot(x, x)
            return bool(total != total)
        return bool(np.logical_or.reduce(np.isnan(x), axis=None))
    total = x if np.ndim(x) == 0 else np.sum(x)
    return bool(total != total)


def fit(y_dot: Any, y: Any) -> Any:
    """Bring a tangent to the shape and precision of the output it belongs to."""
    if isinstance(y_dot, _SPECIAL):
        return y_dot
    shape = np.shape(y)
    if np.shape(y_dot) != shape:
        y_dot = np.broadcast_to(y_dot, shape)
    return ProjectTo(y)(y_dot)


def scalar_rule(
    f: Callable | tuple[Callable, ...],
    *partials: Any,
    setup: Callable | None = None,
    together: Callable | None = None,
    types: tuple = (),
) -> None:
    """Define the frule and the rrule of an elementwise function by its partial derivatives.

    The frame does the broadcasting, projection, conjugation and precision. The function must be
    holomorphic in each argument that may be complex.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several that compute the same (``operator.mul`` and ``np.multiply``).
    *partials : callable, number or tangent
        One for each argument: ``lambda y, *args: ∂y/∂x``, or a constant, ``ZeroTangent()``,
        ``NoTangent()`` or ``not_implemented("why")``. A function with several outputs has one
        tuple of them for each output.
    setup : callable, optional
        ``setup(y, *args)`` does work that the partials share. Each of them gets the result as its
        last argument.
    together : callable, optional
        ``together(y_bar, y, *args)`` returns the products of ȳ with all partials, for float64
        arrays, or None if it cannot. It adds no information, but can share work that separate
        partials cannot. If the last product has a NaN, the partials are used instead, so the last
        product must be NaN wherever one of the others is.
    types : tuple
        Types of the arguments, as for ``rrule.register``.

    Raises
    ------
    RuleDefinitionError
        If the rows have different lengths, or a partial takes the wrong number of arguments.

    Examples
    --------
    >>> def cube(x): return x * x * x
    >>> scalar_rule(cube, lambda y, x: 3 * x * x)
    >>> rrule(cube, 2.0)[1](1.0)
    (NoTangent(), 12.0)
    >>> frule((NoTangent(), 1.0), cube, 2.0)
    (8.0, 12.0)
    >>> rrule.unregister(cube); frule.unregister(cube)
    """
    for rule in elementwise_rules(f, partials, setup, together, types):
        rrule.add(rule)
        frule.add(rule)


def elementwise_rules(
    f: Callable | tuple[Callable, ...],
    partials: tuple,
    setup: Callable | None = None,
    together: Callable | None = None,
    types: tuple = (),
    form: str = "scalar_rule",
) -> Iterator[ScalarRule]:
    """Yield the rule of each function, given what `scalar_rule` is given.

    `form` is what the author has called, for errors.
    """
    several = bool(partials) and isinstance(partials[0], tuple)
    rows = partials if several else (partials,)
    if not partials or len({len(row) for row in rows}) != 1:
        raise RuleDefinitionError(
            f"{form} for {names_of(f)} takes one partial for each argument; for a function of "
            "several outputs, one tuple for each output, with one partial for each argument."
        )
    n = len(rows[0]) + 1 + (setup is not None)
    for target in f if isinstance(f, tuple) else (f,):
        _check_arity(target, rows, n, form)
        made = tuple(tuple(Partial(p, n) for p in row) for row in rows)
        yield ScalarRule(checked_key(target), made, setup, tuple(types), several, together)


def _check_arity(f: Callable, rows: tuple, n: int, form: str) -> None:
    for row in rows:
        for partial in row:
            if type(partial) is not FunctionType:
                continue  # a constant, or a callable that takes what it gets
            code = partial.__code__
            if code.co_flags & 0x04 or code.co_kwonlyargcount:
                continue
            optional = len(partial.__defaults__ or ())
            if not code.co_argcount - optional <= n <= code.co_argcount:
                setup = "" if n == len(row) + 1 else " and the result of setup"
                names = ["x"] if len(row) == 1 else [f"x{i + 1}" for i in range(len(row))]
                parameters = ", ".join(["y", *names, *(["shared"] if setup else [])])
                hint = (
                    f"Write it as lambda {parameters}: ..."
                    if code.co_argcount < n
                    else "Give one partial for each argument of the function."
                )
                raise RuleDefinitionError(
                    f"{form} for {names_of(f)} was given {counted(len(row), 'partial')}, so "
                    f"each is called with the output and {counted(len(row), 'argument')}{setup}, "
                    f"{n} values; this one takes {code.co_argcount}. {hint}"
                )
