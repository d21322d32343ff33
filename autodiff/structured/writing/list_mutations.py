"""Mutations of lists and dicts in the forward function, which their shadows mirror."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from autodiff.structured.form.function_ir import Op, known

if TYPE_CHECKING:
    from autodiff.structured.writing.forward_writer import ForwardWriter


def write_mutation(w: ForwardWriter, op: Op, pushed: Container[str]) -> None:
    """Write a mutation of a list or dict; `pushed` are the names that the block pushes."""
    old = w.old_name(op)
    kept = old if old in pushed else None
    if op.code == "drop":
        _drop(w, op, kept)
    elif op.code == "set":
        _set(w, op, kept)
    else:
        base, value, *at = op.args
        before = "".join([f"{w.text(a)}, " for a in at])
        w.out.add(f"{w.text(base)}.{op.code}({before}{w.text_for(op)(value)})")
        if w.has_shadow(base):
            item = w.shadow_of_item(value)
            w.out.add(f"{w.shadow_forward(base)}.{op.code}({before}{item})")


def _set(w: ForwardWriter, op: Op, kept: str | None) -> None:
    """Assign an item of a list; the shadow of the list holds the shadow of an array in it."""
    base, value, at = op.args
    if base.kind.is_set:
        method = "update" if at.kind.is_set else "add"
        w.out.add(f"{w.text(base)}.{method}({w.text(at)})")
        return
    w.out.add(f"{w.text(base)}[{w.text(at)}] = {w.in_its_class(value)}")
    if value.kind.has_memory and w.has_shadow(base):
        shadow = f"{w.shadow_forward(base)}[{w.text(at)}]"
        if kept is not None:
            w.out.add(f"{kept} = {shadow}")
        w.out.add(f"{shadow} = {w.shadow_of_item(value)}")


def _drop(w: ForwardWriter, op: Op, kept: str | None) -> None:
    """Remove an item of a list or dict; the shadow of a dict of numbers keeps all keys."""
    base, at = op.args
    place = w.text(at)
    is_table = base.kind.is_table

    def dropped(xs: str) -> str:
        is_last = known(at) == -1 and not is_table
        if base.kind.is_set:
            return f"{xs}.remove({place})"
        return f"{xs}.pop()" if is_last else f"del {xs}[{place}]"

    w.out.add(dropped(w.text(base)))
    is_of_numbers = base.root.of_items is None
    if w.has_shadow(base) and not (is_table and is_of_numbers):
        shadow = w.shadow_forward(base)
        if kept is not None:
            w.out.add(f"{kept} = {shadow}[{place}]")
        w.out.add(dropped(shadow))
