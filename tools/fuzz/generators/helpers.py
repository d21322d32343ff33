"""Programs whose loops call functions of numbers, which call others or themselves.

The functions branch, loop, return early, take integers and truth values, capture variables, have
defaults, and return numbers that depend on some of their arguments only. They get programs of their
own at the first call. Calls stand in branches, in tests and in inner loops, and some in tuples.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import math

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
calls.Settings.inlined = {inlined}
SCALE = 0.7


{functions}


def kernel(a, w, s, t):
    total = 0.0
    rate = s * 0.5

    def inner(u, v):
        r = u * rate + v
        q = math.sin(r) * rate
        return r * q + u

    def outer(u, k):
        r = inner(u, 0.3) * k
        if r > 0.5:
            r = inner(r, u)
        return r * 0.5 + u

    for i in range({turns}):
        x = a[i % 3]
        n = i % 4
{inside}
    return total + s * rate + t * np.sum(w)


def program(a, b):
    return kernel(a * 1.0, b * 0.5, a[0] * 0.7, b[1])


"""

EXPRESSIONS = [
    "{0} * {k} + {1}", "math.sin({0}) * {1}", "{0} / (1.0 + {1} * {1})",
    "math.exp(-{0} * {0}) + {1}", "math.tanh({0} + {1})", "math.sqrt(1.0 + {0} * {0}) * {1}",
    "{0} - {1} * {k}", "np.cos({0}) * {k}", "{0} ** 2 * {k} + {1}", "abs({0}) * {1}",
    "max({0}, {1}) * {k}", "np.tanh({0} * {1})", "math.sqrt(abs({0})) * {1}",
    "{0} * SCALE + {1}", "math.atan2({0}, 1.0 + {1} * {1})", "math.log(1.5 + {0} * {0}) + {1}",
    "({0} if {0} > {1} else {1}) * {k}", "float(n) * {0}", "{0} * n + {1}",
    "np.where({0} > {1}, {0}, {1} * {k})", "{0} * {1} * ({0} - {1})",
]  # fmt: skip

BLOCKS = [
    "if {0} > {1}:\n    {v} = {e}\nelse:\n    {v} = {f}",
    "{v} = {0}\nfor j in range(n + 1):\n    {v} = {v} * 0.5 + {e}",
    "if {0} > 0.8:\n    return {e}\n{v} = {f}",
    "{v} = {0}\nj = 0\nwhile abs({v}) > 0.3 and j < 3:\n"
    "    {v} = {v} * 0.5 + 0.1 * {e}\n    j += 1",
    "{v} = {e}\nif n == 2:\n    {v} = {v} * {0}",
    "{v} = {0}\nfor j in range(4):\n    if {v} > 1.0:\n        break\n"
    "    {v} = {v} + abs({e}) * 0.2",
]

SPECIAL = """\
def series(x, n):
    if n <= 0:
        return 1.0
    y = series(x, n - 1)
    return y * x * 0.5 + 1.0


def twofold(x, n):
    if n <= 1:
        return x * 0.8
    left = twofold(x * 0.7, n - 1)
    right = twofold(math.sin(x), n - 2)
    return left * right + 0.1


def quadrature(lo, hi, u, depth):
    mid = 0.5 * (lo + hi)
    whole = (hi - lo) * math.sin(mid * u)
    if depth == 0 or hi - lo < 0.3:
        return whole
    return quadrature(lo, mid, u, depth - 1) + quadrature(mid, hi, u, depth - 1)


def level(x, n):
    k = 0
    while x > 0.2 and k < n + 2:
        x = x * 0.6
        k += 1
    return k


def is_low(x, n):
    y = x * 0.5 + n
    z = y * y
    return z < 1.0


def both(x, y, n):
    r = x * y
    q = math.sin(r) + n
    return r, q * x


def given(x, y=0.4, *, k=2):
    r = x * y
    r = r * k + math.cos(x)
    return r - y


def root(x, y):
    r = abs(x)
    q = math.sqrt(r + 0.3)
    return q * y


def chosen(flag, x, y):
    r = x * 0.5
    if flag:
        r = r * y
    return r + 0.1
"""

