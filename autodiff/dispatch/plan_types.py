"""The kinds of plans: each computes the primal and makes the node or the tangent.

:mod:`autodiff.dispatch.plan_cache` chooses the plan of a call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import PLAIN, is_fixed
from autodiff.dispatch.call import CONFIG, NESTED, NO_RULE
from autodiff.mutation.views import argument_itself, note_shared, settled
from autodiff.trace.outer_products import OuterProducts
from autodiff.trace.tape import CONSTANT, FLOAT64, IN_TUPLE, PASSED, Cotangents, Tape, place_of
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, note_origin, wrap
from chainrules_core import BadInplaceError, ProjectTo, unthunk
from chainrules_core.calling.frame import checked_pair, sorted_bars
from chainrules_core.define import DecomposeRule, LinearRule
from chainrules_core.interpreter.no_value import NO_VALUE
from chainrules_core.projection.project_to import KNOWN_SPACES
from chainrules_core.rule import HandRule, Rule

_ndarray = np.ndarray
# Plain values that hold nothing traced and that no rule needs looked at.
SIMPLE = frozenset(
    {
        float, int, bool, complex, str, type(None), np.ndarray, np.float64, np.float32, np.int64,
        type(NO_VALUE), type, type(Ellipsis), slice,
        *map(type, map(np.dtype, "?bhilqBHILQefdgFDG")),
    }
)  # fmt: skip
KEYED = (types.FunctionType, np.ufunc, type(np.sum), types.BuiltinFunctionType)


class Place:
    """A placeholder for an argument, to see where the rule's signature puts it."""

    def __init__(self, index: int) -> None:
        self.index = index


class Binding:
    """The binding of a call: the position of each argument and option."""

    has_tuples = False

    def __init__(self, bound: tuple, options: dict[str, Any], traced: set[int], n: int) -> None:
        self.n = n
        self.places = tuple([(a.index, None) if type(a) is Place else (-1, a) for a in bound])
        self.options = tuple([(k, v.index) for k, v in options.items() if type(v) is Place])
        self.fixed = {k: v for k, v in options.items() if type(v) is not Place}
        self.wanted = tuple([i for i, (place, _) in enumerate(self.places) if place in traced])


def bound_call(rule: Rule, n: int, names: tuple[str, ...], traced: set[int]) -> Binding | None:
    """Bind a call of `n` positional arguments and others by name; None if that is impossible."""
    stand_ins = [Place(i) for i in range(n + len(names))]
    bound = rule.binder.bind(tuple(stand_ins[:n]), dict(zip(names, stand_ins[n:], strict=True)))
    return None if bound is None else Binding(*bound, traced, len(stand_ins))


