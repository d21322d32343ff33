"""Reading statements: assignments, imports, branches, jumps and ``with``."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.python_operators import BINARY
from autodiff.structured.form.function_ir import (
    Columns,
    Items,
    Named,
    Op,
    Slot,
    Value,
    known,
)
from autodiff.structured.form.indices import WHOLE
from autodiff.structured.form.kinds import (
    LIST,
    EmptyListError,
    UnboundError,
    UnsupportedError,
)
from autodiff.structured.reading.containers.classes import is_object, may_have_operators
from autodiff.structured.reading.containers.lists import (
    is_unaliased_dict,
    mutated_names,
    mutates_dicts,
)
from autodiff.structured.reading.containers.sequences import (
    appended_tuple_length,
    is_transposition,
)
from autodiff.structured.reading.containers.tables import may_change_keys
from autodiff.structured.reading.expressions import PARTS
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.jumps import jumps
from autodiff.structured.reading.scopes import OBJECTS, LocalObject
from autodiff.structured.reading.writes import WriteReader


class StatementReader(WriteReader):
    """Layer of the reader: statements."""

    # Methods that subclasses define.
    read_yield: Callable[[ast.Yield], None]

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Read statements."""
        for node in nodes:
            method = getattr(self, f"on_{type(node).__name__.lower()}", None)
            if method is None:
                raise UnsupportedError(f"statement {type(node).__name__}")
            if self.flags:
                self._read_or_skip(method, node)
            else:
                method(node)

    def _read_or_skip(self, method: Callable[[Any], None], node: ast.stmt) -> None:
        """Read a statement in a loop; skip it if it reads an item of a list that has none yet.

        Later statements may append items, and then another pass over the loop reads it.
        """
        kinds, n = dict(self.kinds), len(self.flags)
        try:
            method(node)
        except (EmptyListError, UnboundError) as error:
            if isinstance(error, UnboundError) and not self.skipped:
                raise
            self.skipped = error
            self.kinds = kinds
            del self.flags[n:]

    def on_pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def on_continue(self, node: ast.Continue) -> None:
        """Do nothing: it stands at the end of a branch, with nothing after it in the iteration."""

    def on_break(self, node: ast.Break) -> None:
        """Read a ``break`` at the end of a branch: no iteration follows."""
        self.emit_effect(Op("break", [], data=self.flags[-1]))

    def on_expr(self, node: ast.Expr) -> None:
        """Read an expression whose value is dropped, or a ``yield``."""
        if isinstance(node.value, ast.Yield):
            self.read_yield(node.value)
        else:
            self.expression(node.value)

    def on_nonlocal(self, node: ast.Nonlocal) -> None:
        """Read a declaration of variables of an outer function."""
        self.scope.outer.update(node.names)

    def on_import(self, node: ast.Import) -> None:
        """Read an import of modules that are loaded already."""
        for alias in node.names:
            module, name = self._module(alias.name), alias.asname
            if not name and "." in alias.name:  # binds the package
                module = self._module(alias.name.partition(".")[0])
            self.bind(name or alias.name.partition(".")[0], self.from_outside(module))

    def on_importfrom(self, node: ast.ImportFrom) -> None:
        """Read an import of names from a module that is loaded already."""
        if node.level or not node.module:
            raise UnsupportedError("a relative import")
        module = self._module(node.module)
        for alias in node.names:
            if alias.name not in vars(module):
                raise UnsupportedError(f"an import of {alias.name}")
            found = vars(module)[alias.name]
            self.guards.append((vars(module), alias.name, found))
            self.bind(alias.asname or alias.name, self.from_outside(found))

    def _module(self, name: str) -> Any:
        found = sys.modules.get(name)
        if found is None and name.partition(".")[0] in sys.modules:
            with contextlib.suppress(ImportError):
                found = importlib.import_module(name)
        if found is None:
            raise UnsupportedError(f"an import of {name}, which is not loaded")
        self.guards.append((sys.modules, name, found))
        return found

    def on_assign(self, node: ast.Assign) -> None:
        """Read an assignment."""
        is_taken = all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        given = node.value
        is_zip = isinstance(given, ast.Call) and is_transposition(given)
        if is_taken and is_zip and self.callee(given) is zip:  # type: ignore[arg-type] # a call
            value = self.columns(given, self.rows_of(given))  # type: ignore[arg-type]
        else:
            given = self.as_list_display(given) if is_taken else given
            if is_taken and isinstance(given, ast.Tuple):  # its items may be None
                value = self.on_tuple(given, may_be_none=True)
            else:
                value = self._growable(self.expression_or_none(given), node.targets)
        for target in node.targets:
            self.assign(target, value)

    def _growable(self, value: Any, targets: list[ast.expr]) -> Any:
        """Put a list or dict into memory if the function changes what these targets hold.

        Each list or dict that a tangent function displays stands for one in memory.
        """
        if isinstance(value, (Named, Items)) and value and self.is_tangent:
            return (
                self.dict_in_memory(value)
                if isinstance(value, Named)
                else self.list_in_memory(value)
            )
        function = self.calling[-1]
        name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
        if type(value) is Named and len(targets) == 1:
            grows = not value or may_change_keys(name, value, function)
            return self.new_table(value) if grows and not value.has_name else value
        if type(value) is not Items:
            return value
        n = appended_tuple_length(name, function) if name and not value else 0
        if n:
            return Columns([self.new_list([]) for _ in range(n)])
        if function not in self.grown:
            self.grown[function] = mutated_names(function)
        grows = (
            not value
            or any(isinstance(t, ast.Name) and t.id in self.grown[function] for t in targets)
            or any(map(self.is_attribute_of_new_object, targets))
            or (any(type(part) is Named for part in value) and mutates_dicts(function))
        )
        return self.list_in_memory(value) if grows else value

    def on_annassign(self, node: ast.AnnAssign) -> None:
        """Read an annotated assignment."""
        if node.value is not None:
            assigned = ast.Assign([node.target], node.value)
            self.on_assign(ast.copy_location(assigned, node))

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind the variables of a target, or write into an array or list."""
        name = self._variable_of(target)
        if not (name is not None or isinstance(target, ast.Subscript)):
            value = self.not_none(value)
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
            over = self._items_to_unpack(value)
            parts = (
                self._unpacked_around(over, starred[0], len(targets) - starred[0] - 1)
                if starred
                else self._unpacked(over, len(targets))
            )
            for t, v in zip(targets, parts, strict=True):
                self.assign(t, self._growable(v, [t]))
        elif isinstance(target, ast.Subscript):
            base = self._base_of(target)
            if not (type(base) is Value and base.kind == LIST):
                value = self.not_none(value)
            if is_object(base):
                self.call_special_method("__setitem__", base, self.expression(target.slice), value)
                return
            index = self.index_at(target.slice) if base.kind == LIST else target.slice
            if isinstance(index, ast.Slice) and base.kind == LIST:
                self.set_slice(base, self.bounds_in(index), value)
                return
            if base.kind.has_items:
                self.set_item(base, self.value(target.slice), value)
                return
            values, template = self._index(target.slice)
            if isinstance(value, tuple):
                value = self.read_call(np.array, [value], {})
            self.store(base, self.as_array(np.add, value), values, template)
        else:
            raise UnsupportedError(f"assignment to {type(target).__name__}")

    def _variable_of(self, target: ast.expr) -> str | None:
        """Return the variable that a target binds, perhaps an item of a dict kept in variables."""
        if isinstance(target, ast.Name):
            return target.id
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
            return None
        form = self.scope.forms.get(target.value.id)
        if type(form) is not Named or not is_unaliased_dict(target.value.id, self.calling[-1]):
            return None
        return form.get(known(self.value(target.slice)))

    def _unpacked(self, over: list | IterationSpace, n: int) -> list:
        """Unpack what `_items_to_unpack` returns into `n` parts."""
        if isinstance(over, list):
            if len(over) != n:
                raise UnsupportedError("unpacking that fails")
            return over
        self.exit_unless(self.emit_call(operator.eq, [over.length(), self.const(n)]))
        return [over.item(self.const(i)) for i in range(n)]

    def _unpacked_around(self, over: list | IterationSpace, n: int, m: int) -> list:
        """Unpack into the first `n` parts, a list of those in between, and the last `m`."""
        if isinstance(over, list):
            if len(over) < n + m:
                raise UnsupportedError("unpacking that fails")
            return [*over[:n], Items(over[n : len(over) - m]), *over[len(over) - m :]]
        length, between = self.hold(over.length()), self.hold(self.new_list([]))

        def from_end(k: int) -> Value:
            return self.emit_call(operator.sub, [self.read(length), self.const(k)])

        self.exit_unless(self.emit_call(operator.ge, [self.read(length), self.const(n + m)]))
        rest = IterationSpace(
            lambda: from_end(n + m),
            lambda i: over.item(self.emit_call(operator.add, [i, self.const(n)])),
        )
        self._append_each(between, rest)
        first = [over.item(self.const(i)) for i in range(n)]
        last = [over.item(from_end(k)) for k in range(m, 0, -1)]
        return [*first, self.read(between), *last]

    def on_raise(self, node: ast.Raise) -> None:
        """Exit the program: the call is then traced, and raises the error."""
        self.emit_effect(Op("raise", []))

    def on_assert(self, node: ast.Assert) -> None:
        """Exit the program if the test fails."""
        self.on_if(ast.copy_location(ast.If(node.test, [ast.Pass()], [ast.Raise()]), node))

    def on_augassign(self, node: ast.AugAssign) -> None:
        """Read an augmented assignment."""
        if self.is_distributed(node.value) and _may_follow(node.value.test, node.target):  # type: ignore[attr-defined] # a conditional expression
            self.on_if(_distributed(node))
            return
        target, f = node.target, BINARY[type(node.op)].function
        if isinstance(target, ast.Attribute):
            owner = self.expression(target.value)
            if type(owner) is Value and owner.kind.is_object:
                self._change_attribute(f, owner, node)
                return
            old = self.read_attribute(owner, target.attr)
            bind = functools.partial(self.set_attribute, target, owner)
            slots = owner.scope.slots if type(owner) is LocalObject else {}
            self._augment(node, target.attr, old, bind, slots, owner)
            return
        name, scope = self._variable_of(target), self.scope
        if name is None:
            self._change_part(f, target, node.value)
            return
        while name in scope.outer:
            scope = scope.parent
        bind = functools.partial(self.bind, name)
        self._augment(node, name, self.expression(target), bind, scope.slots)

    def _augment(
        self, node: ast.AugAssign, name: str, old: Any, bind: Callable[[Any], None],
        slots: dict[str, Slot], owner: Any = None,
    ) -> None:  # fmt: skip
        """Read an augmented assignment to a variable, or to an attribute of an owner."""
        sign, f, _ = BINARY[type(node.op)]
        if may_have_operators(old):
            value = self.expression(node.value)
            found = self.try_special_method(f"__i{sign}__", old, value)
            if found is NotImplemented:
                found = self.operator_of(sign, old, value)
            if found is NotImplemented:
                raise UnsupportedError("an operator that the class of an object does not define")
            bind(found)
            return
        is_list = isinstance(old, (tuple, Named)) or old.kind.has_items
        if not (is_list or old.kind.is_array):
            self.augmented.update([slots[name]] if name in slots else ())
            bind(self.binary(f, old, self.value(node.value)))
            return
        # It changes in place, and the variable is bound to it again.
        was_bound = _times_bound(slots, name)
        if type(owner) in OBJECTS:
            self.check_assignable(owner, name)
        if is_list:
            self._extend(f, old, node.value)
        else:
            self._change_in_place(f, old, [], WHOLE, node.value)
        if _times_bound(slots, name) != was_bound:
            raise UnsupportedError("an augmented assignment whose operand rebinds the variable")

    def on_with(self, node: ast.With) -> None:
        """Read ``with np.errstate(...)``, which affects warnings but no value."""
        if jumps(node, (ast.Return, ast.Break, ast.Continue)):
            raise UnsupportedError("a jump out of a statement with")
        names = [self._entered(item) for item in node.items]
        self.statements(node.body)
        for name in reversed(names):
            self.end_block()
            self.emit_effect(Op("leave", [], data=name))

    def _entered(self, item: ast.withitem) -> str:
        """Enter a context; return the name of the variable that holds it."""
        call = item.context_expr
        if not isinstance(call, ast.Call) or call.args or item.optional_vars is not None:
            raise UnsupportedError("this statement with")
        options = {k.arg: known(self.value(k.value)) for k in call.keywords}
        of_warnings = all(option in ("ignore", "warn") for option in options.values())
        if known(self.pack(self.expression(call.func))) is not np.errstate or not of_warnings:
            raise UnsupportedError("this statement with")
        self.program.has_errstates = True
        self.end_block()
        name = self.fresh("errors")
        self.emit_effect(Op("enter", [], data=(name, options)))
        return name

    def on_delete(self, node: ast.Delete) -> None:
        """Read ``del xs[i]``."""
        for target in node.targets:
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
                raise UnsupportedError("del of what is no item of a list")
            base = self._base_of(target)
            if is_object(base):
                self.call_special_method("__delitem__", base, self.expression(target.slice))
            else:
                self.delete_item(base, self.value(target.slice))

    def on_if(self, node: ast.If) -> None:
        """Read a branch."""
        self.branches(
            self.truth(node.test),
            lambda: self.statements(node.body),
            lambda: self.statements(node.orelse),
        )


def _times_bound(slots: dict[str, Slot], name: str) -> tuple[Slot | None, int]:
    """Return the slot of a variable, and its write count."""
    slot = slots.get(name)
    return slot, 0 if slot is None else slot.writes


def _may_follow(test: ast.expr, target: ast.expr) -> bool:
    """Whether a target may be read after a test instead of before it."""
    changes = any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in ast.walk(test))
    return isinstance(target, ast.Name) and not changes


def _distributed(node: ast.AugAssign) -> ast.If:
    """Rewrite an augmented assignment of a conditional expression to a branch."""
    choice: Any = node.value
    then, otherwise = (
        ast.copy_location(ast.AugAssign(node.target, node.op, x), node)
        for x in (choice.body, choice.orelse)
    )
    return ast.copy_location(ast.If(choice.test, [then], [otherwise]), node)