STATEMENTS = [
    "total = total + {h}(x, t, n)",
    "s = {h}(s, x, 2)",
    "t = t * 0.5 + 0.2 * {h}(x, s, i)",
    "total += {h}(w[i % 3], {h}(t, s, n), 1) * 0.3",
    "a[i % 3] = {h}(x, w[n % 3], n)",
    "if {h}(x, t, n) > 0.4:\n    total = total + {h}(t, x, 1)\nelse:\n    s = s * 0.9",
    "for j in range(n):\n    total = total * 0.5 + {h}(total, x, j)",
    "j = 0\nwhile {h}(x, t, n) > 0.1 and j < 3:\n    x = x * 0.7\n    j += 1\ntotal += x",
    "total = total + series(t, n) * x",
    "total = total + twofold(x, n)",
    "total = total + quadrature(0.0, 1.0, x, 3) * quadrature(t, t + 1.0, 0.5, n)",
    "total = total + x * level(t, n)",
    "if is_low(x, n):\n    total = total + t\nelse:\n    total = total * 0.9",
    "u, v = both(x, t, n)\ntotal = total + u * v",
    "total = total + given(x) * given(t, x, k=n) + given(s, k=3)",
    "total = total + root(x, t) * 0.5",
    "total = total + root(t - t, x)",
    "total = total + chosen(x > t, x, t) + chosen(n > 1, t, s)",
    "total = total + inner(x, t)",
    "total = total + outer(x, n) * outer(0.3, 2.0)",
    "total = total + {h}(0.3, 0.7, n) * x",
    "w = w * 0.9 + {h}(x, t, n)",
    "total += sum([{h}(x, q, n) for q in w])",
    "rate = rate * 0.9 + 0.1 * {h}(x, s, 1)",
]

ARGUMENTS = """\
ARGUMENTS = (np.array([{0}, {1}, {2}]{kind}), np.array([{3}, {4}, {5}]{kind}))
ARGNUMS = {6}
"""


def write(seed: int) -> str:
    """Return the source of a module with `program` and `ARGUMENTS`."""
    rng = random.Random(seed)
    functions = [_function(rng, k) for k in range(rng.randint(1, 4))] + [SPECIAL]
    lines: list[str] = []
    for _ in range(rng.randint(2, 6)):
        text = rng.choice(STATEMENTS)
        while "{h}" in text:
            text = text.replace("{h}", f"h{rng.randrange(len(functions) - 1)}", 1)
        lines += text.split("\n")
    text = HEADER.format(
        functions="\n\n".join(functions), turns=rng.randint(1, 6),
        inside="\n".join(f"        {line}" for line in lines),
        inlined=rng.choice([0, 0, 0, 3]),
    )  # fmt: skip
    numbers = [round(rng.uniform(-1.5, 1.5), 3) for _ in range(6)]
    kind = ", dtype=np.float32" if rng.random() < 0.15 else ""
    return text + ARGUMENTS.format(*numbers, argnums(seed, 2), kind=kind)


def _function(rng: random.Random, number: int) -> str:
    """Return a function of two floats and an integer, which may call those before it."""
    names, lines = ["x", "y"], []
    if rng.random() < 0.2:
        names = ["x"]  # one argument is not used
    for k in range(rng.randint(2, 5)):
        v = f"v{k}"
        if number and rng.random() < 0.4:
            given = ", ".join([rng.choice(names), rng.choice(names), rng.choice(["n", "1", "k"])])
            given = given.replace("k", "n + 1")
            lines.append(f"{v} = h{rng.randrange(number)}({given})")
        elif rng.random() < 0.4:
            e, f = (_expression(rng, names) for _ in range(2))
            a, b = rng.choice(names), rng.choice(names)
            block = rng.choice(BLOCKS).replace("{0}", a).replace("{1}", b)
            lines += block.replace("{v}", v).replace("{e}", e).replace("{f}", f).split("\n")
        else:
            lines.append(f"{v} = {_expression(rng, names)}")
        names.append(v)
    lines.append(f"return {_expression(rng, names[-2:])}")
    return "\n".join([f"def h{number}(x, y, n):", *[f"    {line}" for line in lines], ""])


def _expression(rng: random.Random, names: list[str]) -> str:
    k = round(rng.uniform(0.1, 0.9), 2)
    return rng.choice(EXPRESSIONS).format(rng.choice(names), rng.choice(names), k=k)
