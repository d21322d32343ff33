"""The memory of a run: a stack of words, and two arenas for arrays.

The forward function pushes numbers for the reverse sweep onto the stack, word by word. Arrays for
the sweep are in the arena ``kept``; those that live for one iteration of a loop are in ``scratch``.
An arena is a linked list of chunks, which never move; the stack moves as it grows.
"""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir

from autodiff.structured.native.llvm.function_builder import (
    I1,
    I64,
    PTR,
    FunctionBuilder,
)
from autodiff.structured.native.llvm.modules import LLVMModule

WORDS, USED, ROOM = 0, 1, 2  # of the stack: its address, words in use, capacity
SCRATCH, KEPT = 3, 7  # of each arena: last chunk, bytes in use there, its size, most bytes at once
_WORDS_OF_STATE = _GROWN = 11
RUN = 12  # the address of the `RunTape`
DEPTH = 13  # how many calls of functions that call themselves are open
_CHUNK = 1 << 20  # bytes of the first chunk; each is twice as large as the one before
_LARGEST_CHUNK = 1 << 24  # unless one array needs more
_HEADER = 64  # bytes at the beginning of a chunk: the chunk before, bytes in use there, its size,
# and the bytes of all chunks up to this one
_MOST_POOLED = 4  # states
_MOST_BYTES_POOLED = 1 << 28  # in all: the system takes 0.2 to 0.5 ms to provide a megabyte


class RunState(ctypes.Structure):
    """The stack and the arenas of a run, as machine code reads them.

    Attributes
    ----------
    grown : int
        Whether memory was allocated since `settle`.
    run : int
        The address of the `RunTape` that has taken it from the pool.
    depth : int
        How many calls of functions that call themselves are open.
    address : int
        The address of this structure.
    """

    _fields_: ClassVar = [("words", ctypes.c_int64 * _WORDS_OF_STATE), ("grown", ctypes.c_int64),
                          ("run", ctypes.c_int64), ("depth", ctypes.c_int64)]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.address = ctypes.addressof(self)

    @property
    def size(self) -> int:
        """The bytes that it holds."""
        return 8 * self.words[ROOM] + self.words[SCRATCH + 2] + self.words[KEPT + 2]

    def settle(self, most: int) -> None:
        """Make one chunk of each arena, with room for as much as the run has needed at once.

        So the next run allocates nothing. It holds at most some bytes afterwards.
        """
        words = self.words
        if 8 * words[ROOM] > most:
            _free(words[WORDS])
            words[WORDS] = words[ROOM] = 0
        most -= 8 * words[ROOM]
        for arena in (KEPT, SCRATCH):
            size = min(words[arena + 3], most)
            self._merge_chunks(arena, size if size >= _CHUNK else 0)
            most -= words[arena + 2]
        self.grown = 0

    def _merge_chunks(self, arena: int, size: int) -> None:
        """Replace the chunks of an arena by one of this size."""
        words = self.words
        while words[arena]:
            before = list((ctypes.c_int64 * 3).from_address(words[arena]))
            if words[arena + 2] == size and not before[0]:
                return
            _free(words[arena])
            words[arena : arena + 3] = before
        chunk = _take(size) if size else None
        if chunk is not None:
            words[arena], words[arena + 2] = chunk, size
            (ctypes.c_int64 * 4).from_address(chunk)[:] = [0, 0, 0, size]

    def free(self) -> None:
        """Free all memory."""
        self.settle(0)


_take = ctypes.pythonapi.PyMem_RawMalloc
_free = ctypes.pythonapi.PyMem_RawFree
_take.restype = ctypes.c_void_p
_take.argtypes = [ctypes.c_size_t]
_free.restype = None
_free.argtypes = [ctypes.c_void_p]

FUNCTIONS: dict[str, Any] = {
    "structured_take": _take,
    "structured_free": _free,
    "structured_move": ctypes.pythonapi.PyMem_RawRealloc,
}
"""Python's allocation functions, by the names under which machine code calls them."""


