"""The names that code mentions, which tell what attributes it may read."""

from __future__ import annotations

import dis
import types

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


class Mentioned:
    """The names that the code of functions mentions, to tell which attributes it may read.

    Attributes
    ----------
    names : set of str
        All of them.
    bound : set of str
        The names under which attributes are assigned.
    has_handlers, has_patterns, has_deletions : bool
        Whether the code has handlers of errors, class patterns, and deletes attributes.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.bound: set[str] = set()
        self._read: set[str] = set()  # names that are mentioned in another way
        self.has_handlers = False
        self.has_patterns = False
        self.has_deletions = False

    def add(self, function: types.FunctionType, names: set[str]) -> None:
        """Add those that a function mentions."""
        self.names |= names
        codes = [function.__code__]
        for code in codes:
            codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
            self.has_handlers = self.has_handlers or bool(getattr(code, "co_exceptiontable", True))
            for i in dis.get_instructions(code):
                self.has_patterns = self.has_patterns or "MATCH" in i.opname
                self.has_deletions = self.has_deletions or i.opname == "DELETE_ATTR"
                if isinstance(i.argval, str):
                    (self.bound if i.opname == "STORE_ATTR" else self._read).add(i.argval)
            names = names.difference(code.co_names)
        self._read |= names

    @property
    def may_miss(self) -> bool:
        """Whether the code may go on where an attribute or a global variable is missing."""
        return self.has_handlers or self.by_text

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
