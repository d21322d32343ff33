"""Find the source of a running function, and make sure that it is its source.

A function is only ever replaced by a rewritten one if the source that was found, compiled without
any rewriting, gives the very bytecode that is running. A file that was edited since its import, a
decorator that made the code, a tool that changed it on import: all of these fail the comparison,
and the function runs as it is.
"""

from __future__ import annotations
import __future__

import ast
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autodiff import caches
from autodiff.closures.captured_values import with_cells
from autodiff.intercept.source.instrumented import changed_trees
from autodiff.intercept.source.set_displays import with_frozen_sets
from autodiff.intercept.source.source_texts import carried_texts, trees_of

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Compiler flags that a `from __future__ import` leaves in a code object.
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

# The names that a module imports.
_imports: weakref.WeakKeyDictionary[ast.Module, tuple[str, ...]]
_imports = caches.register("imported names", weakref.WeakKeyDictionary())
# The definitions in a module by their names, each with its class and the statement around it.
_definitions: weakref.WeakKeyDictionary[ast.Module, dict[bool, dict[str, list[tuple]]]]
_definitions = caches.register("definitions in modules", weakref.WeakKeyDictionary())
# By the id of their code: the definitions of functions that the engine makes of users' statements.
_given: dict[int, tuple] = caches.register("definitions that stand in no module", {})
_LAMBDA = "<lambda>"
_MOST = 200  # definitions of the same name at other lines that are tried

OUTER = "__autodiff_outer__"


class Found:
    """The definition of a function in its source.

    Attributes
    ----------
    node : ast.AST
        The definition.
    class_name : str or None
        The innermost class around it, for the mangling of private names.
    statement : ast.stmt
        The statement of the module that it stands in, or is.
    tree : ast.Module
        The module.
    imports : tuple of str
        The names that count as imported where it is compiled.
    """

    __slots__ = ("class_name", "imports", "node", "statement", "tree")

    def __init__(
        self, node: Definition, class_name: str | None, statement: ast.stmt, tree: ast.Module
    ) -> None:
        self.node = node
        self.class_name = class_name
        self.statement = statement
        self.tree = tree
        self.imports: tuple[str, ...] = ()


def give(code: types.CodeType, found: Found, node: Definition) -> None:
    """Note the definition of a function that stands in no module, but as if where `found` is."""
    own = Found(node, found.class_name, found.statement, found.tree)
    own.imports = found.imports
    caches.keep_with(_given, code, own)


def definition_of(function: types.FunctionType) -> Found | None:
    """Return the verified definition of a function; None if it is not found."""
    carried = carried_texts(function)
    return definition_of_code(function.__code__, function.__globals__, carried)


def definition_of_code(
    code: types.CodeType, namespace: dict[str, Any], carried: Iterable[str] = ()
) -> Found | None:
    """Return the verified definition of the function in a module that has this code."""
    if id(code) in _given:
        return _given[id(code)][1]
    trees = []
    for tree in trees_of(code, namespace, carried):
        found = _verified(tree, code, at_its_line=True)
        if found is not None:
            return found
        trees.append(tree)
    for tree in trees:  # autoreload compiles a function by itself, from line 1
        found = _verified(tree, code, at_its_line=False)
        if found is not None:
            return found
    for tree in trees:
        for changed in changed_trees(tree, code):
            found = _verified(changed, code, True) or _verified(changed, code, False)
            if found is not None:
                return found
    return None


def _verified(tree: ast.Module, code: types.CodeType, at_its_line: bool) -> Found | None:
    tried = 0
    for found in _candidates(tree, code):
        if (_first_line(found.node) == code.co_firstlineno) is not at_its_line:
            continue
        tried += 1
        if tried > _MOST:
            break
        for imports in _contexts(found):
            found.imports = imports
            try:
                compiled = compiled_like(found, code, found.node)
            except (SyntaxError, ValueError, RecursionError):
                break
            if compiled is not None and same_code(compiled, code):
                found.node = with_frozen_sets(found.node, code)
                return found
    return None


def _candidates(tree: ast.Module, code: types.CodeType) -> Iterator[Found]:
    """Yield the definitions that have the name of some code."""
    is_lambda = code.co_name == _LAMBDA
    known = _definitions.setdefault(tree, {})
    if is_lambda not in known:
        known[is_lambda] = _definitions_in(tree, is_lambda)
    for node, class_name, statement in known[is_lambda].get(code.co_name, ()):
        yield Found(node, class_name, statement, tree)


def _definitions_in(tree: ast.Module, of_lambdas: bool) -> dict[str, list[tuple]]:
    """Return the functions or lambdas of a module by their names, in the order of the source."""
    kinds: Any = ast.Lambda if of_lambdas else (ast.FunctionDef, ast.AsyncFunctionDef)
    skipped: Any = () if of_lambdas else ast.expr  # they hold no statements
    found: dict[str, list[tuple]] = {}
    for statement in tree.body:
        waiting: list[tuple[Any, str | None]] = [(statement, None)]
        while waiting:
            node, class_name = waiting.pop()
            if isinstance(node, kinds):
                name = getattr(node, "name", _LAMBDA)
                found.setdefault(name, []).append((node, class_name, statement))
            if isinstance(node, ast.ClassDef):
                class_name = node.name
            for field in reversed(node._fields):
                x = getattr(node, field, None)
                parts = reversed(x) if type(x) is list else (x,)
                waiting += [(p, class_name) for p in parts
                            if isinstance(p, ast.AST) and not isinstance(p, skipped)]  # fmt: skip
    return found


