"""Syntax that runs methods of a user's class: they are traced, and it does what Python does."""

import collections
import contextlib
import functools
import math

import numpy as np
import pytest

from autodiff import DifferentiationError, LostValueError, compile, gradient, jvp, pushforward
from tests.helpers import differences

X = np.array([0.7, 1.3, 0.4])


class Wave:
    """Every method calls a C function on a value that may be traced."""

    __array_ufunc__ = None  # NumPy's numbers leave operators to us

    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Wave(math.sin(self.a) + value_of(other))

    def __radd__(self, other):
        return Wave(math.cos(self.a) + value_of(other))

    def __sub__(self, other):
        return NotImplemented if isinstance(other, str) else Wave(math.exp(self.a))

    def __mul__(self, other):
        return NotImplemented

    def __rmul__(self, other):
        return Wave(math.sinh(self.a) * value_of(other))

    def __imul__(self, other):
        self.a = math.tan(self.a) * value_of(other)
        return self

    def __matmul__(self, other):
        return math.hypot(self.a, other.a)

    def __pow__(self, n):
        return Wave(math.pow(self.a, n))

    def __divmod__(self, other):
        return Wave(math.sin(self.a)), Wave(math.cos(self.a))

    def __neg__(self):
        return Wave(-math.tanh(self.a))

    def __invert__(self):
        return math.atan(self.a)

    def __abs__(self):
        return math.fabs(math.sin(self.a))

    def __float__(self):
        return math.log(self.a)

    def __lt__(self, other):
        return math.sin(self.a) < math.sin(other.a)

    def __eq__(self, other):
        return math.isclose(math.sin(self.a), math.sin(value_of(other)))

    __hash__ = None

    def __bool__(self):
        return math.sin(self.a) > 0

    def __len__(self):
        return math.ceil(self.a)

    def __getitem__(self, n):
        if isinstance(n, slice):
            return math.sqrt(self.a) * n.stop
        if n > 3:
            raise IndexError(n)
        return math.sqrt(self.a) * n

    def __setitem__(self, n, value):
        self.a = math.sin(value) + n

    def __contains__(self, value):
        return math.sin(self.a) > value

    def __call__(self, t):
        return math.sin(self.a * t)


class Sub(Wave):
    def __radd__(self, other):
        return Wave(math.exp(self.a) * value_of(other))


def value_of(x):
    return x.a if isinstance(x, Wave) else x


class Steps:
    def __init__(self, a, n):
        self.a, self.n, self.i = a, n, 0

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        self.i += 1
        if self.i > self.n:
            raise StopIteration
        self.a = math.sin(self.a) + 1.0
        return self.a


class Generated:
    def __init__(self, a):
        self.a = a

    def __iter__(self):
        yield math.sin(self.a)
        yield math.cos(self.a)


class Managed:
    def __init__(self, a, swallow=False):
        self.a, self.swallow, self.left = a, swallow, 0.0

    def __enter__(self):
        return math.sin(self.a)

    def __exit__(self, kind, error, trace):
        self.left = math.cos(self.a)
        return self.swallow


class Record:
    def __init__(self, a):
        self.__dict__["a"] = a

    def __getattr__(self, name):
        if name == "shift":
            return math.sin(self.a)
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self.__dict__[name] = math.exp(value)

    @functools.cached_property
    def cached(self):
        return math.cos(self.a)

    @property
    def plain(self):
        return math.sinh(self.a)

    @plain.setter
    def plain(self, value):
        self.__dict__["a"] = value


def subtraction(x):
    return (Wave(x[0]) - 1).a + (Wave(x[1]) - Wave(x[0])).a


def sums(x):
    a, b = Wave(x[0]), Wave(x[1])
    return (a + b).a * (a + 1.0).a * (2.0 + b).a * (x[2] + a).a


def subclass_first(x):
    return (Wave(x[0]) + Sub(x[1])).a


def reflected_after_not_implemented(x):
    return (x[1] * Wave(x[0])).a + (3 * Wave(x[2])).a


def in_place(x):
    a = b = Wave(x[0])
    a *= x[1]
    a += Wave(x[2])
    return a.a * b.a


def other_operators(x):
    a = Wave(x[0])
    whole, rest = divmod(a, 1)
    return (
        a @ Wave(x[1]) + (a**3).a + (-a).a + ~a + abs(a) + float(a) + whole.a * rest.a + pow(a, 2).a
    )


