"""From the source of a function to its structured form.

The verified syntax tree is read once for arguments of given kinds. Names of functions and modules
are looked up now, and what was found is noted, to be compared at each call (`guards`). Calls of
plain functions are read in their place. What is not handled raises `UnsupportedError`: the
function is then traced as ever.
"""

from __future__ import annotations

import ast
import builtins
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import place_of_out
from autodiff.intercept.source.find_source import definition_of
from autodiff.intercept.source.library_code import is_library
from autodiff.structured.ir import Block, For, If, Memory, Op, Program, Slot, Value, While, known
from autodiff.structured.jumps import always_returns, breaks, structured
from autodiff.structured.kinds import (
    SCALARS,
    UNKNOWN,
    Kind,
    UnsupportedError,
    join,
    kind_of,
    kind_of_result,
    samples,
)
from autodiff.structured.known_functions import (
    CALLED,
    PURE,
    VIEWS,
    is_pure,
    makes_new,
    ruled_entry,
)
from chainrules_core import rrule

_BINARY: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
}
_UNARY: dict[type, Callable] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARISONS: dict[type, Callable] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FORMS = frozenset({"shape", "size", "ndim", "dtype"})
_MOST_INLINED = 8
_MOST_ROUNDS = 4
_MOST_CALLS = 20_000
_OURS = ("autodiff", "chainrules", "chainrules_core")
_OUTSIDE = (
    bool, int, float, str, type(None), type(Ellipsis), types.ModuleType, types.FunctionType,
    types.BuiltinFunctionType, type, np.ufunc, np.dtype, type(np.where), type(np.float64),
)  # fmt: skip


def lower(function: types.FunctionType, kinds: list[Kind], known_args: dict[int, Any]) -> Lowered:
    """Read a function from its source, for arguments of these kinds.

    Parameters
    ----------
    function : FunctionType
        The function.
    kinds : list of Kind
        Those of its positional arguments.
    known_args : dict
        Position → value of the arguments that the program is made for.

    Raises
    ------
    UnsupportedError
        If it uses what is not handled.
    """
    return _Lowering().function(function, kinds, known_args)


class Lowered:
    """A program, and what was looked up for it."""

    __slots__ = ("guards", "program")

    def __init__(self, program: Program, guards: list[tuple[dict, str, Any]]) -> None:
        self.program = program
        self.guards = guards


class _Scope:
    """The names of one function: the one that is read, or one that it calls."""

    def __init__(self, function: types.FunctionType, depth: int) -> None:
        self.function = function
        self.depth = depth
        self.slots: dict[str, Slot] = {}
        self.locals = frozenset(function.__code__.co_varnames + function.__code__.co_cellvars)


