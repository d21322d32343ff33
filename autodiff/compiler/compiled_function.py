"""The compiled function that users call: it finds the program that fits a call, or records it."""

from __future__ import annotations

import functools
import itertools
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from autodiff import caches
from autodiff.compiler.call_recording import generator_states, recorded
from autodiff.compiler.compile_errors import (
    MISMATCH,
    BudgetExceededError,
    CompileError,
    LoopsUnrolledError,
    NotRecordedError,
)
from autodiff.compiler.compile_report import Report, report_of
from autodiff.compiler.kernels import array_kernels
from autodiff.compiler.python_backend.emitter import restored
from autodiff.compiler.recording.ir import effect
from autodiff.compiler.tiering.backoff import Backoff
from autodiff.compiler.tiering.promotion import contest
from autodiff.compiler.variants import Variant, may_use_machine_code
from autodiff.dispatch.arguments import innermost
from autodiff.errors import ArgumentError
from autodiff.intercept import intercept
from autodiff.trace.varying_inputs import VaryingInputs
from chainrules_core.define.partial import ARITHMETIC
from chainrules_core.interpreter.noticed import mark, restore
from chainrules_core.interpreter.quiet import is_mild
from chainrules_core.rule import Rule
from chainrules_core.rules import name_of

_INSTALL = 'pip install "chainrules-autodiff[native]"'
_BACKENDS = ("auto", "python", "native")
_MOST_FAILURES = 3


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
        self._varying: dict[Any, VaryingInputs] = {}
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
            states = generator_states(values) if self._has_generators else ()
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
        states, before = generator_states((*args, *kwargs.values())), mark()
        self._has_generators = self._has_generators or bool(states)
        varying = self._varying.setdefault(key, VaryingInputs())
        try:
            exact = any(v.program.exact for v in self._variants.get(key, ()))
            variant, value = recorded(
                self._f, args, kwargs, self._backend, self._also, exact, budget, varying=varying
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
                variant.written = _where_accepted(variant, self._as_written, len(args), [*kwargs])
            if not kwargs and may_use_machine_code(self._backend):
                variant.with_loops = self._maker_with_loops(variant, varying)
            contest(variant, variant.run)
        variants = [variant, *self._variants.get(key, ())]
        for old in variants[self._maxsize :]:
            old.forget()
        self._variants[key] = variants[: self._maxsize]
        return value

    def _maker_with_loops(self, variant: Variant, varying: VaryingInputs) -> Callable | None:
        """Return a function that makes a variant with loops, if this one has unrolled any."""
        program = variant.program
        is_unrolled = any(is_unrolled for _, is_unrolled in variant.loops)
        if not is_unrolled or program.exact or any(s.f is effect for s in program.steps):
            return None

        def make(args: tuple) -> Variant | None:
            before = mark()
            try:
                made, _ = recorded(
                    self._f, args, {}, self._backend, self._also, keep_loops=True, varying=varying
                )
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


def _where_accepted(variant: Variant, as_written: Callable, n: int, names: list[str]) -> Callable:
    """Return `as_written` for the arguments that a program accepts; MISMATCH for others.

    `n` is how many arguments are given by position; the others have these names.
    """
    check = functools.cache(variant.checks)

    def written(*values: Any) -> Any:
        if check()(*values) is MISMATCH:
            return MISMATCH
        return as_written(values[:n], dict(zip(names, values[n:], strict=True)))

    return written
