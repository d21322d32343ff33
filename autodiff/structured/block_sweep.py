"""Writing the reverse sweep of one block."""

from __future__ import annotations

from typing import Any

from autodiff.structured.activity import depends, is_active
from autodiff.structured.bound_rules import Bound
from autodiff.structured.indices import parts_of_index, region_of
from autodiff.structured.ir import Block, Op, Value
from autodiff.structured.kinds import UnsupportedError
from autodiff.structured.partial_source import partial_source
from chainrules_core.define import DecomposeRule, LinearRule
from chainrules_core.define.scalar import ScalarRule


class BlockSweep:
    """Writes the reverse sweep of one block."""

    def __init__(self, emitter: Any, block: Block) -> None:
        self.e = emitter
        self.block = block
        self.out = emitter.out
        self.bars: set[Value] = set()  # values that have a cotangent so far

    def run(self) -> None:
        """Write it."""
        e = self.e
        zeroed = []
        for v in [v for v in e.seeded if v.op in self.block.ops]:
            for seed in e.seeded.pop(v):
                self.add_to(v, seed)
        for slot, v in self.block.writes.items():
            if slot.memory is None and slot.is_active:
                if v.op.code == "read" and v.op.data is slot:
                    continue
                if is_active(v):
                    self.add_to(v, f"{slot.name}_b")
                zeroed.append(f"{slot.name}_b")
        if zeroed:
            self.out.add(f"{' = '.join(zeroed)} = 0.0")
        for op in reversed(self.block.ops):
            self.operation(op)
        for op in self.block.ops:
            if op.code == "read" and op.out in self.bars:
                self.out.add(f"{op.data.name}_b += {op.out.name}_b")

    # -- cotangents --------------------------------------------------------------------------------

    def add_to(self, v: Value, text: str) -> None:
        """Add to the cotangent of a value."""
        e = self.e
        if v.op.code == "tuple":  # it would not reach the parts
            raise UnsupportedError("a tuple in the place of an array")
        if v.memory is not None and v.memory.root().has_shadow:
            shadow = e.shadow(v)
            if shadow.isidentifier():
                self.out.add(f"{shadow} += {text}")
            else:
                self.out.add(f"s = {shadow}; s += {text}")
            return
        name = f"{v.name}_b"
        if v in self.bars:
            self.out.add(f"{name} = {name} + {text}")
        else:
            self.bars.add(v)
            self.out.add(f"{name} = {text}")

    def bar(self, v: Value) -> str | None:
        """Return the cotangent of a value, a name; None if it has none."""
        if v.memory is not None and v.memory.root().has_shadow:
            shadow = self.e.shadow(v)
            if shadow.isidentifier():
                return shadow
            self.out.add(f"g = {shadow}")
            return "g"
        return f"{v.name}_b" if v in self.bars else None

    # -- operations --------------------------------------------------------------------------------

    def operation(self, op: Op) -> None:
        """Pull the cotangent of what an operation makes back to what it reads."""
        if op.code in ("break", "raise"):
            return
        if op.out is None:
            self.write(op)
            return
        v = op.out
        if op.code in ("read", "view", "form", "tuple", "part", "const") or not is_active(v):
            return
        if op.code == "call" and not depends(op):
            return
        g = self.bar(v)
        if g is None:
            return
        if op.code == "load":
            self.load(op, g)
        else:
            self.call(op, g)

    def load(self, op: Op, g: str) -> None:
        """Add the cotangent of an element, or of a copy, to the shadow."""
        e = self.e
        base, *at = op.args
        if not is_active(base):
            return
        index = e.index(op.data, [e.need(a) for a in at])
        shadow = e.shadow(base)
        arrays = [at[part[1]] for part in parts_of_index(op.data) if part[0] == "array"]
        if any(a.kind.letter in "iu" for a in arrays):
            self.out.add(f"add_at({shadow}, s_[{index}], {g})")
        else:
            self.out.add(f"{shadow}[{index}] += {g}")

    def write(self, op: Op) -> None:
        """Undo a write: take the cotangent of what was written, and put the old contents back."""
        e = self.e
        base, value, *at = op.args
        memory = base.memory.root()  # type: ignore[union-attr] # an array has one
        texts = [e.need(a) for a in at] if memory.is_active or memory.is_needed else []
        index = e.index(op.data, texts) if texts or not at else ""
        if memory.is_needed:
            old = e.old_name(op)
            e.pushing[old] = old
            where = e.need(base)
            self.out.add(f"{where}[{index}] = {old}")
        if not memory.has_shadow:
            return
        shadow = f"{e.shadow(base)}[{index}]"
        region = region_of(op)
        if op.code == "store":
            if is_active(value):
                self.out.add(f"w = {shadow}" + (".copy()" if region.is_array else ""))
            self.out.add(f"{shadow} = 0.0")
            text = "w"
        elif not is_active(value):
            return
        else:
            text = (
                f"(-{shadow})"
                if op.code == "sub"
                else shadow + (".copy()" if region.is_array else "")
            )
        if is_active(value):
            self.add_fitting(value, text, region.ndim)

    def add_fitting(self, v: Value, text: str, ndim: int) -> None:
        """Add a cotangent that may have been broadcast to the cotangent of a value."""
        mine = v.kind.ndim if v.kind.is_array else 0
        if ndim == 0:
            self.add_to(v, text)
        elif mine == 0:
            self.add_to(v, f"total({text})")
        elif mine < ndim or not self.is_sure(v):
            self.add_to(v, f"fitted({text}, {self.e.need(v, contents=False)}.shape)")
        else:
            self.add_to(v, text)

    def is_sure(self, v: Value) -> bool:
        """Whether a cotangent of another shape could not go unnoticed."""
        if self.e.broadcasts:
            return False
        if v.memory is not None and v.memory.root().has_shadow:
            return True  # adding more elements than it has raises
        return v.op.code == "call" and isinstance(getattr(v.op.rule, "rule", None), ScalarRule)

    def call(self, op: Op, g: str) -> None:
        """Pull the cotangent of a result back by the rule."""
        bound = op.rule
        if bound is None or isinstance(bound.rule, DecomposeRule):
            raise UnsupportedError(f"{op.f} without a rule that records")
        rule = bound.rule
        if any(isinstance(v, Value) and is_active(v) for v in bound.options.values()):
            raise UnsupportedError("an option that depends on the variables")
        if isinstance(rule, ScalarRule) and rule.setup is None and not rule.several:
            self.scalar_rule(op, bound, g)
        elif isinstance(rule, LinearRule) and _is_plain(bound):
            self.linear_rule(op, bound, g)
        else:
            self.recorded(op, bound, g)

    def scalar_rule(self, op: Op, bound: Bound, g: str) -> None:
        """Multiply by the partial derivatives."""
        e = self.e
        rule = bound.rule
        out: Any = op.out
        wanted = [j for j, a in enumerate(bound.args) if isinstance(a, Value) and is_active(a)]
        terms = []
        ndim = out.kind.ndim if out.kind.is_array else 0
        for j in wanted:
            partial = rule.partials[0][j]

            def text(i: int) -> str:
                v = out if i == 0 else bound.args[i - 1]
                return e.need(v) if isinstance(v, Value) else e.const(v)

            d = partial_source(partial, text, rule.n + 1, e.constants)
            v = bound.args[j]
            if d is None:
                raise UnsupportedError("a partial derivative that is not a number")
            if d == "0":
                continue
            scalar = not v.kind.is_array and ndim > 0
            if d in ("1", "-1"):
                term = g if d == "1" else f"(-{g})"
            elif scalar:
                terms.append((v, f"inner({d}, {g})", 0))
                continue
            else:
                term = f"{g} * {d}"
            terms.append((v, term, ndim))
        if len(terms) > 1:
            # All are computed before any is added: a shadow may be what `g` is a view of.
            named = []
            for k, (v, term, n) in enumerate(terms):
                if term != g:
                    self.out.add(f"p{k} = {term}")
                    term = f"p{k}"
                elif v.kind.is_array and g == "g":
                    self.out.add(f"p{k} = {g}.copy()")
                    term = f"p{k}"
                named.append((v, term, n))
            terms = named
        for v, term, n in terms:
            self.add_fitting(v, term, n)

    def linear_rule(self, op: Op, bound: Bound, g: str) -> None:
        """Apply the adjoints."""
        e = self.e
        rule = bound.rule
        terms = []
        for j, a in enumerate(bound.args):
            if not (isinstance(a, Value) and is_active(a)):
                continue
            if j not in rule.argnums:
                raise UnsupportedError("an argument that a rule does not differentiate")
            made = rule.adjoints[rule.argnums.index(j)]
            adjoint = e.constants.name(made)
            e.adjoints[id(made)] = op.f, j
            texts = [g]
            for i, b in enumerate(bound.args):
                is_space = i == j or (rule.joint and i in rule.argnums)
                if isinstance(b, Value):
                    texts.append(e.need(b, contents=not is_space))
                else:
                    texts.append(e.const(b))
            for name, b in bound.options.items():
                texts.append(f"{name}={e.need(b) if isinstance(b, Value) else e.const(b)}")
            terms.append((a, f"{adjoint}({', '.join(texts)})"))
        for k, (_, term) in enumerate(terms):
            self.out.add(f"p{k} = {term}")
        for k, (a, _) in enumerate(terms):
            self.gather(a, f"p{k}")

    def gather(self, v: Value, text: str) -> None:
        """Add what a rule has returned for a value: it may be a thunk, a zero, or broadcast."""
        if v.op.code == "tuple":
            for i, part in enumerate(v.op.args):
                if is_active(part):
                    self.gather(part, f"part({text}, {i})")
        elif v.memory is not None and v.memory.root().has_shadow:
            self.out.add(f"gather({self.e.shadow(v)}, {text})")
        elif v.kind.is_array:
            self.add_to(v, f"settled({text}, {self.e.need(v, contents=False)})")
        else:
            self.add_to(v, f"number({text})")

    def recorded(self, op: Op, bound: Bound, g: str) -> None:
        """Call the pullback that the forward function has pushed."""
        e = self.e
        out: Any = op.out
        wanted = [a for a in bound.args if isinstance(a, Value) and is_active(a)]
        for v in (*bound.args, *bound.options.values(), out):
            if isinstance(v, Value) and v.memory is not None and v.memory.root().is_written:
                v.memory.root().is_needed = True  # the pullback may hold it
        pull = f"{out.name}_pull"
        e.pushing[pull] = pull
        self.out.add(f"q = {pull}({g})")
        for k, v in enumerate(wanted):
            self.gather(v, f"q[{k}]")


def _is_plain(bound: Bound) -> bool:
    return bound.rule.add_into is None
