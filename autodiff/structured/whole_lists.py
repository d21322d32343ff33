"""Lists of numbers that a program is given as a whole, and lists that it returns or changes.

A program computes with copies of lists, which hold plain numbers. In them, one list that stands in
two places is one list in the copy as well, and has one shadow; so what is written through one name
is seen through the other. After a call, what a list holds is put into the user's own list, and a
list that was given is returned as itself.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from autodiff.dispatch.call import is_differentiable
from autodiff.structured.form.ir import Memory
from autodiff.structured.form.kinds import FIXED, LIST, SCALARS, Kind, UnsupportedError
from autodiff.structured.runtime_calls import ChangedError
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import TRACERS, Tracer, bare, is_tracer

_DEEPEST = 5  # lists in lists
_SEQUENCES = {list, tuple}
_NUMBERS = frozenset(SCALARS)


class GivenList:
    """A list or tuple of numbers, or of lists or tuples of such, that is an argument.

    Attributes
    ----------
    own : list
        The lists and tuples in it, each once: itself, those in it, those in these.
    levels : list of int
        How deep each of these lies.
    plain : list
        The same nest of lists, with plain numbers in it.
    variables : list
        The numbers in it that are differentiated, as they are traced.
    tapes : list
        The tapes that traced numbers in it are on.
    is_nested : bool
        Whether a number is traced on several levels.
    key : tuple
        What a program is made for: lists or tuples, from the outermost to the innermost; of which
        classes the numbers are; and whether some are differentiated.
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
        of_one = {id(x) for x in numbers if _is_variable(x)}
        made: dict[int, list] = {}
        self._rows = [list(xs) for xs in levels[-1]]
        # The numbers that are differentiated: of which row, and where in it.
        self._places = [
            (i, j)
            for i, xs in enumerate(self._rows) if of_one
            for j, x in enumerate(xs) if id(x) in of_one
        ]  # fmt: skip
        self.variables = [self._rows[i][j] for i, j in self._places]
        if numbers:
            for xs in self._rows:
                xs[:] = list(map(bare, xs))
        for xs, row in zip(levels[-1], self._rows, strict=True):
            made[id(xs)] = row
        for level in reversed(levels[:-1]):
            for xs in level:
                made[id(xs)] = [made[id(x)] for x in xs]
        self.plain = made[id(own[0])]
        self.classes = tuple([type(level[0]) for level in levels])
        self.key = (self.classes, frozenset(classes), bool(of_one))

    def memory(self) -> Memory:
        """Return what a program knows of the list: of which kind its items are."""
        classes, inner = self.key[1], None
        kind = Kind(classes) if classes else None
        for cls in reversed(self.classes):
            memory = Memory()
            memory.is_indexed = True  # it has a shadow
            if kind is not None:
                memory.takes(kind, inner)
            kind, inner = kind_of_list(cls), memory
        assert inner is not None
        return inner

    def cotangents(self, shadow: list) -> list:
        """Return the cotangents of the numbers that are differentiated."""
        found = {id(xs): s for xs, s in _pairs(self.plain, shadow)}
        return [found[id(self._rows[i])][j] for i, j in self._places]

    def values(self) -> list:
        """Return the numbers that are differentiated."""
        return [self._rows[i][j] for i, j in self._places]

    def forget(self) -> None:
        """Drop what is traced: a call that is recorded does not keep it alive."""
        self.own, self.variables, self.tapes = [], [], []

    def with_variables(self, variables: Iterator) -> Any:
        """Return the nest of lists and tuples, with the next numbers as the variables."""
        rows = {id(row): list(row) for row in self._rows}
        for i, j in self._places:
            rows[id(self._rows[i])][j] = next(variables)
        return self._nest_of(rows)

    def with_numbers(self, numbers: Iterator) -> Any:
        """Return the nest of lists and tuples, with other numbers in the order of `numbers`."""
        return self._nest_of({id(row): [next(numbers) for _ in row] for row in self._rows})

    def _nest_of(self, rows: dict[int, list]) -> Any:
        made: dict[int, Any] = {}

        def one(xs: list, depth: int) -> Any:
            if id(xs) not in made:
                inner = rows.get(id(xs))
                parts = [one(x, depth + 1) for x in xs] if inner is None else inner
                made[id(xs)] = parts if self.classes[depth] is list else tuple(parts)
            return made[id(xs)]

        return one(self.plain, 0)

    @property
    def comes_once(self) -> bool:
        """Whether no list in it stands in two places."""
        return sum(map(len, self.own)) - sum(map(len, self._rows)) == len(self.own) - 1

    def numbers(self) -> list:
        """Return all numbers in it, as they are traced."""
        return [x for xs in self.own[len(self.own) - len(self._rows) :] for x in xs]

    def like(self, x: Any) -> GivenList | None:
        """Return another list of this form, of which the same numbers are differentiated."""
        made = whole_list(x)
        if made is not None:
            made._places = self._places
        return made


