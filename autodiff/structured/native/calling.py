"""Loops as machine code, called from the source around them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.broadcast_axes import ones_of
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.containers.given_lists import held
from autodiff.structured.native.llvm import memory, special
from autodiff.structured.native.llvm.code import (
    I32,
    I64,
    MAY_WARN,
    NOT_READ,
    PARTS,
    PTR,
    SHAPES_DIFFER,
    STEPS_ASIDE,
    TYPES,
    Code,
    element_of,
    exceptions,
)
from autodiff.structured.native.llvm.given import DATA, NDIM, SHAPE, STRIDES
from autodiff.structured.native.llvm.machine import Compiled
from autodiff.structured.native.llvm.memory import Tape, array_at
from autodiff.structured.native.names import Names
from autodiff.structured.native.numbers.scalars import EXACT
from autodiff.structured.native.statements import Statements
from autodiff.structured.native.values import (
    CLASSES,
    COMPLEX_TAG,
    LARGE,
    TAGS,
    Array,
    Number,
    has_tag,
    letter_of,
)
from autodiff.structured.runtime_calls import SteppedAsideError, UnequalError
from chainrules_core.interpreter.places import MADE_HERE

_WHY = {
    STEPS_ASIDE: "an index out of bounds, a division by zero, or large integers",
    MAY_WARN: "NaN or Inf made of numbers",
    NOT_READ: "the sweep does not read what was pushed",
}
WITH_LIST = "a list handed to machine code"
_C_TYPES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("ds", (ctypes.c_double,)), **dict.fromkeys("ib", (ctypes.c_int64,)),
    **dict.fromkeys(PARTS, (ctypes.c_double,) * 2),
}  # fmt: skip


class NativeFunction:
    """One direction of a loop: its parameters, and what it hands back.

    Attributes
    ----------
    name : str
        Of the function in machine code.
    given : list of str
        The names that it reads, in the order of its arguments.
    results : list of str
        The names that it hands back.
    lists : dict
        Name of a list → of what it is. Lists are handed over as addresses: no source around it
        reads them.
    """

    def __init__(
        self, name: str, given: list[str], results: list[str], kinds: dict[str, Kind],
        lists: dict[str, Any],
    ) -> None:  # fmt: skip
        self.name = name
        self.lists = lists
        self.params = given
        self.results = results
        self.kinds = kinds
        for x in (*given, *results):
            if x in lists:
                continue
            kind = kinds.get(x)
            if kind is None or not (kind.is_array or kind.is_scalar):
                is_list = kind is not None and kind.has_items
                raise UnsupportedError(WITH_LIST if is_list else f"{x} handed to machine code")
            if kind.is_array:
                element_of(kind.dtype)
                if not kind.ndim:
                    raise UnsupportedError("an array without axes")
            else:
                letter_of(kind)
        numbers = [kinds[x] for x in results if kinds[x].is_scalar]
        if any(len(kind.classes) > 1 and not has_tag(kind) for kind in numbers):
            raise UnsupportedError("a number of several classes")

    def types(self) -> list[Any]:
        """Return the types of ctypes of the parameters."""
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for x in self.params:
            kind = self.kinds[x]
            if kind.has_items:
                types.append(ctypes.c_int64)
                continue
            types += (ctypes.py_object,) if kind.is_array else _C_TYPES[letter_of(kind)]
            if not kind.is_array and has_tag(kind):
                types.append(ctypes.c_int64)
        return types

    def llvm_types(self) -> list[Any]:
        """Return these types as instructions have them."""
        made = {ctypes.c_void_p: PTR, ctypes.py_object: PTR, ctypes.c_double: TYPES["d"],
                ctypes.c_int64: I64}  # fmt: skip
        return [made[t] for t in self.types()]


def write_prologue(code: Code, part: NativeFunction, statements: Statements) -> None:
    """Write what takes the arguments."""
    _, _, *args = code.function.args
    rest = iter(args)
    b = code.b
    memory.begin(code, statements.state, statements.forward)
    for name in part.params:
        kind = part.kinds[name]
        if kind.has_items:
            address = b.inttoptr(next(rest), PTR)
            value: Any = statements.container_at(statements.names.lists[name], address)
        elif kind.is_array:
            value = _array(code, next(rest), kind, statements.names, name)
        else:
            letter = letter_of(kind)
            x = code.of_words(letter, rest)
            value = Number(kind, letter, x, next(rest) if has_tag(kind) else None)
        if name in statements.names.variables:
            statements._set(name, value)
        else:
            statements.bound[name] = value
    if statements.forward:
        code.call("feclearexcept", I32, [ir.Constant(I32, exceptions())])


def _array(code: Code, x: Any, kind: Kind, names: Names, name: str) -> Array:
    b = code.b
    ndim = b.load(code.at(x, code.whole(NDIM)), typ=I32)
    code.exit_if(b.icmp_signed("!=", ndim, ir.Constant(I32, kind.ndim)))
    address = b.load(code.at(x, code.whole(DATA)), typ=PTR)
    shape = b.load(code.at(x, code.whole(SHAPE)), typ=PTR)
    strides = b.load(code.at(x, code.whole(STRIDES)), typ=PTR)
    sizes = [code.word(shape, k) for k in range(kind.ndim)]
    for k in names.ones.get(name, ()):
        code.exit_if(b.not_(code.equal(sizes[k], code.whole(1))), SHAPES_DIFFER)
        sizes[k] = code.whole(1)
    steps = [code.word(strides, k) for k in range(kind.ndim)]
    # Elements, or their parts, lie where numbers of their size do.
    assert kind.dtype is not None
    together: Any = code.whole(0)
    for s in steps:
        together = b.or_(together, s)
    odd = b.or_(
        b.and_(b.ptrtoint(address, I64), code.whole(kind.dtype.alignment - 1)),
        b.and_(together, code.whole(kind.dtype.itemsize - 1)),
    )
    code.exit_if(b.icmp_signed("!=", odd, code.whole(0)))
    axis = names.dense.get(name)
    if axis is not None:
        dense = code.whole(kind.dtype.itemsize)
        apart = b.not_(code.equal(steps[axis], dense))
        code.exit_if(b.and_(apart, code.less(code.whole(1), sizes[axis])))
        steps[axis] = dense
    return Array(kind.dtype, address, sizes, steps, names.alias_sets.get(name), name)


def write_epilogue(code: Code, part: NativeFunction, statements: Statements) -> None:
    """Write what hands the results back, and leaves where NumPy might have warned."""
    b = code.b
    out = code.function.args[1]
    words: list[Any] = []
    for name in part.results:
        x, kind = statements.read(name), part.kinds[name]
        is_address = kind.has_items or kind.is_array
        words += statements.as_words(x if is_address else statements.scalars.number(x), kind)
    for k, word in enumerate(words):
        code.set_word(out, k, word)
    if statements.forward:
        found = code.call("fetestexcept", I32, [ir.Constant(I32, exceptions())])
        code.exit_if(b.icmp_signed("!=", found, ir.Constant(I32, 0)), MAY_WARN)
    else:
        left = code.word(statements.state, memory.USED)
        code.exit_if(b.icmp_signed("!=", left, code.whole(0)), NOT_READ)
    code.finish()


class NativeLoop:
    """A loop as machine code, forward and backward: what the source around it calls.

    Parameters
    ----------
    compiled : callable
        Returns the functions as machine code.
    forward, backward : NativeFunction
        Both directions.
    is_new : callable
        Whether arrays have axes of one element that have not been seen.

    Attributes
    ----------
    forward : callable
        ``forward(push, *args)`` runs the loop, and pushes what its sweep needs.
    backward : callable
        ``backward(tape, *args)`` runs the sweep of the loop.
    """

    def __init__(
        self,
        compiled: Callable[[], Compiled],
        forward: NativeFunction,
        backward: NativeFunction,
        is_new: Callable[[dict], bool],
    ) -> None:
        self._compile = compiled
        self.compiled: Compiled | None = None  # it is there as long as this object
        self._parts = forward, backward
        self._is_new = is_new
        self.forward: Callable = self._first
        self.backward: Callable

    def _first(self, push: Callable, *args: Any) -> tuple:
        """Compile the loop at its first call, unless it has to be written anew for these arrays."""
        forward, backward = self._parts
        ones = ones_of(forward.params, args)
        if self._is_new(ones):
            raise UnequalError(ones)
        try:
            compiled = self.compiled = self._compile()
        except Exception as error:  # a mistake of the compiler's: the source runs
            raise SteppedAsideError(f"it could not be compiled: {error}") from error
        self.backward = _caller(backward, compiled, False)
        self.forward = _caller(forward, compiled, True)
        return self.forward(push, *args)


def _caller(part: NativeFunction, compiled: Compiled, is_forward: bool) -> Callable:
    """Return what checks arguments, calls machine code, and converts its results.

    It is written as source, because small loops are called often.
    """
    names = [f"x{k}" for k in range(len(part.params))]
    kinds = [part.kinds[x] for x in part.params]
    results = _Results(part)
    scope: dict[str, Any] = {
        "f": compiled.function(part.name, part.types()), "names": part.params, "Tape": Tape,
        "ndarray": np.ndarray, "Aside": SteppedAsideError, "failed": _failed, "tags": TAGS,
        "byref": ctypes.byref, "Words": results.words, **results.scope,
    }  # fmt: skip
    lines, given = [], ["tape.address", "byref(out)" if results.fields else "None"]
    for x, kind in zip(names, kinds, strict=True):
        checks, values = _given(x, kind, is_forward, scope)
        lines += checks
        given += values
    args = "".join(f"{x}, " for x in names)
    memory = [x for x, kind in zip(names, kinds, strict=True) if kind.has_memory]
    arrays = "".join(f"{x}, " for x in memory)
    first = "push" if is_forward else "tape"
    if compiled.calls_special:
        scope["ignores_errors"] = special.ignores_errors
        lines.append("if not ignores_errors(): raise Aside('errors of scipy.special count')")
    lines += ["tape = Tape()"] if is_forward else []
    lines += ["out = Words()"] if results.fields else []
    lines += [f"status = f({', '.join(given)})", f"if status: failed(status, names, ({args}))"]
    lines += [f"held = ({arrays})"] if is_forward or results.are_arrays else []
    lines += ["tape.held = held", "push(tape)"] if is_forward else []
    lines += [f"return ({''.join(f'{x}, ' for x in results.texts)})"]
    body = "\n    ".join([f"def call({first}, {', '.join(names)}):", *lines])
    exec(compile(body, f"{MADE_HERE}call of machine code>", "exec"), scope)
    return scope["call"]


def _given(
    x: str, kind: Kind, is_forward: bool, scope: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the statements that check an argument, and the expressions that hand it over.

    In the sweep the class of a number does not count.
    """
    if kind.has_items:
        return [], [x]
    if kind.dtype is not None:
        scope[f"dtype_{x}"] = kind.dtype
        is_other = f"({x}.dtype is not dtype_{x} and {x}.dtype != dtype_{x})"
        test = f"if type({x}) is not ndarray or {is_other}: "
        return [test + "raise Aside('an array of another kind')"], [x]
    lines = []
    if is_forward:
        scope[f"classes_{x}"] = kind.classes
        lines.append(f"if type({x}) not in classes_{x}: raise Aside('a number of another class')")
    if letter_of(kind) in "ib":
        lines.append(f"if not {-LARGE} < {x} < {LARGE}: raise Aside('a large integer')")
        return lines, [f"int({x})"]
    if int in kind.classes or not is_forward:
        lines.append(
            f"if type({x}) is int and not {-EXACT} < {x} < {EXACT}: raise Aside('a large integer')"
        )
    value = [f"{x}.real", f"{x}.imag"] if letter_of(kind) in PARTS else [x]
    return lines, [
        *map("float({})".format, value),
        *([f"tags[type({x})]"] if has_tag(kind) else []),
    ]


