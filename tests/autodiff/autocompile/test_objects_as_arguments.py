"""Objects of the user's classes, and nests that are written into, as arguments of programs."""

import copy
import enum
import itertools
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import autocompile, compile, gradient
from autodiff.autocompile import call_records

pytestmark = pytest.mark.usefixtures("soon")


@dataclass
class Bond:
    maturity: float
    coupon: float

    def value(self, r):
        return self.coupon * math.exp(-r * self.maturity)

    @property
    def half(self):
        return 0.5 * self.maturity


class Perpetual(Bond):
    def value(self, r):
        return self.coupon / r


class Node:
    scale = 2.0

    def __init__(self, weight, children):
        self.weight = weight
        self.children = children

    def total(self, x):
        parts = [child.total(x) for child in self.children]
        return np.sum(self.scale * self.weight * x) + sum(parts)


class Counter:
    def __init__(self, start=0):
        self.n = start

    def count(self):
        self.n += 1
        return self.n


class Charge(NamedTuple):
    x: float
    q: float = 1.0

    def seen_from(self, r):
        return self.q / (r - self.x)

    @property
    def twice(self):
        return 2.0 * self.q


Pair = namedtuple("Pair", "a b")


class Body:
    def __init__(self, x, v, m=1.0):
        self.x, self.v, self.m = x, v, m

    def move(self, dt):
        self.x += dt * self.v


def worth(p, bonds):
    total = 0.0
    for bond in bonds:
        total += p[0] * bond.value(p[1]) + bond.half * p[0]
    return total


def of_tree(x, node):
    return node.total(x) ** 2


def potential(r, charges):
    return sum(c.seen_from(r) + c.twice for c in charges) * charges[0].x


def pairs(x, p):
    return x * p.a[0] * p.b.a + p.b.b[0] ** 2


def spreads(state, dt):
    for _ in range(3):
        new = state["beta"] * state["s"] * state["i"]
        state["s"] -= dt * new
        state["i"] += dt * new
        state["log"].append(new)
    del state["log"][0]
    return state["i"] ** 2 + sum(state["log"])


def chain(bodies, dt):
    for _ in range(3):
        for a, b in itertools.pairwise(bodies):
            force = b.x - a.x - 1.0
            a.v += dt * force / a.m
            b.v -= dt * force / b.m
        for b in bodies:
            b.move(dt)
    return sum(b.m * b.v**2 for b in bodies)


class Kind(enum.Enum):
    DOSE = 1
    WASH = 2


class Event(NamedTuple):
    kind: Kind
    amount: float


def dosing(x, events):
    level = 0.0
    for event in events:
        level = level * math.exp(-x)
        level += event.amount * x if event.kind is Kind.DOSE else -0.1 * level
    return level**2


def matrix(rows, x):
    for row in rows:
        row[0] *= x
        row.sort()
    rows.append([x, x * x])
    return sum(r[0] * r[1] for r in rows)


def array(a, x):
    a[1:] += x * a[:-1]
    a *= 2.0
    return np.sum(a**2)


def bonds(k, cls=Bond):
    return [cls(1.0 + i + k, 0.1 * k + i) for i in range(3)]


def tree(w, scale=None):
    node = Node(w, [Node(2.0, []), Node(3.0, [Node(0.5 * w, [])])])
    if scale is not None:
        node.scale = scale
    return node


def plain(x):
    """Return a gradient as nested lists of numbers."""
    if isinstance(x, dict):
        return {key: plain(part) for key, part in x.items()}
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(plain, x)]
    if hasattr(x, "__dict__"):
        return [type(x).__name__, plain(vars(x))]
    return np.asarray(x).tolist() if isinstance(x, np.ndarray) else x


def as_written(f, *args, **options):
    autocompile.Settings.enabled = False
    try:
        return gradient(f, *copy.deepcopy(args), **options)
    finally:
        autocompile.Settings.enabled = True


def same(a, b):
    if isinstance(a, (dict, list)):
        assert type(a) is type(b)
        assert len(a) == len(b)
        parts = [(a[k], b[k]) for k in a] if isinstance(a, dict) else zip(a, b, strict=True)
        for x, y in parts:
            same(x, y)
    elif isinstance(a, (float, np.floating)):
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-12)
    else:
        assert a == b