def kind_of_list(cls: type) -> Kind:
    """Return the kind of a list, or of a tuple of any length."""
    return LIST if cls is list else FIXED


def classes_of(kind: Kind, memory: Any) -> tuple[type, ...]:
    """Return lists or tuples, from the outermost to the innermost, of a list in a program.

    Raises
    ------
    UnsupportedError
        If there is something else in them than numbers and arrays.
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


def whole_list(x: Any) -> GivenList | None:
    """Return a list or tuple as a program takes it as a whole; None if it takes no such.

    All items are numbers, or all are lists of such, or all are tuples of such.
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
    if len(set(own)) < len(own):  # an empty list that stands at two levels
        return None
    numbers = kinds - TRACERS
    if not numbers <= _NUMBERS:
        return None
    if len(numbers) < len(kinds) and not all(
        type(bare(x)) in _NUMBERS for x in items if type(x) in TRACERS
    ):
        return None
    return GivenList(levels, items)


def numbers_within(x: Any, most: int) -> int:
    """Return how many items there are in nested lists and tuples; at least one more than `most`."""
    n = len(x)
    for part in x:
        if n > most:
            break
        if type(part) in _SEQUENCES:
            n += numbers_within(part, most - n) - 1
    return n


def _is_variable(x: Any) -> bool:
    return x._tape is not CONSTANT and not x._tape.program


def lists_in(x: Any) -> list:
    """Return a list and those in it, each once; one before those in it."""
    return [xs for xs, _ in _pairs(x, x)]


