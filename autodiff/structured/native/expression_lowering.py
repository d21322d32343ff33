"""Lowering of expressions of the generated source."""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from autodiff.functions import PRODUCT, facts_of
from autodiff.structured import runtime_library as rt
from autodiff.structured.blas_sums import factored, product_ahead, solve_factored
from autodiff.structured.form.kinds import INT, Kind, UnsupportedError, kind_of_result
from autodiff.structured.form.known_functions import (
    DIAGONALS,
    function_of,
    has_item,
    has_keys,
    item_or,
    length_of_slice,
    most_items,
    start_of_slice,
)
from autodiff.structured.native.adjoint_calls import COPIES, AdjointCalls
from autodiff.structured.native.arrays.array_creation import CONSTRUCTORS, CREATORS, TRIANGLES
from autodiff.structured.native.arrays.array_loops import ArrayLoops
from autodiff.structured.native.arrays.indexing import Indexing, parts_of
from autodiff.structured.native.arrays.reduction_calls import REDUCTIONS
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import FunctionBuilder
from autodiff.structured.native.lowered_values import (
    Array,
    DictDisplay,
    DictRef,
    LazyArray,
    ListRef,
    Number,
    RangeValue,
    RepeatedList,
    SelectedList,
    StaticValue,
    TableRef,
    TupleValue,
    as_float,
    leaves,
)
from autodiff.structured.native.numbers.floor_division import DIVISIONS
from autodiff.structured.native.numbers.scalars import BINARY, OF_ARRAYS, STRONG, UNARY, Scalars
from autodiff.structured.writing.rules.known_adjoints import JOINS, solves_triangular
from chainrules_core.operations.contraction import contraction
from chainrules_core.rules import name_of

PASS_ON = (rt.fitted, rt.settled, rt.gather, rt.real_part, rt.own)
"""Functions that pass a cotangent on, element by element unless it was broadcast."""
_FLIPS: dict[Any, Callable[[int], range]] = {
    np.flip: lambda n: range(n),
    np.flipud: lambda n: range(1),
    np.fliplr: lambda n: range(1, 2),
}


