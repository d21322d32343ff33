"""The calls of a differentiation as a tree, recorded by an observer of the tape.

A call that has a rule is a leaf of the tree. Above it are the functions whose frames are on
Python's stack at that moment. Frames are kept until the next call, to tell one call of a function
from the next.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time
import tracemalloc
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import PLAIN
from autodiff.dispatch.call import NO_RULE
from autodiff.explanation.lines import OURS, Line, stack_of
from autodiff.mutation.write_nodes import Write
from autodiff.trace.nodes import Leaf, Node, Part
from autodiff.trace.observers import ObservedTape, Observer, argument_name, indices_on
from autodiff.trace.pytree import is_perturbable, leaves_of
from autodiff.trace.tape import Forward, Tape
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core import AbstractZero, InplaceableThunk, Tangent, unthunk
from chainrules_core.rules import name_of

# Kind of a rule → kind of its calls; all others are shown as "rule".
_KINDS = {"scalar": "elementwise", "checkpoint": "checkpoint", "numeric": "numeric"}
_INSIDE = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})


@dataclasses.dataclass(eq=False)
class Call:
    """One call.

    Attributes
    ----------
    name : str
        The function.
    kind : str
        ``"rule"``, ``"elementwise"`` (a rule of partial derivatives), ``"traced"`` (its body ran
        with traced values), ``"constant"`` (it has no derivative), ``"numeric"`` (differentiated
        by finite differences), ``"checkpoint"``, ``"write"`` (into an array) or ``"argument"``.
    where : str
        The user's file and line.
    inputs : list of str
        The types and shapes of its arguments.
    output : str
        The type and shape of its result.
    note : str
        If it is constant, the reason.
    seconds, bytes : float, int
        Time of the call, and memory that it leaves in use.
    back_seconds, back_bytes : float, int
        Time and memory of its pullback.
    cotangent : str
        ``"none"`` if none arrived, ``"zero"`` or ``"nonzero"``.
    zeros : list of str
        The arguments that got a zero cotangent although the one that arrived was not zero.
    places, parents : list of int
        Its own places on the tape, and those of the values that it was computed from.
    children : list of Call
        The calls in its body.
    line : Line
        The user's line that makes it.
    """

    name: str
    kind: str
    where: str = ""
    inputs: list[str] = dataclasses.field(default_factory=list)
    output: str = ""
    note: str = ""
    seconds: float = 0.0
    bytes: int = 0
    back_seconds: float = 0.0
    back_bytes: int = 0
    cotangent: str = "none"
    zeros: list[str] = dataclasses.field(default_factory=list)
    places: list[int] = dataclasses.field(default_factory=list)
    parents: list[int] = dataclasses.field(default_factory=list)
    children: list[Call] = dataclasses.field(default_factory=list)
    line: Line = dataclasses.field(default_factory=Line, repr=False)

    @property
    def is_recorded(self) -> bool:
        """Whether it is on the tape."""
        return bool(self.places)

    def walk(self) -> Iterator[Call]:
        """Yield the call and all calls below it, in the order of execution."""
        yield from self._below(lambda call: True)

    def _below(self, is_open: Callable[[Call], bool]) -> Iterator[Call]:
        """Yield the call and all below it that are reached through open ones."""
        waiting = [self]
        while waiting:
            call = waiting.pop()
            yield call
            if is_open(call):
                waiting.extend(reversed(call.children))

    def measured(self) -> Iterator[Call]:
        """Yield the calls that were measured: itself, or those in the body of a traced call."""
        below = self._below(lambda call: call.kind == "traced")
        return (call for call in below if call.kind != "traced")

    def total(self, name: str) -> Any:
        """Return a number of the call; for a traced call the sum over the calls in its body."""
        return sum(getattr(call, name) for call in self.measured())


class Recorder(Observer):
    """Records the calls of the first differentiation that it sees, below the user's lines."""

    def __init__(self, memory: bool, lines: Line) -> None:
        self.memory = memory
        self.lines = lines
        self.root = Call("", "traced", line=lines)
        self.arguments: list[Call] = []
        self.base: types.FrameType | None = None
        self._is_first = True
        self._at: dict[int, Call] = {}
        self._open: list[Call] = []
        self._path: list[tuple[types.FrameType, Call]] = []

    def tape(self) -> Tape:
        """Return an observed tape the first time, and plain tapes later."""
        if not self._is_first:
            return Tape()
        self._is_first = False
        return ObservedTape(self)

    def forward(self) -> Forward:
        """Return a plain trace level."""
        return Forward()

    def finish(self) -> None:
        """Release the frames of the run."""
        self._path.clear()
        self.base = None

    def call(
        self, proceed: Callable[[], Any], f: Callable, args: tuple, kwargs: dict, tape: Tape
    ) -> Any:
        """Make a call that has a rule, and record it."""
        made, parent = self._new(_name(f, args), "rule")
        self._open.append(made)
        try:
            with self.measured(made, "seconds", "bytes"):
                result = proceed()
        finally:
            self._open.pop()
        if result is NO_RULE:
            del parent.children[-1]  # the last one, since calls in its body are below it
            return result
        made.inputs = [described(a) for a in args if not isinstance(a, str) or type(a) is str]
        made.inputs += [f"{name}={described(value)}" for name, value in kwargs.items()]
        made.output = described(result)
        if made.children and not made.places:
            made.kind = "traced"
        elif not made.places:
            made.kind = "constant"
            made.parents = list(dict.fromkeys(indices_on((args, kwargs), tape)))
            made.note = _why_constant(result)
        return result

    def added(self, node: Any, place: int, tape: Tape) -> None:
        """Record a node, and measure its pullback."""
        if isinstance(node, Leaf):
            space = node.space
            self.arguments.append(Call(f"argument {place}", "argument", output=_space(space)))
            self._take(self.arguments[-1], place)
            return
        if isinstance(node, Part):
            self._take(self._at[node.whole], place)
            return
        made = self._open[-1] if self._open else None
        if isinstance(node, Write):
            made, _ = self._new("item assignment", "write")
            made.output = _space(node.space)
            made.cotangent = "unknown"
            made.parents = [p for p in (node.before, node.value) if p is not None]
        elif made is None or made.places or node.rule.kind in ("checkpoint", "numeric"):
            made, _ = self._new(node.rule.name, _KINDS.get(node.rule.kind, "rule"))
            made.output = _space(node.space)
            made.inputs = [self._at[p].output for p in dict.fromkeys(node.parents)]
        else:
            made.kind = _KINDS.get(node.rule.kind, "rule")
        self._take(made, place)
        if isinstance(node, Node):
            made.parents = list(dict.fromkeys(node.parents))
            node.pull = self._measured_pull(node, made)

    def ignored(self, x: Any) -> None:
        """Record a call of `ignore_derivatives`."""
        made, _ = self._new("ignore_derivatives", "constant")
        made.inputs = [described(x)]
        made.output = described(untraced(x))
        made.parents = [x._index] if type(x._index) is int else []
        made.note = "its derivative is ignored on request"

    @contextlib.contextmanager
    def measured(self, made: Call, seconds: str, size: str) -> Iterator[None]:
        """Add the time and memory of a block to a call."""
        memory = tracemalloc.get_traced_memory()[0] if self.memory else 0
        start = time.perf_counter()
        yield
        setattr(made, seconds, getattr(made, seconds) + time.perf_counter() - start)
        if self.memory:
            used = tracemalloc.get_traced_memory()[0] - memory
            setattr(made, size, getattr(made, size) + max(used, 0))

    def _take(self, made: Call, place: int) -> None:
        """Note that a place on the tape belongs to a call."""
        made.places.append(place)
        self._at[place] = made

    def _new(self, name: str, kind: str) -> tuple[Call, Call]:
        """Add a new call to the tree; return it and the call that contains it."""
        parent, where, line = self._caller()
        if self._open:
            parent = self._open[-1]
        made = Call(name, kind, where, line=line)
        parent.children.append(made)
        return made, parent

    def _caller(self) -> tuple[Call, str, Line]:
        """Return the function that makes a call, where that is, and the user's line there."""
        parent, where, line, depth = self.root, "", self.lines, 0
        for frame in stack_of(sys._getframe(3), self.base):
            code = frame.f_code
            if code.co_filename.startswith(OURS):
                continue
            if code.co_name not in _INSIDE:
                if depth == len(self._path) or self._path[depth][0] is not frame:
                    del self._path[depth:]
                    made = self.root
                    if depth:
                        made = Call(code.co_qualname, "traced", where, line=line)
                        parent.children.append(made)
                    self._path.append((frame, made))
                parent = self._path[depth][1]
                depth += 1
            where, line = _where(frame), line.below(frame)
        del self._path[depth:]
        return parent, where, line

    def _measured_pull(self, node: Node, made: Call) -> Callable:
        pull, rule, positions = node.pull, node.rule, node.positions

        def measured_pull(y_bar: Any, *product: Any) -> list:
            with self.measured(made, "back_seconds", "back_bytes"):
                bars = list(pull(y_bar, *product))
            made.cotangent = "zero" if is_all_zero(y_bar) else "nonzero"
            made.zeros = []
            if made.cotangent == "nonzero":
                zeros = [p for p, x_bar in zip(positions, bars, strict=True) if is_all_zero(x_bar)]
                made.zeros = [argument_name(rule, p) or str(p) for p in dict.fromkeys(zeros)]
            return bars

        measured_pull.__name__ = pull.__name__
        return measured_pull


