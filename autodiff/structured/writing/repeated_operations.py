"""What a block computes twice is computed once.

``y[0]`` that is read three times, ``u[1:-1]``, ``h / 2``: the later operation gives way to the
earlier one if both read the same values, and nothing that they read is written into between them.
The sweep then has one cotangent in the place of several. Numbers and views are shared, and new
arrays if they are only read, in this block.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.ir import (
    LIST_WRITES,
    WRITES,
    Block,
    For,
    If,
    Op,
    Program,
    Value,
    While,
    flat,
    formed,
    is_nest,
    known,
    parts_of,
)
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.form.known_functions import makes_new

_SHARED = frozenset({"load", "item", "view", "form", "part", "call"})


def share_repeated(program: Program) -> None:
    """Let each operation that repeats an earlier one of its block give way to it."""
    kept: dict[Value, Value] = {}
    returned = set(flat(program.returned))
    _share_in(program.body, kept, returned)
    program.returned = _with(program.returned, kept)


def _share_in(nodes: list, kept: dict[Value, Value], returned: set[Value]) -> None:
    for node in nodes:
        if isinstance(node, Block):
            _share_in_block(node, kept, returned)
        elif isinstance(node, If):
            node.test = kept.get(node.test, node.test)
            _share_in(node.then, kept, returned)
            _share_in(node.otherwise, kept, returned)
        elif isinstance(node, For):
            node.bounds = [kept.get(v, v) for v in node.bounds]
            _share_in(node.body, kept, returned)
        elif isinstance(node, While):
            _share_in(node.before, kept, returned)
            node.test = kept.get(node.test, node.test)
            _share_in(node.body, kept, returned)


def _share_in_block(block: Block, kept: dict[Value, Value], returned: set[Value]) -> None:
    found: dict[tuple, Value] = {}
    ops = []
    for op in block.ops:
        op.args = [kept.get(v, v) for v in op.args]
        op.options = {name: kept.get(v, v) for name, v in op.options.items()}
        key = None if op.out in returned else _key_of(op)
        if key is not None and key in found:
            _give_way(op, found[key], kept)
            continue
        ops.append(op)
        if key is not None:
            found[key] = op.out  # type: ignore[assignment] # it makes a value
        elif op.code in ("enter", "leave"):  # NumPy may warn of the one, and not of the other
            found = {}
        elif op.code in WRITES or op.code in LIST_WRITES:
            found = {key: v for key, v in found.items() if not _may_change(op, v.op)}
    block.ops = ops
    block.writes = {slot: kept.get(v, v) for slot, v in block.writes.items()}


def _give_way(op: Op, earlier: Value, kept: dict[Value, Value]) -> None:
    later: Any = op.out
    kept[later] = earlier
    earlier.uses += later.uses
    for v in (*op.args, *op.options.values()):
        v.uses -= 1


def _key_of(op: Op) -> tuple | None:
    """Return what an operation does; None for one that is not shared."""
    v = op.out
    if v is None or op.code not in _SHARED:
        return None
    if op.code in ("load", "call") and not (v.kind.is_scalar or _is_only_read(op)):
        return None
    args = tuple(map(_key_of_value, op.args))
    options = tuple([(name, _key_of_value(x)) for name, x in op.options.items()])
    return op.code, op.f, _hashable(op.data), args, options, v.kind.classes


def _is_only_read(op: Op) -> bool:
    """Whether an operation makes an array that is read alone, as a whole and in its block."""
    v: Any = op.out
    if op.code != "call" or not v.kind.is_array or not makes_new(op):
        return False
    memory = v.memory.root()
    return not (memory.is_written or memory.is_indexed or memory.leaves_block)


def _key_of_value(v: Value) -> Any:
    """Return a value as part of a key: a constant is the same as another one of its class."""
    x = known(v)
    if x is UNKNOWN or type(x) not in (bool, int, float, str, type(None)):
        return v if v.op.code != "const" else (type(x), id(v.op.data))
    return type(x), repr(x)


def _hashable(x: Any) -> Any:
    """Return a template of an index as part of a key; its known parts are ``None`` and ``...``."""
    return repr(x) if type(x) is tuple else x


def _may_change(write: Op, op: Op) -> bool:
    """Whether a write may change what an operation reads; a view reads nothing."""
    if op.code == "view":
        return False
    memory = write.args[0].memory.root()  # type: ignore[union-attr] # an array has one
    if not any(v.memory is not None and v.memory.root() is memory for v in op.args):
        return False
    is_of_dicts = write.code == "set" and all(x.args[0].kind.is_dict for x in (write, op))
    keys = (known(write.args[2]), known(op.args[1])) if is_of_dicts else (UNKNOWN, UNKNOWN)
    return any(key is UNKNOWN for key in keys) or keys[0] == keys[1]


def _with(x: Any, kept: dict[Value, Value]) -> Any:
    """Return a nest of values in which later ones have given way."""
    if is_nest(x):
        return formed(x, [_with(part, kept) for part in parts_of(x)])
    return kept.get(x, x)
