"""Writing the reverse sweep of one block."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.indices import parts_of_index, region_of
from autodiff.structured.form.ir import (
    LIST_WRITES,
    WITHOUT_VALUES,
    Block,
    Op,
    Slot,
    Value,
)
from autodiff.structured.form.kinds import ANYTHING, UnsupportedError
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.writing import contractions
from autodiff.structured.writing.activity import depends, is_active
from autodiff.structured.writing.bound_rules import Bound, is_elementwise
from autodiff.structured.writing.calls_without_rules import is_copy, is_display, summed_axes
from autodiff.structured.writing.partial_source import partial_source
from chainrules_core.define import DecomposeRule, LinearRule
from chainrules_core.define.scalar import constant_product, strong_product

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
        for op in self.block.ops:
            if op.code == "read" and op.out in self.terms:
                slot, total = op.data, " + ".join(self.terms[op.out])
                if slot in taken:
                    taken[slot].append(total)
                else:
                    name = f"{slot.name}_b"  # an array may have other names: no `+=`
                    self.out.add(f"{name} = {name} + {total}")
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

    def add_to(self, v: Value, text: str, lasts: bool = False) -> None:
        """Add to the cotangent of a value.

        A text that `lasts` may be written later, where the cotangent is read: all names in it are
        of numbers, and bound once in the block. Of what an operation on complex numbers gives to
        a real one, the real part counts: the cotangent of a real value is real.
        """
        if self.is_complex and not _is_complex(v):
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
        terms.append(text)
        if not lasts or sum(map(len, terms)) > _LONGEST:
            self._name(v)

    def _name(self, v: Value) -> str:
        """Bind the cotangent of a value, as far as it has come; return its name."""
        name = f"{v.name}_b"
        terms = self.terms[v]
        if terms != [name]:
            self.out.add(f"{name} = {' + '.join(terms)}")
            self.terms[v] = [name]
        return name

    def bar(self, v: Value, once: bool) -> str | None:
        """Return the cotangent of a value; None if it has none.

        It is a name, unless it is read `once`.
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
        if len(terms) == 1 and terms[0].isidentifier():
            return terms[0]
        return f"({' + '.join(terms)})" if once else self._name(v)

    # -- operations --------------------------------------------------------------------------------

    def operation(self, op: Op) -> None:
        """Pull the cotangent of what an operation makes back to what it reads."""
        self.e.current = op
        if op.code in WITHOUT_VALUES:
            return
        made = () if op.out is None else (op.out,)
        self.is_complex = any(map(_is_complex, (*made, *op.args, *op.options.values())))
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
        once = op.code == "load" or (len(active) == 1 and not is_display(op))
        g = self.bar(v, once)
        if g is None:
            return
        if op.code == "load":
            self.load(op, g)
        elif op.code == "join":
            if self.is_complex and not _is_complex(op.args[0]):
                raise UnsupportedError("complex numbers made of a list of real ones")
            how, axis = op.data
            shadow = self.e.shadow(op.args[0])
            self.out.add(f"{how}_back({shadow}, {g}, {axis})")
        else:
            self.call(op, g)

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
        shadow = f"{e.place(op)}[{index}]"
        region = region_of(op)
        text = shadow + (".copy()" if region.is_array else "")
        if op.code == "store":
            if not is_active(value):
                self.out.add(f"{shadow} = 0.0")
            elif self.e.has_shadow(value):  # which may be the same
                self.out.add(f"w = {text}")
                self.out.add(f"{shadow} = 0.0")
                self.add_fitting(value, "w", region.ndim)
            else:
                self.add_fitting(value, text, region.ndim)
                self.out.add(f"{shadow} = 0.0")
        elif is_active(value):
            self.add_fitting(value, f"(-{shadow})" if op.code == "sub" else text, region.ndim)

    def add_fitting(
        self, v: Value, text: str, ndim: int, lasts: bool = False, fits: bool = False
    ) -> None:
        """Add a cotangent that may have been broadcast to the cotangent of a value.

        `fits` says that arrays of as many axes have been found to have one shape.
        """
        mine = v.kind.ndim if v.kind.is_array else 0
        if ndim == 0:
            self.add_to(v, text, lasts)
        elif mine == 0:
            self.add_to(v, f"total({text})")
        elif mine < ndim or self.e.broadcasts or not (fits or self.e.shapes.notices(v)):
            self.add_to(v, f"fitted({text}, {self.e.shape_of(v)})")
        else:
            self.add_to(v, text, lasts)

    def call(self, op: Op, g: str) -> None:
        """Pull the cotangent of a result back by the rule."""
        if is_display(op):
            self.display(op.args[0], g, ())
            return
        if is_copy(op):
            self.add_to(op.args[0], g)
            return
        summed = summed_axes(op)
        if summed is not None:
            self.summed(op, g, *summed)
            return
        bound = op.rule
        if bound is None or isinstance(bound.rule, DecomposeRule):
            raise UnsupportedError(f"{op.f} without a rule that records")
        rule = bound.rule
        if any(isinstance(v, Value) and is_active(v) for v in bound.options.values()):
            raise UnsupportedError("an option that depends on the variables")
        if is_elementwise(op):
            self.scalar_rule(op, bound, g)
        elif isinstance(rule, LinearRule) and _is_plain(bound):
            self.linear_rule(op, bound, g)
        else:
            self.recorded(op, bound, g)

    def list_of(self, op: Op, shadow: str) -> None:
        """Hand the cotangents of the numbers in a list on to what they were made of."""
        items = op.args[:-1] if op.data else op.args
        for i, part in enumerate(items):
            if is_active(part) and part.kind.is_scalar:
                repeated = f"sum({shadow}[{i}::{len(items)}])"
                self.add_to(part, repeated if op.data else f"{shadow}[{i}]")

    def display(self, parts: Value, g: str, at: tuple[int, ...]) -> None:
        """Hand the elements of a cotangent on to the numbers that an array was made of."""
        for i, part in enumerate(parts.op.args):
            place = (*at, i)
            if part.op.code == "tuple":
                self.display(part, g, place)
            elif is_active(part):
                self.add_to(part, f"{g}[{', '.join(map(str, place))}]")

    def summed(self, op: Op, g: str, axes: tuple[int, ...], keepdims: bool) -> None:
        """Hand the cotangent of a sum or mean on to all that was added."""
        a = op.args[0]
        if function_of(op.f) is np.mean:
            shape = self.e.shape_of(a)
            g = f"({g} / ({' * '.join(f'{shape}[{k}]' for k in axes)}))"
        if not keepdims and len(axes) < a.kind.ndim:
            g += f"[{', '.join('None' if k in axes else ':' for k in range(a.kind.ndim))}]"
        if self.e.has_shadow(a):
            self.add_to(a, g)
            return
        lasts = not op.out.kind.is_array  # type: ignore[union-attr] # a call makes a value
        dtype = self.e.const(a.kind.dtype)
        self.add_to(a, f"spread({g}, {self.e.shape_of(a)}, {dtype})", lasts)

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
            conjugate = f"({d}).conjugate()" if self.is_complex else d
            n = ndim
            if d in ("1", "-1"):
                term = g if d == "1" else f"(-{g})"
            elif e.is_strong and not d.isidentifier():  # a value by itself is finite
                varying = {0, *[k + 1 for k in wanted]}
                is_constant = varying.isdisjoint(partial.reads)
                product = e.constants.name(constant_product if is_constant else strong_product)
                term = f"{product}({conjugate}, {g})"
            elif ndim and not v.kind.is_array:
                term, n = f"inner({d}, {g})", 0
            else:
                term = f"{g} * {conjugate}"
            terms.append((v, term, n))
        if len(terms) > 1 and self.e.has_shadow(out):
            # All are computed before any is added: a shadow may be what `g` is a view of.
            named = []
            for k, (v, term, n) in enumerate(terms):
                if term != g:
                    self.out.add(f"p{k} = {term}")
                    term = f"p{k}"
                elif v.kind.is_array and (g == "g" or g in e.views.values()):
                    self.out.add(f"p{k} = {g}.copy()")
                    term = f"p{k}"
                named.append((v, term, n))
            terms = named
        lasts = not ndim and all(a.kind.is_scalar for a in bound.args if isinstance(a, Value))
        for v, term, n in terms:
            # The cotangent of an array that has no shadow is nowhere written into.
            is_name = term == g and not self.e.has_shadow(out) and not self.e.has_shadow(v)
            self.add_fitting(v, term, n, lasts or is_name, fits=True)

    def linear_rule(self, op: Op, bound: Bound, g: str) -> None:
        """Apply the adjoints."""
        e = self.e
        rule = bound.rule
        if self.product(bound, g):
            return
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

    def product(self, bound: Bound, g: str) -> bool:
        """Write the adjoints of a product of vectors and matrices, if its rule says how."""
        e = self.e
        if bound.options or not all(isinstance(a, Value) and a.kind.is_array for a in bound.args):
            return False
        subscripts = bound.rule.subscripts.get(tuple([a.kind.ndim for a in bound.args]))
        if subscripts is None:
            return False
        terms = []
        for j, v in enumerate(bound.args):
            if not is_active(v):
                continue
            y, ys, mine = contractions.adjoint_of(subscripts, j)
            other = e.need(bound.args[1 - j])
            if self.is_complex:
                other += ".conj()"
            if contractions.is_outer(y, ys) and e.has_shadow(v) and not self.is_complex:
                name = e.outer_sum(v)
                if name is not None:
                    pair = (g, other) if mine == y + ys else (other, g)
                    self.out.add(f"{name}.append({e.shadow(v)}, {', '.join(pair)})")
                    continue
            term = contractions.product(g, y, other, ys, mine)
            if term is None:
                raise UnsupportedError("a product with these subscripts")
            terms.append((v, term))
        for k, (_, term) in enumerate(terms[:-1]):  # before anything is added
            self.out.add(f"p{k} = {term}")
            terms[k] = terms[k][0], f"p{k}"
        for v, term in terms:
            self.add_to(v, term)
        return True

    def gather(self, v: Value, text: str) -> None:
        """Add what a rule has returned for a value: it may be a thunk, a zero, or broadcast."""
        if v.op.code == "tuple":
            for i, part in enumerate(v.op.args):
                if is_active(part):
                    self.gather(part, f"part({text}, {i})")
            return
        if self.is_complex and not _is_complex(v):
            text = f"real_part({text})"
        if self.e.has_shadow(v):
            self.out.add(f"gather({self.e.shadow(v)}, {text})")
        elif v.kind.is_array:
            self.add_to(v, f"settled({text}, {self.e.shape_of(v)})")
        else:
            self.add_to(v, f"number({text})")

    def recorded(self, op: Op, bound: Bound, g: str) -> None:
        """Call the pullback that the forward function has pushed."""
        e = self.e
        out: Any = op.out
        wanted = [a for a in bound.args if isinstance(a, Value) and is_active(a)]
        for v in (*bound.args, *bound.options.values(), out):
            if isinstance(v, Value):
                e.reads(v)  # the pullback may hold it
        pull = f"{out.name}_pull"
        e.pushing[pull] = pull
        self.out.add(f"q = {pull}({g})")
        for k, v in enumerate(wanted):
            self.gather(v, f"q[{k}]")


def added(place: str, text: str) -> str:
    """Return a statement that adds to a place, or subtracts what would be negated first."""
    inner = text
    while inner.startswith("(") and inner.endswith(")") and _closes(inner) == len(inner) - 1:
        inner = inner[1:-1]
        if inner.startswith("-"):
            rest = inner[1:]
            if rest.isidentifier() or (rest.startswith("(") and _closes(rest) == len(rest) - 1):
                return f"{place} -= {rest}"
            break
    return f"{place} += {text}"


def _closes(text: str) -> int:
    """Return where the first bracket is closed."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if not depth:
            return i
    return -1


def _is_complex(x: Value) -> bool:
    """Whether a value may be complex, or hold complex numbers."""
    if not x.kind.is_list:
        return x.kind.is_complex
    items = x.memory.root().items  # type: ignore[union-attr] # a list has one
    return items is not None and items.is_complex


def _is_plain(bound: Bound) -> bool:
    return bound.rule.add_into is None
