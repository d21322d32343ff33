"""Stretches of a program on floats and small arrays as machine code, if llvmlite is installed.

A call of NumPy's costs half a microsecond however small the arrays are. Steps that are known as
loops over elements (``nests``) are put together where they are many, whatever stands between them
that does not depend on them: the others (factorisations, large products) stay NumPy's calls.
"""

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.linalg.linalg_ops import is_part_of_pair
from autodiff.compiler.kernels.loop_codegen import NestWriter
from autodiff.compiler.kernels.loop_ir import NotSmallError, View, constant
from autodiff.compiler.kernels.lowering import Reader
from autodiff.compiler.kernels.op_lowerings import handles, is_view
from autodiff.compiler.passes.integers_as_floats import with_counts_as_floats
from autodiff.compiler.python_backend.scalar_exprs import is_number
from autodiff.compiler.recording.ir import (
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
from autodiff.structured.native.llvm.given import Given
from chainrules_core.interpreter.places import MADE_HERE

FEWEST = 60
"""From how many steps on machine code is worth its compilation."""
_FEWEST_IF_ASKED = 4
_MOST_NESTS, _MOST_LINES = 500, 5000
_LONG = 4096
_MANY_LINES, _FEW_BY_LINE = 300, 6


def is_installed() -> bool:
    """Whether there is llvmlite."""
    return importlib.util.find_spec("llvmlite") is not None


def with_kernels(
    program: Program, forced: bool, fewest: int = 0, strides: dict[int, tuple] | None = None
) -> Program | None:
    """Return a program with kernels in place of its sections on small arrays; None if none.

    Parameters
    ----------
    program : Program
        The program.
    forced : bool
        Whether few steps are worth a kernel, too.
    fewest : int, optional
        From how many steps on a section becomes one.
    strides : dict, optional
        Of inputs that do not lie in a row, in elements. Their memory is read where it is, so the
        caller must not give others.
    """
    program = with_counts_as_floats(program)
    steps = program.steps
    fewest = fewest or (_FEWEST_IF_ASKED if forced else FEWEST)
    metas = program.metas
    if len(steps) < fewest or any(s.f is effect for s in steps):
        return None
    origin = {s.out: s for s in steps if s.out >= 0}
    levels, is_mine = _levels(program)
    failed: set[float] = set()
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
            new = _with_groups(program, origin, levels, groups, forced, strides or {})
        except _GroupError as error:
            if error.is_too_large and size[error.level] >= 2 * fewest:
                _halve(program, levels, groups, error.level)
            else:
                failed.add(error.level)
        else:
            return Program(new, metas, program.inputs, program.outputs)


class _TooLargeError(NotSmallError):
    """A kernel would have more loop nests than are compiled in acceptable time."""


class _GroupError(Exception):
    """The steps of a level cannot be written as a kernel."""

    def __init__(self, level: float, is_too_large: bool) -> None:
        self.level = level
        self.is_too_large = is_too_large
        super().__init__(level)


def _halve(program: Program, levels: list[float], groups: list[float | None], level: float) -> None:
    """Run the second half of the steps of a level after the first, with views of them."""
    steps = program.steps
    mine = [at for at, group in enumerate(groups) if group == level]
    between = level + 2.0 ** (-2 - len({n for n in levels if int(n) == int(level)}))
    later = set(mine[len(mine) // 2 :])
    moved: set[int] = set()
    for at, step in enumerate(steps):
        if at in later or (is_view(step, program.metas) and step.args[0].i in moved):
            levels[at] = max(levels[at], between)
            moved.add(step.out)


def _with_groups(
    program: Program,
    origin: dict[int, Step],
    levels: list[float],
    groups: list[float | None],
    forced: bool,
    strides: dict[int, tuple],
) -> list[Step]:
    """Return the steps, level by level, with kernels in place of groups."""
    steps, metas = program.steps, program.metas
    wanted = _read_elsewhere(program, groups)
    order = sorted(range(len(steps)), key=levels.__getitem__)
    done: set[float] = set()
    new: list[Step] = []
    for at in order:
        level = groups[at]
        if level is None:
            if not is_view(steps[at], metas) or steps[at].out in wanted:
                new.append(steps[at])
        elif level not in done:
            done.add(level)
            group = [steps[k] for k in order if groups[k] == level]
            try:
                new.extend(_as_kernel(group, metas, origin, wanted, forced, strides))
            except NotSmallError as error:
                is_too_large = isinstance(error, _TooLargeError)
                raise _GroupError(level, is_too_large) from error
    return new


def _levels(program: Program) -> tuple[list[float], list[bool]]:
    """Return for each step how often kinds change on the way to it, and whether it is handled.

    Steps that are handled are on even levels, others on odd ones; views are on that of their array.
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
    """Return the values that are read outside of the group of steps that they are made in."""
    metas = program.metas
    made_by: dict[int, float | None] = {}
    array_of: dict[int, int] = {}  # views: the array itself
    for step, group in zip(program.steps, group_of, strict=True):
        if is_view(step, metas):
            first = step.args[0].i
            array_of[step.out] = array_of.get(first, first)
        elif step.out >= 0:
            made_by[step.out] = group
    wanted = {x.i for x in program.outputs if type(x) is Ref}
    for step, group in zip(reversed(program.steps), reversed(group_of), strict=True):
        if group is None:
            if not is_view(step, metas) or step.out in wanted:
                wanted.update(refs_of(step))
            continue
        for i in refs_of(step):
            i = array_of.get(i, i)
            if made_by.get(i) != group:
                wanted.add(i)
    return wanted


def _as_kernel(
    group: list[Step],
    metas: list[Meta],
    origin: dict[int, Step],
    wanted: set[int],
    forced: bool,
    strides: dict[int, tuple],
) -> list[Step]:
    reader = Reader(metas, origin, strides)
    for step in group:
        reader.read(step)
    made = {s.out for s in group}
    outs = [s.out for s in group if s.out >= 0 and s.out in wanted]
    for x in reader.given:
        if type(x) is Ref and x.i in made:
            raise NotSmallError
    for i in outs:
        reader.view(Ref(i))
    kernel = Kernel(reader, outs, [metas[i] for i in outs])
    if not forced and kernel.source.count("\n") > _MOST_LINES:
        raise NotSmallError
    metas.append(TUPLE)
    whole = len(metas) - 1
    steps = [Step(kernel, tuple(reader.given), None, whole)]
    steps += [Step(part, (Ref(whole), k), None, i) for k, i in enumerate(outs)]
    return steps


class Kernel:
    """A section of a program as a function of the arrays and numbers that it reads.

    Attributes
    ----------
    source : str
        What is compiled.
    nests : int
        How many nests of loops it has.
    largest : int
        The number of elements of its largest result.
    is_brief : bool
        Whether it has many lines, and most of them run a few times only: LLVM takes half the time.
    has_guards : bool
        Whether it may return None: a guard has failed.
    """

    def __init__(self, reader: Reader, outs: list[int], metas: list[Meta]) -> None:
        self.__name__ = "kernel"
        views = [reader.views[i] for i in outs]
        writer = NestWriter(reader.ops, views)
        self.has_guards = any(op.kind == "guard" for op in reader.ops)
        self._tables = writer.tables
        body = writer.source()
        self.nests = writer.nests
        self.largest = max([op.size for op in reader.ops], default=0)
        if writer.nests > _MOST_NESTS:
            raise _TooLargeError
        arrays: list[int] = []
        numbers: list[str] = []
        results: list[str] = []
        for k, (view, meta) in enumerate(zip(views, metas, strict=True)):
            if meta.shape:
                arrays.append(k)
                if view.kind != "v" or writer.direct.get(view.base) != k:
                    body += _copied(writer, view, f"p{k}")
                results.append(f"p{k}" if meta.dtype == FLOAT64 else f"p{k} != 0.0")
                continue
            body.append(f"put(numbers, {len(numbers)}, {_final(writer, view)})")
            text = f"n[{len(numbers)}]"
            numbers.append(text)
            if not is_number(meta):
                text = f"{text} != 0.0"
            elif meta.shape == ():
                text = f"array({text})"
            elif meta.type is not float:
                text = f"float64({text})"
            results.append(text)
        given = [f"x{k}" for k in range(len(reader.given))]
        outputs = [metas[k].shape or () for k in arrays]
        parameters = [*given, *[f"p{k}" for k in arrays], "numbers", "s"]
        head = f"def kernel({', '.join(parameters)}):"
        self.source = "\n    ".join([head, *body, "return 1"]) + "\n"
        lines, elements = self.source.count("\n"), sum(op.size for op in reader.ops)
        self.is_brief = lines >= _MANY_LINES and elements < _FEW_BY_LINE * lines
        self._size = max(1, writer.size)
        self._given = [_given(x, reader) for x in reader.given]
        self._written = [
            Given(shape, FLOAT64, is_written=True)
            for shape in (*outputs, (len(numbers),), (self._size,))
        ]
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
            is_any = g is None or g.strides is not None
            ordered.append(x if is_any else f"require({x}, None, 'CA')")
        lines = ["try: s = memory.pop()", "except IndexError: s = empty(size)"]
        lines += [f"if p{k} is None: p{k} = empty({metas[k].shape!r})" for k in arrays]
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
        into = [f"p{k}=None" for k in arrays]
        return "\n    ".join([f"def call({', '.join([*given, *into])}):", *lines]) + "\n"

    def compiled(self) -> Kernel:
        """Make the machine code."""
        given = [*map(_as_floats, self._given), *self._written]
        is_long = self.largest >= _LONG
        run = machine_code(self.source, self._tables, given, is_long, self.is_brief)
        names: dict[str, Any] = {
            "run": run, "memory": [], "size": self._size, "empty": np.empty,
            "array": np.array, "float64": np.float64, "require": np.require,
        }  # fmt: skip
        exec(compile(self._wrapper, f"{MADE_HERE}call of a kernel>", "exec"), names)
        self._run = names["call"]
        return self

    def __call__(self, *given: Any, **into: Any) -> Any:
        """Compute the results; None if a guard has failed.

        The k-th of them is written into ``p{k}``, if that is given: an array in the order of C.
        """
        if self._run is None:
            self.compiled()
        run: Any = self._run
        return run(*given, **into)


def machine_code(
    source: str, tables: dict[str, np.ndarray], given: list[Given | None], is_long: bool,
    is_brief: bool,
) -> Callable:  # fmt: skip
    """Return the function of a source: see `machine_code.Module.kernel`.

    There is one of each: the turns of a loop around a call that is not in kernels are equal.
    """
    from autodiff.compiler.kernels.machine_code import Module  # it needs llvmlite

    constants = tuple([(k, x.dtype, x.shape, x.tobytes()) for k, x in sorted(tables.items())])
    key = source, constants, tuple(given), is_long, is_brief
    run = _made.get(key)
    if run is None:
        run = _made[key] = Module(tables).kernel(source, given, is_long, is_brief)
    return run


_made: weakref.WeakValueDictionary[tuple, Callable] = weakref.WeakValueDictionary()


def _given(x: Any, reader: Reader) -> Given | None:
    """Return what is known of an argument, if it is an array."""
    meta = reader.metas[x.i] if type(x) is Ref else x
    if not meta.shape:
        return None
    strides = reader.strides.get(x.i) if type(x) is Ref else None
    return Given(meta.shape, meta.dtype, strides and tuple([8 * n for n in strides]))


def _as_floats(given: Given | None) -> Given | None:
    """Return as what machine code is given an array of truths."""
    is_truth = given is not None and given.dtype == np.bool_
    return Given(given.shape, FLOAT64) if given is not None and is_truth else given


def _copied(writer: NestWriter, view: View, name: str) -> list[str]:
    """Return the statements that copy a result to the array that is returned."""
    if view.kind != "v" or not view.is_whole():
        raise NotSmallError
    begin = writer.stored(view.base)
    size = writer.ops[view.base].size
    return [f"for i in range({size}):", f"    put({name}, i, get(s, {begin} + i))"]


def _final(writer: NestWriter, view: View) -> str:
    """Return a number at the end."""
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
