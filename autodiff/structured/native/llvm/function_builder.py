"""A thin layer over llvmlite's IR builder: complex numbers, loops, branches and memory."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import binding as llvm, ir

from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.native.llvm.known_integers import IntegerBuilder
from autodiff.structured.native.llvm.modules import LLVMModule

I64, I32, I8, I1 = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.IntType(1)
F64, F32 = ir.DoubleType(), ir.FloatType()
PTR = ir.PointerType()
FALSE = ir.Constant(I1, 0)

TYPES: dict[str, Any] = {
    "d": F64, "s": F32, "i": I64, "b": I1,
    "z": ir.LiteralStructType([F64, F64]), "c": ir.LiteralStructType([F32, F32]), "t": I64,
}  # fmt: skip
"""Letter → LLVM type of a scalar: float64, float32, int64, bool, complex128, complex64, symbol."""
PARTS = {"z": "d", "c": "s"}
"""Letter of a complex number → letter of its parts."""

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
"""dtype → LLVM type of an element in memory, and letter of the scalar that it is loaded as."""

STEPS_ASIDE, SHAPES_DIFFER, MAY_WARN, NOT_READ = 1, 2, 3, 4
"""Nonzero statuses of a function: it steps aside because only NumPy knows the result, shapes do
not match, NumPy may warn, or a sweep has not popped all that was pushed."""


# FE_INVALID, FE_DIVBYZERO and FE_OVERFLOW of C.
EXCEPTIONS = {"x86_64": 1 | 4 | 8, "AMD64": 1 | 4 | 8, "aarch64": 1 | 2 | 4, "arm64": 1 | 2 | 4}
SHORT_LOOP = 16  # LLVM may run loops with fewer iterations in partly filled registers


def element_of(dtype: Any) -> tuple[Any, str]:
    """Return the entry of a dtype in `ELEMENTS`."""
    if dtype not in ELEMENTS:
        raise UnsupportedError(f"elements of {dtype}")
    return ELEMENTS[dtype]


@functools.cache
def has_fma() -> bool:
    """Whether the processor has fused multiply-add."""
    found = llvm.get_host_cpu_features()
    return bool(found.get("fma") or found.get("neon"))


def exceptions() -> int:
    """Return the mask of the floating-point exceptions that NumPy may warn about."""
    return EXCEPTIONS[platform.machine()]


def is_complex_type(kind: Any) -> bool:
    """Whether a type is that of a complex number."""
    return isinstance(kind, ir.LiteralStructType) and kind in (TYPES["z"], TYPES["c"])


def root_of(address: Any) -> Any:
    """Return the address from which another one is computed by adding offsets."""
    while isinstance(address, ir.GEPInstr):
        address = address.pointer
    return address


def constant(kind: Any, x: complex) -> Any:
    """Return a float or complex number as an LLVM constant."""
    return ir.Constant(kind, [x.real, x.imag] if is_complex_type(kind) else x)


class ComplexIRBuilder(IntegerBuilder):
    """Builder of instructions that splits operations on complex numbers into their parts.

    An emitter that loads, stores, selects or adds numbers need not know whether they are complex,
    and LLVM sees only floats.

    Parameters
    ----------
    block : llvmlite block
        Where the instructions go.
    settle : callable
        `FunctionBuilder.settle`, which is called before each instruction that may read or write an
        array, or that ends a block.
    """

    def __init__(self, block: Any, settle: Callable[[], None]) -> None:
        super().__init__(block)
        self._settle = settle

    def pair(self, x: Any, y: Any) -> Any:
        """Return a complex number, given its parts."""
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
        """Load from memory."""
        if not is_complex_type(typ):
            self._settle_unless_local(ptr)
            return super().load(ptr, name, align, typ)
        return self.pair(*[self.load(p, typ=typ.elements[0]) for p in self._addresses(ptr, typ)])

    def store(self, value: Any, ptr: Any, align: Any = None) -> Any:
        """Store into memory; of a complex number, return the last store, with all as `parts`."""
        if not is_complex_type(value.type):
            self._settle_unless_local(ptr)
            return super().store(value, ptr, align)
        addresses = self._addresses(ptr, value.type)
        both = tuple(map(self.store, self.parts(value), addresses))
        both[1].parts = both
        return both[1]

    def _settle_unless_local(self, ptr: Any) -> None:
        """Prepare an access, unless it is to a variable on the stack."""
        if not isinstance(root_of(ptr), ir.AllocaInstr):
            self._settle()

    def call(self, fn: Any, args: Any, *rest: Any, **options: Any) -> Any:
        """Call a function, which reads and writes no arrays unless it is given an address."""
        if any(isinstance(a.type, ir.PointerType) for a in args):
            self._settle()
        return super().call(fn, args, *rest, **options)

    def branch(self, target: Any) -> Any:
        """End the block with a branch."""
        self._settle()
        return super().branch(target)

    def cbranch(self, cond: Any, truebr: Any, falsebr: Any) -> Any:
        """End the block with one of two branches."""
        self._settle()
        return super().cbranch(cond, truebr, falsebr)

    def ret(self, value: Any) -> Any:
        """Return from the function."""
        self._settle()
        return super().ret(value)

    def _addresses(self, ptr: Any, kind: Any) -> list[Any]:
        part = kind.elements[0]
        return [self.gep(ptr, [ir.Constant(I64, k)], source_etype=part) for k in (0, 1)]

    def _by_parts(self, method: str, *values: Any, flags: Any = ()) -> Any:
        write = getattr(super(), method)
        options = {"flags": flags} if flags else {}
        if not is_complex_type(values[-1].type):
            return write(*values, **options)
        each = zip(
            *[self.parts(v) if is_complex_type(v.type) else (v, v) for v in values], strict=True
        )
        return self.pair(*[write(*parts, **options) for parts in each])

    def select(self, cond: Any, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """Select one of two values."""
        return self._by_parts("select", cond, lhs, rhs, flags=flags)

    def fadd(self, lhs: Any, rhs: Any, flags: Any = ()) -> Any:
        """Add floats or complex numbers."""
        return self._by_parts("fadd", lhs, rhs, flags=flags)

    def fsub(self, lhs: Any, rhs: Any, flags: Any = ()) -> Any:
        """Subtract floats or complex numbers."""
        return self._by_parts("fsub", lhs, rhs, flags=flags)

    def fneg(self, arg: Any, flags: Any = ()) -> Any:
        """Negate a float or complex number."""
        return self._by_parts("fneg", arg, flags=flags)


class FunctionBuilder:
    """Emitter of one function.

    Parameters
    ----------
    module : LLVMModule
        The module of the function.
    name : str
        The name of the function.
    types : list
        The types of the parameters.
    result : llvmlite type, optional
        The type of the result; by default a status, which is 0 on success.
    """

    def __init__(self, module: LLVMModule, name: str, types: list, result: Any = I32) -> None:
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(result, types), name)
        entry = self.function.append_basic_block("entry")
        self.head = ir.IRBuilder(entry)  # allocates variables
        self.b = ComplexIRBuilder(self.function.append_basic_block("body"), self.settle)
        self._body = self.b.block
        self.exits: dict[int, Any] = {}  # status → block that returns it
        self.behind: list[Any] = []  # exit blocks of the open loops, for `break`
        self.depth = 0  # how many loops and branches are open
        self.on_settle: Callable[[], None] | None = None  # emits what waits

    def finish(self) -> None:
        """Return success, and fill the exit blocks."""
        self.b.ret(ir.Constant(I32, 0))
        for status, block in self.exits.items():
            ir.IRBuilder(block).ret(ir.Constant(I32, status))
        self.begin()

    def begin(self) -> None:
        """Branch from the entry block, which allocates variables, to the body."""
        self.head.branch(self._body)

    @contextmanager
    def another(self, name: str, types: list) -> Any:
        """Emit another function of the module with this object; yield it."""
        own = dict(vars(self))
        FunctionBuilder.__init__(self, self.module, name, types)
        try:
            yield self.function
            self.finish()
        except BaseException:
            self.module.drop(name)
            raise
        finally:
            vars(self).update(own)

    # -- what waits --------------------------------------------------------------------------------

    def settle(self) -> None:
        """Emit the loops that wait, at the end of a block or before memory is used.

        The builder calls this, so no emitter has to know that loops wait: see `FusedLoops`.
        """
        if self.on_settle is not None:
            self.on_settle()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Emit what concerns no array, such as the stack of the sweep: loops go on waiting."""
        held, self.on_settle = self.on_settle, None
        try:
            yield
        finally:
            self.on_settle = held

    # -- numbers -----------------------------------------------------------------------------------

    def whole(self, n: int) -> Any:
        """Return an integer as a constant of 64 bits."""
        return ir.Constant(I64, n)

    def variable(self, kind: Any) -> Any:
        """Allocate a variable on the stack; return its address."""
        place = self.head.alloca(kind)
        if is_complex_type(kind):
            place.type = PTR  # the parts are loaded and stored one by one
        return place

    def stored(self, value: Any) -> Any:
        """Return the address of a new variable with a value."""
        place = self.variable(value.type)
        self.b.store(value, place)
        return place

    def words(self, n: int) -> Any:
        """Allocate `n` zeroed integers on the stack; return their address."""
        place = self.head.alloca(I64, n)
        for k in range(n):
            self.head.store(ir.Constant(I64, 0), self.head.gep(place, [self.whole(k)]))
        return self.head.gep(place, [self.whole(0)], source_etype=I64)

    def external(self, name: str, result: Any, types: list) -> Any:
        """Declare a function by name, if it is not declared or defined yet."""
        found = self.module.globals.get(name)
        if found is not None:
            return found
        return ir.Function(self.module, ir.FunctionType(result, types), name)

    def call(self, name: str, result: Any, args: list) -> Any:
        """Call a function by name, such as one of the C library."""
        if name.startswith("fe"):  # it reads or clears the flags of what has been computed
            self.settle()
        return self.b.call(self.external(name, result, [a.type for a in args]), args)

    def less(self, a: Any, b: Any) -> Any:
        """Whether one signed integer is less than another."""
        return self.b.icmp_signed("<", a, b)

    def equal(self, a: Any, b: Any) -> Any:
        """Whether two integers are equal."""
        return self.b.icmp_signed("==", a, b)

    def lesser(self, a: Any, b: Any) -> Any:
        """Return the lesser of two signed integers."""
        return a if a is b else self.b.select(self.less(a, b), a, b)

    def greater(self, a: Any, b: Any) -> Any:
        """Return the greater of two signed integers."""
        return a if a is b else self.b.select(self.less(a, b), b, a)

    # -- control flow ------------------------------------------------------------------------------

    def exit_if(self, test: Any, status: int = STEPS_ASIDE) -> None:
        """Return a status if a test holds."""
        if isinstance(test, ir.Constant) and not test.constant:
            return
        if status not in self.exits:
            self.exits[status] = self.function.append_basic_block(f"exit{status}")
        following = self.function.append_basic_block()
        with self.apart():
            branch = self.b.cbranch(test, self.exits[status], following)
        branch.set_weights([1, 9999])
        self._continue_at(following)
        self.b.known.note(test, False)

    def _continue_at(self, following: Any) -> None:
        """Continue at a block that is reached only through the current one."""
        known = self.b.known
        self.b.position_at_end(following)
        self.b.known = known

    def leave_with(self, status: Any) -> None:
        """Return a status unless it is success."""
        left, following = (self.function.append_basic_block() for _ in range(2))
        failed = self.b.icmp_signed("!=", status, ir.Constant(I32, 0))
        with self.apart():
            self.b.cbranch(failed, left, following).set_weights([1, 9999])
        ir.IRBuilder(left).ret(status)
        self._continue_at(following)

    @contextmanager
    def branch(self, test: Any, likely: bool | None = None) -> Iterator[None]:
        """Emit a branch that runs if a test holds."""
        known = self.b.known
        self.depth += 1
        with self.b.if_then(test, likely):
            self.b.known = known.inner()
            yield
        self.depth -= 1
        self.b.known = known

    @contextmanager
    def branches(self, test: Any) -> Iterator[Any]:
        """Emit two branches, for a test that holds and for one that does not."""
        known = self.b.known

        @contextmanager
        def inside(branch: Any) -> Iterator[None]:
            with branch:
                self.b.known = known.inner()
                yield

        self.depth += 1
        with self.b.if_else(test) as both:
            yield tuple(map(inside, both))
        self.depth -= 1
        self.b.known = known

    @contextmanager
    def counted(self, n: Any, alone: bool = False, is_dense: bool = True) -> Any:
        """Emit a loop of n iterations; yield the index.

        `alone` says that no iteration reads what another one writes (`accessed` marks the loads
        and stores): LLVM then vectorizes without checks for aliasing, if `is_dense`, that is if
        the elements are contiguous. Short loops are not vectorized: LLVM would pad a register with
        zeros, and a division by them would raise an exception flag that NumPy does not raise. So
        LLVM must not be able to infer that the trip count is small, either: it is hidden.
        """
        is_short = isinstance(n, ir.Constant) and n.constant < SHORT_LOOP
        if alone and is_dense and not is_short:
            n = self.hidden(n)
        self.settle()
        before, known = self.b.block, self.b.known
        head = self.function.append_basic_block("head")
        body = self.function.append_basic_block("body")
        after = self.function.append_basic_block("after")
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(I64)
        i.add_incoming(self.whole(0), before)
        self.b.cbranch(self.less(i, n), body, after)
        self.b.position_at_end(body)
        self.b.known = known.inner()
        self.behind.append(after)
        self.depth += 1
        yield i
        self.settle()
        self.depth -= 1
        self.behind.pop()
        following = self.b.add(i, self.whole(1), flags=("nsw",))
        i.add_incoming(following, self.b.block)
        back = self.b.branch(head)
        if alone:
            mark = "loop" if is_dense and not is_short else "loop of single elements"
            number = len(self.module.metadata)  # each loop has a mark of its own
            back.set_metadata("llvm.loop", self.module.add_metadata([f"{mark} {number}"]))
        self.b.position_at_end(after)
        self.b.known = known

    def hidden(self, n: Any) -> Any:
        """Return an integer of which LLVM knows nothing: the result of an empty instruction."""
        return self.b.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [n], False)

    def accessed(self, instruction: Any) -> Any:
        """Mark a load or store in a loop with independent iterations; return it."""
        group = self.module.add_metadata(["accesses"])
        for part in getattr(instruction, "parts", (instruction,)):
            part.set_metadata("llvm.access.group", group)
        return instruction

    @contextmanager
    def endless(self) -> Any:
        """Emit an infinite loop, which `leave_if` leaves."""
        head = self.function.append_basic_block("while")
        after = self.function.append_basic_block("left")
        self.b.branch(head)
        known = self.b.known
        self.b.position_at_end(head)
        self.b.known = known.inner()
        self.behind.append(after)
        self.depth += 1
        yield
        if not self.b.block.is_terminated:
            self.b.branch(head)
        self.depth -= 1
        self.behind.pop()
        self.b.position_at_end(after)
        self.b.known = known

    def leave_if(self, test: Any) -> None:
        """Leave the innermost loop if a test holds."""
        following = self.function.append_basic_block()
        self.b.cbranch(test, self.behind[-1], following)
        self._continue_at(following)

    # -- memory ------------------------------------------------------------------------------------

    def at(self, pointer: Any, offset: Any) -> Any:
        """Return an address plus an offset in bytes."""
        if isinstance(offset, ir.Constant) and offset.constant == 0:
            return pointer
        return self.b.gep(pointer, [offset], source_etype=I8)

    def word(self, pointer: Any, k: int, kind: Any = I64) -> Any:
        """Load the k-th word of a struct."""
        return self.b.load(self.at(pointer, self.whole(8 * k)), typ=kind)

    def set_word(self, pointer: Any, k: int, value: Any) -> None:
        """Store the k-th word of a struct."""
        self.b.store(value, self.at(pointer, self.whole(8 * k)))

    def to_words(self, x: Any) -> list[Any]:
        """Return a number as words: a float as the bits of a double, a complex number as two."""
        b = self.b
        if is_complex_type(x.type):
            return [word for part in b.parts(x) for word in self.to_words(part)]
        if x.type in (I64, I1):
            return [x if x.type == I64 else b.zext(x, I64)]
        return [b.bitcast(b.fpext(x, F64) if x.type == F32 else x, I64)]

    def from_words(self, letter: str, words: Any) -> Any:
        """Return the next number from an iterator over words or doubles."""
        b = self.b
        if letter in PARTS:
            return b.pair(*[self.from_words(PARTS[letter], words) for _ in range(2)])
        x = next(words)
        if letter in "ibt":
            return b.trunc(x, I1) if letter == "b" else x
        x = b.bitcast(x, F64) if x.type == I64 else x
        return b.fptrunc(x, F32) if letter == "s" else x
