"""Calls of machine code from the source: conversion of arguments and results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.containers.list_conversion import held
from autodiff.structured.native.llvm import memory, special
from autodiff.structured.native.llvm.array_parameters import DATA, NDIM, SHAPE, STRIDES
from autodiff.structured.native.llvm.calls_of_python import entry_of
from autodiff.structured.native.llvm.function_builder import (
    I32,
    I64,
    MAY_WARN,
    NOT_READ,
    PARTS,
    PTR,
    SHAPES_DIFFER,
    STEPS_ASIDE,
    TYPES,
    FunctionBuilder,
    element_of,
    exceptions,
)
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.memory import RunTape, array_at
from autodiff.structured.native.lowered_values import (
    CLASSES,
    COMPLEX_TAG,
    LARGE,
    SYMBOLS,
    TAGS,
    Array,
    Number,
    PythonObject,
    has_tag,
    is_opaque,
    is_word,
    letter_of,
)
from autodiff.structured.native.numbers.scalars import EXACT
from autodiff.structured.native.statement_lowering import Statements
from autodiff.structured.native.symbol_table import SymbolTable
from autodiff.structured.runtime_library import BailoutError, ShapeMismatchError
from autodiff.structured.unit_axes import unit_axes_of
from chainrules_core.interpreter.places import MADE_HERE

_WHY = {
    STEPS_ASIDE: "an index out of bounds, a division by zero, or large integers",
    MAY_WARN: "NaN or Inf computed from finite numbers",
    NOT_READ: "the sweep did not pop everything that was pushed",
}
WITH_LIST = "a list passed to machine code"
_C_TYPES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("ds", (ctypes.c_double,)), **dict.fromkeys("ibt", (ctypes.c_int64,)),
    **dict.fromkeys(PARTS, (ctypes.c_double,) * 2),
}  # fmt: skip


class NativeFunction:
    """The signature of a region in one direction.

    Attributes
    ----------
    name : str
        The name of the function in the LLVM module.
    params : list of str
        The names that it reads.
    objects : list of str
        The parameters that only operations left to Python read, such as random generators.
    results : list of str
        The names that it returns.
    kinds : dict
        Name → kind.
    lists : dict
        Name of a list → its type. Lists are passed by address: the source does not read them.
    """

    def __init__(
        self, name: str, params: list[str], results: list[str], kinds: dict[str, Kind],
        lists: dict[str, Any],
    ) -> None:  # fmt: skip
        self.name = name
        self.lists = lists
        self.params = params
        self.results = results
        self.kinds = kinds
        known = [x for x in params if x in kinds and x not in results]
        self.objects = [x for x in known if is_opaque(kinds[x])]
        for x in (*params, *results):
            if x in lists or x in self.objects:
                continue
            kind = kinds.get(x)
            if kind is None or not (kind.is_array or is_word(kind)):
                is_list = kind is not None and kind.has_items
                raise UnsupportedError(WITH_LIST if is_list else f"{x} passed to machine code")
            if kind.is_array:
                element_of(kind.dtype)
                if not kind.ndim:
                    raise UnsupportedError("a 0-d array")
            else:
                letter_of(kind)
        numbers = [kinds[x] for x in results if kinds[x].is_scalar]
        if any(len(kind.classes) > 1 and not has_tag(kind) for kind in numbers):
            raise UnsupportedError("a number of several classes")

    def types(self) -> list[Any]:
        """Return the ctypes of the parameters: state, results, and the words of each value."""
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for x in self.params:
            kind = self.kinds[x]
            if x in self.objects:
                continue
            if kind.has_items:
                types.append(ctypes.c_int64)
                continue
            types += (ctypes.py_object,) if kind.is_array else _C_TYPES[letter_of(kind)]
            if not kind.is_array and has_tag(kind):
                types.append(ctypes.c_int64)
        return types

    def llvm_types(self) -> list[Any]:
        """Return the LLVM types of the parameters."""
        llvm_types = {ctypes.c_void_p: PTR, ctypes.py_object: PTR, ctypes.c_double: TYPES["d"],
                      ctypes.c_int64: I64}  # fmt: skip
        return [llvm_types[t] for t in self.types()]


def write_prologue(code: FunctionBuilder, function: NativeFunction, statements: Statements) -> None:
    """Emit the prologue of a region, which binds its parameters."""
    _, _, *args = code.function.args
    rest = iter(args)
    b = code.b
    memory.begin(code, statements.state, statements.forward)
    for name in function.params:
        kind = function.kinds[name]
        if name in function.objects:
            statements.bound[name] = PythonObject(f"run.values['given {name}']")
            continue
        if kind.has_items:
            address = b.inttoptr(next(rest), PTR)
            value: Any = statements.container_at(statements.names.lists[name], address)
        elif kind.is_array:
            value = _array(code, next(rest), kind, statements.names, name)
        else:
            letter = letter_of(kind)
            x = code.from_words(letter, rest)
            value = Number(kind, letter, x, next(rest) if has_tag(kind) else None)
        if name in statements.names.variables:
            statements.set_variable(name, value)
        else:
            statements.bound[name] = value
    if statements.forward:
        code.call("feclearexcept", I32, [ir.Constant(I32, exceptions())])


def _array(code: FunctionBuilder, x: Any, kind: Kind, names: SymbolTable, name: str) -> Array:
    """Read the fields of a NumPy array, and guard what is known of them statically."""
    b = code.b
    ndim = b.load(code.at(x, code.whole(NDIM)), typ=I32)
    code.exit_if(b.icmp_signed("!=", ndim, ir.Constant(I32, kind.ndim)))
    address = b.load(code.at(x, code.whole(DATA)), typ=PTR)
    dimensions = b.load(code.at(x, code.whole(SHAPE)), typ=PTR)
    steps = b.load(code.at(x, code.whole(STRIDES)), typ=PTR)
    shape = [code.word(dimensions, k) for k in range(kind.ndim)]
    for k in names.unit_axes.get(name, ()):
        code.exit_if(b.not_(code.equal(shape[k], code.whole(1))), SHAPES_DIFFER)
        shape[k] = code.whole(1)
    strides = [code.word(steps, k) for k in range(kind.ndim)]
    # The address must be aligned, and the strides multiples of the item size.
    assert kind.dtype is not None
    all_bits: Any = code.whole(0)
    for s in strides:
        all_bits = b.or_(all_bits, s)
    misaligned = b.or_(
        b.and_(b.ptrtoint(address, I64), code.whole(kind.dtype.alignment - 1)),
        b.and_(all_bits, code.whole(kind.dtype.itemsize - 1)),
    )
    code.exit_if(b.icmp_signed("!=", misaligned, code.whole(0)))
    axis = names.dense.get(name)
    if axis is not None:
        itemsize = code.whole(kind.dtype.itemsize)
        is_strided = b.not_(code.equal(strides[axis], itemsize))
        code.exit_if(b.and_(is_strided, code.less(code.whole(1), shape[axis])))
        strides[axis] = itemsize
    return Array(kind.dtype, address, shape, strides, names.alias_sets.get(name), name)


def write_epilogue(code: FunctionBuilder, function: NativeFunction, statements: Statements) -> None:
    """Emit the epilogue of a region: store the results, and bail out if NumPy may have warned."""
    b = code.b
    out = code.function.args[1]
    words: list[Any] = []
    for name in function.results:
        x, kind = statements.read(name), function.kinds[name]
        is_address = kind.has_items or kind.is_array
        words += statements.to_words(x if is_address else statements.scalars.number(x), kind)
    for k, word in enumerate(words):
        code.set_word(out, k, word)
    if statements.forward:
        flags = code.call("fetestexcept", I32, [ir.Constant(I32, exceptions())])
        code.exit_if(b.icmp_signed("!=", flags, ir.Constant(I32, 0)), MAY_WARN)
    else:
        remaining = code.word(statements.state, memory.USED)
        code.exit_if(b.icmp_signed("!=", remaining, code.whole(0)), NOT_READ)
    code.finish()


class NativeLoop:
    """A region in both directions, as the source calls it.

    Parameters
    ----------
    compile : callable
        Returns the machine code.
    forward, backward : NativeFunction
        Both directions.
    is_new : callable
        Whether arguments have axes of length 1 that no call has had before.

    Attributes
    ----------
    forward : callable
        ``forward(push, *args)`` runs the region, and pushes its tape.
    backward : callable
        ``backward(tape, *args)`` runs the sweep of the region.
    """

    def __init__(
        self,
        compile: Callable[[], CompiledModule],
        forward: NativeFunction,
        backward: NativeFunction,
        is_new: Callable[[dict], bool],
    ) -> None:
        self._compile = compile
        self.compiled: CompiledModule | None = None  # keeps the machine code alive
        self._functions = forward, backward
        self._is_new = is_new
        self.forward: Callable = self._first
        self.backward: Callable

    def _first(self, push: Callable, *args: Any) -> tuple:
        """Compile at the first call, unless these arguments call for recompilation."""
        forward, backward = self._functions
        ones = unit_axes_of(forward.params, args)
        if self._is_new(ones):
            raise ShapeMismatchError(ones)
        try:
            compiled = self.compiled = self._compile()
        except Exception as error:  # a bug of the compiler: fall back to the source
            raise BailoutError(f"it could not be compiled: {error}") from error
        self.backward = _caller(backward, compiled, False)
        self.forward = _caller(forward, compiled, True)
        return self.forward(push, *args)


def _caller(function: NativeFunction, compiled: CompiledModule, is_forward: bool) -> Callable:
    """Generate the function that checks arguments, calls machine code and converts results.

    It is specialized source, because short loops are called often.
    """
    names = [f"x{k}" for k in range(len(function.params))]
    kinds = [function.kinds[x] for x in function.params]
    results = _Results(function)
    scope: dict[str, Any] = {
        "f": compiled.function(entry_of(function.name), function.types()),
        "names": function.params, "RunTape": RunTape,
        "ndarray": np.ndarray, "Aside": BailoutError, "failed": _failed, "tags": TAGS,
        "byref": ctypes.byref, "Words": results.words, **results.scope,
    }  # fmt: skip
    lines, words = [], ["tape.address", "byref(out)" if results.fields else "None"]
    given = dict(zip(function.params, names, strict=True))
    for x, kind in zip(names, kinds, strict=True):
        checks, values = _argument(x, kind, is_forward, scope)
        lines += checks
        words += values
    args = "".join(f"{x}, " for x in names)
    held = "".join(f"{x}, " for x, kind in zip(names, kinds, strict=True) if kind.has_memory)
    first = "push" if is_forward else "tape"
    if compiled.calls_special:
        scope["ignores_errors"] = special.ignores_errors
        lines.append("if not ignores_errors(): raise Aside('errors of scipy.special count')")
    lines += ["tape = RunTape()"] if is_forward else []
    lines += ["out = Words()"] if results.fields else []
    lines += [f"tape.values['given {x}'] = {given[x]}" for x in function.objects]
    lines += [
        f"try: status = f({', '.join(words)})",
        "except Aside: raise",
        "except Exception as error:",
        "    raise Aside(f'{type(error).__name__} in a call of Python: {error}') from error",
        f"if status: failed(status, names, ({args}))",
    ]
    lines += [f"held = ({held})"] if (is_forward and held) or results.are_arrays else []
    lines += ["tape.held = held"] if is_forward and held else []
    lines += ["push(tape)"] if is_forward else []
    lines += [f"return ({''.join(f'{x}, ' for x in results.texts)})"]
    body = "\n    ".join([f"def call({first}, {', '.join(names)}):", *lines])
    exec(compile(body, f"{MADE_HERE}call of machine code>", "exec"), scope)
    return scope["call"]


def _argument(
    x: str, kind: Kind, is_forward: bool, scope: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the guards of an argument, and the expressions of its words.

    The class of a number does not matter in the sweep.
    """
    if is_opaque(kind):
        return [], []
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
    if letter_of(kind) == "t":
        scope["symbol"] = SYMBOLS.number
        return lines, [f"symbol({x})"]
    if letter_of(kind) in "ib":
        lines.append(f"if not {-LARGE} < {x} < {LARGE}: raise Aside('a large integer')")
        return lines, [f"int({x})"]
    if int in kind.classes or not is_forward:
        lines.append(
            f"if type({x}) is int and not {-EXACT} < {x} < {EXACT}: raise Aside('a large integer')"
        )
    value = [f"{x}.real", f"{x}.imag"] if letter_of(kind) in PARTS else [x]
    return lines, [
        *value,  # ctypes makes a double of any real number
        *([f"tags[type({x})]"] if has_tag(kind) else []),
    ]


