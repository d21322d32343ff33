"""Reading implicit calls of special methods: operators, comparisons, items, truth and iteration."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.python_operators import COMPARISONS
from autodiff.structured.form.function_ir import Value, known
from autodiff.structured.form.kinds import INT, UNKNOWN, UnsupportedError
from autodiff.structured.reading.containers.classes import (
    ClassReader,
    class_of,
    is_object,
    may_have_operators,
)
from autodiff.structured.reading.scopes import ClassLookup, OutsideObject
from chainrules_core import rrule


class SpecialMethodReader(ClassReader):
    """Layer of the reader: implicit calls of special methods."""

    # Methods that subclasses define.
    truth_of: Callable[[Any], Any]
    yielded_values: Callable[[types.FunctionType, list[Any]], list[Any]]
    definition_of: Callable[[types.FunctionType], Any]
    read_call: Callable[[Any, list[Any], dict[str, Any]], Any]
    same_object: Callable[[Any, Any], Any]

    def special_method(self, owner: Any, name: str) -> types.FunctionType | None:
        """Return a special method, looked up in the class alone; None if it has none."""
        if type(owner) is OutsideObject:
            self.guard_lookup(ClassLookup, owner.x, "", owner.cls)
        found = self.of_class(class_of(owner), name)
        if found is UNKNOWN:
            return None
        if type(found) is not types.FunctionType or rrule.entry(found) is not None:
            raise UnsupportedError(f"{name} of this form")
        return found

    def try_special_method(self, name: str, owner: Any, *args: Any) -> Any:
        """Read a call of a special method; NotImplemented if the class does not have it."""
        found = self.special_method(owner, name)
        return NotImplemented if found is None else self.inline(found, [owner, *args], {})

    def call_special_method(self, name: str, owner: Any, *args: Any) -> Any:
        """Read a call of a special method that the class must have."""
        made = self.try_special_method(name, owner, *args)
        if made is NotImplemented:
            raise UnsupportedError(f"an object without {name}")
        return made

    def operator_of(self, name: str, a: Any, b: Any) -> Any:
        """Read an operator as a special method of an operand; NotImplemented if neither has one."""
        both = [x for x in (a, b) if may_have_operators(x)]
        if type(a) is Value and a.kind.is_array:
            raise UnsupportedError("an operator of an array and an object")
        is_number = type(a) is Value and not a.kind.is_object
        if is_number and not a.kind.classes <= _PYTHON_NUMBERS:
            cls = class_of(both[0])
            is_sequence = issubclass(cls, tuple)
            if is_sequence or any(self.of_class(cls, x) is not UNKNOWN for x in _ARRAY_PROTOCOL):
                raise UnsupportedError("an operator of a NumPy number and an array-like object")
        candidates = [(a, b, f"__{name}__"), (b, a, _REFLECTED.get(name, f"__r{name}__"))]
        if len(both) == 2:
            left, right = map(class_of, both)
            if left is not right and issubclass(right, left):
                raise UnsupportedError("an operator of an object and one of a subclass")
            if left is right and name not in _REFLECTED:
                candidates.pop()
        for owner, other, method in candidates:
            if may_have_operators(owner):
                made = self.try_special_method(method, owner, *([] if other is None else [other]))
                if made is not NotImplemented:
                    return made
        return NotImplemented

    def compared_objects(self, op: type[ast.cmpop], a: Any, b: Any) -> Any:
        """Read a comparison of objects; ``!=`` falls back on the negation of ``==``."""
        name = COMPARISONS[op].name
        made = self.operator_of(name, a, b)
        if made is not NotImplemented:
            return made
        if name not in ("eq", "ne"):
            raise UnsupportedError("a comparison that the class of an object does not define")
        made = self.operator_of("eq", a, b) if name == "ne" else NotImplemented
        if made is not NotImplemented:
            return self.read_call(operator.not_, [self.truth_of(made)], {})
        same = self.same_object(a, b) if is_object(a) and is_object(b) else self.const(False)
        if same is NotImplemented:
            raise UnsupportedError("a comparison of objects")
        return self.read_call(operator.not_, [same], {}) if name == "ne" else same

    def length_of_object(self, x: Any) -> Value:
        """Read ``len(x)``."""
        n = self.call_special_method("__len__", x)
        if type(n) is not Value or not n.kind.is_integral or np.bool_ in n.kind.classes:
            raise UnsupportedError("a length that is not an integer")
        self.exit_unless(self.emit_call(operator.ge, [n, self.const(0)]))
        return n if n.kind == INT or type(known(n)) is int else self.emit_call(int, [n])

    def truth_of_object(self, x: Any) -> Any:
        """Convert an object to a value of the same truth."""
        if self.special_method(x, "__bool__") is not None:
            answer = self.call_special_method("__bool__", x)
            if type(answer) is not Value or answer.kind.classes != {bool}:
                raise UnsupportedError("a __bool__ that does not return a bool of Python's")
            return answer
        if self.special_method(x, "__len__") is None:
            return self.const(True)
        return self.length_of_object(x)

    def abs_or_bool_of_object(self, f: Callable, x: Any) -> Any:
        """Read ``abs(x)`` or ``bool(x)``."""
        if f is abs:
            return self.call_special_method("__abs__", x)
        return self.read_call(bool, [self.pack(self.truth_of(x))], {})

    def object_contains(self, x: Any, owner: Any) -> Value:
        """Read ``x in owner``."""
        found = self.truth_of(self.call_special_method("__contains__", owner, x))
        if type(found) is not Value or not found.kind.is_scalar:
            raise UnsupportedError("the truth of something other than a number")
        return self.read_call(bool, [found], {})

    def parts_of_object(self, x: Any) -> list[Any]:
        """Return the items that an object yields, if their number is known."""
        function = self.special_method(x, "__iter__")
        if function is None:
            raise UnsupportedError("the items of an object without __iter__")
        return self.yielded_values(function, [x])

    def iterable_of_object(self, x: Any) -> Any:
        """Return what ``__iter__`` iterates over, if it only returns ``iter(...)``."""
        function = self.special_method(x, "__iter__")
        if function is None:
            raise UnsupportedError("a loop over an object without __iter__")
        *before, last = self.definition_of(function).body
        is_doc = all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in before)
        if not (is_doc and isinstance(last, ast.Return) and isinstance(last.value, ast.Call)):
            raise UnsupportedError("a loop over an object with this __iter__")
        self.iterators.add(last.value)
        return self.inline(function, [x], {})


_PYTHON_NUMBERS = frozenset({bool, int, float, complex})
_ARRAY_PROTOCOL = (  # NumPy scalars convert an object with one of these to an array
    "__array__", "__array_interface__", "__array_struct__", "__buffer__", "__getitem__",
)  # fmt: skip
_REFLECTED = {
    "eq": "__eq__", "ne": "__ne__", "lt": "__gt__", "gt": "__lt__", "le": "__ge__", "ge": "__le__",
}  # fmt: skip
