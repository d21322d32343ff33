"""Loops that have programs of their own, in functions that are not read as a whole.

If the source of a function cannot be read, its rewritten code becomes::

    try:
        values = loops[0](x, a, n)  # what the loop reads
    except NameError:
        values = None
    if values is not None:
        x, i = values               # what the loop binds and later statements read
        values = None
    else:
        for i in range(n): ...      # as it is written
        loops[0].ended()

A call of ``loops[0]`` runs the loop by a program, and returns None if there is none. The program is
that of a function with the loop as its body, to which everything applies that applies to other
functions. Loops inside of loops are written in the same way.
"""

from __future__ import annotations

import ast
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from autodiff import caches
from autodiff.intercept.runtime.replacements import traced_body
from autodiff.intercept.source import find_source, rewriter
from autodiff.intercept.source.ast_helpers import copied, helper, located, named
from autodiff.intercept.source.library_code import is_library
from autodiff.intercept.source.name_bindings import dotted
from autodiff.intercept.source.rewritten_code import (
    compiled,
    definition_of,
    given_to,
    helpers,
    note_rewritten,
    original_of,
)
from autodiff.intercept.source.variable_flow import (
    FUNCTIONS,
    bound_before,
    names_bound,
    names_captured,
    names_read,
    read_first,
)
from autodiff.structured.argument_forms import Flattener
from autodiff.structured.reading.jumps import jumps, with_breaks
from autodiff.structured.settings import Settings
from autodiff.trace.trace_stack import program_tape

LOOPS = (ast.For, ast.While)
_LOOPS, _VALUES, _LEFT = helper("loops"), helper("values"), helper("left")
_MOST_REFUSED = 8  # calls without a program, after which a loop has none
_IN_PLACE = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.ClassDef, ast.Global,
    ast.Nonlocal, ast.Delete,
)  # fmt: skip
_OF_FRAME = frozenset({"super", "__class__", "locals", "vars", "dir", "eval", "exec"})
_TAKING_ALL = frozenset({
    "sum", "any", "all", "min", "max", "list", "tuple", "set", "dict", "sorted", "math.fsum",
    "math.prod",
})  # fmt: skip
"""Functions that take all items of a generator expression before they return."""
_MAKERS = frozenset({"list", "dict", "set", "deque", "defaultdict"})

# By the id of the code of a function: its code with separate loops, and these loops; or None.
_in_parts: dict[int, tuple] = caches.register("functions with separate loops", {})


@dataclass(eq=False)
class Separation:
    """How a loop stands in a function: the statement, and the variables around it.

    Attributes
    ----------
    number : int
        Its number among the separate loops of the function.
    before : int
        How many statements before it belong to it: those that make lists and dicts.
    inputs, outputs : tuple of str
        The variables that it may read, and those that it binds and later statements may read.
    returned : Return, optional
        The statement in it that leaves the function.
    definition : FunctionDef
        A function that runs the loop and returns the outputs.
    """

    number: int
    before: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    returned: ast.Return | None
    definition: ast.FunctionDef

    def around(self, in_place: list[ast.stmt], returned: ast.stmt | None) -> list[ast.stmt]:
        """Return the statements that run the loop by its program, or else `in_place`."""
        loop = ast.Subscript(named(_LOOPS), ast.Constant(self.number), ast.Load())
        call = ast.Call(loop, [named(name) for name in self.inputs], [])
        values = ast.Name(_VALUES, ast.Store())
        run = ast.Try(
            [ast.Assign([values], call)],
            [ast.ExceptHandler(ast.Name("NameError", ast.Load()), None,
                               [ast.Assign([values], ast.Constant(None))])],
            [], [],
        )  # fmt: skip
        outputs = [*self.outputs, *([_LEFT] if returned else [])]
        targets = ast.Tuple([ast.Name(name, ast.Store()) for name in outputs], ast.Store())
        bind: list[ast.stmt] = [ast.Assign([targets], named(_VALUES))] if outputs else []
        bind.append(ast.Assign([values], ast.Constant(None)))  # no second name for an array
        if returned is not None:
            bind.append(ast.If(named(_LEFT), [returned], []))
        ended = ast.Expr(ast.Call(ast.Attribute(loop, "ended", ast.Load()), [], []))
        found = ast.Compare(named(_VALUES), [ast.IsNot()], [ast.Constant(None)])
        choose = ast.If(found, bind, [*in_place, ended])
        return [located(run, in_place[-1]), located(choose, in_place[-1])]


