"""Machine code for sections of a program on floats and arrays, if llvmlite is installed.

A NumPy call takes at least half a microsecond, however small the arrays are. Steps that can be
lowered to loop nests are grouped into kernels if there are enough of them, even if independent
steps are between them. The others (factorizations, large products) remain NumPy calls.
"""

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.linalg.linalg_ops import is_part_of_pair
from autodiff.compiler.kernels.loop_codegen import LoopWriter
from autodiff.compiler.kernels.loop_ir import NotLowerableError, StridedView, constant
from autodiff.compiler.kernels.lowering_table import handles, is_real, is_view
from autodiff.compiler.kernels.step_lowering import Lowerer
from autodiff.compiler.passes.counts_as_floats import counts_to_floats
from autodiff.compiler.passes.sums_of_squares import with_sums_of_squares
from autodiff.compiler.recording.ir import (
    FLOAT32,
    FLOAT64,
    TUPLE,
    Meta,
    Program,
    Ref,
    Step,
    effect,
    part,
    refs_of,
)
from autodiff.structured.native.llvm.array_parameters import ArrayParameter
from chainrules_core.interpreter.places import MADE_HERE

FEWEST = 60
"""Fewest steps of a kernel: compiling a smaller one takes longer than it saves."""
_FEWEST_IF_FORCED = 4
_MOST_NESTS, _MOST_LINES = 500, 5000
_LONG = 4096  # elements of a result from which a kernel releases the interpreter lock
_MANY_LINES, _FEW_PER_LINE = 300, 7  # brief kernels: many lines, few elements for each


def is_installed() -> bool:
    """Whether llvmlite is installed."""
    return importlib.util.find_spec("llvmlite") is not None


