"""The tape: the recorded operations in order, and the reverse sweep over them.

A tape is a list. Each place in it stands for one traced value and says how to propagate its
cotangent to the values that it was computed from. Since a value is recorded after everything that
it depends on, the reverse sweep is a loop from the end to the start.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from autodiff.errors import LeakedTracerError, wrong_cotangent
from autodiff.mutation.held_arrays import Holding
from autodiff.trace.outer_products import OuterProducts
from autodiff.trace.unimplemented_cotangents import unknown
from chainrules_core import (
    AbstractZero,
    BadInplaceError,
    InplaceableThunk,
    NotImplementedTangent,
    ProjectionError,
    ProjectTo,
    TangentTypeError,
    add,
    unbroadcast,
    unthunk,
)
from chainrules_core.define.scalar import is_exact_zero
from chainrules_core.interpreter.references import if_counted
from chainrules_core.projection.project_to import ProjectToArray, ProjectToNumber

# A gradient frees its tape in the end, and the next one takes as much memory again. Of memory that
# is freed, glibc keeps twice the size of the largest block that it has mapped and freed: this one.
if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ()):
    np.empty(31 << 20, np.uint8)

_serials = count(1)
_ndarray = np.ndarray
FLOAT64 = np.dtype(np.float64)
_NUMBERS = frozenset({float, np.float64})
# The usual types of cotangents, which are never thunks. `trace.tracer` adds the tracers.
FORCED: set[type] = {_ndarray, float, np.float64}


_NOTHING: Mapping[int, Any] = MappingProxyType({})


class Tape(Holding):
    """The record of one differentiation.

    Attributes
    ----------
    nodes : list
        For each traced value a `Leaf`, `Node`, `Part`, `Whole` or another object with a method
        `hand_on`, or a tuple, the compact form for scalars: ``(j, p)`` and ``(j, p, k, q)`` say
        that ȳ p is added to the cotangent of value `j` (and ȳ q to that of `k`), ``(j, rule,
        index)`` that ȳ is added at an index of array `j`.
    leaves : int
        How many nodes, at the start, are leaves.
    serial : int
        Increases with every tape: of two that meet in a call, the larger is the inner one.
    decisions : dict
        Where in the code values were compared: see `autodiff.trace.checks.decisions`.
    nested : bool
        Whether values of an outer tape were seen. Then cotangents may be traced themselves, and
        nothing is added in place.
    """

    __slots__ = ("aliases", "caches", "decisions", "leaves", "nested", "nodes", "serial")

    records = True
    forward = False
    observer: Any = None  # see autodiff.trace.observers
    program = False  # whether a program is recorded: see autodiff.compiler. Such a tape has
    call: Callable  # ... a method that makes a call and records it,
    read: Callable  # ... one that reads a constant out of a value,
    spoil: Callable  # ... and one that is told why there can be no program

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list = []
        self.decisions: dict = {}
        self.leaves = 0
        self.nested = False
        self.aliases: tuple = ()  # see autodiff.mutation.shared_arguments
        self.caches: Mapping[int, Any] = _NOTHING  # of functions that remember their results
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return f"<Tape {self.serial}>"

    def add(self, node: Any) -> int:
        """Record a node; return its place."""
        nodes = self.nodes
        place = len(nodes)
        nodes.append(node)
        return place if nodes[place] is node else place_of(node, nodes)

    @property
    def is_closed(self) -> bool:
        """Whether the differentiation has ended."""
        return self.nodes is _CLOSED

    def check_open(self) -> None:
        """Raise if the differentiation has ended."""
        if self.nodes is _CLOSED:
            raise LeakedTracerError

    def close(self) -> list:
        """End the recording and return the nodes. Recording later is an error."""
        nodes = self.nodes
        self.nodes = _CLOSED
        self.caches = _NOTHING
        return nodes


class _Closed:
    """Stands for the nodes of a closed tape."""

    def append(self, *args: Any) -> NoReturn:
        raise LeakedTracerError

    __len__ = __getitem__ = append


_CLOSED: Any = _Closed()


class _Constant(Tape):
    __slots__ = ()

    records = False

    def __init__(self) -> None:
        super().__init__()
        self.serial = 0
        self.nodes = _CLOSED


CONSTANT = _Constant()
"""The tape of constant tracers: arrays made in a traced function that hold nothing traced yet."""


def place_of(node: Any, nodes: list) -> int:
    """Return the place of a node, if another thread has recorded one at the same time.

    Threads of a traced function share its tape, and may be switched between two instructions. So
    whoever adds a node checks that it stands where the end was.
    """
    return next(i for i in range(len(nodes) - 1, -1, -1) if nodes[i] is node)


class Forward(Tape):
    """A level of forward differentiation, which records nothing.

    The `_index` of its tracers is their tangent.
    """

    __slots__ = ()

    records = False
    forward = True

    def kept(self, x: np.ndarray) -> np.ndarray:
        """Return the array itself: no pullback keeps it."""
        return x

    def hold(self, x: np.ndarray) -> None:
        """Do nothing: no pullback needs the array."""


class InsideProgram(Tape):
    """The tape of a derivative that is taken while a program is recorded.

    Arrays from outside are not copied, since the program reads these arrays themselves.
    """

    __slots__ = ()

    small = -1

    def kept(self, x: np.ndarray) -> np.ndarray:
        """Return the array itself, and hold it."""
        self.hold(x)
        return x


def sweep(
    nodes: list,
    leaves: int,
    seeds: dict[int, Any],
    *,
    nested: bool = False,
    strong: bool = False,
    runs: Callable[[int, Any, Any, int], bool] | None = None,
) -> list:
    """Propagate cotangents from the end of the tape to its leaves.

    Parameters
    ----------
    nodes : list
        The nodes of a tape.
    leaves : int
        How many of them are leaves.
    seeds : dict
        Cotangents by place.
    nested : bool
        Whether cotangents may be traced themselves.
    strong : bool
        Whether zeros are strong: a zero cotangent or an exactly zero partial derivative makes a
        zero even with Inf or NaN.
    runs : callable, optional
        Sweeps several nodes at once, or returns False (`autodiff.fastpath.blocked_sweep`). If
        given, visited nodes are dropped from the list, with the arrays that they hold.

    Returns
    -------
    list
        A cotangent, or None, for each leaf. Nobody else holds these arrays.
    """
    bars = Cotangents(nodes, seeds, nested)
    values, owned, buffer_at = bars.values, bars.owned, bars.buffer
    for i in range(len(nodes) - 1, leaves - 1, -1):
        bar = values[i]
        if bar is None:
            continue
        values[i] = None
        node = nodes[i]
        if type(node) is not tuple:
            bar = bar if type(bar) in FORCED else unthunk(bar)
            if type(bar) is float and not nested:  # it would take the precision of its factor
                bar = np.float64(bar)
            if runs is not None:
                if runs(i, bar, bars, leaves):
                    continue
                nodes[i] = None
            bars.owns_current = owned[i]
            node.hand_on(bar, bars, strong)
            continue
        n = len(node)
        if strong and n != 3:
            for j, p in zip(node[::2], node[1::2], strict=True):
                x_bar = bar * p
                if x_bar == x_bar or not (bar == 0 or is_exact_zero(p)):
                    before = values[j]
                    values[j] = x_bar if before is None else before + x_bar
        elif n == 4:
            j, p, k, q = node
            before = values[j]
            values[j] = bar * p if before is None else before + bar * p
            before = values[k]
            values[k] = bar * q if before is None else before + bar * q
        elif n == 2:
            j, p = node
            before = values[j]
            values[j] = bar * p if before is None else before + bar * p
        elif n > 4:
            for j, p in zip(node[::2], node[1::2], strict=True):
                values[j] = bar * p if values[j] is None else values[j] + bar * p
        else:  # the adjoint of reading one element is adding to it
            j, rule, index = node
            if nested:
                bars.add_element(j, rule, index, bar)
            else:
                buffer = values[j] if owned[j] else buffer_at(j)
                buffer[index] += bar
    return bars.finished(leaves)


class Cotangents:
    """The cotangents of a sweep, accumulated in place where the sweep owns the buffer.

    An array is owned if the sweep made it, so that nobody else can see it change. The first of
    several cotangents is kept as it is, the second makes a sum that is owned, and the others are
    added to that in place. The cotangent of a number is a number, never an array without axes:
    sums replace it.
    """

    __slots__ = ("nested", "nodes", "owned", "owns_current", "values")

    def __init__(self, nodes: list, seeds: dict[int, Any], nested: bool) -> None:
        self.nodes = nodes
        self.nested = nested
        self.values: list = [None] * len(nodes)
        self.owned = bytearray(len(nodes))
        self.owns_current: Any = 0
        for place, bar in seeds.items():
            self.values[place] = bar

    def buffer(self, j: int) -> Any:
        """Return an owned array for place `j`, to be written into."""
        values = self.values
        bar = values[j]
        if self.owned[j]:
            return bar
        space = self.nodes[j].space
        buffer = np.zeros(space.shape, space.dtype)
        if bar is not None:
            buffer += unthunk(bar)
        values[j] = buffer
        self.owned[j] = 1
        return buffer

    def add_element(self, j: int, rule: Any, index: Any, bar: Any) -> None:
        """Add the cotangent of one element of the array at place `j`, not in place."""
        x_bar = rule.adjoints[0](bar, self.nodes[j].space, index)
        before = self.values[j]
        self.values[j] = x_bar if before is None else add(before, x_bar)

    def owned_array(self, j: int, like: np.ndarray) -> np.ndarray | None:
        """Return the cotangent so far at place `j`, if `like` can be added to it in place."""
        if not self.owned[j]:
            return None
        bar = self.values[j]
        fits = bar.shape == like.shape and bar.dtype is like.dtype and bar.flags.c_contiguous
        return bar if fits else None

    def is_number(self, j: int) -> bool:
        """Whether the value at place `j` is a number, for which products with arrays are summed."""
        target = self.nodes[j]
        return type(target) is tuple or target.space.shape == ()

    def put(self, j: int, x_bar: Any, fresh: bool) -> None:
        """Add a cotangent, summed where the value was broadcast; only we hold a `fresh` one."""
        target = self.nodes[j]
        space: Any = FLOAT if type(target) is tuple else target.space
        plain = getattr(x_bar, "_value", x_bar) if self.nested else x_bar
        if type(plain) in _NUMBERS and plain is not x_bar and type(space) is ProjectToNumber:
            if space.dtype is not FLOAT64:
                x_bar = space(x_bar)
        elif (
            type(plain) is not _ndarray
            or type(space) is ProjectToNumber
            or plain.shape != space.shape
        ):
            shape = getattr(space, "shape", None)
            if shape is not None and getattr(x_bar, "shape", ()) != shape:
                x_bar = unbroadcast(x_bar, shape)
                fresh = True
            x_bar = space(x_bar)
        elif plain.dtype is not space.dtype:
            x_bar = space(x_bar)
        before = self.values[j]
        if before is None:
            self.values[j] = x_bar
            self.owned[j] = fresh and type(x_bar) is _ndarray and not self.nested
        else:
            self.accumulate(j, before, x_bar, fresh)

    def add_each(self, node: Any, x_bars: Iterable[Any]) -> None:
        """Add the cotangents that a rule's pullback returned for the parents of a node."""
        for position, (j, x_bar) in enumerate(zip(node.parents, x_bars, strict=True)):
            self.add(j, x_bar, node, position, _LISTED)

    def add(self, j: int, x_bar: Any, node: Any, position: int, references: int) -> None:
        """Add a cotangent that a rule made for one of the parents of a node.

        Nobody else holds an array that has only so many `references`.
        """
        target = self.nodes[j]
        space: Any = FLOAT if type(target) is tuple else target.space
        fresh = False
        plain = getattr(x_bar, "_value", x_bar) if self.nested else x_bar
        if (
            type(plain) is _ndarray
            and type(space) is ProjectToArray
            and plain.dtype is space.dtype
            and plain.shape == space.shape
        ):
            fresh = (
                not self.nested
                and sys.getrefcount(x_bar) == references + 1
                and x_bar.base is None
                and x_bar.flags.writeable
            )
        elif isinstance(x_bar, AbstractZero):
            return
        elif not (type(x_bar) is float and space is FLOAT):
            if type(x_bar) is InplaceableThunk:
                if self.is_addable(j):
                    buffer = self.buffer(j)
                    result = x_bar.add_into(buffer)
                    if result is not buffer:
                        raise BadInplaceError(x_bar.add_into, result)
                    return
                x_bar = unthunk(x_bar)
            x_bar = projected(space, unthunk(x_bar), node, position)
            if isinstance(x_bar, AbstractZero):  # a thunk's
                return
        before = self.values[j]
        if before is None:
            self.values[j] = x_bar
            self.owned[j] = fresh
        else:
            self.accumulate(j, before, x_bar, fresh)

    def accumulate(self, j: int, before: Any, x_bar: Any, fresh: bool) -> None:
        """Add a further cotangent for place `j`, in place where a buffer is owned."""
        if type(x_bar) is _ndarray:
            if self.owned[j]:
                before += x_bar
                return
            if fresh and type(before) is _ndarray and not self.nested:
                x_bar += before
                self.values[j] = x_bar
                self.owned[j] = True
                return
        plain = type(before) in FORCED and type(x_bar) in FORCED
        total = self.values[j] = before + x_bar if plain else add(before, x_bar)
        self.owned[j] = type(total) is _ndarray

    def is_addable(self, j: int) -> bool:
        """Whether place `j` may become a buffer of plain numbers."""
        if self.nested:
            return False
        bar = self.values[j]
        target = self.nodes[j]
        space: Any = FLOAT if type(target) is tuple else target.space
        if type(space) is ProjectToNumber or not hasattr(space, "shape"):
            return False
        return bar is None or type(bar) is _ndarray

    def finished(self, leaves: int) -> list:
        """Return the cotangents of the leaves, copied if somebody else may hold them."""
        values = self.values[:leaves]
        for i, bar in enumerate(values):
            if bar is None:
                continue
            is_own = self.owned[i] or type(bar) is OuterProducts
            if type(bar) not in FORCED:
                bar = values[i] = unthunk(bar)
            if type(bar) is _ndarray and not is_own:
                values[i] = bar.copy()
            elif self.nested:
                values[i] = copy.copy(bar)
        return values