class SeparateLoop:
    """A loop of a function, to be run by a program.

    Parameters
    ----------
    function : FunctionType
        A function that runs the loop.
    programs : Programs
        Its programs.
    """

    def __init__(self, function: types.FunctionType, programs: Any) -> None:
        self.function = function
        self.programs = programs
        self.body: Callable | None = None
        self.refused = 0
        self.start = 0.0

    def __call__(self, *args: Any) -> tuple | None:
        """Run the loop by a program, and return what it binds; None if it is to run as written."""
        programs = self.programs
        if not Settings.enabled or self.refused > _MOST_REFUSED:
            return None
        recording = program_tape()
        if recording is None and not (programs.known or programs.may_be_worth_it()):
            self.start = time.perf_counter()
            return None
        if self.body is None:
            self.body = traced_body(self.function)
        values = self._run(recording, args)
        if values is None:
            self.refused += programs.has_none
            self.start = time.perf_counter()
        return values

    def _run(self, recording: Any, args: tuple) -> tuple | None:
        programs, g, body = self.programs, self.function, self.body
        taken = Flattener(programs.takes_objects_apart, programs.takes_lists_whole)
        form = taken.forms_of(args)
        leaves = tuple(taken.leaves)
        tape = programs.tape_of(leaves)
        if tape is not None:
            return programs.call(g, body, args, leaves, form, tape, taken.objects, _as_written)
        if recording is not None:
            return recording.with_separate_loop(programs, g, body, leaves, form)
        return programs.call_at_levels(g, body, args, leaves, form, _as_written)

    def ended(self) -> None:
        """Note that the loop has run as it is written."""
        programs = self.programs
        recording = program_tape()
        if recording is not None and programs in recording.loops:
            recording.loops[programs].end(recording.steps)
        elif not programs.known:
            programs.note_time(time.perf_counter() - self.start)


def _as_written(*args: Any) -> None:
    """Do nothing: the function runs the loop itself."""


def in_parts(
    g: types.FunctionType, programs_of: Callable
) -> tuple[Callable, tuple[SeparateLoop, ...]] | None:  # fmt: skip
    """Return a function whose loops have programs of their own, and the loops; None without any.

    Parameters
    ----------
    g : FunctionType
        The function.
    programs_of : callable
        Returns the programs of a function.
    """
    code = original_of(g.__code__)
    known = _in_parts.get(id(code))
    if known is None:
        try:
            made = _divided(g, code, programs_of)
        except (SyntaxError, ValueError, RecursionError):  # what is rewritten does not compile
            made = None
        caches.keep_with(_in_parts, code, *(made or (None, ())))
        known = _in_parts[id(code)]
    _, new, loops = known
    if new is None or loops[0].function.__globals__ is not g.__globals__:
        return None
    return find_source.rebuilt(g, new, {**helpers, _LOOPS: loops}), loops


def _end(key: int, name: str) -> None:
    """Drop the loops of a module: they hold its globals."""
    for code, (_, _, loops) in list(_in_parts.items()):
        if loops and id(loops[0].function.__globals__) == key:
            _in_parts.pop(code, None)


caches.on_module_end(_end)


def _divided(
    g: types.FunctionType, code: types.CodeType, programs_of: Callable
) -> tuple[types.CodeType, tuple] | None:  # fmt: skip
    """Return the code of a function with separate loops, and these loops."""
    found = definition_of(g)
    if found is None or not isinstance(found.node, ast.FunctionDef):
        return None
    separations: list[Separation] = []

    def separate(node: Any) -> dict[ast.stmt, list[Separation]]:
        by_loop: dict[ast.stmt, list[Separation]] = {}
        for loop, separation in separations_in(node, code):
            separations.append(separation)
            by_loop.setdefault(loop, []).append(separation)
        return by_loop

    given = given_to(code)
    node = rewriter.rewritten(found.node, code, g.__globals__, is_library(g), given, separate)
    if not separations:
        return None
    new = compiled(found, code, node, (*helpers, _LOOPS))
    if new is None:
        return None
    note_rewritten(new, code)
    loops = []
    for separation in separations:
        own_code = compiled(found, code, separation.definition)
        if own_code is None or own_code.co_freevars:
            return None
        find_source.give(own_code, found, separation.definition)
        function = types.FunctionType(own_code, g.__globals__, g.__name__)
        function.__module__ = g.__module__
        loops.append(SeparateLoop(function, programs_of(function)))
    return new, tuple(loops)


def separations_in(
    node: ast.FunctionDef, code: types.CodeType
) -> Iterator[tuple[ast.stmt, Separation]]:  # fmt: skip
    """Yield how the loops of a function can be separated from it.

    A loop may come twice: alone, and with statements before it.
    """
    parts = list(ast.walk(node))
    if any(isinstance(part, ast.Name) and part.id in _OF_FRAME - {"super"} for part in parts):
        return
    yield from _Separating(node, code).of_block(node.body, set(), set())


