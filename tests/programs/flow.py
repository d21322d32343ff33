"""Programs of control flow: generators, comprehensions, branches, loops, higher-order functions."""

import contextlib
import functools
import itertools
import math
import operator
from functools import reduce

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]
SCALE = 1.5
counter = 0


def square(x):
    return x * x


def generator_function(x):
    def partial_sums(values):
        total = 0.0
        for value in values:
            total += math.sin(value)
            yield total

    return sum(s * s for s in partial_sums(x))


def generator_yield_from(x):
    def inner(a):
        yield a
        yield math.exp(a)

    def outer():
        for a in x:
            yield from inner(a)

    return math.prod(outer())


def generator_send(x):
    def averager():
        total, n = 0.0, 0
        value = yield 0.0
        while True:
            total, n = total + value * value, n + 1
            value = yield total / n

    g = averager()
    next(g)
    return sum([g.send(a) for a in x])


def generator_expression(x):
    return sum(math.sin(a) * b for a, b in itertools.pairwise(x))


def list_comprehension(x):
    return sum([math.exp(a) * i for i, a in enumerate(x) if a > 0])


def nested_comprehension(x):
    return sum([math.cos(a * b) for a in x for b in x if a is not b])


def dict_comprehension(x):
    d = {i: math.tanh(a) for i, a in enumerate(x)}
    return sum(v * (k + 1) for k, v in d.items())


def matrix_comprehension(x):
    K = np.array([[math.exp(-((a - b) ** 2)) for a in x] for b in x])
    return np.sum(K @ K)


def recursion(x):
    def horner(i):
        return x[i] + (0.5 * horner(i + 1) if i + 1 < len(x) else 0.0)

    return horner(0) ** 2


def recursion_at_module_level(x):
    return fibonacci_like(6, x[0], x[1]) * x[2]


def fibonacci_like(n, a, b):
    return a if n == 0 else fibonacci_like(n - 1, b, math.sin(a) + b)


def mutual_recursion(x):
    def even(n, a):
        return a if n == 0 else odd(n - 1, math.sin(a))

    def odd(n, a):
        return a if n == 0 else even(n - 1, a * a + 1.0)

    return even(5, x[0]) + odd(4, x[1])


def recursion_on_arrays(x):
    def tree_sum(v):
        if len(v) == 1:
            return math.sin(v[0])
        half = len(v) // 2
        return tree_sum(v[:half]) * 2.0 + tree_sum(v[half:]) ** 2

    return tree_sum(x)


def deep_recursion(x):
    def down(n, a):
        return a if n == 0 else down(n - 1, 0.999 * a + 0.001 * x[0])

    return down(200, x[1]) * x[2]


def match_on_values(x):
    total = 0.0
    for i, a in enumerate(x):
        match i:
            case 0:
                total += math.sin(a)
            case 1 | 2:
                total += a**3
            case _:
                total += a
    return total


def match_on_structure(x):
    def area(shape):
        match shape:
            case ("circle", r):
                return math.pi * r**2
            case ("box", w, h):
                return w * h
            case {"kind": "tube", "r": r, **rest}:
                return 2 * math.pi * r * rest["h"]
            case float() as side:
                return side * side
        return 0.0

    shapes = [("circle", x[0]), ("box", x[1], x[2]), {"kind": "tube", "r": x[3], "h": x[0]}]
    return sum(area(s) for s in shapes) + area(x[1])


def match_with_guard(x):
    def leaky(v):
        match v:
            case a if a > 0:
                return a * a
            case a:
                return 0.1 * a

    return sum(leaky(a) for a in x)


def walrus(x):
    if (n := np.sum(x * x)) > 1.0:
        return math.log(n) + (m := x[0] * n) * m
    return n


def walrus_in_comprehension(x):
    total = 0.0
    running = [total := total + a * a for a in x]
    return sum(running) * total


def with_statement(x):
    @contextlib.contextmanager
    def scaled(a):
        yield a * 3.0

    with scaled(x[0]) as s, contextlib.nullcontext(x[1]) as t:
        y = math.sin(s) * t
    with np.errstate(divide="ignore"):
        return y / x[2]


def suppressed(x):
    y = x[0] * 2.0
    with contextlib.suppress(KeyError):
        y = y * x[1]
        y = y + {}["missing"]
    return y**2


def try_except(x):
    try:
        y = math.log(x[1])
    except ValueError:
        y = x[1] ** 2
    else:
        y = y * 5.0
    return y * x[0]


def try_finally(x):
    log = []
    try:
        return math.sin(x[0]) * x[1]
    finally:
        log.append("done")


def raised_with_value(x):
    class Stop(Exception):  # noqa: N818
        pass

    try:
        raise Stop(x[0] * x[1])
    except Stop as stop:
        return stop.args[0] ** 2


def asserted(x):
    assert np.all(np.isfinite(x)), f"not finite: {x}"
    assert x[0] > 0
    return math.sqrt(x[0]) * x[1]


def global_statement(x):
    global counter
    counter += 1
    return SCALE * np.sum(x**2)