def _failed(status: int, names: list[str], args: tuple) -> None:
    """Raise the error of a nonzero status."""
    if status == SHAPES_DIFFER:
        raise ShapeMismatchError(unit_axes_of(names, args))
    raise BailoutError(_WHY[status])


class _Results:
    """The struct through which machine code returns its results.

    Attributes
    ----------
    fields : list
        The names and ctypes of the words.
    texts : list of str
        The expressions of the results.
    scope : dict
        The globals of the expressions.
    are_arrays : bool
        Whether some results are arrays or lists, which may lie in the memory of arguments.
    """

    def __init__(self, function: NativeFunction) -> None:
        kinds = [function.kinds[x] for x in function.results]
        self.are_arrays = any(kind.has_memory for kind in kinds)
        self.fields: list[tuple[str, Any]] = []
        self.texts: list[str] = []
        self.scope: dict[str, Any] = {
            "array_at": array_at, "number_of": _number_of, "list_at": held,
        }  # fmt: skip
        for x, kind in zip(function.results, kinds, strict=True):
            self._add(kind, function.lists.get(x))

    @property
    def words(self) -> type:
        """The struct."""
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
            if letter_of(kind) == "t":
                self.scope["symbols"] = SYMBOLS.objects
                text = f"symbols[{text}]"
            elif cls not in (int, float, complex):
                self.scope[own] = cls
                text = f"{own}({text})"
        self.texts.append(text)

    def _word(self, kind: Any) -> str:
        self.fields.append((f"r{len(self.fields)}", kind))
        return f"out.{self.fields[-1][0]}"


def _number_of(tag: int, *parts: float) -> Any:
    """Return a number of the class of a tag."""
    return CLASSES[tag](complex(*parts) if tag & COMPLEX_TAG else parts[0])
