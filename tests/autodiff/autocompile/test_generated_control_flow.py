"""Generated functions with handlers, generators, operators, patterns and caches."""

import copy
import random
import re

import pytest

from autodiff import gradient
from tests.autodiff.autocompile.generated import check_generated
from tests.autodiff.autocompile.test_objects_as_arguments import plain
from tests.helpers import define, one_in

pytestmark = pytest.mark.usefixtures("soon")

PLAIN = """
try:
    s += math.log(x - C)
except ValueError:
    s -= x

try:
    s += 1.0 / (y - C) if y == C else s / (x + 3.0)
except ZeroDivisionError:
    s += y

try:
    s += math.sqrt(y - C) * x
except ValueError as e:
    s += len(e.args) * y

try:
    s += table['kI'] * x
except KeyError:
    table['kI'] = s * 0.5

try:
    s += xs[I] * y
except IndexError:
    xs.append(s)

try:
    s += early(x, C)
except Early as e:
    s += e.value * 2.0

try:
    s += early(y, C)
except (ValueError, Early):
    s += 1.0
else:
    s *= 0.5

try:
    s += early(x, C)
finally:
    s += y

try:
    for v in xs:
        s += v
        if s > C:
            raise Early(v)
except Early as e:
    s = e.value + x

for v in (x, y, C):
    try:
        s += math.log(v - 1.0)
    except ValueError:
        continue
    s *= 0.9

try:
    n = int(x / (y - C))
except (ZeroDivisionError, OverflowError):
    n = 2
s += n * x

try:
    a, b = xs
except ValueError:
    a, b = (x, 1.0)
s += a * b

try:
    s += deep(x, 3)
except Early as e:
    s += e.value

with Guard(xs, x) as g:
    s += g.early(s, C)

with suppress(ZeroDivisionError, Early):
    s += x / (y - C)
    s += early(x, C)

with lent(xs) as v:
    v[0] = s

with lent(table) as t:
    t["k2"] = early(y, C) * x

s += counted_paths(I, 4) * x + mixed(I, y)

s += sum(map(attrgetter("a"), sorted([P(x, y), P(y, x)], key=methodcaller("dot", P(1.0, C)))))

z = replace(Slotted(x, y), a=s)
s += z.a * z.b

@doubled
def g(v):
    return v * y
s += g(x)

with Guard(xs, y):
    s += xs[-1] * x

s += sum(turns(x, I))

for v in evens(turns(y, 3)):
    s += v * x

g = turns(x, 4)
next(g)
s += next(g) + sum(g)

g = averages(C)
next(g)
s += g.send(x) + g.send(y)

s += sum((v * w for v, w in zip(turns(x, 3), turns(y, 9))))

s += sum(Walk([x, y, s]))

s += next((v for v in turns(x, 5) if v > C), y)

p = P(x, y) + P(s, C)
s += p.a * p.b

p = C * P(x, s) - P(y, 1.0)
s += abs(p)

p = P(x, y)
p += P(y, x)
s += p.dot(p)

s += sum([P(x, 1.0), P(y, 2.0)], P(0.0, 0.0)).b

s += max([P(x, y), P(y, x)]).a + sorted([P(y, 1.0), P(x, 2.0)])[0].b

p = P(x, y)
p[0] = s
s += p[1] * p[0]

s += P.made(x).scaled(y).a + P.unit * x

s += (P(x, y) == P(y, x)) * x + (P(x, y) < P(s, y)) * y

match (x > C, s):
    case [True, v]:
        s = v + x
    case [False, v] if v > 1.0:
        s -= y
    case _:
        s *= 0.5

match P(x, y):
    case P(a=u, b=w) if u > C:
        s += u * w
    case P(a=u):
        s -= u

match [x, s, y]:
    case [u, *rest]:
        s += u * sum(rest)

match kinds[I % 3]:
    case Kind.A:
        s += x
    case Kind.B | Kind.C:
        s *= y

match {'u': x, 'w': {'z': y}}:
    case {'u': u, 'w': {'z': z}}:
        s += u * z

s += memo(I, x) * y

s += counted(x) * counted(y)

s += named(x, **dict(b=y, c=C))

kind = Kind.A if x > C else Kind.B
s += x if kind is Kind.A else y

s += given(x) + given(x, y)

q = deque([x, y], maxlen=2)
q.append(s)
s += q.popleft() * q[0]

d = defaultdict(list)
d[f'{n}'].append(x)
d[f'{n}'].append(y)
s += sum(d['0'] + [s])

s += sum((n * x for n in Counter('abca').values()))

z = Slotted(x, y)
z.a += s
s += z.a * z.b

s += Half().of(x) + Third().of(y)
""".strip().split("\n\n")
RISKY = """
v = kept(2)
s += v[0] * x

with lent(OUTER) as v:
    v.append(1.0)
s += len(OUTER) * x

@noting
def g(v):
    return v * 2.0
s += g(x) * len(OUTER)

p = P(x, y) % 2
p.append(1.0)
s += len(OUTER) * x

v = P(x, y).max()
v.append(1.0)
s += len(OUTER) * x

for v in lists():
    v.append(1.0)
s += len(OUTER) * y

v = next(lists())
v += [1.0]
s += len(OUTER) * y

try:
    raise Early(OUTER)
except Early as e:
    e.value.append(1.0)
s += len(OUTER) * y

v = []
try:
    v = OUTER
    s += 1.0 / (y - y)
except ZeroDivisionError:
    pass
v.append(1.0)
s += len(OUTER) * x

v = []
match (OUTER, x):
    case [v, 1.0]:
        pass
    case _:
        pass
v.append(1.0)
s += len(OUTER) * x

with Shared() as v:
    v.append(1.0)
s += len(OUTER) * x

P.unit = P.unit + 0.0
s += P.unit * x

P.count()
s += len(OUTER) * x

s += len(OUTER) * x + BOX.a * y

BOX.b += 1.0
s += BOX.b * x

v = BOX
v += P(1.0, 1.0)
s += BOX.a * x

v = kept(1)
v.append(1.0)
s += len(v) * x
""".strip().split("\n\n")
PROGRAM = """
import enum
import functools
import math
from contextlib import contextmanager, suppress
from operator import attrgetter, methodcaller
from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace

OUTER = [1.0]

class Early(Exception):
    def __init__(self, value):
        super().__init__({said})
        self.value = value

class Kind(enum.Enum):
    A = 1
    B = 2
    C = 3

@functools.total_ordering
class P:
    unit = 2.0
    total = 0.0

    def __init__(self, a, b):
        self.a, self.b = a, b

    @classmethod
    def made(cls, a):
        return cls(a, cls.unit)

    @classmethod
    def count(cls):
        {count}

    def scaled(self, k):
        return type(self)(self.a * k, self.b * k)

    def __add__(self, o):
        return P(self.a + o.a, self.b + o.b)

    def __sub__(self, o):
        return P(self.a - o.a, self.b - o.b)

    def __iadd__(self, o):
        self.a = self.a + o.a
        return self

    def __rmul__(self, k):
        return P(k * self.a, k * self.b)

    def __mod__(self, n):
        return OUTER

    def __abs__(self):
        return math.hypot(self.a, self.b)

    def __lt__(self, o):
        return self.a < o.a

    def __eq__(self, o):
        return self.a == o.a

    def __getitem__(self, i):
        return (self.a, self.b)[i]

    def __setitem__(self, i, v):
        if i == 0:
            self.a = v
        else:
            self.b = v

    def dot(self, o):
        return self.a * o.a + self.b * o.b

    def max(self):
        return OUTER

@dataclass(slots=True)
class Slotted:
    a: float
    b: float = 1.0

class Share(ABC):
    @abstractmethod
    def n(self): ...

    def of(self, x):
        return x / self.n()

class Half(Share):
    def n(self):
        return 2.0

class Third(Share):
    def n(self):
        return 3.0

class Guard:
    def __init__(self, xs, x):
        self.xs, self.x = xs, x

    def __enter__(self):
        self.xs.append(self.x)
        return self

    def early(self, s, c):
        if self.x > c:
            raise Early(s)
        return self.x

    def __exit__(self, kind, error, traceback):
        self.xs.pop()
        return {swallows}

class Shared:
    def __enter__(self):
        return OUTER

    def __exit__(self, *error):
        return False

class Walk:
    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        for x in self.xs:
            yield x * 0.5

BOX = P(1.0, 2.0)
MISSING = object()

def given(x, y=MISSING):
    if y is MISSING:
        return x
    return x * y

def lists():
    yield OUTER

@functools.lru_cache
def kept(n):
    return [1.0] * n

@functools.cache
def counted_paths(i, j):
    return 1 if i == 0 or j == 0 else counted_paths(i - 1, j) + counted_paths(i, j - 1)

@functools.lru_cache
def mixed(n, x):
    return x if n < 2 else mixed(n - 1, x) * 0.5 + mixed(n - 2, x) * x

@contextmanager
def lent(xs):
    before = xs.copy()
    try:
        yield xs
    finally:
        before.clear()

def doubled(f):
    @functools.wraps(f)
    def inner(*args):
        return 2.0 * f(*args)
    return inner

def noting(f):
    OUTER.append(1.0)
    return f

def turns(x, n):
    for i in range(n):
        got = yield x * i
        x = x + 1.0

def averages(total):
    n, given = 1, 0.0
    while True:
        total, n = total + given, n + 1
        given = yield total / n

def evens(xs):
    for i, x in enumerate(xs):
        if i % 2 == 0:
            yield x
    yield from turns(1.0, 2)

def early(x, c):
    if x > c:
        raise Early(x * c)
    return x + c

def deep(x, n):
    if n == 0:
        raise Early(x)
    return deep(x * 1.5, n - 1) + 1.0

def named(a, *, b, c=1.0):
    return a * b + c

def program(x, y):
    s, n, xs, table, kinds = x * y, 0, [x, y, 1.0], {{"k1": y}}, [Kind.A, Kind.C, Kind.B]
    calls = 0

    def counted(v):
        nonlocal calls
        calls += 1
        return v * calls

    @functools.lru_cache(maxsize=None)
    def memo(n, v):
        return v if n < 2 else memo(n - 1, v) + 0.5 * memo(n - 2, v)

{body}
    return s + xs[0] + sum(table.values()){outer}

def arguments(k):
    return (0.5 + k, {y})

def state():
    return [OUTER, BOX.a, BOX.b, P.unit, P.total]
"""


