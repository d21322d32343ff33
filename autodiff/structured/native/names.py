"""The names in the source of a structured program: what they hold, and which memory that is in."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import Any

from autodiff.structured.form.indices import region_of
from autodiff.structured.form.ir import (
    WRITES,
    For,
    If,
    Memory,
    Program,
    Slot,
    Value,
    While,
    blocks_of,
)
from autodiff.structured.form.kinds import ANYTHING, Kind
from autodiff.structured.native.values import Fields, Items, cotangent_of

_INT, _BOOL = Kind(frozenset([int])), Kind(frozenset([bool]))


class Names:
    """What the names of a program hold.

    Attributes
    ----------
    kinds : dict
        Name → kind.
    alias_sets : dict
        Name of an array → what stands for the memory that it is in.
    variables : set of str
        Names that are bound in one block and read in others; the others belong to one block.
    dense : dict
        Name of an array → the axis along which its elements lie side by side, if that is known.
    ones : dict
        Name of an array → its axes that have had one element in all runs: others are not broadcast.
    expected_ones : dict
        Name of a variable → its axes that have one element wherever it is bound, as the operations
        tell.
    pushed_ones : dict
        The same of what the forward function pushes.
    shapes : dict
        Name of a shape → how many axes there are.
    lists : dict
        Name of a list or dict → of what it is.
    """

    def __init__(
        self, program: Program, old_name: Any, layouts: dict[Memory, tuple[int, ...]]
    ) -> None:
        self.kinds: dict[str, Kind] = {}
        self.alias_sets: dict[str, Any] = {}
        self.variables: set[str] = set()
        self.shapes: dict[str, int] = {}
        self.lists: dict[str, Items | Fields] = {}
        self._shadows: dict[int, object] = {}  # by the id of what stands for the memory
        for slot in program.slots:
            self._slot(slot)
        for block in blocks_of(program.body):
            for op in block.ops:
                if op.out is not None:
                    self._add(op.out.name, op.out.kind.general(), op.out.memory)
                elif op.code in WRITES:
                    base = op.args[0]
                    self._add(old_name(op), region_of(op), None)
                    self.alias_sets[old_name(op)] = object()
                    assert base.memory is not None
                elif op.code == "set" and op.args[1].kind.has_memory:
                    self._old_shadow(old_name(op), op.args[1].kind, op.args[1].memory)
                elif op.code == "drop":
                    held = op.args[0].memory.root()  # type: ignore[union-attr] # a list has one
                    if held.of_items is not None:
                        self._old_shadow(old_name(op), held.items or ANYTHING, held.of_items)
            for slot in block.writes:
                self._slot(slot)
        self._flags(program.body)
        self.ones: dict[str, set[int]] = {}
        self.expected_ones = _expected_ones(program)
        self.pushed_ones: dict[str, set[int]] = {}
        self.dense = self._dense(program, old_name, layouts)

    def ones_of(self, name: str) -> set[int]:
        """Return the axes of a variable that have one element; who binds it checks that."""
        return self.ones.get(name, set()) | self.expected_ones.get(name, set())

    def _dense(
        self, program: Program, old_name: Any, layouts: dict[Memory, tuple[int, ...]]
    ) -> dict[str, int]:
        """Return the names of arrays whose elements lie side by side along an axis, and the axis.

        These are what machine code makes, and what is given to it, where that is looked after.
        """
        blocks = list(blocks_of(program.body))
        writes = [(slot, v) for block in blocks for slot, v in block.writes.items()]
        odd: set[Slot] = set()
        while True:
            n = len(odd)
            odd |= {slot for slot, v in writes if not _is_dense(v, odd)}
            if len(odd) == n:
                break
        names: set[str] = set()
        for slot in {*program.slots, *[slot for slot, _ in writes]} - odd:
            names |= {slot.name, f"{slot.name}_in"}
        for op in [op for block in blocks for op in block.ops]:
            if op.out is None:
                if op.code in WRITES:
                    names.add(old_name(op))
            elif _is_dense(op.out, odd):
                names.add(op.out.name)
        last = {id(memory): axes[-1] for memory, axes in layouts.items()}
        found: dict[str, int] = {}
        for name in names:
            kind = self.kinds[name]
            if kind.is_array and kind.ndim:
                found[name] = kind.ndim - 1
                axis = last.get(id(self.alias_sets.get(name)), kind.ndim - 1)
                found[f"{name}_b"] = found[f"{name}_b_in"] = axis
        return found

    def _slot(self, slot: Slot) -> None:
        kind = slot.kind or ANYTHING
        self._add(slot.name, kind, slot.memory)
        self._add(f"{slot.name}_in", kind, slot.memory)
        self.variables |= {slot.name, f"{slot.name}_b", f"{slot.name}_in", f"{slot.name}_b_in"}

    def _add(self, name: str, kind: Kind, memory: Memory | None) -> None:
        self.kinds[name] = kind
        shadow = f"{name}_b"
        if kind.is_array:
            root = memory.root() if memory is not None else object()
            self.alias_sets[name] = root
            self.shapes[f"{name}_shape"] = kind.ndim
            self.alias_sets[shadow] = self._shadows.setdefault(id(root), object())
            self.kinds[shadow] = kind
        elif kind.is_scalar:
            self.kinds[shadow] = cotangent_of(kind)
        elif kind.has_items and memory is not None and _is_typed(kind, memory.root()):
            self.kinds[shadow] = kind
            self.lists[name] = self.contents(kind, memory.root())
            self.lists[shadow] = self.contents(kind, memory.root(), is_shadow=True)

    def _old_shadow(self, name: str, kind: Kind, memory: Memory | None) -> None:
        """Note the shadow of an item that a list had in the place of another one."""
        self._add(name, kind.general(), memory)
        for known in (self.alias_sets, self.lists):
            if f"{name}_b" in known:
                known[name] = known[f"{name}_b"]

    def contents(self, kind: Kind, of: Memory, is_shadow: bool = False) -> Items | Fields:
        """Return of what a list or dict is."""
        if not kind.is_dict:
            return self._items(of, is_shadow)
        each = [(key, self._items(field.root(), is_shadow)) for key, field in of.fields.items()]
        return Fields(tuple(each))

    def _items(self, of: Memory, is_shadow: bool) -> Items:
        """Return of what a list is, or what a dict has under a key."""
        kind = of.items or ANYTHING
        inner = of.of_items.root() if of.of_items is not None else None
        if inner is None:
            return Items(cotangent_of(kind) if is_shadow and kind.is_scalar else kind)
        if kind.has_items:
            return Items(kind, inner=self.contents(kind, inner, is_shadow))
        alias_set = self._shadows.setdefault(id(inner), object()) if is_shadow else inner
        return Items(kind, alias_set)

    def _flags(self, nodes: list) -> None:
        for node in nodes:
            if isinstance(node, (For, While)):
                if node.broken is not None:
                    self.kinds[node.broken] = _BOOL
                    self.variables.add(node.broken)
                self._flags(node.body)
            elif isinstance(node, If):
                self._flags(node.then)
                self._flags(node.otherwise)

    def seed(self, n: int, kind: Kind) -> None:
        """Note the cotangent of the n-th result."""
        self.kinds[f"seed{n}"] = kind if kind.is_array else cotangent_of(kind)

    def counter(self, name: str) -> None:
        """Note a variable that counts turns."""
        self.kinds[name] = _INT
        self.variables.add(name)


def _is_typed(kind: Kind, memory: Memory, around: tuple[Memory, ...] = ()) -> bool:
    """Whether it is known of what a list or dict is: it is no dict that grows, nor in itself."""
    if kind.is_table or memory in around:
        return False
    for field in memory.fields.values() if kind.is_dict else [memory]:
        held = field.root()
        if held.items is not None and held.items.has_items:
            inner: Memory = held.of_items.root()  # type: ignore[union-attr] # they have one
            if not _is_typed(held.items, inner, (*around, memory)):
                return False
    return True


def _expected_ones(program: Program) -> dict[str, set[int]]:
    """Return the axes of variables that have one element in all values that they are bound to."""
    given = set(program.parameters)
    writes = [
        (slot, v)
        for block in blocks_of(program.body)
        for slot, v in block.writes.items()
        if v.kind.is_array and slot not in given
    ]
    found = {slot: set(range(v.kind.ndim)) for slot, v in writes}
    while True:
        before = dict(found)
        for slot, v in writes:
            is_read = v.op.code == "read"
            found[slot] = found[slot] & (found.get(v.op.data, set()) if is_read else v.kind.ones)
        if found == before:
            return {slot.name: axes for slot, axes in found.items() if axes}


def _is_dense(v: Value, odd: set[Slot]) -> bool:
    """Whether elements of an array lie side by side, if they do in all variables but `odd` ones."""
    if v.op.code == "read":
        return v.op.data not in odd
    return v.op.code in ("call", "load")


class Flow:
    """Which names statements read before they bind them, and which they bind.

    Attributes
    ----------
    reads : list of str
        Names that are read and may not have been bound.
    binds : set of str
        Names that may be bound.
    surely : set of str
        Names that are bound whatever way is taken.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        self.reads: dict[str, None] = {}
        self.binds: set[str] = set()
        self.surely = self._statements(body, set())

    def _statements(self, body: list[ast.stmt], bound: set[str]) -> set[str]:
        for node in body:
            bound = self._statement(node, bound)
        return bound

    def _statement(self, node: ast.stmt, bound: set[str]) -> set[str]:
        if isinstance(node, ast.If):
            self._read(node.test, bound)
            branches = [self._statements(b, set(bound)) for b in (node.body, node.orelse)]
            if node.body and isinstance(node.body[-1], (ast.Break, ast.Raise)):
                return branches[1]
            return branches[0] & branches[1]
        if isinstance(node, ast.For):
            self._read(node.iter, bound)
            targets = set(stored(node.target))
            self.binds |= targets
            self._statements(node.body, bound | targets)
            return bound
        if isinstance(node, ast.While):  # it has no test
            first: set[str] = set(bound)
            for k, part in enumerate(node.body):
                if isinstance(part, ast.If) and any(isinstance(b, ast.Break) for b in part.body):
                    self._statements(node.body[k:], set(first))
                    break
                first = self._statement(part, first)
            return first
        self._read(node, bound)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._note(node.target.id, bound)
        made = set(stored(node))
        self.binds |= made
        return bound | made

    def _read(self, node: ast.AST, bound: set[str]) -> None:
        for name in loaded(node):
            self._note(name, bound)

    def _note(self, name: str, bound: set[str]) -> None:
        if name not in bound:
            self.reads[name] = None


