"""From a program to the source of one function."""

from __future__ import annotations

import keyword
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compile.forms import Inputs, Names, Outputs
from autodiff.compile.program import Program, Ref, Step, effect, guard, part, set_flat, set_item
from autodiff.errors import DifferentiationError


class Emitter:
    """Writes the source of a program."""

    def __init__(self, program: Program, inputs: Inputs, outputs: Outputs, names: Names) -> None:
        self.program = program
        self.inputs = inputs
        self.outputs = outputs
        self.names = names
        self.lines: list[str] = []

    def source(self, parameters: list[str], name: str) -> str:
        """Return the source."""
        for step in self.program.steps:
            self.step(step)
        result = self.outputs.expression(self.names, self.leaf)
        body = [*self.inputs.checks, *self.lines, f"return {result}"]
        return "\n    ".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"

    def leaf(self, x: Any) -> str:
        if type(x) is Ref:
            return f"v{x.i}"
        if type(x) is np.ndarray:
            return f"{self.names.of(x)}.copy()"
        return self.constant(x)

    def constant(self, x: Any) -> str:
        if type(x) in (int, bool, str, type(None)) or (type(x) is float and x - x == 0.0):
            return repr(x)
        if type(x) is slice:
            return f"slice({x.start!r}, {x.stop!r}, {x.step!r})"
        if x is Ellipsis:
            return "..."
        return self.names.of(x, _hint(x))

    def argument(self, x: Any) -> str:
        kind = type(x)
        if kind is Ref:
            return f"v{x.i}"
        if kind is tuple:
            inner = ", ".join(map(self.argument, x))
            return f"({inner}{',' if len(x) == 1 else ''})"
        if kind is list:
            return f"[{', '.join(map(self.argument, x))}]"
        if kind is dict:
            pairs = [f"{self.constant(k)}: {self.argument(v)}" for k, v in x.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(x, tuple) and hasattr(kind, "_make"):
            inner = ", ".join(map(self.argument, x))
            return f"{self.names.of(kind, kind.__name__)}({inner})"
        return self.constant(x)

    def step(self, step: Step) -> None:
        f = step.f
        if f is guard:
            value, how, expected = step.args
            shown = self.argument(value)
            if how is bool:
                self.lines.append(f"if {'not ' if expected else ''}{shown}: return MISMATCH")
            else:
                name = self.names.of(how, _hint(how))
                self.lines.append(
                    f"if {name}({shown}) != {self.constant(expected)}: return MISMATCH"
                )
            return
        args = list(map(self.argument, step.args))
        args += [f"{k}={self.argument(v)}" for k, v in (step.kwargs or {}).items()]
        if f is effect:
            self.lines.append(f"v{step.out} = {args[0]}({', '.join(args[1:])})")
            return
        if f in _INFIX and len(args) == 2:
            self.lines.append(f"v{step.out} = {args[0]} {_INFIX[f]} {args[1]}")
        elif f is operator.getitem:
            self.lines.append(f"v{step.out} = {args[0]}[{args[1]}]")
        elif f is operator.neg:
            self.lines.append(f"v{step.out} = -{args[0]}")
        else:
            name = self.names.of(getattr(f, "_implementation", f), _hint(f))
            self.lines.append(f"v{step.out} = {name}({', '.join(args)})")


_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.pow: "**", operator.lt: "<", operator.le: "<=", operator.eq: "==",
    operator.ne: "!=", operator.gt: ">", operator.ge: ">=", operator.matmul: "@",
}  # fmt: skip


def _hint(x: Any) -> str:
    name = getattr(x, "__name__", "")
    if name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("v"):
        return name
    return "c"