def made(seed):
    rng = random.Random(seed)
    risk = rng.choice([0.0, 0.0, 0.0, 0.15])
    body = []
    for _ in range(rng.randint(2, 6)):
        one = rng.choice(RISKY if rng.random() < risk else PLAIN)
        one = re.sub(r"(?<!\.)\bC\b", str(rng.choice([0.0, 0.5, 0.625, 0.75, 1.0])), one)
        one = re.sub(r"(?<=\bk)I\b|\bI\b", str(rng.randint(0, 4)), one)
        body += ["    " + line for line in one.split("\n")]
    text = PROGRAM.format(
        body="\n".join(body),
        count=rng.choice(["OUTER.append(1.0)", "cls.total += 1.0", "return cls.unit"]),
        said=rng.choice(["'early'", "'early'", "value", "f'with {value!r}'"]),
        swallows=rng.choice(["False", "True", "kind is not None"]),
        outer=rng.choice(["", "", " + len(OUTER) * x"]),
        y=rng.choice(["0.75", "1.0 - k", "k", "2.0 * k"]),
    )
    return text, define(text, f"<control flow {seed}>", {"__name__": f"control_flow_{seed}"})


def outcome(scope, k, argnums):
    """The gradient and what is outside after a call; or an error."""
    args = scope["arguments"](0.125 * k)
    try:
        found = plain(gradient(scope["program"], *args, argnums=argnums))
    except Exception as error:
        found = [type(error).__name__, str(error)]
    return found, plain(copy.deepcopy(scope["state"]()))


@pytest.mark.parametrize("first", range(0, 240, 60))
def test_generated_functions(first):
    check_generated(range(first, first + 60, one_in(4)), (0, 0, 0, 1, 2, 1, 3, 4, 0), made, outcome)
