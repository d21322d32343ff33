"""The base of the reader: variables, names from outside, constants, operations and blocks."""

from __future__ import annotations

import builtins
import logging
import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.dispatch.arguments import place_of_out
from autodiff.structured.callables.recursive_calls import RecursionKindError, RuleLike
from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WRITES,
    Block,
    FunctionIR,
    HeldRange,
    If,
    InstanceValue,
    Items,
    Maybe,
    Memory,
    Named,
    Op,
    Slot,
    Value,
    blocks_of,
    formed,
    known,
    lists_of,
    parts_of,
    without_tuples,
)
from autodiff.structured.form.kinds import (
    SCALARS,
    UNKNOWN,
    EmptyListError,
    InMemoryError,
    ItemsChangeError,
    Kind,
    ListInMemoryError,
    MadeInLoopError,
    MixedKindsError,
    UnboundError,
    UnsupportedError,
    is_member,
    join,
    kind_of,
    kind_of_result,
    kind_with_unit_axes,
)
from autodiff.structured.form.known_functions import (
    CALLED,
    DIAGONALS,
    VIEWS,
    has_users_rule,
    is_joiner,
    is_pure,
    makes_new,
    needs_rule,
    ruled_entry,
)
from autodiff.structured.form.plain_classes import TANGENT_MARK
from autodiff.structured.list_arguments import ListArgument, kind_of_list
from autodiff.structured.reading.assumptions import Assumptions
from autodiff.structured.reading.scopes import (
    CELLS_OF_CALLEE,
    ITERATORS,
    AttributeView,
    ColumnLookup,
    HeldSlice,
    LocalObject,
    LocalPullback,
    Scope,
    Static,
    content_of,
    is_the_same,
)

_NONE = Kind(frozenset([type(None)]))
_MOST_CALLS = 20_000
_IN_PARTS = (Named, Maybe, HeldRange, HeldSlice)  # each part is a variable
_PASS_ON = (".returned", ".chosen", ".result")  # hidden variables that only pass a value on
_OUTSIDE = (
    bool, int, float, str, type(None), type(Ellipsis), types.ModuleType, types.FunctionType,
    types.BuiltinFunctionType, type, np.ufunc, np.dtype, type(np.where), type(np.float64),
    logging.Logger, logging.RootLogger,
)  # fmt: skip

_REBOUND = {*ITERATORS, LocalPullback}
"""What variables may hold one after the other: it is read where it is bound."""


class Consumer(NamedTuple):
    """The loop over a generator that is being inlined."""

    generator: Any  # the definition
    take: Callable[[Any], None]  # reads an iteration of the loop, given what is yielded
    scope: Scope
    caller: Any  # the definition of the function that the loop stands in
    inlined: list[tuple]
    flag: str  # the variable that says that the loop was left; empty if there is none


