"""Lists of numbers as single arguments of a program, and lists that a program returns or changes.

A program computes with copies of lists that hold untraced numbers. The copies preserve aliasing: a
list that appears in two places is one list in the copy, with one shadow. After a call, the contents
are written back to the user's own lists, and a list that was passed in keeps its identity.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from autodiff.dispatch.arguments import constant_array
from autodiff.dispatch.call import is_differentiable
from autodiff.structured.form.function_ir import Memory
from autodiff.structured.form.kinds import FIXED, LIST, SCALARS, Kind, UnsupportedError
from autodiff.structured.runtime_library import ChangedError
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import TRACERS, bare, is_tracer

_DEEPEST = 5  # levels of lists in lists
_SEQUENCES = {list, tuple}
_NUMBERS = frozenset(SCALARS)
_NONE = frozenset([type(None)])


class ListArgument:
    """An argument that is a list or tuple of numbers or texts, or nested lists or tuples of them.

    Some items may be None.

    Attributes
    ----------
    own : list
        The list itself and all lists and tuples in it, each once, level by level.
    levels : list of int
        The depth of each of these.
    plain : list
        A copy with untraced numbers, as nested lists.
    variables : list
        The active numbers, traced.
    tapes : list
        The tapes of the traced numbers.
    is_nested : bool
        Whether a number is traced at several levels.
    key : tuple
        The specialization key: the container classes, from the outermost to the innermost; the
        classes of the items; and whether any is active.
    """

    __slots__ = (
        "_places", "_rows", "classes", "is_nested", "key", "levels", "own", "plain", "tapes",
        "variables",
    )  # fmt: skip

    def __init__(self, levels: list[list], items: list) -> None:
        own = [xs for level in levels for xs in level]
        self.own = own
        self.levels = [k for k, level in enumerate(levels) for _ in level]
        kinds = set(map(type, items))
        traced = kinds & TRACERS
        numbers = [x for x in items if type(x) in TRACERS] if traced else []
        classes = (kinds - traced) | {type(bare(x)) for x in numbers}
        self.is_nested = any(is_tracer(x._value) for x in numbers)
        self.tapes = list(
            {id(x._tape): x._tape for x in numbers if x._tape is not CONSTANT}.values()
        )
        active = {id(x) for x in numbers if _is_variable(x)}
        copies: dict[int, list] = {}
        self._rows = [list(xs) for xs in levels[-1]]
        # The active numbers: the row of each, and its position in the row.
        self._places = [
            (i, j)
            for i, xs in enumerate(self._rows) if active
            for j, x in enumerate(xs) if id(x) in active
        ]  # fmt: skip
        self.variables = [self._rows[i][j] for i, j in self._places]
        if numbers:
            for xs in self._rows:
                xs[:] = list(map(bare, xs))
        for xs, row in zip(levels[-1], self._rows, strict=True):
            copies[id(xs)] = row
        for level in reversed(levels[:-1]):
            for xs in level:
                copies[id(xs)] = [copies[id(x)] for x in xs]
        self.plain = copies[id(own[0])]
        self.classes = tuple([type(level[0]) for level in levels])
        self.key = (self.classes, frozenset(classes), bool(active))

    def memory(self) -> Memory:
        """Return the `Memory` of the list for a program: the kinds of its items."""
        inner: Memory | None = None
        has_none = type(None) in self.key[1]
        classes = self.key[1] - _NONE or (frozenset([float]) if has_none else None)
        kind = Kind(classes) if classes else None
        for cls in reversed(self.classes):
            memory = Memory()
            memory.is_indexed = True  # it has a shadow
            memory.has_none = has_none and inner is None
            if kind is not None:
                memory.takes(kind, inner)
            kind, inner = kind_of_list(cls), memory
        assert inner is not None
        return inner

    def cotangents(self, shadow: list) -> list:
        """Return the cotangents of the active numbers from a shadow of the list."""
        found = {id(xs): s for xs, s in _pairs(self.plain, shadow)}
        return [found[id(self._rows[i])][j] for i, j in self._places]

    def values(self) -> list:
        """Return the active numbers, untraced."""
        return [self._rows[i][j] for i, j in self._places]

    def forget(self) -> None:
        """Drop the traced values, so that the recorded call does not keep them alive."""
        if self.tapes:
            self.own, self.variables, self.tapes = [], [], []

    def with_variables(self, variables: Iterator) -> Any:
        """Return a copy, with the active numbers replaced by the next variables."""
        rows = {id(row): list(row) for row in self._rows}
        for i, j in self._places:
            rows[id(self._rows[i])][j] = next(variables)
        return self._rebuilt(rows)

    def with_numbers(self, numbers: Iterator) -> Any:
        """Return a copy with all numbers replaced, in the order of `numbers`."""
        return self._rebuilt({id(row): [next(numbers) for _ in row] for row in self._rows})

    def _rebuilt(self, rows: dict[int, list]) -> Any:
        """Return a copy with other rows, given by the ids of the innermost lists in `plain`."""
        copies: dict[int, Any] = {}

        def one(xs: list, depth: int) -> Any:
            if id(xs) not in copies:
                inner = rows.get(id(xs))
                parts = [one(x, depth + 1) for x in xs] if inner is None else inner
                copies[id(xs)] = parts if self.classes[depth] is list else tuple(parts)
            return copies[id(xs)]

        return one(self.plain, 0)

    @property
    def comes_once(self) -> bool:
        """Whether no list in it appears twice."""
        return sum(map(len, self.own)) - sum(map(len, self._rows)) == len(self.own) - 1

    def numbers(self) -> list:
        """Return all numbers in it, traced where they are."""
        return [x for xs in self.own[len(self.own) - len(self._rows) :] for x in xs]

    def like(self, x: Any) -> ListArgument | None:
        """Return another list of the same structure, with the same numbers active."""
        other = as_list_argument(x)
        if other is not None:
            other._places = self._places
        return other


def kind_of_list(cls: type) -> Kind:
    """Return the kind of a list, or of a tuple of unknown length."""
    return LIST if cls is list else FIXED


def classes_of(kind: Kind, memory: Any) -> tuple[type, ...]:
    """Return the container classes of a list in a program, from the outermost to the innermost.

    Raises
    ------
    UnsupportedError
        If the innermost items are not numbers or arrays.
    """
    classes: list[type] = []
    while kind is not None and kind.is_list:
        if kind.is_queue:
            raise UnsupportedError("a deque as a result")
        classes.append(tuple if kind.is_fixed else list)
        root = memory.root()
        kind, memory = root.items, root.of_items
    if kind is not None and not (kind.is_scalar or kind.letter in ("f", "c")):
        raise UnsupportedError("a list of other things than numbers and arrays as a result")
    return tuple(classes)


def as_list_argument(x: Any) -> ListArgument | None:
    """Return a list or tuple as a single argument of a program; None if that is not supported.

    At each level, the items must be all lists or all tuples; the innermost items must be all
    numbers or all texts, except for those that are None.
    """
    levels, level = [], [x]
    while True:
        cls = type(level[0])
        if any(type(xs) is not cls for xs in level):
            return None
        levels.append(level)
        items = [x for xs in level for x in xs]
        kinds = set(map(type, items))
        if kinds.isdisjoint(_SEQUENCES):
            break
        if len(kinds) > 1 or len(levels) == _DEEPEST:
            return None
        level = list({id(x): x for x in items}.values())
    own = [id(xs) for level in levels for xs in level]
    if len(set(own)) < len(own):  # an empty list that appears at two levels
        return None
    plain, traced = kinds - TRACERS, kinds & TRACERS
    if not (plain <= _NUMBERS | _NONE or (plain - _NONE == {str} and not traced)):
        return None
    if traced and not all(type(bare(x)) in _NUMBERS for x in items if type(x) in TRACERS):
        return None
    return ListArgument(levels, items)


def numbers_within(x: Any, most: int) -> int:
    """Count the items in nested lists and tuples; stop once the count exceeds `most`."""
    n = len(x)
    for part in x:
        if n > most:
            break
        if type(part) in _SEQUENCES:
            n += numbers_within(part, most - n) - 1
    return n


def _is_variable(x: Any) -> bool:
    """Whether a tracer is active."""
    return x._tape is not CONSTANT and not x._tape.program


def lists_in(x: Any) -> list:
    """Return a list and all lists in it, each once, outer ones first."""
    return [xs for xs, _ in _pairs(x, x)]


def _pairs(x: Any, shadow: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each list in nested lists once, with its shadow; outer ones first."""
    seen = {id(x)}
    pairs = [(x, shadow)]
    for xs, s in pairs:
        yield xs, s
        if xs and type(xs[0]) in _SEQUENCES:
            for part, inner in zip(xs, s, strict=True):
                if id(part) not in seen:
                    seen.add(id(part))
                    pairs.append((part, inner))


