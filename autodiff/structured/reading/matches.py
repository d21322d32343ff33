"""Rewriting `match` to branches: patterns of constants, names, sequences, mappings and classes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.jumps import COMPOUND, classes_in, with_bodies
from autodiff.trace.sequence_patterns import SEQUENCES

_MOST_CASES, _MOST_GUARDS = 32, 4  # each guard duplicates the cases after it


def without_match(nodes: list[ast.stmt], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Replace each `match` by nested branches.

    `fresh` names variables of which only the latest binding is read.
    """
    if not any(ast.Match in classes_in(node) for node in nodes):
        return nodes
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Match):
            branches = _branches(node, fresh)
            made += [ast.fix_missing_locations(ast.copy_location(n, node)) for n in branches]
        elif isinstance(node, COMPOUND):
            made.append(with_bodies(node, lambda nodes: without_match(nodes, fresh)))
        else:
            made.append(node)
    return made


def _branches(node: ast.Match, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Return the branches of a `match`, after the assignment of its subject."""
    guards = sum(case.guard is not None for case in node.cases)
    if len(node.cases) > _MOST_CASES or guards > _MOST_GUARDS:
        raise UnsupportedError("very long")
    parts = node.subject.elts if isinstance(node.subject, ast.Tuple) else [node.subject]
    if any(isinstance(part, ast.Starred) for part in parts):
        raise UnsupportedError("* in the subject of match")
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
            _match_tuple(case.pattern, names, tests, bound, fresh)
        else:
            _match(case.pattern, ast.Name(names[0], ast.Load()), tests, bound, fresh)
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


def _match_tuple(
    pattern: ast.pattern, names: list[str], tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Add the tests and bindings of a pattern for a tuple whose parts have these names."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        if pattern.name is not None:
            whole = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
            bound.append(ast.Assign([ast.Name(pattern.name, ast.Store())], whole))
        return
    if not isinstance(pattern, ast.MatchSequence):
        raise UnsupportedError("a pattern for a tuple that is not a sequence")
    if any(isinstance(part, ast.MatchStar) for part in pattern.patterns):
        raise UnsupportedError("* in a pattern")
    if len(pattern.patterns) != len(names):
        tests.append(ast.Constant(False))
        return
    for part, name in zip(pattern.patterns, names, strict=True):
        _match(part, ast.Name(name, ast.Load()), tests, bound, fresh)


def _match(
    pattern: ast.pattern, value: ast.Name, tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Add the tests of a pattern, and what it binds if they all hold; `value` is the subject."""
    if isinstance(pattern, ast.MatchValue):
        tests.append(ast.Compare(value, [ast.Eq()], [pattern.value]))
    elif isinstance(pattern, ast.MatchSingleton) and pattern.value is None:
        tests.append(ast.Compare(value, [ast.Is()], [ast.Constant(None)]))
    elif isinstance(pattern, ast.MatchOr):
        alternatives: list[ast.expr] = []
        for part in pattern.patterns:
            own: list[ast.expr] = []
            names: list[ast.stmt] = []
            _match(part, value, own, names, fresh)
            if names or not own:
                raise UnsupportedError("an alternative pattern that binds a name")
            alternatives.append(own[0] if len(own) == 1 else ast.BoolOp(ast.And(), own))
        tests.append(ast.BoolOp(ast.Or(), alternatives))
    elif isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            _match(pattern.pattern, value, tests, bound, fresh)
        if pattern.name is not None:
            bound.append(ast.Assign([ast.Name(pattern.name, ast.Store())], value))
    elif isinstance(pattern, ast.MatchSequence):
        if any(isinstance(part, ast.MatchStar) for part in pattern.patterns):
            raise UnsupportedError("* in a pattern")
        n = ast.Constant(len(pattern.patterns))
        tests += [
            _called(isinstance, value, _constant(SEQUENCES)),
            ast.UnaryOp(ast.Not(), _called(isinstance, value, _constant(_TEXTS))),
            ast.Compare(_called(len, value), [ast.Eq()], [n]),
        ]
        for i, part in enumerate(pattern.patterns):
            item = ast.Subscript(value, ast.Constant(i), ast.Load())
            _match_part(part, item, tests, bound, fresh)
    elif isinstance(pattern, ast.MatchClass):
        _match_class(pattern, value, tests, bound, fresh)
    elif isinstance(pattern, ast.MatchMapping) and pattern.rest is None:
        tests.append(_called(isinstance, value, _constant(Mapping)))
        for key, part in zip(pattern.keys, pattern.patterns, strict=True):
            tests.append(ast.Compare(key, [ast.In()], [value]))
            _match_part(part, ast.Subscript(value, key, ast.Load()), tests, bound, fresh)
    else:
        raise UnsupportedError("this pattern of match")


def _match_class(
    pattern: ast.MatchClass, value: ast.Name, tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Add the tests and bindings of a pattern with a class."""
    tests.append(_called(isinstance, value, pattern.cls))
    names_of_places = ast.Attribute(pattern.cls, "__match_args__", ast.Load())
    for i, part in enumerate(pattern.patterns):
        name = ast.Subscript(names_of_places, ast.Constant(i), ast.Load())
        _match_part(part, _called(getattr, value, name), tests, bound, fresh)
    for attribute, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        _match_part(part, ast.Attribute(value, attribute, ast.Load()), tests, bound, fresh)


def _match_part(
    pattern: ast.pattern, part: ast.expr, tests: list[ast.expr], bound: list[ast.stmt],
    fresh: Callable[[str], str],
) -> None:  # fmt: skip
    """Add the tests of a pattern for a part of the subject, which an always true test binds."""
    name = fresh("part")
    named = ast.NamedExpr(ast.Name(name, ast.Store()), part)
    always = ast.Subscript(
        ast.Tuple([named, ast.Constant(True)], ast.Load()), ast.Constant(1), ast.Load()
    )
    tests.append(always)
    _match(pattern, ast.Name(name, ast.Load()), tests, bound, fresh)


def _constant(x: Any) -> ast.Constant:
    return ast.Constant(x)  # no literal, but this tree is never compiled


def _called(f: Callable, *args: ast.expr) -> ast.expr:
    return ast.Call(_constant(f), list(args), [])


_TEXTS = (str, bytes, bytearray)
