"""The memory of a run: a stack of words, and two stores of arrays.

What the reverse sweep reads is pushed onto the stack, word by word. Arrays that it reads lie in the
store ``kept``, those that last for one turn of a loop in the store ``scratch``. A store is a list
of pieces, which never move; the stack moves as it grows.
"""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir

from autodiff.structured.native.llvm.code import I1, I64, PTR, Code, Unit

WORDS, USED, ROOM = 0, 1, 2  # the stack
SCRATCH, KEPT = 3, 6  # of each store: the last piece, what is used of it, its size
_WORDS_OF_STATE = _GROWN = 9
_PIECE = 1 << 20  # bytes of the first piece; each is twice as long as the one before
_LARGEST_PIECE = 1 << 24  # but for what asks for more
_HEAD = 64  # bytes at the beginning of a piece
_LARGEST_POOLED = 1 << 26
_MOST_POOLED = 4


class State(ctypes.Structure):
    """What a run has in memory.

    Attributes
    ----------
    grown : int
        Whether memory was taken since `shrink`.
    address : int
        Where it lies.
    """

    _fields_: ClassVar = [("words", ctypes.c_int64 * _WORDS_OF_STATE), ("grown", ctypes.c_int64)]

    def __init__(self) -> None:
        super().__init__()
        self.address = ctypes.addressof(self)

    def shrink(self) -> None:
        """Give back all but one piece of each store, and what is too large to keep."""
        words = self.words
        for store in (SCRATCH, KEPT):
            self._give_back(store)
        if 8 * words[ROOM] > _LARGEST_POOLED:
            _free(words[WORDS])
            words[WORDS] = words[ROOM] = 0
        self.grown = 0

    def _give_back(self, store: int) -> None:
        """Free the pieces of a store but for the last, which is the largest."""
        words = self.words
        last = words[store]
        piece = ctypes.c_int64.from_address(last).value if last else 0
        if last and words[store + 2] > _LARGEST_POOLED:
            piece, words[store] = last, 0
        while piece:
            before = ctypes.c_int64.from_address(piece).value
            _free(piece)
            piece = before
        if words[store]:
            ctypes.c_int64.from_address(last).value = 0
        else:
            words[store + 2] = 0

    def free(self) -> None:
        """Give back all memory."""
        for place in (WORDS, SCRATCH, KEPT):
            if self.words[place]:
                _free(self.words[place])


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
"""Python's functions of memory, under the names that machine code calls."""


class Tape:
    """The memory of one run.

    Attributes
    ----------
    address : int
        Of its `State`.
    held : tuple
        The arrays of NumPy that addresses on the tape point into.
    """

    __slots__ = ("_state", "address", "held")
    _pool: ClassVar[list[State]] = []

    def __init__(self) -> None:
        try:
            self._state = self._pool.pop()
        except IndexError:
            self._state = State()
        self.address = self._state.address
        self.held: tuple = ()

    def __del__(self) -> None:
        state = self._state
        if state.grown:
            state.shrink()
        if len(self._pool) < _MOST_POOLED:
            self._pool.append(state)
        else:
            state.free()


class _Place:
    """Where an array is, for NumPy; what owns the memory lives as long."""

    def __init__(self, interface: dict[str, Any], owner: tuple) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def array_at(dtype: Any, address: int, shape: tuple, strides: tuple, owner: tuple) -> np.ndarray:
    """Return the array at an address, in memory of the run or of an argument."""
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {"version": 3, "typestr": dtype.str, "data": (address, False),
                 "shape": shape, "strides": strides}  # fmt: skip
    return np.asarray(_Place(interface, owner))


def define_functions(module: Unit) -> None:
    """Write the functions that make room, which are called for it: code is short without them."""
    _define_room(module)
    _define_more(module)
    _define_array(module)


def _define_room(module: Unit) -> None:
    """``structured_room(state, n)``: room for n more words on the stack; 0 if there is none."""
    code = _function(module, "structured_room", I1, [PTR, I64])
    state, n = code.function.args
    wanted = code.b.add(code.word(state, USED), n)
    doubled = code.b.mul(code.word(state, ROOM), code.whole(2))
    first = code.b.select(code.less(doubled, code.whole(1024)), code.whole(1024), doubled)
    room = code.b.select(code.less(first, wanted), wanted, first)
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


