"""Code generation of the tangents of calls: by partial derivatives, linearity, or rules."""

from __future__ import annotations

import copy
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff.partial_source import NoSourceError, written_source
from autodiff.structured.callables.inner_derivatives import InnerDerivative
from autodiff.structured.callables.pushforward import Pushforward
from autodiff.structured.form.function_ir import Op, Value, known
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import (
    CALLED,
    function_of,
    is_builtin_rule,
    most_items,
)
from autodiff.structured.writing.activity import depends, is_active
from autodiff.structured.writing.rules.bound_rules import (
    BoundRule,
    is_elementwise,
    twice_differentiable,
)
from autodiff.structured.writing.rules.known_adjoints import (
    index_of_reduced_axes,
    is_copy,
    is_display,
    is_linear_in,
    is_reshape,
    joined_axis,
    matrix_function,
    reduced,
    summed_axes,
)
from autodiff.structured.writing.source_writer import CodeLines, SourceWriter
from autodiff.structured.writing.sweep.partial_derivatives import slope_of_power
from chainrules_core.define import LinearRule

_ASKED = {operator.is_: "({} is {})", operator.contains: "({1} in {0})", most_items: "{}.maxlen"}
_METHODS = (types.MethodDescriptorType, types.GetSetDescriptorType)
_EXTREMA = frozenset({np.maximum, np.minimum, max, min})


