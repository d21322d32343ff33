"""Inlining of small functions that the rules for derivatives call."""

from __future__ import annotations

import ast
import importlib
import inspect
import numbers
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from autodiff import caches
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.native.llvm.function_builder import FunctionBuilder
from autodiff.structured.native.lowered_values import Number, StaticValue
from autodiff.structured.native.numbers.floor_division import DIVISIONS
from chainrules_core.define.partial import Partial
from chainrules_core.interpreter.parsing import tree_of

MOST_DEPTH = 10
"""Up to this depth, nested calls are inlined."""
_MOST_ITERATIONS = 32
"""Up to this trip count, loops are unrolled."""
_SEQUENCES = (range, reversed, tuple, list)


@caches.of_functions(256)
def _definition_of(f: Any) -> Any:
    """Return the definition of a function, from its source; None if that is not to be had."""
    try:
        return tree_of(textwrap.dedent(inspect.getsource(f))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None


class Local(NamedTuple):
    """A lambda in a rule, with its scope and the globals of the rule."""

    node: ast.Lambda
    scope: dict[str, Any]
    outer: dict[str, Any]


class Inlining:
    """Inliner of functions that rules call."""

    code: FunctionBuilder

    # Methods that subclasses define.
    evaluated: Callable[[ast.expr, dict[str, Any], dict, str, int], Any]
    converted: Callable[[Number, str], Any]
    number: Callable[[Any], Number]
    plain: Callable[[str, Any], Number]
    called: Callable[[Any, list[Any], str, int], Any]
    has_implementation: Callable[[Any], bool]

    @property
    def b(self) -> Any:
        """The builder."""
        return self.code.b

    def inlined(self, f: Any, args: list[Any], letter: str, depth: int) -> Number:
        """Inline a call of a small function with numbers as arguments."""
        return self.number(self.expanded(f, list(map(_folded, args)), {}, letter, depth))

    def expanded(
        self, f: Any, args: list[Any], named: dict[str, Any], letter: str, depth: int
    ) -> Any:
        """Inline a call of a small function with numbers, tuples, functions and known values."""
        f = inspect.unwrap(f)
        definition = _definition_of(f)
        if definition is None:
            raise UnsupportedError(f"the source of {f}")
        if not isinstance(definition, ast.FunctionDef) or depth > MOST_DEPTH:
            raise UnsupportedError(f"{f.__name__} in machine code")
        captured = [cell.cell_contents for cell in f.__closure__ or ()]
        outer = f.__globals__ | dict(zip(f.__code__.co_freevars, captured, strict=True))
        a = definition.args
        given = zip(reversed(a.args), reversed(f.__defaults__ or ()), strict=False)
        scope = {p.arg: StaticValue(x) for p, x in given}
        scope |= self._bound(f.__name__, a, args, named, scope)
        found = self._result(definition.body, scope, outer, letter, depth)
        if found is None:
            raise UnsupportedError(f"{f.__name__} in machine code")
        return found

    def applied(self, f: Local, args: list[Any], letter: str, depth: int) -> Any:
        """Inline a call of a lambda of a rule."""
        scope = f.scope | self._bound("a function", f.node.args, args, {}, {})
        return self.evaluated(f.node.body, scope, f.outer, letter, depth)

    def _bound(
        self, name: str, a: ast.arguments, args: list[Any], named: dict[str, Any], defaults: dict
    ) -> dict[str, Any]:
        """Return the values of the parameters of a function."""
        names = [p.arg for p in a.args]
        scope = {**dict(zip(names, args, strict=False)), **named}
        if a.vararg is not None:
            scope[a.vararg.arg] = tuple(args[len(names) :])
        elif len(args) > len(names):
            raise UnsupportedError(f"{name} in machine code")
        missing = set(names) - scope.keys() - defaults.keys()
        if missing or named.keys() - set(names) or a.kwarg or a.kwonlyargs or a.posonlyargs:
            raise UnsupportedError(f"{name} in machine code")
        return scope

    def several(self, x: Any) -> tuple:
        """Return the items of a tuple, or of a short sequence that is known."""
        if isinstance(x, tuple):
            return x
        sequence = x.x if isinstance(x, StaticValue) else None
        if isinstance(sequence, (tuple, list, range)) and len(sequence) <= _MOST_ITERATIONS:
            return tuple(map(StaticValue, sequence))
        raise UnsupportedError("a sequence in machine code")

    def of_rule(self, node: ast.expr, scope: dict, outer: dict, letter: str, depth: int) -> Any:
        """Emit an expression that only rules contain: a call, tuple or lambda."""

        def of(part: ast.expr) -> Any:
            return self.evaluated(part, scope, outer, letter, depth)

        if isinstance(node, ast.Tuple):
            return tuple(map(of, node.elts))
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "()":
            return of(node.value)  # ``x[()]`` of a number is the number
        if isinstance(node, ast.Lambda):
            return Local(node, scope, outer)
        if not isinstance(node, ast.Call) or not all(k.arg for k in node.keywords):
            raise UnsupportedError(f"{ast.unparse(node)} in machine code")
        args: list[Any] = []
        for a in node.args:
            if not isinstance(a, ast.Starred):
                args.append(of(a))
            elif isinstance(a.value, ast.GeneratorExp):
                (over,) = a.value.generators
                if over.ifs or not isinstance(over.target, ast.Name):
                    raise UnsupportedError("a generator in machine code")
                for x in self.several(of(over.iter)):
                    inside = {**scope, over.target.id: x}
                    args.append(self.evaluated(a.value.elt, inside, outer, letter, depth))
            else:
                args += self.several(of(a.value))
        named = {str(k.arg): of(k.value) for k in node.keywords}
        return self._made(of(node.func), args, named, letter, depth)

    def _made(self, f: Any, args: list[Any], named: dict[str, Any], letter: str, depth: int) -> Any:
        """Emit a call with numbers, tuples, functions and known values as arguments."""
        if isinstance(f, Local) and not named and depth <= MOST_DEPTH:
            return self.applied(f, args, letter, depth + 1)
        if (
            isinstance(f, StaticValue)
            and f.x in _SEQUENCES
            and all(isinstance(a, StaticValue) for a in args)
        ):
            return StaticValue(tuple(f.x(*[a.x for a in args])))
        own = f.x if isinstance(f, StaticValue) else None
        own = own.function if isinstance(own, Partial) else DIVISIONS.get(own, own)
        is_real = not any(isinstance(a, Number) and a.kind.is_complex for a in args)
        if inspect.isfunction(own) and is_real and not self.has_implementation(f.x):
            return self.expanded(own, args, named, letter, depth + 1)
        if named or not all(isinstance(a, (StaticValue, Number)) for a in args):
            raise UnsupportedError(f"{getattr(own, '__name__', own)} in machine code")
        return self.called(f, args, letter, depth)

    @staticmethod
    def are_constants(args: list[Any]) -> bool:
        """Whether an argument is a function or another constant that is not a number."""
        return any(isinstance(a, StaticValue) and not isinstance(a.x, numbers.Number) for a in args)

    def of_constants(self, f: Any, args: list[Any]) -> Number:
        """Inline a function of a rule with floats, functions and other constants as arguments."""
        given = [a for a in args if not isinstance(a, StaticValue)]
        if not all(isinstance(a, Number) and a.letter in "dib" for a in given):
            raise UnsupportedError(f"{f.__name__} of a constant in machine code")
        found = self.number(self.expanded(f, args, {}, "d", 0))
        return self.plain("d", self.converted(found, "d"))

    def _assigned(
        self, node: ast.stmt, scope: dict, outer: dict, letter: str, depth: int
    ) -> dict[str, Any]:
        """Return the scope after a statement that binds names; loops are unrolled."""
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = importlib.import_module(node.module)
            names = {a.asname or a.name: getattr(module, a.name) for a in node.names}
            return scope | {name: StaticValue(x) for name, x in names.items()}
        if isinstance(node, ast.For) and not node.orelse:
            for x in self.several(self.evaluated(node.iter, scope, outer, letter, depth)):
                scope = scope | _unpacked(node.target, x, self.several)
                for part in node.body:
                    scope = self._assigned(part, scope, outer, letter, depth)
            return scope
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            old = ast.Name(node.target.id, ast.Load())
            targets: list[ast.expr] = [node.target]
            value: ast.expr = ast.BinOp(old, node.op, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        else:
            raise UnsupportedError(f"{ast.unparse(node)} in a rule")
        made = self.evaluated(value, scope, outer, letter, depth)
        for target in targets:
            scope = scope | _unpacked(target, made, self.several)
        return scope

    def _either(
        self, test: Any, both: list, scope: dict, outer: dict, letter: str, depth: int
    ) -> Any:
        """Emit both branches of an if statement that return; select one result."""
        found = [self._result(branch, scope, outer, letter, depth) for branch in both]
        if any(x is None for x in found):
            raise UnsupportedError("a branch in a rule")
        values = [self.converted(self.number(x), letter) for x in found]
        return self.plain(letter, self.code.b.select(self.converted(test, "b"), *values))

    def _result(self, body: list, scope: dict, outer: dict, letter: str, depth: int) -> Any:
        """Emit statements; return what they return, or None if they do not.

        Both branches of an if statement continue with the statements behind it, so that these see
        what the branch has bound.
        """
        for k, node in enumerate(body):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.Return) and node.value is not None:
                return self.evaluated(node.value, scope, outer, letter, depth)
            if isinstance(node, ast.If):
                test = self.evaluated(node.test, scope, outer, "b", depth)
                both = [branch + body[k + 1 :] for branch in (node.body, node.orelse)]
                if isinstance(test, StaticValue):
                    return self._result(both[0 if test.x else 1], scope, outer, letter, depth)
                return self._either(test, both, scope, outer, letter, depth)
            scope = self._assigned(node, scope, outer, letter, depth)
        return None


def _unpacked(target: ast.expr, x: Any, several: Callable[[Any], tuple]) -> dict[str, Any]:
    """Bind a value to a name, or its items to the names of a tuple."""
    if isinstance(target, ast.Name):
        return {target.id: x}
    if not isinstance(target, ast.Tuple):
        raise UnsupportedError(f"{ast.unparse(target)} in a rule")
    parts = several(x)
    if len(parts) != len(target.elts):
        raise UnsupportedError(f"{ast.unparse(target)} in a rule")
    found: dict[str, Any] = {}
    for part, value in zip(target.elts, parts, strict=True):
        found |= _unpacked(part, value, several)
    return found


def dtype_of_number(x: Any) -> StaticValue:
    """Return ``getattr(x, "dtype", None)`` for a number."""
    if isinstance(x, StaticValue) or x.kind.classes <= {int, float, bool}:
        return StaticValue(None)
    if x.kind.is_array:
        return StaticValue(x.kind.dtype)
    found = {np.dtype(cls) for cls in x.kind.classes}
    if len(found) > 1 or not all(issubclass(cls, np.generic) for cls in x.kind.classes):
        raise UnsupportedError("a dtype that is not known")
    return StaticValue(found.pop())


def _folded(x: Any) -> Any:
    """Return a number with a constant value as a known value, so that tests of it are folded."""
    if not isinstance(x, Number):
        return x
    if x.letter in "id" and isinstance(x.value, ir.Constant) and len(x.kind.classes) == 1:
        (cls,) = x.kind.classes
        return StaticValue(cls(x.value.constant))
    return x
