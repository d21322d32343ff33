"""Programs of floats as machine code, by numba where it is installed."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.numba_backend.scalar_loops import NotScalarError, Scalars, Writer
from autodiff.compiler.python_backend.scalar_exprs import is_number, is_truth
from autodiff.compiler.recording.ir import Program, Ref
from autodiff.compiler.recording.signature_guards import Inputs, Outputs

FEWEST = 60
"""From how many operations on machine code is worth its compilation."""
_MOST_LINES = 1500


def is_installed() -> bool:
    """Whether there is numba."""
    return importlib.util.find_spec("numba") is not None


class Kernel:
    """A program of floats with loops, to be compiled by numba.

    Attributes
    ----------
    source : str
        Its source.
    operations : int
        How many operations the program has, loops counted out.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.scalars = Scalars(program)
        self.operations = len(self.scalars.ops)
        self.writer = Writer(self.scalars)
        self.writer.failed, self.writer.undefined = "0", "2"
        self.source = self._written()

    def _written(self) -> str:
        writer, scalars = self.writer, self.scalars
        body = writer.body()
        finals = []
        for number, _, pairs in scalars.packs:
            body.extend(self._pack(number, pairs))
        done: list[int] = []
        for x in self.program.outputs:
            if (
                type(x) is Ref
                and x.i not in done
                and not any(x.i == i for i, _, _ in scalars.packs)
            ):
                done.append(x.i)
                finals.append(writer.shown(scalars.operand(x)))
        self.finals = done
        body += [f"numbers[{k}] = {text}" for k, text in enumerate(finals)]
        for number in scalars.nan_of_packs:
            body += [
                f"for i in range(len(p{number})):",
                f"    if p{number}[i] != p{number}[i]: return 0",
            ]
        self.arrays = [number for number, _, _ in scalars.packs]
        given = ", ".join(
            [f"x{i}" for i in self.program.inputs]
            + [f"p{number}" for number in self.arrays]
            + ["numbers"]
        )
        return "\n    ".join([f"def kernel({given}):", *body, "return 1"]) + "\n"

    def _pack(self, number: int, pairs: list) -> list[str]:
        """Fill an array: in a loop where the places and the values move regularly."""
        writer = self.writer
        lines: list[str] = []
        moving = [
            (place, writer.stored[v])
            for place, (kind, v) in pairs
            if kind == "v" and writer.loop_of(v) is not None and v not in writer._outside
        ]
        done = set()
        if len(moving) > 16:
            places = np.array([p for p, _ in moving])
            stores = np.array([s for _, s in moving])
            first, second = writer._table(places), writer._table(stores)
            lines += [
                f"for i in range({len(moving)}):",
                f"    p{number}[{first}[i]] = store[{second}[i]]",
            ]
            done = set(places.tolist())
        lines += [
            f"p{number}[{place}] = {writer.shown(operand)}"
            for place, operand in pairs
            if place not in done
        ]
        return lines

    def compiled(self) -> Callable:
        """Return the machine code, to be called as the source is."""
        import numba

        scope: dict[str, Any] = {"math": math, "np": np, **self.writer.tables}
        exec(compile(self.source, "<kernel>", "exec"), scope)
        return numba.njit(error_model="python")(scope["kernel"])

    def wrapper(self, inputs: Inputs, outputs: Outputs, parameters: list[str], name: str) -> str:
        """Return the source of what checks the arguments, calls the kernel and hands results on."""
        names, metas = inputs.names, self.program.metas
        names.scope["kernel"] = self.compiled()
        empty = names.of(np.empty, "empty")
        zeros = names.of(np.zeros, "zeros")
        lines = [f"p{i} = {zeros}({metas[i].shape!r})" for i in self.arrays]
        lines.append(f"numbers = {empty}({len(self.finals)})")
        flat = []
        for i in self.program.inputs:
            shape = metas[i].shape
            if shape == ():
                flat.append(f"float(v{i})")
            else:
                flat.append(f"v{i}" if shape is None or len(shape) == 1 else f"v{i}.reshape(-1)")
        flat += [
            f"p{i}" if len(metas[i].shape or ()) == 1 else f"p{i}.reshape(-1)" for i in self.arrays
        ]
        lines += [
            f"done = kernel({', '.join([*flat, 'numbers'])})",
            "if done != 1:",
            "    if done == 0: return MISMATCH",
            "    raise ValueError('a function is not defined here')  # it is run as it is",
        ]
        if self.finals:
            shown = ", ".join(f"n{i}" for i in self.finals)
            lines.append(f"{shown}, = numbers.tolist()")
        leaves = iter(self.program.outputs)
        seen: set[int] = set()

        def leaf(recorded: Any) -> str:
            x = next(leaves)
            if type(x) is not Ref:
                copied = type(x) is np.ndarray
                return f"{names.of(x)}.copy()" if copied else names.of(x, "c")
            if x.i in self.arrays:
                again = x.i in seen
                seen.add(x.i)
                return f"p{x.i}.copy()" if again else f"p{x.i}"
            meta = metas[recorded.i] if type(recorded) is Ref else metas[x.i]
            if meta.type is float:
                return f"n{x.i}"
            if is_truth(meta):
                return f"{names.of(meta.type, meta.type.__name__)}(n{x.i})"
            if meta.shape is not None:
                return f"{names.of(np.array, 'array')}(n{x.i})"
            return f"{names.of(np.float64, 'float64')}(n{x.i})"

        body = [*inputs.checks, *lines, f"return {outputs.expression(names, leaf)}"]
        return "\n    ".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"


def kernel_of(program: Program, forced: bool) -> Kernel | None:
    """Return the kernel of a program, if it is one of floats and long enough."""
    for i in program.inputs:
        meta = program.metas[i]
        if not is_number(meta) and (meta.dtype is None or meta.dtype != np.float64):
            return None
    try:
        kernel = Kernel(program)
    except NotScalarError:
        return None
    if not forced and (kernel.operations < FEWEST or kernel.source.count("\n") > _MOST_LINES):
        return None
    return kernel
