"""Find every statement of the packages that raises one of their errors, or gives a warning.

Read from the source: each ``raise`` whose exception is a class derived from `ChainRulesError` (or
one of the testing kit's failures), or a function that returns one; and each ``warnings.warn``.
Exceptions that stay inside the packages (control flow) and Python's own, raised where NumPy or
SciPy would raise them, are not listed, nor are those of the adapters for other systems, which
need these to be raised.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from chainrules_core import ChainRulesError, NotImplementedTangent
from chainrules_core.testing.failures import RuleCheckError, TangentMismatchError

ROOT = Path(__file__).parents[2]
PACKAGES = ("chainrules_core", "chainrules", "autodiff")
_PUBLIC = (ChainRulesError, RuleCheckError, TangentMismatchError, Warning)


class Site(NamedTuple):
    """One statement that raises: where it stands, and what it raises."""

    file: str
    function: str
    number: int
    """Which one it is among those of its function, from 0."""
    first: int
    last: int
    kind: str

    @property
    def name(self) -> str:
        """Return a name that survives edits elsewhere in the file."""
        return f"{self.file}:{self.function}:{self.number}"


_OF_OTHERS = (
    "dask_data", "declared_outputs", "hips_autograd", "jax_calls", "jax_functions",
    "jax_primitives", "nutpie_models", "pandas_columns", "pandas_windows", "pytensor_ops",
    "pytorch",
)  # fmt: skip


def sites() -> list[Site]:
    """Return every site of the packages, in reading order."""
    paths = [
        path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.stem not in _OF_OTHERS
    ]
    return [site for path in paths for site in _of_file(path)]


def _of_file(path: Path) -> Iterator[Site]:
    text = path.read_text(encoding="utf-8")
    if "raise " not in text and "warnings.warn" not in text:
        return
    relative = path.relative_to(ROOT)
    name = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
    namespace = vars(importlib.import_module(name))
    counts: dict[str, int] = {}
    for node, function in _raising(ast.parse(text), ""):
        kind = _kind(node, namespace)
        if kind:
            number = counts.get(function, 0)
            counts[function] = number + 1
            yield Site(
                str(relative), function, number, node.lineno, node.end_lineno or node.lineno, kind
            )


def _raising(node: ast.AST, function: str) -> Iterator[tuple[ast.stmt, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):  # there are no statements in it
            continue
        inner = function
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inner = f"{function}.{child.name}" if function else child.name
        if isinstance(child, (ast.Raise, ast.Expr)):
            yield child, function
        yield from _raising(child, inner)


def _kind(node: Any, namespace: dict[str, Any]) -> str:
    """Return the name of the class that a statement raises or warns with; "" for all others."""
    if isinstance(node, ast.Expr):
        call = node.value
        is_warning = isinstance(call, ast.Call) and ast.unparse(call.func) == "warnings.warn"
        category = call.args[1] if is_warning and len(call.args) > 1 else None  # type: ignore[attr-defined]
        return ast.unparse(category) if category is not None else ""
    is_called = isinstance(node.exc, ast.Call)
    raised = node.exc.func if is_called else node.exc
    made = _resolved(raised, namespace) if raised is not None else None
    if isinstance(made, types.FunctionType) and is_called:
        returned = str(inspect.signature(made).return_annotation).strip("'")
        made = _resolved(ast.parse(returned, mode="eval").body, made.__globals__)
    return made.__name__ if isinstance(made, type) and issubclass(made, _PUBLIC) else ""


def _resolved(node: ast.expr, namespace: dict[str, Any]) -> Any:
    """Return what an expression stands for at the top of its module; None if it is local there."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _resolved(node.value, namespace)
    if owner is not None:
        return getattr(owner, node.attr, None)
    # A method of an object: of a class in this module, or of a tangent.
    classes = [*namespace.values(), NotImplementedTangent]
    methods = [vars(c).get(node.attr) for c in classes if isinstance(c, type)]
    return next((m for m in methods if isinstance(m, types.FunctionType)), None)
