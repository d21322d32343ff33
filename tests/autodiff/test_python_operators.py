"""The table of operators says what Python does."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from autodiff.python_operators import BINARY, COMPARISONS, PREFIXES, SIGNS, UNARY, Operator


class Names:
    """An operand that tells by which method it was reached."""

    def __bool__(self) -> bool:
        return False


def telling(name: str) -> Any:
    return type("Telling", (Names,), {f"__{name}__": lambda self, *others: name})()


@pytest.mark.parametrize("node, operator", [*BINARY.items(), *COMPARISONS.items()])
def test_between_two_operands(node: type[ast.AST], operator: Operator) -> None:
    name, function, sign = operator
    tree: Any = ast.parse(f"a {sign} b", mode="eval").body
    assert type(tree.op if isinstance(tree, ast.BinOp) else tree.ops[0]) is node
    assert eval(f"a {sign} b", {"a": telling(name), "b": 1}) == name
    assert function(telling(name), 1) == name
    assert SIGNS[function] == sign


@pytest.mark.parametrize("node, operator", UNARY.items())
def test_before_one_operand(node: type[ast.AST], operator: Operator) -> None:
    name, function, sign = operator
    tree: Any = ast.parse(f"{sign}a", mode="eval").body
    assert type(tree.op) is node
    expected = True if name == "not" else name
    assert eval(f"{sign}a", {"a": telling(name)}) == expected
    assert function(telling(name)) == expected
    assert PREFIXES[function] == sign


def test_all_operators_are_there() -> None:
    given = {*BINARY, *COMPARISONS, *UNARY, ast.In, ast.NotIn, ast.Is, ast.IsNot}
    kinds = (ast.operator, ast.cmpop, ast.unaryop)
    assert given == {cls for kind in kinds for cls in kind.__subclasses__()}
