"""The derivatives of one function at many points: recorded once, compiled, remembered.

Rules of solvers and integrals ask for the pullback of the same function hundreds of times. After a
few times it is recorded (``autodiff.compile``) with everything that the function has captured as an
input; so the program is good for other captured values as well, and for the next function made from
the same source. Where something that the function reads cannot be guarded, the program is used for
one solver alone; where it cannot be recorded, the function is traced each time.
"""

from __future__ import annotations

import functools
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.api.gradients import pullback
from autodiff.closures.captured_values import is_empty
from autodiff.compiler.compile_errors import CompileError
from autodiff.compiler.recording.captured_guards import dependencies
from autodiff.intercept import intercept
from autodiff.trace.jvp_trace import Pushed
from autodiff.trace.pytree import OPAQUE, leaves_of, parts_of, rebuilt
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import is_tracer
from chainrules_core import Closure
from chainrules_core.noticed import forgive

TRACED_CALLS = 12  # before recording pays
MOST_VARIANTS = 6
REMEMBERED = 64
_OURS = "__autodiff_"
_IMMUTABLE = (int, float, complex, str, bytes, bool, type(None), np.generic)


class Wanted(str):
    """The place of a captured value that is differentiated by; a string, as those are leaves."""


class Place(str):
    """The place of a value that a closure inside has captured."""

    owner: object

    def __new__(cls, number: int, owner: object) -> Place:
        """Note whose value it is."""
        place = super().__new__(cls, number)
        place.owner = owner
        return place


class Skeleton:
    """A function without what it has captured.

    Attributes
    ----------
    key : tuple
        Functions with the same key differ by their contents alone.
    contents : list
        What the function and those that it has captured hold, functions apart.
    builder : callable
        ``builder(values, contents + [{}])`` returns a function with these contents.
    guards : list of function
        The functions without what they have captured: they read the same globals.
    is_shared : bool
        Whether the contents are all that can differ between two functions of this key.
    """

    def __init__(self, f: Callable) -> None:
        self.contents: list[Any] = []
        self.guards: list[types.FunctionType] = []
        self.is_shared = True
        self._numbers: dict[int, int] = {}
        self._owners: list[object] = []
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
        if kind is Place:
            number, owner = int(x), x.owner
            label = self._owners.index(owner)
            return ("place", label, number), lambda values, contents: contents[-1][owner][number]
        if kind is Wanted:
            number = int(x)
            return ("wanted", number), lambda values, contents: values[number]
        held = parts_of(x)
        if held is not None and any(type(leaf) in (Wanted, Place) for leaf in leaves_of(x)):
            self.is_shared = False  # what its methods read is not known
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
        return ("content",), lambda values, contents: contents[place]

    def _made(self, parts: tuple, make: Callable, label: Any) -> tuple[tuple, Callable]:
        taken = [self._taken(part) for part in parts]
        builders = [builder for _, builder in taken]

        def build(values, contents):
            return make(*[b(values, contents) for b in builders])

        return (label, *[key for key, _ in taken]), build

    def _closure(self, f: Closure) -> tuple[tuple, Callable]:
        """Return the key and builder of a closure, which stays one: rules look at its values."""
        owner = object()
        self._owners.append(owner)
        key, bare = self._taken(f.make(tuple([Place(i, owner) for i in range(len(f.values))])))
        values_key, builder = self._taken(f.values)

        def build(values, contents):
            def make(held):
                return bare(values, [*contents[:-1], {**contents[-1], owner: held}])

            return Closure(make, builder(values, contents))

        return ("closure", key, values_key), build

    def _function(self, f: types.FunctionType) -> tuple[tuple, Callable]:
        number = self._numbers.get(id(f))
        if number is not None:  # once more, or itself
            return ("again", number), lambda values, contents: contents[-1][number]
        number = self._numbers[id(f)] = len(self._numbers)
        if f.__dict__ and not hasattr(f, "__wrapped__"):
            self.is_shared = False
        cells: list[Callable | None] = []
        keys: list[Any] = []
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            if is_empty(cell) or name.startswith(_OURS):
                held = None if is_empty(cell) else cell.cell_contents
                cells.append(None if is_empty(cell) else lambda v, c, held=held: held)
                keys.append(id(held))
                continue
            key, builder = self._taken(cell.cell_contents)
            keys.append(key)
            cells.append(builder)
        defaults_key, defaults = self._taken((f.__defaults__, f.__kwdefaults__))
        # Not the function itself: what is remembered must not hold what it has captured.
        code, scope, name, attributes = f.__code__, f.__globals__, f.__name__, dict(f.__dict__)
        labels = f.__qualname__, f.__module__

        def build(values, contents):
            new_cells = tuple([types.CellType() for _ in cells])
            new = types.FunctionType(code, scope, name, None, new_cells)
            contents[-1][number] = new
            for cell, builder in zip(new_cells, cells, strict=True):
                if builder is not None:
                    cell.cell_contents = builder(values, contents)
            new.__defaults__, new.__kwdefaults__ = defaults(values, contents)
            new.__dict__.update(attributes)
            new.__qualname__, new.__module__ = labels
            return new

        empty = tuple([types.CellType() for _ in code.co_freevars])
        guard = types.FunctionType(code, scope, name, None, empty)
        guard.__qualname__, guard.__module__ = labels
        self.guards.append(guard)
        return ("f", id(code), id(scope), *keys, defaults_key), build


def _is_guarded(functions: list) -> bool:
    """Whether all that functions read from outside is known to be what it was."""
    for f in functions:
        read = [f]
        for d in dependencies(f)[0]:
            value = d.value
            if isinstance(value, types.FunctionType):
                read.append(value)
                if value.__dict__:
                    return False
            elif d.content is None and not isinstance(value, _IMMUTABLE):
                return False
        if not all(_is_known(g.__globals__.get(n)) for g in read for n in _names_in(g.__code__)):
            return False
    return True


