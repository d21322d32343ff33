"""The base class of code generators for expressions of elementwise operations."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.fastpath import elementwise
from autodiff.fastpath.codegen.node_code import SCOPE
from autodiff.fastpath.fusion.expression_ir import ExpressionStep, Operand, Steps
from autodiff.functions import OPERATORS
from autodiff.trace.tape import FLOAT64
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core.interpreter.noticed import mark, restore
from chainrules_core.operations.broadcasting import spread_to

_ndarray = np.ndarray
CONSTANTS = frozenset({float, int, np.float64})
"""The types of plain numbers."""
_OWNERS = frozenset({Tracer, _ndarray, list, tuple})
_INDICES = frozenset({int, slice, tuple})


def _quietly(generic: Callable, *leaves: Any) -> Any:
    """Evaluate an expression again, without the warnings."""
    with np.errstate(all="ignore"):
        return generic(*leaves)


class Declined(Exception):  # noqa: N818 - it is no error
    """No code is generated for this expression."""


class ExpressionGenerator:
    """Generates code for an expression with leaves of given types.

    Parameters
    ----------
    steps : sequence of Step
        The operations.
    leaves : tuple
        The leaves in one call; the code is for leaves of the same types.
    has_generic : bool
        Whether the code takes a function that evaluates the expression operation by operation.

    Attributes
    ----------
    otherwise, again : str
        The fallback if a guard fails, before and after the code has run operations.
    elsewhere : str
        The fallback for values of other trace levels.
    inputs : dict
        Operand → the name of its plain value.
    samples : dict
        The name of a value → a sample of it.
    traced : dict
        The name of a traced value → the name of its tracer.
    """

    def __init__(self, steps: Steps, leaves: tuple, has_generic: bool = True) -> None:
        self.steps = steps
        self.leaves = leaves
        self.names = [f"a{i}" for i in range(len(leaves))]
        given = ", ".join(self.names)
        self.parameters = f"generic, {given}" if has_generic else given
        self.otherwise = f"generic({given})" if has_generic else f"otherwise({given})"
        self.again = f"quietly({self.parameters})"
        self.elsewhere = f"on_levels({self.parameters})"
        self.inputs: dict[Operand, str] = {}
        self.samples: dict[str, Any] = {}
        self.traced: dict[str, str] = {}
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            **SCOPE,
            "DTYPE": FLOAT64,
            "ModuleType": types.ModuleType,
            "on_levels": operator.call,
            "quietly": _quietly,
            "spread_to": spread_to,
            "zeros": np.zeros,
        }
        self.read_inputs()

    def constant(self, value: Any, name: str) -> str:
        """Add a value to the scope of the code; return its name there."""
        name = f"{name}_{len(self.scope)}"
        self.scope[name] = value
        return name

    def unless(self, condition: str, otherwise: str | None = None) -> None:
        """Write a guard: return the fallback if the condition fails."""
        self.lines += [f"if not ({condition}):", f"    return {otherwise or self.otherwise}"]

    def read_inputs(self) -> None:
        """Write guards for the functions, and read the leaves and items."""
        functions: dict[tuple, Callable] = {}
        for step in self.steps:
            if step.leaf is not None:
                functions[step.leaf, step.attribute] = step.f
            for operand in step.operands:
                if operand.kind in ("leaf", "item") and operand not in self.inputs:
                    self.inputs[operand] = f"x{len(self.inputs)}"
        for (leaf, attribute), f in functions.items():
            given, name = self.leaves[leaf], self.names[leaf]
            expected = self.constant(f, "f")
            if attribute is None:
                if given is not f:
                    raise Declined
                self.unless(f"{name} is {expected}")
            else:
                if type(given) is not types.ModuleType or getattr(given, attribute, None) is not f:
                    raise Declined
                self.unless(f"type({name}) is ModuleType and {name}.{attribute} is {expected}")
        for name, leaf in zip(self.names, self.leaves, strict=True):
            if type(leaf) in (
                Tracer,
                FloatTracer,
            ):  # before items are read and recorded
                self.guard(name, leaf)
        for operand, name in self.inputs.items():
            self.read(operand, name)

    def guard(self, name: str, leaf: Any) -> None:
        """Write a guard: a traced leaf is on a tape that records, and its value is plain."""
        kind = self.constant(type(leaf._value), "kind")
        self.unless(f"{name}._tape.records and type({name}._value) is {kind}", self.elsewhere)

    def read(self, operand: Operand, name: str) -> None:
        """Write the code that reads one value."""
        if operand.kind == "leaf":
            tracer, sample = self.names[operand.value], self.leaves[operand.value]
        else:
            owner, index = operand.value
            if type(self.leaves[owner]) not in _OWNERS or type(self.leaves[index]) not in _INDICES:
                raise Declined
            tracer, sample = f"v{name}", self.leaves[owner][self.leaves[index]]
            self.lines.append(f"{tracer} = {self.names[owner]}[{self.names[index]}]")
            self.unless(f"type({tracer}) is {self.constant(type(sample), 'kind')}")
        if type(sample) in (Tracer, FloatTracer):
            self.traced[name] = tracer
            sample = sample._value
        elif type(sample) not in CONSTANTS and type(sample) is not _ndarray:
            raise Declined
        self.lines.append(
            f"{name} = {tracer}._value" if name in self.traced else f"{name} = {tracer}"
        )
        if name in self.traced and operand.kind == "item":
            self.unless(f"type({name}) is {self.constant(type(sample), 'kind')}")
        self.samples[name] = sample

    def guard_tapes(self) -> None:
        """Write a guard: all traced values are on one tape that records."""
        first, *others = self.traced.values()
        self.lines.append(f"tape = {first}._tape")
        self.unless(" and ".join(["tape.records", *(f"{t}._tape is tape" for t in others)]))

    def name_of(self, operand: Operand) -> str:
        """Return the name of an operand in the code."""
        if operand.kind == "number":
            return f"({operand.value!r})"
        return f"t{operand.value}" if operand.kind == "step" else self.inputs[operand]

    def computed(self, step: ExpressionStep) -> str:
        """Return the source of an operation."""
        operands = [self.name_of(o) for o in step.operands]
        symbol = OPERATORS.get(step.f)
        if symbol is not None:
            return f" {symbol} ".join(operands)
        if step.f is operator.neg:
            return f"-{operands[0]}"
        return f"{self.constant(step.f, 'f')}({', '.join(operands)})"

    def evaluate(self) -> None:
        """Evaluate the operations on the samples."""
        for k, step in enumerate(self.steps):
            before = mark()
            with np.errstate(all="ignore"):
                try:
                    made = step.f(*[self.sample(o) for o in step.operands])
                except Exception as error:
                    restore(before)
                    raise Declined from error
            self.samples[f"t{k}"] = made

    def sample(self, operand: Operand) -> Any:
        """Return the sample of an operand."""
        return operand.value if operand.kind == "number" else self.samples[self.name_of(operand)]

    def is_traced(self, operand: Operand) -> bool:
        """Whether an operand depends on a traced value."""
        if operand.kind == "step":
            return any(map(self.is_traced, self.steps[operand.value].operands))
        return operand.kind != "number" and self.inputs[operand] in self.traced

    def function(self, body: str, name: str = "way") -> Callable:
        """Generate the function."""
        lines = "".join(f"    {line}\n" for line in self.lines)
        source = f"def {name}({self.parameters}):\n{lines}{body}"
        return dispatch_cache.define(name, source, self.scope)

    def plan_of(self, step: ExpressionStep) -> elementwise.ElementwisePlan:
        """Return the plan of an operation."""
        plan = elementwise.plans[(step.f, *[type(self.sample(o)) for o in step.operands])]
        if plan is None:
            raise Declined
        wanted = [p for p, o in enumerate(step.operands) if self.is_traced(o)]
        for partial in [plan.partials[p] for p in wanted]:
            constant = partial.constant
            if partial.function is None and (type(constant) not in (int, float) or constant == 0):
                raise Declined
        return plan
