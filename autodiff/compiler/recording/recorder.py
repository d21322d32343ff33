"""The recording: the outermost trace level, which records every call that sees one of its values.

Values are concrete while recording, so control flow is Python's. What Python reads of a value (a
branch, an index) becomes a guard. Derivatives inside are recorded through their rules and
pullbacks, which are plain calls on this level, so the forward and backward passes become
straight-line code.
"""

from __future__ import annotations

import math
import operator
import sys
import time
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from autodiff import python_operators
from autodiff.compiler.compile_errors import LoopsUnrolledError, NotRecordedError
from autodiff.compiler.recording import masks as masks
from autodiff.compiler.recording.function_effects import (
    OPEN,
    STRUCTURAL,
    arrays_in,
    fit_steps,
    is_open,
    may_write,
    order_of,
)
from autodiff.compiler.recording.ir import (
    GivenObject,
    Meta,
    Ref,
    Step,
    described,
    effect,
    gives_again,
    guard,
    has_refs,
    is_inexact,
    meta_of,
    part,
    raises_again,
    refs_in,
    set_flat,
    set_imaginary,
    set_item,
    set_real,
    text_of,
    text_of_constant,
)
from autodiff.compiler.tiering.budget import Budget
from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import PLAIN
from autodiff.dispatch.call import call as call_again
from autodiff.functions import COMPARISONS, FunctionFacts, facts_of, takes_floats
from autodiff.mutation.memory_layout import copy_of
from autodiff.mutation.views import note_shared
from autodiff.structured.calls import ProgramRun, Programs
from autodiff.structured.recorded_calls import (
    LONG,
    LONG_AS_SOURCE,
    TOO_LONG,
    Unrolled,
    as_one_step,
    run_as_step,
)
from autodiff.trace.pytree import leaves_of, map_leaves, parts_of, rebuilt
from autodiff.trace.tape import CONSTANT, Tape
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, untraced
from chainrules_core import rrule
from chainrules_core.define import STEPS, STEPS_OF_ARRAYS, DecomposeRule
from chainrules_core.define.scalar import has_nan
from chainrules_core.interpreter.quiet import is_mild
from chainrules_core.rules import name_of

_NUMBERS = (float, complex, np.number, np.bool_)
_PLAIN_NUMBERS = frozenset({float, int, np.ndarray, np.float64, np.float32, np.int64})
_DTYPES = {float: np.dtype(float), complex: np.dtype(complex)}
_READS = frozenset({bool, int, operator.index, round})
_EQUALITY = (operator.eq, operator.ne)
_REPETITION = (operator.mul, operator.imul)
_OF_INTEGERS = frozenset(
    {o.function for o in python_operators.BINARY.values()}
    | {operator.neg, operator.pos, abs}
    | {operator.invert}
)
"""Operators whose results are values of the program if they are integers."""
_READ_INTEGERS = frozenset({np.broadcast_shapes, np.min_scalar_type})
_OFTEN = 32  # steps between two checks of the budget, each of which takes a microsecond
_FIRST_LOOK = 600  # steps after which loops are looked for that could run from their source
_TURNS_OF_STEP = 100
"""Separate loops of fewer estimated turns are recorded: a step costs about 12 µs."""
_LIMITS = (LONG, LONG_AS_SOURCE, TOO_LONG)  # of steps: a recording may end there
_LONG_FOR_NUMBERS = 2000  # straight-line code of numbers is faster, but takes long to compile