class Liveness:
    """Which names are read after each statement of a function, before they are bound again.

    Attributes
    ----------
    after : dict
        Line → names.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        self.after: dict[int, set[str]] = {}
        self._body(function.body, set(), set())

    def _body(self, body: list[ast.stmt], live: set[str], left: set[str]) -> set[str]:
        """Return what is live before statements; `left` is what is live behind the loop."""
        for node in reversed(body):
            self.after.setdefault(node.lineno, set()).update(live)
            live = self._before(node, live, left)
        return live

    def _before(self, node: ast.stmt, live: set[str], left: set[str]) -> set[str]:
        if isinstance(node, ast.Break):
            return set(left)
        if isinstance(node, (ast.Raise, ast.Return)):
            return set(loaded(node))
        if isinstance(node, ast.If):
            branches = [self._body(b, set(live), left) for b in (node.body, node.orelse)]
            return branches[0] | branches[1] | set(loaded(node.test))
        if isinstance(node, (ast.For, ast.While)):
            own = set(stored(node.target)) if isinstance(node, ast.For) else set[str]()
            inside: set[str] = set(live) if isinstance(node, ast.For) else set()
            while True:
                found = (self._body(node.body, set(inside), live) - own) | inside
                if found == inside:
                    break
                inside = found
            return inside | (set(loaded(node.iter)) if isinstance(node, ast.For) else set())
        return (live - set(stored(node))) | set(loaded(node))


def loaded(node: ast.AST) -> Iterator[str]:
    """Yield the names that are read in a node."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


def stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that are bound in a node."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def escaping(body: list[ast.stmt], variables: set[str], lists: Container[str] = ()) -> set[str]:
    """Return the names of arrays that are read after the turn of the loop that makes them.

    They are pushed, bound to variables, put into lists, or seen through a view of which that holds.
    Of a pushed shape, nobody reads the array.
    """
    found: set[str] = set()
    views: list[tuple[set[str], set[str]]] = []
    for node in [part for statement in body for part in ast.walk(statement)]:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "push"
        ):
            parts = [x for a in node.args for x in (a.elts if isinstance(a, ast.Tuple) else [a])]
            arrays = [x for x in parts if not (isinstance(x, ast.Attribute) and x.attr == "shape")]
            found |= {name for a in arrays for name in loaded(a)}
        elif isinstance(node, ast.Call) and puts_into_list(node):
            found |= {name for a in node.args for name in loaded(a)}
        elif isinstance(node, ast.Assign):
            targets = {name for t in node.targets for name in stored(t)}
            if targets & variables or any(name in lists for name in targets | owners(node)):
                found |= targets | set(loaded(node.value))
            elif not isinstance(node.value, (ast.BinOp, ast.UnaryOp, ast.Compare)):
                views.append((targets, set(loaded(node.value))))
    while True:
        before = len(found)
        for targets, sources in views:
            if targets & found:
                found |= sources
        if len(found) == before:
            return found


def puts_into_list(node: ast.expr) -> bool:
    """Whether an expression puts an item into a list."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in ("append", "insert")
    return isinstance(node.func, ast.Name) and node.func.id == "put_back"


def owners(node: ast.Assign) -> set[str]:
    """Return the names in what a statement writes into: one is of the array, list or dict."""
    parts = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
    return {name for part in parts for name in loaded(part)}


def is_pop(node: ast.expr) -> bool:
    """Whether an expression pops from the tape."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pop"


def is_check(node: ast.If) -> bool:
    """Whether a statement checks the kind of a result."""
    if not isinstance(node.body[0], ast.Raise):
        return False
    text = ast.unparse(node.test)
    return text.startswith("type(") or ".dtype != " in text


def compared(test: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return which attribute a test compares of two arrays, and the arrays."""
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        names = {s.attr if isinstance(s, ast.Attribute) else "" for s in sides}
        if len(names) == 1:
            return names.pop(), [s.value for s in sides if isinstance(s, ast.Attribute)]
    return "", []
