"""Loops as machine code, called from the source around them."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native import memory
from autodiff.structured.native.code import (
    I32,
    I64,
    MAY_WARN,
    PTR,
    SHAPES_DIFFER,
    STEPS_ASIDE,
    TYPES,
    Code,
    element_of,
)
from autodiff.structured.native.machine import Compiled
from autodiff.structured.native.memory import Tape
from autodiff.structured.native.names import Names
from autodiff.structured.native.scalars import tag_of
from autodiff.structured.native.statements import Statements
from autodiff.structured.native.values import TAGS, Array, Number, has_tag, letter_of
from autodiff.structured.runtime_calls import SteppedAsideError, UnequalError

_DATA, _NDIM, _SHAPE, _STRIDES = 16, 24, 32, 40  # in an array of NumPy, by its C interface
# What is invalid, divisions by zero, and what overflows: FE_... of C.
_EXCEPTIONS = {"x86_64": 1 | 4 | 8, "AMD64": 1 | 4 | 8, "aarch64": 1 | 2 | 4, "arm64": 1 | 2 | 4}
_CLASSES = {tag: cls for cls, tag in TAGS.items()}
_WHY = {
    STEPS_ASIDE: "an index out of bounds, a division by zero, or large integers",
    MAY_WARN: "NaN or Inf made of numbers",
}
_EXACT = 2**53
_C_TYPES = {"d": ctypes.c_double, "s": ctypes.c_double, "i": ctypes.c_int64, "b": ctypes.c_int64}


class Part:
    """One direction of a loop: its parameters, and what it hands back.

    Attributes
    ----------
    name : str
        Of the function in machine code.
    given : list of str
        The names that it reads, in the order of its arguments.
    results : list of str
        The names that it hands back.
    """

    def __init__(
        self, name: str, given: list[str], results: list[str], kinds: dict[str, Kind]
    ) -> None:
        self.name = name
        self.given = given
        self.results = results
        self.kinds = kinds
        for x in (*given, *results):
            kind = kinds.get(x)
            if kind is None or not (kind.is_array or kind.is_scalar):
                what = "a list" if kind is not None and kind.is_list else x
                raise UnsupportedError(f"{what} handed to machine code")
            if kind.is_array:
                element_of(kind.dtype)
                if not kind.ndim:
                    raise UnsupportedError("an array without axes")
            else:
                letter_of(kind)
        numbers = [kinds[x] for x in results if not kinds[x].is_array]
        if any(len(kind.classes) > 1 and not has_tag(kind) for kind in numbers):
            raise UnsupportedError("a number of several classes")

    def types(self) -> list[Any]:
        """Return the types of ctypes of the parameters."""
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for x in self.given:
            kind = self.kinds[x]
            types.append(ctypes.py_object if kind.is_array else _C_TYPES[letter_of(kind)])
            if not kind.is_array and has_tag(kind):
                types.append(ctypes.c_int64)
        return types

    def llvm_types(self) -> list[Any]:
        """Return these types as instructions have them."""
        made = {ctypes.c_void_p: PTR, ctypes.py_object: PTR, ctypes.c_double: TYPES["d"],
                ctypes.c_int64: I64}  # fmt: skip
        return [made[t] for t in self.types()]


def enter(code: Code, part: Part, statements: Statements) -> None:
    """Write what takes the arguments."""
    _, _, *args = code.function.args
    rest = iter(args)
    b = code.b
    memory.begin(code, statements.state)
    for name in part.given:
        kind = part.kinds[name]
        x = next(rest)
        if kind.is_array:
            value: Any = _array(code, x, kind, statements.names, name)
        else:
            letter = letter_of(kind)
            if letter == "s":
                x = b.fptrunc(x, TYPES["s"])
            elif letter == "b":
                x = b.trunc(x, TYPES["b"])
            value = Number(kind, letter, x, next(rest) if has_tag(kind) else None)
        if name in statements.names.variables:
            statements._set(name, value)
        else:
            statements.bound[name] = value
    if statements.forward:
        code.call("feclearexcept", I32, [ir.Constant(I32, _exceptions())])


def _array(code: Code, x: Any, kind: Kind, names: Names, name: str) -> Array:
    b = code.b
    ndim = b.load(code.at(x, code.whole(_NDIM)), typ=I32)
    code.exit_if(b.icmp_signed("!=", ndim, ir.Constant(I32, kind.ndim)))
    address = b.load(code.at(x, code.whole(_DATA)), typ=PTR)
    shape = b.load(code.at(x, code.whole(_SHAPE)), typ=PTR)
    strides = b.load(code.at(x, code.whole(_STRIDES)), typ=PTR)
    sizes = [code.word(shape, k) for k in range(kind.ndim)]
    for k in names.ones.get(name, ()):
        code.exit_if(b.not_(code.equal(sizes[k], code.whole(1))), SHAPES_DIFFER)
        sizes[k] = code.whole(1)
    steps = [code.word(strides, k) for k in range(kind.ndim)]
    # Elements lie where numbers of their size do.
    together = b.ptrtoint(address, I64)
    for s in steps:
        together = b.or_(together, s)
    assert kind.dtype is not None
    odd = b.and_(together, code.whole(kind.dtype.itemsize - 1))
    code.exit_if(b.icmp_signed("!=", odd, code.whole(0)))
    if name in names.dense:
        dense = code.whole(kind.dtype.itemsize)
        apart = b.and_(b.not_(code.equal(steps[-1], dense)), code.less(code.whole(1), sizes[-1]))
        code.exit_if(apart)
        steps[-1] = dense
    return Array(kind.dtype, address, sizes, steps, names.groups.get(name), name)


def leave(code: Code, part: Part, statements: Statements) -> None:
    """Write what hands the results back, and leaves where NumPy might have warned."""
    b = code.b
    out = code.function.args[1]
    k = 0
    for name in part.results:
        if part.kinds[name].is_array:
            x = statements.read(name)
            for word in (b.ptrtoint(x.address, I64), *x.shape, *x.strides):
                code.set_word(out, k, word)
                k += 1
            continue
        number = statements.scalars.number(statements.read(name))
        letter = letter_of(part.kinds[name])
        value = statements.scalars.converted(number, "d" if letter == "s" else letter)
        if letter in "ds":
            value = b.bitcast(value, I64)
        elif letter == "b":
            value = b.zext(value, I64)
        code.set_word(out, k, value)
        k += 1
        if has_tag(part.kinds[name]):
            code.set_word(out, k, tag_of(code, number))
            k += 1
    if statements.forward:
        found = code.call("fetestexcept", I32, [ir.Constant(I32, _exceptions())])
        code.exit_if(b.icmp_signed("!=", found, ir.Constant(I32, 0)), MAY_WARN)
    code.finish()


def _exceptions() -> int:
    return _EXCEPTIONS[platform.machine()]


class Loop:
    """A loop as machine code, forward and backward: what the source around it calls."""

    def __init__(self, compiled: Compiled, forward: Part, backward: Part) -> None:
        self.compiled = compiled
        self.forward_call = _caller(forward, compiled, True)
        self.backward_call = _caller(backward, compiled, False)

    def forward(self, push: Callable, *args: Any) -> Any:
        """Run the loop; what its sweep needs is pushed."""
        tape = Tape()
        found = self.forward_call(tape, args)
        tape.held = args
        push(tape)
        return found

    def backward(self, tape: Tape, *args: Any) -> Any:
        """Run the sweep of the loop."""
        found = self.backward_call(tape, args)
        if not tape.is_empty:
            raise SteppedAsideError("the sweep does not read what was pushed")
        return found


def _caller(part: Part, compiled: Compiled, is_forward: bool) -> Callable:
    """Return what converts arguments, calls machine code, and converts its results."""
    f = compiled.function(part.name, part.types())
    kinds = [part.kinds[x] for x in part.given]
    results = [part.kinds[x] for x in part.results]
    n = sum(map(_words_of, results))

    def call(tape: Tape, args: tuple) -> Any:
        given: list[Any] = []
        for x, kind in zip(args, kinds, strict=True):
            if kind.dtype is not None:
                if type(x) is not np.ndarray or x.dtype != kind.dtype:
                    raise SteppedAsideError("an array of another kind")
                given.append(x)
                continue
            if is_forward and type(x) not in kind.classes:
                raise SteppedAsideError("a number of another class")
            _give(x, kind, given)
        out = (ctypes.c_int64 * (n + 1))()
        status = f(tape.address, ctypes.addressof(out), *given)
        if status:
            if status == SHAPES_DIFFER:
                raise UnequalError(_ones_of(part.given, args))
            raise SteppedAsideError(_WHY[status])
        return _taken(out, results, (tape, args))

    return call


def _ones_of(names: list[str], args: tuple) -> dict[str, set[int]]:
    """Return the axes of arrays, and so of their shadows, that have one element."""
    arrays = {name: x for name, x in zip(names, args, strict=True) if type(x) is np.ndarray}
    axes = {name: {k for k, n in enumerate(x.shape) if n == 1} for name, x in arrays.items()}
    return {f"{name}_b": own for name, own in axes.items()} | axes


def _give(x: Any, kind: Kind, given: list[Any]) -> None:
    letter = letter_of(kind)
    if letter in "ib":
        number = int(x)
        if not -(2**62) < number < 2**62:
            raise SteppedAsideError("a large integer")
        given.append(number)
        return
    if type(x) is int and abs(x) >= _EXACT:
        raise SteppedAsideError("a large integer")
    given.append(float(x))
    if has_tag(kind):
        given.append(TAGS[type(x)])


def _words_of(kind: Kind) -> int:
    return 1 + 2 * kind.ndim if kind.is_array else 1 + has_tag(kind)


def _taken(out: Any, results: list[Kind], owner: tuple) -> tuple:
    doubles = ctypes.cast(out, ctypes.POINTER(ctypes.c_double))
    made: list[Any] = []
    k = 0
    for kind in results:
        if kind.dtype is not None:
            n = kind.ndim
            made.append(_array_at(kind, out[k], out[k + 1 : k + 1 + n],
                                  out[k + 1 + n : k + 1 + 2 * n], owner))  # fmt: skip
            k += 1 + 2 * n
            continue
        letter = letter_of(kind)
        x: Any = doubles[k] if letter in "ds" else out[k]
        k += 1
        if has_tag(kind):
            cls = _CLASSES[out[k]]
            k += 1
        else:
            (cls,) = kind.classes
        made.append(cls(x))
    return tuple(made)


class _Memory:
    """Where an array is, for NumPy; what owns the memory lives as long."""

    def __init__(self, interface: dict[str, Any], owner: tuple) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def _array_at(kind: Kind, address: int, shape: list, strides: list, owner: tuple) -> np.ndarray:
    """Return the array at an address, in memory of the run or of an argument."""
    dtype: Any = kind.dtype
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {"version": 3, "typestr": dtype.str, "data": (address, False),
                 "shape": tuple(shape), "strides": tuple(strides)}  # fmt: skip
    return np.asarray(_Memory(interface, owner))


def is_readable() -> bool:
    """Whether arrays of NumPy lie in memory as they are expected to."""
    x = np.arange(24.0).reshape(2, 3, 4)[:, 1:, ::2]
    address = id(x)
    shape = ctypes.c_void_p.from_address(address + _SHAPE).value or 0
    strides = ctypes.c_void_p.from_address(address + _STRIDES).value or 0
    return (
        platform.machine() in _EXCEPTIONS
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and ctypes.c_void_p.from_address(address + _DATA).value == x.ctypes.data
        and ctypes.c_int32.from_address(address + _NDIM).value == 3
        and tuple((ctypes.c_int64 * 3).from_address(shape)) == x.shape
        and tuple((ctypes.c_int64 * 3).from_address(strides)) == x.strides
    )
