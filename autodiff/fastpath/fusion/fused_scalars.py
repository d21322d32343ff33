"""Code generation for expressions of numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.fastpath.codegen.node_code import quietly
from autodiff.fastpath.fusion.expression_generator import CONSTANTS, Declined, ExpressionGenerator
from autodiff.fastpath.fusion.expression_ir import ExpressionStep
from autodiff.fastpath.scalar_methods import RECORD_FLOAT, derivative, scalar_rule
from chainrules_core.define import ScalarRule

_FLOATS = (
    """\
    except ARITHMETIC:
        return {again}
    y = {y}
    kind = type(y)
    if (kind is not float and kind is not float64) or {irregular}:
        return {again}
    node = ({node})
"""
    + RECORD_FLOAT
)
_ONE = "1.0"


def _of_python(x: Any) -> Any:
    """Return a NumPy scalar as a Python number, whose products never warn."""
    return x.item() if isinstance(x, (np.float64, np.complex128)) else x


class FloatGenerator(ExpressionGenerator):
    """Generates code for numbers; the node holds the derivatives of the whole expression.

    If a derivative is zero, infinite or NaN, the operations are recorded one by one, because strong
    zeros depend on each of them.
    """

    def way(self) -> Callable:
        """Generate the function."""
        self.guard_tapes()
        self.evaluate()
        self.lines.append("try:")
        rules: dict[int, ScalarRule] = {}
        for k, step in enumerate(self.steps):
            self.lines.append(f"    t{k} = {self.computed(step)}")
            if type(self.samples[f"t{k}"]) not in CONSTANTS:
                raise Declined
            if step.f is operator.pow:
                self.lines += [f"    if type(t{k}) is complex:", f"        return {self.again}"]
            if any(map(self.is_traced, step.operands)):
                rules[k] = self.rule_of(step)
        total: dict[str, str | None] = {f"t{len(self.steps) - 1}": None}
        for k in reversed(rules):
            self.derive(k, rules[k], total)
        slopes = [total[name] for name in self.traced]
        found = [p for p in slopes if p != _ONE]
        # p * 0.0 and not p - p: a bool, as of a maximum, cannot be subtracted.
        irregular = " or ".join(f"not {p} or {p} * 0.0 != 0.0" for p in found) or "False"
        pairs = zip(self.traced.values(), slopes, strict=True)
        return self.function(
            _FLOATS.format(
                again=self.again,
                y=f"t{len(self.steps) - 1}",
                irregular=irregular,
                node=", ".join(f"{tracer}._index, {p}" for tracer, p in pairs),
            )
        )

    def rule_of(self, step: ExpressionStep) -> ScalarRule:
        """Return the rule of an operation on floats."""
        f = step.f
        rule = scalar_rule(f, len(step.operands))
        if rule is None:
            raise Declined
        n = len(step.operands)
        if isinstance(f, np.ufunc) and not any(k.startswith("d" * n + "->d") for k in f.types):
            raise Declined
        return rule

    def derive(self, k: int, rule: ScalarRule, total: dict[str, str | None]) -> None:
        """Write the derivatives by the operands of a step, given that by its result."""
        step = self.steps[k]
        names = (f"t{k}", *map(self.name_of, step.operands))
        by_y = total[f"t{k}"]
        for p, operand in enumerate(step.operands):
            if not self.is_traced(operand):
                continue
            partial = rule.partials[0][p]
            function = self.constant(quietly(partial), "by")
            slope = derivative(partial, function, names)
            if partial.function is None and partial.constant == 1:
                slope = by_y or _ONE
            elif partial.function is not None:
                slope = f"{self.constant(_of_python, 'own')}({slope})"
            if by_y is not None and slope is not by_y:
                slope = f"{by_y} * {slope}"
            name = self.name_of(operand)
            if operand.kind == "step" and slope == _ONE:
                total[name] = None
            elif operand.kind == "step":
                self.lines.append(f"    g{operand.value} = {slope}")
                total[name] = f"g{operand.value}"
            elif name in total:
                self.lines.append(f"    p_{name} = {total[name]} + {slope}")
                total[name] = f"p_{name}"
            elif slope == _ONE:
                total[name] = _ONE
            else:
                self.lines.append(f"    p_{name} = {slope}")
                total[name] = f"p_{name}"
