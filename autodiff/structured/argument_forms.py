"""The form of arguments: their pytree structure without the leaves.

The leaves are the numbers and arrays, which a program gets as a flat list of arguments. The form
holds the tuples, lists, dicts, objects and functions around them. A program is specialized to it,
and arguments are rebuilt from it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autodiff import caches
from autodiff.closures.captured_values import is_empty, with_cells
from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.intercept.source.rewritten_code import original_of
from autodiff.structured.form.function_ir import Items, Named, RecordValue
from autodiff.structured.form.kinds import SCALARS
from autodiff.structured.form.plain_classes import is_plain_class, record_class
from autodiff.structured.list_arguments import ListArgument, as_list_argument, numbers_within
from autodiff.trace.tracer import TRACERS
from chainrules_core import rrule

KNOWN = (
    bool, str, type(None), types.ModuleType, np.ufunc, types.BuiltinFunctionType, type(np.sum),
)  # fmt: skip
"""Classes of leaves whose values are part of the specialization key."""
PLAIN = (int, float, complex, np.float64, np.complex128, np.int64)
_MOST_PARTS = 50
_DEEPEST = 5  # levels of functions that capture functions
_CONTAINERS = (tuple, list, dict)
_LEAVES = frozenset({*TRACERS, *KNOWN, *PLAIN, np.ndarray})
_UNTRACED = _LEAVES - set(TRACERS)
_INTEGERS = frozenset({int, np.int64})
_SORTS = (str, bool, type(None))  # columns in which only some have these are not of one sort
_DEEPEST_ROWS = 5  # levels of lists in lists
_NOT_OBJECTS = _LEAVES | set(_CONTAINERS)


class Fields(Named):
    """The attributes of an object among the arguments."""

    def __init__(self, cls: type, attributes: dict[str, Any]) -> None:
        super().__init__(attributes)
        self.cls = cls


class Captured(Named):
    """The captured variables, by name, and the defaults of a function among the arguments.

    Attributes
    ----------
    function : FunctionType
        The function.
    code : CodeType
        Its original code, before rewriting.
    """

    def __init__(
        self, function: types.FunctionType, code: types.CodeType, held: dict[str, Any]
    ) -> None:  # fmt: skip
        super().__init__(held)
        self.function = function
        self.code = code


def default_name(parameter: str) -> str:
    """Return the key of a parameter's default, which no variable can have as its name."""
    return f"{parameter}.default"


class MethodForm(Named):
    """The object of a bound method among the arguments, under the key ``__self__``.

    Attributes
    ----------
    function : FunctionType
        The function in the class.
    """

    def __init__(self, function: types.FunctionType, owner: Any) -> None:
        super().__init__({"__self__": owner})
        self.function = function


class PartialForm(Named):
    """A `functools.partial`: the function under ``func``, and its arguments.

    Positional arguments are under their positions, keywords under `PREFIX` and their names.
    """

    PREFIX = "named."


class Rows(tuple):
    """Nested lists of rows, stored by column: one nested list for each part of the rows.

    Rows are tuples, named tuples, dicts with the same keys, or objects of one class.

    Attributes
    ----------
    depth : int
        The number of levels of lists.
    row : RowForm
        The form of each row.
    """

    depth: int
    row: RowForm


class RowForm(NamedTuple):
    """The form of a row: its class, and the names of its parts; those of a tuple are numbers."""

    cls: type
    names: tuple

    def rebuilt(self, parts: tuple) -> Any:
        """Return a row with these parts."""
        if self.cls is tuple:
            return parts
        if self.cls is dict:
            return dict(zip(self.names, parts, strict=True))
        if issubclass(self.cls, tuple):
            return self.cls._make(parts)  # type: ignore[attr-defined] # it is a named tuple
        result = object.__new__(self.cls)
        vars(result).update(zip(self.names, parts, strict=True))
        return result


