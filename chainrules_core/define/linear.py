"""linear_rule: both rules of a linear function, from its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_core.calling.frame import missing_tangent
from chainrules_core.calling.lists import (
    LIST,
    array_of,
    in_lists,
    natural,
    tangent_as_array,
    to_list,
    widened,
)
from chainrules_core.calling.signatures import Signature
from chainrules_core.define.scalar import fit
from chainrules_core.errors import RuleDefinitionError, counted
from chainrules_core.operations.arithmetic import is_zero
from chainrules_core.operations.broadcasting import unbroadcast_rows
from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.rule import Rule, names_of
from chainrules_core.rules import checked_key, frule, rrule
from chainrules_core.tangents import AbstractZero, InplaceableThunk, NoTangent, ZeroTangent, unthunk


class LinearRule(Rule):
    """The rule of a function that is linear in some of its arguments.

    Attributes
    ----------
    argnums : tuple of int
        The positions in which the function is linear.
    adjoints : tuple of callable
        ``adjoint(y_bar, *args, **options)`` for each of them.
    joint : bool
        Linear in all `argnums` together, as ``where`` is in its two branches; else in each of
        them alone, as a product is.
    add_into : callable, optional
        ``add_into(x_bar, y_bar, *args, **options)``: add the adjoint into a buffer in place.
    broadcasts, factors, rows, subscripts
        As for `chainrules_core.linear_rule`.
    """

    kind = "linear"

    def __init__(
        self,
        f: Callable,
        adjoints: tuple[Callable, ...],
        types: tuple,
        *,
        argnums: tuple[int, ...],
        joint: bool,
        add_into: Callable | None,
        broadcasts: bool,
        factors: tuple[Callable | None, ...] | None = None,
        rows: tuple[Callable | None, ...] | None = None,
        subscripts: Mapping[tuple[int, ...], str] | None = None,
    ) -> None:
        super().__init__(f, types, lambda: Signature.of_rule(adjoints[0], skip=1))
        self.adjoints = adjoints
        self.argnums = self.shaped_by = argnums
        self.joint = joint
        self.add_into = add_into
        self.broadcasts = broadcasts
        self.factors = factors or (None,) * len(adjoints)
        self.rows = rows or (None,) * len(adjoints)
        self.subscripts = subscripts or {}

    def differentiates(self, position: int) -> bool:
        """Whether the function is linear in the argument at a position."""
        return position in self.argnums

    def register(self, lists: bool = False) -> None:
        """Add the rule to both tables, and where it takes lists its companions for these."""
        for table in (rrule, frule):
            table.add(self)
            for types in types_with_lists(self.types) if lists else ():
                table.add(LinearRuleForLists(self, types))

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: Any = None,
    ) -> tuple[Any, Callable]:
        """Compute the primal; arguments in which it is linear are kept as their spaces only."""
        y = self.primal(args, options, config)
        positions = tuple(range(len(args))) if wanted is None else wanted
        seen = {j: self.spaces_for(j, args) for j in self.argnums if j in positions}
        full = wanted is None
        body = None if config is None else config.body
        absent = {j: self.missing(j, args[j]) for j in positions if j not in seen}

        def pull(y_bar: Any) -> tuple:
            y_bar = unthunk(y_bar)
            bars = tuple(
                [
                    self._pull_one(j, y_bar, seen[j], options, body) if j in seen else absent[j]
                    for j in positions
                ]
            )
            return (NoTangent(), *bars) if full else bars

        return y, pull

    def missing(self, j: int, value: Any) -> Any:
        """Return the tangent of an argument in which the function is not known to be linear."""
        names = self.signature.positional
        return missing_tangent(self, names[j] if j < len(names) else f"argument {j}", value)

    def spaces_for(self, j: int, args: tuple) -> tuple:
        """Return what the adjoint for `j` is given: a space for each argument it cannot need."""
        return tuple(
            [
                ProjectTo(a) if i == j or (self.joint and i in self.argnums) else a
                for i, a in enumerate(args)
            ]
        )

    def _pull_one(
        self, j: int, y_bar: Any, seen: tuple, options: dict[str, Any], body: Callable | None
    ) -> Any:
        adjoint = self.adjoints[self.argnums.index(j)]
        if body is not None:
            adjoint = body(adjoint)  # y_bar may be traced on an outer level
        if self.add_into is None:
            return adjoint(y_bar, *seen, **options)
        add_into = self.add_into
        return InplaceableThunk(
            lambda x_bar: add_into(x_bar, y_bar, *seen, **options),
            lambda: adjoint(y_bar, *seen, **options),
        )

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], config: Any = None
    ) -> tuple[Any, Any]:
        """Apply the function itself to the tangents."""
        y = self.primal(args, options, config)
        dots = tuple([unthunk(d) for d in dots])
        active = [j for j, dot in enumerate(dots) if not isinstance(dot, AbstractZero)]
        if not active:
            return y, ZeroTangent()
        for j in active:
            if j not in self.argnums and not is_zero(dots[j]):
                missing = self.missing(j, args[j])
                if not isinstance(missing, AbstractZero):
                    return y, missing
        active = [j for j in active if j in self.argnums]
        if self.joint:
            return y, fit(self._applied(args, dots, self.argnums, options, config), y)
        total: Any = ZeroTangent()
        for j in active:
            total = total + self._applied(args, dots, (j,), options, config)
        return y, fit(total, y)

    def pull_rows(
        self,
        y_bars: Any,
        y: Any,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...],
    ) -> tuple | None:
        """Pull many cotangents back at once, where the rule says how by ``rows``."""
        made: list[Any] = []
        for j in wanted:
            if j not in self.argnums:
                made.append(self.missing(j, args[j]))
                continue
            rows = self.rows[self.argnums.index(j)]
            bars = None if rows is None else rows(y_bars, *self.spaces_for(j, args), **options)
            if bars is None:
                return None
            made.append(unbroadcast_rows(bars, np.shape(args[j])) if self.broadcasts else bars)
        return tuple(made)

    def _applied(
        self,
        args: tuple,
        dots: tuple,
        argnums: tuple[int, ...],
        options: dict[str, Any],
        config: Any,
    ) -> Any:
        moved = tuple([natural(dots[i], a) if i in argnums else a for i, a in enumerate(args)])
        return self.primal(moved, options, config)


class LinearRuleForLists(Rule):
    """A linear rule for calls with lists in place of arrays."""

    kind = "lists"

    def __init__(self, rule: LinearRule, types: tuple) -> None:
        super().__init__(rule.f, types, lambda: rule.signature)
        self.rule = rule
        self.broadcasts = rule.broadcasts
        self.shaped_by = rule.shaped_by

    def differentiates(self, position: int) -> bool:
        """Whether it has a cotangent for the argument at a position."""
        return self.rule.differentiates(position)

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: Any = None,
    ) -> tuple[Any, Callable]:
        """Ask the rule for the arrays; its cotangents become those of the lists."""
        arrays = tuple([array_of(a) for a in args])
        y, pull = self.rule.record(arrays, options, wanted, config)
        positions = range(len(args)) if wanted is None else wanted
        back = [to_list(args[i], arrays[i]) for i in positions]

        def pull_lists(y_bar: Any) -> tuple:
            return in_lists(pull(y_bar), back)

        return y, pull_lists

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], config: Any = None
    ) -> tuple[Any, Any]:
        """Ask the rule for the arrays and their tangents."""
        dots = tuple([tangent_as_array(dot, a) for dot, a in zip(dots, args, strict=True)])
        return self.rule.push(dots, tuple([array_of(a) for a in args]), options, config)


def types_with_lists(types: tuple) -> list[tuple]:
    """Return the types of calls in which a list is in place of an array.

    Examples
    --------
    >>> types_with_lists((int, float))
    [((<class 'list'>, <class 'tuple'>), (<class 'float'>, <class 'list'>, <class 'tuple'>)), \
(<class 'int'>, (<class 'list'>, <class 'tuple'>))]
    """
    wide = widened(types)
    return [(*types[:i], LIST, *wide[i + 1 :]) for i in range(len(types))]


def linear_rule(
    f: Callable | tuple[Callable, ...],
    *adjoints: Callable,
    types: tuple = (),
    argnums: tuple[int, ...] | None = None,
    joint: bool = False,
    add_into: Callable | None = None,
    broadcasts: bool = False,
    factors: tuple[Callable | None, ...] | None = None,
    rows: tuple[Callable | None, ...] | None = None,
    subscripts: Mapping[tuple[int, ...], str] | None = None,
    lists: bool = False,
) -> None:
    """Define the frule and the rrule of a linear function by its adjoint.

    The pushforward of a linear function is the function itself, so you give only the adjoints: one
    for each argument in which `f` is linear.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several that compute the same.
    *adjoints : callable
        ``adjoint(y_bar, *args, **options)`` returns the cotangent of its argument. Its other
        parameters are those of `f` (``axis=None``). In place of an argument in which `f` is linear,
        it gets the *space* of the argument (its `ProjectTo`, with ``shape``, ``ndim``, ``size`` and
        ``dtype``). The adjoint of a linear map does not depend on the value, so the value need not
        be kept.
    types : tuple
        Types of the leading arguments, as for ``rrule.register``.
    argnums : tuple of int, optional
        The positional arguments that the adjoints are for; the first ones by default.
    joint : bool
        Whether `f` is linear in these arguments together (``where(c, x, y)`` in ``x, y``), or only
        in each one while the others are fixed (a product).
    add_into : callable, optional
        ``add_into(x_bar, y_bar, *args, **options)`` adds the adjoint of the (one) argument into
        the buffer `x_bar` in place and returns it.
    broadcasts : bool
        Whether to sum cotangents back to the shape of the argument.
    factors : tuple of (callable or None), optional
        For each adjoint, a function of the same arguments that returns two vectors if the adjoint
        is their outer product, and None otherwise. An engine can add up many outer products with a
        single matrix product.
    rows : tuple of (callable or None), optional
        For each adjoint, a function of the same arguments that takes many cotangents at once, in
        one array with an extra axis in front, and returns the adjoint of each along such an axis,
        or None if it cannot. An engine calls it once for a whole Jacobian.
    subscripts : dict, optional
        For products of two arrays: their numbers of axes → the subscripts with which
        ``numpy.einsum`` computes `f` without options, ``{(2, 1): "ij,j->i"}``. The cotangent of
        a factor is the product of ȳ with the conjugate of the other factor, over the same
        subscripts; an engine may write that without calling the adjoint.
    lists : bool
        Whether `f` accepts nested lists in place of arrays of the given `types`. The adjoints get
        arrays, and the cotangent of a list has the form of the list.

    Raises
    ------
    RuleDefinitionError
        If there are not as many adjoints, `factors` or `rows` as `argnums`.

    Examples
    --------
    >>> def twice(x): return 2 * x
    >>> linear_rule(twice, lambda y_bar, x: 2 * y_bar)
    >>> rrule(twice, 3.0)[1](1.0)
    (NoTangent(), 2.0)
    >>> rrule.unregister(twice); frule.unregister(twice)
    """
    argnums = tuple(range(len(adjoints))) if argnums is None else argnums
    if len(argnums) != len(adjoints) or not adjoints:
        raise RuleDefinitionError(
            f"linear_rule for {names_of(f)} was given {counted(len(adjoints), 'adjoint')} for "
            f"argnums={argnums}: give one for each argument in which the function is linear."
        )
    for name, functions in (("factors", factors), ("rows", rows)):
        if functions is not None and len(functions) != len(adjoints):
            raise RuleDefinitionError(
                f"linear_rule for {names_of(f)}: {name} has {counted(len(functions), 'function')} "
                f"for {counted(len(adjoints), 'adjoint')}. Give one for each, or None where there "
                "is none."
            )
    if add_into is not None and len(adjoints) != 1:
        raise RuleDefinitionError(
            f"linear_rule for {names_of(f)}: add_into is for functions that are linear in one "
            f"argument, and it was given {counted(len(adjoints), 'adjoint')}. Leave add_into out."
        )
    for target in f if isinstance(f, tuple) else (f,):
        rule = LinearRule(
            checked_key(target),
            adjoints,
            tuple(types),
            argnums=argnums,
            joint=joint,
            add_into=add_into,
            broadcasts=broadcasts,
            factors=factors,
            rows=rows,
            subscripts=subscripts,
        )
        rule.register(lists)
