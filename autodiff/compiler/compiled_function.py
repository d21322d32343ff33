"""The compiled function that users call, and its variants: from a call to a program."""

from __future__ import annotations

import functools
import itertools
import keyword
import linecache
import sys
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.compiler.compile_errors import (
    MISMATCH,
    BudgetExceededError,
    CompileError,
    LoopsUnrolledError,
    NotRecordedError,
)
from autodiff.compiler.compile_report import Report, report_of
from autodiff.compiler.kernels import array_kernels
from autodiff.compiler.kernels.array_kernels import Kernel, with_kernels
from autodiff.compiler.passes.alias_analysis import OUTSIDE, AliasAnalysis, remove_copies
from autodiff.compiler.passes.batching import batched
from autodiff.compiler.passes.einsum_splitting import split_einsums
from autodiff.compiler.passes.shared_factorisations import share_factorisations
from autodiff.compiler.passes.simplify import has_nan, simplify
from autodiff.compiler.python_backend.emitter import Emitter, restored
from autodiff.compiler.recording import effect_hooks as effect_hooks
from autodiff.compiler.recording.captured_guards import dependencies
from autodiff.compiler.recording.changing_objects import Ways, is_new_way
from autodiff.compiler.recording.content_guards import SIMPLE
from autodiff.compiler.recording.dependency import Dependency
from autodiff.compiler.recording.executed_code import Place, Watch, places_of
from autodiff.compiler.recording.guard_source import checks_of
from autodiff.compiler.recording.ir import Program, Ref, Step, effect, guard, read_by_guards
from autodiff.compiler.recording.recorder import Recording
from autodiff.compiler.recording.results import Outputs
from autodiff.compiler.recording.signature_guards import MAY_CHANGE, Inputs, Names
from autodiff.compiler.tiering.backoff import Backoff
from autodiff.compiler.tiering.budget import Budget
from autodiff.compiler.tiering.promotion import MANY_STEPS, Candidate, contest, take, watch
from autodiff.compiler.tiling.tile_executor import Tiles
from autodiff.compiler.tiling.tile_groups import tile_program
from autodiff.dispatch.arguments import innermost
from autodiff.errors import ArgumentError
from autodiff.intercept import intercept
from autodiff.mutation import written_arguments
from autodiff.trace.pytree import leaves_of, parts_of
from autodiff.trace.trace_stack import recording as at_level
from chainrules_core.define.partial import ARITHMETIC
from chainrules_core.interpreter.noticed import mark, restore
from chainrules_core.interpreter.quiet import is_mild
from chainrules_core.rule import Rule
from chainrules_core.rules import name_of

