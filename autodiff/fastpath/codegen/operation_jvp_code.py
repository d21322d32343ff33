"""Code generation for elementwise functions in forward mode, and on a tape inside another level.

In forward mode, the tangent is computed at once from the partial derivatives of the rule for that
mode. On a tape whose values one outer level traces, the operation, and the products of its node,
are operations of that level. So ``hvp`` runs generated code as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.codegen.node_code import product
from autodiff.fastpath.codegen.operation_code import (
    RECORDED,
    Declined,
    OperationGenerator,
    is_number_or_function,
)
from autodiff.fastpath.elementwise import NOT_HERE, forward_plans, plans, pushed, with_dot
from chainrules_core.define.partial import Partial
from chainrules_core.operations.broadcasting import spread_to

_SLOPE = """\
        s = {function}({names})
        kind = type(s)
        if kind is ndarray and s.dtype is DTYPE or kind in NUMBERS:
            {made} = s * {dot}
        elif kind is ndarray and s.dtype is BOOL:
            {made} = where_true(s, {dot})
        else:
            return {again}"""
_SPREAD = """\
        if type(y_dot) is not ndarray:
            y_dot = spread_to(y_dot, y.shape)"""
_ON_LEVEL = (
    """\
    tape, place = level, y_dot
"""
    + dispatch_cache.NEW_TRACER
    + "    return made\n"
)
_OVER = (
    """\
    y = on({values}) if {first}._tape.forward else NO_RULE
    if y is NO_RULE:
        y = {expression}
    if type(y) is not Tracer or y._tape is CONSTANT:
        return NO_RULE
    beneath = y._value
    if {is_other}:
        return NO_RULE
    space = ProjectTo(beneath)
"""
    + RECORDED
    + "    tape.nested = True\n"
    + dispatch_cache.NEW_TRACER
    + "    return made\n"
)


def on_level(scope: dict[str, Any], *given: Any) -> Callable:
    """Generate the function for a forward level; `scope` is that of the code for one tape."""
    code = _ForwardGenerator(*given)
    code.scope |= _linked(scope, "otherwise")
    try:
        return code.way()
    except Declined:
        return code.scope["otherwise"]


def over_level(scope: dict[str, Any], *given: Any) -> Callable:
    """Generate the function for a tape inside another level, whose node is that of `scope`."""
    code = _OuterLevelGenerator(*given)
    code.scope |= _linked(scope, "otherwise", "on") | {"Node": scope["Node"]}
    return code.way()


def _linked(scope: dict[str, Any], *names: str) -> dict[str, Callable]:
    """Return functions that call those of a scope by name, because they may be replaced there."""
    return {name: lambda *args, name=name: scope[name](*args) for name in names}


class _ForwardGenerator(OperationGenerator):
    """Generates code for a function on a forward level, which computes the tangent at once."""

    def read_traced(self, i: int, name: str, x: str) -> None:
        """Write the code that reads a traced argument and its tangent."""
        if i == self.wanted[0]:
            self.lines.append(f"level = {name}._tape")
            self.unless("type(level) is Forward")
        else:
            self.unless(f"{name}._tape is level")
        self.lines += [f"{x} = {name}._value", f"d_{x} = {name}._index"]
        is_tangent = f"type(d_{x}) in NUMBERS"
        if self.is_array[i]:
            is_tangent = f"type(d_{x}) is ndarray and d_{x}.dtype is DTYPE"
        kind = self.constant(type(self.samples[i]), "kind")
        self.unless(f"type({x}) is {kind} and {is_tangent}")
        self.has_dtype(i)

    def way(self) -> Callable:
        """Generate the function."""
        plan = self.plan_of(forward_plans)
        partials = tuple([plan.partials[i] for i in self.wanted])
        if not all(map(is_number_or_function, partials)):
            raise Declined
        self.scope |= {"partials": partials, "pushed": pushed, "with_tangent": _with_tangent}
        self.scope["spread_to"] = spread_to
        dots = "".join(f"d_{self.plain[i]}, " for i in self.wanted)
        values = "".join(f"{x}, " for x in self.plain)
        again = f"with_tangent(y, pushed(partials, (y, {values}), ({dots})), level)"
        self.read()
        self.lines += ["level.check_open()", f"y = {self.value()}"]
        is_array = "type({x}) is ndarray and {x}.dtype is DTYPE"
        is_known = is_array if self.makes_array else "type({x}) in NUMBERS"
        self.unless(is_known.format(x="y"), again)
        self.tangent(partials, again)
        if any(partial.function is not None for partial in partials):
            self.unless("not has_nan(y_dot)" if self.makes_array else "y_dot == y_dot", again)
        fits = "type(y_dot) is type(y)"
        if self.makes_array:
            fits = is_array.format(x="y_dot") + " and y_dot.shape == y.shape"
        self.unless(fits, "with_tangent(y, y_dot, level)")
        return self.function(_ON_LEVEL)

    def tangent(self, partials: tuple[Partial, ...], again: str) -> None:
        """Write the tangent; its warnings do not concern the user's program."""
        names, terms = ["y", *self.plain], []
        self.lines += ["try:", "    with quiet():"]
        for position, (i, partial) in enumerate(zip(self.wanted, partials, strict=True)):
            dot = f"d_{self.plain[i]}"
            made = product(partial, dot, names, self.factor)
            if made is None:
                made = f"p_{position}"
                function = self.constant(self.function_of(partial), "by")
                source = _SLOPE.format(
                    function=function, names=", ".join(names), made=made, dot=dot, again=again
                )
                self.lines += source.splitlines()
            terms.append(made)
        self.lines.append(f"        y_dot = {' + '.join(terms)}".replace("+ -", "- "))
        if self.makes_array and not all(self.is_array[i] for i in self.wanted):
            self.lines += _SPREAD.splitlines()
        self.lines += ["except ARITHMETIC:", f"    return {again}"]


class _OuterLevelGenerator(OperationGenerator):
    """Generates code for a function on a tape whose values one outer level traces."""

    def read_traced(self, i: int, name: str, x: str) -> None:
        """Write the code that reads a traced argument as a value of the outer level."""
        if i == self.wanted[0]:
            self.lines.append(f"tape = {name}._tape")
        else:
            self.unless(f"{name}._tape is tape")
        kind = self.constant(type(self.samples[i]), "kind")
        self.lines.append(f"{x} = {name}._value")
        self.unless(f"type({x}) is Tracer and type({x}._value) is {kind}")

    def way(self) -> Callable:
        """Generate the function."""
        is_other = "type(beneath) is not ndarray or beneath.dtype is not DTYPE"
        seen = self.seen(self.plan_of(plans))
        self.read()
        self.keep(seen)
        return self.function(
            _OVER.format(
                parents=self.parents(),
                seen=", ".join(seen),
                expression=self.value(),
                first=self.plain[self.wanted[0]],
                is_other=is_other if self.makes_array else "type(beneath) not in NUMBERS",
                values=", ".join(self.plain),
            )
        )


def _with_tangent(y: Any, y_dot: Any, tape: Any) -> Any:
    made = with_dot(y, y_dot, tape)
    return NO_RULE if made is NOT_HERE else made