class RunTape:
    """The memory of one run, taken from a pool.

    Attributes
    ----------
    address : int
        The address of its `RunState`.
    held : tuple
        NumPy arrays that addresses on the tape point into: they are kept alive.
    values : dict
        The last results of the operations that are left to Python, by name.
    objects : list
        The objects of Python's that the sweep pops.
    """

    __slots__ = ("_state", "address", "held", "objects", "values")
    _pool: ClassVar[list[RunState]] = []

    def __init__(self) -> None:
        try:
            self._state = self._pool.pop()
        except IndexError:
            self._state = RunState()
        self._state.run = id(self)
        self.address = self._state.address
        self.held: tuple = ()
        self.values: dict[str, Any] = {}
        self.objects: list = []

    def __del__(self) -> None:
        state, pool = self._state, self._pool
        most = _MOST_BYTES_POOLED - sum([other.size for other in pool])
        if len(pool) == _MOST_POOLED:
            most = 0
        if state.grown or state.size > most:
            state.settle(most)
        if most:
            pool.append(state)


class _Place:
    """Array interface of some memory; it keeps the owner of the memory alive."""

    def __init__(self, interface: dict[str, Any], owner: tuple) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def array_at(dtype: Any, address: int, shape: tuple, strides: tuple, owner: tuple) -> np.ndarray:
    """Return an array that is a view of memory; it keeps the owner of the memory alive."""
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {"version": 3, "typestr": dtype.str, "data": (address, False),
                 "shape": shape, "strides": strides}  # fmt: skip
    return np.asarray(_Place(interface, owner))


def define_functions(module: LLVMModule) -> None:
    """Emit the functions that allocate; they are called, not inlined, so that code stays short."""
    _define_room(module)
    _define_more(module)
    _define_array(module)


def _define_room(module: LLVMModule) -> None:
    """``structured_room(state, n)``: reserve n more words on the stack; return whether it can."""
    code = _function(module, "structured_room", I1, [PTR, I64])
    state, n = code.function.args
    needed = code.b.add(code.word(state, USED), n)
    doubled = code.b.mul(code.word(state, ROOM), code.whole(2))
    room = code.greater(code.greater(doubled, code.whole(1024)), needed)
    moved = code.call(
        "structured_move", PTR, [code.word(state, WORDS, PTR), code.b.mul(room, code.whole(8))]
    )
    is_there = code.b.icmp_unsigned("!=", code.b.ptrtoint(moved, I64), code.whole(0))
    with code.branch(is_there):
        code.set_word(state, WORDS, moved)
        code.set_word(state, ROOM, room)
        code.set_word(state, _GROWN, code.whole(1))
    code.b.ret(is_there)
    code.begin()


def _define_more(module: LLVMModule) -> None:
    """``structured_more(state, arena, bytes)``: allocate bytes in a new chunk; 0 on failure."""
    code = _function(module, "structured_more", PTR, [PTR, PTR, I64])
    state, arena, n = code.function.args
    doubled = code.b.mul(code.word(arena, 2), code.whole(2))
    size = code.greater(doubled, code.whole(_CHUNK))
    size = code.lesser(code.whole(_LARGEST_CHUNK), size)
    least = code.b.add(n, code.whole(_HEADER))
    size = code.greater(size, least)
    chunk = code.call("structured_take", PTR, [size])
    is_there = code.b.icmp_unsigned("!=", code.b.ptrtoint(chunk, I64), code.whole(0))
    with code.branch(is_there):
        all_bytes = code.variable(I64)
        code.b.store(size, all_bytes)
        with code.branch(code.b.not_(code.equal(code.word(arena, 0), code.whole(0)))):
            of_others = code.word(code.word(arena, 0, PTR), 3)
            code.b.store(code.b.add(size, of_others), all_bytes)
        total = code.b.load(all_bytes, typ=I64)
        for k in range(3):
            code.set_word(chunk, k, code.word(arena, k))
        code.set_word(chunk, 3, total)
        most = code.word(arena, 3)
        code.set_word(arena, 3, code.b.select(code.less(most, total), total, most))
        code.set_word(arena, 0, chunk)
        code.set_word(arena, 1, least)
        code.set_word(arena, 2, size)
        code.set_word(state, _GROWN, code.whole(1))
    found = code.b.select(is_there, code.at(chunk, code.whole(_HEADER)), ir.Constant(PTR, None))
    code.b.ret(found)
    code.begin()


