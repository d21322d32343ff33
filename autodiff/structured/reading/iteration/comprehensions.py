"""Reading loops that are no statements: comprehensions, slices of lists, extrema, reductions."""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.intercept.runtime.builtin_calls import SUM_TAKES_ERRORS_ALONG
from autodiff.intercept.source.set_displays import frozen_set_in, is_unknown
from autodiff.structured.form.function_ir import Items, Named, Value, known
from autodiff.structured.form.kinds import (
    BOOL,
    INT,
    MixedKindsError,
    UnsupportedError,
    kind_of,
    samples,
)
from autodiff.structured.form.known_functions import order_of, sorted_keys
from autodiff.structured.reading.containers.lists import is_key
from autodiff.structured.reading.containers.sequences import is_sequence
from autodiff.structured.reading.containers.tables import may_be_key
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.iteration.loops import LoopReader, place_of
from autodiff.structured.reading.libraries.python_decompositions import (
    assign_items,
    items_at,
    sort_by_keys,
    sort_keys,
)
from autodiff.structured.reading.rewriting import (
    comprehension_loop,
    renaming_for,
    search_loop,
    written,
)
from autodiff.structured.reading.scopes import ITERATORS, LocalIterator

_REAL = frozenset([float, np.float64, np.float32])
_INTEGERS = frozenset([int, bool, np.int64, np.bool_])


