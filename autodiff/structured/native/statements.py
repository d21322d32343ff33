"""The statements of a loop in the source of a structured program, as instructions."""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from typing import Any

from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.elements import is_one
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import I64, PARTS, PTR, TYPES
from autodiff.structured.native.llvm.collected import Collected
from autodiff.structured.native.names import (
    compared,
    is_check,
    is_pop,
    loaded,
    owners,
    puts_into_list,
    stored,
)
from autodiff.structured.native.numbers.scalars import BINARY
from autodiff.structured.native.values import (
    Array,
    List,
    Number,
    Record,
    Several,
    Tree,
    Turns,
    letter_of,
    width_of,
)
from autodiff.structured.native.variables import Variables


class Statements(Variables):
    """Reads the statements of a loop: see `Variables`."""

    def statements(self, body: list[ast.stmt]) -> None:
        """Read statements."""
        reads, binds = _places_of_names(body)
        for k, node in enumerate(body):
            method = getattr(self, f"on_{type(node).__name__.lower()}_statement", None)
            if method is None:
                raise UnsupportedError(type(node).__name__)
            method(node)
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in stored(target):
                        later = [j for j in binds[name] if j > k]
                        last = later[0] if later else len(body)
                        self._is_read_later(name, sum(k < j <= last for j in reads[name]))

    def _is_read_later(self, name: str, count: int) -> None:
        """Compute an array now if it is read more than once."""
        if not isinstance(self.bound.get(name), Tree):
            return
        if not count:
            del self.bound[name]
            return
        self.pending_reads[name] = count
        if count > 1:
            self._materialize(name)

    def on_assign_statement(self, node: ast.Assign) -> None:
        """Read an assignment."""
        targets = {name for t in node.targets for name in stored(t)}
        lasts = targets & (self.names.variables | self.escaping)
        lasts |= owners(node) & self.names.lists.keys()
        self.store = memory.KEPT if lasts else memory.SCRATCH
        if is_pop(node.value):
            self._popped(node.targets[0])
        else:
            value = self.expression(node.value)
            for target in node.targets:
                self._assign(target, value)
        self.store = memory.SCRATCH

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple) and isinstance(value, Several):
            for t, v in zip(target.elts, value.parts, strict=True):
                self._assign(t, v)
        elif isinstance(target, ast.Subscript):
            self._put(target, value)
        else:
            raise UnsupportedError("an assignment")

    def _put(self, target: ast.Subscript, value: Any, f: Any = None) -> None:
        base = self.expression(target.value)
        if isinstance(base, List):
            self.set_item(base, self.integer(target.slice), value, f)
            return
        if isinstance(base, Record):
            self.set_field(base, self.expression(target.slice), value, f)
            return
        if not isinstance(base, Array):
            raise UnsupportedError("a write into what is no array")
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
        e = self.elementwise
        if f is not None:
            number = self.scalars.function(f, [e.load_number(base.dtype, found), number], base.kind)
        e.store_number(base.dtype, number, found)

    def on_augassign_statement(self, node: ast.AugAssign) -> None:
        """Read an operation in place."""
        f = BINARY[type(node.op)]
        value = self.expression(node.value)
        if isinstance(node.target, ast.Subscript):
            self._put(node.target, value, f)
            return
        if not isinstance(node.target, ast.Name):
            raise UnsupportedError("an assignment")
        name = node.target.id
        old = self.read(name)
        if isinstance(old, Tree):
            raise UnsupportedError("a write into what is not computed")
        if isinstance(old, Array):
            self.write(old, value, f)
            return
        self.bind(name, self.call(f, [old, value]))

    def on_expr_statement(self, node: ast.Expr) -> None:
        """Read a call that stands alone."""
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "push"
        ):
            self._push(call)
            return
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            found = self.expression(call.func.value)
            if isinstance(found, Collected):
                self._collect(found, call.args)
                return
        self.store = memory.KEPT if puts_into_list(call) else memory.SCRATCH
        self.expression(call)
        self.store = memory.SCRATCH

    def _collect(self, collected: Collected, args: list[ast.expr]) -> None:
        """Read what `blas_sums` has: ``o.append(...)``, or ``o.add_all()``."""
        if not args:
            collected.add_all()
            return
        e, axis = self.elementwise, collected.axis
        if axis is None:  # (part, x, y): the outer product of x and y is added to the part
            matrix, made = args[0], self.expression(args[0])
            part, x, y = made, *[e.as_array(self.expression(a)) for a in args[1:]]
        else:  # (target, part, x): part @ x, or x @ part, is added to the target
            matrix, made = args[1], self.expression(args[0])
            part, vector = self.expression(matrix), e.as_array(self.expression(args[2]))
            x, y = (made, vector) if axis else (vector, made)

        def add_at_once() -> None:
            if axis is None:
                product = e.outer(x, y, part.kind)
            else:
                left, right = (part, y) if axis else (x, part)
                product = e.product(left, right, made.kind, self.store)
            self.write(made, product, operator.add)

        e.check_shape([*x.shape, *y.shape], part.shape)
        self.materialize_readers(made.alias_set)
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
        """Read what takes an item out of a list."""
        for target in node.targets:
            base = self.expression(target.value) if isinstance(target, ast.Subscript) else None
            if not isinstance(base, List):
                raise UnsupportedError("del of what is no item of a list")
            self.drop(base, self.integer(target.slice))  # type: ignore[attr-defined] # it has one

    def on_pass_statement(self, node: ast.Pass) -> None:
        """Read nothing."""

    def on_raise_statement(self, node: ast.Raise) -> None:
        """Leave."""
        self.code.exit_if(ir.Constant(TYPES["b"], 1))

    # -- the stack ---------------------------------------------------------------------------------

    def _push(self, node: ast.Call) -> None:
        arg: Any = node.args[0]
        names = self.pushes.get(node.lineno)
        self.store = memory.KEPT
        if names is None:
            words = self._of_loop(arg)
        else:
            values = arg.elts if len(names) > 1 else [arg]
            words = []
            for name, part in zip(names, values, strict=True):
                words += self._words(name, self.expression(part))
        self.store = memory.SCRATCH
        memory.pushed(self.code, self.state, words)

    def _of_loop(self, arg: ast.expr) -> list:
        """Return what is pushed of a loop or branch."""
        if isinstance(arg, ast.Subscript) and isinstance(arg.slice, ast.Slice):
            turns = self.expression(arg.value)
            count = self.integer(arg.slice.upper)  # type: ignore[arg-type] # emission gives one
            last = self.b.add(turns.start, self.b.mul(count, turns.step))
            return [turns.start, last, turns.step]
        found = self.expression(arg)
        if isinstance(found, Turns):
            return [found.start, found.stop, found.step]
        return [self.scalars.converted(self.scalars.number(found), "i")]

    def _words(self, name: str, value: Any) -> list:
        if name in self.names.shapes and isinstance(value, Several):
            sizes = [part.value for part in value.parts]
            self._note_ones(name, sizes)
            return sizes
        kind = self.names.kinds.get(name)
        if kind is None:
            raise UnsupportedError(f"{name} on the stack of machine code")
        if isinstance(value, (List, Record)):
            return self.as_words(value, kind)
        if kind.parts:
            each = zip(_parts_of(name, kind), value.parts, kind.parts, strict=True)
            return [word for part in each for word in self._words_of(*part)]
        return self._words_of(name, value, kind)

    def _words_of(self, name: str, value: Any, kind: Kind) -> list:
        if kind.is_array:
            if isinstance(value, Tree):
                value = self.elementwise.materialize(value, memory.KEPT)
            if not isinstance(value, Array) or value.dtype != kind.dtype:
                raise UnsupportedError(f"{name} of another kind")
            self._note_ones(name, value.shape)
            return self.as_words(value, kind)
        number = self.scalars.number(value)
        letter = letter_of(kind)
        if not isinstance(number, Number) or (letter == "i") != (number.letter == "i"):
            raise UnsupportedError(f"{name} of another kind")
        if number.tag is not None and letter not in PARTS:  # a variable that is complex elsewhere
            number = self.scalars.part_of(number, "real")
        return self.code.as_words(self.scalars.converted(number, letter))

    def _note_ones(self, name: str, shape: list) -> None:
        ones = {k for k, n in enumerate(shape) if is_one(n)}
        self.names.pushed_ones[name] = self.names.pushed_ones.get(name, ones) & ones

    def _popped(self, target: ast.expr) -> None:
        names = [t.id for t in (target.elts if isinstance(target, ast.Tuple) else [target])]  # type: ignore[attr-defined]
        kinds = [self.names.kinds.get(name) for name in names]
        shapes = self.names.shapes
        sizes = [
            shapes[name]
            if name in shapes
            else sum(map(width_of, k.parts if k and k.parts else [k]))
            for name, k in zip(names, kinds, strict=True)
        ]
        words = iter(memory.popped(self.code, self.state, [I64] * sum(sizes)))
        for name, kind in zip(names, kinds, strict=True):
            if name in shapes:
                shape = [next(words) for _ in range(shapes[name])]
                for k in self.names.pushed_ones.get(name, ()):
                    shape[k] = self.code.whole(1)
                self.bound[name] = Several([self.python_int(n) for n in shape])
                continue
            if kind is None:
                raise UnsupportedError(f"{name} on the stack of machine code")
            if name in self.names.lists:
                address = self.b.inttoptr(next(words), PTR)
                self.bound[name] = self.container_at(self.names.lists[name], address)
                continue
            if kind.parts:
                each = zip(_parts_of(name, kind), kind.parts, strict=True)
                self.bound[name] = Several([self._of_stack(*part, words) for part in each])
                continue
            self.bound[name] = self._of_stack(name, kind, words)

    def _of_stack(self, name: str, kind: Kind, words: Any) -> Any:
        if kind.is_array:
            address = self.b.inttoptr(next(words), PTR)
            shape = [next(words) for _ in range(kind.ndim)]
            strides = [next(words) for _ in range(kind.ndim)]
            assert kind.dtype is not None
            for k in self.names.pushed_ones.get(name, ()):
                shape[k] = self.code.whole(1)
            if name in self.names.dense:
                strides[self.names.dense[name]] = self.code.whole(kind.dtype.itemsize)
            value: Any = Array(kind.dtype, address, shape, strides,
                               self.names.alias_sets.get(name), name)  # fmt: skip
        else:
            letter = letter_of(kind)
            value = self.scalars.plain(letter, self.code.of_words(letter, words))
            if letter in "ib":  # of floats, the class does not count in the sweep
                value.kind = kind
        return value

    # -- loops and branches ------------------------------------------------------------------------

    def on_if_statement(self, node: ast.If) -> None:
        """Read a branch, or what leaves the function or loop: that has no other branch."""
        if not node.orelse:
            self._leave_if(node)
            return
        if is_pop(node.test):
            (word,) = memory.popped(self.code, self.state, [I64])
            test = self.code.b.icmp_signed("!=", word, self.code.whole(0))
        else:
            test = self.truth(node.test)
        self._materialize_pending()
        with self.code.branches(test) as (then, otherwise):
            with then:
                self._inside(node.body)
            with otherwise:
                self._inside(node.orelse)

    def _leave_if(self, node: ast.If) -> None:
        """Read a check that the generated code makes, or the end of a loop."""
        if is_check(node):
            return  # what is bound is of the kind that was expected, or not written at all
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
            raise UnsupportedError("a branch without another one")
        following = self.code.function.append_basic_block()
        self.b.cbranch(test, self.code.behind[-1], following)
        self.b.position_at_end(following)

    def _test(self, node: ast.expr) -> Any:
        """Read a test, one of memory layouts too."""
        attribute, arrays = compared(node)
        if attribute == "strides":
            a, c = [self.expression(x).strides for x in arrays]
            differ: Any = ir.Constant(TYPES["b"], 0)
            for m, n in zip(a, c, strict=True):
                differ = self.b.or_(differ, self.b.icmp_signed("!=", m, n))
            return differ
        return self.truth(node)

    def _inside(self, body: list[ast.stmt]) -> None:
        before = dict(self.bound)
        self.statements(body)
        self._materialize_pending()
        self.bound = before

    def _turn(self, body: list[ast.stmt]) -> None:
        """Read the body of a loop; what was taken for one turn is given back."""
        mark = memory.marked(self.code, self.state)
        before = self.elementwise.scratch_count
        self._inside(body)
        if self.elementwise.scratch_count != before:
            memory.released(self.code, self.state, mark)

    def on_for_statement(self, node: ast.For) -> None:
        """Read a loop over a range."""
        self._materialize_pending()
        code, b = self.code, self.code.b
        over = node.iter
        assert isinstance(node.target, ast.Name)
        if isinstance(over, ast.Name):
            turns = self.read(over.id)
            start, step = turns.start, turns.step
        elif isinstance(over, ast.Call) and over.func.id == "reversed":  # type: ignore[attr-defined]
            turns = Turns(*memory.popped(code, self.state, [I64] * 3))
            start, step = turns.start, turns.step
        else:  # range(pop())
            (count,) = memory.popped(code, self.state, [I64])
            turns, start, step = Turns(code.whole(0), count, code.whole(1)), None, None
        n = self._count(turns)
        is_back = not isinstance(over, ast.Name)
        with code.counted(n) as i:
            if start is not None and node.target.id != "_":
                k = b.sub(b.sub(n, code.whole(1)), i) if is_back else i
                x = b.add(start, b.mul(k, step))
                b.store(x, self.slot(node.target.id).value)
            self._turn(node.body)

    def _count(self, turns: Turns) -> Any:
        code, b = self.code, self.code.b
        step, zero, one = turns.step, code.whole(0), code.whole(1)
        if isinstance(step, ir.Constant) and step.constant == 1:
            n = b.sub(turns.stop, turns.start)
        else:
            code.exit_if(code.equal(step, zero))
            down = code.less(step, zero)
            span = b.sub(turns.stop, turns.start)
            span = b.select(down, b.neg(span), span)
            size = b.select(down, b.neg(step), step)
            n = b.sdiv(b.add(span, b.sub(size, one)), size)
            n = b.select(code.less(span, one), zero, n)
        return b.select(code.less(n, zero), zero, n)

    def on_while_statement(self, node: ast.While) -> None:
        """Read a loop without a range."""
        self._materialize_pending()
        self.code.endless(lambda after: self._turn(node.body))

    def on_call(self, node: ast.Call) -> Any:
        """Read a call; ``range`` gives the turns of a loop."""
        if isinstance(node.func, ast.Name) and node.func.id in ("OuterSum", "ProductSum"):
            return Collected(self.code, self.state, *[self.integer(a).constant for a in node.args])
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            bounds = [self.integer(a) for a in node.args]
            if len(bounds) == 1:
                bounds.insert(0, self.code.whole(0))
            return Turns(*bounds, *([self.code.whole(1)] if len(bounds) == 2 else []))
        return super().on_call(node)


def _parts_of(name: str, kind: Kind) -> list[str]:
    """Return names for the parts of a tuple."""
    return [f"{name}[{i}]" for i in range(len(kind.parts))]


def _places_of_names(body: list[ast.stmt]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return for each name by which statements it is read, once for each time, and bound."""
    reads: dict[str, list[int]] = defaultdict(list)
    binds: dict[str, list[int]] = defaultdict(list)
    for k, node in enumerate(body):
        for name in loaded(node):
            reads[name].append(k)
        if isinstance(node, ast.Assign):
            for name in set(stored(node)):
                binds[name].append(k)
    return reads, binds