class Flattener:
    """Flattens arguments into leaves.

    Parameters
    ----------
    apart : bool
        Whether to split all user-defined objects into their attributes, also those without traced
        ones.
    whole : bool
        Whether every list of numbers is one leaf, also a short one.

    Attributes
    ----------
    leaves : list
        Numbers, arrays, and values that programs are specialized to.
    objects : list
        The objects that were split, in preorder.
    """

    def __init__(self, apart: bool = False, whole: bool = False) -> None:
        self.apart = apart
        self.whole = whole
        self.leaves: list = []
        self.objects: list = []
        self._are_plain: dict[type, bool] = {}  # whether their objects are split, by class

    def forms_of(self, args: tuple) -> tuple:
        """Return the forms of several values; append their leaves."""
        if _LEAVES.issuperset(map(type, args)):
            self.leaves += args
            return (None,) * len(args)
        return tuple(map(self.form_of, args))

    def form_of(self, x: Any, depth: int = 0) -> Any:
        """Return the form of a value, with None for each leaf; append its leaves."""
        if type(x) in _LEAVES:
            self.leaves.append(x)
            return None
        if type(x) in (list, tuple):
            is_long = len(x) > _MOST_PARTS or numbers_within(x, _MOST_PARTS) > _MOST_PARTS
            if is_long and (columns := columns_of_rows(x)) is not None:
                self.leaves += columns[2]
                rows = Rows([None] * len(columns[2]))
                rows.depth, rows.row = columns[:2]
                return rows
            is_whole = is_long or (self.whole and type(x) is list)  # short tuples are split
            if is_whole and (found := list_argument(x)) is not None:
                self.leaves.append(found)
                return None
        if type(x) not in _CONTAINERS or len(x) > _MOST_PARTS or depth > _MOST_PARTS:
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

    def _form_of_object(self, x: Any, depth: int) -> Named | RecordValue | None:
        """Return the form of a named tuple, function or object; None if it is a leaf."""
        cls = type(x)
        if cls in _NOT_OBJECTS:
            return None
        if cls is functools.partial:
            is_plain = not vars(x) and depth <= _DEEPEST and len(self.leaves) <= _MOST_PARTS
            return self._form_of_partial(x, depth) if is_plain else None
        if cls is types.FunctionType or cls is types.MethodType:
            return self._form_of_function(x, depth)
        record = record_class(cls) if isinstance(x, tuple) else None
        if record is not None and max(len(x), depth) <= _MOST_PARTS:
            return record([self.form_of(v, depth + 1) for v in x])
        if cls not in self._are_plain:
            self._are_plain[cls] = is_plain_class(cls)
        if not self._are_plain[cls] or max(len(self.leaves), depth) > _MOST_PARTS:
            return None
        if not self.apart and _UNTRACED.issuperset(map(type, vars(x).values())):
            return None
        before = len(self.leaves), len(self.objects)
        self.objects.append(x)
        form = Fields(cls, {name: self.form_of(v, depth + 1) for name, v in vars(x).items()})
        if self.apart or any(type(leaf) in TRACERS for leaf in self.leaves[before[0] :]):
            return form
        del self.leaves[before[0] :], self.objects[before[1] :]
        return None

    def _form_of_partial(self, x: functools.partial, depth: int) -> PartialForm:
        parts = {"func": x.func} | {str(i): v for i, v in enumerate(x.args)}
        parts |= {PartialForm.PREFIX + name: v for name, v in x.keywords.items()}
        return PartialForm({name: self.form_of(v, depth + 1) for name, v in parts.items()})

    def _form_of_function(self, x: Any, depth: int) -> Captured | MethodForm | None:
        """Return the form of a user-defined function or bound method; None if it is a leaf."""
        f = x.__func__ if type(x) is types.MethodType else x
        if type(f) is not types.FunctionType or is_ours(f) or is_library(f):
            return None
        if rrule.entry(f) is not None or depth > _DEEPEST or len(self.leaves) > _MOST_PARTS:
            return None
        if f is not x:
            return MethodForm(f, self.form_of(x.__self__, depth + 1))
        code, held = _captured_by(f)
        held |= {default_name(name): value for name, value in _defaults_of(f).items()}
        return Captured(f, code, {name: self.form_of(v, depth + 1) for name, v in held.items()})

    def form_of_captured(self, g: types.FunctionType) -> Captured | None:
        """Return the form of the captured variables of the called function; None if there are none.

        It leaves out values that a program cannot take as arguments: each call compares those.
        """
        code, held = _captured_by(g)
        form: dict[str, Any] = {}
        for name, value in held.items():
            taken = Flattener(apart=True, whole=self.whole)
            part = taken.form_of(value, 1)
            if all(map(_can_be_given, taken.leaves)):
                form[name] = part
                self.leaves += taken.leaves
                self.objects += taken.objects
        return Captured(g, code, form) if form else None


