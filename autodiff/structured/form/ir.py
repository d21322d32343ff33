"""The structured representation of a function: blocks of operations, loops and branches.

A `Block` is a list of operations that run one after the other. `For`, `While` and `If` hold lists
of such nodes. Within a block every value is a `Value`, made by exactly one operation (static single
assignment); what is read in other blocks goes through a `Slot`, which is a variable of the user's.
A block reads the slots it needs by operations `read`, and binds them anew at its end (`writes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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
"""Operations that change what an array holds."""

LIST_WRITES = frozenset({"append", "set", "insert", "drop"})
"""Operations that change what a list or dict holds."""


WITHOUT_VALUES = frozenset({"break", "raise", "enter", "leave"})
"""Operations that neither read nor make a value."""


class Memory:
    """What the arrays of a function may share: each array belongs to one, views to that of theirs.

    Two arrays of different `Memory` never share elements. So it is with lists that may grow, and
    with dicts.

    Attributes
    ----------
    items : Kind, optional
        Of a list: the kind of its items, once it has some.
    of_items : Memory, optional
        Of a list of arrays, lists or dicts: theirs.
    keys : Kind, optional
        Of a dict that grows: the kind of its keys, once it has some; `items` is that of the others.
    fields : dict
        Of a dict: for each key what a list of the items under this key would have.
    copies : set
        Where the `Items` or `Named` with a name are displayed that a list or dict in it was made
        of; None for those from elsewhere.
    is_changed : bool
        Whether a list or dict in it is changed. If there is a copy, too, no program is made.
    has_none : bool
        Whether a list in it is one of None at first: an item that is read must be something else.
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
        self.readers: set[tuple[Op, Value]] = set()  # whose sweep reads what the array holds
        self.is_restored = False  # the sweep puts back what was overwritten
        self.items: Kind | None = None
        self.keys: Kind | None = None
        self.of_items: Memory | None = None
        self.fields: dict[Any, Memory] = {}
        self.copies: set[tuple[int, int] | None] = set()
        self.is_changed = False
        self.has_none = False

    def root(self) -> Memory:
        """Return the one that stands for all that were found to be shared."""
        root = self
        while root.into is not None:
            root = root.into
        return root

    def share(self, other: Memory) -> None:
        """Note that arrays of both may share elements."""
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
        for key, field in a.fields.items():
            b.fields.setdefault(key, Memory()).share(field)

    def contents(self) -> Any:
        """Return the kinds of its items, of what it has under known keys, and of its keys."""
        return (
            self.items,
            {key: field.root().items for key, field in self.fields.items()},
            self.keys,
        )

    def within(self) -> list[Memory]:
        """Return the memory of the arrays, lists and dicts in it."""
        found = [self, *[field.root() for field in self.fields.values()]]
        return [x.of_items.root() for x in found if x.of_items is not None]

    def takes(self, kind: Kind, memory: Memory | None) -> None:
        """Note that the list has items of this kind; arrays and lists have a memory, too."""
        self.items = kind.general() if self.items is None else join(self.items, kind.general())
        if memory is None:
            return
        memory.root().is_indexed = True  # each item has a shadow
        if self.of_items is None:
            self.of_items = memory
        self.of_items.share(memory)


def lists_of(memory: Memory | None) -> Iterator[Memory]:
    """Yield what stands for a list, and for what is in it."""
    while memory is not None:
        yield memory
        memory = memory.root().of_items


def changes_list(memory: Memory | None) -> bool:
    """Whether a list, or one in it, is changed."""
    return any(part.root().is_changed for part in lists_of(memory))


class Slot:
    """A variable: its name in the generated code, and the values bound to it."""

    __slots__ = ("is_active", "is_stable", "kind", "memory", "name", "reads", "writes")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: Kind | None = None  # of all that it holds
        self.memory: Memory | None = None
        self.is_active = False
        self.is_stable = False  # bound once, before any loop or branch: always at hand
        self.writes = 0
        self.reads = 0

    def holds(self, kind: Kind) -> None:
        """Note that it holds a value of this kind, too."""
        if self.kind is None:
            self.kind = kind.general()
        elif self.kind != kind:
            try:
                self.kind = join(self.kind, kind.general())
            except UnsupportedError:
                self.kind = ANYTHING

    def __repr__(self) -> str:
        return self.name


