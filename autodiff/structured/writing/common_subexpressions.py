"""Common subexpression elimination in blocks.

``y[0]``, ``u[1:-1]`` or ``h / 2`` is computed once, if nothing that it reads is written into in
between. The sweep then has one cotangent instead of several. This applies to numbers and views, and
to new arrays that are only read, and only in the block.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WRITES,
    Block,
    For,
    FunctionIR,
    If,
    Op,
    Value,
    While,
    blocks_of,
    flat,
    formed,
    is_nest,
    known,
    nodes_of,
    parts_of,
)
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.form.known_functions import makes_new

_REPLACEABLE = frozenset({"load", "item", "view", "form", "part", "call"})


def eliminate_common_subexpressions(program: FunctionIR) -> None:
    """Replace operations that repeat an earlier one of their block by its result."""
    replaced: dict[Value, Value] = {}
    returned = set(flat(program.returned))
    for block in blocks_of(program.body):
        _eliminate_in_block(block, replaced, returned)
    for node in nodes_of(program.body):
        if isinstance(node, For):
            node.bounds = [replaced.get(v, v) for v in node.bounds]
        elif isinstance(node, (If, While)):
            node.test = replaced.get(node.test, node.test)
    program.returned = _with_replaced(program.returned, replaced)


def _eliminate_in_block(block: Block, replaced: dict[Value, Value], returned: set[Value]) -> None:
    found: dict[tuple, Value] = {}
    ops = []
    for op in block.ops:
        op.args = [replaced.get(v, v) for v in op.args]
        op.options = {name: replaced.get(v, v) for name, v in op.options.items()}
        key = None if op.out in returned else _key_of(op)
        if key is not None and key in found:
            _replace(op, found[key], replaced)
            continue
        ops.append(op)
        if key is not None:
            found[key] = op.out
        elif op.code in ("enter", "leave"):  # inside `errstate` NumPy warns of other things
            found = {}
        elif op.code in WRITES or op.code in LIST_WRITES:
            found = {key: v for key, v in found.items() if not _may_change(op, v.op)}
    block.ops = ops
    block.writes = {slot: replaced.get(v, v) for slot, v in block.writes.items()}


def _replace(op: Op, earlier: Value, replaced: dict[Value, Value]) -> None:
    """Note that an earlier value replaces the result of an operation."""
    later: Any = op.out
    replaced[later] = earlier
    earlier.uses += later.uses
    for v in op.operands:
        v.uses -= 1


def _key_of(op: Op) -> tuple | None:
    """Return a key that equal operations have in common; None if it is never replaced."""
    v = op.out
    if v is None or op.code not in _REPLACEABLE:
        return None
    if op.code in ("load", "call") and not (v.kind.is_scalar or _is_only_read(op)):
        return None
    args = tuple(map(_key_of_value, op.args))
    options = tuple([(name, _key_of_value(x)) for name, x in op.options.items()])
    return op.code, op.f, _hashable(op.data), args, options, v.kind.classes


def _is_only_read(op: Op) -> bool:
    """Whether an operation makes an array that its block only reads, and only as a whole."""
    v: Any = op.out
    if op.code != "call" or not v.kind.is_array or not makes_new(op):
        return False
    memory = v.root
    return not (memory.is_written or memory.is_indexed or memory.leaves_block)


def _key_of_value(v: Value) -> Any:
    """Return a value as part of a key; equal constants of one class have one key."""
    x = known(v)
    if x is UNKNOWN or type(x) not in (bool, int, float, str, type(None)):
        return v if v.op.code != "const" else (type(x), id(v.op.data))
    return type(x), repr(x)


def _hashable(x: Any) -> Any:
    """Return an index template as part of a key; the constants in it are ``None`` and ``...``."""
    return repr(x) if type(x) is tuple else x


def _may_change(write: Op, op: Op) -> bool:
    """Whether a write may change what an operation reads; a view reads no contents."""
    if op.code == "view":
        return False
    memory = write.args[0].root
    if not any(v.memory is not None and v.root is memory for v in op.args):
        return False
    is_of_dicts = write.code == "set" and all(x.args[0].kind.is_dict for x in (write, op))
    keys = (known(write.args[2]), known(op.args[1])) if is_of_dicts else (UNKNOWN, UNKNOWN)
    return any(key is UNKNOWN for key in keys) or keys[0] == keys[1]


def _with_replaced(x: Any, replaced: dict[Value, Value]) -> Any:
    """Exchange the replaced values in a pytree."""
    if is_nest(x):
        return formed(x, [_with_replaced(part, replaced) for part in parts_of(x)])
    return replaced.get(x, x)
