"""Find the source of a running function, and make sure that it is its source.

A function is only ever replaced by a rewritten one if the source that was found, compiled without
any rewriting, gives the very bytecode that is running. A file that was edited since its import, a
decorator that made the code, a tool that changed it on import: all of these fail the comparison,
and the function runs as it is.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Compiler flags that a `from __future__ import` leaves in a code object.
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

# The trees of files that were read, with the lines they were made of.
_trees: dict[str, tuple[list[str], ast.Module | None]] = {}
# The names that a module imports, by its tree: the compiler treats calls of their attributes apart.
_imports: dict[ast.Module, ast.Import | None] = {}

OUTER = "__autodiff_outer__"


class Found:
    """The definition of a function in its source.

    Attributes
    ----------
    node : ast.AST
        The definition.
    class_name : str or None
        The innermost class around it, for the mangling of private names.
    tree : ast.Module
        The module it stands in.
    """

    __slots__ = ("class_name", "node", "tree")

    def __init__(self, node: Definition, class_name: str | None, tree: ast.Module) -> None:
        self.node = node
        self.class_name = class_name
        self.tree = tree


def definition_of(function: types.FunctionType) -> Found | None:
    """Return the verified definition of a function; None where there is none to be had."""
    code = function.__code__
    file = _file_of(code.co_filename, function.__globals__)
    lines = linecache.getlines(file, function.__globals__)
    found = _verified(function, code)
    if found is None:
        linecache.checkcache(file)  # a module that was loaded anew is not what was read before
        if linecache.getlines(file, function.__globals__) != lines:
            found = _verified(function, code)
    return found


def _verified(function: types.FunctionType, code: types.CodeType) -> Found | None:
    tree = _tree(code.co_filename, function.__globals__)
    if tree is None:
        return None
    for found in _candidates(tree, code):
        try:
            compiled = compiled_like(found, code, found.node)
        except (SyntaxError, ValueError, RecursionError):
            continue
        if compiled is not None and same_code(compiled, code):
            return found
    return None


def _tree(filename: str, namespace: dict[str, Any]) -> ast.Module | None:
    lines = linecache.getlines(_file_of(filename, namespace), namespace)
    known = _trees.get(filename)
    if known is not None and known[0] == lines:
        return known[1]
    tree: ast.Module | None = None
    if lines:
        try:
            tree = ast.parse("".join(lines), filename)
        except (SyntaxError, ValueError, RecursionError):
            tree = None
        else:
            tree = _as_tests_have_it(tree, filename, namespace)
    _trees[filename] = (lines, tree)
    return tree


def _file_of(filename: str, namespace: dict[str, Any]) -> str:
    """Return the file of a module; those that are frozen into Python have one all the same."""
    return namespace.get("__file__") or filename if filename.startswith("<frozen ") else filename


def _as_tests_have_it(tree: ast.Module, filename: str, namespace: dict[str, Any]) -> ast.Module:
    """Return the tree with asserts as pytest rewrites them, if it did in this module."""
    if "@pytest_ar" not in namespace:
        return tree
    rewrite = sys.modules.get("_pytest.assertion.rewrite")
    if rewrite is None:
        return tree
    source = "".join(linecache.getlines(filename, namespace)).encode()
    rewrite.rewrite_asserts(tree, source, filename)
    return tree


def _candidates(tree: ast.Module, code: types.CodeType) -> Iterator[Found]:
    """Yield the definitions that stand where the code says it comes from."""
    is_lambda = code.co_name == "<lambda>"

    def visit(node: ast.AST, class_name: str | None) -> Iterator[Found]:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.ClassDef) else class_name
            if isinstance(child, ast.Lambda):
                if is_lambda and child.lineno == code.co_firstlineno:
                    yield Found(child, class_name, tree)
            elif (
                isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
                and child.name == code.co_name
                and _first_line(child) == code.co_firstlineno
            ):
                yield Found(child, class_name, tree)
            yield from visit(child, inside)

    return visit(tree, None)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


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
    imports = _imported_names(found.tree)
    module = ast.fix_missing_locations(ast.Module([imports, outer] if imports else [outer], []))
    flags = code.co_flags & _FUTURE
    compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    return _inside(compiled, code)


def _imported_names(tree: ast.Module) -> ast.Import | None:
    """Return an import of all that a module imports at its top level (to be compiled, not run)."""
    if tree in _imports:
        return _imports[tree]
    names: dict[str, None] = {}
    waiting: list[ast.AST] = [tree]
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
    made = ast.Import([ast.alias(name) for name in names]) if names else None
    _imports[tree] = made
    return made


def _without_outside(node: ast.AST) -> Any:
    """Return a definition without what is evaluated outside of it: decorators, defaults, types."""
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
    closure = tuple(
        [cells[n] if n in cells else types.CellType(extra[n]) for n in code.co_freevars]
    )
    new = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__ = function.__qualname__
    new.__module__ = function.__module__
    new.__doc__ = function.__doc__
    new.__dict__ = function.__dict__
    return new
