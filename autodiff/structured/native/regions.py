"""Selection of the regions of a program that become machine code, and the source around them."""

from __future__ import annotations

import ast
import platform
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.structured.callables.recursive_calls import RecursiveCallee
from autodiff.structured.form.function_ir import Block, For, If, Op, While, blocks_of
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.form.order import outermost_loops
from autodiff.structured.native.arrays.array_creation import CREATORS
from autodiff.structured.native.callees import Callees
from autodiff.structured.native.containers.list_conversion import (
    SCOPE as LIST_SCOPE,
    check_items,
    with_lists,
)
from autodiff.structured.native.dataflow import Liveness, NameUses
from autodiff.structured.native.llvm.array_parameters import is_readable
from autodiff.structured.native.llvm.calls_of_python import define_call, define_entry
from autodiff.structured.native.llvm.function_builder import (
    EXCEPTIONS,
    FunctionBuilder,
)
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.memory import define_functions
from autodiff.structured.native.llvm.modules import LLVMModule, length_of
from autodiff.structured.native.operations_by_python import Place
from autodiff.structured.native.region_calls import (
    WITH_LIST,
    NativeFunction,
    NativeLoop,
    write_epilogue,
    write_prologue,
)
from autodiff.structured.native.statement_lowering import Statements
from autodiff.structured.native.symbol_table import SymbolTable
from autodiff.structured.runtime_library import SCOPE
from autodiff.structured.writing.program_writer import ProgramWriter
from chainrules_core.interpreter.parsing import tree_of

_MOST_INSTRUCTIONS, _MANY = 40_000, 15_000
"""The most instructions of a function; and the most that LLVM compiles with care, in two seconds.
Each ten thousand more take half a second."""
_SHORT = 2000
"""Programs of up to so many instructions inline outlined loops: a call takes some nanoseconds."""
_BUILTINS = frozenset({
    "push", "pop", "wipe", "range", "reversed", "len", "set", "float", "type", "Changed",
    "Broadcast", "add_message",
})  # fmt: skip


