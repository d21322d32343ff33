"""Loop nests over the elements of arrays, and memory for their results."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import INT, Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import (
    FALSE,
    I64,
    PTR,
    SHAPES_DIFFER,
    TYPES,
    FunctionBuilder,
    element_of,
)
from autodiff.structured.native.lowered_values import (
    Array,
    FreshMemory,
    LazyArray,
    Number,
    is_one,
)
from autodiff.structured.native.numbers.scalars import Scalars


class ElementLoops:
    """Allocation of arrays, and loops over their elements."""

    def __init__(self, code: FunctionBuilder, scalars: Scalars, state: Any) -> None:
        self.code = code
        self.scalars = scalars
        self.state = state
        self.scratch_count = 0  # arrays allocated in ``scratch``, which each iteration releases

    @property
    def b(self) -> Any:
        """The instruction builder."""
        return self.code.b

    # -- memory ------------------------------------------------------------------------------------

    def allocate(self, dtype: np.dtype, shape: list, store: int) -> Array:
        """Allocate an uninitialized array in C order."""
        self.scratch_count += store == memory.SCRATCH
        element_of(dtype)
        strides, size = self.strides_of(dtype, shape)
        address = memory.allocated(self.code, self.state, store, size)
        return Array(dtype, address, list(shape), strides, FreshMemory())

    def strides_of(self, dtype: np.dtype, shape: list) -> tuple[list, Any]:
        """Return the strides of an array in C order, and its size in bytes."""
        size: Any = self.code.whole(dtype.itemsize)
        strides: list[Any] = []
        for n in reversed(shape):
            strides.insert(0, size)
            size = self.b.mul(size, n)
        return strides, size

    def size_of(self, shape: Iterable) -> Any:
        """Return the product of some lengths."""
        return functools.reduce(self.b.mul, shape, self.code.whole(1))

    def one_of(self, test: Any, *makers: Callable[[], Array]) -> Array:
        """Return the first of two arrays of one shape if a test holds, else the second.

        Each maker runs in a branch of its own.
        """
        code, made = self.code, []
        address = code.variable(PTR)
        strides: list[Any] = []
        with code.branches(test) as branches:
            for branch, make in zip(branches, makers, strict=True):
                with branch:
                    made.append(make())
                    strides = strides or [code.variable(I64) for _ in made[0].strides]
                    values = (made[-1].address, *made[-1].strides)
                    for value, place in zip(values, (address, *strides), strict=True):
                        self.b.store(value, place)
        first, second = made
        pairs = zip(first.strides, second.strides, strides, strict=True)
        steps = [m if _is_same(m, n) else self.b.load(place, typ=I64) for m, n, place in pairs]
        return Array(first.dtype, self.b.load(address, typ=PTR), first.shape, steps, FreshMemory())

    # -- loops -------------------------------------------------------------------------------------

    def tree(self, f: Any, kind: Kind, parts: list) -> LazyArray:
        """Return a lazy elementwise call."""
        shape: list = []
        for p in parts:
            if not isinstance(p, Number):
                shape = self.broadcast(shape, p.shape)
        if len(shape) != kind.ndim:
            raise UnsupportedError("an array of another rank")
        return LazyArray(kind, f, parts, shape)

    def broadcast(self, a: list, c: list) -> list:
        """Return the shape that two shapes broadcast to.

        Only axes of statically known length 1 are broadcast. Bail out if others differ.
        """
        if len(a) < len(c):
            a, c = c, a
        result, pairs = list(a), []
        for k, n in enumerate(c, len(a) - len(c)):
            if is_one(result[k]):
                result[k] = n
            elif not is_one(n):
                pairs.append((result[k], n))
        self._check_equal(pairs)
        return result

    def _check_equal(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Bail out unless the lengths of each pair are equal: one branch for all."""
        differ = [self.b.icmp_signed("!=", m, n) for m, n in pairs]
        self.code.exit_if(functools.reduce(self.b.or_, differ, FALSE), SHAPES_DIFFER)

    def check_shape(self, shape: list, expected: list) -> None:
        """Bail out unless two shapes are equal."""
        if len(shape) != len(expected):
            raise UnsupportedError("arrays of different ranks")
        self._check_equal(zip(shape, expected, strict=True))

    def check_fits(self, shape: list, target: list) -> None:
        """Bail out unless a shape broadcasts to another one."""
        if len(shape) > len(target):
            raise UnsupportedError("an array of higher rank")
        pairs = zip(shape, target[len(target) - len(shape) :], strict=True)
        self._check_equal([(m, n) for m, n in pairs if not is_one(m)])

    def for_each(
        self, shape: list, arrays: list[Array], body: Callable[[list], None],
        is_parallel: bool = True,
        around: Callable[[list], AbstractContextManager] | None = None,
    ) -> None:  # fmt: skip
        """Emit a loop nest over a shape.

        Parameters
        ----------
        shape : list
            The iteration space.
        arrays : list of Array
            Arrays that broadcast to `shape`.
        body : callable
            Emits the innermost body, given the address of one element of each array.
        is_parallel : bool
            Whether no iteration reads what another one writes.
        around : callable, optional
            Returns a context in which each innermost loop is emitted, given the addresses of its
            first elements.
        """
        if not shape:
            raise UnsupportedError("a 0-d array")
        addresses = [a.address for a in arrays]
        self._axis(shape, arrays, addresses, 0, body, is_parallel, around or contextlib.nullcontext)

    def _axis(
        self, shape: list, arrays: list[Array], at: list, axis: int, body: Callable[[list], None],
        is_parallel: bool, around: Callable[[list], AbstractContextManager],
    ) -> None:  # fmt: skip
        code, b = self.code, self.b
        steps = [self.stride(a, shape, axis) for a in arrays]
        n = shape[axis]
        if axis < len(shape) - 1:
            with code.counted(n) as i:
                rows = [code.at(p, b.mul(i, s)) if s is not None else p
                        for p, s in zip(at, steps, strict=True)]  # fmt: skip
                self._axis(shape, arrays, rows, axis + 1, body, is_parallel, around)
            return

        sizes = [(a.dtype.itemsize, s) for a, s in zip(arrays, steps, strict=True) if s is not None]
        is_dense = all(isinstance(s, ir.Constant) and s.constant in (0, k) for k, s in sizes)
        is_vectorized = is_parallel and is_dense
        loop = code.counted(n, is_parallel, is_dense)
        with around(at), self.domain_checks(is_vectorized), loop as i:
            body([self.moved(p, a, s, i) for a, p, s in zip(arrays, at, steps, strict=True)])

    def moved(self, address: Any, a: Array, stride: Any, i: Any) -> Any:
        """Return an address moved by an index along an axis with a stride: see `stride`."""
        if stride is None:
            return address
        if isinstance(stride, ir.Constant) and stride.constant == a.dtype.itemsize:
            return self.b.gep(address, [i], source_etype=element_of(a.dtype)[0])
        return self.code.at(address, self.b.mul(i, stride))

    @contextlib.contextmanager
    def domain_checks(self, is_vectorized: bool) -> Iterator[None]:
        """Bail out after a loop if an argument of a vectorized function was out of its domain."""
        scalars, before = self.scalars, (self.scalars.is_vectorized, self.scalars.outside)
        scalars.is_vectorized, scalars.outside = is_vectorized, None
        yield
        found = scalars.outside
        scalars.is_vectorized, scalars.outside = before
        if found is not None:
            self.code.exit_if(self.b.load(found, typ=TYPES["b"]))

    def stride(self, a: Array, shape: list, axis: int) -> Any:
        """Return the stride along an axis of a shape, None if the array is broadcast there."""
        k = axis - (len(shape) - len(a.shape))
        if k < 0 or (is_one(a.shape[k]) and not is_one(shape[axis])):
            return None
        return a.strides[k]

    def element(self, x: Any, addresses: dict[int, Any]) -> Number:
        """Compute one element, given the address of that element of each array by id."""
        return self.computed(x, {}, addresses)

    def computed(self, x: Any, known: dict[int, Number], addresses: dict[int, Any]) -> Number:
        """Compute one element; `known` has, by id, what has been loaded and computed of it."""
        if isinstance(x, Number):
            return x
        if id(x) not in known:
            known[id(x)] = (
                self.load_number(x.dtype, addresses[id(x)])
                if isinstance(x, Array)
                else self.scalars.function(
                    x.f, [self.computed(p, known, addresses) for p in x.parts], x.kind
                )
            )
        return known[id(x)]

    def load_number(self, dtype: np.dtype, address: Any) -> Number:
        """Load an element from an address."""
        kind, letter = element_of(dtype)
        value = self.code.accessed(self.b.load(address, typ=kind))
        if letter == "b":
            value = self.b.trunc(value, TYPES["b"])
        elif letter == "i" and kind is not TYPES["i"]:
            value = self.scalars.widened(dtype, value)
        return Number(Kind(frozenset([dtype.type])), letter, value)

    def as_element(self, dtype: np.dtype, x: Number) -> Number:
        """Return a number as an array of a dtype holds it; bail out if an integer does not fit."""
        letter = element_of(dtype)[1]
        own = Kind(frozenset([dtype.type]))
        if letter == "i" and x.letter in "ds":
            x = Number(INT, "i", self.scalars.float_to_integer(int, self.scalars.converted(x, "d")))
        value = self.scalars.converted(x, letter)
        if letter == "i" and x.kind.classes != own.classes:
            self.scalars.check_fits(dtype, value)
        return Number(own, letter, value)

    def store_number(self, dtype: np.dtype, x: Number, address: Any) -> None:
        """Store an element at an address."""
        kind, letter = element_of(dtype)
        value = self.as_element(dtype, x).value
        if letter == "b":
            value = self.b.zext(value, kind)
        elif letter == "i" and kind is not TYPES["i"]:
            value = self.b.trunc(value, kind)
        self.code.accessed(self.b.store(value, address))

    def update(self, a: Array, address: Any, x: Number, f: Callable | None) -> None:
        """Write a number into an element of an array, by `f` of the old one and it if given."""
        if f is not None:
            x = self.scalars.function(f, [self.load_number(a.dtype, address), x], a.kind)
        self.store_number(a.dtype, x, address)

    def address_of(self, a: Array, *index: Any) -> Any:
        """Return the address at an index into the first axes."""
        offsets = [self.b.mul(i, stride) for i, stride in zip(index, a.strides, strict=False)]
        return self.code.at(a.address, functools.reduce(self.b.add, offsets))

    def load_item(self, a: Array, i: Any) -> Number:
        """Load an element of a vector."""
        return self.load_number(a.dtype, self.address_of(a, i))

    def store_item(self, a: Array, i: Any, x: Number) -> None:
        """Store an element of a vector."""
        self.store_number(a.dtype, x, self.address_of(a, i))

    # -- views ------------------------------------------------------------------------------------

    def row(self, x: Array, i: Any) -> Array:
        """Return the view ``x[i]``."""
        return x.view(self.address_of(x, i), x.shape[1:], x.strides[1:])


def _is_same(m: Any, n: Any) -> bool:
    """Whether two integers are one constant."""
    return isinstance(m, ir.Constant) and isinstance(n, ir.Constant) and m.constant == n.constant
