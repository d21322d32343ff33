"""Calls from machine code into Python, for operations without machine code, and for messages.

Such a call hands over words: numbers, and the addresses, shapes and strides of arrays. A function
of Python makes these into numbers and arrays, runs the operation, and writes its results back.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind
from autodiff.structured.message_queue import add_message
from autodiff.structured.native.llvm.function_builder import I32, PARTS, PTR, FunctionBuilder
from autodiff.structured.native.llvm.modules import LLVMModule
from autodiff.structured.native.lowered_values import (
    CLASSES,
    COMPLEX_TAG,
    LARGE,
    SYMBOLS,
    TAGS,
    has_tag,
    letter_of,
)
from autodiff.structured.runtime_library import BailoutError
from chainrules_core.interpreter.places import MADE_HERE

_FIRST = 64
_ALL: Any = (ctypes.c_char * (sys.maxsize - _FIRST)).from_address(_FIRST)
"""All memory behind the first bytes, as a buffer: the fastest way to make arrays of addresses."""
RAISED = 5
"""The status of machine code if a call of Python has raised an error."""


_API = ctypes.pythonapi
FUNCTIONS: dict[str, Any] = {
    "python_ensure": _API.PyGILState_Ensure,
    "python_release": _API.PyGILState_Release,
    "python_address": _API.PyLong_FromVoidPtr,
    "python_call": _API.PyObject_CallFunctionObjArgs,
    "python_drop": _API.Py_DecRef,
}
"""Python's functions, by the names under which machine code calls them."""


def define_call(module: LLVMModule) -> None:
    """``structured_python(run, operation, words)``: call an operation; return a status.

    What the operation raises stays set: Python raises it where it has called the machine code. A
    callback of `ctypes` would lose what a handler of signals raises before its first line.
    """
    code = FunctionBuilder(module, "structured_python", [PTR, PTR, PTR])
    code.function.attributes.add("noinline")
    run, operation, words = code.function.args
    null, nothing = ir.Constant(PTR, None), ir.VoidType()
    function = ir.Function(module, ir.FunctionType(PTR, [PTR], var_arg=True), "python_call")
    lock = code.call("python_ensure", I32, [])
    address = code.call("python_address", PTR, [words])
    found = code.b.call(function, [operation, run, address, null])
    has_raised = code.b.icmp_unsigned("==", found, null)
    for x in (address, found):
        code.call("python_drop", nothing, [x])
    code.call("python_release", nothing, [lock])
    code.b.ret(code.b.select(has_raised, ir.Constant(I32, RAISED), ir.Constant(I32, 0)))
    code.begin()


def entry_of(name: str) -> str:
    """Return the name of the function by which Python calls a function."""
    return f"{name}_entry"


def define_entry(module: LLVMModule, name: str) -> None:
    """Emit the function by which Python calls a function: it releases the interpreter lock."""
    inner = module.get_global(name)
    code = FunctionBuilder(module, entry_of(name), [x.type for x in inner.args])
    lock = code.call("python_unlock", PTR, [])
    status = code.b.call(inner, code.function.args)
    code.call("python_lock", ir.VoidType(), [lock])
    code.b.ret(status)
    code.begin()


