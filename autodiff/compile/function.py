"""compile(f): the function that users call, its variants and their guards."""

from __future__ import annotations

import functools
import itertools
import linecache
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.arguments import innermost
from autodiff.compile.dependencies import Dependency, dependencies
from autodiff.compile.emit import Emitter
from autodiff.compile.forms import Inputs, Names, Outputs
from autodiff.compile.program import Program, Ref, Step, guard
from autodiff.compile.recording import CannotCompile, Recording
from autodiff.errors import DifferentiationError
from autodiff.intercept import intercept
from autodiff.levels import recording as at_level
from chainrules_core.define.partial import ARITHMETIC
from chainrules_core.rules import name_of

DEBUG = False
MISMATCH: Any = object()
"""What a variant returns for arguments that it is not for."""

_serials = itertools.count(1)


class CompileError(DifferentiationError):
    """A function cannot be compiled: it would not do each time what it did once."""


class Variant:
    """A recorded program, compiled.

    Attributes
    ----------
    run : callable
        Takes the arguments; returns the result, or `MISMATCH`.
    source : str
        Its source.
    """

    __slots__ = ("calls", "program", "run", "source")

    def __init__(self, run: Callable, source: str, program: Program | None) -> None:
        self.run = run
        self.source = source
        self.program = program
        self.calls = 0


class Compiled:
    """A function that is recorded once for each form of its arguments, and compiled."""

    def __init__(self, f: Callable, maxsize: int = 16, backend: str = "auto") -> None:
        functools.update_wrapper(self, f, updated=())
        self._f = f
        self._maxsize = maxsize
        self._backend = backend
        self._variants: dict[Any, list[Variant]] = {}
        self.eager_because: str | None = None

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        form: Any = (len(args), *kwargs) if kwargs else len(args)
        variants = self._variants.get(form)
        if variants is not None:
            given = (*args, *kwargs.values()) if kwargs else args
            for variant in variants:
                try:
                    y = variant.run(*given)
                except ARITHMETIC:  # Python's floats raise where NumPy's do not
                    return self._f(*args, **kwargs)
                if y is not MISMATCH:
                    return y
        return self._record(form, args, kwargs)

    def _record(self, form: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if innermost(args, kwargs) is not None:
            return intercept(self._f)(*args, **kwargs)
        try:
            variant, value = recorded(self._f, args, kwargs)
        except CompileError:
            raise
        except Exception as error:
            if DEBUG: raise
            value = self._f(*args, **kwargs)  # an error of the user's own is raised here again
            self.eager_because = f"{type(error).__name__}: {error}"
            return value
        variants = self._variants.setdefault(form, [])
        self._variants[form] = [variant, *variants][: self._maxsize]
        return value

    @property
    def source(self) -> str:
        """The source of the variants."""
        return "\n\n".join(v.source for vs in self._variants.values() for v in vs)


def recorded(f: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[Variant, Any]:
    """Record a call; return the program as a variant, and the result."""
    tape = Recording()
    names = Names()
    names.scope.update(MISMATCH=MISMATCH, ndarray=np.ndarray, tuple=tuple, len=len, type=type)
    inputs = Inputs(tape, names)
    parameters = [f"a{i}" for i in range(len(args) + len(kwargs))]
    outside, writes = dependencies(f)
    if writes:
        raise CompileError(
            f"{name_of(f)} writes {writes}, which a compiled function would do only while it is "
            "recorded. Return the value instead."
        )
    traced = [inputs.traced(a, n) for a, n in zip((*args, *kwargs.values()), parameters)]
    named = dict(zip(kwargs, traced[len(args) :], strict=True))
    with at_level(tape):
        y = intercept(f)(*traced[: len(args)], **named)
    outputs = Outputs(tape, y)
    tape.close()
    if tape.spoilt:
        raise CannotCompile(tape.spoilt)
    program = Program(tape.steps, tape.metas, inputs.numbers, outputs.leaves)
    emitter = Emitter(program, inputs, outputs, names)
    source = emitter.source(parameters, _name(f))
    filename = f"<compiled {_name(f)} {next(_serials)}>"
    code = compile_source(source, filename, "exec")
    exec(code, names.scope)
    return Variant(names.scope[_name(f)], source, program), outputs.value


compile_source = compile  # the builtin; the name is ours below


def _name(f: Callable) -> str:
    name = getattr(f, "__name__", "f")
    return name if name.isidentifier() else "f"


def compile(f: Callable | None = None, *, maxsize: int = 16, backend: str = "auto") -> Any:
    """Return a function that does what `f` does, recorded and compiled."""
    if f is None:
        return functools.partial(compile, maxsize=maxsize, backend=backend)
    return Compiled(f, maxsize, backend)
