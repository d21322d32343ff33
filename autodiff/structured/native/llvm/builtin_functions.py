"""Machine code as a builtin function of Python, which takes less time to call than `ctypes`.

The function takes floats and C-contiguous arrays. It checks that dtypes and shapes are those that
it was specialized for, and returns an integer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir

from autodiff.structured.native.llvm.array_parameters import (
    CLASS,
    DATA,
    DTYPE,
    FLAGS,
    IN_ORDER,
    IS_ALIGNED,
    MAY_BE_WRITTEN,
    NDIM,
    SHAPE,
    VALUE,
    ArrayParameter,
)
from autodiff.structured.native.llvm.function_builder import (
    F64,
    I32,
    I64,
    PTR,
    FunctionBuilder,
    exceptions,
)
from autodiff.structured.native.llvm.modules import LLVMModule

_FAST_CALL = 0x80
_UNFIT = -1  # status if an argument is not what the code was specialized for
_UNDEFINED = 2  # status if NumPy might warn, or Python raise an error
_API = ctypes.pythonapi
FUNCTIONS: dict[str, Any] = {
    "python_integer": _API.PyLong_FromLong,
    "python_unlock": _API.PyEval_SaveThread,
    "python_lock": _API.PyEval_RestoreThread,
}
"""Python's functions, by the names under which machine code calls them."""


def define(
    module: LLVMModule, name: str, inner: Any, given: list[ArrayParameter | None], is_long: bool,
    notices_errors: bool,
) -> None:  # fmt: skip
    """Emit a function that Python calls.

    Parameters
    ----------
    module : LLVMModule
        The module of the function.
    name : str
        The name of the function.
    inner : llvmlite.ir.Function
        The function that it calls with floats and the addresses of arrays; it returns a status.
    given : list
        The parameters: None for a float.
    is_long : bool
        Whether it releases the global interpreter lock during the call.
    notices_errors : bool
        Whether it returns `_UNDEFINED` if the processor has flagged an error that NumPy warns of.
    """
    if notices_errors:
        inner.attributes.add("noinline")  # no instruction moves across the calls around it
    _Entry(module, name, is_long, notices_errors).write(inner, given)


class _Entry(FunctionBuilder):
    """Emitter of a function that checks and unwraps Python objects."""

    def __init__(self, module: LLVMModule, name: str, is_long: bool, notices_errors: bool) -> None:
        super().__init__(module, name, [PTR, PTR, I64], PTR)
        self._is_long = is_long
        self._notices_errors = notices_errors
        self._unfit = self.function.append_basic_block("unfit")

    def write(self, inner: Any, given: list[ArrayParameter | None]) -> None:
        """Emit the function."""
        objects = self.function.args[1]
        values = [self._value(self.word(objects, k, PTR), x) for k, x in enumerate(given)]
        if self._is_long:
            state = self.call("python_unlock", PTR, [])
        status = self._status(inner, values)
        if self._is_long:
            self.call("python_lock", ir.VoidType(), [state])
        self._return(self.b.sext(status, I64))
        self.b.position_at_end(self._unfit)
        self._return(self.whole(_UNFIT))
        self.begin()

    def _status(self, inner: Any, values: list) -> Any:
        """Call the function; return its status."""
        if not self._notices_errors:
            return self.b.call(inner, values)
        self.call("feclearexcept", I32, [_int32(exceptions())])
        status = self.b.call(inner, values)
        flags = self.call("fetestexcept", I32, [_int32(exceptions())])
        return self.b.select(self._are(flags, 0), status, _int32(_UNDEFINED))

    def _return(self, status: Any) -> None:
        self.b.ret(self.call("python_integer", PTR, [status]))

    def _value(self, x: Any, array: ArrayParameter | None) -> Any:
        """Return the value of a float object, or the address of the elements of an array."""
        cls = self._field(x, CLASS)
        if array is None:
            self._require(self.b.or_(*[self.equal(cls, self._id(c)) for c in (float, np.float64)]))
            return self._field(x, VALUE, F64)
        self._require(self.equal(cls, self._id(np.ndarray)))
        self._require(self.equal(self._field(x, DTYPE), self._id(array.dtype)))
        flags = IN_ORDER | IS_ALIGNED | (MAY_BE_WRITTEN if array.is_written else 0)
        self._require(self._are(self.b.and_(self._field(x, FLAGS, I32), _int32(flags)), flags))
        self._require(self._are(self._field(x, NDIM, I32), len(array.shape)))
        for k, n in enumerate(array.shape):
            if n is not None:
                found = self.word(self._field(x, SHAPE, PTR), k)
                self._require(self.equal(found, self.whole(n)))
        return self._field(x, DATA, PTR)

    def _field(self, x: Any, offset: int, kind: Any = I64) -> Any:
        return self.b.load(self.at(x, self.whole(offset)), typ=kind)

    def _id(self, x: Any) -> Any:
        return self.whole(id(x))

    def _are(self, flags: Any, expected: int) -> Any:
        return self.b.icmp_signed("==", flags, _int32(expected))

    def _require(self, test: Any) -> None:
        """Return `_UNFIT` unless a test holds."""
        following = self.function.append_basic_block()
        self.b.cbranch(test, following, self._unfit).set_weights([9999, 1])
        self.b.position_at_end(following)


def _int32(n: int) -> Any:
    return ir.Constant(I32, n)


class _Method(ctypes.Structure):
    """``PyMethodDef``: the definition of a builtin function."""

    _fields_: ClassVar = [("name", ctypes.c_char_p), ("address", ctypes.c_void_p),
                          ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]  # fmt: skip


def builtin(name: str, address: int, owner: Any) -> Callable:
    """Return the machine code at an address as a builtin function; it keeps `owner` alive."""
    method = _Method(name.encode(), address, _FAST_CALL, None)
    return _new_function(ctypes.byref(method), (method, owner), None)


_new_function = _API.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