_serials = itertools.count(1)
_INSTALL = 'pip install "chainrules-autodiff[native]"'
_BACKENDS = ("auto", "python", "native")
_MOST_FAILURES = 3


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
    with_loops : callable, optional
        Makes a variant that keeps the loops which this one has unrolled.
    """

    __slots__ = (
        "filename", "is_slower", "is_watched", "leaves_arguments", "loops", "program", "run",
        "source", "with_loops", "written",
    )  # fmt: skip

    def __init__(
        self, run: Callable, source: str, program: Program, filename: str, loops: list
    ) -> None:
        self.run = run
        self.loops = loops
        self.source = source
        self.program = program
        self.filename = filename
        self.written: Callable | None = None
        self.is_slower = self.is_watched = False
        self.leaves_arguments = True
        self.with_loops: Callable | None = None

    def forget(self) -> None:
        """Remove the source from the cache for tracebacks."""
        linecache.cache.pop(self.filename, None)


class Compiled:
    """A compiled function: recorded once for each signature of its arguments.

    Attributes
    ----------
    source : str
        The source of the variants, the most recently used first.
    variants : int
        How many there are.
    eager_because : str or None
        Why the last recording failed, so that the function ran as written.
    """

    def __init__(
        self, f: Callable, maxsize: int = 16, backend: str = "auto", also: Sequence[Callable] = ()
    ) -> None:
        if not callable(f):
            raise ArgumentError(f"compile takes a function, not {type(f).__name__}: compile(f).")
        if backend not in _BACKENDS:
            raise ArgumentError(f"backend is one of {', '.join(_BACKENDS)}, not {backend!r}.")
        if not isinstance(maxsize, int) or maxsize < 1:
            raise ArgumentError(
                f"maxsize is how many variants are kept, at least 1, not {maxsize!r}."
            )
        if backend == "native" and not array_kernels.is_installed():
            raise ArgumentError("backend='native' needs llvmlite: pip install llvmlite.")
        functools.update_wrapper(self, f, updated=())
        self._f = f
        self._maxsize = maxsize
        self._backend = backend
        self._also = also  # functions whose outer variables are guarded as well
        # By the number of positional arguments and the names of the others.
        self._variants: dict[Any, list[Variant]] = {}
        self._failures: dict[Any, int] = {}
        self._backoffs: dict[Any, Backoff] = {}
        self._has_generators = False  # among the arguments of any call so far
        self.eager_because: str | None = None
        self._eager_loops: list[Any] = []  # structured programs of the last failed recording
        _compiled.add(self)

    def __repr__(self) -> str:
        more = "" if array_kernels.is_installed() else f"; machine code needs llvmlite: {_INSTALL}"
        return f"<compiled {name_of(self._f)}, {self.variants} variants{more}>"

    def __reduce__(self) -> Any:
        """Pickle the function that is compiled, or its name if that stands for the compiled one."""
        name = getattr(self, "__qualname__", "")  # of what it wraps
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return Compiled, (self._f, self._maxsize, self._backend, self._also)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if not is_mild():  # a program does not run each of the function's operations
            return self._as_written(args, kwargs)
        key: Any = (len(args), *kwargs) if kwargs else len(args)
        variants = self._variants.get(key)
        if variants is not None:
            values = (*args, *kwargs.values()) if kwargs else args
            states = _states(values) if self._has_generators else ()
            try:
                y = variants[0].run(*values)
                if y is not MISMATCH:
                    return y
                for i in range(1, len(variants)):
                    variant = variants[i]
                    y = variant.run(*values)
                    if y is not MISMATCH:
                        # A new list, because another thread may iterate over the old one.
                        self._variants[key] = [variant, *variants[:i], *variants[i + 1 :]]
                        return y
            except Exception as error:  # if it is the user's own, the next line raises it again
                restored(*states)
                value = self._f(*args, **kwargs)
                if not isinstance(error, ARITHMETIC):  # floats raise where NumPy gives Inf or NaN
                    self.eager_because = f"a program fails: {type(error).__name__}: {error}"
                return value
        return self._record(key, args, kwargs)

    def _as_written(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the original function; traced, if the call is part of another derivative."""
        f = self._f if innermost(args, kwargs) is None else intercept(self._f)
        return f(*args, **kwargs)

    def _record(self, key: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run and record a call that no variant fits."""
        if innermost(args, kwargs) is not None:
            return intercept(self._f)(*args, **kwargs)  # part of another derivative
        if self._failures.get(key, 0) >= _MOST_FAILURES:
            return self._f(*args, **kwargs)
        backoff = self._backoffs.setdefault(key, Backoff())
        if backoff.must_wait():
            self.eager_because = "each of the last calls took another way through the function"
            return self._f(*args, **kwargs)
        if backoff.has_debt:
            return backoff.pay_off(lambda: self._f(*args, **kwargs))
        budget = backoff.budget()
        states, before = _states((*args, *kwargs.values())), mark()
        self._has_generators = self._has_generators or bool(states)
        try:
            exact = any(v.program.exact for v in self._variants.get(key, ()))
            variant, value = recorded(
                self._f, args, kwargs, self._backend, self._also, exact, budget
            )
        except CompileError:
            raise
        except Exception as error:
            restored(*states)
            restore(before)
            spent = budget.spent
            value = self._f(*args, **kwargs)  # raises the user's own error again
            is_final = isinstance(error, LoopsUnrolledError)
            self._eager_loops = error.loops if isinstance(error, NotRecordedError) else []
            if isinstance(error, BudgetExceededError):
                backoff.note_too_long(spent, budget.spent - spent)
            self._failures[key] = _MOST_FAILURES if is_final else self._failures.get(key, 0) + 1
            self.eager_because = f"{type(error).__name__}: {error}"
            return value
        self._failures.pop(key, None)
        backoff.note_recording(variant)
        if not states:
            if variant.leaves_arguments:
                variant.written = _for_same_signature(self._as_written, args, kwargs)
            if not kwargs and _may_use_machine_code(self._backend):
                variant.with_loops = self._maker_with_loops(variant)
            contest(variant, variant.run)
        variants = [variant, *self._variants.get(key, ())]
        for old in variants[self._maxsize :]:
            old.forget()
        self._variants[key] = variants[: self._maxsize]
        return value

    def _maker_with_loops(self, variant: Variant) -> Callable | None:
        """Return a function that makes a variant with loops, if this one has unrolled any."""
        program = variant.program
        is_unrolled = any(is_unrolled for _, is_unrolled in variant.loops)
        if not is_unrolled or program.exact or any(s.f is effect for s in program.steps):
            return None

        def make(args: tuple) -> Variant | None:
            before = mark()
            try:
                made, _ = recorded(self._f, args, {}, self._backend, self._also, keep_loops=True)
            except Exception:  # keep the present variant
                restore(before)
                return None
            return None if all(is_unrolled for _, is_unrolled in made.loops) else made

        return make

    @property
    def variants(self) -> int:
        """The number of programs that are kept."""
        return sum(map(len, self._variants.values()))

    @property
    def source(self) -> str:
        """The source of the programs, the most recently used first."""
        return "\n\n".join(v.source for vs in self._variants.values() for v in vs)

    def report(self) -> Report:
        """Return how the function runs: its programs, and how each loop runs.

        Returns
        -------
        Report
            It prints as text. ``.loops`` has the function, file and line of each loop, its state
            (``"machine code"``, ``"NumPy source"``, ``"straight line"`` or ``"traced"``), and why
            it does not run faster.

        Examples
        --------
        >>> from autodiff import compile, gradient
        >>> def decay(x, n):
        ...     for _ in range(n):
        ...         x = x - 0.1 * x * x
        ...     return x
        >>> slope = compile(lambda x: gradient(decay, x, 30, argnums=0))
        >>> slope.report()
        <lambda>: not called yet
        >>> _ = slope(2.0)
        >>> slope.report().programs
        1
        """
        loops = [pair for vs in self._variants.values() for v in vs for pair in v.loops]
        loops += [(programs, False) for programs in self._eager_loops]
        name = getattr(self._f, "__name__", None) or name_of(self._f)
        why = self.eager_because
        if any(v.is_slower for vs in self._variants.values() for v in vs):
            why = why or "a program is slower than the function as it is written"
        return report_of(name, self.variants, why, loops)

    def clear(self) -> None:
        """Drop all programs."""
        for variant in itertools.chain(*self._variants.values()):
            variant.forget()
        self._variants = {}
        self._failures = {}
        self._backoffs = {}
        self.eager_because = None


_compiled: weakref.WeakSet[Compiled] = weakref.WeakSet()


def _forget(rule: Rule | None = None) -> None:
    """Drop all programs after a rule has changed: they contain derivatives."""
    for function in list(_compiled):
        function.clear()


caches.on_rule_change(_forget)


def _may_use_machine_code(backend: str) -> bool:
    return backend != "python" and array_kernels.is_installed()


def _for_same_signature(as_written: Callable, args: tuple, kwargs: dict) -> Callable | None:
    """Return `as_written` guarded by the signature of the arguments; None if it is not simple."""
    signature = _signature_of((*args, *kwargs.values()))
    if signature is None:
        return None
    n, names = len(args), list(kwargs)

    def written(*values: Any) -> Any:
        if _signature_of(values) != signature:
            return MISMATCH
        return as_written(values[:n], dict(zip(names, values[n:], strict=True)))

    return written


_NUMBERS = (float, complex, np.float64)
_CONSTANTS = (int, bool, str, type(None))
_READ = (*SIMPLE, bytes, tuple, list, dict, *MAY_CHANGE)
_READ_WITH_SUBCLASSES = (np.ndarray, np.generic, np.random.Generator)
"""Classes of arguments that a program reads or compares at each call."""


def _signature_of(x: Any) -> tuple | None:
    """Return types, dtypes and shapes of arrays, numbers and containers of them; None for others.

    What a program knows by its value is part of the signature.
    """
    kind = type(x)
    if kind is np.ndarray:
        return kind, x.dtype, x.shape
    if kind in _CONSTANTS:
        return kind, x
    if kind is dict:
        parts = _signature_of(tuple(x.values()))
        return None if parts is None else (kind, *x, parts)
    if kind is tuple or kind is list:
        parts = tuple(map(_signature_of, x))
        return None if None in parts else (kind, *parts)
    return (kind,) if kind in _NUMBERS else None


def _states(given: tuple) -> list[tuple[Any, Any]]:
    """Return the random generators among the arguments, with their states."""
    generators = [g for g in leaves_of(given) if isinstance(g, np.random.Generator)]
    return [(g, g.bit_generator.state) for g in generators]


def recorded(
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    backend: str,
    also: Sequence[Callable] = (),
    exact: bool = False,
    budget: Budget | None = None,
    numbers: Mapping[Place, str] = types.MappingProxyType({}),
    keep_loops: bool = False,
    is_proved: Callable[[set[Place]], bool] = lambda _: False,
) -> tuple[Variant, Any]:
    """Record a call; return a variant, and the result.

    Parameters
    ----------
    f : callable
        The function.
    args, kwargs : tuple, dict
        Its arguments.
    backend : str
        As for `compile`.
    also : sequence of callable
        Functions whose outer variables are guarded as well.
    exact : bool
        Whether `f` is known to branch on the last bits of a value.
    budget : Budget, optional
        What recording and compiling may cost.
    numbers : mapping
        Which variables must be numbers at which lines.
    keep_loops : bool
        Whether loops run as structured programs; otherwise they are unrolled.
    is_proved : callable
        Says whether a proof shows that of the user's code only functions at these places run.

    Returns
    -------
    tuple of (Variant, Any)
        The variant, and the result of the call.

    Raises
    ------
    NotRecordedError
        If the call cannot be recorded.
    """
    budget = budget or Budget()
    arguments = (*args, *kwargs.values())
    outside, places = _outer_reads(f, also, arguments)
    watch, states = Watch(places, numbers, is_proved(places)), _states(arguments)

    def attempt(strict: bool = False) -> tuple:
        restored(*states)  # so that each attempt draws the same numbers
        with watch:
            return _record_once(f, args, kwargs, budget, keep_loops, strict, outside)

    try:
        tape, inputs, outputs, parameters = attempt()
    except Exception as error:
        for d in outside:
            d.undo()
        if keep_loops or numbers or not getattr(error, "as_steps", False):
            raise  # `numbers` cannot be checked in the lines that a structured program runs
        keep_loops = True
        tape, inputs, outputs, parameters = attempt()
    if tape.assumes_no_nan and any(map(_is_nan, leaves_of(outputs.value))):
        tape, inputs, outputs, parameters = attempt(strict=True)
    _check_unchanged(f, outside)
    if watch.unseen:
        raise NotRecordedError(f"runs {watch.unseen}, which its code does not name")
    program = _program(tape, inputs, outputs)
    inputs.checks[:0] = checks_of(outside, inputs.names)
    inputs.names.scope.update(MISMATCH=MISMATCH, ndarray=np.ndarray)
    loops = [(owner, not calls.is_one_step) for owner, calls in tape.loops.items()]
    builder = _VariantBuilder(f, inputs, outputs, parameters, backend, loops, budget)
    has_branches = any(s.f is guard and s.args[1] is not has_nan for s in program.steps)
    can_be_rerun = not any(s.f is effect for s in program.steps)
    may_change_branch = has_branches and can_be_rerun
    variant = builder.variant(program, last=not may_change_branch)
    if may_change_branch and (exact or _changes_branch(variant, arguments)):
        program.exact = read_by_guards(program.steps)
        variant = builder.variant(program, last=True)
    else:
        builder.promote(variant)
    variant.leaves_arguments = not inputs.are_written
    for effect_of_call in tape.late:  # nothing can fail any more
        effect_of_call()
    return variant, outputs.value


def _outer_reads(
    f: Callable, also: Sequence[Callable], arguments: tuple
) -> tuple[list[Dependency], set[Place]]:
    """Return the outer variables that functions read, and the places of their code.

    Raise if a variable cannot be guarded.
    """
    outside: list[Dependency] = []
    places: set[Place] = set()
    for k, g in enumerate((f, *also)):
        read, why_not, functions = dependencies(g, () if k else _objects_in(arguments))
        outside += read
        places |= places_of(functions)
        if why_not:
            raise NotRecordedError(f"{name_of(g)} {why_not}")
        contents = [d.inside for d in read if d.inside is not None]
        if not all(c.is_small if k else c.is_whole for c in contents):
            raise NotRecordedError(f"{name_of(g)} reads more than can be compared")
    return outside, places


def _objects_in(x: Any) -> list[tuple[Any, frozenset[str]]]:
    """Return what is in a pytree besides numbers, arrays, texts and plain containers of them.

    With each come the attributes that are on all ways to it.
    """
    seen: Ways = {}
    waiting: list[tuple[Any, frozenset[str]]] = [(x, frozenset())]
    while waiting:
        x, path = waiting.pop()
        if not is_new_way(seen, x, path):  # an object may refer to itself
            continue
        path = seen[id(x)][1]
        has_attributes = not isinstance(x, (tuple, list, dict))
        for key, part in parts_of(x) or ():
            waiting.append((part, path | {key} if has_attributes else path))
    return [
        (x, path)
        for x, path in seen.values()
        if type(x) not in _READ and not isinstance(x, _READ_WITH_SUBCLASSES)
    ]


def _changes_branch(variant: Variant, args: tuple) -> bool:
    """Whether a program fails its own guards, because a branch depends on the last bits."""
    try:
        return variant.run(*args) is MISMATCH
    except Exception:  # a later call that raises it runs as written
        return False


class _VariantBuilder:
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
        self.may_use_machine_code = _may_use_machine_code(backend)
        self._copied: set[int] = set()  # the outputs that are returned as copies
        self._untiled: Any = None  # the program before it is cut into tiles
        self._is_tiled = False

    def variant(self, program: Program, last: bool = False) -> Variant:
        """Run all passes over a program, and return it as a variant.

        `last` says that the recorded steps are not needed again.
        """
        was_shared = _Sharing(program)
        shorter = simplify(program if program.exact else split_einsums(program))
        self._check_budget()
        if last:
            program.steps.clear()  # the steps of a long program take much memory
        program = self._untiled = remove_copies(shorter)
        if not program.exact:
            self._untiled = remove_copies(
                share_factorisations(batched(program, self.may_use_machine_code))
            )
            self._check_budget()
            program = tile_program(self._untiled, self.may_use_machine_code)
            self._is_tiled = any(type(s.f) is Tiles for s in program.steps)
        self._copied = _Sharing(program).new(was_shared)
        self._check_budget()
        run, filename, source = self.emit(program)
        return Variant(run, source, program, filename, self.loops)

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

    def candidate(self, program: Program, forced: bool) -> Candidate | None:
        """Return the program with machine-code kernels, not yet compiled; None without kernels."""
        faster = with_kernels(program, forced)
        if faster is None:
            return None
        kernels = [s.f for s in faster.steps if type(s.f) is Kernel]
        seconds = _SECONDS + sum({k.source: _seconds_of(k) for k in kernels}.values())
        if seconds > _MOST_SECONDS and self.backend != "native":
            return None
        is_requested = self.backend == "native" and not self._is_tiled
        is_small = max(k.largest for k in kernels) <= _SMALL
        is_faster = is_requested or (is_small and (not forced or self.backend == "native"))
        return Candidate(seconds, is_faster, lambda: self._compile(faster, kernels))

    def _compile(self, faster: Program, kernels: list[Kernel]) -> tuple[Callable, str, str]:
        run, filename, source = self.emit(faster)
        for k in kernels:
            k.compiled()
        return run, filename, "\n\n".join([*[k.source for k in kernels], source])

    def promote(self, variant: Variant) -> None:
        """Compile a variant to machine code: now or soon if requested, otherwise when it pays."""
        whole, program = self._untiled, variant.program
        n = len(program.steps)
        soon = (lambda: self.candidate(program, False)) if n >= array_kernels.FEWEST else None
        if self.backend == "native":
            candidate = self.candidate(whole, True)
            if candidate is None:
                return
            if self.budget.allows(candidate.seconds):
                take(variant, candidate, variant.run)
                return
            # The user has requested it, so it need not pay: compile after a few calls.
            n, soon = MANY_STEPS, lambda: candidate._replace(seconds=0.0)
        if self.may_use_machine_code and len(whole.steps) >= _FEWEST_STEPS:
            watch(variant, n, soon, lambda: self.candidate(whole, True))


def _check_unchanged(f: Callable, outside: list[Dependency]) -> None:
    """Undo what a function has changed in its outer variables; raise if there is anything."""
    changed = [d.label for d in outside if d.undo()]
    if changed:
        raise NotRecordedError(f"{name_of(f)} changes {changed[0]!r}, which is not its own")


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


# Compile time: a constant and its limit; the time of each line, loop and branch.
_SECONDS, _MOST_SECONDS = 0.02, 5.0
_SECONDS_BY_PART = {"\n": 0.0005, "for ": 0.006, "if ": 0.008}
_FEWEST_STEPS = 6
_SMALL = 1024


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


def _record_once(
    f: Callable, args: tuple, kwargs: dict[str, Any], budget: Budget,
    keep_loops: bool, strict: bool, outside: list[Dependency],
) -> tuple[Recording, Inputs, Outputs, list[str]]:  # fmt: skip
    tape = Recording(strict, budget, keep_loops)
    inputs = Inputs(tape, Names())
    parameters = [f"a{i}" for i in range(len(args) + len(kwargs))]
    given = list(zip(parameters, (*args, *kwargs.values()), strict=True))
    traced = [inputs.traced(a, name) for name, a in given]
    tape.generators = inputs.generators
    named = dict(zip(kwargs, traced[len(args) :], strict=True))
    watched = written_arguments.watch(inputs.containers())
    try:
        with at_level(tape):
            y = intercept(f)(*traced[: len(args)], **named)
        outputs = Outputs(tape, y, inputs, [d.value for d in outside])
    except NotRecordedError as error:
        error.loops = list(tape.loops)
        raise
    finally:
        written_arguments.end_watch(watched)
        has_changed = inputs.have_changed()
        tape.close()
    if has_changed:
        raise NotRecordedError("changes an argument that holds neither floats nor arrays")
    if tape.spoilt:
        raise NotRecordedError(tape.spoilt)
    if tape.has_changed():
        raise NotRecordedError("a function without source writes into an array after its use")
    inputs.check_written(f, given, any(d.may_be_written() for d in outside))
    return tape, inputs, outputs, parameters


def _program(tape: Recording, inputs: Inputs, outputs: Outputs) -> Program:
    steps = tape.steps
    if tape.assumes_no_nan:
        for x in outputs.leaves:
            if type(x) is Ref and _is_inexact(tape.metas[x.i]):
                steps.append(Step(guard, (x, has_nan, False), None, -1))
    return Program(steps, tape.metas, inputs.numbers, outputs.leaves)


def _is_inexact(meta: Any) -> bool:
    return meta.type in (float, complex) or (meta.dtype is not None and meta.dtype.kind in "fc")


def _is_nan(x: Any) -> bool:
    if isinstance(x, (float, complex)):
        return x != x
    is_inexact = isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"
    return is_inexact and bool(np.isnan(x).any())
