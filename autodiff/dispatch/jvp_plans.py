"""Plans on a forward level, which compute the primal and the tangent together."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.dispatch.call import CONFIG, NESTED, NO_RULE
from autodiff.dispatch.plan_types import Binding, Plan
from autodiff.fastpath.elementwise import NOT_HERE, with_dot
from autodiff.mutation.memory_layout import laid_like
from autodiff.trace.jvp_trace import dot_of, pushed, with_tangent
from autodiff.trace.tracer import TRACERS, Tracer
from chainrules_core import unthunk
from chainrules_core.interpreter.quiet import is_mild
from chainrules_core.rule import Rule

_ndarray = np.ndarray
_NUMBERS = frozenset({float, np.float64})


class ForwardPlan(Plan):
    """A cached decision for a function and types of arguments, in forward mode."""

    __slots__ = ("still",)

    def __init__(self, rule: Rule, call: Binding) -> None:
        super().__init__(rule, call)
        self.still: list | None = None  # the tangents of all others, where their types say them

    def _dots(self, bound: Any, tape: Any) -> list:
        """Return the tangents of the arguments."""
        still = self.still
        if still is None:
            dots = [dot_of(a, tape) for a in bound]
            if tuple not in map(type, bound):
                self.still = [None if i in self.wanted else dot for i, dot in enumerate(dots)]
            return dots
        dots = still.copy()
        for i in self.wanted:
            dots[i] = bound[i]._index
        return dots

    def run(self, values: tuple, plain: list, tape: Any, nested: bool) -> Any:
        """Call the function, and compute the tangent."""
        tape.check_open()
        if not is_mild():
            return NO_RULE  # `push` tells the errors of the function from those of its derivative
        bound = self.bound(values)
        options = self.given(plain)
        dots = self._dots(bound, tape)
        nested = nested or not TRACERS.isdisjoint(map(type, dots))
        primals = self.bound(plain)
        config = NESTED if nested else CONFIG
        made = pushed(self.rule, tuple(dots), tuple(primals), options, config)
        if made is None:
            return NO_RULE
        return self._noted(*made, tape, primals, values, options)

    def _noted(
        self, y: Any, y_dot: Any, tape: Any, primals: Any, values: tuple, options: dict[str, Any]
    ) -> Any:
        """Return a value with its tangent; note which argument an array shares memory with."""
        made = NOT_HERE
        is_array = type(y) is _ndarray
        if is_array and y.dtype.kind == "O":
            return NO_RULE
        if type(y) in _NUMBERS and type(y_dot) in _NUMBERS:
            return Tracer(y, tape, type(y)(y_dot))
        if is_array and type(y_dot) is _ndarray:
            if y.ndim > 1 and y.shape == y_dot.shape:
                y_dot = laid_like(y_dot, y)
            made = with_dot(y, y_dot, tape)
        if made is NOT_HERE:
            made = with_tangent(y, unthunk(y_dot), tape)
        if type(made) is not Tracer or not is_array:
            return self._shared(made, self.bound(values), options)
        shares = y.base is not None
        for a in primals:
            shares = shares or a is y
        return self.note_memory(made, values, options) if shares else made


class ForwardOfLinear(ForwardPlan):
    """A plan for a function that is linear in the one argument that has a tangent."""

    __slots__ = ()

    def run(self, values: tuple, plain: list, tape: Any, nested: bool) -> Any:
        """Call the function, and call it again with the tangent."""
        (i,) = self.wanted
        dot = self.bound(values)[i]._index
        if nested or (type(dot) is not _ndarray and type(dot) not in _NUMBERS):
            return super().run(values, plain, tape, nested)
        tape.check_open()
        options = self.given(plain)
        primals = self.bound(plain)
        f = self.rule.f
        y = f(*primals, **options)
        moved = [*primals]
        moved[i] = dot
        return self._noted(y, f(*moved, **options), tape, primals, values, options)
