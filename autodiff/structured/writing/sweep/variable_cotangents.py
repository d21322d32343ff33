"""Code generation: the cotangents of the variables that a block reads and binds.

Each is a variable of the sweep, which has a value where the variable itself is live.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import Slot, Value
from autodiff.structured.form.kinds import ANYTHING
from autodiff.structured.writing.activity import is_active
from autodiff.structured.writing.source_writer import new_bindings
from autodiff.structured.writing.sweep.signs import total, total_cotangent


def take_cotangents(s: Any) -> dict[Slot, list[str]]:
    """Add the cotangents of variables to those of the values that the block binds them to.

    Return these variables, and an empty list of terms for the value that each had before.
    """
    e = s.e
    rebound = {slot: v for slot, v in new_bindings(s.block) if e.has_variable(slot)}
    for slot, v in rebound.items():
        if slot not in e.live.after[s.block] or not is_active(v):
            continue
        s.is_complex = slot.kind is ANYTHING or bool(slot.kind and slot.kind.is_complex)
        name = _begun(s, slot, v) if v.kind.is_array else f"{slot.name}_b"
        s.add_to(v, name, lasts=True)
    return {slot: [] for slot in rebound}


def _begun(s: Any, slot: Slot, v: Value) -> str:
    """Return the cotangent of a variable with the array `v`: zeros if nobody has read that."""
    e, name, shape = s.e, f"{slot.name}_b", s.e.shape_of(v)
    if e.is_typed(slot):  # the name knows the axes of length 1, which the variable does not
        begun = e.fresh("g")
        s.out.add(f"{begun} = or_zeros({name}, {shape})")
        return begun
    whole = f"spread({name}, {shape}, {e.const(v.kind.dtype)})"  # one of no axes may be a float
    s.out.add(f"if type({name}) is float: {name} = {whole}")
    return name


def bind_cotangents(s: Any, rebound: dict[Slot, list[str]]) -> None:
    """Bind the cotangents of variables that are live before the block to those of their values.

    `rebound` is what `take_cotangents` has returned.
    """
    e = s.e
    begun = set(e.live.after[s.block]) - rebound.keys()
    for op in s.block.ops:
        if op.code != "read" or op.out not in s.terms:
            continue
        slot, terms = op.data, s.terms[op.out]
        if slot in rebound:
            rebound[slot].append(total_cotangent(terms, s.spread))
            continue
        name = f"{slot.name}_b"  # an array may have other names: no `+=`
        if slot in begun:
            terms = [_begun(s, slot, op.out) if e.is_typed(slot) else name, *terms]
            s.out.add(f"{name} = {total(terms)}")
        else:
            s.out.add(f"{name} = {total_cotangent(terms, s.spread)}")
            begun.add(slot)
    sums = {f"{slot.name}_b": " + ".join(terms) for slot, terms in rebound.items() if terms}
    sums = {name: text for name, text in sums.items() if text != name}
    if sums:
        s.out.add(f"{', '.join(sums)} = {', '.join(sums.values())}")
    begun |= {slot for slot, terms in rebound.items() if terms}
    e.without_cotangents(e.live.before[s.block] - begun)
