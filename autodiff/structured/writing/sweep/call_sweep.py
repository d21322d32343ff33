"""Code generation of the reverse sweep of a call: by its rule, or by a known adjoint."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from autodiff.functions import is_builtin_rule
from autodiff.partial_source import partial_source
from autodiff.structured.form.function_ir import Op, Value
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.writing.activity import is_active
from autodiff.structured.writing.plain_floats import has_low_precision
from autodiff.structured.writing.rules import contractions
from autodiff.structured.writing.rules.bound_rules import BoundRule, is_elementwise
from autodiff.structured.writing.rules.known_adjoints import (
    Adjoint,
    adjoint_subscripts,
    adjoints_of,
    index_of_reduced_axes,
    is_choice,
    is_conjugate,
    is_copy,
    is_display,
    is_reshape,
    joined_axis,
    matrix_function,
    reduced,
    summed_axes,
    triangular,
)
from autodiff.structured.writing.rules.native_calls import solution_of_adjoint
from autodiff.structured.writing.sweep.partial_derivatives import (
    cheaper_calls,
    is_quotient,
    is_real,
    slope_of_positive_power,
    slope_of_power,
    terms_of_quotient,
)
from autodiff.structured.writing.sweep.pullback_sweep import (
    apply_pullback,
    gather,
    rule_with_pullback,
)
from autodiff.structured.writing.sweep.signs import (
    before_spreading,
    negative,
    product,
    without_sign,
)
from autodiff.structured.writing.sweep.strided_vectors import strided_part
from chainrules_core.define import LinearRule
from chainrules_core.define.scalar import constant_product, strong_product
from chainrules_core.operations.contraction import contraction

_QUOTIENT = re.compile(r"\(\(-(\w+)\) / (\w+)\)")


def is_by_partials(op: Op) -> bool:
    """Whether the sweep of an operation multiplies by partial derivatives."""
    is_other = op.code != "call" or is_display(op) or is_copy(op) or summed_axes(op) is not None
    return not is_other and is_elementwise(op)


def sweep_call(s: Any, op: Op, g: str) -> None:
    """Pull back the cotangent of the result of a call."""
    if is_display(op):
        _display(s, op.args[0], g, ())
        return
    if is_copy(op) or is_reshape(op):
        s.add_to(op.args[0], g if is_copy(op) else _reshaped(s, op.args[0], g))
        return
    joined = joined_axis(op)
    if joined is not None:
        _joined(s, op.args[0].op.args, g, *joined)
        return
    summed = summed_axes(op)
    if summed is not None:
        _summed(s, op, g, *summed)
        return
    of_axes = reduced(op)
    if of_axes is not None:
        _reduced(s, op, g, *of_axes)
        return
    backs = adjoints_of(op)
    if backs is not None:
        _by_functions(s, op, g, backs)
        return
    if is_conjugate(op):
        s.add_to(op.args[0], f"({g}).conjugate()")
        return
    if matrix_function(op) is not None:
        _of_matrices(s, op, g)
        return
    system = triangular(op)
    if system is not None:
        _triangular(s, op, g, *system)
        return
    if is_choice(op) and not s.e.for_native:
        _choice(s, op, g)
        return
    if _by_einsum(s, op, g):
        return
    bound = rule_with_pullback(op)
    rule = bound.rule
    if is_elementwise(op):
        _scalar_rule(s, op, bound, g)
    elif isinstance(rule, LinearRule) and rule.add_into is None:
        _linear_rule(s, op, bound, g)
    else:
        apply_pullback(s, op, bound, g)


def _reshaped(s: Any, x: Value, g: str) -> str:
    """Return a cotangent, reshaped to the shape of an array."""
    e = s.e
    if e.for_native:
        return f"{e.constants.name(np.reshape)}({g}, {e.shape_of(x)})"
    return f"({g}).reshape({e.shape_of(x)})"


def _display(s: Any, parts: Value, g: str, at: tuple[int, ...]) -> None:
    """Add the elements of a cotangent to those of the numbers that an array was made of."""
    for i, part in enumerate(parts.op.args):
        place = (*at, i)
        if part.op.code == "tuple":
            _display(s, part, g, place)
        elif is_active(part):
            s.add_to(part, f"{g}[{', '.join(map(str, place))}]")


def _joined(s: Any, parts: list[Value], g: str, axis: int, is_new: bool) -> None:
    """Add the parts of a cotangent to those of the arrays that were joined."""
    before = ":, " * axis
    start = ""
    for i, part in enumerate(parts):
        place = str(i)
        if not is_new:
            length = f"{s.e.shape_of(part)}[{axis}]"
            stop = f"{start} + {length}" if start else length
            place, start = f"{start}:{stop}", stop
        if is_active(part):
            s.add_to(part, f"{g}[{before}{place}]")


def _reduced(
    s: Any, op: Op, g: str, back: Any, axes: tuple[int, ...], keepdims: bool
) -> None:  # fmt: skip
    """Pull back the cotangent of a norm or extremum."""
    e, x = s.e, op.args[0]
    index = index_of_reduced_axes(axes, keepdims, x.kind.ndim)
    along = f", {axes}" if op.out.kind.is_array else ""
    text = f"{g}{index}, {e.need(op.out)}{index}, {e.need(x)}{along}"
    s.add_to(x, f"{e.constants.name(back)}({text})")


def _summed(s: Any, op: Op, g: str, axes: tuple[int, ...], keepdims: bool) -> None:
    """Spread the cotangent of a sum or mean over its terms."""
    a = op.args[0]
    is_kept = g.isidentifier() and not (s.e.has_shadow(op.out) or s.e.for_native)
    if function_of(op.f) is np.mean:
        shape = s.e.shape_of(a)
        g = f"({g} / ({' * '.join(f'{shape}[{k}]' for k in axes)}))"
    g += index_of_reduced_axes(axes, keepdims, a.kind.ndim)
    if s.e.has_shadow(a):
        s.add_to(a, g)
        return
    lasts = is_kept or not op.out.kind.is_array
    dtype = s.e.const(a.kind.dtype)
    text = f"spread({g}, {s.e.shape_of(a)}, {dtype})"
    if a.kind.dtype == np.float64 and not (s.is_complex or s.e.for_native):
        s.spread[text] = g
    s.add_to(a, text, lasts)


def _named(s: Any, terms: list[tuple[Value, str]]) -> list[tuple[Value, str]]:
    """Bind all terms but the last to names, so that none reads a shadow after an addition."""
    named = [(v, f"p{k}") for k, (v, _) in enumerate(terms[:-1])]
    for (_, name), (_, term) in zip(named, terms, strict=False):
        s.out.add(f"{name} = {term}")
    return named + terms[-1:]


def _by_functions(s: Any, op: Op, g: str, backs: dict[int, Adjoint]) -> None:
    """Pull back the cotangent by one function for each argument."""
    e = s.e
    terms = []
    for j, a in enumerate(op.args):
        if is_active(a):
            read = [e.need(op.args[i - 1] if i else op.out) for i in backs[j].reads]
            given = [g, *read, *map(repr, backs[j].options)]
            terms.append((a, f"{e.constants.name(backs[j].function)}({', '.join(given)})"))
    for a, term in _named(s, terms):
        s.add_to(a, term)


def _choice(s: Any, op: Op, g: str) -> None:
    """Give each argument of `np.where` the cotangents of the elements chosen from it."""
    e, where = s.e, s.e.constants.name(np.where)
    condition, a, b = op.args
    ndim = op.out.kind.ndim
    both = (a, f"{g}, 0.0"), (b, f"0.0, {g}")
    terms = [(v, f"{where}({e.need(condition)}, {text})") for v, text in both if is_active(v)]
    for v, term in _named(s, terms):
        s.add_unbroadcast(v, term, ndim)


def _by_einsum(s: Any, op: Op, g: str) -> bool:
    """Write the cotangents of the operands of an einsum as einsums; False if that fails."""
    e = s.e
    active = [j for j, a in enumerate(op.args) if is_active(a)]
    subscripts = [adjoint_subscripts(op, j) for j in active]
    if s.is_complex or not subscripts or None in subscripts:
        return False
    terms = []
    for j, text in zip(active, subscripts, strict=True):
        others = [e.need(a) for i, a in enumerate(op.args) if i not in (0, j)]
        call = f"{e.constants.name(contraction)}({', '.join([repr(text), g, *others])})"
        terms.append((op.args[j], call))
    for a, term in _named(s, terms):
        s.add_to(a, f"fitted({term}, {e.shape_of(a)})")
    return True


def _of_matrices(s: Any, op: Op, g: str) -> None:
    """Pull back the cotangent of an inverse, determinant or solution: X = A⁻¹ B, B̄ = A⁻ᵀ X̄."""
    e, a, y = s.e, op.args[0], op.out
    conjugate = ".conj()" if s.is_complex else ""
    if op.f is np.linalg.inv:
        adjoint = f"{e.need(y)}{conjugate}.T"
        s.add_to(a, negative(f"({adjoint} @ {g} @ {adjoint})"))
        return
    if op.f is np.linalg.det:
        known = None if e.for_native else _inverse_of(s, a)
        inverse = e.need(known) if known else f"{e.constants.name(np.linalg.inv)}({e.need(a)})"
        s.add_to(a, f"({g} * {e.need(y)}) * {inverse}.T")
        return
    b = op.args[1]
    solution = solution_of_adjoint(e, op, g)
    if solution is None:
        solution = f"{e.constants.name(np.linalg.solve)}({e.need(a)}{conjugate}.T, {g})"
    s.out.add(f"p0 = {solution}")
    if is_active(a):
        is_vector = b.kind.ndim == 1
        x = f"{e.need(y)}{conjugate}"
        s.add_to(a, negative(f"(p0[:, None] * {x})" if is_vector else f"(p0 @ {x}.T)"))
    if is_active(b):
        s.add_to(b, "p0")


def _triangular(s: Any, op: Op, g: str, is_lower: bool, is_transposed: bool) -> None:
    """Pull back the cotangent of the solution of a triangular system: B̄ = A⁻ᵀ X̄."""
    e, (a, b), name = s.e, op.args, s.e.constants.name
    options = f"trans={int(not is_transposed)}, lower={is_lower}"
    s.out.add(f"p0 = {name(op.f)}({e.need(a)}, {g}, {options})")
    if is_active(a):
        x = e.need(op.out)
        rows, columns = (x, "p0") if is_transposed else ("p0", x)
        is_vector = b.kind.ndim == 1
        product = f"{rows}[:, None] * {columns}" if is_vector else f"{rows} @ {columns}.T"
        s.add_to(a, negative(f"{name(np.tril if is_lower else np.triu)}({product})"))
    if is_active(b):
        s.add_to(b, "p0")


def _inverse_of(s: Any, a: Value) -> Value | None:
    """Return the inverse of a matrix, if the block computes it and neither is written into."""
    for op in s.block.ops:
        if op.code == "call" and op.f is np.linalg.inv and op.args[0] is a:
            is_changed = any(v.root.is_written for v in (a, op.out))
            return None if is_changed else op.out
    return None


def _scalar_rule(s: Any, op: Op, bound: BoundRule, g: str) -> None:
    """Multiply the cotangent by the partial derivatives."""
    e = s.e
    out: Any = op.out
    active = [j for j, a in enumerate(bound.args) if isinstance(a, Value) and is_active(a)]
    if len(active) == 2 and is_quotient(s, op, bound):
        terms = terms_of_quotient(s, op, bound, g)
    else:
        terms = [(bound.args[j], *term_of(s, op, bound, j, g)) for j in active]
    terms = [term for term in terms if term[1]]
    if len(terms) > 1 and e.has_shadow(out):
        # Compute all before adding any: `g` may be a view of a shadow that one is added to.
        named = []
        for k, (v, term, n, factor) in enumerate(terms):
            is_negative, x = without_sign(term)
            is_view = x == "g" or x in e.views.values()
            if factor or x != without_sign(g)[1]:
                s.out.add(f"p{k} = {term}" + (f" * {factor}" if factor else ""))
                term = f"p{k}"
            elif v.kind.is_array and is_view:
                s.out.add(f"p{k} = {x}.copy()")
                term = negative(f"p{k}") if is_negative else f"p{k}"
            named.append((v, term, n, ""))
        terms = named
    lasts = not out.kind.is_array and all(
        a.kind.is_scalar for a in bound.args if isinstance(a, Value)
    )
    for v, term, n, factor in terms:
        # The cotangent of an array without a shadow is never written into.
        is_name = term in (g, negative(g)) and not e.has_shadow(out) and not e.has_shadow(v)
        waits = not (e.has_shadow(out) or out in s.borrowed)  # else the term reads a shadow
        s.add_unbroadcast(v, term, n, lasts or (is_name and not factor), True, factor, waits)


def term_of(s: Any, op: Op, bound: BoundRule, j: int, g: str) -> tuple[str, int, str]:
    """Return the cotangent of an argument, its number of axes, and a factor for BLAS or "".

    The cotangent is "" if the partial derivative is zero.
    """
    e, rule, v = s.e, bound.rule, bound.args[j]
    out: Any = op.out
    partial = rule.partials[0][j]
    ndim = out.kind.ndim if out.kind.is_array else 0
    is_negative, x = without_sign(g)

    def argument(i: int) -> Any:
        return out if i == 0 else bound.args[i - 1]

    texts: list[str] = []

    def text(i: int) -> str:
        a = argument(i)
        texts.append(_precise(e, a, out) if isinstance(a, Value) else e.const(a))
        return texts[-1]

    read = list(map(argument, partial.reads))
    is_inner = ndim and not v.kind.is_array  # the cotangent is an inner product
    is_factor = partial_source(partial, lambda i: "x", rule.n + 1, e.constants) == "x"
    if is_inner and is_factor and s.is_for_blas(out, *read):
        part = strided_part(e, read[0], is_shadow=False)
        if part is not None:
            term = f"{e.blas('inner_with_part')}({part}, {x})"
            return negative(term) if is_negative else term, 0, ""
    d = _slope(s, op, bound, j, text, read)
    if d is None:
        raise UnsupportedError("a partial derivative that is not a number")
    if d == "0":
        return "", 0, ""
    if d in ("1", "-1"):
        # A cotangent that is part of a shadow must not change with it.
        is_part = out in s.borrowed or (e.for_native and d == "-1" and e.has_shadow(out))
        is_copied = is_part and v.kind.is_array and not e.has_shadow(v)
        term = f"{x}.copy()" if is_copied else x
        return negative(term) if is_negative == (d == "1") else term, ndim, ""
    arrays = [a for a in read if (a.kind if isinstance(a, Value) else np.asarray(a)).ndim]
    conjugate = f"({d}).conjugate()" if s.is_complex and not is_real(out, read, texts, d) else d
    if e.has_strong_zero(op) and not d.isidentifier():  # a single value is finite
        actives = {k + 1 for k, a in enumerate(bound.args) if isinstance(a, Value) and is_active(a)}
        is_constant = ({0} | actives).isdisjoint(partial.reads)
        product_of = constant_product if is_constant else strong_product
        name = e.constants.name(product_of)
        if not (ndim or arrays):
            conjugate = f"slope(lambda: {conjugate})"
        if e.notes_steep:
            return f"noted({e.shapes.numbers[op]}, {name}, {conjugate}, {g})", ndim, ""
        return f"{name}({conjugate}, {g})", ndim, ""
    quotient = None if e.for_native or s.is_complex else _QUOTIENT.fullmatch(d)
    if is_inner and v is bound.args[-1] and quotient:  # divide the sum by the number
        inner = e.blas("inner_product") if s.is_for_blas(out) else "inner"
        term = f"({inner}({quotient[1]}, {x}) / {quotient[2]})"
        return term if is_negative else negative(term), 0, ""
    if is_inner:
        inner = e.blas("inner_product") if arrays and s.is_for_blas(out, *arrays) else "inner"
        term = f"{inner}({d}, {x})"
        return negative(term) if is_negative else term, 0, ""
    if not arrays and e.has_shadow(v) and s.is_for_blas(out, v):
        return x, ndim, negative(d) if is_negative else d
    if arrays and all(a is v or not a.kind.is_array for a in op.args):  # `d` has the shape of `out`
        g = before_spreading(g, s.spread)
    return product(g, conjugate), ndim, ""


def _precise(e: Any, a: Value, out: Value) -> str:
    """Return a value in the precision of the result, in which partial derivatives are computed."""
    if e.for_native or not has_low_precision(a.kind) or has_low_precision(out.kind):
        return str(e.need(a))
    return f"({e.need(a)} * {e.constants.name(np.float64(1.0))})"


def _slope(s: Any, op: Op, bound: BoundRule, j: int, text: Any, read: list) -> str | None:
    """Return a partial derivative as source; None if it is no number."""
    e, rule = s.e, bound.rule
    d = None if e.for_native else slope_of_power(op, bound, j, text)
    if d is not None:
        return d
    d = partial_source(rule.partials[0][j], text, rule.n + 1, e.constants, cheaper_calls(s, read))
    return None if d is None else slope_of_positive_power(s, op, bound, j, text, d)


def _linear_rule(s: Any, op: Op, bound: BoundRule, g: str) -> None:
    """Apply the adjoints of a linear rule."""
    e, rule = s.e, bound.rule
    if _product(s, bound, g):
        return
    if not g.isidentifier():
        s.out.add(f"g = {g}")
        g = "g"
    terms = []
    for j, a in enumerate(bound.args):
        if not (isinstance(a, Value) and is_active(a)):
            continue
        if j not in rule.argnums:
            raise UnsupportedError("an argument that a rule does not differentiate")
        made = rule.adjoints[rule.argnums.index(j)]
        adjoint = e.constants.name(made)
        if is_builtin_rule(rule):
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
        s.out.add(f"p{k} = {term}")
    for k, (a, _) in enumerate(terms):
        gather(s, a, f"p{k}")


def is_product(op: Op) -> bool:
    """Whether the adjoints of an operation are themselves products."""
    rule = getattr(op.rule, "rule", None)
    return isinstance(rule, LinearRule) and _subscripts(op.rule) is not None


def _subscripts(bound: BoundRule) -> str | None:
    """Return the subscripts of a product of arrays, if its rule gives them."""
    if bound.options or not all(isinstance(a, Value) and a.kind.is_array for a in bound.args):
        return None
    return bound.rule.subscripts.get(tuple([a.kind.ndim for a in bound.args]))


def _product(s: Any, bound: BoundRule, g: str) -> bool:
    """Write the adjoints of a product of vectors and matrices; False for other linear rules."""
    e = s.e
    subscripts = _subscripts(bound)
    if subscripts is None:
        return False
    if _squared_norm(s, bound, subscripts, g):
        return True
    is_negative, x = without_sign(g)
    if e.notes_steep:
        values = [g, *[e.need(v) for v in bound.args]]
        s.out.add(f"note_steep({e.shapes.numbers[e.current]}, {', '.join(values)})")
    terms = []
    for j, v in enumerate(bound.args):
        if not is_active(v):
            continue
        y, ys, mine = contractions.adjoint_of(subscripts, j)
        if not y and e.has_shadow(v) and s.is_for_blas(*bound.args):
            s.add_by_blas(v, g, bound.args[1 - j])
            continue
        other = e.need(bound.args[1 - j])
        if s.is_complex:
            other += ".conj()"
        if contractions.is_outer(y, ys) and e.has_shadow(v) and not s.is_complex:
            name = e.outer_sum(v)
            if name is not None:
                pair = (g, other) if mine == y + ys else (other, g)
                s.out.add(f"{name}.append({s.shadow_of(v)}, {', '.join(pair)})")
                continue
        if len(y) == len(mine) == 1 and e.has_shadow(v) and not s.is_complex:
            name = e.product_sum(v, bound.args[1 - j], ys.index(y))
            if name is not None:
                s.out.add(f"{name}.append({s.shadow_of(v)}, {other}, {g})")
                continue
        term = contractions.product(x, y, other, ys, mine)
        if term is None:
            raise UnsupportedError("a product with these subscripts")
        terms.append((v, term))
    for v, term in _named(s, terms):
        s.add_to(v, negative(term) if is_negative else term)
    return True


def _squared_norm(s: Any, bound: BoundRule, subscripts: str, g: str) -> bool:
    """Write the adjoint of the inner product of a vector with itself: 2 ȳ x; False for others."""
    e, v = s.e, bound.args[0]
    is_one = subscripts == "i,i->" and bound.args[1] is v
    if not is_one or e.for_native or s.is_complex or e.notes_steep:
        return False
    is_negative, x = without_sign(g)
    twice = negative(f"(2.0 * {x})") if is_negative else f"(2.0 * {x})"
    if e.has_shadow(v) and s.is_for_blas(v):
        s.add_by_blas(v, twice, v)
    else:
        s.add_to(v, product(twice, e.need(v)))
    return True