class OperationWriter:
    """Writes the function of Python that runs an operation.

    Parameters
    ----------
    scope : dict
        The constants that the source of the operation reads by name.
    keeps : bool
        Whether the results may keep arguments, so that these have to be copies.
    is_strict : bool
        Whether the classes of numbers and the dtypes of arrays matter, as they do outside of the
        sweep.

    """

    def __init__(self, scope: dict[str, Any], keeps: bool, is_strict: bool) -> None:
        self.scope: dict[str, Any] = dict(scope)
        self.scope |= {"ALL": _ALL, "ndarray": np.ndarray, "Aside": BailoutError,
                       "shares": np.may_share_memory, "tags": TAGS, "number_of": _number_of,
                       "cast": _cast, "add_message": add_message}  # fmt: skip
        self._keeps, self._is_strict = keeps, is_strict
        self._before: list[str] = []
        self._after: list[str] = []
        self._arrays: list[str] = []
        self._letters = ""  # of the words of the arguments, as in `struct`
        self._returned: list[str] = []
        self._letters_returned = ""

    @property
    def count(self) -> int:
        """The number of words that the arguments or the results take."""
        return max(len(self._letters), len(self._returned), 1)

    def constant(self, x: Any) -> str:
        """Return the name of a constant."""
        name = f"k_{len(self.scope)}"
        self.scope[name] = x
        return name

    def argument(self, name: str, kind: Kind) -> None:
        """Write what binds a name to an argument, which takes the next words."""
        if kind.is_array:
            n = kind.ndim
            words = self._take("q" * (1 + 2 * n))
            shape, strides = (f"({', '.join(x)},)" for x in (words[1 : 1 + n], words[1 + n :]))
            text = (f"ndarray({shape}, {self.constant(kind.dtype)}, ALL, {words[0]} - {_FIRST}, "
                    f"{strides})")  # fmt: skip
            self._arrays += [] if self._keeps else [name]
            self._before.append(f"{name} = {text}" + (".copy('K')" if self._keeps else ""))
            return
        letter = letter_of(kind)
        words = self._take("dd" if letter in PARTS else "d" if letter in "ds" else "q")
        text = f"complex({', '.join(words)})" if letter in PARTS else words[0]
        if letter == "t":
            text = f"{self.constant(SYMBOLS.objects)}[{text}]"
        elif has_tag(kind):
            text = f"number_of({self._take('q')[0]}, {text})"
        else:
            own = kind.classes & {int, float, complex, bool} or kind.classes
            text = f"{self.constant(min(own, key=lambda c: c.__name__))}({text})"
        self._before.append(f"{name} = {text}")

    def _take(self, letters: str) -> list[str]:
        """Return the names of the next words of the arguments."""
        first = len(self._letters)
        self._letters += letters
        return [f"w{k}" for k in range(first, len(self._letters))]

    def array(self, text: str, kind: Kind, place: str) -> int:
        """Write the checks of an array, which a place keeps; return the word of its address."""
        dtype = self.constant(kind.dtype)
        is_other = f"(y.dtype is not {dtype} and y.dtype != {dtype})"
        test = f"type(y) is not ndarray or y.ndim != {kind.ndim}"
        test += f" or {is_other}" if self._is_strict else ""
        lines = [f"y = {text}", f"if {test}: raise Aside('an array of another kind')"]
        if not self._is_strict:
            lines.append(f"if {is_other}: y = cast(y, {dtype})")
        if self._arrays:
            is_given = " or ".join(f"y is {x}" for x in self._arrays)
            is_shared = " or ".join(f"shares(y, {x})" for x in self._arrays)
            lines.append(f"if {is_given} or (y.base is not None and ({is_shared})): "
                         "raise Aside('a result that shares memory with an argument')")  # fmt: skip
        lines += ["if not y.flags.carray: y = y.copy()",
                  f"{place} = y"]  # fmt: skip
        self._after += lines
        return self._put("id(y)")

    def number(self, text: str, kind: Kind) -> int:
        """Write the checks of a number; return its first word."""
        letter = letter_of(kind)
        self._after.append(f"y = {text}")
        if self._is_strict:
            classes = self.constant(kind.classes)
            self._after.append(
                f"if type(y) not in {classes}: raise Aside('a number of another class')"
            )
        if letter in "ib":
            self._after.append(f"if not {-LARGE} < y < {LARGE}: raise Aside('a large integer')")
            k = self._put("int(y)")
        elif letter in PARTS:
            k = self._put("y.real", "d")
            self._put("y.imag", "d")
        else:
            k = self._put("y", "d")
        if has_tag(kind):
            self._put("tags[type(y)]")
        return k

    def _put(self, text: str, letter: str = "q") -> int:
        """Write a word of a result; return its number."""
        k = len(self._returned)
        self._after.append(f"r{k} = {text}")
        self._returned.append(f"r{k}")
        self._letters_returned += letter
        return k

    def object(self, name: str, text: str, is_result: bool = False) -> None:
        """Write what binds a name to an object of Python's: an argument or a result."""
        (self._after if is_result else self._before).append(f"{name} = {text}")

    def check(self, test: str) -> None:
        """Write a check of the results: machine code steps aside if a test holds."""
        self._after.append(f"if {test}: raise Aside('results of another form')")

    def function(self, text: str, is_statement: bool) -> Callable:
        """Return the function that runs an operation, whose source is an expression or not."""
        lines = []
        if self._letters:
            self.scope["taken"] = struct.Struct(self._letters).unpack_from
            words = "".join(f"w{k}, " for k in range(len(self._letters)))
            lines.append(f"{words} = taken(ALL, address - {_FIRST})")
        lines += [*self._before, text if is_statement else f"r = {text}", *self._after]
        if self._returned:
            self.scope["put"] = struct.Struct(self._letters_returned).pack_into
            lines.append(f"put(ALL, address - {_FIRST}, {', '.join(self._returned)})")
        body = "\n    ".join(["def operation(run, address):", *lines])
        exec(compile(body, f"{MADE_HERE}operation of machine code>", "exec"), self.scope)
        return self.scope["operation"]


def _number_of(tag: int, x: complex) -> Any:
    """Return a number of the class of a tag."""
    return CLASSES[tag](x if tag & COMPLEX_TAG or not isinstance(x, complex) else x.real)


def _cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a cotangent in the dtype of its variable."""
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise BailoutError("a cotangent of another kind")
    return x.astype(dtype)