def _is_known(x: Any) -> bool:
    """Whether a global is no object that may change and is called or looked into."""
    if isinstance(x, types.ModuleType):
        return x.__name__.partition(".")[0] in _KNOWN
    if isinstance(x, type):
        return x.__module__.partition(".")[0] in _KNOWN
    return not callable(x) or isinstance(x, _FUNCTIONS)


_KNOWN = ("builtins", "numpy", "scipy", "math", "cmath", "operator", "functools", "itertools")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.dot))


def _names_in(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


class Repeated:
    """A derivative of functions of one skeleton.

    Parameters
    ----------
    skeleton : Skeleton
        That of the function.
    derivative : callable
        ``derivative(build, *given)``: what is computed, where ``build(values)`` is the function.
    """

    def __init__(self, skeleton: Skeleton, derivative: Callable) -> None:
        self.builder = skeleton.builder
        self.derivative = derivative
        self.guards = skeleton.guards
        self.compiled: Any = None
        self.left = TRACED_CALLS
        self.is_eager = False

    def run(self, contents: list, *given: Any) -> Any:
        """Compute the derivative as it is, or while it is recorded."""
        return self.derivative(lambda values: self.builder(values, [*contents, {}]), *given)

    def __call__(self, contents: list, *given: Any) -> Any:
        """Compute the derivative."""
        if self.left > 0 or self.is_eager:
            self.left -= 1
            return self.run(contents, *given)
        if self.compiled is None:
            from autodiff.compiler.compiled_function import Compiled  # not everybody compiles

            self.compiled = Compiled(self.run, MOST_VARIANTS, "python", self.guards)
        compiled = self.compiled
        try:
            result = compiled(contents, *given)
        except CompileError as error:
            forgive(error)
            self.is_eager = True
            return self.run(contents, *given)
        self.left -= 1
        if self.left % 64 == 0 or compiled.eager_because is not None:
            self.is_eager = compiled.eager_because is not None or compiled.variants >= MOST_VARIANTS
        return result


_remembered: OrderedDict[tuple, Repeated] = OrderedDict()
_lock = threading.Lock()


def repeated(f: Callable, form: tuple, derivative: Callable) -> tuple[Repeated, list, tuple]:
    """Return what computes a derivative of `f`, its contents, and its captured values.

    Parameters
    ----------
    f : callable
        A function, or a closure.
    form : tuple
        With the kind of function a key of the derivative.
    derivative : callable
        As for :class:`Repeated`.
    """
    values = f.values if isinstance(f, Closure) else ()
    bare = f.make(tuple([Wanted(i) for i in range(len(values))])) if isinstance(f, Closure) else f
    skeleton = Skeleton(bare)
    key = (form, len(values), skeleton.key)
    with _lock:
        found = _remembered.get(key)
        if found is not None:
            _remembered.move_to_end(key)
    if found is None:
        found = Repeated(skeleton, derivative)
        if skeleton.is_shared and _is_guarded(found.guards):
            with _lock:
                _remembered[key] = found
                while len(_remembered) > REMEMBERED:
                    _remembered.popitem(last=False)
    return found, skeleton.contents, values


class Prepared:
    """The pullback ``pull(y_bar, *args)`` or pushforward ``push(value_dots, arg_dots, *args)``."""

    def __init__(self, found: Repeated, contents: list, values: tuple, is_pullback: bool) -> None:
        self.found = found
        self.contents = contents
        self.values = values
        self.is_pullback = is_pullback

    def __call__(self, *given: Any) -> tuple:
        """Compute the cotangents, or the value and its tangent."""
        if self.is_pullback:
            bars = self.found(self.contents, given[0], self.values, given[1:])
            return bars[0], bars[1:]
        value_dots, arg_dots, *args = given
        dots = tuple(value_dots), tuple(arg_dots)
        return self.found(self.contents, *dots, self.values, tuple(args))


OPAQUE.add(Prepared)


def repeated_pullback(f: Callable, argnums: tuple[int, ...]) -> Callable | None:
    """Return ``pull(y_bar, *args)``: cotangents of what `f` has captured, and of the arguments."""
    if program_tape() is not None:
        return None

    def derivative(build, y_bar, values, args):
        def apply(values, *chosen):
            given = list(args)
            for i, x in zip(argnums, chosen, strict=True):
                given[i] = x
            return intercept(build(values))(*given)

        chosen = [args[i] for i in argnums]
        wanted = (0, *range(1, len(chosen) + 1)) if values else tuple(range(1, len(chosen) + 1))
        _, back = pullback(apply, values, *chosen, argnums=wanted)
        bars = back(y_bar)
        return bars if values else ((), *bars)

    return Prepared(*repeated(f, ("pullback", argnums), derivative), is_pullback=True)


def repeated_pushforward(f: Callable, argnums: tuple[int, ...]) -> Callable | None:
    """Return ``push(value_dots, arg_dots, *args)``: the value of `f`, and its tangent."""
    if program_tape() is not None:
        return None

    def derivative(build, value_dots, arg_dots, values, args):
        def apply(values, *chosen):
            given = list(args)
            for i, x in zip(argnums, chosen, strict=True):
                given[i] = x
            return intercept(build(values))(*given)

        chosen = tuple([args[i] for i in argnums])
        if values:
            return Pushed(apply, (values, *chosen), {}, None).push((value_dots, *arg_dots))
        wanted = tuple(range(1, len(chosen) + 1))
        return Pushed(apply, (values, *chosen), {}, wanted).push(arg_dots)

    return Prepared(*repeated(f, ("pushforward", argnums), derivative), is_pullback=False)
