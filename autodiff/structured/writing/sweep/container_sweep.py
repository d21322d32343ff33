"""Code generation of the reverse sweep of lists and dicts in memory."""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import Op, known
from autodiff.structured.writing.activity import is_active


def write_list(s: Any, op: Op) -> None:
    """Undo the mutation of a list in its shadow, which gets the length of the list before."""
    e = s.e
    if op.code == "drop":
        _put_back(s, op)
        return
    base, value, *at = op.args
    if not e.has_shadow(base):
        return
    s.deferred.flush_all()
    shadow = e.shadow(base)
    is_number = value.kind.is_scalar and is_active(value)
    if op.code == "append":
        text = f"{shadow}.pop()"
    elif op.code == "insert":
        text = f"taken_out({shadow}, {e.need(at[0])})"
    else:
        text = f"{shadow}[{e.index(op.data, [e.need(a) for a in at])}]"
    if is_number:
        s.add_to(value, text)
    if op.code == "set" and value.kind.has_memory:
        old = e.old_name(op)
        e.tape_reads[old] = old
        s.out.add(f"{text} = {old}")
    elif op.code == "set":
        s.out.add(f"{text} = 0.0")
    elif not is_number:
        s.out.add(text)


def _put_back(s: Any, op: Op) -> None:
    """Insert the shadow of a removed item again, which has no cotangent from later."""
    e = s.e
    base, at = op.args
    is_of_numbers = base.root.of_items is None
    if not e.has_shadow(base) or (base.kind.is_table and is_of_numbers):
        return
    s.deferred.flush_all()
    shadow, item = e.shadow(base), "0.0"
    if not is_of_numbers:
        item = e.old_name(op)
        e.tape_reads[item] = item
    if base.kind.is_table:
        s.out.add(f"{shadow}[{e.need(at)}] = {item}")
    elif known(at) == -1:
        s.out.add(f"{shadow}.append({item})")
    else:
        s.out.add(f"put_back({shadow}, {e.need(at)}, {item})")


def sweep_display(s: Any, op: Op, shadow: str) -> None:
    """Add the cotangents of the items of a list or dict display to those of the numbers."""
    is_repeated = op.code == "list" and op.data
    items = op.args[:-1] if is_repeated else op.args
    keys = op.data if op.code == "dict" else range(len(items))
    for key, part in zip(keys, items, strict=True):
        if is_active(part) and part.kind.is_scalar:
            repeated = f"sum({shadow}[{key}::{len(items)}])"
            s.add_to(part, repeated if is_repeated else f"{shadow}[{key!r}]")
