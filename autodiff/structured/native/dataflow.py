"""Dataflow of the generated source: reads, bindings, liveness and escapes of names."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator
from typing import Any


class NameUses:
    """Upward-exposed reads, and bindings, of statements.

    Attributes
    ----------
    reads : dict
        The names that may be read before they are bound, in order.
    binds : set of str
        The names that may be bound.
    surely : set of str
        The names that are bound on every path.
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
        if isinstance(node, ast.While):  # ``while True``, up to its first ``break``
            first: set[str] = set(bound)
            for k, part in enumerate(node.body):
                if isinstance(part, ast.If) and any(isinstance(b, ast.Break) for b in part.body):
                    self._statements(node.body[k:], set(first))
                    break
                first = self._statement(part, first)
            return first
        self._read(node, bound)
        targets = set(stored(node))
        self.binds |= targets
        return bound | targets

    def _read(self, node: ast.AST, bound: set[str]) -> None:
        self.reads |= dict.fromkeys(name for name in loaded(node) if name not in bound)


class Liveness:
    """Live names after each statement of a function.

    Attributes
    ----------
    after : dict
        Line → the names that are live after the statement there.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        self.after: dict[int, set[str]] = {}
        self._in_loop: dict[ast.stmt, set[str]] = {}
        self._body(function.body, set(), set())

    def _body(self, body: list[ast.stmt], live: set[str], at_exit: set[str]) -> set[str]:
        """Return the names that are live before statements, given those live after the loop."""
        for node in reversed(body):
            self.after.setdefault(node.lineno, set()).update(live)
            live = self._before(node, live, at_exit)
        return live

    def _before(self, node: ast.stmt, live: set[str], at_exit: set[str]) -> set[str]:
        if isinstance(node, ast.Break):
            return set(at_exit)
        if isinstance(node, (ast.Raise, ast.Return)):
            return set(loaded(node))
        if isinstance(node, ast.If):
            branches = [self._body(b, set(live), at_exit) for b in (node.body, node.orelse)]
            return branches[0].union(branches[1], loaded(node.test))
        if isinstance(node, ast.For):
            inside = self._loop(node, live, live, set(stored(node.target)))
            return inside.union(loaded(node.iter))
        if isinstance(node, ast.While):
            return self._loop(node, live, set(), set())
        return live.difference(stored(node)).union(loaded(node))

    def _loop(
        self, node: ast.For | ast.While, live: set[str], at_end: set[str], own: set[str]
    ) -> set[str]:
        """Return the names that are live before each iteration.

        An enclosing loop asks several times, each time with more live names. So this continues
        from the last answer: to begin anew would take a time exponential in the depth.
        """
        inside = at_end | self._in_loop.get(node, set())
        while not (found := self._body(node.body, set(inside), live) - own) <= inside:
            inside |= found
        self._in_loop[node] = inside
        return inside


def loaded(node: ast.AST) -> list[str]:
    """Return the names that a node reads, also by augmented assignments."""
    return _names_of(node)[0]


def stored(node: ast.AST) -> list[str]:
    """Return the names that are bound in a node."""
    return _names_of(node)[1]


def _names_of(node: Any) -> tuple[list[str], list[str]]:
    """Return the names that a node reads and binds.

    It keeps them, because many ask for them; so do the statements in it.
    """
    found = getattr(node, "names_of", None)
    if found is not None:
        return found
    reads: list[str] = []
    binds: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.stmt) and part is not node:
            reads += loaded(part)
            binds += stored(part)
            continue
        if type(part) is ast.Name:
            (reads if type(part.ctx) is ast.Load else binds).append(part.id)
            continue
        for field in reversed(part._fields):
            x = getattr(part, field, None)
            if isinstance(x, ast.AST):
                waiting.append(x)
            elif type(x) is list:
                waiting += [y for y in reversed(x) if isinstance(y, ast.AST)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        reads.append(node.target.id)
    node.names_of = reads, binds
    return node.names_of


def short_lived(body: list[ast.stmt], live: Callable[[int], set[str]]) -> dict[int, set[str]]:
    """Return what each assignment in a loop binds for the rest of its iteration only.

    Parameters
    ----------
    body : list of ast.stmt
        The statements.
    live : callable
        Returns the names that are live after the statement in a line.

    Returns
    -------
    dict
        Id of an assignment → names that nobody reads after the iteration of the innermost loop.
    """
    found: dict[int, set[str]] = {}

    def visit(statements: list[ast.stmt], at_end: set[str] | None) -> None:
        for node in statements:
            if isinstance(node, (ast.For, ast.While)):
                visit(node.body, live(node.body[-1].lineno))
            elif isinstance(node, ast.If):
                visit(node.body, at_end)
                visit(node.orelse, at_end)
            elif isinstance(node, ast.Assign) and at_end is not None:
                found[id(node)] = set(stored(node)) - at_end

    visit(body, None)
    return found


class Escapes:
    """Finds the names of arrays that may outlive the iteration that creates them.

    These are bound to variables that are read later, pushed, put into lists, or have views that
    are. Pushing a shape does not let the array escape.

    Parameters
    ----------
    body : list of ast.stmt
        The statements of a region.
    lists : container of str
        The names of lists.
    short : dict
        The names that end with the iteration: see `short_lived`.
    elementwise : container of str
        The names of functions that return new arrays.
    """

    def __init__(
        self, body: list[ast.stmt], lists: Container[str], short: dict[int, set[str]],
        elementwise: Container[str],
    ) -> None:  # fmt: skip
        self.short = short
        self.nodes = [part for statement in body for part in ast.walk(statement)]
        self._pushed: set[str] = set()
        self._put: set[str] = set()
        self._bound: list[tuple[ast.Assign, set[str]]] = []  # assignments, and their names
        self._held: dict[str, set[str]] = defaultdict(set)  # name → names in what it is bound to
        for node in self.nodes:
            if isinstance(node, ast.Call) and _is_push(node):
                self._pushed |= _arrays_pushed(node)
            elif isinstance(node, ast.Call) and puts_into_list(node):
                self._put |= {name for a in node.args for name in loaded(a)}
            elif isinstance(node, ast.Assign):
                for target, value in bindings(node):
                    names, sources = set(stored(target)), set(loaded(value))
                    if any(name in lists for name in names | owners(node)):
                        self._put |= names | sources
                    self._bound.append((node, names))
                    for name in () if _is_new_array(value, elementwise) else names:
                        self._held[name] |= sources

    def of(
        self, variables: set[str], on_tape: bool = True, within: set[int] | None = None
    ) -> set[str]:
        """Return the names, given the variables that others may read, and with those pushed.

        `within` has the ids of the assignments whose names may end with the iteration: if it is
        given, the array of any other assignment escapes from the loops of these.
        """
        found = set[str]()
        waiting = [*self._put, *(self._pushed if on_tape else ())]
        for node, names in self._bound:
            if names.isdisjoint(variables):
                continue
            ends = within is None or id(node) in within
            if names & variables - (self.short.get(id(node), set()) if ends else set()):
                waiting += names
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._held.get(name, ())
        return found


def _is_push(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "push"


def _arrays_pushed(node: ast.Call) -> set[str]:
    parts = [x for a in node.args for x in (a.elts if isinstance(a, ast.Tuple) else [a])]
    arrays = [x for x in parts if not (isinstance(x, ast.Attribute) and x.attr == "shape")]
    return {name for a in arrays for name in loaded(a)}


def _is_new_array(node: ast.expr, elementwise: Container[str]) -> bool:
    """Whether an expression makes a new array: no view of its operands, and none of them."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in elementwise
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))


