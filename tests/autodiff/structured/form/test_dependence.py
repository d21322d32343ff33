"""Writes that are said to spare what was read before do so when the loops run with numbers."""

from __future__ import annotations

import linecache
import operator
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autodiff.structured.form.dependence import spares
from autodiff.structured.form.function_ir import WRITES, Block, For, Op, Value, blocks_of, known
from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.kinds import kind_of
from autodiff.structured.form.order import Order
from autodiff.structured.reading.assumptions import Assumptions
from autodiff.structured.reading.lowering import lower

N = 6


def lowered(source: str) -> Any:
    name = f"<dependence {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), scope)
    kinds = [kind_of(np.ones((N, N))), kind_of(3)]
    return lower(scope["f"], (None, None), kinds, {}, {}, Assumptions()).program


def runs_of(nodes: list, env: dict) -> Iterator[tuple[Op | Block, dict]]:
    """Yield each operation with the values of the loop variables, in the order of a run.

    After those of a block comes the block, which binds variables.
    """
    for node in nodes:
        if isinstance(node, Block):
            yield from ((op, dict(env)) for op in node.ops)
            yield node, env
        else:
            assert isinstance(node, For)
            for i in range(*[number(v, env) for v in node.bounds]):
                yield from runs_of(node.body, {**env, node.slot: i})


_PLAIN = {operator.add, operator.sub, operator.mul, operator.neg}