class Plan:
    """A cached decision for a function and types of arguments, in reverse mode.

    Attributes
    ----------
    rule : Rule
        The rule.
    places : tuple
        For each bound argument its place in the call, or -1 and a default.
    options : tuple of (str, int)
        The options that the call gives, each with its place.
    fixed : dict
        The options that it does not give.
    wanted : tuple of int
        Which bound arguments are traced on the innermost level.
    """

    __slots__ = (
        "as_given", "fixed", "options", "places", "rule", "runs", "sources", "straight", "tail",
        "wanted",
    )  # fmt: skip

    def __init__(self, rule: Rule, call: Binding) -> None:
        self.rule = rule
        self.places = call.places
        self.options = call.options
        self.fixed = call.fixed
        self.wanted = call.wanted
        self.sources = tuple([self.places[i][0] for i in self.wanted])
        # Whether the bound arguments are those of the call as they stand, and defaults behind.
        expected = [*range(call.n), *[-1] * (len(self.places) - call.n)]
        self.straight = [place for place, _ in self.places] == expected
        self.tail = [default for _, default in self.places[call.n :]]
        self.as_given = self.straight and not self.tail
        self.runs = 0  # how often it has been carried out

    @property
    def f(self) -> Callable:
        """The function."""
        return self.rule.f

    def bound(self, values: Any) -> Any:
        """Return the arguments in the order of the rule's signature."""
        if self.straight:
            return [*values, *self.tail] if self.tail else values
        return [values[i] if i >= 0 else default for i, default in self.places]

    def given(self, values: Any) -> dict[str, Any]:
        """Return the options."""
        if not self.options:
            return self.fixed
        return {**self.fixed, **{name: values[i] for name, i in self.options}}

    def run(self, values: tuple, plain: list, tape: Tape, nested: bool) -> Any:
        """Make a call and record it; `plain` are its values without the innermost level."""
        sources = self.sources
        if len(sources) == 1:
            parents: tuple = (values[sources[0]]._index,)
        else:
            parents = tuple([values[i]._index for i in sources])
        primals = plain if self.as_given else self.bound(plain)
        options = self.given(plain) if self.options else self.fixed
        made = self._made(primals, options, parents, nested)
        if made is None:
            config = NESTED if nested else CONFIG
            recorded = self.rule.record(tuple(primals), options, self.wanted, config)
            if recorded is None:
                return NO_RULE
            y, pull = recorded
            result = calls.outputs(y, tape, self.rule, parents, self.wanted, pull)
            return self._shared(result, self.bound(values), options)
        y, node = made
        return self.recorded(y, node, tape, primals, values, options)

    def recorded(
        self, y: Any, node: Any, tape: Tape, primals: Any, values: Any, options: dict[str, Any]
    ) -> Any:
        """Record a value with its node; note which argument an array shares memory with."""
        nodes = tape.nodes
        if type(y) is _ndarray:
            dtype = y.dtype
            if dtype is FLOAT64 or dtype.kind in "fc":
                try:
                    node.space = KNOWN_SPACES[dtype][y.shape]
                except KeyError:
                    node.space = ProjectTo(y)
                place = len(nodes)
                nodes.append(node)
                if nodes[place] is not node:
                    place = place_of(node, nodes)
                result = Tracer(y, tape, place)
                shared = y.base is not None
                for a in primals:
                    shared = shared or a is y
                return self.note_memory(result, values, options) if shared else result
            if dtype.kind == "O":
                return NO_RULE
        elif type(y) is float or type(y) is np.float64:
            node.space = ProjectTo(y)
            return FloatTracer(y, tape, tape.add(node))
        elif type(y) is Tracer and y._tape is not CONSTANT and calls.is_differentiable(bare(y)):
            return self._recorded_over(y, bare(y), node, tape, primals, values, options)
        result = calls.outputs(y, tape, self.rule, node.parents, self.wanted, node.pull)
        return self._shared(result, self.bound(values), options)

    def _shared(self, result: Any, bound: Any, options: dict[str, Any]) -> Any:
        again = RepeatedCall(self.rule.f, options)
        return note_shared(result, tuple(bound), self.rule, again)

    def _recorded_over(
        self, y: Any, plain: Any, node: Any, tape: Tape, primals: Any, values: Any, options: dict
    ) -> Any:
        """Record a value that an outer level traces; `plain` is the value underneath."""
        node.space = ProjectTo(plain)
        result = wrap(y, tape, tape.add(node))
        if type(plain) is _ndarray and (
            plain.base is not None or any(bare(a) is plain for a in primals)
        ):
            return self.note_memory(result, values, options)
        return result

    def _made(
        self, primals: list, options: dict[str, Any], parents: tuple, nested: bool
    ) -> tuple[Any, Any] | None:
        """Compute the primal and make its node; None leaves it to the rule."""
        return None

    def note_memory(self, result: Tracer, values: tuple, options: dict[str, Any]) -> Any:
        """Note whose memory a result shares; return the argument if the result is one."""
        bound = self.bound(values)
        same = argument_itself(result, bound, self.rule)
        if same is not None:
            return same
        base = result._value.base
        for i in self.wanted:
            a = bound[i]
            if type(a) is Tracer and type(a._value) is _ndarray:
                value = a._value
                if base is value or (base is not None and base is value.base):
                    note_origin(result, Remade(a, self.rule.f, options, bound, i))
                    return result
        return self._shared(result, bound, options)


class RepeatedCall:
    """Repeats the call of a plan with other arguments."""

    __slots__ = ("f", "options")

    def __init__(self, f: Callable, options: dict[str, Any]) -> None:
        self.f = f
        self.options = options

    def __call__(self, args: tuple) -> Any:
        """Make the call."""
        return calls.call(self.f, args, self.options)


