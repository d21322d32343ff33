"""Reading derivatives inside functions: ``gradient(loss, w, x)`` in a loop.

The function that is differentiated becomes one that captures nothing (`Closure`): what it captures
is given by keyword. It is read once, to know all that it does, and what it returns. The call of
`gradient` is then one operation, an `InnerDerivative`.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from autodiff.structured.callables.inner_derivatives import (
    CURRIED,
    OPTIONS,
    InnerDerivative,
    LeafPlace,
    derivative_called,
    function_called,
    parts_of_curried,
)
from autodiff.structured.form.function_ir import (
    FunctionIR,
    InstanceValue,
    Items,
    Named,
    Op,
    RecordValue,
    Value,
    blocks_of,
    changes_list,
    flat,
    known,
    ops_of,
    parts_of,
)
from autodiff.structured.form.kinds import DICT, UNKNOWN, Kind, UnsupportedError
from autodiff.structured.form.plain_classes import record_class
from autodiff.structured.reading.assumptions import Assumptions
from autodiff.structured.reading.closed_functions import Closure, defined
from autodiff.structured.reading.parameters import given_to, parameters_of
from autodiff.structured.reading.recursion import RecursionReader, body_of
from autodiff.structured.reading.scopes import LocalPullback
from autodiff.structured.writing.activity import mark_active, reached_results
from autodiff.structured.writing.rules.bound_rules import resolve_rules

_BY_THE_FIRST = frozenset({"derivative", "hvp", "vhp", "diag_hessian"})
_OF_ARRAYS = frozenset({"derivative", "jacobian"})


class _Closed(NamedTuple):
    """A function that captures nothing, its arguments, and what it returns for them."""

    function: types.FunctionType
    given: list
    named: dict[str, Any]
    returned: Any


class DerivativeReader(RecursionReader):
    """Layer of the reader: calls of `autodiff.gradient` and other functions that differentiate."""

    def read_derivative(self, called: Any, args: list, options: dict[str, Any]) -> Any:
        """Read a call of a function that differentiates; NotImplemented for other functions."""
        made = self._curried_outside(called)
        if made is not None:
            return self._apply(made, args, options)
        name = derivative_called(called)
        if not name:
            return NotImplemented
        if not args:
            raise UnsupportedError("a call that fails")
        if name in CURRIED:
            if len(args) > 3 or options.keys() - {"argnums", "has_aux"}:
                raise UnsupportedError("a call that fails")
            return self._curried(name, *args, **options)
        settings = {key: known(self.pack(x)) for key, x in options.items() if key in OPTIONS}
        if UNKNOWN in settings.values() or settings.pop("fallback", None) is not None:
            raise UnsupportedError("a derivative with these options")
        named = {key: x for key, x in options.items() if key not in OPTIONS}
        f, *given = args
        if name in ("pullback", "vjp"):
            return self._pullback(f, given, named, settings, is_tuple=name == "vjp")
        if name == "jvp":
            return self._tangent(f, given, options)
        vector = given[1:2] if name in ("hvp", "vhp") else []
        given = [*given[:1], *given[1 + len(vector) :]]
        closed = self._closed(f, given, named)
        result = _result_of(name, closed, settings)
        own = [*closed.given[:1], *map(self._nest, vector), *closed.given[1:]]
        return self._derivative(called, closed, own, settings, result)

    def _tangent(self, f: Any, given: list, options: dict[str, Any]) -> Any:
        """Read ``jvp(f, primals, tangents)``."""
        if len(given) != 2 or options or not all(type(x) in (tuple, Items) for x in given):
            raise UnsupportedError("a derivative with these options")
        closed = self._closed(f, list(given[0]), {})
        y = _mapped(closed.returned, _kind_of_variable)
        own = [tuple(closed.given), tuple(map(self._nest, given[1]))]
        return self._derivative(function_called("tangent_of"), closed, own, {}, (y, y))

    def _pullback(
        self, f: Any, given: list, named: dict[str, Any], settings: dict[str, Any], is_tuple: bool
    ) -> Any:
        """Read ``pullback(f, x)``: the function itself, and a pullback that runs it again."""
        if settings.keys() - {"argnums"} or (is_tuple and (settings or named)):
            raise UnsupportedError("a derivative with these options")
        closed = self._closed(f, given, named)
        slopes, chosen, is_single = _slopes_of(closed, settings.get("argnums"))
        _mapped(closed.returned, _kind_of_variable)
        y = self._apply(f, given, named)
        kept, begun = self.hold((tuple(closed.given), Named(closed.named))), self.position()
        arrays = [x for x in flat((*closed.given, *closed.named.values())) if x.memory is not None]
        scope = self.scope

        def read(args: list) -> Any:
            if len(args) != 1 or begun[1] is not self.body:
                raise UnsupportedError("a pullback that is called elsewhere")
            self.forbid_writes([x.root for x in arrays], lambda: None, begun=begun)
            given, named = self.read_in(scope, kept)
            held = closed._replace(given=list(given), named=dict(named))
            own = [given, self._nest(args[0]), chosen]
            made = self._derivative(function_called("cotangents"), held, own, {}, slopes)
            return made[0] if is_single and not is_tuple else made

        return y, LocalPullback(read)

    def _curried(self, name: str, f: Any, argnums: Any = None, has_aux: Any = None) -> Any:
        """Read ``grad(f)`` and the like as the `functools.partial` that it is."""
        called, own = CURRIED[name]
        settings = {"argnums": self.const(0) if argnums is None else argnums}
        settings |= {} if has_aux is None else {"has_aux": has_aux}
        settings |= {key: self.const(x) for key, x in own.items()}
        return self._partial([self.const(function_called(called)), f], settings)

    def _curried_outside(self, f: Any) -> Any:
        """Return the `functools.partial` that a function is that `grad` has returned; else None."""
        parts = parts_of_curried(f)
        if parts is None:
            return None
        called, inner, settings = parts
        own = {key: self.const(x) for key, x in settings.items()}
        return self._partial([self.const(called), self.const(inner)], own)

    def _derivative(
        self, called: Callable, closed: _Closed, args: list, settings: dict[str, Any], result: Any
    ) -> Any:
        """Emit the call of a derivative; return its result, in parts."""
        if not closed.named.keys().isdisjoint(OPTIONS):
            raise UnsupportedError("a derivative with these options")
        leaves: list[Value] = []
        given = _mapped(tuple(args), _takes(leaves))
        named = _mapped(Named(closed.named), _takes(leaves))
        rule = InnerDerivative(called, closed.function, given, settings | named, result)
        if not rule.kinds:
            raise UnsupportedError("a derivative by nothing")
        one = len(rule.kinds) == 1
        kind = rule.kinds[0] if one else Kind(frozenset([tuple]), parts=rule.kinds)
        made = self.emit(Op("call", leaves, f=rule), kind)
        return self._in_parts(result, iter([made] if one else self.unpack(made)))

    def _in_parts(self, result: Any, values: Iterator[Value]) -> Any:
        """Return a result with the values in place of their kinds."""
        if type(result) is Kind:
            return next(values)
        if type(result) is dict:
            return Named({key: self._in_parts(part, values) for key, part in result.items()})
        if not isinstance(result, (tuple, list)):
            return result if type(result) is Value else self.const(result)
        parts = [self._in_parts(part, values) for part in result]
        record: Any = Items if type(result) is list else record_class(type(result))
        return tuple(parts) if record is None else record(parts)

    def _nest(self, x: Any) -> Any:
        """Return an argument as a nest of numbers and arrays."""
        if type(x) is Value and x.kind == DICT:
            x = self.named_items(x)
        if type(x) is Named:
            return Named({key: self._nest(part) for key, part in x.items()})
        if isinstance(x, tuple) and not isinstance(x, InstanceValue):
            return type(x)(map(self._nest, x))
        x = self.pack(x)
        if not (x.kind.is_known or x.kind.is_scalar or x.kind.is_array) or x.kind.is_complex:
            raise UnsupportedError("a derivative of a function of such arguments")
        return x

    def _closed(self, f: Any, given: list, named: dict[str, Any]) -> _Closed:
        """Return a function that captures no arrays, its arguments, and what it returns."""
        if type(f) is Value:
            f = self._curried_outside(known(f)) or f
        closure = Closure(self)
        function, node, defaults = closure.enter(f, len(given), named)
        own = parameters_of(node)
        values = given_to(node, given, named)
        if node.args.vararg or node.args.kwarg or not values.keys() | defaults.keys() >= set(own):
            raise UnsupportedError("a derivative of a function with other parameters")
        omitted = {name: defaults[name]() for name in own if name not in values}
        values = {name: self._nest(x) for name, x in (values | omitted).items()}
        values |= {name: self._nest(x) for name, x in closure.values.items()}
        if type(f) is not Value or closure.values or closure.functions:
            body = [*closure.functions.values(), *body_of(node)]
            name = closure.unused(getattr(node, "name", "inner"))
            function = closure.made(defined(name, list(values), body))
        first = own[: len(given)]
        returned = self._read_separately(function, values)
        rest = {name: x for name, x in values.items() if name not in first}
        return _Closed(function, [values[name] for name in first], rest, returned)

    def _read_separately(self, g: types.FunctionType, values: dict[str, Any]) -> Any:
        """Read a function that is differentiated; return its result, for these arguments.

        Raise if it does more than return numbers and arrays.
        """
        node = self.definition_of(g)
        given = [values[name] for name in parameters_of(node)]
        leaves = [x.kind.general() for x in flat(tuple(given)) if not x.kind.is_known]
        form = (None, *map(_form_of, given))
        read = operator.methodcaller("recursion", g, node, form, leaves)
        lowered = self.lower_separately(read, Assumptions(inlines_all=True))
        program = lowered.program
        outside = (program.captured, program.bound, lowered.outside_objects, lowered.outside_lists)
        changed = any(
            slot.memory is not None and (slot.root.is_written or changes_list(slot.memory))
            for slot in program.parameters
        )
        if any(outside) or changed or program.itself is not None:
            raise UnsupportedError(
                "a derivative of a function that reads or changes something outside"
            )
        own = {slot.root for slot in program.parameters if slot.memory is not None}
        for y in flat(program.returned):
            is_leaf = type(y) is Value and (y.kind.is_known or y.kind.is_scalar or y.kind.is_array)
            if not is_leaf or y.kind.is_complex or (y.memory is not None and y.root in own):
                raise UnsupportedError("a derivative of a function with such results")
        _check_paths(program)
        self.guards += lowered.guards
        self.decomposed |= lowered.decomposed
        self.decomposed |= {op.f for op in ops_of(program.body) if op.code == "call"}
        return program.returned


def _check_paths(program: FunctionIR) -> None:
    """Raise if a result may depend on an argument through comparisons alone: tracing would warn."""
    y = program.returned
    outputs = flat(y[0] if type(y) is tuple and len(y) == 2 else y)  # the other may be auxiliary
    variables = {i for i, s in enumerate(program.parameters) if s.kind and s.kind.has_floats}
    resolve_rules(blocks_of(program.body))
    mark_active(program, variables)
    if reached_results(program, variables, outputs)[1]:
        raise UnsupportedError("a derivative of a function that may be a search")


def _slopes_of(closed: _Closed, argnums: Any) -> tuple[tuple, tuple[int, ...], bool]:
    """Return the kinds of the gradients, the positions of the arguments, and if it is only one."""
    n = len(closed.given)
    is_single = type(argnums) is int or (argnums is None and n == 1)
    chosen = tuple(range(n)) if argnums is None else (argnums,) if is_single else argnums
    if type(chosen) is not tuple or not all(type(i) is int and 0 <= i < n for i in chosen):
        raise UnsupportedError("a derivative with such argnums")
    return tuple([_mapped(closed.given[i], _kind_of_slope) for i in chosen]), chosen, is_single


def _result_of(name: str, closed: _Closed, settings: dict[str, Any]) -> Any:
    """Return the structure of a derivative, with kinds for its numbers and arrays."""
    argnums = settings.get("argnums", 0 if name in _BY_THE_FIRST else None)
    slopes, _, is_single = _slopes_of(closed, argnums)
    y, aux = closed.returned, None
    if settings.get("has_aux"):
        if type(y) is not tuple or len(y) != 2:
            raise UnsupportedError("a call that fails")
        y, aux = y[0], _mapped(y[1], _kind_of_part)
    if name not in _OF_ARRAYS and not (type(y) is Value and y.kind.is_scalar and y.kind.has_floats):
        raise UnsupportedError("a gradient of a function that returns no real number")

    def rows(row: Kind) -> Any:
        blocks = [_each(x, lambda column: _kind_of_block(row, column)) for x in slopes]
        return blocks[0] if is_single else tuple(blocks)

    slope = slopes[0] if is_single else slopes
    if name == "derivative":
        return _mapped(y, _kind_of_variable)
    if name in ("jacobian", "hessian"):
        return _each(_mapped(y, _kind_of_variable) if name == "jacobian" else slope, rows)
    if name == "value_and_gradient":
        value = _mapped(y, _kind_of_variable)
        return (value if aux is None else (value, aux)), slope
    return slope if aux is None else (slope, aux)


def _mapped(x: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a nest of the program as one of Python's, with other leaves."""
    if type(x) is Named:
        return {key: _mapped(part, leaf) for key, part in x.items()}
    if isinstance(x, RecordValue):
        return x.user_class()(*[_mapped(part, leaf) for part in x])
    if not isinstance(x, tuple):
        return leaf(x)
    return (list if type(x) is Items else tuple)([_mapped(part, leaf) for part in x])


