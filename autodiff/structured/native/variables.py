"""Names during lowering: values bound in one block, and variables in stack slots."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.blas_sums import factored, solve_factored
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.dataflow import (
    Escapes,
    double_buffered,
    shared_shadows,
    short_lived,
)
from autodiff.structured.native.expression_lowering import PASS_ON, Expressions, is_elementwise
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import (
    I32,
    I64,
    PARTS,
    PTR,
    TYPES,
    FunctionBuilder,
)
from autodiff.structured.native.lowered_values import (
    CONTAINERS,
    TAGS,
    Array,
    FreshMemory,
    LazyArray,
    Number,
    RangeValue,
    StaticValue,
    TupleValue,
    dtype_of,
    has_tag,
    is_whole,
    is_word,
    leaves,
    letter_of,
    parts_of_tuple,
)
from autodiff.structured.native.numbers.comparisons import tag_of
from autodiff.structured.native.symbol_table import SymbolTable


def _is_new(f: Any) -> bool:
    """Whether machine code always computes a new array for a call of a function."""
    if isinstance(f, np.ufunc):
        return f not in (np.conjugate, np.positive)
    return f is factored or f is solve_factored


_BUILTINS = {"len": len, "set": set, "float": float}


def _is_tuple(kind: Kind) -> bool:
    """Whether values of this kind are tuples of numbers and symbols."""
    return kind.classes == {tuple} and bool(kind.parts) and all(map(is_word, kind.parts))


class StackSlot:
    """The stack slots of a variable.

    They hold a number and its tag, the numbers of a tuple, the address, shape and strides of an
    array, or the address of a list or dict.
    """

    def __init__(self, code: FunctionBuilder, kind: Kind) -> None:
        self.kind = kind
        self.tag: Any = None
        self.parts: list[StackSlot] = []
        if kind.has_items:
            self.value = code.variable(PTR)
            return
        if kind.is_array:
            self.value = code.variable(PTR)
            code.head.store(ir.Constant(PTR, None), self.value)  # `_in_other_buffer` reads it first
            self.sizes = [code.variable(I64) for _ in range(2 * kind.ndim)]
            return
        self.parts = [StackSlot(code, part) for part in kind.parts]
        if self.parts:
            return
        self.value = code.variable(TYPES[letter_of(kind)])
        if has_tag(kind):
            self.tag = code.variable(I64)


class Variables(Expressions):
    """Lowering of expressions and of bindings of names.

    Parameters
    ----------
    code, state, scope, adjoints, forward
        As for `Expressions`.
    names : SymbolTable
        The symbol table of the program.
    pushes : dict
        Line of a ``push`` → the names that the sweep pops there.
    body : list of ast.stmt
        The statements to lower.
    results : set of str
        The names that are returned.
    live : callable
        Returns the names that are live after the statement in a line.
    unwritten : set of str
        The variables whose arrays are not written into while they hold them.
    """

    def __init__(
        self, code: FunctionBuilder, state: Any, scope: dict[str, Any], adjoints: dict[int, tuple],
        forward: bool, names: SymbolTable, pushes: dict[int, list[str]], body: list[ast.stmt],
        results: set[str], live: Callable[[int], set[str]], unwritten: set[str],
    ) -> None:  # fmt: skip
        super().__init__(code, state, scope, adjoints, forward)
        self.names = names
        self.pushes = pushes
        self.slots: dict[str, StackSlot] = {}
        self.bound: dict[str, Any] = {}
        self.pending_reads: dict[str, int] = {}  # of lazy arrays: how many reads are left
        roots, elementwise = names.variables | results, {f for f, x in scope.items() if _is_new(x)}
        escapes = Escapes(body, names.lists, short_lived(body, live), elementwise)
        self.double_buffered = double_buffered(escapes, unwritten, roots)
        swapped = set[str]().union(*self.double_buffered.values())
        self.escaping = escapes.of(roots - swapped)
        if forward:
            names.shared_shadows = shared_shadows(escapes, roots)
        self.swapped: set[str] = set()  # variables with two buffers that the statement binds
        self.buffers: dict[str, Any] = {}  # of these: their addresses and sizes
        self.store = memory.SCRATCH
        self.loaded: dict[str, Array] = {}  # variables as this block has loaded them
        self.depth = 0  # of the block, in branches and loops
        self.elementwise_names = {
            name for name, f in scope.items() if is_elementwise(f) or any(f is g for g in PASS_ON)
        }
        self.elementwise.before_settling = self._before_settling

    def slot(self, name: str) -> StackSlot:
        """Return the stack slots of a variable."""
        found = self.slots.get(name)
        if found is None:
            kind = self.names.kinds.get(name)
            if kind is None or not (
                kind.is_array or is_word(kind) or _is_tuple(kind) or name in self.names.lists
            ):
                raise UnsupportedError(name)
            found = self.slots[name] = StackSlot(self.code, kind)
        return found

    def read(self, name: str) -> Any:
        """Return the value of a name."""
        if name in self.bound:
            found = self.bound[name]
            if isinstance(found, LazyArray) and name in self.pending_reads:
                self.pending_reads[name] -= 1
                if not self.pending_reads[name]:
                    del self.pending_reads[name]
            return found
        if name in self.scope:
            return StaticValue(self.scope[name])
        if name in self.names.variables:
            return self._variable(name)
        if name in _BUILTINS:
            return StaticValue(_BUILTINS[name])
        raise UnsupportedError(name)

    def _variable(self, name: str) -> Any:
        slot, b = self.slot(name), self.b
        kind = slot.kind
        if kind.has_items:
            return self.container_at(self.names.lists[name], b.load(slot.value, typ=PTR))
        if kind.is_array:
            if name not in self.loaded:
                sizes = [b.load(p, typ=I64) for p in slot.sizes]
                address = b.load(slot.value, typ=PTR)
                ones = self.names.unit_axes_of(name)
                self.loaded[name] = self._named_array(name, kind, address, sizes, ones)
            return self.loaded[name]
        if slot.parts:
            return TupleValue(list(map(self._number_in, slot.parts)))
        return self._number_in(slot)

    def _number_in(self, slot: StackSlot) -> Number:
        """Load a number."""
        letter = letter_of(slot.kind)
        tag = self.b.load(slot.tag, typ=I64) if slot.tag is not None else None
        return Number(slot.kind, letter, self.b.load(slot.value, typ=TYPES[letter]), tag)

    def _named_array(
        self, name: str, kind: Kind, address: Any, sizes: list, ones: Iterable[int]
    ) -> Array:
        """Return the array of a name from its words, with what is known statically of them.

        `sizes` are the shape and strides, `ones` the axes of length 1.
        """
        shape, strides = sizes[: kind.ndim], sizes[kind.ndim :]
        assert kind.dtype is not None
        for k in ones:
            shape[k] = self.code.whole(1)
        if name in self.names.dense:
            strides[self.names.dense[name]] = self.code.whole(kind.dtype.itemsize)
        return Array(kind.dtype, address, shape, strides, self.names.alias_sets.get(name), name)

    def bind(self, name: str, value: Any) -> None:
        """Bind a name to a value."""
        kind = self.names.kinds.get(name)
        is_typed = kind is not None and (kind.is_array or is_word(kind))
        if name in self.names.lists:
            value = self.from_display(self.names.lists[name], value)
        if self.forward and isinstance(value, Array) and not self._is_laid_out(name, value):
            value = self.elementwise.materialize(value, self.store)  # the real part, say
        if kind is not None and name in self.swapped:
            value = self._in_other_buffer(name, kind, value)
        elif (
            kind is not None and kind.is_array and not self.forward and name in self.names.variables
        ):
            value = self._cotangent(name, kind, value)
        if isinstance(value, LazyArray) and (name in self.names.variables or name in self.escaping):
            store = memory.KEPT if name in self.escaping else memory.SCRATCH
            value = self.elementwise.materialize(value, store)
        if (
            is_typed
            and self.forward
            and not isinstance(value, (StaticValue, TupleValue, RangeValue))
        ):
            value = self.checked(name, kind, value)
        if self.forward and isinstance(value, Array) and isinstance(value.alias_set, FreshMemory):
            value.alias_set = self.names.alias_sets.get(name, value.alias_set)
        if name in self.names.variables:
            self.set_variable(name, value)
        else:
            self.bound[name] = value

    def _cotangent(self, name: str, kind: Kind, value: Any) -> Any:
        """Return a cotangent with the dtype and the layout of its variable, copied if necessary."""
        if not isinstance(value, (Array, LazyArray)) or len(value.shape) != kind.ndim:
            raise UnsupportedError(f"{name} of another kind")
        is_laid_out = isinstance(value, Array) and self._is_laid_out(name, value)
        if is_laid_out and dtype_of(value) == kind.dtype:
            return value
        return self.elementwise.materialize(value, memory.KEPT, kind.dtype)

    def _is_laid_out(self, name: str, value: Array) -> bool:
        """Whether an array is known to be contiguous along the axis that its name says."""
        axis = self.names.dense.get(name)
        if axis is None or axis >= len(value.shape):
            return True
        step = value.strides[axis]
        return isinstance(step, ir.Constant) and step.constant == value.dtype.itemsize

    def _in_other_buffer(self, name: str, kind: Kind, value: Any) -> Array:
        """Write the value of a variable into the buffer that does not hold its old value."""
        if not isinstance(value, (Array, LazyArray)) or len(value.shape) != kind.ndim:
            raise UnsupportedError(f"{name} of another kind")
        if self.forward:
            self.checked(name, kind, value)
        assert kind.dtype is not None  # it is an array
        code, b = self.code, self.b
        buffers = self.buffers.get(name)
        if buffers is None:
            buffers = self.buffers[name] = code.words(4)
        old = b.ptrtoint(b.load(self.slot(name).value, typ=PTR), I64)
        is_in_first = code.equal(old, code.word(buffers, 0))
        buffer = code.at(buffers, b.select(is_in_first, code.whole(16), code.whole(0)))
        strides, size = self.elementwise.strides_of(kind.dtype, value.shape)
        address = self._room(buffer, size)
        result = Array(kind.dtype, address, list(value.shape), strides, FreshMemory())
        self.elementwise.note_new(address)
        self.elementwise.write(result, value)
        return result

    def _room(self, place: Any, size: Any, is_zero: bool = False) -> Any:
        """Return the address of memory that is allocated where a place has less than a size.

        The place holds its address and size. New memory is set to zero if `is_zero`.
        """
        code, b = self.code, self.b
        with code.apart(), code.branch(code.less(code.word(place, 1), size)):
            made = memory.allocated(code, self.state, memory.KEPT, size)
            if is_zero:
                code.call("memset", PTR, [made, ir.Constant(I32, 0), size])
            code.set_word(place, 0, b.ptrtoint(made, I64))
            code.set_word(place, 1, size)
        return b.inttoptr(code.word(place, 0), PTR)

    def checked(self, name: str, kind: Any, value: Any) -> Any:
        """Check that a value has the kind that was inferred for its name, and narrow it.

        If only the tag tells, check that at run time.
        """
        own = value.kind
        if own.is_array or kind.is_array:
            if own.dtype != kind.dtype or own.ndim != kind.ndim:
                raise UnsupportedError(f"{name} of another kind")
            return value
        if own.classes <= kind.classes:
            return value
        if letter_of(own) == letter_of(kind) == "b":  # the operands may have several classes
            return Number(kind, "b", value.value)
        if is_whole(own) and is_whole(kind):  # the variable may hold other integers elsewhere
            return Number(kind, "i", value.value)
        if value.tag is None:
            raise UnsupportedError(f"{name} of another class")
        classes = own.classes & kind.classes
        expected: Any = ir.Constant(TYPES["b"], 0)
        for cls in classes:
            expected = self.b.or_(expected, self.code.equal(value.tag, self.code.whole(TAGS[cls])))
        self.code.exit_if(self.b.not_(expected))
        known = Kind(classes)
        if value.letter in PARTS and letter_of(known) not in PARTS:
            value = replace(self.scalars.part_of(value, "real"), tag=value.tag)
        return replace(value, kind=known)

    def shared_shadow(self, call: ast.Call) -> Array:
        """Lower ``zeros_like(x)``, the new shadow of an array. All iterations get the same memory.

        It is zero when it is allocated, and the sweep of each iteration leaves it so (`wipe`).
        """
        x, *rest = [self.expression(a) for a in call.args]
        order = [int(p.x) for p in rest[0].parts] if rest else list(range(len(x.shape)))
        shape = [x.shape[k] for k in order]
        strides, size = self.elementwise.strides_of(x.dtype, shape)
        address = self._room(self.code.words(2), size, is_zero=True)
        found = Array(x.dtype, address, shape, strides, FreshMemory())
        return found.with_axes([order.index(k) for k in range(len(order))])

    def set_variable(self, name: str, value: Any) -> None:
        """Store a value in the stack slots of a variable."""
        slot, b = self.slot(name), self.b
        kind = slot.kind
        if kind.has_items:
            is_held = isinstance(value, CONTAINERS)
            if not is_held or value.items != self.names.lists[name]:
                raise UnsupportedError(f"{name} of another kind")
            b.store(value.address, slot.value)
            return
        if kind.is_array:
            if not isinstance(value, Array) or len(value.shape) != kind.ndim:
                raise UnsupportedError(f"{name} of another kind")
            ones, sizes = self.names.unit_axes_of(name), [*value.shape, *value.strides]
            for k in ones:
                self.elementwise.check_shape([value.shape[k]], [self.code.whole(1)])
            b.store(value.address, slot.value)
            for p, n in zip(slot.sizes, sizes, strict=True):
                b.store(n, p)
            self.loaded[name] = self._named_array(name, kind, value.address, sizes, ones)
            return
        if slot.parts:
            for own, part in zip(slot.parts, parts_of_tuple(value), strict=True):
                self._store_number(name, own, part)
            return
        self._store_number(name, slot, value)

    def _store_number(self, name: str, slot: StackSlot, value: Any) -> None:
        number, b = self.scalars.number(value), self.b
        if not isinstance(number, Number):
            raise UnsupportedError(f"{name} of another kind")
        b.store(self.scalars.converted(number, letter_of(slot.kind)), slot.value)
        if slot.tag is not None:
            if len(number.kind.classes) > 1 and number.tag is None:
                raise UnsupportedError("a number of several classes")
            b.store(tag_of(self.code, number), slot.tag)

    def materialize_readers(self, alias_set: Any) -> None:
        """Materialize the lazy arrays that read an alias set, before a write into it."""
        for name in list(self.pending_reads):
            lazy = self.bound[name]
            if any(leaf.alias_set is alias_set for leaf in leaves(lazy)):
                self._materialize(name)

    def _materialize_pending(self) -> None:
        for name in list(self.pending_reads):
            self._materialize(name)

    def _before_settling(self) -> None:
        """Compute lazy arrays together with the loops that compute a part of them."""
        if self.code.depth == self.depth:
            for name in list(self.pending_reads):
                if self.elementwise.is_computed_with(self.bound[name]):
                    self._materialize(name)

    def _materialize(self, name: str) -> None:
        result = self.elementwise.materialize(self.bound[name], memory.SCRATCH)
        if self.forward:
            result.alias_set = self.names.alias_sets.get(name, result.alias_set)
        self.bound[name] = result
        del self.pending_reads[name]