class Recording(Tape):
    """The tape of a program.

    Attributes
    ----------
    steps : list of Step
        The calls so far.
    metas : list of Meta
        The abstract value of each value.
    strict : bool
        Whether each product of forward mode is checked for NaN, and not only the results.
    assumes_no_nan : bool
        Whether the check of a product was left out.
    spoilt : str
        Why the program cannot be used; "" if it can.
    is_refused : bool
        Whether an error was raised because an impure function was called.
    budget : Budget
        The time and memory that making the program may take.
    keep_loops : bool
        Whether a call of a function with loops is one step, if machine code can run it.
    variables : dict
        Variables outside the function → values of the recording that stand for what they hold. The
        source of functions that read them cannot be read then. The keys are the identities of
        globals or objects, and names.
    may_copy, writes : bool
        Whether a view was made that would be a copy with another memory layout, and whether an
        array was written into. Then the result depends on the memory layout of the arguments.
    written : list
        The arguments of inner derivatives, containers and arrays, into which these write.
    """

    __slots__ = (
        "assumes_no_nan", "budget", "generators", "inputs", "is_refused", "keep_loops", "late",
        "loops", "may_copy", "metas", "next_check", "next_look", "own_generators", "reads",
        "spoilt", "stdout", "steps", "strict", "variables", "writes", "written",
    )  # fmt: skip

    records = False
    program = True

    def __init__(
        self, strict: bool = False, budget: Budget | None = None, keep_loops: bool = False
    ) -> None:
        super().__init__()
        self.watching = True  # all writes into what the program reads are noticed
        self.budget = budget or Budget()
        self.inputs = 0
        self.loops: dict[Programs, Unrolled] = {}  # functions with loops
        self.next_check = 0
        self.next_look = LONG if keep_loops else _FIRST_LOOK
        self.keep_loops = keep_loops
        self.variables: dict[tuple, Any] = {}
        self.steps: list[Step] = []
        self.metas: list[Meta] = []
        self.reads: dict[tuple, Any] = {}
        self.strict = strict
        self.assumes_no_nan = False
        self.spoilt = ""
        self.is_refused = False
        self.may_copy = self.writes = False
        self.generators: dict[int, str] = {}  # those among the arguments, by identity
        self.own_generators: list[Any] = []  # those made while recording, from a seed
        self.written: list[Any] = []
        self.stdout = sys.stdout
        self.late: list[Callable] = []  # side effects to do when the recording has succeeded

    def check_open(self) -> None:
        """Raise if the recording has ended, or has become too long to be of use."""
        if not is_mild():
            self.spoil("a floating-point error raises in it, or calls a function")
        n = len(self.steps)
        if n < self.next_check:
            return
        super().check_open()
        self.next_check = n + _OFTEN
        self.budget.check_recording()
        if n > self.next_look:
            self.next_look = min([2 * n, *[limit for limit in _LIMITS if limit > n]])
            is_short = not any(c.seems_long() for c in self.loops.values())
            if n < _LONG_FOR_NUMBERS and is_short and self.holds_mostly_numbers():
                self.next_look = min(self.next_look, _LONG_FOR_NUMBERS)
            else:
                self._look_for_loops(n)
        self.next_check = min(self.next_check, self.next_look + 1)

    def holds_mostly_numbers(self) -> bool:
        """Whether at most half of the values are arrays: those that elements are written into."""
        return 2 * sum(meta.shape is not None for meta in self.metas) <= len(self.metas)

    def _look_for_loops(self, n: int) -> None:
        """Raise if loops could run from their source, which is shorter than all iterations."""
        loops, spent = list(self.loops.values()), self.budget.spent
        if loops:
            self.check_variables("there are loops")
        with self.budget.uncounted():
            as_steps = not self.keep_loops and any(c.should_be_steps(self, n) for c in loops)
            is_shorter = not self.budget.is_automatic and any(
                c.should_run_as_written(self, n, spent) for c in loops
            )
        if as_steps or is_shorter:
            raise LoopsUnrolledError("its loops run from their source, which is shorter", as_steps)

    def check_variables(self, what: str) -> None:
        """Raise if a program for loops, or a cache, would keep values that variables hold now."""
        if self.variables:
            raise NotRecordedError(f"a variable outside differs from call to call, and {what}")

    def leave_loops(self) -> NoReturn:
        """Raise because somebody asks what a loop compares, which its program does not note."""
        raise LoopsUnrolledError(
            "its loops may be searches, so they run as they are written", False
        )

    def close(self) -> list:
        """End the recording."""
        self.next_check = 0
        return super().close()

    def with_loops(
        self, programs: Programs, g: types.FunctionType, body: Callable, args: tuple,
        leaves: tuple, form: tuple,
    ) -> Any:  # fmt: skip
        """Call a function with loops, as one step, or record its iterations."""
        counted = self.loops.setdefault(programs, Unrolled())
        y = self.as_step(programs, g, body, leaves, form)
        if y is not NotImplemented:
            counted.is_one_step = True
            return y
        return counted.call(self.steps, programs, g, form, leaves, body, args)

    def with_separate_loop(
        self, programs: Programs, g: types.FunctionType, body: Callable, leaves: tuple, form: tuple
    ) -> Any:  # fmt: skip
        """Run a loop of a function as one step; None if the function is to run it as written."""
        counted = self.loops.setdefault(programs, Unrolled())
        if programs.turns(leaves) >= _TURNS_OF_STEP:
            y = self.as_step(programs, g, body, leaves, form)
            if y is not NotImplemented:
                counted.is_one_step = True
                return y
        counted.begin(self.steps, programs, g, form, leaves)
        return None

    def as_step(self, *call: Any) -> Any:
        """Make a call with loops as one step; NotImplemented if none can run it."""
        if not self.keep_loops:
            return NotImplemented
        self.check_variables("there are loops")
        with self.budget.uncounted():
            return as_one_step(self, *call)

    def value_of(self, f: Callable, run: Tracer, k: int, y: Any) -> Tracer:
        """Record ``f(run, k)``, whose value `y` is compared only where somebody reads it."""
        return Tracer(y, self, self._append(f, (Ref(run._index), k), None, y))

    def run_of(self, callee: Any, values: list) -> Any:
        """Run the program of a call as a step; None if no step can."""
        return run_as_step(self, callee, values)

    def spoil(self, why: str) -> None:
        """Note that the program cannot be used; the recording goes on for its results."""
        self.spoilt = self.spoilt or why

    def refuse(self, why: str) -> NoReturn:
        """End the recording before something is done that would be done again as it is written."""
        self.spoil(why)
        self.is_refused = True
        raise NotRecordedError(why)

    def input(self, x: Any) -> Tracer:
        """Return an input of the program, traced."""
        self.metas.append(meta_of(x))
        self.inputs = len(self.metas)
        return Tracer(x, self, self.inputs - 1)

    # -- calls -----------------------------------------------------------------------------------

    def binary(self, f: Callable, a: Any, b: Any) -> Any:
        """Record a binary operation of numbers and arrays, by the shortest path."""
        if type(a) is Tracer:
            x: Any = a._value
            left: Any = Ref(a._index) if a._tape is self else x
        else:
            x = left = a
        if type(b) is Tracer:
            z: Any = b._value
            right: Any = Ref(b._index) if b._tape is self else z
        else:
            z = right = b
        if type(x) not in _PLAIN_NUMBERS or type(z) not in _PLAIN_NUMBERS:
            return self.call(f, (a, b), {})
        self.check_open()
        if type(a) is np.ndarray:
            self.hold(a)
        if type(b) is np.ndarray:
            self.hold(b)
        start = time.perf_counter()
        try:
            y = f(x, z)
        except Exception as error:
            self._note_error(f, (left, right), {}, error)
            raise
        self.budget.inside += time.perf_counter() - start
        metas = self.metas
        if type(x) is int or type(z) is int:
            left, right = self.integers_as_floats(f, (left, right), y)
        self.steps.append(Step(f, (left, right), None, len(metas)))
        metas.append(meta_of(y))
        result = Tracer(y, self, len(metas) - 1)
        if type(y) is complex or self._is_power_of_integers(f, (left, right)):
            self.steps.append(Step(guard, (Ref(result._index), described, described(y)), None, -1))
        return result

    def call(self, f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function on the plain values and record the call."""
        self.check_open()
        if f in _REPETITION:
            args = _without_repetition(args)
            if not any(map(is_tracer, args)):
                return f(*args)
        facts = facts_of(f)
        if facts.reads_form:
            if facts.reads_memory:
                self.spoil("whether arrays share memory is asked, which is not followed")
            if f in _READ_INTEGERS:
                args = tuple(map(self.settled, args))
            return f(*[_bare(a) for a in args], **{k: _bare(v) for k, v in kwargs.items()})
        if f in _EQUALITY and not self.strict and self._asks_for_nan(args):
            self.assumes_no_nan = True
            return f is operator.eq
        if getattr(f, "__name__", "") == "__init__":  # it gives attributes to an object
            rules = rrule.resolve(f, args, kwargs)
            if rules is not None and isinstance(rules[0], DecomposeRule):
                return calls.body_of(rules[0].body)(*args, **kwargs)
            self.spoil(f"{name_of(f)} changes an object that is not followed")
        steps = STEPS.get(f)
        largest = (math.inf,) if f in STEPS_OF_ARRAYS else ()
        if steps is not None and fit_steps((args, tuple(kwargs.values())), *largest):
            y = calls.body_of(steps)(*args, **kwargs)
            if y is not NotImplemented:
                return y
        if facts.order and order_of(f, args, kwargs) in ("A", "K") and np.ndim(args[0]) > 1:
            self.spoil(f"{name_of(f)} takes elements as they lie in memory, which is not followed")
        return self._run(f, facts, args, kwargs)

    def _run(self, f: Callable, facts: FunctionFacts, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run a function on the plain values, and record the call and its result."""
        self.may_copy = self.may_copy or facts.may_copy
        if facts.has_fixed_form or facts.makes_form:
            n = facts.data
            args = (*args[:n], *map(self.settled, args[n:]))
            if kwargs:
                kwargs = {k: self.settled(a) if k in STRUCTURAL else a for k, a in kwargs.items()}
        given: list[Any] = []
        refs: list[Any] = []
        for a in args:
            plain, ref = self.lowered(a)
            given.append(plain)
            refs.append(ref)
        options, named_refs = {}, {}
        for name, a in kwargs.items():
            options[name], named_refs[name] = self.lowered(a)
        is_known = facts.has_fixed_form or isinstance(f, np.ufunc)
        if given and type(f) is types.MethodDescriptorType:
            if not isinstance(given[0], f.__objclass__):  # the method of a number
                f = getattr(type(given[0]), f.__name__)
            is_known = False
        arrays = arrays_in((given, options)) if not is_known and may_write(f) else []
        before = list(map(np.ndarray.tobytes, arrays))
        start = time.perf_counter()
        try:
            y = f(*given, **options)
        except Exception as error:
            self._note_error(f, tuple(refs), named_refs, error)
            raise
        self.budget.inside += time.perf_counter() - start
        if list(map(np.ndarray.tobytes, arrays)) != before:
            self.spoil(f"{name_of(f)} writes into an array that it is given")
        if facts.makes_form:
            return Tracer(y, CONSTANT, -1) if type(y) is np.ndarray else y
        if isinstance(f, np.ufunc) or f in _OF_INTEGERS:
            refs = list(self.integers_as_floats(f, tuple(refs), y))
        result = self.noted(f, tuple(refs), named_refs, y, is_known)
        if type(result) is Tracer and type(y) is not np.ndarray:
            return result
        seen = note_shared(result, args, f, lambda again: call_again(f, again, kwargs))
        # Whether it is an argument itself depends on the memory layout.
        self.writes = self.writes or (seen is not result and facts.may_copy)
        return seen

    def integers_as_floats(self, f: Callable, args: tuple, y: Any) -> tuple:
        """Return the operands of a step, with floats for the integers beside real numbers.

        So Python and NumPy compute. Comparisons of Python's numbers are exact.
        """
        if not any(type(a) is Ref and self.metas[a.i].type is int for a in args):
            return args
        metas = [self.metas[a.i] if type(a) is Ref else meta_of(a) for a in args]
        is_array = type(y) is np.ndarray
        if not (is_array or (is_inexact(meta_of(y)) and f not in COMPARISONS)):
            return args
        if not any(map(is_inexact, metas)) or (isinstance(f, np.ufunc) and not takes_floats(f)):
            return args
        return tuple([
            Ref(self._append(float, (a,), None, 0.0)) if type(a) is Ref and meta.type is int else a
            for a, meta in zip(args, metas, strict=True)
        ])  # fmt: skip

    def _note_error(
        self, f: Callable, args: tuple, kwargs: dict[str, Any], error: Exception
    ) -> None:
        """Record a guard that a call raises this error again: the function may catch it."""
        if not facts_of(f).is_pure:
            self.spoil("an error is caught in it")
            return
        i = self._append(raises_again, (text_of(error), f, *args), kwargs, True)
        self.steps.append(Step(guard, (Ref(i), bool, True), None, -1))

    def note_kept(self, f: Callable, args: tuple, kwargs: dict[str, Any], y: Any) -> None:
        """Record a guard that a function with a cache still gives the constant `y`.

        What it gives depends on earlier calls, which may have found other values outside.
        """
        self.check_open()
        i = self._append(gives_again, (text_of_constant(y), f, *args), kwargs, True)
        self.steps.append(Step(guard, (Ref(i), bool, True), None, -1))

    def noted(
        self, f: Callable, args: tuple, kwargs: dict[str, Any], y: Any, is_known: bool = False
    ) -> Any:
        """Append the step of a call; return the result, traced."""
        if type(y) is np.ndarray:
            self.budget.take(y.nbytes)
        i = self._append(f, args, kwargs, y)
        may_differ = (not is_known or f in OPEN) and is_open(f, args, y)
        if may_differ or self._is_power_of_integers(f, args) or (
            is_known and not isinstance(f, np.ufunc) and f not in _OF_INTEGERS
            and any(self.metas[k].type is int for k in refs_in(args))  # `np.array([2**70])`
        ):  # fmt: skip
            self.steps.append(Step(guard, (Ref(i), described, described(y)), None, -1))
        if type(y) is int and f in _OF_INTEGERS:
            return Tracer(y, self, i)
        return self.traced(y, i)

    def _is_power_of_integers(self, f: Callable, args: tuple) -> bool:
        """Whether a call is a power of two integers, which is a float if the second is negative."""
        if f is not operator.pow:
            return False
        return all(type(a) is int or (type(a) is Ref and self.metas[a.i].type is int) for a in args)

    def _append(self, f: Callable, args: tuple, kwargs: dict[str, Any] | None, y: Any) -> int:
        """Append a step with the result `y`; return the number of this value."""
        i = len(self.metas)
        self.metas.append(meta_of(y))
        self.steps.append(Step(f, args, kwargs or None, i))
        return i

    def traced(self, y: Any, i: int) -> Any:
        """Return the value with number `i`, traced; if it is a pytree, with its parts traced."""
        kind = type(y)
        if kind is np.ndarray:
            if y.dtype.kind in "OV":
                self.spoil(f"an array of {y.dtype} is not followed")
                return y
            return Tracer(y, self, i)
        if kind is bool or isinstance(y, _NUMBERS):
            return Tracer(y, self, i)
        if kind is ProgramRun:  # for the step that runs the reverse sweep
            return Tracer(y, self, i)
        if kind is int:
            self.read(Tracer(y, self, i), operator.index)
            return y
        parts = parts_of(y)
        if parts is None:
            if y is not None and not isinstance(y, (np.dtype, type)):
                self.spoil(f"a {kind.__name__} made of recorded values is not followed")
            return y
        new = []
        for key, value in parts:
            at = tuple(kind._fields).index(key) if hasattr(kind, "_fields") else key
            new.append(self.traced(value, self._append(part, (Ref(i), at), None, value)))
        return rebuilt(y, new)

    def lowered(self, a: Any) -> tuple[Any, Any]:
        """Return an argument as a plain value, and as an argument of a step."""
        kind = type(a)
        if kind is Tracer or kind is FloatTracer:
            if a._tape is self:
                return a._value, Ref(a._index)
            if a._tape is CONSTANT:
                return self.lowered(a._value)
            raise NotRecordedError(
                "a value is traced by a derivative outside the compiled function"
            )
        if kind is np.ndarray:
            self.hold(a)
            return a, a
        if kind is slice:
            bounds = a.start, a.stop, a.step
            if any(_is_integer_of(p, self) for p in bounds):
                both = [self.lowered(p) for p in bounds]
                a = slice(*[p for p, _ in both])
                return a, Ref(self._append(slice, tuple([r for _, r in both]), None, a))
            a = slice(*[None if p is None else operator.index(p) for p in bounds])
            return a, a
        if kind in PLAIN:
            return a, a
        if kind is tuple or kind is list:
            both = [self.lowered(p) for p in a]
            return kind([p for p, _ in both]), kind([r for _, r in both])
        if kind is dict:
            pairs = {k: self.lowered(p) for k, p in a.items()}
            return {k: p for k, (p, _) in pairs.items()}, {k: r for k, (_, r) in pairs.items()}
        if isinstance(a, tuple) and hasattr(kind, "_make"):
            both = [self.lowered(p) for p in a]
            return kind._make([p for p, _ in both]), kind._make([r for _, r in both])
        if any(is_tracer(leaf) for leaf in leaves_of(a)):
            raise NotRecordedError(f"a {kind.__name__} with recorded values is given to a function")
        return a, a

    def _asks_for_nan(self, args: tuple) -> bool:
        """Whether ``x == x`` is the check for NaN that forward mode makes for its strong zeros."""
        a, b = args
        if not (is_tracer(a) and is_tracer(b) and a._tape is b._tape and a._index == b._index):
            return False
        frame: Any = sys._getframe(2)
        for _ in range(8):
            if frame is None or frame.f_code is has_nan.__code__:
                return frame is not None
            frame = frame.f_back
        return False

    # -- reads by Python -----------------------------------------------------------------------

    def read(self, x: Tracer, how: Callable) -> Any:
        """Return ``how(value)`` as a constant, and guard it: of an integer, the integer itself."""
        value = x._value
        if type(value) is int and how is not bool:
            self._guard(x, operator.index, value)
            return how(value)
        try:
            found = how(value)
        except Exception as error:
            self._note_error(how, (Ref(x._index),), {}, error)
            raise
        if isinstance(found, str):
            self.spoil("the text of a value is used")
            return found
        if how not in _READS and type(found) not in (bool, int, float):
            raise NotRecordedError("a value is read in a way that is not followed")
        self._guard(x, how, found)
        return found

    def _guard(self, x: Tracer, how: Callable, found: Any) -> None:
        self.check_open()
        key = (x._index, how)
        if key not in self.reads:
            self.reads[key] = found
            self.steps.append(Step(guard, (Ref(x._index), how, found), None, -1))

    def settled(self, a: Any) -> Any:
        """Return an argument that determines a shape, with its integers as guarded constants."""
        if type(a) is tuple or type(a) is list:
            return type(a)([self.settled(p) for p in a])
        if type(a) is not Tracer or a._tape is not self:
            return a
        value = a._value
        if type(value) is np.ndarray:
            if value.dtype.kind not in "iu":
                return a
            self.check_open()
            key = (a._index, np.ndarray.tolist)
            if key not in self.reads:
                found = self.reads[key] = value.tolist()
                args = (Ref(a._index), np.ndarray.tolist, found)
                self.steps.append(Step(guard, args, None, -1))
            return value.copy()
        if isinstance(value, (int, np.integer)):
            return self.read(a, operator.index)
        return self.read(a, bool) if isinstance(value, np.bool_) else a

    def method(self, x: Tracer, name: str) -> Callable:
        """Return a method of an array whose result has no derivative."""
        function = getattr(np, name, None) or getattr(type(x._value), name)

        def recorded(*args: Any, **kwargs: Any) -> Any:
            return self.call(function, (x, *args), kwargs)

        return recorded

    def like(self, bar: Tracer, leaf: Any) -> Any:
        """Return a derivative as a number of the class of what it belongs to."""
        kind, value = leaf.__class__, bar._value
        if kind is np.ndarray and bar.__class__ is not kind and bare(leaf).ndim == 0:
            return self.call(np.array, (bar,), {})
        if (
            bar.__class__ is kind
            or not issubclass(kind, (float, complex, np.inexact))
            or np.shape(value) != ()
            or not (
                type(value) is float
                or getattr(value, "dtype", _DTYPES.get(type(value)))
                == (_DTYPES.get(kind) or leaf.dtype)
            )
        ):
            return bar
        return self.call(kind, (bar,), {})

    # -- writes ----------------------------------------------------------------------------------

    def set_item(self, before: Any, index: Any, value: Any) -> Any:
        """Record ``before[index] = value`` as a functional update; return the new array."""
        self.check_open()
        self.writes = True
        lowered = [self.lowered(a) for a in (before, index, value)]
        y = set_item(*[plain for plain, _ in lowered])
        return self.noted(set_item, tuple([ref for _, ref in lowered]), {}, y)

    def write(
        self, root: Tracer, path: tuple, index: Any, value: Any, in_place: bool
    ) -> tuple[np.ndarray, int]:
        """Write into an array, or into a view of it at the end of a path; return the new value."""
        self.check_open()
        self.writes = True
        plain_index, index_ref = self.lowered(index)
        plain, ref = self.lowered(value)
        before = root._value
        f: Callable
        is_known = root._tape is self
        before_ref = Ref(root._index) if is_known else before
        args: tuple
        if not is_known:
            self.hold(before)
        after = before if in_place else copy_of(before)
        old = before.copy() if path else before
        region = after
        for step in path:
            region = _untangled(step(region))
        if path and not np.may_share_memory(region, after) and region.size:
            raise NotRecordedError("a write into a view is not followed")
        region[plain_index] = plain
        if path:
            places: Any = np.arange(after.size).reshape(after.shape)
            if after.dtype.kind == "c":
                places = places * (1 + 1j)  # both parts tell the place
            for step in path:
                places = _untangled(step(places))
            # Floats, if a view asked for its elements as such.
            region_places = np.asarray(np.real(places)).astype(np.intp)
            chosen = region_places[plain_index]
            places = np.asarray(chosen)
            places_ref: Any = places
            if has_refs(index_ref):
                args = (region_places, index_ref)
                places_ref = Ref(self.noted(operator.getitem, args, {}, chosen)._index)
            f = set_flat
            if after.dtype.kind == "c" and not np.iscomplexobj(region):
                f = _part_written(after, path)
            if f(old, places, plain).tobytes() != after.tobytes():
                raise NotRecordedError("a write into a view is not followed")
            if np.size(plain) != 1 and np.shape(plain) != places.shape:
                spread = np.broadcast_to(plain, places.shape)
                ref = Ref(self._append(np.broadcast_to, (ref, places.shape), None, spread))
            args = (before_ref, places_ref, ref)
        else:
            args, f = (before_ref, index_ref, ref), set_item
        return after, self._append(f, args, None, after)

    # -- side effects -------------------------------------------------------------

    def draw(self, generator: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Draw from a generator among the arguments, as the program will do at this place."""
        lowered = [self.lowered(a) for a in args]
        named = {key: self.lowered(a) for key, a in kwargs.items()}
        y = getattr(generator, name)(
            *[p for p, _ in lowered], **{key: p for key, (p, _) in named.items()}
        )
        place = GivenObject(self.generators[id(generator)])
        refs = {key: ref for key, (_, ref) in named.items()}
        i = self._append(effect, (name, place, *[r for _, r in lowered]), refs, y)
        self.steps.append(Step(guard, (Ref(i), described, described(y)), None, -1))
        return self.traced(y, i)

    def print(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Print when the recording, or a run of the program, has succeeded.

        This is possible only if the program does not read what it prints.
        """
        if kwargs.get("file") is not None or sys.stdout is not self.stdout:
            raise NotRecordedError("it prints into something else than the usual output")
        self.do_late(print, tuple([map_leaves(a, untraced) for a in args]), kwargs)

    def do_late(self, f: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
        """Call a function when the recording, or a run of the program, has succeeded."""
        lowered = [self.lowered(a) for a in args]
        plain = [p for p, _ in lowered]
        self.late.append(lambda: f(*plain, **kwargs))
        self.steps.append(Step(effect, (f, *[r for _, r in lowered]), kwargs or None, -1))


def _without_repetition(args: tuple) -> tuple:
    """Return the factors of a product; the factor that repeats a sequence is read as an integer."""
    if all(is_tracer(a) or isinstance(a, (*_NUMBERS, int, np.ndarray)) for a in args):
        return args
    return tuple([operator.index(a) if isinstance(a, (int, np.integer)) else a for a in args])


def _is_integer_of(x: Any, recording: Recording) -> bool:
    """Whether an integer is a value of a recording."""
    return type(x) is Tracer and x._tape is recording and isinstance(x._value, (int, np.integer))


def _bare(x: Any) -> Any:
    if is_tracer(x):
        return bare(x)
    if type(x) in (list, tuple):
        return type(x)([_bare(p) for p in x])
    return x


def _untangled(x: Any) -> Any:
    if is_tracer(x):
        if x._tape is not CONSTANT:
            raise NotRecordedError("a write into a view at a recorded index is not followed")
        return x._value
    return x


def _part_written(after: np.ndarray, path: tuple) -> Callable:
    """Return the function that updates the part, real or imaginary, that a path leads to."""
    probe = np.zeros(after.shape, after.dtype)
    region: Any = probe
    for step in path:
        region = _untangled(step(region))
    region[...] = 1
    return set_real if np.any(probe.real) else set_imaginary
