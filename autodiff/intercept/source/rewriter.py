"""Rewrite a definition so that each call in it is intercepted.

``g(x)`` becomes ``intercept(g)(x)``, with a slot of
:mod:`autodiff.intercept.runtime.call_site_cache` in front of it where `g` is a name from outside.
An attribute that may be a property is read through ``read(obj, "name")``, and syntax for which a
class may define a method is a call of a function of :mod:`autodiff.intercept.syntax.syntax_ops`:
``a + b`` becomes ``add(a, b)``. Nothing else changes: names, closures, line and column numbers are
those of the source, so tracebacks and debuggers show the user's lines.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from autodiff.intercept.runtime import call_site_cache
from autodiff.intercept.source.ast_helpers import (
    assigned,
    called,
    copied,
    entry,
    helper,
    index_of,
    is_public,
    located,
    named,
)
from autodiff.intercept.source.comparison_rewriter import ComparisonRewriter, without_numbers
from autodiff.intercept.source.integer_inference import IntegerNames
from autodiff.intercept.source.name_bindings import dotted, names_in, own_names
from autodiff.python_operators import BINARY, UNARY

# Functions that look at their caller's frame: a call in between would show them another one.
_FRAME_DEPENDENT = frozenset(
    {"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint", "__import__"}
)


class _Rewriter(ComparisonRewriter, ast.NodeTransformer):
    """Rewrites the body of one definition.

    Parameters
    ----------
    modules : set of str
        Global names that are bound to modules: their attributes are not properties.
    integers : Integers
        The names that hold integers, whose operators are left alone.
    own : set of str
        The local variables of the function that is looked at: these can be bound anew.
    is_library : bool
        Whether the function is a library's, whose handlers are left as they are.
    outside : dict
        The globals of the function.
    local : set of str
        The names that are not looked up in them.
    given : frozenset of str
        Those of the globals to which recordings give values of their own.
    """

    def __init__(
        self,
        modules: set[str],
        integers: IntegerNames,
        own: set[str],
        is_library: bool,
        outside: dict[str, Any],
        local: set[str],
        given: frozenset[str],
    ) -> None:
        self.modules = modules
        self.local = local
        self.given = given
        self.is_library = is_library
        self.outside = outside
        self.separate_loops: dict[ast.stmt, list] = {}
        self.slots: dict[str, int | None] = {}
        self.integers = integers
        self.own = own

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _FRAME_DEPENDENT:
            rewritten: ast.expr = function
        elif self._slot(function) is not None:
            rewritten = self._known(function)
        elif isinstance(function, ast.Attribute) and function.attr in call_site_cache.METHODS:
            of = called(f"of_{function.attr}", [self.visit(function.value)])
            rewritten = located(of, function)
        else:
            rewritten = self._seen(self.visit(function))
        new = ast.Call(
            rewritten,
            [self.visit(a) for a in node.args],
            [self._keyword(k) for k in node.keywords],
        )
        is_code = isinstance(rewritten, ast.Name) and rewritten.id in ("eval", "exec")
        if is_code and new.args:
            new.args[0] = located(called("source_text", new.args[:1]), new.args[0])
        return ast.copy_location(new, node)

    def _keyword(self, node: ast.keyword) -> ast.keyword:
        value = self.visit(node.value)
        node.value = value if node.arg is not None else located(called("mapping", [value]), value)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """``{**m}`` asks a class for its keys and items."""
        pairs = list(zip(node.keys, node.values, strict=True))
        node.keys, node.values = [], []
        for key, value in pairs:
            seen = self.visit(value)
            node.keys.append(key and self.visit(key))
            node.values.append(seen if key else located(called("mapping", [seen]), seen))
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.given:
            return node
        return located(called("variable", [node, ast.Constant(node.id)]), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        new = self._attribute(node)
        if node.attr.startswith("__"):
            return new  # private or special: its mangled name is the compiler's business
        owner = new.value
        if not isinstance(node.ctx, ast.Load):
            # One of several targets, or that of a loop: what is put there goes through `write`.
            place = called("attribute_place", [owner])
            return located(ast.Attribute(place, node.attr, node.ctx), node)
        if self._is_module(node.value):
            return new
        read: ast.expr = called("read", [owner, ast.Constant(node.attr)])
        if isinstance(node.value, ast.Name):  # it may be evaluated twice
            slot = ast.Constant(call_site_cache.slot_of_attribute(node.attr))
            kind = called("type", [copied(owner)])
            is_quiet = ast.Compare(kind, [ast.In()], [entry("quiet", slot)])
            read = ast.IfExp(is_quiet, new, read)
        return located(read, node)

    def _attribute(self, node: ast.Attribute) -> Any:
        """Return an attribute; a tracer has only the special ones of its value."""
        owner = self.visit(node.value)
        is_special = node.attr.startswith("__") and node.attr.endswith("__")
        if is_special and isinstance(node.ctx, ast.Load) and not _is_super(node.value):
            return located(called("special", [owner, ast.Constant(node.attr)]), node)
        return ast.copy_location(ast.Attribute(owner, node.attr, node.ctx), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Annotations are left alone: they may be kept as text.
        arguments = node.args
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [d and self.visit(d) for d in arguments.kw_defaults]
        node.decorator_list = [self._seen(self.visit(d)) for d in node.decorator_list]
        outer, self.own = self.own, own_names(node)
        node.body = self.statements(node.body)
        self.own = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self.own = self.own, set()
        made = self.generic_visit(node)
        self.own = outer
        return made

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.visit_FunctionDef(node)  # type: ignore[arg-type] # the same fields

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """``x[i] = v`` becomes ``store(v, x, i)``, evaluated in the same order."""
        target = node.targets[0]
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(target, ast.Subscript):
            owner = target.value
            is_own = isinstance(owner, ast.Name) and owner.id in self.own
            held = None if is_own else self._held(owner)
            own = "store_local_in_library" if self.is_library else "store_local"
            name = own if is_own else "store"
            if held is None:
                parts = [value, self.visit(copied(owner)), index_of(self.visit(target.slice))]
            else:
                in_item = isinstance(owner, ast.Subscript)
                name = "store_in_item" if in_item else "store_in_attribute"
                parts = [value, *held, index_of(self.visit(target.slice))]
            call = located(called(name, parts), target)
            return ast.copy_location(assigned(owner, call) if is_own else ast.Expr(call), node)
        if len(node.targets) == 1 and isinstance(target, ast.Attribute) and is_public(target):
            parts = [value, self.visit(target.value), ast.Constant(target.attr)]
            return ast.copy_location(ast.Expr(located(called("write", parts), target)), node)
        if any(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets):
            value = self._through(value)
        node.value = value
        node.targets = [self.visit(t) for t in node.targets]
        return node

    def _held(self, owner: ast.expr) -> list[ast.expr] | None:
        """Return the owner and key of an attribute or item; None for other expressions."""
        if isinstance(owner, ast.Subscript):
            return [self.visit(owner.value), index_of(self.visit(owner.slice))]
        if isinstance(owner, ast.Attribute) and is_public(owner):
            return [self.visit(owner.value), ast.Constant(owner.attr)]
        return None

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """``x += v`` becomes ``x = iadd(x, v)``; what is read and what is written stay one."""
        target = node.target
        augment = f"i{BINARY[type(node.op)].name}"
        value = self.visit(node.value)
        if isinstance(target, ast.Name):
            before = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            if target.id in self.own:
                augment += "_local"
            changed = located(called(augment, [before, value]), node)
            return ast.copy_location(ast.Assign([target], changed), node)
        if isinstance(target, ast.Subscript):
            owner = target.value
            held = self._held(owner)
            parts = held or [self.visit(copied(owner))]
            parts.append(index_of(self.visit(target.slice)))
            if isinstance(owner, ast.Name) and owner.id in self.own:
                change = called("change_item_local", parts)
                made = located(ast.Call(change, [named(helper(augment)), value], []), node)
                return ast.copy_location(assigned(owner, made), node)
            in_item = isinstance(owner, ast.Subscript)
            nested = "change_item_in_item" if in_item else "change_item_in_attribute"
            change = called(nested if held else "change_item", parts)
        elif is_public(target):
            parts = [self.visit(target.value), ast.Constant(target.attr)]
            change = called("change_attribute", parts)
        else:
            node.value = value
            node.target = self.visit(target)
            return node
        made = ast.Call(change, [named(helper(augment)), value], [])
        return ast.copy_location(ast.Expr(located(made, node)), node)

    # -- syntax for which a class may define a method ---------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if node in self.integers or (
            isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
        ):
            return self.generic_visit(node)
        left, right = self.visit(node.left), self.visit(node.right)
        return located(called(BINARY[type(node.op)].name, [left, right]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            node.operand = self.condition(node.operand)
            return node
        operand = self.visit(node.operand)
        if isinstance(operand, ast.Constant):
            return node
        return located(called(UNARY[type(node.op)].name, [operand]), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        owner, index = self.visit(node.value), self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            place = called("item_place", [owner])
            return located(ast.Subscript(place, index, node.ctx), node)
        return located(called("item", [owner, index_of(index)]), node)

    def visit_For(self, node: Any) -> ast.AST:
        node.iter = self._iterable(node.iter, isinstance(node, ast.AsyncFor))
        node.target = self.visit(node.target)
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    visit_AsyncFor = visit_For  # noqa: N815 - the name is the visitor's

    def _iterable(self, node: ast.expr, is_async: Any) -> ast.expr:
        over = self.visit(node)
        return located(called("async_iterate", [over]), over) if is_async else self._through(over)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        node.value = located(called("awaited", [self.visit(node.value)]), node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self._iterable(node.iter, node.is_async)
        node.target = self.visit(node.target)
        node.ifs = [self.condition(test) for test in node.ifs]
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        node.value = self._through(self.visit(node.value))
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        value = self.visit(node.value)
        node.value = self._through(value) if isinstance(node.ctx, ast.Load) else value
        return node

    def _through(self, node: ast.expr) -> ast.expr:
        """Return what a loop iterates over; displays need no interception."""
        if isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.Constant)):
            return node
        return located(called("iterate", [node]), node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """A handler must not catch the engine's errors: the plain function does not raise them."""
        kinds = copied(node.type) if node.type is not None else ast.Constant(None)
        look = ast.Expr(called("unless_ours", [kinds]))
        node.body = self.statements(node.body)
        if not self.is_library:
            node.body.insert(0, located(look, node.body[0]))
        return node

    def visit_With(self, node: Any) -> ast.AST:
        context = "async_context" if isinstance(node, ast.AsyncWith) else "context"
        for entered in node.items:
            manager = self.visit(entered.context_expr)
            entered.context_expr = located(called(context, [manager]), manager)
            if entered.optional_vars is not None:
                entered.optional_vars = self.visit(entered.optional_vars)
        node.body = self.statements(node.body)
        return node

    visit_AsyncWith = visit_With  # noqa: N815 - the name is the visitor's

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """The text of a traced value is marked as one."""
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = ast.Constant("")
                if part.format_spec is not None:
                    spec = self.visit(part.format_spec)  # an f-string itself
                arguments = [self.visit(part.value), ast.Constant(part.conversion), spec]
                part = located(called("formatted", arguments), part.value)
            parts.append(part)
        return located(called("joined", parts), node)

    def visit_If(self, node: Any) -> ast.AST:
        node.test = self.condition(node.test)
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    visit_While = visit_If  # noqa: N815 - the name is the visitor's

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.condition(node.test)
        node.body = self.visit(node.body)
        node.orelse = self.visit(node.orelse)
        return node

    def condition(self, node: ast.expr) -> ast.expr:
        """Return an expression that is a condition: its class may define its truth."""
        if isinstance(node, ast.BoolOp):
            node.values = [self.condition(v) for v in node.values]
            return node
        seen = self.visit(node)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            return located(called("truth", [seen]), node)
        return seen

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.pattern = without_numbers(node.pattern)  # no expression, though it holds some
        if node.guard is not None:
            node.guard = self.condition(node.guard)
        node.body = self.statements(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node  # nothing is put there
        if not isinstance(node.target, ast.Name):
            return self.visit_Assign(located(ast.Assign([node.target], node.value), node))
        node.value = self.visit(node.value)
        return node

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the rewritten statements of a block; one may become two."""
        new: list[ast.stmt] = []
        for statement in body:
            separate = [(one, one.returned and self.visit(copied(one.returned)))
                        for one in self.separate_loops.get(statement, ())]  # fmt: skip
            made = self.visit(statement)
            first = len(new)
            new.extend(made if isinstance(made, list) else [made])
            for one, returned in separate:  # alone, then with statements before it
                new[first - one.before :] = one.around(new[first - one.before :], returned)
        return new

    def _seen(self, function: ast.expr) -> ast.expr:
        return located(called("intercept", [function]), function)

    def _slot(self, function: ast.expr) -> int | None:
        """Return the slot for what is called by a name from outside."""
        name = dotted(function)
        if name is None or name.partition(".")[0] in self.local:
            return None
        if name not in self.slots:
            self.slots[name] = call_site_cache.slot_for(name, self.outside)
        return self.slots[name]

    def _known(self, function: ast.expr) -> ast.expr:
        """Return what is called in place of a function that a slot may hold."""
        number = self._slot(function)
        assert number is not None
        slot = ast.Constant(number)
        is_held: ast.expr = ast.Compare(copied(function), [ast.Is()], [entry("known", slot)])
        parts = call_site_cache.compared[number]
        if parts:
            unchanged = [
                ast.Compare(
                    ast.Attribute(copied(function), name, ast.Load()),
                    [ast.Is()],
                    [entry(f"known_{name}", slot)],
                )
                for name in parts
            ]
            is_held = ast.BoolOp(ast.And(), [is_held, *unchanged])
        see = called("see", [function, slot])
        return located(ast.IfExp(is_held, entry("replaced", slot), see), function)

    def _is_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.modules


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def rewritten(
    node: Any, code: types.CodeType, namespace: dict[str, Any], is_library: bool,
    given: frozenset[str] = frozenset(),
    separate: Callable[[Any], dict[ast.stmt, list]] | None = None,
) -> Any:  # fmt: skip
    """Return a rewritten copy of a definition.

    Recordings give values of their own to the global variables `given`. ``separate(copy)`` returns
    the loops that have programs of their own.
    """
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    modules = {
        name
        for name in names_in(node)
        if name not in local and isinstance(namespace.get(name), types.ModuleType)
    }
    copy = copied(node)
    integers = IntegerNames(copy, namespace, code.co_freevars)
    rewriter = _Rewriter(modules, integers, own_names(copy), is_library, namespace, local, given)
    if separate is not None:
        rewriter.separate_loops = separate(copy)
    if isinstance(copy, ast.Lambda):
        copy.body = rewriter.visit(copy.body)
    else:
        copy.body = rewriter.statements(copy.body)
    return copy