class ProgramBuilder:
    """Lowest layer of the reader: builds a program from values, operations and blocks.

    Parameters
    ----------
    assumed : Assumptions
        What earlier readings of the function have found out.
    given_lists : dict
        Position → lists of numbers that are arguments.
    """

    # Methods that subclasses define.
    placeholder: Callable[[Any], Value]
    read_free_name: Callable[[str], Any]

    def __init__(self, assumed: Assumptions, given_lists: dict[int, Any]) -> None:
        self.assumed = assumed
        self.displayed_in_memory = assumed.displayed_in_memory
        self.value_classes = assumed.value_classes
        self.in_memory = assumed.in_memory
        self.optional_attributes = assumed.optional_attributes
        self.initially_none = assumed.initially_none
        self.grown: dict[Any, set[str]] = {}  # function → names of the lists that it changes
        # Attributes that may be missing, but are known here to be None, or to have a value.
        self.known_none: set[tuple[type, str]] = set()
        self.known_present: dict[tuple[type, str], Memory] = {}
        self.names: dict[Slot, tuple[Any, str]] = {}
        self.bound_in_loop: dict[Slot, tuple[int, int]] = {}  # variables bound nowhere else
        self.program = FunctionIR()
        self.guards: list[tuple[dict, Any, Any]] = []  # where to look up, the name, what was found
        self.watched: set[tuple] = set()  # parts of objects and classes that have a guard
        self.count = 0
        self.block = Block()
        self.body: list = [self.block]
        self.first_block = self.block
        self.made_first: dict[tuple[int, int], Value] = {}  # lists and dicts from outside, by place
        self.constants_outside: dict[int, Any] = {}  # by id: containers from outside, of constants
        self.given_containers = 0  # lists and dicts among the parameters so far
        self.bound: dict[Slot, Value] = {}  # what the current block has read or bound
        # Flags of values that may be None which are true here → how often they were bound then.
        self.present: dict[Slot, int] = {}
        self.kinds: dict[Slot, Kind] = {}  # of what the slots hold here
        self.scope: Any = None
        self.depth = 0  # of loops and branches
        self.calling: list = []  # definitions of the functions being read, the innermost last
        self.inlined: list[tuple] = []  # functions being inlined, and the kinds of their arguments
        self.iterators: set[Any] = set()  # calls of `iter` that a method ``__iter__`` returns
        self.outside_objects: list[Any] = []  # references to those that were read
        # Of objects that are arguments: the object, and the name.
        self.rebound_attributes: list[tuple[Any, str]] = []
        self.may_alias: list[tuple[Value, Value]] = []
        self.flags: list[str] = []  # break flags of the open loops
        self.consumers: list[Consumer] = []  # of what the open generators yield
        # Elements that are views (`x[..., 0]` of a vector), the variables that hold them, and those
        # that an augmented assignment changes.
        self.elements: set[Value] = set()
        self.element_slots: set[Slot] = set()
        self.augmented: set[Slot] = set()
        self.decomposed: set[Any] = set()  # functions that were replaced by others
        self.skipped: Exception | None = None  # why this pass over a loop skipped a statement
        self.n_calls = 0
        self.repeated = 1  # how often the unrolled loops around it repeat a statement
        # Arrays from outside, and where they are looked up.
        self.captured_arrays: list[tuple[Slot, tuple]] = []
        self.lists: list[Memory] = []  # of all lists that may grow
        self.read_unchecked: list[Memory] = []  # lists whose items were read without a None check
        self.given_lists = given_lists
        self.outside_lists: list[Any] = []  # lists of numbers from outside
        self.outside_keys: dict[Slot, tuple] = {}
        self.column_lookups: dict[tuple[int, Any], ColumnLookup] = {}  # by where the rows are
        # Of objects whose class was asked for an attribute; of lists that were named tuples.
        self.class_attribute_reads: list[tuple[Memory, str]] = []
        self.whole_tuples: dict[int, tuple[tuple, Value]] = {}  # by id of the parts
        self.record_memories: list[tuple[Memory, type]] = []
        # Memory that the operations of a loop must not write into.
        self.forbidden_writes: list[tuple[Memory, list[Op], bool, frozenset[str]]] = []
        self.carried: dict[Value, Slot] = {}  # values that other blocks read, too
        self.definite_kinds: dict[Slot, Kind] = {}  # the same wherever the variable is read

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return an unused name."""
        self.count += 1
        return f"{stem}{self.count}"

    def hidden(self, stem: str, definite: bool = False) -> str:
        """Return the name of a new variable that the user's code cannot have.

        A `definite` one is always assigned before it is read, even if no branch shows that.
        """
        name = f".{self.fresh(stem)}"
        self.scope.locals |= {name}
        if definite:
            self.scope.definite.add(name)
        return name

    def temporary(self, stem: str) -> str:
        """Return the name of a new variable of which only the latest binding is ever read.

        Each binding may therefore be of another kind.
        """
        name = self.hidden(stem, definite=True)
        self.scope.temporaries.add(name)
        return name

    def hold(self, value: Any) -> str:
        """Bind a hidden variable, so that other blocks can read the value; return its name."""
        name = self.hidden("held")
        self.bind(name, value)
        return name

    def _slot(self, name: str) -> Slot:
        slot = self.scope.slots.get(name)
        if slot is None:
            self.count += 1
            slot = self.scope.slots[name] = Slot(f"{name.replace('.', '_')}_{self.count}")
            self.names[slot] = self.scope.function, name
            self.program.slots.append(slot)
        return slot

    def bind(self, name: str, value: Any) -> None:
        """Bind a variable to a value, or to a tuple of values.

        Each part of a tuple of arrays or floats becomes a variable.
        """
        scope = self.scope
        if name in scope.outer:
            self.scope = scope.parent
            self.bind(name, value)
            self.scope = scope
            return
        like = self.assumed.may_be_none.get((scope.function, name))
        if like is not None and type(value) in (Value, tuple):
            is_none = type(value) is Value and known(value) is None
            value = Maybe(self.const(not is_none), self.placeholder(like) if is_none else value)
        is_temporary = name in scope.temporaries
        if self.depth == scope.blocks or is_temporary:  # the old value is dead
            scope.functions.pop(name, None)
            scope.forms.pop(name, None)
        if is_temporary:
            scope.slots.pop(name, None)
        was = scope.functions.get(name, scope.forms.get(name, scope.slots.get(name)))
        if isinstance(value, Static):
            scope.functions[name] = value
            both = {type(was), type(value)}
            is_alike = was is None or is_the_same(was, value) or both <= _REBOUND
        elif type(value) in _IN_PARTS or (isinstance(value, tuple) and not is_plain(value)):
            form = self._bind_parts(name, value, was)
            is_alike = was is None or (type(was) is type(form) and was == form)
        else:
            if self.depth == 0 and name not in scope.definite:
                scope.slots.pop(name, None)  # a new slot for each binding
            slot, value = self._slot(name), self.pack(value)
            is_alike = was is None or was is slot
            self.bind_slot(slot, value)
            if name in scope.definite:
                kind = value.kind.general()
                self.definite_kinds[slot] = join(self.definite_kinds.get(slot, kind), kind)
        if not is_alike and self.depth > scope.blocks:
            raise self._error_of_rebinding(name, value, was)

    def _bind_parts(self, name: str, value: Any, was: Any) -> Any:
        """Bind a variable for each part of a value; return the form with their names."""
        scope = self.scope
        names = [f"{name}.{i}" for i in range(len(parts_of(value)))]
        form = scope.forms[name] = formed(value, names)
        if type(form) is not tuple:
            is_users = not name.startswith(_PASS_ON)
            form.has_name = is_users or _has_name(value) or _has_name(was)
            form.is_given = any(getattr(x, "is_given", False) for x in (value, was))
            is_one = self.depth == scope.blocks
            form.origin = (getattr(value, "origin", None) or object()) if is_one else None
            form.places = places_of(value) | places_of(was)
        scope.definite.update(names if name in scope.definite else ())
        scope.temporaries.update(names if name in scope.temporaries else ())
        for own, x in zip(names, parts_of(value), strict=True):
            self.bind(own, x)
        return form

    def _error_of_rebinding(self, name: str, value: Any, was: Any) -> UnsupportedError:
        """Return the error for a variable whose value depends on a branch, with no common kind."""
        scope = self.scope
        is_object = type(value) is LocalObject and not value.is_given
        if is_object and value.cls not in self.value_classes | self.in_memory:
            return MadeInLoopError(value.cls)
        was_none = type(was) is Slot and was.kind == _NONE
        is_none = type(value) is Value and known(value) is None
        for x, may_be in ((value, was_none), (was, is_none)):
            if may_be and isinstance(x, InstanceValue):
                return InMemoryError(x.user_class())
        places = places_of(value) | places_of(was)
        if places and _is_list(value) and _is_list(was):
            grow = any(type(x) in (Value, Slot) and x.kind.is_table for x in (value, was))
            return ListInMemoryError("a variable that holds one of several lists", places, grow)
        error = MixedKindsError()
        if Maybe in (type(was), type(value)):
            part = value.value if type(value) is Maybe else scope.slots[was.value]
            error.other = (scope.function, name), part.kind, part.memory
        elif type(value) is tuple and was_none:
            error.other = (scope.function, name), _kinds_in(value), None
        elif type(was) is tuple and is_none:
            error.other = (scope.function, name), self._kinds_at(was), None
        return error

    def _kinds_at(self, form: tuple) -> list[tuple]:
        """Return what `_kinds_in` does, for the variables that hold the parts of a tuple."""
        found: list[tuple] = []
        for name in form:
            slot, own = self.scope.slots.get(name), self.scope.forms.get(name)
            if own is not None:
                found.append((self._kinds_at(own) if type(own) is tuple else None, None))
            else:
                found.append((None, None) if slot is None else (slot.kind, slot.memory))
        return found

    def not_none(self, x: Any) -> Any:
        """Unwrap a value that may be None: the program exits if it is."""
        if type(x) is not Maybe:
            return x
        if known(x.has) is False:
            if self.flags:  # a later statement of the loop may bind it
                raise EmptyListError("a variable, which is None")
            return self.const(None)
        if not (x.has.kind.is_known or self.is_present(x)):
            flag = self.slot_holding(x.has)
            self.exit_unless(x.has)
            self._note_present(flag)
        return x.value

    def is_present(self, x: Maybe) -> bool:
        """Whether a test has shown here that a value is not None."""
        flag = self.slot_holding(x.has)
        return flag is not None and self.present.get(flag) == flag.writes

    def _note_present(self, flag: Slot | None) -> None:
        """Note that a test has shown that a flag is true, until something is bound to it."""
        if flag is not None:
            self.present[flag] = flag.writes

    def join_kinds(self, slot: Slot, a: Kind, b: Kind) -> Kind:
        """Return the kind of a variable that holds a value of either kind."""
        try:
            return join(a, b)
        except MixedKindsError as error:
            others = [kind for kind in (a, b) if not (kind.is_known and kind.value is None)]
            if len(others) == 1 and slot in self.names:
                error.other = self.names[slot], others[0], slot.memory
            raise

    def variable_structure(self, name: str) -> Any:
        """Return the pytree structure of what a variable holds; None if it is not bound."""
        scope = self.scope
        if name in scope.forms:
            form = scope.forms[name]
            parts = tuple(map(self.variable_structure, parts_of(form)))
            return type(form), tuple(form) if type(form) is Named else (), parts
        if name in scope.functions:
            return True
        return Value if name in scope.slots else None

    def unbind(self, name: str) -> None:
        """Forget a variable and its parts."""
        for kept in (self.scope.forms, self.scope.functions, self.scope.slots):
            for part in [part for part in kept if part.partition(".")[0] == name]:
                del kept[part]

    def bind_slot(self, slot: Slot, value: Value) -> None:
        """Bind a slot to a value."""
        if value in self.elements:
            self.element_slots.add(slot)
        value = self._in_block(value)
        if self.bound.get(slot) is value:
            return  # it holds this value already: ``x = step(x)``, if that returns its argument
        slot.writes += 1 if self.depth == 0 else 2
        slot.holds(value.kind)
        self.bound[slot] = value
        self.kinds[slot] = value.kind
        self.block.writes[slot] = value
        if value.kind.has_memory:
            if slot.memory is None:
                slot.memory = Memory()
            if value.kind.has_items:
                slot.root.share(value.root)

    def slot_holding(self, value: Any) -> Slot | None:
        """Return a slot that holds this value now."""
        return next((slot for slot, x in self.bound.items() if x is value), None)

    def as_variable_of_caller(
        self, returned: Any, same: dict[Slot, tuple[int, Slot, int]]
    ) -> Any:  # fmt: skip
        """Replace a parameter that an inlined function returns by the variable of the caller.

        `same` maps the slot of a parameter to its write count, the slot of the caller and that
        one's write count, all at the call.
        """
        if type(returned) is tuple:
            return tuple([self.as_variable_of_caller(x, same) for x in returned])
        if type(returned) is Value and returned.op is not None and returned.op.code == "read":
            own = returned.op.data
            writes, source, written = same.get(own, (-1, own, -1))
            if own.writes == writes and source.writes == written:
                return self.read_slot(source)
        return returned

    def _leave_block(self) -> None:
        """Record which memory each variable shares at the end of the block.

        An array that a variable holds only in between has its own memory.
        """
        for slot, value in self.block.writes.items():
            if value.kind.has_memory:
                slot.root.share(value.root)

    def read(self, name: str) -> Any:
        """Return the value of a name."""
        scope = self.scope
        while name not in scope.locals and scope.parent is not None:
            scope = scope.parent
        if name in scope.locals:
            return self.read_in(scope, name)
        return self.read_free_name(name)

    def read_in(self, scope: Scope, name: str) -> Any:
        """Return the value of a variable of this scope."""
        found = self._held_by(scope, name)
        if (scope.function, name) in self.assumed.unbound_at_first:
            return self._unless_unbound(scope, name, found)
        return found

    def _held_by(self, scope: Scope, name: str) -> Any:
        form = scope.forms.get(name)
        if form is not None:
            found = formed(form, [self.read_in(scope, part) for part in parts_of(form)])
            if type(found) is not tuple:
                found.has_name, found.is_given = form.has_name, form.is_given
                found.origin, found.places = form.origin, form.places
            return found
        if name in scope.functions:
            return scope.functions[name]
        slot = scope.slots.get(name)
        if slot is None or not (slot in self.kinds or slot in self.definite_kinds):
            loop = None if slot is None else self.bound_in_loop.get(slot)
            raise UnboundError(scope.function, name, loop)
        return self.read_slot(slot)

    def bind_unbound(self) -> None:
        """Bind the variables of a function to None that may be unbound where they are read."""
        scope = self.scope
        for function, name in self.assumed.unbound_at_first:
            is_own = function is scope.function and name.partition(".")[0] in scope.locals
            if is_own and self.variable_structure(name) is None:
                self.bind(name, self.const(None))

    def _unless_unbound(self, scope: Scope, name: str, found: Any) -> Any:
        """Return the value of a variable that is None as long as it is not bound."""
        if type(found) is Maybe and known(found.has) is not False:
            return self.not_none(found)
        if type(found) is not Maybe and not (type(found) is Value and known(found) is None):
            return found
        if self.flags:  # a later statement of the loop may bind it
            raise EmptyListError("a variable, which is not bound")
        raise UnboundError(scope.function, name, None)

    def capture(self, x: Any) -> Value:
        """Return an array, number or `ListArgument` from outside, as a further read-only argument.

        Each call looks it up again, where the last guard has found it.
        """
        where = self.guards.pop()[:2]
        for slot, known_place in self.captured_arrays:
            if known_place[0] is where[0] and known_place[1] == where[1]:
                return self.read_slot(slot)
        slot = Slot(self.fresh("outside"))
        slot.writes = 1
        if type(x) is not ListArgument:
            slot.memory, kind = Memory() if type(x) is np.ndarray else None, kind_of(x)
        else:
            slot.memory, kind = x.memory(), kind_of_list(x.classes[0])
            self.outside_keys[slot] = x.key
            self.lists += lists_of(slot.memory)
        slot.holds(kind)
        self.definite_kinds[slot] = kind
        self.captured_arrays.append((slot, where))
        self.program.slots.append(slot)
        return self.read_slot(slot)

    def read_slot(self, slot: Slot) -> Value:
        """Return the value of a slot, which is read once in each block."""
        value = self.bound.get(slot)
        if value is None:
            kind = self.definite_kinds.get(slot) or self.kinds[slot]
            if kind.is_known:
                return self.const(kind.value)
            value = self.emit(Op("read", [], data=slot), kind)
            slot.reads += 1
            if kind.has_memory:
                if slot.memory is None:
                    slot.memory = Memory()
                value.root.share(slot.root)
                slot.root.leaves_block = True
            self.bound[slot] = value
            if slot in self.element_slots:
                self.elements.add(value)
        return value

    def look_up(self, name: str) -> Any:
        """Look up a captured variable, a global or a builtin, and guard it."""
        function = self.scope.function
        if name in function.__code__.co_freevars:
            place = function.__code__.co_freevars.index(name)
            cell = function.__closure__[place]
            found = content_of(cell)
            if found is UNKNOWN:
                raise UnsupportedError(f"{name} is not bound")
            if self.scope.depth == 0:  # other functions of the same code have other cells
                self.guards.append((CELLS_OF_CALLEE, place, found))
            else:
                self.guards.append((AttributeView(cell), "cell_contents", found))
        elif name in function.__globals__:
            found = function.__globals__[name]
            self.guards.append((function.__globals__, name, found))
        elif hasattr(builtins, name):
            found = getattr(builtins, name)
            self.guards.append((function.__globals__, name, UNKNOWN))
            self.guards.append((vars(builtins), name, found))
        else:
            raise UnsupportedError(f"{name} is not bound")
        return found

    def module_attribute(self, owner: Value, name: str) -> Any:
        """Look up an attribute of a module, and guard it."""
        module = owner.kind.value
        if module is np:
            getattr(np, name, None)  # NumPy loads some submodules, such as fft, lazily
        if not isinstance(module, types.ModuleType) or name not in vars(module):
            raise UnsupportedError(f"attribute {name}")
        found = vars(module)[name]
        self.guards.append((vars(module), name, found))
        return found

    # -- operations --------------------------------------------------------------------------------

    def emit(self, op: Op, kind: Kind) -> Value:
        """Emit an operation that has a value; return the value."""
        value = Value(self.fresh("t"), kind, op)
        value.block = self.block
        op.out = value
        self.emit_effect(op)
        return value

    def emit_effect(self, op: Op) -> None:
        """Emit an operation into the current block."""
        op.args = list(map(self._in_block, op.args))
        op.options = {name: self._in_block(v) for name, v in op.options.items()}
        for a in op.operands:
            a.uses += 1
        self.block.ops.append(op)

    def _in_block(self, value: Value) -> Value:
        """Return a value for use in this block; a slot carries it here from another block."""
        block = value.block
        if block is None or block is self.block:
            return value
        slot = self.carried.get(value)
        if slot is None:
            slot = self.carried[value] = Slot(self.fresh("carried"))
            self._carry(value, slot)
            slot.writes = 2
        return self.read_slot(slot)

    def _carry(self, value: Value, slot: Slot) -> None:
        """Bind a new variable to a value at the end of its block."""
        self.program.slots.append(slot)
        self.definite_kinds[slot] = value.kind
        slot.holds(value.kind)
        value.block.writes[slot] = value  # type: ignore[union-attr] # it is no constant
        slot.memory = value.memory
        if value in self.elements:
            self.element_slots.add(slot)

    def const(self, x: Any) -> Value:
        """Return a constant as a value."""
        if not is_constant(x):
            raise UnsupportedError(f"a value of class {type(x).__name__} from outside")
        op = Op("const", [], data=x)
        value = Value(self.fresh("k"), kind_of(x, known=True), op)
        op.out = value
        return value

    @property
    def is_tangent(self) -> bool:
        """Whether the function being read is a generated tangent function."""
        return TANGENT_MARK in self.scope.function.__globals__

    def pack(self, x: Any, given: bool = False) -> Value:
        """Make one value of a tuple; a tuple of arrays can only be an argument (`given`)."""
        if isinstance(x, InstanceValue):
            raise UnsupportedError("an object as a value")
        if not isinstance(x, tuple):
            return x if type(x) is Value else self.const(x.kind)  # a static one raises here
        values = [self.pack(p, given) for p in x]
        if not given and not all(v.kind.is_known or is_plain((v,)) for v in values):
            raise UnsupportedError("a tuple of arrays as a value")
        if all(v.kind.is_known for v in values):
            return self.const(tuple([v.kind.value for v in values]))
        kind = Kind(frozenset([tuple]), parts=tuple([v.kind for v in values]))
        return self.emit(Op("tuple", values), kind)

    def emit_call(
        self, f: Callable, args: list[Value], options: dict[str, Value] | None = None
    ) -> Value:
        """Emit a call of a function that has a rule or is known to be pure."""
        options = options or {}
        everything = [*args, *options.values()]
        if len(args) > place_of_out(f)[0] or (isinstance(f, np.ufunc) and len(args) != f.nin):
            raise UnsupportedError("an argument out")
        self.n_calls += 1
        if self.n_calls > _MOST_CALLS:
            raise UnsupportedError("very long")
        if all(v.kind.is_known for v in everything):
            return self._fold_constants(f, args, options)
        if ruled_entry(f) is None and needs_rule(f, everything):
            raise UnsupportedError(f"{f} has no rule")
        kinds = {name: v.kind for name, v in options.items()}
        kind = self._kind_of_result(f, [v.kind for v in args], kinds)
        of_matrix = f in DIAGONALS and len(everything) == 1 and args[0].kind.ndim == 2
        is_view = of_matrix or (f in VIEWS and args[0].kind.is_array and kind.ndim)
        if is_view and not has_users_rule(f):
            self.decomposed.add(f)
            if f is np.flip and len(args) == 1 and not options:
                backwards = (("slice", None, None, 0),) * kind.ndim  # the step is the first part
                return self.emit_view(Op("view", [args[0], self.const(-1)], data=backwards), kind)
            return self.emit_view(Op("view", args, f=f, options=options, data=CALLED), kind)
        value = self.emit(Op("call", args, f=f, options=options), kind)
        is_own = makes_new(value.op) or (
            f is np.ndarray.astype and len(everything) == 2 and not options
        )
        if kind.is_array and not is_own:
            values = without_tuples(everything)
            self.may_alias += [(value, v) for v in values if v.kind.is_array]
        return value

    def _kind_of_result(self, f: Callable, kinds: list[Kind], options: dict[str, Kind]) -> Kind:
        """Return the kind of a result, which is inferred once for arguments of the same kinds."""
        if any(kind.is_known or kind.parts for kind in (*kinds, *options.values())):
            return kind_of_result(f, kinds, options)
        key, known = (f, *kinds, *options.items()), self.assumed.kinds_of_results
        if key not in known:
            known[key] = kind_of_result(f, kinds, options)
        return known[key]

    def unpack(self, made: Value) -> list[Value]:
        """Return the parts of the tuple that a call has returned, emitted right after the call."""
        parts: list[Value] = []
        values = without_tuples(made.op.operands)
        given = [v for v in values if v.kind.is_array]
        for i, kind in enumerate(made.kind.parts):
            if kind.parts:
                raise UnsupportedError(f"{made.op.f} returns tuples in a tuple")
            if kind.is_known:
                parts.append(self.const(kind.value))
                continue
            part = self.emit(Op("part", [made], data=i), kind)
            if kind.is_array and not makes_new(made.op):
                others = [*given, *[p for p in parts if p.kind.is_array]]
                self.may_alias += [(part, v) for v in others]
            parts.append(part)
        return parts

    def reshaped(self, x: Value, shape: Value, ndim: int) -> Value:
        """Reshape an array: the result may be a view or a copy, depending on its strides."""
        kind = x.kind.general()._replace(ndim=ndim)
        value = self.emit(Op("call", [x, shape], f=np.reshape), kind)
        self.may_alias.append((value, x))
        return value

    def emit_view(self, op: Op, kind: Kind) -> Value:
        """Emit an operation that makes a view of its first argument.

        A view without axes is refused, because everywhere else an array without axes is a number.
        """
        if not kind.ndim:
            raise UnsupportedError("a view without axes")
        memory: Any = op.args[0].memory
        value = self.emit(op, kind)
        memory.root().is_indexed = True
        memory.share(value.memory)
        return value

    def _fold_constants(self, f: Callable, args: list[Value], options: dict[str, Value]) -> Value:
        if not is_pure(f):
            raise UnsupportedError(f"{f} is not known to be pure")
        named = {name: v.kind.value for name, v in options.items()}
        try:
            with np.errstate(all="raise"):
                made = f(*[v.kind.value for v in args], **named)
        except Exception as error:  # let the traced call raise it
            raise UnsupportedError(f"{f} fails") from error
        if isinstance(made, np.ndarray):
            # Each run makes a new one, which may be written into.
            return self.emit(Op("call", args, f=f, options=options), kind_with_unit_axes(made))
        if type(made) is tuple and any(isinstance(part, np.ndarray) for part in made):
            return self.emit(Op("call", args, f=f, options=options), kind_of(made))
        return self.const(made)

    def as_value(self, x: Any) -> Value:
        """Make one value of a tuple; a list must be in memory for that."""
        if type(x) is Items:
            raise ListInMemoryError("a list as a value", x.places)
        return self.pack(x)

    def at_start(self, place: tuple[int, int], make: Callable[[], Value]) -> Value:
        """Return the value of a place, made of constants, once, in the first block."""
        made = self.made_first.get(place)
        if made is None:
            outer = self.block, self.bound
            if self.block is not self.first_block:
                self.block, self.bound = self.first_block, {}
            made = self.made_first[place] = make()
            self.block, self.bound = outer
            slot = self.carried[made] = Slot(self.fresh("outside"))
            self._carry(made, slot)
            slot.writes = 1
        return made

    # -- blocks ------------------------------------------------------------------------------------

    def end_block(self) -> None:
        """Begin a new block."""
        self._leave_block()
        self.block = Block()
        self.body.append(self.block)
        self.bound = {}

    def add_node(self, node: Any) -> None:
        """Insert a loop or branch before the current block, which is still empty."""
        self.body.insert(len(self.body) - 1, node)

    def forbid_writes(
        self, memories: list[Memory], read: Callable[[], None], made_there: bool = False,
        codes: frozenset[str] = WRITES | LIST_WRITES, begun: tuple | None = None,
    ) -> None:  # fmt: skip
        """Read something that must not write into these memories; `check_writes` checks it later.

        With `made_there`, it may write into arrays that it makes itself. The `codes` are those of
        the forbidden operations. They are forbidden from `begun` on, an earlier `position`.
        """
        block, body, n = begun or self.position()
        read()
        if memories:
            others = body[body.index(block) + 1 :]
            ops = [*block.ops[n:], *[op for b in blocks_of(others) for op in b.ops]]
            self.forbidden_writes += [(memory, ops, made_there, codes) for memory in memories]

    def position(self) -> tuple:
        """Return where the next operation is written: the block, its list, and the number in it."""
        return self.block, self.body, len(self.block.ops)

    def check_writes(self) -> None:
        """Raise if a write was forbidden (`forbid_writes`)."""
        for memory, ops, made_there, codes in self.forbidden_writes:
            if made_there and any(_allocates_in(op, memory.root()) for op in ops):
                continue
            for op in ops:
                if op.code in codes and op.args[0].root is memory.root():
                    raise ItemsChangeError

    def read_blocks(self, read: Callable[[], None], is_loop: bool = True) -> list:
        """Read the body of a loop or branch; return its blocks.

        The body may not run, so functions and iterators that it binds are unknown after it; so are
        those that the loops over generators bind. What tests before a loop have shown may not hold
        in later iterations.
        """
        outer = self.body, self.block, self.bound, self.present
        self.present = {} if is_loop else dict(self.present)
        self.block = Block()
        self.body, self.bound = [self.block], {}
        self.depth += 1
        scopes = [self.scope, *[consumer.scope for consumer in self.consumers]]
        before = [(scope, dict(scope.functions)) for scope in scopes]
        try:
            read()
            self._leave_block()
            return self.body
        finally:
            self.depth -= 1
            for scope, known in before:
                scope.functions = {
                    name: f
                    for name, f in scope.functions.items()
                    if is_the_same(known.get(name), f) or name.startswith(".")
                }
            self.body, self.block, self.bound, self.present = outer

    def _read_branch(self, read: Callable[[], None]) -> tuple[list, bool]:
        """Return the blocks of a branch, and whether it depends on something still unknown.

        That is the result of a recursive call, or an item that a later iteration puts into a list.
        """
        n = len(self.flags)
        try:
            return self.read_blocks(read, is_loop=False), False
        except (RecursionKindError, EmptyListError) as error:
            if isinstance(error, EmptyListError):
                if not n:
                    raise
                self.skipped = error
                del self.flags[n:]
            block = Block()
            block.ops.append(Op("raise", []))
            return [block], True

    def branches(
        self, test: Value, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Read both branches; only one of them if the test is known."""
        if test.kind.is_known:
            (then if test.kind.value else otherwise)()
            return
        is_negated = test.op.code == "call" and test.op.f is operator.not_
        flag = self.slot_holding(test.op.args[0] if is_negated else test)

        def then_read(read: Callable[[], None], is_true: bool) -> Callable[[], None]:
            def noting() -> None:
                if is_true is not is_negated:
                    self._note_present(flag)
                read()

            return noting

        self.end_block()
        before = dict(self.kinds)
        first, is_first_unknown = self._read_branch(then_read(then, True))
        after, self.kinds = self.kinds, before
        second, is_second_unknown = self._read_branch(then_read(otherwise, False))
        if is_first_unknown and is_second_unknown:
            raise self.skipped if isinstance(self.skipped, EmptyListError) else RecursionKindError
        if _raises(second):
            self.kinds = after
        elif not _raises(first):
            self.kinds = {
                slot: self.join_kinds(slot, kind, self.kinds[slot])
                for slot, kind in after.items()
                if slot in self.kinds
            }
        self.add_node(If(test, first, second))
        test.uses += 1

    def choose(
        self, test: Value, then: Callable[[], Any], otherwise: Callable[[], Any],
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """Read a conditional expression; return its value.

        Both branches bind it to one variable (a phi), called `name` if that is given.
        """
        if name is None:
            name = self.hidden("chosen")
        else:
            self.scope.locals |= {name}
        self.branches(test, lambda: self.bind(name, then()), lambda: self.bind(name, otherwise()))
        return self.read(name)

    def exit_unless(self, test: Value) -> None:
        """Exit the program if a test fails: the call is then traced."""
        self.branches(test, lambda: None, lambda: self.emit_effect(Op("raise", [])))


def structure_of(x: Any) -> Any:
    """Return the pytree structure of a value; all leaves are alike, and all objects."""
    if type(x) is Named or (isinstance(x, tuple) and not is_plain(x)):
        keys = tuple(x) if type(x) is Named else ()
        return type(x), keys, tuple(map(structure_of, parts_of(x)))
    return True if isinstance(x, Static) else Value


def _kinds_in(x: tuple) -> list[tuple]:
    """Return the kind and the memory of each part of a tuple; the kinds again for tuples in it."""
    return [
        (_kinds_in(part), None)
        if type(part) is tuple
        else (part.kind, part.memory if type(part) is Value else None)
        for part in x
    ]


def _allocates_in(op: Op, memory: Memory) -> bool:
    """Whether an operation allocates an array that belongs to this memory."""
    out = op.out
    has_one = out is not None and out.memory is not None and out.root is memory
    return has_one and op.code not in ("read", "view", "item")


def _has_name(x: Any) -> bool:
    """Whether this is a list or dict of known items that a variable of the user's holds."""
    return type(x) in (Items, Named) and x.has_name


def places_of(x: Any) -> frozenset[tuple[int, int]]:
    """Return the places in the source that display the lists or dicts that this may be."""
    return getattr(x, "places", frozenset())


def _is_list(x: Any) -> bool:
    """Whether this is a list or dict, or a variable that holds one in memory."""
    kind = x.kind if type(x) in (Value, Slot) else None
    return type(x) in (Items, Named) or (kind is not None and kind.has_items)


def is_plain(x: tuple) -> bool:
    """Whether nested plain tuples hold no list, array or float."""
    return type(x) is tuple and all(
        is_plain(p)
        if isinstance(p, tuple)
        else type(p) is Value and not (p.kind.has_memory or p.kind.is_inexact)
        for p in x
    )


def _raises(nodes: list) -> bool:
    """Whether a branch ends with ``raise``."""
    last = nodes[-1]
    return isinstance(last, Block) and bool(last.ops) and last.ops[-1].code == "raise"


def is_constant(x: Any) -> bool:
    """Whether a value from outside is immutable."""
    if type(x) is tuple:
        return all(map(is_constant, x))
    is_one = type(x) in _OUTSIDE or type(x) in SCALARS or isinstance(x, (type, np.dtype, RuleLike))
    return is_one or is_member(x) or is_joiner(x)