def _define_array(module: LLVMModule) -> None:
    """``structured_array(state, arena, bytes)``: allocate bytes in an arena; 0 on failure."""
    code = _function(module, "structured_array", PTR, [PTR, PTR, I64])
    state, arena, size = code.function.args
    b = code.b
    rounded = b.and_(b.add(size, code.whole(63)), code.whole(-64))
    used = code.word(arena, 1)
    after = b.add(used, rounded)
    with code.branch(b.icmp_signed("<=", after, code.word(arena, 2))):
        code.set_word(arena, 1, after)
        b.ret(code.at(code.word(arena, 0, PTR), used))
    b.ret(code.call("structured_more", PTR, [state, arena, rounded]))
    code.begin()


def _function(module: LLVMModule, name: str, result: Any, types: list) -> FunctionBuilder:
    code = FunctionBuilder(module, name, types, result)
    code.function.attributes.add("noinline")
    return code


def allocated(code: FunctionBuilder, state: Any, arena: int, size: Any) -> Any:
    """Allocate bytes in an arena and return their address; exit if there is no memory."""
    place = code.at(state, code.whole(8 * arena))
    with code.apart():
        address = code.call("structured_array", PTR, [state, place, size])
    code.exit_if(code.b.icmp_unsigned("==", address, ir.Constant(PTR, None)))
    return address


def begin(code: FunctionBuilder, state: Any, is_forward: bool) -> None:
    """Prepare the memory at the beginning of a function: ``scratch`` has a chunk afterwards.

    The forward function empties the stack and both arenas; the sweep needs what is in them.
    """
    for arena in (SCRATCH, KEPT) if is_forward else ():
        is_none = code.equal(code.word(state, arena), code.whole(0))
        code.set_word(state, arena + 1, code.b.select(is_none, code.whole(0), code.whole(_HEADER)))
    if is_forward:
        code.set_word(state, USED, code.whole(0))
        code.set_word(state, DEPTH, code.whole(0))
    with code.branch(code.equal(code.word(state, SCRATCH), code.whole(0))):
        allocated(code, state, SCRATCH, code.whole(_HEADER))


def marked(code: FunctionBuilder, state: Any) -> tuple[Any, Any]:
    """Return a mark of the arena ``scratch``: its last chunk, and the bytes in use there."""
    return code.word(state, SCRATCH), code.word(state, SCRATCH + 1)


def released(code: FunctionBuilder, state: Any, mark: tuple[Any, Any]) -> None:
    """Free what was allocated in the arena ``scratch`` since a mark."""
    chunk, used = mark
    b = code.b

    with code.endless():
        last = code.word(state, SCRATCH)
        code.leave_if(code.equal(last, chunk))
        pointer = b.inttoptr(last, PTR)
        before = [code.word(pointer, k) for k in range(3)]
        code.b.call(code.external("structured_free", ir.VoidType(), [PTR]), [pointer])
        for k, x in enumerate(before):
            code.set_word(state, SCRATCH + k, x)
    code.set_word(state, SCRATCH + 1, used)


def pushed(code: FunctionBuilder, state: Any, words: list) -> None:
    """Push words onto the stack."""
    b = code.b
    with code.apart():
        used = code.word(state, USED)
        after = b.add(used, code.whole(len(words)))
        with code.branch(b.icmp_signed(">", after, code.word(state, ROOM)), likely=False):
            there = code.call("structured_room", I1, [state, code.whole(len(words))])
            code.exit_if(b.not_(there))
        base = code.at(code.word(state, WORDS, PTR), b.mul(used, code.whole(8)))
        for k, word in enumerate(words):
            code.set_word(base, k, word)
        code.set_word(state, USED, after)


def popped(code: FunctionBuilder, state: Any, kinds: list) -> list:
    """Pop words from the stack."""
    b = code.b
    with code.apart():
        used = b.sub(code.word(state, USED), code.whole(len(kinds)))
        code.set_word(state, USED, used)
        base = code.at(code.word(state, WORDS, PTR), b.mul(used, code.whole(8)))
        return [code.word(base, k, kind) for k, kind in enumerate(kinds)]