def number(v: Value, env: dict) -> Any:
    if type(known(v)) in (int, type(None)):
        return known(v)
    if v.op.code == "read":
        return env.get(v.op.data, N // 2)
    assert v.op.f in _PLAIN
    return v.op.f(*[number(a, env) for a in v.op.args])


class Arrays:
    """The number of the array that each value and each variable has, as operations run."""

    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.held: dict[Any, int] = {}
        self.made = 0

    def run(self, op: Op | Block) -> None:
        if isinstance(op, Block):
            pairs = [(slot, v) for slot, v in op.writes.items() if v in self.numbers]
            self.held.update({slot: self.numbers[v] for slot, v in pairs})
        elif op.out is not None and op.out.kind.is_array:
            if op.code == "read":
                self.numbers[op.out] = self.held.get(op.data, 0)
            elif op.code == "view":
                self.numbers[op.out] = self.numbers[op.args[0]]
            else:
                self.made += 1
                self.numbers[op.out] = self.made


def elements(base: Value, env: dict, template: Any = None, values: tuple = ()) -> set[int]:
    """Return which elements of the array a view, or a part of it, has."""

    def picked(x: np.ndarray, template: Any, values: Any) -> np.ndarray:
        numbers = [number(v, env) for v in values]
        index = tuple([
            slice(*[None if k is None else numbers[k] for k in part[1:]])
            if part[0] == "slice" else part[1] if part[0] == "known" else numbers[part[1]]
            for part in parts_of_index(template)
        ])  # fmt: skip
        return x[index]

    def array(v: Value) -> np.ndarray:
        if v.op.code != "view":
            return np.arange(N * N).reshape(N, N)
        return picked(array(v.op.args[0]), v.op.data, v.op.args[1:])

    x = array(base)
    found = x if template is None else picked(x, template, values)
    return set(np.ravel(found).tolist())


def check(source: str) -> tuple[int, int]:
    """Return how many pairs there are, and how many writes spare what was read."""
    program = lowered(source)
    for slot in program.slots:
        slot.is_stable = slot.writes == 1
    order = Order(program.body)
    ops = [op for block in blocks_of(program.body) for op in block.ops]
    writes = [op for op in ops if op.code in WRITES]
    reads = [(op, op.out) for op in ops if op.code == "view" and op.args[0].kind.ndim == 2]
    reads += [(op, v) for op in ops if op.code == "call" for v in op.args if v.kind.ndim == 2]
    runs = list(runs_of(program.body, {}))
    n = 0
    for write in writes:
        for op, read in reads:
            if not order.may_precede(op, write):
                continue
            found = spares(write, op, read, order)
            n += found
            arrays = Arrays()
            seen: set[tuple[int, int]] = set()
            meets = False
            for run, env in runs:
                arrays.run(run)
                try:
                    if run is op:
                        seen |= {(arrays.numbers[read], x) for x in elements(read, env)}
                    elif run is write:
                        base = write.args[0]
                        given = elements(base, env, write.data, tuple(write.args[2:]))
                        own = {(arrays.numbers[base], x) for x in given}
                        meets = meets or not seen.isdisjoint(own)
                except IndexError:  # the function would raise it
                    break
            assert not (found and meets), source
    return len(writes) * len(reads), n


INDICES = ("i", "j", "i - 1", "j - 1", "i + 1", "j + 1", "0", "1", "-1", "k", "2 * j", "k - i")
SLICES = (
    ":",
    ":i",
    ":j",
    "i:",
    "j:",
    "i + 1:",
    "j + 1:",
    ":i - 1",
    "1:-1",
    ":k",
    "k:",
    "::2",
    "::-1",
)
RANGES = (
    "{n}", "1, {n}", "{n} - 1", "{n} - 1, -1, -1", "{n} - 2, 0, -1", "0, {n}, 2", "k", "k, {n}", "1"
)  # fmt: skip
INNER = (*RANGES, "i", "i + 1", "i, {n}", "i + 1, {n}", "{n} - i", "i - 1, -1, -1")


def generated(rng: random.Random) -> str:
    """Return a function with two loops that writes into a matrix, and reads rows of it."""

    def at(names: str) -> str:
        def one(choices: tuple[str, ...]) -> str:
            return rng.choice([c for c in choices if "j" in names or "j" not in c])

        if rng.random() < 0.25:
            return one(SLICES) + ", " + one(SLICES)
        parts = [one(INDICES), one(SLICES)]
        rng.shuffle(parts)
        return ", ".join(parts)

    def statement(names: str) -> str:
        target = at(names)
        return f"a[{target}] {rng.choice(['=', '+=', '='])} 0.5 * np.sum(a[{at(names)}])"

    lines = ["def f(a, k):", f"    for i in range({rng.choice(RANGES)}):"]
    lines += [f"        {statement('i')}" for _ in range(rng.randint(0, 1))]
    lines.append(f"        for j in range({rng.choice(INNER)}):")
    lines += [f"            {statement('ij')}" for _ in range(rng.randint(1, 2))]
    lines += [f"        {statement('i')}" for _ in range(rng.randint(0, 1))]
    lines += [
        f"    for j in range({rng.choice(RANGES)}):",
        f"        {statement('j').replace('i', 'j')}",
    ]
    lines.append("    return np.sum(a)")
    return "\n".join(lines).format(n=N)


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_what_is_said_to_be_spared_is_spared(first: int) -> None:
    pairs = spared = 0
    for seed in range(first, first + 100):
        of_these = check(generated(random.Random(seed)))
        pairs, spared = pairs + of_these[0], spared + of_these[1]
    assert spared > pairs / 20  # it is worth something


def with_new_arrays(rng: random.Random) -> str:
    """Return such a function whose loops make matrices, and keep those of earlier iterations."""

    def at(names: str) -> str:
        parts = [
            rng.choice((*INDICES[: 2 if "j" in names else 1], "0", "k")),
            rng.choice((":", "1:")),
        ]
        rng.shuffle(parts)
        return ", ".join(parts)

    def statement(names: str) -> str:
        kind, target, given = rng.random(), *rng.choices("abcddd", k=2)
        if kind < 0.3:
            return f"b = {rng.choice('abc')} * 1.0"
        if kind < 0.45:
            return rng.choice(("c = b", "c = d", "c = d[:]", "b = c", "b = d"))
        read = rng.choice((f"np.sum({given}[{at(names)}])", f"np.sum({given})"))
        return f"{target}[{at(names)}] = 0.5 * {read}"

    lines = ["def f(a, k):", "    b = c = a * 2.0", f"    for i in range({N}):"]
    lines.append("        d = b * 1.0")
    lines += [f"        {statement('i')}" for _ in range(rng.randint(0, 3))]
    lines.append(f"        for j in range({rng.choice((str(N), 'i', 'i + 1'))}):")
    lines += [
        f"            {statement('ij').replace(' i,', ' j,')}" for _ in range(rng.randint(1, 3))
    ]
    lines += [f"        {statement('i')}" for _ in range(rng.randint(0, 2))]
    return "\n".join([*lines, "    return np.sum(a) + np.sum(b) + np.sum(c)"])


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_arrays_of_earlier_iterations_are_spared(first: int) -> None:
    pairs = spared = 0
    for seed in range(first, first + 100):
        of_these = check(with_new_arrays(random.Random(seed)))
        pairs, spared = pairs + of_these[0], spared + of_these[1]
    assert spared > pairs / 50