class Remade:
    """How to make a view again from the argument whose memory it shares."""

    __slots__ = ("args", "f", "options", "parent", "place")

    def __init__(
        self, parent: Tracer, f: Callable, options: dict[str, Any], args: Any, place: int
    ) -> None:
        self.parent = parent
        self.f = f
        self.options = options
        self.args = args
        self.place = place

    def make(self, parent: Any) -> Any:
        """Make the call with `parent` in place of the argument."""
        args = list(self.args)
        args[self.place] = parent
        if is_tracer(parent):
            return calls.call(self.f, tuple(args), self.options)
        # It is the array itself, or a cotangent of this shape: what else is traced is over.
        given = [a if type(a) in PLAIN or is_fixed(a) else settled(a) for a in args]
        return self.f(*given, **self.options)


class OfLinear(Plan):
    """A plan for a linear function, by its adjoints."""

    __slots__ = ("adjoints", "as_spaces", "factors", "rows", "seen_adjoints", "shared")
    rule: LinearRule

    def __init__(self, rule: LinearRule, call: Binding) -> None:
        super().__init__(rule, call)
        self.adjoints = tuple([rule.adjoints[rule.argnums.index(i)] for i in self.wanted])
        self.factors = tuple([rule.factors[rule.argnums.index(i)] for i in self.wanted])
        self.rows = tuple([rule.rows[rule.argnums.index(i)] for i in self.wanted])
        self.seen_adjoints: tuple | None = None
        # An adjoint is given spaces for its own argument and for those that go together with it.
        together = frozenset(rule.argnums if rule.joint else ())
        spaces = [together | {i} for i in self.wanted]
        everywhere = [i for i in range(len(self.places)) if all(i in s for s in spaces)]
        self.as_spaces = tuple(everywhere)
        self.shared = all(i in everywhere for i in self.wanted)

    def _made(
        self, primals: list, options: dict[str, Any], parents: tuple, nested: bool
    ) -> tuple[Any, Any]:
        f = self.rule.f
        y = calls.call(f, tuple(primals), options) if nested else f(*primals, **options)
        seen = [*primals]
        for i in self.as_spaces:
            seen[i] = ProjectTo(seen[i])
        return y, LinearNode(self, parents, seen, options, nested)

    def adjoints_for(self, nested: bool) -> tuple:
        """Return the adjoints; traced ones where their cotangents may be traced."""
        if not nested:
            return self.adjoints
        if self.seen_adjoints is None:
            self.seen_adjoints = tuple(map(calls.body_of, self.adjoints))
        return self.seen_adjoints


class PlannedNode:
    """A value computed by a plan."""

    __slots__ = ("parents", "plan", "space")
    plan: Any

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.plan.rule

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the parents among the bound arguments."""
        return self.plan.wanted


class LinearNode(PlannedNode):
    """A value computed by a linear function.

    It keeps an argument in which the function is linear as its space, unless the adjoint of
    another one needs the value.
    """

    __slots__ = ("nested", "options", "seen")

    def __init__(
        self, plan: OfLinear, parents: tuple, seen: list, options: dict, nested: bool
    ) -> None:
        self.plan = plan
        self.nested = nested
        self.parents = parents
        self.seen = seen
        self.options = options
        self.space: Any = None

    def again(self, parent: int) -> LinearNode:
        """Return the node of the same call with an argument at another place, of the same form."""
        kind = type(self)
        node: LinearNode = object.__new__(kind)
        if kind is LinearNode:
            node.plan, node.nested = self.plan, self.nested
        node.parents = (parent,)
        node.seen, node.options, node.space = self.seen, self.options, self.space
        return node

    def seen_by(self, position: int) -> list:
        """Return the arguments of the adjoint for an argument."""
        if self.plan.shared:
            return self.seen
        i = self.plan.wanted[position]
        seen = self.seen.copy()
        seen[i] = ProjectTo(seen[i])
        return seen

    def pull(self, y_bar: Any) -> list:
        """Return a cotangent for each parent."""
        y_bar = unthunk(y_bar)
        return [
            adjoint(y_bar, *self.seen_by(position), **self.options)
            for position, adjoint in enumerate(self.plan.adjoints_for(self.nested))
        ]

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate the results of the adjoints, in place where the rule supports it."""
        plan = self.plan
        add_into = plan.rule.add_into
        adjoints = plan.adjoints_for(True) if self.nested else plan.adjoints
        is_vector = type(y_bar) is _ndarray and y_bar.ndim == 1
        may_factor = is_vector and not (bars.nested or self.options)
        for position, j in enumerate(self.parents):
            factors = plan.factors[position] if may_factor else None
            if factors is not None and hand_factors(factors(y_bar, *self.seen), bars, j):
                continue
            seen = self.seen if plan.shared else self.seen_by(position)
            if add_into is not None and bars.is_addable(j):
                buffer = bars.buffer(j)
                result = add_into(buffer, y_bar, *seen, **self.options)
                if result is not buffer:
                    raise BadInplaceError(add_into, result)
                continue
            bars.add(j, adjoints[position](y_bar, *seen, **self.options), self, position, PASSED)


