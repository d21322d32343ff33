"""Instructions: a thin layer over llvmlite's builder, with loops, branches and memory."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import binding as llvm, ir

from autodiff.structured.form.kinds import UnsupportedError

I64, I32, I8, I1 = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.IntType(1)
F64, F32 = ir.DoubleType(), ir.FloatType()
PTR = ir.PointerType()

TYPES: dict[str, Any] = {
    "d": F64, "s": F32, "i": I64, "b": I1,
    "z": ir.LiteralStructType([F64, F64]), "c": ir.LiteralStructType([F32, F32]),
}  # fmt: skip
"""Of numbers in machine code: doubles, single precision, integers, truth values, and complex
numbers of doubles and of single precision."""
PARTS = {"z": "d", "c": "s"}
"""As which the parts of a complex number are held."""

ELEMENTS: dict[Any, tuple[Any, str]] = {
    np.dtype(np.float64): (F64, "d"),
    np.dtype(np.float32): (F32, "s"),
    np.dtype(np.int64): (I64, "i"),
    np.dtype(np.int32): (I32, "i"),
    np.dtype(np.int16): (ir.IntType(16), "i"),
    np.dtype(np.int8): (I8, "i"),
    np.dtype(np.uint32): (I32, "i"),
    np.dtype(np.uint16): (ir.IntType(16), "i"),
    np.dtype(np.uint8): (I8, "i"),
    np.dtype(np.bool_): (I8, "b"),
    np.dtype(np.complex128): (TYPES["z"], "z"),
    np.dtype(np.complex64): (TYPES["c"], "c"),
}
"""How elements of arrays lie in memory, and which numbers they are."""

STEPS_ASIDE, SHAPES_DIFFER, MAY_WARN, NOT_READ = 1, 2, 3, 4
"""What a function returns where it does not know what NumPy does, arrays do not fit, NumPy may
warn, or a sweep has not read all that was pushed."""


# What is invalid, divisions by zero, and what overflows: FE_... of C.
EXCEPTIONS = {"x86_64": 1 | 4 | 8, "AMD64": 1 | 4 | 8, "aarch64": 1 | 2 | 4, "arm64": 1 | 2 | 4}
_FEW_TURNS = 16  # LLVM has no loop for what is left of so few


def element_of(dtype: Any) -> tuple[Any, str]:
    """Return how elements of a dtype are held."""
    if dtype not in ELEMENTS:
        raise UnsupportedError(f"elements of {dtype}")
    return ELEMENTS[dtype]


@functools.cache
def has_fused() -> bool:
    """Whether the processor has products and sums in one instruction."""
    found = llvm.get_host_cpu_features()
    return bool(found.get("fma") or found.get("neon"))


def exceptions() -> int:
    """Return what the processor is asked for that NumPy may warn of."""
    return EXCEPTIONS[platform.machine()]


def is_pair(kind: Any) -> bool:
    """Whether values of a type are complex numbers."""
    return isinstance(kind, ir.LiteralStructType) and kind in (TYPES["z"], TYPES["c"])


def constant(kind: Any, x: complex) -> Any:
    """Return a float or a complex number that is known."""
    return ir.Constant(kind, [x.real, x.imag] if is_pair(kind) else x)


class Builder(ir.IRBuilder):
    """Writes instructions; those of complex numbers, which are pairs, part by part.

    So who reads, writes, chooses or adds numbers need not ask of which kind they are, and LLVM
    sees floats alone.
    """

    def pair(self, x: Any, y: Any) -> Any:
        """Return a complex number."""
        kind = TYPES["z" if x.type == F64 else "c"]
        if isinstance(x, ir.Constant) and isinstance(y, ir.Constant):
            return ir.Constant(kind, [x.constant, y.constant])
        made = self.insert_value(ir.Constant(kind, ir.Undefined), x, 0)
        made = self.insert_value(made, y, 1)
        made.parts = x, y
        return made

    def parts(self, z: Any) -> tuple[Any, Any]:
        """Return the real and imaginary part of a complex number."""
        if isinstance(z, ir.Constant):
            kind = z.type.elements[0]
            x, y = (c.constant if isinstance(c, ir.Constant) else c for c in z.constant)
            return ir.Constant(kind, x), ir.Constant(kind, y)
        found = getattr(z, "parts", None)
        return found or (self.extract_value(z, 0), self.extract_value(z, 1))

    def load(self, ptr: Any, name: str = "", align: Any = None, typ: Any = None) -> Any:
        """Read from memory."""
        if not is_pair(typ):
            return super().load(ptr, name, align, typ)
        return self.pair(*[self.load(p, typ=typ.elements[0]) for p in self._places(ptr, typ)])

    def store(self, value: Any, ptr: Any, align: Any = None) -> Any:
        """Write into memory."""
        if not is_pair(value.type):
            return super().store(value, ptr, align)
        places = self._places(ptr, value.type)
        both = tuple(map(self.store, self.parts(value), places))
        both[1].parts = both
        return both[1]

    def _places(self, ptr: Any, kind: Any) -> list[Any]:
        part = kind.elements[0]
        return [self.gep(ptr, [ir.Constant(I64, k)], source_etype=part) for k in (0, 1)]

    def _by_parts(self, method: str, *values: Any, flags: Any = ()) -> Any:
        write = getattr(super(), method)
        options = {"flags": flags} if flags else {}
        if not is_pair(values[-1].type):
            return write(*values, **options)
        each = zip(*[self.parts(v) if is_pair(v.type) else (v, v) for v in values], strict=True)
        return self.pair(*[write(*parts, **options) for parts in each])

    def select(self, cond: Any, lhs: Any, rhs: Any, flags: Any = ()) -> Any:
        """Choose one of two."""
        return self._by_parts("select", cond, lhs, rhs, flags=flags)

    def fadd(self, lhs: Any, rhs: Any, flags: Any = ()) -> Any:
        """Add floats or complex numbers."""
        return self._by_parts("fadd", lhs, rhs, flags=flags)

    def fsub(self, lhs: Any, rhs: Any, flags: Any = ()) -> Any:
        """Subtract floats or complex numbers."""
        return self._by_parts("fsub", lhs, rhs, flags=flags)

    def fneg(self, arg: Any, flags: Any = ()) -> Any:
        """Return the negative of a float or complex number."""
        return self._by_parts("fneg", arg, flags=flags)


class Unit(ir.Module):
    """Functions that are compiled together.

    Attributes
    ----------
    loops : dict
        Those that are loops over elements, by what they do: see `loop_functions`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.loops: dict[Any, Any] = {}

    def drop(self, name: str) -> None:
        """Drop a function, if there is one of the name."""
        if self.globals.pop(name, None) is not None:
            self.scope._useset.discard(name)

    def instructions(self) -> int:
        """Return how many instructions there are."""
        return sum(len(block.instructions) for f in self.functions for block in f.blocks)


