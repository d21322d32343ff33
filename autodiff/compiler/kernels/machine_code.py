"""Compiler from the source of kernels, and of the routines that they call, to machine code.

The source is a subset of Python: numbers, loops, and memory, where ``get(s, i)`` loads an element
and ``put(s, i, x)`` stores one, without bounds checks. The first value of a variable determines
whether it is a float, an integer or a boolean. LLVM may reassociate and contract sums by ``plus``
and products by ``times``, but no other arithmetic.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.compiler.kernels.linalg import linalg_runtime
from autodiff.functions import known
from autodiff.structured.native.llvm import builtin_functions
from autodiff.structured.native.llvm.array_parameters import ArrayParameter
from autodiff.structured.native.llvm.function_builder import (
    F32,
    F64,
    I1,
    I32,
    I64,
    PTR,
    SHORT_LOOP,
    FunctionBuilder,
    has_fma,
)
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.modules import LLVMModule
from autodiff.structured.native.lowered_values import Number, StaticValue
from autodiff.structured.native.numbers.scalars import EXPRESSIONS, Scalars
from chainrules_core.interpreter.parsing import tree_of

_TYPES = {"d": F64, "i": I64, "b": I1, "s": F32}
_POINTERS = {"*": "d", "#": "i", ".": "s"}
"""Letter of an array that is a parameter → that of its elements."""
_NO_NAN = ("nnan", "nsz")
_WIDENED = {f.__name__ for f in known("simd")}
_OF_INTEGERS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}


@dataclass
class _Memory:
    """The memory of an array: its address, and the letter of its elements."""

    address: Any
    letter: str


@dataclass
class _Function:
    """A function that has been emitted, and the letter of its result."""

    function: Any
    letter: str


class KernelModule:
    """A kernel and the routines that it calls.

    Parameters
    ----------
    tables : dict
        Arrays of constants that the source reads by name.
    """

    def __init__(self, tables: dict[str, np.ndarray]) -> None:
        self.module = LLVMModule("kernel")
        self.tables = {name: np.ascontiguousarray(x) for name, x in tables.items()}
        self.notices_errors = False
        self._functions: dict[tuple, _Function] = {}

    def kernel(
        self, source: str, given: list[ArrayParameter | None], is_long: bool,
        is_brief: bool = False, notices_errors: bool = False,
    ) -> Callable:  # fmt: skip
        """Compile a source to a function of arrays, and of floats where `given` is None."""
        self.notices_errors = notices_errors
        self.module.add_metadata(["accesses"])  # of no loop, but all marks of loops need it
        (node,) = tree_of(source).body
        dtypes = {np.dtype(np.float64): "*", np.dtype(np.float32): "."}
        letters = ["d" if x is None else dtypes.get(x.dtype, "#") for x in given]
        made = self.define(node, letters, [x is not None and x.is_written for x in given], "status")
        made.function.linkage = "internal"
        builtin_functions.define(self.module, "call", made.function, given, is_long, notices_errors)
        return CompiledModule(self.module, True, is_brief).builtin("call", self.tables)

    def called(self, name: str, args: list[Any]) -> _Function | None:
        """Return a routine of `linalg_runtime` for some arguments; None for other names.

        It is emitted at its first call with arrays of these dtypes.
        """
        f = getattr(linalg_runtime, name, None)
        if not inspect.isfunction(f):
            return None
        arrays = "".join([x.letter for x in args if isinstance(x, _Memory)])
        found = self._functions.get((name, arrays))
        if found is None:
            (node,) = tree_of(textwrap.dedent(inspect.getsource(f))).body
            if "s" in arrays:
                node.name = f"{name}_{arrays}"
            pointers = {letter: x for x, letter in _POINTERS.items()}
            letters = ["b" if p.startswith("is_") else "i" for p in inspect.signature(f).parameters]
            for k, x in enumerate(args):
                letters[k] = pointers[x.letter] if isinstance(x, _Memory) else letters[k]
            found = self.define(node, letters, [False] * len(letters), _result_of(node))
            found.function.linkage = "internal"
            found.function.attributes.add("noinline")
            self._functions[name, arrays] = found
        return found

    def define(self, node: Any, letters: list[str], alone: list[bool], result: str) -> _Function:
        """Emit a function; arrays that are `alone` do not alias other arguments."""
        kinds = [PTR if x in _POINTERS else _TYPES[x] for x in letters]
        code = FunctionBuilder(
            self.module, node.name, kinds, I32 if result == "status" else _TYPES[result]
        )
        for x, is_alone in zip(code.function.args, alone, strict=True):
            if is_alone:
                x.add_attribute("noalias")
        _Body(self, code, result).write(node, letters)
        return _Function(code.function, result)


def _result_of(node: Any) -> str:
    """Return the letter of the result of a routine: a boolean, which may be unused, or a float."""
    found = [x.value for x in ast.walk(node) if isinstance(x, ast.Return)]
    return "b" if not found or isinstance(found[0], ast.Constant) else "d"


class _Body(Scalars):
    """Emitter of the statements of one function."""

    def __init__(self, module: KernelModule, code: FunctionBuilder, result: str) -> None:
        super().__init__(code, False)
        self.module, self.result = module, result
        self.names: dict[str, Any] = {}  # arguments and loop indices
        self.variables: dict[str, tuple[Any, str]] = {}  # name → address and letter

    def write(self, node: Any, letters: list[str]) -> None:
        """Emit the function."""
        for p, x, letter in zip(node.args.args, self.code.function.args, letters, strict=True):
            is_array = letter in _POINTERS
            self.names[p.arg] = _Memory(x, _POINTERS[letter]) if is_array else self.plain(letter, x)
        self.statements(node.body)
        if not self.b.block.is_terminated:
            self.b.ret(ir.Constant(I1, 1))
        self.code.begin()

    # -- statements --------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        """Emit statements."""
        for node in body:
            getattr(self, f"_{type(node).__name__.lower()}")(node)

    def _expr(self, node: Any) -> None:
        if isinstance(node.value, ast.Call):
            self.expression(node.value)

    def _return(self, node: Any) -> None:
        if self.result == "status":
            status = ir.Constant(I32, node.value.value)
            if node.value.value == 1 and self.outside is not None:
                found = self.b.load(self.outside, typ=I1)
                status = self.b.select(found, ir.Constant(I32, 2), status)
            self.b.ret(status)
        else:
            self.b.ret(self.converted(self.expression(node.value), self.result))

    def _assign(self, node: Any) -> None:
        (target,) = node.targets
        if isinstance(target, ast.Name):
            self._bind(target.id, self.expression(node.value))
            return
        values = [self.expression(x) for x in node.value.elts]
        for t, value in zip(target.elts, values, strict=True):
            self._bind(t.id, value)

    def _augassign(self, node: Any) -> None:
        self._bind(node.target.id, self.expression(ast.BinOp(node.target, node.op, node.value)))

    def _bind(self, name: str, x: Any) -> None:
        if name not in self.variables:
            x = self.number(x)
            self.variables[name] = self.code.variable(_TYPES[x.letter]), x.letter
        place, letter = self.variables[name]
        self.b.store(self.converted(x, letter), place)

    def _if(self, node: Any) -> None:
        test = self.truth(node.test)
        if not node.orelse:
            is_exit = isinstance(node.body[-1], ast.Return)
            with self.b.if_then(test, False if is_exit else None):
                self.statements(node.body)
            return
        with self.b.if_else(test) as (then, otherwise):
            with then:
                self.statements(node.body)
            with otherwise:
                self.statements(node.orelse)

    def _for(self, node: Any) -> None:
        *first, last = [self.integer(x) for x in node.iter.args]
        count = self.b.sub(last, first[0]) if first else last
        is_short = False
        if self.module.notices_errors:  # in a partly filled register, LLVM would divide by zero
            is_short = isinstance(count, ir.Constant) and count.constant < SHORT_LOOP
            count = count if isinstance(count, ir.Constant) else self.code.hidden(count)
        with self.code.counted(count, alone=is_short) as k:
            i = self.b.add(first[0], k, flags=("nsw",)) if first else k
            self.variables.pop(node.target.id, None)  # the name was a variable's before
            self.names[node.target.id] = self.plain("i", i)
            self.statements(node.body)

    # -- expressions -------------------------------------------------------------------------------

    def converted(self, x: Any, letter: str) -> Any:
        """Convert a number, or a known value, to the representation of a letter."""
        return super().converted(self.number(x), letter)

    def truth(self, node: ast.expr) -> Any:
        """Emit an expression as a boolean."""
        return self.converted(self.expression(node), "b")

    def integer(self, node: ast.expr) -> Any:
        """Emit an expression as an integer."""
        return self.converted(self.expression(node), "i")

    def expression(self, node: ast.expr) -> Any:
        """Emit an expression; return a `Number`, a `StaticValue` value or a `_Memory`."""
        return self.evaluated(node, self.names, {}, "d", 0)

    def evaluated(
        self, node: ast.expr, scope: dict[str, Any], outer: dict, letter: str, depth: int
    ) -> Any:
        """Emit an expression of the function, whose scope is `names`, or of one that it calls."""
        if scope is self.names:
            if isinstance(node, ast.Name):
                return self._named(node.id)
            if isinstance(node, ast.Subscript):
                return self._element(self.expression(node.value), self.integer(node.slice))
            if isinstance(node, ast.Call):
                return self._called(node)
            if isinstance(node, ast.IfExp):
                test, *both = map(self.expression, (node.test, node.body, node.orelse))
                common = self._common(*both)
                values = [self.converted(x, common) for x in both]
                return self.plain(common, self.b.select(self.converted(test, "b"), *values))
        return super().evaluated(node, scope, outer, letter, depth)

    def _named(self, name: str) -> Any:
        if name in self.variables:
            place, letter = self.variables[name]
            return self.plain(letter, self.b.load(place, typ=_TYPES[letter]))
        if name in self.names:
            return self.names[name]
        table = self.module.tables[name]
        address = self.b.inttoptr(self.code.whole(table.ctypes.data), PTR)
        return _Memory(address, "d" if table.dtype == np.float64 else "i")

    def _common(self, *values: Any) -> str:
        letters = {self.number(x).letter for x in values}
        return "d" if "d" in letters else "i" if "i" in letters else "b"

    def operation(self, f: Any, args: list[Any], letter: str) -> Any:
        """Emit an operator; places in memory are integers that do not overflow."""
        is_known = all(isinstance(x, StaticValue) for x in args)
        if f in (*_OF_INTEGERS, operator.neg) and not is_known and self._common(*args) == "i":
            values = [self.converted(x, "i") for x in args]
            if f is operator.neg:
                return self.plain("i", self.b.neg(*values))
            return self.plain("i", getattr(self.b, _OF_INTEGERS[f])(*values, flags=("nsw",)))
        return super().operation(f, args, letter)

    def _element(self, memory: _Memory, place: Any) -> Number:
        found = self.b.load(self._address(memory, place), typ=_TYPES[memory.letter])
        if memory.letter == "s":
            return self.plain("d", self.b.fpext(found, F64))
        return self.plain(memory.letter, found)

    def _address(self, memory: _Memory, place: Any) -> Any:
        kind = _TYPES[memory.letter]
        return self.b.gep(memory.address, [place], inbounds=True, source_etype=kind)

    # -- calls -------------------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name):
            own = getattr(self, f"_call_{node.func.id}", None)
            if own is not None:
                return own(*map(self.expression, node.args))
        args = list(map(self.expression, node.args))
        found = self.module.called(node.func.id, args) if isinstance(node.func, ast.Name) else None
        if found is not None:
            return self._routine(found, args)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _WIDENED and (name not in ("sin", "cos") or has_fma()):
            (x,) = args
            value = self.converted(x, "d")
            return self.plain("d", self.vectorizable(name, value, self.module.notices_errors))
        f = StaticValue(getattr(math, name)) if name in _WIDENED else self._function(node.func)
        # A function of NumPy that is an expression is one of vectorizable functions.
        self.is_vectorized = f.x in EXPRESSIONS
        made = self.called(f, args, "d", 0)
        self.is_vectorized = False
        return made

    def _function(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return StaticValue({"abs": abs, "min": min, "max": max}[node.id])
        return self.expression(node)

    def _routine(self, f: _Function, args: list[Any]) -> Number:
        values = []
        for x, p in zip(args, f.function.args, strict=True):
            letter = "b" if p.type == I1 else "i"
            values.append(x.address if isinstance(x, _Memory) else self.converted(x, letter))
        return self.plain(f.letter, self.b.call(f.function, values))

    def _call_get(self, memory: _Memory, place: Any) -> Number:
        return self._element(memory, self.converted(place, "i"))

    def _call_put(self, memory: _Memory, place: Any, value: Any) -> None:
        to = self._address(memory, self.converted(place, "i"))
        is_float32 = memory.letter == "s"
        x = self.converted(value, "d" if is_float32 else memory.letter)
        self.b.store(self.b.fptrunc(x, F32) if is_float32 else x, to)

    def _call_float32(self, x: Any) -> Number:
        rounded = self.b.fptrunc(self.converted(x, "d"), F32)
        return self.plain("d", self.b.fpext(rounded, F64))

    def _call_plus(self, x: Any, y: Any) -> Number:
        return self._reassociable(self.b.fadd, x, y)

    def _call_times(self, x: Any, y: Any) -> Number:
        return self._reassociable(self.b.fmul, x, y)

    def _reassociable(self, write: Callable, *args: Any) -> Number:
        values = [self.converted(x, "d") for x in args]
        return self.plain("d", write(*values, flags=("reassoc", "contract")))

    def _call_larger(self, x: Any, y: Any) -> Number:
        return self._extremum(">", x, y)

    def _call_smaller(self, x: Any, y: Any) -> Number:
        return self._extremum("<", x, y)

    def _extremum(self, sign: str, x: Any, y: Any) -> Number:
        """Return the larger or smaller of two numbers; the kernel checks for NaN elsewhere."""
        values = self.converted(x, "d"), self.converted(y, "d")
        is_first = self.b.fcmp_ordered(sign, *values, flags=_NO_NAN)
        return self.plain("d", self.b.select(is_first, *values, flags=_NO_NAN))

    def _call_float(self, x: Any) -> Number:
        return self.plain("d", self.converted(x, "d"))

    def _call_int(self, x: Any) -> Number:
        x = self.number(x)
        value = x.value if x.letter == "i" else self.b.fptosi(x.value, I64)
        return self.plain("i", value)
