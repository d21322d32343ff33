"""Rule resolution: finds the rule of each call, and binds the arguments to its parameters."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff.functions import is_builtin_rule
from autodiff.structured.callables.recursive_calls import RuleLike
from autodiff.structured.form.function_ir import Op, Value, known
from autodiff.structured.form.kinds import UnsupportedError, samples
from autodiff.structured.form.known_functions import ruled_entry
from autodiff.structured.runtime_library import ChangedError
from chainrules_core import rrule
from chainrules_core.define.scalar import ScalarRule


def resolve_rules(blocks: Any) -> None:
    """Find the rule of each call whose result may have a derivative."""
    for block in blocks:
        for op in block.ops:
            if op.code == "call" and op.out.kind.has_floats:
                op.rule = _rule_of(op)


@dataclass(eq=False, slots=True)
class BoundRule:
    """A rule with the arguments of a call bound to its parameters.

    Attributes
    ----------
    rule : Rule
        The rule.
    args : list
        The arguments: values of the program, or constants.
    options : dict
        The options by name.
    source : BoundRule, optional
        If `rule` is an expression of another rule, that rule.
    """

    rule: Any
    args: list
    options: dict[str, Any]
    source: BoundRule | None = None


def is_elementwise(op: Op) -> bool:
    """Whether a call has elementwise partial derivatives."""
    return _has_partials(getattr(op.rule, "rule", None))


def _has_partials(rule: Any) -> bool:
    return isinstance(rule, ScalarRule) and rule.setup is None and not rule.several


def twice_differentiable(op: Op) -> BoundRule:
    """Return the rule whose partial derivatives can be differentiated again.

    An expression has the values of the rule, but not always its second derivatives:
    x / (y + (y == 0)) is the sign of x, but has the derivative 1 at 0.
    """
    source = op.rule.source
    return source if source is not None and _has_partials(source.rule) else op.rule


def passes_cotangent_on(bound: BoundRule, j: int) -> bool:
    """Whether the cotangent of an argument is that of the result, or its negative."""
    partial = bound.rule.partials[0][j]
    return partial.function is None and type(partial.constant) is int and abs(partial.constant) == 1


def _rule_of(op: Op) -> Any:
    """Return the bound rule of a call; None if it has none.

    A rule without derivatives is returned unbound.
    """
    if isinstance(op.f, RuleLike):
        return BoundRule(op.f, op.args, {})
    values = op.operands
    if not any(v.kind.has_floats for v in values):
        return None
    entry = ruled_entry(op.f)
    if entry is None:
        return None
    # A number may be of several classes, and each class may have its own rule.
    first, last = (_resolved(entry, op, is_last) for is_last in (False, True))
    if first is None or last is None:
        return None
    (rule, bound), (other, other_bound) = first, last
    expression = _expression(rule, op)
    if expression is not None and expression is _expression(other, op):
        return BoundRule(expression, op.args, {}, bound)
    if _is_square(op) and is_builtin_rule(rule) and is_builtin_rule(other):
        square = Op("call", op.args[:1], f=np.square)
        return _resolved(rrule.entry(np.square), square, False)[1]  # type: ignore[index]
    if other is rule:
        return rule if rule.kind == "non_differentiable" else bound
    are_alike = (bound.args, bound.options) == (other_bound.args, other_bound.options)
    if not are_alike or any(r.kind == "non_differentiable" for r in (rule, other)):
        raise UnsupportedError(f"{op.f} with one rule or another")
    return BoundRule(_RuleOfClasses(entry, op), bound.args, bound.options)


def _expression(rule: Any, op: Op) -> ScalarRule | None:
    """Return the expressions that a rule gives for its partial derivatives; None without them."""
    if op.options or not all(a.kind.is_scalar or a.kind.is_array for a in op.args):
        return None
    of = "complex" if any(a.kind.is_complex for a in op.args) else "real"
    n = len(op.args)
    found = rule.expressions.get((of, n))
    if any(a.kind.is_array or (a.kind.is_complex and _may_be_real(a)) for a in op.args):
        return found
    return rule.expressions.get((f"{of} number", n), found)


def _may_be_real(x: Value) -> bool:
    """Whether a number of a complex kind may be a real one."""
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
    """Dispatches each call to the rule of a function for the classes of its arguments."""

    def __init__(self, entry: Any, op: Op) -> None:
        self.entry, self.name = entry, f"{op.f}"

    def record(self, args: tuple, options: dict[str, Any], active: tuple[int, ...]) -> Any:
        """Return the value and the pullback, by the rule for these arguments."""
        resolved = self.entry.resolve(args, options, None)
        if resolved is None:
            raise ChangedError(f"{self.name} without a rule")
        rule, bound, named = resolved
        return rule.record(tuple(bound), named, active)


def _resolved(entry: Any, op: Op, is_last: bool) -> tuple[Any, BoundRule] | None:
    """Resolve the rule with samples, whose identity shows where each argument goes."""
    given = op.operands
    sample_of = {v: _sample(v, is_last) for v in given}
    named = {name: sample_of[v] for name, v in op.options.items()}
    resolved = entry.resolve(tuple([sample_of[v] for v in op.args]), named, None)
    if resolved is None:
        return None
    rule, bound, options = resolved
    values = {id(sample): v for v, sample in sample_of.items()}
    args = [values.get(id(a), a) for a in bound]
    by_name = {name: values.get(id(a), a) for name, a in options.items()}
    reached = [v for v in (*args, *by_name.values()) if isinstance(v, Value)]
    if any(reached.count(v) != given.count(v) for v in sample_of if not v.kind.is_known):
        raise UnsupportedError(f"{op.f}, whose rule is given something else")
    return rule, BoundRule(rule, args, by_name)


def _sample(v: Value, is_last: bool) -> Any:
    """Return a sample of the first or last class that `v` may have.

    Each sample is an object of its own, except for known values, which may be confused without
    harm.
    """
    if v.kind.is_known:
        return v.kind.value
    made = samples(v.kind)[-1 if is_last else 0]
    kind = type(made)
    if kind is bool or kind is np.bool_:
        raise UnsupportedError("a truth value that is not known as an argument")
    if kind is int:
        return int("1000000007")
    if kind is float:
        return float("0.515625")
    return made
