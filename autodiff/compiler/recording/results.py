"""The pytrees that a compiled function returns, as source code."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autodiff.compiler.compile_errors import NotRecordedError
from autodiff.compiler.recording.functions_made_anew import Unread
from autodiff.compiler.recording.ir import Ref
from autodiff.compiler.recording.recorder import Recording
from autodiff.compiler.recording.signature_guards import DEEPEST, MAY_CHANGE, Inputs, Names
from autodiff.trace.pytree import (
    attributes_alone,
    leaves_of,
    object_with,
    parts_of,
    rebuilt,
)
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import owner_id
from autodiff.trace.tracer import is_tracer


def _is_one_for_each_call(y: Any) -> bool:
    """Whether a leaf of a result has state of its own, or holds recorded values."""
    if isinstance(y, (*MAY_CHANGE, np.random.Generator)):
        return not isinstance(y, (frozenset, range))
    if isinstance(y, types.FunctionType):
        held = [c.cell_contents for c in y.__closure__ or () if c != types.CellType()]
        held += [*(y.__defaults__ or ()), *(y.__kwdefaults__ or {}).values()]
        return any(is_tracer(leaf) for leaf in leaves_of(held))
    if isinstance(y, types.MethodType):
        return any(is_tracer(leaf) for leaf in leaves_of(y.__self__))
    if isinstance(y, functools.partial):
        return any(is_tracer(leaf) for leaf in leaves_of([y.args, y.keywords]))
    return hasattr(y, "__next__") and not isinstance(y, type)


class _Nest(NamedTuple):
    """A list, dict, tuple or object in a result: its class, a template, and its parts."""

    kind: type
    template: Any
    parts: list


class Outputs:
    r"""The pytree that a program returns.

    An object that appears in several places of the result is one object in the result of the
    program, too. A list, dict, tuple or object that was an unchanged argument is that argument, and
    one that is in an outer variable is itself; so is an array there, and a view of one.

    Attributes
    ----------
    leaves : list
        `Ref`\ s and constants, in order.
    value : Any
        The pytree as it was computed while recording.
    """

    def __init__(
        self, recording: Recording, y: Any, inputs: Inputs, outer_values: Iterable
    ) -> None:
        self.recording = recording
        self.inputs = inputs
        self._outer_values = outer_values
        self.leaves: list[Any] = []
        self._entries: dict[int, tuple[Any, Any]] = {}  # by the identity of a part, which is kept
        self._made: dict[int, Any] = {}
        self._tree = self._entered(y, 0)
        self.value = self._plain(y)

    def _entered(self, y: Any, depth: int) -> Any:
        """Return what stands for a part: a `_Nest`, the number of a leaf, an argument's source."""
        if id(y) not in self._entries:
            self._entries[id(y)] = self._entry(y, depth), y
        return self._entries[id(y)][0]

    def _entry(self, y: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise NotRecordedError("the result contains itself, or is nested too deeply")
        if is_tracer(y):
            if y._tape is self.recording:
                return self._leaf(Ref(y._index))
            if y._tape is not CONSTANT:
                raise NotRecordedError("the result is traced by a derivative outside the function")
            y = y._value
        parts = parts_of(y)
        if self._is_outer(y, parts):
            return self.inputs.names.of(y, "outer")
        if y is Unread:
            raise NotRecordedError("an object is returned of which not all attributes are read")
        if parts is None:
            if _is_one_for_each_call(y):
                raise NotRecordedError(f"a {type(y).__name__} is returned, which is not followed")
            return self._leaf(y)
        argument = self.inputs.unchanged(y)
        if argument is not None:
            return argument[0]
        trees = [self._entered(part, depth + 1) for _, part in parts]
        template: Any = type(y)
        if type(y) not in (tuple, list) and not hasattr(type(y), "_make"):
            template = tuple(y) if type(y) is dict else rebuilt(y, [None] * len(parts))
        return _Nest(type(y), template, trees)

    def _is_outer(self, y: Any, parts: Any) -> bool:
        """Whether a container or object, or the memory of an array, is in an outer variable."""
        if isinstance(y, np.ndarray):
            return owner_id(y) in self._outer_ids
        return parts is not None and id(y) in self._outer_ids

    @functools.cached_property
    def _outer_ids(self) -> set[int]:
        found: set[int] = set()
        waiting = list(self._outer_values)
        while waiting:
            x = waiting.pop()
            if id(x) not in found:
                found.add(id(x))
                waiting += [part for _, part in parts_of(x) or ()]
                if isinstance(x, np.ndarray):
                    found.add(owner_id(x))
        return found

    def _leaf(self, leaf: Any) -> int:
        self.leaves.append(leaf)
        return len(self.leaves) - 1

    def _plain(self, y: Any) -> Any:
        if id(y) not in self._made:
            self._made[id(y)] = self._plain_part(y)
        return self._made[id(y)]

    def _plain_part(self, y: Any) -> Any:
        if is_tracer(y):
            if y._tape is not CONSTANT:
                return y._value
            y = y._value
        parts = parts_of(y)
        if self._is_outer(y, parts):
            return y
        if parts is None:
            return y.copy() if type(y) is np.ndarray else y
        argument = self.inputs.unchanged(y)
        if argument is not None:
            return argument[1]
        new = [self._plain(part) for _, part in parts]
        return rebuilt(y, new) if parts or type(y) in (list, dict) else y

    def released(self) -> Any:
        """Return the value, and forget the call: source for machine code may be written later."""
        value = self.value
        self.inputs.forget_call()
        self.__dict__ = {"leaves": self.leaves, "_tree": self._tree}
        return value

    def expression(self, names: Names, leaf: Callable[[int], str]) -> str:
        """Return the source of the pytree, given the source of its leaves by number."""
        places = collections.Counter(map(_identity, _parts_in(self._tree)))
        bound: dict[Any, str] = {}

        def of(tree: Any) -> str:
            key = _identity(tree)
            if key in bound:
                return bound[key]
            shown = tree if type(tree) is str else leaf(tree) if type(tree) is int else nest(tree)
            if places[key] > 1:
                bound[key] = shown if shown.isidentifier() else f"r{len(bound)}"
                shown = shown if shown.isidentifier() else f"({bound[key]} := {shown})"
            return shown

        def nest(tree: _Nest) -> str:
            kind, template = tree.kind, tree.template
            shown = [of(t) for t in tree.parts]
            inner = ", ".join(shown)
            if kind is list:
                return f"[{inner}]"
            if kind is tuple:
                return f"({inner}{',' if len(shown) == 1 else ''})"
            if kind is dict:
                pairs = [f"{_key(k, names)}: {s}" for k, s in zip(template, shown, strict=True)]
                return "{" + ", ".join(pairs) + "}"
            if hasattr(kind, "_make"):
                return f"{names.of(kind, kind.__name__)}({inner})"
            held = attributes_alone(template)
            if held is None:
                made = functools.partial(rebuilt, template)
                return f"{names.of(made, 'made')}([{inner}])"
            given = dict(zip([key for key, _ in parts_of(template) or ()], shown, strict=True))
            pairs = [f"{k!r}: {given.get(k) or names.of(x, 'constant')}" for k, x in held.items()]
            make, cls = names.of(object_with, "object_with"), names.of(kind, kind.__name__)
            return f"{make}({cls}, {{{', '.join(pairs)}}})"

        return of(self._tree)


def _identity(tree: Any) -> Any:
    """Return what tells parts of a result apart."""
    return id(tree) if type(tree) is _Nest else tree


def _parts_in(tree: Any) -> Iterator[Any]:
    """Yield all parts of a result; the parts of a shared container only once."""
    seen = set()
    waiting = [tree]
    while waiting:
        tree = waiting.pop()
        yield tree
        if type(tree) is _Nest and id(tree) not in seen:
            seen.add(id(tree))
            waiting += tree.parts


def _key(key: Any, names: Names) -> str:
    return repr(key) if type(key) in (str, int, bool, float) else names.of(key, "key")