def _define_more(module: Unit) -> None:
    """``structured_more(state, store, bytes)``: the address of so many bytes in a new piece."""
    code = _function(module, "structured_more", PTR, [PTR, PTR, I64])
    state, store, n = code.function.args
    doubled = code.b.mul(code.word(store, 2), code.whole(2))
    size = code.b.select(code.less(doubled, code.whole(_PIECE)), code.whole(_PIECE), doubled)
    most = code.whole(_LARGEST_PIECE)
    size = code.b.select(code.less(most, size), most, size)
    least = code.b.add(n, code.whole(_HEAD))
    size = code.b.select(code.less(size, least), least, size)
    piece = code.call("structured_take", PTR, [size])
    is_there = code.b.icmp_unsigned("!=", code.b.ptrtoint(piece, I64), code.whole(0))
    with code.branch(is_there):
        code.set_word(piece, 0, code.word(store, 0))
        code.set_word(piece, 1, code.word(store, 1))
        code.set_word(piece, 2, code.word(store, 2))
        code.set_word(store, 0, piece)
        code.set_word(store, 1, least)
        code.set_word(store, 2, size)
        code.set_word(state, _GROWN, code.whole(1))
    found = code.b.select(is_there, code.at(piece, code.whole(_HEAD)), ir.Constant(PTR, None))
    code.b.ret(found)
    code.begin()


def _define_array(module: Unit) -> None:
    """``structured_array(state, store, bytes)``: so many bytes of a store; 0 if there are none."""
    code = _function(module, "structured_array", PTR, [PTR, PTR, I64])
    state, store, size = code.function.args
    b = code.b
    rounded = b.and_(b.add(size, code.whole(63)), code.whole(-64))
    used = code.word(store, 1)
    after = b.add(used, rounded)
    with code.branch(b.icmp_signed("<=", after, code.word(store, 2))):
        code.set_word(store, 1, after)
        b.ret(code.at(code.word(store, 0, PTR), used))
    b.ret(code.call("structured_more", PTR, [state, store, rounded]))
    code.begin()


def _function(module: Unit, name: str, result: Any, types: list) -> Code:
    code = Code(module, name, types, result)
    code.function.attributes.add("noinline")
    return code


def allocated(code: Code, state: Any, store: int, size: Any) -> Any:
    """Return the address of so many bytes in a store."""
    place = code.at(state, code.whole(8 * store))
    address = code.call("structured_array", PTR, [state, place, size])
    code.exit_if(code.b.icmp_unsigned("==", address, ir.Constant(PTR, None)))
    return address


def begin(code: Code, state: Any, is_forward: bool) -> None:
    """Begin with what a sweep will read, or has to read; there is a piece in ``scratch`` then."""
    for store in (SCRATCH, KEPT) if is_forward else ():
        is_none = code.equal(code.word(state, store), code.whole(0))
        code.set_word(state, store + 1, code.b.select(is_none, code.whole(0), code.whole(_HEAD)))
    if is_forward:
        code.set_word(state, USED, code.whole(0))
    with code.branch(code.equal(code.word(state, SCRATCH), code.whole(0))):
        allocated(code, state, SCRATCH, code.whole(_HEAD))


def marked(code: Code, state: Any) -> tuple[Any, Any]:
    """Return how far the store ``scratch`` is used."""
    return code.word(state, SCRATCH), code.word(state, SCRATCH + 1)


def released(code: Code, state: Any, mark: tuple[Any, Any]) -> None:
    """Give back what was taken of the store ``scratch`` since it was marked."""
    piece, used = mark
    b = code.b

    def body(after: Any) -> None:
        last = code.word(state, SCRATCH)
        going = code.function.append_basic_block()
        b.cbranch(code.equal(last, piece), after, going)
        b.position_at_end(going)
        pointer = b.inttoptr(last, PTR)
        before = [code.word(pointer, k) for k in range(3)]
        code.b.call(code.external("structured_free", ir.VoidType(), [PTR]), [pointer])
        for k, x in enumerate(before):
            code.set_word(state, SCRATCH + k, x)

    code.endless(body)
    code.set_word(state, SCRATCH + 1, used)


def pushed(code: Code, state: Any, words: list) -> None:
    """Push words onto the stack."""
    b = code.b
    used = code.word(state, USED)
    after = b.add(used, code.whole(len(words)))
    with b.if_then(b.icmp_signed(">", after, code.word(state, ROOM)), likely=False):
        there = code.call("structured_room", I1, [state, code.whole(len(words))])
        code.exit_if(b.not_(there))
    base = code.at(code.word(state, WORDS, PTR), b.mul(used, code.whole(8)))
    for k, word in enumerate(words):
        code.set_word(base, k, word)
    code.set_word(state, USED, after)


def popped(code: Code, state: Any, kinds: list) -> list:
    """Pop words from the stack."""
    b = code.b
    used = b.sub(code.word(state, USED), code.whole(len(kinds)))
    code.set_word(state, USED, used)
    base = code.at(code.word(state, WORDS, PTR), b.mul(used, code.whole(8)))
    return [code.word(base, k, kind) for k, kind in enumerate(kinds)]
