"""Operations without machine code: machine code calls Python for them, between its own loops.

A source of which an operation has no machine code is lowered once more with this operation left to
Python. Its operands are lowered as usual, so arrays and numbers go in and come out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from autodiff import python_operators
from autodiff.structured import blas_sums, runtime_library as rt
from autodiff.structured.callables.recursive_calls import start_program, sweep_program
from autodiff.structured.form.kinds import Kind, UnsupportedError, kind_of_result
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.array_parameters import DATA, SHAPE
from autodiff.structured.native.llvm.calls_of_python import OperationWriter
from autodiff.structured.native.llvm.function_builder import (
    I32,
    MAY_WARN,
    PTR,
    exceptions,
)
from autodiff.structured.native.lowered_values import (
    Array,
    FreshMemory,
    LazyArray,
    Number,
    PythonObject,
    StaticValue,
    TupleValue,
    has_tag,
    is_one,
    letter_of,
)
from autodiff.structured.native.program_calls import ProgramCalls

_OPERATIONS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute)
_WRITERS = (rt.gather, rt.add_at)
"""Functions that write into their first argument."""
_OTHER_FORMS = frozenset({
    *blas_sums.SCOPE.values(), blas_sums.factored, blas_sums.solve_factored,
    blas_sums.product_ahead, rt.put_back, rt.taken_out, start_program, sweep_program,
})  # fmt: skip
"""Functions whose arguments or results are something else in machine code, or that write."""

_SIGNS = {node: o.sign for node, o in python_operators.BINARY.items()}

Place = tuple[Any, ...]


def place_of(node: ast.AST) -> Place:
    """Return what identifies a node of the source of a region."""
    return (type(node), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


class NotLeftError(UnsupportedError):
    """An operation has no machine code and cannot be left to Python."""


class OperationsByPython(ProgramCalls):
    """Lowering of expressions and of bindings of names, with some operations left to Python.

    Parameters
    ----------
    *args
        Those of `Variables`.
    left : dict
        The operations that are left to Python → why they have no machine code. Those that this
        lowering finds are added.

    Attributes
    ----------
    has_left_more : bool
        Whether it has found some, so that the source has to be lowered again.
    """

    def __init__(self, *args: Any, left: dict[Place, str]) -> None:
        super().__init__(*args)
        self.left = left
        self.has_left_more = False
        self._count = 0  # results that Python keeps
        self._targets: tuple[ast.expr | None, Any] = None, None  # a value, and what it is bound to

    def expression(self, node: ast.expr) -> Any:
        """Lower an expression."""
        if place_of(node) in self.left:
            return self._value_by_python(node)
        try:
            return super().expression(node)
        except UnsupportedError as error:
            if not self._leave(node, error):
                raise
            return self._value_by_python(node)

    def value_for(self, node: ast.Assign) -> Any:
        """Lower the value of an assignment, whose targets say of what kind it is."""
        self._targets = node.value, node.targets[0] if len(node.targets) == 1 else None
        return self.expression(node.value)

    def statement(self, node: ast.stmt, lower: Callable[[Any], None]) -> None:
        """Lower a statement by a function, or leave it to Python."""
        own = _operation_of(node)
        if own is not None and place_of(own) in self.left and _writes(node):
            self._write_by_python(node, self.left[place_of(own)])
            return
        try:
            lower(node)
        except UnsupportedError as error:
            if own is None or not self._leave(own, error):
                raise
            self.statement(node, lower)

    def _leave(self, node: ast.AST, error: UnsupportedError) -> bool:
        """Leave an operation to Python from now on; return whether that is possible."""
        if isinstance(error, NotLeftError) or not isinstance(
            node, (*_OPERATIONS, ast.Assign, ast.AugAssign)
        ):
            return False
        place = place_of(node)
        if place in self.left:
            return False
        self.left[place] = str(error)
        self.has_left_more = True
        return True

    # -- operations --------------------------------------------------------------------------------

    def _value_by_python(self, node: ast.expr) -> Any:
        """Emit a call of Python that computes the value of an operation."""
        value, target = self._targets
        operands: list[Any] = []
        with _final(self.left[place_of(node)]):
            text = ast.unparse(self._operation(node, operands))
            kinds = self._kinds_of(target, operands) if value is node else None
            return self._called(text, operands, kinds or self._inferred(text, operands))

    def _write_by_python(self, node: Any, why: str) -> None:
        """Emit a call of Python that runs a statement which writes into an array."""
        operands: list[Any] = []
        with _final(why):
            if isinstance(node, ast.Expr):
                call = node.value
                if not isinstance(call, ast.Call) or self._callee(call) not in _WRITERS:
                    raise UnsupportedError("a statement")
                text = ast.unparse(self._operation(call, operands))
            else:
                is_sum = isinstance(node, ast.AugAssign)
                target = node.target if is_sum else node.targets[0]
                sign = _SIGNS[type(node.op)] if is_sum else ""
                is_name = isinstance(target, ast.Name)
                make = self._operand if is_name else self._operation
                left = ast.unparse(make(target, operands))
                right = ast.unparse(self._operand(node.value, operands))
                if is_name and isinstance(operands[0], Number):
                    kind = self.names.kinds.get(target.id)
                    found = self._called(f"{left} {sign} ({right})", operands, kind)
                    self.bind(target.id, found)
                    return
                text = f"{left} {sign}= {right}"
            if not operands or not isinstance(operands[0], Array):
                raise UnsupportedError("a write into something other than an array")
            self.materialize_readers(operands[0].alias_set)
            self._called(text, operands, None, is_statement=True)

    def message(self, call: ast.Call) -> None:
        """Emit a call of Python that adds a message: ``add_message(show, x, y)``."""
        operands: list[Any] = []
        given = [self._operand(a, operands) for a in call.args]
        text = ast.unparse(ast.Call(call.func, given, []))
        self._called(text, operands, None, is_statement=True)

    def _operation(self, node: ast.expr, operands: list) -> ast.expr:
        """Return an operation with names in place of its operands, which are lowered."""

        def part(x: ast.expr) -> Any:
            return self._operand(x, operands)

        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                f: Any = ast.Attribute(part(node.func.value), node.func.attr, ast.Load())
            else:
                f = part(node.func)
                if not (node.args or node.keywords):  # a clock
                    raise UnsupportedError("a call without arguments in machine code")
                if self._callee(node) in _OTHER_FORMS:
                    raise UnsupportedError("a function with another form in machine code")
            given = [ast.keyword(k.arg, part(k.value)) for k in node.keywords]
            return ast.Call(f, [part(a) for a in node.args], given)
        if isinstance(node, ast.BinOp):
            return ast.BinOp(part(node.left), node.op, part(node.right))
        if isinstance(node, ast.UnaryOp):
            return ast.UnaryOp(node.op, part(node.operand))
        if isinstance(node, ast.Compare):
            return ast.Compare(part(node.left), node.ops, [part(x) for x in node.comparators])
        if isinstance(node, ast.Subscript):
            return ast.Subscript(part(node.value), part(node.slice), ast.Load())
        if isinstance(node, ast.Attribute):
            return ast.Attribute(part(node.value), node.attr, ast.Load())
        raise UnsupportedError(type(node).__name__)

    def _callee(self, node: ast.Call) -> Any:
        return self.scope.get(getattr(node.func, "id", ""))

    def _operand(self, node: Any, operands: list) -> Any:
        """Lower an operand; return the source that stands for it."""

        def part(x: ast.expr) -> Any:
            return self._operand(x, operands)

        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Slice):
            return ast.Slice(*[x and part(x) for x in (node.lower, node.upper, node.step)])
        if isinstance(node, (ast.Tuple, ast.List)):
            return type(node)([part(x) for x in node.elts], ast.Load())
        if isinstance(node, ast.Dict):
            return ast.Dict(node.keys, [part(x) for x in node.values])
        if isinstance(node, ast.Name) and node.id in self.scope and node.id not in self.bound:
            return node
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "s_":
            return ast.Subscript(node.value, part(node.slice), ast.Load())
        if place_of(node) in self.left:
            return self._operation(node, operands)
        return self._named(self.expression(node), operands)

    def _named(self, value: Any, operands: list) -> ast.expr:
        if isinstance(value, TupleValue):
            return ast.Tuple([self._named(x, operands) for x in value.parts], ast.Load())
        if isinstance(value, LazyArray):
            value = self.elementwise.as_array(value)
        if not isinstance(value, (StaticValue, Number, Array, PythonObject)):
            raise UnsupportedError("an operand of another kind")
        operands.append(value)
        return ast.Name(f"operand_{len(operands) - 1}", ast.Load())

    # -- results -----------------------------------------------------------------------------------

    def _kinds_of(self, target: Any, operands: list) -> Any:
        """Return the kinds of what an operation is bound to; None for an object of Python's."""
        if isinstance(target, ast.Tuple):
            return [self._kinds_of(t, operands) for t in target.elts]
        if not isinstance(target, ast.Name):
            return None
        own = self.names.alias_sets.get(target.id)
        if own is not None and any(isinstance(x, Array) and x.alias_set is own for x in operands):
            raise UnsupportedError("a view")
        return self.names.results.get(target.id) or self.names.kinds.get(target.id)

    def _inferred(self, text: str, operands: list) -> Kind | None:
        """Return the kind of an operation's result, found by samples; None if they do not say."""
        names, kinds, scope = [], [], dict(self.scope)
        try:
            for k, x in enumerate(operands):
                if isinstance(x, StaticValue):
                    scope[f"operand_{k}"] = x.x
                    continue
                names.append(f"operand_{k}")
                ones = [j for j, n in enumerate(getattr(x, "shape", ())) if is_one(n)]
                kinds.append(self._kind_of(x)._replace(ones=frozenset(ones)))
            f = eval(f"lambda {', '.join(names)}: {text}", scope)
            found = kind_of_result(f, kinds)
        except UnsupportedError:
            return None
        if not self.forward:  # shapes of the samples may not fit
            found = found.general()
        return found if found.is_array or found.is_scalar or found.parts else None

    def _called(
        self, text: str, operands: list, kinds: Any, is_statement: bool = False
    ) -> Any:  # fmt: skip
        """Emit a call of Python that runs an operation; return its result."""
        is_kept = not is_statement and _has_objects(kinds)
        writer = OperationWriter(self.scope, is_kept, self.forward)
        words: list[Any] = []
        for k, x in enumerate(operands):
            name = f"operand_{k}"
            if isinstance(x, StaticValue):
                writer.scope[name] = x.x
            elif isinstance(x, PythonObject):
                writer.object(name, x.text)
            else:
                kind = self._kind_of(x)
                writer.argument(name, kind)
                words += self.to_words(x, kind)
        if not is_statement:
            result = self._result(writer, "r", kinds)
        is_for_arrays = any(isinstance(x, (Array, PythonObject)) for x in operands)
        if not (is_statement or is_for_arrays or _has_arrays(kinds)):
            raise UnsupportedError("numbers alone")
        place = self._emit(writer.function(text, is_statement), words, writer.count)
        return None if is_statement else result(place)

    def _kind_of(self, x: Number | Array) -> Kind:
        """Return the kind of an operand. The sweep computes with Python's floats."""
        is_float = isinstance(x, Number) and x.letter == "d" and not self.forward
        return Kind(frozenset([float])) if is_float else x.kind

    def _emit(self, operation: Callable, words: list, count: int) -> Any:
        """Emit a call of a function of Python; return the address of the words."""
        code, b, mask = self.code, self.b, ir.Constant(I32, exceptions())
        place = code.words(count)
        for k, word in enumerate(words):
            code.set_word(place, k, word)
        if self.forward:  # NumPy clears the flags
            flags = code.call("fetestexcept", I32, [mask])
            code.exit_if(b.icmp_signed("!=", flags, ir.Constant(I32, 0)), MAY_WARN)
        code.module.kept.append(operation)
        function = b.inttoptr(code.whole(id(operation)), PTR)
        run = code.word(self.state, memory.RUN, PTR)
        status = code.call("structured_python", I32, [run, function, place])
        if self.forward:
            code.call("feclearexcept", I32, [mask])
        code.leave_with(status)
        return place

    def _result(self, writer: OperationWriter, text: str, kind: Any) -> Callable[[Any], Any]:
        """Write what hands a result over; return what emits its loads from the words."""
        if isinstance(kind, Kind) and kind.parts:
            kind = list(kind.parts)
        if isinstance(kind, list):
            writer.check(f"len({text}) != {len(kind)}")
            made = [self._result(writer, f"{text}[{k}]", part) for k, part in enumerate(kind)]
            return lambda place: TupleValue([f(place) for f in made])
        if kind is not None and kind.is_array:
            k = writer.array(text, kind, self._new_object().text)
            return lambda place: self._array(self.code.word(place, k, PTR), kind)
        if kind is not None and kind.is_scalar:
            k = writer.number(text, kind)
            return lambda place: self._number(place, k, kind)
        if kind is not None and kind.has_items:
            raise UnsupportedError("a list")
        found = self._new_object()
        writer.object(found.text, text, is_result=True)
        return lambda place: found

    def _new_object(self) -> PythonObject:
        self._count += 1
        return PythonObject(f"run.values['{self.code.function.name}_{self._count}']")

    def _array(self, x: Any, kind: Kind) -> Array:
        """Return the array of an object of NumPy's, which lives until the operation runs again.

        So it is copied if others read it after the iteration.
        """
        code, b = self.code, self.b
        address = b.load(code.at(x, code.whole(DATA)), typ=PTR)
        lengths = b.load(code.at(x, code.whole(SHAPE)), typ=PTR)
        shape = [code.word(lengths, k) for k in range(kind.ndim)]
        for k in kind.ones:
            code.exit_if(b.not_(code.equal(shape[k], code.whole(1))))
            shape[k] = code.whole(1)
        assert kind.dtype is not None
        strides, _ = self.elementwise.strides_of(kind.dtype, shape)
        found = Array(kind.dtype, address, shape, strides, FreshMemory())
        if self.store == memory.SCRATCH:
            return found
        return self.elementwise.materialize(found, self.store)

    def _number(self, place: Any, k: int, kind: Kind) -> Number:
        letter = letter_of(kind)
        words = iter([self.code.word(place, k + i) for i in range(3)])
        x = self.code.from_words(letter, words)
        return Number(kind.general(), letter, x, next(words) if has_tag(kind) else None)

    # -- the tape ----------------------------------------------------------------------------------

    def push_objects(self, objects: list[PythonObject]) -> None:
        """Keep objects of Python's for the sweep."""
        texts = "".join(f"{x.text}, " for x in objects)
        self._move_objects(f"run.objects.append(({texts}))")

    def pop_objects(self, count: int) -> list[PythonObject]:
        """Take objects of Python's from the tape."""
        found = [self._new_object() for _ in range(count)]
        texts = "".join(f"{x.text}, " for x in found)
        self._move_objects(f"{texts} = run.objects.pop()")
        return found

    def _move_objects(self, text: str) -> None:
        writer = OperationWriter({}, False, False)
        with self.code.apart():
            self._emit(writer.function(text, True), [], writer.count)


def _operation_of(node: ast.stmt) -> ast.AST | None:
    """Return what is left to Python for a statement that has no machine code."""
    if isinstance(node, ast.Expr) or (isinstance(node, ast.Assign) and not _writes(node)):
        return node.value
    return node if isinstance(node, (ast.Assign, ast.AugAssign)) else None


def _writes(node: ast.stmt) -> bool:
    """Whether a statement writes into an array, or may do so."""
    is_bound = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Subscript)
    return isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and not is_bound


def _has_objects(kinds: Any) -> bool:
    return any(map(_has_objects, kinds)) if isinstance(kinds, list) else kinds is None


def _has_arrays(kinds: Any) -> bool:
    if isinstance(kinds, Kind):
        return kinds.is_array or any(map(_has_arrays, kinds.parts))
    return isinstance(kinds, list) and any(map(_has_arrays, kinds))


@contextmanager
def _final(why: str) -> Iterator[None]:
    """Raise an error with this message in place of another one: Python cannot do it either."""
    try:
        yield
    except UnsupportedError:
        raise NotLeftError(why) from None
