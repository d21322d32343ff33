"""Functions of numbers that have programs of their own, as functions of machine code.

The forward function pushes what its sweep needs onto the stack of the run, as the blocks of the
caller do. The caller sweeps its calls in reverse order, so each sweep finds that on top of it.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

from autodiff.structured.callables.recursive_calls import RecursiveCallee
from autodiff.structured.form.function_ir import ops_of
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.dataflow import Liveness, loaded
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I64, PTR, FunctionBuilder
from autodiff.structured.native.llvm.modules import LLVMModule, length_of
from autodiff.structured.native.lowered_values import Number, cotangent_kind, width_of
from autodiff.structured.native.program_calls import Signature, number_from, words_of
from autodiff.structured.native.statement_lowering import Statements
from autodiff.structured.native.symbol_table import SymbolTable
from autodiff.structured.runtime_library import SCOPE
from autodiff.structured.writing.program_writer import ProgramWriter
from chainrules_core.interpreter.parsing import tree_of

_DEEPEST, _LONGEST = 400, 2000
"""The deepest recursion, and the most instructions of a function that calls itself.

So the stack of C, of which nobody checks the end, has room.
"""
_GIVEN = {"frame", "tape", "outs", "seeds"}


class Callees:
    """The functions of a module that have programs of their own. Each is lowered once.

    Parameters
    ----------
    module : LLVMModule
        Where they go.
    writers : dict
        Function → the writer of its source for machine code.
    """

    def __init__(self, module: LLVMModule, writers: dict[RecursiveCallee, ProgramWriter]) -> None:
        self.module = module
        self._sources = {callee: _Source(callee, writer) for callee, writer in writers.items()}
        self._known: dict[tuple[RecursiveCallee, bool], Signature | UnsupportedError] = {}

    def function(self, callee: RecursiveCallee, is_forward: bool) -> Signature:
        """Return the signature of a function in one direction; raise if it has no machine code."""
        key = callee, is_forward
        if key not in self._known:
            try:
                self._lower(self._sources[callee], is_forward)
            except UnsupportedError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, UnsupportedError):
            raise UnsupportedError(f"{callee.__name__}: {found}")
        return found

    def functions(self) -> list[Any]:
        """Return the functions of machine code."""
        own = [x.name for x in self._known.values() if isinstance(x, Signature)]
        return [self.module.globals[name] for name in own]

    def _lower(self, source: _Source, is_forward: bool) -> None:
        """Lower a function in one direction. It may call itself, so its signature comes first."""
        source.check()
        name = self.module.get_unique_name(f"{source.name}_{'forward' if is_forward else 'sweep'}")
        kinds = source.kinds if is_forward else [cotangent_kind(source.callee.kind)]
        results: list[Kind | None] = [source.callee.kind]
        if not is_forward:
            results = source.kinds_of_cotangents
        own = self._known[source.callee, is_forward] = Signature(name, kinds, results)
        words = [I64] * sum(map(words_of, kinds))
        code = FunctionBuilder(self.module, name, [PTR, PTR, *words])
        code.function.linkage = "internal"
        try:
            (_lower_forward if is_forward else _lower_sweep)(code, source, own)
            if source.calls_itself and length_of(code.function) > _LONGEST:
                raise UnsupportedError("a long function that calls itself")
        except BaseException:
            self.module.drop(name)
            raise


class _Source:
    """The source of a function with a program of its own.

    Attributes
    ----------
    name : str
        The name of the function, in ASCII.
    names : SymbolTable
        What each name holds.
    forward, sweep : ast.FunctionDef
        Both functions.
    forward_body, sweep_body : list
        Their statements, without those that handle what a function of Python's is given.
    saved : list of str
        The names that the forward function hands to the sweep.
    """

    def __init__(self, callee: RecursiveCallee, writer: ProgramWriter) -> None:
        self.callee, self.writer, self.program = callee, writer, writer.program
        self.name = "".join(c if c.isascii() and c.isalnum() else "_" for c in callee.__name__)
        self.calls_itself = any(op.f is callee for op in ops_of(self.program.body))

    def check(self) -> None:
        """Raise if the function has no machine code, as far as this is known beforehand."""
        program = self.program
        if program.catches or program.has_errstates or program.has_messages:
            raise UnsupportedError("exceptions, error states or messages in a function")
        kinds = [*self.kinds, self.callee.kind]
        if not all(kind is not None and kind.is_scalar for kind in kinds):
            raise UnsupportedError("a function of arrays")

    @property
    def kinds(self) -> list[Any]:
        """The kinds of the arguments."""
        return [slot.kind for slot in self.program.parameters]

    @functools.cached_property
    def names(self) -> SymbolTable:
        """The symbol table."""
        writer = self.writer
        names = SymbolTable(self.program, writer.old_name, writer.layouts, writer.layouts_of_values)
        for name in writer.counters:
            names.counter(name)
        names.seed(0, self.callee.kind)
        return names

    @functools.cached_property
    def forward(self) -> Any:
        """The forward function."""
        lines = [*self.writer.forward_head, *self.writer.forward_lines]
        return tree_of("\n".join(lines)).body[0]

    @functools.cached_property
    def sweep(self) -> Any:
        """The sweep."""
        lines = [*self.writer.backward_head, *self.writer.backward_lines]
        return tree_of("\n".join(lines)).body[0]

    @property
    def forward_body(self) -> list[Any]:
        """The statements of the forward function but those that make a tape."""
        return self.forward.body[2:]

    @functools.cached_property
    def sweep_body(self) -> list[Any]:
        """The statements of the sweep but those that read what it is given."""
        return [node for node in self.sweep.body if not _reads_given(node)]

    @property
    def kinds_of_cotangents(self) -> list[Kind | None]:
        """The kinds of the cotangents of the arguments; None for those that have none."""
        pairs = zip(self.sweep_body[-1].value.elts, self.program.parameters, strict=True)
        return [
            None if isinstance(x, ast.Constant) else self.names.kinds[f"{slot.name}_b"]
            for x, slot in pairs
        ]

    @functools.cached_property
    def saved(self) -> list[str]:
        """The names that the forward function hands to the sweep, and that this reads."""
        read = {name for node in self.sweep_body for name in loaded(node)}
        _, frame, _ = self.forward_body[-1].value.elts
        return [x.id for x in frame.elts if x.id in read]

    def lowering(self, code: FunctionBuilder, is_forward: bool) -> Statements:
        """Return what lowers the statements of one direction."""
        writer, first = self.writer, len(self.writer.forward_head) + 1
        pushes = {first + line: names for line, names in writer.push_names.items()}
        function, body = self.sweep, self.sweep_body[:-1]
        if is_forward:
            function, body = self.forward, self.forward_body[:-2]
        scope = SCOPE | writer.constants.scope
        return Statements(
            code, code.function.args[0], {x: scope[x] for x in loaded(function) if x in scope},
            writer.adjoints, is_forward, self.names, pushes if is_forward else {}, body, set(),
            Liveness(function).after.__getitem__, set(), left={},
        )  # fmt: skip


def _reads_given(node: ast.stmt) -> bool:
    """Whether a statement takes what the sweep is given apart, or replaces what is None."""
    is_test = isinstance(node, ast.If) and isinstance(node.test, ast.Compare)
    replaces = is_test and isinstance(node.test.ops[0], ast.Is)  # type: ignore[attr-defined]
    return replaces or not _GIVEN.isdisjoint(loaded(node))


def _lower_forward(code: FunctionBuilder, source: _Source, own: Signature) -> None:
    state, out, *given = code.function.args
    lowering, words = source.lowering(code, True), iter(given)
    for slot, kind in zip(source.program.parameters, own.kinds, strict=True):
        _bind(lowering, slot.name, number_from(code, kind, words))
    depth = code.word(state, memory.DEPTH) if source.calls_itself else None
    if depth is not None:
        code.exit_if(code.less(code.whole(_DEEPEST), depth))
        code.set_word(state, memory.DEPTH, code.b.add(depth, code.whole(1)))
    *body, outs, _ = source.forward_body
    _lower_statements(lowering, body)
    kind = source.callee.kind
    made = lowering.checked("the result", kind, lowering.number(outs.value.elts[0]))
    for k, word in enumerate(lowering.to_words(made, kind)):
        code.set_word(out, k, word)
    found = [w for x in source.saved for w in lowering.words_pushed(x, lowering.read(x))]
    if found:
        memory.pushed(code, state, found)
    if depth is not None:
        code.set_word(state, memory.DEPTH, depth)
    code.finish()


def _lower_sweep(code: FunctionBuilder, source: _Source, own: Signature) -> None:
    state, out, *given = code.function.args
    lowering, kinds = source.lowering(code, False), source.names.kinds
    sizes = sum([width_of(kinds[x]) for x in source.saved])
    words = iter(memory.popped(code, state, [I64] * sizes) if sizes else ())
    for x in source.saved:
        _bind(lowering, x, lowering.popped_value(x, kinds[x], words))
    lowering.bound["seed0"] = number_from(code, own.kinds[0], iter(given))
    *body, end = source.sweep_body
    _lower_statements(lowering, body)
    found: list[Any] = []
    for x, kind in zip(end.value.elts, own.results, strict=True):
        found += [] if kind is None else lowering.to_words(lowering.number(x), kind)
    for k, word in enumerate(found):
        code.set_word(out, k, word)
    code.finish()


def _lower_statements(lowering: Statements, body: list[ast.stmt]) -> None:
    lowering.statements(body)
    if lowering.has_left_more:  # Python keeps one result of an operation for all its calls
        raise UnsupportedError(next(iter(lowering.left.values())))


def _bind(lowering: Statements, name: str, value: Any) -> None:
    if not isinstance(value, Number):
        raise UnsupportedError("an array that a function keeps for its sweep")
    if name in lowering.names.variables:
        lowering.set_variable(name, value)
    else:
        lowering.bound[name] = value