class ListCopies:
    """The copies of list arguments that a program has computed with.

    Parameters
    ----------
    values : tuple
        The arguments of the program.
    states : dict
        From the positions of arguments that it may have changed to their copies, each with its
        original contents.

    Attributes
    ----------
    unchanged : list
        All copies that it has not changed.
    own : dict
        From the ids of all copies to the user's lists and tuples.
    before : dict
        From the ids of copies that may have changed to their original contents.
    levels : dict
        From the ids of all copies to their depths.
    """

    def __init__(self, values: tuple, states: dict[int, list]) -> None:
        self.unchanged: list = []
        self.own: dict[int, Any] = {}
        self.before: dict[int, tuple] = {}
        self.levels: dict[int, int] = {}
        for i, x in enumerate(values):
            if type(x) is not ListArgument:
                continue
            if i in states:
                copies = [xs for xs, _ in states[i]]
                self.before |= {id(xs): items for xs, items in states[i]}
            else:
                copies = lists_in(x.plain)
                self.unchanged += copies
            self.own |= dict(zip(map(id, copies), x.own, strict=True))
            self.levels |= dict(zip(map(id, copies), x.levels, strict=True))


class ListOutputs:
    """The outputs of a program that has lists among them, flattened to numbers and arrays.

    Parameters
    ----------
    outs : list
        Numbers, arrays and lists. For a list that was changed: all lists that were in it.
    n_returned : int
        How many of them the function returns.
    is_active : list of bool
        Which of them depend on the variables.
    classes : dict
        From the positions of lists to their container classes, from the outermost to the innermost.
    unchanged : iterable of list
        Lists among the arguments that were not changed: their numbers are no outputs.

    Attributes
    ----------
    flat : list
        Numbers and arrays.
    is_active : list of bool
        Which of `flat` depend on the variables.
    """

    def __init__(
        self, outs: list, n_returned: int, is_active: list[bool], classes: dict[int, tuple],
        unchanged: Iterable,
    ) -> None:  # fmt: skip
        self.outs = outs
        self.n_returned = n_returned
        self.classes = classes
        self.rows: dict[int, list] = {}  # the new lists in each output, by its position
        self.flat: list = []
        self.is_active: list[bool] = []
        seen = set(map(id, unchanged))
        for k, out in enumerate(outs):
            if k not in classes:
                self.flat.append(out)
                self.is_active.append(is_active[k])
                continue
            self.rows[k] = [xs for xs in lists_in(out) if id(xs) not in seen]
            seen.update(map(id, self.rows[k]))
            for x in [x for xs in self.rows[k] for x in xs if type(x) not in _SEQUENCES]:
                self.flat.append(x)
                self.is_active.append(is_active[k] and is_differentiable(x))

    def form(self, given: Iterable[int]) -> tuple:
        """Return the lengths and the aliasing of the lists; `given` are ids of known lists."""
        seen = {key: k for k, key in enumerate(given)}

        def one(xs: Any) -> Any:
            if id(xs) in seen:
                return seen[id(xs)]
            seen[id(xs)] = len(seen)
            has_lists = xs and type(xs[0]) in _SEQUENCES
            return tuple(map(one, xs)) if has_lists else (len(xs), None)

        return tuple([one(self.outs[k]) for k in self.classes])

    def _unflattened(self, flat: Iterable) -> tuple[list, dict[int, list]]:
        """Return values for the outputs, and values for the items of each list, by its id."""
        parts = iter(flat)
        found: dict[int, list] = {}
        outs = []
        for k, out in enumerate(self.outs):
            if k not in self.classes:
                outs.append(next(parts))
                continue
            outs.append(out)
            for xs in self.rows[k]:
                found[id(xs)] = [x if type(x) in _SEQUENCES else next(parts) for x in xs]
        return outs, found

    def seeds(self, bars: Iterable) -> list:
        """Return cotangents nested like the outputs; None for repeated occurrences of a list."""
        outs, found = self._unflattened(bars)

        def one(xs: Any) -> list | None:
            parts = found.pop(id(xs), None)
            if parts is None:
                return None
            return [one(x) if type(x) in _SEQUENCES else b for x, b in zip(xs, parts, strict=True)]

        return [one(out) if k in self.classes else out for k, out in enumerate(outs)]

    def with_lists(self, flat: list, copies: ListCopies) -> list:
        """Return the outputs with lists: the user's own, or new ones.

        If the contents of a copy have changed, replace the contents of the user's list.
        """
        outs, found = self._unflattened(flat)
        lists = dict(copies.own)

        def one(xs: Any, classes: tuple) -> Any:
            parts = found.pop(id(xs), None)
            if parts is None:
                return lists[id(xs)]
            cls, *inner = classes
            if cls is list:
                lists.setdefault(id(xs), [])
            new = [
                one(x, tuple(inner)) if type(x) in _SEQUENCES else constant_array(x) for x in parts
            ]
            if cls is tuple:
                lists.setdefault(id(xs), tuple(new))
            elif not _is_as_before(xs, copies.before.get(id(xs))):
                lists[id(xs)][:] = new
            return lists[id(xs)]

        for k, classes in self.classes.items():
            if k < self.n_returned:
                outs[k] = one(outs[k], classes)
                continue
            for xs in outs[k]:
                one(xs, classes[copies.levels[id(xs)] :])
        return outs