def _contexts(found: Found) -> Iterator[tuple[str, ...]]:
    """Yield the names that may count as imported where a definition is compiled.

    The compiler treats calls of the attributes of an imported name apart. In a file all imports
    of the module count; in a cell of a notebook, which is compiled statement by statement, those
    of the same statement. Each is tried.
    """
    of_module = _imported_names(found.tree)
    yield of_module
    if of_module:
        of_statement = _imported_names(found.statement)
        if of_statement != of_module:
            yield of_statement
        if of_statement:
            yield ()


def _first_line(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return decorators[0].lineno if decorators else node.lineno


def compiled_like(
    found: Found, code: types.CodeType, node: ast.AST, extra: tuple[str, ...] = ()
) -> types.CodeType | None:
    """Compile a definition in a context like its own; return its code object.

    Parameters
    ----------
    found : Found
        The definition, for its context.
    code : types.CodeType
        The running code: its free variables are those of an enclosing function here as well.
    node : ast.AST
        The definition, or its rewritten form.
    extra : tuple of str
        Names of further free variables.
    """
    bare = _without_outside(node)
    inner: ast.stmt = (
        bare
        if isinstance(bare, (ast.FunctionDef, ast.AsyncFunctionDef))
        else ast.copy_location(ast.Expr(bare), node)
    )
    body = [inner]
    if found.class_name is not None:
        body = [ast.ClassDef(found.class_name, [], [], [inner], [])]
        if found.class_name not in code.co_freevars:  # a class at the top level of its module
            body.insert(0, ast.Global([found.class_name]))
    elif code.co_name.isidentifier() and code.co_name not in code.co_freevars:
        body = [ast.Global([code.co_name]), inner]
    names = dict.fromkeys((*code.co_freevars, *extra))
    outer = ast.FunctionDef(
        OUTER,
        ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, []),
        body,
        [],
    )
    imports = [ast.Import([ast.alias(name) for name in found.imports])] if found.imports else []
    module = ast.fix_missing_locations(ast.Module([*imports, outer], []))
    flags = code.co_flags & _FUTURE
    compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    made = _inside(compiled, code)
    return made and _named(made, made.co_qualname, code.co_qualname)


def _imported_names(tree: ast.AST) -> tuple[str, ...]:
    """Return the names that a module, or a statement of it, imports at its top level."""
    if isinstance(tree, ast.Module) and tree in _imports:
        return _imports[tree]
    names: dict[str, None] = {}
    waiting: list[ast.AST] = [ast.Module([tree], []) if isinstance(tree, ast.stmt) else tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                for alias in child.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    if name != "*":
                        names[name] = None
            elif (
                isinstance(child, ast.stmt)
                and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            ) or isinstance(child, (ast.ExceptHandler, ast.match_case)):
                waiting.append(child)
    if isinstance(tree, ast.Module):
        _imports[tree] = tuple(names)
    return tuple(names)


def _without_outside(node: ast.AST) -> Any:
    """Return a definition without its decorators, defaults and annotations."""
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]
    bare_arguments = ast.arguments(
        [_bare(a) for a in arguments.posonlyargs],
        [_bare(a) for a in arguments.args],
        arguments.vararg and _bare(arguments.vararg),
        [_bare(a) for a in arguments.kwonlyargs],
        [None] * len(arguments.kwonlyargs),
        arguments.kwarg and _bare(arguments.kwarg),
        [],
    )
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(bare_arguments, node.body), node)
    kind: Any = type(node)
    bare = kind(node.name, bare_arguments, node.body, [], None)  # type: ignore[attr-defined]
    return ast.copy_location(bare, node)


def _bare(argument: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(argument.arg), argument)


def _named(made: types.CodeType, there: str, name: str) -> types.CodeType:
    """Return `made` and the functions in it, their names beginning with `name`, not `there`."""
    inner = (_named(c, there, name) if isinstance(c, types.CodeType) else c for c in made.co_consts)
    return made.replace(
        co_qualname=name + made.co_qualname.removeprefix(there), co_consts=tuple(inner)
    )


def _inside(compiled: types.CodeType, code: types.CodeType) -> types.CodeType | None:
    """Return the code object of the definition inside the compiled context."""
    while True:
        inner = [c for c in compiled.co_consts if isinstance(c, types.CodeType)]
        if not inner:
            return None
        if compiled.co_name != OUTER and inner[0].co_name == code.co_name:
            return inner[0]
        compiled = inner[0]
        if compiled.co_name == code.co_name and compiled.co_name != OUTER:
            return compiled


_COMPARED = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_exceptiontable",
)  # fmt: skip
_NESTED = 0x10  # set in code that stands inside a function, as ours does in its context


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects do the same: bytecode, names, constants, nested code."""
    if any(getattr(a, name) != getattr(b, name) for name in _COMPARED):
        return False
    if (a.co_flags ^ b.co_flags) & ~_NESTED:
        return False
    return len(a.co_consts) == len(b.co_consts) and all(
        map(_same_constant, a.co_consts, b.co_consts)
    )


def _same_constant(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, types.CodeType):
        return same_code(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same_constant, a, b))
    if isinstance(a, frozenset):
        return a == b
    return repr(a) == repr(b)  # tells -0.0 from 0.0, and a NaN is itself


def rebuilt(function: types.FunctionType, code: types.CodeType, extra: dict[str, Any]) -> Callable:
    """Return a function like `function` that runs `code`, with further free variables.

    Everything else is the original's: globals, closure cells, defaults, attributes.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    new_cells = [cells[n] if n in cells else types.CellType(extra[n]) for n in code.co_freevars]
    new = with_cells(function, new_cells, code)
    new.__dict__ = function.__dict__  # what is set later is set for both
    return new