def _captured_by(f: types.FunctionType) -> tuple[types.CodeType, dict[str, Any]]:
    """Return the original code of a function, and its captured variables by name."""
    code = original_of(f.__code__)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    own = {name: cells[name] for name in code.co_freevars if name in cells}
    return code, {name: cell.cell_contents for name, cell in own.items() if not is_empty(cell)}


def _can_be_given(leaf: Any) -> bool:
    """Whether a program can take a leaf as an argument, or be specialized to it."""
    if type(leaf) is np.ndarray:
        return leaf.dtype.kind in "fciub"
    return type(leaf) in _LEAVES or type(leaf) is ListArgument


def _defaults_of(f: types.FunctionType) -> dict[str, Any]:
    """Return the defaults of a function by parameter name."""
    code, last = f.__code__, f.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(last) : code.co_argcount]
    return dict(zip(names, last, strict=True)) | (f.__kwdefaults__ or {})


def key_of_form(form: Any) -> Any:
    """Return a hashable key for a form; it distinguishes container types and dict keys."""
    if form is None:
        return None
    if not isinstance(form, Named):
        parts = [None if part is None else key_of_form(part) for part in form]
        rows = (form.depth, form.row) if type(form) is Rows else ()
        return (type(form), *rows, *parts)
    kind: Any = dict
    if type(form) is Fields:
        kind = id(form.cls)
    elif type(form) is Captured:
        kind = form.code, id(form.function.__globals__)
    elif type(form) is MethodForm:
        kind = form.function
    elif type(form) is PartialForm:
        kind = functools.partial
    return (kind, *[(k, key_of_form(part)) for k, part in form.items()])


def rebuilt_from(form: Any, leaves: Iterator, objects: list) -> Any:
    """Rebuild the pytree of a form from leaves; append the objects that it creates to `objects`.

    Anything in the form that is not a container stands for a leaf.
    """
    if type(form) is Fields:
        result: Any = object.__new__(form.cls)
        objects.append(result)
        vars(result).update({k: rebuilt_from(part, leaves, objects) for k, part in form.items()})
        return result
    if isinstance(form, Named):
        parts = {k: rebuilt_from(part, leaves, objects) for k, part in form.items()}
        if type(form) is Captured:
            return _function_with(form.function, parts)
        if type(form) is PartialForm:
            f = parts.pop("func")
            by_name = [key for key in form if key.startswith(form.PREFIX)]
            named = {key.removeprefix(form.PREFIX): parts.pop(key) for key in by_name}
            return functools.partial(f, *parts.values(), **named)
        if type(form) is MethodForm:
            return types.MethodType(form.function, parts["__self__"])
        return parts
    if not isinstance(form, tuple):
        return next(leaves)
    result = [rebuilt_from(part, leaves, objects) for part in form]
    if type(form) is Rows:
        return rows_of_columns(result, form.depth, form.row)
    if isinstance(form, RecordValue):
        return form.user_class()._make(result)
    return result if type(form) is Items else tuple(result)


def _function_with(f: types.FunctionType, parts: dict[str, Any]) -> types.FunctionType:
    """Return a copy of a function with other captured values and defaults."""
    if not parts:
        return f
    cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    copy = with_cells(f, [types.CellType(parts[n]) if n in parts else cell for n, cell in cells])
    defaults = {name: parts.get(default_name(name), x) for name, x in _defaults_of(f).items()}
    named = {name: defaults.pop(name) for name in f.__kwdefaults__ or ()}
    copy.__defaults__, copy.__kwdefaults__ = tuple(defaults.values()) or None, named or None
    return copy


# -- lists that have been converted before ---------------------------------------------------------


class _Converted(NamedTuple):
    """A list that was converted, what was in it, and the result.

    `holders` are the lists and dicts in it, and the views of the values of these. `lengths` and
    `items` say what they held, one after the other.
    """

    given: list | tuple
    holders: list
    lengths: list[int]
    items: list
    made: Any

    @property
    def is_current(self) -> bool:
        """Whether nothing in the list has changed."""
        return list(map(len, self.holders)) == self.lengths and all(
            map(operator.is_, itertools.chain.from_iterable(self.holders), self.items)
        )