def check_apart(outs: list, given: Iterable) -> None:
    """Check that the arrays in lists alias neither each other nor an argument.

    Raises
    ------
    ChangedError
        If one does. The call is then traced, because the user may write into one of them.
    """
    arrays = [x for x in outs if type(x) is np.ndarray]
    if not arrays:
        return
    bounds = [(*byte_bounds(x), True) for x in arrays if x.size]
    bounds += [(*byte_bounds(x), False) for x in given if type(x) is np.ndarray and x.size]
    last = {True: 0, False: 0}  # the end of the outputs, and of the arguments, so far
    for start, end, is_out in sorted(bounds):
        if start < last[True] or (is_out and start < last[False]):
            raise ChangedError("a list holds a view of another array")
        last[is_out] = max(last[is_out], end)


def _is_as_before(xs: list, before: tuple | None) -> bool:
    """Whether a list still holds the same objects, all of which are floats, integers or lists."""
    return (
        before is not None
        and len(xs) == len(before)
        and all(map(operator.is_, xs, before))
        and all(type(x) in (float, int, bool, list) for x in xs)
    )


# -- called by generated code ----------------------------------------------------------------------


def copied_lists(x: Any) -> Any:
    """Return a deep copy of nested lists that preserves the aliasing of lists.

    Arrays are copied, too, and so are floats: each gets an identity of its own.
    """
    copies: dict[int, Any] = {}

    def one(x: Any) -> Any:
        if type(x) is float:
            return x * 1.0
        if type(x) is np.ndarray:
            return x.copy("K")
        if type(x) is not list:
            return x
        if id(x) not in copies:
            copies[id(x)] = list(map(one, x))
        return copies[id(x)]

    return one(x)


def states_in(x: list) -> list[tuple[list, tuple]]:
    """Return a list and all lists in it, each with its items."""
    return [(xs, tuple(xs)) for xs in lists_in(x)]


def zeros_in(x: list) -> list:
    """Return a shadow of nested lists of numbers; a list that appears twice has one shadow."""
    shadows: dict[int, list] = {}

    def one(x: list) -> list:
        if id(x) not in shadows:
            is_outer = x and type(x[0]) is list
            shadows[id(x)] = list(map(one, x)) if is_outer else [0.0] * len(x)
        return shadows[id(x)]

    return one(x)


def add_in(shadow: list, seed: list) -> None:
    """Add cotangents to the shadow of a list; None stands for no cotangent."""
    for i, part in enumerate(seed):
        if type(part) is list:
            add_in(shadow[i], part)
        elif part is not None:
            shadow[i] += part


SCOPE = {f.__name__: f for f in (copied_lists, states_in, lists_in, zeros_in, add_in)}
"""What generated code finds by name."""
