"""The rules of calls, and how the arguments are bound to their parameters."""

from __future__ import annotations

from typing import Any

from autodiff.structured.ir import Op, Value
from autodiff.structured.kinds import Kind, samples
from autodiff.structured.known_functions import function_of
from chainrules_core import rrule
from chainrules_core.registry import key_of


def resolve_rules(blocks: Any) -> None:
    """Find the rule for each call whose value may depend on the variables."""
    for block in blocks:
        for op in block.ops:
            if op.code == "call" and op.out.kind.is_inexact:
                op.rule = _rule_of(op)


class Bound:
    """A rule, and how the arguments of a call are bound to its parameters."""

    def __init__(self, rule: Any, args: list, options: dict[str, Any]) -> None:
        self.rule = rule
        self.args = args  # values of the program, or constants
        self.options = options


def _rule_of(op: Op) -> Any:
    """Return the rule for a call, bound; None where there is none."""
    if not any(_may_vary(v.kind) for v in (*op.args, *op.options.values())):
        return None
    key, own = key_of(function_of(op.f))
    entry = rrule.entry(key)
    if entry is None:
        return None
    held = {v: _sample(v) for v in (*op.args, *op.options.values())}
    drawn = {id(s): v for v, s in held.items()}
    given = [held[v] for v in op.args]
    named = {name: held[v] for name, v in op.options.items()}
    resolved = entry.resolve((*own, *given), named, None)
    if resolved is None:
        return None
    rule, bound, options = resolved
    if rule.kind == "non_differentiable":
        return rule
    return Bound(
        rule,
        [drawn.get(id(a), a) for a in bound],
        {name: drawn.get(id(a), a) for name, a in options.items()},
    )


def _may_vary(kind: Kind) -> bool:
    return kind.is_inexact or any(map(_may_vary, kind.parts))


def _sample(v: Value) -> Any:
    """Return a sample that is an object of its own."""
    made = samples(v.kind)[0]
    if type(made) is float:
        return float(repr(made) + "1") if not v.kind.is_known else made
    return made