def comparisons(x):
    a, b, c = Wave(x[0]), Wave(x[1]), Wave(x[2])
    return x[0] * (1 + (a < b)) + x[1] * (a == b) + x[2] * (a != b) + x[0] * (c < a < b) + (a > c)


def conditions(x):
    a = Wave(x[0])
    y = x[1] if a else x[2]
    while a and y < 5:
        y = y * 2.0
    if not a:
        y = -y
    return y * (x[0] if a and x[1] > 0 else 1.0)


def items(x):
    a = Wave(x[0])
    y = a[1] + a[1:5] * x[1]
    a[2] = x[2]
    y += a.a
    a[0] += x[1]
    return y * a.a


def membership(x):
    return (
        x[0] if 0.1 in Wave(x[1]) and 2.0 not in Wave(x[1]) and 9 not in Generated(x[0]) else x[2]
    )


def loops(x):
    total = 0.0
    for a in Steps(x[0], 3):
        total += a * x[1]
    for i, a in enumerate(Generated(x[1])):
        total += a * (i + 1)
    return total + sum(a * a for a in Generated(x[2])) + sum([*Generated(x[0])])


def sequence_protocol(x):
    class Squares:
        def __init__(self, a):
            self.a = a

        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return math.sin(self.a) * i

    return sum(v for v in Squares(x[0])) + sum(list(Squares(x[1])))


def iterators(x):
    it = iter(Steps(x[0], 2))
    y = next(it) * next(it) + next(it, 0.5)
    first, second = Generated(x[1])
    head, *tail = Steps(x[2], 3)
    return (
        y + first * second + head * len(tail) + math.fsum(Generated(x[0])) + max(*Generated(x[1]))
    )


def star_arguments(x):
    return math.hypot(*Generated(x[0])) + max(Generated(x[1])) + sorted(Steps(x[2], 3))[0]


def yield_from(x):
    def inner():
        yield from Generated(x[0])

    return sum(inner())


def contexts(x):
    m = Managed(x[0])
    with m as a, Managed(x[1], swallow=True) as b:
        y = a * b
        raise ValueError
    return y + m.left


def context_of_a_generator(x):
    @contextlib.contextmanager
    def scaled(a):
        yield math.sin(a)

    with scaled(x[0]) as a:
        return a * x[1]


def attributes(x):
    r = Record(x[0])
    y = r.shift + r.plain + r.cached * getattr(r, "gone", x[2])
    r.extra = x[1]
    y += r.extra
    r.extra += 1.0
    r.more = x[2]
    return y + r.extra * r.more


def sorting(x):
    waves = [Wave(x[0]), Wave(x[1]), Wave(x[2])]
    low, high = min(waves), max(waves, key=lambda w: w)
    order = sorted(waves, reverse=True)
    return low.a * 3.0 + high.a * 2.0 + order[0].a + sum(waves, Wave(x[0])).a


def length_and_texts(x):
    a = Wave(x[1])
    texts = f"{a.a:.1f}" + "%.1f" % a.a + str([x[0]])[:2] + format(a.a, ".2f")  # noqa: UP031
    return x[0] * len(a) * len(texts)


def callable_objects(x):
    return sum(map(Wave(x[0]), [1.0, 2.0])) + functools.reduce(lambda s, t: s + t, Generated(x[1]))


PROGRAMS = [
    subtraction, sums, subclass_first, reflected_after_not_implemented, in_place, other_operators,
    comparisons, conditions, items, membership, loops, sequence_protocol, iterators, star_arguments,
    yield_from, contexts, context_of_a_generator, attributes, sorting, length_and_texts,
    callable_objects,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient(f):
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", PROGRAMS)
def test_pushforward(f):
    v = np.array([0.3, -1.0, 0.5])
    expected = differences(f, X) @ v
    np.testing.assert_allclose(pushforward(f, X)[1](v), expected, rtol=1e-6, atol=1e-8)


class Unsure:
    def __bool__(self):
        return np.bool_(True)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (Wave(x[0]) - "a").a,
        lambda x: (Wave(x[0]) * Wave(x[1])).a,
        lambda x: Wave(x[0]) // 2,
        lambda x: Wave(x[0]) >= 3,
        lambda x: +Wave(x[0]),
        lambda x: [*Wave(x[0])] and Wave(x[0])["a"],
        lambda x: 1 in Steps(1, 2).a,
        lambda x: iter(3),
        lambda x: next(Generated(x[0])),
        lambda x: len(Generated(x[0])),
        lambda x: hash(Wave(x[0])),
        lambda x: x[0] if Unsure() else x[1],
        lambda x: getattr(Record(x[0]), "gone"),  # noqa: B009 - the function is what is tested
    ],
)
def test_errors_are_pythons_own(f):
    with pytest.raises((TypeError, AttributeError)) as plain:
        f(X)
    with pytest.raises(plain.type) as traced:
        gradient(f, X)
    assert str(traced.value).partition("\n")[0] == str(plain.value)