class Code:
    """Writes the instructions of one function.

    Parameters
    ----------
    module : Unit
        Where the function belongs.
    name : str
        Its name.
    types : list
        Of its parameters.
    result : llvmlite type, optional
        Of what it returns.
    """

    def __init__(self, module: Unit, name: str, types: list, result: Any = I32) -> None:
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(result, types), name)
        entry = self.function.append_basic_block("entry")
        self.head = ir.IRBuilder(entry)  # variables
        self.b = Builder(self.function.append_basic_block("body"))
        self._first = self.b.block
        self.exits: dict[int, Any] = {}
        self.behind: list[Any] = []  # the blocks behind the loops that are open

    def finish(self) -> None:
        """Return with success, and write the ways out."""
        self.b.ret(ir.Constant(I32, 0))
        for status, block in self.exits.items():
            ir.IRBuilder(block).ret(ir.Constant(I32, status))
        self.begin()

    def begin(self) -> None:
        """Go on from the variables to what was written first."""
        self.head.branch(self._first)

    @contextmanager
    def another(self, name: str, types: list) -> Any:
        """Write another function; it gives that."""
        own = dict(vars(self))
        Code.__init__(self, self.module, name, types)
        try:
            yield self.function
            self.finish()
        except BaseException:
            self.module.drop(name)
            raise
        finally:
            vars(self).update(own)

    # -- numbers -----------------------------------------------------------------------------------

    def whole(self, n: int) -> Any:
        """Return an integer."""
        return ir.Constant(I64, n)

    def variable(self, kind: Any) -> Any:
        """Return the place of a variable."""
        place = self.head.alloca(kind)
        if is_pair(kind):
            place.type = PTR  # its parts are read and written one by one
        return place

    def words(self, n: int) -> Any:
        """Return the address of some integers, which are 0."""
        place = self.head.alloca(I64, n)
        for k in range(n):
            self.head.store(ir.Constant(I64, 0), self.head.gep(place, [self.whole(k)]))
        return self.head.gep(place, [self.whole(0)], source_etype=I64)

    def external(self, name: str, result: Any, types: list) -> Any:
        """Return a function of the C library."""
        found = self.module.globals.get(name)
        if found is not None:
            return found
        return ir.Function(self.module, ir.FunctionType(result, types), name)

    def call(self, name: str, result: Any, args: list) -> Any:
        """Call a function of the C library."""
        return self.b.call(self.external(name, result, [a.type for a in args]), args)

    def less(self, a: Any, b: Any) -> Any:
        """Compare integers."""
        return self.b.icmp_signed("<", a, b)

    def equal(self, a: Any, b: Any) -> Any:
        """Compare integers."""
        return self.b.icmp_signed("==", a, b)

    # -- ways --------------------------------------------------------------------------------------

    def exit_if(self, test: Any, status: int = STEPS_ASIDE) -> None:
        """Leave the function where a test holds."""
        if isinstance(test, ir.Constant) and test.constant in (0, False):
            return
        if status not in self.exits:
            self.exits[status] = self.function.append_basic_block(f"exit{status}")
        following = self.function.append_basic_block()
        branch = self.b.cbranch(test, self.exits[status], following)
        branch.set_weights([1, 9999])
        self.b.position_at_end(following)

    def leave_with(self, status: Any) -> None:
        """Leave the function with a status, unless that is success."""
        left, following = (self.function.append_basic_block() for _ in range(2))
        failed = self.b.icmp_signed("!=", status, ir.Constant(I32, 0))
        self.b.cbranch(failed, left, following).set_weights([1, 9999])
        ir.IRBuilder(left).ret(status)
        self.b.position_at_end(following)

    @contextmanager
    def branch(self, test: Any) -> Any:
        """Write what runs where a test holds."""
        with self.b.if_then(test):
            yield

    @contextmanager
    def branches(self, test: Any) -> Any:
        """Write two branches."""
        with self.b.if_else(test) as both:
            yield both

    @contextmanager
    def counted(self, n: Any, alone: bool = False, is_dense: bool = True) -> Any:
        """Write a loop of n turns; it gives the number of the turn.

        `alone` says that no turn reads what another one writes (`accessed` marks what is read and
        written): LLVM then asks no questions before it works on several elements at once. It does
        not try to unless `is_dense`: then these lie side by side. Nor does it for a few turns: it
        would fill the rest of a register with zeros, and the processor would note what NumPy does
        not divide by. So it must not find out that there are a few turns, either.
        """
        are_few = isinstance(n, ir.Constant) and n.constant < _FEW_TURNS
        if alone and is_dense and not are_few:
            n = self._hidden(n)
        before = self.b.block
        head = self.function.append_basic_block("head")
        body = self.function.append_basic_block("body")
        after = self.function.append_basic_block("after")
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(I64)
        i.add_incoming(self.whole(0), before)
        self.b.cbranch(self.less(i, n), body, after)
        self.b.position_at_end(body)
        self.behind.append(after)
        yield i
        self.behind.pop()
        following = self.b.add(i, self.whole(1), flags=("nsw",))
        i.add_incoming(following, self.b.block)
        back = self.b.branch(head)
        if alone:
            mark = "loop" if is_dense and not are_few else "loop of single elements"
            back.set_metadata("llvm.loop", self.module.add_metadata([f"{mark} {id(back)}"]))
        self.b.position_at_end(after)

    def _hidden(self, n: Any) -> Any:
        """Return an integer, which an empty instruction hides from LLVM."""
        return self.b.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [n], False)

    def accessed(self, instruction: Any) -> Any:
        """Mark what is read or written in a loop whose turns are on their own."""
        group = self.module.add_metadata(["accesses"])
        for part in getattr(instruction, "parts", (instruction,)):
            part.set_metadata("llvm.access.group", group)
        return instruction

    def endless(self, body: Callable[[Any], None]) -> None:
        """Write a loop without end; `body` is given the block behind it."""
        head = self.function.append_basic_block("while")
        after = self.function.append_basic_block("left")
        self.b.branch(head)
        self.b.position_at_end(head)
        self.behind.append(after)
        body(after)
        self.behind.pop()
        if not self.b.block.is_terminated:
            self.b.branch(head)
        self.b.position_at_end(after)

    # -- memory ------------------------------------------------------------------------------------

    def at(self, pointer: Any, offset: Any) -> Any:
        """Return the address so many bytes further on."""
        if isinstance(offset, ir.Constant) and offset.constant == 0:
            return pointer
        return self.b.gep(pointer, [offset], source_etype=I8)

    def word(self, pointer: Any, k: int, kind: Any = I64) -> Any:
        """Read the k-th word of a struct."""
        return self.b.load(self.at(pointer, self.whole(8 * k)), typ=kind)

    def set_word(self, pointer: Any, k: int, value: Any) -> None:
        """Write the k-th word of a struct."""
        self.b.store(value, self.at(pointer, self.whole(8 * k)))

    def as_words(self, x: Any) -> list[Any]:
        """Return a number as words of memory: floats as doubles, a complex number as two."""
        b = self.b
        if is_pair(x.type):
            return [word for part in b.parts(x) for word in self.as_words(part)]
        if x.type in (I64, I1):
            return [x if x.type == I64 else b.zext(x, I64)]
        return [b.bitcast(b.fpext(x, F64) if x.type == F32 else x, I64)]

    def of_words(self, letter: str, words: Any) -> Any:
        """Return the number that is next in an iterator of words, or of doubles."""
        b = self.b
        if letter in PARTS:
            return b.pair(*[self.of_words(PARTS[letter], words) for _ in range(2)])
        x = next(words)
        if letter in "ib":
            return b.trunc(x, I1) if letter == "b" else x
        x = b.bitcast(x, F64) if x.type == I64 else x
        return b.fptrunc(x, F32) if letter == "s" else x


def text_of(module: Unit) -> str:
    """Return a module as LLVM reads it, with the marks of loops as it wants them."""
    text = str(module)
    found = re.search(r'(!\d+) = !{ !"accesses" }', text)
    if found is None:
        return text
    group = found.group(1)
    text = text.replace(found.group(0), f"{group} = distinct !{{}}")
    count = len(module.metadata)
    parallel = f'!{{!"llvm.loop.parallel_accesses", {group}}}'
    for mark, more in (("loop", ""), ("loop of single elements", f", !{count + 1}")):
        loops = re.compile(rf'(!\d+) = !{{ !"{mark} \d+" }}')
        text = loops.sub(rf"\1 = distinct !{{\1, !{count}{more}}}", text)
    single = '!{!"llvm.loop.vectorize.enable", i1 false}'
    return f"{text}\n!{count} = {parallel}\n!{count + 1} = {single}\n"
