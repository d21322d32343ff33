"""F-strings in rewritten code: calls, so that the text of a traced value is marked as one."""

from __future__ import annotations

import ast
from collections.abc import Callable

from autodiff.intercept.source.ast_helpers import called, helper, located

JOINED = helper("joined")
SOURCE_TEXT = helper("source_text")
FORMATTED = helper("formatted")


def as_call(visit: Callable, node: ast.JoinedStr) -> ast.expr:
    """Return an f-string as a call of `joined`; `visit` rewrites the expressions in it."""
    parts: list[ast.expr] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            form = part.format_spec
            spec = ast.Constant("") if form is None else as_call(visit, form)  # type: ignore[arg-type] # a spec is an f-string
            arguments = [visit(part.value), ast.Constant(part.conversion), spec]
            part = located(called(FORMATTED, arguments), part.value)
        parts.append(part)
    return located(called(JOINED, parts), node)
