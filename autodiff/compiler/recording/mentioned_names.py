"""The names that the code of functions mentions: which attributes it may read.

And what code does with variables outside that no guard can follow.
"""

from __future__ import annotations

import sys
import types
import typing
from typing import Any

from autodiff.closures import outer_assignments
from autodiff.closures.captured_values import content_of
from autodiff.closures.code_mentions import mentions_of

BY_TEXT = frozenset(
    {
        "vars", "dir", "getattr", "hasattr", "attrgetter", "methodcaller", "__dict__",
        "__delattr__", "__getstate__", "__reduce__", "__reduce_ex__", "__setattr__", "dumps",
        "__getattribute__", "getattr_static", "getmembers", "asdict", "astuple", "fields",
        "delattr", "format", "format_map", "replace", "get_annotations", "get_type_hints", "getdoc",
        "getfullargspec", "setattr", "signature", "vformat",
    }
)  # fmt: skip
_AROUND = frozenset({"__array_interface__", "as_strided", "base", "ctypes"})
"""Names of what reaches the memory around a view."""
_OF_SYS = frozenset({"argv", "flags", "getrecursionlimit", "modules", "path"})
_ANYTHING = frozenset(
    {
        "Decimal", "__import__", "__subclasses__", "_getframe", "currentframe", "environ",
        "environb", "eval", "exec", "f_globals", "get_objects", "globals", "import_module",
    }
)  # fmt: skip
"""What may read anything, or a state that is not at hand (the context of decimal numbers)."""
_NAMED = (types.BuiltinFunctionType, types.FunctionType, types.ModuleType, type)
_OF_DATACLASSES = "__create_fn__.<locals>."


class Mentioned:
    """The names that the code of functions mentions, to tell which attributes it may read.

    Attributes
    ----------
    names : set of str
        All of them.
    bound : set of str
        The names under which attributes are assigned.
    has_handlers, has_protocols, has_patterns, has_deletions : bool
        Whether the code has handlers of errors, protocols, class patterns, and deletes attributes.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.bound: set[str] = set()
        self._read: set[str] = set()  # names that are mentioned in another way
        self.has_handlers = self.has_protocols = False
        self.has_patterns = False
        self.has_deletions = False

    def add(self, function: types.FunctionType) -> set[str]:
        """Add those that a function mentions, and return them."""
        facts, names = mentions_of(function.__code__), names_in(function)
        self.names |= names
        self.bound |= facts.of("STORE_ATTR")
        self._read |= facts.of(*facts.texts.keys() - {"STORE_ATTR"}) | (names - facts.names)
        self.has_handlers = self.has_handlers or facts.has_handlers
        self.has_patterns = self.has_patterns or any("MATCH" in op for op in facts.texts)
        self.has_deletions = self.has_deletions or "DELETE_ATTR" in facts.texts
        return names

    def add_protocol(self, kind: type) -> None:
        """Add what `isinstance` looks for in objects if a class is a protocol."""
        for base in kind.__mro__ if getattr(kind, "_is_protocol", False) else ():
            if getattr(base, "_is_protocol", False) and base is not typing.Protocol:
                self.names.update(vars(base), vars(base).get("__annotations__", ()))
                self.has_protocols = True

    @property
    def may_miss(self) -> bool:
        """Whether the code may go on where an attribute or a global variable is missing."""
        return self.has_handlers or self.has_protocols or self.by_text

    @property
    def by_text(self) -> bool:
        """Whether attributes may be read by a text, or all of them in their order."""
        return self.has_deletions or not self.names.isdisjoint(BY_TEXT)

    @property
    def reaches_around(self) -> bool:
        """Whether the code may read or write the memory around a view."""
        return not self.names.isdisjoint(_AROUND)

    @property
    def only_bound(self) -> set[str]:
        """The names under which attributes are assigned and never read."""
        return self.bound - self._read

    def of(self, kind: type) -> set[str]:
        """Return the names that may be read of an object of a class."""
        given = getattr(kind, "__match_args__", ()) if self.has_patterns else ()
        return self.names.union(n for n in given if isinstance(n, str))


def names_in(function: types.FunctionType) -> set[str]:
    """Return the names that a function mentions, and texts that may be names of attributes."""
    code = function.__code__
    constants = mentions_of(code).constants
    names = _mentioned_by(function)
    if not names.isdisjoint(BY_TEXT):
        names.update(c for c in constants if type(c) is str and c.isidentifier())
    if code.co_filename == "<string>" and code.co_qualname.startswith(_OF_DATACLASSES):
        # The name of the class, no function's; and these texts are those of the fields.
        names -= {"__qualname__", "__setattr__", "__delattr__"}
    # What a class pattern reads (``case Point(x=0)``) stands in a tuple.
    names.update(n for c in constants if type(c) is tuple for n in c if type(n) is str)
    return names


def _mentioned_by(function: types.FunctionType) -> set[str]:
    """Return the names that a function mentions, and the own names of functions and modules.

    These may go by another name: ``from builtins import eval as run``, ``import sys as system``.
    """
    names, scope = mentions_of(function.__code__).names, function.__globals__
    held = [scope[n] for n in names & scope.keys()]
    held += map(content_of, function.__closure__ or ())
    return {*names, *[str(getattr(x, "__name__", "")) for x in held if isinstance(x, _NAMED)]}


def is_reader(x: Any) -> bool:
    """Whether this is a function of Python's that reads variables or attributes by text."""
    if isinstance(x, types.BuiltinFunctionType):
        is_function = isinstance(x.__self__, types.ModuleType)
    else:
        is_function = isinstance(x, (types.FunctionType, type))
    if not is_function or (x.__name__ not in BY_TEXT and x.__name__ not in _ANYTHING):
        return False
    return (x.__module__ or "").partition(".")[0].lstrip("_") in sys.stdlib_module_names


def not_followed(function: types.FunctionType) -> str:
    """Say what a function does with variables outside that is not followed, "" if nothing."""
    names = _mentioned_by(function)
    anything = names & _ANYTHING
    if anything:
        return f"uses {min(anything)}"
    if {"flags", "writeable"} <= names or "setflags" in names:
        return "asks or says whether arrays can be written into"
    if "sys" in names and names & _OF_SYS:
        return f"uses sys.{min(names & _OF_SYS)}"
    found = outer_assignments.of(function)
    if found is None:
        return "may write variables outside of it: its source is not at hand"
    for name in sorted(found.to_globals):
        return f"writes the global variable {name!r}"
    for name in sorted(found.to_captured.intersection(function.__code__.co_freevars)):
        return f"writes the variable {name!r} of the function around it"
    return ""