def nonlocal_statement(x):
    total = x[0]

    def add(a):
        nonlocal total
        total = total * 0.5 + math.sin(a)

    for a in x[1:]:
        add(a)
    return total**2


def mapped(x):
    return sum(map(math.sin, x)) * sum(map(lambda a, b: a * b, x, x[::-1]))


def filtered(x):
    return math.prod(filter(lambda a: a > 0, x))


def sorted_by_key(x):
    ordered = sorted(x, key=lambda a: math.sin(a) * a)
    return sum(i * a**2 for i, a in enumerate(ordered))


def sorted_pairs(x):
    pairs = sorted(((a * a, i) for i, a in enumerate(x)), reverse=True)
    return pairs[0][0] * pairs[1][0] + pairs[2][0]


def max_with_key(x):
    return max(x, key=lambda a: a * a) * min(x, key=abs)


def reduced(x):
    return reduce(lambda acc, a: acc * 0.5 + math.sin(a), x, 1.0) + reduce(operator.mul, x)


def accumulated(x):
    return sum(itertools.accumulate(x, lambda s, a: 0.9 * s + a * a))


def accumulated_plain(x):
    return sum(s * s for s in itertools.accumulate(x))


def combinations(x):
    return sum(math.cos(a - b) for a, b in itertools.combinations(x, 2))


def chained(x):
    pairs = itertools.pairwise(itertools.chain(x, x[:1]))
    return sum(a * b for a, b in pairs) + sum(a * b for a, b in itertools.product(x[:2], x[2:]))


def starmapped(x):
    return sum(itertools.starmap(math.hypot, zip(x[:2], x[2:], strict=True)))


def vectorized(x):
    @np.vectorize
    def f(a):
        return math.sin(a) if a > 0 else a * a

    return np.sum(f(x) * x)


def along_axis(x):
    M = np.outer(x, np.arange(1.0, 4.0)) + x[0]
    return np.sum(np.apply_along_axis(lambda row: np.sum(row**2) * row, 1, M))


def from_function(x):
    return np.sum(np.fromfunction(lambda i, j: np.sin(i * x[0]) + j * x[1], (3, 2)))


def from_iterator(x):
    return np.sum(np.fromiter((math.sin(a) for a in x), float) ** 2)


def single_dispatch(x):
    @functools.singledispatch
    def size(value):
        return 1.0

    @size.register
    def _(value: float):
        return value * value

    @size.register
    def _(value: np.ndarray):
        return np.sum(np.cos(value))

    return size(x[0]) + size(x) + size("text")


def zip_and_enumerate(x):
    return sum(i * a * b for i, (a, b) in enumerate(zip(x, reversed(x), strict=True), start=1))


def while_loop(x):
    y = x[0]
    while abs(y) < 50.0:
        y = y * 1.7 + x[1] ** 2
    return y


def for_else(x):
    for a in x:
        if a > 100.0:
            break
    else:
        return math.sin(x[0]) + x[1] * x[2]
    return x[0]


def ternary_chain(x):
    y = x[0] if x[1] > x[2] else x[1] * 2.0 if x[2] > x[3] else x[2]
    return y * x[3] if x[0] > 0 and x[1] < 0 else y


def star_unpacking(x):
    first, *middle, last = x
    (a, b), c = middle, last
    return first * a + math.exp(b) * c


def method_of_builtin(x):
    values = [*x]
    values.append(x[0] * 4.0)
    return max(values) * sum(values)


def returns_dict(x):
    def parts(v):
        return {"mean": np.mean(v), "var": np.var(v)}

    p = parts(x)
    return p["mean"] / p["var"]


def any_and_all(x):
    y = math.sin(x[0]) if any(a > 2.0 for a in x) else x[0]
    return y * (2.0 if all(a > 0 for a in x) else x[1])


def getattr_and_callable(x):
    f = getattr(np, "tanh")  # noqa: B009
    return np.sum(f(x)) if callable(f) else 0.0


def dispatch_table(x):
    table = {"sin": math.sin, "sq": square, "np": np.exp, "lam": lambda a: 1.0 / a}
    return sum(table[k](a) for k, a in zip(table, x, strict=True))


PROGRAMS = [(f, X) for f in [
    generator_function, generator_yield_from, generator_send, generator_expression,
    list_comprehension, nested_comprehension, dict_comprehension, matrix_comprehension,
    recursion, recursion_at_module_level, mutual_recursion, recursion_on_arrays, deep_recursion,
    match_on_values, match_on_structure, match_with_guard, walrus, walrus_in_comprehension,
    with_statement, suppressed, try_except, try_finally, raised_with_value, asserted,
    global_statement, nonlocal_statement, mapped, filtered, sorted_by_key, sorted_pairs,
    max_with_key, reduced, accumulated, accumulated_plain, combinations, chained, starmapped,
    vectorized, along_axis, from_function, single_dispatch, zip_and_enumerate, while_loop,
    for_else, ternary_chain, star_unpacking, method_of_builtin, returns_dict, any_and_all,
    getattr_and_callable, dispatch_table, from_iterator,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