def bindings(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets and values of an assignment, those of a tuple one by one."""
    for target in node.targets:
        value = node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=True)
        else:
            yield target, value


def double_buffered(
    escapes: Escapes, arrays: set[str], roots: set[str]
) -> dict[ast.stmt, set[str]]:
    """Return the variables for which two buffers are enough, by the statement that binds them.

    A loop binds them once in each iteration. The two buffers hold the values from before and after
    that, so other names may keep a value only within the same iteration.

    Parameters
    ----------
    escapes : Escapes
        What escapes from a region.
    arrays : set of str
        The variables that are arrays which nobody writes into.
    roots : set of str
        All variables and results.
    """
    nodes = escapes.nodes
    bound = {s: set(_bound_anew(s)) for s in nodes if isinstance(s, ast.Assign)}
    once: dict[ast.stmt, set[str]] = {s: set() for s in bound}
    in_loops: dict[str, set[int]] = defaultdict(set)  # variable → ids of assignments in such loops
    for loop in [node for node in nodes if isinstance(node, (ast.For, ast.While))]:
        inside = [s for s in _statements_in(loop.body) if isinstance(s, ast.Assign)]
        counts, places = Counter(name for s in inside for name in bound[s]), set(map(id, inside))
        for s in loop.body:
            if isinstance(s, ast.Assign):
                names = {x for x in bound[s] if counts[x] == 1}
                once[s] |= names
                for x in names:
                    in_loops[x] |= places
    often = set[str]().union(*[bound[s] - once[s] for s in bound])
    kept = set()
    candidates = arrays & set[str]().union(*once.values()) - often
    values: dict[str, set[str]] = defaultdict(set)  # variable → names in what it is bound to
    for s in bound if candidates else ():
        for t, v in bindings(s):
            for x in candidates.intersection(stored(t)):
                values[x].update(loaded(v))
    for x in candidates:
        found = escapes.of(roots - {x}, within=in_loops[x])
        if not found.isdisjoint({x} | values[x]):
            kept.add(x)
    return {s: (names & arrays) - often - kept for s, names in once.items()}


def _statements_in(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those in them."""
    for node in body:
        yield node
        yield from _statements_in([*getattr(node, "body", ()), *getattr(node, "orelse", ())])


def _bound_anew(node: ast.Assign) -> Iterator[str]:
    for target, value in bindings(node):
        if not _is_itself(target, value):
            yield from stored(target)


def _is_itself(target: ast.expr, value: ast.expr) -> bool:
    """Whether a name is bound to a view of its own array: ``x = x[:0]``."""
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Subscript):
        return False
    is_same = isinstance(value.value, ast.Name) and value.value.id == target.id
    return is_same and ast.unparse(value.slice) == ":0"


