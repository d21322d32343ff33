"""The rules of calls, and how the arguments are bound to their parameters."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Op, Value, known
from autodiff.structured.form.kinds import UnsupportedError, samples
from autodiff.structured.form.known_functions import is_own_rule, ruled_entry
from autodiff.structured.itself import OwnRule
from autodiff.structured.runtime_calls import ChangedError
from chainrules_core import rrule
from chainrules_core.define.scalar import ScalarRule


def resolve_rules(blocks: Any) -> None:
    """Find the rule for each call whose value may depend on the variables."""
    for block in blocks:
        for op in block.ops:
            if op.code == "call" and op.out.kind.has_floats:
                op.rule = _rule_of(op)


class Bound:
    """A rule, and how the arguments of a call are bound to its parameters.

    Where the rule is an expression, `source` is the rule beside which it stands.
    """

    def __init__(
        self, rule: Any, args: list, options: dict[str, Any], source: Bound | None = None
    ) -> None:  # fmt: skip
        self.rule = rule
        self.args = args  # values of the program, or constants
        self.options = options
        self.source = source


def is_elementwise(op: Op) -> bool:
    """Whether the sweep multiplies by partial derivatives, element by element."""
    return _has_partials(getattr(op.rule, "rule", None))


def _has_partials(rule: Any) -> bool:
    return isinstance(rule, ScalarRule) and rule.setup is None and not rule.several


def differentiated_again(op: Op) -> Bound:
    """Return the rule whose partial derivatives have derivatives themselves.

    An expression says what the rule says, but its derivatives may be others: x / (y + (y == 0)) is
    the sign of x, and has the slope 1 at 0.
    """
    source = op.rule.source
    return source if source is not None and _has_partials(source.rule) else op.rule


def hands_on(bound: Bound, j: int) -> bool:
    """Whether an argument gets the cotangent as it is, or its negative."""
    partial = bound.rule.partials[0][j]
    return partial.function is None and type(partial.constant) is int and abs(partial.constant) == 1


def _rule_of(op: Op) -> Any:
    """Return the rule for a call, bound; None where there is none."""
    if isinstance(op.f, OwnRule):
        return Bound(op.f, op.args, {})
    values = (*op.args, *op.options.values())
    if not any(v.kind.has_floats for v in values):
        return None
    entry = ruled_entry(op.f)
    if entry is None:
        return None
    # A number may be of several classes, which can have rules of their own.
    found = [_resolved(entry, op, last) for last in (False, True)]
    if found[0] is None or found[1] is None:
        return None
    rule, bound = found[0]
    other, otherwise = found[1]
    expression = _expression(rule, op)
    if expression is not None and expression is _expression(other, op):
        return Bound(expression, op.args, {}, bound)
    if _is_square(op) and is_own_rule(rule) and is_own_rule(other):
        square = Op("call", op.args[:1], f=np.square)
        return _resolved(rrule.entry(np.square), square, False)[1]  # type: ignore[index]
    if other is rule:
        return rule if rule.kind == "non_differentiable" else bound
    are_alike = (bound.args, bound.options) == (otherwise.args, otherwise.options)
    if not are_alike or any(r.kind == "non_differentiable" for r in (rule, other)):
        raise UnsupportedError(f"{op.f} with one rule or another")
    return Bound(_RuleOfClasses(entry, op), bound.args, bound.options)


def _expression(rule: Any, op: Op) -> ScalarRule | None:
    """Return the partial derivatives that the rule of a call has as expressions, if it has."""
    if op.options or not all(a.kind.is_scalar or a.kind.is_array for a in op.args):
        return None
    of = "complex" if any(a.kind.is_complex for a in op.args) else "real"
    n = len(op.args)
    found = rule.expressions.get((of, n))
    if any(a.kind.is_array or (a.kind.is_complex and _may_be_real(a)) for a in op.args):
        return found
    return rule.expressions.get((f"{of} number", n), found)


def _may_be_real(x: Value) -> bool:
    """Whether a number that counts as complex may be a real one."""
    return not x.kind.classes <= {complex, np.complex128, np.complex64}


def _is_square(op: Op) -> bool:
    """Whether a call multiplies a value by itself."""
    if op.options or len(op.args) != 2:
        return False
    x, other = op.args
    if op.f in (operator.mul, np.multiply):
        return x is other and not x.kind.is_integral
    return op.f in (operator.pow, np.power) and known(other) in (2, 2.0)


class _RuleOfClasses:
    """The rules of a function for several classes of numbers: each call takes its own."""

    def __init__(self, entry: Any, op: Op) -> None:
        self.entry, self.name = entry, f"{op.f}"

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> Any:
        """Return the value and the pullback by the rule for these arguments."""
        resolved = self.entry.resolve(args, options, None)
        if resolved is None:
            raise ChangedError(f"{self.name} without a rule")
        rule, bound, named = resolved
        return rule.record(tuple(bound), named, wanted)


def _resolved(entry: Any, op: Op, last: bool) -> tuple[Any, Bound] | None:
    """Resolve the rule by samples, which show where each argument goes."""
    held = {v: _sample(v, last) for v in (*op.args, *op.options.values())}
    named = {name: held[v] for name, v in op.options.items()}
    resolved = entry.resolve(tuple([held[v] for v in op.args]), named, None)
    if resolved is None:
        return None
    rule, bound, options = resolved
    values = {id(s): v for v, s in held.items()}
    args = [values.get(id(a), a) for a in bound]
    by_name = {name: values.get(id(a), a) for name, a in options.items()}
    reached = [v for v in (*args, *by_name.values()) if isinstance(v, Value)]
    given = [*op.args, *op.options.values()]
    if any(reached.count(v) != given.count(v) for v in held if not v.kind.is_known):
        raise UnsupportedError(f"{op.f}, whose rule is given something else")
    return rule, Bound(rule, args, by_name)


def _sample(v: Value, last: bool) -> Any:
    """Return a sample that is an object of its own, of the first or last class that `v` may have.

    Where the value is known it is that: then it does not matter which argument it is taken for.
    """
    if v.kind.is_known:
        return v.kind.value
    made = samples(v.kind)[-1 if last else 0]
    kind = type(made)
    if kind is bool or kind is np.bool_:
        raise UnsupportedError("a truth value that is not known as an argument")
    if kind is int:
        return int("1000000007")
    if kind is float:
        return float("0.515625")
    return made
