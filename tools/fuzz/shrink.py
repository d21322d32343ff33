"""Make a failing program short: take parts of it away while it fails in the same way."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator

from tools.fuzz.judge import Outcome, judge

SECONDS = 20.0


def shrunk(source: str, seed: int, outcome: Outcome, seconds: float = SECONDS) -> str:
    """Return a shorter program that has the same outcome."""

    def fails(text: str) -> bool:
        return any(same(outcome, o) for o in judge(text, seed, (outcome.mode,)))

    return smallest(source, fails, time.monotonic() + seconds)


def same(a: Outcome, b: Outcome) -> bool:
    """Whether two programs fail alike: in kind, and by the same sort of exception."""
    return (a.kind, a.mode, first_word(a)) == (b.kind, b.mode, first_word(b))


def first_word(outcome: Outcome) -> str:
    return outcome.detail.partition(" ")[0]


def smallest(source: str, fails: Callable[[str], bool], deadline: float) -> str:
    """Return a program from which nothing more can be taken away."""
    best = ast.unparse(ast.parse(source))
    # What fills an empty array may be taken away, and then it holds anything.
    defined = best.replace("np.empty(", "np.zeros(").replace("np.empty_like(", "np.zeros_like(")
    best = defined if fails(defined) else best
    if not fails(best):
        return source
    improved = True
    while improved:
        improved = False
        skip = 0
        # What failed to help is not tried again in this round: the next try goes on behind it.
        while time.monotonic() < deadline:
            found = next(
                ((i, text) for i, text in enumerate(shorter(best)) if i >= skip and fails(text)),
                None,
            )
            if found is None:
                break
            skip, best = found
            improved = True
    return best


def shorter(source: str) -> Iterator[str]:
    """Yield programs with one part less, large parts first."""
    for change in (_less_statements, _less_arguments, _less_expressions):
        count = 0
        while True:
            tree = ast.parse(source)
            if not change(tree, count):
                break
            try:
                text = ast.unparse(ast.fix_missing_locations(tree))
            except ValueError:  # an f-string holds no expression any more
                text = source
            if len(text) < len(source) and "ARGUMENTS" in text and "program" in text:
                yield text
            count += 1


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _less_statements(tree: ast.Module, number: int) -> bool:
    """Take one statement away, or put its block in its place."""
    for block in _blocks(tree):
        for i in range(len(block) - 1, -1, -1):
            inner = getattr(block[i], "body", None)
            is_open = isinstance(inner, list) and not isinstance(block[i], ast.ClassDef)
            if number == 0:
                block[i : i + 1] = [] if len(block) > 1 else [ast.Pass()]
                return True
            if number == 1 and is_open:
                block[i : i + 1] = inner
                return True
            number -= 2 if is_open else 1
    return False


def _less_arguments(tree: ast.Module, number: int) -> bool:
    """Take an argument of the program away."""
    function = next(s for s in tree.body if getattr(s, "name", "") == "program")
    given = tree.body[-1]
    if not (isinstance(function, ast.FunctionDef) and isinstance(given, ast.Assign)):
        return False
    values = given.value
    if not isinstance(values, ast.Tuple) or number >= len(values.elts) or len(values.elts) == 1:
        return False
    del function.args.args[number], values.elts[number]
    return True


def _less_expressions(tree: ast.Module, number: int) -> bool:
    """Put a part of an expression in its place, or a number."""
    places = [
        (parent, name, i, node)
        for statement in tree.body[:-1]
        for parent in ast.walk(statement)
        for name, i, node in _expressions(parent)
    ]
    for parent, name, i, node in places:
        parts = [part for _, _, part in _expressions(node)]
        if not isinstance(node, ast.Constant):
            parts.append(ast.Constant(1.0))
        if number < len(parts):
            if i is None:
                setattr(parent, name, parts[number])
            else:
                getattr(parent, name)[i] = parts[number]
            return True
        number -= len(parts)
    return False


def _expressions(node: ast.AST) -> Iterator[tuple[str, int | None, ast.expr]]:
    """Yield the expressions directly in a node that are read, with where they stand."""
    for name, value in ast.iter_fields(node):
        values = value if isinstance(value, list) else [value]
        for i, part in enumerate(values):
            inner = part.value if isinstance(part, ast.keyword) else part
            if not isinstance(inner, ast.expr) or isinstance(part, ast.keyword):
                continue
            if isinstance(getattr(inner, "ctx", None), ast.Store):
                continue
            if isinstance(node, ast.Call) and name == "func" and not isinstance(inner, ast.Call):
                continue
            yield name, i if isinstance(value, list) else None, inner
