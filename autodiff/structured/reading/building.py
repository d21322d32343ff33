"""Building blocks of operations: variables, names from outside, constants and calls."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import place_of_out
from autodiff.structured.form.ir import (
    LIST_WRITES,
    WRITES,
    Block,
    If,
    Instance,
    Items,
    Maybe,
    Memory,
    Named,
    Op,
    Program,
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
    Kind,
    ListInMemoryError,
    MadeInLoopError,
    ManyKindsError,
    NoItemsError,
    UnboundError,
    UnsupportedError,
    is_member,
    join,
    kind_like,
    kind_of,
    kind_of_result,
)
from autodiff.structured.form.known_functions import (
    CALLED,
    DIAGONALS,
    PURE,
    VIEWS,
    is_joiner,
    is_pure,
    makes_new,
    ruled_entry,
)
from autodiff.structured.itself import CallsItselfError, OwnRule
from autodiff.structured.reading.scopes import (
    IS_TANGENT,
    NO_VALUES,
    OWN_CELLS,
    Attributes,
    LocalObject,
    Scope,
    content_of,
    is_the_same,
)
from autodiff.structured.whole_lists import kind_of_list

_MOST_CALLS = 20_000
_READ_ONCE = (".returned", ".chosen", ".result")  # hidden variables that hand a value on
_OUTSIDE = (
    bool, int, float, str, type(None), type(Ellipsis), types.ModuleType, types.FunctionType,
    types.BuiltinFunctionType, type, np.ufunc, np.dtype, type(np.where), type(np.float64),
)  # fmt: skip


class Builder:
    """Puts values, operations and blocks together."""

    def __init__(
        self, with_turns: Iterable[tuple[int, int]] = (), parted: Iterable[tuple[int, int]] = ()
    ) -> None:
        self.with_turns = frozenset(with_turns)  # the places of loops that must have a turn
        self.parted = frozenset(parted)  # those whose first turn is read by itself
        # Where lists and dicts are displayed that are in memory.
        self.displayed_in_memory: frozenset[tuple[int, int]] = frozenset()
        self.grown: dict[Any, set[str]] = {}  # of each function: the names of lists that it changes
        self.of_values: frozenset[type] = frozenset()  # classes whose objects nobody changes
        self.in_memory: frozenset[type] = frozenset()  # classes whose objects lists may hold
        # Attributes of these that may be missing: what stands in their place. Those of which it is
        # known in this round that they are None, or have a value.
        self.may_be_missing: dict[tuple[type, str], Any] = {}
        self.none_at_first: set[tuple[type, str]] = set()
        self.are_none: set[tuple[type, str]] = set()
        self.are_there: dict[tuple[type, str], Memory] = {}
        # Variables that may be None, by their functions and names: what then stands in their place.
        self.may_be_none: dict[tuple[Any, str], Any] = {}
        self.names: dict[Slot, tuple[Any, str]] = {}
        self.bound_by: dict[Slot, tuple[int, int]] = {}  # loops that alone bind a variable
        self.program = Program()
        self.guards: list[tuple[dict, Any, Any]] = []
        self.watched: set[tuple] = set()  # what of objects and classes is among them
        self.count = 0
        self.block = Block()
        self.body: list = [self.block]
        self.bound: dict[Slot, Value] = {}
        self.kinds: dict[Slot, Kind] = {}  # of what the slots hold here
        self.scope: Any = None
        self.depth = 0  # of loops and branches
        self.calling: list = []
        self.inlined: list[tuple] = []  # functions that are read in place, and kinds of arguments
        self.iterators: set[Any] = set()  # calls of `iter` that a method ``__iter__`` returns
        self.outside_objects: list[Any] = []  # references to those that were read
        # Of objects that are arguments: the object, and the name.
        self.bound_attributes: list[tuple[Any, str]] = []
        self.may_share: list[tuple[Value, Value]] = []
        self.flags: list[str] = []  # of the loops that are open
        self.takers: list[tuple] = []  # of what the generators that are open yield
        # Elements that are views (`x[..., 0]` of a vector), what holds them, and which variables an
        # operator changes in place.
        self.elements: set[Value] = set()
        self.of_elements: set[Slot] = set()
        self.changed: set[Slot] = set()
        self.made_of_others: set[Any] = set()  # functions in whose place others were read
        self.left_out: Exception | None = None  # why a statement was not read in this round
        self.size = 0
        # Arrays from outside, and where they are looked up.
        self.arrays: list[tuple[Slot, tuple]] = []
        self.lists: list[Memory] = []  # of all lists that may grow
        self.read_as_they_are: list[Memory] = []  # lists of which an item is none that is None
        # Lists of numbers that are arguments, by position; those from outside, and their keys.
        self.given_lists: dict[int, Any] = {}
        self.outside_lists: list[Any] = []
        self.outside_keys: dict[Slot, tuple] = {}
        # Of objects whose class was asked for an attribute; of lists that were named tuples.
        self.from_classes: list[tuple[Memory, str]] = []
        self.of_records: list[tuple[Memory, type]] = []
        # Vectors and lists whose items a loop takes before the turns that are given them, and its
        # operations, which must not write into such.
        self.spared: list[tuple[Memory, list[Op], bool, frozenset[str]]] = []
        self.carried: dict[Value, Slot] = {}  # values that are read in other blocks, too
        # Kinds of variables that are the same wherever these are read.
        self.lasting_kinds: dict[Slot, Kind] = {}

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return a name that is not used."""
        self.count += 1
        return f"{stem}{self.count}"

    def hidden(self, stem: str, lasts: bool = False) -> str:
        """Return the name of a new variable, which no variable of the user's has.

        One that `lasts` is read only where it is bound, whatever the branches between say.
        """
        name = f".{self.fresh(stem)}"
        self.scope.locals |= {name}
        self.scope.lasting |= {name} if lasts else set()
        return name

    def hidden_at_once(self, stem: str) -> str:
        """Return the name of a new variable that is read only behind where it was bound last.

        So whenever it is bound, it may be of another kind.
        """
        name = self.hidden(stem, lasts=True)
        self.scope.at_once |= {name}
        return name

    def held(self, value: Any) -> str:
        """Bind a hidden variable, to be read in other blocks; return its name."""
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

        A tuple of arrays or floats becomes variables of their own, one for each part.
        """
        scope = self.scope
        if name in scope.outer:
            self.scope = scope.parent
            self.bind(name, value)
            self.scope = scope
            return
        like = self.may_be_none.get((scope.function, name))
        if like is not None and type(value) is Value:
            is_none = known(value) is None
            value = Maybe(self.const(not is_none), self.made_like(like) if is_none else value)
        is_at_once = name in scope.at_once
        if self.depth == scope.blocks or is_at_once:  # what it was before is read no more
            scope.functions.pop(name, None)
            scope.forms.pop(name, None)
        if is_at_once:
            scope.slots.pop(name, None)
        was = scope.functions.get(name, scope.forms.get(name, scope.slots.get(name)))
        if type(value) in NO_VALUES:
            scope.functions[name] = value
            is_alike = was is None or is_the_same(was, value)
        elif type(value) in (Named, Maybe) or (isinstance(value, tuple) and not is_plain(value)):
            names = [f"{name}.{i}" for i in range(len(parts_of(value)))]
            form = scope.forms[name] = formed(value, names)
            if type(form) is not tuple:
                is_users = not name.startswith(_READ_ONCE)
                form.has_name = is_users or _has_name(value) or _has_name(was)
                form.is_given = any(getattr(x, "is_given", False) for x in (value, was))
                is_one = self.depth == scope.blocks
                form.origin = (getattr(value, "origin", None) or object()) if is_one else None
                form.places = places_of(value) | places_of(was)
            is_alike = was is None or (type(was) is type(form) and was == form)
            scope.lasting.update(names if name in scope.lasting else ())
            scope.at_once.update(names if is_at_once else ())
            for own, x in zip(names, parts_of(value), strict=True):
                self.bind(own, x)
        else:
            if self.depth == 0 and name not in scope.lasting:
                scope.slots.pop(name, None)  # a variable of its own: nobody reads the old one
            slot, value = self._slot(name), self.one(value)
            is_alike = was is None or was is slot
            self.bind_slot(slot, value)
            if name in scope.lasting:
                kind = value.kind.general()
                self.lasting_kinds[slot] = join(self.lasting_kinds.get(slot, kind), kind)
        if not is_alike and self.depth > scope.blocks:
            is_object = type(value) is LocalObject and not value.is_given
            if is_object and value.cls not in self.of_values | self.in_memory:
                raise MadeInLoopError(value.cls)
            places = places_of(value) | places_of(was)
            if places and _is_list(value) and _is_list(was):
                raise ListInMemoryError("a list that is one of several", places)
            error = ManyKindsError()
            if Maybe in (type(was), type(value)):
                part = value.value if type(value) is Maybe else scope.slots[was.value]
                error.other = (scope.function, name), part.kind, part.memory
            raise error

    def made_like(self, like: Any) -> Value:
        """Return what stands in the place of a value that is None."""
        raise NotImplementedError

    def there(self, x: Any) -> Any:
        """Return what may be None where it must not be: else the program is left."""
        if type(x) is not Maybe:
            return x
        if known(x.has) is False:
            if self.flags:  # a later statement of the loop may bind it
                raise NoItemsError("a variable, which is None")
            return self.const(None)
        if not x.has.kind.is_known:
            self.leave_unless(x.has)
        return x.value

    def joined(self, slot: Slot, a: Kind, b: Kind) -> Kind:
        """Return the kind of a variable that holds what is of one kind or of the other."""
        try:
            return join(a, b)
        except ManyKindsError as error:
            others = [kind for kind in (a, b) if not (kind.is_known and kind.value is None)]
            if len(others) == 1 and slot in self.names:
                error.other = self.names[slot], others[0], slot.memory
            raise

    def form_of(self, name: str) -> Any:
        """Return the form of what a variable holds; None if it is not bound."""
        scope = self.scope
        if name in scope.forms:
            form = scope.forms[name]
            parts = tuple(map(self.form_of, parts_of(form)))
            return type(form), tuple(form) if type(form) is Named else (), parts
        if name in scope.functions:
            return True
        return Value if name in scope.slots else None

    def unbind(self, name: str) -> None:
        """Forget a variable, and the parts of what it holds."""
        for kept in (self.scope.forms, self.scope.functions, self.scope.slots):
            for part in [part for part in kept if part.partition(".")[0] == name]:
                del kept[part]

    def bind_slot(self, slot: Slot, value: Value) -> None:
        """Bind a variable to a value."""
        if value in self.elements:
            self.of_elements.add(slot)
        value = self._here(value)
        if self.bound.get(slot) is value:
            return  # it holds that already, as in ``x = step(x)`` if that returns its argument
        slot.writes += 1 if self.depth == 0 else 2
        slot.holds(value.kind)
        self.bound[slot] = value
        self.kinds[slot] = value.kind
        self.block.writes[slot] = value
        if value.kind.has_memory:
            if slot.memory is None:
                slot.memory = Memory()
            if value.kind.has_items:
                slot.memory.share(value.memory)  # type: ignore[arg-type] # a list has one

    def variable_with(self, value: Any) -> Slot | None:
        """Return a variable that holds a value now."""
        return next((slot for slot, x in self.bound.items() if x is value), None)

    def as_given(self, returned: Any, same: dict[Slot, tuple[int, Slot, int]]) -> Any:
        """Return what a function returns; its own argument as the variable of the caller.

        `same` has these variables, and how often both were written when they held one value.
        """
        if type(returned) is tuple:
            return tuple([self.as_given(x, same) for x in returned])
        if type(returned) is Value and returned.op is not None and returned.op.code == "read":
            own = returned.op.data
            writes, source, written = same.get(own, (-1, own, -1))
            if own.writes == writes and source.writes == written:
                return self.read_slot(source)
        return returned

    def _leave_block(self) -> None:
        """Note of the block that ends which arrays the variables hold behind it.

        An array that a variable holds in between is in memory of its own.
        """
        for slot, value in self.block.writes.items():
            if value.kind.has_memory:
                slot.memory.share(value.memory)  # type: ignore[union-attr, arg-type] # arrays

    def read(self, name: str) -> Any:
        """Return the value of a name."""
        scope = self.scope
        while name not in scope.locals and scope.parent is not None:
            scope = scope.parent
        if name in scope.locals:
            return self.read_in(scope, name)
        return self.read_outside(name)

    def read_outside(self, name: str) -> Any:
        """Return what a name from outside stands for."""
        raise NotImplementedError

    def read_in(self, scope: Scope, name: str) -> Any:
        """Return the value of a variable of a function."""
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
        if slot is None or not (slot in self.kinds or slot in self.lasting_kinds):
            loop = None if slot is None else self.bound_by.get(slot)
            raise UnboundError(name, loop)
        return self.read_slot(slot)

    def captured(self, x: Any) -> Value:
        """Return an array or `GivenList` from outside: one more argument, which nobody changes.

        It is looked up anew at each call, where it was found now.
        """
        where = self.guards.pop()[:2]
        for slot, known_place in self.arrays:
            if known_place[0] is where[0] and known_place[1] == where[1]:
                return self.read_slot(slot)
        slot = Slot(self.fresh("outside"))
        slot.writes = 1
        if type(x) is np.ndarray:
            slot.memory, kind = Memory(), kind_of(x)
        else:
            slot.memory, kind = x.memory(), kind_of_list(x.classes[0])
            self.outside_keys[slot] = x.key
            self.lists += lists_of(slot.memory)
        slot.holds(kind)
        self.lasting_kinds[slot] = kind
        self.arrays.append((slot, where))
        self.program.slots.append(slot)
        return self.read_slot(slot)

    def read_slot(self, slot: Slot) -> Value:
        """Return the value of a variable."""
        value = self.bound.get(slot)
        if value is None:
            kind = self.lasting_kinds.get(slot) or self.kinds[slot]
            if kind.is_known:
                return self.const(kind.value)
            value = self.made(Op("read", [], data=slot), kind)
            slot.reads += 1
            if kind.has_memory:
                if slot.memory is None:
                    slot.memory = Memory()
                value.memory.share(slot.memory)  # type: ignore[union-attr] # an array has one
                slot.memory.root().leaves_block = True
            self.bound[slot] = value
            if slot in self.of_elements:
                self.elements.add(value)
        return value

    def outside(self, name: str) -> Any:
        """Return what a captured variable, a global or a builtin is."""
        function = self.scope.function
        if name in function.__code__.co_freevars:
            place = function.__code__.co_freevars.index(name)
            cell = function.__closure__[place]
            found = content_of(cell)
            if found is UNKNOWN:
                raise UnsupportedError(f"{name} is not bound")
            if self.scope.depth == 0:  # other functions of the same code have other cells
                self.guards.append((OWN_CELLS, place, found))
            else:
                self.guards.append((Attributes(cell), "cell_contents", found))
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

    def attribute_of(self, owner: Value, name: str) -> Any:
        """Return what an attribute of a module is."""
        module = owner.kind.value
        if module is np:
            getattr(np, name, None)  # NumPy loads some of its parts, such as fft, at first use
        if not isinstance(module, types.ModuleType) or name not in vars(module):
            raise UnsupportedError(f"attribute {name}")
        found = vars(module)[name]
        self.guards.append((vars(module), name, found))
        return found

    # -- operations --------------------------------------------------------------------------------

    def made(self, op: Op, kind: Kind) -> Value:
        """Add an operation; return its value."""
        value = Value(self.fresh("t"), kind, op)
        value.block = self.block
        op.out = value
        self.done(op)
        return value

    def done(self, op: Op) -> None:
        """Add an operation to the block."""
        op.args = list(map(self._here, op.args))
        op.options = {name: self._here(v) for name, v in op.options.items()}
        for a in (*op.args, *op.options.values()):
            a.uses += 1
        self.block.ops.append(op)

    def _here(self, value: Value) -> Value:
        """Return a value as this block reads it: one that was made in another is in a variable."""
        block = value.block
        if block is None or block is self.block:
            return value
        slot = self.carried.get(value)
        if slot is None:
            slot = self.carried[value] = Slot(self.fresh("carried"))
            self.program.slots.append(slot)
            self.lasting_kinds[slot] = value.kind
            slot.writes = 2
            slot.holds(value.kind)
            block.writes[slot] = value
            slot.memory = value.memory
            if value in self.elements:
                self.of_elements.add(slot)
        return self.read_slot(slot)

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
        """Whether what is read is the tangent function of a program."""
        return IS_TANGENT in self.scope.function.__globals__

    def one(self, x: Any, given: bool = False) -> Value:
        """Return a tuple as one value; one of arrays can only be `given` to a function."""
        if isinstance(x, Instance):
            raise UnsupportedError("an object as a value")
        if not isinstance(x, tuple):
            return x if type(x) is Value else self.const(x.kind)  # a function has no kind
        values = [self.one(p, given) for p in x]
        if not given and not all(v.kind.is_known or is_plain((v,)) for v in values):
            raise UnsupportedError("a tuple of arrays as a value")
        if all(v.kind.is_known for v in values):
            return self.const(tuple([v.kind.value for v in values]))
        kind = Kind(frozenset([tuple]), parts=tuple([v.kind for v in values]))
        return self.made(Op("tuple", values), kind)

    def call(
        self, f: Callable, args: list[Value], options: dict[str, Value] | None = None
    ) -> Value:
        """Read a call of a function that has a rule or is known to be pure."""
        options = options or {}
        everything = [*args, *options.values()]
        if len(args) > place_of_out(f)[0] or (isinstance(f, np.ufunc) and len(args) != f.nin):
            raise UnsupportedError("an argument out")
        self.size += 1
        if self.size > _MOST_CALLS:
            raise UnsupportedError("very long")
        if all(v.kind.is_known for v in everything):
            return self._folded(f, args, options)
        if ruled_entry(f) is None and f not in PURE and not isinstance(f, OwnRule):
            raise UnsupportedError(f"{f} has no rule")
        kinds = {name: v.kind for name, v in options.items()}
        kind = kind_of_result(f, [v.kind for v in args], kinds)
        if f is np.flip and len(args) == 1 and not options and kind.ndim:
            backwards = (("slice", None, None, 0),) * kind.ndim  # the step is the first part
            return self.view(Op("view", [args[0], self.const(-1)], data=backwards), kind)
        of_matrix = f in DIAGONALS and len(everything) == 1 and args[0].kind.ndim == 2
        if (f in VIEWS and args[0].kind.is_array and kind.ndim) or of_matrix:
            return self.view(Op("view", args, f=f, options=options, data=CALLED), kind)
        value = self.made(Op("call", args, f=f, options=options), kind)
        is_own = makes_new(value.op) or (
            f is np.ndarray.astype and len(everything) == 2 and not options
        )
        if kind.is_array and not is_own:
            values = without_tuples(everything)
            self.may_share += [(value, v) for v in values if v.kind.is_array]
        return value

    def taken_apart(self, made: Value) -> list[Value]:
        """Return the parts of the tuple that a call has made, in the block that makes it."""
        parts: list[Value] = []
        values = without_tuples([*made.op.args, *made.op.options.values()])
        given = [v for v in values if v.kind.is_array]
        for i, kind in enumerate(made.kind.parts):
            if kind.parts:
                raise UnsupportedError(f"{made.op.f} returns tuples in a tuple")
            if kind.is_known:
                parts.append(self.const(kind.value))
                continue
            part = self.made(Op("part", [made], data=i), kind)
            if kind.is_array and not makes_new(made.op):
                others = [*given, *[p for p in parts if p.kind.is_array]]
                self.may_share += [(part, v) for v in others]
            parts.append(part)
        return parts

    def reshaped(self, x: Value, shape: Value, ndim: int) -> Value:
        """Read an array in another shape: a view, or a copy where it lies so in memory."""
        kind = x.kind.general()._replace(ndim=ndim)
        value = self.made(Op("call", [x, shape], f=np.reshape), kind)
        self.may_share.append((value, x))
        return value

    def view(self, op: Op, kind: Kind) -> Value:
        """Add an operation that makes a view of its first argument.

        Elsewhere what has no axes is a number, which nobody writes into.
        """
        if not kind.ndim:
            raise UnsupportedError("a view without axes")
        memory: Any = op.args[0].memory
        value = self.made(op, kind)
        memory.root().is_indexed = True
        memory.share(value.memory)
        return value

    def _folded(self, f: Callable, args: list[Value], options: dict[str, Value]) -> Value:
        if not is_pure(f):
            raise UnsupportedError(f"{f} is not known to be pure")
        named = {name: v.kind.value for name, v in options.items()}
        try:
            with np.errstate(all="raise"):
                made = f(*[v.kind.value for v in args], **named)
        except Exception as error:  # the function's own: it is raised where the call is made
            raise UnsupportedError(f"{f} fails") from error
        if isinstance(made, np.ndarray):
            # A new one each time: it may be written into.
            return self.made(Op("call", args, f=f, options=options), kind_like(made))
        return self.const(made)

    def as_value(self, x: Any) -> Value:
        """Return a tuple as one value; a list is one only in memory."""
        if type(x) is Items:
            raise ListInMemoryError("a list as a value", x.places)
        return self.one(x)

    # -- blocks ------------------------------------------------------------------------------------

    def end_block(self) -> None:
        """Begin another block."""
        self._leave_block()
        self.block = Block()
        self.body.append(self.block)
        self.bound = {}

    def add_node(self, node: Any) -> None:
        """Add a loop or branch, which was read since the last block ended."""
        self.body.insert(len(self.body) - 1, node)

    def spares(
        self, taken: list[Memory], read: Callable[[], None], made_there: bool = False,
        codes: frozenset[str] = WRITES | LIST_WRITES,
    ) -> None:  # fmt: skip
        """Read a loop that must not write into what its items were taken from before.

        It may if arrays are `made_there`, too: what it makes. The `codes` are those of writes.
        """
        block, body, n = self.block, self.body, len(self.block.ops)
        read()
        if taken:
            others = body[body.index(block) + 1 :]
            ops = [*block.ops[n:], *[op for b in blocks_of(others) for op in b.ops]]
            self.spared += [(memory, ops, made_there, codes) for memory in taken]

    def check_spared(self) -> None:
        """Raise if a loop writes into what its items were taken from before."""
        for memory, ops, made_there, codes in self.spared:
            if made_there and any(_makes(op, memory.root()) for op in ops):
                continue
            for op in ops:
                if op.code not in codes:
                    continue
                if op.args[0].memory.root() is memory.root():  # type: ignore[union-attr] # it has one
                    raise UnsupportedError("a write into what items were taken from before")

    def apart(self, read: Callable[[], None]) -> list:
        """Return the blocks that are made while something is read.

        A function that is defined there is not known behind them, which may not run.
        """
        outer = self.body, self.block, self.bound
        self.block = Block()
        self.body, self.bound = [self.block], {}
        self.depth += 1
        scope, known = self.scope, set(self.scope.functions)
        try:
            read()
            self._leave_block()
            return self.body
        finally:
            self.depth -= 1
            scope.functions = {
                name: f
                for name, f in scope.functions.items()
                if name in known or name.startswith(".")
            }
            self.body, self.block, self.bound = outer

    def _branch(self, read: Callable[[], None]) -> tuple[list, bool]:
        """Return the blocks of a branch, and whether it needs what is not known yet.

        That is what the function itself returns, or an item that a later turn puts into a list.
        """
        n = len(self.flags)
        try:
            return self.apart(read), False
        except (CallsItselfError, NoItemsError) as error:
            if isinstance(error, NoItemsError):
                if not n:
                    raise
                self.left_out = error
                del self.flags[n:]
            block = Block()
            block.ops.append(Op("raise", []))
            return [block], True

    def branches(
        self, test: Value, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Read two branches; only one of them where the test is known."""
        if test.kind.is_known:
            (then if test.kind.value else otherwise)()
            return
        self.end_block()
        before = dict(self.kinds)
        first, is_first = self._branch(then)
        after, self.kinds = self.kinds, before
        second, is_second = self._branch(otherwise)
        if is_first and is_second:
            raise self.left_out if isinstance(self.left_out, NoItemsError) else CallsItselfError
        if _raises(second):
            self.kinds = after
        elif not _raises(first):
            self.kinds = {
                slot: self.joined(slot, kind, self.kinds[slot])
                for slot, kind in after.items()
                if slot in self.kinds
            }
        self.add_node(If(test, first, second))
        test.uses += 1

    def choose(
        self, test: Value, then: Callable[[], Any], otherwise: Callable[[], Any],
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """Read two expressions; return the value of the one that the test chooses.

        It is bound to a variable, which may have a `name`.
        """
        if name is None:
            name = self.hidden("chosen")
        else:
            self.scope.locals |= {name}
        self.branches(test, lambda: self.bind(name, then()), lambda: self.bind(name, otherwise()))
        return self.read(name)

    def leave_unless(self, test: Value) -> None:
        """Leave the program where a test fails: the function is then traced."""
        self.branches(test, lambda: None, lambda: self.done(Op("raise", [])))


def form_of_value(x: Any) -> Any:
    """Return of which classes nested tuples, lists and dicts are; objects and values are alike."""
    if type(x) is Named or (isinstance(x, tuple) and not is_plain(x)):
        keys = tuple(x) if type(x) is Named else ()
        return type(x), keys, tuple(map(form_of_value, parts_of(x)))
    return True if type(x) in NO_VALUES else Value


def _makes(op: Op, memory: Memory) -> bool:
    """Whether an operation makes an array in some memory."""
    out = op.out
    has_one = out is not None and out.memory is not None and out.memory.root() is memory
    return has_one and op.code not in ("read", "view", "item")


def _has_name(x: Any) -> bool:
    """Whether it is a list or dict, known item by item, that a variable of the user's holds."""
    return type(x) in (Items, Named) and x.has_name


def places_of(x: Any) -> frozenset[tuple[int, int]]:
    """Return where lists or dicts are displayed that it may be."""
    return getattr(x, "places", frozenset())


def _is_list(x: Any) -> bool:
    """Whether it is a list or dict, or a variable that holds one in memory."""
    kind = x.kind if type(x) in (Value, Slot) else None
    return type(x) in (Items, Named) or (kind is not None and kind.has_items)


def is_plain(x: tuple) -> bool:
    """Whether nested tuples hold no lists, arrays or floats, and are no named tuples."""
    return type(x) is tuple and all(
        is_plain(p)
        if isinstance(p, tuple)
        else type(p) is Value and not (p.kind.has_memory or p.kind.is_inexact)
        for p in x
    )


def _raises(nodes: list) -> bool:
    """Whether a branch ends with an exception."""
    last = nodes[-1]
    return isinstance(last, Block) and bool(last.ops) and last.ops[-1].code == "raise"


def is_constant(x: Any) -> bool:
    """Whether a value from outside is one that nobody can change."""
    if type(x) is tuple:
        return all(map(is_constant, x))
    is_one = type(x) in _OUTSIDE or type(x) in SCALARS or isinstance(x, (type, np.dtype, OwnRule))
    return is_one or is_member(x) or is_joiner(x)
