"""Which loops of a program become machine code, and the source that calls them."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.ir import For, If, While
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.blas import OuterSum
from autodiff.structured.native.calling import Loop, Part, enter, is_readable, leave
from autodiff.structured.native.code import Code
from autodiff.structured.native.machine import Compiled
from autodiff.structured.native.memory import define_functions
from autodiff.structured.native.names import Flow, Liveness, Names
from autodiff.structured.native.statements import Statements
from autodiff.structured.runtime_calls import SCOPE
from autodiff.structured.writing.emission import Emitter
from chainrules_core.interpreter.parsing import tree_of

_OWN = frozenset({"push", "pop", "range", "reversed", "len", "type", "Changed", "Broadcast"})


class Native:
    """A program whose loops are machine code as far as they can be.

    Parameters
    ----------
    emitter : Emitter
        The source of the program, as it is written for machine code.
    ones : dict
        Name of an array → its axes that have one element, and are broadcast.

    Attributes
    ----------
    source : str
        The source around the loops.
    scope : dict
        What it finds by name.
    why : dict
        For each loop that is no machine code, what of it is not.
    loops : set
        The outermost loops that are machine code.
    count : int
        How many loops are machine code, with those inside them.
    """

    def __init__(self, emitter: Emitter, ones: dict[str, set[int]]) -> None:
        self.emitter = emitter
        self.names = Names(emitter.program, emitter.old_name)
        self.names.ones = ones
        for name in emitter.counters:
            self.names.counter(name)
        self.scope = {**SCOPE, **emitter.constants.scope}
        self.module = ir.Module("structured")
        define_functions(self.module)
        self.parts: list[tuple[Any, Part, Part]] = []
        self.why: dict[For | While, str] = {}
        self.unbound: dict[str, dict[str, Any]] = {}  # by the name of a loop
        self.count = 0
        if not is_readable():
            raise UnsupportedError("arrays that lie in memory in another way")
        self.live = [self._liveness(*lines) for lines in self._functions()]
        self._nodes(emitter.program.body)
        if not self.parts:
            raise UnsupportedError("; ".join(self.why.values()) or "no loops")
        self.loops = {node for node, _, _ in self.parts}
        compiled = Compiled(self.module)
        self.scope = dict(emitter.constants.scope)
        for names in self.unbound.values():
            self.scope |= {f"unbound_{x}": value for x, value in names.items()}
        for _, forward, backward in self.parts:
            self.scope[f"{forward.name}_loop"] = Loop(compiled, forward, backward)
        self.source = self._source()

    def _functions(self) -> Iterator[tuple[list[str], list[str]]]:
        e = self.emitter
        yield e.forward_head, e.forward_lines
        yield e.backward_head, e.backward_lines

    def _liveness(self, head: list[str], lines: list[str]) -> dict[int, set[str]]:
        """Return for each line of a function which names are read after it."""
        (function,) = tree_of("\n".join([*head, *lines])).body
        assert isinstance(function, ast.FunctionDef)
        first = len(head) + 1
        return {n - first: names for n, names in Liveness(function).after.items()}

    def _nodes(self, nodes: list) -> None:
        for node in nodes:
            if isinstance(node, If):
                self._nodes(node.then)
                self._nodes(node.otherwise)
            elif isinstance(node, (For, While)):
                self._loop(node)

    def _loop(self, node: For | While) -> None:
        """Write a loop as machine code; if that cannot be, those inside it."""
        e = self.emitter
        k = len(self.parts) + len(self.why)
        name = f"loop{k}"
        try:
            first, last = e.forward_spans[node]
            forward = self._part(f"{name}_forward", e.forward_lines[first:last], node, first)
            first, last = e.backward_spans[node]
            backward = self._part(f"{name}_backward", e.backward_lines[first:last], None, first)
        except UnsupportedError as error:
            self.why[node] = str(error)
            for direction in ("forward", "backward"):
                made = self.module.globals.pop(f"{name}_{direction}", None)
                if made is not None:
                    self.module.scope._useset.discard(f"{name}_{direction}")
            if isinstance(node, While):
                self._nodes(node.before)
            self._nodes(node.body)
            return
        self.count += 1 + _loops_in(node.body)
        self.parts.append((node, forward, backward))

    def _part(self, name: str, lines: list[str], node: For | While | None, first: int) -> Part:
        """Write one direction of a loop: the forward one where the loop is given."""
        is_forward = node is not None
        body = tree_of(textwrap.dedent("\n".join(lines))).body
        if not is_forward and not _pops(body):
            raise UnsupportedError("a loop that pops nothing")
        flow = Flow(body)
        known = self.scope.keys() | _OWN
        binds = flow.binds - known
        live = self.live[0 if is_forward else 1][first + body[-1].lineno - 1]
        results = sorted(binds & live)
        sums = {x for names in self.emitter.sums.values() for x in names.values()}
        given = [x for x in flow.reads if x not in known | sums]
        given += [x for x in results if x not in flow.surely and x not in given]
        part = Part(name, given, results, self.names.kinds)
        if node is not None:
            self._note_unbound(node, part, binds)
        code = Code(self.module, name, part.llvm_types())
        e = self.emitter
        pushes = {line - first + 1: names for line, names in e.push_names.items()}
        statements = Statements(
            code, code.function.args[0], self.scope, e.adjoints, is_forward, self.names,
            pushes if is_forward else {}, body,
        )  # fmt: skip
        enter(code, part, statements)
        # A sum of a loop around this one adds here what comes from here.
        open_sums = [x for x in flow.reads if x in sums]
        for x in open_sums:
            statements.bound[x] = OuterSum(code, statements.state)
        statements.statements(body)
        for x in open_sums:
            statements.bound[x].add_all()
        leave(code, part, statements)
        return part

    def _note_unbound(self, node: For | While, part: Part, binds: set[str]) -> None:
        """Find variables that the loop alone binds: machine code is given something for them."""
        slots = {s.name: s for s in self.emitter.program.slots if s not in node.readable}
        for x in part.given:
            slot = slots.get(x.removesuffix("_b"))
            if slot is not None and x in binds:
                self.unbound.setdefault(part.name, {})[x] = _something(part.kinds[x])

    def _source(self) -> str:
        e = self.emitter
        forward, backward = list(e.forward_lines), list(e.backward_lines)
        spans = [(e.forward_spans[node], part, f"{part.name}_loop.forward", "push")
                 for node, part, _ in self.parts]  # fmt: skip
        _replace(forward, spans, self.unbound)
        spans = [(e.backward_spans[node], back, f"{part.name}_loop.backward", "pop()")
                 for node, part, back in self.parts]  # fmt: skip
        _replace(backward, spans, {})
        return "\n".join([*e.forward_head, *forward, "", "", *e.backward_head, *backward])


def _something(kind: Kind) -> Any:
    """Return a value of a kind."""
    if kind.is_array:
        return np.zeros((1,) * kind.ndim, kind.dtype)
    return min(kind.classes, key=lambda c: c.__name__)(0)


def _replace(lines: list[str], spans: list[tuple], unbound: dict[str, Any]) -> None:
    """Put calls in the places of loops."""
    for (first, last), part, callee, own in sorted(spans, key=lambda s: -s[0][0]):
        depth = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        given = [f"unbound_{x}" if x in unbound.get(part.name, ()) else x for x in part.given]
        call = f"{callee}({', '.join([own, *given])})"
        results = "".join(f"{x}, " for x in part.results)
        lines[first:last] = [f"{depth}{results}= {call}" if results else depth + call]


def _pops(body: list[ast.stmt]) -> bool:
    return any(isinstance(p, ast.Name) and p.id == "pop" for s in body for p in ast.walk(s))


def _loops_in(nodes: list) -> int:
    count = 0
    for node in nodes:
        if isinstance(node, If):
            count += _loops_in(node.then) + _loops_in(node.otherwise)
        elif isinstance(node, (For, While)):
            count += 1 + _loops_in(node.body)
    return count