def _each(x: Any, change: Callable[[Kind], Any]) -> Any:
    """Return a nest with other things in place of its kinds."""
    if type(x) is Kind:
        return change(x)
    if type(x) is dict:
        return {key: _each(part, change) for key, part in x.items()}
    if not isinstance(x, (tuple, list)):
        return x
    parts = [_each(part, change) for part in x]
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)


def _kind_of_variable(y: Value) -> Kind:
    """Return the kind of a number or array that can be differentiated."""
    if y.kind.is_known or not y.kind.has_floats:
        raise UnsupportedError("a derivative of what is constant")
    return y.kind.general()


def _kind_of_part(y: Value) -> Any:
    """Return the kind of any other part of a result, or the value if it is known."""
    return y if y.kind.is_known else y.kind.general()


def _kind_of_slope(x: Value) -> Kind | None:
    """Return the kind of the gradient by a number or array; None for what has none."""
    if x.kind.has_floats:
        return x.kind.general()
    if x.kind.is_known:
        return None
    raise UnsupportedError("a derivative by what is no float")


def _kind_of_block(row: Kind, column: Kind) -> Kind:
    """Return the kind of the Jacobian of one number or array by another."""
    if not (row.is_array or column.is_array):
        return column
    if _dtype_of(row) != _dtype_of(column):
        raise UnsupportedError("a Jacobian of values of several dtypes")
    return Kind(frozenset([np.ndarray]), _dtype_of(row), row.ndim + column.ndim)


def _dtype_of(kind: Kind) -> Any:
    return kind.dtype if kind.is_array else np.result_type(*kind.classes)


def _form_of(x: Any) -> Any:
    """Return the form of an argument for `RecursionReader.recursion`."""
    if type(x) is Value:
        return ("known", type(known(x)), known(x)) if x.kind.is_known else None
    keys = tuple(x) if type(x) is Named else ()
    return "pytree", type(x), keys, tuple(map(_form_of, parts_of(x)))


def _takes(leaves: list[Value]) -> Callable[[Any], Any]:
    """Return a function that adds numbers and arrays to `leaves` and returns their `LeafPlace`."""

    def taken(x: Any) -> Any:
        if type(x) is not Value:
            return x
        if x.kind.is_known:
            return known(x)
        leaves.append(x)
        return LeafPlace(len(leaves) - 1)

    return taken
