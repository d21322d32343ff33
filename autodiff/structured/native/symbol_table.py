"""The symbol table of the generated source: kinds, alias sets and static layouts of names."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import (
    WRITES,
    For,
    FunctionIR,
    Memory,
    Slot,
    Value,
    While,
    blocks_of,
    nodes_of,
)
from autodiff.structured.form.indices import region_of
from autodiff.structured.form.kinds import ANYTHING, BOOL, INT, Kind
from autodiff.structured.native.lowered_values import (
    Contents,
    DictType,
    ItemType,
    TableType,
    cotangent_kind,
    is_word,
)
from autodiff.structured.writing.rules.native_calls import factors_of

_INTEGERS = frozenset([int, np.int64])


class SymbolTable:
    """The symbol table of a program.

    Attributes
    ----------
    kinds : dict
        Name → kind.
    results : dict
        Name of the result of an operation → kind, with the axes that have length 1.
    alias_sets : dict
        Name of an array → its alias set: the root of its `Memory`, or another object.
    variables : set of str
        Names that are read in other blocks than the one that binds them.
    dense : dict
        Name of an array → the axis that is known to be contiguous.
    unit_axes : dict
        Name of an argument → the axes that had length 1 in all runs. Only these are broadcast.
    inferred_unit_axes : dict
        Name of a variable → the axes of length 1 that follow from the operations.
    pushed_unit_axes : dict
        Name → the axes of length 1 of the arrays and shapes that are pushed.
    shapes : dict
        Name of a shape → the number of axes.
    lists : dict
        Name of a list or dict → its type.
    shared_shadows : set of str
        The names of the shadows that are in the same memory in all iterations: see `dataflow`.
    """

    def __init__(
        self, program: FunctionIR, old_name: Any, layouts: dict[Memory, tuple[int, ...]],
        layouts_of_values: dict[Memory, tuple[int, ...]],
    ) -> None:  # fmt: skip
        self.kinds: dict[str, Kind] = {}
        self.results: dict[str, Kind] = {}
        self.alias_sets: dict[str, Any] = {}
        self.variables: set[str] = set()
        self.shapes: dict[str, int] = {}
        self.lists: dict[str, Contents] = {}
        self.shared_shadows: set[str] = set()
        self._shadows: dict[int, object] = {}  # id of an alias set → that of its shadows
        for slot in program.slots:
            self._slot(slot)
        for block in blocks_of(program.body):
            for op in block.ops:
                if op.out is not None:
                    self._add(op.out.name, op.out.kind.general(), op.out.memory)
                    self.results[op.out.name] = op.out.kind
                    factors = factors_of(op)
                    if factors is not None:
                        self._add(factors, op.args[0].kind.general(), None)
                elif op.code in WRITES:
                    self._add(old_name(op), region_of(op), None)
                    self.alias_sets[old_name(op)] = object()
                elif op.code == "set" and op.args[1].kind.has_memory:
                    self._old_shadow(old_name(op), op.args[1].kind, op.args[1].memory)
                elif op.code == "drop":
                    held = op.args[0].root
                    if held.of_items is not None:
                        self._old_shadow(old_name(op), held.items or ANYTHING, held.of_items)
            for slot in block.writes:
                self._slot(slot)
        for node in nodes_of(program.body):
            if isinstance(node, (For, While)) and node.broken is not None:  # left by ``break``
                self.kinds[node.broken] = BOOL
                self.variables.add(node.broken)
        self.unit_axes: dict[str, set[int]] = {}
        self.inferred_unit_axes = _inferred_unit_axes(program)
        self.pushed_unit_axes: dict[str, set[int]] = {}
        self.dense = self._dense(program, old_name, layouts, layouts_of_values)

    def unit_axes_of(self, name: str) -> set[int]:
        """Return the axes of a variable that have length 1, which each binding checks."""
        return self.unit_axes.get(name, set()) | self.inferred_unit_axes.get(name, set())

    def _dense(
        self, program: FunctionIR, old_name: Any, layouts: dict[Memory, tuple[int, ...]],
        layouts_of_values: dict[Memory, tuple[int, ...]],
    ) -> dict[str, int]:  # fmt: skip
        """Return the contiguous axis of the arrays that have one.

        These are the arrays that machine code allocates, and arguments, whose strides are checked.
        """
        blocks = list(blocks_of(program.body))
        writes = [(slot, v) for block in blocks for slot, v in block.writes.items()]
        strided: set[Slot] = set()
        while True:
            n = len(strided)
            strided |= {slot for slot, v in writes if not _is_dense(v, strided)}
            if len(strided) == n:
                break
        names: set[str] = set()
        for slot in {*program.slots, *[slot for slot, _ in writes]} - strided:
            names |= {slot.name, f"{slot.name}_in"}
        for op in [op for block in blocks for op in block.ops]:
            if op.out is None:
                if op.code in WRITES:
                    names.add(old_name(op))
            elif _is_dense(op.out, strided):
                names.add(op.out.name)
        of_shadows, of_values = (
            {id(memory): axes for memory, axes in each.items()}
            for each in (layouts, layouts_of_values)
        )
        found: dict[str, int] = {}
        for name in names:
            kind = self.kinds[name]
            if kind.is_array and kind.ndim:
                alias_set = id(self.alias_sets.get(name))
                found[name] = _last_axis(kind, of_values.get(alias_set))
                axis = _last_axis(kind, of_shadows.get(alias_set))
                found[f"{name}_b"] = found[f"{name}_b_in"] = axis
        return found

    def _slot(self, slot: Slot) -> None:
        kind = slot.kind or ANYTHING
        self._add(slot.name, kind, slot.memory)
        self._add(f"{slot.name}_in", kind, slot.memory)
        self.variables |= {slot.name, f"{slot.name}_b", f"{slot.name}_in", f"{slot.name}_b_in"}

    def _add(self, name: str, kind: Kind, memory: Memory | None) -> None:
        self.kinds[name] = kind
        shadow = f"{name}_b"
        if kind.is_array:
            root = memory.root() if memory is not None else object()
            self.alias_sets[name] = root
            self.shapes[f"{name}_shape"] = kind.ndim
            self.alias_sets[shadow] = self._shadows.setdefault(id(root), object())
            self.kinds[shadow] = kind
        elif kind.is_scalar:
            self.kinds[shadow] = cotangent_kind(kind)
        elif kind.has_items and memory is not None and _is_typed(kind, memory.root()):
            self.kinds[shadow] = kind
            self.lists[name] = self.contents(kind, memory.root())
            self.lists[shadow] = self.contents(kind, memory.root(), is_shadow=True)

    def _old_shadow(self, name: str, kind: Kind, memory: Memory | None) -> None:
        """Add the name of an overwritten item of a shadow."""
        self._add(name, kind.general(), memory)
        for known in (self.alias_sets, self.lists):
            if f"{name}_b" in known:
                known[name] = known[f"{name}_b"]

    def contents(
        self, kind: Kind, of: Memory, is_shadow: bool = False
    ) -> Contents:  # fmt: skip
        """Return the type of a list or dict in memory `of`."""
        if kind.is_table:
            keys = ItemType((of.keys or ANYTHING).general(), may_be_none=True)
            return TableType(keys, self._items(of, is_shadow), kind.is_set, is_shadow)
        if not kind.is_dict:
            return self._items(of, is_shadow)
        each = [(key, self._items(field.root(), is_shadow)) for key, field in of.fields.items()]
        return DictType(tuple(each))

    def _items(self, of: Memory, is_shadow: bool) -> ItemType:
        """Return the type of the items of a list, or of a field of a dict."""
        kind = of.items or ANYTHING
        inner = of.of_items.root() if of.of_items is not None else None
        if inner is None:
            if is_shadow and is_word(kind):
                return ItemType(cotangent_kind(kind))
            return ItemType(kind, may_be_none=of.has_none and not is_shadow)
        if kind.has_items:
            return ItemType(kind, inner=self.contents(kind, inner, is_shadow))
        alias_set = self._shadows.setdefault(id(inner), object()) if is_shadow else inner
        return ItemType(kind, alias_set)

    def seed(self, n: int, kind: Kind) -> None:
        """Add the cotangent of the n-th result."""
        self.kinds[f"seed{n}"] = kind if kind.is_array else cotangent_kind(kind)

    def counter(self, name: str) -> None:
        """Add a variable that counts iterations."""
        self.kinds[name] = INT
        self.variables.add(name)


def _last_axis(kind: Kind, axes: tuple[int, ...] | None) -> int:
    """Return the contiguous axis of an array in memory with this layout.

    The layout is that of the arrays with as many axes; others are in C order.
    """
    return kind.ndim - 1 if axes is None or kind.ndim != len(axes) else axes[-1]


def _is_typed(kind: Kind, memory: Memory, around: tuple[Memory, ...] = ()) -> bool:
    """Whether the type of a list or dict is known: it does not contain itself."""
    if memory in around or (kind.is_table and not (memory.keys and _is_key(memory.keys))):
        return False
    for field in memory.fields.values() if kind.is_dict else [memory]:
        held = field.root()
        if held.items is not None and held.items.has_items:
            inner: Memory = held.of_items.root()  # type: ignore[union-attr] # they have one
            if not _is_typed(held.items, inner, (*around, memory)):
                return False
    return True


def _is_key(kind: Kind) -> bool:
    """Whether keys of this kind are words: integers of one sort, symbols, or tuples of these."""
    if kind.parts:
        return all(map(_is_key, kind.parts))
    return kind.is_text or kind.classes <= _INTEGERS or kind.classes == {bool}


def _inferred_unit_axes(program: FunctionIR) -> dict[str, set[int]]:
    """Return the axes of variables that have length 1 in all values that they are bound to."""
    given = set(program.parameters)
    writes = [
        (slot, v)
        for block in blocks_of(program.body)
        for slot, v in block.writes.items()
        if v.kind.is_array and slot not in given
    ]
    found = {slot: set(range(v.kind.ndim)) for slot, v in writes}
    while True:
        before = dict(found)
        for slot, v in writes:
            is_read = v.op.code == "read"
            found[slot] = found[slot] & (found.get(v.op.data, set()) if is_read else v.kind.ones)
        if found == before:
            return {slot.name: axes for slot, axes in found.items() if axes}


def _is_dense(v: Value, strided: set[Slot]) -> bool:
    """Whether an axis of an array is contiguous, if it is in all variables but `strided`."""
    if v.op.code == "read":
        return v.op.data not in strided
    return v.op.code in ("call", "load")