def hand_factors(pair: tuple[Any, Any] | None, bars: Cotangents, j: int) -> bool:
    """Add a pair of vectors for place `j`, if the cotangent is their outer product."""
    if pair is None:
        return False
    left, right = pair
    space = bars.nodes[j].space
    dtype = space.dtype
    if (
        left.dtype is not dtype
        or right.dtype is not dtype
        or left.shape + right.shape != space.shape
    ):
        return False  # the adjoint's result is looked at
    before = bars.values[j]
    if before is None:
        bars.values[j] = OuterProducts(left, right)
    elif type(before) is OuterProducts:
        before.append(left, right)
    else:
        bars.put(j, OuterProducts(left, right)._value_now(), True)
    return True


class OfHand(Plan):
    """A plan for a rule with a pullback written by hand."""

    __slots__ = ("function", "seen_function")
    rule: HandRule

    def __init__(self, rule: HandRule, call: Binding) -> None:
        super().__init__(rule, call)
        self.function = rule.function
        if not call.has_tuples:
            self.function = getattr(rule.function, "without_lists", rule.function)
        self.seen_function: Callable | None = None

    def _made(
        self, primals: list, options: dict[str, Any], parents: tuple, nested: bool
    ) -> tuple[Any, Any] | None:
        rule = self.rule
        if rule.takes_config:
            return None
        function = self.function
        if nested:
            if self.seen_function is None:
                self.seen_function = calls.body_of(function)
            function = self.seen_function
        result = function(*primals, **options)
        if result is None:
            return None
        y, pullback = checked_pair(rule, result)
        return y, HandNode(self, parents, pullback)


class HandNode(PlannedNode):
    """A value computed by a rule with a pullback written by hand."""

    __slots__ = ("pullback",)

    def __init__(self, plan: OfHand, parents: tuple, pullback: Callable) -> None:
        self.plan = plan
        self.parents = parents
        self.pullback = pullback
        self.space: Any = None

    def found(self, y_bar: Any) -> tuple:
        """Return a cotangent for each bound argument."""
        found = self.pullback(y_bar)
        n = len(self.plan.places)
        if type(found) is tuple:
            if len(found) == n:
                return found
        elif n == 1 and type(found) is _ndarray:
            return (found,)
        return sorted_bars(self.plan.rule, self.pullback, n, found)[1:]

    def pull(self, y_bar: Any) -> list:
        """Return a cotangent for each parent."""
        found = self.found(unthunk(y_bar))
        return [found[i] for i in self.plan.wanted]

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate the cotangents that the pullback returns."""
        found = self.found(y_bar)
        parents = self.parents
        for position, i in enumerate(self.plan.wanted):
            bars.add(parents[position], found[i], self, position, IN_TUPLE)


class OfBody:
    """A plan that traces a body in place of the function."""

    __slots__ = ("body",)

    def __init__(self, rule: DecomposeRule, call: Binding) -> None:
        self.body = rule.body


class OfConstant:
    """A plan for a function without derivative."""

    __slots__ = ("f", "n", "names", "runs")

    def __init__(self, f: Callable, n: int, names: tuple[str, ...]) -> None:
        self.f = f
        self.runs = 0
        self.n = n
        self.names = names

    def run(self, values: tuple, plain: list, tape: Tape, nested: bool) -> Any:
        """Make the call, which outer levels trace in turn."""
        args, options = plain, {}
        if self.names:
            args, options = plain[: self.n], dict(zip(self.names, plain[self.n :], strict=True))
        y = calls.call(self.f, tuple(args), options) if nested else self.f(*args, **options)
        return calls.as_constant(y, self.f)