class _Lowering:
    def __init__(self) -> None:
        self.program = Program()
        self.guards: list[tuple[dict, str, Any]] = []
        self.count = 0
        self.names: set[str] = set()
        self.block = Block()
        self.body: list = [self.block]
        self.bound: dict[Slot, Value] = {}
        self.kinds: dict[Slot, Kind] = {}  # of what the slots hold here
        self.scope: Any = None
        self.depth = 0  # of loops and branches
        self.calling: list = []
        self.line = 0
        self.may_share: list[tuple[Value, Value]] = []
        self.flags: list[str] = []
        self.returns: list[Any] = []
        self.size = 0
        self.arrays: list[tuple[Slot, np.ndarray]] = []

    # -- functions ---------------------------------------------------------------------------------

    def function(
        self, function: types.FunctionType, kinds: list[Kind], known_args: dict[int, Any]
    ) -> Lowered:
        node = self._definition(function)
        self.calling.append(function)
        self.scope = _Scope(function, 0)
        for i, (a, kind) in enumerate(zip(_parameters(node, function), kinds, strict=True)):
            slot = self._slot(a)
            slot.writes += 1
            if i in known_args:
                self.kinds[slot] = kind_of(known_args[i], known=True)
                continue
            self.kinds[slot] = kind
            slot.memory = Memory() if kind.is_array else None
            self.program.parameters.append(slot)
            self.program.kinds.append(kind)
        self.program.returned = self._statements_of(node.body)
        self.end_block()
        self.program.body = self.body
        for slot, x in self.arrays:
            if slot.memory.root().is_written:  # type: ignore[union-attr] # an array has one
                raise UnsupportedError("a write into an array from outside")
            self.program.parameters.append(slot)
            self.program.captured.append(x)
        for a, b in self.may_share:
            if a.memory.root().is_written or b.memory.root().is_written:  # type: ignore[union-attr]
                raise UnsupportedError("a write into what may be a view")
        return Lowered(self.program, self.guards)

    def _definition(self, function: types.FunctionType) -> ast.FunctionDef:
        found = definition_of(function)
        if found is None or type(found.node) is not ast.FunctionDef:
            raise UnsupportedError("its source is not to be had")
        node = found.node
        a = node.args
        if a.vararg or a.kwarg or a.kwonlyargs or function.__code__.co_cellvars:
            raise UnsupportedError("parameters * and **, and functions inside")
        if node.decorator_list and hasattr(function, "__wrapped__"):
            raise UnsupportedError("a decorated function")
        return node

    def inline(self, function: types.FunctionType, args: list[Any], names: dict[str, Any]) -> Any:
        """Read a function in the place of its call."""
        if function in self.calling or len(self.calling) >= _MOST_INLINED:
            raise UnsupportedError("a function that calls itself")
        package = function.__globals__.get("__name__", "").partition(".")[0]
        if package in _OURS or is_library(function):
            raise UnsupportedError(f"{function.__name__} of a library")
        node = self._definition(function)
        parameters = _parameters(node, function)
        given: dict[str, Any] = dict(zip(parameters, args, strict=False))
        if len(args) > len(parameters) or not names.keys() <= set(parameters) - given.keys():
            raise UnsupportedError("a call that fails")
        given |= names
        defaults = dict(
            zip(reversed(parameters), reversed(function.__defaults__ or ()), strict=False)
        )
        self.guards.append((_Attributes(function), "__code__", function.__code__))
        self.guards.append((_Attributes(function), "__defaults__", function.__defaults__))
        for name in parameters:
            if name not in given:
                if name not in defaults:
                    raise UnsupportedError("a call that fails")
                given[name] = self.const(defaults[name])
        outer, self.scope = self.scope, _Scope(function, self.scope.depth + 1)
        self.calling.append(function)
        try:
            for name in parameters:
                self.bind(name, given[name])
            return self._statements_of(node.body)
        finally:
            self.scope = outer
            self.calling.pop()

    def _statements_of(self, body: list[ast.stmt]) -> Any:
        """Read the statements of a function; return what it returns."""
        body = structured(body, (ast.Return, ast.Raise))
        last = body[-1]
        if isinstance(last, ast.Return):
            self.statements(body[:-1])
            return self.const(None) if last.value is None else self.expression(last.value)
        outer, self.returns = self.returns, []
        try:
            self.statements(body)
            if not self.returns:
                return self.const(None)
            return self._joined_returns(body)
        finally:
            self.returns = outer

    def _joined_returns(self, body: list[ast.stmt]) -> Any:
        """Return what is returned at the ends of branches."""
        if not always_returns(body) or len({_form(r) for r in self.returns}) != 1:
            raise UnsupportedError("a function that returns this and that")

        def read(names: Any) -> Any:
            return tuple(map(read, names)) if type(names) is tuple else self.read(names)

        return read(self.returns[0])

    def on_return(self, node: ast.Return) -> None:
        """At the end of a branch: bind variables of their own."""
        value = self.const(None) if node.value is None else self.expression(node.value)

        def bind(x: Any, place: str) -> Any:
            if type(x) is tuple:
                return tuple([bind(part, f"{place}_{i}") for i, part in enumerate(x)])
            self.bind(place, x)
            return place

        self.scope.locals |= {f"return{''.join(p)}" for p in _places(value)}
        self.returns.append(bind(value, "return"))

    # -- names -------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def _slot(self, name: str) -> Slot:
        slot = self.scope.slots.get(name)
        if slot is None:
            self.count += 1
            slot = self.scope.slots[name] = Slot(f"{name}_{self.count}")
            self.program.slots.append(slot)
        return slot

    def bind(self, name: str, value: Any) -> None:
        """Bind a variable to a value, or to a tuple of values."""
        slot = self._slot(name)
        if type(value) is tuple:
            value = self.tuple_of(value)
        self.bind_slot(slot, value)

    def bind_slot(self, slot: Slot, value: Value) -> None:
        slot.writes += 1 if self.depth == 0 else 2
        self.bound[slot] = value
        self.kinds[slot] = value.kind
        self.block.writes[slot] = value
        if value.kind.is_array:
            if slot.memory is None:
                slot.memory = Memory()
            slot.memory.share(value.memory)  # type: ignore[arg-type] # an array has one

    def read(self, name: str) -> Any:
        """Return the value of a name."""
        if name in self.scope.locals:
            slot = self.scope.slots.get(name)
            if slot is None or slot not in self.kinds:
                raise UnsupportedError(f"{name} may not be bound")
            return self.read_slot(slot)
        found = self.outside(name)
        return self.captured(found) if type(found) is np.ndarray else self.const(found)

    def captured(self, x: np.ndarray) -> Value:
        """Return an array from outside: one more argument, which is not written into."""
        for slot, known_array in self.arrays:
            if known_array is x:
                return self.read_slot(slot)
        slot = Slot(self.fresh("outside"))
        slot.writes = 1
        slot.memory = Memory()
        self.kinds[slot] = kind_of(x)
        self.arrays.append((slot, x))
        self.program.slots.append(slot)
        return self.read_slot(slot)

    def read_slot(self, slot: Slot) -> Value:
        value = self.bound.get(slot)
        if value is None:
            kind = self.kinds.get(slot) or self._kind_outside(slot)
            if kind.is_known:
                return self.const(kind.value)
            value = self.made(Op("read", [], data=slot), kind)
            slot.reads += 1
            if kind.is_array:
                if slot.memory is None:
                    slot.memory = Memory()
                value.memory.share(slot.memory)  # type: ignore[union-attr] # an array has one
                slot.memory.root().leaves_block = True
            self.bound[slot] = value
        return value

    def _kind_outside(self, slot: Slot) -> Kind:
        return next(kind_of(x) for s, x in self.arrays if s is slot)

    def outside(self, name: str) -> Any:
        """Return what a captured variable, a global or a builtin is."""
        function = self.scope.function
        if name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            try:
                found = cell.cell_contents
            except ValueError:
                raise UnsupportedError(f"{name} is not bound") from None
            self.guards.append((_Cell(cell), "", found))
        elif name in function.__globals__:
            found = function.__globals__[name]
            self.guards.append((function.__globals__, name, found))
        elif hasattr(builtins, name):
            found = getattr(builtins, name)
            self.guards.append((function.__globals__, name, UNKNOWN))
            self.guards.append((vars(builtins), name, found))
        else:
            raise UnsupportedError(f"{name} is not bound")
        return found

    # -- operations --------------------------------------------------------------------------------

    def made(self, op: Op, kind: Kind) -> Value:
        op.line = self.line
        value = Value(self.fresh("t"), kind, op)
        op.out = value
        for a in (*op.args, *op.options.values()):
            a.uses += 1
        self.block.ops.append(op)
        return value

    def done(self, op: Op) -> None:
        op.line = self.line
        for a in op.args:
            a.uses += 1
        self.block.ops.append(op)

    def const(self, x: Any) -> Value:
        if not _is_constant(x):
            raise UnsupportedError(f"a value of class {type(x).__name__} from outside")
        op = Op("const", [], data=x)
        value = Value(self.fresh("k"), kind_of(x, known=True), op)
        op.out = value
        return value

    def tuple_of(self, parts: tuple, given: bool = False) -> Value:
        """Return a tuple as one value; one of arrays can only be `given` to a function."""
        values = [self.tuple_of(p, given) if type(p) is tuple else p for p in parts]
        if not given and any(v.kind.is_array or v.kind.is_inexact for v in values):
            raise UnsupportedError("a tuple of arrays in a variable")
        if all(v.kind.is_known for v in values):
            return self.const(tuple([v.kind.value for v in values]))
        kind = Kind(frozenset([tuple]), parts=tuple([v.kind for v in values]))
        return self.made(Op("tuple", values), kind)

    def call(
        self, f: Callable, args: list[Value], options: dict[str, Value] | None = None
    ) -> Value:
        """Read a call of a function that has a rule or is known to be pure."""
        options = options or {}
        everything = [*args, *options.values()]
        if len(args) > place_of_out(f)[0] or (isinstance(f, np.ufunc) and len(args) != f.nin):
            raise UnsupportedError("an argument out")
        self.size += 1
        if self.size > _MOST_CALLS:
            raise UnsupportedError("very long")
        if all(v.kind.is_known for v in everything):
            return self._folded(f, args, options)
        if ruled_entry(f) is None and f not in PURE:
            raise UnsupportedError(f"{f} has no rule")
        if f is operator.pow and all(v.kind.is_integral for v in args):
            raise UnsupportedError("a power of integers")
        kinds = {name: v.kind for name, v in options.items()}
        kind = kind_of_result(f, [v.kind for v in args], kinds)
        if f in VIEWS and args[0].kind.is_array:
            value = self.made(Op("view", args, f=f, options=options, data=CALLED), kind)
            args[0].memory.root().is_indexed = True  # type: ignore[union-attr] # an array has one
            value.memory.share(args[0].memory)  # type: ignore[union-attr, arg-type]
            return value
        value = self.made(Op("call", args, f=f, options=options), kind)
        if kind.is_array and not makes_new(f):
            for v in everything:
                if v.kind.is_array:
                    self.may_share.append((value, v))
        return value

    def _folded(self, f: Callable, args: list[Value], options: dict[str, Value]) -> Value:
        if not is_pure(f):
            raise UnsupportedError(f"{f} is not known to be pure")
        named = {name: v.kind.value for name, v in options.items()}
        try:
            with np.errstate(all="raise"):
                made = f(*[v.kind.value for v in args], **named)
        except Exception as error:
            raise UnsupportedError(f"{f} fails") from error
        if isinstance(made, np.ndarray):
            # A new one each time: it may be written into.
            return self.made(Op("call", args, f=f, options=options), kind_of(made))
        return self.const(made)

    def end_block(self) -> None:
        """Begin another block."""
        for slot in self.block.writes:
            if slot.memory is not None:
                slot.memory.root().leaves_block |= False
        self.block = Block()
        self.body.append(self.block)
        self.bound = {}

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Any:
        """Read an expression: a value, or a tuple of such."""
        self.line = getattr(node, "lineno", self.line)
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnsupportedError(f"{type(node).__name__} in an expression")
        return method(node)

    def value(self, node: ast.expr) -> Value:
        made = self.expression(node)
        return self.tuple_of(made) if type(made) is tuple else made

    def on_constant(self, node: ast.Constant) -> Value:
        return self.const(node.value)

    def on_name(self, node: ast.Name) -> Any:
        return self.read(node.id)

    def on_tuple(self, node: ast.Tuple) -> tuple:
        if any(isinstance(e, ast.Starred) for e in node.elts):
            raise UnsupportedError("* in a tuple")
        return tuple([self.expression(e) for e in node.elts])

    def on_binop(self, node: ast.BinOp) -> Value:
        f = _BINARY.get(type(node.op))
        if f is None:
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        return self._binary(f, self.expression(node.left), self.expression(node.right))

    def _binary(self, f: Callable, a: Any, b: Any) -> Value:
        for v in (a, b):
            if type(v) is tuple or not (v.kind.is_scalar or v.kind.is_array):
                raise UnsupportedError("an operator on what is no number or array")
        return self.call(f, [a, b])

    def on_unaryop(self, node: ast.UnaryOp) -> Value:
        f = _UNARY.get(type(node.op))
        x = self.value(node.operand)
        if f is None or (f is operator.not_ and not x.kind.is_scalar):
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        return self.call(f, [x])

    def on_compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            raise UnsupportedError("a chain of comparisons")
        a, b = self.value(node.left), self.value(node.comparators[0])
        f = _COMPARISONS.get(type(node.ops[0]))
        if f is None:
            if all(map(_is_told, (a, b))) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
                same = known(a) is None and known(b) is None
                if (known(a) is None) or (known(b) is None):
                    return self.const(same is isinstance(node.ops[0], ast.Is))
            raise UnsupportedError(f"comparison {type(node.ops[0]).__name__}")
        return self._binary(f, a, b)

    def on_attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        x = known(owner)
        if x is not UNKNOWN:
            if not isinstance(x, types.ModuleType) or node.attr not in vars(x):
                raise UnsupportedError(f"attribute {node.attr}")
            found = vars(x)[node.attr]
            self.guards.append((vars(x), node.attr, found))
            return self.const(found)
        if not owner.kind.is_array:
            raise UnsupportedError(f"attribute {node.attr}")
        if node.attr == "T":
            value = self.made(Op("view", [owner], data="T"), owner.kind)
            owner.memory.root().is_indexed = True  # type: ignore[union-attr] # an array has one
            value.memory.share(owner.memory)  # type: ignore[union-attr, arg-type]
            return value
        if node.attr == "ndim":
            return self.const(owner.kind.ndim)
        if node.attr == "dtype":
            return self.const(owner.kind.dtype)
        if node.attr not in _FORMS:
            raise UnsupportedError(f"attribute {node.attr}")
        kind = kind_of(getattr(samples(owner.kind)[0], node.attr))
        return self.made(Op("form", [owner], data=node.attr), kind)

    def on_subscript(self, node: ast.Subscript) -> Any:
        base = self.expression(node.value)
        if type(base) is tuple or base.kind.parts or base.kind.classes == {tuple}:
            return self._part(base, self.value(node.slice))
        return self.indexed(base, *self._index(node.slice))

    def _part(self, base: Any, at: Value) -> Any:
        i = known(at)
        if type(i) is not int:
            raise UnsupportedError("an index of a tuple")
        parts = base if type(base) is tuple else base.kind.parts
        if not -len(parts) <= i < len(parts):
            raise UnsupportedError("an index of a tuple")
        if type(base) is tuple:
            return base[i]
        if parts[i].is_known:
            return self.const(parts[i].value)
        return self.made(Op("part", [base], data=i), parts[i])

    def _index(self, node: ast.expr) -> tuple[list[Value], Any]:
        """Return the values in an index and its template."""
        values: list[Value] = []

        def one(part: ast.expr) -> Any:
            if isinstance(part, ast.Slice):
                return ("slice", *[bound(b) for b in (part.lower, part.upper, part.step)])
            if isinstance(part, ast.Starred):
                raise UnsupportedError("* in an index")
            value = self.value(part)
            if known(value) is None or known(value) is Ellipsis:
                return ("known", known(value))
            kind = value.kind
            if kind.is_array and kind.letter in "iub":
                values.append(value)
                return ("array", len(values) - 1)
            if not kind.is_integral or not kind.classes.isdisjoint({bool, np.bool_}):
                raise UnsupportedError("an index that is no integer, slice or array")
            values.append(value)
            return ("value", len(values) - 1)

        def bound(part: ast.expr | None) -> Any:
            if part is None:
                return None
            value = self.value(part)
            if known(value) is None:
                return None
            if not value.kind.is_integral:
                raise UnsupportedError("a bound of a slice that is no integer")
            values.append(value)
            return len(values) - 1

        parts = node.elts if isinstance(node, ast.Tuple) else None
        template = tuple(map(one, parts)) if parts is not None else one(node)
        return values, template

    def indexed(self, base: Value, values: list[Value], template: Any) -> Value:
        if not base.kind.is_array:
            raise UnsupportedError("an index of what is no array")
        kind = kind_of_index(base.kind, [v.kind for v in values], template)
        is_view = kind.is_array and not has_arrays(template)
        value = self.made(Op("view" if is_view else "load", [base, *values], data=template), kind)
        base.memory.root().is_indexed = True  # type: ignore[union-attr] # an array has one
        if is_view:
            value.memory.share(base.memory)  # type: ignore[union-attr, arg-type]
        return value

    def on_call(self, node: ast.Call) -> Any:
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise UnsupportedError("* in a call")
        if any(k.arg is None for k in node.keywords):
            raise UnsupportedError("** in a call")
        own: list[Value] = []
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if owner.kind.is_array:
                f = getattr(np.ndarray, node.func.attr, None)
                own = [owner]
            else:
                f = self._called_attribute(owner, node.func.attr)
        else:
            f = known(self.value(node.func))
        if f is UNKNOWN or not callable(f):
            raise UnsupportedError("a call of what is not known")
        args = [*own, *[self.expression(a) for a in node.args]]
        options = {k.arg: self.expression(k.value) for k in node.keywords if k.arg}
        return self.called(f, args, options)

    def _called_attribute(self, owner: Value, name: str) -> Any:
        x = known(owner)
        if not isinstance(x, types.ModuleType) or name not in vars(x):
            raise UnsupportedError(f"method {name}")
        found = vars(x)[name]
        self.guards.append((vars(x), name, found))
        return found

    def called(self, f: Callable, args: list[Any], options: dict[str, Any]) -> Any:
        if f is len and len(args) == 1 and not options:
            (x,) = args
            if type(x) is tuple or x.kind.parts:
                return self.const(len(x if type(x) is tuple else x.kind.parts))
            if x.kind.is_array and x.kind.ndim:
                return self.call_form(len, x)
        if type(f) is types.FunctionType and f not in PURE and rrule.entry(f) is None:
            if f.__module__.partition(".")[0] == "numpy":
                raise UnsupportedError(f"{f.__name__} has no rule")
            return self.inline(f, args, options)
        values = [self.tuple_of(a, given=True) if type(a) is tuple else a for a in args]
        named = {k: self.tuple_of(v) if type(v) is tuple else v for k, v in options.items()}
        if not is_pure(f):
            raise UnsupportedError(f"{f} is not known to be pure")
        if "out" in named or "where" in named:
            raise UnsupportedError("an argument out or where")
        return self.call(f, values, named)

    def call_form(self, f: Callable, x: Value) -> Value:
        return self.made(Op("form", [x], data="len"), Kind(frozenset([int])))

    # -- statements --------------------------------------------------------------------------------

    def statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.line = node.lineno
            method = getattr(self, f"on_{type(node).__name__.lower()}", None)
            if method is None:
                raise UnsupportedError(f"statement {type(node).__name__}")
            method(node)

    def on_pass(self, node: ast.Pass) -> None:
        pass

    def on_continue(self, node: ast.Continue) -> None:
        """At the end of a branch: nothing is left of the turn."""

    def on_break(self, node: ast.Break) -> None:
        """At the end of a branch: nothing is left of the turn, and it is the last."""
        self.done(Op("break", [], data=self.flags[-1]))

    def on_expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def on_assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        for target in node.targets:
            self.assign(target, value)

    def on_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(t, ast.Starred) for t in target.elts):
                raise UnsupportedError("* in an assignment")
            if type(value) is not tuple:
                if not value.kind.parts:
                    raise UnsupportedError("unpacking of what is no tuple")
                at = [self.const(i) for i in range(len(value.kind.parts))]
                value = tuple([self._part(value, i) for i in at])
            if len(value) != len(target.elts):
                raise UnsupportedError("unpacking that fails")
            for t, v in zip(target.elts, value, strict=True):
                self.assign(t, v)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            values, template = self._index(target.slice)
            if type(value) is tuple:
                raise UnsupportedError("a tuple written into an array")
            self.store(base, value, values, template)
        else:
            raise UnsupportedError(f"assignment to {type(target).__name__}")

    def store(
        self, base: Value, value: Value, values: list[Value], template: Any, code: str = "store"
    ) -> None:
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("a write of what is no number or array")
        for part in parts_of_index(template):
            if part[0] == "array" and values[part[1]].kind.letter != "b":
                raise UnsupportedError("a write at an array of indices")
        if base.kind.letter != "f" and value.kind.is_inexact:
            raise UnsupportedError("floats written into an array of integers")
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if value.kind.is_array and value.kind.ndim > region.ndim:
            raise UnsupportedError("a write of more axes")
        self.done(Op(code, [base, value, *values], data=template))
        base.memory.root().is_written = True  # type: ignore[union-attr] # an array has one

    def on_raise(self, node: ast.Raise) -> None:
        """Leave the program: the function is then traced, and raises what it raises."""
        self.done(Op("raise", []))

    def on_assert(self, node: ast.Assert) -> None:
        self.on_if(ast.copy_location(ast.If(node.test, [ast.Pass()], [ast.Raise()]), node))

    def on_augassign(self, node: ast.AugAssign) -> None:
        f = _BINARY.get(type(node.op))
        if f is None:
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        if isinstance(node.target, ast.Name):
            old = self.read(node.target.id)
            if not old.kind.is_array:
                self.bind(node.target.id, self._binary(f, old, self.value(node.value)))
                return
            base, values, template = old, [], ("known", Ellipsis)
        elif isinstance(node.target, ast.Subscript):
            base = self.value(node.target.value)
            values, template = self._index(node.target.slice)
        else:
            raise UnsupportedError(f"assignment to {type(node.target).__name__}")
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if f in (operator.add, operator.sub) and not has_arrays(template):
            value = self.value(node.value)
            self._check_in_place(f, region, value)
            self.store(base, value, values, template, "add" if f is operator.add else "sub")
            return
        old = self.indexed(base, values, template)
        value = self.value(node.value)
        self._check_in_place(f, region, value)
        self.store(base, self._binary(f, old, value), values, template)

    def _check_in_place(self, f: Callable, region: Kind, value: Value) -> None:
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("an operator on what is no number or array")
        result = kind_of_result(f, [region, value.kind])
        if region.is_array and result.general() != region.general():
            raise UnsupportedError("an operation in place that changes dtype or axes")

    def on_if(self, node: ast.If) -> None:
        test = self.test(node.test)
        if test.kind.is_known:
            self.statements(node.body if test.kind.value else node.orelse)
            return
        self.end_block()
        before = dict(self.kinds)
        then = self._branch(node.body)
        after, self.kinds = self.kinds, before
        otherwise = self._branch(node.orelse)
        if _raises(otherwise):
            self.kinds = after
        elif not _raises(then):
            self.kinds = {
                slot: join(kind, self.kinds[slot])
                for slot, kind in after.items()
                if slot in self.kinds
            }
        self.body.insert(len(self.body) - 1, If(test, then, otherwise))
        test.uses += 1

    def _branch(self, nodes: list[ast.stmt]) -> list:
        outer = self.body, self.block, self.bound
        self.block = Block()
        self.body, self.bound = [self.block], {}
        self.depth += 1
        try:
            self.statements(nodes)
            return self.body
        finally:
            self.depth -= 1
            self.body, self.block, self.bound = outer

    def test(self, node: ast.expr) -> Value:
        value = self.value(node)
        if not value.kind.is_scalar and not value.kind.is_known:
            raise UnsupportedError("the truth of what is no number")
        return value

    def on_for(self, node: ast.For) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise UnsupportedError("this form of loop")
        call = node.iter
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
            raise UnsupportedError("a loop over what is no range")
        if known(self.value(call.func)) is not range or not 1 <= len(call.args) <= 3:
            raise UnsupportedError("a loop over what is no range")
        bounds = [self.value(a) for a in call.args]
        for b in bounds:
            if not b.kind.is_integral:
                raise UnsupportedError("a range of what is no integer")
            b.uses += 1
        slot = self._slot(node.target.id)
        self.end_block()
        nodes, flag = self._body_of(node)
        self._widen(nodes)
        self.flags.append(flag or "")
        body = self._loop(lambda: self._turn(slot, nodes), slot)
        self.flags.pop()
        slot.writes += 2
        self.body.insert(len(self.body) - 1, For(slot, bounds, body, flag))

    def _body_of(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], str | None]:
        """Return the body of a loop without jumps, and the name that says that it was left."""
        nodes = structured(node.body, (ast.Break, ast.Continue, ast.Raise))
        return nodes, self.fresh("left") if any(map(breaks, node.body)) else None

    def _widen(self, nodes: list[ast.stmt]) -> None:
        """Forget the values of variables that a loop binds."""
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    slot = self.scope.slots.get(part.id)
                    if slot is not None and slot in self.kinds and self.kinds[slot].is_scalar:
                        self.kinds[slot] = self.kinds[slot].general()

    def _turn(self, slot: Slot | None, nodes: list[ast.stmt]) -> list:
        if slot is not None:
            self.kinds[slot] = Kind(frozenset([int]))
        return self._branch(nodes)

    def _loop(self, turn: Callable[[], list], slot: Slot | None) -> list:
        """Read the body of a loop until the kinds at its beginning hold for every turn."""
        for _ in range(_MOST_ROUNDS):
            before = dict(self.kinds)
            state = [(s, s.writes, s.reads) for s in self.program.slots]
            body = turn()
            joined = {s: join(kind, self.kinds[s]) for s, kind in before.items()}
            if joined == before:
                # What is bound in the loop alone may not be bound after it.
                self.kinds = before
                return body
            self.kinds = joined
            for s, writes, reads in state:
                s.writes, s.reads = writes, reads
        raise UnsupportedError("a loop whose variables change their kinds")

    def on_while(self, node: ast.While) -> None:
        if node.orelse:
            raise UnsupportedError("else of a loop")
        self.end_block()
        nodes, flag = self._body_of(node)
        self._widen(nodes)
        parts: list = []

        def turn() -> list:
            parts[:] = []
            outer = self.body, self.block, self.bound
            self.block = Block()
            self.body, self.bound = [self.block], {}
            self.depth += 1
            try:
                parts.append(self.test(node.test))
                if parts[0].kind.is_known and not (flag and parts[0].kind.value):
                    raise UnsupportedError("a loop without end")
                parts.append(self.body)
            finally:
                self.depth -= 1
                self.body, self.block, self.bound = outer
            return self._branch(nodes)

        self.flags.append(flag or "")
        body = self._loop(turn, None)
        self.flags.pop()
        parts[0].uses += 1
        self.body.insert(len(self.body) - 1, While(parts[1], parts[0], body, flag))


