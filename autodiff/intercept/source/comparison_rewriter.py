"""Rewrite comparisons: classes may define ``<`` and ``in``, and ``is`` must see the values."""

from __future__ import annotations

import ast

from autodiff.intercept.source.ast_helpers import called, copied, helper, located, named
from autodiff.intercept.source.integer_inference import IntegerNames
from autodiff.python_operators import COMPARISONS
from autodiff.trace.sequence_patterns import ARRAYS_MATCH, NoTracedNumber

_IDENTITY = (ast.Is, ast.IsNot)


class ComparisonRewriter(ast.NodeTransformer):
    """The part of the rewriter for comparisons and patterns."""

    integers: IntegerNames

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Split a chain of comparisons if its middle operands may be evaluated twice."""
        sides = [node.left, *node.comparators]
        middle = sides[1:-1]
        if not all(isinstance(s, (ast.Name, ast.Constant)) for s in middle):
            seen = _seen_by_identity(sides, node.ops)
            new = [
                located(called("alone", [self.visit(s)]), s) if by_identity else self.visit(s)
                for s, by_identity in zip(sides, seen, strict=True)
            ]
            return ast.copy_location(ast.Compare(new[0], node.ops, new[1:]), node)
        made = [
            self._compared(a, op, b, node)
            for a, op, b in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return made[0] if len(made) == 1 else located(ast.BoolOp(ast.And(), made), node)

    def _compared(self, a: ast.expr, op: ast.cmpop, b: ast.expr, node: ast.Compare) -> ast.expr:
        left, right = self.visit(copied(a)), self.visit(copied(b))
        if any(_seen_by_identity([a, b], [op])):
            same: ast.expr = called("same", [left, right])
            return located(same if isinstance(op, ast.Is) else ast.UnaryOp(ast.Not(), same), node)
        if type(op) in COMPARISONS and not (a in self.integers and b in self.integers):
            return located(called(COMPARISONS[type(op)].name, [left, right]), node)
        if not isinstance(op, (ast.In, ast.NotIn)):
            return located(ast.Compare(left, [op], [right]), node)
        # The container stands on the right, but the value is evaluated first.
        found: ast.expr = called("contains", [left, right])
        if isinstance(op, ast.NotIn):
            found = ast.UnaryOp(ast.Not(), found)
        return located(found, node)

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """``case True`` compares by identity, where no call can be put in."""
        subject = self.visit(node.subject)
        patterns = [p for case in node.cases for p in ast.walk(case.pattern)]
        if any(isinstance(p, ast.MatchSingleton) and p.value is not None for p in patterns):
            subject = located(called("matched", [subject]), subject)
        node.subject = subject
        node.cases = [self.visit(case) for case in node.cases]
        return node


class _SequencePatterns(ast.NodeTransformer):
    def visit_MatchSequence(self, node: ast.MatchSequence) -> ast.AST:
        self.generic_visit(node)
        of = named(helper(NoTracedNumber.__name__))
        return ast.copy_location(ast.MatchClass(of, [node], [], []), node)


def without_numbers(pattern: ast.pattern) -> ast.pattern:
    """Return a pattern whose sequence patterns match no traced number, if arrays match them."""
    return _SequencePatterns().visit(pattern) if ARRAYS_MATCH else pattern


def _seen_by_identity(sides: list[ast.expr], ops: list[ast.cmpop]) -> list[bool]:
    """Return which operands of a comparison ``is`` compares.

    Not where the other operand is None or ``...``: no traced value stands for one of these.
    """
    seen = [False] * len(sides)
    for i, op in enumerate(ops):
        pair = sides[i], sides[i + 1]
        if isinstance(op, _IDENTITY) and not any(
            isinstance(s, ast.Constant) and s.value in (None, ...) for s in pair
        ):
            seen[i] = seen[i + 1] = True
    return seen
