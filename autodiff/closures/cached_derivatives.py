"""Cached derivatives of functions that rules differentiate at many points.

Rules of solvers and integrals ask for the pullback of the same function hundreds of times. After a
few calls it is recorded (``autodiff.compile``) with everything that the function has captured as an
input, so that the program also serves other captured values, and other functions made from the same
source. Its guards compare what the function reads from outside. If the function has captured what
no program takes, one solver alone uses it. If there is no program, the function is traced.
"""

from __future__ import annotations

import functools
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.api.gradients import pullback
from autodiff.closures.captured_values import Hole, cells_of, content_of, is_empty, with_cells
from autodiff.compiler.compile_errors import CompileError
from autodiff.intercept import intercept
from autodiff.repeatable import is_repeatable
from autodiff.trace.jvp_trace import Pushed
from autodiff.trace.pytree import OPAQUE, leaves_of, parts_of, rebuilt
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import is_tracer
from chainrules_core import Closure
from chainrules_core.interpreter.noticed import forgive

TRACED_CALLS = 12  # before recording pays
MOST_VARIANTS = 6
REMEMBERED = 64
_IMMUTABLE = (int, float, complex, str, bytes, bool, type(None), np.generic)
_WANTED = object()
"""The owner of the placeholders for the values that are differentiated with respect to."""


class Skeleton:
    """A function without what it has captured.

    Attributes
    ----------
    key : tuple
        Functions with the same key differ by their contents alone.
    contents : list
        What the function and those that it has captured hold, functions apart.
    builder : callable
        ``builder([*contents, known])`` returns a function with these contents. The dict `known`
        holds what else is put in: values by the owner of their placeholders, the one of captured
        values being `_WANTED`, and the functions built so far by their numbers.
    guards : list of function
        The functions without what they have captured: they read the same globals.
    is_shared : bool
        Whether functions with the same key can differ in nothing but their contents.
    """

    def __init__(self, f: Callable) -> None:
        self.contents: list[Any] = []
        self.guards: list[types.FunctionType] = []
        self.is_shared = True
        self._numbers: dict[int, int] = {}
        self._owners: list[object] = [_WANTED]
        self.key, self.builder = self._taken(f)

    def _taken(self, x: Any) -> tuple[tuple, Callable]:
        """Return the key of an object, and a function that builds it from contents."""
        kind = type(x)
        if kind is types.FunctionType:
            return self._function(x)
        if kind is types.MethodType:
            return self._made((x.__func__, x.__self__), types.MethodType, "m")
        if kind is functools.partial:
            parts = (x.func, x.args, x.keywords)
            return self._made(parts, lambda f, a, k: functools.partial(f, *a, **k), "partial")
        if kind in (tuple, list):
            return self._made(tuple(x), lambda *parts: kind(parts), kind.__name__)
        if kind is dict:
            names = tuple(x)
            return self._made(
                tuple(x.values()), lambda *parts: dict(zip(names, parts, strict=True)), names
            )
        if kind is Closure:
            return self._closure(x)
        if kind is Hole and x.owner in self._owners:
            number, owner = int(x), x.owner
            key = ("hole", self._owners.index(owner), number)
            return key, lambda contents: contents[-1][owner][number]
        held = parts_of(x)
        if held is not None and any(type(leaf) is Hole for leaf in leaves_of(x)):
            self.is_shared = False  # it is not known what its methods read
            return self._made(
                tuple([part for _, part in held]), lambda *new: rebuilt(x, list(new)), "object"
            )
        if is_tracer(x) and x._tape is CONSTANT:
            x = x._value
        elif isinstance(x, (type, types.BuiltinFunctionType, np.ufunc, types.ModuleType)):
            if getattr(x, "__module__", "builtins") not in ("builtins", "numpy", "math"):
                self.is_shared = False
        elif not isinstance(x, (*_IMMUTABLE, np.ndarray)):
            self.is_shared = False
        place = len(self.contents)
        self.contents.append(x)
        return ("content",), lambda contents: contents[place]

    def _made(self, parts: tuple, make: Callable, label: Any) -> tuple[tuple, Callable]:
        taken = [self._taken(part) for part in parts]
        builders = [builder for _, builder in taken]

        def build(contents):
            return make(*[b(contents) for b in builders])

        return (label, *[key for key, _ in taken]), build

    def _closure(self, f: Closure) -> tuple[tuple, Callable]:
        """Return the key and builder of a closure, which stays one: rules look at its values."""
        owner = object()
        self._owners.append(owner)
        key, bare = self._taken(with_holes(f, owner))
        values_key, builder = self._taken(f.values)

        def build(contents):
            def make(held):
                return bare([*contents[:-1], {**contents[-1], owner: held}])

            return Closure(make, builder(contents))

        return ("closure", key, values_key), build

    def _function(self, f: types.FunctionType) -> tuple[tuple, Callable]:
        number = self._numbers.get(id(f))
        if number is not None:  # once more, or itself
            return ("again", number), lambda contents: contents[-1][number]
        number = self._numbers[id(f)] = len(self._numbers)
        if f.__dict__ and not hasattr(f, "__wrapped__"):
            self.is_shared = False
        cells: list[Callable | None] = []
        keys: list[Any] = []
        of_user = {id(cell) for _, cell in cells_of(f)}
        for cell in f.__closure__ or ():
            if is_empty(cell) or id(cell) not in of_user:
                held = content_of(cell)
                cells.append(None if is_empty(cell) else lambda contents, held=held: held)
                keys.append(id(held))
                continue
            key, builder = self._taken(cell.cell_contents)
            keys.append(key)
            cells.append(builder)
        defaults_key, defaults = self._taken((f.__defaults__, f.__kwdefaults__))
        attributes = dict(f.__dict__)
        # The cache must not hold what the function has captured, so it holds this one instead.
        guard = with_cells(f, [types.CellType() for _ in cells])
        guard.__defaults__ = guard.__kwdefaults__ = None
        guard.__dict__.clear()

        def build(contents):
            new_cells = [types.CellType() for _ in cells]
            contents[-1][number] = new = with_cells(guard, new_cells)
            for cell, builder in zip(new_cells, cells, strict=True):
                if builder is not None:
                    cell.cell_contents = builder(contents)
            new.__defaults__, new.__kwdefaults__ = defaults(contents)
            new.__dict__.update(attributes)
            return new

        self.guards.append(guard)
        return ("f", id(f.__code__), id(f.__globals__), *keys, defaults_key), build


