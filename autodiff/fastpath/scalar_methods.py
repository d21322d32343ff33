"""Fast path for plain floats: record operators and ufuncs without dispatch.

The methods of traced floats are generated from the partial derivatives in the rules of the
operators, so there is no second list of derivatives. They are generated again when such a rule
changes. Partial derivatives are floats and evaluated at once: a node is two or four numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import is_fixed
from autodiff.dispatch.call import NO_RULE
from autodiff.dispatch.dispatch_cache import ways_of
from autodiff.fastpath.codegen.node_code import SCOPE, quietly
from autodiff.functions import OPERATORS
from autodiff.numpy_api import operators as operators  # the general methods, which these call
from autodiff.trace.tape import CONSTANT, place_of
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import rrule
from chainrules_core.define import LinearRule, ScalarRule
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.interpreter.places import MADE_HERE
from chainrules_core.rule import Rule

_FLOATS = frozenset({float, np.float64, FloatTracer})

RECORD_FLOAT = """\
    made = new(FloatTracer)
    made._value = y
    made._tape = tape
    nodes = tape.nodes
    made._index = place = len(nodes)
    nodes.append(node)
    if nodes[place] is not node:
        made._index = place_of(node, nodes)
    return made
"""
"""The source that records a float and returns its tracer."""

_METHOD = """
def {name}({own}, {other}):
    kind = type({other})
    tape = {own}._tape
{branches}    return otherwise(a, b)
"""
# The general path handles complex results (a negative base to a fractional power).
_BRANCH = """\
    if {test}:
        x = {x}
        z = {z}
        y = {value}
        if {checked}:
            try:
                node = ({node})
            except ARITHMETIC:
                node = ({safe})
{record}"""
_IS_NUMBER = "kind is float or kind is int or kind is float64"


def scalar_rule(f: Callable, n: int) -> ScalarRule | None:
    """Return the rule of `f` for plain floats, if it is defined by partial derivatives."""
    entry = rrule.entry(f)
    rule = None if entry is None else entry.find((float,) * n)
    if not isinstance(rule, ScalarRule) or rule.several or rule.setup is not None:
        return None
    return rule if all(_is_plain(p) for p in rule.partials[0]) else None


def _is_plain(partial: Partial) -> bool:
    return partial.function is not None or isinstance(partial.constant, (int, float))


def derivative(
    partial: Partial, name: str, names: tuple[str, ...], varying: set[int] | None = None
) -> str:
    """Return a partial derivative as an expression of the local variables of a method.

    If it is one of the values and this is not `varying`, zero is the int 0.
    """
    if partial.function is None:
        return repr(float(partial.constant))
    if partial.returns is not None:
        is_constant = varying is not None and partial.returns not in varying
        return f"{names[partial.returns]} or 0" if is_constant else names[partial.returns]
    read = [n if i in partial.reads else "None" for i, n in enumerate(names)]
    if partial.is_arithmetic:  # Python's floats raise where NumPy's warn
        read = [n if n == "None" else f"float({n})" for n in read]
    return f"{name}({', '.join(read)})"


def binary_methods(f: Callable, otherwise: Callable) -> tuple[Callable, Callable] | None:
    """Generate ``f(a, b)`` for a traced `a`, and its reflected form for a traced `b`.

    For values other than floats, they call ``otherwise(a, b)``.
    """
    rule = scalar_rule(f, 2)
    if rule is None:
        return None
    by_a, by_b = rule.partials[0]
    symbol = OPERATORS.get(f)
    names = ("y", "x", "z")

    def branch(test: str, a: str, b: str, varying: set[int]) -> str:
        """Return the source of one case: which of the values are `varying`, that is traced."""
        nodes, safe = [], []
        for own, i, partial in (("a", 1, by_a), ("b", 2, by_b)):
            if i in varying:
                slope = derivative(partial, f"by_{own}", names, {0, *varying})
                nodes.append(f"{own}._index, {slope}")
                safe.append(f"{own}._index, safe_{own}(y, x, z)")
        return _BRANCH.format(
            test=test,
            x=a,
            z=b,
            value=f"x {symbol} z" if symbol else "f(x, z)",
            # Of the operators, only a power of floats may give something other than a float.
            checked="True" if symbol and f is not operator.pow else "type(y) in NUMBERS",
            node=", ".join(nodes),
            safe=", ".join(safe),
            record=indent(RECORD_FLOAT, " " * 8),
        )

    both = branch("kind is FloatTracer and b._tape is tape", "a._value", "b._value", {1, 2})
    source = _METHOD.format(
        name="method", own="a", other="b",
        branches=both + branch(_IS_NUMBER, "a._value", "b", {1}),
    ) + _METHOD.format(
        name="reflected", own="b", other="a", branches=branch(_IS_NUMBER, "a", "b._value", {2})
    )  # fmt: skip
    scope: dict[str, Any] = {
        **SCOPE,
        "f": f,
        "otherwise": otherwise,
        "by_a": quietly(by_a),
        "by_b": quietly(by_b),
        "safe_a": by_a.safely,
        "safe_b": by_b.safely,
    }
    exec(compile(source, f"{MADE_HERE}{f.__name__} of traced floats>", "exec"), scope)
    return scope["method"], scope["reflected"]


def way_of(f: Callable, args: tuple) -> Callable | None:
    """Return code for calls of `f` with two floats, traced like these; None if impossible."""
    kinds = [type(a) for a in args]
    if len(args) != 2 or not _FLOATS.issuperset(kinds) or FloatTracer not in kinds:
        return None
    methods = binary_methods(f, lambda a, b: NO_RULE)
    if methods is None:
        return None
    method, reflected = methods
    return method if kinds[0] is FloatTracer else lambda a, b: reflected(b, a)


def unary_record(f: Callable) -> Callable[[FloatTracer], Any] | None:
    """Return a function that applies `f` to a traced float and records it; None if impossible."""
    rule = scalar_rule(f, 1)
    if rule is None or f is complex or getattr(f, "__module__", None) == "cmath":
        return None  # no rule, or complex results
    if isinstance(f, np.ufunc) and not any(kinds.startswith("d->d") for kinds in f.types):
        return None  # complex results, as of scipy.special.wofz
    partial = rule.partials[0][0]
    slope = quietly(partial) or partial

    def record(a: FloatTracer) -> Any:
        x = a._value
        y = f(x)
        tape = a._tape
        try:
            p = slope(float(y), float(x))
        except ARITHMETIC:
            p = partial.safely(y, x)
        node, nodes = (a._index, p), tape.nodes
        place = len(nodes)
        nodes.append(node)
        if nodes[place] is not node:
            place = place_of(node, nodes)
        return FloatTracer(y, tape, place)

    return record


class UnaryTable(dict):
    """Function of one float → its `unary_record` or None; filled on demand."""

    def __missing__(self, f: Callable) -> Callable | None:
        """Look a function up for the first time."""
        record = unary_record(f)
        if rrule.entry(f) is not None:  # do not keep temporary functions alive
            self[f] = record
        return record


unary = UnaryTable()


class _ElementRule(dict):
    """The rule for elements under "rule", or None; looked up when it is first asked for."""

    def __missing__(self, key: str) -> LinearRule | None:
        entry = rrule.entry(operator.getitem)
        rule = None if entry is None else entry.find((np.ndarray, int))
        has_adjoint = isinstance(rule, LinearRule) and rule.add_into is not None
        self[key] = rule if has_adjoint else None
        return self[key]


_item_ways = ways_of(operator.getitem)
_element = _ElementRule()
_general_getitem = Tracer.__dict__["__getitem__"]


def getitem(self: Tracer, index: Any) -> Any:
    """Return ``x[index]``; record an element of an array of float64 without dispatch."""
    value = self._value
    stays = type(index) is int or is_fixed(index)
    if stays and type(value) is np.ndarray and type(index) is not slice:
        y = value[index]
        if type(y) is np.float64:
            rule = _element["rule"]
            tape = self._tape
            if tape is CONSTANT:
                return y
            if rule is not None and tape.records:
                node, nodes = (self._index, rule, index), tape.nodes
                place = len(nodes)
                nodes.append(node)
                if nodes[place] is not node:
                    place = place_of(node, nodes)
                return FloatTracer(y, tape, place)
    if stays:
        way = _item_ways.get((Tracer, type(index)))
        if way is not None:
            made = way(self, index)
            if made is not NO_RULE:
                return made
    return _general_getitem(self, index)


def _names_of(op: Callable) -> list[str]:
    """Return the names of the methods of an operator: plain, reflected and in place."""
    name = op.__name__
    return ["__neg__"] if op is operator.neg else [f"__{name}__", f"__r{name}__", f"__i{name}__"]


def _generate(op: Callable) -> None:
    """Give traced floats the methods of an operator."""
    names = _names_of(op)
    general = [Tracer.__dict__[name] for name in names[:2]]
    methods: Any = [unary[op]] if op is operator.neg else binary_methods(op, general[0])
    methods = general if methods in (None, [None]) else methods
    # A float is immutable: the in-place operator is the plain one.
    for name, method in zip(names, (*methods, methods[0]), strict=False):
        setattr(FloatTracer, name, method)
    for name, method in zip(names, methods, strict=False):
        method.__name__ = name


def _generated_later(op: Callable, name: str) -> Callable:
    """Return a method that has the methods of an operator generated, and calls its own."""

    def method(*operands: Any) -> Any:
        _generate(op)
        return getattr(FloatTracer, name)(*operands)

    method.__name__ = name
    return method


def renew(rule: Rule | None = None) -> None:
    """Have the methods generated at their next call: they are new, or their rules have changed."""
    unary.clear()
    changed = None if rule is None else rule.f
    if changed is None or changed is operator.getitem:
        _element.clear()
    for op in (operator.neg, *OPERATORS):
        if changed is None or changed is op:
            for name in _names_of(op):
                setattr(FloatTracer, name, _generated_later(op, name))


def install() -> None:
    """Install the methods of traced floats, and update them when rules change."""
    setattr(Tracer, "__getitem__", getitem)  # noqa: B010 - replaces the general one
    renew()
    rrule.watch(renew)


install()
