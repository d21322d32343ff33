"""Reading derivatives inside functions: ``gradient(loss, w, x)`` in a loop.

The function that is differentiated becomes one that captures nothing (`_Closure`): the numbers and
arrays that it captures are further arguments. It is read once, to know all that it does. The call
of `gradient` is then one operation, an `InnerGradient`.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import operator
import symtable
import types
import weakref
from collections.abc import Iterator
from typing import Any

from autodiff.structured.callables.inner_gradients import InnerGradient
from autodiff.structured.callables.recursive_calls import RuleLike
from autodiff.structured.form.function_ir import (
    FunctionIR,
    Op,
    Value,
    blocks_of,
    changes_list,
    known,
    ops_of,
)
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.form.known_functions import has_own_frule, is_builtin_rule
from autodiff.structured.reading.parameters import positional_parameters
from autodiff.structured.reading.recursion import RecursionReader, body_of
from autodiff.structured.reading.scopes import LocalFunction
from autodiff.structured.writing.rules.bound_rules import resolve_rules
from chainrules_core import frule, rrule
from chainrules_core.define.scalar import ScalarRule

_serials = itertools.count(1)


class DerivativeReader(RecursionReader):
    """Layer of the reader: calls of `autodiff.gradient`."""

    def read_gradient(self, args: list, options: dict[str, Any]) -> Any:
        """Read ``gradient(f, *args)``, perhaps with `argnums`."""
        if not args or options.keys() - {"argnums"}:
            raise UnsupportedError("a gradient with these options")
        f, *rest = args
        given = [self.pack(x) for x in rest]
        argnums = known(options["argnums"]) if "argnums" in options else None
        if argnums is None:
            argnums = 0 if len(given) == 1 else tuple(range(len(given)))
        is_single = type(argnums) is int
        numbers = (argnums,) if is_single else argnums
        if type(numbers) is not tuple or not numbers:
            raise UnsupportedError("a gradient with such argnums")
        for i in numbers:
            if type(i) is not int or not 0 <= i < len(given) or not given[i].kind.has_floats:
                raise UnsupportedError("a gradient with such argnums")
        g, values, place = self._closed(f, given)
        self._check_differentiated(g, values)
        places = tuple([place[i] for i in numbers])
        n_floats = sum(x.kind.has_floats for x in values)
        kinds = tuple([given[i].kind.general() for i in numbers])
        kind = kinds[0] if is_single else Kind(frozenset([tuple]), parts=kinds)
        rule = InnerGradient(g, places, is_single, n_floats)
        made = self.emit(Op("call", values, f=rule), kind)
        return made if is_single else tuple(self.unpack(made))

    def _closed(
        self, f: Any, given: list[Value]
    ) -> tuple[types.FunctionType, list[Value], list[int]]:
        """Return a function that captures no arrays, its arguments, and the place of each `given`.

        Its further arguments are what `f` captures. Numbers and arrays of floats come first.
        """
        closure = _Closure(self)
        function, node = closure.enter(f)
        own = positional_parameters(node)
        if len(own) != len(given) or node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            raise UnsupportedError("a gradient of a function with other parameters")
        names, values = [*own, *closure.values], [*given, *closure.values.values()]
        order = sorted(range(len(names)), key=lambda i: not values[i].kind.has_floats)
        is_as_written = type(f) is Value and len(names) == len(own) and order == sorted(order)
        if not is_as_written or closure.functions:
            body = [*closure.functions.values(), *body_of(node)]
            name = closure.unused(getattr(node, "name", "inner"))
            function = closure.made(_function(name, [names[i] for i in order], body))
        return function, [values[i] for i in order], [order.index(i) for i in range(len(given))]

    def _check_differentiated(self, g: types.FunctionType, values: list[Value]) -> None:
        """Read a function that is differentiated; raise if it does more than return a number."""
        if any(x.kind.is_complex or not _is_leaf(x) for x in values):
            raise UnsupportedError("a gradient of a function of such arguments")
        kinds = [x.kind.general() for x in values if not x.kind.is_known]
        form = [("known", type(known(x)), known(x)) if x.kind.is_known else None for x in values]
        read = operator.methodcaller("recursion", g, self.definition_of(g), (None, *form), kinds)
        lowered = self.lower_separately(read)
        program = lowered.program
        y = program.returned
        is_number = type(y) is Value and y.kind.is_scalar and y.kind.has_floats
        if not is_number or y.kind.is_complex or y.kind.is_known:
            raise UnsupportedError("a gradient of a function that returns no real number")
        outside = (program.captured, program.bound, lowered.outside_objects, lowered.outside_lists)
        if any(outside) or program.itself is not None or any(map(_is_changed, program.parameters)):
            raise UnsupportedError(
                "a gradient of a function that reads or changes something outside"
            )
        _check_rules(program)
        self.guards += lowered.guards
        self.decomposed |= lowered.decomposed
        self.decomposed |= {op.f for op in ops_of(program.body) if op.code == "call"}


def _check_rules(program: FunctionIR) -> None:
    """Raise unless all rules are the library's: others may be no derivatives, by intention.

    Then second derivatives may depend on their order, and the two modes may differ.
    """
    resolve_rules(blocks_of(program.body))
    for op in ops_of(program.body):
        if op.code != "call" or op.rule is None or isinstance(op.f, RuleLike):
            continue
        rule = getattr(op.rule, "rule", op.rule)
        partials = rule.partials[0] if isinstance(rule, ScalarRule) else ()
        is_constant = bool(partials) and all(p.function is None for p in partials)
        kind = getattr(rule, "kind", None)
        is_safe = is_constant or kind == "non_differentiable" or is_builtin_rule(rule)
        if not is_safe or has_own_frule(op.f):
            raise UnsupportedError("a gradient of a function with rules of the user's")


def _is_leaf(x: Value) -> bool:
    return x.kind.is_known or x.kind.is_scalar or x.kind.is_array


def _is_changed(slot: Any) -> bool:
    return slot.memory is not None and (slot.memory.root().is_written or changes_list(slot.memory))


class _Closure:
    """What a function, and the inner functions that it calls, capture.

    Attributes
    ----------
    values : dict of str to Value
        The numbers and arrays.
    functions : dict of str to FunctionDef
        The inner functions.
    constants : dict of str to object
        Functions, modules and known values that are no global variables.
    """

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.values: dict[str, Value] = {}
        self.functions: dict[str, ast.stmt] = {}
        self.constants: dict[str, Any] = {}
        self._globals: dict[str, Any] | None = None
        self._meanings: dict[str, Any] = {}  # names, and what they stand for in all functions

    def enter(self, f: Any) -> tuple[types.FunctionType, ast.FunctionDef | ast.Lambda]:
        """Add what a function captures; return it, or the outer function, and its definition."""
        reader = self.reader
        if type(f) is LocalFunction:
            node, scope, defaults = reader.callee_inside(f)
        elif type(f) is Value and type(known(f)) is types.FunctionType:
            if rrule.entry(known(f)) is not None or frule.entry(known(f)) is not None:
                raise UnsupportedError("a gradient of a function with a rule")
            node, scope, defaults = reader.callee_outside(known(f))
        else:
            raise UnsupportedError("a gradient of what is no function")
        function = scope.function
        free, bound = _names_in(node)
        if self._globals is None:  # the function itself: the others are defined inside it
            self._globals = function.__globals__
            for name in bound:
                self._note(name, node)
        if defaults or function.__globals__ is not self._globals:
            raise UnsupportedError("a gradient of a function with defaults, or of several modules")
        outer, reader.scope = reader.scope, scope
        try:
            found = {name: reader.read(name) for name in free}
        finally:
            reader.scope = outer
        for name, x in found.items():
            self._add(name, x)
        return function, node

    def _note(self, name: str, meaning: Any) -> None:
        if self._meanings.setdefault(name, meaning) is not meaning:
            raise UnsupportedError("a gradient of functions with two variables of one name")

    def _add(self, name: str, x: Any) -> None:
        """Add a captured variable."""
        is_known = type(x) is Value and x.kind.is_known
        meaning = known(x) if is_known else x
        self._note(name, meaning)
        if type(x) is LocalFunction:
            if name not in self.functions:
                self._define(name, x)
        elif type(x) is not Value:
            raise UnsupportedError("a gradient of a function that captures such a value")
        elif not is_known:
            self.values[name] = x
        elif type(meaning) is types.FunctionType and self._captures(name, x):
            return
        elif self._globals.get(name, getattr(builtins, name, self)) is not meaning:  # type: ignore[union-attr] # set by `enter`
            self.constants[name] = meaning

    def _define(self, name: str, f: Any) -> None:
        """Add a function that is called, as an inner one."""
        self.functions[name] = ast.Pass()  # it may call itself
        _, node = self.enter(f)
        self.functions[name] = _function(name, positional_parameters(node), body_of(node))

    def _captures(self, name: str, f: Value) -> bool:
        """Add a global function, if it reads arrays from outside; return whether it does."""
        if name in self.functions:
            return True
        before = len(self.values)
        try:
            self._define(name, f)
        except UnsupportedError:  # of a library, or reading it will tell
            self.values = dict(itertools.islice(self.values.items(), before))
        if len(self.values) > before:
            return True
        del self.functions[name]
        return False

    def unused(self, name: str) -> str:
        """Return a name that stands for nothing else, so that it hides nothing."""
        while name in self._meanings:
            name += "_"
        return name

    def made(self, definition: ast.FunctionDef) -> types.FunctionType:
        """Return the function with this definition, which finds the constants in its closure."""
        end = ast.Return(ast.Name(definition.name, ast.Load()))
        outer = _function(f"{definition.name}_", list(self.constants), [definition, end])
        text = _source(outer)
        file = f"<{definition.name} of a gradient {next(_serials)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        namespace: dict[str, Any] = {}
        exec(compile(text, file, "exec"), self._globals, namespace)
        made = namespace[outer.name](*self.constants.values())
        weakref.finalize(made, linecache.cache.pop, file, None)
        return made


def _names_in(node: ast.FunctionDef | ast.Lambda) -> tuple[list[str], list[str]]:
    """Return the names that a function reads from outside, and those that it binds."""
    text = _source(_function("_", positional_parameters(node), body_of(node)))
    (table,) = symtable.symtable(text, "_", "exec").get_children()
    symbols = [symbol for inner in _tables(table) for symbol in inner.get_symbols()]
    if any(symbol.is_declared_global() for symbol in symbols):
        raise UnsupportedError("a gradient of a function with global statements")
    free = dict.fromkeys([symbol.get_name() for symbol in symbols if symbol.is_global()])
    bound = dict.fromkeys([symbol.get_name() for symbol in symbols if symbol.is_local()])
    return list(free), list(bound)


def _tables(table: Any) -> Iterator[Any]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _source(definition: ast.FunctionDef) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module([definition], []))) + "\n"


def _function(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """Return the definition of a function."""
    args = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    return ast.FunctionDef(name=name, args=args, body=body, decorator_list=[])
