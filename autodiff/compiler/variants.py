"""Variants of a compiled function: a recorded program becomes source and machine code."""

from __future__ import annotations

import itertools
import keyword
import linecache
from collections.abc import Callable
from typing import Any

from autodiff.compiler.compile_errors import BudgetExceededError
from autodiff.compiler.kernels import array_kernels
from autodiff.compiler.kernels.array_kernels import Kernel, with_kernels
from autodiff.compiler.passes.alias_analysis import OUTSIDE, AliasAnalysis, remove_copies
from autodiff.compiler.passes.batching import batched
from autodiff.compiler.passes.einsum_splitting import split_einsums
from autodiff.compiler.passes.shared_factorisations import share_factorisations
from autodiff.compiler.passes.simplify import simplify
from autodiff.compiler.python_backend.emitter import Emitter
from autodiff.compiler.recording.dependency import Dependency
from autodiff.compiler.recording.ir import Program, Ref
from autodiff.compiler.recording.results import Outputs
from autodiff.compiler.recording.signature_guards import Inputs
from autodiff.compiler.tiering.budget import Budget
from autodiff.compiler.tiering.promotion import MANY_STEPS, Candidate, take, watch

AUTOMATIC = "automatic"
"""The backend for automatic compilation, which asks for machine code when it has paid. This raises
errors where NumPy might warn, and is compared with the traced function."""
_serials = itertools.count(1)
_FEWEST_STEPS = 6
"""The fewest steps of a program that may become machine code."""
_SMALL = 1024
"""The largest arrays for which machine code is sure to be faster."""
_SECONDS, _MOST_SECONDS = 0.02, 5.0
"""Compile time: a constant, and the limit."""
_SECONDS_BY_PART = {"\n": 0.0005, "for ": 0.006, "if ": 0.008}
"""Compile time of each line, loop and branch."""


class Variant:
    """A recorded program, compiled.

    Attributes
    ----------
    run : callable
        Takes the arguments; returns the result, or `MISMATCH`.
    source : str
        Its source.
    program : Program
        The program that the source was generated from.
    loops : list of (Programs, bool)
        The structured programs that it calls, and whether their loops are unrolled.
    written : callable, optional
        Runs the original function if the arguments have the same signature; returns `MISMATCH`
        if they do not.
    is_slower : bool
        Whether the program turned out to be slower than the original function.
    is_watched : bool
        Whether it may still become machine code.
    leaves_arguments : bool
        Whether the original function leaves its arguments unchanged, as programs always do.
    variables : list of Dependency
        The variables outside the function that hold numbers and arrays.
    with_loops : callable, optional
        Makes a variant that keeps the loops which this one has unrolled.
    machine_code : callable, optional
        Returns a `Candidate` or None, if automatic compilation decides when to make machine code.
    checks : callable
        Makes a function of the arguments that returns `MISMATCH` if the program does not take them.
    """

    __slots__ = (
        "checks", "filename", "is_slower", "is_watched", "leaves_arguments", "loops",
        "machine_code", "program", "run", "source", "variables", "with_loops", "written",
    )  # fmt: skip

    def __init__(
        self, run: Callable, source: str, program: Program, filename: str, loops: list,
        checks: Callable[[], Callable],
    ) -> None:  # fmt: skip
        self.run = run
        self.checks = checks
        self.loops = loops
        self.source = source
        self.program = program
        self.filename = filename
        self.written: Callable | None = None
        self.is_slower = self.is_watched = False
        self.leaves_arguments = True
        self.variables: list[Dependency] = []
        self.with_loops: Callable | None = None
        self.machine_code: Callable[[], Candidate | None] | None = None

    def forget(self) -> None:
        """Remove the source from the cache for tracebacks."""
        linecache.cache.pop(self.filename, None)


def may_use_machine_code(backend: str) -> bool:
    """Whether a backend makes machine code: llvmlite must be installed."""
    return backend != "python" and array_kernels.is_installed()


