"""Reading statements: variables, writes into arrays and lists, branches, and the ends of loops."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.python_operators import BINARY
from autodiff.structured.form.indices import (
    arrays_in,
    has_arrays,
    is_element,
    kind_of_index,
    without_ellipsis,
)
from autodiff.structured.form.ir import (
    LIST_WRITES,
    WRITES,
    Columns,
    Items,
    Named,
    Op,
    Slot,
    Value,
    known,
)
from autodiff.structured.form.kinds import (
    Kind,
    ListInMemoryError,
    NoItemsError,
    UnboundError,
    UnsupportedError,
    kind_of_result,
)
from autodiff.structured.reading.building import places_of
from autodiff.structured.reading.comprehensions import Comprehensions
from autodiff.structured.reading.containers.classes import is_object
from autodiff.structured.reading.containers.lists import (
    as_list,
    changes_dicts,
    grown_in,
    has_no_other_name,
    written,
)
from autodiff.structured.reading.containers.sequences import (
    is_of_columns,
    is_sequence,
    parts_appended,
)
from autodiff.structured.reading.containers.tables import grows_by_keys
from autodiff.structured.reading.expressions import PARTS
from autodiff.structured.reading.jumps import jumps
from autodiff.structured.reading.scopes import OBJECTS, LocalObject


class Statements(Comprehensions):
    """Reads statements."""

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Read statements."""
        for node in nodes:
            method = getattr(self, f"on_{type(node).__name__.lower()}", None)
            if method is None:
                raise UnsupportedError(f"statement {type(node).__name__}")
            if self.flags:
                self._in_this_round(method, node)
            else:
                method(node)

    def _in_this_round(self, method: Callable[[Any], None], node: ast.stmt) -> None:
        """Read a statement in a loop, or leave it out until lists have the items that it reads.

        The loop is then read once more.
        """
        kinds, n = dict(self.kinds), len(self.flags)
        try:
            method(node)
        except (NoItemsError, UnboundError) as error:
            if isinstance(error, UnboundError) and not self.left_out:
                raise
            self.left_out = error
            self.kinds = kinds
            del self.flags[n:]

    def on_pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def on_continue(self, node: ast.Continue) -> None:
        """At the end of a branch: nothing is left of the turn."""

    def on_break(self, node: ast.Break) -> None:
        """At the end of a branch: nothing is left of the turn, and it is the last."""
        self.done(Op("break", [], data=self.flags[-1]))

    def given_to_loop(self, node: ast.Yield) -> None:
        """Read what a generator yields."""
        raise NotImplementedError

    def on_expr(self, node: ast.Expr) -> None:
        """Read a call whose result nobody takes, or what a generator gives to a loop."""
        if isinstance(node.value, ast.Yield):
            self.given_to_loop(node.value)
        else:
            self.expression(node.value)

    def on_nonlocal(self, node: ast.Nonlocal) -> None:
        """Read a declaration: these variables are those of a function around this one."""
        self.scope.outer.update(node.names)

    def on_assign(self, node: ast.Assign) -> None:
        """Read an assignment."""
        is_taken = all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        given = as_list(node.value) if is_taken else node.value
        is_zip = isinstance(given, ast.Call) and is_of_columns(given)
        if is_taken and is_zip and self._made_by(given) is zip:  # type: ignore[arg-type] # a call
            value = self.columns(given, self.rows_of(given))  # type: ignore[arg-type]
        else:
            value = self._that_may_grow(self.expression(given), node.targets)
        for target in node.targets:
            self.assign(target, value)

    def _that_may_grow(self, value: Any, targets: list[ast.expr]) -> Any:
        """Return a list as one that may grow, if the function changes what it binds to it."""
        if type(value) is Named and len(targets) == 1:
            own = targets[0].id if isinstance(targets[0], ast.Name) else ""
            grows = not value or grows_by_keys(own, value, self.calling[-1])
            return self.table_from(value) if grows and not value.has_name else value
        if type(value) is not Items:
            return value
        name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
        n = parts_appended(name, self.calling[-1]) if name and not value else 0
        if n:
            return Columns([self.list_of([]) for _ in range(n)])
        grown = grown_in(self.calling[-1]) if value else ()
        grows = any(isinstance(t, ast.Name) and t.id in grown for t in targets)
        grows = grows or any(map(self.is_moving, targets))
        grows = grows or (
            any(type(part) is Named for part in value) and changes_dicts(self.calling[-1])
        )
        return self.list_from(value) if grows or not value else value

    def on_annassign(self, node: ast.AnnAssign) -> None:
        """Read an assignment with a type."""
        if node.value is not None:
            assigned = ast.Assign([node.target], node.value)
            self.on_assign(ast.copy_location(assigned, node))

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a variable, or several, or write into an array or list."""
        name = self._variable_of(target)
        if name is not None:
            self.bind(name, value)
        elif isinstance(target, ast.Attribute):
            owner = self.expression(target.value)
            is_complex = type(owner) is Value and owner.kind.letter == "c"
            if is_complex and target.attr in PARTS:  # x.real = y is x.real[:] = y
                whole = ast.Subscript(target, ast.Slice(None, None, None))
                self.assign(ast.copy_location(whole, target), value)
                return
            self.set_attribute(target, owner, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            targets = [t.value if isinstance(t, ast.Starred) else t for t in target.elts]
            starred = [k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
            parts = (
                self._unpacked_around(value, starred[0], len(targets) - starred[0] - 1)
                if starred
                else self._unpacked(value, len(targets))
            )
            for t, v in zip(targets, parts, strict=True):
                self.assign(t, self._that_may_grow(v, [t]))
        elif isinstance(target, ast.Subscript):
            base = self._base_of(target)
            if base.kind.has_items:
                self.set_item(base, self.value(target.slice), value)
                return
            values, template = self._index(target.slice)
            if isinstance(value, tuple):
                raise UnsupportedError("a tuple written into an array")
            self.store(base, value, values, template)
        else:
            raise UnsupportedError(f"assignment to {type(target).__name__}")

    def _variable_of(self, target: ast.expr) -> str | None:
        """Return the variable that a target binds, which may be an item of a dict."""
        if isinstance(target, ast.Name):
            return target.id
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
            return None
        form = self.scope.forms.get(target.value.id)
        if type(form) is not Named or not has_no_other_name(target.value.id, self.calling[-1]):
            return None
        return form.get(known(self.value(target.slice)))

    def _unpacked(self, value: Any, n: int) -> list:
        """Return the parts of a tuple, or those of an array or list that has so many."""
        if isinstance(value, tuple) or not (value.kind.is_array or value.kind.is_list):
            parts = self._parts_of(value)
            if len(parts) != n:
                raise UnsupportedError("unpacking that fails")
            return parts
        name = self.held(value)
        length = self.called(len, [value], {})
        self.leave_unless(self.call(operator.eq, [length, self.const(n)]))
        at = [self.const(i) for i in range(n)]
        if value.kind.is_list:
            return [self.item(self.read(name), i) for i in at]
        return [self.indexed(self.read(name), [i], ("value", 0)) for i in at]

    def _unpacked_around(self, value: Any, n: int, m: int) -> list:
        """Return the first `n` parts, a list of those in between, and the last `m`."""
        if not (type(value) is Value and (value.kind.is_array or value.kind.is_list)):
            parts = self._parts_of(value)
            if len(parts) < n + m:
                raise UnsupportedError("unpacking that fails")
            return [*parts[:n], Items(parts[n : len(parts) - m]), *parts[len(parts) - m :]]
        of_list, xs, end = value.kind.is_list, self.held(value), self.held(self.list_of([]))
        length = self.called(len, [value], {})
        self.leave_unless(self.call(operator.ge, [length, self.const(n + m)]))
        last = self.held(
            self.call(operator.sub, [self.called(len, [self.read(xs)], {}), self.const(m)])
        )
        turn = written(
            "for i in range(n, m):\n ys.append(xs[i])",
            i=self.hidden("i"),
            xs=xs,
            ys=end,
            n=self.held(self.const(n)),
            m=last,
        )
        self.statements(turn)
        at = [*range(n), *range(-m, 0)]
        read = [
            self.item(self.read(xs), self.const(i))
            if of_list
            else self.indexed(self.read(xs), [self.const(i)], ("value", 0))
            for i in at
        ]
        return [*read[:n], self.read(end), *read[n:]]

    def add_at(self, base: Value, at: ast.expr, value: Value) -> None:
        """Read ``np.add.at``, which adds to an element as often as it is named."""
        values, template = self._index(at)
        memory = value.memory and value.memory.root()
        if memory is not None and base.memory is not None and memory is base.memory.root():
            raise UnsupportedError("np.add.at of parts of the array itself")
        self.store(base, value, values, template, "add", np.add)

    def store(
        self,
        base: Value,
        value: Value,
        values: list[Value],
        template: Any,
        code: str = "store",
        f: Any = None,
    ) -> None:
        """Write a value into an array at an index, or add it there."""
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("a write of what is no number or array")
        if len({a.kind.letter == "b" for a in arrays_in(template, values)}) > 1:
            raise UnsupportedError("a write at truth values and places")
        if value.kind.is_inexact and base.kind.letter not in "fc":
            raise UnsupportedError("floats written into an array of integers")
        if value.kind.is_complex and base.kind.letter != "c":
            raise UnsupportedError("complex numbers written into an array of floats")
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if is_element(region, template):
            template = without_ellipsis(template)
            region = kind_of_index(base.kind, [v.kind for v in values], template)
        if value.kind.is_array and value.kind.ndim > region.ndim:
            raise UnsupportedError("a write of more axes")
        self.done(Op(code, [base, value, *values], f=f, data=template))
        base.memory.root().is_written = True  # type: ignore[union-attr] # an array has one

    def on_raise(self, node: ast.Raise) -> None:
        """Leave the program: the function is then traced, and raises what it raises."""
        self.done(Op("raise", []))

    def on_assert(self, node: ast.Assert) -> None:
        """Leave the program where a test fails."""
        self.on_if(ast.copy_location(ast.If(node.test, [ast.Pass()], [ast.Raise()]), node))

    def on_augassign(self, node: ast.AugAssign) -> None:
        """Read an operator that changes a variable or an item."""
        sign, f, _ = BINARY[type(node.op)]
        name, scope = self._variable_of(node.target), self.scope
        while name in scope.outer:
            scope = scope.parent
        slots = scope.slots
        bind: Callable[[Any], None]
        if isinstance(node.target, ast.Attribute):
            owner, name = self.expression(node.target.value), node.target.attr
            if type(owner) is Value and owner.kind.is_object:
                self._change_attribute(f, owner, node)
                return
            old = self.attribute_of_any(owner, name)
            slots = owner.scope.slots if type(owner) is LocalObject else {}
            bind = functools.partial(self.set_attribute, node.target, owner)
        elif name is not None:
            old, bind = self.expression(node.target), functools.partial(self.bind, name)
        if name is not None and is_object(old):
            found = self.operator_of(sign, old, self.expression(node.value))
            if found is NotImplemented or self.has_method(old, f"__i{sign}__"):
                raise UnsupportedError("an operator that an object does not have")
            bind(found)
            return
        if name is not None:
            is_list = isinstance(old, (tuple, Named)) or old.kind.has_items
            if not (is_list or old.kind.is_array):
                self.changed.update([slots[name]] if name in slots else ())
                bind(self.binary(f, old, self.value(node.value)))
                return
            # It is changed in place, and bound to the variable once more.
            was_bound = _times_bound(slots, name)
            if isinstance(node.target, ast.Attribute) and type(owner) in OBJECTS:
                self.check_set(owner, name)
            if is_list:
                self._extend(f, old, node.value)
            else:
                whole = ("known", Ellipsis)
                self._change_in_place(f, old, list[Value](), whole, node.value)
            if _times_bound(slots, name) != was_bound:
                raise UnsupportedError("an operator on a variable that its operand binds anew")
        else:
            self._change_part(f, node.target, node.value)

    def _base_of(self, node: ast.Subscript) -> Value:
        """Return what an item is written into."""
        base = self.value(node.value)
        if base.kind.is_object:
            raise UnsupportedError("an item of an object")
        return base

    def _change_part(self, f: Callable, target: ast.expr, value: ast.expr) -> None:
        """Read an operator that changes an item of a list, or a part of an array."""
        if not isinstance(target, ast.Subscript):
            raise UnsupportedError(f"assignment to {type(target).__name__}")
        base = self._base_of(target)
        if base.kind.has_items:
            self._change_item(f, base, self.value(target.slice), value)
            return
        values, template = self._index(target.slice)
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        self._change_in_place(f, base, values, template, value)

    def _change_in_place(
        self, f: Callable, base: Value, values: list[Value], template: Any, node: ast.expr
    ) -> None:
        """Read an operator that changes the elements of an array."""
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if is_element(region, template):
            value = self._spared(node)
            template = without_ellipsis(template)
            element = self.indexed(base, values, template)
            self.store(base, self.binary(f, element, value), values, template)
            return
        if f in (operator.add, operator.sub) and not has_arrays(template):
            # Python reads an element before what is added to it, which may write into the array.
            old = None if region.is_array else self.indexed(base, values, template)
            block, n = self.block, len(self.block.ops)
            value = self.value(node)
            self._check_in_place(f, region, value)
            wrote = self.block is not block or any(op.code in WRITES for op in block.ops[n:])
            if old is not None and wrote:
                self.store(base, self.binary(f, old, value), values, template)
                return
            if old is not None:
                self.drop(old)
            self.store(base, value, values, template, "add" if f is operator.add else "sub")
            return
        old = self.indexed(base, values, template)
        value = self.value(node)
        self._check_in_place(f, region, value)
        self.store(base, self.binary(f, old, value), values, template)

    def _spared(self, node: ast.expr) -> Value:
        """Read what changes an element of which there is a view: it may not write."""
        block, n = self.block, len(self.block.ops)
        value = self.value(node)
        if self.block is not block or any(op.code in WRITES for op in block.ops[n:]):
            raise UnsupportedError("an element that changes while an operator changes it")
        return value

    def _extend(self, f: Callable, xs: Any, node: ast.expr) -> None:
        """Read ``xs += [a, b]``, for a list that may grow."""
        items = self.expression(node)
        if f is not operator.add or not is_sequence(items) or not _may_grow(xs):
            raise ListInMemoryError("this change of a list, tuple or dict", places_of(xs))
        self.extended(xs, items)

    def _change_attribute(self, f: Callable, owner: Value, node: ast.AugAssign) -> None:
        """Read an attribute of an object in memory that is changed by an operator."""
        name = node.target.attr  # type: ignore[union-attr] # it is an attribute
        self.check_set(owner, name)
        self._change_item(f, owner, self.const(name), node.value)

    def _change_item(self, f: Callable, xs: Value, at: Value, node: ast.expr) -> None:
        """Read an item of a list that is changed by an operator; an array changes in place."""
        old = self.item(xs, at)
        if type(old) is not Value:
            raise UnsupportedError("an operator that changes a named tuple")
        block, n = self.block, len(self.block.ops)
        value = self.value(node)
        if not old.kind.is_array:
            self.set_item(xs, at, self.binary(f, old, value))
            return
        if self.block is not block or any(op.code in LIST_WRITES for op in block.ops[n:]):
            raise UnsupportedError("a list that changes while one of its items does")
        self._check_in_place(f, old.kind, value)
        whole = ("known", Ellipsis)
        if f in (operator.add, operator.sub):
            self.store(old, value, [], whole, "add" if f is operator.add else "sub")
        else:
            self.store(old, self.binary(f, old, value), [], whole)

    def filled(self, out: Value, made: Value) -> Value:
        """Read the argument ``out`` of a ufunc, which its result is written into."""
        if out.kind.dtype is None or made.kind.dtype != out.kind.dtype:
            raise UnsupportedError("an argument out of another dtype")
        self.store(out, made, [], ("known", Ellipsis))
        return out

    def drop(self, value: Value) -> None:
        """Take the operation that made a value out of the block: nobody reads it."""
        self.block.ops.remove(value.op)
        for a in value.op.args:
            a.uses -= 1

    def _check_in_place(self, f: Callable, region: Kind, value: Value) -> None:
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("an operator on what is no number or array")
        result = kind_of_result(f, [region, value.kind])
        if region.is_array and result.general() != region.general():
            raise UnsupportedError("an operation in place that changes dtype or axes")

    def on_with(self, node: ast.With) -> None:
        """Read ``with np.errstate(...)``, which changes no value."""
        if jumps(node, (ast.Return, ast.Break, ast.Continue)):
            raise UnsupportedError("a jump out of a statement with")
        names = [self._entered(item) for item in node.items]
        self.statements(node.body)
        for name in reversed(names):
            self.end_block()
            self.done(Op("leave", [], data=name))

    def _entered(self, item: ast.withitem) -> str:
        call = item.context_expr
        if not isinstance(call, ast.Call) or call.args or item.optional_vars is not None:
            raise UnsupportedError("this statement with")
        options = {k.arg: known(self.value(k.value)) for k in call.keywords}
        of_warnings = all(option in ("ignore", "warn") for option in options.values())
        if known(self.one(self.expression(call.func))) is not np.errstate or not of_warnings:
            raise UnsupportedError("this statement with")
        self.program.has_errstates = True
        self.end_block()
        name = self.fresh("errors")
        self.done(Op("enter", [], data=(name, options)))
        return name

    def on_delete(self, node: ast.Delete) -> None:
        """Take an item out of a list."""
        for target in node.targets:
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
                raise UnsupportedError("del of what is no item of a list")
            self.drop_item(self._base_of(target), self.value(target.slice))

    def on_if(self, node: ast.If) -> None:
        """Read a branch."""
        self.branches(
            self.truth(node.test),
            lambda: self.statements(node.body),
            lambda: self.statements(node.orelse),
        )


def _may_grow(xs: Any) -> bool:
    return type(xs) is Value and xs.kind.is_list


def _times_bound(slots: dict[str, Slot], name: str) -> tuple[Slot | None, int]:
    """Return the variable of a name, and how often it has been bound."""
    slot = slots.get(name)
    return slot, 0 if slot is None else slot.writes
