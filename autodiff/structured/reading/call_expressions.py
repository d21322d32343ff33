"""Reading calls: of methods, and of functions of the user, of Python and of NumPy."""

from __future__ import annotations

import ast
import collections
import dataclasses
import functools
import inspect
import itertools
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.functions import facts_of
from autodiff.intercept.runtime.builtin_calls import SUM_TAKES_ERRORS_ALONG
from autodiff.python_operators import PREFIXES, SIGNS
from autodiff.structured.callables.inner_derivatives import derivative_called
from autodiff.structured.form.function_ir import (
    Columns,
    HeldRange,
    InstanceValue,
    Items,
    Named,
    Op,
    RecordValue,
    Value,
    known,
)
from autodiff.structured.form.indices import WHOLE
from autodiff.structured.form.kinds import (
    BOOL,
    DICT,
    LIST,
    UNKNOWN,
    Kind,
    UnsupportedError,
    kind_of_result,
)
from autodiff.structured.form.known_functions import (
    PURE,
    RESHAPES,
    has_users_rule,
    is_pure,
    method_of_array,
    method_of_number,
)
from autodiff.structured.form.plain_classes import record_class
from autodiff.structured.reading.builder import is_constant
from autodiff.structured.reading.containers.classes import (
    class_of,
    is_asked_by_class,
    is_class,
    is_object,
)
from autodiff.structured.reading.containers.sequences import SequenceReader, is_sequence
from autodiff.structured.reading.libraries.argument_checks import WITH_OUT, pop_out
from autodiff.structured.reading.libraries.decompositions import (
    DECOMPOSABLE,
    JOINS_VECTORS,
    REDUCTIONS,
    TAKES_VECTORS,
    decomposed,
    has_library_rule,
)
from autodiff.structured.reading.libraries.iterator_decompositions import items_between
from autodiff.structured.reading.libraries.messages import read_message, shown_by
from autodiff.structured.reading.libraries.numpy_decompositions import ufunc_outer
from autodiff.structured.reading.libraries.python_decompositions import BISECTIONS, HEAPS
from autodiff.structured.reading.libraries.random_numbers import (
    CLOCKS,
    MAKERS,
    draw,
    is_generator,
    new_generator,
    read_clock,
)
from autodiff.structured.reading.libraries.ufunc_methods import (
    LEFT_FOLDS,
    are_float64_numbers,
    fold_loop,
)
from autodiff.structured.reading.scopes import (
    OBJECTS,
    OWNERS,
    HeldSlice,
    LocalFunction,
    LocalPartial,
    LocalPullback,
    Method,
    Static,
)
from autodiff.structured.runtime_library import check_array
from autodiff.structured.settings import has_llvm
from chainrules_core import rrule