def _form(names: Any) -> str:
    return repr(names)


def _places(value: Any, place: tuple = ()) -> list[tuple]:
    if type(value) is tuple:
        return [p for i, part in enumerate(value) for p in _places(part, (*place, f"_{i}"))]
    return [place]


def _raises(nodes: list) -> bool:
    """Whether a branch ends with an exception."""
    last = nodes[-1]
    return isinstance(last, Block) and bool(last.ops) and last.ops[-1].code == "raise"


def _is_told(v: Any) -> bool:
    return type(v) is not tuple and (v.kind.is_known or v.kind.is_array or v.kind.is_scalar)


class _Cell(dict):
    """A captured variable, read as a dict of one entry is."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return default


class _Attributes(dict):
    """The attributes of a function, read as the entries of a dict are."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self.function, name, default)


def _parameters(node: ast.FunctionDef, function: types.FunctionType) -> list[str]:
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


def parts_of_index(template: Any) -> list:
    """Return the parts of an index."""
    return [template] if template and isinstance(template[0], str) else list(template)


def has_arrays(template: Any) -> bool:
    """Whether an index has arrays in it: then it makes a copy."""
    return any(part[0] == "array" for part in parts_of_index(template))


def kind_of_index(base: Kind, kinds: list[Kind], template: Any) -> Kind:
    """Return the kind of an array at an index."""

    def index(values: tuple) -> Any:
        def one(part: tuple) -> Any:
            if part[0] == "known":
                return part[1]
            if part[0] == "slice":
                return slice(*[None if b is None else values[b] for b in part[1:]])
            value = values[part[1]]
            return value if part[0] == "array" else type(value)(0)

        is_one = template and isinstance(template[0], str)
        return one(template) if is_one else tuple(map(one, template))

    return kind_of_result(lambda x, *values: x[index(values)], [base, *kinds])


def _is_constant(x: Any) -> bool:
    """Whether a value from outside is one that nobody can change."""
    if type(x) is tuple:
        return all(map(_is_constant, x))
    return type(x) in _OUTSIDE or type(x) in SCALARS or isinstance(x, (type, np.dtype))
