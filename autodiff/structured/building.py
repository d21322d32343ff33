"""Building blocks of operations: variables, names from outside, constants and calls."""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures.captured_values import is_empty
from autodiff.dispatch.arguments import place_of_out
from autodiff.structured.ir import Block, Memory, Op, Program, Slot, Value
from autodiff.structured.kinds import (
    SCALARS,
    UNKNOWN,
    Kind,
    UnsupportedError,
    kind_of,
    kind_of_result,
)
from autodiff.structured.known_functions import (
    CALLED,
    PURE,
    VIEWS,
    is_pure,
    makes_new,
    ruled_entry,
)

_MOST_CALLS = 20_000
_OUTSIDE = (
    bool, int, float, str, type(None), type(Ellipsis), types.ModuleType, types.FunctionType,
    types.BuiltinFunctionType, type, np.ufunc, np.dtype, type(np.where), type(np.float64),
)  # fmt: skip


class Scope:
    """The names of one function: the one that is read, or one that it calls."""

    def __init__(self, function: types.FunctionType, depth: int) -> None:
        self.function = function
        self.depth = depth
        self.slots: dict[str, Slot] = {}
        self.locals = frozenset(function.__code__.co_varnames + function.__code__.co_cellvars)


class Builder:
    """Puts values, operations and blocks together."""

    def __init__(self) -> None:
        self.program = Program()
        self.guards: list[tuple[dict, Any, Any]] = []
        self.count = 0
        self.block = Block()
        self.body: list = [self.block]
        self.bound: dict[Slot, Value] = {}
        self.kinds: dict[Slot, Kind] = {}  # of what the slots hold here
        self.scope: Any = None
        self.depth = 0  # of loops and branches
        self.calling: list = []
        self.may_share: list[tuple[Value, Value]] = []
        self.flags: list[str] = []
        self.returns: list[Any] = []
        self.size = 0
        # Arrays from outside, and where they are looked up.
        self.arrays: list[tuple[Slot, tuple]] = []
        self.outside_kinds: dict[Slot, Kind] = {}

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return a name that is not used."""
        self.count += 1
        return f"{stem}{self.count}"

    def _slot(self, name: str) -> Slot:
        slot = self.scope.slots.get(name)
        if slot is None:
            self.count += 1
            slot = self.scope.slots[name] = Slot(f"{name}_{self.count}")
            self.program.slots.append(slot)
        return slot

    def bind(self, name: str, value: Any) -> None:
        """Bind a variable to a value, or to a tuple of values."""
        slot = self._slot(name)
        if type(value) is tuple:
            value = self.tuple_of(value)
        self.bind_slot(slot, value)

    def bind_slot(self, slot: Slot, value: Value) -> None:
        """Bind a variable to a value."""
        slot.writes += 1 if self.depth == 0 else 2
        self.bound[slot] = value
        self.kinds[slot] = value.kind
        self.block.writes[slot] = value
        if value.kind.is_array:
            if slot.memory is None:
                slot.memory = Memory()
            slot.memory.share(value.memory)  # type: ignore[arg-type] # an array has one

    def read(self, name: str) -> Any:
        """Return the value of a name."""
        if name in self.scope.locals:
            slot = self.scope.slots.get(name)
            if slot is None or slot not in self.kinds:
                raise UnsupportedError(f"{name} may not be bound")
            return self.read_slot(slot)
        found = self.outside(name)
        return self.captured(found) if type(found) is np.ndarray else self.const(found)

    def captured(self, x: np.ndarray) -> Value:
        """Return an array from outside: one more argument, which is not written into.

        It is looked up anew at each call, where it was found now.
        """
        where = self.guards.pop()[:2]
        for slot, known_place in self.arrays:
            if known_place[0] is where[0] and known_place[1] == where[1]:
                return self.read_slot(slot)
        slot = Slot(self.fresh("outside"))
        slot.writes = 1
        slot.memory = Memory()
        self.outside_kinds[slot] = kind_of(x)
        self.arrays.append((slot, where))
        self.program.slots.append(slot)
        return self.read_slot(slot)

    def read_slot(self, slot: Slot) -> Value:
        """Return the value of a variable."""
        value = self.bound.get(slot)
        if value is None:
            kind = self.outside_kinds.get(slot) or self.kinds[slot]
            if kind.is_known:
                return self.const(kind.value)
            value = self.made(Op("read", [], data=slot), kind)
            slot.reads += 1
            if kind.is_array:
                if slot.memory is None:
                    slot.memory = Memory()
                value.memory.share(slot.memory)  # type: ignore[union-attr] # an array has one
                slot.memory.root().leaves_block = True
            self.bound[slot] = value
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
        if not isinstance(module, types.ModuleType) or name not in vars(module):
            raise UnsupportedError(f"attribute {name}")
        found = vars(module)[name]
        self.guards.append((vars(module), name, found))
        return found

    # -- operations --------------------------------------------------------------------------------

    def made(self, op: Op, kind: Kind) -> Value:
        """Add an operation; return its value."""
        value = Value(self.fresh("t"), kind, op)
        op.out = value
        for a in (*op.args, *op.options.values()):
            a.uses += 1
        self.block.ops.append(op)
        return value

    def done(self, op: Op) -> None:
        """Add an operation without a value."""
        for a in op.args:
            a.uses += 1
        self.block.ops.append(op)

    def const(self, x: Any) -> Value:
        """Return a constant as a value."""
        if not _is_constant(x):
            raise UnsupportedError(f"a value of class {type(x).__name__} from outside")
        op = Op("const", [], data=x)
        value = Value(self.fresh("k"), kind_of(x, known=True), op)
        op.out = value
        return value

    def tuple_of(self, parts: tuple, given: bool = False) -> Value:
        """Return a tuple as one value; one of arrays can only be `given` to a function."""
        values = [self.tuple_of(p, given) if type(p) is tuple else p for p in parts]
        if not given and any(v.kind.is_array or v.kind.is_inexact for v in values):
            raise UnsupportedError("a tuple of arrays in a variable")
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
        if ruled_entry(f) is None and f not in PURE:
            raise UnsupportedError(f"{f} has no rule")
        if f is operator.pow and all(v.kind.is_integral for v in args):
            raise UnsupportedError("a power of integers")
        kinds = {name: v.kind for name, v in options.items()}
        kind = kind_of_result(f, [v.kind for v in args], kinds)
        if f in VIEWS and args[0].kind.is_array:
            return self.view(Op("view", args, f=f, options=options, data=CALLED), kind)
        value = self.made(Op("call", args, f=f, options=options), kind)
        if kind.is_array and not makes_new(f):
            for v in everything:
                if v.kind.is_array:
                    self.may_share.append((value, v))
        return value

    def view(self, op: Op, kind: Kind) -> Value:
        """Add an operation that makes a view of its first argument."""
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
        except Exception as error:
            raise UnsupportedError(f"{f} fails") from error
        if isinstance(made, np.ndarray):
            # A new one each time: it may be written into.
            return self.made(Op("call", args, f=f, options=options), kind_of(made))
        return self.const(made)

    def end_block(self) -> None:
        """Begin another block."""
        self.block = Block()
        self.body.append(self.block)
        self.bound = {}


OWN_CELLS: dict = {}
"""In a guard: the captured variables of the function that is called, by their place."""


def looked_up(d: dict, name: Any, g: Any) -> Any:
    """Return what stands at the place of a guard now; `g` is the function that is called."""
    if d is OWN_CELLS:
        return content_of(g.__closure__[name])
    return d.get(name, UNKNOWN)


def content_of(cell: Any) -> Any:
    """Return what a captured variable is bound to, or `UNKNOWN`."""
    return UNKNOWN if is_empty(cell) else cell.cell_contents


class Attributes(dict):
    """The attributes of a function or cell, read as the entries of a dict are."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any = None) -> Any:
        """Return the attribute of this name."""
        try:
            return getattr(self.owner, name, default)
        except ValueError:  # an empty cell
            return default


def _is_constant(x: Any) -> bool:
    """Whether a value from outside is one that nobody can change."""
    if type(x) is tuple:
        return all(map(_is_constant, x))
    return type(x) in _OUTSIDE or type(x) in SCALARS or isinstance(x, (type, np.dtype))
