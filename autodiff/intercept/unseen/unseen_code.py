"""Code without available source: calls in it are not intercepted.

There Python itself queries tracers, and some answers differ from those of the values: ``type(x)``
is the tracer's class, ``a is b`` may differ, a handler may catch an error that the value would not
raise. So such code is refused if what it names, compares or catches could tell a tracer from its
value (:mod:`autodiff.intercept.unseen.bytecode`), and so is a user's function that it calls by
name, which is not traced either.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import inspect
import itertools
import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.closures import captured_values
from autodiff.errors import SourceError
from autodiff.intercept.source import rewritten_code
from autodiff.intercept.source.library_code import is_library, is_of_library
from autodiff.intercept.source.source_texts import why_without
from autodiff.intercept.syntax import syntax_ops
from autodiff.intercept.unseen.bytecode import CodeFacts, facts_of
from autodiff.intercept.unseen.checking_wrappers import CHANGED, handed_on
from autodiff.trace.trace_stack import program_tape, watch_held
from autodiff.trace.tracer import is_tracer
from chainrules_core import ChainRulesError
from chainrules_core.interpreter.places import codes_in, is_library_file

_MISSING: Any = object()
_MOST = 1000  # parts of a container that are inspected
_OURS = ("autodiff", "chainrules", "chainrules_core", "multipledispatch", "numpy")
_TRUSTED = sys.stdlib_module_names.union(_OURS, ["scipy"])
_FUNCTIONS = 500  # more than so many are not looked into

# What tells a tracer from its value, whatever it is asked about.
_TELLING: dict[Any, str] = {
    type: "type(...)", hasattr: "hasattr(...)", getattr: "getattr(...)",
    id: "id(...)", dir: "dir(...)", eval: "eval(...)", exec: "exec(...)", compile: "compile(...)",
    operator.is_: "operator.is_", operator.is_not: "operator.is_not", sys.getsizeof: "getsizeof",
    sys._getframe: "sys._getframe", contextlib.suppress: "contextlib.suppress",
    inspect.getmembers: "inspect.getmembers", np.shares_memory: "np.shares_memory",
    np.may_share_memory: "np.may_share_memory", __import__: "__import__(...)",
    importlib.import_module: "import_module(...)",
}  # fmt: skip
_TELLING_METHODS = {"shuffle"}  # NumPy's swaps the rows of an array that is not its own by views
_TELLS = {id(f): text for f, text in _TELLING.items()}  # other objects may say they are equal
_TASKS = {"asyncio", "concurrent", "multiprocessing", "_thread"}
_TEXTS = set(map(id, (str, repr, format, ascii)))
_TEXT_METHODS = {"format", "format_map", "join", "__str__", "__repr__", "__format__"}
_HOLE = re.compile(r"%(\(.*?\))?[-+ #0-9.*]*[sra]")
_READERS = set(map(id, (np.fromstring, np.loadtxt, np.genfromtxt, ast.literal_eval)))
# How a text names a type of floats, as ``np.array(texts, "d")`` reads them.
_DTYPE = re.compile(
    "[<>=|]?([defgDFG]|[fc][0-9]+|float[0-9]*|complex[0-9]*|half|single|(long)?double|c?longdouble)"
)
_READING_METHODS = {"astype", "fromhex", "create_decimal"}
# Special attributes for which tracers answer as their values do.
_ALIKE = frozenset({"__class__", "__doc__", "__init__", "__name__", "__new__", "__setattr__"})
# What these return is for people to read.
_SHOWN = frozenset({"__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__", "__dir__"})


def seen_or_guarded(g: types.FunctionType) -> Callable:
    """Return a rewritten function; one without source is refused where it matters."""
    body = rewritten_code.rewritten(g)
    return guarded(g) if body is g and not rewritten_code.is_rewritten(g) else body


def guarded(g: types.FunctionType) -> Callable:
    """Return a function without source that is refused where it could take another path.

    Its writes are not seen either: what the tapes hold is watched while it runs. Nor is what it
    asks of recorded values (``t is True``), so it is not recorded. What Python itself has written
    for a dataclass or a named tuple runs as it is.
    """
    if _is_written_by_python(g):
        return g
    known: dict[Any, tuple[str, list]] = {}  # by the classes of the arguments
    module = sys.modules.get(g.__globals__.get("__name__") or "")
    of_package = is_library(g) or is_library_file(getattr(module, "__file__", None) or "")

    @functools.wraps(g)
    def called(*args: Any, **kwargs: Any) -> Any:
        watch_held(goes_on=True)
        program = program_tape()
        if program is not None:
            program.spoil(f"the source of {g.__name__} is not to be had")
        if of_package:  # made by exec, as SciPy makes some: what it is given is seen all the same
            args = tuple(map(_seen, args))
            kwargs = {name: _seen(value) for name, value in kwargs.items()}
        if _holds_tracers((g, args, kwargs)):
            kinds = _kinds_of(args, kwargs)
            why, read = known.get(kinds, ("", None))
            if read is None or any(_of(w, name) is not v for w, name, v in read):
                walk = _Walk(into_packages=not of_package)
                why = walk.look(g, () if of_package else (*args, *kwargs.values()))
                if walk.lasts and kinds is not None:
                    known[kinds] = why, walk.read
            if why:
                made = handed_on(g, args, kwargs)
                if made is not CHANGED:
                    return made
                raise _refusal(g, why, of_package)
        try:
            return (_with_calls_seen(g) if of_package else g)(*args, **kwargs)
        except (TypeError, ValueError, AttributeError) as error:
            # C code may have met a tracer where it takes a number, and no error of ours.
            is_ours = isinstance(error, ChainRulesError)
            if is_ours or not (isinstance(error, TypeError) or "Trace" in str(error)):
                raise
            text = str(error).replace("FloatTracer", "float").replace("Tracer", "array")
            why = f"what raises {type(error).__name__} ({text})"
            raise _refusal(g, why, of_package) from error

    return called


def _is_written_by_python(g: types.FunctionType) -> bool:
    """Whether a function keeps, compares or shows the fields of a dataclass or a named tuple."""
    home = g.__globals__.get("__name__") or ""
    return g.__code__.co_qualname.startswith("__create_fn__") or home.startswith("namedtuple_")


def _with_calls_seen(g: types.FunctionType) -> types.FunctionType:
    """Return a function with the functions seen that were put into a namespace of its own.

    Libraries make a function of another signature so: its text calls the given one by a name.
    """
    if caches.is_of_module(g.__globals__):
        return g
    held = {name: g.__globals__.get(name) for name in g.__code__.co_names}
    seen = {n: syntax_ops.intercept(v) for n, v in held.items() if type(v) is types.FunctionType}
    if not seen:
        return g
    made = types.FunctionType(
        g.__code__, {**g.__globals__, **seen}, g.__name__, g.__defaults__, g.__closure__
    )
    made.__kwdefaults__ = g.__kwdefaults__
    return made


def _seen(x: Any) -> Any:
    """Return a function with its calls seen; anything else as it is."""
    return syntax_ops.intercept(x) if type(x) is types.FunctionType else x


def _refusal(g: types.FunctionType, what: str, of_package: bool) -> SourceError:
    """Build the error for a function that does `what`; users cannot change a library."""
    cause, remedy = why_without(g.__code__, g.__globals__)
    if of_package:
        remedy = (
            "It belongs to a library: compute with NumPy, SciPy or math instead, or give the "
            "function that you call a rule (chainrules_core.rrule.register)."
        )
    else:
        remedy += f" Or do without {what.rstrip(',')}."
    return SourceError(g, what, cause, remedy)


def _holds_tracers(x: Any) -> bool:
    """Whether a pytree holds a tracer, or a function in it has captured one."""
    return any(map(is_tracer, captured_values.captured(x)))


def _kinds_of(args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the classes of arguments; None if one holds what a walk would look into.

    An instance that ``__init__`` is about to fill holds nothing yet.
    """
    if any(map(_holds_parts, (*args, *kwargs.values()))):
        return None
    kinds = [a if isinstance(a, type) else type(a) for a in (*args, *kwargs.values())]
    return tuple(kinds), tuple(kwargs)


