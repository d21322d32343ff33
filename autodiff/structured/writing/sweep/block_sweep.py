"""Code generation of the reverse sweep of one block."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WITHOUT_VALUES,
    Block,
    Memory,
    Op,
    Value,
)
from autodiff.structured.form.indices import has_arrays, has_places, index_back, region_of
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.writing.activity import (
    WITHOUT_SWEEP,
    depends,
    is_active,
    keeps_shadow,
    keeps_shadow_between,
    unpacked_parts,
)
from autodiff.structured.writing.rules.bound_rules import is_elementwise, passes_cotangent_on
from autodiff.structured.writing.rules.known_adjoints import assembles_array
from autodiff.structured.writing.sweep.call_sweep import (
    is_by_partials,
    is_product,
    sweep_call,
    term_of,
)
from autodiff.structured.writing.sweep.container_sweep import sweep_display, write_list
from autodiff.structured.writing.sweep.deferred_updates import DeferredUpdates
from autodiff.structured.writing.sweep.pullback_sweep import sweep_tuple
from autodiff.structured.writing.sweep.signs import (
    added,
    changed,
    is_operand,
    negative,
    total_cotangent,
    without_sign,
)
from autodiff.structured.writing.sweep.strided_vectors import strided_part
from autodiff.structured.writing.sweep.variable_cotangents import bind_cotangents, take_cotangents

_LONGEST = 160  # characters of an expression before it is bound to a name


class BlockSweep:
    """Writes the reverse sweep of one block."""

    def __init__(self, emitter: Any, block: Block) -> None:
        self.e = emitter
        self.block = block
        self.out = emitter.out
        # For each value without a shadow: the terms of its cotangent so far.
        self.terms: dict[Value, list[str]] = {}
        self.owned: set[Value] = (
            set()
        )  # values whose cotangent is an array that may be written into
        self.deferred = DeferredUpdates(self.out)
        # Values whose cotangent is a view of a shadow → parts to set to zero once it was read.
        self.borrowed: dict[Value | None, list[tuple[Memory, str]]] = {}
        self.spread: dict[str, str] = {}  # cotangents of sums, spread over the terms → before that
        self.swept: set[Op] = set()  # operations swept together with a later write
        self.is_complex = False  # whether the current operation reads or makes complex numbers

    def run(self) -> None:
        """Write the sweep."""
        e = self.e
        for v in [v for v in e.seeded if v.op in self.block.ops]:
            for seed in e.seeded.pop(v):
                self.add_to(v, seed, lasts=True)
        rebound = take_cotangents(self)
        for op in reversed(self.block.ops):
            self.operation(op)
            for memory, part in self.borrowed.get(op.out, ()):
                self.set_to_zero(memory, part, not e.for_native)
        self.deferred.flush_all()
        bind_cotangents(self, rebound)
        if e.for_native and e.enclosing:
            made = [op.out for op in self.block.ops if e.makes_new_shadow(op)]
            self.out.add_all([f"wipe({e.shadow(v)})" for v in made])

    # -- cotangents --------------------------------------------------------------------------------

    def add_to(
        self, v: Value, text: str, lasts: bool = False, factor: str = "", waits: bool = False
    ) -> None:
        """Add an expression to the cotangent of a value.

        Parameters
        ----------
        v : Value
            The value. If it is real, the real part of a complex expression is added.
        text : str
            The expression.
        lasts : bool
            Whether the expression may be evaluated later, where the cotangent is read: it reads
            numbers only, whose names are bound once in the block.
        factor : str
            A number to multiply with, by BLAS.
        waits : bool
            Whether the addition to a shadow may be deferred: the expression reads no shadow.
        """
        if factor:
            self.add_by_blas(v, factor, text)
            return
        if self.is_complex and not v.is_complex:
            text = f"({text}).real"
        if v.op.code == "tuple":  # the parts would not get it
            raise UnsupportedError("a tuple in the place of an array")
        if self.e.is_filled(v) and v.op.code != "view" and v not in self.owned:
            self.terms[v] = [text]
            self.own(v)
            return
        if self.e.has_shadow(v):
            shadow = self.e.shadow(v)
            if waits and shadow.isidentifier() and not self.e.for_native:
                self.deferred.add(v.root, shadow, text)
                return
            self.deferred.flush_zeros(v.root)
            if not shadow.isidentifier():
                self.out.add(f"s = {shadow}")
                shadow = "s"
            self.out.add(added(shadow, text))
            return
        if v in self.owned:
            self.out.add(added(f"{v.name}_b", text))
            return
        terms = self.terms.setdefault(v, [])
        is_negative, x = without_sign(text)
        if is_negative and v.kind.is_array and not (terms or lasts or self.e.for_native):
            self.out.add(f"{v.name}_b = {x}")
            text, lasts = f"(-{v.name}_b)", True
        terms.append(text)
        if not lasts or sum(map(len, terms)) > _LONGEST:
            self._name(v)

    def add_by_blas(self, v: Value, factor: str, x: str | Value) -> None:
        """Add a number times a vector to a shadow, by BLAS."""
        e = self.e
        part = strided_part(e, v, is_shadow=True)
        if part is not None:
            self.deferred.flush_zeros(v.root)
            text = x if isinstance(x, str) else e.need(x)
            self.out.add(f"{e.blas('add_to_part')}({part}, {factor}, {text})")
            return
        part = strided_part(e, x, is_shadow=False) if isinstance(x, Value) else None
        name = "add_scaled" if part is None else "add_part"
        text = part or (x if isinstance(x, str) else e.need(x))
        self.out.add(f"{e.blas(name)}({self.shadow_of(v)}, {factor}, {text})")

    def shadow_of(self, v: Value) -> str:
        """Return the shadow of a value, ready for an addition."""
        self.deferred.flush_zeros(v.root)
        return self.e.shadow(v)

    def is_for_blas(self, *values: Any) -> bool:
        """Whether these are float64 vectors, for which the sweep may call BLAS."""
        if self.is_complex or self.e.for_native or self.e.has_strong_zero(self.e.current):
            return False
        return all(
            isinstance(v, Value) and v.kind.ndim == 1 and v.kind.dtype == np.float64 for v in values
        )

    def _name(self, v: Value) -> str:
        """Bind the cotangent of a value, as accumulated so far, to a name, and return that."""
        name = f"{v.name}_b"
        terms = self.terms[v]
        if terms != [name]:
            self.out.add(f"{name} = {total_cotangent(terms, self.spread)}")
            self.terms[v] = [name]
        return name

    def own(self, v: Value) -> str:
        """Return the name of the cotangent of an array, as an array that may be written into."""
        e, name = self.e, f"{v.name}_b"
        if v not in self.owned:
            terms, dtype = self.terms.get(v, []), v.kind.dtype
            text = total_cotangent(terms, self.spread) if terms else "0.0"
            is_sum = len(terms) > 1 or not is_operand(text)
            # If the array had a shadow, the copy would raise an error for one of another shape.
            is_new = is_sum and dtype == np.float64 and not (e.has_shadow(v) or self.is_complex)
            if not terms and not e.for_native:
                text = f"zeros({e.shape_of(v)}, {e.const(dtype)})"
            elif e.for_native or not is_new:
                text = f"own({text}, {e.shape_of(v)}, {e.const(dtype)})"
            self.out.add(f"{name} = {text}")
            self.terms[v] = [name]
            self.owned.add(v)
        return name

    def cotangent(self, v: Value, once: bool, is_signed: bool) -> str | None:
        """Return the cotangent of a value; None if it has none.

        It is a name, or a negated name if `is_signed`. If it is read only `once`, it may be an
        expression.
        """
        if self.e.has_shadow(v):
            self.deferred.flush(v.root)
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
        if not once:
            return self._name(v)
        text = total_cotangent(terms, self.spread)
        return text if is_operand(text) else f"({text})"

    # -- operations --------------------------------------------------------------------------------

    def operation(self, op: Op) -> None:
        """Pull back the cotangent of the result of an operation to its arguments."""
        self.e.current = op
        if op.code in WITHOUT_VALUES or op in self.swept:
            return
        v = op.out
        values = (v, *op.operands)
        self.is_complex = any(x.is_complex for x in values if x is not None)
        if v is None:
            (write_list if op.code in LIST_WRITES else BlockSweep.write)(self, op)
            return
        if op.code in WITHOUT_SWEEP or op.code == "part" or not is_active(v):
            if op.code == "view":
                self.view(op)
            return
        if op.code in ("list", "dict", "join"):
            self.deferred.flush_all()
        if op.code in ("list", "dict"):
            sweep_display(self, op, self.e.shadow(v))
            return
        if op.code == "call" and not depends(op):
            return
        if v.kind.parts:
            parts = unpacked_parts(op, self.block)
            bars = {p.op.data: self.cotangent(p, False, False) for p in parts if is_active(p)}
            if any(bars.values()):
                sweep_tuple(self, op, parts, bars)
            return
        given = op.rule.args if is_by_partials(op) else op.operands
        active = [a for a in given if isinstance(a, Value) and is_active(a)]
        once = op.code == "load" or (len(active) == 1 and not assembles_array(op))
        is_signed = op.code == "load" or is_by_partials(op)
        is_signed = is_signed or (is_product(op) and not self.e.for_native)
        g = self.cotangent(v, once, is_signed)
        if g is None:
            return
        if op.code == "load":
            self.load(op, g)
        elif op.code == "join":
            if self.is_complex and not op.args[0].is_complex:
                raise UnsupportedError("complex numbers made of a list of real ones")
            how, axis = op.data
            if is_active(op.args[0]):  # else only later writes into the array are active
                shadow = self.e.shadow(op.args[0])
                self.out.add(f"{how}_back({shadow}, {g}, {axis})")
        else:
            sweep_call(self, op, g)

    def view(self, op: Op) -> None:
        """Add the cotangent of a part of an array to that of the array."""
        v: Any = op.out
        g = None if self.e.has_shadow(v) else self.cotangent(v, True, True)
        if g is None:
            return
        base, *at = op.args
        is_whole = op.data == "T" or index_back(op.data, at) is not None
        if is_whole and base not in self.owned and not self.e.for_native:
            is_negative, x = without_sign(g)
            x = x if is_operand(x) else f"({x})"
            back = f"{x}.T" if op.data == "T" else f"{x}[{index_back(op.data, at)}]"
            self.add_to(base, negative(back) if is_negative else back)
        else:
            part = self.e.view_of_shadow(op, self.own(base), self.e.need)
            self.out.add_all([f"s = {part}", added("s", g)])

    def load(self, op: Op, g: str) -> None:
        """Add the cotangent of an element, or of a copied part, to the shadow."""
        e = self.e
        base, *at = op.args
        if not is_active(base):
            return
        index = e.index(op.data, [e.need(a) for a in at])
        if e.has_shadow(base):
            self.deferred.flush_zeros(base.root)
            shadow = e.place(op)
        else:
            shadow = self.own(base)
        if has_places(op.data, at):
            self.out.add(f"add_at({shadow}, s_[{index}], {g})")
        else:
            self.out.add(added(f"{shadow}[{index}]", g))

    def write(self, op: Op) -> None:
        """Undo a write: take the cotangent of the written value, and restore the old contents."""
        e = self.e
        base, value, *at = op.args
        memory = base.root
        is_restored = e.must_restore(op, self.block.ops)
        texts = [e.need(a) for a in at] if memory.is_active or is_restored else []
        index = e.index(op.data, texts) if texts or not at else ""
        if is_restored:
            self.deferred.flush_all()  # they may read the contents before they are restored
            old = e.old_name(op)
            e.tape_reads[old] = old
            where = e.place(op, is_shadow=False)
            self.out.add(f"{where}[{index}] = {old}")
        if not e.has_shadow(base):
            return
        region, is_copy = region_of(op), has_arrays(op.data) and not e.for_native
        is_view = region.is_array and not (is_copy or e.for_native)
        is_zeroed = op.code == "store"
        if is_active(value) or not is_view:
            self.deferred.flush(memory)
        part = text = e.part_of_shadow(op, index) if is_view else f"{e.place(op)}[{index}]"
        if is_view and self.sweep_update(op, part):
            return
        if region.is_array and not has_arrays(op.data) and self.may_borrow(op):
            self.borrowed[value] = [(memory, part)] if is_zeroed else []
            is_zeroed = False
        elif op.f is None and has_places(op.data, at):
            text = f"last_written({e.place(op)}, s_[{index}])"
        elif region.is_array and not (is_copy or self.is_added_now(op)):
            text += ".copy()"
        if is_active(value):
            is_same = e.has_shadow(value) and value.root is memory
            if is_zeroed and is_same:  # the part set to zero may overlap that added to
                self.out.add(f"w = {text}.copy()")
                self.set_to_zero(memory, part, is_view)
                text, is_zeroed = "w", False
            self.add_unbroadcast(value, negative(text) if op.code == "sub" else text, region.ndim)
        if is_zeroed:
            self.set_to_zero(memory, part, is_view)

    def sweep_update(self, op: Op, part: str) -> bool:
        """Pull back the cotangent of an in-place update, in place; False for other writes.

        For ``x *= a``, multiply the cotangent by `a`.
        """
        value, made = op.args[1], op.args[1].op
        old = self._changed_in_place(op)
        if old is None:
            return False
        e, bound = self.e, made.rule
        e.current = made
        self.swept.add(made)
        self.borrowed[value] = []  # so other arguments get copies, not views of the part
        terms = [
            (v, *term_of(self, made, bound, j, part))
            for j, v in enumerate(bound.args)
            if isinstance(v, Value) and is_active(v)
        ]
        for k, (v, text, _, factor) in enumerate(terms):
            if v is not old and text:
                self.out.add(f"p{k} = {text}" + (f" * {factor}" if factor else ""))
        for k, (v, text, ndim, _) in enumerate(terms):
            if v is not old and text:
                self.add_unbroadcast(v, f"p{k}", ndim, fits=True)
        _, text, _, factor = next(term for term in terms if term[0] is old)
        if not text:
            self.out.add(f"{part}.fill(0.0)")
        elif text != part or factor:
            self.out.add(changed(part, f"{text} * {factor}" if factor else text))
        e.current = op
        return True

    def _changed_in_place(self, op: Op) -> Value | None:
        """Return the old contents that an in-place update changes; None for other writes."""
        base, value, *at = op.args
        if op.code != "store" or self.e.has_shadow(value) or not self._is_elementwise_once(value):
            return None
        memory = base.root
        arrays = [a for a in value.op.rule.args if isinstance(a, Value) and a.memory is not None]
        aliases = [a for a in arrays if a.root is memory]
        if len(aliases) != 1 or aliases[0].kind.ndim != value.kind.ndim:
            return None
        (old,) = aliases
        is_same = old.op.code == "view" and (old.op.data, old.op.args) == (op.data, [base, *at])
        return old if is_same and keeps_shadow_between(op, value.op, self.block.ops) else None

    def _is_elementwise_once(self, v: Value) -> bool:
        """Whether the block computes an active value by an elementwise call, and reads it once."""
        e, made = self.e, v.op
        if not is_active(v) or v.uses != 1 or v in e.shapes.escaping or self.is_complex:
            return False
        is_call = made in self.block.ops and made.code == "call"
        return is_call and is_elementwise(made) and not e.has_strong_zero(made)

    def is_added_now(self, op: Op) -> bool:
        """Whether the cotangent of a written value is added to something, not bound to a name."""
        value, e = op.args[1], self.e
        if e.for_native:
            return e.has_shadow(value) or op.code == "sub"
        return e.has_shadow(value) or value in self.terms or not value.kind.is_array

    def set_to_zero(self, memory: Memory, part: str, is_view: bool) -> None:
        """Set a part of a shadow to zero; defer that if the part is a view."""
        if is_view:
            self.deferred.zero(memory, part)
        else:
            self.out.add(f"{part} = 0.0")

    def may_borrow(self, op: Op) -> bool:
        """Whether the cotangent of a written value may be a view of the shadow, not a copy.

        It may if nothing else reads the value, and the shadow does not change until the sweep of
        the value is done. It must be copied if an argument would get the same array as cotangent.
        """
        value = op.args[1]
        if not self._is_elementwise_once(value):
            return False
        made = value.op
        for j, a in enumerate(made.rule.args):
            is_owned = isinstance(a, Value) and is_active(a) and not self.e.has_shadow(a)
            if is_owned and a.kind.is_array and passes_cotangent_on(made.rule, j):
                return False
        return keeps_shadow(op, made, self.block.ops)

    def add_unbroadcast(
        self, v: Value, text: str, ndim: int, lasts: bool = False, fits: bool = False,
        factor: str = "", waits: bool = False,
    ) -> None:  # fmt: skip
        """Add an expression with `ndim` axes, which may be broadcast, to the cotangent of a value.

        `fits` says that arrays with equal numbers of axes are known to have one shape. The other
        parameters are those of `add_to`. With a factor, `v` has a shadow.
        """
        is_broadcast = self.e.shapes.is_broadcast(self.e.current)
        own = v.kind.ndim if v.kind.is_array else 0
        if ndim == 0:
            self.add_to(v, text, lasts)
        elif own == 0:
            is_negative, x = without_sign(text)
            self.add_to(v, negative(f"total({x})") if is_negative else f"total({x})")
        elif own < ndim or is_broadcast or not (fits or self.e.shapes.tolerates_excess(v)):
            is_negative, x = without_sign(f"{text} * {factor}" if factor else text)
            fitted = f"fitted({x}, {self.e.shape_of(v)})"
            self.add_to(v, negative(fitted) if is_negative else fitted, waits=waits)
        else:
            self.add_to(v, text, lasts, factor, waits)
