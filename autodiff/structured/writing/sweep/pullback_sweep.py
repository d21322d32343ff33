"""The sweep of a call by the pullback of its rule, also for calls with several results."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.callables.recursive_calls import (
    RecursiveCallee,
    start_program,
    sweep_program,
)
from autodiff.structured.form.function_ir import Op, Value
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.runtime_library import eigh_back
from autodiff.structured.writing.activity import is_active
from autodiff.structured.writing.rules.bound_rules import BoundRule
from autodiff.structured.writing.rules.known_adjoints import (
    is_log_of_determinant,
    is_symmetric_spectrum,
)
from chainrules_core.define import DecomposeRule


def sweep_tuple(s: Any, op: Op, parts: list[Value], bars: dict[int, str | None]) -> None:
    """Pull back the cotangents of the parts of a tuple that a call returns."""
    if is_log_of_determinant(op):
        if bars.get(1) is not None:  # the sign is piecewise constant
            inverse = f"{s.e.constants.name(np.linalg.inv)}({s.e.need(op.args[0])})"
            s.add_to(op.args[0], f"{bars[1]} * {inverse}.T")
        return
    for part in parts:
        s.e.reads(part)  # the pullback may hold it
    if is_symmetric_spectrum(op):
        given = f"{bars.get(0)}, {bars.get(1)}, {s.e.need(op.out)}"
        s.add_to(op.args[0], f"{s.e.constants.name(eigh_back)}({given})")
        return
    bound = rule_with_pullback(op)
    kind: Any = op.out.kind
    (cls,) = kind.classes
    texts = [str(bars.get(i)) for i in range(len(kind.parts))]
    apply_pullback(s, op, bound, f"several({s.e.constants.name(cls)}, {', '.join(texts)})")


def rule_with_pullback(op: Op) -> BoundRule:
    """Return the bound rule of a call; raise if it has none that records a pullback."""
    bound = op.rule
    if bound is None or isinstance(bound.rule, DecomposeRule):
        raise UnsupportedError(f"{op.f} without a rule that records")
    if any(isinstance(v, Value) and is_active(v) for v in bound.options.values()):
        raise UnsupportedError("an option that depends on the variables")
    return bound


def gather(s: Any, v: Value, text: str) -> None:
    """Add a cotangent that a rule returned: it may be a thunk, a zero, or broadcast."""
    if v.op.code == "tuple":
        for i, part in enumerate(v.op.args):
            if is_active(part):
                gather(s, part, f"part({text}, {i})")
        return
    if s.is_complex and not v.is_complex:
        text = f"real_part({text})"
    if s.e.has_shadow(v):
        s.out.add(f"gather({s.shadow_of(v)}, {text})")
    elif v.kind.is_array:
        s.add_to(v, f"settled({text}, {s.e.shape_of(v)})")
    else:
        s.add_to(v, f"number({text})")


def start_call(e: Any, op: Op) -> str:
    """Return the call of a function with a program as forward source: the sweep goes back through.

    In source, the block pushes the pullback with what else its sweep reads. In machine code, the
    function leaves on the stack what its sweep pops.
    """
    given, callee = ", ".join(map(e.text_for(op), op.args)), op.f
    assert type(callee) is RecursiveCallee
    if e.for_native:
        return f"{e.constants.name(start_program)}(push, {e.constants.name(callee)}, {given})"
    return f"{e.constants.name(callee.start)}({given})"


def record_call(e: Any, op: Op) -> str:
    """Return the call of a rule that gives the result and its pullback, as forward source."""
    bound = op.rule
    if type(op.f) is RecursiveCallee:
        return start_call(e, op)
    active = tuple([
        i for i, a in enumerate(bound.args) if isinstance(a, Value) and is_active(a)
    ])  # fmt: skip
    record, text_of = e.constants.name(bound.rule.record), e.text_for(op)

    def text(a: Any) -> str:
        return text_of(a) if isinstance(a, Value) else e.const(a)

    args = "".join(f"{text(a)}, " for a in bound.args)
    options = ", ".join(f"{name!r}: {text(a)}" for name, a in bound.options.items())
    return f"{record}(({args}), {{{options}}}, {active!r})"


def apply_pullback(s: Any, op: Op, bound: BoundRule, g: str) -> None:
    """Call the pullback that the forward function has pushed."""
    e = s.e
    out: Any = op.out
    if e.for_native and type(op.f) is RecursiveCallee:
        e.started.add(op)
        s.out.add(f"q = {e.constants.name(sweep_program)}(pop, {e.constants.name(op.f)}, {g})")
        _add_all(s, op)
        return
    active = [a for a in bound.args if isinstance(a, Value) and is_active(a)]
    for v in (*bound.args, *bound.options.values(), out):
        if isinstance(v, Value):
            e.reads(v)  # the pullback may hold it
    pull = f"{out.name}_pull"
    e.tape_reads[pull] = pull
    if type(op.f) is RecursiveCallee:
        s.out.add(f"q = {pull}[0](*{pull}[1:], ({g}, ))")
        _add_all(s, op)
        return
    s.out.add(f"q = {pull}({g})")
    for k, v in enumerate(active):
        gather(s, v, f"q[{k}]")


def _add_all(s: Any, op: Op) -> None:
    """Add the cotangents `q` that the sweep of a program has returned for its arguments."""
    for k, v in enumerate(op.args):
        if is_active(v):
            s.add_to(v, f"q[{k}]")
