"""Statements `match` as branches: patterns of constants, names, sequences and classes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.jumps import changed_inside

_MOST_CASES, _MOST_GUARDS = 32, 4  # what is behind a guard stands in both of its branches


def without_match(nodes: list[ast.stmt], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Return statements in which each `match` is a branch in a branch.

    `fresh` makes variables that are read only behind where they were bound last.
    """
    if not any(isinstance(part, ast.Match) for node in nodes for part in ast.walk(node)):
        return nodes
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Match):
            branches = _branches(node, fresh)
            made += [ast.fix_missing_locations(ast.copy_location(n, node)) for n in branches]
        elif isinstance(node, (ast.If, ast.With)):
            made.append(changed_inside(node, lambda nodes: without_match(nodes, fresh)))
        elif isinstance(node, ast.For):
            body, orelse = (without_match(part, fresh) for part in (node.body, node.orelse))
            loop: ast.stmt = ast.For(node.target, node.iter, body, orelse)
            made.append(ast.copy_location(loop, node))
        elif isinstance(node, ast.While):
            body, orelse = (without_match(part, fresh) for part in (node.body, node.orelse))
            made.append(ast.copy_location(ast.While(node.test, body, orelse), node))
        else:
            made.append(node)
    return made


def _branches(node: ast.Match, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Return what a `match` does: what it asks about is computed once."""
    guards = sum(case.guard is not None for case in node.cases)
    if len(node.cases) > _MOST_CASES or guards > _MOST_GUARDS:
        raise UnsupportedError("very long")
    parts = node.subject.elts if isinstance(node.subject, ast.Tuple) else [node.subject]
    if any(isinstance(part, ast.Starred) for part in parts):
        raise UnsupportedError("* in what match asks about")
    names = [fresh("subject") for _ in parts]
    before: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], part)
        for name, part in zip(names, parts, strict=True)
    ]
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        tests: list[ast.expr] = []
        bound: list[ast.stmt] = []
        if isinstance(node.subject, ast.Tuple):
            _read_tuple(case.pattern, names, tests, bound, fresh)
        else:
            _read(case.pattern, ast.Name(names[0], ast.Load()), tests, bound, fresh)
        body = without_match(case.body, fresh)
        if case.guard is not None:
            body = [ast.If(case.guard, body, rest)]
        rest = _chosen(tests, [*bound, *body], rest)
    return [*before, *rest]


def _chosen(tests: list[ast.expr], body: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
    if not tests:
        return body
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    return [ast.If(test, body, rest)]


def _read_tuple(
    pattern: ast.pattern, names: list[str], tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Read a pattern for a tuple of which each part has a name."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        if pattern.name is not None:
            whole = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
            bound.append(ast.Assign([ast.Name(pattern.name, ast.Store())], whole))
        return
    if not isinstance(pattern, ast.MatchSequence):
        raise UnsupportedError("a pattern that is no tuple, for a tuple")
    if any(isinstance(part, ast.MatchStar) for part in pattern.patterns):
        raise UnsupportedError("* in a pattern")
    if len(pattern.patterns) != len(names):
        tests.append(ast.Constant(False))
        return
    for part, name in zip(pattern.patterns, names, strict=True):
        _read(part, ast.Name(name, ast.Load()), tests, bound, fresh)


def _read(
    pattern: ast.pattern, value: ast.Name, tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Read a pattern for what has a name: what is tested, and bound if all tests are true."""
    if isinstance(pattern, ast.MatchValue):
        tests.append(ast.Compare(value, [ast.Eq()], [pattern.value]))
    elif isinstance(pattern, ast.MatchSingleton) and pattern.value is None:
        tests.append(ast.Compare(value, [ast.Is()], [ast.Constant(None)]))
    elif isinstance(pattern, ast.MatchOr):
        ways: list[ast.expr] = []
        for part in pattern.patterns:
            own: list[ast.expr] = []
            names: list[ast.stmt] = []
            _read(part, value, own, names, fresh)
            if names or not own:
                raise UnsupportedError("a pattern of several that binds a name")
            ways.append(own[0] if len(own) == 1 else ast.BoolOp(ast.And(), own))
        tests.append(ast.BoolOp(ast.Or(), ways))
    elif isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            _read(pattern.pattern, value, tests, bound, fresh)
        if pattern.name is not None:
            bound.append(ast.Assign([ast.Name(pattern.name, ast.Store())], value))
    elif isinstance(pattern, ast.MatchSequence):
        if any(isinstance(part, ast.MatchStar) for part in pattern.patterns):
            raise UnsupportedError("* in a pattern")
        n = ast.Constant(len(pattern.patterns))
        tests += [
            _called(isinstance, value, _constant(Sequence)),
            ast.UnaryOp(ast.Not(), _called(isinstance, value, _constant(_TEXTS))),
            ast.Compare(_called(len, value), [ast.Eq()], [n]),
        ]
        for i, part in enumerate(pattern.patterns):
            item = ast.Subscript(value, ast.Constant(i), ast.Load())
            _read_part(part, item, tests, bound, fresh)
    elif isinstance(pattern, ast.MatchClass):
        tests.append(_called(isinstance, value, pattern.cls))
        names_of_places = ast.Attribute(pattern.cls, "__match_args__", ast.Load())
        for i, part in enumerate(pattern.patterns):
            name = ast.Subscript(names_of_places, ast.Constant(i), ast.Load())
            _read_part(part, _called(getattr, value, name), tests, bound, fresh)
        for attribute, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            found = ast.Attribute(value, attribute, ast.Load())
            _read_part(part, found, tests, bound, fresh)
    else:
        raise UnsupportedError("this pattern of match")


def _read_part(
    pattern: ast.pattern, part: ast.expr, tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Read a pattern for a part of what is asked about, which gets a name between the tests."""
    name = fresh("part")
    named = ast.NamedExpr(ast.Name(name, ast.Store()), part)
    always = ast.Subscript(
        ast.Tuple([named, ast.Constant(True)], ast.Load()), ast.Constant(1), ast.Load()
    )
    tests.append(always)
    _read(pattern, ast.Name(name, ast.Load()), tests, bound, fresh)


def _constant(x: Any) -> ast.Constant:
    return ast.Constant(x)  # no source has it, but this one is only read


def _called(f: Callable, *args: ast.expr) -> ast.expr:
    return ast.Call(_constant(f), list(args), [])


_TEXTS = (str, bytes, bytearray)