def _holds_parts(x: Any) -> bool:
    """Whether a walk would look into an argument."""
    if is_tracer(x) or isinstance(x, _NUMBERS):
        return False
    if callable(x) and not isinstance(x, type):
        return True
    return not all(type(part) in _PLAIN for part in _parts(x))


def _of(where: Any, name: str) -> Any:
    if type(where) is types.CellType:
        return _MISSING if captured_values.is_empty(where) else where.cell_contents
    return where.get(name, _MISSING)


class _Walk:
    """A walk through a function without source, and through what it calls by name.

    Attributes
    ----------
    into_packages : bool
        Whether functions of installed packages are looked into as well.
    read : list
        The variables that were read: where, by which name, and what they held.
    lasts : bool
        Whether what is found holds as long as they do: nothing was looked into that may change.
    """

    def __init__(self, into_packages: bool) -> None:
        self.into_packages = into_packages
        self.read: list[tuple[Any, str, Any]] = []
        self.lasts = True
        self.seen: set[int] = set()
        self.makes_text = self.reads_text = False
        self.noted: dict[int, Any] = {}
        self.classes: set[type] = set()
        self.waiting: list[types.FunctionType] = []

    def look(self, g: types.FunctionType, args: tuple) -> str:
        """Return what could tell a traced value from its value; "" if nothing."""
        for a in args:
            self._note(a)
        self.waiting.append(g)
        while self.waiting:
            function = self.waiting.pop()
            if len(self.seen) > _FUNCTIONS:
                return "more functions than are looked into"
            why = self._of_function(function)
            if why:
                return why if function is g else f"{why} in {function.__qualname__}"
        return ""

    def _of_function(self, g: types.FunctionType) -> str:
        if id(g.__code__) in self.seen or _is_written_by_python(g):
            return ""
        self.seen.add(id(g.__code__))
        for value in (*(g.__defaults__ or ()), *(g.__kwdefaults__ or {}).values()):
            self._note(value)
        cells = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        for code in codes_in(g.__code__):
            why = self._of_code(_facts(code), g.__globals__, cells)
            if why:
                return why
        return ""

    def _of_code(self, facts: CodeFacts, namespace: dict[str, Any], cells: dict[str, Any]) -> str:
        # What is looked up by its name in a text (`vars`) may be called as well.
        names = facts.attributes | {text for text in facts.texts if text.isidentifier()}
        known = [self._value(name, namespace, cells) for name in facts.names]
        known += _in_modules(known, facts.imports, names)
        for value in known:
            tells = _TELLS.get(id(value)) or _elsewhere(value)
            if tells:
                return tells
            self._note(value)
        for name in facts.attributes:
            if name in _TELLING_METHODS or (name.startswith("__") and name not in _ALIKE):
                return f"x.{name}"
        for name in facts.imports:
            if name.partition(".")[0] in _TASKS:
                return name
        kinds = [v for v in known if isinstance(v, type)]
        if any(v is isinstance for v in known) and not (kinds and all(map(_is_asked_alike, kinds))):
            return "isinstance(...)"
        self._note_texts(facts, known)
        if self.makes_text and self.reads_text:
            return "a text of a value, and a number read from text,"
        return facts.syntax

    def _note_texts(self, facts: CodeFacts, known: list) -> None:
        """Note whether texts are made of values, and whether numbers are read from texts."""
        self.makes_text = (
            self.makes_text
            or facts.makes_text
            or not _TEXT_METHODS.isdisjoint(facts.attributes)
            or any(id(v) in _TEXTS for v in known)
            or ("file" in facts.texts and any(v is print for v in known))
            or any(map(_HOLE.search, facts.texts))
        )
        self.reads_text = (
            self.reads_text
            or not _READING_METHODS.isdisjoint(facts.attributes)
            or any(id(v) in _READERS or _is_number_class(v) or _reads_json(v) for v in known)
            or any(map(_DTYPE.fullmatch, facts.texts))
        )

    def _value(self, name: str, namespace: dict[str, Any], cells: dict[str, Any]) -> Any:
        """Return what a variable from outside holds, and note it."""
        where = cells.get(name, namespace)
        value = _of(where, name)
        self.read.append((where, name, value))
        return getattr(builtins, name, _MISSING) if value is _MISSING else value

    def _note(self, x: Any) -> None:
        """Note what may be called: functions, the methods of objects and classes, in any nest."""
        if type(x) in _PLAIN or id(x) in self.noted or is_tracer(x):
            return
        if isinstance(x, (types.ModuleType, np.ndarray)):
            return
        self.noted[id(x)] = x
        if type(x) is types.FunctionType:
            if self._is_read(x):
                self.waiting.append(x)
        elif not isinstance(x, (types.MethodType, *_CONTAINERS)):
            self._note_methods(x if isinstance(x, type) else type(x))
        for part in _parts(x):
            self.lasts = self.lasts and isinstance(x, _LASTING)
            self._note(part)

    def _note_methods(self, kind: type) -> None:
        """Note what a class, and those that it is derived from, define."""
        for base in kind.__mro__:
            if base.__module__.partition(".")[0] in _TRUSTED or base in self.classes:
                continue
            if self.into_packages or not is_of_library(base):
                self.classes.add(base)
                for name, value in vars(base).items():
                    if name not in _SHOWN:
                        self._note(value)

    def _is_read(self, f: types.FunctionType) -> bool:
        """Whether a function is looked into: none of Python's own, of NumPy's, SciPy's and ours."""
        package = (f.__globals__.get("__name__") or "").partition(".")[0]
        if not is_library(f):
            return package not in _OURS
        return self.into_packages and package not in _TRUSTED


