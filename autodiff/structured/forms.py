"""The form of arguments: nests of tuples, lists, dicts, objects and functions, around leaves.

The leaves are the numbers and arrays, which a program is given one after the other. A form says
what stands around them: a program is made for it, and with it arguments can be put together again.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff.closures.captured_values import is_empty, with_cells
from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.intercept.source.rewritten_code import original_of
from autodiff.structured.form.ir import Items, Named, Record
from autodiff.structured.reading.scopes import is_plain_class, record_class
from autodiff.structured.whole_lists import GivenList, numbers_within, whole_list
from autodiff.trace.tracer import TRACERS
from chainrules_core import rrule

KNOWN = (
    bool, str, type(None), types.ModuleType, np.ufunc, types.BuiltinFunctionType, type(np.sum),
)  # fmt: skip
"""Classes of leaves that a program is made for: what they are is part of its key."""
PLAIN = (int, float, complex, np.float64, np.complex128, np.int64)
_MOST_PARTS = 50
_DEEPEST = 5  # functions that have captured functions
_NESTS = (tuple, list, dict)
_LEAVES = frozenset({*TRACERS, *KNOWN, *PLAIN, np.ndarray})
_INTEGERS = frozenset({int, np.int64})
_DEEPEST_ROWS = 5  # lists in lists
_ALONE = _LEAVES | set(_NESTS)


class Fields(Named):
    """The attributes of an object that is an argument."""

    def __init__(self, cls: type, attributes: dict[str, Any]) -> None:
        super().__init__(attributes)
        self.cls = cls


class Captured(Named):
    """What a function that is an argument has captured, by name, and its defaults.

    Attributes
    ----------
    function : FunctionType
        The function.
    code : CodeType
        Its code as it is written.
    """

    def __init__(
        self, function: types.FunctionType, code: types.CodeType, held: dict[str, Any]
    ) -> None:  # fmt: skip
        super().__init__(held)
        self.function = function
        self.code = code


def default_name(parameter: str) -> str:
    """Return the name of a default among what a function holds: no variable has it."""
    return f"{parameter}.default"


class Owned(Named):
    """The object that a method that is an argument belongs to, under the name of ``__self__``.

    Attributes
    ----------
    function : FunctionType
        The function in the class.
    """

    def __init__(self, function: types.FunctionType, owner: Any) -> None:
        super().__init__({"__self__": owner})
        self.function = function


class Applied(Named):
    """What `functools.partial` has made: the function under ``func``, and what it is given.

    Arguments by place are under their numbers, those by name under their names behind `PREFIX`.
    """

    PREFIX = "named."


class Rows(tuple):
    """A list of tuples, or of lists of such: a list of numbers for each part of the tuples.

    Attributes
    ----------
    depth : int
        How many lists stand one in another.
    """

    depth: int


class Taken:
    """What is taken of arguments, one after the other.

    Parameters
    ----------
    apart : bool
        Whether all objects of the user's are taken apart, also those without traced attributes.
    whole : bool
        Whether all lists of numbers are taken as a whole, also short ones.

    Attributes
    ----------
    leaves : list
        Numbers, arrays, and what a program is made for.
    objects : list
        The objects that are taken apart, each before what its attributes hold.
    """

    def __init__(self, apart: bool = False, whole: bool = False) -> None:
        self.apart = apart
        self.whole = whole
        self.leaves: list = []
        self.objects: list = []

    def form_of(self, x: Any, depth: int = 0) -> Any:
        """Return a nest with None for each leaf, which it collects."""
        if type(x) in (list, tuple):
            is_long = len(x) > _MOST_PARTS or numbers_within(x, _MOST_PARTS) > _MOST_PARTS
            if is_long and (columns := columns_of_rows(x)) is not None:
                self.leaves += columns[1]
                rows = Rows([None] * len(columns[1]))
                rows.depth = columns[0]
                return rows
            is_whole = is_long or (self.whole and type(x) is list)  # short tuples are not
            if is_whole and (found := whole_list(x)) is not None:
                self.leaves.append(found)
                return None
        if type(x) not in _NESTS or len(x) > _MOST_PARTS or depth > _MOST_PARTS:
            form = self._form_of_object(x, depth)
            if form is None:
                self.leaves.append(x)
            return form
        if type(x) is not dict:
            return (Items if type(x) is list else tuple)([self.form_of(v, depth + 1) for v in x])
        if not all(type(k) in (str, int) for k in x):
            self.leaves.append(x)
            return None
        return Named({k: self.form_of(v, depth + 1) for k, v in x.items()})

    def _form_of_object(self, x: Any, depth: int) -> Named | Record | None:
        """Return the form of a named tuple, a function, or an object that is taken apart."""
        cls = type(x)
        if cls in _ALONE:
            return None
        if cls is functools.partial:
            is_plain = not vars(x) and depth <= _DEEPEST and len(self.leaves) <= _MOST_PARTS
            return self._form_of_partial(x, depth) if is_plain else None
        if cls is types.FunctionType or cls is types.MethodType:
            return self._form_of_function(x, depth)
        record = record_class(cls) if isinstance(x, tuple) else None
        if record is not None and max(len(x), depth) <= _MOST_PARTS:
            return record([self.form_of(v, depth + 1) for v in x])
        if not is_plain_class(cls) or max(len(self.leaves), depth) > _MOST_PARTS:
            return None
        before = len(self.leaves), len(self.objects)
        self.objects.append(x)
        form = Fields(cls, {name: self.form_of(v, depth + 1) for name, v in vars(x).items()})
        if self.apart or any(type(leaf) in TRACERS for leaf in self.leaves[before[0] :]):
            return form
        del self.leaves[before[0] :], self.objects[before[1] :]
        return None

    def _form_of_partial(self, x: functools.partial, depth: int) -> Applied:
        parts = {"func": x.func} | {str(i): v for i, v in enumerate(x.args)}
        parts |= {Applied.PREFIX + name: v for name, v in x.keywords.items()}
        return Applied({name: self.form_of(v, depth + 1) for name, v in parts.items()})

    def _form_of_function(self, x: Any, depth: int) -> Captured | Owned | None:
        """Return the form of a function of the user's, or of a method of such an object."""
        f = x.__func__ if type(x) is types.MethodType else x
        if type(f) is not types.FunctionType or is_ours(f) or is_library(f):
            return None
        if rrule.entry(f) is not None or depth > _DEEPEST or len(self.leaves) > _MOST_PARTS:
            return None
        if f is not x:
            return Owned(f, self.form_of(x.__self__, depth + 1))
        code, held = _captured_by(f)
        held |= {default_name(name): value for name, value in _defaults_of(f).items()}
        return Captured(f, code, {name: self.form_of(v, depth + 1) for name, v in held.items()})

    def form_of_called(self, g: types.FunctionType) -> Captured | None:
        """Return what the function that is called has captured; None if that is nothing.

        What no program can be given is not in it: that is compared at each call.
        """
        code, held = _captured_by(g)
        form: dict[str, Any] = {}
        for name, value in held.items():
            taken = Taken(apart=True, whole=self.whole)
            part = taken.form_of(value, 1)
            if all(map(_can_be_given, taken.leaves)):
                form[name] = part
                self.leaves += taken.leaves
                self.objects += taken.objects
        return Captured(g, code, form) if form else None