class Expressions(AdjointCalls):
    """Lowering of expressions.

    Parameters
    ----------
    code : FunctionBuilder
        The function to emit into.
    state : llvmlite value
        The address of the memory of the run: see `memory`.
    scope : dict
        The compile-time constants of the source by name: functions, dtypes and others.
    adjoints : dict
        The id of an adjoint → its function, and the argument with respect to which it is taken.
    forward : bool
        Whether this is the forward function, which bails out where Python would raise.
    """

    # Methods that subclasses define.
    read: Callable[[str], Any]
    materialize_readers: Callable[[Any], None]

    def __init__(
        self, code: FunctionBuilder, state: Any, scope: dict[str, Any], adjoints: dict[int, tuple],
        forward: bool,
    ) -> None:  # fmt: skip
        self.code = code
        self.state = state
        self.scope = scope
        self.adjoints = adjoints
        self.forward = forward
        self.scalars = Scalars(code, forward)
        self.elementwise = ArrayLoops(code, self.scalars, state)
        self.indexing = Indexing(code)
        self._kinds: dict[tuple, Kind] = {}

    def expression(self, node: ast.expr) -> Any:
        """Lower an expression."""
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnsupportedError(type(node).__name__)
        return method(node)

    def number(self, node: ast.expr) -> Number:
        """Lower an expression that is a number."""
        found = self.scalars.number(self.expression(node))
        if not isinstance(found, Number):
            raise UnsupportedError("an array instead of a number")
        return found

    def integer(self, node: ast.expr) -> Any:
        """Lower an expression that is an integer."""
        found = self.number(node)
        if found.letter != "i":
            raise UnsupportedError("an index that is not an integer")
        return found.value

    def truth(self, node: ast.expr) -> Any:
        """Lower a test."""
        return self.scalars.converted(self.number(node), "b")

    def python_int(self, n: Any) -> Number:
        """Return an integer as a Python ``int``."""
        return Number(INT, "i", n)

    # -- nodes -------------------------------------------------------------------------------------

    def on_constant(self, node: ast.Constant) -> StaticValue:
        """Lower a literal."""
        return StaticValue(node.value)

    def on_name(self, node: ast.Name) -> Any:
        """Lower a variable or constant."""
        return self.read(node.id)

    def on_tuple(self, node: ast.Tuple | ast.List) -> TupleValue:
        """Lower a tuple or list display."""
        return TupleValue([self.expression(p) for p in node.elts])

    on_list = on_tuple

    def on_dict(self, node: ast.Dict) -> DictDisplay:
        """Lower a dict display."""
        keys = [ast.literal_eval(k) for k in node.keys if k is not None]
        return DictDisplay(dict(zip(keys, map(self.expression, node.values), strict=True)))

    def on_binop(self, node: ast.BinOp) -> Any:
        """Lower a binary operator."""
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
            return RepeatedList(self.on_list(node.left).parts, self.integer(node.right))
        sides = [self.expression(node.left), self.expression(node.right)]
        return self.call(BINARY[type(node.op)], sides)

    def on_compare(self, node: ast.Compare) -> Any:
        """Lower a comparison, or a chain of comparisons."""
        signs = [BINARY.get(type(op)) for op in node.ops]
        if None in signs:
            raise UnsupportedError("a comparison")
        sides = [self.expression(side) for side in (node.left, *node.comparators)]
        truths = [self.call(f, sides[k : k + 2]) for k, f in enumerate(signs)]
        return functools.reduce(lambda a, b: self.call(operator.and_, [a, b]), truths)

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        """Lower a unary operator."""
        return self.call(UNARY[type(node.op)], [self.expression(node.operand)])

    def on_attribute(self, node: ast.Attribute) -> Any:
        """Lower the shape, size, transpose, real or imaginary part of an array."""
        owner = self.expression(node.value)
        if node.attr in ("real", "imag"):
            return self._part_of_complex(owner, node)
        if node.attr == "shape" and isinstance(owner, (Array, LazyArray)):
            return TupleValue([self.python_int(n) for n in owner.shape])
        owner = self.base_of_view(owner)
        if not isinstance(owner, Array):
            raise UnsupportedError(f"attribute {node.attr}")
        if node.attr == "T":
            return replace(self.elementwise.transposed(owner), text=ast.unparse(node))
        if node.attr == "size":
            return self.python_int(self.elementwise.size_of(owner.shape))
        raise UnsupportedError(f"attribute {node.attr}")

    def _part_of_complex(self, owner: Any, node: ast.Attribute) -> Any:
        """Lower ``x.real`` or ``x.imag``, which are views if `x` is an array in memory."""
        if isinstance(owner, StaticValue):
            return StaticValue(getattr(owner.x, node.attr))
        if not isinstance(owner, Array) or owner.dtype.kind != "c":
            return self.call(getattr(np, node.attr), [owner])
        part = owner.dtype.type(0).real.dtype
        address = owner.address
        if node.attr == "imag":
            address = self.code.at(address, self.code.whole(part.itemsize))
        return Array(part, address, owner.shape, owner.strides, owner.alias_set, ast.unparse(node))

    def on_subscript(self, node: ast.Subscript) -> Any:
        """Lower an index into an array, tuple, list or dict."""
        base = self.expression(node.value)
        if isinstance(base, TupleValue):
            k = self.expression(node.slice)
            if isinstance(k, StaticValue):
                return base.parts[k.x]
            if all(isinstance(p, TupleValue) for p in base.parts):
                return SelectedList(base.parts, self.integer(node.slice))
            return self.select_number(base.parts, k)
        if isinstance(base, ListRef):
            return self.item(base, self.integer(node.slice))
        if isinstance(base, DictRef):
            return self.field(base, self.expression(node.slice))
        if isinstance(base, TableRef):
            return self.item_of_table(base, self.expression(node.slice))
        base = self.base_of_view(base)
        if not isinstance(base, Array):
            raise UnsupportedError("an index")
        part = self.part(base, node)
        return part if isinstance(part, Array) else self.elementwise.load_number(base.dtype, part)

    def on_start(self, n: Any, *bounds: Any) -> Number:
        """``start_of_slice(n, start, stop, step)``."""
        return self.python_int(self._slice(n, bounds)[0])

    def on_length(self, n: Any, *bounds: Any) -> Number:
        """``length_of_slice(n, start, stop, step)``."""
        return self.python_int(self._slice(n, bounds)[1])

    def _slice(self, n: Any, bounds: tuple) -> tuple[Any, Any, Any]:
        given = [
            None if isinstance(x, StaticValue) and x.x is None else self.scalars.number(x).value
            for x in bounds
        ]
        return self.indexing.bounds(slice(*given), self.scalars.number(n).value)

    def on_diagonal(self, x: Any) -> Array:
        """``np.diag(x)`` of a matrix, as a view."""
        return self.indexing.diagonal(self.base_of_view(x))

    def part(self, base: Array, node: ast.Subscript, parts: list | None = None) -> Any:
        """Return ``base[index]``: an array, or the address of an element."""
        parts = self.indices(node) if parts is None else parts
        if self.is_mask(base, parts):
            return self.select_masked(base, parts[0])
        if any(isinstance(p, Array) for p in parts):
            return self.take(self.selection(base, parts))
        return self.indexing.part(base, parts, ast.unparse(node))

    def indices(self, node: ast.Subscript) -> list:
        """Lower the parts of an index."""
        return [self._index(p) for p in parts_of(node.slice)]

    def is_mask(self, base: Array, parts: list) -> bool:
        """Whether an index is a mask of the whole array."""
        masks = [p for p in parts if isinstance(p, Array) and p.dtype == np.bool_]
        if any(len(p.shape) != 1 for p in masks if len(p.shape) != len(base.shape)):
            raise UnsupportedError("a matrix of truth values as one of several indices")
        return len(parts) == 1 and bool(masks) and len(masks[0].shape) == len(base.shape)

    def _index(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            return slice(*[None if p is None else self.integer(p) for p in bounds])
        found = self.expression(node)
        if isinstance(found, StaticValue) and (found.x is None or found.x is Ellipsis):
            return found.x
        if isinstance(found, (Array, LazyArray)):
            return self.elementwise.as_array(found)
        result = self.scalars.number(found)
        if result.letter != "i":
            raise UnsupportedError("an index that is not an integer")
        return result.value

    # -- calls -------------------------------------------------------------------------------------

    def on_call(self, node: ast.Call) -> Any:
        """Lower a call."""
        f = self.expression(node.func) if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func.attr, self.expression(node.func.value), node.args)
        if not isinstance(f, StaticValue):
            raise UnsupportedError("a call")
        if f.x in (rt.add_at, rt.last_written, rt.slope):
            return self._special_form(f.x, node)
        args = [self.expression(a) for a in node.args]
        options = self._options(node)
        handler = Expressions.triangular if solves_triangular(f.x) else _HANDLERS.get(f.x)
        if handler is not None:
            return _handle(handler, f.x, self, *args, **options)
        if len(args) == 1 and isinstance(args[0], (ListRef, TableRef)):
            return self._call_of_list(f.x, args[0], options)
        adjoint = self.adjoints.get(id(f.x))
        if adjoint is not None:
            return self.adjoint(adjoint[0], adjoint[1], args, options)
        if f.x in CREATORS:
            return self._filled(f.x, args, options)
        is_array_like = len(args) == 1 and isinstance(args[0], (TupleValue, Array, LazyArray))
        if f.x in CONSTRUCTORS and is_array_like:
            return self.new_array(f.x, args[0], **options)
        if f.x in JOINS:
            return self.join(f.x, args, options)
        if f.x in TRIANGLES and not options:
            return self.triangle(f.x, *args)
        if f.x in _FLIPS and len(args) == 1 and not options:
            a = self.base_of_view(args[0])
            return self.indexing.flipped(a, _FLIPS[f.x](len(a.shape)), ast.unparse(node))
        if f.x in (np.transpose, np.swapaxes) and not options:
            return replace(self.permuted(f.x, *args), text=ast.unparse(node))
        if function_of(f.x) in REDUCTIONS and args and isinstance(args[0], (Array, LazyArray)):
            return self.along(function_of(f.x), args, options)
        if options or not args:  # a clock has none: no sample tells what it shows
            raise UnsupportedError("a keyword argument, or no argument")
        return self.call(f.x, args)

    def _options(self, node: ast.Call) -> dict[str, Any]:
        if any(k.arg is None for k in node.keywords):
            raise UnsupportedError("unpacked keyword arguments")
        return {str(k.arg): self.expression(k.value) for k in node.keywords}

    def _method(self, name: str, owner: Any, args: list[ast.expr]) -> Any:
        """Lower a method call."""
        if name == "copy":
            return self._copy(owner)
        if name in ("conj", "conjugate") and not args:
            return self.conjugate(owner)
        if isinstance(owner, TableRef) and name in ("add", "remove"):
            key = self.expression(args[0])
            if name == "remove":
                return self.remove_key(owner, key)
            return self.set_in_table(owner, key, StaticValue(True))
        if isinstance(owner, ListRef) and name == "append":
            return self.append(owner, self.expression(args[0]))
        if isinstance(owner, ListRef) and name == "pop" and not args:
            return self.pop(owner)
        if isinstance(owner, ListRef) and name == "insert":
            return self.insert(owner, self.integer(args[0]), self.expression(args[1]))
        raise UnsupportedError(name)

    def _call_of_list(self, f: Any, xs: ListRef | TableRef, options: dict[str, Any]) -> Any:
        """Call a function of a list, growing dict or set."""
        if isinstance(xs, TableRef):
            return self.call_of_table(f, xs)
        if f is len:
            return self.python_int(self.length(xs))
        if f is most_items:
            return self.python_int(self.maxlen(xs))
        if f is sum:
            return self.sum_of(xs)
        if f in CONSTRUCTORS or f in JOINS:
            return self.joined_list(f, xs, options)
        raise UnsupportedError(f"{name_of(f)} of a list")

    def call(self, f: Any, args: list) -> Any:
        """Call a function of numbers and arrays."""
        if all(isinstance(a, StaticValue) for a in args) and f is not len:
            result = f(*[a.x for a in args])
            if type(result) in (int, float, complex, bool):
                return StaticValue(result)
        if f is len and isinstance(args[0], (TupleValue, Array, LazyArray)):
            (x,) = args
            return (
                StaticValue(len(x.parts))
                if isinstance(x, TupleValue)
                else self.python_int(x.shape[0])
            )
        if f in COPIES:
            return self._copy(args[0])
        if f is np.ndarray.astype and len(args) == 2 and isinstance(args[1], StaticValue):
            return self.elementwise.materialize(args[0], self.store, np.dtype(args[1].x))
        if _is_partial(f) and self.scalars.are_constants(args):
            return self.scalars.of_constants(f, args)
        args = [self.scalars.number(a) for a in args]
        if not all(isinstance(a, (Number, Array, LazyArray)) for a in args):
            raise UnsupportedError("a tuple")
        if f is np.real and not args[0].kind.is_complex:
            return args[0]
        kind = self._kind_of_result(f, [a.kind for a in args])
        if _is_partial(f):  # for samples it may be a bool
            kind = as_float(kind, [a.kind for a in args])
        if all(isinstance(a, Number) for a in args):
            return self.scalars.function(f, args, kind)
        if facts_of(function_of(f)).kind == PRODUCT:
            return self.product(f, args, kind)
        if f is np.outer and [a.kind.ndim for a in args] == [1, 1]:
            return self.elementwise.outer(args[0], args[1], kind)
        if not kind.is_array:
            raise UnsupportedError(name_of(f))
        if not is_elementwise(f):
            raise UnsupportedError(f"{name_of(f)} of arrays")
        return self.elementwise.tree(f, kind, args)

    def _kind_of_result(self, f: Any, kinds: list[Kind]) -> Kind:
        """Return the kind of a result, which is inferred once for arguments of the same kinds."""
        if any(kind.is_known or kind.parts for kind in kinds):
            return kind_of_result(f, kinds)
        key = (f, *kinds)
        if key not in self._kinds:
            self._kinds[key] = kind_of_result(f, kinds)
        return self._kinds[key]

    def _special_form(self, f: Any, node: ast.Call) -> Any:
        """``add_at(shadow, s_[index], x)``, ``last_written(shadow, s_[index])``, ``slope(f)``."""
        if f is rt.slope:  # a sweep raises nothing
            return self.expression(node.args[0].body)  # type: ignore[attr-defined] # it is a lambda
        shadow, index = self.expression(node.args[0]), node.args[1]
        assert isinstance(index, ast.Subscript)
        selected = self.selection(shadow, self.indices(index))
        if f is rt.last_written:
            return self.last_written(selected)
        x = self.expression(node.args[2])
        return self.put_at(selected, self.unaliased(shadow.alias_set, x), operator.add)

    # -- writes ------------------------------------------------------------------------------------

    def write(self, target: Array, x: Any, f: Any = None) -> None:
        """Write ``target[...] = x`` or ``target[...] = f(target, x)``, with `x` computed first."""
        self.elementwise.write(target, self.unaliased(target.alias_set, x, target), f)

    def unaliased(self, alias_set: Any, x: Any, target: Array | None = None) -> Any:
        """Prepare a write of `x` into memory: materialize it if it reads that memory.

        It need not be materialized if it reads nothing there but `target`, element by element.
        """
        x = self.scalars.number(x)
        if isinstance(x, (TupleValue, StaticValue, RangeValue)):
            raise UnsupportedError("a write of something other than a number or array")
        self.materialize_readers(alias_set)
        for leaf in leaves(x):
            is_same = leaf is target or (target and leaf.text and leaf.text == target.text)
            if leaf.alias_set is alias_set and not is_same:
                return self.elementwise.materialize(x, memory.SCRATCH)
        return x


