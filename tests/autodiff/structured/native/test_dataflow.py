"""Liveness of names in nests of loops: by definition, and in a time that depth does not raise."""

import ast
import random

import pytest

from autodiff.structured.native.dataflow import Escapes, Liveness, loaded, stored

NAMES = "abcdefgh"


def expression(chosen: random.Random) -> str:
    return f"{chosen.choice(NAMES)} + {chosen.choice(NAMES)}"


def statements(chosen: random.Random, depth: int, in_loop: bool = False) -> list[str]:
    lines: list[str] = []
    for _ in range(chosen.randint(1, 4)):
        way, test = chosen.random(), f"if {expression(chosen)}:"
        if depth and way < 0.3:
            lines.append(f"for {chosen.choice(NAMES)} in {chosen.choice(NAMES)}:")
            lines += [f" {x}" for x in statements(chosen, depth - 1, True)]
        elif depth and way < 0.45:
            lines += ["while True:", *[f" {x}" for x in statements(chosen, depth - 1, True)]]
            lines += [f" {test} break"]
        elif depth and way < 0.6:
            for head in (test, "else:"):
                lines += [head, *[f" {x}" for x in statements(chosen, depth - 1, in_loop)]]
        elif in_loop and way < 0.65:
            lines.append(f"{test} break")
        elif way < 0.75:
            lines.append(f"{chosen.choice(NAMES)} += {expression(chosen)}")
        else:
            lines.append(f"{chosen.choice(NAMES)} = {expression(chosen)}")
    return lines


def function(lines: list[str]) -> ast.FunctionDef:
    (node,) = ast.parse("\n".join(["def f():", *[f" {x}" for x in lines]])).body
    assert isinstance(node, ast.FunctionDef)
    return node


class ByDefinition:
    """All equations at once, again and again until none of the sets grows."""

    def __init__(self, node: ast.FunctionDef) -> None:
        self.after: dict[int, set[str]] = {}
        self.heads: dict[ast.stmt, set[str]] = {}
        while True:
            before = str([self.after, sorted(map(sorted, self.heads.values()))])
            self.body(node.body, set(), set())
            if str([self.after, sorted(map(sorted, self.heads.values()))]) == before:
                break

    def body(self, body: list[ast.stmt], live: set[str], at_exit: set[str]) -> set[str]:
        for node in reversed(body):
            self.after.setdefault(node.lineno, set()).update(live)
            live = self.statement(node, set(live), at_exit)
        return live

    def statement(self, node: ast.stmt, live: set[str], at_exit: set[str]) -> set[str]:
        if isinstance(node, ast.Break):
            return at_exit
        if isinstance(node, ast.If):
            ends = [self.body(part, live, at_exit) for part in (node.body, node.orelse)]
            return ends[0] | ends[1] | set(loaded(node.test))
        if isinstance(node, ast.While):
            head = self.heads.setdefault(node, set())
            head |= self.body(node.body, set(head), live)
            return set(head)
        if isinstance(node, ast.For):
            head = self.heads.setdefault(node, set())
            head |= live
            head |= self.body(node.body, set(head), live) - set(stored(node.target))
            return head | set(loaded(node.iter))
        return (live - set(stored(node))) | set(loaded(node))


@pytest.mark.parametrize("seed", range(40))
def test_liveness_is_that_of_the_definition(seed: int) -> None:
    node = function([*statements(random.Random(seed), 4), "return a"])
    assert Liveness(node).after == ByDefinition(node).after


def test_deep_nests_take_no_exponential_time() -> None:
    depth = 40
    loops = [" " * k + f"for i{k} in n:" for k in range(depth)]
    after = Liveness(function([*loops, " " * depth + "x = x + y", "return x"])).after
    assert after[depth + 2] == {"x", "y", "n"}


@pytest.mark.parametrize("seed", range(30))
def test_names_read_and_bound_are_those_in_the_source(seed: int) -> None:
    tree = ast.parse("\n".join(["a += b", *statements(random.Random(seed), 3)]))
    for node in ast.walk(tree):
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        sums = [part for part in ast.walk(node) if isinstance(part, ast.AugAssign)]
        read = [n.id for n in names if isinstance(n.ctx, ast.Load)] + [s.target.id for s in sums]
        assert sorted(loaded(node)) == sorted(read)
        assert sorted(stored(node)) == sorted(
            n.id for n in names if not isinstance(n.ctx, ast.Load)
        )


@pytest.mark.parametrize("seed", range(30))
def test_escapes_are_those_of_the_definition(seed: int) -> None:
    chosen = random.Random(seed)
    names = [f"x{k}" for k in range(12)]
    pairs = [chosen.sample(names, 2) for _ in range(15)]
    views = [chosen.random() < 0.7 for _ in pairs]
    lines = [
        f"{x} = {y}[1:]" if is_view else f"{x} = {y} + 1.0"
        for (x, y), is_view in zip(pairs, views, strict=True)
    ]
    pushed, read_later = chosen.sample(names, 2)
    body = function([*lines, f"push({pushed})"]).body
    escapes = Escapes(body, set(), {}, set())
    for on_tape in (True, False):
        expected = {pushed} if on_tape else set()
        expected |= {x for x, _ in pairs if x == read_later}
        for _ in names:
            expected |= {
                y for (x, y), is_view in zip(pairs, views, strict=True) if is_view and x in expected
            }
        assert escapes.of({read_later}, on_tape) == expected