class NativeProgram:
    """A program with the loops that can be lowered as machine code.

    Parameters
    ----------
    emitter : ProgramWriter
        The source of the program, emitted for machine code.
    ones : dict
        Name of an array → the axes that have length 1 in all runs, and are broadcast.
    is_new : callable
        Whether arguments have axes of length 1 that no call has had before.
    takes_surroundings : bool
        Whether statements around loops that compute elements of arrays become machine code, too.
    writers : dict
        Function with a program of its own → the source of that, emitted for machine code.

    Attributes
    ----------
    has_surroundings : bool
        Whether some have.
    source : str
        The source around the loops.
    scope : dict
        The globals of the source.
    why : dict
        A loop that is not machine code → what cannot be lowered.
    loops : set
        The outermost loops that are machine code.
    count : int
        The number of loops that are machine code, nested ones included.
    """

    def __init__(
        self, emitter: ProgramWriter, ones: dict[str, set[int]], is_new: Callable[[dict], bool],
        takes_surroundings: bool, writers: dict[RecursiveCallee, ProgramWriter],
    ) -> None:  # fmt: skip
        self.emitter = emitter
        self.takes_surroundings = takes_surroundings
        self.has_surroundings = False
        self.names = SymbolTable(
            emitter.program, emitter.old_name, emitter.layouts, emitter.layouts_of_values
        )
        cotangents = self._unwritten(False)  # these may have no elements
        self.names.unit_axes = {x: axes for x, axes in ones.items() if x not in cotangents}
        for name in emitter.counters:
            self.names.counter(name)
        for n, v in enumerate(emitter.outputs):
            self.names.seed(n, v.kind)
        self.scope = {**SCOPE, **emitter.constants.scope}
        self.module = LLVMModule("structured")
        define_functions(self.module)
        define_call(self.module)
        self.module.callees = Callees(self.module, writers)
        self.parts: list[tuple[list, NativeFunction, NativeFunction]] = []
        self.why: dict[For | While, str] = {}
        self.unbound: dict[str, dict[str, Any]] = {}  # by the name of a region
        self.tried = self.count = 0
        self.loops: set[For | While] = set()
        if platform.machine() not in EXCEPTIONS or not is_readable():
            raise UnsupportedError("another memory layout of arrays")
        self.live = [_liveness(emitter.forward_head, emitter.forward_lines),
                     _liveness(emitter.backward_head, emitter.backward_lines)]  # fmt: skip
        body = emitter.program.body
        self.given_lists: dict[int, Any] = {}  # position of an argument → type of its items
        self.why_no_lists = self._lower_with_lists(body)
        if self.why_no_lists is not None:
            self._lower(body)
        if not self.parts:
            raise UnsupportedError("; ".join(self.why.values()) or "no loops")
        self._compiling = threading.Lock()
        self._machine: CompiledModule | None = None
        self.scope = dict(emitter.constants.scope)
        if self.why_no_lists is None:
            self.scope |= LIST_SCOPE
        for names in self.unbound.values():
            self.scope |= {f"unbound_{x}": value for x, value in names.items()}
        for _, forward, backward in self.parts:
            for function in (forward, backward):
                define_entry(self.module, function.name)
            self.scope[f"{forward.name}_loop"] = NativeLoop(
                self.compiled, forward, backward, is_new
            )
        self.source = self._source()

    def compiled(self) -> CompiledModule:
        """Return the machine code, which is compiled once for all threads."""
        with self._compiling:
            if self._machine is None:
                is_short = self.module.instructions() <= _SHORT
                for loop in self.module.loops.values():
                    loop.function.attributes.add("alwaysinline" if is_short else "noinline")
                for function in [] if is_short else self.module.callees.functions():
                    function.attributes.add("noinline")
                is_long = max(map(length_of, self.module.functions)) > _MANY
                self._machine = CompiledModule(self.module, is_brief=is_long)
            return self._machine

    def _lower_with_lists(self, nodes: list) -> str | None:
        """Lower everything from the first to the last loop or use of a list, as one region.

        The source around it only has the addresses of lists, so it must not read them. Return why
        this is impossible, or None.
        """
        if not any(map(_has_lists, nodes)):
            return "no lists"
        try:
            self._check_lists()
        except UnsupportedError as error:
            return str(error)
        within = [k for k, x in enumerate(nodes) if isinstance(x, (For, While)) or _has_lists(x)]
        why = self._region(nodes[within[0] : within[-1] + 1], self.names.lists)
        if why is None or within[-1] + 1 == len(nodes):
            return why
        # A value may have no form in which it leaves machine code, such as a truth value of one
        # class or another: what reads it may be part of the region, too.
        return why if self._region(nodes[within[0] :], self.names.lists) else None

    def _check_lists(self) -> None:
        """Find the types of lists that are arguments, and check those and the types of results.

        Raises
        ------
        UnsupportedError
            If lists hold something other than numbers, or than arrays in results.
        """
        program, names = self.emitter.program, self.names
        for v in self.emitter.outputs:
            if v.kind.has_items and v.memory is not None:
                check_items(names.contents(v.kind, v.root), is_result=True)
        for k, slot in enumerate(program.parameters):
            if slot.kind is not None and slot.kind.is_list and slot.memory is not None:
                self.given_lists[k] = names.contents(slot.kind, slot.root)
                check_items(self.given_lists[k], is_result=False)

    def functions(self, forward: Callable, backward: Callable) -> tuple[Callable, Callable]:
        """Return both functions of the source as functions of Python's lists."""
        if self.why_no_lists is not None:
            return forward, backward
        return with_lists(forward, backward, self.given_lists)

    def _lower(self, nodes: list) -> None:
        """Lower all loops as one region, else each loop or its parts.

        The region goes from the first to the last node with loops or computations on whole arrays.
        If something outside of the loops prevents that, it is left out: first what is before them,
        then what is behind them.
        """
        loops = [k for k, x in enumerate(nodes) if _loops_in([x]) or _starts(x)]
        if loops:
            first, last = begin, end = loops[0], loops[-1]
            if self.takes_surroundings:
                found = [*loops, *[k for k, x in enumerate(nodes) if _computes_elements(x)]]
                begin, end = min(found), max(found)
            for k, m in dict.fromkeys([(begin, end), (first, end), (begin, last), (first, last)]):
                has_more = (k, m) != (first, last)
                if (has_more or len(loops) > 1) and self._region(nodes[k : m + 1]) is None:
                    self.has_surroundings = has_more
                    return
        for node in nodes:
            if isinstance(node, If):
                self._lower(node.then)
                self._lower(node.otherwise)
            elif isinstance(node, (For, While)) or _starts(node):
                why = self._region([node])
                if why is not None and not isinstance(node, Block):
                    self.why[node] = (why == WITH_LIST and self.why_no_lists) or why
                    self._lower([*(node.before if isinstance(node, While) else []), *node.body])

    def _region(self, nodes: list, lists: dict[str, Any] | None = None) -> str | None:
        """Lower consecutive nodes in both directions. Return why this is impossible, or None."""
        e = self.emitter
        self.tried += 1
        name, lists = f"loop{self.tried}", lists or {}
        ends = nodes[0], nodes[-1]
        try:
            first, last = _span(e.forward_spans, *ends)
            lines = e.forward_lines[first:last]
            forward = self._function(f"{name}_forward", lines, first, lists, nodes)
            first, last = _span(e.backward_spans, *ends[::-1])
            lines = e.backward_lines[first:last]
            backward = self._function(f"{name}_backward", lines, first, lists)
        except UnsupportedError as error:
            for direction in ("forward", "backward"):
                self.module.drop(f"{name}_{direction}")
            return str(error)
        self.count += _loops_in(nodes)
        self.loops.update(outermost_loops(nodes))
        self.parts.append((nodes, forward, backward))
        return None

    def _function(
        self, name: str, lines: list[str], first: int, lists: dict[str, Any],
        nodes: list | None = None,
    ) -> NativeFunction:  # fmt: skip
        """Lower one direction of a region: the forward one if `nodes` are given."""
        is_forward = nodes is not None
        body = tree_of(textwrap.dedent("\n".join(lines))).body
        if not is_forward and not _pops(body):
            raise UnsupportedError("a loop that pops nothing")
        flow = NameUses(body)
        known = self.scope.keys() | _BUILTINS
        binds = flow.binds - known
        after = self.live[0 if is_forward else 1]

        def live(line: int) -> set[str]:
            return after[first + line - 1]

        results = sorted(binds & live(body[-1].lineno))
        sums = {x: text for names in self.emitter.sums.values() for (text, _), x in names.items()}
        params = [x for x in flow.reads if x not in known | sums.keys()]
        params += [x for x in results if x not in flow.surely and x not in params]
        function = NativeFunction(name, params, results, self.names.kinds, lists)
        if nodes is not None:
            self._find_unbound(nodes, function, binds)
        left: dict[Place, str] = {}  # the operations that are left to Python
        pushes = {line - first + 1: names for line, names in self.emitter.push_names.items()}
        open_sums = {x: tree_of(sums[x]).body[0].value for x in flow.reads if x in sums}
        while True:
            code = FunctionBuilder(self.module, name, function.llvm_types())
            code.b.most = _MOST_INSTRUCTIONS
            statements = Statements(
                code, code.function.args[0], self.scope, self.emitter.adjoints, is_forward,
                self.names, pushes if is_forward else {}, body, set(results), live,
                self._unwritten(is_forward), left=left,
            )  # fmt: skip
            try:
                self._lower_body(function, statements, body, open_sums)
            except Exception:
                if not statements.has_left_more:
                    raise
            if not statements.has_left_more:
                break
            self.module.drop(name)
        return function

    def _lower_body(
        self, function: NativeFunction, statements: Statements, body: list, open_sums: dict
    ) -> None:
        """Lower the statements of a region.

        Products for a sum of an enclosing loop are collected in `open_sums`, and added at the end.
        """
        write_prologue(statements.code, function, statements)
        for x, made in open_sums.items():
            statements.bound[x] = statements.expression(made)
        statements.statements(body)
        for x in open_sums:
            statements.bound[x].add_all()
        write_epilogue(statements.code, function, statements)

    def _unwritten(self, is_forward: bool) -> set[str]:
        """Return the variables whose arrays are not written into while they hold them.

        In the sweep these are the cotangents that are no shadows.
        """
        e = self.emitter
        slots = [s for s in e.program.slots if s.kind is not None and s.kind.is_array and s.memory]
        if not is_forward:
            return {f"{s.name}_b" for s in slots if e.has_variable(s)}
        views = self._views_seen_outside()
        roots = {s.name: s.root for s in slots if s.memory is not None and s not in views}
        return {x for x, root in roots.items() if root in e.carried or not root.is_written}

    def _views_seen_outside(self) -> set[Any]:
        """Return the variables that may hold a view of an argument or result, and are returned.

        The caller may write into them, so the forward function compares their memory.
        """
        e = self.emitter
        count = Counter(v.root for v in e.outputs if v.kind.is_array)
        given = {slot.root for slot in e.program.parameters if slot.memory is not None}
        writes = [pair for block in blocks_of(e.program.body) for pair in block.writes.items()]
        return {
            slot
            for slot, v in writes
            if v.kind.is_array and v.op.code != "call"
            and count[slot.root] > (slot.root not in given)
        }  # fmt: skip

    def _find_unbound(self, nodes: list, function: NativeFunction, binds: set[str]) -> None:
        """Find parameters that are not bound before the region: they are passed a dummy value."""
        first = next(outermost_loops(nodes), None)
        if first is None and function.lists:
            raise UnsupportedError("lists without loops")
        if first is None:
            return
        slots = {s.name: s for s in self.emitter.program.slots if s not in first.readable}
        for x in function.params:
            slot = slots.get(x.removesuffix("_b"))
            if slot is not None and x in binds:
                self.unbound.setdefault(function.name, {})[x] = _dummy(function.kinds[x])

    def _source(self) -> str:
        """Return the source of both functions, with calls of machine code in place of regions."""
        e = self.emitter
        forward, backward = list(e.forward_lines), list(e.backward_lines)
        for nodes, there, back in self.parts:
            ends, name = (nodes[0], nodes[-1]), f"{there.name}_loop"
            texts = {x: f"unbound_{x}" for x in self.unbound.get(there.name, ())}
            span = _span(e.forward_spans, *ends)
            _replace(forward, span, there, f"{name}.forward", "push", texts)
            span = _span(e.backward_spans, *ends[::-1])
            texts = {x: f"dense({x})" for x in self._unwritten(False)}
            _replace(backward, span, back, f"{name}.backward", "pop()", texts)
        forward, backward = (list(filter(None, lines)) for lines in (forward, backward))
        return "\n".join([*e.forward_head, *forward, "", "", *e.backward_head, *backward])


