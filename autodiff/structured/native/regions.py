"""Which loops of a program become machine code, and the source that calls them."""

from __future__ import annotations

import ast
import platform
import textwrap
import threading
from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np

from autodiff.structured.form.ir import For, If, While, blocks_of
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.calling import (
    WITH_LIST,
    NativeFunction,
    NativeLoop,
    write_epilogue,
    write_prologue,
)
from autodiff.structured.native.containers import given_lists
from autodiff.structured.native.llvm.code import EXCEPTIONS, Code, Unit
from autodiff.structured.native.llvm.given import is_readable
from autodiff.structured.native.llvm.machine import Compiled
from autodiff.structured.native.llvm.memory import define_functions
from autodiff.structured.native.names import Flow, Liveness, Names
from autodiff.structured.native.statements import Statements
from autodiff.structured.runtime_calls import SCOPE
from autodiff.structured.writing.emission import Emitter
from chainrules_core.interpreter.parsing import tree_of

_MOST_INSTRUCTIONS = 12_000
"""What LLVM compiles in about two seconds; longer functions take it more for each instruction."""
_SHORT = 2000
"""Up to so many instructions, loops over elements are no functions of their own in the end: a call
takes some nanoseconds."""
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

    def __init__(
        self, emitter: Emitter, ones: dict[str, set[int]], is_new: Callable[[dict], bool]
    ) -> None:
        self.emitter = emitter
        self.names = Names(emitter.program, emitter.old_name, emitter.layouts)
        self.names.ones = ones
        for name in emitter.counters:
            self.names.counter(name)
        for n, v in enumerate(emitter.outputs):
            self.names.seed(n, v.kind)
        self.scope = {**SCOPE, **emitter.constants.scope}
        self.module = Unit("structured")
        define_functions(self.module)
        self.parts: list[tuple[list, NativeFunction, NativeFunction]] = []
        self.why: dict[For | While, str] = {}
        self.unbound: dict[str, dict[str, Any]] = {}  # by the name of a piece
        self.tried = self.count = 0
        self.loops: set[For | While] = set()
        if platform.machine() not in EXCEPTIONS or not is_readable():
            raise UnsupportedError("arrays that lie in memory in another way")
        self.live = [self._liveness(*lines) for lines in self._functions()]
        body = emitter.program.body
        self.given_lists: dict[int, Any] = {}  # by the position of the argument: of what they are
        self.why_no_lists = self._with_lists(body)
        if self.why_no_lists is not None:
            self._nodes(body)
        if not self.parts:
            raise UnsupportedError("; ".join(self.why.values()) or "no loops")
        self._compiling = threading.Lock()
        self._machine: Compiled | None = None
        self.scope = dict(emitter.constants.scope)
        if self.why_no_lists is None:  # in the source, too
            self.scope |= given_lists.SCOPE
        for names in self.unbound.values():
            self.scope |= {f"unbound_{x}": value for x, value in names.items()}
        for _, forward, backward in self.parts:
            self.scope[f"{forward.name}_loop"] = NativeLoop(
                self.compiled, forward, backward, is_new
            )
        self.source = self._source()

    def compiled(self) -> Compiled:
        """Return the functions as machine code, which is made once for all threads."""
        with self._compiling:
            if self._machine is None:
                is_short = self.module.instructions() <= _SHORT
                for loop in self.module.loops.values():
                    loop.function.attributes.add("alwaysinline" if is_short else "noinline")
                self._machine = Compiled(self.module)
            return self._machine

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

    def _with_lists(self, nodes: list) -> str | None:
        """Write all loops, and all that is done with lists, as one piece of machine code.

        So the source around it reads no lists, of which it has the addresses. If that cannot be,
        or there are no lists, say why.
        """
        if not any(map(_has_lists, nodes)):
            return "no lists"
        try:
            self._check_lists()
        except UnsupportedError as error:
            return str(error)
        places = [k for k, x in enumerate(nodes) if isinstance(x, (For, While)) or _has_lists(x)]
        return self._region(nodes[places[0] : places[-1] + 1], self.names.lists)

    def _check_lists(self) -> None:
        """Note of what the lists are that are given, and check these and those returned.

        Raises
        ------
        UnsupportedError
            If there is something else in them than numbers, or arrays in results.
        """
        program, names = self.emitter.program, self.names
        for v in self.emitter.outputs:
            if v.kind.has_items and v.memory is not None:
                given_lists.check_items(names.contents(v.kind, v.memory.root()), is_result=True)
        for k, slot in enumerate(program.parameters):
            if slot.kind is not None and slot.kind.is_list and slot.memory is not None:
                self.given_lists[k] = names.contents(slot.kind, slot.memory.root())
                given_lists.check_items(self.given_lists[k], is_result=False)

    def functions(self, forward: Callable, backward: Callable) -> tuple[Callable, Callable]:
        """Return what runs both functions of the source."""
        if self.why_no_lists is not None:
            return forward, backward
        return given_lists.with_lists(forward, backward, self.given_lists)

    def _nodes(self, nodes: list) -> None:
        """Write loops as machine code, with what stands between them; if need be, one by one."""
        places = [k for k, node in enumerate(nodes) if isinstance(node, (For, While))]
        if len(places) > 1 and self._region(nodes[places[0] : places[-1] + 1]) is None:
            return
        for node in nodes:
            if isinstance(node, If):
                self._nodes(node.then)
                self._nodes(node.otherwise)
            elif isinstance(node, (For, While)):
                why = self._region([node])
                if why is not None:
                    self.why[node] = (why == WITH_LIST and self.why_no_lists) or why
                    self._nodes([*(node.before if isinstance(node, While) else []), *node.body])

    def _region(self, nodes: list, lists: dict[str, Any] | None = None) -> str | None:
        """Write nodes as machine code, from one loop to another one; return why if it cannot be."""
        e = self.emitter
        self.tried += 1
        name, lists = f"loop{self.tried}", lists or {}
        ends = nodes[0], nodes[-1]
        try:
            first, last = _span(e.forward_spans, *ends)
            lines = e.forward_lines[first:last]
            forward = self._part(f"{name}_forward", lines, first, lists, nodes)
            first, last = _span(e.backward_spans, *ends[::-1])
            lines = e.backward_lines[first:last]
            backward = self._part(f"{name}_backward", lines, first, lists)
        except UnsupportedError as error:
            for direction in ("forward", "backward"):
                self.module.drop(f"{name}_{direction}")
            return str(error)
        self.count += _loops_in(nodes)
        self.loops.update(_outermost(nodes))
        self.parts.append((nodes, forward, backward))
        return None

    def _part(
        self, name: str, lines: list[str], first: int, lists: dict[str, Any],
        nodes: list | None = None,
    ) -> NativeFunction:  # fmt: skip
        """Write one direction of a piece: the forward one where the nodes are given."""
        is_forward = nodes is not None
        body = tree_of(textwrap.dedent("\n".join(lines))).body
        if not is_forward and not _pops(body):
            raise UnsupportedError("a loop that pops nothing")
        flow = Flow(body)
        known = self.scope.keys() | _OWN
        binds = flow.binds - known
        live = self.live[0 if is_forward else 1][first + body[-1].lineno - 1]
        results = sorted(binds & live)
        sums = {x: made for names in self.emitter.sums.values() for (made, _), x in names.items()}
        given = [x for x in flow.reads if x not in known | sums.keys()]
        given += [x for x in results if x not in flow.surely and x not in given]
        part = NativeFunction(name, given, results, self.names.kinds, lists)
        if nodes is not None:
            self._note_unbound(nodes, part, binds)
        code = Code(self.module, name, part.llvm_types())
        e = self.emitter
        pushes = {line - first + 1: names for line, names in e.push_names.items()}
        statements = Statements(
            code, code.function.args[0], self.scope, e.adjoints, is_forward, self.names,
            pushes if is_forward else {}, body, set(results),
        )  # fmt: skip
        write_prologue(code, part, statements)
        # A sum of a loop around this one adds here what comes from here.
        open_sums = [x for x in flow.reads if x in sums]
        for x in open_sums:
            statements.bound[x] = statements.expression(tree_of(sums[x]).body[0].value)
        statements.statements(body)
        for x in open_sums:
            statements.bound[x].add_all()
        write_epilogue(code, part, statements)
        if sum(len(b.instructions) for b in code.function.blocks) > _MOST_INSTRUCTIONS:
            raise UnsupportedError("so much in one loop")
        return part

    def _note_unbound(self, nodes: list, part: NativeFunction, binds: set[str]) -> None:
        """Find variables that loops alone bind: machine code is given something for them."""
        first = next(_outermost(nodes), None)
        if first is None:
            raise UnsupportedError("lists without loops")
        slots = {s.name: s for s in self.emitter.program.slots if s not in first.readable}
        for x in part.params:
            slot = slots.get(x.removesuffix("_b"))
            if slot is not None and x in binds:
                self.unbound.setdefault(part.name, {})[x] = _something(part.kinds[x])

    def _source(self) -> str:
        e = self.emitter
        forward, backward = list(e.forward_lines), list(e.backward_lines)
        for nodes, part, back in self.parts:
            ends, own = (nodes[0], nodes[-1]), self.unbound.get(part.name, {})
            name = f"{part.name}_loop"
            _replace(forward, _span(e.forward_spans, *ends), part, f"{name}.forward", "push", own)
            span = _span(e.backward_spans, *ends[::-1])
            _replace(backward, span, back, f"{name}.backward", "pop()")
        forward, backward = (list(filter(None, lines)) for lines in (forward, backward))
        return "\n".join([*e.forward_head, *forward, "", "", *e.backward_head, *backward])


