"""Python's operators: the node of each in a syntax tree, its method, its function, its sign."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Operator(NamedTuple):
    """One operator.

    Attributes
    ----------
    name : str
        That of its special method, without underscores: ``add``.
    function : callable
        What the module `operator` has for it.
    sign : str
        What stands for it in source.
    """

    name: str
    function: Callable
    sign: str


def _table(rows: dict[Any, tuple[str, str]]) -> Mapping[type[ast.AST], Operator]:
    return {
        node: Operator(name, getattr(operator, f"__{name}__"), sign)
        for node, (name, sign) in rows.items()
    }


ARITHMETIC = _table({
    ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"),
    ast.Div: ("truediv", "/"), ast.FloorDiv: ("floordiv", "//"), ast.Mod: ("mod", "%"),
    ast.Pow: ("pow", "**"), ast.MatMult: ("matmul", "@"),
})  # fmt: skip
"""Operators between numbers or arrays, by their nodes."""
OF_BITS = _table({
    ast.LShift: ("lshift", "<<"), ast.RShift: ("rshift", ">>"), ast.BitAnd: ("and", "&"),
    ast.BitOr: ("or", "|"), ast.BitXor: ("xor", "^"),
})  # fmt: skip
BINARY: Mapping[type[ast.AST], Operator] = {**ARITHMETIC, **OF_BITS}
COMPARISONS = _table({
    ast.Lt: ("lt", "<"), ast.LtE: ("le", "<="), ast.Eq: ("eq", "=="), ast.NotEq: ("ne", "!="),
    ast.Gt: ("gt", ">"), ast.GtE: ("ge", ">="),
})  # fmt: skip
UNARY = _table({
    ast.USub: ("neg", "-"), ast.UAdd: ("pos", "+"), ast.Invert: ("invert", "~"),
    ast.Not: ("not", "not "),
})  # fmt: skip

SIGNS: Mapping[Any, str] = {o.function: o.sign for o in (*BINARY.values(), *COMPARISONS.values())}
"""What stands between two operands, by the functions."""
PREFIXES: Mapping[Any, str] = {o.function: o.sign for o in UNARY.values()}
"""What stands before one operand, by the functions."""
