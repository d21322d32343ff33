"""The execution of a group of steps, one tile of the arrays after the other.

The code for a tile is a separate program with the shapes of a tile. NumPy runs it, or kernels if
they are faster. NumPy always runs the last tile if it is shorter than the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.array_kernels import Kernel, with_kernels
from autodiff.compiler.recording.ir import (
    FLOATS,
    Meta,
    Program,
    Ref,
    Step,
    meta_of,
    part,
    refs_of,
)
from autodiff.compiler.tiling.tile_rules import Member, in_tile
from autodiff.compiler.tiling.tile_threads import FEWEST_TILES, run_in_threads
from autodiff.fastpath.blocked_products import keep_freed_memory
from autodiff.functions import UFUNC_OF, is_elementwise, is_new_memory

TILE = 1 << 14
"""The elements of the largest array of a tile, unless one row has more."""
_LARGEST_TILE, _SHORTEST_RUN = 1 << 18, 64
_FEWEST_CALLS, _SECONDS, _TRIALS = 3, 0.03, 3
_FEWEST_STEPS = 2

clock = time.perf_counter


def length_of(members: list[Member], n: int, metas: list[Meta]) -> int | None:
    """Return the length of a tile along its axis; None if tiles would be too large or too few."""
    cut = [(metas[m.step.out].shape, m.axis) for m in members]
    for m in members:
        for x, axis in zip(m.step.args, m.cuts, strict=True):
            cut.append((metas[x.i].shape if type(x) is Ref else np.shape(x), axis))
    shapes = {(shape, axis) for shape, axis in cut if shape and axis is not None}
    rows = [math.prod(shape) // n for shape, _ in shapes]
    runs = [math.prod(shape[axis + 1 :]) for shape, axis in shapes]
    widest = max(rows)
    length = max(1, TILE // widest)
    is_leading = all(row == run for row, run in zip(rows, runs, strict=True))
    if not is_leading:  # a tile consists of short contiguous runs, which are copied
        run = min(run for row, run in zip(rows, runs, strict=True) if row == widest)
        length = max(length, -(-_SHORTEST_RUN // run))
    if n < FEWEST_TILES * length or length * widest > _LARGEST_TILE:
        return None
    for shorter in range(length, length * 2 // 3, -1):
        if n % shorter == 0:
            return shorter
    return length


class Tiles:
    """Steps that run tile by tile, as a function of the arrays and numbers that they read.

    Attributes
    ----------
    given : list
        The arguments: values and constants.
    source : str
        The source of the code for a tile.
    """

    def __init__(
        self,
        members: list[Member],
        results: list[Member],
        n: int,
        metas: list[Meta],
        by_machine: bool,
    ) -> None:
        self.__name__ = "tiles"
        self._members, self._metas = members, metas
        self._results = results
        self._shapes = [metas[m.step.out].shape for m in results]
        self._dtypes = [metas[m.step.out].dtype for m in results]
        self._counts = [_count(m, metas) for m in results]
        self._n = n
        self._length = length_of(members, n, metas) or n
        self.given: list[Any] = []
        self._cuts: list[int | None] = []
        self._places: dict[Any, int] = {}
        made = {m.step.out for m in members}
        for member in members:
            for x, cut in zip(member.step.args, member.cuts, strict=True):
                if type(x) is np.ndarray or (type(x) is Ref and x.i not in made):
                    self._position(x, cut)
        self._numpy_code, self.source = self._generated(self._program(self._length))
        self._chosen = self._numpy_code
        rest = n % self._length
        self._last_tile = self._generated(self._program(rest))[0] if rest else None
        self._by_machine = by_machine
        keep_freed_memory()  # the next call reuses the memory of the results of this one
        self._calls, self._spent = 0, 0.0
        self._best = [float("inf"), float("inf")]
        self._machine_code: Callable | None = None
        self._strides: dict[int, tuple] = {}  # of the arrays whose tiles are not contiguous

    # -- the code for a tile ---------------------------------------------------------------------

    def _position(self, x: Any, cut: int | None) -> int:
        """Return the position of an array or number among the arguments; add it if it is new."""
        key = (("v", x.i) if type(x) is Ref else ("c", id(x)), cut)
        if key not in self._places:
            self._places[key] = len(self.given)
            self.given.append(x)
            self._cuts.append(cut)
        return self._places[key]

    def _program(self, length: int, by_machine: bool = False) -> Program:
        """Return the program for a tile of a given length.

        Machine code knows all shapes, so there a number replaces an array of equal elements.
        """
        metas: list[Meta] = []
        for x, cut in zip(self.given, self._cuts, strict=True):
            meta = self._metas[x.i] if type(x) is Ref else meta_of(x)
            metas.append(_cut(meta, cut, length))
        inputs = list(range(len(metas)))
        renumbered: dict[int, Ref] = {}
        steps = []
        for member in self._members:
            step = member.step
            args = []
            for x, cut in zip(step.args, member.cuts, strict=True):
                if type(x) is Ref and x.i in renumbered:
                    args.append(renumbered[x.i])
                elif by_machine and _is_broadcast(x) and _broadcasts(step.f):
                    args.append(x[(0,) * x.ndim])
                elif type(x) in (Ref, np.ndarray):
                    args.append(Ref(self._position(x, cut)))
                else:
                    args.append(x)
            meta = _cut(self._metas[step.out], member.axis, length)
            metas.append(meta)
            f, given = in_tile(member, tuple(args), meta.shape)
            steps.append(Step(f, given, step.kwargs, len(metas) - 1))
            renumbered[step.out] = Ref(len(metas) - 1)
        outputs = [renumbered[m.step.out] for m in self._results]
        return Program(steps, metas, inputs, outputs)

    def _generated(self, program: Program) -> tuple[Callable, str]:
        """Return the function of a program, and its source.

        It takes the arguments for a tile, and the tiles of the results. Kernels write directly
        into those tiles that are contiguous.
        """
        scope: dict[str, Any] = {}
        into: dict[int, dict[str, str]] = {}  # by kernel
        rows = {x.i: f"o{k}" for k, x in enumerate(program.outputs) if self._is_contiguous(k)}
        for step in program.steps:
            if type(step.f) is Kernel:
                into[step.out] = {}
            elif step.f is part and step.out in rows and step.args[0].i in into:
                whole, k = step.args
                into[whole.i][f"p{k}"] = rows[step.out]

        def shown(x: Any) -> str:
            if type(x) is Ref:
                return f"v{x.i}"
            if type(x) in (int, bool, type(None)):
                return repr(x)
            name = f"c{len(scope)}"
            scope[name] = x
            return name

        lines = []
        scratch = _Scratch(program, rows)
        for at, step in enumerate(program.steps):
            if step.f is part:
                text = f"v{step.args[0].i}[{step.args[1]}]"
            else:
                args = [*map(shown, step.args), *scratch.target(at, step)]
                args += [f"{k}={shown(v)}" for k, v in (step.kwargs or {}).items()]
                args += [f"{k}={o}" for k, o in into.get(step.out, {}).items()]
                plain = getattr(step.f, "_implementation", step.f)
                text = f"{shown(plain)}({', '.join(args)})"
            lines.append(f"v{step.out} = {text}")
        outputs = [f"v{x.i}, " for x in program.outputs]
        parts = [f"o{k}=None" for k in range(len(outputs))]
        head = f"def tile({', '.join([*(f'v{i}' for i in program.inputs), *parts])}):"
        before, after = scratch.around(scope)
        result = f"return ({''.join(outputs)})"
        source = "\n    ".join([head, *before, *lines, *after, result]) + "\n"
        exec(compile(source, "<tile>", "exec"), scope)
        return scope["tile"], source

    # -- calls -----------------------------------------------------------------------------------

    def __call__(self, *given: Any) -> tuple:
        """Compute the results, on all cores."""
        if not self._by_machine:
            return self._computed(self._chosen, given)
        start = clock()
        code = (self._calls % 2 and self._machine_code) or self._numpy_code
        y = self._computed(code, given)
        self._note(code is not self._numpy_code, clock() - start, given)
        return y

    def _note(self, is_machine_code: bool, seconds: float, given: tuple) -> None:
        """Count a call and its time; compile when that pays, and keep the faster version."""
        self._calls += 1
        if self._machine_code is None:
            self._spent += seconds
            if self._calls >= _FEWEST_CALLS and self._spent >= _SECONDS:
                self._calls = 0
                self._compile(given)
            return
        self._best[is_machine_code] = min(self._best[is_machine_code], seconds)
        if self._calls >= 2 * _TRIALS:
            self._chosen = self._machine_code if self._best[1] < self._best[0] else self._numpy_code
            self._by_machine = False

    def _compile(self, given: tuple) -> None:
        """Compile the code for a tile to machine code, for arrays with these strides."""
        program = self._program(self._length, True)
        self._strides = {k: x.strides for k, x in enumerate(given) if self._is_scattered(k, given)}
        strides = {program.inputs[k]: tuple([n // given[k].itemsize for n in found])
                   for k, found in self._strides.items()}  # fmt: skip
        try:
            faster = with_kernels(program, True, _FEWEST_STEPS, strides)
            if faster is not None:
                for step in faster.steps:
                    if type(step.f) is Kernel:
                        step.f.compiled()
                self._machine_code, self.source = self._generated(faster)
        except Exception:  # machine code does not support something
            self._machine_code = None
        self._by_machine = self._machine_code is not None

    def _is_scattered(self, k: int, given: tuple) -> bool:
        """Whether the tiles of an array are aligned, but not contiguous."""
        x, cut = given[k], self._cuts[k]
        if cut is None or x.dtype not in FLOATS or not x.flags.aligned:
            return False
        tile = x[(slice(None),) * cut + (slice(self._length),)]
        return not tile.flags.c_contiguous and all(n >= 0 == n % x.itemsize for n in x.strides)

    def _is_contiguous(self, k: int) -> bool:
        """Whether the tiles of a result are contiguous."""
        axis, shape = self._results[k].axis, self._shapes[k]
        return axis is not None and self._dtypes[k] in FLOATS and math.prod(shape[:axis]) == 1

    def _computed(self, code: Callable, given: tuple) -> tuple:
        """Compute the results with one version of the code for a tile."""
        if code is self._machine_code and any(
            given[k].strides != s for k, s in self._strides.items()
        ):
            code = self._numpy_code
        tiles = -(-self._n // self._length)
        arrays = [
            x if cut is not None or type(x) is not np.ndarray else np.ascontiguousarray(x)
            for x, cut in zip(given, self._cuts, strict=True)
        ]
        outs: list[Any] = [
            np.empty(self._shapes[k] or (), self._dtypes[k])
            if m.axis is not None
            else [None] * tiles
            for k, m in enumerate(self._results)
        ]
        run_in_threads(self._part, tiles, (code, arrays, outs))
        return tuple(
            [
                y if m.axis is not None else self._combined(k, m, y)
                for k, (m, y) in enumerate(zip(self._results, outs, strict=True))
            ]
        )

    def _combined(self, k: int, member: Member, parts: list) -> Any:
        """Combine the partial results of a reduction along the axis."""
        f: Any = member.combined
        total = parts[0]
        if len(parts) > 1:
            total = f.reduce(parts) if np.ndim(total) == 0 else f.reduce(np.stack(parts), axis=0)
        return total / self._counts[k] if self._counts[k] else total

    def _part(self, first: int, last: int, arguments: tuple) -> None:
        """Run on some of the tiles."""
        code, given, outs = arguments
        cut = [(k, (slice(None),) * c) for k, c in enumerate(self._cuts) if c is not None]
        axes = [m.axis for m in self._results]
        results = [(k, (slice(None),) * axis) for k, axis in enumerate(axes) if axis is not None]
        sums = [k for k, axis in enumerate(axes) if axis is None]
        args = [*given, *[None] * len(outs)]
        n = len(given)
        with np.errstate(all="ignore"):
            for i in range(first, last):
                a = i * self._length
                b = a + self._length
                tile, here = code, slice(a, b)
                if b > self._n:
                    tile, here = self._last_tile, slice(a, self._n)
                for k, index in cut:
                    args[k] = given[k][(*index, here)]
                for k, index in results:
                    args[n + k] = outs[k][(*index, here)]
                try:
                    values = tile(*args)
                except Exception as error:
                    if tile is self._numpy_code or tile is self._last_tile:
                        raise
                    if type(error) is not ValueError:  # that means numbers too large for a loop
                        self._machine_code, self._by_machine = None, False
                        self._chosen = self._numpy_code
                    values = self._numpy_code(*args)
                for k, _ in results:
                    if values[k] is not args[n + k]:
                        args[n + k][...] = values[k]
                for k in sums:
                    outs[k][i] = values[k]


class _Scratch:
    """Memory in which elementwise steps of a tile write their results: it stays in the cache.

    A value has such memory until its last read, unless a view of it may be longer alive.
    """

    def __init__(self, program: Program, rows: dict[int, str]) -> None:
        self._metas = program.metas
        self._rows = rows  # result → its tile
        self._kinds: list[tuple] = []
        self._free: dict[tuple, list[str]] = {}
        self._held: dict[int, str] = {}
        self._last: dict[int, int] = {}
        self._fixed = {x.i for x in program.outputs if type(x) is Ref}
        for at, step in enumerate(program.steps):
            self._last |= dict.fromkeys(refs_of(step), at)
            if not (is_elementwise(step.f) or is_new_memory(step.f, step.args, step.kwargs)):
                self._fixed.update(refs_of(step))

    def target(self, at: int, step: Step) -> list[str]:
        """Return the argument that says where a step writes its result, if it is elementwise."""
        for i in set(refs_of(step)) & self._held.keys():
            if self._last[i] == at:
                self._free[self._kind(i)].append(self._held.pop(i))
        kind = self._kind(step.out)
        if not is_elementwise(step.f) or step.kwargs or not kind[0]:
            return []
        if step.out in self._rows:
            return [self._rows[step.out]]
        if step.out in self._fixed:
            return []
        free = self._free.setdefault(kind, [])
        if not free:
            free.append(f"t{len(self._kinds)}")
            self._kinds.append(kind)
        self._held[step.out] = free.pop()
        return [self._held[step.out]]

    def _kind(self, i: int) -> tuple:
        return self._metas[i].shape, self._metas[i].dtype

    def around(self, scope: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Return the lines that take the memory, and that put it back: each thread has its own."""
        kinds = self._kinds
        if not kinds:
            return [], []
        scope["pool"] = []
        scope["new"] = lambda: [np.empty(*kind) for kind in kinds]
        names = ", ".join([f"t{k}" for k in range(len(kinds))])
        return [
            "try: held = pool.pop()",
            "except IndexError: held = new()",
            f"{names}, = held",
        ], ["pool.append(held)"]


def _broadcasts(f: Any) -> bool:
    """Whether a function broadcasts its arguments."""
    return is_elementwise(UFUNC_OF.get(f, f)) or f is np.where


def _is_broadcast(x: Any) -> bool:
    """Whether an argument is a broadcast scalar: an array with all strides zero."""
    return type(x) is np.ndarray and x.size > 0 and not any(x.strides)


def _cut(meta: Meta, axis: int | None, length: int) -> Meta:
    """Return the abstract value of a tile that is cut along an axis."""
    if axis is None or not meta.shape:
        return meta
    shape = meta.shape
    return Meta(meta.type, meta.dtype, (*shape[:axis], length, *shape[axis + 1 :]))


def _count(member: Member, metas: list[Meta]) -> float:
    """Return the number of elements by which a mean divides the sum over tiles; 0 for others."""
    if member.step.f is not np.mean or member.axis is not None:
        return 0.0
    x, y = metas[member.step.args[0].i], metas[member.step.out]
    return float(x.size // (y.size if y.shape else 1))