def check(f, *args, **options):
    given = copy.deepcopy(args)
    found = gradient(f, *given, **options)
    same(plain(given), plain(args))  # nothing is written into them
    same(plain(found), plain(as_written(f, *args, **options)))


def variants():
    return sum(len(record.variants) for record in call_records.records.values())


CALLS = [
    (worth, [([0.1, 0.2], y) for y in (bonds(0), bonds(1), bonds(1) + bonds(2))]),
    (worth, [([0.1, 0.2], y) for y in (bonds(0, Perpetual), bonds(1), bonds(2)[:1])]),
    (of_tree, [(0.5, y) for y in (tree(1.0), tree(2.0), Node(1.0, []), tree(1.0, 5.0))]),
    (of_tree, [(0.5, tree(np.ones(3))), (0.5, tree(np.ones(2))), (0.5, tree(3.0))]),
    (potential, [(2.0, [Charge(0.5 * k), Charge(1.0, 2.0 + k)]) for k in range(3)]),
    (pairs, [(2.0, Pair([1.0 + k], Pair(2.0, (0.5 * k,)))) for k in range(3)]),
    (spreads, [({"s": 0.9, "i": 0.1 + 0.1 * k, "beta": 2.0, "log": [k * 1.0]}, 0.1)
               for k in range(3)]),
    (chain, [([Body(float(i), 0.1 * i + k, 1.0 + i) for i in range(3)], 0.1) for k in range(3)]),
    (matrix, [([[1.0, 2.0 + k], [3.0, -1.0]], 0.5 + k) for k in range(3)]),
    (dosing, [(0.5, [Event(kind, 1.0 + k), Event(Kind.DOSE, 2.0)])
              for k, kind in enumerate([Kind.DOSE, Kind.WASH, Kind.WASH])]),
    (array, [(np.arange(1.0, 5.0) + k, 0.5) for k in range(3)]),
    (array, [(np.arange(1.0, 5.0, dtype=np.float32) + k, 0.5) for k in range(3)]),
]  # fmt: skip


@pytest.mark.parametrize(
    "f, calls", CALLS, ids=[f"{f.__name__}{i}" for i, (f, _) in enumerate(CALLS)]
)
def test_each_call_reads_its_arguments_anew(f, calls):
    for _ in range(5):
        for args in calls:
            check(f, *args)
    assert variants()
    assert sum(record.hits for record in call_records.records.values()) > 4


@pytest.mark.parametrize(
    "f, x, y, cls, name, value",
    [
        (worth, [0.1, 0.2], bonds(0), Bond, "value", lambda self, r: self.coupon * r),
        (worth, [0.1, 0.2], bonds(0), Bond, "half", property(lambda self: 9.0)),
        (of_tree, 0.5, tree(1.0), Node, "scale", 7.0),
        (of_tree, 0.5, tree(1.0), Node, "__getattribute__",
         lambda self, n: 3.0 if n == "weight" else object.__getattribute__(self, n)),
        (potential, 2.0, [Charge(0.5), Charge(1.0)], Charge, "seen_from",
         lambda self, r: self.q * r),
        (potential, 2.0, [Charge(0.5), Charge(1.0)], Charge, "twice", property(lambda self: 3.0)),
    ],
)  # fmt: skip
def test_a_class_that_changes(f, x, y, cls, name, value, monkeypatch):
    for _ in range(5):
        check(f, x, y)
    assert variants()
    monkeypatch.setattr(cls, name, value, raising=False)
    for _ in range(3):
        check(f, x, y, argnums=0)
        check(f, x, y)


def test_an_attribute_that_changes():
    bond = Bond(1.0, 2.0)
    for k in range(6):
        bond.coupon = 0.3 * k
        check(worth, [0.1, 0.2], [bond])
    assert variants() == 1


def test_an_attribute_that_is_no_field():
    @dataclass
    class Scaled:
        a: float

        def __post_init__(self):
            self.b = 2.0 * self.a

    def f(x, s):
        return x * s.a * s.b

    compiled = compile(lambda s: gradient(f, 0.5, s))
    for k in range(8):
        check(f, 0.5, Scaled(1.0 + k))
        assert compiled(Scaled(1.0 + k))[1].a == 0.5 * 2.0 * (1.0 + k)