def _liveness(head: list[str], lines: list[str]) -> dict[int, set[str]]:
    """Return the live names after each line of a function, counted from its first one."""
    (function,) = tree_of("\n".join([*head, *lines])).body
    assert isinstance(function, ast.FunctionDef)
    first = len(head) + 1
    return {n - first: names for n, names in Liveness(function).after.items()}


def _dummy(kind: Kind) -> Any:
    """Return a value of a kind. Arrays have no axes of length 1."""
    if kind.has_items:
        return 0
    if kind.is_array:
        return np.zeros((2,) * kind.ndim, kind.dtype)
    if kind.is_member:
        (members,) = kind.classes
        return next(iter(members.__members__.values()))  # type: ignore[attr-defined] # an enumeration
    return min(kind.classes, key=lambda c: c.__name__)(0)


def _span(spans: dict[Any, tuple[int, int]], first: Any, last: Any) -> tuple[int, int]:
    """Return the first line of one node, and the end of another one."""
    return spans[first][0], spans[last][1]


def _replace(
    lines: list[str], span: tuple[int, int], function: NativeFunction, callee: str, tape: str,
    texts: dict[str, str],
) -> None:  # fmt: skip
    """Replace lines by a call, padded with empty lines so that the others keep their numbers.

    `texts` has the arguments that are more than the name of the parameter.
    """
    first, last = span
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    args = [texts.get(x, x) for x in function.params]
    call = f"{callee}({', '.join([tape, *args])})"
    results = "".join(f"{x}, " for x in function.results)
    lines[first:last] = [
        f"{indent}{results}= {call}" if results else indent + call,
        *[""] * (last - first - 1),
    ]


def _pops(body: list[ast.stmt]) -> bool:
    return any(isinstance(p, ast.Name) and p.id == "pop" for s in body for p in ast.walk(s))


def _starts(node: Any) -> bool:
    """Whether a block calls functions that have programs of their own."""
    return isinstance(node, Block) and any(type(op.f) is RecursiveCallee for op in node.ops)


def _has_lists(node: Any) -> bool:
    for block in blocks_of([node]):
        values = [v for op in block.ops for v in (op.out, *op.args) if v is not None]
        if any(v.kind.has_items for v in (*values, *block.writes.values())):
            return True
    return False


def _calls_on_arrays(node: Any) -> Iterator[Op]:
    ops = (op for block in blocks_of([node]) for op in block.ops)
    return (op for op in ops if op.code == "call" and any(v.kind.is_array for v in op.operands))


def _computes_elements(node: Any) -> bool:
    return any(op.f not in CREATORS for op in _calls_on_arrays(node))


def _loops_in(nodes: list) -> int:
    return sum(1 + _loops_in(node.body) for node in outermost_loops(nodes))