def _name(f: Callable, args: tuple) -> str:
    """Return the name of a function; one with custom rules is named in its first argument."""
    name = name_of(f)
    if name == "autodiff.api.custom_derivatives._with_rules":
        return str(args[0])
    return "cotangent_hook" if name == "autodiff.api.cotangent_hooks._hooked" else name


def _where(frame: types.FrameType) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _why_constant(result: Any) -> str:
    kinds = {np.result_type(untraced(x)).kind for x in leaves_of(result) if _has_dtype(x)}
    if kinds and kinds <= set("iub"):
        return "whole numbers and truth values have no derivative"
    return "it is piecewise constant, or not differentiable"


def _has_dtype(x: Any) -> bool:
    return isinstance(untraced(x), (bool, int, float, complex, np.ndarray, np.generic))


def is_all_zero(x: Any) -> bool:
    """Whether a cotangent is known to be zero; False for one that is not computed yet."""
    if isinstance(x, AbstractZero):
        return True
    if isinstance(x, InplaceableThunk):
        return False
    x = unthunk(x)
    if isinstance(x, Tangent):
        return all(is_all_zero(part) for part in Tangent.values(x))
    plain = untraced(x)
    return is_perturbable(plain) and not np.any(plain)


def described(x: Any) -> str:
    """Describe a value: arrays and traced values by type and shape, small constants by repr."""
    plain = untraced(x)
    if isinstance(plain, (np.ndarray, np.generic)):
        text = f"{plain.dtype}{list(plain.shape) if plain.shape else ''}"
    elif is_tracer(x) and isinstance(plain, (float, complex)):
        text = type(plain).__name__
    elif isinstance(plain, (list, tuple)):
        inner = ", ".join(described(part) for part in plain[:4]) + (", …" if len(plain) > 4 else "")
        return f"[{inner}]" if isinstance(plain, list) else f"({inner})"
    elif type(plain) in PLAIN or isinstance(plain, (str, int, float)):
        text = getattr(plain, "__name__", None) or repr(plain)
        return text if len(text) <= 20 else f"{text[:17]}..."
    else:
        return type(plain).__name__
    return text


def _space(space: Any) -> str:
    dtype = getattr(space, "dtype", None)
    if dtype is None:
        return "several values" if space is None else "float"
    return f"{dtype}{list(space.shape) if space.shape else ''}"