def with_kernels(program: Program, forced: bool) -> Program | None:
    """Replace the sections of a program by kernels; return None if there are none.

    Parameters
    ----------
    program : Program
        The program.
    forced : bool
        Whether a kernel may also have few steps, or many lines.
    """
    program = with_sums_of_squares(counts_to_floats(program))
    steps = program.steps
    fewest = _FEWEST_IF_FORCED if forced else FEWEST
    metas = program.metas
    if len(steps) < fewest or any(s.f is effect for s in steps):
        return None
    origin = {s.out: s for s in steps if s.out >= 0}
    levels, is_mine = _levels(program)
    failed: set[float] = set()
    made: dict[tuple, list[Step]] = {}  # the kernels of the levels that have not changed
    while True:
        size: dict[float, int] = {}
        for level, mine in zip(levels, is_mine, strict=True):
            if mine and level not in failed:
                size[level] = size.get(level, 0) + 1
        chosen = {level for level, n in size.items() if n >= fewest}
        if not chosen:
            return None
        groups = [n if m and n in chosen else None for n, m in zip(levels, is_mine, strict=True)]
        try:
            new = _with_groups(program, origin, levels, groups, forced, made)
        except _GroupError as error:
            parts = min(error.parts, size[error.level] // fewest)
            if parts > 1:
                _split(program, levels, groups, error.level, parts)
            else:
                failed.add(error.level)
        else:
            return Program(new, metas, program.inputs, program.outputs)


class _TooLargeError(NotLowerableError):
    """A kernel would have so many loop nests that compiling it takes too long."""

    def __init__(self, nests: int) -> None:
        self.parts = -(-nests * 5 // (4 * _MOST_NESTS))  # not all have the same number of nests
        super().__init__(nests)


class _GroupError(Exception):
    """The steps of a level cannot become one kernel; several, perhaps, if they are too many."""

    def __init__(self, level: float, parts: int) -> None:
        self.level = level
        self.parts = parts
        super().__init__(level)


def _split(
    program: Program, levels: list[float], groups: list[float | None], level: float, parts: int
) -> None:
    """Split the steps of a level, and views of them, into levels that follow each other."""
    steps = program.steps
    mine = [at for at, group in enumerate(groups) if group == level]
    gap = 2.0 ** (-2 - len({n for n in levels if int(n) == int(level)}))
    part_of = {at: k * parts // len(mine) for k, at in enumerate(mine)}
    moved: dict[int, float] = {}
    for at, step in enumerate(steps):
        if at in part_of:
            to = level + gap * part_of[at] / parts
        elif is_view(step, program.metas) and step.args[0].i in moved:
            to = moved[step.args[0].i]
        else:
            continue
        levels[at] = max(levels[at], to)
        moved[step.out] = to


def _with_groups(
    program: Program,
    origin: dict[int, Step],
    levels: list[float],
    groups: list[float | None],
    forced: bool,
    made: dict[tuple, list[Step]],
) -> list[Step]:
    """Return the steps in order of level, with a kernel in place of each group.

    `made` holds the kernels that are known already, by their steps and results.
    """
    steps, metas = program.steps, program.metas
    live_out = _read_elsewhere(program, groups)
    order = sorted(range(len(steps)), key=levels.__getitem__)
    done: set[float] = set()
    new: list[Step] = []
    for at in order:
        level = groups[at]
        if level is None:
            if not is_view(steps[at], metas) or steps[at].out in live_out:
                new.append(steps[at])
        elif level not in done:
            done.add(level)
            group = [steps[k] for k in order if groups[k] == level]
            outs = [s.out for s in group if s.out >= 0 and s.out in live_out]
            key = (*map(id, group), *outs)
            try:
                if key not in made:
                    made[key] = _as_kernel(group, metas, origin, outs, forced)
            except NotLowerableError as error:
                raise _GroupError(level, getattr(error, "parts", 1)) from error
            new.extend(made[key])
    return new


def _levels(program: Program) -> tuple[list[float], list[bool]]:
    """Return the level of each step, and whether a kernel can contain it.

    Steps of kernels have even levels, others odd ones; a step has at least the level of its
    operands. So steps of equal level can form one kernel. Views have the level of their array.
    """
    metas = program.metas
    of_value: dict[int, int] = {}
    levels: list[float] = []
    is_mine: list[bool] = []
    handled_pairs: set[int] = set()
    for step in program.steps:
        before = [of_value.get(i, -1) for i in refs_of(step)]
        if is_view(step, metas):
            level, mine = before[0], False
        else:
            mine = handles(step, metas)
            if is_part_of_pair(step, metas):
                mine = mine and handled_pairs.issuperset(refs_of(step))
            elif mine and step.f is np.linalg.slogdet:
                handled_pairs.add(step.out)
            parity = 0 if mine else 1
            lowest = 0 if mine else -1
            level = max([n if n % 2 == parity else n + 1 for n in before], default=lowest)
        levels.append(level)
        is_mine.append(mine)
        if step.out >= 0:
            of_value[step.out] = level
    return levels, is_mine


def _read_elsewhere(program: Program, group_of: list[float | None]) -> set[int]:
    """Return the values that are read outside of the group that computes them."""
    metas = program.metas
    made_by: dict[int, float | None] = {}
    array_of: dict[int, int] = {}  # view → the array that it is a view of
    for step, group in zip(program.steps, group_of, strict=True):
        if is_view(step, metas):
            first = step.args[0].i
            array_of[step.out] = array_of.get(first, first)
        elif step.out >= 0:
            made_by[step.out] = group
    found = {x.i for x in program.outputs if type(x) is Ref}
    for step, group in zip(reversed(program.steps), reversed(group_of), strict=True):
        if group is None:
            if not is_view(step, metas) or step.out in found:
                found.update(refs_of(step))
            continue
        for i in refs_of(step):
            i = array_of.get(i, i)
            if made_by.get(i) != group:
                found.add(i)
    return found


def _as_kernel(
    group: list[Step],
    metas: list[Meta],
    origin: dict[int, Step],
    outs: list[int],
    forced: bool,
) -> list[Step]:
    """Return steps that run a group as a kernel, and take its results apart."""
    reader = Lowerer(metas, origin)
    for step in group:
        reader.read(step)
    made = {s.out for s in group}
    for x in reader.given:
        if type(x) is Ref and x.i in made:
            raise NotLowerableError
    for i in outs:
        reader.view(Ref(i))
    kernel = Kernel(reader, outs, [metas[i] for i in outs])
    if not forced and kernel.source.count("\n") > _MOST_LINES:
        raise NotLowerableError
    metas.append(TUPLE)
    whole = len(metas) - 1
    steps = [Step(kernel, tuple(reader.given), None, whole)]
    steps += [Step(part, (Ref(whole), k), None, i) for k, i in enumerate(outs)]
    return steps


class Kernel:
    """A section of a program, compiled to a function of the arrays and numbers that it reads.

    Attributes
    ----------
    source : str
        The source that is compiled to machine code.
    nests : int
        The number of loop nests.
    largest : int
        The number of elements of the largest result of an operation.
    is_brief : bool
        Whether it has many lines, most of which run a few times only: LLVM then optimizes less,
        in half the time.
    has_guards : bool
        Whether it may return None, because a guard has failed.
    """

    def __init__(self, reader: Lowerer, outs: list[int], metas: list[Meta]) -> None:
        self.__name__ = "kernel"
        views = [reader.views[i] for i in outs]
        writer = LoopWriter(reader.ops, views)
        self.has_guards = any(op.kind == "guard" for op in reader.ops)
        self._tables = writer.tables
        body = writer.source()
        self.nests = writer.nests
        self.largest = max([op.size for op in reader.ops], default=0)
        if writer.nests > _MOST_NESTS:
            raise _TooLargeError(writer.nests)
        arrays: list[int] = []
        numbers: list[str] = []
        results: list[str] = []
        for k, (view, meta) in enumerate(zip(views, metas, strict=True)):
            if meta.shape:
                arrays.append(k)
                if view.kind != "v" or writer.direct.get(view.base) != k:
                    body += _copied_out(writer, view, f"p{k}")
                results.append(f"p{k} != 0.0" if meta.dtype == np.bool_ else f"p{k}")
                continue
            body.append(f"put(numbers, {len(numbers)}, {_scalar_result(writer, view)})")
            text = f"n[{len(numbers)}]"
            numbers.append(text)
            if not is_real(meta):
                text = f"{text} != 0.0"
            elif meta.shape == ():
                text = f"array({text}, {meta.dtype.name!r})"
            elif meta.type is np.float32:
                text = f"float32({text})"
            elif meta.type is not float:
                text = f"float64({text})"
            results.append(text)
        given = [f"x{k}" for k in range(len(reader.given))]
        parameters = [*given, *[f"p{k}" for k in arrays], "numbers", "s"]
        head = f"def kernel({', '.join(parameters)}):"
        self.source = "\n    ".join([head, *body, "return 1"]) + "\n"
        lines, elements = self.source.count("\n"), sum(op.size for op in reader.ops)
        self.is_brief = lines >= _MANY_LINES and elements < _FEW_PER_LINE * lines
        self._size = max(1, writer.size)
        self._given = [_parameter(x, reader) for x in reader.given]
        outputs = [(metas[k].shape or (), _dtype_in_memory(metas[k])) for k in arrays]
        outputs += [((n,), FLOAT64) for n in (len(numbers), self._size)]
        self._written = [ArrayParameter(*x, is_written=True) for x in outputs]
        self._wrapper = self._around(given, arrays, metas, len(numbers), results)
        self._run: Callable | None = None

    def _around(
        self,
        given: list[str],
        arrays: list[int],
        metas: list[Meta],
        n: int,
        results: list[str],
    ) -> str:
        """Return the source of the Python function that calls the machine code."""
        rest = ", ".join([*[f"p{k}" for k in arrays], "numbers", "s"])
        floats, ordered = [], []
        for x, g in zip(given, self._given, strict=True):
            if g is None:
                floats.append(f"{x} = float({x})")
            elif g.dtype == np.bool_:
                floats.append(f"{x} = {x} * 1.0")
            ordered.append(x if g is None else f"require({x}, None, 'CA')")
        lines = ["try: s = memory.pop()", "except IndexError: s = empty(size)"]
        lines += [
            f"p{k} = empty({metas[k].shape!r}, '{_dtype_in_memory(metas[k])}')" for k in arrays
        ]
        lines += [f"numbers = empty({n})", *floats]
        lines += [
            f"done = run({', '.join([*given, rest])})",
            f"if done < 0: done = run({', '.join([*ordered, rest])})",
            "memory.append(s)",
            "if done != 1:",
            "    if done == 0: return None",
            "    raise ValueError('a function is not defined here')  # it is run as it is",
        ]
        if n:
            lines.append("n = numbers.tolist()")
        lines.append(f"return ({', '.join(results)}{',' if len(results) == 1 else ''})")
        return "\n    ".join([f"def call({', '.join(given)}):", *lines]) + "\n"

    def compiled(self, notices_errors: bool = False) -> Kernel:
        """Compile the machine code; return the kernel.

        `notices_errors` says whether it raises `ValueError` where NumPy might warn.
        """
        given = [*map(_with_floats, self._given), *self._written]
        is_long = self.largest >= _LONG
        run = machine_code(self.source, self._tables, given, is_long, self.is_brief, notices_errors)
        names: dict[str, Any] = {
            "run": run, "memory": [], "size": self._size, "empty": np.empty,
            "array": np.array, "float64": np.float64, "float32": np.float32,
            "require": np.require,
        }  # fmt: skip
        exec(compile(self._wrapper, f"{MADE_HERE}call of a kernel>", "exec"), names)
        self._run = names["call"]
        return self

    def __call__(self, *given: Any) -> Any:
        """Return the results; None if a guard has failed."""
        if self._run is None:
            self.compiled()
        run: Any = self._run
        return run(*given)


def machine_code(
    source: str, tables: dict[str, np.ndarray], given: list[ArrayParameter | None], is_long: bool,
    is_brief: bool, notices_errors: bool,
) -> Callable:  # fmt: skip
    """Compile a source, unless an equal one is there: see `machine_code.KernelModule.kernel`.

    Equal kernels are common: in each iteration of an unrolled loop, around a NumPy call.
    """
    from autodiff.compiler.kernels.machine_code import KernelModule  # imports llvmlite

    constants = tuple([(k, x.dtype, x.shape, x.tobytes()) for k, x in sorted(tables.items())])
    key = source, constants, tuple(given), is_long, is_brief, notices_errors
    run = _compiled.get(key)
    if run is None:
        module = KernelModule(tables)
        run = _compiled[key] = module.kernel(source, given, is_long, is_brief, notices_errors)
    return run


_compiled: weakref.WeakValueDictionary[tuple, Callable] = weakref.WeakValueDictionary()


def _parameter(x: Any, reader: Lowerer) -> ArrayParameter | None:
    """Return the array parameter for an argument; None for a number."""
    meta = reader.metas[x.i] if type(x) is Ref else x
    if not meta.shape:
        return None
    return ArrayParameter(meta.shape, meta.dtype)


def _dtype_in_memory(meta: Meta) -> np.dtype:
    """Return the dtype of an array that a kernel returns; booleans are written as floats."""
    return FLOAT32 if meta.dtype == FLOAT32 else FLOAT64


def _with_floats(given: ArrayParameter | None) -> ArrayParameter | None:
    """Return the parameter of the machine code, which takes arrays of booleans as floats."""
    if given is None or given.dtype != np.bool_:
        return given
    return ArrayParameter(given.shape, FLOAT64)


def _copied_out(writer: LoopWriter, view: StridedView, name: str) -> list[str]:
    """Return the statements that copy a result from the memory to the array that is returned."""
    if view.kind != "v" or not view.is_whole():
        raise NotLowerableError
    begin = writer.stored(view.base)
    size = writer.ops[view.base].size
    return [f"for i in range({size}):", f"    put({name}, i, get(s, {begin} + i))"]


def _scalar_result(writer: LoopWriter, view: StridedView) -> str:
    """Return the expression of a result that is a number."""
    if view.kind == "n":
        return f"x{view.base}"
    if view.kind == "c":
        return constant(float(view.base))
    if view.kind == "v" and not writer.ops[view.base].shape:
        text = writer.variable(view.base)
        return f"1.0 if {text} else 0.0" if view.is_bool else text
    array = "s" if view.kind == "v" else f"x{view.base}"
    place = view.offset
    if view.kind == "v":
        place += writer.stored(view.base)
    return f"get({array}, {place})"