_converted: dict[tuple, _Converted] = caches.register("converted lists", {})
_MOST_CONVERTED, _MOST_ITEMS = 64, 1 << 20
_PLAIN_ITEMS = frozenset({*SCALARS, str, type(None)})


def _remembered(convert: Callable) -> Callable:
    """Return a function that converts a list only if something in it has changed since last time.

    Lists, tuples and dicts of numbers and texts are remembered, the last ones that were converted.
    """

    @functools.wraps(convert)
    def converted(x: list | tuple) -> Any:
        key = convert, id(x)
        known = _converted.pop(key, None)
        if known is None or known.given is not x or not known.is_current:
            made = convert(x)
            contents = None if made is None else _contents_of(x)
            if contents is None:
                return made
            known = _Converted(x, *contents, made)
            while len(_converted) >= _MOST_CONVERTED or _n_items() > _MOST_ITEMS:
                for oldest in [*_converted][:1]:  # another thread may drop it, too
                    _converted.pop(oldest, None)
        _converted[key] = known
        return known.made

    return converted


def _n_items() -> int:
    return sum(len(known.items) for known in list(_converted.values()))


def _contents_of(x: list | tuple) -> tuple[list, list[int], list] | None:
    """Return what changes if anything in a list does: see `_Converted`.

    Return None if it holds anything but numbers and texts in lists, tuples and dicts.
    """
    holders: list = []
    level: list = [x]
    while not _PLAIN_ITEMS.issuperset(map(type, level)):
        parts = [part for part in level if type(part) not in _PLAIN_ITEMS]
        if not all(type(part) in (list, dict) or isinstance(part, tuple) for part in parts):
            return None
        holders += [part for part in parts if type(part) in (list, dict)]
        values = [part.values() if type(part) is dict else part for part in parts]
        holders += [own for own in values if not isinstance(own, (list, tuple))]
        level = list(itertools.chain.from_iterable(values))
    return holders, list(map(len, holders)), list(itertools.chain.from_iterable(holders))


list_argument = _remembered(as_list_argument)


@_remembered
def columns_of_rows(x: list | tuple) -> tuple[int, RowForm, list[ListArgument]] | None:
    """Transpose nested lists of rows; return the number of list levels, the row and the columns.

    A column is nested like `x` and has one part of each row. Return None if the rows are tuples
    whose parts are of one sort: then `x` is one list of these.
    """
    depth, level = 1, x
    while level and depth < _DEEPEST_ROWS and all(type(row) is list for row in level):
        depth, level = depth + 1, [row for xs in level for row in xs]
    found = _parts_of_rows(level) if level else None
    if found is None:
        return None
    row, rows = found
    parts = list(zip(*rows, strict=True))
    if row.cls is tuple:
        kinds = [set(map(type, column)) for column in parts]
        sorts = {(*[cls in kind for cls in _SORTS], kind <= _INTEGERS) for kind in kinds}
        if len(sorts) < 2:
            return None

    def nested(xs: Any, parts: Iterator, depth: int) -> list:
        if depth == 1:
            return list(itertools.islice(parts, len(xs)))
        return [nested(part, parts, depth - 1) for part in xs]

    each = [as_list_argument(nested(x, iter(column), depth)) for column in parts]
    columns = [column for column in each if column is not None]
    return (depth, row, columns) if columns and len(columns) == len(each) else None


def _parts_of_rows(rows: list | tuple) -> tuple[RowForm, list] | None:
    """Return the form of rows and the parts of each; None if they have no common form."""
    cls = type(rows[0])
    if cls is list or cls in _LEAVES or any(type(row) is not cls for row in rows):
        return None
    if cls is dict or is_plain_class(cls):
        each = rows if cls is dict else list(map(vars, rows))
        names = set(map(tuple, each))
        parts: list = [tuple(row.values()) for row in each]
    else:
        if cls is not tuple and record_class(cls) is None:
            return None
        names = set(map(tuple, map(range, set(map(len, rows)))))
        parts = list(rows)
    if len(names) != 1:
        return None
    (own,) = names
    if not all(type(name) in (str, int) for name in own):
        return None
    return RowForm(cls, own), parts


def rows_of_columns(columns: list, depth: int, row: RowForm) -> list:
    """Return nested lists of rows from their columns."""
    each = zip(*columns, strict=True)
    return [row.rebuilt(x) if depth == 1 else rows_of_columns(x, depth - 1, row) for x in each]  # type: ignore[arg-type]