def _failed(status: int, names: list[str], args: tuple) -> None:
    """Raise an error that says why machine code has left."""
    if status == SHAPES_DIFFER:
        raise UnequalError(ones_of(names, args))
    raise SteppedAsideError(_WHY[status])


class _Results:
    """The words in which machine code hands back numbers and arrays.

    Attributes
    ----------
    fields : list
        Their names and types.
    texts : list of str
        Expressions that make numbers and arrays of them.
    scope : dict
        What these find by name.
    are_arrays : bool
        Whether there are arrays or lists among them: these may lie in the memory of arguments.
    """

    def __init__(self, part: NativeFunction) -> None:
        kinds = [part.kinds[x] for x in part.results]
        self.are_arrays = any(kind.has_memory for kind in kinds)
        self.fields: list[tuple[str, Any]] = []
        self.texts: list[str] = []
        self.scope: dict[str, Any] = {
            "array_at": array_at, "number_of": _number_of, "list_at": held,
        }  # fmt: skip
        for x, kind in zip(part.results, kinds, strict=True):
            self._add(kind, part.lists.get(x))

    @property
    def words(self) -> type:
        """The struct of all words."""
        return type("Words", (ctypes.Structure,), {"_fields_": self.fields})

    def _add(self, kind: Kind, items: Any) -> None:
        own = f"kind{len(self.fields)}"
        if kind.has_items:
            self.scope[own] = items
            self.texts.append(f"list_at({own}, {self._word(ctypes.c_int64)}, (tape, held))")
            return
        if kind.is_array:
            self.scope[own] = kind.dtype
            address = self._word(ctypes.c_int64)
            shape, strides = (
                "".join(f"{self._word(ctypes.c_int64)}, " for _ in range(kind.ndim))
                for _ in range(2)
            )
            self.texts.append(f"array_at({own}, {address}, ({shape}), ({strides}), (tape, held))")
            return
        types = _C_TYPES[letter_of(kind)]
        text = ", ".join(map(self._word, types))
        if has_tag(kind):
            text = f"number_of({self._word(ctypes.c_int64)}, {text})"
        else:
            (cls,) = kind.classes
            text = f"complex({text})" if len(types) > 1 else text
            if cls not in (int, float, complex):
                self.scope[own] = cls
                text = f"{own}({text})"
        self.texts.append(text)

    def _word(self, kind: Any) -> str:
        self.fields.append((f"r{len(self.fields)}", kind))
        return f"out.{self.fields[-1][0]}"


def _number_of(tag: int, *parts: float) -> Any:
    """Return a number of the class that a tag says."""
    return CLASSES[tag](complex(*parts) if tag & COMPLEX_TAG else parts[0])