def shared_shadows(escapes: Escapes, roots: set[str]) -> set[str]:
    """Return the names of shadows that all iterations of a loop can have in the same memory.

    The sweep of an iteration needs them only until it has swept what made the array.
    """
    lasting = escapes.of(roots, on_tape=False)
    return {
        name
        for node in escapes.nodes
        if isinstance(node, ast.Assign) and id(node) in escapes.short and makes_shadow(node)
        for name in stored(node)
        if name not in lasting
    }


def makes_shadow(node: ast.Assign) -> bool:
    """Whether an assignment makes a new shadow: ``x_b = zeros_like(x)``."""
    f = node.value.func if isinstance(node.value, ast.Call) else None
    is_name = isinstance(node.targets[0], ast.Name) and node.targets[0].id.endswith("_b")
    return is_name and isinstance(f, ast.Name) and f.id in ("zeros_like", "zeros_along")


def puts_into_list(node: ast.expr) -> bool:
    """Whether an expression puts an item into a list."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in ("append", "insert")
    return isinstance(node.func, ast.Name) and node.func.id == "put_back"


def owners(node: ast.Assign) -> set[str]:
    """Return the names in the targets that an assignment writes into: ``a`` of ``a[i] = x``."""
    parts = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
    return {name for part in parts for name in loaded(part)}


def is_pop(node: ast.expr) -> bool:
    """Whether an expression pops from the tape."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pop"


def is_check(node: ast.If) -> bool:
    """Whether a statement is a guard of the kind of a result."""
    if not isinstance(node.body[0], ast.Raise):
        return False
    text = ast.unparse(node.test)
    return text.startswith("type(") or ".dtype != " in text


def compared(test: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the attribute of two arrays that a test compares, and the arrays."""
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        names = {s.attr if isinstance(s, ast.Attribute) else "" for s in sides}
        if len(names) == 1:
            return names.pop(), [s.value for s in sides if isinstance(s, ast.Attribute)]
    return "", []


def elementwise_reads(body: list[ast.stmt], elementwise: Container[str]) -> dict[str, list[int]]:
    """Return the positions of the statements that read each name element by element, or its shape.

    Parameters
    ----------
    body : list of ast.stmt
        The statements.
    elementwise : container of str
        The names of elementwise functions, and of those that pass a cotangent on.
    """
    found: dict[str, list[int]] = defaultdict(list)

    def visit(node: ast.expr, k: int) -> None:
        if isinstance(node, ast.Name):
            found[node.id].append(k)
        elif isinstance(node, ast.UnaryOp):
            visit(node.operand, k)
        elif isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
            visit(node.left, k)
            visit(node.right, k)
        elif isinstance(node, ast.Tuple):
            for part in node.elts:
                visit(part, k)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in elementwise:
            for a in node.args:
                visit(a, k)

    for k, node in enumerate(body):
        read = getattr(node, "test", None) or getattr(node, "value", None)
        if read is None:
            continue
        if not isinstance(node, (ast.If, ast.While)):
            visit(read, k)
        for part in ast.walk(read):
            if isinstance(part, ast.Attribute) and part.attr == "shape":
                found[getattr(part.value, "id", "")].append(k)
    return found


def uses_of_names(body: list[ast.stmt]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return the positions of the statements that read and that bind each name.

    A statement that reads a name twice counts twice.
    """
    reads: dict[str, list[int]] = defaultdict(list)
    binds: dict[str, list[int]] = defaultdict(list)
    for k, node in enumerate(body):
        for name in loaded(node):
            reads[name].append(k)
        if isinstance(node, ast.Assign):
            for name in set(stored(node)):
                binds[name].append(k)
    return reads, binds