def test_one_object_in_several_places():
    bond = Bond(1.0, 2.0)
    for _ in range(4):
        check(worth, [0.1, 0.2], [bond, Bond(1.0, 2.0)])
    for _ in range(4):
        check(worth, [0.1, 0.2], [bond, bond])
    body, x = Body(1.0, 2.0), np.ones(3)
    for given in ([body, Body(0.0, 1.0)], [body, body]):
        for _ in range(4):
            check(chain, given, 0.1)
    for given in (([[1.0, 2.0], [3.0, 4.0]], 0.5), ([[1.0, 2.0]] * 2, 0.5)):
        for _ in range(4):
            check(matrix, *given)

    def both(a, b):
        a += 1.0
        return np.sum(a * b)

    for given in ((x, x + 1.0), (x, x)):
        for _ in range(4):
            try:
                expected = as_written(both, given[0], given[1] if given[1] is not x else x)
            except Exception as error:
                with pytest.raises(type(error)):
                    gradient(both, *given)
            else:
                np.testing.assert_allclose(gradient(both, *given), expected)


def test_an_object_that_holds_itself_is_traced():
    node = tree(1.0)
    node.itself = node
    expected = as_written(of_tree, 0.5, node, argnums=0)
    assert [gradient(of_tree, 0.5, node, argnums=0) for _ in range(4)] == [expected] * 4
    assert not variants()


def test_what_is_written_into_arguments_that_are_not_differentiated_stays():
    counter, state, body, c = Counter(), {"n": 1.0, "log": [0.0]}, Body(0.0, 1.0), np.zeros(2)

    def f(x, counter, state, body, c, by_name=None):
        state["n"] += 1.0
        state["log"].append(2.0)
        body.move(1.0)
        c += 1.0
        by_name[0] += 1.0
        return x * counter.count() * state["n"]

    by_name = [0.0]
    found = [
        gradient(f, 0.5, counter, state, body, c, argnums=0, by_name=by_name) for _ in range(8)
    ]
    assert found == [k * (k + 1.0) for k in range(1, 9)]
    assert (counter.n, state["n"], len(state["log"]), body.x, c[0]) == (8, 9.0, 9, 8.0, 8.0)
    assert by_name == [8.0]
    for g in (
        lambda x, c: x * c.count(),
        lambda x, c: x * (c.__init__(c.n + 1) or 1.0),
        lambda x, c: [c.count() for _ in range(2)] and x * 1.0,
    ):
        counter = Counter(0.0)
        before = [gradient(g, 0.5, counter, argnums=0) for _ in range(8)]
        assert len(before) == 8
        assert counter.n in (8.0, 16.0)


LOG = [0.0]
TABLE = np.zeros(3)
OUTER = Body(0.0, 1.0)


def writes_by_an_item(x, d):
    held = {"a": LOG}
    held["a"][0] += 1.0
    return x * d["b"]


def writes_by_a_list(x, d):
    for part in [LOG, d["c"]]:
        part.append(1.0)
    return x * d["b"]


def writes_by_an_argument(x, d):
    d["c"] = LOG
    d["c"].append(1.0)
    return x * d["b"]


def writes_into_an_array(x, d):
    t = d["b"] * 1.0
    t = TABLE if x > 0 else t
    t += 1.0
    return x * d["b"]


def writes_an_attribute(x, d):
    for body in [OUTER]:
        body.x += 1.0
    return x * d["b"]


def calls_a_method_that_writes(x, d):
    for body in [OUTER]:
        body.move(1.0)
    return x * d["b"]


def writes_a_default(x, d, log=LOG):
    log.append(1.0)
    return x * d["b"]


def writes_to_a_function(x, d):
    for g in [plain]:
        g.count = 1.0
    return x * d["b"]


@pytest.mark.parametrize(
    "f",
    [writes_by_an_item, writes_by_a_list, writes_by_an_argument, writes_into_an_array,
     writes_an_attribute, calls_a_method_that_writes, writes_a_default, writes_to_a_function],
)  # fmt: skip
def test_writes_outside_happen_at_each_call(f):
    LOG[:], TABLE[:], OUTER.x = [0.0], 0.0, 0.0
    try:
        for k in range(8):
            assert gradient(f, 0.5, {"b": 2.0, "c": [1.0]}, argnums=0) == 2.0
            done = {len(LOG) - 1, LOG[0], TABLE[0], OUTER.x} | set(vars(plain))
            assert k + 1 in done or "count" in done
    finally:
        vars(plain).pop("count", None)
    assert not [r for r in call_records.records.values() if r.variants and not r.why]