class VariantBuilder:
    """Builds variants from recorded programs."""

    def __init__(
        self, f: Callable, inputs: Inputs, outputs: Outputs, parameters: list[str], backend: str,
        loops: list, budget: Budget,
    ) -> None:  # fmt: skip
        name = getattr(f, "__name__", "")
        is_name = name.isidentifier() and not keyword.iskeyword(name)
        self.name = inputs.names.reserved(name if is_name else "f")
        self.inputs = inputs
        self.outputs = outputs
        self.parameters = parameters
        self.backend = backend
        self.loops = loops
        self.budget = budget
        self.may_use_machine_code = may_use_machine_code(backend)
        self._copied: set[int] = set()  # the outputs that are returned as copies

    def variant(self, program: Program, last: bool = False) -> Variant:
        """Run all passes over a program, and return it as a variant.

        `last` says that the recorded steps are not needed again.
        """
        was_shared = _Sharing(program)
        shorter = simplify(program if program.exact else split_einsums(program))
        self._check_budget()
        if last:
            program.steps.clear()  # the steps of a long program take much memory
        program = remove_copies(shorter)
        if not program.exact:
            program = batched(program, self.may_use_machine_code)
            program = remove_copies(share_factorisations(program))
        self._copied = _Sharing(program).new(was_shared)
        self._check_budget()
        run, filename, source = self.emit(program)
        return Variant(run, source, program, filename, self.loops, self.checks)

    def _check_budget(self) -> None:
        try:
            self.budget.check()
        except BudgetExceededError as error:
            error.loops = [programs for programs, _ in self.loops]
            raise

    def emit(self, program: Program) -> tuple[Callable, str, str]:
        """Generate the function of a program; return it with its file name and source."""
        names = self.inputs.names
        copied = {program.outputs[k].i for k in self._copied}
        emitter = Emitter(program, self.inputs, self.outputs, names, copied)
        source = emitter.source(self.parameters, self.name)
        return (*_function(source, self.name, names.scope), source)

    def checks(self) -> Callable:
        """Generate the function that makes the checks of a program, and nothing else."""
        head = f"def {self.name}({', '.join(self.parameters)}):"
        source = "\n    ".join([head, *self.inputs.checks, "return None"])
        scope = dict(self.inputs.names.scope)
        exec(compile(source, f"<checks of {self.name}>", "exec"), scope)
        return scope[self.name]

    def candidate(self, program: Program, forced: bool) -> Candidate | None:
        """Return the program with machine-code kernels, not yet compiled; None without kernels."""
        faster = with_kernels(program, forced)
        if faster is None:
            return None
        kernels = [s.f for s in faster.steps if type(s.f) is Kernel]
        seconds = _SECONDS + sum({k.source: _seconds_of(k) for k in kernels}.values())
        if seconds > _MOST_SECONDS and self.backend != "native":
            return None
        is_requested = self.backend == "native"
        is_small = max(k.largest for k in kernels) <= _SMALL
        is_faster = is_requested or (is_small and not forced)
        return Candidate(seconds, is_faster, lambda: self._compile(faster, kernels))

    def _compile(self, faster: Program, kernels: list[Kernel]) -> tuple[Callable, str, str]:
        run, filename, source = self.emit(faster)
        for k in kernels:
            k.compiled(self.backend == AUTOMATIC)
        return run, filename, "\n\n".join([*[k.source for k in kernels], source])

    def promote(self, variant: Variant) -> None:
        """Compile a variant to machine code: now or soon if requested, otherwise when it pays."""
        program = variant.program
        n = len(program.steps)
        soon = (lambda: self.candidate(program, False)) if n >= array_kernels.FEWEST else None
        if self.backend == "native":
            candidate = self.candidate(program, True)
            if candidate is None:
                return
            if self.budget.allows(candidate.seconds):
                take(variant, candidate, variant.run)
                return
            # The user has requested it, so it need not pay: compile after a few calls.
            n, soon = MANY_STEPS, lambda: candidate._replace(seconds=0.0)
        if not self.may_use_machine_code or n < _FEWEST_STEPS:
            return
        if self.backend == AUTOMATIC:
            variant.machine_code = lambda: (
                self.candidate(program, False) or self.candidate(program, True)
            )
            return
        watch(variant, n, soon, lambda: self.candidate(program, True))


class _Sharing:
    """Which outputs of a program may alias outer values, and each other."""

    def __init__(self, program: Program) -> None:
        self.outputs = {k: x.i for k, x in enumerate(program.outputs) if type(x) is Ref}
        has_arrays = any(program.metas[i].shape for i in self.outputs.values())
        self.owners = AliasAnalysis(program).owners if has_arrays else None

    def new(self, before: _Sharing) -> set[int]:
        """Return the outputs to copy, so that only those alias that did so before the passes.

        Two equal calls own separate memory before they are merged, but not afterwards.
        """
        if self.owners is None:
            return set()
        found: set[int] = set()
        sharing: dict[int, list[int]] = {}
        for k, i in self.outputs.items():
            owners = self.owners[i]
            others = {j for owner in owners for j in sharing.get(owner, ())}
            if (OUTSIDE in owners and not before.has(k, OUTSIDE)) or any(
                not before.share(j, k) for j in others
            ):
                found.add(k)
                continue
            for owner in owners:
                sharing.setdefault(owner, []).append(k)
        return found

    def has(self, k: int, owner: int) -> bool:
        """Whether an output may alias the memory of an owner."""
        return self.owners is not None and owner in self.owners[self.outputs[k]]

    def share(self, j: int, k: int) -> bool:
        """Whether two outputs may alias."""
        if self.owners is None:
            return False
        return not self.owners[self.outputs[j]].isdisjoint(self.owners[self.outputs[k]])


def _seconds_of(k: Kernel) -> float:
    """Estimate how long compiling a kernel takes."""
    seconds = sum(t * k.source.count(part) for part, t in _SECONDS_BY_PART.items())
    return 0.5 * seconds if k.is_brief else seconds


def _function(source: str, name: str, scope: dict[str, Any]) -> tuple[Callable, str]:
    """Execute source; return the function that it defines, and its file name."""
    filename = f"<compiled {name} {next(_serials)}>"
    scope = dict(scope)  # each function has its own buffers
    exec(compile(source, filename, "exec"), scope)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return scope[name], filename
