"""Set displays of constants, in the order in which the function itself iterates over them.

Python makes a frozen set of the constants when it compiles a function. A display is filled from it;
a loop over a display iterates over the frozen set itself. The order of its items depends on how it
was made (compiled, or loaded from a file), so it cannot be found from the source.
"""

from __future__ import annotations

import ast
import copy
import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

from autodiff import caches
from chainrules_core.interpreter.places import codes_in

_FEWEST = 3
"""The fewest constants of a display that is filled from a frozen set."""
_LOADS = frozenset({"RESUME", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST"})

# By the id of code: the definition with the frozen sets of the code.
_definitions: dict[int, tuple] = caches.register("definitions with frozen sets", {})


def with_frozen_sets(node: Any, code: types.CodeType) -> Any:
    """Return a definition in which the frozen sets of its code stand for displays of constants.

    ``{1, 2, 3}`` becomes ``{*frozen}``; a loop over a display becomes one over a tuple.
    """
    frozen = list(_frozen_sets(code))
    if not frozen:
        return node
    known = _definitions.get(id(code))
    if known is None or known[2] is not node:
        made = _Replacing(frozen).visit(copy.deepcopy(node))
        caches.keep_with(_definitions, code, made, node)
        return made
    return known[1]


def with_constants_of(new: types.CodeType, code: types.CodeType) -> types.CodeType:
    """Return rewritten code with the frozen sets of the original: the compiler makes others."""
    frozen = list(_frozen_sets(code))
    return _with_constants(new, frozen) if frozen else new


def _with_constants(new: types.CodeType, frozen: list[frozenset]) -> types.CodeType:
    constants: list[Any] = []
    for x in new.co_consts:
        if type(x) is types.CodeType:
            constants.append(_with_constants(x, frozen))
        else:
            constants.append(_same_set(x, frozen) or x if type(x) is frozenset else x)
    return new.replace(co_consts=tuple(constants))


def frozen_set_in(node: ast.Set) -> frozenset | None:
    """Return the frozen set that fills a display; None if it is filled with its items in order."""
    first = node.elts[0]
    if isinstance(first, ast.Starred) and isinstance(first.value, ast.Constant):
        value: Any = first.value.value
        return value if type(value) is frozenset else None
    return None


def is_unknown(node: ast.Set) -> bool:
    """Whether a display has been filled from a frozen set that is not known."""
    return len(node.elts) >= _FEWEST and all(map(_constants_of, node.elts))


class _Replacing(ast.NodeTransformer):
    def __init__(self, frozen: list[frozenset]) -> None:
        self.frozen = frozen

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for k, part in enumerate(node.comparators):
            if not (isinstance(part, ast.Set) and isinstance(node.ops[k], (ast.In, ast.NotIn))):
                node.comparators[k] = self.visit(part)
        node.left = self.visit(node.left)
        return node

    def visit_For(self, node: Any) -> ast.AST:
        node.iter = self._iterated(node.iter)
        return self.generic_visit(node)

    visit_comprehension = visit_For

    def _iterated(self, node: ast.expr) -> ast.expr:
        found = self._found(node, 1) if isinstance(node, ast.Set) else None
        if found is None:
            return node
        items: list[ast.expr] = [ast.copy_location(ast.Constant(x), node) for x in found]
        return ast.copy_location(ast.Tuple(items, ast.Load()), node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        found = self._found(node, _FEWEST)
        if found is None:
            return self.generic_visit(node)
        items = ast.copy_location(ast.Constant(found), node)  # type: ignore[arg-type] # it may be
        return ast.copy_location(
            ast.Set([ast.copy_location(ast.Starred(items, ast.Load()), node)]), node
        )

    def _found(self, node: ast.Set, fewest: int) -> frozenset | None:
        """Return the frozen set of the items; None if they are not constant, or there are two."""
        parts = list(map(_constants_of, node.elts))
        if len(parts) < fewest or not all(parts):
            return None
        return _same_set([part[0] for part in parts], self.frozen)


def _frozen_sets(code: types.CodeType) -> Iterator[frozenset]:
    for part in codes_in(code):
        yield from [x for x in part.co_consts if type(x) is frozenset]


def _same_set(items: Iterable[Any], frozen: list[frozenset]) -> frozenset | None:
    """Return the frozen set with these items; None if there is none, or two of another order."""
    kinds = {(type(x), x) for x in items}
    found = [s for s in frozen if {(type(x), x) for x in s} == kinds]
    orders = [list(s) for s in found]
    return found[0] if found and orders.count(orders[0]) == len(orders) else None


def _constants_of(node: ast.expr) -> tuple:
    """Return the value of a constant expression, in a tuple; an empty one for others."""
    if isinstance(node, ast.Constant):
        return (node.value,)
    if not isinstance(node, (ast.UnaryOp, ast.BinOp, ast.Tuple)):
        return ()
    code = compile(ast.Expression(node), "<constant>", "eval")
    is_constant = {step.opname for step in dis.get_instructions(code)} <= _LOADS
    return (eval(code),) if is_constant else ()
