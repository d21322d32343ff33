"""The pytrees that a compiled function takes, as source code.

What was traced decides: numbers and arrays are inputs, of which type, dtype and shape are guarded;
strings, and ints that have not varied yet, are guarded by their value; anything that cannot be
looked into is guarded by its identity.
"""

from __future__ import annotations

import array
import builtins
import collections
import copy
import functools
import keyword
import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures.captured_values import content_of, with_cells
from autodiff.compiler.compile_errors import NotRecordedError
from autodiff.compiler.recording.array_contents import share_memory
from autodiff.compiler.recording.content_guards import (
    ReadAttributes,
    elements_in,
    exactly,
    is_of_users,
)
from autodiff.compiler.recording.dependency import Dependency
from autodiff.compiler.recording.functions_made_anew import FunctionMadeAnew, Unread, is_data
from autodiff.compiler.recording.mentioned_names import Mentioned
from autodiff.compiler.recording.recorder import Recording
from autodiff.mutation.written_arguments import has_parts, known_twice
from autodiff.trace.pytree import parts_of, rebuilt
from autodiff.trace.tracer import bare, is_tracer
from autodiff.trace.varying_inputs import VaryingInputs

_BY_VALUE = (int, str, bytes, bool)
_SIMPLE = (int, float, complex, str, bytes, bool, type(None))
MAY_CHANGE = (set, frozenset, range, collections.deque, bytearray, array.array)
DEEPEST = 50
_MANY = 1 << 30
_READING = ("__getitem__", "__iter__", "__len__", "items")
"""Methods by which programs read the parts of containers."""


_OF_SOURCES = frozenset(
    {
        "MISMATCH", "ndarray", "buffers", "new_buffers", "held", "restored", "kernel",
        "done", "numbers", "nan", "result",
    }
)  # fmt: skip
_VARIABLE = re.compile(r"[a-z]\d*|(list|given)\d+|state_\w+")


def is_taken(name: str, x: Any = None) -> bool:
    """Whether a name means something else in every source than an object."""
    if name in _OF_SOURCES or _VARIABLE.fullmatch(name):
        return name not in ("c", "k")  # what constants are called
    return hasattr(builtins, name) and getattr(builtins, name) is not x