def _something(kind: Kind) -> Any:
    """Return a value of a kind; of arrays, one without axes of one element."""
    if kind.has_items:
        return 0
    if kind.is_array:
        return np.zeros((2,) * kind.ndim, kind.dtype)
    return min(kind.classes, key=lambda c: c.__name__)(0)


def _span(spans: dict[Any, tuple[int, int]], first: Any, last: Any) -> tuple[int, int]:
    """Return where the lines from one node to another one begin and end."""
    return spans[first][0], spans[last][1]


def _replace(
    lines: list[str], span: tuple[int, int], part: NativeFunction, callee: str, own: str,
    unbound: Container[str] = (),
) -> None:  # fmt: skip
    """Put a call in the place of lines; as many are left, so that the others keep their numbers."""
    first, last = span
    depth = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    given = [f"unbound_{x}" if x in unbound else x for x in part.params]
    call = f"{callee}({', '.join([own, *given])})"
    results = "".join(f"{x}, " for x in part.results)
    lines[first:last] = [
        f"{depth}{results}= {call}" if results else depth + call,
        *[""] * (last - first - 1),
    ]


def _pops(body: list[ast.stmt]) -> bool:
    return any(isinstance(p, ast.Name) and p.id == "pop" for s in body for p in ast.walk(s))


def _outermost(nodes: list) -> Iterator[For | While]:
    for node in nodes:
        if isinstance(node, If):
            yield from _outermost([*node.then, *node.otherwise])
        elif isinstance(node, (For, While)):
            yield node


def _has_lists(node: Any) -> bool:
    for block in blocks_of([node]):
        values = [v for op in block.ops for v in (op.out, *op.args) if v is not None]
        if any(v.kind.has_items for v in (*values, *block.writes.values())):
            return True
    return False


def _loops_in(nodes: list) -> int:
    return sum(1 + _loops_in(node.body) for node in _outermost(nodes))