def test_where_there_is_no_source_it_is_an_error():
    namespace = {"math": math}
    exec(
        "class A:\n  def __init__(s, a): s.a = a\n  def __neg__(s): return math.sin(s.a)", namespace
    )
    kind = namespace["A"]
    with pytest.raises(LostValueError):
        gradient(lambda x: -kind(x), 1.0)


def test_a_change_of_a_counter_is_not_a_change_of_meaning():
    # Loop counters are left alone only where nothing else binds their names.
    def f(x):
        total = 0.0
        for i in range(3):
            total = total + i * x
        for i in (x, 2.0 * x):
            total = total + i * 2
        n = len([1, 2])
        n = n * x
        return total + n - 1

    assert gradient(f, 2.0) == 3.0 + 6.0 + 2.0


def test_a_handler_does_not_swallow_an_error_of_the_engine():
    places = np.zeros(2, int)

    def swallowed(x):
        try:
            places[0] = x
        except Exception:
            return 7.0 * x
        return x

    with pytest.raises(DifferentiationError):
        gradient(swallowed, 2.0)

    def named(x):
        try:
            places[0] = x
        except (ValueError, DifferentiationError):
            return 7.0 * x
        return x

    assert gradient(named, 2.0) == 7.0

    def own(x):
        try:
            raise ValueError("own")
        except (TypeError, ValueError) as error:
            return x * len(str(error))

    assert gradient(own, 2.0) == 3.0


V, ROWS_OF_V = np.array([1.5, 2.5]), np.array([[1.0, 2.0], [3.0, 4.0]])
SINGLE, WHOLE = np.array([1.5, 2.5], np.float32), np.array([1, 2])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: V @ [x, 2.0],
        lambda x: [x, 2.0] @ V,
        lambda x: V * [x, 2.0],
        lambda x: V + (x, 1.0),  # noqa: RUF005
        lambda x: (x, 1.0) - V,
        lambda x: [x, 2.0] / V,
        lambda x: V ** [x, 2.0],
        lambda x: [[x, 1.0]] @ ROWS_OF_V,
        lambda x: ROWS_OF_V * [[x], [x * 2.0]],
        lambda x: V + [x * V[0], 1],  # noqa: RUF005
        lambda x: SINGLE * [x, 2.0],
        lambda x: WHOLE @ [x, 2.0],
        lambda x: np.where([x, 2.0] > V, x**2, x),
        lambda x: np.where((x, 3.0) >= V, x**2, x),
    ],
)
def test_lists_and_tuples_of_traced_values_beside_plain_arrays(f):
    def total(x):
        return np.sum(f(x))

    slope = differences(total, 1.3)
    np.testing.assert_allclose(gradient(total, 1.3), slope, rtol=1e-6)
    np.testing.assert_allclose(jvp(total, (1.3,), (1.0,))[1], slope, rtol=1e-6)
    compiled = compile(lambda x: gradient(total, x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(1.3), slope, rtol=1e-6)


def test_lists_keep_what_operators_do_with_them():
    def f(x):
        rows = [x, 2.0] + [x] * np.int64(2) + [1.0] * 2
        rows += (x,)
        return sum(rows) * len(rows)

    assert gradient(f, 1.3) == 4.0 * 7.0


class Doubling(dict):
    """A dict whose own method Python calls for ``d[k]``, but not where entries are copied."""

    def __getitem__(self, key):
        return super().__getitem__(key) * 2.0


class OfSome(Doubling):
    """One whose entries Python copies by its own methods."""

    def __iter__(self):
        return iter(["ab"])

    def keys(self):
        return ["ab"]


def named(ab=0.0, b=0.5):
    return ab * b + b


@pytest.mark.parametrize("kind", [collections.Counter, Doubling, OfSome, collections.UserDict])
def test_entries_of_dicts_of_other_classes(kind, check_modes):
    def f(x):
        d = kind()
        d["ab"], d["b"] = x[0], x[1]
        copies = [dict(d), {**d}, dict(d, b=x[0])]
        return sum(named(**c) * k for k, c in enumerate(copies, 1)) + named(**d)

    check_modes(f, np.array([0.7, -1.3]))
