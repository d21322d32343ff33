"""Expressions of several elementwise operations, which rewritten code evaluates as one.

``f * c + i * g`` becomes ``expressions[7](lambda p0, p1, p2, p3: add(mul(p0, p1), mul(p2, p3)), f,
c, i, g)``. At first this counts the calls and evaluates the function that it is given, the
expression as it would be rewritten without fusion. After some calls it is code for values of these
types (:mod:`autodiff.fastpath.fusion`), which computes the same numbers and records one value.

What stands in an expression is evaluated before its first operation: names and constants always,
any other part only where no operation comes before it, so nothing is seen in another order. A
subscript behind an operation, ``2 * u[1:-1]``, is left to the functions: the generic one reads it
in its turn, the code for given types reads arrays alone, where the order makes no difference.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import dispatch_cache
from autodiff.fastpath.fusion.expression_ir import ExpressionStep, Operand, Steps
from autodiff.intercept.runtime import call_site_cache
from autodiff.intercept.source.ast_helpers import (
    called,
    copied,
    entry,
    helper,
    index_of,
    located,
    named,
)
from autodiff.intercept.source.name_bindings import dotted
from autodiff.python_operators import BINARY
from autodiff.trace.tape import Forward
from autodiff.trace.tracer import Tracer
from chainrules_core.rule import Rule

_JOINED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_MOST_LEAVES = 16
_MOST_STEPS = 32


@dataclass
class Expression:
    """A tree of operations, from the leaves on; the last one is its value."""

    leaves: list[ast.expr] = field(default_factory=list)
    steps: list[ExpressionStep] = field(default_factory=list)


class _NotOneError(Exception):
    """A part of it must not be evaluated before what stands in front of it."""


class Finder:
    """Finds the operations of an expression.

    Parameters
    ----------
    integers : container
        The nodes that are integers for certain, and cost nothing to look at.
    local : set of str
        The names that are not looked up outside.
    outside : dict
        The globals of the function.
    """

    def __init__(self, integers: Any, local: set[str], outside: dict[str, Any]) -> None:
        self.integers = integers
        self.local = local
        self.outside = outside
        self._sizes: dict[ast.AST, int] = {}

    def find(self, node: ast.expr) -> tuple[Expression, ast.expr] | None:
        """Return an expression, and the syntax of its generic form; None if it is none."""
        if self._size(node) > _MOST_STEPS:
            return None
        self.made = Expression()
        self._names: dict[str, int] = {}
        try:
            _, generic = self._operand(node)
        except _NotOneError:
            return None
        if len(self.made.steps) < 2 or len(self.made.leaves) > _MOST_LEAVES:
            return None
        return self.made, generic

    def _size(self, node: ast.AST) -> int:
        """Return how many operations there are at most, so that none is looked at too often."""
        known = self._sizes.get(node)
        if known is None:
            parts: list[ast.expr] = []
            if isinstance(node, ast.BinOp):
                parts = [node.left, node.right]
            elif isinstance(node, ast.UnaryOp):
                parts = [node.operand]
            elif isinstance(node, ast.Call):
                parts = node.args
            known = self._sizes[node] = bool(parts) + sum(map(self._size, parts))
        return known

    def _operand(self, node: ast.expr) -> tuple[Operand, ast.expr]:
        number = _number(node)
        if number is not None:
            return Operand("number", number), copied(node)
        if isinstance(node, ast.Name):
            return self._leaf(node, node.id)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and node in self.integers:
            return self._leaf(node, None)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _JOINED):
            if not isinstance(node.left, ast.Constant) or not isinstance(node.right, ast.Constant):
                return self._binary(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand, generic = self._operand(node.operand)
            made = located(called("neg", [generic]), node)
            return self._step(ExpressionStep(operator.neg, (operand,))), made
        elif isinstance(node, ast.Call) and not node.keywords and 1 <= len(node.args) <= 2:
            found = self._called(node)
            if found is not None:
                return found
        if self.made.steps:
            return self._item(node)
        self._names.clear()  # it may bind a name anew
        return self._leaf(node, None)

    def _item(self, node: ast.expr) -> tuple[Operand, ast.expr]:
        """Return a subscript that is read in its turn."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            raise _NotOneError
        if not self._is_index(node.slice):
            raise _NotOneError
        owner, held = self._leaf(node.value, node.value.id)
        index, at = self._leaf(index_of(node.slice), None)
        generic = located(called("item", [held, at]), node)
        return Operand("item", (owner.value, index.value)), generic

    def _is_index(self, node: ast.expr | None) -> bool:
        """Whether an index consists of names, integers and slices of them."""
        if isinstance(node, ast.Slice):
            return all(map(self._is_index, (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return all(map(self._is_index, node.elts))
        if isinstance(node, ast.Name):
            return True
        return node is None or isinstance(node, ast.Constant) or node in self.integers

    def _leaf(self, node: ast.expr, name: str | None) -> tuple[Operand, ast.expr]:
        place = None if name is None else self._names.get(name)
        if place is None:
            place = len(self.made.leaves)
            self.made.leaves.append(node)
            if name is not None:
                self._names[name] = place
        return Operand("leaf", place), located(named(parameter(place)), node)

    def _step(self, step: ExpressionStep) -> Operand:
        self.made.steps.append(step)
        return Operand("step", len(self.made.steps) - 1)

    def _binary(self, node: ast.BinOp) -> tuple[Operand, ast.expr]:
        name, f, _ = BINARY[type(node.op)]
        left, generic_left = self._operand(node.left)
        right, generic_right = self._operand(node.right)
        made = located(called(name, [generic_left, generic_right]), node)
        return self._step(ExpressionStep(f, (left, right))), made

    def _called(self, node: ast.Call) -> tuple[Operand, ast.expr] | None:
        """Return the call of an elementwise function; None if it is not seen to be one."""
        function = node.func
        if any(isinstance(a, ast.Starred) for a in node.args):
            return None
        name = dotted(function)
        if name is None:
            return None
        first, *rest = name.split(".")
        attribute = None
        if first not in self.local:
            f = call_site_cache.value_of(name, self.outside)
            if not _is_elementwise(f, len(node.args)):
                return None
            operand, generic = self._leaf(function, name)
        else:
            if len(rest) != 1 or rest[0] in call_site_cache.METHODS:
                return None
            attribute = rest[0]
            f = getattr(np, attribute, None)
            if not _is_elementwise(f, len(node.args)):
                return None
            owner: Any = function
            operand, held = self._leaf(owner.value, first)
            generic = located(ast.Attribute(held, attribute, ast.Load()), function)
        seen = located(called("intercept", [generic]), function)
        found = [self._operand(a) for a in node.args]
        made = ast.copy_location(ast.Call(seen, [g for _, g in found], []), node)
        step = ExpressionStep(f, tuple([o for o, _ in found]), operand.value, attribute)
        return self._step(step), made


def _number(node: ast.expr) -> float | None:
    """Return a number that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand) if isinstance(node.operand, ast.Constant) else None
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value] # one of these
    return None


def _is_elementwise(f: Any, n: int) -> bool:
    if isinstance(f, np.ufunc):
        return f.nin == n and f.nout == 1 and f.signature is None
    return callable(f) and getattr(math, getattr(f, "__name__", ""), None) is f and n == 1


def parameter(i: int) -> str:
    """Return what a leaf is called in the generic form."""
    return helper(f"leaf_{i}")


def is_generic(code: Any) -> bool:
    """Whether code is the generic form of an expression, which the user has not written."""
    return code.co_varnames[:1] == (parameter(0),)


def written(
    found: Expression,
    generic: ast.expr,
    leaves: list[ast.expr],
    node: ast.AST,
    namespace: dict[str, Any],
) -> Any:
    """Return the syntax that stands for an expression, with a place of its own in `table`."""
    site = Site(found.steps)  # the syntax is not kept
    if caches.is_of_module(namespace):
        _of_modules.setdefault(id(namespace), []).append(site)
    parameters = [ast.arg(parameter(i)) for i in range(len(leaves))]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    held = entry("expressions", ast.Constant(site.place))
    return located(ast.Call(held, [ast.Lambda(arguments, generic), *leaves], []), node)


# -------------------------------------------------------------------------------- while it runs

_adding = threading.RLock()
table: list[Callable] = []
"""What is called for each expression: with its generic form, and its leaves."""
_all: list[Site] = []
_of_modules: dict[int, list[Site]] = {}


def _forget_module(key: int, name: str) -> None:
    """Leave the expressions of a module that is gone to their generic forms.

    Their places are not given to others: a function of the module may still be called.
    """
    gone = _of_modules.pop(key, ())
    for site in gone:
        table[site.place] = operator.call
    ended = set(map(id, gone))
    with _adding:
        _all[:] = [site for site in _all if id(site) not in ended]


caches.on_module_end(_forget_module)
generate_fused_code: Any = None


def connect(generate_fused_code: Callable) -> None:
    """Put in what writes the code for leaves of given types, or declines; see autodiff.wiring."""
    globals().update(generate_fused_code=generate_fused_code)


_MOST_KINDS = 8


class Site:
    """An expression in rewritten code.

    Attributes
    ----------
    known : dict
        Types of the leaves → what is called for them.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.calls = 0
        self.known: dict[tuple, Callable] = {}
        self.levels: dict[tuple, Callable] = {}
        with _adding:  # functions are rewritten by several threads
            self.place = len(table)
            table.append(self.count)
            _all.append(self)

    def count(self, generic: Callable, *leaves: Any) -> Any:
        """Evaluate the generic form; after some calls have code written for the types."""
        self.calls += 1
        if self.calls >= dispatch_cache.OFTEN:
            table[self.place] = _looking(len(leaves))(self.known, self.learn)
        return generic(*leaves)

    def learn(self, generic: Callable, *leaves: Any) -> Any:
        """Have the code written for leaves of these types, and evaluate the expression."""
        if any(map(is_of_levels, leaves)):
            return self.on_levels(generic, *leaves)
        if len(self.known) < _MOST_KINDS:
            self._write(self.known, leaves, self.on_levels)
        elif all(way is operator.call for way in self.known.values()):
            table[self.place] = operator.call
            self.known.clear()
        return generic(*leaves)

    def on_levels(self, generic: Callable, *leaves: Any) -> Any:
        """Evaluate the expression for leaves of other levels than one tape."""
        way = self.levels.get(tuple(map(type, leaves)))
        if way is not None:
            return way(generic, *leaves)
        if any(map(is_of_levels, leaves)) and len(self.levels) < _MOST_KINDS:
            self._write(self.levels, leaves, None)
        return generic(*leaves)

    def _write(self, ways: dict, leaves: tuple, on_levels: Callable | None) -> None:
        """Have code written for these types; calling ``leave`` drops it where it does not pay."""
        kinds = tuple(map(type, leaves))

        def leave() -> None:
            ways[kinds] = operator.call

        way = generate_fused_code(self.steps, leaves, leave, on_levels)
        ways[kinds] = operator.call if way is None else way

    def forget(self) -> None:
        """Begin anew, after a change of the rules."""
        self.known.clear()
        self.levels.clear()
        self.calls = 0
        table[self.place] = self.count


def is_of_levels(x: Any) -> bool:
    """Whether a value is traced on a forward level, or on a tape over one level more."""
    return type(x) is Tracer and (type(x._tape) is Forward or type(x._value) is Tracer)


_LOOKING = """
def make(known, learn):
    def looking(generic, {leaves}):
        way = known.get(({types}))
        return learn(generic, {leaves}) if way is None else way(generic, {leaves})
    return looking
"""


@functools.lru_cache(maxsize=64)
def _looking(n: int) -> Callable:
    leaves = ", ".join(f"a{i}" for i in range(n))
    types = "".join(f"type(a{i}), " for i in range(n))
    return dispatch_cache.define("make", _LOOKING.format(leaves=leaves, types=types), {})


def _forget(rule: Rule) -> None:
    for site in _all:
        if site.calls:
            site.forget()


caches.on_rule_change(_forget)