def _captured_by(f: types.FunctionType) -> tuple[types.CodeType, dict[str, Any]]:
    """Return the code of a function as it is written, and what it has captured."""
    code = original_of(f.__code__)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    own = {name: cells[name] for name in code.co_freevars if name in cells}
    return code, {name: cell.cell_contents for name, cell in own.items() if not is_empty(cell)}


def _can_be_given(leaf: Any) -> bool:
    """Whether a leaf is a number or array, or what a program may be made for."""
    if type(leaf) is np.ndarray:
        return leaf.dtype.kind in "fciub"
    return type(leaf) in _LEAVES or type(leaf) is GivenList


def _defaults_of(f: types.FunctionType) -> dict[str, Any]:
    """Return the parameters that have a default, with it."""
    code, last = f.__code__, f.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(last) : code.co_argcount]
    return dict(zip(names, last, strict=True)) | (f.__kwdefaults__ or {})


def key_of_form(form: Any) -> Any:
    """Return a form as a key: lists and tuples differ, and so do dicts of other keys."""
    if form is None:
        return None
    if not isinstance(form, Named):
        return (type(form), getattr(form, "depth", 0), *map(key_of_form, form))
    kind: Any = dict
    if type(form) is Fields:
        kind = id(form.cls)
    elif type(form) is Captured:
        kind = form.code, id(form.function.__globals__)
    elif type(form) is Owned:
        kind = form.function
    elif type(form) is Applied:
        kind = functools.partial
    return (kind, *[(k, key_of_form(part)) for k, part in form.items()])


