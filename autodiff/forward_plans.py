"""Plans on a forward level: the primal and the tangent at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.call import CONFIG, NESTED, NO_RULE
from autodiff.elementwise import NOT_HERE, with_dot
from autodiff.forward import dot_of, with_tangent
from autodiff.plan_kinds import Again, Plan
from autodiff.tracer import FloatTracer, Tracer
from autodiff.views import note_shared
from chainrules_core import unthunk

_TRACED = frozenset({Tracer, FloatTracer})
_ndarray = np.ndarray


class ForwardPlan(Plan):
    """The same in forward mode."""

    __slots__ = ()

    def run(self, values: tuple, plain: list, tape: Any, nested: bool) -> Any:
        """Make the call, and compute the tangent."""
        tape.check_open()
        bound = tuple(self.bound(values))
        options = self.given(plain)
        dots = tuple([dot_of(a, tape) for a in bound])
        nested = nested or not _TRACED.isdisjoint(map(type, dots))
        config = NESTED if nested else CONFIG
        pushed = self._pushed(dots, self.bound(plain), options, config)
        if pushed is None:
            return NO_RULE
        y, y_dot = pushed
        made = NOT_HERE
        if type(y) is _ndarray and y.dtype.kind == "O":
            return NO_RULE
        if type(y) is _ndarray and type(y_dot) is _ndarray:
            made = with_dot(y, y_dot, tape)
        if made is NOT_HERE:
            made = with_tangent(y, unthunk(y_dot), tape)
        note_shared(made, bound, Again(self.rule.f, options))
        return made

    def _pushed(self, dots: tuple, primals: Any, options: dict[str, Any], config: Any) -> Any:
        """Have the rule compute the primal and the tangent; None where it declines."""
        return self.rule.push(dots, tuple(primals), options, config)


class ForwardOfLinear(ForwardPlan):
    """The same for a function that is linear in the one argument that has a tangent."""

    __slots__ = ()

    def _pushed(self, dots: tuple, primals: Any, options: dict[str, Any], config: Any) -> Any:
        (i,) = self.wanted
        if config is NESTED or type(dots[i]) is not _ndarray:
            return self.rule.push(dots, tuple(primals), options, config)
        f = self.rule.f
        y = f(*primals, **options)
        moved = [*primals]
        moved[i] = dots[i]
        return y, f(*moved, **options)