def _pairs(x: Any, shadow: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each list in a nest once, and its shadow: one before those in it."""
    seen = {id(x)}
    pairs = [(x, shadow)]
    for xs, s in pairs:
        yield xs, s
        if xs and type(xs[0]) in _SEQUENCES:
            for part, inner in zip(xs, s, strict=True):
                if id(part) not in seen:
                    seen.add(id(part))
                    pairs.append((part, inner))


class Copies:
    """The copies of lists that a program was given, as it has computed with them.

    Parameters
    ----------
    values : tuple
        The arguments of the program.
    states : dict
        For the positions of those that it may have changed: the copies, with what was in them.

    Attributes
    ----------
    unchanged : list
        All copies that it has not changed.
    own : dict
        By the ids of all copies: the user's lists and tuples.
    before : dict
        By the ids of those that may be changed: what was in them.
    levels : dict
        By the ids of all copies: how deep they lay.
    """

    def __init__(self, values: tuple, states: dict[int, list]) -> None:
        self.unchanged: list = []
        self.own: dict[int, Any] = {}
        self.before: dict[int, tuple] = {}
        self.levels: dict[int, int] = {}
        for i, x in enumerate(values):
            if type(x) is not GivenList:
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
    """What a function returns or changes, with the numbers of lists one after the other.

    Parameters
    ----------
    outs : list
        Numbers, arrays and lists; of a list that is changed, all lists that were in it.
    n_returned : int
        How many of them the function returns.
    is_active : list of bool
        Which of them depend on the variables.
    classes : dict
        Of those that are lists: lists or tuples, from the outermost to the innermost.
    unchanged : iterable of list
        Lists that are what they were: arguments.

    Attributes
    ----------
    flat : list
        Numbers and arrays.
    is_active : list of bool
        Which of them depend on the variables.
    """

    def __init__(
        self, outs: list, n_returned: int, is_active: list[bool], classes: dict[int, tuple],
        unchanged: Iterable,
    ) -> None:  # fmt: skip
        self.outs = outs
        self.n_returned = n_returned
        self.classes = classes
        self.rows: dict[int, list] = {}  # of each list, by the number of the output
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
        """Return how long lists are, and which stand in several places, or were given, by ids."""
        seen = {key: k for k, key in enumerate(given)}

        def one(xs: Any) -> Any:
            if id(xs) in seen:
                return seen[id(xs)]
            seen[id(xs)] = len(seen)
            has_lists = xs and type(xs[0]) in _SEQUENCES
            return tuple(map(one, xs)) if has_lists else (len(xs), None)

        return tuple([one(self.outs[k]) for k in self.classes])

    def _taken(self, flat: Iterable) -> tuple[list, dict[int, list]]:
        """Return what stands for numbers and arrays; of lists, what stands for their items."""
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

    def seeds(self, bars: list) -> list:
        """Return cotangents in the nest of the outputs; None for lists that come once more."""
        outs, found = self._taken(bars)

        def one(xs: Any) -> list | None:
            parts = found.pop(id(xs), None)
            if parts is None:
                return None
            return [one(x) if type(x) in _SEQUENCES else b for x, b in zip(xs, parts, strict=True)]

        return [one(out) if k in self.classes else out for k, out in enumerate(outs)]

    def with_lists(self, flat: list, copies: Copies) -> list:
        """Return the outputs with lists: those of the user's, or new ones.

        If something else is in a copy now, what the user's list holds is exchanged.
        """
        outs, found = self._taken(flat)
        made = dict(copies.own)

        def one(xs: Any, classes: tuple) -> Any:
            parts = found.pop(id(xs), None)
            if parts is None:
                return made[id(xs)]
            cls, *inner = classes
            if cls is list:
                made.setdefault(id(xs), [])
            new = [one(x, tuple(inner)) if type(x) in _SEQUENCES else as_constant(x) for x in parts]
            if cls is tuple:
                made.setdefault(id(xs), tuple(new))
            elif not _is_as_before(xs, copies.before.get(id(xs))):
                made[id(xs)][:] = new
            return made[id(xs)]

        for k, classes in self.classes.items():
            if k < self.n_returned:
                outs[k] = one(outs[k], classes)
                continue
            for xs in outs[k]:
                one(xs, classes[copies.levels[id(xs)] :])
        return outs


def check_apart(outs: list, given: Iterable) -> None:
    """Raise if an array in a list shares memory with another one, or with an argument.

    Raises
    ------
    ChangedError
        Then tracing decides: the user may write into one of them.
    """
    arrays = [x for x in outs if type(x) is np.ndarray]
    if not arrays:
        return
    bounds = [(*byte_bounds(x), True) for x in arrays if x.size]
    bounds += [(*byte_bounds(x), False) for x in given if type(x) is np.ndarray and x.size]
    last = {True: 0, False: 0}  # where those end that have come so far
    for start, end, is_out in sorted(bounds):
        if start < last[True] or (is_out and start < last[False]):
            raise ChangedError("a list holds a view of another array")
        last[is_out] = max(last[is_out], end)


def _is_as_before(xs: list, before: tuple | None) -> bool:
    """Whether the floats or lists in a list are those that were in it before."""
    return (
        before is not None
        and len(xs) == len(before)
        and all(map(operator.is_, xs, before))
        and all(type(x) in (float, int, bool, list) for x in xs)
    )


def as_constant(x: Any) -> Any:
    """Return an output that does not depend on the variables, as the user's code is given it."""
    return Tracer(x, CONSTANT, -1) if type(x) is np.ndarray else x


# -- what generated code calls ---------------------------------------------------------------------


def copied_lists(x: Any) -> Any:
    """Return a copy of nested lists; one that stands in two places is one in the copy as well.

    So are arrays in it, and floats: nothing else is one of those.
    """
    made: dict[int, Any] = {}

    def one(x: Any) -> Any:
        if type(x) is float:
            return x * 1.0
        if type(x) is np.ndarray:
            return x.copy("K")
        if type(x) is not list:
            return x
        if id(x) not in made:
            made[id(x)] = list(map(one, x))
        return made[id(x)]

    return one(x)


def states_in(x: list) -> list[tuple[list, tuple]]:
    """Return a list and those in it, each with its items."""
    return [(xs, tuple(xs)) for xs in lists_in(x)]


def zeros_in(x: list) -> list:
    """Return a shadow for nested lists of numbers: one list has one shadow."""
    made: dict[int, list] = {}

    def one(x: list) -> list:
        if id(x) not in made:
            is_outer = x and type(x[0]) is list
            made[id(x)] = list(map(one, x)) if is_outer else [0.0] * len(x)
        return made[id(x)]

    return one(x)


def add_in(shadow: list, seed: list) -> None:
    """Add cotangents to the shadow of a list; None stands for none."""
    for i, part in enumerate(seed):
        if type(part) is list:
            add_in(shadow[i], part)
        elif part is not None:
            shadow[i] += part


SCOPE = {
    "copied_lists": copied_lists,
    "states_in": states_in,
    "lists_in": lists_in,
    "zeros_in": zeros_in,
    "add_in": add_in,
}
"""What generated code finds by name."""