class Value:
    """What an operation makes."""

    __slots__ = ("block", "is_active", "kind", "memory", "name", "op", "uses")

    def __init__(self, name: str, kind: Kind, op: Op) -> None:
        self.name = name
        self.kind = kind
        self.op = op
        self.block: Block | None = None  # where it is made; a constant is at hand everywhere
        self.memory: Memory | None = Memory() if kind.has_memory else None
        self.is_active = False
        self.uses = 0

    @property
    def is_complex(self) -> bool:
        """Whether it may be complex, or hold complex numbers."""
        if not self.kind.has_items:
            return self.kind.is_complex
        items, fields, _ = self.memory.root().contents()  # type: ignore[union-attr] # a list has one
        return any(kind is not None and kind.is_complex for kind in (items, *fields.values()))

    def __repr__(self) -> str:
        return self.name


class Op:
    """An operation.

    Attributes
    ----------
    code : str
        ``const``, ``read``, ``call``, ``view`` (an index that gives a view), ``load`` (one that
        gives a number or a copy), ``form`` (a shape or size), ``tuple``, ``part`` (of a tuple),
        ``store``, ``add`` and ``sub`` (in place). Of lists that may grow: ``list`` (a new one),
        ``append``, ``set``, ``insert``, ``drop`` (takes an item out), ``load`` (a number in it),
        ``item`` (an array or list in it), ``length`` (or another question about lists and
        objects), ``join`` (an array or number made of all items). Of dicts: ``dict`` (a new
        one), ``set``, ``load`` and ``item``. Of the course of things:
        ``break``, ``raise``, ``enter`` and ``leave`` (`numpy.errstate`).
    args : list of Value
        What it reads: for indexing the array, then the parts of the index; for a write the array,
        the value, then the index.
    out : Value or None
        What it makes.
    f : callable or None
        What is called.
    options : dict
        Further arguments by name.
    data : Any
        The template of an index, a name, a position.
    """

    __slots__ = ("args", "code", "data", "f", "options", "out", "rule")

    def __init__(
        self,
        code: str,
        args: list[Value],
        *,
        f: Callable | None = None,
        options: dict[str, Value] | None = None,
        data: Any = None,
    ) -> None:
        self.code = code
        self.args = args
        self.f = f
        self.options = options or {}
        self.data = data
        self.out: Value | None = None
        self.rule: Any = None


class Block:
    """Operations, and the slots that are bound at the end."""

    __slots__ = ("ops", "writes")

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.writes: dict[Slot, Value] = {}


class For:
    """A loop over a range; `bounds` are made by the block before.

    `function` and `line` say where it stands, `readable` which variables are bound before it.
    """

    __slots__ = ("body", "bounds", "broken", "function", "line", "readable", "slot")

    def __init__(self, slot: Slot, bounds: list[Value], body: list, broken: str | None) -> None:
        self.function, self.line = "", 0
        self.readable: set[Slot] = set()
        self.slot = slot
        self.bounds = bounds
        self.body = body
        self.broken = broken


class While:
    """A loop: `before` makes the test."""

    __slots__ = ("before", "body", "broken", "function", "line", "readable", "test")

    def __init__(self, before: list, test: Value, body: list, broken: str | None) -> None:
        self.function, self.line = "", 0
        self.readable: set[Slot] = set()
        self.before = before
        self.test = test
        self.body = body
        self.broken = broken


class If:
    """A branch; `test` is made by the block before."""

    __slots__ = ("otherwise", "test", "then")

    def __init__(self, test: Value, then: list, otherwise: list) -> None:
        self.test = test
        self.then = then
        self.otherwise = otherwise


