"""The generator of Python source: from a program to one function."""

from __future__ import annotations

import keyword
import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.compile_errors import MISMATCH
from autodiff.compiler.kernels.array_kernels import Kernel
from autodiff.compiler.passes.alias_analysis import CHANGES, AliasAnalysis
from autodiff.compiler.passes.scalar_replacement import flat_place, pack
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.python_backend import array_calls, scalar_exprs
from autodiff.compiler.recording.domain_guards import SOURCES
from autodiff.compiler.recording.ir import (
    FLOAT64,
    GivenObject,
    Meta,
    Program,
    Ref,
    Step,
    described,
    effect,
    guard,
    meta_of,
    part,
)
from autodiff.compiler.recording.results import Outputs
from autodiff.compiler.recording.signature_guards import Inputs, Names
from autodiff.functions import facts_of
from autodiff.structured.program_runs import ProgramRun
from chainrules_core.operations.scattering import scatter

_EXACT_FORMS = CHANGES | {operator.getitem, part, scatter, pack}
# Types whose values all have the same description.
_DESCRIBED_BY_TYPE = frozenset(
    {int, float, complex, bool, str, type(None), np.float64, np.int64, np.bool_, ProgramRun}
)


class Emitter:
    """Generates the source of a program.

    Attributes
    ----------
    lines : list of str
        The statements so far.
    late : list of str
        The statements that run after all guards: side effects.
    is_float : bytearray
        Which variables hold a Python float.
    variables : dict
        The names of values that are not called ``v`` and their number.
    lists : dict
        The names of lists with the elements of arrays.
    at : int
        The index of the present step.
    """

    def __init__(
        self,
        program: Program,
        inputs: Inputs,
        outputs: Outputs,
        names: Names,
        fresh_outputs: set[int],
    ) -> None:
        self.program = program
        self.metas = program.metas
        self.inputs = inputs
        self.outputs = outputs
        self.names = names
        self.lines: list[str] = []
        self.late: list[str] = []
        self.generators: list[str] = []
        self.memory = AliasAnalysis(program)
        self.buffers = array_calls.Buffers(self)
        self.is_float = bytearray(len(program.metas))
        self.variables: dict[int, str] = {}
        self.lists: dict[int, str] = {}
        self.at = 0
        self._fresh_outputs = fresh_outputs
        self._returned: set[int] = set()
        self._float_inputs: set[int] = set()  # arrays without axes that were converted to floats
        self._must_be_float = self._find_scalar_operands()
        self._n_reads = self._count_element_reads()

    def source(self, parameters: list[str], name: str) -> str:
        """Return the source."""
        for i in self.program.inputs:
            meta = self.metas[i]
            if meta.type is float:
                self.is_float[i] = 1
            elif self._must_be_float[i] and scalar_exprs.is_number(meta):
                if meta.shape is not None:  # an output is the array itself
                    self.lines.append(f"given{i} = v{i}")
                    self._float_inputs.add(i)
                self.lines.append(f"v{i} = float(v{i})")
                self.is_float[i] = 1
        for at, step in enumerate(self.program.steps):
            self.at = at
            self.step(step)
            self.buffers.free(at)
        pairs = list(zip(self.program.outputs, self.outputs.leaves, strict=True))
        result = self.outputs.expression(self.names, lambda k: self.output(*pairs[k]))
        result_lines = [*self.late, f"return {result}"]
        if self.generators:
            self.names.scope["restored"] = restored
            self.lines[:0] = [f"state_{g} = {g}.bit_generator.state" for g in self.generators]
        before: list[str] = []
        if self.buffers.count:
            before, result_lines = self.buffers.prologue_and_epilogue(self.late, result)
        head = f"def {name}({', '.join(parameters)}):"
        body = [*self.inputs.checks, *before, *self.lines, *result_lines]
        return "\n    ".join([head, *body]) + "\n"

    # -- analysis --------------------------------------------------------------------------------

    def _find_scalar_operands(self) -> bytearray:
        """Mark the values that scalar steps read."""
        found = bytearray(len(self.metas))
        for step in self.program.steps:
            if scalar_exprs.is_scalar_step(step, self.metas):
                for a in step.args:
                    if type(a) is Ref:
                        found[a.i] = 1
        return found

    def _count_element_reads(self) -> Counter:
        """Count how often single elements of each array are read."""
        found: Counter = Counter()
        for step in self.program.steps:
            if step.f is operator.getitem and self.is_element(step):
                found[step.args[0].i] += 1
        return found

    def is_element(self, step: Step) -> bool:
        """Whether an indexing step reads one float of an array."""
        x, index = step.args
        return (
            type(x) is Ref
            and self.metas[x.i].type is np.ndarray
            and self.metas[x.i].dtype == FLOAT64
            and flat_place(index, self.metas[x.i].shape or ()) is not None
        )

    # -- arguments -------------------------------------------------------------------------------

    def meta(self, x: Any) -> Meta:
        """Return the abstract value of an argument."""
        return self.metas[x.i] if type(x) is Ref else meta_of(x)

    def variable(self, i: int) -> str:
        """Return the variable that holds a value."""
        return self.variables.get(i, f"v{i}")

    def output(self, x: Any, recorded: Any) -> str:
        """Return an output as an expression of the recorded type."""
        if type(x) is Ref:
            meta, shown = self.metas[x.i], self.variable(x.i)
            if x.i in self._float_inputs and type(recorded) is Ref and recorded.i == x.i:
                return f"given{x.i}"
            if scalar_exprs.is_number(meta) and type(recorded) is Ref:
                return self.number(x.i, self.metas[recorded.i])
            if meta.type is np.bool_:
                return self.boxed(x.i)
            if meta.shape is not None and (x.i in self._fresh_outputs or x.i in self._returned):
                shown += ".copy()"
            self._returned.add(x.i)
            return shown
        if type(x) is np.ndarray:
            return f"{self.names.of(x)}.copy()"
        if type(recorded) is Ref and isinstance(x, (int, float, np.float64)):
            kind = self.metas[recorded.i].type  # of a folded constant
            x = kind(x) if kind in (float, np.float64) else x
        return self.constant(x)

    def number(self, i: int, recorded: Meta) -> str:
        """Return a float64 as an expression of the recorded type."""
        shown, meta = self.variable(i), self.metas[i]
        if recorded.shape is not None:
            if meta.shape is not None and not self.is_float[i]:
                return shown
            return f"{self.names.of(np.array, 'array')}({shown})"
        if recorded.type is float:
            return shown if self.is_float[i] else f"float({shown})"
        if meta.type is np.float64 and not self.is_float[i]:
            return shown
        return f"{self.names.of(np.float64, 'float64')}({shown})"

    def boxed(self, i: int) -> str:
        """Return a value as an expression of its recorded type, not as a Python float or bool."""
        meta, shown = self.metas[i], self.variable(i)
        if meta.type is np.bool_:  # comparisons of floats give a Python bool
            return f"{self.names.of(np.bool_, 'bool_')}({shown})"
        return self.number(i, meta) if self.is_float[i] else shown

    def constant(self, x: Any) -> str:
        """Return a constant as an expression."""
        if type(x) in (int, bool, str, type(None)) or (type(x) is float and math.isfinite(x)):
            return f"({x!r})" if type(x) in (int, float) and x < 0 else repr(x)
        if type(x) is slice:
            return f"slice({x.start!r}, {x.stop!r}, {x.step!r})"
        if x is Ellipsis:
            return "..."
        return self.names.of(x, hint(x))

    def argument(self, x: Any) -> str:
        """Return an argument of a call as an expression."""
        kind = type(x)
        if kind is Ref:
            return self.boxed(x.i)
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

    def index(self, x: Any) -> str:
        """Return the source of an index, without the brackets."""
        if type(x) is tuple and x:
            parts = [self.argument(p) if type(p) is tuple else self.index(p) for p in x]
            return ", ".join(parts) + ("," if len(x) == 1 else "")  # an inner tuple is an array
        if type(x) is slice:
            text = f"{_or_nothing(x.start)}:{_or_nothing(x.stop)}"
            return text if x.step is None else f"{text}:{x.step}"
        return self.argument(x)

    # -- steps -----------------------------------------------------------------------------------

    def assign(self, out: int, expression: str, is_float: bool = False) -> None:
        """Write ``v = expression``."""
        if self._must_be_float[out] and not is_float and scalar_exprs.is_number(self.metas[out]):
            expression, is_float = f"float({expression})", True
        self.lines.append(f"v{out} = {expression}")
        self.is_float[out] = is_float

    def step(self, step: Step) -> None:
        """Write a step."""
        f = step.f
        if f is guard:
            self.guard(*step.args)
        elif f is effect:
            self.effect(step)
        elif step.out in self.program.exact and not self.is_exact(f):
            self.call(step)
        elif scalar_exprs.is_scalar_step(step, self.metas):
            self.assign(*scalar_exprs.expression(self, step))
        elif f is operator.getitem and self.is_element(step):
            self.element(step)
        elif type(f) is Kernel:
            shown = ", ".join(map(self.argument, step.args))
            self.lines.append(f"v{step.out} = {self.names.of(f, 'kernel')}({shown})")
            if f.has_guards:
                self.lines.append(f"if v{step.out} is None: {self._leave()}")
        elif not array_calls.emit(self, step):
            self.call(step)
        self._convert_to_float(step.out)

    def _convert_to_float(self, out: int) -> None:
        """Convert a value to a Python float, if a scalar step reads it."""
        if out < 0 or not self._must_be_float[out] or self.is_float[out]:
            return
        if scalar_exprs.is_number(self.metas[out]):
            shown = self.variable(out)
            self.variables.pop(out, None)
            self.lines.append(f"v{out} = float({shown})")
            self.is_float[out] = 1

    def is_exact(self, f: Any) -> bool:
        """Whether each special form of a function gives the same bits as the function."""
        return facts_of(f).is_rounded or f in _EXACT_FORMS

    def call(self, step: Step) -> None:
        """Write a plain call."""
        args = list(map(self.argument, step.args))
        args += [f"{k}={self.argument(v)}" for k, v in (step.kwargs or {}).items()]
        plain = getattr(step.f, "_implementation", step.f)
        self.assign(step.out, f"{self.names.of(plain, hint(step.f))}({', '.join(args)})")

    def element(self, step: Step) -> None:
        """Write the read of one element; an array with many such reads becomes a list first."""
        x, index = step.args
        meta = self.metas[x.i]
        place = flat_place(index, meta.shape or ())
        if self.is_float[x.i]:
            self.lines.append(f"v{step.out} = {self.variable(x.i)}")
        elif self._n_reads[x.i] < max(3, meta.size / 8):
            self.lines.append(f"v{step.out} = {self.variable(x.i)}.item({place})")
        else:
            name = self.lists.get(x.i)
            if name is None:
                name = self.lists[x.i] = f"list{x.i}"
                flat = "" if len(meta.shape or ()) == 1 else ".ravel()"
                self.lines.append(f"{name} = {self.variable(x.i)}{flat}.tolist()")
            self.lines.append(f"v{step.out} = {name}[{place}]")
        self.is_float[step.out] = 1

    def guard(self, value: Ref, how: Callable, expected: Any) -> None:
        """Write a guard."""
        shown = self.variable(value.i)
        if how is bool:
            condition = f"not {shown}" if expected else shown
        elif how is operator.index:
            condition = f"{shown} != {expected}"
        elif how in SOURCES:
            condition = f"not {SOURCES[how].format(shown)}"
        elif how is has_nan:
            meta = self.metas[value.i]
            if scalar_exprs.is_number(meta):
                condition = f"{shown} != {shown}"
            elif meta.shape is None:
                condition = f"{self.names.of(has_nan, 'has_nan')}({shown})"
            else:
                vdot = self.names.of(np.vdot, "vdot")
                is_vector = len(meta.shape) == 1
                dot = f"{shown}.dot({shown})" if is_vector else f"{vdot}({shown}, {shown})"
                self.lines.append(f"nan = {dot}")
                condition = "nan != nan"
        elif how is described:
            condition = self._mismatch(self.boxed(value.i), expected)
        else:
            name = self.names.of(how, hint(how))
            condition = f"{name}({self.boxed(value.i)}) != {self.constant(expected)}"
        self.lines.append(f"if {condition}: {self._leave()}")

    def _mismatch(self, shown: str, expected: tuple) -> str:
        """Return the condition that a value differs from its recorded description."""
        kind, *rest = expected
        name = self.names.of(kind, kind.__name__)
        is_other = f"type({shown}) is not {name}"
        if kind in (tuple, list):
            parts = [self._mismatch(f"{shown}[{k}]", part) for k, part in enumerate(rest)]
            return " or ".join([is_other, f"len({shown}) != {len(rest)}", *parts])
        if kind is np.ndarray:
            dtype, shape = rest
            is_other += f" or {shown}.shape != {shape!r}"
            kind = self.constant(dtype)
            return f"{is_other} or ({shown}.dtype is not {kind} and {shown}.dtype != {kind})"
        if kind in _DESCRIBED_BY_TYPE:
            return is_other
        return f"{self.names.of(described, 'described')}({shown}) != {self.constant(expected)}"

    def _leave(self) -> str:
        """Return the statement that ends a run whose guard has failed."""
        if self.generators:  # undo the draws
            before = ", ".join(f"({g}, state_{g})" for g in self.generators)
            return f"return restored({before})"
        return "return MISMATCH"

    def effect(self, step: Step) -> None:
        """Write a side effect: a call after all guards, or a draw from a generator."""
        f, *args = step.args
        shown = [a.name if type(a) is GivenObject else self.argument(a) for a in args]
        shown += [f"{k}={self.argument(v)}" for k, v in (step.kwargs or {}).items()]
        if callable(f):  # after all guards, because it must not run twice
            self.late.append(f"{self.names.of(f, f.__name__)}({', '.join(shown)})")
        else:
            generator = shown.pop(0)
            if generator not in self.generators:
                self.generators.append(generator)
            self.lines.append(f"v{step.out} = {generator}.{f}({', '.join(shown)})")


def restored(*generators: tuple[Any, dict]) -> Any:
    """Restore random generators to the given states; return `MISMATCH`."""
    for generator, state in generators:
        generator.bit_generator.state = state
    return MISMATCH


def _or_nothing(x: Any) -> str:
    return "" if x is None else repr(x)


def hint(x: Any) -> str:
    """Return a name hint for a constant."""
    name = getattr(x, "__name__", "")
    return name if name.isidentifier() and not keyword.iskeyword(name) else "c"