def with_holes(f: Closure, owner: object) -> Callable:
    """Return the function of a closure with placeholders for its values."""
    return f.make(tuple([Hole(i, owner) for i in range(len(f.values))]))


class _Recorded:
    """What is recorded of a `Repeated`.

    It does not refer to the programs, because a recording looks at everything that it can reach.
    """

    __slots__ = ("builder", "derivative")

    def __init__(self, builder: Callable, derivative: Callable) -> None:
        self.builder = builder
        self.derivative = derivative

    def run(self, contents: list, given: tuple, values: tuple) -> Any:
        """Compute the derivative without a program."""

        def build(values):
            return self.builder([*contents, {_WANTED: values}])

        return self.derivative(build, given, values)


class Repeated:
    """A derivative of functions of one skeleton.

    Parameters
    ----------
    skeleton : Skeleton
        That of the function.
    derivative : callable
        ``derivative(build, given, values)`` computes it at `given` for the captured `values`; the
        function is ``build(values)``.
    """

    def __init__(self, skeleton: Skeleton, derivative: Callable) -> None:
        self.run = _Recorded(skeleton.builder, derivative).run
        self.guards = skeleton.guards
        self.compiled: Any = None
        self.left = TRACED_CALLS
        self.is_eager = False

    def __call__(self, contents: list, given: tuple, values: tuple) -> Any:
        """Compute the derivative."""
        if (self.left > 0 and not is_repeatable()) or self.is_eager:
            self.left -= 1
            return self.run(contents, given, values)
        if self.compiled is None:
            from autodiff.compiler.compiled_function import Compiled  # not everybody compiles

            self.compiled = Compiled(self.run, MOST_VARIANTS, "python", self.guards)
        compiled = self.compiled
        try:
            result = compiled(contents, given, values)
        except CompileError as error:
            forgive(error)
            self.is_eager = True
            return self.run(contents, given, values)
        self.left -= 1
        if self.left % 64 == 0 or compiled.eager_because is not None:
            self.is_eager = compiled.eager_because is not None or compiled.variants >= MOST_VARIANTS
        return result


