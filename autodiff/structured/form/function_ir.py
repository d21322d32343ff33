"""The intermediate representation of a function: blocks of operations, loops and branches.

A `Block` is a basic block: a list of operations that run one after the other. `For`, `While` and
`If` hold lists of nodes. Within a block, values are in SSA form: each `Value` is made by exactly
one operation. Between blocks, values go through a `Slot`, which is a mutable variable: a block
reads slots by ``read`` operations, and binds them at its end (`writes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autodiff.structured.form.kinds import (
    ANYTHING,
    UNKNOWN,
    Kind,
    ListInMemoryError,
    UnsupportedError,
    join,
)

WRITES = frozenset({"store", "add", "sub"})
"""Operations that write into an array."""

LIST_WRITES = frozenset({"append", "set", "insert", "drop"})
"""Operations that write into a list or dict."""

WITHOUT_VALUES = frozenset({"break", "raise", "enter", "leave", "show"})
"""Operations that produce no value, and whose arguments get no cotangent."""


class Memory:
    """An alias class: arrays, growing lists and dicts that may share elements.

    Objects of different alias classes never share elements. A view belongs to the class of its
    base. Classes are merged by union-find (`share`), and `root` is the representative.

    Attributes
    ----------
    items : Kind, optional
        Of a list: the kind of its items, once it has some.
    of_items : Memory, optional
        Of a list of arrays, lists or dicts: their alias class.
    keys : Kind, optional
        Of a growing dict: the kind of its keys, once it has some; `items` is that of its values.
    fields : dict
        Of a dict with fixed keys: the `Memory` of the values under each key, as if in a list.
    copies : set
        The source positions of the displays of named `Items` or `Named` that were copied into a
        list or dict in this class; None for those from elsewhere.
    is_changed : bool
        Whether a list or dict in this class is changed. With copies, no program can be made.
    has_none : bool
        Whether a list in this class may hold None, so that reads must check items.
    """

    __slots__ = (
        "copies", "fields", "has_none", "into", "is_active", "is_changed", "is_indexed",
        "is_restored", "is_written", "items", "keys", "leaves_block", "of_items", "readers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.into: Memory | None = None
        self.is_written = False
        self.is_indexed = False
        self.leaves_block = False
        self.is_active = False
        self.readers: set[tuple[Op, Value]] = set()  # operations whose sweep reads the array
        self.is_restored = False  # the sweep restores what was overwritten
        self.items: Kind | None = None
        self.keys: Kind | None = None
        self.of_items: Memory | None = None
        self.fields: dict[Any, Memory] = {}
        self.copies: set[tuple[int, int] | None] = set()
        self.is_changed = False
        self.has_none = False

    def root(self) -> Memory:
        """Return the representative of the alias class."""
        root = self
        while root.into is not None:
            root = root.into
        return root

    def share(self, other: Memory) -> None:
        """Merge two alias classes, whose arrays may share elements."""
        a, b = self.root(), other.root()
        if a is b:
            return
        a.into = b
        b.is_written |= a.is_written
        b.is_indexed |= a.is_indexed
        b.leaves_block |= a.leaves_block
        b.copies |= a.copies
        b.is_changed |= a.is_changed
        b.has_none |= a.has_none
        if a.items is not None:
            b.takes(a.items, a.of_items)
        if a.keys is not None:
            b.keys = a.keys if b.keys is None else join(a.keys, b.keys)
        for key, own in a.fields.items():
            b.fields.setdefault(key, Memory()).share(own)

    def contents(self) -> Any:
        """Return the kinds of its items, of its fields by key, of its keys, and `has_none`."""
        return (
            self.items,
            {key: field.root().items for key, field in self.fields.items()},
            self.keys,
            self.has_none,
        )

    def within(self) -> list[Memory]:
        """Return the alias classes of the arrays, lists and dicts in it."""
        found = [self, *[field.root() for field in self.fields.values()]]
        return [x.of_items.root() for x in found if x.of_items is not None]

    def takes(self, kind: Kind, memory: Memory | None) -> None:
        """Record that the list has items of this kind and, for arrays and lists, this memory."""
        self.items = kind.general() if self.items is None else join(self.items, kind.general())
        if memory is None:
            return
        memory.root().is_indexed = True  # each item has a shadow
        if self.of_items is None:
            self.of_items = memory
        self.of_items.share(memory)


def lists_of(memory: Memory | None) -> Iterator[Memory]:
    """Yield the memory of a list, of the lists or arrays in it, and so on."""
    while memory is not None:
        yield memory
        memory = memory.root().of_items


def changes_list(memory: Memory | None) -> bool:
    """Whether a list, or one in it, is changed."""
    return any(part.root().is_changed for part in lists_of(memory))


class _HasMemory:
    """A variable or a value: it belongs to an alias class if it is mutable."""

    __slots__ = ()
    memory: Memory | None

    @property
    def root(self) -> Memory:
        """The representative of its alias class."""
        assert self.memory is not None
        return self.memory.root()


@dataclass(eq=False, repr=False, slots=True)
class Slot(_HasMemory):
    """A variable: its name in the generated code, and the values bound to it."""

    name: str
    kind: Kind | None = None  # of every value bound to it
    memory: Memory | None = None
    is_active: bool = False
    is_stable: bool = False  # bound once, before any loop or branch: available everywhere
    writes: int = 0
    reads: int = 0

    def holds(self, kind: Kind) -> None:
        """Record that it also holds a value of this kind."""
        if self.kind is None:
            self.kind = kind.general()
        elif self.kind != kind:
            try:
                self.kind = join(self.kind, kind.general())
            except UnsupportedError:
                self.kind = ANYTHING

    def __repr__(self) -> str:
        return self.name


class Value(_HasMemory):
    """The result of an operation."""

    __slots__ = ("block", "is_active", "kind", "memory", "name", "op", "uses")

    def __init__(self, name: str, kind: Kind, op: Op) -> None:
        self.name = name
        self.kind = kind
        self.op = op
        self.block: Block | None = None  # None for a constant, which is available everywhere
        self.memory = Memory() if kind.has_memory else None
        self.is_active = False
        self.uses = 0

    @property
    def is_complex(self) -> bool:
        """Whether it may be complex, or hold complex numbers."""
        if not self.kind.has_items:
            return self.kind.is_complex
        items, fields, *_ = self.root.contents()
        return any(kind is not None and kind.is_complex for kind in (items, *fields.values()))

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class Op:
    """An instruction.

    Attributes
    ----------
    code : str
        The opcode: ``const``, ``read`` (a slot), ``call``, ``view`` (an index that gives a view),
        ``load`` (an index that gives a number or a copy), ``form`` (a shape or size), ``tuple``,
        ``part`` (of a tuple), ``store``, ``add`` and ``sub`` (in place). For growing lists:
        ``list`` (a new one), ``append``, ``set``, ``insert``, ``drop`` (remove an item), ``load``
        (a number in it), ``item`` (an array or list in it), ``length`` (or another property of
        lists and objects), ``join`` (all items as an array or number). For dicts: ``dict`` (a new
        one), ``set``, ``load`` and ``item``. For random generators: ``draw``. For control flow:
        ``break``, ``raise``, ``enter`` and ``leave`` (`numpy.errstate`).
    args : list of Value
        The arguments. For indexing: the array, then the parts of the index. For a write: the array,
        the value, then the parts of the index.
    out : Value
        The result; None if there is none.
    f : callable or None
        The callee.
    options : dict
        The keyword arguments of a call.
    data : Any
        The template of an index, a name, or a position.
    """

    code: str
    args: list[Value]
    f: Callable | None = field(default=None, kw_only=True)
    options: dict[str, Value] = field(default_factory=dict, kw_only=True)
    data: Any = field(default=None, kw_only=True)
    out: Any = field(default=None, init=False)
    rule: Any = field(default=None, init=False)

    @property
    def operands(self) -> list[Value]:
        """All values that it takes: `args`, then those of `options`."""
        return [*self.args, *self.options.values()]


@dataclass(eq=False, slots=True)
class Block:
    """A basic block: operations, and the slots that are bound at its end."""

    ops: list[Op] = field(default_factory=list)
    writes: dict[Slot, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class For:
    """A loop over a range; the block before it computes `bounds`.

    `function` and `line` are its source position; `readable` has the variables bound before it.
    """

    slot: Slot
    bounds: list[Value]
    body: list
    broken: str | None  # the variable that says that the loop was left by ``break``
    readable: set[Slot] = field(default_factory=set)
    function: str = ""
    line: int = 0


@dataclass(eq=False, slots=True)
class While:
    """A while loop; the nodes in `before` compute the test. For the rest see `For`."""

    before: list
    test: Value
    body: list
    broken: str | None
    readable: set[Slot] = field(default_factory=set)
    function: str = ""
    line: int = 0


@dataclass(eq=False, slots=True)
class If:
    """A branch; the block before it computes `test`."""

    test: Value
    then: list
    otherwise: list


@dataclass(eq=False, slots=True)
class FunctionIR:
    """The intermediate representation of one function.

    Attributes
    ----------
    parameters : list of Slot
        The arguments that are numbers and arrays, then the captured and global arrays.
    captured : list of tuple
        For each captured or global array: the scope, the name, and the kind.
    body : list
        Blocks, loops and branches.
    returned : Value, tuple or None
        The result; nested tuples of values.
    slots : list of Slot
        All variables.
    catches : bool
        Whether the function handles exceptions. Then each operation must warn and raise exactly as
        in the function.
    has_errstates : bool
        Whether the function uses ``with np.errstate(...)``.
    has_messages, has_warnings : bool
        Whether it prints, logs, warns or reads a clock, and whether it warns.
    itself : RecursiveCallee, optional
        The callee of recursive calls.
    may_be_views : set of Memory
        The alias classes of returned arrays that may be views of others.
    bound : list of tuple
        The attributes of argument objects that the function assigns: the number of the object, and
        the name. Their final values are returned after the result.
    """

    parameters: list[Slot] = field(default_factory=list)
    captured: list[Any] = field(default_factory=list)
    body: list = field(default_factory=list)
    returned: Any = None
    slots: list[Slot] = field(default_factory=list)
    catches: bool = False
    has_errstates: bool = False
    has_messages: bool = False
    has_warnings: bool = False
    itself: Any = None
    may_be_views: set[Memory] = field(default_factory=set)
    bound: list[tuple[int, str]] = field(default_factory=list)


class ScalarReplaced:
    """An immutable container that is scalar-replaced: each part is a variable of its own.

    Attributes
    ----------
    has_name : bool
        Whether a user variable holds it. Then a list or dict in memory is only a copy of it.
    is_given : bool
        Whether it is an argument, captured, or global.
    origin : object
        An identity that aliases share; None without a name, or if several objects are possible.
    places : frozenset
        The source positions of its displays; (-1, n) of a parameter, (0, id) of one from outside.
    """

    has_name = is_given = False
    origin: Any = None
    places: frozenset[tuple[int, int]] = frozenset()

    @property
    def own_places(self) -> set[tuple[int, int] | None]:
        """The source positions of its display if it has a name; None stands for an unknown one."""
        found: Any = {None} if self.is_given else self.places or {None}
        return set(found) if self.has_name else set()


class Items(ScalarReplaced, tuple):
    """A list whose items are known one by one."""


class RecordValue(ScalarReplaced, tuple):
    """A named tuple; each user-defined class has a subclass of its own.

    Attributes
    ----------
    user_class : callable
        Returns the user's class.
    """

    user_class: Callable[[], Any]


class InstanceValue(RecordValue):
    """A user-defined object that is immutable once it is constructed, as its attribute values.

    Attributes
    ----------
    names : tuple of str
        The attributes.
    """

    names: tuple[str, ...]


class Columns(tuple):
    """A growing list of tuples, stored by column: one list for each part of the tuples."""


@dataclass
class Maybe(ScalarReplaced):
    """A value that may be None: a flag, and the value or a placeholder of the same kind."""

    has: Any
    value: Any

    @property
    def kind(self) -> Kind:
        """Raise an error, because it is not a single value."""
        raise UnsupportedError("a range, or a value that may be None, as a value")


@dataclass
class HeldRange(ScalarReplaced):
    """A range that a variable holds: three integers."""

    start: Any
    stop: Any
    step: Any
    kind = Maybe.kind


class Named(ScalarReplaced, dict):
    """A dict whose keys are known strings."""

    @property
    def kind(self) -> Kind:
        """Raise an error, because it is not a single value."""
        raise ListInMemoryError("a dict as a value", self.places)


def known(value: Value) -> Any:
    """Return the constant that a value is known to be, or `UNKNOWN`."""
    return value.kind.value if value.kind.is_known else UNKNOWN


def without_tuples(values: Iterable[Value]) -> Iterator[Value]:
    """Yield values, with tuples made by ``tuple`` operations expanded into their parts."""
    for v in values:
        if v.op.code == "tuple":
            yield from without_tuples(v.op.args)
        else:
            yield v


def parts_of(x: tuple | Named | Maybe | HeldRange) -> list:
    """Return the parts of a container whose parts are known one by one."""
    if isinstance(x, (Maybe, HeldRange)):
        return [getattr(x, name) for name in x.__match_args__]
    return list(x.values() if isinstance(x, Named) else x)


def formed(x: tuple | Named | Maybe | HeldRange, parts: list) -> Any:
    """Rebuild a container like `x` from other parts."""
    if isinstance(x, (Maybe, HeldRange)):
        return type(x)(*parts)
    return Named(zip(x, parts, strict=True)) if type(x) is Named else type(x)(parts)


def flat(x: Any) -> list[Any]:
    """Return the leaves of nested tuples, lists and dicts."""
    return [y for part in parts_of(x) for y in flat(part)] if is_nest(x) else [x]


def is_nest(x: Any) -> bool:
    """Whether `x` is a tuple, list or dict whose parts are known one by one."""
    return isinstance(x, (tuple, Named))


def bodies_of(node: Any) -> tuple[list, ...]:
    """Return the lists of nodes inside a node."""
    if isinstance(node, For):
        return (node.body,)
    if isinstance(node, While):
        return node.before, node.body
    return (node.then, node.otherwise) if isinstance(node, If) else ()


def nodes_of(body: list) -> Iterator[Any]:
    """Yield all nodes of a list of nodes in preorder."""
    for node in body:
        yield node
        for inner in bodies_of(node):
            yield from nodes_of(inner)


def blocks_of(body: list) -> Iterator[Block]:
    """Yield all blocks of a list of nodes in source order."""
    return (node for node in nodes_of(body) if isinstance(node, Block))


def ops_of(body: list) -> Iterator[Op]:
    """Yield all operations of a list of nodes in source order."""
    for block in blocks_of(body):
        yield from block.ops


def tests_of(body: list) -> Iterator[Value]:
    """Yield the tests of all branches and loops of a list of nodes."""
    return (node.test for node in nodes_of(body) if isinstance(node, (If, While)))