class Program:
    """A function in structured form.

    Attributes
    ----------
    parameters : list of Slot
        The arguments that are numbers and arrays, then the arrays from outside.
    captured : list of tuple
        Where these are looked up, and their kinds.
    body : list
        Blocks, loops and branches.
    returned : Value, tuple or None
        What the function returns; nested tuples of values.
    slots : list of Slot
        All variables.
    catches : bool
        Whether the function handles exceptions: then each operation must warn and raise as it does
        in the function.
    has_errstates : bool
        Whether there is ``with np.errstate(...)`` in it.
    itself : Itself, optional
        What is called where the function calls itself.
    may_be_views : set of Memory
        Of returned arrays that may or may not be views of others.
    bound : list of tuple
        The attributes that are bound of objects that are arguments: of which object, and the name.
        What they are bound to in the end is returned behind the result.
    """

    __slots__ = (
        "body", "bound", "captured", "catches", "has_errstates", "itself", "may_be_views",
        "parameters", "returned", "slots",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parameters: list[Slot] = []
        self.captured: list[Any] = []
        self.body: list = []
        self.returned: Any = None
        self.slots: list[Slot] = []
        self.catches = False
        self.has_errstates = False
        self.itself: Any = None
        self.may_be_views: set[Memory] = set()
        self.bound: list[tuple[int, str]] = []


class OnePerPart:
    """What has a variable for each part, and which nobody changes.

    Attributes
    ----------
    has_name : bool
        Whether a variable of the user's holds it: then a list or dict in memory is only a copy.
    is_given : bool
        Whether it is from outside of the function, or an argument.
    origin : object
        What two names for one have in common; None if it has no name, or may be several.
    places : frozenset
        Where it is displayed, or the several that it may be.
    """

    has_name = is_given = False
    origin: Any = None
    places: frozenset[tuple[int, int]] = frozenset()

    @property
    def own_places(self) -> set[tuple[int, int] | None]:
        """Where it is displayed, if it has a name: None if that is not known."""
        return set(self.places or {None}) if self.has_name else set()


class Items(OnePerPart, tuple):
    """What a list displays: its items are known one by one."""


class Record(OnePerPart, tuple):
    """A named tuple; each of the user's classes has a class of its own here.

    Attributes
    ----------
    user_class : callable
        Returns the user's class.
    """

    user_class: Callable[[], Any]


class Instance(Record):
    """An object of the user's whose attributes nobody changes once it is made: their values.

    Attributes
    ----------
    names : tuple of str
        The attributes.
    """

    names: tuple[str, ...]


class Columns(tuple):
    """A list of tuples that may grow: a list for each of their parts."""


@dataclass
class Maybe(OnePerPart):
    """A value that may be None: whether it is there, and the value, or another one of its kind."""

    has: Any
    value: Any

    @property
    def kind(self) -> Kind:
        """Raise an error: it is no value of the program."""
        raise UnsupportedError("a value that may be None")


class Named(OnePerPart, dict):
    """A dict whose keys are known texts."""

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise ListInMemoryError("a dict as a value", self.places)


def known(value: Value) -> Any:
    """Return what a value is, or `UNKNOWN`."""
    return value.kind.value if value.kind.is_known else UNKNOWN


def without_tuples(values: Iterable[Value]) -> Iterator[Value]:
    """Yield values; in the place of a tuple that an operation makes of values, these."""
    for v in values:
        if v.op.code == "tuple":
            yield from without_tuples(v.op.args)
        else:
            yield v


def parts_of(x: tuple | Named | Maybe) -> list:
    """Return the parts of a tuple, list or dict that are known one by one."""
    if isinstance(x, Maybe):
        return [x.has, x.value]
    return list(x.values() if isinstance(x, Named) else x)


def formed(x: tuple | Named | Maybe, parts: list) -> Any:
    """Return a tuple, list or dict like this one, of other parts."""
    if isinstance(x, Maybe):
        has, value = parts
        return Maybe(has, value)
    return Named(zip(x, parts, strict=True)) if type(x) is Named else type(x)(parts)


def flat(x: Any) -> list[Any]:
    """Return the parts of nested tuples, lists and dicts, one after the other."""
    return [y for part in parts_of(x) for y in flat(part)] if is_nest(x) else [x]


def is_nest(x: Any) -> bool:
    """Whether it is a tuple, list or dict that is known part by part."""
    return isinstance(x, (tuple, Named))


def blocks_of(body: list) -> Iterator[Block]:
    """Yield all blocks of a list of nodes, in the order of the source."""
    for node in body:
        if isinstance(node, Block):
            yield node
        elif isinstance(node, For):
            yield from blocks_of(node.body)
        elif isinstance(node, While):
            yield from blocks_of(node.before)
            yield from blocks_of(node.body)
        elif isinstance(node, If):
            yield from blocks_of(node.then)
            yield from blocks_of(node.otherwise)


def ops_of(body: list) -> Iterator[Op]:
    """Yield all operations of a list of nodes, in the order of the source."""
    for block in blocks_of(body):
        yield from block.ops


def tests_of(body: list) -> Iterator[Value]:
    """Yield the tests of all branches and loops of a list of nodes."""
    for node in body:
        if isinstance(node, If):
            yield node.test
            yield from tests_of([*node.then, *node.otherwise])
        elif isinstance(node, While):
            yield node.test
            yield from tests_of([*node.before, *node.body])
        elif isinstance(node, For):
            yield from tests_of(node.body)