def _is_asked_alike(kind: type) -> bool:
    """Whether tracers are instances of a class if their values are; a protocol looks at methods."""
    return type(kind) is type or kind.__module__ == "numbers"


# No code of the user's is in these, nor in what they hold.
_PLAIN = frozenset((float, int, complex, bool, str, bytes, type(None)))
_NUMBERS = (float, int, complex, str, bytes, type(None), np.ndarray, np.generic)
_LASTING = (
    *(types.FunctionType, staticmethod, classmethod, property),
    *(functools.partial, types.MethodType),
    *(tuple, frozenset),  # what they hold is looked into in turn
)
_CONTAINERS = (tuple, list, dict, set, frozenset)


def _parts(x: Any) -> Iterator[Any]:
    """Yield what an object holds, or calls, that may be the user's code."""
    if isinstance(x, dict):
        yield from itertools.islice(x.values(), _MOST)
    elif isinstance(x, _CONTAINERS):
        yield from itertools.islice(x, _MOST)
    elif isinstance(x, functools.partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, types.MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, (staticmethod, classmethod)):
        yield x.__func__
    elif isinstance(x, property):
        yield from (x.fget, x.fset)
    else:
        wrapped = inspect.getattr_static(x, "__wrapped__", None)
        if wrapped is not None:  # a library's decorator, around what may be the user's
            yield wrapped
        held = getattr(x, "__dict__", None) if not isinstance(x, type) else None
        if type(held) is dict and type(x) is not types.FunctionType:
            yield from itertools.islice(held.values(), _MOST)