class _Separating:
    """Separates the loops of one function."""

    def __init__(self, node: ast.FunctionDef, code: types.CodeType) -> None:
        self.node = node
        self.locals = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.is_not_own = set(code.co_freevars)  # and names of `global` and `nonlocal`
        for part in ast.walk(node):
            if isinstance(part, (ast.Global, ast.Nonlocal)):
                self.is_not_own.update(part.names)
        self.bound_before = bound_before(node)
        self.functions = _kept_functions(node, self.locals)
        self.number = 0

    def of_block(
        self, block: list[ast.stmt], read: set[str], bound: set[str]
    ) -> Iterator[tuple[ast.stmt, Separation]]:
        """Yield the loops of a block and in it.

        `read` and `bound` are the names that statements after the block may read and bind.
        """
        for i, node in enumerate(block):
            inner = list(_blocks_in(node))
            if not inner:
                continue
            rest = block[i + 1 :]
            read_later = read | read_first(rest)
            bound_later = bound | names_bound(rest)
            if isinstance(node, LOOPS):
                for n in dict.fromkeys((0, _statements_before(block, i))):
                    made = self._separated(block[i - n : i + 1], read_later, bound_later)
                    if made is not None:
                        yield node, made
            # Statements in it may be followed by any others in it: it may be a loop.
            read_inside = read_later | read_first([node])
            if isinstance(node, (ast.Try, ast.TryStar)):
                later: list = [node.orelse, node.finalbody, *[h.body for h in node.handlers]]
                later += [[h.type] for h in node.handlers if h.type is not None]
                read_inside = read_inside.union(*[read_first(part) for part in later])
            bound_inside = bound_later | names_bound([node])
            for body in inner:
                yield from self.of_block(body, read_inside, bound_inside)

    def _separated(
        self, nodes: list[ast.stmt], read_later: set[str], bound_later: set[str]
    ) -> Separation | None:
        parts = [part for node in nodes for part in ast.walk(node)]
        if any(isinstance(part, _IN_PLACE) for part in parts) or not _OF_FRAME.isdisjoint(
            part.id for part in parts if isinstance(part, ast.Name)
        ):
            return None
        if any(jumps(node, (ast.Break, ast.Continue)) for node in nodes[-1].orelse):  # type: ignore[attr-defined] # a loop
            return None  # of an enclosing loop
        own = names_bound(nodes)
        if not own <= self.locals:  # private names of a class are others in its code
            return None
        inside = {part for part in self.functions if part in parts}
        outside = [part for part in self.functions if part not in inside]
        # Functions keep the variables themselves, which would be others in the loop's function.
        if own & (self.is_not_own | set().union(*map(names_captured, outside))):
            return None
        if bound_later & set().union(*map(names_captured, inside)):
            return None
        loop: Any = copied(nodes[-1])
        returns = _returns_in(loop)
        body = [copied(node) for node in nodes[:-1]]
        if returns:
            if any(getattr(part, "orelse", None) for part in parts if isinstance(part, LOOPS)):
                return None
            body.append(ast.Assign([ast.Name(_LEFT, ast.Store())], ast.Constant(False)))
            loop = with_breaks(loop, _LEFT)
            if len(returns) > 1 or jumps(loop, (ast.Return,)):
                return None
            if any(isinstance(part, FUNCTIONS) for part in ast.walk(returns[0])):
                return None
            read_later = read_later | names_read(returns[0])
        outputs = tuple(sorted(own & read_later & self.locals))
        held = [*outputs, *([_LEFT] if returns else [])]
        result = ast.Tuple([named(name) for name in held], ast.Load())
        # The loop may leave a variable as it was.
        kept = read_first([*nodes, ast.Expr(result)]) & self.bound_before.get(nodes[0], set())
        inputs = tuple(sorted((read_first(nodes) | kept) & self.locals))
        arguments = ast.arguments([], [ast.arg(n) for n in inputs], None, [], [], None, [])
        body += [loop, located(ast.Return(result), loop)]
        definition = located(ast.FunctionDef(self.node.name, arguments, body, []), nodes[0])
        ast.fix_missing_locations(definition)
        self.number += 1
        return Separation(
            self.number - 1, len(nodes) - 1, inputs, outputs, returns[0] if returns else None,
            definition,
        )  # fmt: skip


def _kept_functions(node: ast.AST, own: set[str]) -> list[ast.AST]:
    """Return the functions in `node`, which may be called after its variables have changed.

    So may generator expressions, unless a function takes all their items at once. `own` are the
    variables of `node`: they may hold other functions.
    """
    parts = list(ast.walk(node))
    taken = {
        call.args[0]
        for call in parts
        if isinstance(call, ast.Call) and call.args and dotted(call.func) in _TAKING_ALL - own
    }
    functions = [part for part in parts if isinstance(part, FUNCTIONS) and part is not node]
    expressions = [part for part in parts if isinstance(part, ast.GeneratorExp)]
    return [*functions, *[part for part in expressions if part not in taken]]


def _blocks_in(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement of the function itself."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _statements_before(block: list[ast.stmt], i: int) -> int:
    """Return how many assignments before a loop begin with one that makes a list or dict."""
    found = 0
    for n in range(1, i + 1):
        node = block[i - n]
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            break
        parts = [] if node.value is None else list(ast.walk(node.value))
        if any(isinstance(p, (ast.List, ast.Dict)) or _is_maker(p) for p in parts):
            found = n
    return found


def _is_maker(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in _MAKERS


def _returns_in(node: ast.AST) -> list[ast.Return]:
    found: list[ast.Return] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Return):
            found.append(part)
        elif isinstance(part, ast.stmt) and not isinstance(part, FUNCTIONS):
            waiting += ast.iter_child_nodes(part)
        elif isinstance(part, (ast.ExceptHandler, ast.match_case)):
            waiting += part.body
    return found