class CallReader(SequenceReader):
    """Layer of the reader: calls."""

    # Methods that subclasses define.
    range_of: Callable[[list[ast.expr]], HeldRange]
    write_out: Callable[[Value, Value], Value]
    add_at: Callable[[Value, ast.expr, Value], None]
    store: Callable[..., None]
    binary: Callable[[Callable, Any, Any], Value]
    extremum: Callable[[Callable, ast.Call], Any]
    any_or_all: Callable[[Callable, ast.expr], Value]
    sum_of_items: Callable[[ast.ListComp], Any]
    ordered: Callable[[Any, dict[str, Any]], Any]
    dict_of_pairs: Callable[[Any], Any]
    set_of: Callable[[Any], Value]
    new_iterator: Callable[..., Any]
    gives_iterator: Callable[[Any], bool]
    callee: Callable[[ast.Call], Any]
    new_iterable: Callable[[Any, list, dict[str, Any]], Any]
    first_of: Callable[[ast.Call], Any]
    reduction: Callable[[list[ast.expr]], Any]
    read_derivative: Callable[[Any, list, dict[str, Any]], Any]

    def on_call(self, node: ast.Call) -> Any:
        """Read a call."""
        if any(k.arg is None for k in node.keywords):
            raise UnsupportedError("** in a call")
        own: list[Value] = []
        if isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value)
            found = self._call_method(owner, node, node.func.attr)
            if found is not NotImplemented:
                return found
            owner = self.as_value(owner)
            show = shown_by(self, UNKNOWN, owner, node)
            if show is not None:
                return read_message(self, self.value, show, node)
            if owner.kind.is_array:
                f = method_of_array(owner.kind, node.func.attr)
                own = [owner]
            elif owner.kind.is_scalar or owner.kind.is_text:
                f = method_of_number(owner.kind.classes, node.func.attr) or UNKNOWN
                own = [owner]
            else:
                is_chain = known(owner) is itertools.chain
                f = self.callee(node) if is_chain else self.module_attribute(owner, node.func.attr)
        else:
            f = self.expression(node.func)
            if type(f) is LocalFunction and self.gives_iterator(f):
                return self.new_iterable(f, self._displayed(node.args), self._named(node))
            if isinstance(f, Static) or is_object(f):
                return self._call_object(f, node)
            f = known(self.pack(f))
        is_record = isinstance(f, type) and record_class(f) is not None
        if (is_class(f) or is_record) and rrule.entry(f) is None:
            args = self._displayed(node.args, _positional_count(f, node))
            return self.instance(f, args, self._named(node))
        return self._call_known(f, own, node)

    def _call_known(self, f: Any, own: list[Value], node: ast.Call) -> Any:
        """Read a call of a known function, or of a method of a number or array (`own`)."""
        if f is super:
            return self.above(node)
        if f is range and not node.keywords:
            return self.range_of(node.args)
        if f is iter and node in self.iterators and len(node.args) == 1:
            return self.expression(node.args[0])
        if f is iter and len(node.args) == 1 and not node.keywords:
            return self.new_iterator(self.expression(node.args[0]))
        if f in _CONSUMERS:
            node = self._with_lists(f, node)
            if f is tuple and len(node.args) == 1 and isinstance(node.args[0], ast.ListComp):
                made = self.expression(node.args[0])  # a list with no other name
                return tuple(made) if type(made) is Items else self.fixed(made)
        if f in CLOCKS:
            return read_clock(self, f)
        show = None if own else shown_by(self, f, None, node)
        if show is not None:
            return read_message(self, self.value, show, node)
        if f in RESHAPES and not has_users_rule(f):
            self.decomposed.add(f)
            return self._reshaped(f, own, node)
        if f is check_array:
            return self._checked_array(*self._arguments_of(f, node))
        found = self._call_over_items(f, node)
        if found is not NotImplemented:
            return found
        if f is UNKNOWN or not callable(f):
            raise UnsupportedError("a call of an unknown function")
        if f is sum:
            return self._call_of_sum(node)
        made = self.read_call(f, [*own, *self._arguments_of(f, node)], self._named(node))
        return self.displayed(node, made) if f is dict and type(made) is Named else made

    def _call_over_items(self, f: Any, node: ast.Call) -> Any:
        """Read a call of a function that takes items one by one, or return NotImplemented."""
        n = len(node.args)
        if (f is min or f is max) and n == 1:
            return self.extremum(f, node)
        if f is items_between:
            return self.new_iterator(*map(self.expression, node.args))
        if self.gives_iterator(f):
            return self.new_iterable(self.const(f), self._displayed(node.args), self._named(node))
        if node.keywords:
            return NotImplemented
        if (f is any or f is all) and n == 1:
            return self.any_or_all(f, node.args[0])
        if f is next and n:
            return self.first_of(node)
        return self.reduction(node.args) if f is functools.reduce else NotImplemented

    def _checked_array(self, x: Value, ndim: Value, dtype: Value) -> Value:
        """Read the check of a tangent function: here the kind of an array is known."""
        if (x.kind.ndim, x.kind.dtype) != (known(ndim), known(dtype)):
            raise UnsupportedError("an array that is of another kind")
        return self.const(None)

    def _sum_of_argument(self, node: ast.Call) -> Any:
        """Read ``sum(items)``: a comprehension of numbers needs no list."""
        (items,) = node.args
        made: Any = NotImplemented
        added: list = []

        def read() -> None:
            nonlocal made
            made = self.sum_of_items(items)  # type: ignore[arg-type] # it is one
            added.extend(self._arrays_in(made) if type(made) is Items else [])

        if isinstance(items, ast.ListComp):
            self.forbid_writes(added, read, made_there=True)
        if made is NotImplemented:
            (given,) = self._arguments_of(sum, node)
            made = self._all_of(given) if _has_rows(given) else given
            return self.read_call(sum, [made], {})
        is_sum = type(made) is Value and not made.kind.is_list
        return made if is_sum else self.read_call(sum, [made], {})

    def _call_of_sum(self, node: ast.Call) -> Any:
        """Read ``sum(items)`` or ``sum(items, start)``."""
        if len(node.args) == 1 and not node.keywords:
            return self._sum_of_argument(node)
        items, start = *node.args, *[k.value for k in node.keywords]
        first = self.expression(start)
        held = ast.Name(self.hold(first), ast.Load())
        if type(first) is Value and first.kind.is_array:  # Python adds the items to it in turn
            add: Any = operator.add  # no literal, but this tree is never compiled
            return self.reduction([ast.Constant(add), items, held])
        given = ast.copy_location(ast.Call(node.func, [items, held], []), node)
        return self.read_call(sum, self._arguments_of(sum, given), {})

    def _all_of(self, x: Value) -> Value:
        """Return the items of an array, as a list."""
        return self.extended(self.new_list([]), x)

    def _with_lists(self, f: Callable, node: ast.Call) -> ast.Call:
        """Rewrite the iterators among the arguments of a call to list comprehensions."""
        if (f is min or f is max) and node.keywords:
            return node  # Python applies the key to an item before it takes the next
        given = [self.as_list_display(a) for a in node.args]
        return ast.copy_location(ast.Call(node.func, given, node.keywords), node)

    def _arguments_of(self, f: Callable, node: ast.Call) -> list:
        """Read the positional arguments of a call."""
        args: list = []
        added: list = []

        def read() -> None:
            may_be_none = _is_inlined(f)
            args.extend(self._displayed(node.args, _positional_count(f, node), may_be_none))
            if f is sum and args:  # a generator: Python adds an item before it makes the next
                added.extend(self._arrays_in(args[0]))

        self.forbid_writes(added, read, made_there=True)
        return args

    def _arrays_in(self, items: Any) -> list:
        """Return the memory of the arrays in a list."""
        if type(items) is Value:
            memory = items.root if items.kind.is_list else None
            return [] if memory is None or memory.of_items is None else [memory.of_items]
        parts = items if isinstance(items, tuple) else ()
        return [x.memory for x in parts if type(x) is Value and x.kind.is_array]

    def _call_method(self, owner: Any, node: ast.Call, name: str) -> Any:
        """Read a call of a method; NotImplemented for those of numbers, arrays and modules."""
        if type(owner) is Named:
            return self._of_dict(owner, node)
        if type(owner) is Columns:
            return self._append_to_columns(owner, self.expression(node.args[0]))
        is_record = isinstance(owner, RecordValue)
        if is_record and name == "_replace" and not (node.args or isinstance(owner, InstanceValue)):
            return self.replaced(owner, self._named(node))
        if type(owner) in OWNERS or is_record or _is_object_or_class(owner):
            return self._call_object(self.read_attribute(owner, name), node)
        if type(owner) is Value and owner.kind.is_mapping and (name != "copy" or owner.kind.is_set):
            return self.of_table_method(owner, node)
        if type(owner) is Value and owner.kind.is_list:
            return self.of_list_method(owner, node)
        if type(owner) is Value and owner.kind == DICT and name == "copy" and not node.args:
            return self.displayed(node, self.named_items(owner))  # type: ignore[arg-type]
        if type(owner) is Value and known(owner) is dict and name == "fromkeys":
            return self._with_keys(node)
        if type(owner) is Value and type(known(owner)) is str and hasattr(str, name):
            return self.of_known_text(owner, getattr(str, name), node)
        if type(owner) is Value and owner.kind.is_array and name == "fill":
            values = self._displayed(node.args)
            if len(values) != 1 or node.keywords or not values[0].kind.is_scalar:
                raise UnsupportedError("fill with something other than a number")
            self.store(owner, values[0], [], WHOLE)
            return self.const(None)
        if is_generator(owner):
            args = list(map(self.pack, self._displayed(node.args)))
            options = {key: self.pack(x) for key, x in self._named(node).items()}
            return draw(self, owner, name, args, options)
        is_ufunc = type(owner) is Value and isinstance(known(owner), np.ufunc)
        return self._call_ufunc_method(owner, node) if is_ufunc else NotImplemented

    def _with_keys(self, node: ast.Call) -> Any:
        """Read ``dict.fromkeys(keys, number)`` as a comprehension."""
        x = self.expression(node.args[-1]) if len(node.args) == 2 and not node.keywords else None
        if not (type(x) is Value and x.kind.is_scalar):
            raise UnsupportedError("dict.fromkeys with these arguments")
        key, value = self.hidden("key"), ast.Name(self.hold(x), ast.Load())
        over = ast.comprehension(ast.Name(key, ast.Store()), node.args[0], [], 0)
        made = ast.DictComp(ast.Name(key, ast.Load()), value, [over])
        return self.expression(ast.fix_missing_locations(ast.copy_location(made, node)))

    def _call_ufunc_method(self, f: Value, node: ast.Call) -> Any:
        """Read ``np.subtract.outer(x, y)`` of vectors, ``np.add.reduce(x)`` or `accumulate`."""
        name, at = node.func.attr, node.args[1:2]  # type: ignore[attr-defined]
        is_sum = name == "at" and known(f) in (np.add, np.subtract)
        if is_sum and len(node.args) == 3 and not node.keywords:
            base, value = (self.value(node.args[k]) for k in (0, 2))
            if known(f) is np.subtract:  # x - y and x + (-y) have the same bits
                if base.kind.letter == "u":
                    raise UnsupportedError("np.subtract.at of unsigned integers")
                value = self.emit_call(np.negative, [value])
            self.add_at(base, at[0], value)
            return self.const(None)
        args = self._displayed(node.args)
        if name == "outer" and not node.keywords and len(args) == known(f).nin == 2:
            args = list(map(self.as_vector, args))
            if all(_has_rows(x) and x.kind.ndim == 1 for x in args):
                return self.inline(ufunc_outer, [f, *args], {})
        options = self._named(node)
        if name not in ("reduce", "accumulate") or len(args) != 1:
            raise UnsupportedError(f"{name} of a ufunc")
        method = getattr(known(f), name)
        is_fold = known(f) in LEFT_FOLDS and has_library_rule(method)
        if is_fold and name == "reduce" and not options and are_float64_numbers(args[0]):
            self.decomposed.add(method)
            made = self.emit_call(np.float64, [args[0][0]])
            for x in args[0][1:]:
                made = self.emit_call(known(f), [made, x])
            return made
        args = [self.as_array(known(f), self.as_vector(args[0]))]
        reduce = REDUCTIONS.get(known(f)) if name == "reduce" else None
        if reduce is not None and _has_rows(args[0]):
            return self.read_call(reduce, args, {"axis": self.const(0)} | options)
        fold = fold_loop(name, args[0], options) if is_fold and has_llvm() else None
        if fold is not None:
            self.decomposed.add(method)
            return self.inline(fold, [f, *args], {})
        return self.read_call(method, args, options)

    def _call_object(self, f: Any, node: ast.Call) -> Any:
        """Read a call of an inner function, a method or an object."""
        if is_object(f):
            method = self.special_method(f, "__call__")
            if method is None:
                raise UnsupportedError("a call of an unknown function")
            f = Method(method, f)
        args = self._displayed(node.args, _positional_count(f, node), may_be_none=True)
        return self._apply(f, args, self._named(node))

    def _apply(self, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Read a call of an inner function, a method or a `functools.partial`."""
        if type(f) is LocalPartial:
            inner, *given = (self.read_in(f.scope, name) for name in (f.function, *f.args))
            own = {name: self.read_in(f.scope, place) for name, place in f.named.items()}
            is_derivative = type(inner) is Value and derivative_called(known(inner))
            if is_derivative and not own.keys().isdisjoint(named):
                raise UnsupportedError("a derivative whose options are given twice")
            if is_object(inner) or (type(inner) is Value and known(inner) in RESHAPES):
                raise UnsupportedError("a partial of an object, or of a change of shape")
            return self._apply(inner, [*given, *args], own | named)
        if type(f) is LocalPullback and not named:
            return f.read(list(map(self.not_none, args)))
        if type(f) is Method:
            if rrule.entry(f.function) is not None:
                raise UnsupportedError("a method with a rule")
            return self.inline(f.function, [f.owner, *args], named)
        if type(f) is LocalFunction:
            return self.inline(f, args, named)
        return self.read_call(known(self.pack(f)), args, named)

    def _partial(self, args: list[Any], named: dict[str, Any]) -> LocalPartial:
        """Read ``functools.partial(f, x, k=y)``."""
        if not args:
            raise UnsupportedError("a call that fails")
        f, *given = map(self.hold, args)
        by_name = {name: self.hold(v) for name, v in named.items()}
        return LocalPartial(self.scope, f, tuple(given), by_name)

    def _reshaped(self, f: Callable, own: list[Value], node: ast.Call) -> Value:
        """Read ``x.reshape(...)``, ``np.reshape(x, shape)``, ``x.ravel()`` and the like."""
        args = [*own, *self._displayed(node.args)]
        x = args[0] if args and not node.keywords else None
        if type(x) is not Value or not x.kind.is_array:
            raise UnsupportedError("this change of a shape")
        sizes = args[1:] if RESHAPES[f] else [self.const(-1), *args[1:]]
        if len(sizes) == 1 and (isinstance(sizes[0], tuple) or sizes[0].kind.parts):
            sizes = self._parts_of(sizes[0])
        if not all(type(n) is Value and n.kind.is_integral for n in sizes):
            raise UnsupportedError("this change of a shape")
        return self.reshaped(x, self.pack(tuple(sizes)), len(sizes))

    def _named(self, node: ast.Call) -> dict[str, Any]:
        return {k.arg: self.expression(k.value) for k in node.keywords if k.arg}

    def read_call(self, f: Callable, args: list[Any], options: dict[str, Any]) -> Any:
        """Read a call of a known function."""
        is_inlined = _is_inlined(f)
        args = args if is_inlined else list(map(self.not_none, args))
        if f is math.fsum and args and type(args[0]) is Items:
            args = [self.list_in_memory(args[0]), *args[1:]]
        if args and type(args[0]) is Value and args[0].kind.is_list:
            found = self.of_list(f, args, options)
            if found is not NotImplemented:
                return found
        found = self._call_python(f, args, options)
        if found is not NotImplemented:
            return found
        if f is np.ndarray.transpose:  # the axes may be separate arguments
            axes = args[1:] if len(args) < 3 else [tuple(args[1:])]
            f, args = np.transpose, [args[0], *axes]
        if is_inlined:
            if (f.__module__ or "").partition(".")[0] == "numpy":
                raise UnsupportedError(f"{f.__name__} has no rule")
            return self.inline(f, args, options)
        _check_arguments(f, (*args, *options.values()))
        if f in JOINS_VECTORS and args and isinstance(args[0], tuple):
            args = [self.vectors_to_join(args[0]), *args[1:]]
        if f in TAKES_VECTORS:
            args = list(map(self.as_vector, args))
        args = [self.as_array(f, a) for a in args]
        if f is np.where and len(args) == 3 and not options and _is_number(args[0]):
            found = self._where(*args)
            self.decomposed.add(f)
            if found is not NotImplemented:
                return found
        others = decomposed(f, args, options)
        if others is not None:
            self.decomposed.add(f)
            function, given = others
            return self.inline(
                function, [], {name: self._with_constants(v) for name, v in given.items()}
            )
        values = [self.pack(a, given=True) for a in args]
        named = {k: self.pack(v) for k, v in options.items()}
        if not is_pure(f):
            raise UnsupportedError(f"{f} is not known to be pure")
        out = pop_out(f, values, named)
        made = self.emit_call(f, values, named)
        if made.op.code == "call" and _must_unpack(made.kind):
            return self.unpacked_result(made)
        return made if out is None else self._written_out(out, made)

    def _written_out(self, out: Value, made: Value) -> Value:
        return made if known(out) is None else self.write_out(out, made)

    def _where(self, test: Value, a: Any, b: Any) -> Any:
        """Read ``np.where(test, a, b)`` with a number as the test."""
        a, b = self.pack(a), self.pack(b)
        if test.kind.is_known or not test.kind.is_integral or not has_library_rule(np.where):
            return NotImplemented
        if a.kind.is_array or b.kind.is_array:
            tests = self.read_call(np.array, [Items([test])], {"dtype": self.const(bool)})
            return self.read_call(np.where, [tests, a, b], {})
        both = (a, b)
        made = kind_of_result(np.where, [v.kind for v in (test, a, b)])
        if made.dtype != np.float64 or not all(v.kind.classes <= _FLOATS for v in both):
            return NotImplemented
        value = self.emit_call(np.float64, [self.choose(test, lambda: a, lambda: b)])
        self.elements.add(value)  # NumPy returns an array without axes
        return value

    def unpacked_result(self, made: Value) -> tuple:
        """Unpack the tuple that a call returns."""
        (cls,) = made.kind.classes
        kind = tuple if cls is tuple else record_class(cls)
        if kind is None:
            raise UnsupportedError(f"a value of class {cls.__name__}")
        return kind(self.unpack(made))

    def _with_constants(self, v: Any) -> Any:
        """Convert an argument of a replacement function: numbers become constants."""
        if type(v) is Items and all(type(part) in (int, float) for part in v):
            return Items(map(self.const, v))
        return self.const(v) if is_constant(v) else v

    def _call_python(self, f: Callable, args: list[Any], options: dict[str, Any]) -> Any:
        """Read a call of a builtin or a class of the standard library, or one with ``out``.

        Return NotImplemented for others.
        """
        made = self.read_derivative(f, args, options)
        if made is not NotImplemented:
            return made
        if f is functools.partial:
            return self._partial(args, options)
        if "out" in options and f in WITH_OUT:
            rest = {name: x for name, x in options.items() if name != "out"}
            return self._written_out(self.pack(options["out"]), self.read_call(f, args, rest))
        if f is dict and len(args) < 2:
            items = self.named_items(args[0]) if args else Named()
            if items is None and not options and _is_iterable(args[0]):
                return self.dict_of_pairs(args[0])
            return NotImplemented if items is None else Named(items | options)
        if f is collections.defaultdict and not options:
            return self.new_defaultdict(args)
        if f is collections.Counter and not args and not options:
            return self.new_counter()
        if f is collections.deque:
            return self.new_deque(args, options)
        if f in MAKERS and not options:
            return new_generator(self, f, list(map(self.pack, args)))
        if f is slice and len(args) < 4:
            bounds = slice(*map(self.pack, args))
            parts = (bounds.start, bounds.stop, bounds.step)
            return HeldSlice(*[self.const(None) if x is None else x for x in parts])
        if f is set and len(args) < 2 and not options:
            return self.set_of(args[0]) if args else self.new_set([])
        if f is sorted and len(args) == 1 and _is_iterable(args[0]):
            return self.ordered(args[0], options)
        if f is dataclasses.replace and len(args) == 1 and is_object(args[0]):
            return self.dataclass_replace(args[0], options)
        return NotImplemented if options else self._call_builtin(f, args)

    def _call_builtin(self, f: Callable, args: list[Any]) -> Any:
        if f is len and len(args) == 1:
            return self._length_of(*args)
        if f is np.ndim and len(args) == 1 and _is_number_or_array(args[0]):
            return self.const(args[0].kind.ndim)
        if f is isinstance and len(args) == 2:
            return self._is_instance(*args)
        if f is type and len(args) == 1 and (cls := _class_of(args[0])) is not None:
            return self.const(cls)
        if f is getattr and len(args) == 2 and type(name := known(self.pack(args[1]))) is str:
            return self.read_attribute(args[0], name)
        if f is hasattr and len(args) == 2:
            return self._has_attribute(args[0], known(self.pack(args[1])))
        if f in (abs, bool) and len(args) == 1 and is_object(args[0]):
            return self.abs_or_bool_of_object(f, args[0])
        if f in (list, tuple) and len(args) == 1 and (is_object(args[0]) or _has_parts(args[0])):
            return self._copied(f, args[0])
        if f is sum and args and isinstance(args[0], tuple) and not is_object(args[0]):
            return self._sum(*args)
        if any(isinstance(a, InstanceValue) for a in args):
            return NotImplemented
        if f in (min, max) and len(args) > 1 and all(map(_is_number, args)):
            return self._least(operator.lt if f is min else operator.gt, args)
        if f in (list, tuple) and len(args) == 1 and _is_iterable(args[0]):
            return self._copied(f, args[0])
        if f in BISECTIONS and len(args) == 2:
            return self.inline(BISECTIONS[f], args, {})
        if f in HEAPS and args and self.as_value(args[0]).kind == LIST:
            return self.inline(HEAPS[f], args, {})
        return NotImplemented

    def _has_attribute(self, x: Any, name: Any) -> Any:
        """Read ``hasattr(x, name)`` for an `x` without attributes of its own."""
        if type(x) is Value and x.kind.is_known and hasattr(known(x), "__dict__"):
            raise UnsupportedError("hasattr of what may get attributes, such as a function")
        classes = _classes_of(x)
        if type(name) is not str or not classes:
            return NotImplemented
        answers = {any(name in vars(base) for base in c.__mro__) for c in classes}
        return self.const(answers.pop()) if len(answers) == 1 else NotImplemented

    def _is_instance(self, x: Any, bases: Any) -> Value:
        asked = known(self.pack(bases))
        if not is_asked_by_class(asked):
            raise UnsupportedError("isinstance by a class that decides for itself")
        if type(x) in OBJECTS or (type(x) is Value and x.kind.is_object):
            classes = frozenset([self.guarded_class(x)])
        elif type(x) is Value and x.kind.is_known:
            classes = x.kind.classes
        else:
            classes = frozenset([class_of(x)]) if isinstance(x, RecordValue) else _classes_of(x)
        answers = {issubclass(c, asked) for c in classes}
        if len(answers) == 1:
            return self.const(answers.pop())
        if not answers:
            raise UnsupportedError("isinstance of a value of this class")
        op = Op("length", [x, self.const(asked)], f=isinstance)
        return self.emit(op, BOOL)

    def _sum(self, items: tuple, start: Any = None) -> Value:
        if SUM_TAKES_ERRORS_ALONG:
            given = items if start is None else (start, *items)
            floats = [x for x in given if type(x) is Value and float in x.kind.classes]
            if len(floats) > 2:  # the sum of two has no error that it could take along
                if not all(type(x) is Value and x.kind.is_scalar for x in given):
                    raise UnsupportedError("a sum of floats and other objects")
                return self.read_call(sum, [self.new_list(list(given))], {})
        total = self.const(0) if start is None else start
        for x in items:
            if is_object(x) or is_object(total):
                total = self.operator_of("add", total, x)
                if total is NotImplemented:
                    raise UnsupportedError(
                        "an operator that the class of an object does not define"
                    )
                continue
            total = self.binary(operator.add, total, x)
        return total

    def _least(self, precedes: Callable, args: list[Value]) -> Value:
        """Read ``min`` or ``max`` of numbers: the first that no other precedes."""

        def lesser(a: Value, b: Value) -> Value:
            return self.choose(self.emit_call(precedes, [b, a]), lambda: b, lambda: a)

        return functools.reduce(lesser, args)


def _is_object_or_class(x: Any) -> bool:
    """Whether this is an object in memory, or one of the user's classes."""
    return type(x) is Value and (x.kind.is_object or is_class(known(x)))


def _is_inlined(f: Any) -> bool:
    """Whether calls of a function are inlined: it is the user's."""
    if type(f) is not types.FunctionType or rrule.entry(f) is not None:
        return False
    return not (f in PURE or f in DECOMPOSABLE or facts_of(f).is_pure)


def _positional_count(f: Any, node: ast.Call) -> int | None:
    """Return how many positional arguments a call of the user's function must have, if known.

    It is known if no parameter has a default.
    """
    n = 0
    if type(f) is LocalFunction:
        a = f.node.args
        is_open = a.defaults or a.vararg or a.kwarg or a.kwonlyargs
        return None if is_open else len(a.posonlyargs) + len(a.args) - len(node.keywords)
    if isinstance(f, type):
        if record_class(f) is not None:
            return len(f._fields) - len(node.keywords)  # type: ignore[attr-defined] # it has
        f, n = getattr(f, "__init__", None), 1
    if type(f) is not types.FunctionType or f.__defaults__ or f.__code__.co_kwonlyargcount:
        return None
    if f.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return None
    return f.__code__.co_argcount - n - len(node.keywords)


def _check_arguments(f: Any, args: tuple) -> None:
    if any(isinstance(a, InstanceValue) for a in args):
        raise UnsupportedError("an object as an argument")
    if any(type(a) is Items for a in args) and not _takes_lists(f):
        raise UnsupportedError("a list as an argument")
    if f in _ASKS_CLASS and any(isinstance(a, RecordValue) for a in args):
        raise UnsupportedError(f"{f.__name__} of a named tuple, whose class decides")


_ASKS_CLASS = frozenset({str, format, repr, hash, *SIGNS, *PREFIXES})
"""What the class of an argument decides."""


def _must_unpack(kind: Kind) -> bool:
    """Whether this is a tuple of arrays or floats, or a named one: no value of the program."""
    if not kind.parts:
        return False
    return kind.classes != {tuple} or any(p.has_memory or p.has_floats for p in kind.parts)


def _classes_of(x: Any) -> frozenset[type]:
    """Return the possible classes of a number, array, list, tuple or dict; none for others."""
    if type(x) is Value:
        return frozenset() if x.kind.is_object or x.kind.is_known else x.kind.own_classes
    classes: dict[type, type] = {tuple: tuple, Items: list, Named: dict}
    cls = classes.get(type(x))
    return frozenset() if cls is None else frozenset([cls])


def _class_of(x: Any) -> type | None:
    """Return the class of a constant, number, array, list, tuple or dict, if it is known."""
    if type(x) is Value and x.kind.is_known:
        return type(known(x))
    classes = _classes_of(x)
    return next(iter(classes)) if len(classes) == 1 else None


def _is_iterable(x: Any) -> bool:
    """Whether this is a list, deque, tuple, range, array or dict, which a list can be made of."""
    if type(x) is Value:
        return x.kind.is_list or x.kind.is_mapping or _has_rows(x)
    return type(x) is HeldRange or is_sequence(x)


def _has_rows(x: Any) -> bool:
    return type(x) is Value and x.kind.is_array and x.kind.ndim > 0


def _has_parts(x: Any) -> bool:
    """Whether this is a tuple as one value: a shape, or integers."""
    return type(x) is Value and bool(x.kind.parts)


def _is_number_or_array(x: Any) -> bool:
    return type(x) is Value and (x.kind.is_scalar or x.kind.is_array)


def _is_number(x: Any) -> bool:
    return not isinstance(x, tuple) and x.kind.is_scalar


_FLOATS = frozenset({float, np.float64})
_CONSUMERS = frozenset(
    {collections.deque, sum, min, max, list, tuple, set, dict, sorted, math.fsum, math.prod}
)
"""Functions that consume a whole iterator."""


def _takes_lists(f: Any) -> bool:
    """Whether a function treats a list like a tuple."""
    module = (getattr(f, "__module__", None) or "").partition(".")[0]
    return module in ("numpy", "math")