def _in_modules(known: list, imports: Iterable[str], names: frozenset[str]) -> list:
    """Return what the attributes that are read are in the modules that are named."""
    modules = [v for v in known if isinstance(v, types.ModuleType)]
    modules += [sys.modules[name] for name in imports if name in sys.modules]
    found, seen = [], set()
    while modules:
        module = modules.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        for name in names & vars(module).keys():
            value = vars(module)[name]
            found.append(value)
            if isinstance(value, types.ModuleType):
                modules.append(value)
    return found


def _elsewhere(value: Any) -> str:
    """Return the name of what starts a thread or task, where our errors would go unnoticed."""
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return ""
    package = (value.__module__ or "").partition(".")[0]
    name = value.__qualname__
    begins = package in _TASKS or (package == "threading" and name in ("Thread", "Timer"))
    return f"{package}.{name}" if begins else ""


def _is_number_class(value: Any) -> bool:
    """Whether a class makes numbers that are no integers, also from text."""
    if not isinstance(value, type):
        return False
    return issubclass(value, (float, complex, np.inexact)) or any(
        (c.__module__, c.__name__) in _EXACT_NUMBERS for c in value.__mro__
    )


_EXACT_NUMBERS = {("decimal", "Decimal"), ("fractions", "Fraction")}  # of modules that load late


def _reads_json(value: Any) -> bool:
    return value is getattr(sys.modules.get("json"), "loads", _MISSING)


_facts = functools.lru_cache(256)(facts_of)