class CallTangents(SourceWriter):
    """Writes calls and their tangents."""

    out: CodeLines

    # Methods that subclasses define.
    _dot_of: Callable[[Op], str | None]
    _bind_dot: Callable[[Op, str], None]

    def dot(self, v: Value) -> str:
        """Return the tangent of an active value."""
        if v.op.code == "read" and v not in self.renamed:
            return f"{v.op.data.name}_d"
        return f"{v.name}_d"

    def _dot_or_zero(self, v: Value) -> str:
        """Return the tangent of a value; zeros of its shape if it is not active."""
        if is_active(v):
            return self.dot(v)
        return self._zeros_like(v) if v.kind.is_array else "0.0"

    def _zeros_like(self, v: Value) -> str:
        return f"{self.constants.name(np.zeros_like)}({self.text(v)})"

    def _call(self, op: Op) -> None:
        """Write a call and its tangent; if source cannot express that, the rule computes both."""
        v: Any = op.out
        dot = None if v.kind.parts and depends(op) else self._dot_of(op)
        if dot is not None:
            self.out.add(f"{v.name} = {self._user_source(op, self.text)}")
            self._bind_dot(op, dot)
            return
        pushed = self._pushed_by_rule(op)
        if v.kind.parts:
            self.out.add(f"{v.name} = {pushed}")
        else:
            both = self.fresh("both")
            self.out.add_all([f"{both} = {pushed}", f"{v.name} = {both}[0]"])
            self._bind_dot(op, f"{both}[1]")

    def _pushed_by_rule(self, op: Op) -> str:
        """Return the call of a `Pushforward`, which gives the results and their tangents."""
        v: Any = op.out
        places = tuple([i for i, a in enumerate(op.args) if is_active(a)])
        if not (
            all(a.kind.is_known or a.kind.is_scalar or a.kind.is_array for a in op.args)
            and all(a.kind.is_known and not is_active(a) for a in op.options.values())
        ):
            raise UnsupportedError(f"the tangent of {op.f} of such arguments")
        rule = getattr(op.rule, "rule", None)
        if not (isinstance(rule, (Pushforward, InnerDerivative)) or is_builtin_rule(rule)):
            raise UnsupportedError(f"the tangent of {op.f}, whose rule is the user's")
        options = {name: known(a) for name, a in op.options.items()}
        push = Pushforward(function_of(op.f), places, options, len(v.kind.parts) or None)
        texts = [*map(self.text, op.args), *[self.dot(op.args[i]) for i in places]]
        return f"{self.constants.name(push)}({', '.join(texts)})"

    def _user_source(self, op: Op, text: Any) -> str:
        """Return an operation as user code writes it: methods of arrays as method calls."""
        if op.code == "length" and op.f in _ASKED:
            return _ASKED[op.f].format(*map(text, op.args))
        f = op.f if op.code == "call" or op.data == CALLED else None
        if isinstance(f, _METHODS) and op.args:
            named = [f"{name}={text(x)}" for name, x in op.options.items()]
            return (
                f"{text(op.args[0])}.{f.__name__}({', '.join([*map(text, op.args[1:]), *named])})"
            )
        return self.operation(op, text)

    def _with(self, op: Op, dots: dict[Value, str]) -> str:
        """Return an operation with some arguments replaced by tangents."""

        def text(v: Value) -> str:
            if v.op.code == "tuple" and v not in dots:
                return self.operation(v.op, text)
            return dots.get(v) or self.text(v)

        return self._user_source(op, text)

    def _dot_of_call(self, op: Op) -> str | None:
        """Return the tangent of the result of a call; None if source cannot express it."""
        if is_display(op) or joined_axis(op) is not None:
            return self._with(op, self._dots_of_parts(op.args[0].op.args))
        if is_copy(op) or is_reshape(op) or summed_axes(op) is not None:
            return self._with(op, {op.args[0]: self.dot(op.args[0])})
        if reduced(op) is not None:
            return self._dot_of_reduced(op)
        if matrix_function(op) is not None:
            return self._dot_of_matrices(op)
        if op.f in _EXTREMA and len(op.args) == 2 and is_builtin_rule(op.rule.rule):
            return self._dot_of_extremum(op)
        if is_elementwise(op):
            return self._by_partials(op, twice_differentiable(op))
        return self._dot_of_linear(op)

    def _dots_of_parts(self, parts: Iterable[Value]) -> dict[Value, str]:
        """Return the tangents of the parts of a display, also in nested tuples."""
        found: dict[Value, str] = {}
        for part in parts:
            if part.op.code == "tuple":
                found |= self._dots_of_parts(part.op.args)
            elif type(known(part)) is tuple:
                found[part] = self.const(_zeros_in(known(part)))
            else:
                found[part] = self._dot_or_zero(part)
        return found

    def _dot_of_extremum(self, op: Op) -> str:
        """Return the tangent of the larger or smaller of two values; the mean for equal ones."""
        (a, b), y = op.args, self.text(op.out)
        a_dot, b_dot = [self.dot(x) if is_active(x) else "0.0" for x in op.args]
        is_a, is_b = f"({y} == {self.text(a)})", f"({y} == {self.text(b)})"
        mean = f"0.5 * ({a_dot} + {b_dot})"
        if not op.out.kind.is_array:
            of_a = f"({mean} if {is_b} else {a_dot})"
            return f"{of_a} if {is_a} else ({b_dot} if {is_b} else 0.0)"
        where = self.constants.name(np.where)
        of_a = f"{where}({is_b}, {mean}, {a_dot})"
        return f"{where}({is_a}, {of_a}, {where}({is_b}, {b_dot}, 0.0))"

    def _dot_of_linear(self, op: Op) -> str | None:
        """Return the tangent of a call that is linear, jointly or in each argument; else None."""
        active = [a for a in dict.fromkeys(op.args) if is_active(a)]
        if any(map(is_active, op.options.values())):
            return None
        if all(is_linear_in(op, j) for j, a in enumerate(op.args) if is_active(a)):
            return self._sum_over(op, active)
        rule = getattr(op.rule, "rule", None)
        if not isinstance(rule, LinearRule):
            return None
        linear = [a for j in rule.argnums for a in op.rule.args[j : j + 1] if isinstance(a, Value)]
        if not set(active) <= set(linear):
            return None
        if not rule.joint:
            return self._sum_over(op, active)
        return self._with(op, {a: self._dot_or_zero(a) for a in linear})

    def _sum_over(self, op: Op, active: list[Value]) -> str:
        """Return the tangent of a multilinear call: the sum of the tangents for each argument."""
        terms = []
        for j, a in enumerate(op.args):
            if a in active:
                replaced = copy.copy(a)  # the same value may be another argument, too
                args = [*op.args[:j], replaced, *op.args[j + 1 :]]
                term = Op(op.code, args, f=op.f, options=op.options, data=op.data)
                terms.append(self._with(term, {replaced: self.dot(a)}))
        return " + ".join(terms)

    def _by_partials(self, op: Op, bound: BoundRule) -> str | None:
        """Return the sum of partial derivatives times tangents, in the shape of the result.

        None if source cannot express one of them.
        """
        out: Any = op.out
        read: set[int] = set()

        def argument(i: int) -> Any:
            return out if i == 0 else bound.args[i - 1]

        def text(i: int) -> str:
            a = argument(i)
            read.add(i)
            return self.text(a) if isinstance(a, Value) else self.const(a)

        terms: list[str] = []
        for j, a in enumerate(bound.args):
            if not (isinstance(a, Value) and is_active(a)):
                continue
            partial = bound.rule.partials[0][j]
            d = slope_of_power(op, bound, j, text, is_at_origin=False)
            try:
                d = d or written_source(partial, text, self.constants)
            except NoSourceError:
                return None
            if d is None:
                raise UnsupportedError("a partial derivative that is not a number")
            if d == "0":
                continue
            read.add(j + 1)
            one = {"1": self.dot(a), "-1": f"(-{self.dot(a)})"}
            terms.append(one.get(d) or f"({d} * {self.dot(a)})")
        if out.kind.is_array:
            arrays = {i for i, a in enumerate(bound.args, 1) if _is_array(a)}
            if not terms or not (0 in read or arrays <= read):
                terms.append(self._zeros_like(out))
        return " + ".join(terms) if terms else "0.0"

    def _dot_of_reduced(self, op: Op) -> str:
        """Return the tangent of a norm, or of an extremum: the mean over the extreme elements."""
        _, axes, keepdims = reduced(op)  # type: ignore[misc] # it is one
        x, y = op.args[0], self.text(op.out)
        total, ndim = self.constants.name(np.sum), x.kind.ndim
        kept = index_of_reduced_axes(axes, keepdims, ndim)
        is_whole = len(axes) == ndim and not keepdims
        along = "" if is_whole else f", axis={axes!r}, keepdims={keepdims!r}"
        if function_of(op.f) is np.linalg.norm:
            return f"{total}({self.text(x)} * {self.dot(x)}{along}) / {y}"
        is_one = f"({self.text(x)} == {y}{kept})"
        where = self.constants.name(np.where)
        chosen = f"{total}({where}({is_one}, {self.dot(x)}, 0.0){along})"
        return f"{chosen} / {total}({where}({is_one}, 1.0, 0.0){along})"

    def _dot_of_matrices(self, op: Op) -> str:
        """Return the tangent of an inverse, determinant or solution."""
        out: Any = op.out
        a, y = op.args[0], self.text(out)
        if op.f is np.linalg.inv:
            return f"-({y} @ {self.dot(a)} @ {y})"
        if op.f is np.linalg.det:
            inverse = f"{self.constants.name(np.linalg.inv)}({self.text(a)})"
            return f"{y} * {self.constants.name(np.sum)}({inverse}.T * {self.dot(a)})"
        b = op.args[1]
        right = [self.dot(b)] if is_active(b) else []
        right += [f"- {self.dot(a)} @ {y}"] if is_active(a) else []
        return f"{self.constants.name(np.linalg.solve)}({self.text(a)}, {' '.join(right)})"


def _zeros_in(x: Any) -> Any:
    return tuple(map(_zeros_in, x)) if type(x) is tuple else 0.0


def _is_array(x: Any) -> bool:
    return x.kind.is_array if isinstance(x, Value) else np.ndim(x) > 0
