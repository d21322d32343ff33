"""Generated functions that write into what is outside: programs change nothing about it."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest

from autodiff import automatic_compile, compile, gradient
from autodiff.autocompile import call_records
from tests.helpers import module_of

HEAD = """
import collections, heapq
import numpy as np
class Slots:
    __slots__ = ("a", "late")
    def __init__(self): self.a = 1.0
class Part:
    def __init__(self): self.n, self.v, self.a, self.big = 1.0, [1.0, 2.0], np.ones(3), np.ones(700)
    def bump(self): self.n += 1.0
    def fresh(self): self.new = 2.0
    def put(self, h): self.v[0] = h
class Whole:
    shared = [1.0]
    def __init__(self): self.part, self.d = Part(), {"a": 1.0, "l": [1.0]}
L, D, O = [1.0, 2.0, 3.0], {"a": 1.0, "b": [1.0, 2.0]}, Whole()
A, B = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 701.0)
V, T, NEST, P = B[2:9], ([1.0], np.ones(2)), [{"x": [1.0, np.ones(3)]}, [2.0]], O.part
G, SLOTS, R = collections.defaultdict(list, {k: [1.0] for k in range(100)}), Slots(), B.view()
Q, C = np.array([1.0, [2.0]], dtype=object), np.array([1.0] * 600, dtype=object)
R.flags.writeable = False
STATE = L, D, A, B, T, NEST, O, G, SLOTS, Q, C
"""
PLACES = (
    "L", "D['b']", "A", "B", "V", "T[0]", "T[1]", "NEST[0]['x']", "NEST[1]", "P.v", "O.part.a",
    "P.big", "O.d['l']", "O.shared", "given", "local", "y", "c",
)  # fmt: skip
NUMBERS = ("1.0", "2.0", "c[0]", "len(L) * 1.0", "A[0]")
WRITES = (
    "t = {t}; t[{i}] = {h}", "t = {t}; t[{i}] += {h}", "{t}[{i}] = {h}", "{t}[{i}] *= 1.0",
    "t = {t}; t.sort()", "t = {t}; t *= 1 if isinstance(t, list) else 1.5",
    "t = {t}; t.append({h}) if isinstance(t, list) and len(t) < 6 else None",
    "t = {t}; t.pop() if isinstance(t, list) and len(t) > 2 else None",
    "t = {t}; t.fill({h}) if isinstance(t, np.ndarray) else None", "O.part.bump()", "P.fresh()",
    "P.put({h})", "p = O.part; p.n = 3.0", "p = O; p.extra = 1.0", "D['z'] = {h}", "D.pop('z', 0)",
    "d = O.d; d.update(a=2.0)", "heapq.heappush(L, {h})", "q = Part(); q.bump(); q.put({h})",
    "NEST[0]['y'] = 1.0", "add = L.append; add({h}) if len(L) < 6 else None", "n += {h}",
    "for v in ({t}, local): v[0] = {h}", "w = {t}.copy(); w[0] = {h}", "np.add.at(A, [0], 1.0)",
    "z = A if c[0] > 1.0 else B; z[0] = {h}", "n += {t}[0]",
)  # fmt: skip
READS = ("L[0]", "A[0]", "np.sum(B)", "P.n", "D['a']", "P.v[0]", "len(L)", "O.shared[0]", "V[0]")
# What automatic compilation does not look at, but `compile` does.
MORE_PLACES = ("V.base", "G[80]", "Q", "Q[1]", "C", "B.reshape(70, 10)[3]")
MORE_WRITES = (
    "SLOTS.late = {h}", "setattr(P, 'n', {h})", "P.n, P.m = 1.0, P.n; del P.m",
    "q = P.n; del P.n; P.n = q", "B.shape = B[:, None].shape[:1]", "vars(P)['fresh'] = {h}",
    "G[len(G)].append({h})", "np.copyto(V, {h})", "B.flat[3] = {h}",
)  # fmt: skip
MORE_READS = (
    "R[3]", "R.base[600]", "C[599]", "len(G[80])", "Q[0]", "SLOTS.a", "len(vars(P))",
    "getattr(SLOTS, 'late', 0.5)", "P.__getstate__()['n']", "float(list(vars(P))[0] == 'n')",
)  # fmt: skip
TIERS = ("auto", "python", "native")
CHANGES = ("L[0] = 4.0", "A[0] = 5.0", "B[3] = 7.0", "P.n = 9.0", "P.v[0] = 3.0", "D['a'] = 6.0",
           "O.shared[0] = 2.5", "P.new = 8.0", "O.extra = 4.0", "T[1][0] = 3.0", "B[600] = 1.5",
           "C[599] = 2.5", "G[80].append(1.0)", "Q[0] = 3.5", "SLOTS.late = 2.5",
           "vars(P)['n'] = vars(P).pop('n')")  # fmt: skip


def written(seed: int) -> str:
    chosen, more = random.Random(seed), seed % 3 > 0
    places, writes = PLACES + MORE_PLACES * more, WRITES + MORE_WRITES * more
    lines = "".join(
        "    " + chosen.choice(writes).format(
            t=chosen.choice(places), h=chosen.choice(NUMBERS), i=chosen.choice((0, 1, -1))
        ) + "\n"
        for _ in range(chosen.randint(1, 4))
    )  # fmt: skip
    reads = " + ".join(chosen.sample(READS + MORE_READS * more, 2))
    return (
        f"{HEAD}def f(x, c, given=[1.0, 2.0]):\n    n, local, y = 0.0, [1.0, 2.0], np.zeros(3)\n"
        f"{lines}    return np.sum(x * c) * ({reads}) + n * x[0] + y[0] * x[1]\n"
    )


def shown(x: Any) -> Any:
    """Return what can be compared of a nest."""
    if isinstance(x, dict):
        return [(key, shown(part)) for key, part in x.items()]
    if isinstance(x, (list, tuple)):
        return [shown(part) for part in x]
    if hasattr(x, "__dict__"):
        return shown(vars(x)), shown(getattr(x, "shared", []))
    if hasattr(x, "__slots__"):
        return [shown(getattr(x, name, -1.0)) for name in x.__slots__]
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        return shown(x.tolist())
    return np.round(x, 9).tolist()


def session(seed: int, tier: str) -> tuple[list, bool]:
    """Return what calls give and leave behind, with changes from outside; whether a program ran."""
    before = automatic_compile(tier == "auto")
    module, chosen, found = module_of(written(seed)), random.Random(seed), []
    module.__file__ = __file__  # its classes are the user's

    def slope(x: Any, c: Any) -> Any:
        return gradient(module.f, x, c, argnums=0)

    called: Any = compile(slope, backend=tier) if tier in ("native", "python") else slope
    try:
        for k in range(9):
            c = np.array([1.5, 0.5, 2.0])
            try:
                y = called(np.array([1.0, 2.0, 3.0]) + k, c)
            except Exception as error:
                found.append((type(error).__name__, []))
                break
            found.append((shown((y, module.f.__defaults__, module.STATE)), c.tolist()))
            if chosen.random() < 0.25:
                exec(chosen.choice(CHANGES), vars(module))
        made = any(record.variants for record in call_records.records.values())
        return found, made or bool(getattr(called, "variants", 0))
    finally:
        automatic_compile(before)
        call_records.records.clear()
        sys.modules.pop(module.__name__)


@pytest.mark.parametrize("seed", range(60))
def test_each_call_writes_what_it_writes_without_programs(seed: int, soon: None) -> None:
    tier = TIERS[seed % 3]
    found, _ = session(seed, tier)
    expected, _ = session(seed, "as written")
    if tier != "auto":  # programs of `compile` leave arguments as they are
        found, expected = [left for left, _ in found], [left for left, _ in expected]
    assert found == expected, f"{tier}\n{written(seed)}"


def test_some_of_them_have_programs(soon: None) -> None:
    for first, tier in enumerate(TIERS):
        assert sum(session(seed, tier)[1] for seed in range(first, 60, 3)) > 3, tier
