"""Code generation for plans, which say how to call a function with arguments of given types.

A plan that has often returned an array or a number is compiled to a function. Its guards check
everything that the plan relies on: the types of the values, and that all traced values are on one
tape. If a guard fails, the function returns `NO_RULE`. Otherwise it records the plan's node.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls, dispatch_cache
from autodiff.dispatch.plan_types import OfConstant, OfHand, OfLinear, Plan, Remade
from autodiff.fastpath import scalar_methods
from autodiff.fastpath.codegen import plan_jvp_code
from autodiff.fastpath.codegen.node_code import KEPT_PART, SCOPE, planned_node_class
from autodiff.trace.tape import FLOAT
from autodiff.trace.tracer import TRACERS, bare, note_origin
from chainrules_core import ProjectTo
from chainrules_core.calling.frame import checked_pair
from chainrules_core.projection.project_to import KNOWN_SPACES

_ndarray = np.ndarray
IN_TUPLES = frozenset({int, type(None), slice, type(Ellipsis)})
"""The types of the items of an index or a shape."""

_SCOPE = {
    **SCOPE,
    "FLOAT": FLOAT,
    "FLOAT64_NUMBER": ProjectTo(np.float64(0.0)),
    "IN_TUPLES": IN_TUPLES,
    "KNOWN_SPACES": KNOWN_SPACES,
    "Remade": Remade,
    "as_constant": calls.as_constant,
    "checked_pair": checked_pair,
    "note_origin": note_origin,
}

_RECORD = (
    """
    if type(y) is ndarray:
        dtype = y.dtype
        try:
            space = FLOAT64_SPACES[y.shape] if dtype is FLOAT64 else KNOWN_SPACES[dtype][y.shape]
        except KeyError:
            space = None
        if dtype.kind not in "fc":
            space = None
    elif type(y) is float64:
        space = FLOAT64_NUMBER
    else:
        space = FLOAT if type(y) is float else None
    node = new(Node)
    node.parents = ({parents})
    {keeps}
    if space is None:
        return plan.recorded(y, node, tape, ({bound}), ({given}), {options})
    node.space = space
"""
    + dispatch_cache.ADD_NODE
    + """\
    if type(y) is not ndarray:
        return FloatTracer(y, tape, place)
"""
    + dispatch_cache.NEW_TRACER
    + """\
    base = y.base
    if base is not None{same}:{views}
        return plan.note_memory(made, ({given}), {options})
    return made