class Names:
    """The names of constants in the source, each object once."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self._numbers: dict[str, int] = {}  # by hints: the first that may be free

    def reserved(self, name: str) -> str:
        """Return a name that no constant has or will have: this one, or one like it."""
        while name in self.scope or name in _OF_SOURCES or hasattr(builtins, name):
            name += "_"
        self.scope[name] = None
        return name

    def call(self, x: Any, source: str) -> None:
        """Let an expression stand for an object."""
        self._known[id(x)] = source

    def of(self, x: Any, hint: str = "c") -> str:
        """Return a name for an object."""
        name = self._known.get(id(x))
        if name is None:
            hint = f"{hint}_" if is_taken(hint, x) else hint
            name, n = hint, self._numbers.get(hint, 2)
            while name in self.scope:
                name, n = f"{hint}_{n}", n + 1
            self.scope[name] = x
            self._numbers[hint] = n
            self._known[id(x)] = name
        return name


class Inputs:
    """The arguments of a call: traced, and the source that checks and unpacks those of another.

    Attributes
    ----------
    checks : list of str
        Statements; each returns MISMATCH where the arguments are not of this form.
    numbers : list of int
        The numbers of the values that they give, named ``v0``, ``v1``, …
    generators : dict
        The random generators among the arguments: identity → name in the source.
    are_written : bool
        Whether the function has written into arguments. (A derivative in it writes into copies.)

    Parameters
    ----------
    mentioned : Mentioned, optional
        The names in the code, if the object of a method or the data of a partial function differ.
    """

    def __init__(
        self, recording: Recording, names: Names, varying: VaryingInputs,
        mentioned: Mentioned | None = None,
    ) -> None:  # fmt: skip
        self.recording = recording
        self._mentioned = mentioned
        self._owner: Any = None  # the object of the method, while it is traced
        self._partly: set[int] = set()  # the objects of which not all attributes are read
        self.names = names
        self._varying = varying
        self._n_integers = 0
        self.checks: list[str] = []
        self.numbers: list[int] = []
        self.generators: dict[int, str] = {}
        self.are_written = False
        self._arrays: list[tuple[str, Any, np.ndarray]] = []
        self._containers: list[tuple[str, Any, list, Any, list]] = []
        self._plain: list[tuple[Any, list]] = []  # copies without floats and arrays, their parts
        self._places: dict[int, tuple[str, Any]] = {}  # of what is no tuple, and its copy
        self._nests: dict[int, tuple[str, Any, Any, list]] = {}  # by what the function gets of them
        self._indices: dict[int, int] = {}  # of tracers as they were given
        self._n = 0

    def forget_call(self) -> None:
        """Forget the call that was recorded: the source needs the checks and names alone."""
        kept = ("names", "checks", "numbers", "generators", "are_written")
        self.__dict__ = {name: self.__dict__[name] for name in kept}

    def _unless(self, condition: str) -> None:
        self.checks.append(f"if {condition}: return MISMATCH")

    def traced(self, x: Any, source: str, depth: int = 0) -> Any:
        """Return a pytree with its numbers and arrays traced; note how to check and unpack it."""
        kind = type(x)
        if depth > DEEPEST:
            raise NotRecordedError("an argument contains itself, or is nested too deeply")
        if is_tracer(x):
            raise NotRecordedError("an argument is traced")
        if kind is np.ndarray and x.dtype.kind in "fciub":
            return self._array(x, source)
        if kind in (float, complex) or (isinstance(x, np.number) and x.dtype.kind in "fciu"):
            return self._number(x, source)
        if kind is int:
            self._n_integers += 1
            if self._varying.has_integer(self._n_integers - 1):
                return self._number(x, source)
        if x is None or kind is type(Ellipsis):
            self._unless(f"{source} is not {x}")
            return x
        if kind in _BY_VALUE:
            name = source if source.isidentifier() else self._temporary(source)
            kind_name = self.names.of(kind, kind.__name__)
            self._unless(f"type({name}) is not {kind_name} or {name} != {x!r}")
            return x
        if isinstance(x, np.random.Generator):
            name = self._temporary(source)
            kind_name = self.names.of(kind, kind.__name__)
            self._unless(f"type({name}) is not {kind_name}")
            self.generators[id(x)] = name
            return x
        return self._nest(x, source, depth)

    def function(self, f: Any, source: str, anew: FunctionMadeAnew | None) -> Any:
        """Return the function of a call with its inputs traced: defaults, and contents of cells.

        The functions of all calls have the same code and globals. If `anew` is None, they are one,
        or methods of several objects, or partial functions of several data.
        """
        if anew is None:
            kind = type(f)
            if kind is not types.MethodType and kind is not functools.partial:
                self._unless(f"{source} is not {self.names.of(f, 'f')}")
                return f
            n, self._n_integers = self._n_integers, _MANY  # what it holds does not count
            taken = (self._method if kind is types.MethodType else self._partial)(f, source)
            self._n_integers = n
            return taken
        self.names.call(f, source)
        defaults, named = f.__defaults__ or (), f.__kwdefaults__ or {}
        self._unless(f"len({source}.__defaults__ or ()) != {len(defaults)}")
        self._unless(f"[*({source}.__kwdefaults__ or ())] != {[*named]}")
        given = [self._held(x, f"{source}.__defaults__[{k}]") for k, x in enumerate(defaults)]
        given_named = {
            name: self._held(x, f"{source}.__kwdefaults__[{name!r}]") for name, x in named.items()
        }
        n, self._n_integers = self._n_integers, _MANY  # those that it has captured do not count
        cells = []
        for k, cell in enumerate(f.__closure__ or ()):
            at = f"{source}.__closure__[{k}]"
            if any(cell is c for c in anew.inputs):
                x, at = content_of(cell), f"{at}.cell_contents"
                cell = types.CellType(self._number(x, at) if type(x) is int else self.traced(x, at))
            elif not anew.owns(cell):
                self._unless(f"{at} is not {self.names.of(cell, 'cell')}")
            else:
                self.names.call(cell, at)
            cells.append(cell)
        self._n_integers = n
        if not (anew.inputs or defaults or named):
            return f
        made = with_cells(f, cells)
        made.__defaults__, made.__kwdefaults__ = tuple(given) or None, given_named or None
        return made

    def _method(self, f: types.MethodType, source: str) -> types.MethodType:
        function, owner = self.function(f.__func__, f"{source}.__func__", None), f.__self__
        if self._mentioned is not None and not isinstance(owner, type):
            self._owner = owner
            owner = self.traced(owner, f"{source}.__self__")
            self._owner = None
        return types.MethodType(function, owner)

    def _partial(self, f: functools.partial, source: str) -> functools.partial:
        if type(f.func) is types.MethodType:
            self._unless(f"type({source}.func) is not {self.names.of(types.MethodType, 'method')}")
        function, args, named = self.function(f.func, f"{source}.func", None), f.args, f.keywords
        if self._mentioned is not None:
            self._unless(f"len({source}.args) != {len(args)}")
            self._unless(f"[*{source}.keywords] != {[*named]}")
            args = tuple([self._given(k, x, f"{source}.args[{k}]") for k, x in enumerate(args)])
            named = {k: self._given(k, x, f"{source}.keywords[{k!r}]") for k, x in named.items()}
        return functools.partial(function, *args, **named)

    def _given(self, key: int | str, x: Any, source: str, depth: int = 0) -> Any:
        """Return an argument of a partial function, or an attribute of the object of a method."""
        is_varying = type(x) is int and self._varying.has_part(key)
        return self._number(x, source) if is_varying else self.traced(x, source, depth)

    def _held(self, x: Any, source: str) -> Any:
        """Return a default traced, or itself if it holds more than data."""
        if is_data(x):
            return self.traced(x, source)
        self._unless(f"{source} is not {self.names.of(x, 'default')}")
        return x

    def variable(self, d: Dependency) -> Any:
        """Return the number or array in a variable outside the function, traced."""
        hint = "cell" if d.name is None else "globals_" if type(d.container) is dict else "outer"
        source = self.names.of(d.container, hint)
        source += "" if type(d.container) is dict or d.name is None else ".__dict__"
        source += ".cell_contents" if d.name is None else f".get({d.name!r})"
        is_array = type(d.value) is np.ndarray
        return self._array(d.value, source) if is_array else self._number(d.value, source)

    def _number(self, x: Any, source: str) -> Any:
        tracer, kind = self.recording.input(x), type(x)
        name = self._named(tracer, source)
        self._unless(f"type({name}) is not {self.names.of(kind, kind.__name__)}")
        return tracer

    def is_unchanged(self, tracer: Any) -> bool:
        """Whether nothing has been written into an input."""
        return tracer._index == self._indices.get(id(tracer))

    def _temporary(self, source: str) -> str:
        self._n += 1
        name = f"p{self._n}"
        self.checks.append(f"{name} = {source}")
        return name

    def _named(self, tracer: Any, source: str) -> str:
        name = f"v{tracer._index}"
        self._indices[id(tracer)] = tracer._index
        self.numbers.append(tracer._index)
        if name != source:
            self.checks.append(f"{name} = {source}")
        return name

    def _array(self, x: np.ndarray, source: str) -> Any:
        tracer = self.recording.input(x)
        name = self._named(tracer, source)
        self._arrays.append((name, tracer, x))
        dtype = self.names.of(x.dtype, str(x.dtype) if str(x.dtype).isidentifier() else "dtype")
        self._unless(
            f"type({name}) is not ndarray or {name}.shape != {x.shape}"
            f" or ({name}.dtype is not {dtype} and {name}.dtype != {dtype})"
        )
        return tracer

    def _nest(self, x: Any, source: str, depth: int) -> Any:
        parts = parts_of(x)
        kind = type(x)
        if parts is None or (not parts and kind not in (tuple, list, dict)):
            if isinstance(x, np.ndarray):
                raise NotRecordedError(f"an argument is a {kind.__name__} of {x.dtype}")
            if isinstance(x, MAY_CHANGE):
                return self._by_content(x, source)
            self._unless(f"{source} is not {self.names.of(x, 'constant')}")
            if parts is not None and hasattr(x, "__dict__"):  # it may be given attributes
                fields = self.names.of(tuple(vars(x)), "fields")
                self._unless(f"tuple({source}.__dict__) != {fields}")
            return x
        name = self._temporary(source)
        if id(x) in self._places:
            if id(x) in self._partly and self._owner is None:
                raise NotRecordedError("an argument is a part of the object of the method")
            other, made = self._places[id(x)]
            self._unless(f"{name} is not {other}")
            return made
        made = self._copied(x, name, parts, depth)
        if not isinstance(x, tuple):
            self._places[id(x)] = name, made
        return made

    def _copied(self, x: Any, name: str, parts: Any, depth: int) -> Any:
        """Return a copy of a pytree with traced parts; a tuple itself if it has none.

        Of an object there is a copy at any rate: by it, comparisons with what is no argument are
        seen (`identity`).
        """
        kind = type(x)
        self._unless(f"type({name}) is not {self.names.of(kind, kind.__name__)}")
        self._check_attributes(x, name)
        if isinstance(x, (tuple, list, dict)) and any(
            type(getattr(kind, read, None)) is types.FunctionType for read in _READING
        ):
            raise NotRecordedError(
                f"an argument is a {kind.__name__}, which has its own way to read"
            )
        if isinstance(x, (tuple, list)):
            self._unless(f"len({name}) != {len(x)}")
            sources = [f"{name}[{i}]" for i in range(len(x))]
        elif isinstance(x, dict):
            keys = self.names.of(tuple(x), "keys")
            self._unless(f"tuple({name}) != {keys}")
            if any(type(key) is not str for key in x):
                exact, kinds = self.names.of(exactly, "exactly"), exactly(tuple(x))
                self._unless(f"{exact}(tuple({name})) != {self.names.of(kinds, 'kinds')}")
            sources = [
                f"{name}[{key!r}]" if type(key) is str else f"{name}[{keys}[{i}]]"
                for i, key in enumerate(x)
            ]
        else:
            sources = [_attribute(name, key) for key, _ in parts]
        new = [
            self._part(x, key, part, at, depth + 1)
            for (key, part), at in zip(parts, sources, strict=True)
        ]
        is_traced = any(n is not part for n, (_, part) in zip(new, parts, strict=True))
        made = rebuilt(x, new) if is_traced or not isinstance(x, tuple) else x
        if not isinstance(x, tuple):
            others = [n for n, (_, part) in zip(new, parts, strict=True) if n is not part]
            if all(type(bare(n)) is int for n in others):
                self._plain.append((made, new))
            self._containers.append((name, x, [part for _, part in parts], made, new))
        self._nests[id(made)] = name, x, made, new
        return made

    def _check_attributes(self, x: Any, name: str) -> None:
        """Note how to check which attributes an object has, of those that are read."""
        if not hasattr(x, "__dict__"):
            return
        read, absent = self._read_of(x), None
        if read is not None and self._mentioned is not None:
            inherited = {n for base in type(x).__mro__[:-1] for n in vars(base)}
            absent = ReadAttributes(x, vars(x), self._mentioned, inherited).absent
        if absent is None:
            keys = self.names.of(tuple(vars(x)), "fields")
            self._unless(f"tuple({name}.__dict__) != {keys}")
        elif absent:
            self._unless(f"not {self.names.of(absent, 'absent')}.isdisjoint({name}.__dict__)")

    def _read_of(self, x: Any) -> set[str] | None:
        """Return the attributes that are read of what the object of a method holds; None for all.

        They are those whose names the code mentions.
        """
        names = self._mentioned
        if self._owner is None or names is None or names.by_text or not is_of_users(type(x)):
            return None
        return None if isinstance(x, (tuple, list, dict)) else names.of(type(x))

    def _part(self, x: Any, key: Any, part: Any, source: str, depth: int) -> Any:
        """Return a part of a container or object traced."""
        read = self._read_of(x)
        if read is not None and key not in read:
            self._partly.add(id(x))
            return Unread
        if x is self._owner is not None:
            return self._given(key, part, source, depth)
        return self.traced(part, source, depth)

    def unchanged(self, made: Any) -> tuple[str, Any] | None:
        """Return the source of an argument, and the argument, if `made` stands for it as it was."""
        name, x, known, parts = self._nests.get(id(made), ("", None, None, []))
        if known is not made or not (isinstance(made, tuple) or has_parts(made, parts)):
            return None
        return (name, x) if all(map(self._is_as_it_was, parts)) else None

    def _is_as_it_was(self, part: Any) -> bool:
        if is_tracer(part):
            return self.is_unchanged(part)
        return id(part) not in self._nests or self.unchanged(part) is not None

    def containers(self) -> list[tuple]:
        """Return the lists, dicts and objects among the arguments, as `watch` takes them."""
        return [tuple(entry) for _, *entry in self._containers]

    def have_changed(self) -> bool:
        """Whether the function has changed one of the arguments: it was given copies."""
        return not all(has_parts(made, new) for made, new in self._plain)

    def check_written(self, f: Callable, args: list[tuple[str, Any]], reaches_others: bool) -> None:
        """Note what is asked of arguments that are written into: the program leaves these alone.

        Eagerly, what shares their memory would change with them; read-only arrays are an error.
        `reaches_others` says whether the function reads something from outside that can be written
        into.
        """
        self._check_names(f, args, reaches_others)
        if len(self._places) > 1:  # one in two places would change in both
            names = ", ".join([f"id({name})" for name, _ in self._places.values()])
            self._unless(f"len({{{names}}}) != {len(self._places)}")
        for name, _, x in self._arrays:
            # Written into is maybe the copy that a derivative inside made of it. If it is
            # read-only, the function may have tried to, and caught the error.
            if self.recording.writes or not x.flags.writeable:
                self._unless(f"{name}.flags.writeable is not {x.flags.writeable}")
        if self.recording.may_copy and self.recording.writes:
            for name, _, x in self._arrays:
                self._unless(f"{name}.strides != {x.strides}")
        if self.recording.writes and len(self._arrays) > 1:  # maybe into those of a derivative
            if share_memory([x for _, _, x in self._arrays]):
                raise NotRecordedError("an array is written into, and arguments share memory")
            given = ", ".join(name for name, _, _ in self._arrays)
            self._unless(f"{self.names.of(share_memory, 'share_memory')}([{given}])")
        shares = self.names.of(np.may_share_memory, "may_share_memory")
        for name, tracer, x in self._arrays:
            if name == f"v{tracer._index}":
                continue
            if not x.flags.writeable:
                raise NotRecordedError("an argument that is written into is read-only")
            for other, _, y in self._arrays:
                if other != name and x.size and y.size:
                    if np.may_share_memory(x, y):
                        raise NotRecordedError("an argument is written into that shares memory")
                    self._unless(f"{shares}({name}, {other})")

    def _check_names(self, f: Callable, args: list[tuple[str, Any]], reaches_others: bool) -> None:
        """Ask that the function knows what it writes into by no other name."""
        for _, x, parts, _, _ in self._containers:
            if not has_parts(x, parts):
                raise NotRecordedError("an argument is written into by another name")
        containers = [entry for entry in self._containers if not has_parts(entry[3], entry[4])]
        arrays = [entry for entry in self._arrays if entry[0] != f"v{entry[1]._index}"]
        self.are_written = bool(containers or arrays)
        inside = {id(x) for x in self.recording.written}
        containers += [entry for entry in self._containers if id(entry[3]) in inside]
        arrays += [entry for entry in self._arrays if id(entry[1]) in inside]
        written = [(name, x) for name, x, *_ in containers] + [(name, x) for name, _, x in arrays]
        if not written:
            return
        if known_twice(f, tuple(a for _, a in args), [x for _, x in written]) is not None:
            raise NotRecordedError("an argument is written into that has another name")
        if not reaches_others and all(id(x) in self._places for _, x, *_ in containers):
            return  # other checks compare the arguments with each other
        given = "".join([f"{name}, " for name, _ in args])
        names = ", ".join([name for name, _ in written])
        twice = self.names.of(known_twice, "known_twice")
        self._unless(f"{twice}({self.names.of(f, 'f')}, ({given}), [{names}]) is not None")

    def _by_content(self, x: Any, source: str) -> Any:
        """Return a container that stays the same object when it changes."""
        held = list(x)
        if any(type(part) not in _SIMPLE for part in held):
            raise NotRecordedError(f"an argument is a {type(x).__name__}, what it holds may change")
        name, kind = self._temporary(source), self.names.of(type(x), type(x).__name__)
        now = self.names.of(elements_in, "elements")
        content = self.names.of(elements_in(x), "content")
        self._unless(f"type({name}) is not {kind} or {now}({name}) != {content}")
        if isinstance(x, (frozenset, range)):
            return x
        made = copy.copy(x)
        self._plain.append((made, held))
        self._containers.append((name, x, held, made, held))
        return made


def _attribute(source: str, name: str) -> str:
    """Return the source that reads an attribute; Python changes letters that are not ASCII."""
    is_plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
    return f"{source}.{name}" if is_plain else f"getattr({source}, {name!r})"
