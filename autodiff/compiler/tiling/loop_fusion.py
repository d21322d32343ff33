"""Loop fusion: run chains of elementwise steps on large arrays block by block, on all cores.

An operation on an array that does not fit into the cache waits for memory. If a whole chain runs on
one block after the other, it reads and writes memory once. NumPy releases the interpreter lock
while it computes, so threads share the blocks. Sums over all elements are computed for each block,
and added in the order of the blocks, independently of the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.lowering_table import is_real
from autodiff.compiler.kernels.simd_math import is_vectorizable, loop_of
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.recording.ir import (
    FLOAT64,
    FLOATS,
    TUPLE,
    Meta,
    Program,
    Ref,
    Step,
    effect,
    guard,
    meta_of,
    part,
    reads_of,
    refs_of,
)
from autodiff.functions import is_elementwise, takes_floats

LARGE = 1 << 15
"""The number of elements from which on arrays are cut into blocks."""
BLOCK = 8192
FEWEST_BLOCKS = 4
"""The fewest blocks or tiles of a thread."""
_FEW_CALLS = 4


def fuse_chains(program: Program, by_machine: bool) -> Program:
    """Return a program with each chain of elementwise steps on large arrays as one step.

    `by_machine` says whether a chain may become a loop of machine code.
    """
    if not any(_is_large(program, s) for s in program.steps):
        return program
    return _Fusion(program, by_machine).run()


def _is_large(program: Program, step: Step) -> bool:
    if step.out < 0 or step.kwargs or not is_elementwise(step.f) or not takes_floats(step.f):
        return False
    meta = program.metas[step.out]
    return (
        meta.type is np.ndarray
        and meta.dtype in FLOATS
        and meta.size >= LARGE
        and all(_fits(program, a, meta) for a in step.args)
    )


def _fits(program: Program, x: Any, whole: Meta) -> bool:
    """Whether an argument is a number, or an array like the result."""
    if type(x) is Ref:
        meta = program.metas[x.i]
        return is_real(meta) or _is_alike(meta, whole)
    if type(x) is np.ndarray:
        return _is_alike(meta_of(x), whole)
    return type(x) in (int, float)


def _is_alike(meta: Meta, whole: Meta) -> bool:
    """Whether two arrays have the same shape and dtype."""
    return meta.type is np.ndarray and (meta.dtype, meta.shape) == (whole.dtype, whole.shape)


class _Fusion:
    """A walk over the steps that collects chains."""

    def __init__(self, program: Program, by_machine: bool) -> None:
        self.program = program
        self.by_machine = by_machine
        self.metas = program.metas
        self.steps: list[Step] = []
        self.group: list[Step] = []
        self.members: set[int] = set()
        self.whole: Meta = TUPLE  # the arrays of the group
        self.uses = reads_of(program.steps, program.outputs)

    def run(self) -> Program:
        """Return the program with chains."""
        for step in self.program.steps:
            step = self._with_nan_check_as_sum(step)
            if _is_large(self.program, step):
                meta = self.metas[step.out]
                if self.group and (not _is_alike(meta, self.whole) or self._reads_a_sum(step)):
                    self._close()
                self.whole = meta
                self._join(step)
            elif self._is_sum(step):
                self._join(step)
            else:
                if any(i in self.members for i in refs_of(step)) or step.f is effect:
                    self._close()
                self.steps.append(step)
        self._close()
        return Program(self.steps, self.metas, self.program.inputs, self.program.outputs)

    def _join(self, step: Step) -> None:
        self.group.append(step)
        self.members.add(step.out)

    def _with_nan_check_as_sum(self, step: Step) -> Step:
        """Replace the guard against NaN in a member by one of its sum of squares, a new member."""
        if step.f is not guard or step.args[1] is not has_nan:
            return step
        value = step.args[0]
        if value.i not in self.members or not _is_alike(self.metas[value.i], self.whole):
            return step
        self.metas.append(meta_of(self.whole.dtype.type(0.0)))
        i = len(self.metas) - 1
        self.uses[i] = 1
        self.uses[value.i] += 1  # the sum reads it twice, the guard no more
        self._join(Step(np.vdot, (value, value), None, i))
        return Step(guard, (Ref(i), *step.args[1:]), None, -1)

    def _is_sum(self, step: Step) -> bool:
        """Whether a step sums all elements of a member, or the products of two."""
        if step.f not in (np.sum, np.dot, np.vdot, np.matmul) or not self.group:
            return False
        if not is_real(self.metas[step.out]):
            return False
        if any(v not in (None, False) for v in (step.kwargs or {}).values()):
            return False
        return all(
            type(a) is Ref and _is_alike(self.metas[a.i], self.whole) for a in step.args
        ) and any(a.i in self.members for a in step.args)

    def _reads_a_sum(self, step: Step) -> bool:
        return any(i in self.members and is_real(self.metas[i]) for i in refs_of(step))

    def _close(self) -> None:
        group, members = self.group, self.members
        self.group, self.members = [], set()
        if len(group) < 2:
            self.steps.extend(group)
            return
        inside = reads_of(group)
        results = [
            s.out
            for s in group
            if is_real(self.metas[s.out]) or self.uses.get(s.out, 0) > inside.get(s.out, 0)
        ]
        given = list(dict.fromkeys(i for s in group for i in refs_of(s) if i not in members))
        self.metas.append(TUPLE)
        whole = len(self.metas) - 1
        chain = Chain(group, given, results, self.metas, self.whole, self.by_machine)
        self.steps.append(Step(chain, tuple([Ref(i) for i in given]), None, whole))
        for place, i in enumerate(results):
            self.steps.append(Step(part, (Ref(whole), place), None, i))


class Chain:
    """A chain, as a function of the arrays and numbers that it reads.

    Attributes
    ----------
    source : str
        The source of the function that runs on a range of blocks.
    """

    def __init__(
        self,
        group: list[Step],
        given: list[int],
        results: list[int],
        metas: list,
        whole: Meta,
        by_machine: bool,
    ) -> None:
        self.shape: Any = whole.shape
        self.size = whole.size
        self._dtype: Any = whole.dtype
        is_double = self._dtype == FLOAT64  # NumPy's functions of float32 are vectorized
        self._calls_until_vectorised = _FEW_CALLS if by_machine and is_double else 0
        self._steps = [s for s in group if not is_real(metas[s.out])]
        self.__name__ = "chain"
        self._given = given
        self._numbers = [is_real(metas[i]) for i in given]
        self._arrays = [i for i in given if not is_real(metas[i])]
        self._order = results
        self._outputs = [i for i in results if not is_real(metas[i])]
        self._sums = {s.out: s for s in group if is_real(metas[s.out])}
        self._run, self.source = self._by_numpy(group)
        self._numpy_version = self._run, self._n_scratch
        self._scratch: list[list[np.ndarray]] = []

    def _by_numpy(self, group: list[Step]) -> tuple[Callable, str]:
        """Return a function that calls NumPy block by block, and its source."""
        scope: dict[str, Any] = {"np": np}
        scope |= {getattr(s.f, "__name__", "f"): s.f for s in group}
        names = {i: f"x{i}" for i in self._given}
        last: dict[int, int] = {}
        for at, step in enumerate(group):
            for i in refs_of(step):
                last[i] = at
        free: list[str] = []
        cut: list[str] = []
        lines: list[str] = []
        self._n_scratch = 0

        def shown(x: Any) -> str:
            if type(x) is Ref:
                return names[x.i]
            name = f"k{len(scope)}"
            if type(x) is np.ndarray:
                scope[f"{name}_"] = np.ascontiguousarray(x).reshape(-1)
                cut.append(name)
                return name
            if type(x) in (int, float):
                scope[name] = np.array(x, self._dtype)
                return name
            return repr(x)

        def release(at: int, step: Step) -> None:
            """Free the scratch memory of values that are dead after a step."""
            free.extend(
                names[i] for i in set(refs_of(step)) if last[i] == at and names[i].startswith("t")
            )

        for at, step in enumerate(group):
            args = [shown(a) for a in step.args]
            if step.out in self._sums:
                lines.append(_sum_of(step, args))
                names[step.out] = f"s{step.out}"
                release(at, step)
                continue
            release(at, step)
            if step.out in self._outputs:
                target = f"o{step.out}"
            elif free:
                target = free.pop()
            else:
                target = f"t{self._n_scratch}"
                self._n_scratch += 1
            names[step.out] = target
            lines.append(f"{step.f.__name__}({', '.join([*args, target])})")
        return self._framed(cut, lines, scope)

    def _framed(
        self, cut: list[str], lines: list[str], scope: dict[str, Any]
    ) -> tuple[Callable, str]:
        """Return a function that runs lines for each block, and its source.

        In the lines, the name of an array stands for the present block of it. `cut` names the
        constant arrays.
        """
        arrays = [f"x{i}" for i in self._arrays] + [f"o{i}" for i in self._outputs]
        inputs = [f"x{i}" + ("_" if i in self._arrays else "") for i in self._given]
        results = [f"o{i}_" for i in self._outputs] + [f"s{i}" for i in self._sums]
        scratch = [f"t{n}" for n in range(self._n_scratch)]
        source = "\n    ".join([
            f"def run({', '.join(['first', 'last', 'scratch', *inputs, *results])}):",
            *[f"{t} = scratch[{n}]" for n, t in enumerate(scratch)],
            "for i in range(first, last):",
            f"    a = i * {BLOCK}",
            f"    b = min(a + {BLOCK}, {self.size})",
            *[f"    if b - a < {BLOCK}: {t} = {t}[:b - a]" for t in scratch],
            *[f"    {x} = {x}_[a:b]" for x in [*arrays, *cut]],
            *[f"    {line}" for line in lines],
        ]) + "\n"  # fmt: skip
        exec(compile(source, "<chain of elementwise steps>", "exec"), scope)
        return scope["run"], source

    def __call__(self, *given: Any) -> tuple:
        """Compute the results, on all cores."""
        if self._calls_until_vectorised:
            self._calls_until_vectorised -= 1
            if not self._calls_until_vectorised:
                self._vectorise()
        flat = [
            x if is_number else x.ravel() if x.flags.aligned else x.copy().ravel()
            for x, is_number in zip(given, self._numbers, strict=True)
        ]
        blocks = -(-self.size // BLOCK)
        outs = {i: np.empty(self.size, self._dtype) for i in self._outputs}
        sums = {i: np.empty(blocks) for i in self._sums}
        arguments = (*flat, *outs.values(), *sums.values())
        run_in_threads(self._part, blocks, arguments)
        return tuple(
            [
                self._dtype.type(np.add.reduce(sums[i]))
                if i in sums
                else outs[i].reshape(self.shape)
                for i in self._order
            ]
        )

    def _vectorise(self) -> None:
        """Replace the elementwise steps by one loop of machine code, if that is faster."""
        steps, sums = self._steps, self._sums.values()
        if not is_vectorizable(steps):
            return
        numbers = [i for i in self._given if i not in self._arrays]
        computed = {s.out for s in steps}
        summed = dict.fromkeys(
            i for s in sums for i in refs_of(s) if i in computed and i not in self._outputs
        )
        results = [*self._outputs, *summed]
        loop, self.source = loop_of(steps, self._arrays, numbers, results)
        names = {i: f"x{i}" for i in self._given} | {i: f"o{i}" for i in self._outputs}
        names |= {i: f"t{n}" for n, i in enumerate(summed)}
        call = ", ".join([names[i] for i in [*self._arrays, *numbers, *results]])
        lines = [f"if loop({call}, float(b - a)) != 1: return i"]
        lines += [_sum_of(s, [names[i] for i in refs_of(s)]) for s in sums]
        self._scratch, self._n_scratch = [], len(summed)
        self._run, _ = self._framed([], lines, {"np": np, "loop": loop})

    def _part(self, first: int, last: int, arguments: tuple) -> None:
        """Run on some of the blocks."""
        try:
            scratch = self._scratch.pop()
        except IndexError:
            scratch = [np.empty(BLOCK, self._dtype) for _ in range(self._n_scratch)]
        with np.errstate(all="ignore"):
            stopped = self._run(first, last, scratch, *arguments)
            if stopped is not None:  # a block has numbers that are too large for the loop
                run, count = self._numpy_version
                run(stopped, last, [np.empty(BLOCK, self._dtype) for _ in range(count)], *arguments)
        self._scratch.append(scratch)


def _sum_of(step: Step, args: list[str]) -> str:
    """Return the statement that sums a block, or the products of two."""
    text = f"np.add.reduce({args[0]})" if step.f is np.sum else f"{args[0]}.dot({args[1]})"
    return f"s{step.out}[i] = {text}"


_pool: Any = None
_n_threads: int | None = None  # as set by the user


def threads() -> int:
    """Return how many threads share a chain."""
    if _n_threads is not None:
        return _n_threads
    setting = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if setting.isdecimal() and int(setting) > 0:  # BLAS libraries read it as well
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(n: int | None) -> None:
    """Set how many threads share a chain of elementwise steps; None for all cores."""
    global _n_threads, _pool
    _n_threads = n
    _pool = None


def _forget_pool() -> None:
    """Drop the pool in a forked process, which has none of its threads and would wait forever."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def run_in_threads(work: Callable, blocks: int, arguments: tuple) -> None:
    """Distribute blocks or tiles over threads, one of which is this one.

    ``work(first, last, arguments)`` runs on a range of them.
    """
    global _pool
    n = min(threads(), blocks // FEWEST_BLOCKS)
    if n <= 1:
        work(0, blocks, arguments)
        return
    from concurrent.futures import ThreadPoolExecutor  # imported when needed

    pool = _pool
    if pool is None or pool._max_workers < n - 1:
        pool = _pool = ThreadPoolExecutor(n - 1, "autodiff")
    bounds = [blocks * k // n for k in range(n + 1)]
    waiting = [pool.submit(work, bounds[k], bounds[k + 1], arguments) for k in range(1, n)]
    work(0, bounds[1], arguments)
    for future in waiting:
        future.result()