"""
)

_VIEW = """
        if y is not {x} and base is not None and (base is {x} or base is {x}.base):
            note_origin(made, Remade({given}, f, {options}, ({args}), {i}))
            return made"""


# Names that the code uses; a call with a keyword of such a name keeps running by its plan.
_TAKEN = re.compile(r"_|[xc]\d+$|(y|f|tape|nodes|node|place|base|space|dtype|known|plan|made)$")
_TAKEN_TOO = frozenset({"function", "options", "pair", "pullback", *vars(builtins), *_SCOPE})


def write(plan: Any, f: Callable, args: tuple, kwargs: dict[str, Any], result: Any) -> None:
    """Generate code for calls like this one, which the plan has just run."""
    if not dispatch_cache.is_short(args, kwargs):
        return
    is_traced = type(result) in TRACERS
    if type(plan) is OfConstant:
        if is_traced:
            return
    elif type(plan) is Plan and not kwargs:
        way = scalar_methods.way_of(f, args)
        if way is not None:
            dispatch_cache.add(f, args, kwargs, way)
        return
    elif type(plan) not in (OfLinear, OfHand) or not is_traced:
        return
    if isinstance(plan, OfHand) and plan.rule.takes_config:
        return
    for name in kwargs:
        if not name.isidentifier() or keyword.iskeyword(name):
            return
        if _TAKEN.match(name) or name in _TAKEN_TOO:
            return
    dispatch_cache.add(f, args, kwargs, _PlanGenerator(plan, f, args, kwargs).function())


class _PlanGenerator:
    """Generates the code of one plan."""

    def __init__(self, plan: Any, f: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
        self.plan = plan
        self.scope: dict[str, Any] = {**_SCOPE, "plan": plan, "f": f}
        self.values = (*args, *kwargs.values())
        self.names = list(kwargs)
        self.given = [f"_{i}" for i in range(len(args))] + self.names
        self.plain = [f"x{i}" for i in range(len(self.values))]
        self.traced = [type(v) in TRACERS for v in self.values]
        self.n = len(args)
        self.lines: list[str] = []

    def constant(self, value: Any) -> str:
        """Return the name of a constant in the code."""
        if value is None or type(value) in (bool, int):
            return repr(value)
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def function(self) -> Callable:
        """Generate the function."""
        self.parameters = ", ".join(
            [*self.given[: self.n], *(["/"] if self.n else []), *self.names]
        )
        self.on_level = self.over_level = "NO_RULE"
        write = plan_jvp_code.for_levels(self)
        if write is not None:
            self.on_level = self.call("on", self.given)
            self.over_level = self.call("over", self.given)
            for name in ("on", "over"):
                dispatch_cache.define_later(name, self.scope, partial(write, name))
        self.guards()
        if isinstance(self.plan, OfConstant):
            self.add(f"return as_constant({self.call('f')}, f)")
            body = ""
        else:
            body = self.recording()
        lines = "".join(f"    {line}\n" for line in self.lines)
        source = f"def way({self.parameters}):\n{lines}{body}"
        return dispatch_cache.define("way", source, self.scope)

    def add(self, *lines: str) -> None:
        self.lines += lines

    def guards(self) -> None:
        """Write the guards, and read the values into local variables."""
        # The dispatch cache knows only the types of positional arguments.
        for value, given in zip(self.values[self.n :], self.names, strict=True):
            self.unless(f"type({given}) is {self.constant(type(value))}")
        first = ""
        for value, given, plain, traced in zip(
            self.values, self.given, self.plain, self.traced, strict=True
        ):
            if not traced:
                continue
            if first:
                self.unless(f"{given}._tape is tape")
            else:
                first = given
                self.add(f"tape = {given}._tape")
                self.unless("tape.records", self.on_level)
            self.add(f"{plain} = {given}._value")
            kind = self.constant(type(bare(value)))
            self.unless(f"type({plain}) is {kind}", self.over_level)
        self.constants()

    def constants(self) -> None:
        """Write the guards of the values that are not traced."""
        for i, (value, given, plain, traced) in enumerate(
            zip(self.values, self.given, self.plain, self.traced, strict=True)
        ):
            if traced:
                continue
            if type(value) is _ndarray:
                self.add(f"if {given}.dtype is OBJECTS:", "    return NO_RULE")
                is_kept = not isinstance(self.plan, OfConstant)
                self.add(f"{plain} = {f'tape.kept({given})' if is_kept else given}")
                continue
            if type(value) is tuple:
                self.unless(f"IN_TUPLES.issuperset(map(type, {given}))")
            self.plain[i] = given

    def unless(self, condition: str, otherwise: str = "NO_RULE") -> None:
        """Write a guard: return `otherwise` if the condition fails."""
        self.add(f"if not ({condition}):", f"    return {otherwise}")

    def call(self, function: str, values: list[str] | None = None) -> str:
        """Return the source of the call of a function with the same keywords."""
        values = self.plain if values is None else values
        by_name = [f"{n}={x}" for n, x in zip(self.names, values[self.n :], strict=True)]
        return f"{function}({', '.join([*values[: self.n], *by_name])})"

    def recording(self) -> str:
        """Return the source that computes and records the primal."""
        plan: OfLinear | OfHand = self.plan
        places = [place for place, _ in plan.places]
        bound = [
            self.plain[place] if place >= 0 else self.constant(default)
            for place, default in plan.places
        ]
        options = self.constant(plan.fixed)
        if plan.options:
            pairs = [f"{name!r}: {self.plain[i]}" for name, i in plan.options]
            fixed = [f"{k!r}: {self.constant(v)}" for k, v in plan.fixed.items()]
            self.add(f"options = {{{', '.join([*fixed, *pairs])}}}")
            options = "options"
        parents = "".join(f"{self.given[i]}._index, " for i in plan.sources)
        kinds = [type(bare(self.values[i])) for i in plan.sources]
        self.scope["Node"] = planned_node_class(plan, kinds)
        if isinstance(plan, OfLinear):
            self.add(f"y = {self.call('f')}")
            seen = [self.kept(x, place) for x, place in zip(bound, places, strict=True)]
            for i in plan.as_spaces:
                place = places[i]
                is_array = self.traced[place] and self.is_array(place)
                seen[i] = (
                    f"tape.nodes[{self.given[place]}._index].space"
                    if place >= 0 and is_array
                    else f"ProjectTo({bound[i]})"
                )
            keeps = f"node.seen = [{', '.join(seen)}]; node.options = {options}"
        else:
            self.scope["function"] = plan.function
            # Options that are not given have the defaults of the rule.
            by_name = [f"{name}={self.plain[i]}" for name, i in plan.options]
            self.add(
                f"found = function({', '.join([*bound, *by_name])})",
                f"if type(found) is not tuple or len(found) != {len(plan.rule.returns)}:",
                "    if found is None:",
                "        return NO_RULE",
                "    checked_pair(plan.rule, found)",
                "y, pullback = found" if len(plan.rule.returns) == 2 else "y, _, pullback = found",
            )
            keeps = "node.pullback = pullback"
        arrays = [x for x, i in zip(bound, places, strict=True) if i >= 0 and self.is_array(i)]
        return _RECORD.format(
            parents=parents,
            keeps=keeps,
            bound="".join(f"{x}, " for x in bound),
            given="".join(f"{x}, " for x in self.given),
            options=options,
            same="".join(f" or y is {x}" for x in arrays),
            views=self.views(places, bound, options),
        )

    def kept(self, x: str, place: int) -> str:
        """Return the source of what a node keeps of an argument."""
        if place < 0 or not self.traced[place] or not self.is_array(place):
            return x
        return KEPT_PART.format(x=x, given=self.given[place])

    def views(self, places: list[int], bound: list[str], options: str) -> str:
        """Return the source that notes of which traced array the result is a view."""
        sources = [i for i in self.plan.wanted if self.is_array(places[i])]
        if len(sources) != 1:
            return ""
        (i,) = sources
        x, given = bound[i], self.given[places[i]]
        args = "".join(
            f"{self.given[place] if place >= 0 else other}, "
            for place, other in zip(places, bound, strict=True)
        )
        return _VIEW.format(x=x, given=given, args=args, i=i, options=options)

    def is_array(self, i: int) -> bool:
        """Whether a value is an array, traced or not."""
        return type(bare(self.values[i])) is _ndarray