class ComprehensionReader(LoopReader):
    """Layer of the reader: comprehensions, slices of lists, extrema and reductions."""

    def extremum(self, f: Callable, node: ast.Call) -> Any:
        """Read ``max(items, key=...)`` or ``min(items)``: the first of equal extrema."""
        if {k.arg for k in node.keywords} - {"key"} or isinstance(node.args[0], ast.Starred):
            raise UnsupportedError("max or min with these arguments")
        over = self.iterated(node.args[0])
        key = self.hidden("key") if node.keywords else None
        if key:
            self.bind(key, self.expression(node.keywords[0].value))
        self.exit_unless(self.emit_call(operator.ge, [over.length(), self.const(1)]))
        names = {part: self.hidden(part) for part in ("best", "most", "item", "measure")}
        if key:
            names["key"] = key
        measured = "key(item)" if key else "item"
        self.bind(names["item"], over.item(self.const(0)))
        self.statements(written(f"best = item\nmost = {measured}", **names))
        exceeds = f"measure {'>' if f is max else '<'} most"
        body = f"measure = {measured}\nif {exceeds}:\n best = item\n most = measure"
        self._for_each(names["item"], written(body, **names), self._after_first(over))
        return self.read(names["best"])

    def any_or_all(self, f: Callable, items: ast.expr) -> Value:
        """Read ``any(items)`` or ``all(items)``, which stop at the first item that decides."""
        if isinstance(items, ast.GeneratorExp):
            generators, elt = items.generators, items.elt
        else:
            item = self.hidden("item")
            target, elt = ast.Name(item, ast.Store()), ast.Name(item, ast.Load())
            generators = [ast.comprehension(target, items, [], 0)]
        node = ast.copy_location(ast.GeneratorExp(elt, generators), items)
        over = self.iterated(generators[0].iter)
        found = self.hidden("found")
        self.bind(found, self.const(f is all))
        loop = search_loop(node, f is any, found, self.hidden, over.known is None)
        if over.known is None:
            self._for_over(loop, over)
            return self.read(found)
        step, skip = self._next_iteration(loop, over), lambda: None
        for _ in range(over.known):
            self.branches(self.read(found), *((skip, step) if f is any else (step, skip)))
        return self.read(found)

    def _next_iteration(self, loop: ast.For, over: IterationSpace) -> Callable[[], None]:
        """Return a function that reads the next iteration of a loop at each call."""
        numbers = itertools.count()

        def read() -> None:
            self.assign(loop.target, over.item(self.const(next(numbers))))
            self.statements(loop.body)

        return read

    def reduction(self, nodes: list[ast.expr]) -> Any:
        """Read ``functools.reduce(f, items, first)``."""
        if not 2 <= len(nodes) <= 3 or any(isinstance(a, ast.Starred) for a in nodes):
            raise UnsupportedError("reduce with these arguments")
        names = {part: self.hidden(part) for part in ("f", "made", "item")}
        self.bind(names["f"], self.expression(nodes[0]))
        over = self.iterated(nodes[1])
        if nodes[2:]:
            self.bind(names["made"], self.expression(nodes[2]))
        else:
            self.exit_unless(self.emit_call(operator.ge, [over.length(), self.const(1)]))
            self.bind(names["made"], over.item(self.const(0)))
            over = self._after_first(over)
        self._for_each(names["item"], written("made = f(made, item)", **names), over)
        return self.read(names["made"])

    def _after_first(self, over: IterationSpace) -> IterationSpace:
        """Return an iteration space without its first item."""
        one = self.const(1)
        n = self.hold(self.emit_call(operator.sub, [over.length(), one]))
        return IterationSpace(
            lambda: self.read(n),
            lambda i: over.item(self.emit_call(operator.add, [i, self.const(1)])),
            known=None if over.known is None else over.known - 1,
            of=[over],
        )

    def as_list_display(self, node: ast.expr) -> ast.expr:
        """Rewrite an iterator to a list comprehension of its items; return others unchanged."""
        if self.is_filter(node):
            item = self.hidden("item")
            xs, test = self.kept_by(node, item)  # type: ignore[arg-type] # it is a call
            kept = ast.comprehension(ast.Name(item, ast.Store()), xs, [test], 0)
            found = ast.ListComp(ast.Name(item, ast.Load()), [kept])
            return ast.fix_missing_locations(ast.copy_location(found, node))
        is_iterator = isinstance(node, ast.Name) and type(self.expression(node)) in ITERATORS
        is_view = isinstance(node, ast.Call) and self._gives_items(node)
        if isinstance(node, ast.GeneratorExp):
            return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
        if not (is_iterator or is_view):
            return node
        item = self.hidden("item")
        over = ast.comprehension(ast.Name(item, ast.Store()), node, [], 0)
        made = ast.ListComp(ast.Name(item, ast.Load()), [over])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _gives_items(self, node: ast.Call) -> bool:
        """Whether a call returns a view of a dict, an iterator or a range."""
        if self.table_of_view(node) is not None or self.needs_loop(node):
            return True
        return self.is_iterator(node) or self.callee(node) is range

    def first_of(self, node: ast.Call) -> Any:
        """Read ``next(iter(xs))``, or `next` of a generator expression, perhaps with a default."""
        items, *default = node.args
        # Each reading of the function gives it the same name: `may_be_none` refers to it.
        name = f".first_{node.lineno}_{node.col_offset}"
        if isinstance(items, ast.Name) and type(it := self.expression(items)) is LocalIterator:
            return self.next_of(it, name, *map(self.expression_or_none, default))
        if isinstance(items, ast.Call) and len(items.args) == 1 and not default:
            if self.callee(items) is not iter:
                raise UnsupportedError("next of this iterator")
            over = self.iterated(items.args[0])
            self.exit_unless(self.emit_call(operator.ge, [over.length(), self.const(1)]))
            return over.item(self.const(0))
        if not isinstance(items, ast.GeneratorExp):
            raise UnsupportedError("next of this iterator")
        self.scope.locals |= {name}
        if default:
            self.bind(name, self.expression_or_none(default[0]))
        else:
            self.scope.definite.add(name)
        found = self.hidden("found")
        self.bind(found, self.const(False))
        self.on_for(search_loop(items, True, found, self.hidden, True, name))
        if not default:
            self.exit_unless(self.read(found))
        return self.read(name)

    def on_listcomp(self, node: ast.ListComp) -> Any:
        """Read a list comprehension: unrolled over a short known tuple or list, else a loop."""
        return self._comprehended(node)

    def sum_of_items(self, node: ast.ListComp) -> Any:
        """Read the sum of a comprehension of numbers: a loop adds each as Python does.

        Return NotImplemented if the sum is 0 and then an array, or one of floats whose rounding
        errors are taken along, and the items or a list of them if their number is known.
        """
        at = ast.copy_location(ast.ListComp(node.elt, node.generators), node.elt)
        if place_of(at) in self.assumed.peeled:
            return NotImplemented
        total = self._comprehended(at, adds=True)
        if SUM_TAKES_ERRORS_ALONG and type(total) is Value and float in total.kind.classes:
            error = MixedKindsError()  # a list is summed instead, as for a 0 and then an array
            error.loop = place_of(at)
            raise error
        return total

    def _comprehended(self, node: ast.ListComp, adds: bool = False) -> Any:
        """Read a comprehension as items, or as a loop that appends to a list or adds to 0."""
        outer, *others = node.generators
        given = self.taken(outer.iter)
        given = self.as_list_display(given) if self.is_filter(given) else given
        if given is not outer.iter:
            outer = ast.comprehension(outer.target, given, outer.ifs, 0)
            node = ast.copy_location(ast.ListComp(node.elt, [outer, *others]), node)
        over = None if self.needs_loop(outer.iter) else self.iterated(outer.iter)
        over = over and self.in_lists(over, place_of(node))
        if over is not None and self._is_short(over) and not (others or outer.ifs):
            return self.displayed(node, Items(self._unrolled_items(node, over)))
        name = self.hidden("made", definite=True)
        adds = adds and (over is None or over.known is None)
        self.bind(name, self.const(0) if adds else self.new_list([]))
        self._loop_over(comprehension_loop(node, name, self.hidden, adds), over)
        return self.read(name)

    def _loop_over(self, loop: ast.For, over: IterationSpace | None) -> None:
        """Read the loop of a comprehension, whose iterable may have been read already."""
        if over is None:
            self.on_for(loop)
        else:
            self._for_over(loop, over)

    def _is_short(self, over: IterationSpace) -> bool:
        """Whether the items are known, few, and not those of a list that may change."""
        is_known = over.known is not None and self.may_unroll(over.known)
        return is_known and not (over.lists or over.read_only)

    def _unrolled_items(self, node: ast.ListComp, over: IterationSpace) -> list:
        """Read the items of a list comprehension one by one."""
        made = []
        for i in self.unrolled(over, place_of(node)):
            item = over.item(self.const(i))
            renaming = renaming_for(node, self.hidden)
            self.assign(renaming.visit(node.generators[0].target), item)
            made.append(self.expression(renaming.visit(node.elt)))
        return made

    def on_dictcomp(self, node: ast.DictComp) -> Any:
        """Read a dict comprehension: unrolled if the keys are known, else a loop."""
        first, *others = node.generators
        first = ast.comprehension(first.target, self.taken(first.iter), first.ifs, 0)
        node = ast.copy_location(ast.DictComp(node.key, node.value, [first, *others]), node)
        over = None if self.needs_loop(first.iter) else self.iterated(first.iter)
        over = over and self.in_lists(over, place_of(node))
        if over is None or not self._is_short(over) or others or first.ifs:
            name = self.hidden("dict", definite=True)
            self.bind(name, self.new_table(Named()))
            self._loop_over(comprehension_loop(node, name, self.hidden), over)
            return self.read(name)
        both = ast.Tuple([node.key, node.value], ast.Load())
        made = ast.copy_location(ast.ListComp(both, node.generators), node)
        pairs = self._unrolled_items(made, over)
        keys = [known(self.pack(key)) for key, _ in pairs]
        if not all(map(is_key, keys)):
            raise UnsupportedError("a dict with keys that are no texts or integers")
        return self.displayed(node, Named(zip(keys, [x for _, x in pairs], strict=True)))

    def extended(self, made: Value, xs: Any) -> Value:
        """Append the items of a list or array to a list; return it, read in the current block."""
        if type(xs) is Items:
            for x in xs:
                self.append(made, x)
            return made
        name = self.hold(made)
        self._append_each(name, self._over_value(xs))
        return self.read(name)

    def sliced(self, xs: Value, bounds: list[Value]) -> Value:
        """Read a slice of a list that may grow as a loop that appends to a new list."""
        over, name = self.over_slice(xs, bounds), self.hold(self.new_list([]))
        self._append_each(name, over)
        return self.read(name)

    def set_slice(self, xs: Value, bounds: list[Value], ys: Any) -> None:
        """Read ``xs[i:j] = ys`` of a list, which must not change its length."""
        if not (is_sequence(ys) or (type(ys) is Value and (ys.kind.is_list or ys.kind.is_array))):
            raise UnsupportedError("a slice of a list, set to something other than a list or array")
        start, n, step = self.bounds_of_slice(xs, bounds)
        items, new = self.hold(xs), self.hold(self.extended(self.new_list([]), ys))
        length = self.length(self.read(new))
        self.exit_unless(self.emit_call(operator.eq, [length, self.read(n)]))
        names = {"xs": items, "ys": new, "start": start, "step": step, "i": self.hidden("i")}
        over = IterationSpace(lambda: self.read(n), lambda i: i)
        self._for_each(names["i"], written("xs[start + i * step] = ys[i]", **names), over)

    def on_set(self, node: ast.Set) -> Value:
        """Read a set display; Python fills one of three or more constants from a frozen set."""
        frozen = frozen_set_in(node)
        if frozen is None:
            if is_unknown(node):
                raise UnsupportedError("a set display whose constants are not to be had")
            return self.new_set(self._displayed(node.elts))
        made = self.set_from(functools.partial(set, frozen))
        for x in frozen:
            self._item_memory(made, self.const(x))
        made.root.takes(BOOL, None)
        return made

    def on_setcomp(self, node: ast.SetComp) -> Value:
        """Read a set comprehension: the set of a list."""
        items = ast.ListComp(node.elt, node.generators)
        return self.set_of(self.expression(ast.copy_location(items, node)))

    def dict_of_pairs(self, pairs: Any) -> Any:
        """Read ``dict(pairs)``: the keys are known, or the dict may grow."""
        if isinstance(pairs, tuple):
            items = list(map(self._parts_of, pairs))
            keys = [known(self.pack(item[0])) if len(item) == 2 else None for item in items]
            if all(map(is_key, keys)):
                return Named(zip(keys, [x for _, x in items], strict=True))
        names = {"d": self.hold(self.new_table(Named())), "k": self.hidden("k")}
        names |= {"v": self.hidden("v"), "item": self.hidden("item")}
        loop = written("k, v = item\nd[k] = v", **names)
        self._for_each(names["item"], loop, self._over_value(pairs))
        return self.read(names["d"])

    def set_of(self, xs: Any) -> Value:
        """Read ``set(xs)``."""
        if type(xs) is Value and xs.kind.is_table:
            return self.set_from(set, xs)
        is_mapping = type(xs) is Value and xs.kind.is_mapping
        over = self._items_to_unpack(self.list_of_keys(xs) if is_mapping else xs)
        if isinstance(over, list):
            return self.new_set(over)
        name, item = self.hold(self.new_set([])), self.hidden("item")
        self._for_each(item, written("xs.add(item)", xs=name, item=item), over)
        return self.read(name)

    def cleared(self, xs: Value) -> None:
        """Read ``xs.clear()`` as a loop that drops the last item."""
        n, name = self.hold(self.length(xs)), self.hold(xs)
        over = IterationSpace(lambda: self.read(n), lambda i: i)
        self._for_each(self.hidden("item"), written("del xs[-1]", xs=name), over)

    def ordered(self, xs: Any, options: dict[str, Any]) -> Any:
        """Read ``sorted(xs, key=..., reverse=...)``, which is stable."""
        key, is_reversed = options.get("key"), known(options.get("reverse", self.const(False)))
        if options.keys() - {"key", "reverse"} or type(is_reversed) not in (bool, int):
            raise UnsupportedError("sorted with this option")
        if isinstance(xs, tuple):
            xs = self.list_in_memory(Items(xs))
        if type(xs) is Value and xs.kind.is_mapping:
            xs = self.list_of_keys(xs)
        if type(xs) is not Value or not (xs.kind.is_list or xs.kind.is_array):
            raise UnsupportedError("sorted of something other than a list or array")
        if xs.kind.is_list and self.is_empty(xs):
            return self.new_list([])
        has_key = key is not None and not (type(key) is Value and known(key) is None)
        items = self._items_of(xs) if xs.kind.is_list else xs.kind
        if not has_key and may_be_key(items) and not items.is_scalar:
            return self.list_of(sorted_keys, items, xs, self.const(bool(is_reversed)))
        xs = self.hold(xs)
        keys = self.inline(sort_keys, [self.read(xs), key], {}) if has_key else self.read(xs)
        if type(keys) is Value and keys.kind.is_list and self._has_other_keys(keys):
            how = map(self.const, (bool(is_reversed), self._compared_parts(keys)))
            order = self.list_of(order_of, INT, keys, *how)
            return self.inline(items_at, [self.read(xs), order], {})
        self._check_keys(keys)
        backwards = self.const(bool(is_reversed))
        return self.inline(sort_by_keys, [self.read(xs), keys, backwards], {})

    def _has_other_keys(self, keys: Value) -> bool:
        """Whether sort keys are texts or tuples, which Python itself compares."""
        kind = self._items_of(keys)
        if kind.is_fixed:
            inner = keys.root.of_items.root().items  # type: ignore[union-attr] # it has items
            return inner is not None and (inner.is_scalar or inner.is_text)
        is_tuple = kind.is_object and kind.owner() is tuple  # type: ignore[misc] # it has one
        return is_tuple or (may_be_key(kind) and not kind.is_scalar)

    def _compared_parts(self, keys: Value) -> int | None:
        """Return how many parts of tuples can be compared; None for other sort keys."""
        if not self._items_of(keys).is_object:
            return None
        fields = keys.root.of_items.root().fields.values()  # type: ignore[union-attr] # likewise
        kinds = [field.root().items for field in fields]
        are_plain = [kind is not None and (kind.is_scalar or kind.is_text) for kind in kinds]
        return [*are_plain, False].index(False)

    def _check_keys(self, keys: Any) -> None:
        """Raise if NumPy may order the keys otherwise than Python."""
        if type(keys) is Items:
            kinds = [self.pack(x).kind for x in keys]
        elif keys.kind.is_list:
            kinds = [self._items_of(keys)]
        else:
            kinds = [kind_of(samples(keys.kind)[0][0])]
        classes = frozenset().union(*[kind.classes for kind in kinds])
        if any(not kind.is_scalar for kind in kinds) or not (
            classes <= _REAL or classes <= _INTEGERS
        ):
            raise UnsupportedError("sorted by keys that are not real numbers")

    def sort(self, xs: Value, options: dict[str, Any]) -> None:
        """Read ``xs.sort(key=..., reverse=...)``."""
        name = self.hold(xs)
        made = self.ordered(xs, options)
        self.inline(assign_items, [self.read(name), made], {})

    def _append_each(self, name: str, over: IterationSpace) -> None:
        """Append each item to the list that a variable holds."""
        item = self.hidden("item")
        self._for_each(item, written("xs.append(item)", xs=name, item=item), over)

    def _for_each(self, item: str, body: list[ast.stmt], over: IterationSpace) -> None:
        """Read a loop that is not in the source; the variable `item` holds the item."""
        loop = ast.For(ast.Name(item, ast.Store()), ast.Constant(None), body, [])
        self._for_over(ast.fix_missing_locations(ast.copy_location(loop, self.calling[-1])), over)
