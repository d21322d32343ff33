"""Lowering of statements of the generated source."""

from __future__ import annotations

import ast
import operator
from typing import Any

from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.dataflow import (
    compared,
    elementwise_reads,
    is_check,
    is_pop,
    makes_shadow,
    owners,
    puts_into_list,
    stored,
    uses_of_names,
)
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I64, PARTS, PTR, TYPES
from autodiff.structured.native.llvm.product_batches import ProductBatch
from autodiff.structured.native.lowered_values import (
    CONTAINERS,
    Array,
    DictRef,
    LazyArray,
    ListRef,
    Number,
    PythonObject,
    RangeValue,
    TableRef,
    TupleValue,
    is_one,
    letter_of,
    width_of,
)
from autodiff.structured.native.numbers.scalars import BINARY
from autodiff.structured.native.operations_by_python import OperationsByPython

_MOST_REPEATED = 16
"""Operations of an expression that may be a part of several others."""


class Statements(OperationsByPython):
    """Lowering of statements. The parameters are those of `OperationsByPython`."""

    def statements(self, body: list[ast.stmt]) -> None:
        """Lower statements."""
        reads, binds = uses_of_names(body)
        lazily = elementwise_reads(body, self.elementwise_names)
        self.loaded, before = {}, self.depth
        self.depth = self.code.depth
        for k, node in enumerate(body):
            method = getattr(self, f"on_{type(node).__name__.lower()}_statement", None)
            if method is None:
                raise UnsupportedError(type(node).__name__)
            self.statement(node, method)
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in stored(target):
                        later = [j for j in binds[name] if j > k]
                        last = later[0] if later else len(body)
                        here = [j for j in reads[name] if k < j <= last]
                        is_lazy = here == [j for j in lazily[name] if k < j <= last]
                        self._note_reads(name, len(here), is_lazy)
        self.depth = before
        self.loaded = {}  # the block may have bound them anew, and may not have run

    def _note_reads(self, name: str, count: int, is_lazy: bool) -> None:
        """Drop a lazy array that is never read, and materialize one that is read repeatedly.

        It may stay lazy if elementwise operations read it (`is_lazy`).
        """
        found = self.bound.get(name)
        if not isinstance(found, LazyArray):
            return
        if not count:
            del self.bound[name]
            return
        self.pending_reads[name] = count
        if count > 1 and not (is_lazy and found.size <= _MOST_REPEATED):
            self._materialize(name)

    def on_assign_statement(self, node: ast.Assign) -> None:
        """Lower an assignment."""
        targets = {name for t in node.targets for name in stored(t)}
        if self.forward and targets & self.names.shared_shadows and makes_shadow(node):
            self._assign(node.targets[0], self.shared_shadow(node.value))  # type: ignore[arg-type] # a call
            return
        self.swapped = self.double_buffered.get(node, set())
        escapes = targets & self.escaping
        escapes |= owners(node) & self.names.lists.keys()
        self.store = memory.KEPT if escapes else memory.SCRATCH
        if is_pop(node.value):
            self._pop(node.targets[0])
        else:
            value = self.value_for(node)
            for target in node.targets:
                self._assign(target, value)
        self.store, self.swapped = memory.SCRATCH, set()

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple) and isinstance(value, TupleValue):
            for t, v in zip(target.elts, value.parts, strict=True):
                self._assign(t, v)
        elif isinstance(target, ast.Subscript):
            self._put(target, value)
        else:
            raise UnsupportedError("an assignment")

    def _put(self, target: ast.Subscript, value: Any, f: Any = None) -> None:
        base = self.expression(target.value)
        if isinstance(base, ListRef):
            self.set_item(base, self.integer(target.slice), value, f)
            return
        if isinstance(base, DictRef):
            self.set_field(base, self.expression(target.slice), value, f)
            return
        if isinstance(base, TableRef):
            self.set_in_table(base, self.expression(target.slice), value, f)
            return
        if not isinstance(base, Array):
            raise UnsupportedError("a write into something other than an array")
        parts = self.indices(target)
        if self.is_mask(base, parts):
            self.materialize_readers(base.alias_set)
            self.store_masked(base, parts[0], value, f)
            return
        if any(isinstance(p, Array) for p in parts):
            self.put_at(self.selection(base, parts), self.unaliased(base.alias_set, value), f)
            return
        found = self.part(base, target, parts)
        if isinstance(found, Array):
            self.write(found, value, f)
            return
        number = self.scalars.number(value)
        if not isinstance(number, Number):
            raise UnsupportedError("an array written as an element")
        self.materialize_readers(base.alias_set)
        self.elementwise.update(base, found, number, f)

    def on_augassign_statement(self, node: ast.AugAssign) -> None:
        """Lower an augmented assignment."""
        f = BINARY[type(node.op)]
        value = self.expression(node.value)
        if isinstance(node.target, ast.Subscript):
            self._put(node.target, value, f)
            return
        if not isinstance(node.target, ast.Name):
            raise UnsupportedError("an assignment")
        name = node.target.id
        old = self.read(name)
        if isinstance(old, LazyArray):
            raise UnsupportedError("a write into a lazy array")
        if isinstance(old, Array):
            self.write(old, value, f)
            return
        self.bind(name, self.call(f, [old, value]))

    def on_expr_statement(self, node: ast.Expr) -> None:
        """Lower a call whose result is not used."""
        call = node.value
        name = (
            call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        )
        if name == "push":
            self._push(call)  # type: ignore[arg-type] # it is a call
            return
        if name == "add_message":
            self.message(call)  # type: ignore[arg-type] # it is a call
            return
        if name == "wipe":
            (shadow,) = call.args  # type: ignore[attr-defined] # it is a call
            if shadow.id in self.names.shared_shadows:
                self.write(self.expression(shadow), self.scalars.known(0.0))
            return
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            found = self.expression(call.func.value)
            if isinstance(found, ProductBatch):
                self._collect(found, call.args)
                return
        self.store = memory.KEPT if puts_into_list(call) else memory.SCRATCH
        self.expression(call)
        self.store = memory.SCRATCH

    def _collect(self, collected: ProductBatch, args: list[ast.expr]) -> None:
        """Lower ``o.append(...)`` or ``o.add_all()`` of a sum of `blas_sums`."""
        if not args:
            collected.add_all()
            return
        e, axis = self.elementwise, collected.axis
        if axis is None:  # (part, x, y): part += outer(x, y)
            matrix, target = args[0], self.expression(args[0])
            part, x, y = target, *[e.as_array(self.expression(a)) for a in args[1:]]
        else:  # (target, part, x): target += part @ x, or x @ part
            matrix, target = args[1], self.expression(args[0])
            part, vector = self.expression(matrix), e.as_array(self.expression(args[2]))
            x, y = (target, vector) if axis else (vector, target)

        def add_at_once() -> None:
            if axis is None:
                product = e.outer(x, y, part.kind)
            else:
                left, right = (part, y) if axis else (x, part)
                product = e.product(left, right, target.kind, self.store)
            self.write(target, product, operator.add)

        e.check_shape([*x.shape, *y.shape], part.shape)
        self.materialize_readers(target.alias_set)
        base = part
        if isinstance(matrix, ast.Subscript) and isinstance(matrix.value, ast.Name):
            base = self.read(matrix.value.id)
        if len(base.shape) != 2 or not x.dtype == y.dtype == part.dtype:
            add_at_once()
            return
        with self.code.branches(collected.takes(base, part)) as (then, otherwise):
            with then:
                collected.append(base, part, x, y)
            with otherwise:
                add_at_once()

    def on_delete_statement(self, node: ast.Delete) -> None:
        """Lower ``del xs[k]``."""
        for target in node.targets:
            base = self.expression(target.value) if isinstance(target, ast.Subscript) else None
            if isinstance(base, TableRef):
                self.remove_key(base, self.expression(target.slice))  # type: ignore[attr-defined]
                continue
            if not isinstance(base, ListRef):
                raise UnsupportedError("del of something other than an item of a list")
            self.drop(base, self.integer(target.slice))  # type: ignore[attr-defined] # it has one

    def on_pass_statement(self, node: ast.Pass) -> None:
        """Lower ``pass``."""

    def on_raise_statement(self, node: ast.Raise) -> None:
        """Bail out."""
        self.code.exit_if(ir.Constant(TYPES["b"], 1))

    # -- the tape ----------------------------------------------------------------------------------

    def _push(self, node: ast.Call) -> None:
        """Lower ``push(...)``."""
        arg: Any = node.args[0]
        names = self.pushes.get(node.lineno)
        self.store = memory.KEPT
        if names is None:
            words = self._words_of_control_flow(arg)
        else:
            values = arg.elts if len(names) > 1 else [arg]
            words = []
            found = [self.expression(part) for part in values]
            objects = []
            for name, x in zip(names, found, strict=True):
                if self._is_object(name) and isinstance(x, PythonObject):
                    objects.append(x)
                else:
                    words += self.words_pushed(name, x)
            if objects:
                self.push_objects(objects)
        self.store = memory.SCRATCH
        memory.pushed(self.code, self.state, words)

    def _is_object(self, name: str) -> bool:
        """Whether what is pushed for a name is an object of Python's, such as a pullback."""
        return name not in self.names.kinds and name not in self.names.shapes

    def _words_of_control_flow(self, arg: ast.expr) -> list:
        """Return the words that describe a loop or branch: a range, a trip count or a test."""
        if isinstance(arg, ast.Subscript) and isinstance(arg.slice, ast.Slice):
            over = self.expression(arg.value)
            count = self.integer(arg.slice.upper)  # type: ignore[arg-type] # the writer gives one
            stop = self.b.add(over.start, self.b.mul(count, over.step))
            return [over.start, stop, over.step]
        found = self.expression(arg)
        if isinstance(found, RangeValue):
            return [found.start, found.stop, found.step]
        return [self.scalars.converted(self.scalars.number(found), "i")]

    def words_pushed(self, name: str, value: Any) -> list:
        """Return the words that are pushed for a name."""
        if name in self.names.shapes and isinstance(value, TupleValue):
            sizes = [part.value for part in value.parts]
            self._note_unit_axes(name, sizes)
            return sizes
        kind = self.names.kinds.get(name)
        if kind is None:
            raise UnsupportedError(f"{name} on the tape")
        if isinstance(value, CONTAINERS):
            return self.to_words(value, kind)
        if kind.parts:
            each = zip(_parts_of(name, kind), value.parts, kind.parts, strict=True)
            return [word for part in each for word in self._words_of(*part)]
        return self._words_of(name, value, kind)

    def _words_of(self, name: str, value: Any, kind: Kind) -> list:
        if kind.is_array:
            if isinstance(value, LazyArray):
                value = self.elementwise.materialize(value, memory.KEPT)
            if not isinstance(value, Array) or value.dtype != kind.dtype:
                raise UnsupportedError(f"{name} of another kind")
            self._note_unit_axes(name, value.shape)
            return self.to_words(value, kind)
        number = self.scalars.number(value)
        letter = letter_of(kind)
        if not isinstance(number, Number) or (letter == "i") != (number.letter == "i"):
            raise UnsupportedError(f"{name} of another kind")
        if number.tag is not None and letter not in PARTS:  # the variable is complex elsewhere
            number = self.scalars.part_of(number, "real")
        return self.code.to_words(self.scalars.converted(number, letter))

    def _note_unit_axes(self, name: str, shape: list) -> None:
        ones = {k for k, n in enumerate(shape) if is_one(n)}
        self.names.pushed_unit_axes[name] = self.names.pushed_unit_axes.get(name, ones) & ones

    def _pop(self, target: ast.expr) -> None:
        """Lower ``target = pop()``."""
        names = [t.id for t in (target.elts if isinstance(target, ast.Tuple) else [target])]  # type: ignore[attr-defined]
        kinds = [self.names.kinds.get(name) for name in names]
        shapes = self.names.shapes
        own = list(filter(self._is_object, names))
        objects = dict(zip(own, self.pop_objects(len(own)), strict=True)) if own else {}
        sizes = [
            0
            if name in own
            else shapes[name]
            if name in shapes
            else sum(map(width_of, k.parts if k and k.parts else [k]))
            for name, k in zip(names, kinds, strict=True)
        ]
        words = iter(memory.popped(self.code, self.state, [I64] * sum(sizes)))
        for name, kind in zip(names, kinds, strict=True):
            if name in own:
                self.bound[name] = objects[name]
                continue
            if name in shapes:
                shape = [next(words) for _ in range(shapes[name])]
                for k in self.names.pushed_unit_axes.get(name, ()):
                    shape[k] = self.code.whole(1)
                self.bound[name] = TupleValue([self.python_int(n) for n in shape])
                continue
            assert kind is not None
            if name in self.names.lists:
                address = self.b.inttoptr(next(words), PTR)
                self.bound[name] = self.container_at(self.names.lists[name], address)
                continue
            if kind.parts:
                each = zip(_parts_of(name, kind), kind.parts, strict=True)
                self.bound[name] = TupleValue([self.popped_value(*part, words) for part in each])
                continue
            self.bound[name] = self.popped_value(name, kind, words)

    def popped_value(self, name: str, kind: Kind, words: Any) -> Any:
        """Take the words of a value from an iterator."""
        if kind.is_array:
            address = self.b.inttoptr(next(words), PTR)
            sizes = [next(words) for _ in range(2 * kind.ndim)]
            ones = self.names.pushed_unit_axes.get(name, ())
            return self._named_array(name, kind, address, sizes, ones)
        letter = letter_of(kind)
        value = self.scalars.plain(letter, self.code.from_words(letter, words))
        if letter in "ibt":  # the class of floats does not matter in the sweep
            value.kind = kind
        return value

    # -- loops and branches ------------------------------------------------------------------------

    def on_if_statement(self, node: ast.If) -> None:
        """Lower a branch. Without ``else``, it is a guard or the end of a loop."""
        if not node.orelse:
            self._exit_if(node)
            return
        if is_pop(node.test):
            (word,) = memory.popped(self.code, self.state, [I64])
            test = self.code.b.icmp_signed("!=", word, self.code.whole(0))
        else:
            test = self.truth(node.test)
        self._materialize_pending()
        with self.code.branches(test) as (then, otherwise):
            with then:
                self._scope(node.body)
            with otherwise:
                self._scope(node.orelse)

    def _exit_if(self, node: ast.If) -> None:
        """Lower a guard of the generated code, or ``if test: break``."""
        if is_check(node):
            return  # lowering has checked the kind already
        attribute, arrays = compared(node.test)
        if attribute == "shape":
            self.elementwise.check_shape(*[self.expression(x).shape for x in arrays])
            return
        test = self._test(node.test)
        self._materialize_pending()
        if isinstance(node.body[0], ast.Raise):
            self.code.exit_if(test)
            return
        if not isinstance(node.body[0], ast.Break):
            raise UnsupportedError("a branch without else")
        self.code.leave_if(test)

    def _test(self, node: ast.expr) -> Any:
        """Lower a test, or a comparison of strides."""
        attribute, arrays = compared(node)
        if attribute == "strides":
            a, c = [self.expression(x).strides for x in arrays]
            differ: Any = ir.Constant(TYPES["b"], 0)
            for m, n in zip(a, c, strict=True):
                differ = self.b.or_(differ, self.b.icmp_signed("!=", m, n))
            return differ
        return self.truth(node)

    def _scope(self, body: list[ast.stmt]) -> None:
        """Lower a block, whose bindings end with it."""
        before = dict(self.bound)
        self.statements(body)
        self._materialize_pending()
        self.bound = before

    def _iteration(self, body: list[ast.stmt]) -> None:
        """Lower the body of a loop, which releases the scratch memory of each iteration."""
        mark = memory.marked(self.code, self.state)
        before = self.elementwise.scratch_count
        self._scope(body)
        if self.elementwise.scratch_count != before:
            memory.released(self.code, self.state, mark)

    def on_for_statement(self, node: ast.For) -> None:
        """Lower a loop over a range: forward, reversed, or one that only counts."""
        self._materialize_pending()
        code, b = self.code, self.code.b
        over = node.iter
        assert isinstance(node.target, ast.Name)
        if isinstance(over, ast.Name):
            bounds = self.read(over.id)
        elif isinstance(over, ast.Call) and over.func.id == "reversed":  # type: ignore[attr-defined]
            bounds = RangeValue(*memory.popped(code, self.state, [I64] * 3))
        else:  # range(pop())
            (count,) = memory.popped(code, self.state, [I64])
            bounds = RangeValue(code.whole(0), count, code.whole(1))
        n = self.trip_count(bounds)
        with code.counted(n) as i:
            if node.target.id != "_":
                k = i if isinstance(over, ast.Name) else b.sub(b.sub(n, code.whole(1)), i)
                x = b.add(bounds.start, b.mul(k, bounds.step))
                b.store(x, self.slot(node.target.id).value)
            self._iteration(node.body)

    def on_while_statement(self, node: ast.While) -> None:
        """Lower ``while True``."""
        self._materialize_pending()
        with self.code.endless():
            self._iteration(node.body)

    def on_call(self, node: ast.Call) -> Any:
        """Lower a call, also of ``range`` and of the sums of `blas_sums`."""
        if isinstance(node.func, ast.Name) and node.func.id in ("OuterSum", "ProductSum"):
            return ProductBatch(
                self.code, self.state, *[self.integer(a).constant for a in node.args]
            )
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            return self.range_of([self.integer(a) for a in node.args])
        return super().on_call(node)


def _parts_of(name: str, kind: Kind) -> list[str]:
    """Return names of the parts of a tuple."""
    return [f"{name}[{i}]" for i in range(len(kind.parts))]