_remembered: OrderedDict[tuple, Repeated]
_remembered = caches.register("cached derivatives", OrderedDict())
_lock = threading.Lock()


class Prepared:
    """A derivative of one function, called with the point and the cotangent or tangents there.

    Parameters
    ----------
    f : callable
        A function, or a closure.
    form : tuple
        Which derivative it is.
    derivative : callable
        As for :class:`Repeated`; the same for all functions with the same skeleton and `form`.
    """

    def __init__(self, f: Callable, form: tuple, derivative: Callable) -> None:
        self.values = f.values if isinstance(f, Closure) else ()
        skeleton = Skeleton(with_holes(f, _WANTED) if isinstance(f, Closure) else f)
        self.contents = skeleton.contents
        key = (form, len(self.values), skeleton.key)
        with _lock:
            found = _remembered.get(key)
            if found is not None:
                _remembered.move_to_end(key)
        if found is None:
            found = Repeated(skeleton, derivative)
            if skeleton.is_shared:
                with _lock:
                    _remembered[key] = found
                    while len(_remembered) > REMEMBERED:
                        _remembered.popitem(last=False)
        self.found = found

    def __call__(self, *given: Any) -> tuple:
        """Compute the derivative."""
        return self.found(self.contents, given, self.values)


OPAQUE.add(Prepared)


def repeated(which: str, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
    """Return a derivative of `f` as a function of the point: see `RuleConfig.repeated`."""
    if program_tape() is not None:
        return None
    compute = _DERIVATIVES[which]

    def derivative(build, given, values):
        return compute(argnums, build, given, values)

    return Prepared(f, (which, argnums), derivative)


def _pullback(argnums, build, given, values):
    y_bar, *args = given
    apply, chosen = _of_chosen(build, args, argnums)
    return _pulled(apply, y_bar, values, *chosen)


def _pushforward(argnums, build, given, values):
    value_dots, arg_dots, *args = given
    apply, chosen = _of_chosen(build, args, argnums)
    if values:
        return Pushed(apply, (values, *chosen), {}, None).push((tuple(value_dots), *arg_dots))
    wanted = tuple(range(1, len(chosen) + 1))
    return Pushed(apply, (values, *chosen), {}, wanted).push(tuple(arg_dots))


def _second(argnums, build, given, values):
    y_bar, y_bar_dot, value_dots, arg_dots, *args = given
    apply, chosen = _of_chosen(build, args, argnums)
    pulled = functools.partial(_pulled, apply)
    if values:
        dots = (y_bar_dot, tuple(value_dots), *arg_dots)
        return Pushed(pulled, (y_bar, values, *chosen), {}, None).push(dots)
    wanted = (0, *range(2, len(chosen) + 2))
    return Pushed(pulled, (y_bar, values, *chosen), {}, wanted).push((y_bar_dot, *arg_dots))


_DERIVATIVES = {"pullback": _pullback, "pushforward": _pushforward, "second": _second}


def _pulled(apply: Callable, y_bar: Any, values: tuple, *chosen: Any) -> tuple:
    """Return the cotangents of captured values, and of arguments."""
    first = 0 if values else 1
    back = pullback(apply, values, *chosen, argnums=tuple(range(first, len(chosen) + 1)))[1]
    bars = back(y_bar)
    return (bars[0], bars[1:]) if values else ((), bars)


def _of_chosen(
    build: Callable, args: list[Any], argnums: tuple[int, ...]
) -> tuple[Callable, list[Any]]:
    """Return a function of captured values and the arguments at `argnums`, and these arguments."""

    def apply(values, *chosen):
        given = list(args)
        for i, x in zip(argnums, chosen, strict=True):
            given[i] = x
        return intercept(build(values))(*given)

    return apply, [args[i] for i in argnums]
