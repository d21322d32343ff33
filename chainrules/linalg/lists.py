"""Nested lists where NumPy takes an array: ``np.dot([1.0, 2.0], x)``, ``np.linalg.norm([a, b])``.

The rules of this folder are written for arrays. Here each gets a companion for calls with a list in
the place of an array: it makes arrays of the lists, asks the rule, and gives the cotangents of the
lists the form of lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.linalg.matrices import NUMERIC
from chainrules.reductions.axes import array_of
from chainrules_core import ProjectTo, frule, rrule, unbroadcast, unthunk
from chainrules_core.define.linear import natural
from chainrules_core.rule import Rule

LIST = (list, tuple)


class RuleForLists(Rule):
    """A rule for arrays, for calls with lists."""

    kind = "lists"

    def __init__(self, rule: Rule, types: tuple) -> None:
        super().__init__(rule.f, types, lambda: rule.signature)
        self.rule = rule
        self.broadcasts = getattr(rule, "broadcasts", False)

    def differentiates(self, position: int) -> bool:
        """Whether it has a cotangent for the argument at a position."""
        return self.rule.differentiates(position)

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: Any = None,
    ) -> tuple[Any, Callable] | None:
        """Ask the rule for the arrays; its cotangents become those of the lists."""
        arrays = tuple([array_of(a) for a in args])
        recorded = self.rule.record(arrays, options, wanted, config)
        if recorded is None:
            return None
        y, pull = recorded
        positions = range(len(args)) if wanted is None else wanted
        back = [_to_list(args[i], arrays[i]) for i in positions]

        def pull_lists(y_bar: Any) -> tuple:
            own, bars = ((), pull(y_bar)) if wanted is not None else _split(pull(y_bar))
            return (*own, *[to_list(bar) for to_list, bar in zip(back, bars, strict=True)])

        pull_lists.pullback = getattr(pull, "pullback", pull)  # type: ignore[attr-defined]
        return y, pull_lists

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], config: Any = None
    ) -> tuple[Any, Any] | None:
        """Ask the rule for the arrays and their tangents."""
        moved = tuple(
            [
                array_of(natural(unthunk(dot), a)) if isinstance(a, LIST) else dot
                for dot, a in zip(dots, args, strict=True)
            ]
        )
        return self.rule.push(moved, tuple([array_of(a) for a in args]), options, config)


def _split(bars: tuple) -> tuple[tuple, tuple]:
    return bars[:1], bars[1:]


def _to_list(x: Any, array: Any) -> Callable[[Any], Any]:
    """Return what gives the cotangent of an array the form of `x`, if that is a list."""
    if not isinstance(x, LIST):
        return _as_it_is
    of_list, of_array, shape = ProjectTo(x), ProjectTo(array), np.shape(array)

    def to_list(x_bar: Any) -> Any:
        return of_list(of_array(unbroadcast(unthunk(x_bar), shape)))

    return to_list


def _as_it_is(x_bar: Any) -> Any:
    return x_bar


def take_lists(functions: tuple[Callable, ...], arrays: int) -> None:
    """Let functions whose first `arrays` arguments are arrays take lists for them."""
    combinations = [(LIST,)] if arrays == 1 else [(LIST, (*NUMERIC, *LIST)), (NUMERIC, LIST)]
    for f in functions:
        for table in (rrule, frule):
            rule = table.methods(f)[0]
            for types in combinations:
                table.add(RuleForLists(rule, types))


linalg = np.linalg
take_lists(
    (
        np.trace, linalg.trace, linalg.inv, linalg.tensorinv, linalg.pinv, linalg.det,
        linalg.slogdet, linalg.cholesky, linalg.norm, linalg.vector_norm, linalg.matrix_norm,
        linalg.cond, linalg.qr, linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals,
        linalg.svd, linalg.svdvals, linalg.matrix_power,
    ),
    arrays=1,
)  # fmt: skip
take_lists(
    (
        np.matmul, linalg.matmul, np.dot, np.inner, np.vdot, np.outer, linalg.outer, np.vecdot,
        linalg.vecdot, np.tensordot, linalg.tensordot, np.kron, np.cross, linalg.cross,
        linalg.solve, linalg.lstsq, linalg.tensorsolve,
        np.matvec, np.vecmat,
    ),
    arrays=2,
)  # fmt: skip