def nest_of(form: Any, leaves: Iterator, objects: list) -> Any:
    """Return the nest of a form with these leaves; it collects the objects that it makes.

    The form may have anything but a nest in the place of a leaf.
    """
    if type(form) is Fields:
        made: Any = object.__new__(form.cls)
        objects.append(made)
        vars(made).update({k: nest_of(part, leaves, objects) for k, part in form.items()})
        return made
    if isinstance(form, Named):
        parts = {k: nest_of(part, leaves, objects) for k, part in form.items()}
        if type(form) is Captured:
            return _function_with(form.function, parts)
        if type(form) is Applied:
            f = parts.pop("func")
            by_name = [key for key in form if key.startswith(form.PREFIX)]
            named = {key.removeprefix(form.PREFIX): parts.pop(key) for key in by_name}
            return functools.partial(f, *parts.values(), **named)
        return types.MethodType(form.function, parts["__self__"]) if type(form) is Owned else parts
    if not isinstance(form, tuple):
        return next(leaves)
    made = [nest_of(part, leaves, objects) for part in form]
    if type(form) is Rows:
        return rows_of_columns(made, form.depth)
    if isinstance(form, Record):
        return form.user_class()._make(made)
    return made if type(form) is Items else tuple(made)


def _function_with(f: types.FunctionType, parts: dict[str, Any]) -> types.FunctionType:
    """Return a function that has captured other values, and has them as defaults."""
    if not parts:
        return f
    cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    made = with_cells(f, [types.CellType(parts[n]) if n in parts else cell for n, cell in cells])
    defaults = {name: parts.get(default_name(name), x) for name, x in _defaults_of(f).items()}
    named = {name: defaults.pop(name) for name in f.__kwdefaults__ or ()}
    made.__defaults__, made.__kwdefaults__ = tuple(defaults.values()) or None, named or None
    return made


def columns_of_rows(x: list | tuple) -> tuple[int, list[GivenList]] | None:
    """Return the columns of a list of tuples, or of lists of such, and how many lists these are.

    They are lists like `x`, with one part of each tuple. None unless some of these parts are
    integers and others are not: else it is one list of numbers.
    """
    levels, rows = [[x]], [*x]
    while rows and len(levels) < _DEEPEST_ROWS and all(type(row) is list for row in rows):
        levels.append(rows)
        rows = [row for xs in rows for row in xs]
    if not rows or any(type(row) is not tuple for row in rows) or len(set(map(len, rows))) > 1:
        return None
    kinds = [set(map(type, column)) for column in zip(*rows, strict=True)]
    if len({kind <= _INTEGERS for kind in kinds}) < 2:
        return None

    def column(xs: Any, k: int) -> Any:
        return xs[k] if type(xs) is tuple and xs is not x else [column(part, k) for part in xs]

    columns = [whole_list(column(x, k)) for k in range(len(kinds))]
    return None if None in columns else (len(levels), columns)  # type: ignore[return-value]


def rows_of_columns(columns: list, depth: int) -> list:
    """Return a list of tuples, or of lists of such, of its columns."""
    parts = zip(*columns, strict=True)
    return [row if depth == 1 else rows_of_columns(row, depth - 1) for row in parts]  # type: ignore[arg-type]
