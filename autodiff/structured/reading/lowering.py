"""Lower a function from its source to the structured IR.

The verified syntax tree is read for arguments of given kinds. Names from outside are looked up
now, and each call checks that they still refer to the same objects (`guards`). Calls of plain
functions are inlined. What is not supported raises `UnsupportedError`: the call is then traced.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.structured.callables.recursive_calls import RecursiveCallee
from autodiff.structured.form.function_ir import (
    WRITES,
    FunctionIR,
    InstanceValue,
    Items,
    Named,
    Value,
    blocks_of,
    changes_list,
    flat,
    is_nest,
    known,
    lists_of,
    ops_of,
    parts_of,
)
from autodiff.structured.form.kinds import (
    InMemoryError,
    ItemsChangeError,
    Kind,
    ListInMemoryError,
    MadeInLoopError,
    MayBeMissingError,
    MixedKindsError,
    UnboundError,
    UnsupportedError,
    join,
)
from autodiff.structured.form.order import Order
from autodiff.structured.reading import libraries
from autodiff.structured.reading.assumptions import Assumptions
from autodiff.structured.reading.containers.lists import MissingKeyError, check_not_copied
from autodiff.structured.reading.containers.objects_in_memory import like
from autodiff.structured.reading.derivatives import DerivativeReader
from autodiff.structured.reading.iteration.generators import ENDED, yielding, yields
from autodiff.structured.reading.iteration.iteration_space import LongLoopError
from autodiff.structured.reading.jumps import (
    always_returns,
    classes_in,
    jumps,
    leaving,
    with_bodies,
    with_ends,
    with_jumps_last,
    without_else,
    without_handlers,
)
from autodiff.structured.reading.matches import without_match
from autodiff.structured.reading.parameters import given_to, parameters_of, positional_parameters
from autodiff.structured.reading.recursion import (
    ManyCallsError,
    OtherKindsError,
    RecursesError,
    StaleProgramError,
    WritesArgumentError,
    body_of,
    kind_returned,
    kinds_of,
    names_bound_in,
    nonlocal_names,
)
from autodiff.structured.reading.scopes import LocalFunction, Scope
from chainrules_core.define import STEPS

if TYPE_CHECKING:
    from autodiff.structured.list_arguments import ListArgument

RETURNED = ".returned"
_MUTABLE = (Items, Named)
_MOST_INLINED = 8
_MOST_NONE = 16  # variables that may be None


def lower(
    function: types.FunctionType, form: Any, kinds: list[Kind], known_args: dict[int, Any],
    lists: dict[int, ListArgument], assumed: Assumptions,
) -> Lowered:  # fmt: skip
    """Lower a function from its source, for arguments of these kinds.

    Parameters
    ----------
    function : FunctionType
        The function.
    form : tuple
        The pytree of its positional arguments, with None for each leaf: a number or array.
    kinds : list of Kind
        The kinds of the leaves.
    known_args : dict
        Position → value of the leaves that the program is specialized for.
    lists : dict
        Position → the leaves that are lists of numbers.
    assumed : Assumptions
        What is assumed at first. What readings find out is added.

    Raises
    ------
    UnsupportedError
        If it uses what is not supported.
    """
    return _lower_repeatedly(
        lambda reading: reading.function(function, form, kinds, known_args), lists, assumed
    )


def _lower_repeatedly(
    read: Callable[[FunctionReader], Lowered], lists: dict[int, ListArgument], assumed: Assumptions
) -> Lowered:
    """Read a function again and again, until a reading finds out nothing new."""
    while True:
        reading = FunctionReader(assumed, lists)
        try:
            lowered = read(reading)
        except ManyCallsError:
            assumed.programs = {}
            continue
        except LongLoopError as error:
            assumed.stays_loop[error.place] = True
            continue
        except UnsupportedError as error:
            if not (_learn(assumed, error, reading.may_leave) or assumed.unroll()):
                raise
            continue
        if not reading.calls_itself:
            return lowered
        found = kind_returned(lowered.program)
        if found == assumed.returns:
            return lowered
        assumed.returns = found if assumed.returns is None else join(assumed.returns, found)


def _learn(assumed: Assumptions, error: UnsupportedError, may_leave: bool) -> bool:
    """Add what an error tells to the assumptions; return whether another reading makes sense."""
    match error:
        case UnboundError() if error.loop not in {None, *assumed.must_iterate}:
            assumed.must_iterate.add(error.loop)  # type: ignore[arg-type] # not None
        case UnboundError() if error.variable not in {None, *assumed.unbound_at_first}:
            assumed.unbound_at_first.add(error.variable)  # type: ignore[arg-type] # not None
        case ListInMemoryError() if not error.places <= assumed.displayed_in_memory:
            assumed.displayed_in_memory |= error.places
            assumed.displayed_tables |= error.places if error.grow else set()
        case MissingKeyError() if not assumed.displayed_in_memory <= assumed.displayed_tables:
            assumed.displayed_tables |= assumed.displayed_in_memory
        case ItemsChangeError() if not assumed.copies_slices:
            assumed.copies_slices = True
        case MadeInLoopError():
            assumed.value_classes.add(error.cls)
        case InMemoryError():
            assumed.value_classes.discard(error.cls)
            assumed.in_memory.add(error.cls)
        case MayBeMissingError():
            assumed.optional_attributes[error.key] = error.value
            assumed.initially_none |= {error.key} if error.is_none else set()
        case OtherKindsError():
            return False
        case RecursesError() if len(assumed.recursive) < _MOST_INLINED:
            assumed.recursive[error.node] = {}
        case WritesArgumentError() if assumed.written is None:
            assumed.written, assumed.returns = error.written, error.kind.general()
        case StaleProgramError():
            pass
        case MixedKindsError() if _learn_kinds(assumed, error):
            pass
        case _ if may_leave and not assumed.leaves:
            assumed.leaves = True
        case _:
            return False
    return True


def _learn_kinds(assumed: Assumptions, error: MixedKindsError) -> bool:
    """Add what an error about kinds tells; return whether that is new."""
    if error.choice not in {None, *assumed.distributed}:
        assumed.distributed.add(error.choice)  # type: ignore[arg-type] # not None
    elif error.loop:
        assumed.peeled.add(error.loop)
    elif _learn_maybe_none(error, assumed.may_be_none):
        assumed.peeled.clear()  # the loops may do without peeling now
    else:
        return False
    return True


def _learn_maybe_none(error: MixedKindsError, may_be_none: dict[tuple[Any, str], Any]) -> bool:
    """Add a variable that may be None; return whether it is new."""
    if error.other is None or error.other[0] in may_be_none:
        return False
    variable, *given = error.other
    try:
        may_be_none[variable] = like(*given)
    except UnsupportedError:
        return False
    return len(may_be_none) <= _MOST_NONE


@dataclass(eq=False, slots=True)
class Lowered:
    """A program, and what was looked up for it."""

    program: FunctionIR
    guards: list[tuple[dict, Any, Any]]
    decomposed: set[Any]
    outside_objects: list[Any]
    outside_lists: list[Any]


class FunctionReader(DerivativeReader):
    """The whole reader: functions, from their parameters to what they return."""

    may_leave = False

    def function(
        self, function: types.FunctionType, form: Any, kinds: list[Kind], known_args: dict[int, Any]
    ) -> Lowered:
        """Read the function that the program is for."""
        node = self.definition_of(function)
        given = [known_args.get(i, kind.general()) for i, kind in enumerate(kinds)]
        is_plain = all(part is None for part in form) and node not in self.assumed.recursive
        self.given = function, given, is_plain
        self.calling.append(node)
        self.scope = Scope(function, 0)
        leaves = iter(enumerate(kinds))
        if len(form) > len(parameters_of(node)):  # its captured variables come first
            own, *form = form
            outer = self._bind_captured(own, leaves, known_args).scope
            self.scope = Scope(function, 0, outer, self.scope.locals)
        if node.args.vararg or node.args.kwarg:
            raise UnsupportedError("parameters * and **")
        for name, part in zip(parameters_of(node), form, strict=True):
            self.parameter(name, part, leaves, known_args)
        self.program.returned = self.not_none(self.read_body_of(node))
        self.check_inner_writes(node)
        return self.finish()

    def finish(self) -> Lowered:
        """Check what was read as a whole; return it."""
        if self.rebound_attributes:
            held = [self.read_in(owner.scope, name) for owner, name in self.rebound_attributes]
            if not all(type(x) in (Value, tuple) for x in held):
                raise UnsupportedError("a list or dict as an attribute")
            self.program.returned = (self.program.returned, *held)
            self.program.bound = [(owner.place, name) for owner, name in self.rebound_attributes]
        named = list(_named_containers(self.program.returned))
        origins = {x.origin for x in named}
        if len(named) > 1 and (None in origins or len(origins) < len(named)):
            places = {place for x in named for place in x.places}
            raise ListInMemoryError("a result that may hold one list or dict twice", places)
        if not _can_be_returned(self.program.returned):
            raise UnsupportedError("a list, dict or function as a result, or as an attribute")
        self.end_block()
        self.program.body = self.body
        for slot, where in self.captured_arrays:
            if slot.memory is not None and (slot.root.is_written or changes_list(slot.memory)):
                raise UnsupportedError("a write into an array or list from outside")
            self.program.parameters.append(slot)
            kind: Any = self.outside_keys.get(slot, self.definite_kinds[slot])
            self.program.captured.append((*where, kind))
        given = [slot for slot in self.program.parameters if changes_list(slot.memory)]
        for x in (*flat(self.program.returned), *given):
            for part in lists_of(x.memory):
                self.check_records(part)
                if part.root().has_none:
                    raise UnsupportedError("a list of None at first that is visible outside")
                check_not_copied([part], "a list that is seen outside")
        self._check_views()
        self.check_elements(list(blocks_of(self.body)))
        self.check_copies()
        self.check_items_not_none()
        self.check_attributes_of_classes()
        self.check_writes()
        if self.program.itself is not None and (self.program.captured or self.program.bound):
            raise UnsupportedError(
                "a function that calls itself, and reads or changes something outside"
            )
        return Lowered(
            self.program, self.guards, self.decomposed, self.outside_objects, self.outside_lists
        )

    def _check_views(self) -> None:
        """Raise on a write into what may or may not be a view; collect the results that may be."""
        order = Order(self.program.body)
        writes = [op for op in ops_of(self.body) if op.code in WRITES]
        returned = {v.root for v in flat(self.program.returned) if v.memory is not None}
        for made, given in self.may_alias:
            if made.op not in order.places:  # from an earlier pass over a loop
                continue
            mine, other = made.root, given.root
            for op in writes:
                written = op.args[0].root
                if written is mine or (written is other and order.may_precede(made.op, op)):
                    raise UnsupportedError("a write into what may be a view")
            if mine in returned:
                if type(made.op.f) is RecursiveCallee and made.op.f.copies_arguments:
                    raise UnsupportedError("a result that may be an argument of a recursion")
                self.program.may_be_views.add(mine)

    def _is_slope(self, function: types.FunctionType) -> bool:
        """Whether a tangent function calls this helper of a rule for a partial derivative."""
        name = self.scope.function.__globals__.get("__name__", "")
        is_of_rules = self.is_tangent or name.startswith("chainrules.")
        if not is_of_rules or hasattr(function, "_implementation"):  # opaque to engines
            return False
        return function.__module__.startswith("chainrules.")

    def lower_separately(self, read: Callable, assumed: Assumptions) -> Lowered:
        """Lower a function to a program of its own."""
        return _lower_repeatedly(read, {}, assumed)

    def inline(self, function: Any, args: list[Any], names: dict[str, Any]) -> Any:
        """Inline a call of a function."""
        if type(function) is LocalFunction:
            node, scope, defaults = self.callee_inside(function)
        else:
            node, scope, defaults = self.callee_outside(function)
        parameters = parameters_of(node)
        given = given_to(node, args, names)
        if not given.keys() | defaults.keys() >= set(parameters):
            raise UnsupportedError("a call that fails")
        values = [given[name] if name in given else defaults[name]() for name in parameters]
        if self.given[0] is function and self.given[2] and self._have_given_kinds(values):
            kinds = zip(values, self.given[1], strict=True)
            return self.recursive_call(function, [x for x, kind in kinds if type(kind) is Kind])
        # A recursive call with arguments of other kinds may be inlined.
        made = self.call_by_program(function, node, values)
        if made is not None:
            return made
        inner = node, list(map(kinds_of, values))
        if inner in self.inlined:
            raise RecursesError(node)
        if len(self.calling) >= _MOST_INLINED:
            raise UnsupportedError("a function that calls itself")
        caller, self.scope = self.scope, scope
        self.inlined.append(inner)
        self.calling.append(node)
        sources = list(map(self.slot_holding, values))
        try:
            for name, value in zip(parameters, values, strict=True):
                self.bind(name, value)
            slots = zip(map(scope.slots.get, parameters), sources, strict=True)
            same = {own: (own.writes, s, s.writes) for own, s in slots if own and s}
            return self.as_variable_of_caller(self.read_body_of(node), same)
        finally:
            self.scope = caller
            self.calling.pop()
            self.inlined.pop()

    def callee_inside(
        self, function: LocalFunction
    ) -> tuple[ast.FunctionDef | ast.Lambda, Scope, dict[str, Callable[[], Any]]]:
        """Return the definition of an inner function, a scope for a call, and its defaults."""
        node, outer = function.node, function.scope
        own = {*parameters_of(node), *names_bound_in(node)} - nonlocal_names(node)
        scope = Scope(outer.function, outer.depth, outer, own, self.depth)
        defaults: dict[str, Callable[[], Any]] = {
            name: functools.partial(self.read_in, outer, place)
            for name, place in function.defaults.items()
        }
        return node, scope, defaults

    def callee_outside(
        self, function: types.FunctionType
    ) -> tuple[ast.FunctionDef | ast.Lambda, Scope, dict[str, Callable[[], Any]]]:
        """Return the definition of another function, a scope for a call, and its defaults."""
        is_others = is_ours(function) or is_library(function)
        module = function.__module__ or ""
        is_decomposition = module.startswith(f"{libraries.__name__}.") or function in STEPS.values()
        if is_others and not is_decomposition and not self._is_slope(function):
            raise UnsupportedError(f"{function.__name__} of a library")
        self.decomposed.add(function)
        node = self.definition_of(function)
        scope = Scope(function, self.scope.depth + 1, blocks=self.depth)
        self.guard_code(function)
        last, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        places = positional_parameters(node)
        values = dict(zip(places[len(places) - len(last) :], last, strict=True)) | named
        return node, scope, {name: functools.partial(self.const, x) for name, x in values.items()}

    def _have_given_kinds(self, values: list[Any]) -> bool:
        """Whether the arguments of a call have the kinds that the function is read for."""
        return all(
            type(x) is Value
            and (
                x.kind.general() == kind and not x.kind.has_items
                if type(kind) is Kind
                else type(known(x)) is type(kind) and known(x) == kind
            )
            for x, kind in zip(values, self.given[1], strict=True)
        )

    def on_functiondef(self, node: ast.FunctionDef) -> None:
        """Read the definition of an inner function: its body is read at each call."""
        if node.decorator_list:
            raise UnsupportedError("a function with decorators")
        self.bind(node.name, self._local_function(node))

    def on_lambda(self, node: ast.Lambda) -> LocalFunction:
        """Read a lambda."""
        return self._local_function(node)

    def _local_function(self, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
        a, places = node.args, positional_parameters(node)
        defaults = list(zip(places[len(places) - len(a.defaults) :], a.defaults, strict=True))
        defaults += [(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d]
        held = {name: self.hold(self.expression(d)) for name, d in defaults}
        return LocalFunction(node, self.scope, held)

    def read_body_of(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """Read the body of a function; return what it returns."""
        self.bind_unbound()
        body = body_of(node)
        if yields(node):
            if not (self.consumers and self.consumers[-1].generator is node):
                raise UnsupportedError("a generator that no loop iterates over")
            body = yielding(body, ENDED if self.consumers[-1].flag else "", self.hidden)
        if any(ast.Try in classes_in(part) for part in body):
            self.program.catches = True
            body = without_handlers(body)
        body = without_else(without_match(body, self.temporary), self.hidden)
        body, may_leave = with_ends(body, self.assumed.leaves)
        self.may_leave |= may_leave
        body = self._without_returns_in_loops(body)
        body = with_jumps_last(body, (ast.Return, ast.Raise))
        last = body[-1]
        if isinstance(last, ast.Return):
            self.statements(body[:-1])
            return self.const(None) if last.value is None else self.expression_or_none(last.value)
        returns = any(jumps(node, (ast.Return,)) for node in body)
        self.scope.locals |= {RETURNED}
        self.statements(body)
        if not returns:
            return self.const(None)
        if not always_returns(body):
            raise UnsupportedError("a function that returns on some paths only")
        return self.read(RETURNED)

    def _without_returns_in_loops(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Make each loop that returns ``break`` instead: the function returns after it."""
        made: list[ast.stmt] = []
        for node in body:
            if isinstance(node, (ast.If, ast.With)):
                made.append(with_bodies(node, self._without_returns_in_loops))
            elif isinstance(node, (ast.For, ast.While)) and jumps(node, (ast.Return,)):
                made += leaving(node, self.hidden("returns"), self.hidden("result", definite=True))
            else:
                made.append(node)
        return made

    def on_return(self, node: ast.Return) -> None:
        """Read a ``return`` at the end of a branch."""
        value = self.const(None) if node.value is None else self.expression_or_none(node.value)
        self.bind(RETURNED, value)


def _can_be_returned(x: Any) -> bool:
    if type(x) is Value:
        return True
    if isinstance(x, InstanceValue) or not is_nest(x) or (type(x) in _MUTABLE and x.is_given):
        return False
    return all(map(_can_be_returned, parts_of(x)))


def _named_containers(x: Any) -> Iterator[Any]:
    """Yield the lists and dicts in a result that have a name, and whose parts are known."""
    if is_nest(x):
        if type(x) in _MUTABLE and x.has_name:
            yield x
        for part in parts_of(x):
            yield from _named_containers(part)
