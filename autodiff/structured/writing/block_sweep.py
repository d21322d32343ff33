"""Writing the reverse sweep of one block."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.indices import has_arrays, parts_of_index, region_of
from autodiff.structured.form.ir import (
    LIST_WRITES,
    WITHOUT_VALUES,
    Block,
    Op,
    Slot,
    Value,
)
from autodiff.structured.form.kinds import ANYTHING, UnsupportedError
from autodiff.structured.writing.activity import depends, is_active, is_left_alone
from autodiff.structured.writing.bound_rules import is_elementwise
from autodiff.structured.writing.call_sweep import is_by_partials, sweep_call
from autodiff.structured.writing.calls_without_rules import is_made_of_parts
from autodiff.structured.writing.signs import added, is_operand, negative, total, without_sign

_WITHOUT_SWEEP = frozenset({"read", "view", "form", "tuple", "part", "const", "item", "length"})
_LONGEST = 160  # characters of an expression that is not bound to a name


class BlockSweep:
    """Writes the reverse sweep of one block."""

    def __init__(self, emitter: Any, block: Block) -> None:
        self.e = emitter
        self.block = block
        self.out = emitter.out
        # What has come for each value that has no shadow: its cotangent is the sum.
        self.terms: dict[Value, list[str]] = {}
        # Values whose cotangent is a part of a shadow, and what is to be done when it was read.
        self.lent: dict[Value | None, list[str]] = {}
        self.is_complex = False  # an operation that reads or makes complex numbers is passed

    def run(self) -> None:
        """Write it."""
        e = self.e
        for v in [v for v in e.seeded if v.op in self.block.ops]:
            for seed in e.seeded.pop(v):
                self.add_to(v, seed, lasts=True)
        taken: dict[Slot, list[str]] = {}  # variables that are bound here: earlier ones get anew
        for slot, v in self.block.writes.items():
            if e.has_variable(slot):
                if v.op.code == "read" and v.op.data is slot:
                    continue
                if is_active(v):
                    self.is_complex = slot.kind is ANYTHING or bool(
                        slot.kind and slot.kind.is_complex
                    )
                    name = f"{slot.name}_b"
                    if v.kind.is_array:  # nothing has come if nobody has read this value
                        zero = f"spread(0.0, {e.shape_of(v)}, {e.const(v.kind.dtype)})"
                        self.out.add(f"if type({name}) is float: {name} = {zero}")
                    self.add_to(v, name, lasts=True)
                taken[slot] = []
        for op in reversed(self.block.ops):
            self.operation(op)
            if op.out in self.lent:
                self.out.add_all(self.lent[op.out])
        for op in self.block.ops:
            if op.code == "read" and op.out in self.terms:
                slot, terms = op.data, self.terms[op.out]
                if slot in taken:
                    taken[slot].append(total(terms))
                else:
                    name = f"{slot.name}_b"  # an array may have other names: no `+=`
                    self.out.add(f"{name} = {total([name, *terms])}")
        self._rebind(taken)

    def _rebind(self, taken: dict[Slot, list[str]]) -> None:
        """Bind the cotangents of variables to what has come for their earlier values."""
        given = {f"{slot.name}_b": " + ".join(terms) for slot, terms in taken.items() if terms}
        given = {name: text for name, text in given.items() if text != name}
        if given:
            self.out.add(f"{', '.join(given)} = {', '.join(given.values())}")
        zero = [f"{slot.name}_b" for slot, terms in taken.items() if not terms]
        if zero:
            self.out.add(f"{' = '.join(zero)} = 0.0")

    # -- cotangents --------------------------------------------------------------------------------

    def add_to(self, v: Value, text: str, lasts: bool = False, factor: str = "") -> None:
        """Add to the cotangent of a value, times a number if there is a factor (by BLAS).

        A text that `lasts` may be written later, where the cotangent is read: all names in it are
        of numbers, and bound once in the block. Of what an operation on complex numbers gives to
        a real one, the real part counts: the cotangent of a real value is real.
        """
        if factor:
            self.out.add(f"{self.e.blas('add_scaled')}({self.e.shadow(v)}, {factor}, {text})")
            return
        if self.is_complex and not v.is_complex:
            text = f"({text}).real"
        if v.op.code == "tuple":  # it would not reach the parts
            raise UnsupportedError("a tuple in the place of an array")
        if self.e.has_shadow(v):
            shadow = self.e.shadow(v)
            if shadow.isidentifier():
                self.out.add(added(shadow, text))
            else:
                self.out.add(f"s = {shadow}; {added('s', text)}")
            return
        terms = self.terms.setdefault(v, [])
        is_negative, x = without_sign(text)
        if is_negative and v.kind.is_array and not (terms or lasts or self.e.for_machine):
            self.out.add(f"{v.name}_b = {x}")
            text, lasts = f"(-{v.name}_b)", True
        terms.append(text)
        if not lasts or sum(map(len, terms)) > _LONGEST:
            self._name(v)

    def is_for_blas(self, *values: Any) -> bool:
        """Whether these are vectors that BLAS computes with."""
        if self.is_complex or self.e.for_machine or self.e.is_strong(self.e.current):
            return False
        kinds = [v.kind for v in values if isinstance(v, Value)]
        return len(kinds) == len(values) and all(
            kind.ndim == 1 and kind.dtype == np.float64 for kind in kinds
        )

    def _name(self, v: Value) -> str:
        """Bind the cotangent of a value, as far as it has come; return its name."""
        name = f"{v.name}_b"
        terms = self.terms[v]
        if terms != [name]:
            self.out.add(f"{name} = {total(terms)}")
            self.terms[v] = [name]
        return name

    def bar(self, v: Value, once: bool, is_signed: bool) -> str | None:
        """Return the cotangent of a value; None if it has none.

        It is a name, unless it is read `once`. It may be a negative name if `is_signed`.
        """
        if self.e.has_shadow(v):
            shadow = self.e.shadow(v)
            if shadow.isidentifier():
                return shadow
            self.out.add(f"g = {shadow}")
            return "g"
        terms = self.terms.get(v)
        if terms is None:
            return None
        if len(terms) == 1:
            is_negative, x = without_sign(terms[0])
            if x.isidentifier() and (is_signed or not is_negative):
                return terms[0]
            if once and is_operand(terms[0]):
                return terms[0]
        return f"({total(terms)})" if once else self._name(v)

    # -- operations --------------------------------------------------------------------------------

    def operation(self, op: Op) -> None:
        """Pull the cotangent of what an operation makes back to what it reads."""
        self.e.current = op
        if op.code in WITHOUT_VALUES:
            return
        made = () if op.out is None else (op.out,)
        self.is_complex = any(v.is_complex for v in (*made, *op.args, *op.options.values()))
        if op.out is None:
            (self.write_list if op.code in LIST_WRITES else self.write)(op)
            return
        v = op.out
        if op.code in _WITHOUT_SWEEP or not is_active(v):
            return
        if op.code == "list":
            self.list_of(op, self.e.shadow(v))
            return
        if op.code == "call" and not depends(op):
            return
        active = [a for a in (*op.args, *op.options.values()) if is_active(a)]
        once = op.code == "load" or (len(active) == 1 and not is_made_of_parts(op))
        g = self.bar(v, once, is_signed=op.code == "load" or is_by_partials(op))
        if g is None:
            return
        if op.code == "load":
            self.load(op, g)
        elif op.code == "join":
            if self.is_complex and not op.args[0].is_complex:
                raise UnsupportedError("complex numbers made of a list of real ones")
            how, axis = op.data
            shadow = self.e.shadow(op.args[0])
            self.out.add(f"{how}_back({shadow}, {g}, {axis})")
        else:
            sweep_call(self, op, g)

    def load(self, op: Op, g: str) -> None:
        """Add the cotangent of an element, or of a copy, to the shadow."""
        e = self.e
        base, *at = op.args
        if not is_active(base):
            return
        index = e.index(op.data, [e.need(a) for a in at])
        shadow = e.place(op)
        arrays = [at[part[1]] for part in parts_of_index(op.data) if part[0] == "array"]
        if any(a.kind.letter in "iu" for a in arrays):
            self.out.add(f"add_at({shadow}, s_[{index}], {g})")
        else:
            self.out.add(added(f"{shadow}[{index}]", g))

    def write_list(self, op: Op) -> None:
        """Undo a change of a list in its shadow, which then is as long as the list was."""
        e = self.e
        base, value, *at = op.args
        if not e.has_shadow(base):
            return
        shadow = e.shadow(base)
        is_number = value.kind.is_scalar and is_active(value)
        if op.code == "append":
            text = f"{shadow}.pop()"
        else:
            text = f"{shadow}[{e.index(op.data, [e.need(a) for a in at])}]"
        if is_number:
            self.add_to(value, text)
        if op.code == "set" and value.kind.has_memory:
            old = e.old_name(op)
            e.pushing[old] = old
            self.out.add(f"{text} = {old}")
        elif op.code == "set":
            self.out.add(f"{text} = 0.0")
        elif not is_number:
            self.out.add(text)

    def write(self, op: Op) -> None:
        """Undo a write: take the cotangent of what was written, and put the old contents back."""
        e = self.e
        base, value, *at = op.args
        memory = base.memory.root()  # type: ignore[union-attr] # an array has one
        is_restored = e.must_restore(op)
        texts = [e.need(a) for a in at] if memory.is_active or is_restored else []
        index = e.index(op.data, texts) if texts or not at else ""
        if is_restored:
            old = e.old_name(op)
            e.pushing[old] = old
            where = e.place(op, is_shadow=False)
            self.out.add(f"{where}[{index}] = {old}")
        if not e.has_shadow(base):
            return
        region, is_copy = region_of(op), has_arrays(op.data) and not e.for_machine
        is_view = region.is_array and not (is_copy or e.for_machine)
        text = e.part_of_shadow(op, index) if is_view else f"{e.place(op)}[{index}]"
        ends = [f"{text}.fill(0.0)" if is_view else f"{text} = 0.0"] if op.code == "store" else []
        if self.lends(op):
            self.lent[value] = ends
            ends = []
        elif region.is_array and not (e.has_shadow(value) or (e.for_machine and op.code == "sub")):
            text += "" if is_copy else ".copy()"
        if is_active(value):
            is_same = e.has_shadow(value) and value.memory.root() is memory  # type: ignore[union-attr] # it has one
            if ends and is_same:  # what is set to zero may be what is added to
                self.out.add_all([f"w = {text}.copy()", *ends])
                text, ends = "w", []
            self.add_fitting(value, negative(text) if op.code == "sub" else text, region.ndim)
        self.out.add_all(ends)

    def lends(self, op: Op) -> bool:
        """Whether the sweep of what was written may read a part of the shadow, not a copy of it.

        It may if nothing else reads the value, and the shadow is left alone until then.
        """
        value = op.args[1]
        e, made = self.e, value.op
        if not is_active(value) or value.uses != 1 or value in e.shapes.lasting:
            return False
        if self.is_complex or e.for_machine or e.is_strong(made) or not region_of(op).is_array:
            return False
        is_elementary = made in self.block.ops and made.code == "call" and is_elementwise(made)
        return is_elementary and is_left_alone(op, made, self.block.ops)

    def add_fitting(
        self,
        v: Value,
        text: str,
        ndim: int,
        lasts: bool = False,
        fits: bool = False,
        factor: str = "",
    ) -> None:
        """Add a cotangent that may have been broadcast to the cotangent of a value.

        `fits` says that arrays of as many axes have been found to have one shape. Only what goes
        into a shadow by BLAS comes with a factor, which is a number.
        """
        product = f"{text} * {factor}" if factor else text
        is_broadcast = self.e.shapes.is_broadcast(self.e.current)
        mine = v.kind.ndim if v.kind.is_array else 0
        if ndim == 0:
            self.add_to(v, text, lasts)
        elif mine == 0:
            is_negative, x = without_sign(text)
            self.add_to(v, negative(f"total({x})") if is_negative else f"total({x})")
        elif mine < ndim or is_broadcast or not (fits or self.e.shapes.notices(v)):
            is_negative, x = without_sign(product)
            fitted = f"fitted({x}, {self.e.shape_of(v)})"
            self.add_to(v, negative(fitted) if is_negative else fitted)
        else:
            self.add_to(v, text, lasts, factor)

    def list_of(self, op: Op, shadow: str) -> None:
        """Hand the cotangents of the numbers in a list on to what they were made of."""
        items = op.args[:-1] if op.data else op.args
        for i, part in enumerate(items):
            if is_active(part) and part.kind.is_scalar:
                repeated = f"sum({shadow}[{i}::{len(items)}])"
                self.add_to(part, repeated if op.data else f"{shadow}[{i}]")
