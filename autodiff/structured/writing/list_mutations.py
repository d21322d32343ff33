"""Mutations of lists and dicts in generated source, also those that their shadows get."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from autodiff.structured.form.function_ir import Op, known

if TYPE_CHECKING:
    from autodiff.structured.writing.forward_writer import ForwardWriter


def mutation(op: Op, xs: str, item: str, at: str) -> str:
    """Return the statement that does to `xs` what an operation does to a list, dict or set.

    `item` is what it puts there, and `at` the index or key.
    """
    kind = op.args[0].kind
    if kind.is_set:
        added = "update" if op.args[-1].kind.is_set else "add"
        return f"{xs}.{'remove' if op.code == 'drop' else added}({at})"
    if op.code == "drop":
        is_last = known(op.args[1]) == -1 and not kind.is_table
        return f"{xs}.pop()" if is_last else f"del {xs}[{at}]"
    if op.code == "set":
        return f"{xs}[{at}] = {item}"
    return f"{xs}.{op.code}({f'{at}, {item}' if at else item})"


def write_mutation(w: ForwardWriter, op: Op, pushed: Container[str]) -> None:
    """Write a mutation of a list or dict; `pushed` are the names that the block pushes."""
    base, *rest = op.args
    value = None if op.code == "drop" else rest.pop(0)
    at, old = "".join(map(w.text, rest)), w.old_name(op)
    w.out.add(mutation(op, w.text(base), "" if value is None else w.in_its_class(value), at))
    if not w.has_shadow(base) or not _changes_shadow(op):
        return
    shadow = w.shadow_forward(base)
    if old in pushed:
        w.out.add(f"{old} = {shadow}[{at}]")
    w.out.add(mutation(op, shadow, "" if value is None else w.shadow_of_item(value), at))


def _changes_shadow(op: Op) -> bool:
    """Whether a mutation changes the shadow: that of a dict of numbers keeps all keys."""
    base = op.args[0]
    if op.code == "set":
        return op.args[1].kind.has_memory
    return not (op.code == "drop" and base.kind.is_table and base.root.of_items is None)