def projected(space: Any, x_bar: Any, node: Any, position: int) -> Any:
    """Return a cotangent made by a rule, in the space of the parent of the node."""
    try:
        if isinstance(x_bar, NotImplementedTangent):
            return unknown(x_bar, space)  # raises, since the result depends on it
        if getattr(node.rule, "broadcasts", False) and np.shape(x_bar) != space.shape:
            x_bar = unbroadcast(x_bar, space.shape)
        return space(x_bar)
    except (ProjectionError, TangentTypeError) as error:
        raise wrong_cotangent(node, position, x_bar, error) from error


FLOAT: Any = ProjectTo(0.0)


class _Probe:
    """Counts the references that `Cotangents.add` sees to an array held by nobody else."""

    parents = (0,)
    seen = 0

    def add(self, j: int, x_bar: Any, node: Any, position: int, references: int) -> None:
        self.seen = sys.getrefcount(x_bar)


def _pulled_listed(y_bar: Any) -> Any:
    return [np.empty(1) for _ in range(1)]


def _references_seen() -> tuple[int, int, int]:
    probe: Any = _Probe()
    Cotangents.add_each(probe, probe, _pulled_listed(None))
    listed = probe.seen
    probe.add(0, np.empty(1), probe, 0, 0)
    passed = probe.seen
    made = (np.empty(1),)
    probe.add(0, made[0], probe, 0, 0)
    return listed, passed, probe.seen


_LISTED = PASSED = IN_TUPLE = 0
_LISTED, PASSED, IN_TUPLE = map(if_counted, _references_seen())
"""The counts for an array in a list that is iterated, passed directly, and in a tuple."""