def _handle(handler: Callable, f: Any, /, *args: Any, **options: Any) -> Any:
    """Lower a call by a method of `Expressions`, if that takes these arguments."""
    try:
        inspect.signature(handler).bind(*args, **options)
    except TypeError:
        raise UnsupportedError(f"this call of {name_of(f)}") from None
    return handler(*args, **options)


def is_elementwise(f: Any) -> bool:
    """Whether a function of arrays is elementwise, so that its result is lazy."""
    if not callable(f) or facts_of(function_of(f)).kind == PRODUCT:
        return False
    is_written = isinstance(f, np.ufunc) or facts_of(f).loops or _is_partial(f)
    return bool(is_written or f in STRONG | OF_ARRAYS or f in DIVISIONS or facts_of(f).ufunc)


def _is_partial(f: Any) -> bool:
    return (getattr(f, "__module__", None) or "").partition(".")[0] == "chainrules"


_HANDLERS: dict[Any, Callable] = {
    rt.total: Expressions.on_total, rt.number: Expressions.on_total,
    rt.inner: Expressions.on_inner, rt.real_part: Expressions.on_real_part,
    rt.fitted: Expressions.on_fitted, rt.settled: Expressions.on_fitted,
    rt.gather: Expressions.on_gather, rt.spread: Expressions.on_spread,
    rt.or_zeros: Expressions.on_or_zeros, rt.own: Expressions.on_own,
    rt.stack_back: Expressions.on_stack_back, rt.sum_back: Expressions.on_sum_back,
    rt.concatenate_back: Expressions.on_concatenate_back,
    rt.shadow_with: Expressions.on_shadow_with,
    rt.zeros_along: Expressions.on_zeros_along, rt.laid_out: Expressions.on_laid_out,
    rt.extremum_back: Expressions.on_extremum_back,
    rt.norm_back: Expressions.on_norm_back, rt.prod_back: Expressions.on_prod_back,
    rt.cumsum_back: Expressions.on_cumsum_back, rt.cumprod_back: Expressions.on_cumprod_back,
    rt.cholesky_back: Expressions.on_cholesky_back, rt.eigh_back: Expressions.on_eigh_back,
    rt.convolve_back: Expressions.on_convolve_back,
    rt.interp_back_to_places: Expressions.on_interp_back_to_places,
    rt.interp_back_to_values: Expressions.on_interp_back_to_values,
    rt.interp_back_to_nodes: Expressions.on_interp_back_to_nodes,
    rt.put_back: Expressions.on_put_back, rt.taken_out: Expressions.on_taken_out,
    start_of_slice: Expressions.on_start, length_of_slice: Expressions.on_length,
    collections.deque: Expressions.queue, operator.is_: Expressions.same,
    operator.contains: Expressions.contains, set: Expressions.on_set,
    collections.defaultdict: Expressions.on_zeros_by_key,
    has_keys: Expressions.on_has_keys,
    has_item: Expressions.on_has_item, item_or: Expressions.on_item_or,
    **dict.fromkeys([*DIAGONALS, rt.diagonal_of], Expressions.on_diagonal),
    **dict.fromkeys([np.cumsum, np.ndarray.cumsum], Expressions.cumsum),
    **dict.fromkeys([np.cumprod, np.ndarray.cumprod], Expressions.cumprod),
    **dict.fromkeys([np.argsort, np.ndarray.argsort], Expressions.argsort),
    **dict.fromkeys([np.searchsorted, np.ndarray.searchsorted], Expressions.searchsorted),
    **dict.fromkeys([np.einsum, contraction], Expressions.einsum),
    np.convolve: Expressions.convolve, np.interp: Expressions.interp,
    np.reshape: Expressions.reshaped, np.roll: Expressions.roll, np.arange: Expressions.arange,
    np.linalg.solve: Expressions.solve, np.linalg.inv: Expressions.inverse,
    product_ahead: Expressions.product_ahead,
    factored: Expressions.factored, solve_factored: Expressions.solve_factored,
    np.linalg.cholesky: Expressions.cholesky, np.linalg.eigh: Expressions.eigh,
    np.linalg.det: Expressions.determinant, np.linalg.slogdet: Expressions.slogdet,
}  # fmt: skip
