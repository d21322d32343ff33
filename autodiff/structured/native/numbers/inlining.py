"""Small functions of rules, read in the place of their calls."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.native.llvm.code import Code
from autodiff.structured.native.values import Known, Number
from chainrules_core.interpreter.parsing import tree_of

MOST_DEPTH = 10
"""How many calls are read one in another."""


class Inlining:
    """Reads functions of rules."""

    code: Code

    @property
    def b(self) -> Any:
        """The builder."""
        return self.code.b

    def evaluated(
        self, node: ast.expr, scope: dict[str, Any], outer: dict, letter: str, depth: int
    ) -> Any:
        """Return an expression of numbers, all of them held alike."""
        raise NotImplementedError

    def converted(self, x: Number, letter: str) -> Any:
        """Return a number as it is held for another letter."""
        raise NotImplementedError

    def number(self, x: Any) -> Number:
        """Return what is known, or a number, as a number."""
        raise NotImplementedError

    def plain(self, letter: str, value: Any) -> Number:
        """Return a number of the class that a letter stands for."""
        raise NotImplementedError

    def inlined(self, f: Any, args: list[Any], letter: str, depth: int) -> Number:
        """Read a small function of a rule's in the place of its call."""
        try:
            definition: Any = tree_of(textwrap.dedent(inspect.getsource(f))).body[0]
        except (OSError, TypeError, SyntaxError) as error:
            raise UnsupportedError(f"the source of {f}") from error
        if not isinstance(definition, ast.FunctionDef) or f.__closure__ or depth > MOST_DEPTH:
            raise UnsupportedError(f"{f.__name__} in machine code")
        names = [p.arg for p in definition.args.args]
        if len(names) != len(args):
            raise UnsupportedError(f"{f.__name__} in machine code")
        scope = dict(zip(names, map(_known_again, args), strict=True))
        found = self._result(definition.body, scope, f.__globals__, letter, depth)
        if found is None:
            raise UnsupportedError(f"{f.__name__} in machine code")
        return self.number(found)

    def _either(
        self, test: Any, both: tuple, scope: dict, outer: dict, letter: str, depth: int
    ) -> Any:
        """Return what one of two branches returns; both are computed."""
        found = [self._result(branch, scope, outer, letter, depth) for branch in both]
        if any(x is None for x in found):
            raise UnsupportedError("a branch in a rule")
        values = [self.converted(self.number(x), letter) for x in found]
        return self.plain(letter, self.code.b.select(self.converted(test, "b"), *values))

    def _result(self, body: list, scope: dict, outer: dict, letter: str, depth: int) -> Any:
        for k, node in enumerate(body):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.Return) and node.value is not None:
                return self.evaluated(node.value, scope, outer, letter, depth)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                made = self.evaluated(node.value, scope, outer, letter, depth)
                scope = {**scope, node.targets[0].id: made}
                continue
            if isinstance(node, ast.Assign) and _are_names(node.targets[0], node.value):
                values: list[ast.expr] = node.value.elts  # type: ignore[attr-defined] # a tuple
                found = [self.evaluated(v, scope, outer, letter, depth) for v in values]
                names = [t.id for t in node.targets[0].elts]  # type: ignore[attr-defined]
                scope = {**scope, **dict(zip(names, found, strict=True))}
                continue
            if isinstance(node, ast.If):
                test = self.evaluated(node.test, scope, outer, "b", depth)
                if not isinstance(test, Known):
                    rest = body[k + 1 :]
                    return self._either(
                        test, (node.body + rest, node.orelse + rest), scope, outer, letter, depth
                    )
                branch = node.body if test.x else node.orelse
                found = self._result(branch, scope, outer, letter, depth)
                if found is not None:
                    return found
                continue
            raise UnsupportedError(f"{ast.unparse(node)} in a rule")
        return None


def _are_names(target: ast.expr, value: ast.expr) -> bool:
    """Whether names are bound to as many expressions."""
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return False
    return len(target.elts) == len(value.elts) and all(isinstance(t, ast.Name) for t in target.elts)


def dtype_of_number(x: Any) -> Known:
    """Return ``getattr(x, "dtype", None)`` of a number."""
    if isinstance(x, Known) or x.kind.classes <= {int, float, bool}:
        return Known(None)
    if x.kind.is_array:
        return Known(x.kind.dtype)
    found = {np.dtype(cls) for cls in x.kind.classes}
    if len(found) > 1 or not all(issubclass(cls, np.generic) for cls in x.kind.classes):
        raise UnsupportedError("a dtype that is not known")
    return Known(found.pop())


def _known_again(x: Number) -> Any:
    """Return a literal as what is known."""
    if x.letter in "id" and isinstance(x.value, ir.Constant) and len(x.kind.classes) == 1:
        (cls,) = x.kind.classes
        return Known(cls(x.value.constant))
    return x
